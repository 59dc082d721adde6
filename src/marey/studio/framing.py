"""Where a camera has to be for something to fill the view, in windows of any shape.

In a narrow window, as of a telephone, the controls lie over its lower part: things are shown above them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

USUAL_SHAPE = 1.3
"""Width over height of the scene beside the controls."""
FIELD = np.radians(75.0)
"""Vertical field of view of the studio's camera, radians."""

NARROW = 0.8
# Parts of the window's half width and height, from its middle, that are filled.
WITHIN, BAND, NARROW_BAND = 0.92, (-0.85, 0.8), (0.28, 0.85)
ROUNDS = 12
NEAREST = 0.5
# Metres above the ground at which a camera is at least, and how often it goes up for that.
LOWEST, STEPS_UP = 0.15, 8
UPWARDS = np.array([0.0, 0.1, 0.0])


@dataclass(frozen=True)
class View:
    """A camera: where it is and what it looks at, `(3,)` metres each."""

    position: Array
    look_at: Array


def around(points: ArrayLike, view_from: ArrayLike, shape: float, field: float = FIELD) -> View:
    """The view from a direction, `(3,)`, that shows points, `(n, 3)`, as large as possible.

    shape: width over height of the window; field: vertical field of view, radians

    >>> square = [[-5, 0, -5], [5, 0, -5], [5, 0, 5], [-5, 0, 5]]
    >>> [round(float(np.linalg.norm(around(square, (0, 1, 1), shape).position)), 1) for shape in (2.0, 0.5)]
    [7.3, 19.5]
    """
    places = np.asarray(points, np.float64)
    direction = np.asarray(view_from, np.float64) / np.linalg.norm(view_from)
    view = _filling(places, direction, shape, field)
    for _ in range(STEPS_UP):
        # What is shown above the middle of a narrow window is seen from low down: not through the ground.
        if view.position[1] >= min(LOWEST, 0.5 * float(places[:, 1].max())):
            break
        direction = direction + UPWARDS
        view = _filling(places, direction, shape, field)
    return view


def from_afar(at: ArrayLike, size: float, view_from: ArrayLike, shape: float, field: float = FIELD) -> View:
    """The view of a place, `(3,)`, from `view_from` times the size; from further away in a narrow window."""
    back, _, up = _axes(view_from)
    distance = size * float(np.linalg.norm(view_from)) * max(1.0, NARROW / shape)
    centre = np.asarray(at, np.float64)
    if shape < NARROW:
        low, high = NARROW_BAND
        distance = max(distance, 1.05 * size / ((high - low) * np.tan(field / 2)))
        centre = centre - 0.5 * sum(NARROW_BAND) * distance * np.tan(field / 2) * up
    return View(centre + distance * back, centre)


def _filling(places: Array, view_from: Array, shape: float, field: float) -> View:
    back, right, up = _axes(view_from)
    centre = 0.5 * (places.min(axis=0) + places.max(axis=0))
    distance = max(2.0 * float(np.linalg.norm(places - centre, axis=1).max()), NEAREST)
    low, high = NARROW_BAND if shape < NARROW else BAND
    slope = np.tan(field / 2)
    for _ in range(ROUNDS):
        seen = places - centre
        depth = np.maximum(distance - seen @ back, 0.05 * distance)
        across, upwards = seen @ right / (depth * slope * shape), seen @ up / (depth * slope)
        middle = 0.5 * (upwards.min() + upwards.max())
        centre = centre + (middle - 0.5 * (low + high)) * distance * slope * up
        aside = 0.5 * (across.min() + across.max())
        centre = centre + aside * distance * slope * shape * right
        fills = max(np.ptp(across) / (2 * WITHIN), np.ptp(upwards) / (high - low))
        distance = max(distance * float(np.clip(fills, 0.5, 2.0)), NEAREST)
    return View(centre + distance * back, centre)


def _axes(view_from: ArrayLike) -> tuple[Array, Array, Array]:
    """Unit vectors back to the camera, to its right and upwards."""
    back = np.asarray(view_from, np.float64)
    back = back / np.linalg.norm(back)
    right = np.cross([0.0, 1.0, 0.0], back)
    length = float(np.linalg.norm(right))
    right = right / length if length > 1e-9 else np.array([1.0, 0.0, 0.0])
    return back, right, np.cross(back, right)
