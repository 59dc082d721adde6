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
# Share of a row's variance that the rows before must leave of it.
SURE = 1e-9


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


def bridge(model: VectorAutoregression, asked: list[Asked], now: int, message: Message) -> Bridge:
    """The gains from frame `now` to the first frame of those in `asked`, which is in order of time.

    message: of what is asked, at that first frame
    """
    steps = asked[0].time - now + 1
    size = model.components
    moves: list[Array] = []
    spreads: list[Array] = []
    pulls: list[Array] = []
    recursion = model.jumps.steps(1).matrix
    rows, noise = message.rows, message.noise
    weighed = None
    while len(moves) < steps and weighed is None:
        newest = rows[:, -size:]
        spread = newest @ model.noise
        total = noise + spread @ newest.T
        total = 0.5 * (total + total.T)
        gain = _solved(total, spread)[0].T
        rows = rows @ recursion
        moves.append(recursion[-size:] - gain @ rows)
        pulls.append(gain)
        kept = np.eye(size) - gain @ newest
        spreads.append(_root(kept @ model.noise @ kept.T + gain @ noise @ gain.T))
        noise = total
        if len(rows) > size:
            weighed, sure = _solved(noise, rows)
            weighed = weighed if sure else None
    if weighed is not None:
        left = steps - len(moves)
        more = _by_information(model, rows.T @ weighed, left)
        moves, spreads = [*moves, *more[0]], [*spreads, *more[1]]
        pulls = [*pulls, *(pull @ weighed.T for pull in more[2])]
    return Bridge(now, _backwards(moves), _backwards(pulls), _backwards(spreads), message.reduction)


def _by_information(
    model: VectorAutoregression, precision: Array, steps: int
) -> tuple[list[Array], list[Array], list[Array]]:
    """Moves, spreads and pulls `(components, state)` of so many frames, backwards.

    precision: `(state, state)` of what is asked, as it bears on the state at the first of them; the pulls are
    of the vector that goes with it. Products of `components` rows only.
    """
    size, state = model.components, model.order * model.components
    recursion = model.jumps.steps(1).matrix[-size:]
    inverse = np.linalg.inv(model.noise)
    moves, spreads, pulls = [], [], []
    carried = np.eye(state)
    for _ in range(steps):
        newest = precision[-size:]
        cover = np.linalg.inv(inverse + newest[:, -size:])
        cover = 0.5 * (cover + cover.T)
        ahead = newest[:, -size:] @ recursion
        ahead[:, size:] += newest[:, :-size]
        move = recursion - cover @ ahead
        moves.append(move)
        spreads.append(_root(cover))
        pulls.append(cover @ carried[-size:])
        # precision ← Fᵀ precision F', F' the recursion as it is led; carried ← F'ᵀ carried.
        led = precision[:, -size:] @ move
        led[:, size:] += precision[:, :-size]
        precision = recursion.T @ led[-size:]
        precision[size:] += led[:-size]
        precision = 0.5 * (precision + precision.T)
        later = move.T @ carried[-size:]
        later[size:] += carried[:-size]
        carried = later
    return moves, spreads, pulls


def _backwards(frames: list[Array]) -> Array:
    return np.stack(frames[::-1])


def _solved(total: Array, right: Array) -> tuple[Array, bool]:
    """`total⁻¹ right`, and whether there is one; rows that say the same twice are taken together."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    # Ones on the diagonal, so that rows of different units are weighed alike.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(total), 1e-300))
    balanced, wanted = total * scale[:, None] * scale, right * scale[:, None]
    root, failed = dpotrf(balanced, lower=1)
    sure = not failed and float(np.diag(root).min(initial=1.0)) ** 2 > SURE
    if not sure:
        found = np.linalg.lstsq(balanced, wanted, rcond=EXACT)[0]
    else:
        found = dpotrs(root, wanted, lower=1)[0]
    return np.asarray(found * scale[:, None]), sure


def _root(covariance: Array) -> Array:
    from scipy.linalg.lapack import dpotrf

    found, failed = dpotrf(covariance, lower=1, clean=1)
    return factor(covariance) if failed else np.asarray(found)


def messages(model: VectorAutoregression, asked: list[Asked]) -> dict[int, Message]:
    """For each frame that something is asked of: all that is asked from there on."""
    state = model.order * model.components
    end = sum(len(one.rows) for one in asked)
    message = Message(np.empty((0, state)), np.empty((0, 0)), np.empty((0, end)))
    found, later = {}, asked[-1].time
    for one in reversed(asked):
        message = message.earlier(model, later - one.time).joined(one, end)
        later, end = one.time, end - len(one.rows)
        found[later] = message
    return found


class Message(NamedTuple):
    """All that is asked, as an observation of the state at the first frame: rows `(n, state)`, the covariance
    `(n, n)` of its noise, and how its values follow from all that are asked `(n, values)`."""

    rows: Array
    noise: Array
    reduction: Array

    def earlier(self, model: VectorAutoregression, steps: int) -> Message:
        if not steps or not len(self.rows):
            return self
        power = model.jumps.steps(steps)
        gathered = self.rows @ power.covariance @ self.rows.T
        noise = self.noise + 0.5 * (gathered + gathered.T)
        return Message(self.rows @ power.matrix, noise, self.reduction)._compressed()

    def joined(self, one: Asked, end: int) -> Message:
        more, there = len(one.rows), len(self.rows)
        noise = np.zeros((more + there, more + there))
        noise[np.arange(more), np.arange(more)] = one.noise
        noise[more:, more:] = self.noise
        picked = np.zeros((more, self.reduction.shape[1]))
        picked[np.arange(more), np.arange(end - more, end)] = 1.0
        return Message(np.concatenate([one.rows, self.rows]), noise, np.concatenate([picked, self.reduction]))

    def _compressed(self) -> Message:
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
        return Message(
            np.concatenate([rows[~soft], small]),
            np.diag(np.concatenate([np.zeros(exact), np.ones(len(small))])),
            np.concatenate([reduction[~soft], base.T @ (reduction[soft] * weights[:, None])]),
        )
