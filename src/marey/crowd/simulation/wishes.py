"""Where people of a scene wish to go from anywhere: the shortest way to a goal, round it, or away from it.

Wishes are unit vectors on a grid (Courty 2013, section 6.3.2), made from distances by fast marching; none
points into a wall. Cost: under 0.1 s for a scene of the dataset.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.crowd.polygons import contains
from marey.crowd.scene import Scene
from marey.crowd.simulation import eikonal
from marey.crowd.simulation.directions import DirectionField
from marey.errors import InputError

Array = NDArray[np.float64]

SPACING = 0.25
"""Metres between the nodes of a wish field, on a ground of up to `MOST_CELLS` of them."""
MOST_CELLS = 4_000_000

LEAN = 0.2
"""Share of the way inwards of those who go round: at 5 m/s and 15 m inertia carries them out by a sixth."""


def wish_field(scene: Scene, goal: str, *, spacing: float | None = None) -> DirectionField:
    """Directions in which those with a goal wish to go.

    >>> from marey.crowd import scenes
    >>> field = wish_field(scenes.preset("escape"), "east")
    >>> field.at([[30.0, 13.0]]).round(1).tolist()
    [[0.2, -1.0]]
    """
    step = grid_spacing(scene) if spacing is None else spacing
    chosen = scene.goals[goal]
    free = passable(scene, step)
    buried = f"goal {goal!r}: its area lies in walls or outside the ground"
    try:
        distance = eikonal.distances_to(free, [chosen.area], spacing=step)
    except InputError:
        raise InputError(buried) from None
    if chosen.wish == "reach" and distance.min() > step:
        raise InputError(buried)
    if chosen.wish == "reach":
        _check_reachable(scene, goal, free, distance, step)
        vectors = eikonal.downhill(distance)
    elif chosen.wish == "circle":
        vectors = eikonal.around(distance, lean=LEAN)
    else:
        vectors = eikonal.uphill(_cone(distance, chosen.area, step))
    return DirectionField(vectors, (0.5 * step, 0.5 * step), step)


def grid_spacing(scene: Scene) -> float:
    """Metres between nodes: fine, unless the ground is huge."""
    return max(SPACING, float(np.sqrt(scene.size[0] * scene.size[1] / MOST_CELLS)))


def passable(scene: Scene, spacing: float) -> BoolArray:
    """Cells `(rows, columns)` whose centres are free and that no wall cuts, however thin it is."""
    free = scene.walkable(spacing)
    for obstacle in scene.obstacles:
        for place in _just_inside(obstacle, spacing):
            column, row = np.floor(place / spacing).astype(np.int64)
            if 0 <= row < free.shape[0] and 0 <= column < free.shape[1]:
                free[row, column] = False
    return free


def _just_inside(obstacle: Array, spacing: float) -> Array:
    """Points along the sides of a polygon, a hair's breadth inside, three or more to a cell."""
    points = []
    for a, b in zip(obstacle, np.roll(obstacle, -1, axis=0), strict=True):
        length = float(np.hypot(*(b - a)))
        if length == 0:
            continue
        along = (b - a) / length
        shares = np.linspace(0.0, length, int(3 * length / spacing) + 2)
        # The very ends belong to corners, where a point beside the side may be outside.
        shares = np.clip(shares, 1e-6, max(length - 1e-6, 1e-6))
        side = a + shares[:, None] * along
        aside = 1e-6 * np.array([-along[1], along[0]])
        points += [side + aside, side - aside]
    beside = np.concatenate(points)
    return np.asarray(beside[contains(obstacle, beside)])


def _check_reachable(scene: Scene, goal: str, free: BoolArray, distance: Array, spacing: float) -> None:
    rows, columns = np.nonzero(free & ~np.isfinite(distance))
    cut_off = np.stack([(columns + 0.5) * spacing, (rows + 0.5) * spacing], axis=-1)
    for number, group in enumerate(scene.groups):
        if group.goal == goal and contains(group.start, cut_off).any():
            raise InputError(f"group {number}: no way leads from all of its start to goal {goal!r}")


def _cone(distance: Array, area: Array, spacing: float) -> Array:
    """A distance that also falls inside the area, towards its middle, so that nobody stays there."""
    rows, columns = np.mgrid[: distance.shape[0], : distance.shape[1]]
    middle = area.mean(axis=0)
    radius = np.hypot((columns + 0.5) * spacing - middle[0], (rows + 0.5) * spacing - middle[1])
    return np.where(distance == 0, radius - float(np.max(radius[distance == 0], initial=0.0)), distance)
