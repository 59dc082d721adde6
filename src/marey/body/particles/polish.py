"""The last millimetre: Levenberg–Marquardt steps on whatever constraints there are (Courty 2013, 3.1.1).

The Jacobian comes from finite differences of all degrees of freedom at once, which is one evaluation of as
many poses, so constraints need no derivatives here either. Joints that reach a limit stay there and the
others make up for it. Cost: about 1 ms a step for 80 degrees of freedom.

The filter's guide is a proposal that knows the constraints, a weighted ensemble Kalman step without
derivatives (Papadakis, Mémin, Cuzol & Gengembre 2010, Tellus A 62). How errors change with the noise that
drives a step is learned from the particles, by regression. That gives the Gaussian distribution of the noise
given the constraints, from which steps are drawn; the ratio of its density to the evolution's goes into the
weights. What is far from met is approached over the steps, as people move their hands. Cost: one more
evaluation of all particles and O(particles × freedoms²) a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from marey._arrays import Array, IntArray
from marey.body.motion import Motion
from marey.body.particles.chain import ArticulatedChain, RandomWalk
from marey.body.particles.constraints import Constraint, Errors, PoseBatch, Target, as_constraints
from marey.geometry import rotations as so3
from marey.geometry.fades import minimum_jerk

# Radians of the finite differences; radians that cost as much as an error by its own noise, in motions.
DIFFERENCE, MOTION_SCALE = 1e-4, 10.0


def polished_pose(
    chain: ArticulatedChain,
    constraints: Sequence[Constraint | Target],
    rotations: Array,
    root: Array,
    *,
    iterations: int = 12,
    prior_scale: float = 0.5,
) -> tuple[Array, Array]:
    """The pose near another that meets the constraints, within the limits.

    Args:
        rotations: `(joints, 4)`, local, to begin with.
        root: `(3,)`, metres.
        prior_scale: radians by which a joint may leave that pose for an error as large as its noise.

    >>> from marey.body.particles import Noisy, Reach, hand_chain
    >>> hand, there = hand_chain(), Noisy(Reach("Middle3_end", [0.0, -0.06, 0.42]), noise=0.001)
    >>> curled = hand.limits.project(so3.exp(np.tile([0.2, 0.0, 0.0], (17, 1))))
    >>> q, p = polished_pose(hand, [there], curled, np.zeros(3))
    >>> bool(np.linalg.norm(there.errors(PoseBatch(hand.skeleton, q[None], p[None]))) < 1e-3)
    True
    """
    from scipy.optimize import least_squares

    rules = as_constraints(constraints)
    walk, noise = RandomWalk(chain, deviation=1.0), Errors.noise(rules)
    start = PoseBatch(chain.skeleton, chain.project(rotations[None]), np.array(root)[None])

    def moved(steps: Array) -> tuple[PoseBatch, Array]:
        """Poses after steps `(n, freedoms)`, and their residuals `(n, numbers + freedoms)`."""
        poses, done = walk.move(start.take(np.zeros(len(steps), dtype=np.int64)), steps, 1.0, reflect=False)
        errors = Errors.of(rules, poses).scaled(noise)
        return poses, np.concatenate([errors, done / prior_scale], axis=1)

    def residuals(step: Array) -> Array:
        return np.asarray(moved(step[None])[1][0])

    def slopes(step: Array) -> Array:
        near = step + DIFFERENCE * np.concatenate([np.zeros((1, len(step))), np.eye(len(step))])
        values = moved(near)[1]
        return np.asarray((values[1:] - values[0]).T / DIFFERENCE)

    first = np.zeros(walk.freedoms)
    found = least_squares(residuals, first, slopes, method="lm", ftol=1e-3, max_nfev=iterations)
    poses, _ = moved(found.x[None])
    return poses.rotations[0], poses.root[0]


def polished(
    chain: ArticulatedChain,
    motion: Motion,
    held: Sequence[Constraint | Target],
    reached: Sequence[Constraint | Target],
) -> Motion:
    """A motion of particles whose last frame meets `reached` and all of whose frames meet `held`.

    What the last frame changes fades in over the frames before.
    """
    rotations, root = np.array(motion.rotations), np.array(motion.root)
    last, scale = (rotations[-1], root[-1]), MOTION_SCALE
    q, p = polished_pose(chain, [*reached, *held], *last, iterations=30, prior_scale=scale)
    turn, shift = so3.log(so3.multiply(so3.inverse(rotations[-1]), q)), p - root[-1]
    share = minimum_jerk(np.linspace(0.0, 1.0, len(rotations)))
    rotations = so3.multiply(rotations, so3.exp(share[:, None, None] * turn))
    root = root + share[:, None] * shift
    rotations = chain.project(so3.normalise(rotations))
    for frame in range(1, len(rotations) - 1) if held else ():
        pose = rotations[frame], root[frame]
        rotations[frame], root[frame] = polished_pose(chain, held, *pose, iterations=4, prior_scale=scale)
    rotations[-1], root[-1] = q, p
    return replace(motion, rotations=so3.continuous(rotations), root=root)


class Guide(NamedTuple):
    """Distribution of the driving noise given the constraints: mean `gain @ residual`, one covariance.

    Attributes:
        gain: `(freedoms, numbers)`.
        root: `(freedoms, freedoms)`, R with R Rᵀ the covariance.
    """

    gain: Array
    root: Array

    @classmethod
    def learned(cls, drive: Array, change: Array) -> Guide:
        """From driving noise `(particles, freedoms)` and what it changed in errors `(particles, numbers)`.

        Errors are in units of their noise, and their likelihood is `exp(-|error|²)`. A ridge holds the
        regression where there are few particles.

        >>> drive = np.random.default_rng(0).standard_normal((50, 2))
        >>> guide = Guide.learned(drive, 3.0 * drive[:, :1])
        >>> (guide.gain[:, 0].round(2) + 0.0).tolist(), (np.diag(guide.root) ** -2).round().tolist()
        ([-0.32, 0.0], [19.0, 1.0])
        """
        unit = np.eye(drive.shape[1])
        slopes = np.linalg.solve(drive.T @ drive + 1e-3 * len(drive) * unit, drive.T @ change)
        lower = np.linalg.cholesky(unit + 2.0 * slopes @ slopes.T)
        root = np.linalg.inv(lower).T
        return cls(-2.0 * root @ (root.T @ slopes), root)

    def draw(self, residual: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Driving noise `(particles, freedoms)` for residuals `(particles, numbers)`, and the logarithm of
        the evolution's density there over that of this distribution, up to a constant."""
        own = rng.standard_normal((len(residual), len(self.gain)))
        drive = residual @ self.gain.T + own @ self.root.T
        ratio = 0.5 * (np.square(own).sum(axis=1) - np.square(drive).sum(axis=1))
        return drive, ratio


def step_targets(guide: Guide, errors: Array, owners: IntArray, wanted: Array, speed: float) -> Array:
    """Errors `(numbers,)` that the next step should leave.

    Args:
        errors: `(numbers,)`, means over the particles.
        owners: `(numbers,)`, which constraint each belongs to.
        wanted: `(constraints,)`, how long each constraint's errors should be then.
        speed: how long a mean step for one constraint may be, in deviations of the driving noise.
    """
    goals = np.zeros(len(errors))
    for owner, most in enumerate(wanted):
        own = owners == owner
        length = float(np.linalg.norm(errors[own]))
        if length == 0.0:
            continue
        kick = float(np.linalg.norm(guide.gain[:, own] @ errors[own]))
        share = min(1.0 - min(most / length, 1.0), speed / kick if kick > 0 else 1.0)
        goals[own] = (1.0 - share) * errors[own]
    return goals


def remaining(progress: float, arrival: float) -> float:
    """Share of the distance that is left, 1 … 0: a movement of least jerk that ends before the steps do.

    >>> [round(remaining(t, 0.8), 3) for t in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]
    [1.0, 0.896, 0.5, 0.104, 0.0, 0.0]
    """
    return 1.0 - float(minimum_jerk(progress / arrival))
