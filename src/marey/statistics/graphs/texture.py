"""From which frame of a captured flow one may jump to which other, and how probably.

Video textures (Schödl et al. 2000) as Courty & Corpetti 2007, section 4.2, use them for velocity fields: the
distances of frames are filtered along the diagonal, so that runs of frames and not single ones must be alike;
then every jump is charged for those it leads to later, so that no way ends. T² numbers, a few hundred passes
over them: 0.1 s for 641 frames.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.errors import InputError

Array = NDArray[np.float64]
Frames = NDArray[np.int64]

POWER = 2.0
"""Of distances in costs: one bad jump is worse than two half as bad."""

DISCOUNT = 0.995
"""What a cost counts less for every frame it lies in the future."""

JUMP_COST = 0.2
"""Of every jump, as a share of the mean cost of all of them: captured motion is better than any jump."""

SHARPNESS = 0.05
"""The cost at which a jump becomes e times less probable, as a share of the mean cost."""

LEAST_PROBABLE = 0.01
"""Jumps less probable than this share of the best one from the same frame are dropped."""

FEWEST, MOST_SOFTER = 8, 6
"""With fewer jumps playback would go in circles: sharpness is doubled, so many times at most."""

MOST_SWEEPS = 20_000


@dataclass(frozen=True, eq=False)
class Transitions:
    """What may follow each frame.

    sources, targets: `(jumps,)` frames, in order of the sources; jump k goes from `sources[k]`, instead of
        on to the next frame, to `targets[k]`
    probabilities: `(jumps,)` of the jump when at its source
    first, last: jumps lead from frames first to last; from the last one there always is one
    run: frames played after a jump before the next one
    """

    sources: Frames
    targets: Frames
    probabilities: Array
    first: int
    last: int
    run: int

    def from_frame(self, frame: int) -> tuple[Frames, Array]:
        """Targets of the jumps from a frame and their probabilities; the rest goes on to the next frame."""
        start, stop = np.searchsorted(self.sources, [frame, frame + 1])
        return self.targets[start:stop], self.probabilities[start:stop]

    def chance(self) -> Array:
        """Of a jump, whichever, from every frame up to the last source, where it is 1: `(last + 1,)`."""
        chance = np.zeros(self.last + 1)
        np.add.at(chance, self.sources, self.probabilities)
        chance[self.last] = 1.0
        return chance


def diagonal_filter(distances: ArrayLike, taps: int = 8) -> Array:
    """Distances `(n, m)` averaged along the diagonal with binomial weights: `(n - taps + 1, m - taps + 1)`.

    Entry (i, j) compares the `taps` frames about i + taps // 2 with those about j + taps // 2, and is left
    out where some of them are missing.

    >>> diagonal_filter(np.diag([0.0, 4.0, 8.0, 12.0]), taps=3).tolist()
    [[4.0, 0.0], [0.0, 8.0]]
    """
    table = np.asarray(distances, dtype=np.float64)
    if taps < 1 or table.ndim != 2 or taps > min(table.shape):
        raise InputError(f"taps: from 1 to the number of frames, {min(table.shape)}, got {taps}")
    n, m = (size - taps + 1 for size in table.shape)
    filtered = np.zeros((n, m))
    for k in range(taps):
        filtered += math.comb(taps - 1, k) / 2.0 ** (taps - 1) * table[k : k + n, k : k + m]
    return filtered


def transitions(
    distances: ArrayLike, *, taps: int = 8, fade: int | None = None, sharpness: float = SHARPNESS
) -> Transitions:
    """Jumps that keep a flow going for ever, from the distances `(frames, frames)` of its frames.

    taps: of the diagonal filter
    fade: frames over which fields are cross-faded at a jump, which must be there on both sides of it, and
        which are the shortest run between two jumps; as many as taps if None
    sharpness: larger makes jumps more frequent and their choice freer

    >>> phase = np.exp(2j * np.pi * np.arange(200) / 20)
    >>> found = transitions(np.abs(np.subtract.outer(phase, phase)))
    >>> in_step = (found.targets - found.sources - 1) % 20 == 0
    >>> bool(np.mean(in_step) > 0.95)
    True
    """
    table = np.asarray(distances, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.isfinite(table).all():
        raise InputError(f"distances: expected a finite square table, found {table.shape}")
    fade = taps if fade is None else fade
    if not (np.isfinite(sharpness) and sharpness > 0):
        raise InputError(f"sharpness: above 0, got {sharpness}")
    if taps < 1 or fade < 1:
        raise InputError(f"taps and fade: at least 1 frame, got {taps} and {fade}")
    frames, run = len(table), 2 * margin(fade)
    _check_long_enough(frames, taps, fade)
    costs, first, last = _costs(table, taps, fade)
    allowed = costs[np.isfinite(costs)]
    positive = allowed[allowed > 0]
    mean = float(positive.mean()) if len(positive) else 1.0
    costs += JUMP_COST * mean
    values = np.full(frames, np.inf)
    values[: last + 1] = 0.0
    from marey.statistics.graphs import _graph_kernels as _kernels

    _kernels.cheapest_futures(costs, last, run, DISCOUNT, 1e-7 * mean, MOST_SWEEPS, values)
    softness = sharpness * mean
    chosen = _chosen(costs, values, first, last, run, softness)
    for _ in range(MOST_SOFTER):
        if len(chosen.sources) >= FEWEST:
            break
        softness *= 2
        chosen = _chosen(costs, values, first, last, run, softness)
    return chosen


def margin(fade: int) -> int:
    """Frames needed on either side of a jump for a cross-fade over `fade` frames."""
    return (fade + 1) // 2


def shortest_clip(taps: int, fade: int) -> int:
    """The fewest frames of which an endless sequence can be made."""
    side = max(taps // 2, margin(fade))
    return 2 * side + 2 * max(taps, 2 * margin(fade)) + 2


def _check_long_enough(frames: int, taps: int, fade: int) -> None:
    needed = shortest_clip(taps, fade)
    if frames < needed:
        raise InputError(
            f"{frames} frames are too few for a filter of {taps} taps and a fade of {fade} frames: "
            f"{needed} are needed; take fewer of both"
        )


def _costs(table: Array, taps: int, fade: int) -> tuple[Array, int, int]:
    """Costs `(frames, frames)` of jumps, infinite where there may be none; first and last source.

    A jump from i to j is as bad as j is unlike i + 1. Short jumps are left out: a slow flow is always like
    itself a frame ago, and would stand still.
    """
    frames, before, side = len(table), taps // 2, margin(fade)
    run, least = 2 * side, max(taps, 2 * side)
    filtered = diagonal_filter(table, taps) ** POWER
    # Frames whose neighbours the filter and the fade need are all there.
    low, high = max(before, side), min(frames - taps + before, frames - side)
    costs = np.full((frames, frames), np.inf)
    first, last = low - 1 if low > 0 else 0, high - 1
    rows = np.arange(first + 1, last + 2)
    targets = np.arange(low, last + 1 - (run - 1))
    block = filtered[np.ix_(rows - before, targets - before)]
    near = np.abs(np.subtract.outer(rows, targets)) < least
    costs[first : last + 1, targets[0] : targets[-1] + 1] = np.where(near, np.inf, block)
    return costs, first, last


def _chosen(costs: Array, values: Array, first: int, last: int, run: int, softness: float) -> Transitions:
    """Jumps that are better than those beside them, with their probabilities."""
    later = np.full(len(costs), np.inf)
    later[: len(values) - run + 1] = DISCOUNT**run * values[run - 1 :]
    sources, targets, probabilities = [], [], []
    for i in range(first, last + 1):
        whole = costs[i] + later
        known = np.where(np.isfinite(whole), whole, -np.inf)
        beside = np.minimum(np.append(known[1:], -np.inf), np.insert(known[:-1], 0, -np.inf))
        best = int(np.argmin(whole))
        # Even at the edge of where one may jump to, which else is no place to stop looking.
        beside[best] = np.inf
        if not np.isfinite(whole[best]):
            continue
        onward = DISCOUNT * values[i + 1] if i < last else np.inf
        at_best = min(float(whole[best]), onward)
        with np.errstate(over="ignore"):
            weight = np.exp(-(whole - at_best) / softness)
        weight[(whole > beside) | ~np.isfinite(whole)] = 0.0
        go_on = math.exp(-(onward - at_best) / softness) if i < last else 0.0
        weight[weight < LEAST_PROBABLE * max(float(weight.max()), go_on)] = 0.0
        kept = np.flatnonzero(weight)
        if len(kept) == 0:
            continue
        sources.append(np.full(len(kept), i))
        targets.append(kept)
        probabilities.append(weight[kept] / (weight[kept].sum() + go_on))
    return Transitions(
        np.concatenate(sources).astype(np.int64),
        np.concatenate(targets).astype(np.int64),
        np.concatenate(probabilities),
        first,
        last,
        run,
    )
