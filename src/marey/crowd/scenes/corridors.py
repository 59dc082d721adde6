"""The scenes in a corridor of 64 m by 16 m between two walls a metre thick, open at both ends."""

from __future__ import annotations

from marey.crowd.scene import Goal, Group, Scene, rectangle

SIZE = (64.0, 16.0)
WALLS = (rectangle(0, 0, 64, 1), rectangle(0, 15, 64, 16))
EAST = Goal(rectangle(61, 1, 64, 15))
WEST = Goal(rectangle(0, 1, 3, 15))


def corridor() -> Scene:
    """Scene 1: nothing in the way."""
    return Scene(SIZE, WALLS, {"east": EAST}, (Group(360, rectangle(1, 1.5, 25, 14.5), "east"),), seconds=40)


def obstacle() -> Scene:
    """Scene 2: a block of 8 m by 8 m in the middle, 3 m free on either side."""
    block = rectangle(28, 4, 36, 12)
    people = (Group(300, rectangle(3, 1.5, 23, 14.5), "east"),)
    return Scene(SIZE, (*WALLS, block), {"east": EAST}, people, seconds=45)


def baffles() -> Scene:
    """Scene 3: five baffles a metre thick from alternate sides, which leave gaps of 4 m."""
    south = tuple(rectangle(x, 1, x + 1, 11) for x in (32, 44, 56))
    north = tuple(rectangle(x, 5, x + 1, 15) for x in (38, 50))
    people = (Group(220, rectangle(13, 1.5, 29, 14.5), "east"),)
    return Scene(SIZE, (*WALLS, *south, *north), {"east": EAST}, people, seconds=45)


def escape() -> Scene:
    """Scene 4: a wall 2 m thick with a door 2 m wide in its middle."""
    wall = (rectangle(31, 1, 33, 7), rectangle(31, 9, 33, 15))
    people = (Group(240, rectangle(12, 1.5, 29, 14.5), "east"),)
    return Scene(SIZE, (*WALLS, *wall), {"east": EAST}, people, seconds=40)


def sideway() -> Scene:
    """Scene 7: two crowds of a hundred walk into each other."""
    people = (
        Group(100, rectangle(8, 1.5, 28, 14.5), "east"),
        Group(100, rectangle(36, 1.5, 56, 14.5), "west"),
    )
    return Scene(SIZE, WALLS, {"east": EAST, "west": WEST}, people, seconds=40)
