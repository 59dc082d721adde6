"""A skeleton with how its joints turn and their limits (Courty 2013, sections 3.1.3 and 3.1.4).

Noise on a joint is Gaussian in the tangent space at its rotation, the QuTem distribution: `q · exp(v)` with
`v ~ N(0, Σ)`. Three large eigenvalues of Σ make a ball joint, two a saddle, one a hinge. Hands are in
:mod:`marey.body.particles.hands`.

Particles move from one step to the next by a random walk within the joint limits, or by dynamics learned from
a clip: the linear model of section 2.3.1, in a few coordinates of a pose model, makes the result move like
the data. Both are driven by standard normal numbers, so that a filter can draw these as it likes. Cost: about
150 ns a joint of a particle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray, assign, checked
from marey.body.limits import JointFreedom, Limits, SwingTwistLimits, human_joints
from marey.body.motion import Motion
from marey.body.particles.constraints import Constraint, PoseBatch
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.statistics.autoregression import VectorAutoregression, fit

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
        learned: further limits, which hold as well; none if None.
    """

    skeleton: Skeleton
    mobility: FloatArray
    limits: SwingTwistLimits
    root_deviation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rules: tuple[Constraint, ...] = ()
    learned: Limits | None = None

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

    def widened_to(self, motion: Motion) -> ArticulatedChain:
        """The chain with limits wide enough for all poses of a clip, and joints stiff that never turn in it,
        if it has 30 frames or more.

        >>> import marey
        >>> walk = marey.samples.walk()
        >>> chain = ArticulatedChain.human(walk.skeleton).widened_to(walk)
        >>> bool(chain.limits.contains(walk.rotations).all())
        True
        """
        mobility = np.array(self.mobility)
        if motion.frames >= 30:
            turned = so3.distance(motion.rotations, motion.rotations[:1]).max(axis=0)
            # A clip in which nothing turns does not say what is stiff.
            mobility[(turned < 1e-4) & (turned.max() >= 1e-4)] = 0.0
        return replace(self, limits=self.limits.containing(motion.rotations), mobility=mobility)

    def project(self, rotations: ArrayLike) -> Array:
        """The rotations `(..., joints, 4)` within all limits."""
        inside = self.limits.project(rotations)
        return inside if self.learned is None else self.learned.project(inside)

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


class Evolution(Protocol):
    """How particles move."""

    @property
    def freedoms(self) -> int:
        """How many standard normal numbers drive a step."""

    def begin(self, poses: PoseBatch) -> PoseBatch:
        """The first particles, with what has to be remembered."""

    def expected(self, poses: PoseBatch) -> PoseBatch:
        """Where the particles go without noise."""

    def advance(self, poses: PoseBatch, scale: float, rng: np.random.Generator) -> PoseBatch:
        """The particles one step on; `scale`, from 0 to 1, times the usual noise."""

    def move(
        self, poses: PoseBatch, drive: Array, scale: float, *, reflect: bool = True
    ) -> tuple[PoseBatch, Array]:
        """The same, driven by given numbers `(particles, freedoms)`, and the numbers that were really done:
        at limits, joints are reflected (`reflect`) or stay."""


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """Every joint turns by noise of its own, within its limits; the root moves by Gaussian noise.

    Args:
        deviation: radians a step of a joint that turns freely.

    >>> from marey.body.particles.hands import hand_chain
    >>> chain = hand_chain()
    >>> still = PoseBatch(chain.skeleton, so3.identity((50, 17)), np.zeros((50, 3)))
    >>> moved = RandomWalk(chain).advance(still, 1.0, np.random.default_rng(0))
    >>> bool((chain.limits.excess(moved.rotations) <= 1e-9).all())
    True
    """

    chain: ArticulatedChain
    deviation: float = 0.1

    @cached_property
    def _driven(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.chain.mobility > 0, np.asarray(self.chain.root_deviation) > 0

    @property
    def freedoms(self) -> int:
        joints, root = self._driven
        return int(joints.sum() + root.sum())

    def begin(self, poses: PoseBatch) -> PoseBatch:
        return poses

    def expected(self, poses: PoseBatch) -> PoseBatch:
        return poses

    def advance(self, poses: PoseBatch, scale: float, rng: np.random.Generator) -> PoseBatch:
        from marey.body.limits._kernels import propose

        chain, step = self.chain, self.deviation * scale
        out = np.empty_like(poses.rotations)
        centres, limits = chain.limits.centres, chain.limits.parameters
        propose(poses.rotations, step * chain.mobility, centres, limits, rng, out)
        out = out if chain.learned is None else chain.learned.project(out)
        root = poses.root
        if any(chain.root_deviation):
            root = root + step * np.asarray(chain.root_deviation) * rng.standard_normal(root.shape)
        return PoseBatch(poses.skeleton, out, root)

    def move(
        self, poses: PoseBatch, drive: Array, scale: float, *, reflect: bool = True
    ) -> tuple[PoseBatch, Array]:
        from marey.body.limits import _kernels

        limits, (joints, free) = self.chain.limits, self._driven
        step = self.deviation * scale
        count = int(joints.sum())
        unit = step * self.chain.mobility[joints]
        vectors = np.zeros((poses.count, *joints.shape))
        vectors[:, joints] = unit * drive[:, :count]
        out = np.empty_like(poses.rotations)
        _kernels.move(poses.rotations, vectors, limits.centres, limits.parameters, reflect, out)
        out = out if self.chain.learned is None else self.chain.learned.project(out)
        root = poses.root.copy()
        root[:, free] += step * np.asarray(self.chain.root_deviation)[free] * drive[:, count:]
        done = np.concatenate([vectors[:, joints] / unit, drive[:, count:]], axis=1)
        return PoseBatch(poses.skeleton, out, root), done


@dataclass(frozen=True, eq=False)
class LearnedDynamics:
    """Coordinates of a pose model follow an autoregression, the root a random walk (Courty 2013, 2.3.1).

    With coordinates x: x_t = μ + Σ A_i (x_{t-i} - μ) + spread · L ε. The noise does not shrink: motion
    goes on while it is steered.

    Args:
        chain: limits, to which poses of the model are turned back, and how the root moves.
        dynamics: of the model's coordinates.
        spread: times the noise of the data; above 1 the motion can be steered further from it.
        root_step: radians and, times the chain's `root_deviation`, metres that the root moves a step.
    """

    chain: ArticulatedChain
    model: PoseModel
    dynamics: VectorAutoregression
    spread: float = 1.0
    root_step: float = 0.03

    def __post_init__(self) -> None:
        if self.model.skeleton.names != self.chain.skeleton.names:
            raise InputError("the pose model and the chain have different joints")
        if self.model.root_motion is not None:
            raise InputError("learned dynamics: take a pose model without root motion (root='none')")

    @classmethod
    def of_clip(cls, chain: ArticulatedChain, motion: Motion, frame_rate: float) -> LearnedDynamics:
        """A second-order autoregression of a clip's poses in twelve modes, at a frame rate."""
        clip, modes = motion.resample(frame_rate), 12
        if clip.frames < 3 * modes:
            raise InputError(f"dynamics: {clip.frames} frames are too few to learn from; give {3 * modes}")
        model = PoseModel.fit([clip], modes=min(modes, 3 * clip.joints))
        return cls(chain, model, fit(model.encode(clip), order=2), spread=2.0)

    @cached_property
    def _factor(self) -> Array:
        values, vectors = np.linalg.eigh(self.dynamics.noise)
        return np.asarray(self.spread * vectors * np.sqrt(np.maximum(values, 0.0)))

    @property
    def freedoms(self) -> int:
        return self.model.modes + 6

    def begin(self, poses: PoseBatch) -> PoseBatch:
        rotations = np.array(poses.rotations)
        rotations[:, 0] = self.model.geodesics.mean[0]
        now = self.model.geodesics.encode(rotations)
        return replace(poses, history=np.repeat(now[:, None], self.dynamics.order, axis=1))

    def expected(self, poses: PoseBatch) -> PoseBatch:
        return self.move(poses, np.zeros((poses.count, self.freedoms)), 0.0)[0]

    def advance(self, poses: PoseBatch, scale: float, rng: np.random.Generator) -> PoseBatch:
        return self.move(poses, rng.standard_normal((poses.count, self.freedoms)), scale)[0]

    def move(
        self, poses: PoseBatch, drive: Array, scale: float, *, reflect: bool = True
    ) -> tuple[PoseBatch, Array]:
        assert poses.history is not None
        modes, mean = self.model.modes, self.dynamics.mean
        ahead = np.einsum("iab,nib->na", self.dynamics.coefficients, poses.history[:, ::-1] - mean)
        coordinates = mean + ahead + drive[:, :modes] @ self._factor.T
        rotations = self.model.decode(coordinates)
        moves = self.root_step * scale * drive[:, modes:]
        rotations[:, 0] = so3.multiply(poses.rotations[:, 0], so3.exp(moves[:, :3]))
        root = poses.root + np.asarray(self.chain.root_deviation) * moves[:, 3:]
        history = np.concatenate([poses.history[:, 1:], coordinates[:, None]], axis=1)
        inside = self.chain.project(so3.normalise(rotations))
        return PoseBatch(poses.skeleton, inside, root, history), drive
