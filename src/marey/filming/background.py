"""The empty scene as a camera sees it, computed once for a video: paving, walls, light and their shadows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from marey import _work
from marey._arrays import AnyArray as Array
from marey.crowd.cameras import Camera
from marey.crowd.scenes import Scene
from marey.views.renderer import sample_offsets

# Plan and height to the renderers' world, which has y up.
TO_WORLD = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


@dataclass(frozen=True)
class BackgroundSettings:
    """Numbers of the empty scene.

    Attributes:
        wall_height: metres.
        sun: direction towards the sun, y up.
        sun_colour, sky_colour: linear light.
        flat_light: without shading.
        rays: of each pixel, along rows and along columns.
        max_texels: columns or rows of the shadow map.
    """

    wall_height: float = 2.5
    sun: tuple[float, float, float] = (0.42, 0.78, 0.46)
    sun_colour: tuple[float, float, float] = (1.12, 1.04, 0.90)
    sky_colour: tuple[float, float, float] = (0.40, 0.46, 0.56)
    flat_light: float = 1.15
    rays: int = 4
    max_texels: int = 1400


SETTINGS = BackgroundSettings()


class Light(NamedTuple):
    """The light of a scene and where its shadow map lies.

    Attributes:
        direction: `(3,)`, unit vector towards the sun.
        sun, sky: `(3,)`, linear colours.
        corner: `(2,)`, x and z of the map's first corner, metres.
        texel: metres.
    """

    direction: Array
    sun: Array
    sky: Array
    corner: Array
    texel: float


@dataclass(frozen=True, eq=False)
class Background:
    """What does not change during a video.

    Attributes:
        depths: `(rows, columns, samples)`, 1 / depth; the last sample is the pixel's centre.
        sun, sky: `(rows, columns, 3)`, linear light reflected of either; without shading all is in `sky`.
        points: `(rows, columns, 3)`, positions of the pixels' centres, y up.
        light: of the scene.
        heights: the walls in the shadow map, see `views._light_kernels.height_map`.
        offsets: `(samples, 2)`, of the samples from a pixel's centre.
    """

    depths: Array
    sun: Array
    sky: Array
    points: Array
    light: Light
    heights: Array
    offsets: Array


def background(scene: Scene, camera: Camera, *, shading: bool) -> Background:
    """The empty scene in a camera's image.

    >>> square = Camera.looking((4, 4, 10), (4, 4, 0), size=(32, 24), field_of_view=0.9)
    >>> seen = background(Scene((8, 8)), square, shading=False)
    >>> seen.depths.shape, bool(np.allclose(1 / seen.depths[..., -1], 10))
    ((24, 32, 5), True)
    """
    from marey.filming import _kernels

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
            _kernels.cast_rays(
                eye, rays, corners, starts, SETTINGS.wall_height, across, down, top, bottom,
                depth, kind, point, normal,
            )  # fmt: skip

        _work.spread(part, rows)

    albedo, facing, up = np.zeros((rows, columns, 3)), np.zeros((rows, columns)), np.zeros((rows, columns))
    sun = np.array(SETTINGS.sun) / np.linalg.norm(SETTINGS.sun)
    fine = SETTINGS.rays
    for i in range(fine**2):
        cast((i % fine + 0.5) / fine - 0.5, (i // fine + 0.5) / fine - 0.5)
        _kernels.paint(depth, kind, point, normal, noise_table(), focal, albedo)
        facing += np.maximum(normal @ sun, 0.0)
        up += 0.55 + 0.45 * normal[..., 1]
    albedo, facing, up = (part / fine**2 for part in (albedo, facing, up))
    depths = np.empty((rows, columns, len(offsets)), dtype=np.float32)
    for s, (across, down) in enumerate(offsets):
        cast(across, down)
        depths[..., s] = depth
    # Off the walls, so that they do not cast shadows on themselves.
    point += 0.15 * normal * (point[..., 1:2] > 0.01)
    light, heights = _light_map(scene, camera, corners, starts, sun)
    if not shading:
        return Background(
            depths, np.zeros_like(albedo), SETTINGS.flat_light * albedo, point, light, heights, offsets
        )
    lit = facing[..., None] * light.sun * albedo
    lit *= 1.0 - _soft_shadow(point, light, heights)[..., None]
    return Background(depths, lit, up[..., None] * light.sky * albedo, point, light, heights, offsets)


@cache
def noise_table() -> Array:
    """`(32, 32, 32)` in -1 … 1, for `_kernels.noise`."""
    return np.random.default_rng(7).uniform(-1, 1, (32, 32, 32)).astype(np.float32)


def _light_map(
    scene: Scene, camera: Camera, corners: Array, starts: Array, sun: Array
) -> tuple[Light, Array]:
    """The light, and how high walls reach in its shadow map."""
    from marey.filming import _kernels
    from marey.views._light_kernels import EMPTY

    low, high = _ground_seen(scene, camera)
    shears = sun[[0, 2]] / sun[1]
    # What stands beyond the image may cast its shadow into it.
    reach = SETTINGS.wall_height * np.abs(shears) + 0.5
    low, high = low - reach, high + reach
    # As fine as the pixels of what is nearest below the camera.
    pixel = float(camera.position[2] / camera.intrinsics[0, 0])
    texel = max(0.03, 0.6 * pixel, float((high - low).max()) / SETTINGS.max_texels)
    shape = tuple(int(n) for n in np.ceil((high - low)[::-1] / texel) + 1)
    heights = np.full(shape, EMPTY, dtype=np.float32)
    if len(corners):
        _kernels.wall_shadows(corners, starts, SETTINGS.wall_height, shears, low, texel, heights)
    colours = np.array(SETTINGS.sun_colour), np.array(SETTINGS.sky_colour)
    return Light(sun, *colours, low, texel), heights


def _ground_seen(scene: Scene, camera: Camera) -> tuple[Array, Array]:
    """Box (x, z) of the ground of the scene in the image."""
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


def _soft_shadow(point: Array, light: Light, heights: Array) -> Array:
    """Share of the sun that walls hide from each pixel `(rows, columns)`."""
    import cv2

    hidden = np.zeros(point.shape[:2])
    y = point[..., 1] + np.where(point[..., 1] > 0.01, 0.25, 0.06)
    shears = light.direction[[0, 2]] / light.direction[1]
    at = (point[..., [0, 2]] - y[..., None] * shears - light.corner) / light.texel - 0.5
    column, row = np.moveaxis(np.rint(at), -1, 0)
    known = (column >= 0) & (row >= 0) & (column < heights.shape[1]) & (row < heights.shape[0])
    hidden[known] = heights[row[known].astype(int), column[known].astype(int)] > y[known]
    return np.asarray(cv2.GaussianBlur(hidden, (0, 0), 0.7))
