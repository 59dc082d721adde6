"""What the writers of glTF and USD share: the rest pose, one binding a joint, a stick figure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marey._arrays import Array, FloatArray, IntArray
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.geometry import rotations as rot
from marey.io._gltf_nodes import homogeneous, rigid_part
from marey.surface.skinning import SkinnedMesh

# How far along a bone it is thickest, and how thick, in parts of its length; and the largest half width.
_WAIST, _HALF_WIDTH, _LARGEST = 0.12, 0.09, 0.04

# Triangles of an octahedron: head 0, waist 1-4, tail 5.
_TRIANGLES = np.array(
    [[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 1, 4], [5, 1, 2], [5, 2, 3], [5, 3, 4], [5, 4, 1]]
)


def with_single_bindings(character: Character) -> Character:
    """The same character with no joint bound twice: a second binding goes to a still joint below it.

    Meshes that were bound at different times and then merged bind a joint more than once, for which the
    file formats have no word.
    """
    names = list(character.skin.joint_names)
    again = [i for i, name in enumerate(names) if name in names[:i]]
    if not again:
        return character
    parents = [names[i] for i in again]
    for i in again:
        names[i] = f"{names[i]}.{i}"
    below = [names[i] for i in again]
    return replace(
        character,
        skin=replace(character.skin, joint_names=tuple(names)),
        motions=tuple(_with_still_joints(motion, below, parents) for motion in character.motions),
    )


def pose_of_bind(skin: SkinnedMesh, skeleton: Skeleton) -> tuple[Array, FloatArray]:
    """Local rotations `(joints, 4)` and root position at which the joints stand as they were bound.

    Joints to which nothing is bound go with their parents.
    """
    bound = dict(zip(skin.joint_names[::-1], skin.bind[::-1]))
    local, world = rot.identity(skeleton.joints), rot.identity(skeleton.joints)
    for joint, name in enumerate(skeleton.names):
        parent = int(skeleton.parents[joint])
        above = rot.identity() if parent < 0 else world[parent]
        world[joint] = rigid_part(bound[name][:3, :3]) if name in bound else above
        local[joint] = rot.multiply(rot.inverse(above), world[joint])
    root = bound.get(skeleton.names[0])
    return local, skeleton.offsets[0] if root is None else root[:3, 3]


def local_at_rest(skeleton: Skeleton, rotations: FloatArray, root: FloatArray) -> Array:
    """Transforms `(joints, 4, 4)` in their parents' frames of a pose of local rotations `(joints, 4)`."""
    positions = np.concatenate([root[None], skeleton.offsets[1:]])
    return homogeneous(rot.to_matrix(rotations), positions)


def world_at_rest(skeleton: Skeleton, rotations: FloatArray, root: FloatArray) -> Array:
    """The same in the world."""
    local = local_at_rest(skeleton, rotations, root)
    world = np.empty_like(local)
    for joint, parent in enumerate(skeleton.parents):
        world[joint] = local[joint] if parent < 0 else world[parent] @ local[joint]
    return world


def _with_still_joints(motion: Motion, names: list[str], parents: list[str]) -> Motion:
    skeleton, count = motion.skeleton, len(names)
    rotations = np.concatenate([motion.rotations, rot.identity((motion.frames, count))], axis=1)
    translations = motion.translations
    if translations is not None:
        translations = np.concatenate([translations, np.zeros((motion.frames, count, 3))], axis=1)
    extended = replace(
        skeleton,
        names=(*skeleton.names, *names),
        parents=np.concatenate([skeleton.parents, skeleton.indices(parents)]),
        offsets=np.concatenate([skeleton.offsets, np.zeros((count, 3))]),
    )
    return replace(motion, skeleton=extended, rotations=rotations, translations=translations, channels=None)


def bones(motion: Motion) -> tuple[Array, IntArray]:
    """Corners of the bones in their joints' frames `(8 * 3 * bones, 3)`, and each corner's joint.

    Every three corners are a triangle.

    >>> from marey import Motion, Skeleton
    >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 1.4, 0], [0.3, 0, 0]])
    >>> corners, joints = bones(Motion(arm, [[[1, 0, 0, 0]] * 2], [[0, 1.4, 0]], 30))
    >>> corners.shape, float(corners[:, 0].max()), set(joints.tolist())
    ((24, 3), 0.3, {0})
    """
    owners, tips = _segments(motion)
    if not len(tips):
        owners, tips = np.array([0]), np.array([[0.0, 0.1, 0.0]])
    length = np.linalg.norm(tips, axis=1, keepdims=True)
    along = tips / length
    across = np.cross(along, np.eye(3)[np.abs(along).argmin(axis=1)])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    width = np.minimum(_HALF_WIDTH * length, _LARGEST)
    side, front = across * width, np.cross(along, across) * width
    waist = _WAIST * tips
    octahedra = np.stack(
        [np.zeros_like(tips), waist + side, waist + front, waist - side, waist - front, tips], axis=1
    )
    corners = octahedra[:, _TRIANGLES].reshape(-1, 3)
    return corners, np.repeat(owners, 3 * len(_TRIANGLES))


def _segments(motion: Motion) -> tuple[IntArray, FloatArray]:
    """Joints and, in their frames, the children and end sites they lead to."""
    skeleton = motion.skeleton
    offsets = skeleton.offsets
    if motion.translations is not None:
        offsets = np.median(motion.translations, axis=0)
    owners = np.concatenate([skeleton.parents[1:], skeleton.end_parents])
    tips = np.concatenate([offsets[1:], skeleton.end_offsets])
    long = np.linalg.norm(tips, axis=1) > 1e-4
    return owners[long], tips[long]
