"""Painted obstacles: strokes become polygons that block a flow, are walls of a scene, and are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array
from marey.crowd import cameras as plane
from marey.crowd.animation.ground import WALKABLE, WalkableGround
from marey.crowd.fields import FieldSeries, pixel_centres
from marey.crowd.polygons import Region, as_one_ring
from marey.crowd.scenes import Scene
from marey.errors import InputError
from marey.studio.crowd.floor import Floor
from marey.studio.crowd.state import State, Stroke
from marey.studio.layers.figure import mixed
from marey.studio.layers.group import segments
from marey.studio.room import Layer
from marey.studio.settings import THEME, Colour
from marey.views.shapes import blocks

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry


def painted(strokes: Sequence[Stroke]) -> BaseGeometry:
    """The ground that strokes cover, later ones over earlier ones.

    >>> dot = Stroke(np.array([[2.0, 2.0]]), 0.5)
    >>> eraser = Stroke(np.array([[2.0, 2.0]]), 0.2, erases=True)
    >>> [round(painted(strokes).area, 1) for strokes in ([dot], [dot, eraser])]
    [0.8, 0.6]
    """
    import shapely

    covered = shapely.Polygon()
    for stroke in strokes:
        # A line needs two points that differ.
        line = shapely.LineString(np.concatenate([stroke.points[:1] + 1e-6, stroke.points]))
        mark = line.buffer(stroke.radius).simplify(0.01)
        covered = covered.difference(mark) if stroke.erases else covered.union(mark)
    return covered


def blocked(fields: FieldSeries, state: State) -> FieldSeries:
    """A flow with the painted obstacles in its mask."""
    import shapely

    if not state.strokes:
        return fields
    assert fields.homography is not None
    ground = plane.apply(fields.homography, pixel_centres((fields.rows, fields.columns)))
    hit = shapely.contains_xy(painted(state.strokes), ground[..., 0], ground[..., 1])
    mask = ~hit if fields.mask is None else fields.mask & ~hit
    if not mask.any():
        raise InputError("the painted obstacles leave nowhere to walk: undo, or erase some of them")
    return replace(fields, mask=mask)


def walled(scene: Scene, state: State) -> Scene:
    """A scene with the painted obstacles among its walls."""
    regions = _regions(_on_floor(painted(state.strokes), state.floor))
    polygons = [as_one_ring([region]) if region[1] else region[0] for region in regions]
    return replace(scene, obstacles=(*scene.obstacles, *polygons))


class Walls(Layer[State]):
    """Obstacles in the scene: low blocks, painted ones in a warm colour; and the stroke being drawn."""

    drawn_from = ("floor", "strokes", "scene", "captured")

    def set(self, state: State) -> None:
        self.group.clear()
        for name, covered, colour in (
            ("walls", _given(state), THEME.wall),
            ("painted", painted(state.strokes), THEME.warm),
        ):
            self._add_blocks(name, _on_floor(covered, state.floor), state.floor, colour)

    def preview(self, floor: Floor, points: Array | None, radius: float, erases: bool) -> None:
        """The stroke that is being drawn, `(n, 2)` metres; None when it is done."""
        if points is None or not len(points):
            if "stroke" in self.group.nodes:
                self.group.nodes["stroke"].visible = False
            return
        path = floor.to_scene(np.concatenate([points[:1] + 0.01, points]), 0.03)
        colour = THEME.paper if erases else THEME.warm
        self.group.lines("stroke", segments(path), colour, 2 * radius * floor.scale)

    def _add_blocks(self, name: str, covered: BaseGeometry, floor: Floor, colour: Colour) -> None:
        """Low, so that no one is hidden behind."""
        import shapely

        places = shapely.transform(covered, lambda corners: floor.to_scene(corners)[:, [0, 2]] * [1, -1])
        if regions := _regions(places):
            shape = blocks(regions, 0.5 * floor.scale)
            # The studio's pale light bleaches.
            darker, look = mixed(colour, (0, 0, 0), 0.18), {"side": "double", "flat_shading": True}
            self.group.mesh(name, shape.vertices, shape.faces, darker, **look)


def _given(state: State) -> BaseGeometry:
    """Obstacles of the scene or of the flow's own mask."""
    import shapely

    if state.scene is not None:
        return shapely.union_all([shapely.make_valid(shapely.Polygon(c)) for c in state.scene.obstacles])
    if state.captured is None or state.captured.mask is None:
        return shapely.Polygon()
    place = WalkableGround.of(replace(state.captured, mask=None))
    solid = np.pad(~state.captured.mask & (place.region == WALKABLE), ((0, 0), (1, 1)))
    # Runs of pixels in each row; their corners are between pixels.
    rows, ends = np.nonzero(np.diff(solid.astype(np.int8), axis=1))
    start, stop = ends[::2] - 0.5, ends[1::2] - 0.5
    runs = shapely.union_all(shapely.box(start, rows[::2] - 0.5, stop, rows[::2] + 0.5))
    ground = shapely.transform(runs, lambda corners: plane.apply(place.to_ground, corners))
    return shapely.make_valid(ground)


def _on_floor(covered: BaseGeometry, floor: Floor) -> BaseGeometry:
    import shapely

    return shapely.intersection(covered, shapely.box(*floor.low, *floor.high))


def _regions(covered: BaseGeometry) -> list[Region]:
    """Outline and holes, `(corners, 2)` each, of every piece."""
    import shapely

    return [
        (
            shapely.get_coordinates(piece.exterior)[:-1],
            tuple(shapely.get_coordinates(hole)[:-1] for hole in piece.interiors),
        )
        for piece in shapely.get_parts(covered)
        if piece.geom_type == "Polygon" and not piece.is_empty
    ]
