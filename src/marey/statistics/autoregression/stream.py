"""Endless simulation of a vector autoregression, one frame at a time, for one or many characters.

Constraints on coming frames may arrive while it runs; each frame is drawn from the exact distribution given
all frames before and all constraints within the horizon, so nothing jumps and nothing is simulated ahead
(Courty 2013, section 3.2.2.2, streaming, made exact). A constraint on a later frame is a noisy linear
observation `G s + e` of the state now: G = H Fⁿ, and e has gathered the noise of the n steps between. From it
follow, frame by frame, gains that steer the recursion; they depend on when and what is constrained, not on
the state or the values, so they are made once and serve all characters with the same constraints. A step
costs O(characters · order · components²), however long it runs; gains cost O(state³) for each constrained
frame, and O(rows³ + state² · rows) for each frame before the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, checked
from marey._random import Rng
from marey.errors import InputError
from marey.statistics._linear import psd_root
from marey.statistics.autoregression.model import VectorAutoregression

Index = NDArray[np.intp]


@dataclass(frozen=True)
class Settings:
    """Numerical limits of a stream.

    Args:
        negligible: Constraints count from when the current state has this share of a say in them.
        farthest: They never count more than so many frames before.
        exact: Variances below this share of the largest count as none: the constraint holds exactly.
        independent: Share of a row's variance that the rows before must leave of it.
    """

    negligible: float = 1e-8
    farthest: int = 4096
    exact: float = 1e-14
    independent: float = 1e-9


SETTINGS = Settings()


class Constraint(NamedTuple):
    """A constraint on the state at a frame: rows · state = value, with a variance of `noise`.

    Args:
        time: The frame.
        rows: `(n, state)`.
        noise: `(n,)`.
    """

    time: int
    rows: Array
    noise: Array


@dataclass(eq=False)
class _Plan:
    """Characters with the same constraints, in order of time.

    Args:
        characters: Which.
        constraints: In order of time.
        values: `(characters, all rows of the constraints)`, about the mean.
        gains: Up to the next constrained frame, once they are made.
        future: All constraints from each constrained frame on.
        aims: `(characters, rows)`, the values as the gains use them.
    """

    characters: Index
    constraints: list[Constraint] = field(default_factory=list)
    values: Array = field(default_factory=lambda: np.empty((0, 0)))
    gains: ConstraintGains | None = None
    future: dict[int, FutureConstraints] = field(default_factory=dict)
    aims: Array = field(default_factory=lambda: np.empty((0, 0)))

    def of(self, some: Index) -> _Plan:
        """The plan of some of the characters, by their places in it."""
        return replace(
            self,
            characters=self.characters[some],
            values=self.values[some],
            aims=self.aims[some] if self.gains is not None else self.aims,
            future=dict(self.future),
        )

    def extended(self, constraint: Constraint, values: Array) -> _Plan:
        """The plan with one more constraint; its gains are to be made anew."""
        place = sum(one.time <= constraint.time for one in self.constraints)
        row = sum(len(one.rows) for one in self.constraints[:place])
        constraints = [*self.constraints[:place], constraint, *self.constraints[place:]]
        merged = np.concatenate([self.values[:, :row], values, self.values[:, row:]], axis=1)
        return _Plan(self.characters, constraints, merged)


class Stream:
    """A running simulation; :meth:`step` gives the next frame.

    Args:
        model: What is simulated.
        rng: Seed or generator.
        characters: How many run side by side, each with its own noise; one, without that axis, if None.
        history: `(frames, components)` before the first, oldest first, or `(characters, frames, components)`;
            drawn from the stationary distribution if None.
        horizon: Frames before a constraint from which on it counts; as long as the model remembers if None.

    >>> swing = VectorAutoregression([0.0], [[[1.9]], [[-0.95]]], [[0.01]])
    >>> stream = Stream(swing, rng=0)
    >>> stream.constrain(50, [2.0])                       # frame 50 must be 2
    >>> frames = [stream.step() for _ in range(60)]
    >>> bool(abs(frames[50][0] - 2.0) < 1e-9)
    True
    """

    def __init__(
        self,
        model: VectorAutoregression,
        rng: Rng = None,
        *,
        characters: int | None = None,
        history: ArrayLike | None = None,
        horizon: int | None = None,
    ) -> None:
        if characters is not None and (isinstance(characters, bool) or characters < 1):
            raise InputError(f"characters: at least one, got {characters}")
        if horizon is not None and horizon < 1:
            raise InputError(f"horizon: at least one frame, got {horizon}")
        # A constraint on a velocity needs a state of two frames.
        self.model = _with_frames(model, 2)
        self.rng = np.random.default_rng(rng)
        self.time = 0
        self._single = characters is None
        self._count = 1 if characters is None else int(characters)
        self._horizon = horizon
        self._noise = np.ascontiguousarray(self.model.noise_root.T)
        self._steps = self.model.transposed_coefficients[: model.order]
        self._past = self._start(history)
        self._drawn = np.empty((self._count, model.components))
        self._plans: list[_Plan] = []
        self._waiting: list[tuple[Constraint, Index, Array]] = []

    @property
    def horizon(self) -> int:
        """Frames before a constraint from which on it counts."""
        if self._horizon is None:
            self._horizon = _memory(self.model)
        return self._horizon

    def constrain(
        self,
        time: int,
        value: ArrayLike,
        matrix: ArrayLike | None = None,
        noise: ArrayLike = 0.0,
        *,
        characters: Sequence[int] | None = None,
    ) -> None:
        """Constrain frame `time` (the next is `stream.time`): matrix · frame = value.

        Args:
            time: The frame.
            value: `(rows,)`, or `(characters, rows)`, each its own; without a matrix the frame itself, where
                NaN leaves a component free.
            matrix: `(rows, components)`; or `(rows, frames, components)` of the frames up to `time`, oldest
                first: `[-1, 1]` times the frame rate is a velocity.
            noise: Variance, `()` or `(rows,)`; 0: exactly.
            characters: Whose; all if None.
        """
        if isinstance(time, bool) or int(time) != time or time < self.time:
            raise InputError(f"time {time}: a whole number of frames; the next frame is {self.time}")
        who = self._chosen(characters)
        size, frames = self.model.components, self.model.order
        wanted = np.asarray(value, dtype=np.float64)
        rows = np.eye(size) if matrix is None else np.asarray(matrix, dtype=np.float64)
        if rows.ndim == 2:
            rows = rows[:, None]
        if rows.ndim != 3 or rows.shape[2] != size or not 1 <= rows.shape[1] <= frames:
            raise InputError(f"matrix: (rows, components) or (rows, up to {frames} frames, components)")
        if not np.isfinite(rows).all() or np.isinf(wanted).any():
            raise InputError("a constraint needs finite numbers")
        if wanted.shape not in {(len(rows),), (len(who), len(rows))}:
            raise InputError(
                f"value {wanted.shape}: one number a row, {len(rows)}, for all or each character"
            )
        wanted = np.broadcast_to(wanted, (len(who), len(rows)))
        spread = np.broadcast_to(np.asarray(noise, dtype=np.float64), (len(rows),))
        if not (np.isfinite(spread).all() and (spread >= 0).all()):
            raise InputError("noise: variances, 0 or above")
        free = np.isnan(wanted)
        if matrix is not None and free.any():
            raise InputError("value: NaN leaves a component free only where there is no matrix")
        whole = np.zeros((len(rows), frames, size))
        whole[:, : rows.shape[1]] = rows[:, ::-1]
        about = wanted - (rows.sum(axis=1) @ self.model.mean)
        patterns, which = np.unique(free, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            one = Constraint(int(time), whole.reshape(len(rows), -1)[~pattern], spread[~pattern])
            members = which.ravel() == i
            if len(one.rows):
                self._waiting.append((one, who[members], about[members][:, ~pattern]))

    def step(self) -> Array:
        """The next frame `(components,)`, or `(characters, components)`."""
        if self._waiting:
            self._take_up()
        self.rng.standard_normal(out=self._drawn)
        made = self._drawn @ self._noise
        for step, past in zip(self._steps, self._past, strict=False):
            made += past @ step
        if self._plans:
            self._steer(made)
        self._past = [made, *self._past[:-1]]
        self.time += 1
        found = made + self.model.mean
        return found[0] if self._single else found

    def run(self, frames: int) -> Array:
        """So many frames `(frames, components)`, or `(frames, characters, components)`."""
        return np.stack([self.step() for _ in range(frames)])

    def _steer(self, made: Array) -> None:
        """Replace the frames of characters with constraints."""
        for plan in self._plans:
            if plan.gains is None:
                if not plan.future:
                    plan.future = future_constraints(self.model, plan.constraints)
                future = plan.future.pop(plan.constraints[0].time)
                plan.gains = constraint_gains(self.model, future, self.time, plan.constraints[0].time)
                rest = future.reduction.shape[1] - plan.values.shape[1]
                plan.aims = plan.values @ future.reduction[:, rest:].T
            at, who = self.time - plan.gains.first, plan.characters
            state = np.concatenate([past[who] for past in self._past], axis=1)
            moved = state @ plan.gains.moves[at].T + plan.aims @ plan.gains.pulls[at].T
            made[who] = moved + self._drawn[who] @ plan.gains.spreads[at].T
            if at == len(plan.gains.moves) - 1:
                done = sum(len(one.rows) for one in plan.constraints if one.time == self.time)
                plan.constraints = [one for one in plan.constraints if one.time > self.time]
                plan.values, plan.gains = plan.values[:, done:], None
        self._plans = [plan for plan in self._plans if plan.constraints]

    def _take_up(self) -> None:
        """Put constraints that have come within the horizon into the plans of their characters."""
        if min(one[0].time for one in self._waiting) - self.time >= self.horizon:
            return
        # Those soon to come are taken along, so that gains are made anew once for many.
        reach = self.time + 2 * self.horizon
        near = [one for one in self._waiting if one[0].time < reach]
        self._waiting = [one for one in self._waiting if one[0].time >= reach]
        for constraint, who, values in near:
            left = np.ones(len(who), dtype=bool)
            for plan in list(self._plans):
                common, mine, theirs = np.intersect1d(plan.characters, who, return_indices=True)
                if not len(common):
                    continue
                left[theirs] = False
                self._plans.remove(plan)
                rest = np.delete(np.arange(len(plan.characters)), mine)
                if len(rest):
                    self._plans.append(plan.of(rest))
                self._plans.append(plan.of(mine).extended(constraint, values[theirs]))
            if left.any():
                fresh = _Plan(who[left], values=np.empty((int(left.sum()), 0)))
                self._plans.append(fresh.extended(constraint, values[left]))

    def _chosen(self, characters: Sequence[int] | None) -> Index:
        if characters is None:
            return np.arange(self._count)
        who = np.asarray(characters, dtype=np.intp)
        if not len(who) or who[0] < 0 or who[-1] >= self._count or (np.diff(who) <= 0).any():
            raise InputError(f"characters: different numbers from 0 to {self._count - 1}, in ascending order")
        return who

    def _start(self, history: ArrayLike | None) -> list[Array]:
        """The frames before the first, newest first, each `(characters, components)`, about the mean."""
        frames, size, count = self.model.order, self.model.components, self._count
        if history is None:
            drawn = self.rng.standard_normal((count, frames * size)) @ psd_root(self.model.stationary).T
            states = drawn.reshape(count, frames, size)
        else:
            given = np.asarray(history, dtype=np.float64)
            given = given[None] if given.ndim == 2 else given
            if given.ndim != 3 or given.shape[1] < frames or given.shape[2] != size:
                raise InputError(f"history {given.shape}: at least {frames} frames of {size} components")
            states = checked(
                "history", np.broadcast_to(given, (count, *given.shape[1:])), (count, None, size)
            )
            states = states[:, ::-1][:, :frames] - self.model.mean
        return [np.ascontiguousarray(states[:, i]) for i in range(frames)]


class FutureConstraints(NamedTuple):
    """All constraints from a frame on, as one observation of the state at that frame.

    Args:
        rows: `(n, state)`.
        noise: `(n, n)`, covariance of its noise.
        reduction: `(n, values)`, how its values follow from those of all constraints.
    """

    rows: Array
    noise: Array
    reduction: Array

    def earlier(self, model: VectorAutoregression, steps: int) -> FutureConstraints:
        """The same constraints as an observation of the state so many steps before."""
        if not steps or not len(self.rows):
            return self
        power = model.transition(steps)
        gathered = self.rows @ power.covariance @ self.rows.T
        noise = self.noise + 0.5 * (gathered + gathered.T)
        return FutureConstraints(self.rows @ power.matrix, noise, self.reduction)._compressed()

    def joined(self, one: Constraint, end: int) -> FutureConstraints:
        """With one more constraint, whose values end at `end` among all."""
        more, there = len(one.rows), len(self.rows)
        noise = np.zeros((more + there, more + there))
        noise[np.arange(more), np.arange(more)] = one.noise
        noise[more:, more:] = self.noise
        picked = np.eye(more, self.reduction.shape[1], k=end - more)
        return FutureConstraints(
            np.concatenate([one.rows, self.rows]), noise, np.concatenate([picked, self.reduction])
        )

    def _compressed(self) -> FutureConstraints:
        """The same with no more rows than the state has, or twice as many if some hold exactly."""
        if len(self.rows) <= self.rows.shape[1]:
            return self
        variances, turns = np.linalg.eigh(self.noise)
        rows, reduction = turns.T @ self.rows, turns.T @ self.reduction
        soft = variances > SETTINGS.exact * variances[-1]
        weights = 1.0 / np.sqrt(variances[soft])
        base, small = np.linalg.qr(rows[soft] * weights[:, None])
        exact = int((~soft).sum())
        return FutureConstraints(
            np.concatenate([rows[~soft], small]),
            np.diag(np.concatenate([np.zeros(exact), np.ones(len(small))])),
            np.concatenate([reduction[~soft], base.T @ (reduction[soft] * weights[:, None])]),
        )


def future_constraints(
    model: VectorAutoregression, constraints: list[Constraint]
) -> dict[int, FutureConstraints]:
    """For each constrained frame: all constraints from there on. These are in order of time."""
    state = model.order * model.components
    end = sum(len(one.rows) for one in constraints)
    future = FutureConstraints(np.empty((0, state)), np.empty((0, 0)), np.empty((0, end)))
    found, later = {}, constraints[-1].time
    for one in reversed(constraints):
        future = future.earlier(model, later - one.time).joined(one, end)
        later, end = one.time, end - len(one.rows)
        found[later] = future
    return found


class ConstraintGains(NamedTuple):
    """Gains from a frame to the next constrained one.

    Args:
        first: The frame of the first gains.
        moves: For each frame `(components, state)`, of the state before.
        pulls: For each frame `(components, rows)`, of the constraints' reduced values.
        spreads: For each frame `(components, components)`, of the noise.
    """

    first: int
    moves: list[Array]
    pulls: list[Array]
    spreads: list[Array]


def constraint_gains(
    model: VectorAutoregression, future: FutureConstraints, now: int, last: int
) -> ConstraintGains:
    """The gains from frame `now` to frame `last`, the first of those constrained.

    Args:
        model: What is simulated.
        future: All constraints, at frame `last`.
        now: The next frame.
        last: The next constrained frame.
    """
    size, steps = model.components, last - now + 1
    found: list[tuple[Array, Array, Array]] = []
    rows, noise = future.rows, future.noise
    while len(found) < steps:
        newest = rows[:, :size]
        spread = newest @ model.noise
        total = noise + spread @ newest.T
        total = 0.5 * (total + total.T)
        gain = _solved(total, spread)[0].T
        rows = rows @ model.companion
        kept = np.eye(size) - gain @ newest
        root = psd_root(kept @ model.noise @ kept.T + gain @ noise @ gain.T)
        found.append((model.companion[:size] - gain @ rows, gain, root))
        noise = total
        if len(rows) > size:
            weighed, independent = _solved(noise, rows)
            if independent:
                found += _gains_by_information(model, rows.T @ weighed, weighed.T, steps - len(found))
    moves, pulls, spreads = zip(*reversed(found), strict=True)
    return ConstraintGains(now, list(moves), list(pulls), list(spreads))


def _gains_by_information(
    model: VectorAutoregression, precision: Array, vector: Array, steps: int
) -> list[tuple[Array, Array, Array]]:
    """Moves, pulls and spreads of so many frames, backwards, by products of `components` rows only.

    Args:
        model: What is simulated.
        precision: `(state, state)` of the constraints as an observation of the state at the first frame.
        vector: `(state, rows)`, precision times state, from the constraints' reduced values.
        steps: How many.
    """
    size = model.components
    recursion, inverse = model.companion[:size], np.linalg.inv(model.noise)
    found = []
    for _ in range(steps):
        newest = precision[:size]
        cover = np.linalg.inv(inverse + newest[:, :size])
        cover = 0.5 * (cover + cover.T)
        move = recursion - cover @ _stepped(newest, recursion)
        found.append((move, cover @ vector[:size], psd_root(cover)))
        # precision ← Fᵀ precision F', F' the recursion as it is steered; vector ← F'ᵀ vector.
        precision = _stepped(_stepped(precision, move).T, recursion)
        precision = 0.5 * (precision + precision.T)
        vector = _stepped(vector.T, move).T
    return found


def _stepped(matrix: Array, newest: Array) -> Array:
    """`matrix · F`, F the recursion of states with these rows for the newest frame."""
    size = len(newest)
    found = matrix[:, :size] @ newest
    found[:, :-size] += matrix[:, size:]
    return found


def _solved(total: Array, right: Array) -> tuple[Array, bool]:
    """`total⁻¹ right`, and whether there is one; rows that say the same twice are taken together."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    # Ones on the diagonal, so that rows of different units have equal weight.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(total), 1e-300))
    balanced, wanted = total * scale[:, None] * scale, right * scale[:, None]
    root, failed = dpotrf(balanced, lower=1)
    independent = not failed and float(np.diag(root).min(initial=1.0)) ** 2 > SETTINGS.independent
    if independent:
        found = dpotrs(root, wanted, lower=1)[0]
    else:
        found = np.linalg.lstsq(balanced, wanted, rcond=SETTINGS.exact)[0]
    return np.asarray(found * scale[:, None]), independent


def _with_frames(model: VectorAutoregression, frames: int) -> VectorAutoregression:
    """The same model, with a state of at least so many frames."""
    if model.order >= frames:
        return model
    nothing = np.zeros((frames - model.order, model.components, model.components))
    return VectorAutoregression(model.mean, np.concatenate([model.coefficients, nothing]), model.noise)


def _memory(model: VectorAutoregression) -> int:
    """Frames after which the current state no longer affects the prediction."""
    frames, before = model.order, np.diag(model.stationary)
    while frames < SETTINGS.farthest:
        matrix = model.transition(frames).matrix
        if (np.einsum("ij,j,ij->i", matrix, before, matrix) <= SETTINGS.negligible**2 * before).all():
            break
        frames *= 2
    return min(frames, SETTINGS.farthest)
