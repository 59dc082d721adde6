"""What trajectory files leave unsaid: which column is the person, the unit of length, the frame rate.

People walk: they move smoothly, at some 0.2 to 3 m/s, and are 1 to 2 metres tall. Each rule below is a
function of the numbers alone. Cost: a sort of the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.io._trajectory_tables import UNITS

Numbers = NDArray[np.float64]

# Nine in ten steps of walkers are slower than something near this, in metres per second.
BRISK = 1.2
# Faster than any runner: then the unit is not the metre.
TOO_FAST = 12.0
TALL = (0.8, 2.5)


def person_comes_first(first: Numbers, second: Numbers, x: Numbers, y: Numbers, *, usual: bool) -> bool:
    """Whether rows are `id frame x y` rather than `frame id x y`.

    In the right reading the successive positions of one person lie on a smooth path; in the wrong one they
    are those of different people in one frame. Where that does not tell clearly, there are fewer people
    than frames; where that does not tell either, `usual` holds.

    >>> walk = np.arange(5.0)
    >>> person_comes_first(walk, np.ones(5), walk, walk, usual=True)
    False
    """
    frame_first = _roughness(first, second, x, y)
    id_first = _roughness(second, first, x, y)
    for by_frame, by_id in zip(frame_first, id_first, strict=True):
        if np.isfinite(by_frame) and np.isfinite(by_id) and max(by_frame, by_id) > 1.5 * min(by_frame, by_id):
            return bool(by_id < by_frame)
    different_first, different_second = len(np.unique(first)), len(np.unique(second))
    return usual if different_first == different_second else different_first < different_second


def unit_of_walkers(speeds: Numbers, heights: Numbers | None) -> str:
    """Name of the unit in which walkers of these speeds (units per second) and heights are plausible.

    >>> unit_of_walkers(np.array([120.0, 140.0]), None), unit_of_walkers(np.array([0.1]), np.array([183.0]))
    ('cm', 'cm')
    """
    if heights is not None and len(heights):
        height = float(np.median(heights))
        for name, size in UNITS.items():
            if TALL[0] <= height * size <= TALL[1]:
                return name
    brisk = brisk_speed(speeds)
    if not brisk > 0:
        return "m"
    return min(UNITS, key=lambda name: abs(np.log(brisk * UNITS[name] / BRISK)))


def brisk_speed(speeds: Numbers) -> float:
    """The speed nine in ten steps stay below; 0 where nothing moves."""
    return float(np.percentile(speeds, 90)) if len(speeds) else 0.0


def steps(frame: Numbers, person: Numbers, x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Length of each person's steps from row to row, and the frames they take, each `(steps,)`."""
    order = np.lexsort((frame, person))
    same = np.diff(person[order]) == 0
    lengths = np.hypot(np.diff(x[order]), np.diff(y[order]))[same]
    frames = np.diff(frame[order])[same]
    return lengths[frames > 0], frames[frames > 0]


def rate_from_velocities(
    frame: Numbers, person: Numbers, x: Numbers, y: Numbers, vx: Numbers, vy: Numbers
) -> float | None:
    """Frames per second that make steps and stated velocities agree, or None if none does.

    >>> rows = np.arange(4.0)
    >>> rate_from_velocities(rows * 6, np.ones(4), rows * 0.5, rows, np.full(4, 1.25), np.full(4, 2.5))
    15.0
    """
    order = np.lexsort((frame, person))
    same = np.diff(person[order]) == 0
    lengths = np.hypot(np.diff(x[order]), np.diff(y[order]))[same]
    frames = np.diff(frame[order])[same]
    speeds = np.hypot(vx, vy)[order][:-1][same]
    moving = (lengths > 1e-3) & (speeds > 1e-3) & (frames > 0)
    if not moving.any():
        return None
    ratios = speeds[moving] * frames[moving] / lengths[moving]
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    if high - low > 0.25 * middle:
        return None
    stride = float(np.median(frames))
    return float(f"{middle / stride:.3g}") * stride


def rate_from_times(times: Numbers, gap: float) -> float:
    """Samples per second of (rounded) times `(n,)`, ascending, that lie about `gap` seconds apart.

    The estimate is refined over ever longer stretches, so that rounding does not add up.

    >>> rate_from_times(np.round(np.arange(2000) / 30, 2), 0.03)
    30.0
    """
    since = times - times[0]
    reach = 3.0 * gap
    while True:
        near = since[since <= reach]
        count = np.rint(near / gap)
        if count.any():
            gap = float(count @ near / (count @ count))
        if reach >= since[-1]:
            return tidy_rate(1 / gap, 1e-4)
        reach *= 2


def tidy_rate(rate: float, tolerance: float = 1e-12) -> float:
    """A rate that is a whole number but for rounding is that number."""
    for whole in (round(rate), round(rate * 10) / 10):
        if whole and abs(rate - whole) <= tolerance * rate:
            return float(whole)
    return rate


def _roughness(frame: Numbers, person: Numbers, x: Numbers, y: Numbers) -> tuple[float, float]:
    """How much paths bend from row to row, and how long the steps are (medians; infinite if unknown)."""
    order = np.lexsort((frame, person))
    path = np.stack([x[order], y[order]], axis=-1)
    same = np.diff(person[order]) == 0
    step = np.diff(path, axis=0)
    bends = np.diff(step, axis=0)[same[1:] & same[:-1]]
    medians = [float(np.median(np.hypot(*v.T))) if len(v) else np.inf for v in (bends, step[same])]
    return medians[0], medians[1]
