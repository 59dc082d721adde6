"""What each data type looks like on the stage: a mesh for every frame, its colours, where it stands.

An actor makes its vertices frame by frame, so a long clip is never held as meshes. Cost per frame: half a
millisecond for a figure, the skinning for a character, nothing for captured surfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import AnyArray, checked
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.character import Character
from marey.errors import InputError
from marey.geometry import mesh
from marey.geometry.colour import from_srgb
from marey.surface.sequence import MeshSequence, Texture
from marey.surface.skinning import SkinnedMesh
from marey.surface.synthesis.animation import Animation
from marey.views import style
from marey.views.camera import direction
from marey.views.mannequin import figure
from marey.views.mannequin_parts import Poses
from marey.views.renderer import Appearance
from marey.views.shapes import ball, merged

# Frames posed at a time: bounds the memory of skinned characters.
CHUNK = 32
# Metres. What lies beyond has a wrong unit or is damaged, and its place is then unknown.
MAX_REACH = 1e9
# Of larger clouds of points every second is drawn, or third, …
MAX_POINTS = 20_000
# Targets are balls of this share of the figure's size: large enough to show around a wrist.
MARK_RADIUS = 0.028
MARK_COLOUR = "#d8483c"
ELEVATION = np.radians(11.0)
# Turned from a frontal view, and towards the front of a subject that walks past.
TURN, PASSING_TURN = np.radians(28.0), np.radians(17.0)


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
    trail: whether its path over the ground is worth drawing
    shown: frames in which there is something to see; None = all
    """

    look: Appearance
    vertices: Callable[[int], AnyArray]
    frames: int
    frame_rate: float
    size: float
    anchors: AnyArray
    facing: AnyArray | None = None
    textures: Callable[[int], AnyArray | None] = lambda frame: None
    tints: Callable[[int], AnyArray | None] = lambda frame: None
    trail: bool = True
    shown: AnyArray | None = None


def actor(data: Any) -> Actor:
    """The actor of a motion, character, mesh sequence, animation of captured meshes or set of markers.

    >>> import marey
    >>> walker = actor(marey.samples.walk())
    >>> walker.vertices(0).shape[1], bool(walker.size > 1.4)
    (3, True)
    """
    if isinstance(data, Motion):
        return _of_motion(data)
    if isinstance(data, Character):
        return _of_character(data)
    if isinstance(data, MeshSequence):
        return _of_sequence(data)
    if isinstance(data, Markers):
        return _of_markers(data)
    if isinstance(data, Animation):
        return _of_animation(data)
    raise InputError(f"a {type(data).__name__} cannot be put on the stage")


def group(
    cast: Sequence[Motion | Actor],
    *,
    colours: Sequence[str | None] | None = None,
    shifts: ArrayLike | None = None,
    marks: ArrayLike | None = None,
) -> Actor:
    """Clips of equal length as one actor, with balls where targets are; textures are left out.

    Args:
        cast: The clips.
        colours: One each, `#rrggbb`; None for a clip's own.
        shifts: `(clips, 3)`, metres that each is moved aside.
        marks: `(frames, marks, 3)`, metres, centres of balls; NaN where there is none.

    >>> import marey
    >>> walk = marey.samples.walk(seconds=1)
    >>> both = group([walk, walk], shifts=[[0, 0, 0], [1, 0, 0]], marks=walk.positions()[:, :2])
    >>> both.frames, bool(np.ptp(both.vertices(0)[:, 0]) > 1)
    (60, True)
    """
    frames = {one.frames for one in cast}
    if len(frames) != 1:
        raise InputError("a group needs clips of equal length, and at least one")
    count = frames.pop()
    moved = np.zeros((len(cast), 3)) if shifts is None else checked("shifts", shifts, (len(cast), 3))
    places = np.zeros((count, 0, 3)) if marks is None else np.asarray(marks, dtype=np.float64)
    if places.ndim != 3 or places.shape[::2] != (count, 3):
        raise InputError(f"marks: expected ({count}, marks, 3), got {places.shape}")
    actors = [one if isinstance(one, Actor) else actor(one) for one in cast]
    size = max(one.size for one in actors)
    dot = ball(MARK_RADIUS * size, rings=7, sectors=14)
    looks = [
        one.look if tint is None else replace(one.look, colours=_painted(one.look, style.linear(tint)))
        for one, tint in zip(actors, colours or [None] * len(actors), strict=True)
    ]
    paint = np.tile(style.linear(MARK_COLOUR), (len(dot.vertices), 1))
    looks += [Appearance(dot.faces, paint)] * places.shape[1]

    def vertices(frame: int) -> AnyArray:
        bodies = [one.vertices(frame) + shift for one, shift in zip(actors, moved, strict=True)]
        return np.concatenate([*bodies, (places[frame][:, None] + dot.vertices).reshape(-1, 3)])

    return Actor(
        look=_joined(looks, closed=all(one.look.closed for one in actors)),
        vertices=vertices,
        frames=count,
        frame_rate=actors[0].frame_rate,
        size=size,
        anchors=np.mean([one.anchors + shift for one, shift in zip(actors, moved, strict=True)], axis=0),
        facing=actors[0].facing,
        trail=len(actors) == 1 and actors[0].trail,
    )


def side_by_side(
    data: Any, frames: Sequence[int], *, marks: ArrayLike | None = None, apart: float = 1.1
) -> Actor:
    """Poses of some frames as one actor of a single frame, from left to right.

    Args:
        data: What has an actor.
        frames: Which.
        marks: `(frames, marks, 3)`, metres, centres of balls beside each pose; NaN where there is none.
        apart: Metres between the poses.

    >>> import marey
    >>> row = side_by_side(marey.samples.walk(), [10, 40, 70])
    >>> row.frames, bool(np.ptp(row.vertices(0)[:, [0, 2]], axis=0).max() > 2.0)
    (1, True)
    """
    one = actor(data)
    if not len(frames):
        raise InputError("frames: name one or more to set side by side")
    for frame in frames:
        if not 0 <= frame < one.frames:
            raise InputError(f"frame {frame}: the clip has frames 0…{one.frames - 1}")
    right = across_view(data[int(frames[0])] if isinstance(data, Motion) else one)
    poses = [_at_frame(one, int(frame)) for frame in frames]
    shifts = np.array([i * apart * right - pose.anchors[0] * [1.0, 0.0, 1.0] for i, pose in enumerate(poses)])
    balls = None
    if marks is not None:
        flat = (np.asarray(marks, dtype=np.float64) + shifts[:, None]).reshape(-1, 3)
        balls = flat[np.isfinite(flat).all(axis=1)][None]
    return group(poses, shifts=shifts, marks=balls)


def across_view(data: Any) -> AnyArray:
    """Unit vector `(3,)` to the right of a frontal image of a clip or actor, to set others beside it.

    >>> import marey
    >>> right = across_view(marey.samples.walk()[0])
    >>> bool(abs(right[1]) < 1e-12), bool(abs(np.linalg.norm(right) - 1) < 1e-12)
    (True, True)
    """
    towards = viewpoint(data if isinstance(data, Actor) else actor(data), frontal=True)
    return np.asarray(np.array([towards[2], 0.0, -towards[0]]) / np.hypot(towards[0], towards[2]))


def viewpoint(actor: Actor, *, frontal: bool) -> AnyArray:
    """Direction from the subject to the camera: three-quarter, so that a path runs to the right."""
    places = actor.anchors[first_shown(actor) :, [0, 2]]
    spread = places - places.mean(axis=0)
    # The direction in which places spread most, and the standard deviations across and along it.
    values, vectors = np.linalg.eigh(spread.T @ spread / len(spread))
    along, (narrow, long) = vectors[:, 1], np.sqrt(np.maximum(values, 0.0))
    if not frontal and 2 * long > 0.5 * actor.size and narrow < 0.6 * long:
        if (places[-1] - places[0]) @ along < 0:
            along = -along
        # Camera to the right of a subject that walks along: azimuth of the normal, turned to its front.
        azimuth = np.arctan2(-along[1], along[0]) + PASSING_TURN
        return direction(azimuth, ELEVATION)
    facing = actor.facing if actor.facing is not None else np.array([0.0, 0.0, 1.0])
    return direction(float(np.arctan2(facing[0], facing[2])) + TURN, ELEVATION)


def first_shown(actor: Actor) -> int:
    """1 if frame 0 is a pose set apart from the rest, as some converters add; else 0."""
    if actor.frames < 3:
        return 0
    steps = np.linalg.norm(np.diff(actor.anchors, axis=0), axis=1)
    return int(steps[0] > 0.3 * actor.size and steps[0] > 10 * np.median(steps))


def check_reach(places: AnyArray) -> None:
    """Raise if one of the places `(..., 2 or 3)` is so far away that nothing could be seen."""
    farthest = float(np.fmax.reduce(np.abs(places), axis=None))
    if farthest > MAX_REACH:
        raise InputError(f"this reaches {farthest:.3g} m, too far to be drawn; is its unit right?")


def _of_motion(motion: Motion) -> Actor:
    poses = Poses(motion)
    check_reach(poses.points)
    body = figure(motion, poses)
    return Actor(
        look=Appearance(body.faces, body.colours, closed=True),
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
    def chunk(index: int) -> AnyArray:
        frames = slice(index * CHUNK, (index + 1) * CHUNK)
        return np.asarray(character.pose(frames=frames, dtype=np.float32).vertices)

    poses = Poses(motion)
    check_reach(poses.points)
    first = chunk(0)[0]
    check_reach(first)
    texture = None if skin.uv is None or skin.texture is None else skin.texture.read()
    return Actor(
        look=_mesh_look(first, skin, textured=texture is not None),
        vertices=lambda frame: chunk(frame // CHUNK)[frame % CHUNK],
        frames=motion.frames,
        frame_rate=motion.frame_rate,
        size=float(np.ptp(first, axis=0).max()) or 0.1,
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
    def image(texture: Texture) -> AnyArray:
        return texture.read()

    def textures(frame: int) -> AnyArray | None:
        texture = sequence.texture(frame) if textured else None
        return None if texture is None else image(texture)

    return Actor(
        look=_mesh_look(first, sequence, textured=textured),
        vertices=lambda frame: sequence.vertices[frame],
        frames=sequence.frames,
        frame_rate=sequence.frame_rate,
        size=float(np.median((high - low).max(axis=1))) or 0.1,
        anchors=(0.5 * (low + high)).astype(np.float64),
        textures=textures,
        trail=False,
    )


def _of_animation(animation: Animation) -> Actor:
    """Green where frames are captured, red where they are synthetic, unless there is a texture to show.

    >>> from marey.surface.synthesis.animation import Provenance
    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 30)
    >>> new = _of_animation(Animation(triangle, Provenance([0, 1], [0, 8], [0, 0.5], [False, True])))
    >>> bool(new.tints(0)[1] > new.tints(0)[0]), bool(new.tints(1)[1] > new.tints(1)[0])
    (True, False)
    """
    sequence, synthetic = animation.sequence, animation.provenance.synthetic
    plain = _of_sequence(sequence)
    if sequence.uv is not None and sequence.textures:
        return plain
    colours = style.linear((style.CAPTURED, style.SYNTHETIC))
    return replace(plain, tints=lambda frame: colours[int(synthetic[frame])])


def _at_frame(one: Actor, frame: int) -> Actor:
    """An actor that holds one pose, in that frame's tint."""
    pose, tint = np.asarray(one.vertices(frame), dtype=np.float64), one.tints(frame)
    look = one.look if tint is None else replace(one.look, colours=_painted(one.look, tint))
    return replace(
        one, look=look, vertices=lambda frame: pose, frames=1, anchors=one.anchors[[frame]],
        textures=lambda frame: None, tints=lambda frame: None, trail=False, shown=None,
    )  # fmt: skip


def _painted(look: Appearance, colour: AnyArray) -> AnyArray:
    return np.tile(colour, (len(look.colours), 1))


def _joined(looks: Sequence[Appearance], *, closed: bool) -> Appearance:
    """Meshes as one, without their textures."""
    starts = np.cumsum([0, *(len(look.colours) for look in looks)])[:-1]
    welded = [np.arange(len(look.colours)) if look.welded is None else look.welded for look in looks]
    return Appearance(
        np.concatenate([k + look.faces for k, look in zip(starts, looks, strict=True)]).astype(np.int32),
        np.concatenate([look.colours for look in looks]),
        welded=np.concatenate([k + one for k, one in zip(starts, welded, strict=True)]),
        closed=closed,
    )


def _of_markers(markers: Markers) -> Actor:
    if not markers.present.any():
        raise InputError("markers: none is seen in these frames, so there is nothing to draw")
    return _of_points(markers.positions, markers.frame_rate)


def _of_points(positions: AnyArray, frame_rate: float) -> Actor:
    """Points `(frames, points, 3)`, NaN where unseen, as small balls."""
    positions = positions[:, :: max(positions.shape[1] // MAX_POINTS, 1)]
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

    def vertices(frame: int) -> AnyArray:
        return np.asarray((positions[frame][:, None] + shape.vertices).reshape(-1, 3))

    return Actor(
        look=Appearance(faces, np.tile(style.linear(style.PALETTE[0]), (len(owner), 1)), closed=True),
        vertices=vertices,
        frames=len(positions),
        frame_rate=frame_rate,
        size=size,
        anchors=anchors,
        trail=False,
        shown=seen,
    )


def _mesh_look(first: AnyArray, surface: SkinnedMesh | MeshSequence, *, textured: bool) -> Appearance:
    """The look of a mesh, whose vertices are at `first` in its first frame."""
    faces = surface.faces
    uv_faces = faces if surface.uv_faces is None else surface.uv_faces
    if textured:
        paint = np.ones((len(first), 3))
    elif surface.colours is not None:
        paint = from_srgb(surface.colours)
    else:
        paint = np.tile(style.linear(style.CLAY), (len(first), 1))
    welded = mesh.merge_doubles(first)
    # Some files turn their surfaces inside out; the light would then shine within.
    if mesh.volume(first, faces) < 0:
        faces, uv_faces = faces[:, ::-1], uv_faces[:, ::-1]
    closed = mesh.is_closed(welded[faces])
    worn: dict[str, Any] = {"uv": surface.uv, "uv_faces": uv_faces} if textured else {}
    return Appearance(faces, paint, welded=welded, closed=closed, **worn)


def _facing(poses: Poses) -> AnyArray | None:
    ahead = None if poses.ahead is None else poses.ahead.mean(axis=0)
    if ahead is None or np.linalg.norm(ahead) < 0.02:
        return None
    return np.asarray(ahead / np.linalg.norm(ahead))
