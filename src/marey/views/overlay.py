"""People of tracks drawn into the film they were captured from, at the size its camera gives them.

With a calibrated camera they are walking figures; with a homography alone, which knows no heights, disks on
the ground. Cost: about 1 ms a figure and frame.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from marey.crowd.animation.agents import BODY_RADIUS
from marey.crowd.cameras import Camera, Homography
from marey.crowd.footage import Footage
from marey.crowd.tracks import Tracks
from marey.geometry.colour import to_srgb
from marey.stage.walk.paths import steps
from marey.views import style
from marey.views.walkers import HIP, SHOULDER, person

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

SHADOW = 0.45
LIGHT = np.array([0.35, -0.25, 0.9]) / np.linalg.norm([0.35, -0.25, 0.9])
CORNERS = 20
# Binary digits after the point of coordinates that OpenCV takes.
FRACTION = 4


def clip(tracks: Tracks, footage: Footage, camera: Camera | Homography) -> Iterator[Image]:
    """The pictures of a film with people in them, frame by frame at the film's rate, as long as both last.

    tracks: at the rate of the film
    """
    stage = _Figures(tracks, camera) if isinstance(camera, Camera) else _Disks(tracks, camera)
    for frame, image in zip(range(tracks.frames), footage, strict=False):
        yield stage.drawn(np.ascontiguousarray(image).copy(), frame)


def _colours(ids: NDArray[np.int64]) -> Array:
    """Display colours `(people, 3)`, 0 to 255."""
    return 255 * to_srgb(style.linear(style.PALETTE)[ids % len(style.PALETTE)])


def _fixed(pixels: Array) -> NDArray[np.int32]:
    return np.rint(np.clip(pixels, -1e4, 1e4) * (1 << FRACTION)).astype(np.int32)


def _rings(places: Array, radius: float) -> Array:
    """Circles on the ground about places `(people, 2)`: `(people, corners, 2)`."""
    angle = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    return places[:, None] + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


class _Disks:
    def __init__(self, tracks: Tracks, camera: Homography) -> None:
        self._tracks, self._camera = tracks, camera
        self._inks = _colours(np.asarray(tracks.ids, dtype=np.int64))

    def drawn(self, image: Image, frame: int) -> Image:
        import cv2

        places = np.asarray(self._tracks.positions[frame], dtype=np.float64)
        here = np.flatnonzero(np.isfinite(places[:, 0]))
        rings = self._camera.to_image(_rings(places[here], BODY_RADIUS))
        for who, ring in zip(here, rings, strict=True):
            if np.isfinite(ring).all():
                cv2.fillPoly(image, [_fixed(ring)], self._inks[who].tolist(), cv2.LINE_AA, FRACTION)
        return image


class _Figures:
    def __init__(self, tracks: Tracks, camera: Camera) -> None:
        self._tracks, self._camera = tracks, camera
        self._template, self._part = person(coarse=True)
        self._gait = steps(tracks)
        inks = _colours(np.asarray(tracks.ids, dtype=np.int64))
        faces, height = self._template.faces, self._template.vertices[:, 1]
        part = self._part[faces[:, 0]]
        skin = 255 * to_srgb(style.linear(style.SKIN))
        tone = np.where((part == 1) | (part == 2), 0.5, 1.0)[None, :, None] * inks[:, None]
        self._inks = np.where((height[faces].mean(axis=1) > 1.485)[None, :, None], skin, tone)

    def drawn(self, image: Image, frame: int) -> Image:
        import cv2

        places = np.asarray(self._tracks.positions[frame], dtype=np.float64)
        here = np.flatnonzero(np.isfinite(places[:, 0]))
        if len(here) == 0:
            return image
        eye = self._camera.position
        here = here[np.argsort(-np.linalg.norm(places[here] - eye[:2], axis=1))]
        self._darken(image, places[here])
        bodies = self._bodies(places, here, frame)
        pixels = self._camera.project(bodies)
        for who, points, seen in zip(here, bodies, pixels, strict=True):
            if not np.isfinite(seen).all() or (seen.max(axis=0) < 0).any():
                continue
            if seen[:, 0].min() > image.shape[1] or seen[:, 1].min() > image.shape[0]:
                continue
            corners = points[self._template.faces]
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            middle = corners.mean(axis=1)
            facing = np.einsum("fi,fi->f", normals, eye - middle) > 0
            size = np.maximum(np.linalg.norm(normals, axis=1), 1e-12)
            lit = 0.72 + 0.42 * np.clip(normals @ LIGHT / size, -0.6, 1)
            order = np.flatnonzero(facing)
            order = order[np.argsort(-np.linalg.norm(middle[order] - eye, axis=1))]
            polygons = _fixed(seen[self._template.faces])
            shades = np.clip(self._inks[who] * lit[:, None], 0, 255)
            for face in order:
                cv2.fillConvexPoly(image, polygons[face], shades[face].tolist(), cv2.LINE_8, FRACTION)
        return image

    def _bodies(self, places: Array, here: NDArray[np.intp], frame: int) -> Array:
        """Vertices `(people, vertices, 3)` in the camera's world, height last."""
        from marey.views import _walker_kernels

        heading, phase, swing = (values[frame, here] for values in self._gait)
        world = np.stack([places[here, 0], np.zeros(len(here)), -places[here, 1]], axis=1)
        vertices = np.empty((len(here), len(self._template.vertices), 3))
        _walker_kernels.set_people(
            self._template.vertices,
            self._part,
            HIP,
            SHOULDER,
            np.arange(len(here)),
            world,
            heading,
            phase,
            swing,
            vertices,
        )
        return vertices[..., [0, 2, 1]] * [1.0, -1.0, 1.0]

    def _darken(self, image: Image, places: Array) -> None:
        """Soft shadows under everyone's feet."""
        import cv2

        rings = _rings(places, BODY_RADIUS)
        ground = np.concatenate([rings, np.zeros((*rings.shape[:2], 1))], axis=2)
        shade = np.zeros(image.shape[:2], dtype=np.uint8)
        for ring in self._camera.project(ground):
            if np.isfinite(ring).all():
                cv2.fillPoly(shade, [_fixed(ring)], 255, cv2.LINE_AA, FRACTION)
        factor = 1 - SHADOW * cv2.GaussianBlur(shade, (0, 0), 1.5)[..., None].astype(np.float32) / 255
        image[...] = np.rint(image * factor).astype(np.uint8)


def seen_through(fields_homography: Array, fields_shape: tuple[int, int], film: Footage) -> Homography:
    """The camera of a film of which the homography of a field `(rows, columns)` is known."""
    from marey.crowd.grids import pixel_map

    return Homography(fields_homography @ pixel_map((film.rows, film.columns), fields_shape))
