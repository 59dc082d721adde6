"""Bodies for the tests of pose distances: a tube that bends, and a small one of limbs that turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.geometry import rotations
from marey.surface import MeshSequence
from marey.surface.sequence import Library

Array = NDArray[np.float64]
Faces = NDArray[np.int64]


def tube(
    rings: int = 25, sides: int = 12, *, radius: float = 0.15, height: float = 2.0
) -> tuple[Array, Faces]:
    """An open upright tube, a little flat so that it faces somewhere."""
    up, around = np.meshgrid(
        np.linspace(0, height, rings), np.arange(sides) * 2 * np.pi / sides, indexing="ij"
    )
    points = np.stack([radius * np.cos(around), up, 0.6 * radius * np.sin(around)], axis=-1).reshape(-1, 3)
    i, j = (n.ravel() for n in np.meshgrid(np.arange(rings - 1), np.arange(sides), indexing="ij"))
    a, b = i * sides + j, i * sides + (j + 1) % sides
    faces = np.concatenate([np.stack([a, b + sides, b], -1), np.stack([a, a + sides, b + sides], -1)])
    return points, faces


def bent(points: Array, angle: float, height: float = 2.0) -> Array:
    """A tube bent along an arc of `angle` in the plane of x and y."""
    if angle == 0:
        return points.copy()
    radius = height / angle
    at = points[:, 1] / radius
    x = radius - (radius - points[:, 0]) * np.cos(at)
    return np.stack([x, (radius - points[:, 0]) * np.sin(at), points[:, 2]], axis=-1)


def moved(points: Array, turn: float, shift: tuple[float, float]) -> Array:
    """Points turned about the vertical and moved along the ground."""
    turned = rotations.rotate(rotations.exp([0, turn, 0]), points)
    return np.asarray(turned + np.array([shift[0], 0, shift[1]]))


def bending(frames: int = 12, *, largest: float = 1.6, stretch: float = 0.0, seed: int = 0) -> Library:
    """A tube that bends ever more, each frame facing and standing anywhere, pulled unevenly by `stretch`."""
    rng = np.random.default_rng(seed)
    points, faces = tube()
    poses = []
    for angle in np.linspace(0, largest, frames):
        along = 1 + stretch * rng.uniform(-1, 1) * np.sin(points[:, 1] * 3 + rng.uniform(0, 6))
        across = 1 + stretch * rng.uniform(-1, 1)
        pulled = np.stack([points[:, 0] * across, points[:, 1] * along, points[:, 2]], axis=-1)
        poses.append(moved(bent(pulled, angle), rng.uniform(-np.pi, np.pi), tuple(rng.normal(size=2))))
    return Library((MeshSequence(np.array(poses), faces, 30, name="tube"),))
