"""Videos of a crowd with their ground truth, image, identity and motion of every pixel, and the cameras.

A software renderer: bodies are rasterised over the empty scene (paving, walls, light and their shadows),
which is computed once. The image has four samples a pixel; identity and motion are those of the surface at
the pixel's centre, exact for limbs and clothes (Courty 2013, section 6.3, renders crowds so, without the
motion). Needs no graphics driver. Cost: about 10 ms a frame of 320 × 240 with 150 people on one core.

Cameras are above and at the side (fig. 31): positions and rotations of the published dataset, with a lens of
35 mm on a sensor of 36 mm; scenes 6 and 7 get a view from above. Our corridors of scenes 1 and 2 are shorter:
the cameras keep their distance from the crowd. In scene 6 people walk closer to the block, and the camera is
closer too. Other scenes are seen as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import AnyArray as Array
from marey.crowd.cameras import Camera
from marey.crowd.scenes import Scene
from marey.errors import InputError
from marey.filming.pedestrians import RenderedPedestrians
from marey.views.renderer import sample_offsets, tones

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


# Plan and height to the renderers' world, which has y up.
TO_WORLD = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


@dataclass(frozen=True)
class RenderSettings:
    """Numbers of the empty scene and of the renderer.

    Attributes:
        wall_height: metres.
        sun: direction towards the sun, y up.
        sun_colour, sky_colour: linear light.
        flat_light: without shading.
        rays: of each pixel, along rows and along columns.
        max_texels: columns or rows of the shadow map.
        levels: pixels a metre from which bodies have the first, second, … level of detail.
        near: distance from the camera below which nothing is drawn, metres.
        penumbra: blur of shadows on the ground, metres.
        contact: distance from the feet within which the sky is hidden, metres.
    """

    wall_height: float = 2.5
    sun: tuple[float, float, float] = (0.42, 0.78, 0.46)
    sun_colour: tuple[float, float, float] = (1.12, 1.04, 0.90)
    sky_colour: tuple[float, float, float] = (0.40, 0.46, 0.56)
    flat_light: float = 1.15
    rays: int = 4
    max_texels: int = 1400
    levels: tuple[float, ...] = (80.0, 25.0)
    near: float = 0.05
    penumbra: float = 0.035
    contact: float = 0.22


SETTINGS = RenderSettings()


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


BAND = 24


@dataclass(frozen=True, eq=False)
class RenderedFrame:
    """One frame of a video and its ground truth.

    Attributes:
        image: `(rows, columns, 3)` uint8, red green blue.
        instance_ids: `(rows, columns)` uint32, who is seen at the pixel's centre: 1 + number among the
            tracks; 0 for none.
        flow: `(rows, columns, 2)` float32, pixels by which that point of the surface moves until the next
            frame.
        people: `(people present,)`, their numbers among the tracks.
        pixels: `(people present,)`, centres in which each is seen.
        unoccluded_pixels: `(people present,)`, centres in which each would be seen if nothing was in front.
        boxes: `(people present, 4)`, left, top, right, bottom of the whole body, in pixels, also beyond the
            image; left > right behind the camera.
    """

    image: NDArray[np.uint8]
    instance_ids: NDArray[np.uint32]
    flow: NDArray[np.float32]
    people: NDArray[np.int64]
    pixels: NDArray[np.int64]
    unoccluded_pixels: NDArray[np.int64]
    boxes: NDArray[np.float64]


class CrowdRenderer:
    """Renders crowds in a scene, for one camera and one lighting.

    >>> from marey import samples
    >>> people = RenderedPedestrians(samples.crowd(people=5, seconds=1))
    >>> above = Camera.looking((0, 0, 15), (0, 0, 0), size=(64, 48), field_of_view=0.95)
    >>> frame = CrowdRenderer(Scene((20, 6)), above).render(people, 0)
    >>> frame.image.shape, frame.instance_ids.shape, frame.flow.shape
    ((48, 64, 3), (48, 64), (48, 64, 2))
    """

    def __init__(self, scene: Scene, camera: Camera, *, shading: bool = True) -> None:
        if any(camera.distortion):
            raise InputError("rendering needs a camera without lens distortion")
        self.camera = camera
        self.shading = shading
        self.background = background(scene, camera, shading=shading)
        middle = np.array([0.5 * scene.size[0], 0.5 * scene.size[1], 0.0])
        distance = max(0.3 * float(np.linalg.norm(camera.position - middle)), float(camera.position[2]))
        self._focal = float(camera.intrinsics[0, 0])
        self.level = sum(self._focal / distance < limit for limit in SETTINGS.levels)
        matrix = camera.intrinsics @ np.column_stack([camera.rotation @ TO_WORLD.T, camera.translation])
        self._matrix = np.ascontiguousarray(matrix)
        self._lit = np.ascontiguousarray(self.background.sun + self.background.sky)

    def frames(self, people: RenderedPedestrians) -> Iterator[RenderedFrame]:
        """All frames in turn."""
        for frame in range(people.tracks.frames):
            yield self.render(people, frame)

    def render(self, people: RenderedPedestrians, frame: int) -> RenderedFrame:
        """One frame."""
        from marey.filming import _kernels
        from marey.views._kernels import faces_in_bands, rasterise

        here = np.flatnonzero(people.present[frame])
        bodies = people.bodies(frame, level=self.level, focal=self._focal, with_normals=self.shading)
        columns, rows = self.camera.size
        screen = self._project(bodies.points)
        heights = self.background.heights
        if self.shading:
            heights = self._cast_shadows(bodies.points, bodies.faces, people.tracks.positions[frame, here])
        bands = np.zeros((-(-rows // BAND), 4), dtype=np.int64)
        box = np.array([0, rows, 0, columns])
        order = faces_in_bands(screen, bodies.faces, len(bodies.faces), box, BAND, bands)
        image = np.empty((rows, columns, 3), dtype=np.uint8)
        instance_ids = np.empty((rows, columns), dtype=np.uint32)
        flow = np.empty((rows, columns, 2), dtype=np.float32)
        counts = np.zeros((2, len(bands), len(here)), dtype=np.int64)
        labels = (here + 1).astype(np.uint32)
        offsets = self.background.offsets

        def part(b: int) -> None:
            top, bottom = b * BAND, min((b + 1) * BAND, rows)
            depth = np.empty((BAND, columns, len(offsets)), dtype=np.float32)
            owner = np.empty((BAND, columns, len(offsets)), dtype=np.int32)
            rasterise(
                screen, bodies.faces, order, bands[b], offsets, self.background.depths, depth, owner,
                counts[0, b], top, bottom,
            )  # fmt: skip
            _kernels.resolve(
                image, instance_ids, flow, counts[1, b], owner, bands[b], screen, bodies, self._matrix,
                noise_table(), self.shading, self.background.light, heights, self._lit, tones(), labels,
                top, bottom,
            )  # fmt: skip

        _work.map(part, range(len(bands)))
        unoccluded, pixels = counts.sum(axis=1)
        return RenderedFrame(image, instance_ids, flow, here, pixels, unoccluded, _boxes(screen, len(here)))

    def _project(self, points: Array) -> Array:
        """Column + ½, row + ½ and 1 / depth (0 behind the camera) of world points `(points, 3)`."""
        screen = points @ self._matrix[:, :3].T + self._matrix[:, 3]
        visible = screen[:, 2] > SETTINGS.near
        near = 1.0 / np.where(visible, screen[:, 2], 1.0)
        screen[:, :2] = screen[:, :2] * near[:, None] + 0.5
        screen[:, 2] = np.where(visible, near, 0.0)
        return np.asarray(screen)

    def _cast_shadows(self, points: Array, faces: Array, places: Array) -> Array:
        """Light the background of a frame, with everyone's shadow; returns the shadow map."""
        import cv2

        from marey.filming import _kernels
        from marey.views._light_kernels import height_map

        empty, light = self.background, self.background.light
        texel = light.texel
        shears = light.direction[[0, 2]] / light.direction[1]
        heights = empty.heights.copy()
        height_map(points, faces, True, shears[0], shears[1], light.corner, texel, heights)
        people = ((heights > 0.02) & (heights > empty.heights)).astype(np.float32)
        shadow = cv2.GaussianBlur(people, (0, 0), max(SETTINGS.penumbra / texel, 0.6))
        # What people hide of the sky is smooth: a coarser grid will do.
        coarse = max(1, round(0.08 / texel))
        feet = np.zeros([-(-side // coarse) + 1 for side in heights.shape], dtype=np.float32)
        world = np.stack([-places[:, 1], places[:, 0]], axis=1)
        cells = np.floor((world - light.corner[::-1]) / texel / coarse).astype(np.int64)
        inside = ((cells >= 0) & (cells < feet.shape)).all(axis=1)
        np.add.at(feet, tuple(cells[inside].T), 1.0)
        spread = SETTINGS.contact / (coarse * texel)
        feet = np.minimum(0.7 * 2 * np.pi * spread**2 * cv2.GaussianBlur(feet, (0, 0), spread), 0.8)
        whole = cv2.resize(feet, None, fx=coarse, fy=coarse, interpolation=cv2.INTER_LINEAR)
        contact = np.ascontiguousarray(whole[: heights.shape[0], : heights.shape[1]])

        def part(top: int, bottom: int) -> None:
            _kernels.light_background(
                empty.sun, empty.sky, empty.points, light, heights, shadow, contact, self._lit, top, bottom
            )

        _work.spread(part, len(self._lit), least=BAND)
        return heights


def _boxes(screen: Array, people: int) -> Array:
    """Left, top, right, bottom of each body in pixels, `(people, 4)`; left > right behind the camera."""
    columns, rows, near = screen.T.reshape(3, people, -1)
    low = [np.where(near > 0.0, side - 0.5, 1e9).min(axis=1, initial=1e9) for side in (columns, rows)]
    high = [np.where(near > 0.0, side - 0.5, -1e9).max(axis=1, initial=-1e9) for side in (columns, rows)]
    return np.stack([*low, *high], axis=1)
