"""Pages of crowds: people as small walking figures on their tracks, walls and areas of the place they are in.

Everyone is a copy of one template whose limbs the browser swings, so a thousand people play smoothly; a
person and frame take 10 bytes before they are deflated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.crowd.polygons import on_ground
from marey.crowd.scene import Scene
from marey.crowd.simulation.simulated import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.geometry.mesh import vertex_normals
from marey.stage.walk.paths import steps
from marey.views import style
from marey.views.actors import check_reach
from marey.views.camera import direction
from marey.views.pages.page import Page, thinning
from marey.views.pages.staging import stage_of
from marey.views.shapes import block, merged
from marey.views.walkers import ELEVATION, HIP, MANY, SHOULDER, STATURE, TURN, WALL_HEIGHT, person

Array = NDArray[Any]

PERSON_BYTES = 10
AREA_HEIGHT = 0.004


def tracks_page(tracks: Tracks, page: Page) -> None:
    """People walking on their tracks."""
    _walkers(page, tracks)
    _frame(page, tracks, None)


def simulated_page(crowd: SimulatedCrowd, page: Page) -> None:
    """A simulated crowd in its place."""
    _walkers(page, crowd.tracks)
    _frame(page, crowd.tracks, crowd.scene)
    add_place(page, crowd.scene)


def scene_page(scene: Scene, page: Page) -> None:
    """A place to walk about in: walls, where people start, where they go."""
    _frame(page, None, scene)
    add_place(page, scene)
    page.stage["plan"] = True


def add_place(page: Page, scene: Scene) -> None:
    """Walls as low blocks, goals and starts as areas on the ground."""
    for polygons, height, colour, opacity, label in (
        (scene.obstacles, WALL_HEIGHT, style.WALL, 1.0, "walls"),
        ([goal.area for goal in scene.goals.values()], AREA_HEIGHT, style.PALETTE[2], 0.35, "goals"),
        ([group.start for group in scene.groups], AREA_HEIGHT, style.PALETTE[0], 0.3, "starts"),
    ):
        outlines = [outline for one in polygons for outline, _ in on_ground(one, scene.size)]
        if outlines:
            vertices, faces, _ = merged([block(outline, height) for outline in outlines])
            page.layer(
                "solid",
                vertices=page.exact(vertices),
                faces=page.exact(faces.astype(np.uint32)),
                colour=colour,
                opacity=opacity,
            )
            page.more.setdefault("legend", []).append({"label": label, "colour": colour})


def _walkers(page: Page, tracks: Tracks) -> None:
    check_reach(tracks.positions)
    seen = tracks.present.any(axis=0)
    step = thinning(tracks.frames, PERSON_BYTES * int(seen.sum()))
    if step > 1:
        tracks = tracks[::step]
        page.thinned(step)
    page.frames, page.frame_rate = tracks.frames, tracks.frame_rate
    page.first_frame, page.frame_step = tracks.first_frame, tracks.frame_step
    heading, phase, swing = (values[:, seen] for values in steps(tracks))
    places = np.asarray(tracks.positions, dtype=np.float64)[:, seen]
    shape, part = person(coarse=int(seen.sum()) > MANY)
    # Near the ground one sees less of the sky; heads are bare, legs darker than the rest.
    paint = np.zeros((len(part), 4))
    paint[np.isin(part, (1, 2))] = [*style.linear(style.SOFT_INK), 0.45]
    paint[shape.vertices[:, 1] > 1.485] = [*style.linear(style.SKIN), 1.0]
    page.layer(
        "people",
        vertices=page.exact(shape.vertices),
        normals=page.exact(vertex_normals(shape.vertices, shape.faces)),
        faces=page.exact(shape.faces.astype(np.uint32)),
        part=page.exact(part.astype(np.uint8)),
        paint=page.exact(paint),
        hip=HIP,
        shoulder=SHOULDER,
        places=page.quantised(places * [1.0, -1.0]),
        heading=page.quantised(heading[..., None]),
        # Only what is left of whole turns counts; from frame to frame it must not jump.
        phase=page.quantised((phase - 2 * np.pi * np.floor(phase[:1] / (2 * np.pi)))[..., None]),
        swing=page.quantised(swing[..., None]),
        colours=list(style.PALETTE),
        trails=int(seen.sum()) <= MANY,
    )


def _frame(page: Page, tracks: Tracks | None, scene: Scene | None) -> None:
    corners = []
    if tracks is not None:
        places = np.asarray(tracks.positions)[tracks.present]
        corners += [places.min(axis=0), places.max(axis=0)]
    if scene is not None:
        corners += [np.zeros(2), np.array(scene.size)]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    wide, deep = high - low
    turn = TURN if wide > 0.8 * deep else TURN + np.pi / 2
    page.stage = stage_of(
        np.array([low[0], 0.0, -high[1]]),
        np.array([high[0], STATURE, -low[1]]),
        towards=direction(turn, ELEVATION),
        size=STATURE,
    )
