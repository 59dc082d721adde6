"""What a clip is steered by, points of the body at some times, and the windows in which it is displaced.

A process carries the displacement over a window: white noise as jerk, with place, velocity and acceleration 0
at both ends. Its covariance is Green's function of the sixth derivative, in closed form (Boggio's formula),
so the displacement that is expected, given places at some times, is the curve of least squared jerk through
them. Costs O(frames²) for the covariance of an interval, O(frames³) for its factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, runs
from marey.body.ik.targets import find_point
from marey.body.kinematics import forward_kinematics, points_on
from marey.body.motion import Motion
from marey.errors import InputError

MAX_METRES = 1e6
# Directions are left out of the factor that carry less than this share of the largest variance.
NOTHING = 1e-13
# Seconds before and after a target that change: at least, and at most when chosen.
SHORTEST, LONGEST = 0.25, 2.0


@dataclass(frozen=True, eq=False)
class TimedReach:
    """A point of the figure should be at a position at a time.

    Attributes:
        joint: Its name, or `NAME_end` for the end site that the joint carries.
        time: Seconds from the first frame.
        position: `(3,)`, world, metres; or an offset from where it is then, if `relative`.
        relative: Whether the position is an offset.
        point: `(3,)`, in the joint's frame, from the joint or end site, metres.
    """

    joint: str
    time: float
    position: ArrayLike
    relative: bool = False
    point: ArrayLike = (0.0, 0.0, 0.0)


class Target(NamedTuple):
    """A request in terms of a clip.

    Attributes:
        name: Name of the joint.
        frame, joint: Indices.
        point: `(3,)`, in the joint's frame, metres.
        position: `(3,)`, where it should be, metres.
        offset: `(3,)`, how far that is from where it is, metres.
    """

    name: str
    frame: int
    joint: int
    point: Array
    position: Array
    offset: Array

    def moved_to(self, position: Array) -> Target:
        """The same for another position `(3,)`."""
        return self._replace(position=position, offset=self.offset + position - self.position)


def targets(motion: Motion, requests: Sequence[TimedReach]) -> list[Target]:
    """Requests in terms of a clip, in their order.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> target = targets(walk, [TimedReach("LeftHand", 1.0, [0, 0.1, 0], relative=True)])[0]
    >>> target.frame, target.offset.tolist()
    (60, [0.0, 0.1, 0.0])
    """
    if not requests:
        raise InputError("nothing to steer to: give at least one request")
    found: list[Target] = []
    for request in requests:
        time = float(request.time)
        frame = round(time * motion.frame_rate) if np.isfinite(time) else -1
        if not 0 <= frame < motion.frames:
            last = (motion.frames - 1) / motion.frame_rate
            raise InputError(f"reach {request.joint} at {time:g} s: the clip goes from 0 to {last:g} seconds")
        joint, local = find_point(motion.skeleton, request.joint)
        point = local + _vector(request, "point")
        asked = _vector(request, "position")
        here = points_on(forward_kinematics(motion[frame]), [joint], point[None])[0, 0]
        position = here + asked if request.relative else asked
        offset = asked if request.relative else asked - here
        for other in found:
            if (other.frame, other.joint) == (frame, joint) and np.array_equal(other.point, point):
                raise InputError(f"{request.joint} is asked for twice at {request.time:g} s")
        found.append(Target(request.joint, frame, joint, point, position, offset))
    return found


def trajectory(motion: Motion, target: Target) -> Array:
    """Where the point of a request is over time, `(frames, 3)`, metres."""
    return points_on(forward_kinematics(motion), [target.joint], target.point[None])[:, 0]


def _vector(request: TimedReach, name: str) -> Array:
    try:
        value = np.asarray(getattr(request, name), dtype=np.float64)
    except (TypeError, ValueError):
        value = np.empty(0)
    if value.shape != (3,) or not (np.abs(value) < MAX_METRES).all():
        wanted = "is three finite numbers, metres, below a million"
        raise InputError(f"reach {request.joint} at {request.time:g} s: its {name} {wanted}")
    return value


class Window(NamedTuple):
    """An interval of time, in frames (also between them, and beyond the ends of a clip)."""

    start: float
    end: float

    def wider(self, factor: float) -> Window:
        """The same middle, so many times as long."""
        more = 0.5 * (factor - 1.0) * (self.end - self.start)
        return Window(self.start - more, self.end + more)


def covariance(one: ArrayLike, other: ArrayLike, window: Window) -> Array:
    """Covariances `(one, other)` between frames, 1 in the middle of the window and 0 outside.

    >>> covariance([0, 50, 100], [50], Window(0, 100)).round(3).ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    middle, half = 0.5 * (window.start + window.end), 0.5 * (window.end - window.start)
    x = np.clip((np.asarray(one, dtype=np.float64) - middle) / half, -1.0, 1.0)[:, None]
    y = np.clip((np.asarray(other, dtype=np.float64) - middle) / half, -1.0, 1.0)[None]
    apart, near = np.abs(x - y), 1.0 - x * y
    green = near**5 / 5 - 2 * near**3 * apart**2 / 3 + near * apart**4 - 8 * apart**5 / 15
    return np.asarray(5.0 * np.maximum(green, 0.0))


def factor(frames: ArrayLike, windows: list[Window]) -> Array:
    """`F (frames, rank)` with `F Fᵀ` the covariance of a sum of independent processes, one a window.

    >>> F = factor(range(10, 91), [Window(0, 100), Window(40, 100)])
    >>> bool(np.allclose(F @ F.T, sum(covariance(range(10, 91), range(10, 91), s)
    ...                               for s in (Window(0, 100), Window(40, 100)))))
    True
    """
    total = np.sum([covariance(frames, frames, window) for window in windows], axis=0)
    values, vectors = np.linalg.eigh(total)
    kept = values > NOTHING * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def merge_windows(windows: Sequence[Window], frames: int) -> tuple[tuple[int, int], ...]:
    """First and last frames of the stretches that windows cover, overlapping ones as one.

    >>> merge_windows([Window(10, 20), Window(15, 30), Window(40, 60)], 50)
    ((11, 29), (41, 49))
    """
    return tuple((first, stop - 1) for first, stop in runs(covered(windows, frames)))


def covered(windows: Sequence[Window], frames: int) -> BoolArray:
    """Frames `(frames,)` strictly within any of the windows."""
    t = np.arange(frames)
    return np.asarray(np.any([(t > window.start) & (t < window.end) for window in windows], axis=0))


def windows_around(
    targets: list[Target], contacts: list[tuple[int, int] | None], halves: Array
) -> list[Window]:
    """Windows around targets, `halves` `(targets,)` frames before and after; that of a foot begins before its
    contact (first and last frame, or None) and ends after it."""
    found = []
    for target, contact, half in zip(targets, contacts, halves.tolist(), strict=True):
        first, last = contact or (target.frame, target.frame)
        found.append(Window(min(first, target.frame) - half, max(last, target.frame) + half))
    return found


def first_halves(motion: Motion, targets: list[Target], interval: float | None) -> Array:
    """Frames before and after each target that change at first; targets of one moment change together.

    Half a window as long as an added acceleration of half the clip's usual one needs: a displacement d over
    2 T seconds has a peak acceleration of 6 d / T².
    """
    rate = motion.frame_rate
    if interval is not None:
        return np.full(len(targets), max(0.5 * interval * rate, 1.5))
    found = np.empty(len(targets))
    for i, target in enumerate(targets):
        own = accelerations(trajectory(motion, target), rate)
        usual = max(float(np.quantile(own, 0.9)) if len(own) else 0.0, 1e-9)
        seconds = np.sqrt(6.0 * np.linalg.norm(target.offset) / (0.5 * usual))
        found[i] = np.clip(seconds, SHORTEST, LONGEST / 2) * rate
    frames = np.array([target.frame for target in targets])
    return np.array([found[frames == frame].max() for frame in frames])


def accelerations(path: Array, frame_rate: float) -> Array:
    """Of a path `(frames, 3)`: metres a second squared at all frames but the first and last."""
    return np.asarray(np.linalg.norm(np.diff(path, n=2, axis=0), axis=1) * frame_rate**2)


def peak_ratio(original: Motion, steered: Motion, target: Target, window: Window) -> float:
    """Largest acceleration of the target's point within the window, over its largest in the original."""
    rate = original.frame_rate
    first = max(int(np.floor(window.start)) - 1, 0)
    near = steered[first : min(int(np.ceil(window.end)) + 2, original.frames)]
    found, usual = (
        float(accelerations(trajectory(clip, target), rate).max(initial=0.0)) for clip in (near, original)
    )
    return found / usual if usual > 0 else (1.0 if found == 0 else float("inf"))
