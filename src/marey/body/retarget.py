"""A clip on another skeleton: other joint names, bone lengths, proportions and rest pose.

Joints are matched by name or, where names differ, by anatomy. Each joint takes the world rotation of its
match after one alignment of the two rest poses: the trunk by the body's left and up, the bones of arms and
legs by their direction, the feet by their heading. The path is scaled by the ratio of leg lengths, and the
legs then bend so that the balls of the feet follow those of the clip at that scale. Cost: forward
kinematics of both skeletons, milliseconds a second of motion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import Array, Integers
from marey.body.anatomy import SIDES, Limb, anatomy
from marey.body.feet import FeetSettings, contacts, foot_joints
from marey.body.feet.plant import bend_leg
from marey.body.kinematics import GlobalPose, forward_kinematics, global_frames
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.mean import rotation_mean


@dataclass(frozen=True)
class RetargetSettings:
    """Numbers of the method.

    Attributes:
        matched: share of the joints that must have a namesake, else joints are matched by anatomy.
        upright: cosine of the angle to the vertical within which legs and trunk of a rest pose are upright.
        stance: share of the frames, the lowest ones, in which a foot is taken to stand.
        slope: standard deviation of the slope of captured floors.
        noise: standard deviation of the height of feet in contact, metres.
        rise: height above its rest below which a foot may be in contact with a sloping floor, metres.
        shortest: length below which a bone has no direction, metres.
    """

    matched: float = 0.5
    upright: float = 0.8
    stance: float = 0.2
    slope: float = 0.02
    noise: float = 0.01
    rise: float = 0.15
    shortest: float = 1e-4


SETTINGS = RetargetSettings()


def retarget(motion: Motion, skeleton: Skeleton, rest: GlobalPose | None = None) -> Motion:
    """The clip performed by another skeleton.

    Args:
        motion: clip of a human figure with any joint names, or of any figure whose joint names are the
            skeleton's.
        skeleton: the skeleton to move.
        rest: its world frames in an upright rest pose, one frame; all rotations zero if None.

    Returns:
        A clip of `skeleton` at the frame rate of `motion`. The ground stays level, but its height is that of
        the clip to scale: soles are no part of a skeleton.

    >>> import marey
    >>> tall, short = (marey.samples.walk(seconds=1, stature=stature) for stature in (1.9, 1.5))
    >>> lengths = [np.linalg.norm(m.root[-1] - m.root[0]) for m in (retarget(tall, short.skeleton), tall)]
    >>> bool(abs(lengths[0] / lengths[1] - 1.5 / 1.9) < 0.01)
    True
    """
    if rest is None:
        zero = so3.identity((1, skeleton.joints))
        rest = global_frames(skeleton.parents, skeleton.offsets, zero, np.zeros((1, 3)))
    motion, match = _matched(motion, skeleton)
    bodies = _Bodies(skeleton, rest.positions[0], motion.skeleton.rest_positions()[match], match)
    pose = forward_kinematics(motion)
    turns = bodies.world_turns(pose.rotations)
    rotations = _local(so3.multiply(turns, rest.rotations), skeleton)
    root = pose.positions[:, match[0]]
    if bodies.legs:
        # Of each joint's match, to scale.
        source = bodies.scale * _levelled(motion, pose.positions)[:, match]
        centre = bodies.hip_centre(source) + bodies.room_for_feet(turns[:, 0])
        placed = global_frames(skeleton.parents, skeleton.offsets, rotations, centre)
        root = 2 * centre - bodies.hip_centre(placed.positions)
        placed = global_frames(skeleton.parents, skeleton.offsets, rotations, root)
        for leg in bodies.legs:
            ankle = source[:, leg.end]
            if leg.tip >= 0:
                ankle = source[:, leg.tip] + placed.positions[:, leg.end] - placed.positions[:, leg.tip]
            bend_leg(rotations, np.asarray(skeleton.parents, np.int64), placed, leg, ankle, None)
    return Motion(skeleton, so3.continuous(rotations), root, motion.frame_rate, name=motion.name)


def upright_at_rest(motion: Motion) -> Motion:
    """The same motion of a human figure, its rotations relative to an upright rest pose.

    Some files (LaFAN, Bandai) have all bones along one axis at rest. The mean posture of the clip then
    becomes the rest pose, and for the feet the mean of the frames in which they are lowest. Feet without toes
    get a joint at their end site.
    """
    motion = _with_toes(motion)
    skeleton, marks = motion.skeleton, _landmarks(motion.skeleton)
    at_rest = skeleton.rest_positions()
    bones = (("pelvis", "head"), ("left foot", "left thigh"), ("right foot", "right thigh"))
    up = np.array([at_rest[marks[high]] - at_rest[marks[low]] for low, high in bones])
    if (up[:, 1] > SETTINGS.upright * np.linalg.norm(up, axis=1)).all():
        return motion
    pose = forward_kinematics(motion)
    left = pose.positions[:, marks["left thigh"]] - pose.positions[:, marks["right thigh"]]
    yaw = np.arctan2(-left[:, 2], left[:, 0])
    ahead = so3.multiply(so3.exp(np.stack([0 * yaw, -yaw, 0 * yaw], axis=1))[:, None], pose.rotations)
    reference = rotation_mean(ahead, tolerance=1e-6).mean
    for side in SIDES:
        foot = marks[f"{side} foot"]
        heights = pose.positions[:, [foot, *skeleton.children(foot)], 1].sum(axis=1)
        lowest = heights <= np.quantile(heights, SETTINGS.stance)
        below = list(skeleton.descendants(foot))
        reference[below] = rotation_mean(ahead[lowest][:, below], tolerance=1e-6).mean
    above = reference[np.maximum(skeleton.parents, 0)]
    above[0] = so3.identity()
    moved = None if motion.translations is None else so3.rotate(above, motion.translations)
    rotations = so3.normalise(_local(so3.multiply(pose.rotations, so3.inverse(reference)), skeleton))
    ends = so3.rotate(reference[skeleton.end_parents], skeleton.end_offsets)
    upright = replace(skeleton, offsets=so3.rotate(above, skeleton.offsets), end_offsets=ends)
    return replace(motion, skeleton=upright, rotations=rotations, translations=moved)


class _Bodies:
    """The target and the clip's figure at rest, by the target's joints.

    Attributes:
        skeleton: of the target.
        positions: `(joints, 3)`, metres, of the target.
        source: `(joints, 3)`, metres, of the matches in the clip's figure; not read where there is none.
        match: `(joints,)`, joints of the clip, −1 where there is none.
        legs: those with matches, left before right; their tip is −1 where it has none.
    """

    def __init__(self, skeleton: Skeleton, positions: Array, source: Array, match: Integers) -> None:
        self.skeleton, self.positions, self.source, self.match = skeleton, positions, source, match
        found = [leg for leg in anatomy(skeleton).legs if (match[list(leg[:3])] >= 0).all()]
        self.legs = [leg if match[leg.tip] >= 0 else leg._replace(tip=-1) for leg in found]

    @property
    def scale(self) -> float:
        """Leg length of the target over that of the clip's figure."""
        upper, lower = np.array([(leg[:2], leg[1:3]) for leg in self.legs]).reshape(-1, 2).T
        lengths = [np.linalg.norm(p[upper] - p[lower], axis=1).sum() for p in (self.positions, self.source)]
        return float(lengths[0] / lengths[1])

    def hip_centre(self, positions: Array) -> Array:
        """Centre of the hips, `(frames, 3)`, of positions `(frames, joints, 3)`."""
        return np.asarray(positions[:, [leg.root for leg in self.legs]].mean(axis=1))

    def world_turns(self, rotations: Array) -> Array:
        """Rotation of each target joint from its rest pose, in the world, `(frames, joints, 4)`, given the
        source's rotations `(frames, source joints, 4)` in the world."""
        turns = np.empty((len(rotations), self.skeleton.joints, 4))
        for joint, aligned in enumerate(self._alignments()):
            if self.match[joint] >= 0:
                turns[:, joint] = so3.multiply(rotations[:, self.match[joint]], aligned)
            else:
                turns[:, joint] = turns[:, self.skeleton.parents[joint]]
        return turns

    def _alignments(self) -> list[Array]:
        """The turn of each joint that takes the target's rest pose to the clip's."""
        # Left and up of the target at rest are taken to those of the clip.
        mine, theirs = (_body_axes(positions, self.legs) for positions in (self.positions, self.source))
        trunk = so3.identity() if mine is None or theirs is None else so3.from_matrix(theirs @ mine.T)
        bones: dict[int, int] = {}
        below: set[int] = set()
        parts = anatomy(self.skeleton)
        for limb in (*parts.arms, *parts.legs):
            bones |= {limb.root: limb.middle, limb.middle: limb.end}
            below |= set(self.skeleton.descendants(limb.root)) - {limb.root}
        soles = {leg.end: leg.tip for leg in parts.legs}
        aligned: list[Array] = []
        for joint in range(self.skeleton.joints):
            turn = aligned[self.skeleton.parents[joint]] if joint in below else trunk
            child = (soles | bones).get(joint, -1)
            if joint in soles and self.match[joint] >= 0:
                turn = trunk
            if min(child, self.match[joint], self.match[child]) >= 0:
                bone = so3.rotate(turn, self.positions[child] - self.positions[joint])
                wanted = self.source[child] - self.source[joint]
                if joint in soles:
                    # About the vertical alone, because both feet rest flat.
                    bone, wanted = bone * [1.0, 0.0, 1.0], wanted * [1.0, 0.0, 1.0]
                if min(np.linalg.norm(bone), np.linalg.norm(wanted)) > SETTINGS.shortest:
                    turn = so3.multiply(so3.between(bone, wanted), turn)
            aligned.append(turn)
        return aligned

    def room_for_feet(self, turns: Array) -> Array:
        """How far the hips move, `(frames, 3)` metres, because the feet are not to the scale of the legs;
        given rotations `(frames, 4)` of the pelvis."""
        room = np.zeros((len(turns), 3))
        for leg in (leg for leg in self.legs if leg.tip >= 0):
            sole = self.positions[leg.end] - self.positions[leg.tip]
            sole = sole - self.scale * (self.source[leg.end] - self.source[leg.tip])
            # The pelvis may lean, the sole does not: its height is that at rest.
            turned = so3.rotate(turns, sole)
            turned[:, 1] = sole[1]
            room += turned / len(self.legs)
        return room


def _matched(motion: Motion, skeleton: Skeleton) -> tuple[Motion, Integers]:
    """The clip, upright at rest, and for each joint of `skeleton` the clip's joint, −1 if there is none."""
    source = motion.skeleton
    named = [name in source.names for name in skeleton.names]
    by_name = named[0] and np.mean(named) >= SETTINGS.matched
    ours = _landmarks(skeleton)
    if not by_name and not ours:
        missing = skeleton.names[named.index(False)]
        raise InputError(
            f"the clip does not fit the skeleton: {named.count(False)} of {skeleton.joints} joints are "
            f"missing, first {missing!r}; the clip's begin {', '.join(source.names[:4])}"
        )
    if not by_name and not _landmarks(source):
        missing = ", ".join(anatomy(source).missing_parts)
        raise InputError(
            f"the clip shows no human figure: {missing} not found by the names of its joints, "
            f"which begin {', '.join(source.names[:4])}"
        )
    if _landmarks(source):
        motion = upright_at_rest(motion)
    names = motion.skeleton.names
    match = np.array([names.index(name) if name in names else -1 for name in skeleton.names])
    if not by_name:
        theirs = _landmarks(motion.skeleton)
        match[np.isin(match, list(theirs.values()))] = -1
        for part, joint in ours.items():
            match[joint] = theirs.get(part, -1)
    return motion, match


def _landmarks(skeleton: Skeleton) -> dict[str, int]:
    """Joints of a human figure by part of the body; empty if it is none."""
    marks = anatomy(skeleton)
    if not marks.human:
        return {}
    found = {"pelvis": marks.pelvis, "head": marks.head}
    spine = [j for j in skeleton.ancestors(marks.chest)[::-1] if j in skeleton.descendants(marks.pelvis)]
    if len(spine) > 1:
        found["chest"] = marks.chest
    if len(spine) > 2:
        found["back"] = spine[1]
    for side, leg, arm in zip(SIDES, marks.legs, marks.arms, strict=True):
        found |= {f"{side} thigh": leg.root, f"{side} shank": leg.middle, f"{side} foot": leg.end}
        found |= {f"{side} arm": arm.root, f"{side} forearm": arm.middle, f"{side} hand": arm.end}
        if leg.tip >= 0:
            found[f"{side} toe"] = leg.tip
    return found


def _with_toes(motion: Motion) -> Motion:
    """The clip with a joint at the end site of each foot that has no joint below it."""
    skeleton, marks = motion.skeleton, _landmarks(motion.skeleton)
    added: list[int] = []
    for side in SIDES:
        sites = np.flatnonzero(skeleton.end_parents == marks[f"{side} foot"])
        if f"{side} toe" not in marks and len(sites):
            added.append(int(sites[0]))
    if not added:
        return motion
    offsets = skeleton.end_offsets[added]
    names = (*skeleton.names, *(f"toes {n}" for n in range(len(added))))
    parents = np.append(skeleton.parents, skeleton.end_parents[added])
    bones = np.concatenate([skeleton.offsets, offsets])
    longer = replace(skeleton, names=names, parents=parents, offsets=bones)
    still = np.broadcast_to(so3.identity(), (motion.frames, len(added), 4))
    moved = motion.translations
    if moved is not None:
        moved = np.concatenate([moved, np.broadcast_to(offsets, (motion.frames, len(added), 3))], axis=1)
    rotations = np.concatenate([motion.rotations, still], axis=1)
    return replace(motion, skeleton=longer, rotations=rotations, translations=moved, channels=None)


def _levelled(motion: Motion, positions: Array) -> Array:
    """Positions of the joints on level ground: captured floors are tilted by up to a degree or two.

    The slope of the ground is the one along which feet in contact rise, as far as they show one.
    """
    joints = foot_joints(motion.skeleton)
    if not joints:
        return positions
    frame, foot = np.nonzero(contacts(motion, settings=FeetSettings(height=SETTINGS.rise)))
    touching = positions[:, joints][frame, foot]
    middle = touching[:, 0::2].mean(axis=0) if len(touching) else np.zeros(2)
    # Least squares: one height at rest for ankles, one for toes, and one slope with a prior.
    toes = np.isin(joints, [leg.tip for leg in anatomy(motion.skeleton).legs])[foot]
    terms = np.stack([toes, ~toes, *(touching[:, 0::2] - middle).T], axis=1) / SETTINGS.noise
    prior = np.eye(4)[2:] / SETTINGS.slope
    rise = np.concatenate([touching[:, 1] / SETTINGS.noise, np.zeros(2)])
    slope = np.linalg.lstsq(np.concatenate([terms, prior]), rise, rcond=None)[0][2:]
    level = positions.copy()
    level[..., 1] -= (positions[..., 0::2] - middle) @ slope
    return level


def _body_axes(positions: Array, both: list[Limb]) -> Array | None:
    """Left, up and front of a body at rest as columns; None without two legs or if its hips coincide."""
    if len(both) != 2:
        return None
    hips = positions[[leg.root for leg in both]]
    left = hips[0] - hips[1]
    up = hips.mean(axis=0) - positions[[leg.end for leg in both]].mean(axis=0)
    if min(np.linalg.norm(left), np.linalg.norm(up)) < SETTINGS.shortest:
        return None
    up = up / np.linalg.norm(up)
    left = left - (left @ up) * up
    left = left / np.linalg.norm(left)
    return np.stack([left, up, np.cross(left, up)], axis=1)


def _local(world: Array, skeleton: Skeleton) -> Array:
    """Rotations in the parents' frames from those in the world."""
    local = world.copy()
    below = np.flatnonzero(skeleton.parents >= 0)
    local[:, below] = so3.multiply(so3.inverse(world[:, skeleton.parents[below]]), world[:, below])
    return local
