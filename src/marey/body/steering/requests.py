"""What a clip is steered by: points of the body that should be somewhere at some time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.body.ik.targets import find_point
from marey.body.kinematics import forward_kinematics, points_on
from marey.body.motion import Motion
from marey.errors import InputError

_HERE = (0.0, 0.0, 0.0)
FARTHEST = 1e6


@dataclass(frozen=True, eq=False)
class ReachAt:
    """A point of the figure should be at a place at a time.

    joint: its name, or `NAME_end` for the end site the joint carries
    time: seconds from the first frame
    position: `(3,)`, world, metres; or how far from where it is then, if `relative`
    point: `(3,)`, in the joint's frame, from the joint or end site, metres
    """

    joint: str
    time: float
    position: ArrayLike
    relative: bool = False
    point: ArrayLike = _HERE


class Goal(NamedTuple):
    """A request in terms of a clip: frame, joint and point in its frame `(3,)`, where it should be `(3,)`,
    and how far that is from where it is `(3,)`; metres."""

    name: str
    frame: int
    joint: int
    point: Array
    place: Array
    way: Array

    def at(self, place: Array) -> Goal:
        """The same for another place `(3,)`."""
        return self._replace(place=place, way=self.way + place - self.place)


def goals(motion: Motion, requests: Sequence[ReachAt]) -> list[Goal]:
    """Requests in terms of a clip, in their order.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> goal = goals(walk, [ReachAt("LeftHand", 1.0, [0, 0.1, 0], relative=True)])[0]
    >>> goal.frame, goal.way.tolist()
    (60, [0.0, 0.1, 0.0])
    """
    if not requests:
        raise InputError("nothing to steer to: give at least one request")
    found: list[Goal] = []
    for request in requests:
        frame = _frame(motion, request)
        joint, local = find_point(motion.skeleton, request.joint)
        point = local + _vector(request, "point")
        asked = _vector(request, "position")
        here = points_on(forward_kinematics(motion[frame]), [joint], point[None])[0, 0]
        place = here + asked if request.relative else asked
        way = asked if request.relative else asked - here
        for other in found:
            if (other.frame, other.joint) == (frame, joint) and np.array_equal(other.point, point):
                raise InputError(f"{request.joint} is asked for twice at {request.time:g} s")
        found.append(Goal(request.joint, frame, joint, point, place, way))
    return found


def path(motion: Motion, goal: Goal) -> Array:
    """Where the point of a request is over time, `(frames, 3)`, metres."""
    return points_on(forward_kinematics(motion), [goal.joint], goal.point[None])[:, 0]


def _frame(motion: Motion, request: ReachAt) -> int:
    time = float(request.time)
    frame = round(time * motion.frame_rate) if np.isfinite(time) else -1
    if not 0 <= frame < motion.frames:
        last = (motion.frames - 1) / motion.frame_rate
        raise InputError(f"reach {request.joint} at {time:g} s: the clip goes from 0 to {last:g} seconds")
    return frame


def _vector(request: ReachAt, name: str) -> Array:
    try:
        value = np.asarray(getattr(request, name), dtype=np.float64)
    except (TypeError, ValueError):
        value = np.empty(0)
    if value.shape != (3,) or not (np.abs(value) < FARTHEST).all():
        wanted = "is three finite numbers, metres, below a million"
        raise InputError(f"reach {request.joint} at {request.time:g} s: its {name} {wanted}")
    return value
