"""Pages of walking bodies: one skinned mesh, drawn for a thousand people at once, bones from their rotations.

Who is small on the screen is drawn with fewer vertices. Rotations are kept as differences in time, in steps
of an eighth of a milliradian, which deflate to some four bytes each; arms and trunk at fewer keys than legs.
Cost: about 1 kB a person and second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.geometry.mesh import vertex_normals
from marey.stage.walk.figure import Figure, figure, outfits
from marey.stage.walk.walk import WalkingCrowd
from marey.views.camera import direction
from marey.views.pages.page import Page, thinning
from marey.views.pages.staging import stage_of
from marey.views.walkers import ELEVATION, STATURE, TURN

Array = NDArray[Any]

# Steps of a quaternion's numbers in 1, metres a step of the root's place.
TURN_STEPS, ROOT_UNIT = 4096, 0.0005
# Frames from one key of arms and trunk to the next.
SELDOM = 3
# Levels of detail: joints that pull on each vertex, and pixels of height from which they are drawn.
LEVELS = ((4, 160.0), (2, 64.0), (1, 24.0), (1, 0.0))
# Share of the places at each side that need not be in view.
ASTRAY = 0.02
# Of one person and frame, deflated.
PERSON_BYTES = 55


def walking_page(crowd: WalkingCrowd, page: Page) -> None:
    """People as whole bodies."""
    step = thinning(crowd.frames, PERSON_BYTES * crowd.people)
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
    _frame(page, roots[present])


def _track(page: Page, rotations: Array, known: Array, joints: list[int], spacing: int) -> dict[str, Any]:
    """Rotations of some joints at every `spacing`th frame and the last."""
    keys = np.unique(np.append(np.arange(0, len(rotations), spacing), len(rotations) - 1))
    people = np.arange(rotations.shape[1])
    turns = np.empty((len(keys), len(people), len(joints), 4), np.int16)
    for row, frame in enumerate(keys):
        some = rotations[known[frame], people][:, joints][..., [1, 2, 3, 0]]
        turns[row] = np.rint(TURN_STEPS * some)
    return {"joints": joints, "spacing": spacing, "turns": page.exact(_differences(turns))}


def _differences(values: Array) -> Array:
    """The first row, and of all others what changed since the one before."""
    return np.concatenate([values[:1], np.diff(values, axis=0)])


def _held(present: NDArray[np.bool_]) -> NDArray[np.int64]:
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


def _hex(colour: Array) -> str:
    """An sRGB colour in 0…1 as `#rrggbb`."""
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in colour)


def _frame(page: Page, places: Array) -> None:
    # A few who go astray would make everyone small.
    low, high = np.percentile(places, 100 * np.array([ASTRAY, 1 - ASTRAY]), axis=0)
    wide, deep = (high - low)[[0, 2]]
    turn = TURN if wide > 0.8 * deep else TURN + np.pi / 2
    page.stage = stage_of(
        np.array([low[0], 0.0, low[2]]),
        np.array([high[0], STATURE, high[2]]),
        towards=direction(turn, ELEVATION),
        size=STATURE,
    )
