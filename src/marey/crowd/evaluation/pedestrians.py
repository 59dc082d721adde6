"""Pedestrians against pedestrians, and against the field that carries them.

Courty & Corpetti 2007, section 6, propose to compare simulators with reality. Here: the distance of everyone
from their own true place, and, without regard to who is who, speeds, directions, where people are, how speed
falls with density (fundamental diagram) and how fast the place empties; and how often bodies overlap, as
those do that a field carries without avoidance (section 5.3). Small errors of a field in one direction
add up, others do not: true people are put at their true places every second and carried for up to five
seconds (Courty 2013, section 7.1, shows such replays and measures none). People who avoid each other leave
the field's velocity; a crowd that leaves it far no longer shows what was captured. Cost: about 2 µs a person
and frame, and the advection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, Integers
from marey._report import Report
from marey.crowd.animation.agents import BODY_RADIUS, advect
from marey.crowd.animation.ground import OUTSIDE, WALKABLE, Flow, WalkableGround
from marey.crowd.evaluation.flows import field_velocities
from marey.crowd.fields import FieldSeries
from marey.crowd.tracks import Tracks, is_present
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
        tolerance: The share; below 1 because clothes yield, and disks are not bodies.

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


@dataclass(frozen=True)
class TrajectoryError(Report):
    """Distances between carried and true people after `seconds`.

    Attributes:
        mean: Mean distance, metres.
        median: Median distance, metres.
        within: Share no farther off than `diameter` metres, that of a body.
        still: Mean distance in metres if people had stayed where they were, to compare with.
        people: How many were followed.
    """

    seconds: float
    mean: float
    median: float
    within: float
    still: float
    people: int
    diameter: float


def trajectory_errors(
    fields: FieldSeries,
    truth: Tracks,
    *,
    seconds: Sequence[float] = (1.0, 2.0, 5.0, 10.0),
    every: float = 1.0,
    diameter: float = 2 * BODY_RADIUS,
) -> list[TrajectoryError]:
    """Errors after each of `seconds` that field and truth are long enough for; `[]` if for none.

    People count who truly are in the image at both times; those whom the field carries out of it count from
    the place where they left it.

    Args:
        fields: With a homography; frame 0 is that of the truth.
        truth: Where people truly went.
        seconds: After which people are compared.
        every: Seconds between the times at which people start from their true places.
        diameter: Of a body, metres.

    >>> from marey.crowd.cameras import orthographic
    >>> east = FieldSeries(np.full((30, 10, 80, 2), [1.0, 0.0]), 10, homography=orthographic(0.1))
    >>> path = np.stack([0.5 + 0.08 * np.arange(30), np.full(30, -0.5)], axis=1)
    >>> errors = trajectory_errors(east, Tracks(path[:, None], 10))
    >>> [(error.seconds, round(error.mean, 3)) for error in errors]
    [(1.0, 0.2), (2.0, 0.4)]
    """
    if fields.homography is None:
        raise InputError("fields: they have no homography, so there are no metres to compare in")
    if not every > 0 or not seconds or min(seconds) <= 0:
        raise InputError("seconds: all must be positive")
    length = min(fields.duration, (truth.frames - 1) / truth.frame_rate)
    return [
        error
        for horizon in sorted(seconds)
        if horizon <= length + 1e-9
        and (error := _after(fields, truth, horizon, length, every, diameter)) is not None
    ]


def flow_deviation(tracks: Tracks, fields: FieldSeries, *, repeat: bool = True) -> float:
    """Mean difference of people's velocities from the field's where they are, over the field's mean speed.

    Tracks and series begin together. 0 = exactly the field; NaN if it is at rest or no agent is there twice.

    >>> from marey.crowd import cameras
    >>> east = FieldSeries(np.full((3, 10, 40, 2), [2.0, 0.0]), 10, homography=cameras.orthographic(0.1))
    >>> path = np.stack([0.5 + 0.1 * np.arange(10), np.full(10, -0.5)], axis=1)
    >>> round(flow_deviation(Tracks(path[:, None], 10), east), 6)
    0.5
    """
    flow = Flow.of(fields, repeat=repeat)
    positions = np.asarray(tracks.positions, dtype=np.float64)
    off = speed = 0.0
    for frame in range(tracks.frames - 1):
        step = positions[frame + 1] - positions[frame]
        known = np.isfinite(step).all(axis=1)
        if not known.any():
            continue
        middle = positions[frame, known] + 0.5 * step[known]
        wanted = field_velocities(flow, (frame + 0.5) / tracks.frame_rate, middle)
        off += float(np.linalg.norm(step[known] * tracks.frame_rate - wanted, axis=1).sum())
        speed += float(np.linalg.norm(wanted, axis=1).sum())
    return off / speed if speed > 0 else float("nan")


def _after(
    fields: FieldSeries, truth: Tracks, horizon: float, length: float, every: float, diameter: float
) -> TrajectoryError | None:
    begins = np.arange(0.0, length - horizon + 1e-9, every)
    # More than forty starts would not change the mean.
    begins = begins[:: max(1, -(-len(begins) // 40))]
    place = WalkableGround.of(fields)
    off, stood = [], []
    for begin in begins:
        first = round(begin * truth.frame_rate)
        last = first + round(horizon * truth.frame_rate)
        if last >= truth.frames:
            continue
        start, end = np.asarray(truth.positions[first]), np.asarray(truth.positions[last])
        known = (place.under(start) == WALKABLE) & (place.under(end) != OUTSIDE)
        if not known.any():
            continue
        carried = advect(
            fields,
            start[known],
            begin=first / truth.frame_rate,
            seconds=horizon,
            frame_rate=fields.frame_rate,
        )
        arrived = _last_known(np.asarray(carried.positions), start[known])
        off.append(np.linalg.norm(arrived - end[known], axis=1))
        stood.append(np.linalg.norm(start[known] - end[known], axis=1))
    if not off:
        return None
    distances = np.concatenate(off)
    return TrajectoryError(
        horizon,
        float(distances.mean()),
        float(np.median(distances)),
        float((distances <= diameter).mean()),
        float(np.concatenate(stood).mean()),
        len(distances),
        diameter,
    )


def _last_known(positions: Array, start: Array) -> Array:
    """The last place of each person `(people, 2)` before they left the image."""
    known = is_present(positions)
    last = len(positions) - 1 - known[::-1].argmax(axis=0)
    arrived = positions[last, np.arange(positions.shape[1])]
    return np.where(np.any(known, axis=0, keepdims=True).T, arrived, start)
