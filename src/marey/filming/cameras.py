"""Cameras of the dataset's scenes: above and at the side (Courty 2013, section 6.3, fig. 31).

Positions and rotations are those of the authors' published dataset, with a lens of 35 mm on a sensor of
36 mm; scenes 6 and 7, without a view from above there, get one. Our corridors of scenes 1 and 2 are shorter:
the cameras keep their distance from the crowd. In scene 6 people walk closer to the block, and the camera is
closer too. Other scenes are seen as a whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.crowd.cameras import Camera
from marey.crowd.scene import Scene
from marey.errors import InputError

FIELD_OF_VIEW = 2 * np.arctan(18 / 35)
"""Radians across: 54.43 degrees."""

VIEWS = ("above", "side")

# Scene: view: x, height and y of the plan in metres, rotations about x, the vertical and y in degrees.
_PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "corridor": {"above": (32, 30, 8, -90, 0, 0), "side": (52, 8, 15, -23, 75, 0)},
    "obstacle": {"above": (32, 26, 8, -90, 0, 0), "side": (57, 8, 12, -23, 75, 0)},
    "baffles": {"above": (32, 25, 8, -90, 0, 0), "side": (45, 6, 0, -30, 140, 0)},
    "escape": {"above": (32, 25, 8, -90, 0, 0), "side": (50, 10, 8, 150, 90, 180)},
    "dispersion": {"above": (16, 34, 8, -90, 0, 0), "side": (42, 8, 13, -16, 75, 0)},
    "rotation": {"above": (32, 54, 32, -90, 0, 0), "side": (61.8, 21.7, 61.8, -28, 45, 0)},
    "sideway": {"above": (32, 25, 8, -90, 0, 0), "side": (45, 15, 14, -45, 65, 0)},
    "crossing": {"above": (16, 24, 16, -90, 0, 0)},
}


def camera_of(scene: Scene, view: str, *, size: tuple[int, int] = (640, 480)) -> Camera:
    """The camera `"above"` or at the `"side"` of a scene, with images of (columns, rows) pixels.

    >>> from marey.crowd import scenes
    >>> camera_of(scenes.preset("escape"), "above").position.round(3).tolist()
    [32.0, 8.0, 25.0]
    """
    if view not in VIEWS:
        raise InputError(f"camera {view!r}: one of {', '.join(VIEWS)}")
    name = scene.name.removesuffix("-panic")
    published = _PUBLISHED.get(name, {}).get(view)
    if published is not None:
        return _rotated(published, size, view)
    if name == "crossing":
        return ring_camera(np.radians(45.0), np.radians(30.0), size=size)
    width, depth = scene.size
    middle = np.array([0.5 * width, 0.5 * depth, 0.0])
    reach = max(0.5 * width, 0.5 * depth * size[0] / size[1]) / np.tan(0.5 * FIELD_OF_VIEW)
    eye = middle + ([0.0, 0.0, reach + 2.0] if view == "above" else reach * np.array([0.35, -0.95, 0.55]))
    return Camera.looking(eye, middle, size=size, field_of_view=FIELD_OF_VIEW, name=view)


def ring_camera(turn: float, elevation: float, *, size: tuple[int, int] = (640, 480)) -> Camera:
    """One of the 64 cameras around the crossing, 12 m from its centre, by angles in radians.

    >>> ring_camera(0.0, np.radians(30)).position.round(3).tolist()
    [26.392, 16.0, 6.0]
    """
    flat = 12.0 * np.cos(elevation)
    eye = (16 + flat * np.cos(turn), 16 - flat * np.sin(turn), 12.0 * np.sin(elevation))
    return Camera.looking(eye, (16, 16, 0), size=size, field_of_view=FIELD_OF_VIEW, name="side")


def _rotated(published: tuple[float, ...], size: tuple[int, int], view: str) -> Camera:
    """A camera from its position and rotations about fixed axes x, y, z; without them it looks along -z."""
    x, height, y = published[:3]
    forward = np.array([0.0, 0.0, -1.0])
    for axis, degrees in enumerate(published[3:]):
        forward = _rotation(axis, np.radians(degrees)) @ forward
    eye = np.array([x, y, height])
    aim = eye + forward[[0, 2, 1]].round(12)
    return Camera.looking(eye, aim, size=size, field_of_view=float(FIELD_OF_VIEW), name=view)


def _rotation(axis: int, angle: float) -> NDArray[np.float64]:
    c, s = np.cos(angle), np.sin(angle)
    matrix = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix[i, i], matrix[i, j], matrix[j, i], matrix[j, j] = c, -s, s, c
    return matrix
