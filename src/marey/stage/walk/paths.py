"""Tracks as paths for bodies: smooth positions, headings and speeds.

Steps of the annotation and the sway of tracked heads are smoothed away; people at rest keep their last
heading. Paths go on before the first and after the last sighting, so that steps at the ends are whole. Cost:
a few Gaussian filters over people × frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.crowd.tracks import Tracks


@dataclass(frozen=True)
class PathSettings:
    """Numbers of the method, in metres and seconds.

    Attributes:
        position, velocity, heading: standard deviations of the Gaussians that smooth them.
        beyond: how long paths go on at both ends.
        ends: over which the velocity there is taken.
        facing: speed from which people face their direction of travel.
        far: distance from the origin beyond which coordinates get another origin.
        jump, unusual: a step is a jump if longer than the first, and than the second times the median step.
    """

    position: float = 0.15
    velocity: float = 0.35
    heading: float = 0.25
    beyond: float = 1.0
    ends: float = 0.5
    facing: float = 0.2
    far: float = 20_000.0
    jump: float = 2.0
    unusual: float = 5.0


SETTINGS = PathSettings()
# Metres of a full cycle of two steps (Winter 2009, natural cadence).
STRIDE = 1.4


class GroundPaths(NamedTuple):
    """Where people go, from a margin before the first frame to one after the last.

    Attributes:
        positions: `(people, frames, 2)`, metres, x and z of a world with y up (the plan's y is −z).
        headings: `(people, frames)`, radians about y, 0 along +z, without jumps.
        speeds: `(people, frames)`, metres a second.
        present: `(people, frames)`.
        margin: frames before the first one.
    """

    positions: Array
    headings: Array
    speeds: Array
    present: NDArray[np.bool_]
    margin: int


def ground_paths(tracks: Tracks, captured_rate: float) -> GroundPaths:
    """Paths of all people at the frame rate of the tracks.

    Args:
        tracks: resampled to the frame rate of the bodies.
        captured_rate: frames a second before that.

    >>> east = Tracks(np.stack([np.arange(30) * 0.1, np.zeros(30)], axis=1)[:, None], 10)
    >>> found = ground_paths(east.resample(30), 10)
    >>> round(float(found.headings[0, 60]), 3), round(float(found.speeds[0, 60]), 2)
    (1.571, 1.0)
    """
    from scipy.ndimage import gaussian_filter1d

    rate = tracks.frame_rate

    def smooth(values: Array, seconds: float) -> Array:
        return np.asarray(gaussian_filter1d(values, seconds * rate, axis=1, mode="nearest"))

    margin = round(SETTINGS.beyond * rate)
    present = np.pad(tracks.present.T, ((0, 0), (margin, margin)))
    plan = np.full((tracks.agents, present.shape[1], 2), np.nan)
    plan[:, margin : margin + tracks.frames] = np.swapaxes(np.asarray(tracks.positions, np.float64), 0, 1)
    for person in range(tracks.agents):
        plan[person] = _filled(plan[person], np.flatnonzero(present[person]), rate)
    plan[..., 1] *= -1.0
    # Sparse tracks are straight between two points: corners are rounded over half the time between them.
    sparse = 0.5 / captured_rate
    velocity = smooth(np.gradient(plan, 1 / rate, axis=1), max(SETTINGS.velocity, sparse))
    speeds = np.linalg.norm(velocity, axis=-1)
    headings = smooth(np.unwrap(_headings(velocity, speeds > SETTINGS.facing), axis=1), SETTINGS.heading)
    return GroundPaths(smooth(plan, max(SETTINGS.position, sparse)), headings, speeds, present, margin)


def without_jumps(tracks: Tracks) -> Tracks:
    """The tracks, in which everyone is another person after a jump.

    >>> there = np.where(np.arange(20) < 12, 0.1, 9.0)[:, None] * np.ones(2)
    >>> without_jumps(Tracks(there[:, None], 10)).present.sum(axis=0).tolist()
    [12, 8]
    """
    positions, present = np.asarray(tracks.positions, np.float64), tracks.present
    pieces: list[tuple[int, int, int]] = []
    for person in range(tracks.agents):
        seen = np.flatnonzero(present[:, person])
        lengths = np.linalg.norm(np.diff(positions[seen, person], axis=0), axis=1)
        steps = lengths / np.maximum(np.diff(seen), 1)
        usual = float(np.median(steps)) if len(steps) else 0.0
        cuts = seen[1:][(lengths > SETTINGS.jump) & (steps > SETTINGS.unusual * usual)]
        pieces += [(person, a, b) for a, b in pairwise([0, *cuts.tolist(), tracks.frames])]
    if len(pieces) == tracks.agents:
        return tracks
    assert tracks.ids is not None
    whole = np.full((tracks.frames, len(pieces), 2), np.nan)
    ids, unused = np.empty(len(pieces), np.int64), int(tracks.ids.max())
    for number, (person, a, b) in enumerate(pieces):
        whole[a:b, number] = positions[a:b, person]
        unused += a > 0
        ids[number] = tracks.ids[person] if a == 0 else unused
    return Tracks(whole, tracks.frame_rate, ids, name=tracks.name)


def origin_of(tracks: Tracks) -> Array:
    """Whole kilometres `(2,)` to take off map coordinates, which single precision cannot hold; 0 near by.

    >>> origin_of(Tracks(np.full((3, 1, 2), [4e5 + 20, 5.2e6]), 10)).tolist()
    [400000.0, 5200000.0]
    """
    middle = np.nanmedian(np.asarray(tracks.positions, np.float64), axis=(0, 1))
    return np.asarray(np.where(np.abs(middle).max() > SETTINGS.far, np.round(middle, -3), 0.0))


def _filled(plan: Array, known: NDArray[np.intp], rate: float) -> Array:
    """A path without gaps: straight through them, and on at both ends."""
    times = np.arange(len(plan), dtype=np.float64)
    filled = np.stack([np.interp(times, known, column[known]) for column in plan.T], axis=1)
    reach = min(round(SETTINGS.ends * rate), int(known[-1] - known[0]))
    if reach > 0:
        most = SETTINGS.beyond * rate
        for end, inward in ((known[0], reach), (known[-1], -reach)):
            velocity = (filled[end + inward] - filled[end]) / inward
            away = np.clip(times - end, -most, most)
            away[(away > 0) == (inward > 0)] = 0.0
            filled += away[:, None] * velocity
    return filled


def _headings(velocity: Array, moving: NDArray[np.bool_]) -> Array:
    """Headings `(people, frames)`: of the velocity, and at rest the last one or the first to come."""
    latest = np.maximum.accumulate(np.where(moving, np.arange(moving.shape[1]), -1), axis=1)
    source = np.where(latest >= 0, latest, moving.argmax(axis=1)[:, None])
    return np.take_along_axis(np.arctan2(velocity[..., 0], velocity[..., 1]), source, axis=1)


def steps(tracks: Tracks) -> tuple[Array, Array, Array]:
    """Heading (radians about y, 0 along +z), phase of the steps, angle of the swing; `(frames, agents)`.

    The phase grows by 2 π over a full cycle of two steps: legs move with the distance walked, so feet hardly
    slide (Courty 2013, section 6.3.2, picks walking cycles by speed). The angle of the swing, radians, grows
    with speed.

    >>> east = Tracks(np.stack([np.arange(30) * 0.1, np.zeros(30)], axis=1)[:, None], 10)
    >>> heading, phase, swing = steps(east)
    >>> round(float(heading[15, 0]), 3), round(float(np.ptp(phase)), 1)
    (1.571, 13.0)
    """
    paths = ground_paths(tracks, tracks.frame_rate)
    inside = slice(paths.margin, paths.margin + tracks.frames)
    heading, speed = (part.T[inside] for part in (paths.headings, paths.speeds))
    travelled = np.cumsum(speed, axis=0) / tracks.frame_rate
    assert tracks.ids is not None
    phase = 2 * np.pi * (travelled / STRIDE + np.asarray(tracks.ids) * 0.381966)
    return heading, phase, 0.48 * np.clip(speed / 1.3, 0.0, 1.25)
