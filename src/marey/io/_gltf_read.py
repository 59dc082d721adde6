"""From the parts of a glTF file to marey's types: a motion, a character, or a mesh sequence.

Transforms above a skeleton are folded into its root, constant scales into the skin, so that every joint
and vertex is where the file puts it in the world (glTF 2.0, section 3.7.3). Cost: linear in frames ×
joints, for mesh sequences in frames × vertices.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from marey import _arrays
from marey._arrays import Array, checked, read_only
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.geometry import rotations as rot
from marey.io._gltf_meshes import Part, appearance, read_parts, read_skin
from marey.io._gltf_nodes import (
    USUAL_RATE,
    Clip,
    Local,
    Nodes,
    Placed,
    Scene,
    Track,
    carried_stretch,
    frames_of,
    placed,
    stretched,
)
from marey.io._limits import LIMITS
from marey.surface.sequence import MeshSequence

# A joint's translation that stays this near to its offset, in parts of the largest offset, is still.
_STILL = 1e-5
# How far a joint's scale may be from the one at rest before the skin is visibly wrong.
_SAME_STRETCH = 1e-4


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

    rigid: refuse animations that scale joints, since a skin would show it
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
        scene.frame_rate or USUAL_RATE,
        convention=scene.convention,
        name=scene.document.path.stem,
    )
    motions = []
    for clip in scene.clips:
        tracks = _tracks_of(clip, {*joints, *nodes.ancestors(joints[0])})
        if tracks:
            motions.append(_read_motion(scene, joints, skeleton, clip, tracks, rigid))
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
        raise scene.broken(f"{count} frames of {total} vertices are too many; give a lower frame_rate")
    local = nodes.rest.__getitem__ if frames is None or clip is None else frames.sampler(clip, nodes)
    vertices = _arrays.empty((count, total, 3), np.float32)
    places: dict[int, Placed] = {}
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
        _carry(block, places[part.node], scene.convention.unit)
    look = appearance(parts)
    return MeshSequence(
        read_only(vertices),
        look.faces,
        USUAL_RATE if frames is None else frames.rate,
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
) -> Motion:
    nodes, unit = scene.nodes, scene.convention.unit
    frames = frames_of(clip, tracks, len(joints), scene.frame_rate)
    local = frames.sampler(clip, nodes)
    rotations, positions, stretches = _local_poses(nodes, joints, local, len(frames.times))
    if rigid:
        for joint, stretch in zip(joints, stretches):
            _check_same_stretch(scene, joint, stretch, clip)
    positions *= unit
    away = np.abs(positions[:, 1:] - skeleton.offsets[1:]).max(initial=0)
    sliding = away > _STILL * np.abs(skeleton.offsets[1:]).max(initial=0)
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
    nodes: Nodes, joints: list[int], local: Callable[[int], Local], frames: int
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
        positions[:, column] = stretched(above, own.translation)
        stretches[joint] = carried_stretch(above, own)
    return rotations, positions, [stretches[joint] for joint in joints]


def _placed_in_world(nodes: Nodes, node: int, local: Callable[[int], Local]) -> Placed:
    place = None
    for ancestor in reversed(nodes.ancestors(node)):
        place = placed(place, local(ancestor))
    assert place is not None
    return place


def _check_same_stretch(scene: Scene, joint: int, stretch: Array | None, clip: Clip) -> None:
    at_rest = scene.rest[joint].stretch
    now = np.eye(3) if stretch is None else stretch
    then = np.eye(3) if at_rest is None else at_rest
    if np.abs(now - then).max() > _SAME_STRETCH * np.abs(then).max():
        raise scene.broken(
            f"animation {clip.name!r:.60} scales joint {scene.nodes.names[joint]!r:.60}; marey's joints are "
            "rigid: remove the scale keys (or apply the armature's scale) in the program that made the file"
        )


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


def _carry(block: NDArray[np.float32], place: Placed, unit: float) -> None:
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
