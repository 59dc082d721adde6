"""A scene: walls, where groups of people start, what their goals are (Courty 2013, section 6.3.1).

The eight scenes of the dataset are in :mod:`marey.crowd.scenes`; `marey.io.scene_json` reads others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from marey._arrays import Array, BoolArray, assign
from marey.crowd.grids import pixel_centres
from marey.crowd.polygons import contains, polygon
from marey.errors import InputError

GoalKind = Literal["reach", "circle", "leave"]

MOST_PEOPLE, FASTEST = 1_000_000, 100.0


@dataclass(frozen=True, eq=False)
class Goal:
    """What a group wants.

    Attributes:
        kind: `"reach"` the area by the shortest path round obstacles, `"circle"` about its centre
            (counter-clockwise seen from above), or `"leave"` it in all directions.
        area: Polygon `(corners, 2)`, metres.
        vanish: Whether people who reach the area are gone.
    """

    area: Array
    kind: GoalKind = "reach"
    vanish: bool = True

    def __post_init__(self) -> None:
        if self.kind not in ("reach", "circle", "leave"):
            raise InputError(f"kind {self.kind!r}: one of reach, circle, leave")
        assign(self, area=polygon("goal", self.area))


@dataclass(frozen=True, eq=False)
class Group:
    """People who start in one area with one goal.

    Attributes:
        people: How many stand there at first.
        start: Polygon `(corners, 2)`, metres.
        goal: Name of a goal of the scene.
        speed: Factor on everyone's desired speed (panic: 4).
        rate: People per second who come in later, from the same area.
    """

    people: int
    start: Array
    goal: str
    speed: float = 1.0
    rate: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.people <= MOST_PEOPLE:
            raise InputError(f"people: from 0 to {MOST_PEOPLE:,}, got {self.people:,}")
        if not (0 <= self.rate <= MOST_PEOPLE and 0 < self.speed <= FASTEST):
            raise InputError(
                f"rate: from 0 to {MOST_PEOPLE:,} a second; "
                f"speed: above 0 and up to {FASTEST:g} times as fast"
            )
        assign(self, start=polygon("start", self.start))


@dataclass(frozen=True, eq=False)
class Scene:
    """A place and who is in it.

    Attributes:
        size: (width, depth) in metres; the ground is `0 <= x <= width`, `0 <= y <= depth`.
        obstacles: Solid polygons, each `(corners, 2)` metres; where the ground ends without one, it is open.
        goals: By name.
        groups: Who is there.
        hold: Seconds at the start in which people rest.
        seconds: How long it lasts.
        name: What to call it.

    >>> east = Goal([[15, 0], [16, 0], [16, 8], [15, 8]])
    >>> walkers = Group(20, [[0, 1], [4, 1], [4, 7], [0, 7]], "east")
    >>> Scene((16, 8), goals={"east": east}, groups=[walkers]).walkable(0.5).shape
    (16, 32)
    """

    size: tuple[float, float]
    obstacles: tuple[Array, ...] = ()
    goals: Mapping[str, Goal] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    hold: float = 3.0
    seconds: float = 30.0
    name: str = ""

    def __post_init__(self) -> None:
        width, depth = (float(side) for side in self.size)
        if not (0 < width < 1e4 and 0 < depth < 1e4):
            raise InputError(f"scene: its size is {width:g} × {depth:g} m")
        for number, group in enumerate(self.groups):
            if group.goal not in self.goals:
                known = ", ".join(self.goals) or "none"
                raise InputError(f"group {number}: goal {group.goal!r} is not in the scene (it has {known})")
        if self.hold < 0 or not self.seconds > 0:
            raise InputError("scene: hold must not be negative and seconds must be positive")
        assign(
            self,
            size=(width, depth),
            obstacles=tuple(polygon(f"obstacle {n}", one) for n, one in enumerate(self.obstacles)),
            goals=dict(self.goals),
            groups=tuple(self.groups),
        )

    def walkable(self, spacing: float) -> BoolArray:
        """Cells `(rows, columns)` whose centres are free; row 0 at y = 0, cells `spacing` metres wide."""
        free = np.ones(self.grid(spacing), dtype=bool)
        centres = cell_centres(free.shape, spacing)
        for obstacle in self.obstacles:
            free &= ~contains(obstacle, centres)
        return free

    def with_people(self, count: int) -> Scene:
        """As many people as asked for at the start, shared out as they are now."""
        now = np.array([group.people for group in self.groups])
        if count < 0 or now.sum() == 0:
            raise InputError(f"people: {count} of a scene where {now.sum()} start")
        # Largest remainders, so that the shares are whole and add up.
        share = now * (count / now.sum())
        whole = np.floor(share).astype(int)
        whole[np.argsort(whole - share, kind="stable")[: count - whole.sum()]] += 1
        groups = (replace(group, people=int(n)) for group, n in zip(self.groups, whole, strict=True))
        return replace(self, groups=tuple(groups))

    def faster(self, factor: float) -> Scene:
        """Everyone moves so many times as fast."""
        groups = (replace(group, speed=group.speed * factor) for group in self.groups)
        return replace(self, groups=tuple(groups))

    def same_place(self, other: Scene) -> bool:
        """Whether walls, goals and starts are those of another scene; people may be more or fewer."""
        return self._layout() == other._layout()

    def _layout(self) -> object:
        goals = {name: (goal.kind, goal.vanish, goal.area.tolist()) for name, goal in self.goals.items()}
        groups = [(group.goal, group.start.tolist()) for group in self.groups]
        return self.size, [one.tolist() for one in self.obstacles], goals, groups

    def grid(self, spacing: float) -> tuple[int, int]:
        """(rows, columns) of cells of `spacing` metres that cover the ground."""
        return int(np.ceil(self.size[1] / spacing - 1e-9)), int(np.ceil(self.size[0] / spacing - 1e-9))

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {
            "kind": "scene",
            "duration": self.seconds,
            "size": list(self.size),
            "people": sum(group.people for group in self.groups),
            "groups": len(self.groups),
            "goals": list(self.goals),
            "obstacles": len(self.obstacles),
            "rest": self.hold,
        }


def cell_centres(shape: tuple[int, ...], spacing: float) -> Array:
    """`(rows, columns, 2)` metres."""
    return (pixel_centres(shape) + 0.5) * spacing
