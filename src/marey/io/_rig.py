"""What the writers of glTF and USD share: the pose a skeleton rests in, and one binding a joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.geometry import rotations as rot
from marey.io._gltf_nodes import homogeneous, rigid_part
from marey.surface.skin import SkinnedMesh

Array = NDArray[np.float64]


def with_single_bindings(character: Character) -> Character:
    """The same character with no joint bound twice: a second binding goes to a still joint below it.

    Meshes that were bound at different times and then merged bind a joint in several ways, for which the
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
