"""Pictures and clips of walking bodies: everyone in the shared mesh, skinned frame by frame.

Cost: skinning of people × 700 vertices, some 0.1 s a frame for 200 people, and the drawing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from marey.body.kinematics import global_frames
from marey.geometry import rigid
from marey.geometry.colour import from_srgb
from marey.stage.walk.figure import Figure, figure, outfits
from marey.stage.walk.walk import WalkingCrowd
from marey.surface import skinning
from marey.views.actors import check_reach
from marey.views.camera import Camera, direction, framing
from marey.views.scene import Ground, Image, Look, Scene
from marey.views.walkers import ELEVATION, STATURE, TURN

Array = NDArray[np.float64]

# People beyond whom edges are drawn less finely.
MANY = 120


def picture(crowd: WalkingCrowd, size: tuple[int, int]) -> Image:
    """The people at the time when most are there."""
    return next(_pictures(crowd, size, [int(crowd.present.sum(axis=1).argmax())]))


def clip(crowd: WalkingCrowd, size: tuple[int, int]) -> Iterator[Image]:
    """All frames, one picture each, from a camera that sees all the way."""
    return _pictures(crowd, size, range(crowd.frames))


def bodies(crowd: WalkingCrowd, frame: int) -> Array:
    """Everyone's vertices at a frame, `(people, vertices, 3)`, metres; NaN for those who are absent.

    >>> import marey
    >>> from marey.stage import walk
    >>> crowd = walk(marey.samples.crowd(people=3, seconds=2))
    >>> bodies(crowd, 0).shape[::2]
    (3, 3)
    """
    here = np.flatnonzero(crowd.present[frame])
    found = np.full((crowd.people, len(figure().skin.vertices), 3), np.nan)
    found[here] = skinned(crowd, frame, here)
    return found


def skinned(crowd: WalkingCrowd, frame: int, people: NDArray[np.int64], *, level: int = 0) -> Array:
    """Vertices of some people at a frame, `(people, vertices, 3)`, metres, at a level of detail."""
    skin, skeleton = figure(level).skin, crowd.skeleton
    # In the shared body's own size, about the root.
    pose = global_frames(
        skeleton.parents, skeleton.offsets, crowd.rotations[frame, people], np.zeros((len(people), 3))
    )
    world = rigid.to_matrix(rigid.Rigid(pose.rotations, pose.positions)) @ np.linalg.inv(skin.bind)
    placed = skinning.skin(skin.vertices, skin.influences, skin.weights, world)
    return np.asarray(placed * crowd.sizes[people, None, None] + crowd.roots[frame, people][:, None])


def _pictures(crowd: WalkingCrowd, size: tuple[int, int], frames: range | list[int]) -> Iterator[Image]:
    body = figure()
    here = crowd.present
    places = np.asarray(crowd.roots, np.float64)[here] * [1.0, 0.0, 1.0]
    if len(frames) == 1:
        places = np.asarray(crowd.roots[frames[0]], np.float64)[here[frames[0]]] * [1.0, 0.0, 1.0]
    check_reach(places)
    everywhere = np.concatenate([places + np.array([x, y, 0.0]) for x in (-0.3, 0.3) for y in (0.0, 1.9)])
    scene, camera = _scene(crowd, body, everywhere, size)
    own, _, _ = body.corners
    centre = 0.5 * (everywhere.min(axis=0) + everywhere.max(axis=0))
    for frame in frames:
        vertices = bodies(crowd, frame)[:, own].reshape(-1, 3)
        yield scene.render(vertices, camera, centre=centre)


def _scene(
    crowd: WalkingCrowd, body: Figure, everywhere: Array, size: tuple[int, int]
) -> tuple[Scene, Camera]:
    own, part, faces = body.corners
    first = np.arange(crowd.people)[:, None, None] * len(own)
    colours = from_srgb(outfits()[crowd.outfits][:, part].reshape(-1, 3))
    wide, deep = np.ptp(everywhere[:, [0, 2]], axis=0)
    extent = float(max(wide, deep))
    scene = Scene(
        Look((faces + first).reshape(-1, 3).astype(np.int32), colours, closed=False),
        Ground(spacing=1.0 if extent < 60 else 10.0, reach=0.75 * extent + 4.0),
        size=size,
        subject_size=STATURE,
        texel=max(0.012, extent / 900),
        sky=3,
        samples=4 if crowd.people > MANY else 8,
    )
    towards = direction(TURN if wide > 0.8 * deep else TURN + np.pi / 2, ELEVATION)
    return scene, framing(everywhere, towards, size, margin=0.92)
