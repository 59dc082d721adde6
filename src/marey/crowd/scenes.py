"""Scenes: walls, where groups of people start, what their goals are; the eight of the dataset by name.

Courty 2013, section 6.3.1, fig. 31: free flow, flow round obstacles, evacuation through a door, dispersion,
rotation, opposite and crossing flows. The paper draws them without measures; ours follow the published
dataset where it states them. In each the crowd rests for 3 s; then it walks (soft) or runs at four times the
speed (panic), at twice the speed where crowds run into each other: bodies as soft as the dataset's would run
through each other. `marey.io.scene_json` reads other scenes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from marey._arrays import Array, BoolArray, assign
from marey._report import Displayed
from marey.crowd.fields import pixel_centres
from marey.crowd.polygons import contains, polygon, rectangle
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
class Scene(Displayed):
    """A place and who is in it.

    Attributes:
        size: (width, depth) in metres; the ground is `0 <= x <= width`, `0 <= y <= depth`.
        obstacles: Solid polygons, each `(corners, 2)` metres; where the ground ends without one, it is open.
        goals: By name.
        groups: Who is there.
        hold: Seconds at the start in which people rest; 3 in the published dataset.
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
    hold: float = 0.0
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


PANIC = 4.0
"""Factor on the desired speed in the dataset's panic sequences."""


def preset(name: str, *, panic: bool = False, hold: float = 0.0) -> Scene:
    """One of the dataset's scenes, calm or in panic; people rest for `hold` seconds, 3 as published.

    >>> scene = preset("escape", panic=True, hold=3.0)
    >>> scene.size, scene.groups[0].speed, scene.hold
    ((64.0, 16.0), 4.0, 3.0)
    """
    if name not in SCENES:
        raise InputError(f"there is no scene {name!r}; there are {', '.join(SCENES)}")
    scene = replace(SCENES[name](), name=name, hold=hold)
    if not panic:
        return scene
    # Where people run against each other, bodies overlap by more than half from 2.5 on.
    factor = 2.0 if name in ("sideway", "crossing") else PANIC
    # Panicking people need less time, though not as much less as they are faster: they press.
    seconds = scene.hold + (scene.seconds - scene.hold) / (0.75 * factor)
    return replace(scene.faster(factor), seconds=round(seconds), name=f"{name}-panic")


def corridor() -> Scene:
    """Scene 1: no obstacle."""
    return _street(Group(360, rectangle(1, 1.5, 25, 14.5), "east"), seconds=40)


def obstacle() -> Scene:
    """Scene 2: a block of 8 m by 8 m in the middle, 3 m free on either side."""
    return _street(
        Group(300, rectangle(3, 1.5, 23, 14.5), "east"), walls=[rectangle(28, 4, 36, 12)], seconds=45
    )


def baffles() -> Scene:
    """Scene 3: five baffles a metre thick from alternate sides, which leave gaps of 4 m."""
    south = [rectangle(x, 1, x + 1, 11) for x in (32, 44, 56)]
    north = [rectangle(x, 5, x + 1, 15) for x in (38, 50)]
    return _street(Group(220, rectangle(13, 1.5, 29, 14.5), "east"), walls=south + north, seconds=45)


def escape() -> Scene:
    """Scene 4: a wall 2 m thick with a door 2 m wide in its middle."""
    walls = [rectangle(31, 1, 33, 7), rectangle(31, 9, 33, 15)]
    return _street(Group(240, rectangle(12, 1.5, 29, 14.5), "east"), walls=walls, seconds=40)


def dispersion() -> Scene:
    """Scene 5: in a closed room of 32 m by 16 m all flee from one point inside."""
    walls = (
        rectangle(0, 0, 32, 1),
        rectangle(0, 15, 32, 16),
        rectangle(0, 1, 1, 15),
        rectangle(31, 1, 32, 15),
    )
    point = Goal(circle((16, 8), 0.25), kind="leave", vanish=False)
    return Scene((32, 16), walls, {"point": point}, (Group(120, circle((16, 8), 5.0), "point"),), seconds=15)


def rotation() -> Scene:
    """Scene 6: all go round a block of 12 m by 12 m, as pilgrims in Mecca do."""
    block = rectangle(26, 26, 38, 38)
    centre = Goal(block, kind="circle", vanish=False)
    ring = np.concatenate([circle((32, 32), 19.0), circle((32, 32), 10.0)[::-1]])
    return Scene((64, 64), (block,), {"centre": centre}, (Group(600, ring, "centre"),), seconds=40)


def sideway() -> Scene:
    """Scene 7: two crowds of a hundred walk into each other."""
    west, east = rectangle(8, 1.5, 28, 14.5), rectangle(36, 1.5, 56, 14.5)
    return _street(Group(100, west, "east"), Group(100, east, "west"), seconds=40)


def crossing() -> Scene:
    """Scene 8: four groups meet where two streets 14 m wide cross, each walking to the far end."""
    corners = tuple(rectangle(x, y, x + 9, y + 9) for x in (0, 23) for y in (0, 23))
    goals = {
        "east": Goal(rectangle(30, 9, 32, 23)),
        "west": Goal(rectangle(0, 9, 2, 23)),
        "north": Goal(rectangle(9, 30, 23, 32)),
        "south": Goal(rectangle(9, 0, 23, 2)),
    }
    people = (
        Group(38, rectangle(2.2, 9.5, 8.8, 22.5), "east"),
        Group(38, rectangle(23.2, 9.5, 29.8, 22.5), "west"),
        Group(38, rectangle(9.5, 2.2, 22.5, 8.8), "north"),
        Group(38, rectangle(9.5, 23.2, 22.5, 29.8), "south"),
    )
    return Scene((32, 32), corners, goals, people, seconds=40)


def _street(*groups: Group, walls: Sequence[Array] = (), seconds: float) -> Scene:
    """The corridor of 64 m by 16 m between two walls a metre thick, open at both ends."""
    sides = (rectangle(0, 0, 64, 1), rectangle(0, 15, 64, 16))
    ends = {"east": Goal(rectangle(61, 1, 64, 15)), "west": Goal(rectangle(0, 1, 3, 15))}
    goals = {name: goal for name, goal in ends.items() if any(group.goal == name for group in groups)}
    return Scene((64, 16), (*sides, *walls), goals, groups, seconds=seconds)


def circle(centre: tuple[float, float], radius: float) -> Array:
    """Corners `(49, 2)`, counter-clockwise, the first one again at the end.

    Closed, so that a ring is the outer circle followed by the inner one, with a slit passed twice.
    """
    angles = np.linspace(0.0, 2.0 * np.pi, 49)
    return np.array(centre) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


SCENES: dict[str, Callable[[], Scene]] = {
    scene.__name__: scene
    for scene in (corridor, obstacle, baffles, escape, dispersion, rotation, sideway, crossing)
}
"""In the order of the dataset's numbers, 1 to 8."""
