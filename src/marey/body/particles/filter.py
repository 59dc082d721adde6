"""Inverse kinematics by sequential Monte Carlo: a filter whose state is the whole figure (Courty 2013, 3.1).

Particles are poses. At each step they move by the evolution, are weighed by how well they meet the
constraints, and drawn anew by weight when few of them matter. The steps are the frames of a motion from the
first pose to one that meets the constraints. No derivative is needed, joint limits are never left, and the
particles are a collection of solutions. Our additions: weights are tempered so that a share of the particles
always counts, and steps shrink with what is left to do, which takes away most of the jitter and of the error
that constant noise leaves. Cost: O(steps × particles × joints), about 0.3 µs each, twice that if guided.

A filter ends with particles of one family, since resampling favours the luckiest ancestors. So for several
different motions (section 3.1.2) several filters run apart, three for each solution, and their final poses
are sorted into groups by where the joints are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, IntArray, derived
from marey._random import Rng, as_generator
from marey.body.motion import Motion
from marey.body.particles.chain import ArticulatedChain, Evolution, RandomWalk
from marey.body.particles.constraints import Constraint, Errors, PoseBatch, Target, as_constraints
from marey.body.particles.polish import Guide, remaining, step_targets
from marey.body.resample import smooth
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.mean import rotation_mean

ESTIMATES = ("path", "mean", "best")


@dataclass(frozen=True)
class FilterSettings:
    """Numbers of the filter.

    Attributes:
        tempering: share of the particles that must count at each step: the likelihood is taken to the
            largest power up to 1 that keeps it so; None: it is taken as it is, as published.
        resample: draw particles anew when fewer than this share count.
        least_step: noise shrinks as the constraints come to hold, to no less than this share; 1: it does not.
        arrival: share of the steps after which constraints are aimed at in full.
        speed: deviations of the driving noise that a mean step may be long for one constraint.
        max_bytes: of particles kept for their ancestry.
    """

    tempering: float | None = 0.25
    resample: float = 0.5
    least_step: float = 0.5
    arrival: float = 0.8
    speed: float = 4.0
    max_bytes: float = 4e9

    def __post_init__(self) -> None:
        for name in ("tempering", "resample", "least_step", "arrival"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise InputError(f"{name}: a share above 0 and at most 1, got {value}")


SETTINGS = FilterSettings()
PUBLISHED = FilterSettings(tempering=None, least_step=1.0)
"""The plain filter of Courty 2013, section 3.1.3: for :func:`solve` with `guided` false."""


@dataclass(frozen=True, eq=False)
class FilteredMotion:
    """What a filter found.

    Attributes:
        rotations, roots: of all particles at all steps, `(steps + 1, particles, joints, 4)`, `(…, 3)`.
        weights: `(steps + 1, particles)`.
        ancestors: `(steps, particles)`, which particle of the step before each came from.
        effective: `(steps,)`, number of particles that count, 1 / Σ w².
        errors: `(steps + 1, constraints)`, mean length of each constraint's errors, by weight.
    """

    chain: ArticulatedChain
    constraints: tuple[Constraint, ...]
    rotations: Array
    roots: Array
    weights: Array
    ancestors: IntArray
    effective: Array
    errors: Array
    seconds: float = 0.0

    def _keep(self, step: int, poses: PoseBatch, weight: Array, errors: Errors) -> None:
        self.rotations[step], self.roots[step], self.weights[step] = poses.rotations, poses.root, weight
        self.errors[step] = weight @ errors.lengths(len(self.constraints))

    steps = derived(len, "effective", "Number of steps.")

    @cached_property
    def best(self) -> int:
        """The particle that meets the constraints best in the end."""
        final = PoseBatch(self.chain.skeleton, self.rotations[-1], self.roots[-1])
        errors = Errors.of(self.constraints, final)
        return int(np.argmax(errors.log_likelihood(Errors.noise(self.constraints))))

    def path(self) -> PoseBatch:
        """Poses that led to the best final particle: `(steps + 1)` of them."""
        line = [self.best]
        for before in self.ancestors[::-1]:
            line.append(int(before[line[-1]]))
        return self._poses(np.array(line[::-1]))

    def means(self) -> PoseBatch:
        """The weighted intrinsic mean pose of each step."""
        rotations = [rotation_mean(q, w, tolerance=1e-6).mean for q, w in zip(self.rotations, self.weights)]
        roots = np.einsum("sn,sni->si", self.weights, self.roots)
        return PoseBatch(self.chain.skeleton, np.stack(rotations), roots)

    def likeliest(self) -> PoseBatch:
        """The particle of largest weight of each step."""
        return self._poses(self.weights.argmax(axis=1))

    def _poses(self, line: IntArray) -> PoseBatch:
        """One particle `(steps + 1,)` of each step."""
        rows = np.arange(self.steps + 1)
        return PoseBatch(self.chain.skeleton, self.rotations[rows, line], self.roots[rows, line])

    def motion(self, frame_rate: float = 30.0, *, estimate: str = "mean", smoothed: bool = True) -> Motion:
        """The steps as a clip, smoothed over two steps; first and last pose stay.

        Args:
            frame_rate: frames per second.
            smoothed: or as they are.
            estimate: "mean" of each step, the smoothest; the "path" to the best particle; or the "best" of
                each step.
        """
        if estimate not in ESTIMATES:
            raise InputError(f"estimate {estimate!r}: one of {', '.join(ESTIMATES)}")
        poses = {"path": self.path, "mean": self.means, "best": self.likeliest}[estimate]()
        if not smoothed:
            inside = self.chain.project(poses.rotations)
            return Motion(self.chain.skeleton, so3.continuous(inside), poses.root, frame_rate)
        bell = np.exp(-0.5 * (np.arange(6) / 2.0) ** 2)
        rotations = self.chain.project(so3.normalise(smooth(poses.rotations, bell, rotations=True)))
        return Motion(self.chain.skeleton, so3.continuous(rotations), smooth(poses.root, bell), frame_rate)


def solve(
    chain: ArticulatedChain,
    constraints: Sequence[Constraint | Target],
    *,
    start: ArrayLike | None = None,
    root: ArrayLike | None = None,
    particles: int = 300,
    steps: int = 60,
    evolution: Evolution | None = None,
    guided: bool = True,
    rng: Rng = 0,
    settings: FilterSettings = SETTINGS,
) -> FilteredMotion:
    """A motion from a pose to one that meets the constraints.

    Args:
        chain: the figure; its rules are constraints as well.
        constraints: constraints, or targets of inverse kinematics.
        start: `(joints, 4)`, local rotations to begin with, turned back to the limits; at rest if None.
        root: `(3,)`, metres; the skeleton's position if None.
        evolution: how particles move; a random walk of 0.1 radians a step if None.
        guided: draw steps with regard to the constraints, see :mod:`marey.body.particles.polish`; else by
            the evolution alone, as published.

    >>> from marey.body.particles import Reach, hand_chain
    >>> found = solve(hand_chain(), [Reach("Index3_end", [0.03, -0.08, 0.38])], particles=100, steps=40)
    >>> bool(found.errors[-1, 0] < 0.01), bool(found.chain.limits.contains(found.rotations).all())
    (True, True)
    """
    began = time.perf_counter()
    rules = (*as_constraints(constraints), *chain.rules)
    _check(chain, rules, particles, steps, settings.max_bytes)
    rng = as_generator(rng)
    model = RandomWalk(chain) if evolution is None else evolution
    joints = chain.skeleton.joints
    first = so3.identity(joints) if start is None else np.asarray(start, dtype=np.float64)
    place = np.asarray(chain.skeleton.offsets[0] if root is None else root, dtype=np.float64)
    if first.shape != (joints, 4) or place.shape != (3,):
        raise InputError(f"start: expected ({joints}, 4) and root (3,), got {first.shape} and {place.shape}")
    inside = np.repeat(chain.project(so3.normalise(first)[None]), particles, axis=0)
    poses = model.begin(PoseBatch(chain.skeleton, inside, np.repeat(place[None], particles, axis=0)))
    rows = steps + 1, particles
    rotations, roots = np.empty((*rows, chain.skeleton.joints, 4)), np.empty((*rows, 3))
    ancestors, sizes = np.tile(np.arange(particles), (steps, 1)), np.empty((steps + 1, len(rules)))
    found = FilteredMotion(chain, rules, rotations, roots, np.empty(rows), ancestors, np.empty(steps), sizes)
    quarter = 0.25 * chain.reach
    full = np.array([quarter if c.full_step_error is None else c.full_step_error for c in rules])
    even = np.full(particles, -np.log(particles))
    log_weights, errors = even, Errors.of(rules, poses)
    found._keep(0, poses, np.exp(even), errors)
    for step in range(1, steps + 1):
        progress = step / steps
        scale = float(np.clip((found.errors[step - 1] / full).max(initial=0.0), settings.least_step, 1.0))
        noise = Errors.noise(rules, progress)
        if guided:
            # How long errors should be after the step, in units of the noise.
            wanted = remaining(progress, settings.arrival) * found.errors[0] / noise
            rest = model.expected(poses)
            still = (errors if rest is poses else Errors.of(rules, rest)).scaled(noise)
            trial, tried = model.move(poses, rng.standard_normal((particles, model.freedoms)), scale)
            guide = Guide.learned(tried, Errors.of(rules, trial).scaled(noise) - still)
            goal = step_targets(guide, still.mean(axis=0), errors.owners, wanted, settings.speed)
            drive, ratio = guide.draw(still - goal, rng)
            poses, _ = model.move(poses, drive, scale, reflect=False)
            errors = Errors.of(rules, poses)
            gained = ratio - np.square(errors.scaled(noise) - goal).sum(axis=1)
        else:
            poses = model.advance(poses, scale, rng)
            errors = Errors.of(rules, poses)
            gained = errors.log_likelihood(noise)
        power = 1.0
        if settings.tempering is not None:
            power = tempering_power(log_weights, gained, settings.tempering * particles)
        log_weights = _normalised(log_weights + power * gained)
        weight = np.exp(log_weights)
        found._keep(step, poses, weight, errors)
        found.effective[step - 1] = 1.0 / np.square(weight).sum()
        if step < steps and found.effective[step - 1] < settings.resample * particles:
            drawn = found.ancestors[step] = systematic(weight, rng)
            poses, errors, log_weights = poses.take(drawn), errors.take(drawn), even
    return replace(found, seconds=time.perf_counter() - began)


def tempering_power(log_weights: Array, likelihood: Array, least: float) -> float:
    """The largest power up to 1 of the likelihood that leaves `least` particles effective, by bisection.

    >>> flat = np.full(100, -np.log(100))
    >>> round(tempering_power(flat, -np.arange(100.0), 25), 3)
    0.08
    """

    def effective(power: float) -> float:
        weight = np.exp(_normalised(log_weights + power * likelihood))
        return float(1.0 / np.square(weight).sum())

    if effective(1.0) >= least:
        return 1.0
    low, high = -12.0, 0.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective(10.0**middle) >= least else (low, middle)
    return float(10.0**low)


def systematic(weights: Array, rng: np.random.Generator) -> IntArray:
    """Indices `(particles,)` drawn by weight: one random number, evenly spaced, each within 1 of its share.

    >>> systematic(np.array([0.5, 0.0, 0.25, 0.25]), np.random.default_rng(0)).tolist()
    [0, 0, 2, 3]
    """
    count = len(weights)
    places = (rng.random() + np.arange(count)) / count
    found = np.searchsorted(np.cumsum(weights) / weights.sum(), places, side="right")
    return np.minimum(found, count - 1).astype(np.int64)


def _normalised(log_weights: Array) -> Array:
    """Logarithms of weights that sum to 1."""
    top = log_weights.max()
    return np.asarray(log_weights - (top + np.log(np.exp(log_weights - top).sum())))


def _check(
    chain: ArticulatedChain, constraints: Sequence[Constraint], particles: int, steps: int, max_bytes: float
) -> None:
    if not constraints:
        raise InputError("nothing to do: give at least one constraint")
    for constraint in constraints:
        if not (np.isfinite(constraint.noise) and constraint.noise > 0 and constraint.initial_scale > 0):
            raise InputError(f"{type(constraint).__name__}: its noise and initial scale must be above 0")
    if particles < 2 or steps < 1:
        raise InputError(f"at least 2 particles and 1 step, got {particles} and {steps}")
    memory = 8.0 * (steps + 1) * particles * (4 * chain.skeleton.joints + 3)
    if memory > max_bytes:
        raise InputError(
            f"{particles} particles of {chain.skeleton.joints} joints over {steps} steps take "
            f"{memory / 1e9:.1f} GB; take fewer particles or steps"
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """One motion that meets the constraints.

    Attributes:
        motion: of the filter.
        error: of the last mean pose, in units of noise.
        share: of all filters that ended near it.
    """

    motion: FilteredMotion
    error: float
    share: float


def solve_many(
    chain: ArticulatedChain,
    constraints: Sequence[Constraint | Target],
    solutions: int,
    *,
    rng: Rng = 0,
    **options: Any,
) -> list[Solution]:
    """Different motions, the best first.

    Args:
        solutions: how many; three filters run for each of them, if more than one.
        options: of :func:`marey.body.particles.solve`.

    >>> from marey.body.particles import Reach, hand_chain
    >>> both = solve_many(hand_chain(), [Reach("Index3_end", [0.05, -0.1, 0.35])], 2, particles=60, steps=20)
    >>> len(both)
    2
    """
    from scipy.cluster.vq import kmeans2

    if solutions < 1:
        raise InputError(f"solutions: at least 1, got {solutions}")
    rngs = as_generator(rng).spawn(3 * solutions if solutions > 1 else 1)
    found = [solve(chain, constraints, rng=each, **options) for each in rngs]
    ends = [one.means().take(np.array([one.steps])) for one in found]
    # Of the last mean pose: the length of all errors, in units of their noise.
    noise = Errors.noise(found[0].constraints)
    likely = [Errors.of(one.constraints, end).log_likelihood(noise)[0] for one, end in zip(found, ends)]
    errors = np.sqrt(-np.array(likely))
    # k-means, from the cheapest pose and those farthest from it.
    places = np.stack([end.positions[0].ravel() for end in ends])
    seeds = [int(np.argmin(errors))]
    while len(seeds) < min(solutions, len(places)):
        apart = np.min([np.linalg.norm(places - places[seed], axis=1) for seed in seeds], axis=0)
        seeds.append(int(np.argmax(apart)))
    groups = kmeans2(places, places[seeds], minit="matrix", iter=50)[1]
    chosen = []
    for group in range(solutions):
        members = np.flatnonzero(groups == group)
        if members.size:
            best = int(members[np.argmin(errors[members])])
            chosen.append(Solution(found[best], float(errors[best]), members.size / len(found)))
    return sorted(chosen, key=lambda solution: solution.error)
