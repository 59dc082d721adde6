"""A recorded clip put on a rigged mesh of other proportions, so that any motion capture yields 4D data.

Joints are matched by name, or by the part of the body they are. Each takes the world rotation of its
namesake after one alignment of the two rest poses: the trunk by the body's left and up, the bones of arms and
legs by their direction, the feet by their heading. The path is scaled by the ratio of leg lengths, the legs
then bend so that the balls of the feet go where the actor's went, to that scale, and the soles are laid on
the ground y = 0. Cost: milliseconds a second of motion.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from marey.body.contacts import contacts, feet
from marey.body.kinematics import GlobalPose, forward_kinematics, global_frames
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.body.two_bone import Leg, bend_leg, legs
from marey.character import Character
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.stage.humanoid import NAMES, humanoid
from marey.surface import skinning

Array = NDArray[np.float64]

# Ends of the names of limb bones, and of the joint they lead to; longer ends first.
LIMBS = (("UpLeg", "Leg"), ("ForeArm", "Hand"), ("Leg", "Foot"), ("Arm", "ForeArm"))
FEET = ("Foot", "ToeBase")
# Share of the frames whose lowest point may be below the ground: noise, or a foot that digs in.
BELOW_GROUND = 20
# Metres and radians by which a clip's bones may differ from the character's own and still be the same.
SAME = 1e-4
# Slope of captured floors, metres by which standing joints go up and down, and by which a floor may rise.
LIKELY_SLOPE, NOISE, MOST_RISE = 0.02, 0.01, 0.15
# Share of the mesh's joints which the clip must have.
ENOUGH = 0.5


def dress(character: Character, motion: Motion) -> Character:
    """The character doing what the actor of `motion` did, feet on the ground y = 0.

    A clip whose joints have other names than the character's is taken if it shows a human figure; see
    :mod:`marey.stage.humanoid`. A clip of the character's own skeleton is taken as it is.

    >>> import marey
    >>> walk = marey.samples.walk(seconds=0.5, stature=1.9)
    >>> dressed = dress(marey.samples.human(), walk)
    >>> bool(abs(dressed.pose().bounds[0][1]) < 0.01)
    True
    """
    if _is_own(character, motion):
        return character.with_motion(motion)
    skeleton, rest = rest_pose(character)
    motion = _fitting(skeleton, motion)
    source = motion.skeleton
    pose = forward_kinematics(motion)
    turns = _world_turns(skeleton, rest, source, pose)
    rotations = _local(turns, rest, skeleton)
    root = pose.positions[:, source.index(skeleton.names[0])]
    pairs = _leg_pairs(skeleton, source)
    if pairs:
        actor = _levelled(motion, pose.positions)
        scale = _leg_length(rest.positions[0], pairs, 0) / _leg_length(_rest_places(source), pairs, 1)
        centre = scale * _hip_centre(actor, pairs, 1) + _room_for_feet(turns, rest, source, pairs, scale)
        drawn = global_frames(skeleton.parents, skeleton.offsets, rotations, centre)
        root = 2 * centre - _hip_centre(drawn.positions, pairs, 0)
        _plant(rotations, skeleton, root, actor, pairs, scale)
    worn = Motion(skeleton, so3.continuous(rotations), root, motion.frame_rate, name=motion.name)
    dressed = character.with_motion(worn)
    lifted = worn.transform(translation=(0.0, -ground_height(dressed), 0.0))
    return dressed.with_motion(lifted)


def ground_height(character: Character) -> float:
    """Height of the ground that the feet of a character's first clip stand on, metres.

    The lowest vertex of every frame, and of those a low but not the lowest one: jumps stay in the air, and
    a few bad frames lift nobody.
    """
    skin = character.skin
    low = _foot_vertices(character)
    places = skinning.skin(
        skin.vertices[low], skin.influences[low], skin.weights[low], character.bone_transforms()
    )
    return float(np.percentile(places[..., 1].min(axis=1), BELOW_GROUND))


def rest_pose(character: Character) -> tuple[Skeleton, GlobalPose]:
    """The joints a character's mesh is bound to, as a skeleton, and their frames at rest (one frame)."""
    skin, own = character.skin, character.motion.skeleton
    bind = np.asarray(skin.bind, np.float64)
    if np.abs(bind[:, :3, :3].transpose(0, 2, 1) @ bind[:, :3, :3] - np.eye(3)).max() > 0.01:
        raise InputError("the character's joints are scaled at rest; apply the scale before it is dressed")
    order = sorted(range(len(skin.joint_names)), key=lambda j: own.index(skin.joint_names[j]))
    names = [skin.joint_names[j] for j in order]
    parents = []
    for name in names:
        above = [own.names[a] for a in own.ancestors(own.index(name)) if own.names[a] != name]
        parents.append(next((names.index(a) for a in above if a in names), -1))
    if parents.count(-1) != 1:
        raise InputError("the mesh hangs on several roots; a body has one")
    bind = bind[order]
    turns, places, tree = so3.from_matrix(bind[:, :3, :3]), bind[:, :3, 3], np.array(parents)
    offsets = so3.rotate(so3.inverse(turns[tree]), places - places[tree])
    offsets[0] = 0.0
    return Skeleton(tuple(names), tree, offsets), GlobalPose(positions=places[None], rotations=turns[None])


def _is_own(character: Character, motion: Motion) -> bool:
    own, given = character.motion.skeleton, motion.skeleton
    if own.names != given.names or not np.array_equal(own.parents, given.parents):
        return False
    return bool(np.abs(own.offsets - given.offsets)[1:].max(initial=0.0) < SAME)


def _fitting(skeleton: Skeleton, motion: Motion) -> Motion:
    """The clip with the character's names for its joints."""
    source = motion.skeleton
    missing = [name for name in skeleton.names if name not in source.names]
    if skeleton.names[0] not in missing and len(missing) <= (1 - ENOUGH) * skeleton.joints:
        return motion
    if set(NAMES) <= set(skeleton.names):
        return humanoid(motion)
    raise InputError(
        f"the clip does not fit the character: {len(missing)} of {skeleton.joints} joints are missing, "
        f"first {missing[0]!r}; the clip's begin {', '.join(source.names[:4])}"
    )


def _world_turns(skeleton: Skeleton, rest: GlobalPose, source: Skeleton, pose: GlobalPose) -> Array:
    """What each joint does to the mesh at rest, `(frames, joints, 4)`: alignment, then the clip's turn."""
    places, source_places = rest.positions[0], _rest_places(source)
    trunk = _trunk_alignment(skeleton, places, source, source_places)
    aligned: list[Array] = []
    turns = np.empty((len(pose.rotations), skeleton.joints, 4))
    for joint, name in enumerate(skeleton.names):
        parent = int(skeleton.parents[joint])
        child = _limb_end(name)
        in_limb = child is not None or name.endswith(FEET)
        inherited = aligned[parent] if parent >= 0 else trunk
        start = inherited if _below_a_limb(skeleton, joint) and not name.endswith("Foot") else trunk
        if not in_limb or name not in source.names:
            aligned.append(inherited if _below_a_limb(skeleton, joint) else trunk)
        elif child is not None and child in skeleton.names and child in source.names:
            bone = places[skeleton.index(child)] - places[joint]
            wanted = source_places[source.index(child)] - source_places[source.index(name)]
            aligned.append(_turned_to(start, bone, wanted))
        else:
            aligned.append(_headed(start, skeleton, joint, places, source, source_places))
        if name in source.names:
            turns[:, joint] = so3.multiply(pose.rotations[:, source.index(name)], aligned[joint])
        else:
            turns[:, joint] = turns[:, parent]
    return turns


def _trunk_alignment(skeleton: Skeleton, places: Array, source: Skeleton, source_places: Array) -> Array:
    """The turn that takes the mesh's rest pose to the clip's, by left and up of the bodies."""
    ours, theirs = _body_axes(skeleton, places), _body_axes(source, source_places)
    if ours is None or theirs is None:
        return so3.identity()
    return so3.from_matrix(theirs @ ours.T)


def _body_axes(skeleton: Skeleton, places: Array) -> Array | None:
    """Left, up and front of a rest pose as columns; None for a body without two legs."""
    found = legs(skeleton)
    if len(found) != 2:
        return None
    hips = places[[leg.hip for leg in found]]
    left = hips[0] - hips[1] if "left" in skeleton.names[found[0].hip].lower() else hips[1] - hips[0]
    up = hips.mean(axis=0) - places[[leg.ankle for leg in found]].mean(axis=0)
    if not (np.linalg.norm(left) > SAME and np.linalg.norm(up) > SAME):
        return None
    up = up / np.linalg.norm(up)
    left = left - (left @ up) * up
    left = left / np.linalg.norm(left)
    return np.stack([left, up, np.cross(left, up)], axis=1)


def _turned_to(start: Array, bone: Array, wanted: Array) -> Array:
    """`start`, then the least turn that brings the bone into the direction wanted."""
    if min(np.linalg.norm(bone), np.linalg.norm(wanted)) < SAME:
        return start
    return so3.multiply(so3.between(so3.rotate(start, bone), wanted), start)


def _headed(
    start: Array, skeleton: Skeleton, joint: int, places: Array, source: Skeleton, source_places: Array
) -> Array:
    """A foot's alignment: about the vertical alone, because both feet rest flat."""
    toes = next((c for c in skeleton.children(joint) if skeleton.names[c] in source.names), None)
    if toes is None:
        return start
    bone = so3.rotate(start, places[toes] - places[joint])
    wanted = (
        source_places[source.index(skeleton.names[toes])] - source_places[source.index(skeleton.names[joint])]
    )
    flat = np.array([1.0, 0.0, 1.0])
    if min(np.linalg.norm(bone * flat), np.linalg.norm(wanted * flat)) < SAME:
        return start
    return so3.multiply(so3.between(bone * flat, wanted * flat), start)


def _below_a_limb(skeleton: Skeleton, joint: int) -> bool:
    return any(_limb_end(skeleton.names[a]) for a in skeleton.ancestors(joint) if a != joint)


def _limb_end(name: str) -> str | None:
    """The joint at the end of a limb's bone, if `name` is one."""
    for ending, end in LIMBS:
        if name.endswith(ending):
            return name.removesuffix(ending) + end
    return None


def _local(turns: Array, rest: GlobalPose, skeleton: Skeleton) -> Array:
    """Rotations in the parents' frames from what the joints do to the mesh at rest."""
    world = so3.multiply(turns, rest.rotations)
    local = world.copy()
    below = np.flatnonzero(skeleton.parents >= 0)
    local[:, below] = so3.multiply(so3.inverse(world[:, skeleton.parents[below]]), world[:, below])
    return local


def _leg_pairs(skeleton: Skeleton, source: Skeleton) -> list[tuple[Leg, Leg]]:
    """Legs of the character and the same of the clip."""
    pairs = []
    for leg in legs(skeleton):
        names = [skeleton.names[j] if j >= 0 else "" for j in leg]
        if all(name in source.names for name in names[:3]):
            toe = source.index(names[3]) if names[3] in source.names else -1
            hip, knee, ankle = source.indices(names[:3])
            pairs.append((leg, Leg(hip, knee, ankle, toe)))
    return pairs


def _plant(
    rotations: Array,
    skeleton: Skeleton,
    root: Array,
    actor: Array,
    pairs: list[tuple[Leg, Leg]],
    scale: float,
) -> None:
    """Bend the legs, in place, so that the balls of the feet follow the actor's, to scale."""
    pose = global_frames(skeleton.parents, skeleton.offsets, rotations, root)
    for leg, theirs in pairs:
        ankle = scale * actor[:, theirs.ankle]
        if leg.toe >= 0 and theirs.toe >= 0:
            ankle = scale * actor[:, theirs.toe] + pose.positions[:, leg.ankle] - pose.positions[:, leg.toe]
        bend_leg(rotations, np.asarray(skeleton.parents, np.int64), pose, leg, ankle, None)


def _levelled(motion: Motion, places: Array) -> Array:
    """Places of the joints on level ground: captured floors are tilted by up to a degree or two.

    The ground's slope is the one along which standing feet rise, as far as they show one.
    """
    joints = feet(motion.skeleton)
    if not joints:
        return places
    frame, foot = np.nonzero(contacts(motion, height=MOST_RISE))
    standing = places[:, joints][frame, foot]
    middle = standing[:, 0::2].mean(axis=0) if len(standing) else np.zeros(2)
    # Least squares: one height at rest for ankles, one for toes, and one slope, which is likely to be small.
    toes = np.isin(joints, [leg.toe for leg in legs(motion.skeleton)])[foot]
    terms = np.stack([toes, ~toes, *(standing[:, 0::2] - middle).T], axis=1) / NOISE
    likely = np.eye(4)[2:] / LIKELY_SLOPE
    rise = np.concatenate([standing[:, 1] / NOISE, np.zeros(2)])
    slope = np.linalg.lstsq(np.concatenate([terms, likely]), rise, rcond=None)[0][2:]
    level = places.copy()
    level[..., 1] -= (places[..., 0::2] - middle) @ slope
    return level


def _room_for_feet(
    turns: Array, rest: GlobalPose, source: Skeleton, pairs: list[tuple[Leg, Leg]], scale: float
) -> Array:
    """What the hips have to move by, `(frames, 3)`, because the feet are not to the legs' scale."""
    places, theirs = rest.positions[0], _rest_places(source)
    room = np.zeros((len(turns), 3))
    for leg, other in pairs:
        if leg.toe < 0 or other.toe < 0:
            continue
        foot = so3.rotate(turns[:, 0], places[leg.ankle] - places[leg.toe])
        actors = so3.rotate(turns[:, 0], theirs[other.ankle] - theirs[other.toe])
        difference = foot - scale * actors
        # Height is that of the rest pose: the pelvis may lean, the sole does not.
        difference[:, 1] = (places[leg.ankle] - places[leg.toe])[1]
        difference[:, 1] -= scale * (theirs[other.ankle] - theirs[other.toe])[1]
        room += difference / len(pairs)
    return room


def _leg_length(places: Array, pairs: list[tuple[Leg, Leg]], side: int) -> float:
    """Thigh and shank of a rest pose, mean of the legs, metres."""
    return float(np.mean([sum(_bones(places, pair[side])) for pair in pairs]))


def _bones(places: Array, leg: Leg) -> Iterator[float]:
    yield float(np.linalg.norm(places[leg.knee] - places[leg.hip]))
    yield float(np.linalg.norm(places[leg.ankle] - places[leg.knee]))


def _hip_centre(places: Array, pairs: list[tuple[Leg, Leg]], side: int) -> Array:
    return np.asarray(places[:, [pair[side].hip for pair in pairs]].mean(axis=1))


def _rest_places(skeleton: Skeleton) -> Array:
    """Where the joints are with all rotations at zero, `(joints, 3)`."""
    places = np.array(skeleton.offsets, np.float64)
    for joint in range(1, skeleton.joints):
        places[joint] += places[skeleton.parents[joint]]
    return places


def _foot_vertices(character: Character) -> NDArray[np.int64]:
    """Vertices that mostly follow the feet; all of them, if the mesh has no feet."""
    skin = character.skin
    own = character.motion.skeleton
    joints = {own.names[j] for leg in legs(own) for j in (leg.ankle, leg.toe) if j >= 0}
    pulled = np.isin(skin.influences, [i for i, name in enumerate(skin.joint_names) if name in joints])
    mine = np.flatnonzero((skin.weights * pulled).sum(axis=1) > 0.5)
    return mine if mine.size else np.arange(len(skin.vertices))
