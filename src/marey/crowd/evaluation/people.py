"""People held against people: one by one where they are the same, and as crowds where they are not.

Courty & Corpetti 2007, section 6, propose to compare simulators with reality. Here: the distance of everyone
from their own true place, and, without regard to who is who, speeds, directions, where people are, how speed
falls with density (fundamental diagram) and how fast the place empties. Cost: about 2 µs a person and frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._report import Report
from marey.crowd.evaluation.histograms import direction_histogram, jensen_shannon, speed_histogram
from marey.crowd.tracks import Tracks

Array = NDArray[np.float64]

CELL = 1.0
"""Metres of the cells in which people are counted."""
MOST_CELLS = 1_000_000
NEIGHBOURHOOD = 1.5
"""Metres around a person in which the local density is counted."""
DENSITIES = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, np.inf])
"""People per square metre: edges of the fundamental diagram's bins."""
FEWEST = 20
"""Samples from which on a bin of the diagram counts."""
MOST_MOMENTS = 100
STILL = 0.1
"""Metres per second below which a direction means nothing."""


@dataclass(frozen=True)
class PeopleErrors(Report):
    """Differences of two crowds; all are 0 for one and the same.

    trajectory_m: mean distance, in metres, of everyone from their own true place, while both are there
    after: the same at 1, 2 and 5 seconds from the start
    shared: how many ids both have; None and {} above if there are none
    speeds, directions: Jensen–Shannon distance of their histograms, 0 to 1
    density: half the summed difference of the shares of people in each square metre, 0 to 1
    fundamental_diagram: mean difference of speed at equal local density, m/s; None if no density is in both
    evacuation: mean difference over time of the share of people who have left, 0 to 1
    """

    trajectory_m: float | None
    after: dict[str, float]
    shared: int
    speeds: float
    directions: float
    density: float
    fundamental_diagram: float | None
    evacuation: float


def people_errors(tracks: Tracks, truth: Tracks) -> PeopleErrors:
    """Of `tracks` against the `truth`; both begin at the same moment, rates may differ.

    >>> east = np.stack([np.arange(30) * 0.1, np.zeros(30)], axis=1)[:, None]
    >>> found = people_errors(Tracks(east + [0.0, 0.3], 10), Tracks(east, 10))
    >>> round(found.trajectory_m, 6), found.speeds, found.evacuation
    (0.3, 0.0, 0.0)
    """
    if not np.isclose(tracks.frame_rate, truth.frame_rate, rtol=1e-6):
        tracks = tracks.resample(truth.frame_rate)
    mean, after, shared = _distances(tracks, truth)
    motions = [_motions(one) for one in (tracks, truth)]
    speeds = np.linalg.norm(np.concatenate(motions), axis=1)
    top = float(np.percentile(speeds, 99.5)) if len(speeds) else 1.0
    return PeopleErrors(
        mean,
        after,
        shared,
        jensen_shannon(*(speed_histogram(motion, top) for motion in motions)),
        jensen_shannon(*(direction_histogram(motion, STILL) for motion in motions)),
        _density(tracks, truth),
        _diagram_distance(fundamental_diagram(tracks), fundamental_diagram(truth)),
        _evacuation(tracks, truth),
    )


def fundamental_diagram(tracks: Tracks) -> tuple[Array, NDArray[np.int64]]:
    """Mean speed, m/s, in bins of local density (`DENSITIES`), NaN where nobody was; how many samples."""
    from scipy.spatial import cKDTree

    positions = np.asarray(tracks.positions, dtype=np.float64)
    speeds = np.linalg.norm(tracks.velocities(), axis=-1)
    total, count = np.zeros(len(DENSITIES) - 1), np.zeros(len(DENSITIES) - 1, dtype=np.int64)
    for frame in range(0, tracks.frames, -(-tracks.frames // MOST_MOMENTS)):
        here = np.isfinite(positions[frame, :, 0]) & np.isfinite(speeds[frame])
        if not here.any():
            continue
        places = positions[frame, here]
        near = cKDTree(places).query_ball_point(places, NEIGHBOURHOOD, return_length=True)
        # Not oneself: a lone person walks at density 0.
        local = (np.asarray(near) - 1) / (np.pi * NEIGHBOURHOOD**2)
        bins = np.digitize(local, DENSITIES) - 1
        total += np.bincount(bins, speeds[frame, here], minlength=len(total))
        count += np.bincount(bins, minlength=len(total))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan), count


def _distances(tracks: Tracks, truth: Tracks) -> tuple[float | None, dict[str, float], int]:
    assert tracks.ids is not None and truth.ids is not None
    _, ours, theirs = np.intersect1d(tracks.ids, truth.ids, return_indices=True)
    frames = min(tracks.frames, truth.frames)
    apart = np.linalg.norm(tracks.positions[:frames, ours] - truth.positions[:frames, theirs], axis=-1)
    known = np.isfinite(apart)
    if not known.any():
        return None, {}, len(ours)
    after = {}
    for seconds in (1, 2, 5):
        frame = round(seconds * truth.frame_rate)
        if frame < frames and known[frame].any():
            after[f"{seconds} s"] = float(apart[frame][known[frame]].mean())
    return float(apart[known].mean()), after, len(ours)


def _motions(tracks: Tracks) -> Array:
    """Velocities `(n, 2)` of all who are there."""
    velocities = np.asarray(tracks.velocities(), dtype=np.float64).reshape(-1, 2)
    return velocities[np.isfinite(velocities).all(axis=1)]


def _density(tracks: Tracks, truth: Tracks) -> float:
    places = [np.asarray(one.positions)[one.present] for one in (tracks, truth)]
    both = np.concatenate(places)
    low, reach = both.min(axis=0), np.ptp(both, axis=0)
    cell = max(CELL, float(np.sqrt(np.prod(reach + CELL) / MOST_CELLS)))
    columns, rows = (reach / cell).astype(int) + 1
    shares = []
    for one in places:
        column, row = ((one - low) / cell).astype(int).T
        shares.append(np.bincount(row * columns + column, minlength=rows * columns) / max(len(one), 1))
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())


def _diagram_distance(
    first: tuple[Array, NDArray[np.int64]], second: tuple[Array, NDArray[np.int64]]
) -> float | None:
    weight = np.where((first[1] >= FEWEST) & (second[1] >= FEWEST), np.minimum(first[1], second[1]), 0)
    if not weight.any():
        return None
    known = weight > 0
    return float(np.average(np.abs(first[0] - second[0])[known], weights=weight[known]))


def _evacuation(tracks: Tracks, truth: Tracks) -> float:
    frames = max(tracks.frames, truth.frames)
    curves = [_left(one, frames) for one in (tracks, truth)]
    return float(np.abs(curves[0] - curves[1]).mean())


def _left(tracks: Tracks, frames: int) -> Array:
    """Share of all people who have left, `(frames,)`; it stays once the tracks end."""
    present = tracks.present
    last = tracks.frames - 1 - present[::-1].argmax(axis=0)
    # Who is there at the end has not left, nor has who never came.
    gone = last[present.any(axis=0) & (last < tracks.frames - 1)]
    leaving = np.bincount(gone + 1, minlength=frames)[:frames]
    return np.cumsum(leaving) / tracks.agents
