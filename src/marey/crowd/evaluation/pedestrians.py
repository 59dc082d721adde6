"""Pedestrians against pedestrians: one by one where they are the same, and as crowds where they are not.

Courty & Corpetti 2007, section 6, propose to compare simulators with reality. Here: the distance of everyone
from their own true place, and, without regard to who is who, speeds, directions, where people are, how speed
falls with density (fundamental diagram) and how fast the place empties; and how often bodies overlap, as
those do that a field carries without avoidance (Courty & Corpetti 2007, 5.3). Cost: about 2 µs a person and
frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, Integers
from marey._report import Report
from marey.crowd.animation.agents import BODY_RADIUS
from marey.crowd.tracks import Tracks
from marey.errors import InputError

DENSITIES = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, np.inf])
"""People per square metre: edges of the fundamental diagram's bins."""


@dataclass(frozen=True)
class Overlaps(Report):
    """Overlapping bodies of tracks.

    Attributes:
        pairs: Mean number of overlapping pairs at a time.
        people: Share of people, at a time, who overlap with someone.
        events: How often a pair that was apart came to overlap.
        deepest: Metres by which the worst pair overlapped.
        deepest_share: The same over the sum of the two radii.
    """

    pairs: float
    people: float
    events: int
    deepest: float
    deepest_share: float


def overlaps(tracks: Tracks, radius: ArrayLike = BODY_RADIUS, *, tolerance: float = 0.9) -> Overlaps:
    """How often two people are nearer than a share of the sum of their radii.

    Args:
        tracks: Positions over time.
        radius: Metres, of everybody or `(agents,)`.
        tolerance: The share; below 1 because clothes give way, and disks are not bodies.

    >>> together = Tracks([[[0, 0], [1, 0]], [[0, 0], [0.2, 0]], [[0, 0], [0.2, 0]]], 10)
    >>> found = overlaps(together)
    >>> found.events, round(found.pairs, 3), round(found.deepest, 3)
    (1, 0.667, 0.3)
    """
    from scipy.spatial import cKDTree

    radii = np.asarray(radius, dtype=np.float64)
    if radii.shape not in ((), (tracks.agents,)) or not (np.isfinite(radii) & (radii > 0)).all():
        raise InputError(
            f"radius: metres, above 0, one or {tracks.agents} of them; got {radii.tolist()!s:.40}"
        )
    radii = np.broadcast_to(radii, (tracks.agents,))
    pairs = events = involved = 0
    deepest = share = 0.0
    before: Integers = np.empty(0, dtype=np.int64)
    present = tracks.present
    for positions, here in zip(np.asarray(tracks.positions), present, strict=True):
        who = np.flatnonzero(here)
        reach = 2 * tolerance * float(radii[who].max(initial=0.0))
        near = who[cKDTree(positions[who]).query_pairs(reach, output_type="ndarray")]
        gaps = np.linalg.norm(positions[near[:, 0]] - positions[near[:, 1]], axis=1)
        sums = radii[near].sum(axis=1)
        touching = gaps < tolerance * sums
        near, gaps, sums = near[touching], gaps[touching], sums[touching]
        pairs += len(near)
        involved += len(np.unique(near))
        now = np.sort(near[:, 0] * tracks.agents + near[:, 1])
        events += len(np.setdiff1d(now, before, assume_unique=True))
        before = now
        deepest = max(deepest, float((sums - gaps).max(initial=0.0)))
        share = max(share, float((1 - gaps / sums).max(initial=0.0)))
    return Overlaps(pairs / tracks.frames, involved / max(int(present.sum()), 1), events, deepest, share)


@dataclass(frozen=True)
class CrowdErrors(Report):
    """Differences of two crowds; all are 0 for one and the same.

    Attributes:
        trajectory_m: Mean distance, in metres, of everyone from their own true place, while both are there.
        after: The same at 1, 2 and 5 seconds from the start.
        shared: How many ids both have; None and {} above if there are none.
        speeds: Jensen–Shannon distance of their histograms, 0 to 1.
        directions: As `speeds`.
        density: Half the summed difference of the shares of people in each square metre, 0 to 1.
        fundamental_diagram: Mean difference of speed at equal local density, m/s; None without a common one.
        evacuation: Mean difference over time of the share of people who have left, 0 to 1.
    """

    trajectory_m: float | None
    after: dict[str, float]
    shared: int
    speeds: float
    directions: float
    density: float
    fundamental_diagram: float | None
    evacuation: float


def crowd_errors(tracks: Tracks, truth: Tracks) -> CrowdErrors:
    """Of `tracks` against the `truth`; both begin at the same moment, rates may differ.

    >>> east = np.stack([np.arange(30) * 0.1, np.zeros(30)], axis=1)[:, None]
    >>> found = crowd_errors(Tracks(east + [0.0, 0.3], 10), Tracks(east, 10))
    >>> round(found.trajectory_m, 6), found.speeds, found.evacuation
    (0.3, 0.0, 0.0)
    """
    if not np.isclose(tracks.frame_rate, truth.frame_rate, rtol=1e-6):
        tracks = tracks.resample(truth.frame_rate)
    mean, after, shared = _distances(tracks, truth)
    motions = [_motions(one) for one in (tracks, truth)]
    speeds = np.linalg.norm(np.concatenate(motions), axis=1)
    top = float(np.percentile(speeds, 99.5)) if len(speeds) else 1.0
    return CrowdErrors(
        mean,
        after,
        shared,
        jensen_shannon(*(speed_histogram(motion, top) for motion in motions)),
        jensen_shannon(*(direction_histogram(motion, 0.1) for motion in motions)),
        _density(tracks, truth),
        _diagram_distance(fundamental_diagram(tracks), fundamental_diagram(truth)),
        _evacuation(tracks, truth),
    )


def fundamental_diagram(tracks: Tracks) -> tuple[Array, Integers]:
    """Mean speed, m/s, in bins of local density (`DENSITIES`), NaN where there is none; how many samples.

    The density around a person is that of others within 1.5 m.
    """
    from scipy.spatial import cKDTree

    radius, most_frames = 1.5, 100
    positions = np.asarray(tracks.positions, dtype=np.float64)
    speeds = np.linalg.norm(tracks.velocities(), axis=-1)
    total, count = np.zeros(len(DENSITIES) - 1), np.zeros(len(DENSITIES) - 1, dtype=np.int64)
    for frame in range(0, tracks.frames, -(-tracks.frames // most_frames)):
        here = np.isfinite(positions[frame, :, 0]) & np.isfinite(speeds[frame])
        if not here.any():
            continue
        places = positions[frame, here]
        near = cKDTree(places).query_ball_point(places, radius, return_length=True)
        # Not oneself: a lone person walks at density 0.
        local = (np.asarray(near) - 1) / (np.pi * radius**2)
        bins = np.digitize(local, DENSITIES) - 1
        total += np.bincount(bins, speeds[frame, here], minlength=len(total))
        count += np.bincount(bins, minlength=len(total))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan), count


def speed_histogram(motion: Array, top: float) -> Array:
    """Of velocities `(n, 2)`, up to `top`, what is faster in the last bin; `(36,)`."""
    speeds = np.linalg.norm(motion, axis=-1)
    return np.histogram(np.minimum(speeds, top), bins=36, range=(0, top or 1.0))[0].astype(np.float64)


def direction_histogram(motion: Array, slowest: float) -> Array:
    """Of velocities `(n, 2)` faster than `slowest`; `(36,)`."""
    moving = motion[np.linalg.norm(motion, axis=-1) > slowest]
    angles = np.arctan2(moving[:, 1], moving[:, 0])
    return np.histogram(angles, bins=36, range=(-np.pi, np.pi))[0].astype(np.float64)


def jensen_shannon(first: Array, second: Array) -> float:
    """Distance of two histograms, 0 to 1: the root of the divergence in bits (Lin 1991).

    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 3.0]))
    1.0
    """
    from scipy.spatial.distance import jensenshannon

    if first.sum() == 0 or second.sum() == 0:
        return float((first.sum() > 0) != (second.sum() > 0))
    # Rounding may make the divergence of equal histograms negative, and its root NaN.
    return float(np.nan_to_num(jensenshannon(first, second, 2)))


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
    # Cells of 1 m, at most a million.
    cell = max(1.0, float(np.sqrt(np.prod(reach + 1.0) / 1e6)))
    columns, rows = (reach / cell).astype(int) + 1
    shares = []
    for one in places:
        column, row = ((one - low) / cell).astype(int).T
        shares.append(np.bincount(row * columns + column, minlength=rows * columns) / max(len(one), 1))
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())


def _diagram_distance(
    first: tuple[Array, Integers], second: tuple[Array, Integers], *, fewest: int = 20
) -> float | None:
    """Mean difference of speed in the bins with at least so many samples, m/s."""
    weight = np.where((first[1] >= fewest) & (second[1] >= fewest), np.minimum(first[1], second[1]), 0)
    if not weight.any():
        return None
    known = weight > 0
    return float(np.average(np.abs(first[0] - second[0])[known], weights=weight[known]))


def _evacuation(tracks: Tracks, truth: Tracks) -> float:
    frames = max(tracks.frames, truth.frames)
    curves = [_departed(one, frames) for one in (tracks, truth)]
    return float(np.abs(curves[0] - curves[1]).mean())


def _departed(tracks: Tracks, frames: int) -> Array:
    """Share of all people who have left, `(frames,)`; it stays once the tracks end."""
    present = tracks.present
    last = tracks.frames - 1 - present[::-1].argmax(axis=0)
    # Who is there at the end has not left, nor has who never came.
    gone = last[present.any(axis=0) & (last < tracks.frames - 1)]
    leaving = np.bincount(gone + 1, minlength=frames)[:frames]
    return np.cumsum(leaving) / tracks.agents
