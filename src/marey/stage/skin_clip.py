"""A recorded clip on a rigged mesh of other proportions, with the soles on the ground y = 0.

:func:`marey.body.retarget.retarget` puts the clip on the joints that the mesh is bound to; the mesh then says
where the ground is. Several clips make the captured surface of one subject: skinned, decimated once, posed
(4D data from mocap). Cost: the retargeting, one decimation, and skinning, linear in frames × vertices; 2,600
frames of 5,000 vertices take about 5 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from marey._work import Progress
from marey.body.anatomy import anatomy
from marey.body.kinematics import GlobalPose
from marey.body.motion import Motion
from marey.body.retarget import retarget
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.surface import skinning
from marey.surface.decimation import Decimation, diverse_poses
from marey.surface.sequence import Library

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
    own, given = character.motion.skeleton, motion.skeleton
    same = own.names == given.names and np.array_equal(own.parents, given.parents)
    if same and np.abs(own.offsets - given.offsets)[1:].max(initial=0.0) < SAME:
        return character.with_motion(motion)
    retargeted = retarget(motion, *rest_pose(character))
    skinned = character.with_motion(retargeted)
    return skinned.with_motion(retargeted.transform(translation=(0.0, -ground_height(skinned), 0.0)))


def ground_height(character: Character) -> float:
    """Height of the ground under the feet in a character's first clip, metres.

    Of the lowest vertices of all frames a low one but not the lowest, so that jumps stay in the air and a few
    bad frames do not matter.
    """
    skin, own = character.skin, character.motion.skeleton
    joints = {own.names[j] for leg in anatomy(own).legs for j in (leg.end, leg.tip) if j >= 0}
    followed = np.isin(skin.influences, [i for i, name in enumerate(skin.joint_names) if name in joints])
    # Vertices that mostly follow the feet; all of them, if the mesh has no feet.
    low = (skin.weights * followed).sum(axis=1) > 0.5
    low = low if low.any() else np.ones(len(low), dtype=bool)
    bones = character.bone_transforms()
    positions = skinning.skin(skin.vertices[low], skin.influences[low], skin.weights[low], bones)
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


# Poses of every clip that the decimation may use.
POSES = 6


def skin(
    character: Character,
    motions: Sequence[Motion],
    *,
    labels: Sequence[str] = (),
    vertices: int | None = None,
    frame_rate: float = 30.0,
    method: str = "linear",
    progress: Progress | None = None,
) -> Library:
    """The character's surface in all clips, one sequence each, in single precision.

    Args:
        character: a rigged mesh.
        motions: clips, as for :func:`skin_clip`.
        labels: the behaviour each shows; their names, if not given.
        vertices: most vertices to keep, chosen for the poses of the clips; all, if None.
        frame_rate: of the sequences, frames a second.
        method: "linear", or "dual_quaternion", which keeps the volume of twisting limbs.
        progress: called with sequences done and in all.

    >>> import marey
    >>> walks = [marey.samples.walk(seconds=0.4, speed=v, stature=1.6) for v in (1.0, 1.5)]
    >>> skin(marey.samples.human(), walks, vertices=600).vertices(0).shape
    (600, 3)
    """
    skinned = []
    for motion in motions:
        try:
            skinned.append(skin_clip(character, motion.resample(frame_rate)))
        except InputError as error:
            raise InputError(f"{motion.name or 'clip'}: {error}") from error
    skin = character.skin
    if vertices is not None and vertices < len(skin.vertices):
        few = []
        for one in skinned:
            some = slice(None, None, max(1, one.frames // POSES))
            few.append(replace(one.pose(frames=some, method=method, dtype=np.float32), frame_rate=1.0))
        poses = diverse_poses(Library(tuple(few)))
        skin = Decimation.of(skin, vertices=vertices, poses=poses).apply(skin)
    sequences = []
    for done, one in enumerate(skinned, start=1):
        sequences.append(replace(one, skin=skin).pose(method=method, dtype=np.float32))
        if progress is not None:
            progress(done, len(skinned))
    return Library(tuple(sequences), tuple(labels))
