"""How particles move from one step to the next: a random walk, or dynamics learned from a clip.

Courty 2013, section 3.1.3: without knowledge of the motion the configuration stays as it is but for noise
within the joint limits; the linear model of section 2.3.1, in a few coordinates of a pose model, makes the
result move like the data it was learned from. Both are driven by standard normal numbers, so that a filter
can draw these as it likes. Cost: about 150 ns a joint of a particle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.motion import Motion
from marey.body.particles.chain import ArticulatedChain
from marey.body.particles.poses import PoseBatch
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.statistics.autoregression import VectorAutoregression, fit


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
        from marey.body.particles._kernels import propose

        chain, step = self.chain, self.deviation * scale
        out = np.empty_like(poses.rotations)
        centres, limits = chain.limits.centres, chain.limits.parameters
        propose(poses.rotations, step * chain.mobility, centres, limits, rng, out)
        root = poses.root
        if any(chain.root_deviation):
            root = root + step * np.asarray(chain.root_deviation) * rng.standard_normal(root.shape)
        return PoseBatch(poses.skeleton, out, root)

    def move(
        self, poses: PoseBatch, drive: Array, scale: float, *, reflect: bool = True
    ) -> tuple[PoseBatch, Array]:
        from marey.body.particles import _kernels

        limits, (joints, free) = self.chain.limits, self._driven
        step = self.deviation * scale
        count = int(joints.sum())
        unit = step * self.chain.mobility[joints]
        vectors = np.zeros((poses.count, *joints.shape))
        vectors[:, joints] = unit * drive[:, :count]
        out = np.empty_like(poses.rotations)
        _kernels.move(poses.rotations, vectors, limits.centres, limits.parameters, reflect, out)
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
        inside = self.chain.limits.project(so3.normalise(rotations))
        return PoseBatch(poses.skeleton, inside, root, history), drive
