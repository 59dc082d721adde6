"""A recorded clip on a rigged mesh of other proportions, with the soles on the ground y = 0.

:func:`marey.body.retarget.retarget` puts the clip on the joints that the mesh is bound to; the mesh then says
where the ground is. Cost: the retargeting and skinning of the feet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.body.anatomy import anatomy
from marey.body.kinematics import GlobalPose
from marey.body.motion import Motion
from marey.body.retarget import retarget
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.surface import skinning

# Percentage of the frames whose lowest point may be below the ground: noise, or a foot that digs in.
BELOW_GROUND = 20
# Metres by which the bones of a clip may differ from the character's and still be the same.
SAME = 1e-4


def skin_clip(character: Character, motion: Motion) -> Character:
    """The character performing the clip, feet on the ground y = 0.

    Args:
        character: a rigged mesh.
        motion: a clip of a human figure, whatever its joints are called, or of a figure with the character's
            joint names. A clip of the character's own skeleton is taken as it is.

    Returns:
        The character with the retargeted clip as its only one.

    >>> import marey
    >>> walk = marey.samples.walk(seconds=0.5, stature=1.9)
    >>> skinned = skin_clip(marey.samples.human(), walk)
    >>> bool(abs(skinned.pose().bounds[0][1]) < 0.01)
    True
    """
    if _is_own(character, motion):
        return character.with_motion(motion)
    retargeted = retarget(motion, *rest_pose(character))
    skinned = character.with_motion(retargeted)
    return skinned.with_motion(retargeted.transform(translation=(0.0, -ground_height(skinned), 0.0)))


def ground_height(character: Character) -> float:
    """Height of the ground under the feet in a character's first clip, metres.

    Of the lowest vertices of all frames a low one but not the lowest, so that jumps stay in the air and a few
    bad frames do not matter.
    """
    skin = character.skin
    low = _foot_vertices(character)
    positions = skinning.skin(
        skin.vertices[low], skin.influences[low], skin.weights[low], character.bone_transforms()
    )
    return float(np.percentile(positions[..., 1].min(axis=1), BELOW_GROUND))


def rest_pose(character: Character) -> tuple[Skeleton, GlobalPose]:
    """The joints a mesh is bound to, as a skeleton, and their world frames at rest (one frame)."""
    skin, own = character.skin, character.motion.skeleton
    bind = np.asarray(skin.bind, np.float64)
    if np.abs(bind[:, :3, :3].transpose(0, 2, 1) @ bind[:, :3, :3] - np.eye(3)).max() > 0.01:
        raise InputError("the character's joints are scaled at rest; apply the scale first")
    order = sorted(range(len(skin.joint_names)), key=lambda j: own.index(skin.joint_names[j]))
    names = [skin.joint_names[j] for j in order]
    parents = []
    for name in names:
        above = [own.names[a] for a in own.ancestors(own.index(name)) if own.names[a] != name]
        parents.append(next((names.index(a) for a in above if a in names), -1))
    if parents.count(-1) != 1:
        raise InputError("the mesh hangs on several roots; a body has one")
    bind = bind[order]
    rotations, positions, tree = so3.from_matrix(bind[:, :3, :3]), bind[:, :3, 3], np.array(parents)
    offsets = so3.rotate(so3.inverse(rotations[tree]), positions - positions[tree])
    offsets[0] = 0.0
    rest = GlobalPose(positions=positions[None], rotations=rotations[None])
    return Skeleton(tuple(names), tree, offsets), rest


def _is_own(character: Character, motion: Motion) -> bool:
    own, given = character.motion.skeleton, motion.skeleton
    if own.names != given.names or not np.array_equal(own.parents, given.parents):
        return False
    return bool(np.abs(own.offsets - given.offsets)[1:].max(initial=0.0) < SAME)


def _foot_vertices(character: Character) -> NDArray[np.int64]:
    """Vertices that mostly follow the feet; all of them, if the mesh has no feet."""
    skin, own = character.skin, character.motion.skeleton
    joints = {own.names[j] for leg in anatomy(own).legs for j in (leg.end, leg.tip) if j >= 0}
    followed = np.isin(skin.influences, [i for i, name in enumerate(skin.joint_names) if name in joints])
    feet = np.flatnonzero((skin.weights * followed).sum(axis=1) > 0.5)
    return feet if feet.size else np.arange(len(skin.vertices))
