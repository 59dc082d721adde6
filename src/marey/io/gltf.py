"""glTF 2.0, `.glb` and `.gltf`: motions, skinned characters and mesh sequences, in and out.

The container is plain JSON and NumPy: the format is small, every size must be checked before it is
believed, and vertices must not pass through Python objects. Lengths are metres, y up, right-handed, as
in marey itself. Transforms above a skeleton are folded into its root, constant scales into the skin, so that
every joint and vertex is where the file puts it in the world (glTF 2.0, section 3.7.3). Cost: linear in the
size of the file and in frames × joints, of mesh sequences in frames × vertices.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey import _arrays
from marey._arrays import Array, checked, checked_rate, read_only
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import FormatError, InputError, MareyWarning, require
from marey.geometry import rotations as rot
from marey.geometry.convention import unit_size
from marey.io import _isolated
from marey.io._gltf_document import open_document
from marey.io._gltf_meshes import Part, appearance, read_parts, read_skin
from marey.io._gltf_nodes import (
    Clip,
    Nodes,
    Place,
    Scene,
    Track,
    carried_stretch,
    frames_of,
    opened,
    read_clips,
    stretched,
)
from marey.io._gltf_write import Builder, build_character, build_motion, build_sequence, build_shapes
from marey.io._limits import LIMITS
from marey.io._meshes import DEFAULT_RATE
from marey.surface.sequence import MeshSequence
from marey.surface.shapes import shapes_of

# Of files whose meshes a native library decodes; a sound one is read at over 2 MB a second.
_ALLOWANCE = _isolated.Allowance(30.0, 2e5, reserved_bytes=4 << 30, bytes_per_byte=200, memory="DATA")

# Of a mesh sequence: more morph targets than this do not play in a browser. What is lost then is not seen.
MOST_EXACT_FRAMES, UNSEEN = 100, 0.001


def read(
    path: Path, *, clip: str | None = None, unit: str | float = "m", frame_rate: float | None = None
) -> Character | Motion | MeshSequence:
    """What a glTF file holds.

    A skinned mesh is a :class:`Character` with one motion for each animation; any other mesh is a
    :class:`MeshSequence`, moved by its morph targets and nodes (one frame if nothing moves); nodes
    that move without a mesh are a :class:`Motion`. Several meshes are merged into one. Frames are those
    of the file's keys where they are evenly spaced, else 30 a second.

    clip: only the animation of that name (default: all of a character, the first of anything else)
    unit: what a length of 1 in the file stands for, for files that are not in metres as they should be
    frame_rate: frames per second to sample the animations at, instead of the file's own

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "triangle.glb"
    >>> write(MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 25), path)
    >>> read(path).frame_rate, read(path, unit="cm").vertices.max() == np.float32(0.01)
    (25.0, np.True_)
    """
    rate = None if frame_rate is None else checked_rate(frame_rate)
    return _read(Path(path), clip, unit_size(unit), rate)[0]


def facts(path: Path) -> dict[str, object]:
    """What a file holds, and the names of its animations where only one of several is read."""
    from marey.io.formats import facts_of

    data, names = _read(path, None, 1.0, None)
    found = facts_of(data)
    return found if "clips" in found or len(names) < 2 else {**found, "clips": names}


def read_compressed(
    path: Path, *, clip: str | None, unit: float, frame_rate: float | None
) -> Character | Motion | MeshSequence:
    """What a file holds whose meshes a native library decodes, read in this process."""
    return _read(path, clip, unit, frame_rate, decode_here=True)[0]


def _read(
    path: Path, clip: str | None, unit: float, frame_rate: float | None, *, decode_here: bool = False
) -> tuple[Character | Motion | MeshSequence, list[str]]:
    """What a file holds, and the names of its animations."""
    with closing(open_document(path)) as document:
        if document.is_compressed and not decode_here:
            require("DracoPy", extra="draco")
            options = {"clip": clip, "unit": unit, "frame_rate": frame_rate}
            names = [one.name for one in read_clips(document)]
            return _isolated.read(read_compressed, path, _ALLOWANCE, kind="glTF", **options), names
        scene = opened(document, clip=clip, unit=unit, frame_rate=frame_rate)
        try:
            # Absurd numbers overflow; what comes of them is refused as not finite by the data types.
            with np.errstate(all="ignore"):
                return read_scene(scene), [one.name for one in scene.clips]
        except (InputError, np.linalg.LinAlgError) as error:
            raise FormatError(str(error), path=path) from error


def write(
    data: Character | Motion | MeshSequence,
    path: Path,
    *,
    normals: bool = True,
    max_error: float | None = None,
) -> None:
    """Write a glTF file, metres and y up; `.glb` is one binary, `.gltf` is JSON with everything inside.

    A motion is written as a skin of simple bones, so that other programs show it and import an armature;
    :func:`read` gives the motion back. A character keeps all its motions. A short mesh sequence becomes one
    morph target for every frame but the first, 12 bytes for each vertex and frame and as much again for its
    normals. A long one would be large and play nowhere: it becomes a few shapes, their weights over time
    and a node that goes along the ground, which a note says. Of several textures only the first is kept.

    normals: with False the frames of a sequence have none; viewers then shade its faces flat
    max_error: how far a vertex may be from its place for the sake of fewer shapes, metres; 0 keeps every
        frame as it is; if None, 0 up to 100 frames and 1 mm above

    >>> import marey, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "arm.glb"
    >>> arm = marey.Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 1.4, 0], [0.3, 0, 0]])
    >>> write(marey.Motion(arm, [[[1, 0, 0, 0]] * 2] * 3, [[0, 1.4, 0]] * 3, 30), path)
    >>> read(path).skeleton.names
    ('shoulder', 'elbow')
    """
    builder = Builder()
    if isinstance(data, Motion):
        roots = build_motion(builder, data)
    elif isinstance(data, Character):
        roots = build_character(builder, data)
    else:
        bound = _allowed(data, max_error)
        shapes = shapes_of(data, bound) if bound and data.frames > 2 else None
        if shapes is None:
            roots = build_sequence(builder, data, normals=normals)
        else:
            roots = build_shapes(builder, data, shapes, normals=normals)
            message = (
                f"{path}: {data.frames} frames are stored as {len(shapes.targets)} shapes, no vertex more "
                f"than {1000 * shapes.error:.2g} mm off; max_error=0 (--max-error 0) stores every frame"
            )
            if max_error is None:
                warnings.warn(MareyWarning(message), stacklevel=2)
    builder.save(Path(path), roots=roots)


def _allowed(sequence: MeshSequence, max_error: float | None) -> float:
    if max_error is None:
        return UNSEEN if sequence.frames > MOST_EXACT_FRAMES else 0.0
    if not (np.isfinite(max_error) and max_error >= 0):
        raise InputError(f"max_error: a length in metres, 0 or more, got {max_error}")
    return float(max_error)


def read_scene(scene: Scene) -> Character | Motion | MeshSequence:
    """What the file holds: skinned meshes make a character, other meshes a sequence, bare nodes a motion."""
    if scene.skinned_nodes:
        if all(_is_figure(scene, node) for node in scene.mesh_nodes):
            return read_motions(scene, _joints(scene, set()))[0]
        return read_character(scene)
    if scene.mesh_nodes:
        return read_sequence(scene)
    moving = {node for clip in scene.clips for node, path in clip.tracks if path != "weights"}
    if not moving:
        raise scene.broken("holds neither a mesh nor an animation")
    return read_motions(scene, scene.nodes.skeleton_over(scene.nodes.with_descendants(moving)))[0]


def read_character(scene: Scene) -> Character:
    """All skinned meshes as one, with every animation of their joints."""
    attached = _attached_nodes(scene)
    joints = _joints(scene, {node for node in attached if _moves_by_itself(scene, node)})
    parts = read_parts(scene, [*scene.skinned_nodes, *attached])
    if not parts:
        raise scene.broken("the skinned mesh has no triangles")
    if any(path == "weights" for clip in scene.clips for _, path in clip.tracks):
        scene.note("animated morph weights of a skinned mesh are left out")
    skin = read_skin(scene, parts, joints)
    return Character(skin, read_motions(scene, joints, rigid=True), name=scene.document.path.stem)


def read_motions(scene: Scene, joints: list[int], *, rigid: bool = False) -> tuple[Motion, ...]:
    """One motion for every animation that moves the joints; the pose at rest if none does.

    rigid: note animations that scale joints, since a skin would show it
    """
    nodes, unit = scene.nodes, scene.convention.unit
    rotations, positions, _ = _local_poses(nodes, joints, nodes.rest.__getitem__, 1)
    column = {joint: i for i, joint in enumerate(joints)}
    skeleton = Skeleton(
        tuple(nodes.names[joint] for joint in joints),
        np.array([-1, *(column[nodes.parents[joint]] for joint in joints[1:])]),
        positions[0] * unit,
        *_end_sites(scene, joints),
    )
    still = Motion(
        skeleton,
        rotations,
        positions[:, 0] * unit,
        scene.frame_rate or DEFAULT_RATE,
        convention=scene.convention,
        name=scene.document.path.stem,
    )
    motions, scaled = [], set[int]()
    for clip in scene.clips:
        tracks = _tracks_of(clip, {*joints, *nodes.ancestors(joints[0])})
        if tracks:
            motions.append(_read_motion(scene, joints, skeleton, clip, tracks, rigid, scaled))
    if scaled:
        listed = ", ".join(f"{scene.nodes.names[joint]!r:.60}" for joint in sorted(scaled)[:3])
        scene.note(
            f"its animations scale {len(scaled)} joints ({listed}{', …' * (len(scaled) > 3)}); "
            "marey's joints are rigid, so the skin is not scaled with them"
        )
    return tuple(motions) or (still,)


def read_sequence(scene: Scene) -> MeshSequence:
    """All meshes as one, moved by their nodes and morph targets at every frame of the first animation."""
    nodes = scene.nodes
    parts = read_parts(scene, scene.mesh_nodes)
    if not parts:
        raise scene.broken("its meshes have no triangles")
    ancestry = {ancestor for part in parts for ancestor in nodes.ancestors(part.node)}
    clip = next((c for c in scene.clips if _tracks_of(c, ancestry) or _weights_of(c, parts)), None)
    frames = None
    if clip is not None:
        tracks = [*_tracks_of(clip, ancestry), *_weights_of(clip, parts)]
        frames = frames_of(clip, tracks, len(ancestry), scene.frame_rate)
    count, total = 1 if frames is None else len(frames.times), sum(len(p.positions) for p in parts)
    if count * total * 3 > LIMITS.values:
        advice = "give a lower frame_rate (--from-frame-rate)"
        raise scene.broken(f"{count} frames of {total} vertices are too many; {advice}")
    local = nodes.rest.__getitem__ if frames is None or clip is None else frames.sampler(clip, nodes)
    vertices = _arrays.empty((count, total, 3), np.float32)
    places: dict[int, Place] = {}
    start = 0
    for part in parts:
        block = vertices[:, start : start + len(part.positions)]
        start += len(part.positions)
        block[:] = part.positions
        track = None if clip is None else clip.tracks.get((part.node, "weights"))
        weights = part.default_weights[None] if track is None or frames is None else frames.sampled(track)
        _add_displacements(block, part, weights)
        if part.node not in places:
            places[part.node] = _placed_in_world(nodes, part.node, local)
        if not np.array_equal(part.instance, np.eye(4)):
            block[:] = block @ part.instance[:3, :3].T + part.instance[:3, 3]
        _carry(block, places[part.node], scene.convention.unit)
    look = appearance(parts)
    return MeshSequence(
        read_only(vertices),
        look.faces,
        DEFAULT_RATE if frames is None else frames.rate,
        uv=look.uv,
        uv_faces=look.uv_faces,
        colours=look.colours,
        textures=() if look.texture is None else (look.texture,),
        convention=scene.convention,
        name=scene.document.path.stem if clip is None else clip.name,
    )


def _read_motion(
    scene: Scene,
    joints: list[int],
    skeleton: Skeleton,
    clip: Clip,
    tracks: list[Track],
    rigid: bool,
    scaled: set[int],
) -> Motion:
    nodes, unit = scene.nodes, scene.convention.unit
    frames = frames_of(clip, tracks, len(joints), scene.frame_rate)
    local = frames.sampler(clip, nodes)
    rotations, positions, stretches = _local_poses(nodes, joints, local, len(frames.times))
    if rigid:
        scaled |= {joint for joint, stretch in zip(joints, stretches) if _scaled(scene, joint, stretch)}
    positions *= unit
    away = np.abs(positions[:, 1:] - skeleton.offsets[1:]).max(initial=0)
    sliding = away > 1e-5 * np.abs(skeleton.offsets[1:]).max(initial=0)
    return Motion(
        skeleton,
        rot.continuous(rotations, axis=0),
        positions[:, 0],
        frames.rate,
        translations=positions if sliding else None,
        convention=scene.convention,
        name=clip.name,
    )


def _local_poses(
    nodes: Nodes, joints: list[int], local: Callable[[int], Place], frames: int
) -> tuple[Array, Array, list[Array | None]]:
    """Rotations and positions of rigid joints in their parents' frames, and what is left: stretches.

    The root's are those in the world.
    """
    rotations, positions = np.empty((frames, len(joints), 4)), np.empty((frames, len(joints), 3))
    root = _placed_in_world(nodes, joints[0], local)
    rotations[:, 0], positions[:, 0] = root.rotation, root.position
    stretches = {joints[0]: root.stretch}
    for column, joint in enumerate(joints[1:], start=1):
        own, above = local(joint), stretches[nodes.parents[joint]]
        rotations[:, column] = own.rotation
        positions[:, column] = stretched(above, own.position)
        stretches[joint] = carried_stretch(above, own)
    return rotations, positions, [stretches[joint] for joint in joints]


def _placed_in_world(nodes: Nodes, node: int, local: Callable[[int], Place]) -> Place:
    world, *below = reversed(nodes.ancestors(node))
    place = local(world)
    for ancestor in below:
        place = place.child(local(ancestor))
    return place


def _scaled(scene: Scene, joint: int, stretch: Array | None) -> bool:
    """Whether a clip scales a joint so that its skin would show it."""
    at_rest = scene.rest[joint].stretch
    now = np.eye(3) if stretch is None else stretch
    then = np.eye(3) if at_rest is None else at_rest
    return bool(np.abs(now - then).max() > 1e-4 * np.abs(then).max())


def _joints(scene: Scene, others: set[int]) -> list[int]:
    """The skeleton of the skinned meshes, parents first; in the skin's own order where that is so."""
    skins = [skin for node in scene.skinned_nodes if (skin := scene.skin(node)) is not None]
    listed = [scene.skin_joints(skin) for skin in skins]
    joints = scene.nodes.skeleton_over(others.union(*listed))
    place = {joint: i for i, joint in enumerate(listed[0])}
    if place.keys() == set(joints):
        parents = scene.nodes.parents
        if all(place[parents[joint]] < place[joint] for joint in joints[1:]):
            return listed[0]
    return joints


def _attached_nodes(scene: Scene) -> list[int]:
    """Meshes without a skin that hang on a joint: a hat, a sword."""
    joints = set(_joints(scene, set()))
    bare = [node for node in scene.mesh_nodes if "skin" not in scene.values(node)]
    attached = [node for node in bare if joints.intersection(scene.nodes.ancestors(node))]
    if len(attached) < len(bare):
        scene.note(f"{len(bare) - len(attached)} meshes that hang on no joint of the character are left out")
    return attached


def _moves_by_itself(scene: Scene, node: int) -> bool:
    """Whether an attached mesh moves against the joint above it."""
    joints = set(_joints(scene, set()))
    for ancestor in scene.nodes.ancestors(node):
        if ancestor in joints:
            return False
        if any(clip.moves(ancestor) for clip in scene.clips):
            return True
    return False


def _tracks_of(clip: Clip, nodes: set[int]) -> list[Track]:
    return [track for (node, path), track in clip.tracks.items() if node in nodes and path != "weights"]


def _weights_of(clip: Clip, parts: list[Part]) -> list[Track]:
    wanted = {part.node for part in parts if part.targets}
    return [track for (node, path), track in clip.tracks.items() if node in wanted and path == "weights"]


def _add_displacements(block: NDArray[np.float32], part: Part, weights: Array) -> None:
    if weights.shape[1] != len(part.targets):
        part.entry.fail("targets", f"{weights.shape[1]} animated weights for {len(part.targets)} targets")
    weights = np.broadcast_to(weights, (len(block), len(part.targets))).astype(np.float32)
    for target in range(len(part.targets)):
        rows = np.flatnonzero(weights[:, target])
        moved = part.displacement(target) if rows.size else None
        if moved is not None:
            for row in rows:
                block[row] += weights[row, target] * moved


def _carry(block: NDArray[np.float32], place: Place, unit: float) -> None:
    """Move the vertices `(frames, vertices, 3)` of a node's mesh into the world, in place."""
    linear, position = place.linear() * unit, place.position * unit
    if np.array_equal(linear, np.eye(3)[None]) and not position.any():
        return
    for frame in range(len(block)):
        at = min(frame, len(linear) - 1), min(frame, len(position) - 1)
        block[frame] = block[frame] @ linear[at[0]].T + position[at[1]]


def _end_sites(scene: Scene, joints: list[int]) -> tuple[NDArray[np.int64], Array]:
    """End sites that marey noted on the joints' nodes when it wrote the file."""
    parents, offsets = [], []
    for column, joint in enumerate(joints):
        extras = scene.values(joint).get("extras")
        noted = extras.get("marey_end_sites") if isinstance(extras, dict) else None
        for site in noted if isinstance(noted, list) else []:
            parents.append(column)
            offsets.append(checked("end site", site, (3,)))
    sites = np.reshape(np.array(offsets, dtype=np.float64), (-1, 3))
    return np.array(parents, dtype=np.int64), sites * scene.convention.unit


def _is_figure(scene: Scene, node: int) -> bool:
    """Whether the mesh is the stick figure that marey draws around a bare motion."""
    mesh = scene.mesh(node)
    extras = None if mesh is None else mesh.values.get("extras")
    return isinstance(extras, dict) and extras.get("marey_figure") is True
