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
MAX_METRES = 1e6


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
    point: ArrayLike = _HERE


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
        frame = _frame(motion, request)
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


def _frame(motion: Motion, request: TimedReach) -> int:
    time = float(request.time)
    frame = round(time * motion.frame_rate) if np.isfinite(time) else -1
    if not 0 <= frame < motion.frames:
        last = (motion.frames - 1) / motion.frame_rate
        raise InputError(f"reach {request.joint} at {time:g} s: the clip goes from 0 to {last:g} seconds")
    return frame


def _vector(request: TimedReach, name: str) -> Array:
    try:
        value = np.asarray(getattr(request, name), dtype=np.float64)
    except (TypeError, ValueError):
        value = np.empty(0)
    if value.shape != (3,) or not (np.abs(value) < MAX_METRES).all():
        wanted = "is three finite numbers, metres, below a million"
        raise InputError(f"reach {request.joint} at {request.time:g} s: its {name} {wanted}")
    return value
