"""Endless simulation of a vector autoregression, one frame at a time, for one or many characters.

What is asked of coming frames may arrive while it runs; each frame is drawn from the exact law given all
frames before and all that is asked within the horizon, so nothing jumps and nothing is simulated ahead
(Courty 2013, section 3.2.2.2, streaming). A step costs O(characters · order · components²), however long it
runs; the gains are made anew only when what is asked changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked
from marey._random import Rng
from marey.errors import InputError
from marey.statistics.autoregression.bridges import Asked, Bridge, Message, bridge, messages
from marey.statistics.autoregression.jumps import product
from marey.statistics.autoregression.model import VectorAutoregression

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# What is asked is looked at once the state now has this share of a say in it, at most so many frames before.
NEGLIGIBLE = 1e-8
FARTHEST = 4096
# Rows of a state that a velocity needs.
LEAST_FRAMES = 2


@dataclass(eq=False)
class _Plan:
    """Characters of whom the same is asked, in order of time.

    values: `(characters, all rows of what is asked)`, about the mean
    """

    characters: Index
    asked: list[Asked] = field(default_factory=list)
    values: Array = field(default_factory=lambda: np.empty((0, 0)))
    bridge: Bridge | None = None
    messages: dict[int, Message] = field(default_factory=dict)
    aims: Array = field(default_factory=lambda: np.empty((0, 0)))


class Stream:
    """A running simulation; :meth:`step` gives the next frame.

    >>> swing = VectorAutoregression([0.0], [[[1.9]], [[-0.95]]], [[0.01]])
    >>> stream = Stream(swing, rng=0)
    >>> stream.add(50, [2.0])                       # frame 50 shall be 2
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
        """
        characters: how many run side by side, each with noise of its own; one, without that axis, if None
        history: `(frames, components)` before the first, oldest first, or `(characters, frames, components)`;
            drawn from the long run if None
        horizon: frames that what is asked is looked at beforehand; as long as the model remembers if None
        """
        if characters is not None and (isinstance(characters, bool) or characters < 1):
            raise InputError(f"characters: at least one, got {characters}")
        if horizon is not None and horizon < 1:
            raise InputError(f"horizon: at least one frame, got {horizon}")
        self.model = _with_frames(model, max(LEAST_FRAMES, model.order))
        self.rng = np.random.default_rng(rng)
        self.time = 0
        self._single = characters is None
        self._count = 1 if characters is None else int(characters)
        self._horizon = horizon
        self._noise = np.ascontiguousarray(self.model.noise_factor.T)
        self._steps = self.model.steps_forward[: model.order]
        self._past = self._started(history)
        self._drawn = np.empty((self._count, model.components))
        self._plans: list[_Plan] = []
        self._waiting: list[tuple[Asked, Index, Array]] = []

    @property
    def horizon(self) -> int:
        """Frames that what is asked is looked at beforehand."""
        if self._horizon is None:
            self._horizon = _memory(self.model)
        return self._horizon

    def add(
        self,
        time: int,
        value: ArrayLike,
        matrix: ArrayLike | None = None,
        noise: ArrayLike = 0.0,
        *,
        characters: Sequence[int] | None = None,
    ) -> None:
        """Ask something of frame `time` (the next is `stream.time`): matrix · frame = value.

        value: `(rows,)`, or `(characters, rows)`, each its own; without a matrix the frame itself, where NaN
            leaves a component free
        matrix: `(rows, components)`; or `(rows, frames, components)` of the frames up to `time`, oldest
            first: `[-1, 1]` times the frame rate is a velocity
        noise: variance, `()` or `(rows,)`; 0: exactly
        characters: of whom; of all if None
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
            raise InputError("what is asked must be finite numbers")
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
        whole[:, frames - rows.shape[1] :] = rows
        about = wanted - (rows.sum(axis=1) @ self.model.mean)
        patterns, which = np.unique(free, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            one = Asked(int(time), whole.reshape(len(rows), -1)[~pattern], spread[~pattern])
            members = which.ravel() == i
            if len(one.rows):
                self._waiting.append((one, who[members], about[members][:, ~pattern]))

    def step(self) -> Array:
        """The next frame `(components,)`, or `(characters, components)`."""
        if self._waiting:
            self._take_up()
        self.rng.standard_normal(out=self._drawn)
        made = product(self._drawn, self._noise)
        for step, past in zip(self._steps, self._past, strict=False):
            made += product(past, step)
        if self._plans:
            self._led(made)
        self._past = [made, *self._past[:-1]]
        self.time += 1
        found = made + self.model.mean
        return found[0] if self._single else found

    def run(self, frames: int) -> Array:
        """So many frames `(frames, components)`, or `(frames, characters, components)`."""
        return np.stack([self.step() for _ in range(frames)])

    def _led(self, made: Array) -> None:
        """Replace the frames of characters of whom something is asked."""
        for plan in self._plans:
            if plan.bridge is None:
                if not plan.messages:
                    plan.messages = messages(self.model, plan.asked)
                message = plan.messages.pop(plan.asked[0].time)
                plan.bridge = bridge(self.model, plan.asked, self.time, message)
                rest = message.reduction.shape[1] - plan.values.shape[1]
                plan.aims = plan.values @ message.reduction[:, rest:].T
            at, who = self.time - plan.bridge.first, plan.characters
            state = np.concatenate([past[who] for past in reversed(self._past)], axis=1)
            moved = state @ plan.bridge.moves[at].T + plan.aims @ plan.bridge.pulls[at].T
            made[who] = moved + self._drawn[who] @ plan.bridge.spreads[at].T
            if self.time == plan.bridge.last:
                done = sum(len(one.rows) for one in plan.asked if one.time == self.time)
                plan.asked = [one for one in plan.asked if one.time > self.time]
                plan.values, plan.bridge = plan.values[:, done:], None
        self._plans = [plan for plan in self._plans if plan.asked]

    def _take_up(self) -> None:
        """Put what has come within the horizon into the plans of those it is asked of."""
        if min(one[0].time for one in self._waiting) - self.time >= self.horizon:
            return
        # Those soon to come are taken along, so that gains are made anew once for many.
        reach = self.time + 2 * self.horizon
        near = [one for one in self._waiting if one[0].time < reach]
        self._waiting = [one for one in self._waiting if one[0].time >= reach]
        for asked, who, values in near:
            left = np.ones(len(who), dtype=bool)
            for plan in list(self._plans):
                common, mine, theirs = np.intersect1d(plan.characters, who, return_indices=True)
                if not len(common):
                    continue
                left[theirs] = False
                rest = np.delete(np.arange(len(plan.characters)), mine)
                if len(rest):
                    self._plans.append(
                        replace(
                            plan,
                            characters=plan.characters[rest],
                            values=plan.values[rest],
                            aims=plan.aims[rest] if plan.bridge is not None else plan.aims,
                            messages=dict(plan.messages),
                        )
                    )
                self._plans.remove(plan)
                self._plans.append(_extended(common, plan, plan.values[mine], asked, values[theirs]))
            if left.any():
                nothing = _Plan(who[left])
                bare = np.empty((int(left.sum()), 0))
                self._plans.append(_extended(who[left], nothing, bare, asked, values[left]))

    def _chosen(self, characters: Sequence[int] | None) -> Index:
        if characters is None:
            return np.arange(self._count)
        who = np.unique(np.asarray(characters, dtype=np.intp))
        if len(who) != len(characters) or not len(who) or who[0] < 0 or who[-1] >= self._count:
            raise InputError(f"characters: different numbers from 0 to {self._count - 1}")
        if (np.diff(np.asarray(characters)) < 0).any():
            raise InputError("characters: in ascending order")
        return who

    def _started(self, history: ArrayLike | None) -> list[Array]:
        """The frames before the first, newest first, each `(characters, components)`, about the mean."""
        frames, size, count = self.model.order, self.model.components, self._count
        if history is None:
            drawn = self.rng.standard_normal((count, frames * size)) @ factor_of(self.model).T
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


def factor_of(model: VectorAutoregression) -> Array:
    """A factor of the long-run covariance of the state, newest frame first."""
    from marey.statistics.autoregression.model import factor

    return factor(model.stationary)


def _extended(who: Index, plan: _Plan, values: Array, asked: Asked, more: Array) -> _Plan:
    """The plan of characters `who` with one more thing asked."""
    later = [one.time > asked.time for one in plan.asked]
    place = later.index(True) if True in later else len(plan.asked)
    row = sum(len(one.rows) for one in plan.asked[:place])
    everything = [*plan.asked[:place], asked, *plan.asked[place:]]
    return _Plan(who, everything, np.concatenate([values[:, :row], more, values[:, row:]], axis=1))


def _with_frames(model: VectorAutoregression, frames: int) -> VectorAutoregression:
    """The same model, with a state of at least so many frames."""
    if model.order >= frames:
        return model
    nothing = np.zeros((frames - model.order, model.components, model.components))
    return VectorAutoregression(model.mean, np.concatenate([model.coefficients, nothing]), model.noise)


def _memory(model: VectorAutoregression) -> int:
    """Frames after which the state has lost its say."""
    frames = model.order
    while frames < FARTHEST:
        power = model.jumps.steps(frames)
        before = np.diag(model.jumps.stationary())
        carried = np.einsum("ij,j,ij->i", power.matrix, before, power.matrix)
        if (carried <= NEGLIGIBLE**2 * before).all():
            break
        frames *= 2
    return min(frames, FARTHEST)
