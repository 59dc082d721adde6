"""The empty place as a camera sees it, worked out once for a film: paving, walls, light, their shadows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey.crowd.cameras import Camera
from marey.crowd.scene import Scene
from marey.views._drawing import sample_offsets

Array = NDArray[Any]

WALL_HEIGHT = 2.5
SUN = np.array([0.42, 0.78, 0.46])
"""Towards the sun; the world has y up."""

SUN_COLOUR, SKY_COLOUR = np.array([1.12, 1.04, 0.90]), np.array([0.40, 0.46, 0.56])
FLAT_LIGHT = 1.15
FINE = 4
"""Squared: rays of each pixel of the empty place."""

MOST_TEXELS = 1400

# Plan and height to the renderers' world, which has y up.
TO_WORLD = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


@dataclass(frozen=True, eq=False)
class Backdrop:
    """What does not change during a film.

    depths: `(rows, columns, samples)`, 1 / depth; the last sample is the pixel's centre
    sun, sky: `(rows, columns, 3)`, linear light sent back of either; without shading all is in `sky`
    points: `(rows, columns, 3)`, where the pixels' centres lie, y up
    light: see `_kernels.resolve`
    heights: the walls in the light's map
    offsets: `(samples, 2)`, where samples lie around a pixel's centre
    """

    depths: Array
    sun: Array
    sky: Array
    points: Array
    light: Array
    heights: Array
    offsets: Array


def backdrop(scene: Scene, camera: Camera, *, shading: bool) -> Backdrop:
    """The place in a camera's picture.

    >>> square = Camera.looking((4, 4, 10), (4, 4, 0), size=(32, 24), field_of_view=0.9)
    >>> seen = backdrop(Scene((8, 8)), square, shading=False)
    >>> seen.depths.shape, bool(np.allclose(1 / seen.depths[..., -1], 10))
    ((24, 32, 5), True)
    """
    from marey.filming import _place_kernels

    corners = np.concatenate([*scene.obstacles, np.zeros((0, 2))])
    starts = np.cumsum([0, *(len(one) for one in scene.obstacles)])
    columns, rows = camera.size
    rays = TO_WORLD @ camera.rotation.T @ np.linalg.inv(camera.intrinsics)
    eye = TO_WORLD @ camera.position
    focal = float(camera.intrinsics[0, 0])
    offsets = np.concatenate([sample_offsets(4), np.zeros((1, 2))])
    depth = np.zeros((rows, columns))
    kind = np.zeros((rows, columns), dtype=np.int64)
    point, normal = np.zeros((2, rows, columns, 3))

    def cast(across: float, down: float) -> None:
        def part(top: int, bottom: int) -> None:
            _place_kernels.look(
                eye, rays, corners, starts, WALL_HEIGHT, across, down, top, bottom,
                depth, kind, point, normal,
            )  # fmt: skip

        _work.spread(part, rows)

    albedo, facing, up = np.zeros((rows, columns, 3)), np.zeros((rows, columns)), np.zeros((rows, columns))
    sun = SUN / np.linalg.norm(SUN)
    for i in range(FINE * FINE):
        cast((i % FINE + 0.5) / FINE - 0.5, (i // FINE + 0.5) / FINE - 0.5)
        _place_kernels.paint(depth, kind, point, normal, noise_table(), focal, albedo)
        facing += np.maximum(normal @ sun, 0.0)
        up += 0.55 + 0.45 * normal[..., 1]
    albedo, facing, up = (part / FINE**2 for part in (albedo, facing, up))
    depths = np.empty((rows, columns, len(offsets)), dtype=np.float32)
    for s, (across, down) in enumerate(offsets):
        cast(across, down)
        depths[..., s] = depth
    # Off the walls, so that they do not throw shadows on themselves.
    point += 0.15 * normal * (point[..., 1:2] > 0.01)
    light, heights = _light_map(scene, camera, corners, starts, sun)
    if not shading:
        return Backdrop(depths, np.zeros_like(albedo), FLAT_LIGHT * albedo, point, light, heights, offsets)
    lit = facing[..., None] * SUN_COLOUR * albedo
    lit *= 1.0 - _soft_shadow(point, light, heights)[..., None]
    return Backdrop(depths, lit, up[..., None] * SKY_COLOUR * albedo, point, light, heights, offsets)


@cache
def noise_table() -> Array:
    """`(32, 32, 32)` in -1…1."""
    return np.random.default_rng(7).uniform(-1, 1, (32, 32, 32)).astype(np.float32)


def _light_map(
    scene: Scene, camera: Camera, corners: Array, starts: Array, sun: Array
) -> tuple[Array, Array]:
    """Colours and directions of light with the frame of its map, and how high walls reach in it."""
    from marey.filming import _place_kernels
    from marey.views._light_kernels import EMPTY

    low, high = _ground_seen(scene, camera)
    shears = sun[[0, 2]] / sun[1]
    # What stands beyond the picture may throw its shadow into it.
    reach = WALL_HEIGHT * np.abs(shears) + 0.5
    low, high = low - reach, high + reach
    # As fine as the pixels of what is nearest below the camera.
    pixel = float(camera.position[2] / camera.intrinsics[0, 0])
    texel = max(0.03, 0.6 * pixel, float((high - low).max()) / MOST_TEXELS)
    shape = tuple(int(n) for n in np.ceil((high - low)[::-1] / texel) + 1)
    heights = np.full(shape, EMPTY, dtype=np.float32)
    if len(corners):
        _place_kernels.wall_shadows(corners, starts, WALL_HEIGHT, shears, low, texel, heights)
    return np.concatenate([sun, SUN_COLOUR, SKY_COLOUR, low, [texel]]), heights


def _ground_seen(scene: Scene, camera: Camera) -> tuple[Array, Array]:
    """Box (x, z) of the ground of the scene in the picture."""
    columns, rows = camera.size
    edge = np.stack(np.meshgrid(np.linspace(0, columns - 1, 25), np.linspace(0, rows - 1, 25)), axis=-1)
    ground = camera.to_ground(edge.reshape(-1, 2))
    ground = ground[np.isfinite(ground).all(axis=1)]
    size = np.array(scene.size)
    if len(ground) == 0:
        ground = np.array([[0.0, 0.0], size])
    low = np.clip(ground.min(axis=0), -4.0, size + 4.0)
    high = np.clip(ground.max(axis=0), -4.0, size + 4.0)
    high = np.maximum(high, low + 1.0)
    return np.array([low[0], -high[1]]), np.array([high[0], -low[1]])


def _soft_shadow(point: Array, light: Array, heights: Array) -> Array:
    """Share of the sun that walls hide from each pixel `(rows, columns)`."""
    import cv2

    hidden = np.zeros(point.shape[:2])
    y = point[..., 1] + np.where(point[..., 1] > 0.01, 0.25, 0.06)
    u = (point[..., 0] - y * light[0] / light[1] - light[9]) / light[11] - 0.5
    w = (point[..., 2] - y * light[2] / light[1] - light[10]) / light[11] - 0.5
    column, row = np.rint(u), np.rint(w)
    known = (column >= 0) & (row >= 0) & (column < heights.shape[1]) & (row < heights.shape[0])
    hidden[known] = heights[row[known].astype(int), column[known].astype(int)] > y[known]
    return np.asarray(cv2.GaussianBlur(hidden, (0, 0), 0.7))
