"""Painted obstacles: strokes become a mask of a flow, polygons of a place, and low walls in the scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.crowd import cameras as plane
from marey.crowd.fields import FieldSeries, pixel_centres
from marey.crowd.polygons import as_one_ring
from marey.crowd.scenes import Scene
from marey.errors import InputError
from marey.studio.crowd.floor import Floor, Sheet
from marey.studio.crowd.state import State, Stroke
from marey.studio.desk import Desk

Array = NDArray[np.float64]

# Pixels of the longer side of the floor on which strokes are painted; pixels by which outlines may be off.
LONGEST, ROUNDED = 1024, 1.0
# Metres; low, so that nobody is hidden behind.
WALL_HEIGHT = 0.5
WALL, PAINTED = (176, 180, 186), (200, 85, 61)


def painted(strokes: Sequence[Stroke], sheet: Sheet) -> BoolArray:
    """Pixels of a sheet `(rows, columns)` that strokes cover, later ones over earlier ones.

    >>> floor = Floor(np.zeros(2), np.array([4.0, 4.0]))
    >>> dot = Stroke(np.array([[2.0, 2.0]]), 0.5)
    >>> hole = Stroke(np.array([[2.0, 2.0]]), 0.2, erases=True)
    >>> covered = [painted(strokes, floor.sheet(256)).mean() * 16 for strokes in ([dot], [dot, hole])]
    >>> bool(0.7 < covered[0] < 0.85), bool(0.6 < covered[1] < 0.7)
    (True, True)
    """
    import cv2

    canvas = np.zeros((sheet.rows, sheet.columns), dtype=np.uint8)
    for stroke in strokes:
        radius = stroke.radius / float(sheet.spacing.mean())
        # OpenCV wants small whole numbers: sixteenths of a pixel, and nothing from far outside.
        pixels = np.clip(sheet.pixels(stroke.points), -4 * LONGEST, 4 * LONGEST)
        spots = np.rint(16 * pixels).astype(np.int32)
        ink = 0 if stroke.erases else 1
        for spot in spots:
            cv2.circle(canvas, (int(spot[0]), int(spot[1])), max(round(16 * radius), 8), ink, -1, shift=4)
        if len(spots) > 1:
            cv2.polylines(canvas, [spots], False, ink, max(round(2 * radius), 1), shift=4)
    return canvas.astype(bool)


def in_the_way(state: State) -> BoolArray | None:
    """Pixels of the floor's sheet that strokes cover; None if there is no stroke."""
    return painted(state.strokes, state.floor.sheet(LONGEST)) if state.strokes else None


def blocked(fields: FieldSeries, state: State) -> FieldSeries:
    """A flow with the painted obstacles in its mask."""
    solid = in_the_way(state)
    if solid is None:
        return fields
    assert fields.homography is not None
    ground = plane.apply(fields.homography, pixel_centres((fields.rows, fields.columns)))
    sheet = state.floor.sheet(LONGEST)
    columns, rows = np.moveaxis(np.rint(np.nan_to_num(sheet.pixels(ground), nan=-1.0)).astype(int), -1, 0)
    within = (columns >= 0) & (columns < sheet.columns) & (rows >= 0) & (rows < sheet.rows)
    hit = within & solid[rows.clip(0, sheet.rows - 1), columns.clip(0, sheet.columns - 1)]
    mask = ~hit if fields.mask is None else fields.mask & ~hit
    if not mask.any():
        raise InputError("the painted obstacles leave nowhere to walk: undo, or erase some of them")
    return replace(fields, mask=mask)


def walled(scene: Scene, state: State) -> Scene:
    """A place with the painted obstacles among its walls."""
    solid = in_the_way(state)
    if solid is None:
        return scene
    sheet = state.floor.sheet(LONGEST)
    polygons = []
    for outer, holes in _outlines(solid):
        rings = [plane.apply(sheet.to_ground, ring) for ring in (outer, *holes)]
        polygons.append(as_one_ring([(rings[0], tuple(rings[1:]))]) if holes else rings[0])
    return replace(scene, obstacles=(*scene.obstacles, *polygons))


class Walls:
    """Obstacles in the scene: low blocks, painted ones in a warm colour; and the stroke being drawn."""

    def __init__(self, desk: Desk, path: str):
        self._desk, self._path = desk, path
        self._nodes: list[Any] = []
        self._preview: Any = None

    def set(self, state: State) -> None:
        """Those of a state."""
        for node in self._nodes:
            node.remove()
        self._nodes = []
        sheet = state.floor.sheet(LONGEST)
        solid = in_the_way(state)
        given = _given(state, sheet)
        for name, covered, colour in (("walls", given, WALL), ("painted", solid, PAINTED)):
            if covered is not None and covered.any():
                self._nodes += self._blocks(f"{self._path}/{name}", covered, sheet, colour)

    def preview(self, floor: Floor, points: Array | None, radius: float, erases: bool) -> None:
        """The stroke that is being drawn, `(n, 2)` metres; None when it is done."""
        if points is None or not len(points):
            if self._preview is not None:
                self._preview.visible = False
            return
        way = floor.to_scene(np.concatenate([points[:1] + 0.01, points]), 0.03)
        segments = np.stack([way[:-1], way[1:]], axis=1)
        self._preview = self._desk.scene.add_line_segments(
            f"{self._path}/stroke",
            segments,
            (244, 244, 242) if erases else PAINTED,
            thickness=2 * radius * floor.scale,
        )

    def _blocks(self, path: str, solid: BoolArray, sheet: Sheet, colour: tuple[int, int, int]) -> list[Any]:
        """Tops as a picture that is clear where nothing stands, sides as quads along the outlines."""
        floor = sheet.floor
        height = WALL_HEIGHT * floor.scale
        top = np.zeros((*solid.shape, 4), dtype=np.uint8)
        top[..., :3] = colour
        top[solid, 3] = 255
        width, depth = floor.scale * floor.size
        above = self._desk.scene.add_image(
            f"{path}/top",
            top,
            width,
            depth,
            wxyz=LYING,
            position=(0.0, height, 0.0),
            cast_shadow=False,
            receive_shadow=False,
        )
        low = [
            np.stack([ring, np.roll(ring, -1, axis=0)], axis=1)
            for outer, holes in _outlines(solid)
            for ring in (outer, *holes)
        ]
        edges = floor.to_scene(plane.apply(sheet.to_ground, np.concatenate(low)))
        quads = np.concatenate([edges, edges[:, ::-1] + np.array([0, height, 0], np.float32)], axis=1)
        first = 4 * np.arange(len(quads))[:, None]
        faces = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])
        sides = self._desk.scene.add_mesh_simple(
            f"{path}/sides",
            quads.reshape(-1, 3).astype(np.float32),
            faces.astype(np.uint32),
            color=tuple(round(0.82 * part) for part in colour),
            side="double",
            flat_shading=True,
            cast_shadow=False,
            receive_shadow=False,
        )
        return [above, sides]


LYING = (float(np.sqrt(0.5)), float(np.sqrt(0.5)), 0.0, 0.0)
"""Turns a picture of the scene onto the ground, its upper edge away from the viewer."""


def _given(state: State, sheet: Sheet) -> BoolArray | None:
    """Obstacles of the place or of the flow's own mask."""
    import cv2

    if state.scene is not None:
        canvas = np.zeros((sheet.rows, sheet.columns), dtype=np.uint8)
        for corners in state.scene.obstacles:
            reach = np.clip(sheet.pixels(corners), -16 * LONGEST, 16 * LONGEST)
            cv2.fillPoly(canvas, [np.rint(16 * reach).astype(np.int32)], 1, shift=4)
        return canvas.astype(bool)
    if state.captured is not None and state.captured.mask is not None:
        assert state.captured.homography is not None
        both = np.stack([~state.captured.mask, np.ones_like(state.captured.mask)], axis=-1)
        laid = sheet.laid(both.astype(np.float32), np.asarray(state.captured.homography))
        return np.asarray((laid[..., 0] > 0.5) & (laid[..., 1] > 0.5))
    return None


def _outlines(solid: BoolArray) -> list[tuple[Array, list[Array]]]:
    """Outlines and holes of what is solid, `(corners, 2)` pixels each."""
    import cv2

    rings, tree = cv2.findContours(solid.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    if tree is None:
        return []
    smooth = [cv2.approxPolyDP(ring, ROUNDED, True)[:, 0].astype(np.float64) for ring in rings]
    found = []
    for outer, (_, _, child, parent) in zip(smooth, tree[0], strict=True):
        if parent >= 0 or len(outer) < 3:
            continue
        holes = []
        while child >= 0:
            if len(smooth[child]) >= 3:
                holes.append(smooth[child])
            child = tree[0][child][0]
        found.append((outer, holes))
    return found
