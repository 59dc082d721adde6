"""A skeleton with how its joints turn and their limits (Courty 2013, sections 3.1.3 and 3.1.4).

Noise on a joint is Gaussian in the tangent space at its rotation, the QuTem distribution: `q · exp(v)` with
`v ~ N(0, Σ)`. Three large eigenvalues of Σ make a ball joint, two a saddle, one a hinge. Hands are in
:mod:`marey.body.particles.hands`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, assign, checked
from marey._random import Rng, as_generator
from marey.body.limits import JointFreedom, SwingTwistLimits, human_joints
from marey.body.motion import Motion
from marey.body.particles.constraints import Constraint
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

# How readily limbs turn beside fingers, and metres that the root of a body moves for each radian of a joint.
LIMB_MOBILITY, ROOT_DEVIATION = 0.6, 0.18


@dataclass(frozen=True, eq=False)
class ArticulatedChain:
    """A skeleton with what its joints can do.

    Args:
        mobility: `(joints, 3)`, standard deviations of noise along the axes of the limits' frames; 1 is
            free, 0 stiff.
        limits: of all joints.
        root_deviation: `(3,)`, metres the root moves for each radian that joints turn; 0: it is held.
        rules: constraints that always hold, such as coupled joints.
    """

    skeleton: Skeleton
    mobility: FloatArray
    limits: SwingTwistLimits
    root_deviation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rules: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        mobility = checked("mobility", self.mobility, (self.skeleton.joints, 3))
        if (mobility < 0).any():
            raise InputError("mobility: must not be negative")
        assign(self, mobility=mobility)

    @classmethod
    def of(
        cls,
        skeleton: Skeleton,
        freedoms: Mapping[str, JointFreedom],
        *,
        root_deviation: tuple[float, float, float] = (0.0, 0.0, 0.0),
        rules: tuple[Constraint, ...] = (),
    ) -> ArticulatedChain:
        """A chain from a table of joints by name; joints that are not in it are stiff at rest.

        >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 0, 0], [0, 1, 0]], [1], [[0, 1, 0]])
        >>> chain = ArticulatedChain.of(arm, {"elbow": JointFreedom.hinge([1, 0, 0], 0.0, 2.0)})
        >>> chain.freedoms, chain.reach
        (1, 2.0)
        """
        mobility = np.zeros((skeleton.joints, 3))
        for name, freedom in freedoms.items():
            mobility[skeleton.index(name)] = freedom.mobility
        return cls(skeleton, mobility, SwingTwistLimits.of(skeleton, freedoms), root_deviation, rules)

    @classmethod
    def human(cls, skeleton: Skeleton) -> ArticulatedChain:
        """A human skeleton with the limits of :func:`marey.body.limits.human`, whose root moves freely.

        >>> import marey
        >>> ArticulatedChain.human(marey.samples.walk().skeleton).freedoms
        67
        """
        chain = cls.of(skeleton, human_joints(skeleton), root_deviation=(ROOT_DEVIATION,) * 3)
        return replace(chain, mobility=LIMB_MOBILITY * chain.mobility)

    def widened_to(self, motion: Motion, *, still: float = 1e-4, least_frames: int = 30) -> ArticulatedChain:
        """The chain with limits wide enough for all poses of a clip, and joints stiff that never turn in it.

        Args:
            still: radians; joints that turn less in the whole clip are stiff.
            least_frames: of a clip that says which joints are stiff.

        >>> import marey
        >>> walk = marey.samples.walk()
        >>> chain = ArticulatedChain.human(walk.skeleton).widened_to(walk)
        >>> bool(chain.limits.contains(walk.rotations).all())
        True
        """
        mobility = np.array(self.mobility)
        if motion.frames >= least_frames:
            turned = so3.distance(motion.rotations, motion.rotations[:1]).max(axis=0)
            # A clip in which nothing turns does not say what is stiff.
            mobility[(turned < still) & (turned.max() >= still)] = 0.0
        return replace(self, limits=self.limits.containing(motion.rotations), mobility=mobility)

    @property
    def freedoms(self) -> int:
        """Degrees of freedom: mobilities of at least a tenth, and of the root's position if it is free."""
        return int((self.mobility >= 0.1).sum()) + sum(d > 0 for d in self.root_deviation)

    @property
    def reach(self) -> float:
        """Metres along the bones from the root to the farthest joint or end site."""
        skeleton = self.skeleton
        along = np.zeros(skeleton.joints)
        for joint in range(1, skeleton.joints):
            along[joint] = along[skeleton.parents[joint]] + np.linalg.norm(skeleton.offsets[joint])
        ends = along[skeleton.end_parents] + np.linalg.norm(skeleton.end_offsets, axis=1)
        return float(max(along.max(), ends.max(initial=0.0)))

    def covariances(self) -> Array:
        """Covariance `(joints, 3, 3)` of each joint's rotation vector."""
        axes = so3.rotate(self.limits.frames[:, None], np.eye(3))
        return np.einsum("jik,ji,jil->jkl", axes, self.mobility**2, axes)


def sample_qutem(
    mode: ArrayLike, covariance: ArrayLike, count: int, *, rng: Rng, beyond: str = "wrap"
) -> Array:
    """Unit quaternions `(count, 4)` around a mode. Cost: three normal numbers, a sine and a cosine each.

    Args:
        mode: `(4,)`, a rotation.
        covariance: `(3, 3)`, of the half rotation vector, radians², as the distribution is defined on the
            sphere of quaternions.
        beyond: what becomes of draws more than half a turn away from the mode (half angle above π/2): "wrap"
            onto the hemisphere, which is the same rotation with the other sign, or "redraw" them.

    >>> q = sample_qutem([1, 0, 0, 0], 0.01 * np.eye(3), 1000, rng=0)
    >>> q.shape, bool((q[:, 0] >= 0).all()), bool(abs(so3.half_log(q).std() - 0.1) < 0.01)
    ((1000, 4), True, True)
    """
    if beyond not in ("wrap", "redraw"):
        raise InputError(f"beyond {beyond!r}: one of wrap, redraw")
    middle = so3.normalise(checked("mode", mode, (4,)))
    shape = checked("covariance", covariance, (3, 3))
    values, axes = np.linalg.eigh(shape)
    if not np.allclose(shape, shape.T) or values.min() < -1e-12:
        raise InputError("covariance: must be symmetric and not negative")
    rng = as_generator(rng)
    factor = axes * np.sqrt(np.maximum(values, 0.0))
    half = rng.standard_normal((count, 3)) @ factor.T
    if beyond == "redraw":
        while (far := np.linalg.norm(half, axis=1) > np.pi / 2).any():
            half[far] = rng.standard_normal((int(far.sum()), 3)) @ factor.T
    turn = so3.exp(2.0 * half)
    turn[turn[:, 0] < 0] *= -1.0
    return so3.multiply(middle, turn)
