"""What happens to a character under control: pushes, balls, handles, looks, changes of support."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked
from marey.body.control.mechanics import Instant
from marey.body.physics.reduced import GRAVITY
from marey.body.physics.simulate import Ball
from marey.body.skeleton import Skeleton
from marey.errors import InputError

KINDS = ("push", "ball", "handle", "look_at", "support", "feature")
SUPPORTS = ("both", "left", "right")


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happens at a time.

    Args:
        time: seconds after the start.
        kind: "push", "ball", "handle", "look_at", "support" or "feature".
        joint: of a push or handle.
        at: `(3,)`: impulse of a push, N·s; place of a handle or of what is looked at, metres. None lets go.
        ball: what is thrown.
        name: "both", "left" or "right" of a support; of a feature its name.
        on: whether a feature counts from now on.
    """

    time: float
    kind: str
    joint: str = ""
    at: ArrayLike | None = None
    ball: Ball | None = None
    name: str = ""
    on: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS or not (np.isfinite(self.time) and self.time >= 0):
            raise InputError(f"event {self.kind!r} at {self.time} s: one of {', '.join(KINDS)}, from 0 s on")
        if self.ball is not None and not (self.ball.mass > 0 and self.ball.radius > 0):
            raise InputError(f"ball at {self.time} s: mass and radius must be above 0")
        if not isinstance(self.on, bool):
            raise InputError(f"{self.kind} at {self.time} s: on must be true or false, not {self.on!r}")
        if self.at is not None:
            checked(f"{self.kind} at {self.time} s", self.at, (3,))
        if self.kind == "support" and self.name not in SUPPORTS:
            raise InputError(f"support {self.name!r}: one of {', '.join(SUPPORTS)}")


def read_events(path: str | Path) -> list[Event]:
    """Events of a JSON file, a list such as `[{"t": 1, "push": {"joint": "Spine", "impulse": [20, 0, 0]}}]`.

    Further kinds: `"ball": {"mass": 1, "from": [2, 1.4, 0], "velocity": [-8, 0, 0]}`,
    `"handle": {"joint": "LeftHand", "to": [0.3, 1.5, 0.4]}` (null lets go), `"look_at": [0, 1.6, 3]`,
    `"support": "left"`, `"feature": "angular_momentum", "on": false`.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(found, list):
        raise InputError(f"{path}: must be a list of events, each with its time t")
    return [_event(f"{path}: event {number}", one) for number, one in enumerate(found, 1)]


def _event(where: str, given: Any) -> Event:
    kinds = [kind for kind in KINDS if isinstance(given, Mapping) and kind in given]
    if len(kinds) != 1:
        raise InputError(f"{where}: needs t and one of {', '.join(KINDS)}")
    kind, value = kinds[0], given[kinds[0]]
    try:
        time = float(given["t"])
        if kind == "push":
            return Event(time, kind, str(value["joint"]), value["impulse"])
        if kind == "handle":
            return Event(time, kind, str(value["joint"]), value["to"])
        if kind == "ball":
            ball = Ball(value["from"], value["velocity"], float(value.get("mass", 0.5)))
            return Event(time, kind, ball=ball._replace(radius=float(value.get("radius", 0.1))))
        if kind == "look_at":
            return Event(time, kind, at=value)
        return Event(time, kind, name=str(value), on=given.get("on", True))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where}: {kind} {value!r} cannot be read ({error})") from None


def check_joints(events: Sequence[Event], skeleton: Skeleton) -> None:
    """An error for the first joint that is not there."""
    for event in events:
        if event.joint:
            skeleton.index(event.joint)


class Flight:
    """Balls in the air, `(balls, 6)` places and velocities; they bounce off the bones and the floor."""

    def __init__(self, events: Sequence[Event], step: float) -> None:
        self.thrown = [(event.time, event.ball) for event in events if event.ball is not None]
        self.step = step
        self.where = np.array(
            [[*np.asarray(b.place), *np.asarray(b.velocity)] for _, b in self.thrown], dtype=np.float64
        ).reshape(-1, 6)

    def hits(self, now: Instant, time: float) -> list[tuple[int, Array, Array]]:
        """Impulses of the balls that meet the body now, as `Mechanics.at` takes them; moves the balls."""
        found = []
        for number, (start, ball) in enumerate(self.thrown):
            if time < start:
                continue
            place, velocity = self.where[number, :3], self.where[number, 3:]
            velocity += self.step * np.array(GRAVITY)
            hit = _nearest(now, place, ball.radius)
            if hit is not None:
                joint, point, normal = hit
                row = normal @ now.moves([joint], point[None])[0]
                closing = float(normal @ velocity - row @ now.v)
                if closing < 0:
                    push = -(1 + ball.restitution) * closing / (1 / ball.mass + row @ now.inverse @ row)
                    velocity += push / ball.mass * normal
                    found.append((joint, point, -push * normal))
            floor = now.mechanics.settings.floor + ball.radius
            if place[1] < floor and velocity[1] < 0:
                velocity[1] *= -ball.restitution
            place += self.step * velocity
        return found


def _nearest(now: Instant, place: Array, radius: float) -> tuple[int, Array, Array] | None:
    """Joint, point in its frame and outward normal where a ball overlaps the bones' capsules."""
    capsules = now.mechanics.shapes.capsules
    joints = capsules[:, 0].astype(int)
    turns, places = now.frames
    begins = now.world(places[joints] + (turns[joints] @ capsules[:, 1:4, None])[..., 0])
    ends = now.world(places[joints] + (turns[joints] @ capsules[:, 4:7, None])[..., 0])
    along = ends - begins
    shares = ((place - begins) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-12)
    nearest = begins + np.clip(shares, 0.0, 1.0)[:, None] * along
    away = place - nearest
    distances = np.linalg.norm(away, axis=1)
    which = int((distances - capsules[:, 7]).argmin())
    if distances[which] > capsules[which, 7] + radius or distances[which] < 1e-9:
        return None
    normal = away[which] / distances[which]
    R, here = now.joint(joints[which])
    return int(joints[which]), R.T @ (nearest[which] + capsules[which, 7] * normal - here), normal
