"""The scenes on a square or in a room: dispersion, rotation round a block, four crossing flows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.crowd.scene import Goal, Group, Scene, rectangle

# Sides of the polygons that stand for circles.
SIDES = 48


def dispersion() -> Scene:
    """Scene 5: in a closed room of 32 m by 16 m all flee from one point inside."""
    walls = (
        rectangle(0, 0, 32, 1),
        rectangle(0, 15, 32, 16),
        rectangle(0, 1, 1, 15),
        rectangle(31, 1, 32, 15),
    )
    point = Goal(circle((16, 8), 0.25), wish="leave", vanish=False)
    return Scene((32, 16), walls, {"point": point}, (Group(120, circle((16, 8), 5.0), "point"),), seconds=15)


def rotation() -> Scene:
    """Scene 6: all go round a block of 12 m by 12 m, as pilgrims in Mekkah do."""
    block = rectangle(26, 26, 38, 38)
    centre = Goal(block, wish="circle", vanish=False)
    ring = np.concatenate([circle((32, 32), 19.0), circle((32, 32), 10.0)[::-1]])
    return Scene((64, 64), (block,), {"centre": centre}, (Group(600, ring, "centre"),), seconds=40)


def crossing() -> Scene:
    """Scene 8: four groups meet where two streets 14 m wide cross, each on its way to the far end."""
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


def circle(centre: tuple[float, float], radius: float) -> NDArray[np.float64]:
    """Corners `(SIDES + 1, 2)`, counter-clockwise, the first one again at the end.

    Closed, so that a ring is the outer circle followed by the inner one: the way between them is gone twice.
    """
    angles = np.linspace(0.0, 2.0 * np.pi, SIDES + 1)
    return np.array(centre) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
