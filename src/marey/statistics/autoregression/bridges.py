"""How the next frames of a vector autoregression go when something is asked of later ones.

What is asked of later frames is a noisy linear observation `G s + e` of the state now: G = H Fⁿ, and e has
gathered the noise of the n steps between. From it follow, frame by frame, the gains that pull the recursion
to where it shall be; they depend on when and what is asked, not on the state or the values. So they are made
once, and serve all characters of whom the same is asked (Courty 2013, section 3.2.2.2, made exact).
Cost: O(state³) for each frame that is asked about, and O(rows³ + state² · rows) for each before the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey.statistics.autoregression.model import VectorAutoregression, factor

Array = NDArray[np.float64]

# Variances below this share of the largest count as none: what is asked holds exactly.
EXACT = 1e-14


class Asked(NamedTuple):
    """What is asked of the state at a frame: rows · state = value, with a variance of `noise`.

    time: the frame; rows: `(n, state)`, oldest frame first; noise: `(n,)`
    """

    time: int
    rows: Array
    noise: Array


@dataclass(frozen=True, eq=False)
class Bridge:
    """Gains from a frame to the first that something is asked of.

    first: the frame of the first gains
    moves: `(frames, components, state)`, of the state before
    pulls: `(frames, components, rows)`, of what is asked, made small by `reduction`
    spreads: `(frames, components, components)`, of the noise
    reduction: `(rows, values)`, from all values that are asked, in their order
    """

    first: int
    moves: Array
    pulls: Array
    spreads: Array
    reduction: Array

    @property
    def last(self) -> int:
        """The frame that it leads to."""
        return self.first + len(self.moves) - 1


def bridge(model: VectorAutoregression, asked: list[Asked], now: int) -> Bridge:
    """The gains from frame `now` to the first frame of those in `asked`, which is in order of time."""
    message = _Message.of(model, asked)
    steps = asked[0].time - now + 1
    size, state = model.components, model.order * model.components
    moves, spreads = np.empty((steps, size, state)), np.empty((steps, size, size))
    pulls = np.empty((steps, size, len(message.rows)))
    recursion = model.jumps.steps(1).matrix
    rows, noise = message.rows, message.noise
    for t in range(steps - 1, -1, -1):
        newest = rows[:, -size:]
        spread = newest @ model.noise
        total = noise + spread @ newest.T
        total = 0.5 * (total + total.T)
        gain = np.linalg.lstsq(*_balanced(total, spread), rcond=EXACT)[0].T if len(rows) else spread.T
        gain = gain / np.sqrt(np.maximum(np.diag(total), 1e-300))
        rows = rows @ recursion
        moves[t] = recursion[-size:] - gain @ rows
        pulls[t] = gain
        kept = np.eye(size) - gain @ newest
        spreads[t] = factor(kept @ model.noise @ kept.T + gain @ noise @ gain.T)
        noise = total
    return Bridge(now, moves, pulls, spreads, message.reduction)


def _balanced(total: Array, right: Array) -> tuple[Array, Array]:
    """A system with ones on its diagonal, so that rows of different units are weighed alike."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(total), 1e-300))
    return total * scale[:, None] * scale, right * scale[:, None]


class _Message(NamedTuple):
    """All that is asked, as an observation of the state at the first frame: rows `(n, state)`, the covariance
    `(n, n)` of its noise, and how its values follow from all that are asked `(n, values)`."""

    rows: Array
    noise: Array
    reduction: Array

    @classmethod
    def of(cls, model: VectorAutoregression, asked: list[Asked]) -> _Message:
        state = model.order * model.components
        values = sum(len(one.rows) for one in asked)
        found = cls(np.empty((0, state)), np.empty((0, 0)), np.empty((0, values)))
        later, end = asked[-1].time, values
        for one in reversed(asked):
            found = found.earlier(model, later - one.time).joined(one, end)
            later, end = one.time, end - len(one.rows)
        return found

    def earlier(self, model: VectorAutoregression, steps: int) -> _Message:
        if not steps or not len(self.rows):
            return self
        power = model.jumps.steps(steps)
        gathered = self.rows @ power.covariance @ self.rows.T
        noise = self.noise + 0.5 * (gathered + gathered.T)
        return _Message(self.rows @ power.matrix, noise, self.reduction)._compressed()

    def joined(self, one: Asked, end: int) -> _Message:
        more, there = len(one.rows), len(self.rows)
        noise = np.zeros((more + there, more + there))
        noise[np.arange(more), np.arange(more)] = one.noise
        noise[more:, more:] = self.noise
        picked = np.zeros((more, self.reduction.shape[1]))
        picked[np.arange(more), np.arange(end - more, end)] = 1.0
        return _Message(
            np.concatenate([one.rows, self.rows]), noise, np.concatenate([picked, self.reduction])
        )

    def _compressed(self) -> _Message:
        """The same with no more rows than the state has, or twice as many if some hold exactly."""
        state = self.rows.shape[1]
        if len(self.rows) <= state:
            return self
        variances, turns = np.linalg.eigh(self.noise)
        rows, reduction = turns.T @ self.rows, turns.T @ self.reduction
        soft = variances > EXACT * variances[-1]
        weights = 1.0 / np.sqrt(variances[soft])
        base, small = np.linalg.qr(rows[soft] * weights[:, None])
        exact = int((~soft).sum())
        return _Message(
            np.concatenate([rows[~soft], small]),
            np.diag(np.concatenate([np.zeros(exact), np.ones(len(small))])),
            np.concatenate([reduction[~soft], base.T @ (reduction[soft] * weights[:, None])]),
        )
