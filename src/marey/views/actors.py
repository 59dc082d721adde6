"""What each data type looks like on the stage: a mesh for every frame, its colours, where it stands.

An actor makes its vertices frame by frame, so a long clip is never held as meshes. Cost per frame: half a
millisecond for a figure, the skinning for a character, nothing for captured surfaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.character import Character
from marey.errors import InputError
from marey.geometry import mesh, mesh_operators
from marey.geometry.colour import from_srgb
from marey.surface.sequence import MeshSequence
from marey.surface.texture import Texture
from marey.views import style
from marey.views.figure import figure
from marey.views.parts import Poses
from marey.views.scene import Look
from marey.views.shapes import ball, merged

Array = NDArray[Any]

# Frames posed at a time: bounds the memory of skinned characters.
CHUNK = 32
# Metres. What lies beyond has a wrong unit or is damaged, and cannot be told from where it stands.
FARTHEST = 1e9
# Of larger clouds of points every second is drawn, or third, …
MOST_POINTS = 20_000


@dataclass(frozen=True, eq=False)
class Actor:
    """A subject that can be drawn in every frame.

    look: faces, colours, texture coordinates
    vertices: `vertices(frame)` is `(vertices, 3)`
    size: metres, largest extent of a usual pose
    anchors: `(frames, 3)`, where it is
    facing: `(3,)`, horizontal unit vector it mostly faces; None if unknown
    textures: `textures(frame)` is an image `(rows, columns, 3)` or None
    tints: `tints(frame)` is the linear colour `(3,)` of all of it in that frame, or None for the look's own
    trail: whether its way over the ground is worth drawing
    shown: frames in which there is something to see; None = all
    """

    look: Look
    vertices: Callable[[int], Array]
    frames: int
    frame_rate: float
    size: float
    anchors: Array
    facing: Array | None = None
    textures: Callable[[int], Array | None] = lambda frame: None
    tints: Callable[[int], Array | None] = lambda frame: None
    trail: bool = True
    shown: Array | None = None


def actor(thing: Any) -> Actor:
    """The actor of a motion, character, mesh sequence or set of markers.

    >>> import marey
    >>> walker = actor(marey.samples.walk())
    >>> walker.vertices(0).shape[1], bool(walker.size > 1.4)
    (3, True)
    """
    if isinstance(thing, Motion):
        return _of_motion(thing)
    if isinstance(thing, Character):
        return _of_character(thing)
    if isinstance(thing, MeshSequence):
        return _of_sequence(thing)
    if isinstance(thing, Markers):
        return _of_markers(thing)
    raise InputError(f"a {type(thing).__name__} cannot be put on the stage")


def check_reach(places: Array) -> None:
    """Raise if one of the places `(..., 2 or 3)` is so far away that nothing could be seen."""
    farthest = float(np.fmax.reduce(np.abs(places), axis=None))
    if farthest > FARTHEST:
        raise InputError(f"this reaches {farthest:.3g} m, too far to be drawn; is its unit right?")


def _of_motion(motion: Motion) -> Actor:
    poses = Poses(motion)
    check_reach(poses.points)
    body = figure(motion, poses)
    return Actor(
        look=Look(body.faces, body.colours, closed=True),
        vertices=lambda frame: body.vertices(poses.points[frame], poses.matrices(frame)),
        frames=motion.frames,
        frame_rate=motion.frame_rate,
        size=body.size,
        anchors=poses.body,
        facing=_facing(poses),
    )


def _of_character(character: Character) -> Actor:
    motion, skin = character.motion, character.skin

    @lru_cache(maxsize=2)
    def chunk(index: int) -> Array:
        frames = slice(index * CHUNK, (index + 1) * CHUNK)
        return np.asarray(character.pose(frames=frames, dtype=np.float32).vertices)

    poses = Poses(motion)
    check_reach(poses.points)
    first = chunk(0)[0]
    check_reach(first)
    texture = None if skin.uv is None or skin.texture is None else skin.texture.read()
    return Actor(
        look=_mesh_look(
            first, skin.faces, skin.uv, skin.uv_faces, skin.colours, textured=texture is not None
        ),
        vertices=lambda frame: chunk(frame // CHUNK)[frame % CHUNK],
        frames=motion.frames,
        frame_rate=motion.frame_rate,
        size=_extent(first),
        anchors=poses.body,
        facing=_facing(poses),
        textures=lambda frame: texture,
    )


def _of_sequence(sequence: MeshSequence) -> Actor:
    if not len(sequence.faces):
        return _of_points(sequence.vertices, sequence.frame_rate)
    low, high = sequence.vertices.min(axis=1), sequence.vertices.max(axis=1)
    check_reach(np.stack([low, high]))
    first = sequence.vertices[0]
    textured = sequence.uv is not None and bool(sequence.textures)

    @lru_cache(maxsize=2)
    def image(texture: Texture) -> Array:
        return texture.read()

    def textures(frame: int) -> Array | None:
        texture = sequence.texture(frame) if textured else None
        return None if texture is None else image(texture)

    return Actor(
        look=_mesh_look(
            first, sequence.faces, sequence.uv, sequence.uv_faces, sequence.colours, textured=textured
        ),
        vertices=lambda frame: sequence.vertices[frame],
        frames=sequence.frames,
        frame_rate=sequence.frame_rate,
        size=float(np.median((high - low).max(axis=1))) or 0.1,
        anchors=(0.5 * (low + high)).astype(np.float64),
        textures=textures,
        trail=False,
    )


def _of_markers(markers: Markers) -> Actor:
    if not markers.present.any():
        raise InputError("markers: none is seen in these frames, so there is nothing to draw")
    return _of_points(markers.positions, markers.frame_rate)


def _of_points(positions: Array, frame_rate: float) -> Actor:
    """Points `(frames, points, 3)`, NaN where unseen, as small balls."""
    positions = positions[:, :: max(positions.shape[1] // MOST_POINTS, 1)]
    count = positions.shape[1]
    low, high = np.fmin.reduce(positions, axis=1), np.fmax.reduce(positions, axis=1)
    check_reach(np.stack([low, high]))
    size = float(np.nanmedian((high - low).max(axis=1))) or 0.1
    radius = 0.011 * size if count < 300 else 0.004 * size
    shape = ball(radius, rings=5, sectors=10) if count < 300 else ball(radius, rings=1, sectors=4)
    _, faces, owner = merged([shape] * count)
    middle = 0.5 * (low + high)
    seen = np.flatnonzero(np.isfinite(middle).all(axis=1))
    anchors = np.stack([np.interp(np.arange(len(middle)), seen, line[seen]) for line in middle.T], axis=1)

    def vertices(frame: int) -> Array:
        return (positions[frame][:, None] + shape.vertices).reshape(-1, 3)

    return Actor(
        look=Look(faces, np.tile(style.linear(style.PALETTE[0]), (len(owner), 1)), closed=True),
        vertices=vertices,
        frames=len(positions),
        frame_rate=frame_rate,
        size=size,
        anchors=anchors,
        trail=False,
        shown=seen,
    )


def _mesh_look(
    first: Array,
    faces: Array,
    uv: Array | None,
    uv_faces: Array | None,
    colours: Array | None,
    *,
    textured: bool,
) -> Look:
    count = len(first)
    if textured:
        paint = np.ones((count, 3))
    elif colours is not None:
        paint = from_srgb(colours)
    else:
        paint = np.tile(style.linear(style.CLAY), (count, 1))
    welded = mesh_operators.welded(first)
    if uv_faces is None:
        uv_faces = faces
    # Some files turn their surfaces inside out; the light would then shine within.
    if mesh.volume(first, faces) < 0:
        faces, uv_faces = faces[:, ::-1], uv_faces[:, ::-1]
    closed = mesh_operators.is_closed(welded[faces])
    if not textured:
        return Look(faces, paint, welded=welded, closed=closed)
    assert uv is not None
    return Look(faces, paint, uv, uv_faces, welded=welded, closed=closed)


def _extent(vertices: Array) -> float:
    return float(np.ptp(vertices, axis=0).max()) or 0.1


def _facing(poses: Poses) -> Array | None:
    ahead = None if poses.ahead is None else poses.ahead.mean(axis=0)
    if ahead is None or np.linalg.norm(ahead) < 0.02:
        return None
    return np.asarray(ahead / np.linalg.norm(ahead))
