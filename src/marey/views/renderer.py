"""An off-screen renderer in software: surfaces on a pale ground, in soft light, with soft shadows.

The key light is a disc and the sky a dome, each a few directions; along every direction the subject is
rasterised once into a height map, which gives both its shadow on the ground and what each vertex sees of
the light. The image itself is rasterised with several samples a pixel and shaded once per face and pixel.
Needs no graphics driver. Cost at 1280 × 720 on two cores: about 35 ms for 10,000 vertices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import AnyArray, BoolArray
from marey.geometry.colour import to_srgb
from marey.views import style
from marey.views.camera import Camera, direction

Image = NDArray[np.uint8]

KEY_ELEVATION, KEY_TURN = np.radians(50.0), np.radians(-42.0)
KEY_WEIGHT = 0.62
SHADOW_STRENGTH = 0.62
MAX_TEXELS = 1536
# Rows drawn at a time.
BAND = 24


@dataclass(frozen=True)
class Appearance:
    """What does not change while a surface moves.

    faces: `(faces, 3)`
    colours: `(vertices, 3)`, linear light; with a texture its first column is how much the texture shows
    uv, uv_faces: texture coordinates, as in a mesh sequence
    welded: `(vertices,)`, index of the first vertex at the same place; they share a normal
    layers: `(faces,)`, which of the textures a face wears
    casters: faces of a coarser body that throws the shadow (`Renderer.render` takes its vertices), or None
    seen: `(vertices, 2)`, what each vertex sees of key light and sky, where that is not worked out
    closed: whether the faces make closed surfaces, counter-clockwise from outside: their backs are skipped
    """

    faces: AnyArray
    colours: AnyArray
    uv: AnyArray = field(default_factory=lambda: np.zeros((0, 2)))
    uv_faces: AnyArray = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    welded: AnyArray | None = None
    layers: AnyArray | None = None
    casters: AnyArray | None = None
    seen: AnyArray | None = None
    closed: bool = False


@dataclass(frozen=True)
class Ground:
    """The floor.

    level: metres, where it lies on the y axis
    spacing: metres between lines of the grid (finer lines at a quarter of it)
    reach: metres from the subject at which the grid has faded
    """

    level: float = 0.0
    spacing: float = 1.0
    reach: float = 8.0

    @classmethod
    def of_size(cls, size: float, *, level: float = 0.0, extent: float = 0.0) -> Ground:
        """For a subject of a size, metres, which moves within an extent."""
        spacing = 10.0 ** float(np.floor(np.log10(max(size, 1e-6)) + 0.1))
        return cls(level, spacing, 4.0 * size + 0.8 * extent)


class Renderer:
    """Renders frames of one mesh; buffers are reused between calls.

    >>> triangle = Appearance(np.array([[0, 1, 2]]), np.full((3, 3), 0.5))
    >>> scene = Renderer(triangle, Ground(), size=(64, 48), subject_size=1.0)
    >>> corners = np.array([[-1, 0, 0], [1, 0, 0], [0, 1.5, 0]], dtype=float)
    >>> camera = Camera(np.array([0.0, 1.0, 6.0]), np.array([0.0, 0.0, -1.0]))
    >>> image = scene.render(corners, camera)
    >>> image.shape, bool(image[24, 32].mean() < image[2, 2].mean())
    ((48, 64, 3), True)
    """

    def __init__(
        self,
        look: Appearance,
        ground: Ground,
        *,
        size: tuple[int, int],
        subject_size: float,
        texel: float | None = None,
        sky: int = 9,
        samples: int = 8,
    ) -> None:
        """Of images of (columns, rows) pixels.

        subject_size: metres; sets how fine the shadows are, if `texel` (metres) does not
        sky: directions of light in the key and in the sky
        samples: 4 or 8 of each pixel
        """
        self.look = look
        self.ground = ground
        self.size = size
        self.subject_size = subject_size
        self.texel = subject_size / 150.0 if texel is None else texel
        self.sky = sky
        count = len(look.colours)
        # Copies: numba would compile every kernel again for arrays that are read-only.
        self._faces = np.array(look.faces, dtype=np.int32, order="C")
        self._casters = None if look.casters is None else np.array(look.casters, dtype=np.int32, order="C")
        self._welded = np.array(np.arange(count) if look.welded is None else look.welded, dtype=np.int64)
        self._layers = np.zeros(len(look.faces), dtype=np.int32)
        if look.layers is not None:
            self._layers[:] = look.layers
        self._uv = np.array(look.uv, dtype=np.float64, order="C")
        self._uv_faces = np.array(look.uv_faces, dtype=np.int32, order="C")
        self._colours = np.array(look.colours, dtype=np.float64, order="C")
        self._flat = np.zeros((len(look.faces), 3))
        self._normals = np.zeros((count, 3))
        self._seen = np.ones((count, 2)) if look.seen is None else np.array(look.seen, dtype=np.float64)
        self._offsets = sample_offsets(samples)
        # One pair of buffers a thread, a few rows high: they stay in the cache, whatever the image's size.
        self._buffers: SimpleQueue[tuple[AnyArray, AnyArray]] = SimpleQueue()
        for _ in range(_work.cores()):
            shape = (BAND, size[0], samples)
            self._buffers.put((np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.int32)))
        self._maps = np.zeros((0, 0, 0), dtype=np.float32)
        self._shadow = np.zeros((2, 2), dtype=np.float32)
        self._corner = np.zeros(2)
        self._boxes = np.zeros((2 * sky, 4), dtype=np.int64)

    def render(
        self,
        vertices: AnyArray,
        camera: Camera,
        *,
        centre: AnyArray | None = None,
        textures: AnyArray | None = None,
        casters: AnyArray | None = None,
        overlay: tuple[AnyArray, AnyArray, AnyArray] | None = None,
        tint: AnyArray | None = None,
    ) -> Image:
        """An image `(rows, columns, 3)`.

        vertices: `(vertices, 3)`; faces with a NaN corner are left out
        centre: `(3,)`, about which the ground is drawn; the vertices' middle if not given
        textures: `(layers, rows, columns, 3)` bytes
        casters: vertices of the body that throws the shadow, when the look has one of its own
        overlay: vertices, faces and linear colours of marks that are neither shaded nor cast shadows
        tint: `(3,)`, linear colour of the whole subject in this image, instead of its look's
        """
        from marey.views import _light_kernels

        points = self._on_ground(vertices)
        _light_kernels.surface_normals(points, self._faces, self._welded, self._flat, self._normals)
        _, directions, key = _lights(camera, self.sky)
        if casters is None:
            self._cast(points, self._faces, directions, key)
            self._look_at_light(points, directions, key)
        else:
            assert self._casters is not None
            self._cast(self._on_ground(casters), self._casters, directions, key)
        if centre is None:
            centre = 0.5 * (np.fmin.reduce(points, axis=0) + np.fmax.reduce(points, axis=0))
            centre = np.nan_to_num(centre)
        colours = self._colours if tint is None else np.tile(np.asarray(tint, float), (len(points), 1))
        return self._draw(points, colours, camera, centre, textures, overlay)

    def _on_ground(self, vertices: AnyArray) -> AnyArray:
        """A copy of the vertices, heights counted from the ground."""
        points = np.array(vertices, dtype=np.float64, order="C")
        points[:, 1] -= self.ground.level
        return points

    def _cast(self, points: AnyArray, faces: AnyArray, directions: AnyArray, key: AnyArray) -> None:
        """Fill the light maps and the shadow on the ground."""
        import cv2

        from marey.views import _light_kernels

        shears = directions[:, [0, 2]] / directions[:, 1:2]
        flat = points[:, [0, 2]]
        cast = np.ascontiguousarray(flat.T)[None] - shears[:, :, None] * points[:, 1]
        low, high = np.fmin.reduce(cast, axis=2), np.fmax.reduce(cast, axis=2)
        if np.isnan(low).any():
            # Nobody there.
            self._shadow = np.zeros((2, 2), dtype=np.float32)
            self._boxes = np.zeros((len(directions), 4), dtype=np.int64)
            return
        border = 6
        texel = self.texel
        while np.ptp([low.min(axis=0), high.max(axis=0)], axis=0).max() / texel > MAX_TEXELS - 2 * border:
            texel *= 1.25
        self.texel = texel
        corner = (np.floor(low.min(axis=0) / texel) - border) * texel
        # Map rows run along z, columns along x.
        first = np.floor((low - corner) / texel).astype(np.int64) - 2
        last = np.ceil((high - corner) / texel).astype(np.int64) + 2
        boxes = np.stack([first[:, 1], last[:, 1], first[:, 0], last[:, 0]], axis=1)
        rows, columns = boxes[:, 1].max() + border, boxes[:, 3].max() + border
        if len(self._maps) != len(directions) or self._maps.shape[1] < rows or self._maps.shape[2] < columns:
            grown = np.maximum(self._maps.shape[1:], [rows, columns]) * 5 // 4
            self._maps = np.empty((len(directions), *grown), dtype=np.float32)
        self._corner, self._boxes = corner, boxes

        def one(d: int) -> None:
            top, bottom, left, right = boxes[d]
            self._maps[d, top:bottom, left:right] = _light_kernels.EMPTY
            _light_kernels.height_map(
                points, faces, self.look.closed, *shears[d], corner, texel, self._maps[d]
            )

        _work.map(one, range(len(directions)))
        weights = np.where(key, KEY_WEIGHT / key.sum(), (1 - KEY_WEIGHT) / (~key).sum())
        # What stands high throws a blurred shadow, what touches the ground a crisp one.
        crisp, blurred = np.zeros((2, rows, columns), dtype=np.float32)
        _light_kernels.cast(self._maps, boxes, weights, 0.3 * self.subject_size, crisp, blurred)
        self._shadow = cv2.GaussianBlur(crisp, (0, 0), 1.5) + cv2.GaussianBlur(blurred, (0, 0), 4.0)

    def _look_at_light(self, points: AnyArray, directions: AnyArray, key: AnyArray) -> None:
        from marey.views import _light_kernels

        def part(start: int, stop: int) -> None:
            _light_kernels.visibility(
                points, self._normals, directions, key.astype(np.float64), self._boxes, self._maps,
                self._corner, self.texel, self._seen, start, stop,
            )  # fmt: skip

        _work.spread(part, len(points), least=1024)

    def _draw(
        self,
        points: AnyArray,
        colours: AnyArray,
        camera: Camera,
        centre: AnyArray,
        textures: AnyArray | None,
        overlay: tuple[AnyArray, AnyArray, AnyArray] | None,
    ) -> Image:
        from marey.views import _kernels

        lowered = camera.moved(np.array([0.0, -self.ground.level, 0.0]))
        lamp, _, _ = _lights(camera, self.sky)
        faces, flat_from = self._faces, len(self._faces)
        if overlay is not None:
            marks, mark_faces, mark_colours = overlay
            faces = np.concatenate([faces, np.asarray(mark_faces, np.int32) + np.int32(len(points))])
            points = np.concatenate([points, marks - [0.0, self.ground.level, 0.0]])
            colours = np.concatenate([colours, mark_colours])
        columns, rows = self.size
        if textures is None:
            textures = np.zeros((0, 1, 1, 3), dtype=np.uint8)
        axes = lowered.position, lowered.right, lowered.up, lowered.forward
        view = np.concatenate([*axes, [lowered.focal(self.size), 0.5 * columns, 0.5 * rows]])
        floor = np.concatenate(
            [
                style.linear(style.BACKDROP_TOP),
                style.linear(style.BACKDROP_BOTTOM),
                [centre[0], centre[2], self.ground.reach, self.ground.spacing, 0.17, 0.055],
                style.linear(style.GROUND),
                [self._corner[0], self._corner[1], self.texel, SHADOW_STRENGTH],
            ]
        )
        image = np.empty((rows, columns, 3), dtype=np.uint8)
        closed = flat_from if self.look.closed else 0
        screen, box = np.empty(points.shape), np.zeros(4, dtype=np.int64)
        _kernels.project(points, view, self.size, screen, box)
        bands = np.zeros((-(-rows // BAND), 4), dtype=np.int64)
        order = _kernels.faces_in_bands(screen, faces, closed, box, BAND, bands)
        nothing, nobody = np.zeros((0, 0, 0), dtype=np.float32), np.zeros(0, dtype=np.int64)

        surface = _kernels.Surface(
            screen, faces, self._flat, self._normals, self._seen, colours, flat_from, self._uv,
            self._uv_faces, self._layers, textures,
        )  # fmt: skip

        def part(b: int) -> None:
            top, bottom = b * BAND, min((b + 1) * BAND, rows)
            depth, owner = self._buffers.get()
            try:
                _kernels.rasterise(
                    screen, faces, order, bands[b], self._offsets, nothing, depth, owner, nobody, top, bottom
                )
                shadow = self._shadow
                _kernels.shade(
                    image, owner, bands[b], surface, view, lamp, floor, shadow, tones(), top, bottom
                )
            finally:
                self._buffers.put((depth, owner))

        _work.map(part, range(len(bands)))
        return image


def key_light(towards: AnyArray) -> AnyArray:
    """Unit vector to the key light, for a camera in the direction `towards`: from its left and above."""
    return direction(float(np.arctan2(towards[0], towards[2])) + KEY_TURN, KEY_ELEVATION)


def _lights(camera: Camera, sky: int) -> tuple[AnyArray, AnyArray, BoolArray]:
    """Towards the key light `(3,)`; all directions of light `(directions, 3)`; which are the key's."""
    azimuth = float(np.arctan2(-camera.forward[0], -camera.forward[2]))
    lamp = key_light(-camera.forward)
    across = np.cross(lamp, [0.0, 1.0, 0.0])
    across /= np.linalg.norm(across)
    along = np.cross(across, lamp)
    # A sunflower's seeds fill a disc evenly.
    turns = np.arange(sky) * np.pi * (3.0 - np.sqrt(5.0))
    radii = np.sqrt((np.arange(sky) + 0.5) / sky)
    disc = np.stack([radii * np.cos(turns), radii * np.sin(turns)], axis=1) * np.tan(np.radians(9.0))
    keys = lamp + disc[:, :1] * across + disc[:, 1:] * along
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    heights = 1.0 - radii**2 * (1.0 - np.sin(np.radians(36.0)))
    dome = np.array(
        [direction(azimuth + turn, float(np.arcsin(h))) for turn, h in zip(turns, heights, strict=True)]
    )
    return lamp, np.concatenate([keys, dome]), np.arange(2 * sky) < sky


def sample_offsets(samples: int) -> NDArray[np.float64]:
    """Places of 4 or 8 samples around a pixel's centre, one in each row and column of a fine grid (n rooks).

    >>> sample_offsets(4)[:, 0].tolist()
    [-0.125, 0.375, -0.375, 0.125]
    """
    columns = np.array({4: [1, 3, 0, 2], 8: [1, 5, 3, 7, 0, 4, 2, 6]}[samples])
    return np.stack([(columns + 0.5) / samples - 0.5, (np.arange(samples) + 0.5) / samples - 0.5], axis=1)


@cache
def tones() -> NDArray[np.uint8]:
    """Bytes of the screen for linear light from 0 to 1, `(4096,)`."""
    return np.rint(255 * to_srgb(np.linspace(0, 1, 4096))).astype(np.uint8)
