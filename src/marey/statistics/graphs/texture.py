"""Video textures: from which frame of a clip playback may jump to which other, and how probably.

Schödl et al. 2000, as Courty & Corpetti 2007, section 4.2, use them for velocity fields: distances of frames
are filtered along the diagonal, so that sequences of frames and not single ones must be similar; then every
jump is charged for those it leads to later, so that playback never ends. Works on the distances of frames
alone: of velocity fields, poses or images. T² numbers, a few hundred passes over them: 0.1 s for 641 frames.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, Integers
from marey._random import Rng
from marey.errors import InputError

# Cost of a jump: a power of distances, as one bad jump is worse than two half as bad.
POWER = 2.0


@dataclass(frozen=True)
class TextureSettings:
    """How jumps are chosen.

    Args:
        sharpness: Cost at which a jump becomes e times less probable, as a share of the mean cost; larger
            makes jumps more frequent and their choice freer. It is doubled where fewer than 8 jumps are
            found, as playback would go in circles, up to 6 times.
        jump_cost: Cost of every jump, as a share of the mean cost of all: captured motion is better.
        discount: Factor of a cost for every frame it lies in the future.
        least_probable: Jumps less probable than this share of the best one from their frame are dropped.
    """

    sharpness: float = 0.05
    jump_cost: float = 0.2
    discount: float = 0.995
    least_probable: float = 0.01

    def __post_init__(self) -> None:
        if not (np.isfinite(self.sharpness) and self.sharpness > 0):
            raise InputError(f"sharpness: above 0, got {self.sharpness}")


@dataclass(frozen=True, eq=False)
class JumpTable:
    """What may follow each frame.

    Args:
        sources: `(jumps,)` frames, rising; jump k goes from `sources[k]`, instead of on to the next frame, to
            `targets[k]`.
        targets: `(jumps,)` frames.
        probabilities: `(jumps,)` of the jump when at its source.
        first: First frame from which a jump leads.
        last: Last one; from there one always jumps.
        run: Frames played after a jump before the next one.
    """

    sources: Integers
    targets: Integers
    probabilities: Array
    first: int
    last: int
    run: int

    def runs(self, rng: Rng = None) -> Iterator[tuple[int, int]]:
        """First and last frame of every stretch that is played, for ever; the first one begins at 0."""
        rng = np.random.default_rng(rng)
        total = np.zeros(self.last + 1)
        np.add.at(total, self.sources, self.probabilities)
        total[self.last] = 1.0
        jumps: list[float] = total.tolist()
        start = here = 0
        while True:
            while rng.random() >= jumps[here]:
                here += 1
            yield start, here
            first, stop = np.searchsorted(self.sources, [here, here + 1])
            probabilities = self.probabilities[first:stop]
            start = int(rng.choice(self.targets[first:stop], p=probabilities / probabilities.sum()))
            here = start + self.run - 1


def diagonal_filter(distances: ArrayLike, taps: int = 8) -> Array:
    """Distances `(n, m)` averaged along the diagonal with binomial weights: `(n - taps + 1, m - taps + 1)`.

    Entry (i, j) compares the `taps` frames about i + taps // 2 with those about j + taps // 2; pairs for
    which some of them are missing are left out.

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


def jump_probabilities(
    distances: ArrayLike, *, taps: int = 8, fade: int | None = None, settings: TextureSettings | None = None
) -> JumpTable:
    """Jumps that keep a clip playing for ever, from the distances `(frames, frames)` of its frames.

    Args:
        taps: Frames of the diagonal filter.
        fade: Frames over which a jump is cross-faded, which must exist on both sides of it, and which are the
            shortest run between two jumps; as many as taps if None.
        settings: The defaults, if None.

    >>> phase = np.exp(2j * np.pi * np.arange(200) / 20)
    >>> found = jump_probabilities(np.abs(np.subtract.outer(phase, phase)))
    >>> in_step = (found.targets - found.sources - 1) % 20 == 0
    >>> bool(np.mean(in_step) > 0.95)
    True
    """
    from marey.statistics.graphs._graph_kernels import cheapest_futures

    settings = settings or TextureSettings()
    table = np.asarray(distances, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.isfinite(table).all():
        raise InputError(f"distances: expected a finite square table, found {table.shape}")
    fade = taps if fade is None else fade
    check_length(len(table), taps, fade)
    costs, first, last = _costs(table, taps, fade)
    positive = costs[np.isfinite(costs) & (costs > 0)]
    mean = float(positive.mean()) if len(positive) else 1.0
    costs += settings.jump_cost * mean
    values, run = np.full(len(table), np.inf), 2 * margin(fade)
    values[: last + 1] = 0.0
    cheapest_futures(costs, last, run, settings.discount, 1e-7 * mean, 20_000, values)
    for doubled in range(7):
        softness = settings.sharpness * mean * 2**doubled
        chosen = _choose(costs, values, first, last, run, softness, settings)
        if len(chosen.sources) >= 8:
            break
    return chosen


def margin(fade: int) -> int:
    """Frames needed on either side of a jump for a cross-fade over `fade` frames."""
    return (fade + 1) // 2


def shortest_clip(taps: int, fade: int) -> int:
    """The fewest frames of which an endless sequence can be made."""
    side = max(taps // 2, margin(fade))
    return 2 * side + 2 * max(taps, 2 * margin(fade)) + 2


def check_length(frames: int, taps: int, fade: int) -> None:
    """Raise an :class:`InputError` if a clip is too short for a filter and a fade."""
    if taps < 1 or fade < 1:
        raise InputError(f"taps and fade: at least 1 frame, got {taps} and {fade}")
    if frames < (needed := shortest_clip(taps, fade)):
        raise InputError(
            f"{frames} frames are too few for a filter of {taps} taps and a fade of {fade} frames: "
            f"{needed} are needed; take fewer of both"
        )


def _costs(table: Array, taps: int, fade: int) -> tuple[Array, int, int]:
    """Costs `(frames, frames)` of jumps, infinite where there may be none; first and last source.

    A jump from i to j costs as much as j differs from i + 1. Short jumps are left out: a slow motion is
    always similar to itself a frame ago, and would stand still.
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


def _choose(
    costs: Array, values: Array, first: int, last: int, run: int, softness: float, settings: TextureSettings
) -> JumpTable:
    """Jumps that are better than those beside them, with their probabilities."""
    later = np.full(len(costs), np.inf)
    later[: len(values) - run + 1] = settings.discount**run * values[run - 1 :]
    found: list[tuple[int, int, float]] = []
    for i in range(first, last + 1):
        whole = costs[i] + later
        known = np.pad(np.where(np.isfinite(whole), whole, -np.inf), 1, constant_values=-np.inf)
        beside = np.minimum(known[2:], known[:-2])
        best = int(np.argmin(whole))
        # The best one counts even at the edge of the frames one may jump to.
        beside[best] = np.inf
        if not np.isfinite(whole[best]):
            continue
        onward = settings.discount * values[i + 1] if i < last else np.inf
        at_best = min(float(whole[best]), onward)
        with np.errstate(over="ignore"):
            weight = np.exp(-(whole - at_best) / softness)
        weight[(whole > beside) | ~np.isfinite(whole)] = 0.0
        go_on = math.exp(-(onward - at_best) / softness) if i < last else 0.0
        weight[weight < settings.least_probable * max(float(weight.max()), go_on)] = 0.0
        total = weight.sum() + go_on
        found += [(i, int(j), float(weight[j] / total)) for j in np.flatnonzero(weight)]
    sources, targets, probabilities = (np.array(column) for column in zip(*found, strict=True))
    return JumpTable(sources, targets, probabilities, first, last, run)
