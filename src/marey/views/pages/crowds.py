"""Pages of crowds: people as small walking figures on their tracks, or as whole bodies, in their place.

On tracks everyone is a copy of one template whose limbs the browser swings; a person and frame take 10 bytes
before they are deflated. Bodies are one skinned mesh drawn for all, with fewer vertices where they are small
on the screen; rotations are kept as differences in time, in steps of an eighth of a milliradian, which
deflate to some four bytes each, arms and trunk at fewer keys than legs: about 1 kB a person and second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import AnyArray, BoolArray, Integers
from marey.crowd.polygons import on_ground
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.geometry.mesh import vertex_normals
from marey.stage.walk.figure import Figure, figure, outfits
from marey.stage.walk.paths import steps
from marey.stage.walk.walk import WalkingCrowd
from marey.views import style
from marey.views.actors import check_reach
from marey.views.camera import direction
from marey.views.pages.page import Page, thinning
from marey.views.pedestrians import ELEVATION, HIP, MANY, SHOULDER, STATURE, TURN, WALL_HEIGHT, person
from marey.views.shapes import blocks

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
        regions = [region for one in polygons for region in on_ground(one, scene.size)]
        if regions:
            shape = blocks(regions, height)
            mesh = {
                "vertices": page.exact(shape.vertices),
                "faces": page.exact(shape.faces.astype(np.uint32)),
            }
            page.layer("solid", **mesh, colour=colour, opacity=opacity)
            page.more.setdefault("legend", []).append({"label": label, "colour": colour})


def _walkers(page: Page, tracks: Tracks) -> None:
    check_reach(tracks.positions)
    seen = tracks.present.any(axis=0)
    tracks = page.thin(tracks, tracks.frames, PERSON_BYTES * int(seen.sum()))
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
    _frame_ground(page, [low[0], -high[1]], [high[0], -low[1]])


def _frame_ground(page: Page, low: ArrayLike, high: ArrayLike) -> None:
    """Frame people on the ground between two corners (x, z), metres."""
    (left, back), (right, front) = np.asarray(low), np.asarray(high)
    turn = TURN if right - left > 0.8 * (front - back) else TURN + np.pi / 2
    towards = direction(turn, ELEVATION)
    page.frame_box([left, 0.0, back], [right, STATURE, front], towards=towards, size=STATURE)


# Steps of a quaternion's numbers in 1, metres a step of the root's place.
TURN_STEPS, ROOT_UNIT = 4096, 0.0005
# Frames from one key of arms and trunk to the next.
SELDOM = 3
# Levels of detail: joints that pull on each vertex, and pixels of height from which they are drawn.
LEVELS = ((4, 160.0), (2, 64.0), (1, 24.0), (1, 0.0))
# Share of the places at each side that need not be in view.
ASTRAY = 0.02
# Of one person and frame, deflated.
BODY_BYTES = 55


def walking_page(crowd: WalkingCrowd, page: Page) -> None:
    """People as whole bodies."""
    step = thinning(crowd.frames, BODY_BYTES * crowd.people)
    if step > 1:
        page.notes.append(f"Every {step}th frame is shown: all of them would not fit into a page.")
    rotations, roots = crowd.rotations[::step], crowd.roots[::step]
    present = np.ascontiguousarray(crowd.present[::step])
    page.frames, page.frame_rate, page.frame_step = len(rotations), crowd.frame_rate / step, step
    body = figure()
    legs = sorted({0} | {joint for leg in body.legs for joint in (leg.root, leg.middle, leg.end)})
    others = [joint for joint in range(crowd.skeleton.joints) if joint not in legs]
    # Absent people rest: nothing changes, so nothing is kept.
    known = _held(present)
    roots = np.take_along_axis(roots, known[..., None], axis=0)
    page.layer(
        "walkers",
        levels=[_mesh(page, figure(level), *LEVELS[level]) for level in range(len(LEVELS))],
        stature=body.height,
        parents=np.asarray(crowd.skeleton.parents).tolist(),
        offsets=page.exact(np.asarray(crowd.skeleton.offsets)),
        bind=page.exact(np.hstack([body.rotations[:, [1, 2, 3, 0]], body.positions])),
        sizes=page.exact(crowd.sizes),
        outfit=crowd.outfits.tolist(),
        outfits=[[_hex(colour) for colour in one] for one in outfits()],
        present=page.exact(present.astype(np.uint8)),
        roots=page.exact(_differences(np.rint(roots / ROOT_UNIT).astype(np.int32)).view(np.uint32)),
        root_unit=ROOT_UNIT,
        tracks=[_track(page, rotations, known, legs, 1), _track(page, rotations, known, others, SELDOM)],
    )
    # A few who go astray would make everyone small.
    low, high = np.percentile(roots[present][:, [0, 2]], 100 * np.array([ASTRAY, 1 - ASTRAY]), axis=0)
    _frame_ground(page, low, high)


def _track(
    page: Page, rotations: AnyArray, known: AnyArray, joints: list[int], spacing: int
) -> dict[str, Any]:
    """Rotations of some joints at every `spacing`th frame and the last."""
    keys = np.unique(np.append(np.arange(0, len(rotations), spacing), len(rotations) - 1))
    people = np.arange(rotations.shape[1])
    turns = np.empty((len(keys), len(people), len(joints), 4), np.int16)
    for row, frame in enumerate(keys):
        some = rotations[known[frame], people][:, joints][..., [1, 2, 3, 0]]
        turns[row] = np.rint(TURN_STEPS * some)
    return {"joints": joints, "spacing": spacing, "turns": page.exact(_differences(turns))}


def _differences(values: AnyArray) -> AnyArray:
    """The first row, and of all others what changed since the one before."""
    return np.concatenate([values[:1], np.diff(values, axis=0)])


def _held(present: BoolArray) -> Integers:
    """For each frame and person the nearest frame at which he is there, the last or the first to come."""
    frames = np.arange(len(present))[:, None]
    latest = np.maximum.accumulate(np.where(present, frames, -1), axis=0)
    return np.asarray(np.where(latest >= 0, latest, present.argmax(axis=0)), np.int64)


def _mesh(page: Page, body: Figure, pulls: int, tall: float) -> dict[str, Any]:
    """The body; vertices where two parts meet come twice, once in each colour."""
    skin = body.skin
    strongest = np.argsort(-skin.weights, axis=1, kind="stable")
    weights = np.take_along_axis(skin.weights, strongest, axis=1)
    weights[:, pulls:] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    joints = np.take_along_axis(skin.influences, strongest, axis=1)
    own, part, faces = body.corners
    return {
        "vertices": page.exact(skin.vertices[own]),
        "normals": page.exact(vertex_normals(skin.vertices, skin.faces)[own]),
        "faces": page.exact(faces.reshape(-1).astype(np.uint16)),
        "part": page.exact(part.astype(np.uint8)),
        "joints": page.exact(joints[own].astype(np.uint8)),
        "weights": page.exact(weights[own]),
        "pulls": pulls,
        "tall": tall,
    }


def _hex(colour: AnyArray) -> str:
    """An sRGB colour in 0…1 as `#rrggbb`."""
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in colour)
