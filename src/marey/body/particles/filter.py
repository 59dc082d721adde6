"""Inverse kinematics by sequential Monte Carlo: a filter whose state is the whole figure (Courty 2013, 3.1).

Particles are poses. At each step they stray by the evolution law, are weighed by how well they meet the
constraints, and drawn anew by weight when few of them matter. The steps are the frames of a motion from the
first pose to one that meets the constraints. No derivative is needed, joint limits are never left, and the
particles are a collection of solutions. Our additions: weights are tempered so that a share of the particles
always counts, and steps shrink with what is left to go, which takes away most of the jitter and of the error
that constant noise leaves. Cost: O(steps × particles × joints), about 0.3 µs each, twice that if guided.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array
from marey.body.motion import Motion
from marey.body.particles.chains import Chain
from marey.body.particles.constraints import Constraint
from marey.body.particles.errors import Errors
from marey.body.particles.estimates import intrinsic_means, smoothed
from marey.body.particles.evolution import Evolution, RandomWalk
from marey.body.particles.guidance import Guide, left_to_go, next_goals
from marey.body.particles.poses import PoseBatch
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous

Indices = NDArray[np.int64]

# Bytes of particles kept for their ancestry.
MOST_MEMORY = 4e9
# Deviations of the driving noise that a mean step may be long for one constraint.
SPEED = 4.0
ESTIMATES = ("path", "mean", "best")


@dataclass(frozen=True, eq=False)
class FilteredMotion:
    """What a filter found.

    rotations, roots: of all particles at all steps, `(steps + 1, particles, joints, 4)`, `(…, 3)`
    weights, likelihoods: `(steps + 1, particles)`, the latter logarithms, of the constraints as finally meant
    ancestors: `(steps, particles)`, which particle of the step before each came from
    effective: `(steps,)`, number of particles that count, 1 / Σ w²
    temperatures: `(steps,)`, power from 0 to 1 to which the likelihood was taken
    scales: `(steps,)`, of the noise
    misses: `(steps + 1, constraints)`, mean length of each constraint's errors, by weight
    """

    chain: Chain
    constraints: tuple[Constraint, ...]
    rotations: Array
    roots: Array
    weights: Array
    likelihoods: Array
    ancestors: Indices
    effective: Array
    temperatures: Array
    scales: Array
    misses: Array
    seconds: float

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.effective)

    @property
    def count(self) -> int:
        """Number of particles."""
        return self.weights.shape[1]

    @cached_property
    def best(self) -> int:
        """The particle that meets the constraints best in the end."""
        return int(np.argmax(self.likelihoods[-1]))

    def path(self, particle: int | None = None) -> PoseBatch:
        """Poses that led to a final particle, the best one if None: `(steps + 1)` of them."""
        at = self.best if particle is None else particle
        line = np.empty(self.steps + 1, dtype=np.int64)
        for step in range(self.steps, 0, -1):
            line[step] = at
            at = int(self.ancestors[step - 1, at])
        line[0] = at
        rows = np.arange(self.steps + 1)
        return PoseBatch(self.chain.skeleton, self.rotations[rows, line], self.roots[rows, line])

    def means(self) -> PoseBatch:
        """The weighted intrinsic mean pose of each step."""
        rotations = np.stack([intrinsic_means(q, w) for q, w in zip(self.rotations, self.weights)])
        roots = np.einsum("sn,sni->si", self.weights, self.roots)
        return PoseBatch(self.chain.skeleton, rotations, roots)

    def likeliest(self) -> PoseBatch:
        """The particle of largest weight of each step."""
        rows, line = np.arange(self.steps + 1), self.weights.argmax(axis=1)
        return PoseBatch(self.chain.skeleton, self.rotations[rows, line], self.roots[rows, line])

    def final(self) -> PoseBatch:
        """All particles of the last step."""
        return PoseBatch(self.chain.skeleton, self.rotations[-1], self.roots[-1])

    def motion(
        self, frame_rate: float = 30.0, *, estimate: str = "mean", smoothing: float = 2.0, name: str = ""
    ) -> Motion:
        """The steps as a clip.

        estimate: "mean" of each step, the smoothest; the "path" to the best particle; or the "best" of each
        smoothing: steps, width of the Gaussian it is smoothed by; first and last pose stay; 0: not at all
        """
        if estimate not in ESTIMATES:
            raise InputError(f"estimate {estimate!r}: one of {', '.join(ESTIMATES)}")
        poses = {"path": self.path, "mean": self.means, "best": self.likeliest}[estimate]()
        rotations, root = smoothed(poses.rotations, poses.root, smoothing)
        rotations = self.chain.limits.clamp(rotations)
        return Motion(self.chain.skeleton, continuous(rotations), root, frame_rate, name=name)


def solve(
    chain: Chain,
    constraints: Sequence[Constraint],
    *,
    start: ArrayLike | None = None,
    root: ArrayLike | None = None,
    particles: int = 300,
    steps: int = 60,
    evolution: Evolution | None = None,
    guided: bool = True,
    rng: np.random.Generator | int = 0,
    tempering: float | None = 0.25,
    resample: float = 0.5,
    least_step: float = 0.5,
) -> FilteredMotion:
    """A motion from a pose to one that meets the constraints.

    chain: the figure; its rules are constraints as well
    start: `(joints, 4)`, local rotations to begin with, turned back to the limits; at rest if None
    root: `(3,)`, metres; the skeleton's place if None
    evolution: how particles move; a random walk of 0.1 radians a step if None
    guided: draw steps with an eye to the constraints, see :mod:`marey.body.particles.guidance`; else from the
        evolution law alone, as the source does
    tempering: share of the particles that must count at each step: the likelihood is taken to the largest
        power up to 1 that keeps it so; None: it is taken as it is
    resample: draw particles anew when fewer than this share count
    least_step: noise shrinks as the constraints come to hold, to no less than this share; 1: it does not

    >>> from marey.body.particles import At, hand_chain
    >>> found = solve(hand_chain(), [At("Index3_end", [0.03, -0.08, 0.38])], particles=100, steps=40)
    >>> bool(found.misses[-1, 0] < 0.01), bool((found.chain.limits.excess(found.rotations) < 1e-9).all())
    (True, True)
    """
    began = time.perf_counter()
    rules = (*constraints, *chain.rules)
    _check(chain, rules, particles, steps, tempering, resample, least_step)
    rng = np.random.default_rng(rng)
    law = RandomWalk(chain) if evolution is None else evolution
    poses = law.begin(_first(chain, start, root, particles))
    kept = _Kept(chain, rules, particles, steps)
    sizes = _sizes(chain, rules)
    log_weights = np.full(particles, -np.log(particles))
    errors = Errors.of(rules, poses)
    kept.add(0, poses, np.exp(log_weights), errors)
    for step in range(1, steps + 1):
        scale = float(np.clip((kept.misses[step - 1] / sizes).max(initial=0.0), least_step, 1.0))
        noise = Errors.noise(rules, step / steps)
        if guided:
            wanted = left_to_go(step / steps) * kept.misses[0]
            poses, errors, gained = _guided(law, rules, poses, errors, noise, wanted, scale, rng)
        else:
            poses = law.advance(poses, scale, rng)
            errors = Errors.of(rules, poses)
            gained = errors.log_likelihood(noise)
        power = 1.0 if tempering is None else temperature(log_weights, gained, tempering * particles)
        log_weights = normalised(log_weights + power * gained)
        weight = np.exp(log_weights)
        count = kept.add(step, poses, weight, errors, power, scale)
        if step < steps and count < resample * particles:
            rows = systematic(weight, rng)
            kept.ancestors[step] = rows
            poses, errors = poses.take(rows), errors.take(rows)
            log_weights = np.full(particles, -np.log(particles))
    return kept.result(time.perf_counter() - began)


def _guided(
    law: Evolution,
    constraints: Sequence[Constraint],
    poses: PoseBatch,
    before: Errors,
    noise: Array,
    wanted: Array,
    scale: float,
    rng: np.random.Generator,
) -> tuple[PoseBatch, Errors, Array]:
    """Particles one step on, drawn with an eye to the constraints, their errors and what they weigh.

    wanted: `(constraints,)`, how long errors should be after the step
    """
    rest = law.expected(poses)
    still = (before if rest is poses else Errors.of(constraints, rest)).scaled(noise)
    trial, tried = law.move(poses, rng.standard_normal((poses.count, law.freedoms)), scale)
    guide = Guide.learned(tried, Errors.of(constraints, trial).scaled(noise) - still)
    goal = next_goals(guide, still.mean(axis=0), before.owners, wanted / noise, SPEED)
    drive, ratio = guide.draw(still - goal, rng)
    moved, _ = law.move(poses, drive, scale, bounce=False)
    errors = Errors.of(constraints, moved)
    return moved, errors, ratio - np.square(errors.scaled(noise) - goal).sum(axis=1)


class _Kept:
    """All that happened, step by step."""

    def __init__(self, chain: Chain, rules: tuple[Constraint, ...], particles: int, steps: int) -> None:
        self.chain, self.rules = chain, rules
        self.final = Errors.noise(rules, 1.0)
        joints = chain.skeleton.joints
        self.rotations = np.empty((steps + 1, particles, joints, 4))
        self.roots = np.empty((steps + 1, particles, 3))
        self.weights, self.likelihoods = np.empty((2, steps + 1, particles))
        self.misses = np.empty((steps + 1, len(rules)))
        self.ancestors = np.tile(np.arange(particles), (steps, 1))
        self.effective, self.temperatures, self.scales = np.empty((3, steps))

    def add(
        self,
        step: int,
        poses: PoseBatch,
        weight: Array,
        errors: Errors,
        power: float = 1.0,
        scale: float = 1.0,
    ) -> float:
        """Keep a step; how many particles count in it."""
        self.rotations[step], self.roots[step], self.weights[step] = poses.rotations, poses.root, weight
        self.likelihoods[step] = errors.log_likelihood(self.final)
        self.misses[step] = weight @ errors.lengths(len(self.rules))
        count = float(1.0 / np.square(weight).sum())
        if step:
            self.effective[step - 1], self.temperatures[step - 1], self.scales[step - 1] = count, power, scale
        return count

    def result(self, seconds: float) -> FilteredMotion:
        return FilteredMotion(
            self.chain, self.rules, self.rotations, self.roots, self.weights, self.likelihoods,
            self.ancestors, self.effective, self.temperatures, self.scales, self.misses, seconds,
        )  # fmt: skip


def temperature(log_weights: Array, likelihood: Array, least: float) -> float:
    """The largest power up to 1 of the likelihood that leaves `least` particles effective, by bisection.

    >>> flat = np.full(100, -np.log(100))
    >>> round(temperature(flat, -np.arange(100.0), 25), 3)
    0.08
    """

    def effective(power: float) -> float:
        weight = np.exp(normalised(log_weights + power * likelihood))
        return float(1.0 / np.square(weight).sum())

    if effective(1.0) >= least:
        return 1.0
    low, high = -12.0, 0.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective(10.0**middle) >= least else (low, middle)
    return float(10.0**low)


def systematic(weights: Array, rng: np.random.Generator) -> Indices:
    """Indices `(particles,)` drawn by weight: one random number, evenly spaced, each within 1 of its share.

    >>> systematic(np.array([0.5, 0.0, 0.25, 0.25]), np.random.default_rng(0)).tolist()
    [0, 0, 2, 3]
    """
    count = len(weights)
    places = (rng.random() + np.arange(count)) / count
    found = np.searchsorted(np.cumsum(weights) / weights.sum(), places, side="right")
    return np.minimum(found, count - 1).astype(np.int64)


def normalised(log_weights: Array) -> Array:
    """Logarithms of weights that sum to 1."""
    top = log_weights.max()
    return np.asarray(log_weights - (top + np.log(np.exp(log_weights - top).sum())))


def _first(chain: Chain, start: ArrayLike | None, root: ArrayLike | None, particles: int) -> PoseBatch:
    joints = chain.skeleton.joints
    first = so3.identity(joints) if start is None else np.asarray(start, dtype=np.float64)
    place = np.asarray(chain.skeleton.offsets[0] if root is None else root, dtype=np.float64)
    if first.shape != (joints, 4) or place.shape != (3,):
        raise InputError(f"start: expected ({joints}, 4) and root (3,), got {first.shape} and {place.shape}")
    inside = chain.limits.clamp(so3.normalise(first)[None])
    return PoseBatch(
        chain.skeleton, np.repeat(inside, particles, axis=0), np.repeat(place[None], particles, axis=0)
    )


def _sizes(chain: Chain, constraints: Sequence[Constraint]) -> Array:
    """Errors at which steps are full: a quarter of the chain, unless a constraint says otherwise."""
    quarter = 0.25 * chain.reach
    return np.array([quarter if c.size is None else c.size for c in constraints])


def _check(
    chain: Chain,
    constraints: Sequence[Constraint],
    particles: int,
    steps: int,
    tempering: float | None,
    resample: float,
    least_step: float,
) -> None:
    if not constraints:
        raise InputError("nothing to do: give at least one constraint")
    for constraint in constraints:
        if not (np.isfinite(constraint.noise) and constraint.noise > 0 and constraint.loose > 0):
            raise InputError(f"{type(constraint).__name__}: its noise and looseness must be above 0")
    if particles < 2 or steps < 1:
        raise InputError(f"at least 2 particles and 1 step, got {particles} and {steps}")
    memory = 8.0 * (steps + 1) * particles * (4 * chain.skeleton.joints + 3)
    if memory > MOST_MEMORY:
        raise InputError(
            f"{particles} particles of {chain.skeleton.joints} joints over {steps} steps take "
            f"{memory / 1e9:.1f} GB; take fewer particles or steps"
        )
    for name, value in (("tempering", tempering), ("resample", resample), ("least_step", least_step)):
        if value is not None and not 0 < value <= 1:
            raise InputError(f"{name}: a share above 0 and at most 1, got {value}")
