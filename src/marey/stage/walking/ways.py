"""Tracks as ways for bodies: smooth places, where people look, how fast they are.

Steps of the annotation and the sway of tracked heads are smoothed away; who stands looks where he went last.
Beyond the first and last time somebody is seen he goes on as he went, so that steps at the ends are whole.
Cost: a few Gaussian filters over people × frames.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey.crowd.tracks import Tracks

Array = NDArray[np.float64]

# Seconds: places and velocities are smoothed over these, headings over the third.
PLACE, VELOCITY, HEADING = 0.15, 0.35, 0.25
# Seconds beyond the ends of a track, and from which the velocity there is taken.
BEYOND, ENDS = 1.0, 0.5
# Metres a second from which somebody looks where he goes.
LOOKING = 0.2
# Metres from the origin beyond which places are told from elsewhere.
FAR = 20_000.0
# Metres between two times that are a jump, if they are also this many times somebody's usual step.
JUMP, UNUSUAL = 2.0, 5.0


class Ways(NamedTuple):
    """Where people go, from :data:`BEYOND` before the first frame to as much after the last.

    places: `(people, frames, 2)`, metres, x and z of a world with y up (the plan's y is −z)
    headings: `(people, frames)`, radians about y, 0 along +z, without jumps
    speeds: `(people, frames)`, metres a second
    present: `(people, frames)`
    margin: frames before the first one
    """

    places: Array
    headings: Array
    speeds: Array
    present: NDArray[np.bool_]
    margin: int


def ways(tracks: Tracks, frame_rate: float) -> Ways:
    """Ways of all people at a frame rate.

    >>> east = Tracks(np.stack([np.arange(30) * 0.1, np.zeros(30)], axis=1)[:, None], 10)
    >>> found = ways(east, 30)
    >>> round(float(found.headings[0, 60]), 3), round(float(found.speeds[0, 60]), 2)
    (1.571, 1.0)
    """
    from scipy.ndimage import gaussian_filter1d

    step = 1 / tracks.frame_rate
    even = tracks.resample(frame_rate)
    margin = round(BEYOND * frame_rate)
    seen = np.pad(even.present.T, ((0, 0), (margin, margin)))
    plan = np.full((even.agents, seen.shape[1], 2), np.nan)
    plan[:, margin : margin + even.frames] = np.moveaxis(np.asarray(even.positions, np.float64), 0, 1)
    for person in range(even.agents):
        plan[person] = _filled(plan[person], np.flatnonzero(seen[person]), frame_rate)
    plan[..., 1] *= -1.0
    # Sparse tracks are straight between two points: corners are rounded over half the time between them.
    places = gaussian_filter1d(plan, max(PLACE, 0.5 * step) * frame_rate, axis=1, mode="nearest")
    going = np.gradient(plan, 1 / frame_rate, axis=1)
    going = gaussian_filter1d(going, max(VELOCITY, 0.5 * step) * frame_rate, axis=1, mode="nearest")
    speeds = np.linalg.norm(going, axis=-1)
    headings = gaussian_filter1d(_looking(going, speeds), HEADING * frame_rate, axis=1, mode="nearest")
    return Ways(places, headings, speeds, seen, margin)


def without_jumps(tracks: Tracks) -> Tracks:
    """The tracks, with who is suddenly elsewhere as somebody new from there on.

    >>> there = np.where(np.arange(20) < 12, 0.1, 9.0)[:, None] * np.ones(2)
    >>> without_jumps(Tracks(there[:, None], 10)).present.sum(axis=0).tolist()
    [12, 8]
    """
    places, present = np.asarray(tracks.positions, np.float64), tracks.present
    pieces: list[tuple[int, int, int]] = []
    for person in range(tracks.agents):
        seen = np.flatnonzero(present[:, person])
        ways = np.linalg.norm(np.diff(places[seen, person], axis=0), axis=1)
        steps = ways / np.maximum(np.diff(seen), 1)
        usual = float(np.median(steps)) if len(steps) else 0.0
        cuts = seen[1:][(ways > JUMP) & (steps > UNUSUAL * usual)]
        ends = [0, *cuts.tolist(), tracks.frames]
        pieces += [(person, a, b) for a, b in pairwise(ends)]
    if len(pieces) == tracks.agents:
        return tracks
    assert tracks.ids is not None
    whole = np.full((tracks.frames, len(pieces), 2), np.nan)
    ids, unused = np.empty(len(pieces), np.int64), int(tracks.ids.max())
    for number, (person, a, b) in enumerate(pieces):
        whole[a:b, number] = places[a:b, person]
        unused += a > 0
        ids[number] = tracks.ids[person] if a == 0 else unused
    return Tracks(whole, tracks.frame_rate, ids, name=tracks.name)


def origin_of(tracks: Tracks) -> Array:
    """Whole kilometres `(2,)` to take off map coordinates, which short numbers cannot hold; 0 near by.

    >>> origin_of(Tracks(np.full((3, 1, 2), [4e5 + 20, 5.2e6]), 10)).tolist()
    [400000.0, 5200000.0]
    """
    middle = np.nanmedian(np.asarray(tracks.positions, np.float64), axis=(0, 1))
    return np.asarray(np.where(np.abs(middle).max() > FAR, np.round(middle, -3), 0.0))


def _filled(plan: Array, known: NDArray[np.intp], rate: float) -> Array:
    """A way without gaps: straight through them, and on for :data:`BEYOND` at both ends."""
    times = np.arange(len(plan), dtype=np.float64)
    filled = np.stack([np.interp(times, known, column[known]) for column in plan.T], axis=1)
    reach = min(round(ENDS * rate), int(known[-1] - known[0]))
    if reach > 0:
        most = BEYOND * rate
        for end, inward in ((known[0], reach), (known[-1], -reach)):
            velocity = (filled[end + inward] - filled[end]) / inward
            away = np.clip(times - end, -most, most)
            away[(away > 0) == (inward > 0)] = 0.0
            filled += away[:, None] * velocity
    return filled


def _looking(going: Array, speeds: Array) -> Array:
    """Headings `(people, frames)`: of the velocity, and while standing the last one or the first to come."""
    moving = speeds > LOOKING
    frames = np.arange(speeds.shape[1])
    latest = np.maximum.accumulate(np.where(moving, frames, -1), axis=1)
    source = np.where(latest >= 0, latest, moving.argmax(axis=1)[:, None])
    return np.unwrap(np.take_along_axis(np.arctan2(going[..., 0], going[..., 1]), source, axis=1), axis=1)
