"""Films of a crowd with what really happens in them: picture, who is seen, where every point goes next.

A software renderer: people are rasterised over the empty place, which is worked out once. The picture has
four samples a pixel; identity and motion are those of the surface at the pixel's centre, exact for limbs and
clothes (Courty 2013, section 6.3, films crowds so, without the motion). Needs no graphics driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey.crowd.cameras import Camera
from marey.crowd.scene import Scene
from marey.errors import InputError
from marey.filming.figure import figure
from marey.filming.people import People
from marey.filming.place import TO_WORLD, backdrop, noise_table
from marey.filming.wardrobe import wardrobe
from marey.views._drawing import tones

Array = NDArray[Any]

BAND = 24
FINE_ABOVE = 40.0
"""Pixels per metre from which on people are drawn with all their faces."""

# Metres: blur of the shadow on the ground, and how far round the feet the sky is hidden.
PENUMBRA, CONTACT = 0.035, 0.22


@dataclass(frozen=True, eq=False)
class Shot:
    """One frame of a film.

    image: `(rows, columns, 3)` uint8, red green blue
    numbers: `(rows, columns)` uint32, who is seen at the pixel's centre: 1 + place among the tracks; 0 nobody
    flow: `(rows, columns, 2)` float32, where that point of the surface moves until the next frame, pixels
    people: `(people there,)`, their places among the tracks
    pixels, alone: `(people there,)`, centres in which each is seen, and would be if nothing stood before him
    boxes: `(people there, 4)`, left, top, right, bottom of the whole body, in pixels, also beyond the picture
    """

    image: NDArray[np.uint8]
    numbers: NDArray[np.uint32]
    flow: NDArray[np.float32]
    people: NDArray[np.int64]
    pixels: NDArray[np.int64]
    alone: NDArray[np.int64]
    boxes: NDArray[np.float64]


class Studio:
    """A picture machine for one camera and one light; call `shoot` for every frame.

    >>> from marey import samples
    >>> street = Scene((20, 6))
    >>> people = People(samples.crowd(people=5, seconds=1))
    >>> above = Camera.looking((0, 0, 15), (0, 0, 0), size=(64, 48), field_of_view=0.95)
    >>> shot = Studio(street, above).shoot(people, 0)
    >>> shot.image.shape, shot.numbers.shape, shot.flow.shape
    ((48, 64, 3), (48, 64), (48, 64, 2))
    """

    def __init__(self, scene: Scene, camera: Camera, *, shading: bool = True) -> None:
        if any(camera.distortion):
            raise InputError("filming: cameras are without lens distortion here")
        self.camera = camera
        self.shading = shading
        self.backdrop = backdrop(scene, camera, shading=shading)
        middle = np.array([0.5 * scene.size[0], 0.5 * scene.size[1], 0.0])
        distance = max(0.3 * float(np.linalg.norm(camera.position - middle)), float(camera.position[2]))
        self.coarse = camera.intrinsics[0, 0] / distance < FINE_ABOVE
        matrix = camera.intrinsics @ np.column_stack([camera.rotation @ TO_WORLD.T, camera.translation])
        self._matrix = np.ascontiguousarray(matrix)
        self._paper = np.ascontiguousarray(self.backdrop.sun + self.backdrop.sky)

    def film(self, people: People) -> Iterator[Shot]:
        """All frames, one after the other."""
        for frame in range(people.tracks.frames):
            yield self.shoot(people, frame)

    def shoot(self, people: People, frame: int) -> Shot:
        """One frame."""
        from marey.filming import _body_kernels, _kernels
        from marey.views._kernels import faces_in_bands

        here, vertices, normals, following = people.bodies(frame, coarse=self.coarse)
        person, clothes = figure(self.coarse), wardrobe(self.coarse)
        looks = people.looks[here]
        columns, rows = self.camera.size
        points = vertices.reshape(-1, 3)
        faces = np.empty((int(np.diff(clothes.starts)[looks].sum()), 3), dtype=np.int32)
        origin = np.empty((len(faces), 2), dtype=np.int32)
        _body_kernels.gather(
            clothes.faces, clothes.starts, person.faces, looks, len(person.vertices), faces, origin
        )
        screen = np.empty_like(points)
        _body_kernels.project(points, self._matrix, screen)
        boxes = np.empty((len(here), 4))
        _body_kernels.boxes(screen, faces, origin, len(faces), boxes)
        heights = self._lit(points, faces, people.tracks.positions[frame, here]) if self.shading else _NOTHING
        bands = np.zeros((-(-rows // BAND), 4), dtype=np.int64)
        order = faces_in_bands(screen, faces, len(faces), np.array([0, rows, 0, columns]), BAND, bands)
        image = np.empty((rows, columns, 3), dtype=np.uint8)
        numbers = np.empty((rows, columns), dtype=np.uint32)
        flow = np.empty((rows, columns, 2), dtype=np.float32)
        counts = np.zeros((2, len(bands), max(len(here), 1)), dtype=np.int64)
        labels = (here + 1).astype(np.uint32)
        samples = len(self.backdrop.offsets)

        def part(b: int) -> None:
            top, bottom = b * BAND, min((b + 1) * BAND, rows)
            depth = np.empty((BAND, columns, samples), dtype=np.float32)
            owner = np.empty((BAND, columns, samples), dtype=np.int32)
            stamp = np.empty((BAND, columns), dtype=np.int32)
            _kernels.rasterise(
                screen, faces, origin, order, bands[b], self.backdrop.offsets, self.backdrop.depths,
                depth, owner, stamp, counts[0, b], top, bottom,
            )  # fmt: skip
            _kernels.resolve(
                image, numbers, flow, counts[1, b], owner, bands[b], screen, faces, origin, points,
                normals.reshape(-1, 3), following.reshape(-1, 3), self._matrix, person.faces,
                person.face_parts, person.vertices, looks, clothes.clothes, noise_table(),
                float(self.camera.intrinsics[0, 0]), self.shading, self.backdrop.light, self._paper, heights,
                tones(), labels, top, bottom,
            )  # fmt: skip

        _work.map(part, range(len(bands)))
        alone, pixels = counts.sum(axis=1)[:, : len(here)]
        return Shot(image, numbers, flow, here, pixels, alone, boxes)

    def _lit(self, points: Array, faces: Array, places: Array) -> Array:
        """Cast everyone's shadow on the place; returns the light's map."""
        import cv2

        from marey.filming import _kernels
        from marey.views._light_kernels import height_map

        light, back = self.backdrop.light, self.backdrop
        texel = light[11]
        shears = light[[0, 2]] / light[1]
        heights = np.stack([back.heights, back.heights])
        halves = np.array_split(faces, 2)

        def cast(i: int) -> None:
            height_map(points, halves[i], True, shears[0], shears[1], light[9:11], texel, heights[i])

        _work.map(cast, range(2))
        heights = np.maximum(heights[0], heights[1])
        people = ((heights > 0.02) & (heights > back.heights)).astype(np.float32)
        soft = cv2.GaussianBlur(people, (0, 0), max(PENUMBRA / texel, 0.6))
        coarse = max(1, round(0.08 / texel))
        small = np.zeros(
            (-(-heights.shape[0] // coarse) + 1, -(-heights.shape[1] // coarse) + 1), dtype=np.float32
        )
        column = np.floor((places[:, 0] - light[9]) / texel / coarse).astype(np.int64)
        row = np.floor((-places[:, 1] - light[10]) / texel / coarse).astype(np.int64)
        inside = (row >= 0) & (column >= 0) & (row < small.shape[0]) & (column < small.shape[1])
        np.add.at(small, (row[inside], column[inside]), 1.0)
        spread = CONTACT / (coarse * texel)
        small = np.minimum(0.7 * 2 * np.pi * spread**2 * cv2.GaussianBlur(small, (0, 0), spread), 0.8)
        whole = cv2.resize(small, None, fx=coarse, fy=coarse, interpolation=cv2.INTER_LINEAR)
        contact = np.ascontiguousarray(whole[: heights.shape[0], : heights.shape[1]])
        rows = self.camera.size[1]

        def part(b: int) -> None:
            _kernels.light_place(
                back.sun, back.sky, back.points, light, heights, soft, contact,
                self._paper, b * BAND, min((b + 1) * BAND, rows),
            )  # fmt: skip

        _work.map(part, range(-(-rows // BAND)))
        return heights


_NOTHING = np.zeros((2, 2), dtype=np.float32)
