"""Hands and how they turn: the published forearm and hand, or one learned from a clip of a hand.

Courty 2013, section 3.1.4: elbow and wrist have three degrees of freedom, the base of a finger two, its other
joints one, and the last follows the one before by two thirds. Angles are in radians.

Where only fingertips were captured, the joints are found from them (Courty 2013, 1.2.2): the first frame by
particles from the hand at rest; every later one starts from the frame before and is polished; where that does
not reach the tips, particles search again. Tips that are missing (NaN) leave their finger to the rules of the
hand. Cost: 2 to 5 ms a frame.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked, checked_rate
from marey._random import Rng, as_generator
from marey._report import Report, Result
from marey._work import Progress
from marey.body.anatomy import anatomy
from marey.body.ik.targets import END, Reach, find_point
from marey.body.limits import JointFreedom
from marey.body.motion import Motion
from marey.body.particles import constraints
from marey.body.particles.chain import ArticulatedChain
from marey.body.particles.filter import solve
from marey.body.particles.polish import polished_pose
from marey.body.pose_model import PoseModel
from marey.body.resample import smooth
from marey.body.skeleton import Skeleton
from marey.body.trackers import Trackers
from marey.errors import InputError, MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.mean import rotation_mean

# Frames that a hand is learned from, at least; radians: joints that turn less are stiff; least mobility.
LEAST_FRAMES, STILL, LEAST_MOBILITY = 20, 0.01, 0.1
# Length of the last bone of a finger, of the one before, where a skeleton ends at its last joint.
LAST_BONE = 0.85
FINGERS = ("Thumb", "Index", "Middle", "Ring", "Pinky")
# Metres: the noise of tips, and the error from which on particles search again.
NOISE, LOST = 0.0005, 0.003


def hand_chain(*, size: float = 0.19, forearm: bool = True) -> ArticulatedChain:
    """A right forearm and hand of 26 degrees of freedom: elbow and wrist 3, finger bases 2, other joints 1.

    It points along +z with the palm down and the thumb to +x. The last joint of each finger but the thumb
    turns by 2/3 of the one before.

    Args:
        size: metres from the wrist to the tip of the middle finger.
        forearm: without it the wrist is the root and stiff, which leaves 20 degrees of freedom.

    >>> hand = hand_chain()
    >>> hand.freedoms, hand.skeleton.joints, len(hand.rules)
    (26, 17, 4)
    """
    if not 0 < size < 10:
        raise InputError(f"size of the hand: metres from wrist to fingertip, got {size}")
    unit = size / 0.19
    names, parents, offsets = ["Wrist"], [-1], [[0.0, 0.0, 0.0]]
    if forearm:
        names, parents, offsets = ["Elbow", "Wrist"], [-1, 0], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.26]]
    bones = {
        "Thumb": ((0.022, -0.008, 0.025), (0.045, 0.034, 0.027), np.array([0.72, -0.10, 0.69])),
        "Index": ((0.025, 0.0, 0.092), (0.042, 0.025, 0.022), np.array([0.08, 0.0, 1.0])),
        "Middle": ((0.004, 0.0, 0.094), (0.046, 0.028, 0.022), np.array([0.0, 0.0, 1.0])),
        "Ring": ((-0.016, 0.0, 0.088), (0.042, 0.026, 0.022), np.array([-0.08, 0.0, 1.0])),
        "Pinky": ((-0.034, 0.0, 0.080), (0.033, 0.019, 0.020), np.array([-0.16, 0.0, 1.0])),
    }
    table = {}
    if forearm:
        table["Elbow"] = JointFreedom.ball([0, 0, 1], (-1.5, 1.5), 1.5)
        table["Wrist"] = JointFreedom.ball([0, 0, 1], (-0.3, 0.3), 1.0)
    tips, rules = [], []
    for finger in FINGERS:
        base, lengths, bone = bones[finger]
        bone = bone / np.linalg.norm(bone)
        curl = np.cross([0.35 if finger == "Thumb" else 0.0, 1.0, 0.0], bone)
        curl = curl / np.linalg.norm(curl)
        last = names.index("Wrist")
        for segment in (1, 2, 3):
            names.append(f"{finger}{segment}")
            parents.append(last)
            last = len(names) - 1
            offsets.append(list(base) if segment == 1 else list(bone * lengths[segment - 2]))
        tips.append(bone * lengths[2])
        spread = (-0.35, 0.35) if finger != "Thumb" else (-0.7, 0.7)
        table[f"{finger}1"] = JointFreedom.saddle(bone, curl, (-0.4, 1.6), spread)
        table[f"{finger}2"] = JointFreedom.hinge(curl, 0.0, 1.9 if finger != "Thumb" else 1.0)
        table[f"{finger}3"] = JointFreedom.hinge(curl, 0.0, 1.3)
        if finger != "Thumb":
            rules.append(constraints.Coupled(f"{finger}3", f"{finger}2", axis=curl))
    ends = np.array([names.index(f"{finger}3") for finger in FINGERS])
    joints = unit * np.array(offsets)
    skeleton = Skeleton(tuple(names), np.array(parents), joints, ends, unit * np.array(tips))
    return ArticulatedChain.of(skeleton, table, rules=tuple(rules))


def hand_of_clip(motion: Motion, *, prior_noise: float | None = 5.0) -> ArticulatedChain:
    """A hand whose joints turn as they do in a clip of it; its root, the wrist, is stiff.

    A joint turns about the axes along which it did in the clip, as readily as it did, and 0.2 rad farther.

    Args:
        prior_noise: of the rule that fingers keep to likely poses of the clip, in deviations, so that
            tips count for more; None: no such rule.

    >>> from marey.body.motion import Motion
    >>> hand = hand_chain(forearm=False)
    >>> curl = so3.exp(np.linspace(0, 1, 40)[:, None, None] * np.array([1.0, 0, 0]) * np.ones((16, 1)))
    >>> curl[:, 0] = [1, 0, 0, 0]
    >>> learned = hand_of_clip(Motion(hand.skeleton, curl, np.zeros((40, 3)), 30.0))
    >>> learned.freedoms, learned.mobility[1].round(3).tolist()
    (15, [1.0, 0.0, 0.0])
    """
    if motion.joints < 2:
        raise InputError("a hand has fingers: a skeleton of one joint has none")
    if motion.frames < LEAST_FRAMES:
        raise InputError(
            f"{motion.frames} frames are too few to learn a hand from; at least {LEAST_FRAMES} are needed"
        )
    centres, margin = rotation_mean(motion.rotations).mean, 0.2
    turns = so3.log(so3.multiply(so3.inverse(centres), motion.rotations))
    off = turns - turns.mean(axis=0)
    spread, axes = np.linalg.eigh(np.einsum("tji,tjk->jik", off, off) / (motion.frames - 1))
    deviations, axes = np.sqrt(np.maximum(spread[:, ::-1], 0.0)), axes[:, :, ::-1]
    mobility = np.maximum(deviations / max(float(deviations[1:].max()), STILL), LEAST_MOBILITY)
    mobility[deviations < STILL] = 0.0
    table = {}
    for joint in range(1, motion.joints):
        if not mobility[joint].any():
            continue
        axis, side = axes[joint, :, 0], axes[joint, :, 1]
        along = np.stack([turns[:, joint] @ v for v in (axis, side, np.cross(axis, side))], axis=1)
        first, second = (np.abs(along).max(axis=0) + margin)[1:]
        x, y, z = mobility[joint]
        table[motion.skeleton.names[joint]] = JointFreedom(
            axis, side, (x, y, z), (along[:, 0].min() - margin, along[:, 0].max() + margin),
            ((first, first), (second, second)), centres[joint],
        )  # fmt: skip
    rules: tuple[constraints.PosePrior, ...] = ()
    if prior_noise is not None:
        model = PoseModel.fit([motion], variance=0.999, metric="canonical")
        rules = (constraints.PosePrior(model, noise=prior_noise),)
    chain = ArticulatedChain.of(motion.skeleton, table, rules=rules)
    return replace(chain, limits=chain.limits.containing(motion.rotations))


@dataclass(frozen=True)
class FingersReport(Report):
    """How well the hand follows its tips.

    Attributes:
        frames: Of the clip.
        tips: Names of the tips.
        error_cm, error_mean_cm: Of the tips, largest and mean.
        searches: Frames that needed particles.
        joint_error_cm, joint_error_degrees: Mean over all joints, where tips were taken from a clip; else
            None.
    """

    frames: int
    tips: tuple[str, ...]
    error_cm: float
    error_mean_cm: float
    searches: int
    joint_error_cm: float | None
    joint_error_degrees: float | None


@dataclass(frozen=True, eq=False)
class FingerResult(Result):
    """A hand that was found.

    Attributes:
        motion: Of the whole hand.
        names: Of the tips.
        tips: `(frames, tips, 3)`, metres, that were asked for.
        errors: `(frames, tips)`, metres, NaN where a tip is missing.
        searches: How many frames needed particles.
        truth: The clip that tips were taken from, if any.
    """

    motion: Motion
    names: tuple[str, ...]
    tips: Array
    errors: Array
    searches: int
    truth: Motion | None = None

    @property
    def report(self) -> FingersReport:
        """How well the hand follows its tips, and its joints those of the truth."""
        apart = turned = None
        if self.truth is not None:
            away = np.linalg.norm(self.motion.positions() - self.truth.positions(), axis=2)[:, 1:]
            turns = so3.distance(self.motion.rotations, self.truth.rotations)[:, 1:]
            apart, turned = round(100 * float(away.mean()), 5), round(float(np.degrees(turns.mean())), 4)
        largest, mean = (round(100 * float(f(self.errors)), 5) for f in (np.nanmax, np.nanmean))
        return FingersReport(self.motion.frames, self.names, largest, mean, self.searches, apart, turned)


def fingers(
    tips: Trackers | Motion,
    *,
    hand: Motion | None = None,
    hand_length: float = 0.19,
    smooth: float = 0.0,
    frames: slice | None = None,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> FingerResult:
    """All joints of a hand from the positions of its fingertips.

    Args:
        tips: Thumb, Index, Middle, Ring, Pinky (with `hand`, names of its joints, or `JOINT_end`) in the
            frame of the wrist, or in the world if the wrist is tracked too; or a clip of a hand, whose tips
            are taken and whose joints are the truth to compare with.
        hand: A clip of the hand, to learn from how its joints turn.
        hand_length: Metres from the wrist to the tip of the middle finger, of our own hand.
        smooth: Frames to smooth over.
        frames: Only these.
        rng: Seed or generator.

    >>> seen = Trackers(("Index", "Middle"), [[[0.03, -0.02, 0.16], [0.0, -0.02, 0.17]]] * 2, 30.0)
    >>> fingers(seen).motion.joints
    16
    """
    learned, truth = None if hand is None else _hand(hand), None
    if isinstance(tips, Trackers):
        chain = hand_chain(size=hand_length, forearm=False) if learned is None else hand_of_clip(learned)
    else:
        truth = _hand(tips)
        chain = hand_of_clip(truth if learned is None else learned)
        ends = [chain.skeleton.names[joint] + END for joint in chain.skeleton.end_parents]
        tips = Trackers.of_motion(truth, ends)
    if frames is not None:
        tips, truth = tips[frames], None if truth is None else truth[frames]
    ours = {finger: f"{finger}3{END}" for finger in FINGERS if f"{finger}3" in chain.skeleton.names}
    tips, wrist = _wrist(tips.renamed({name: ours[name] for name in tips.names if name in ours}), chain)
    if wrist is None and truth is not None:
        wrist = np.asarray(truth.root), np.asarray(truth.rotations[:, 0])
    found = fingers_from_tips(
        chain, tips.positions, tips.names, frame_rate=tips.frame_rate, wrist=wrist, smoothing=smooth,
        rng=rng, progress=progress,
    )  # fmt: skip
    if truth is None:
        return found
    return replace(found, motion=replace(found.motion, convention=truth.convention), truth=truth)


def _hand(motion: Motion) -> Motion:
    """A clip of a hand whose fingers end in tips."""
    skeleton = motion.skeleton
    if anatomy(skeleton).legs:
        raise InputError("this is a whole body: give a clip of a hand, whose root is the wrist")
    if not len(skeleton.end_parents):
        raise InputError("the hand's fingers have no tips: its skeleton has no end sites")
    ends = np.array(skeleton.end_offsets)
    bare = np.linalg.norm(ends, axis=1) < 1e-6
    ends[bare] = LAST_BONE * np.array(skeleton.offsets)[np.asarray(skeleton.end_parents)][bare]
    if bare.any():
        said = "fingers end at their last joint: a bone is added along the one before"
        warnings.warn(said, MareyWarning, stacklevel=3)
    return replace(motion, skeleton=replace(skeleton, end_offsets=ends), translations=None)


def _wrist(tips: Trackers, chain: ArticulatedChain) -> tuple[Trackers, tuple[Array, Array] | None]:
    """The fingertips alone, and where the wrist was if that is known."""
    root = chain.skeleton.names[0]
    others = [name for name in tips.names if name != root]
    for name in others:
        find_point(chain.skeleton, name)
    if not others:
        raise InputError("the table has no fingertip; columns are called e.g. Index_x, Index_y, Index_z")
    if root not in tips.names:
        return tips, None
    row = tips.names.index(root)
    if tips.rotations is None or not np.isfinite(tips.rotations[:, row]).all():
        raise InputError(f"{root}: its rotation ({root}_qw … {root}_qz) is needed in every frame")
    return tips.only(others), (np.asarray(tips.positions[:, row]), np.asarray(tips.rotations[:, row]))


def fingers_from_tips(
    chain: ArticulatedChain,
    tips: ArrayLike,
    names: Sequence[str],
    *,
    frame_rate: float,
    wrist: tuple[ArrayLike, ArrayLike] | None = None,
    smoothing: float = 0.0,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> FingerResult:
    """The motion of a hand whose fingertips go along given paths.

    Args:
        chain: the hand, its root the wrist, which is stiff.
        tips: `(frames, tips, 3)`, metres, in the wrist's frame, or in the world if `wrist` is given; NaN:
            missing.
        names: of the joints, or `JOINT_end` for their end sites, that the tips are.
        wrist: positions `(frames, 3)` and rotations `(frames, 4)` in the world; at the origin if None.
        smoothing: frames, width of a Gaussian over time before the last polish.

    >>> from marey.body.particles import PoseBatch, hand_chain
    >>> hand = hand_chain(forearm=False)
    >>> turns = np.zeros((6, 16, 3))
    >>> turns[:, 7:9, 0] = np.linspace(0.2, 0.9, 6)[:, None]
    >>> turns[:, 9, 0] = turns[:, 8, 0] * 2 / 3
    >>> truth = PoseBatch(hand.skeleton, so3.exp(turns), np.zeros((6, 3)))
    >>> names = ["Index3_end", "Middle3_end"]
    >>> paths = np.stack([truth.point(name) for name in names], axis=1)
    >>> found = fingers_from_tips(hand, paths, names, frame_rate=30)
    >>> bool(found.errors.max() < 0.003)
    True
    """
    names = tuple(names)
    asked_for = paths = checked("tips", tips, (None, len(names), 3), finite=False)
    if not len(paths) or not np.isfinite(paths).all(axis=2).any():
        raise InputError("tips: there is no frame in which any tip is known")
    frames = len(paths)
    place, turn = np.zeros((frames, 3)), so3.identity(frames)
    if wrist is not None:
        place = checked("wrist positions", wrist[0], (frames, 3))
        turn = so3.normalise(checked("wrist rotations", wrist[1], (frames, 4)))
        paths = so3.rotate(so3.inverse(turn)[:, None], paths - place[:, None])
    rng = as_generator(rng)
    pose = chain.limits.project(np.asarray(chain.limits.centres)[None])[0]
    pose[0] = so3.identity()
    rotations = np.empty((frames, chain.skeleton.joints, 4))
    searches = 0
    for frame in range(frames):
        asked = _constraints(chain, paths[frame], names)
        if frame:
            pose, _ = polished_pose(chain, asked, pose, np.zeros(3))
        away = _errors(chain, pose[None], paths[frame][None], names)
        if not frame or np.nanmax(away, initial=0.0) > LOST:
            # The start is kept to a little, so that fingers whose tips are missing do not move.
            bare, near = replace(chain, rules=()), [*asked, constraints.NearPose(pose)]
            found = solve(bare, near, start=pose, root=np.zeros(3), particles=200, steps=40, rng=rng)
            last = found.path().rotations[-1]
            pose, searches = polished_pose(chain, asked, last, np.zeros(3), iterations=30)[0], searches + 1
        rotations[frame] = pose
        if progress is not None:
            progress(frame + 1, frames)
    if smoothing > 0:
        bell = np.exp(-0.5 * (np.arange(np.ceil(2.5 * smoothing) + 1) / smoothing) ** 2)
        rotations = chain.limits.project(so3.normalise(smooth(rotations, bell, rotations=True)))
        for frame in range(frames):
            asked = _constraints(chain, paths[frame], names)
            rotations[frame], _ = polished_pose(chain, asked, rotations[frame], np.zeros(3), iterations=3)
    errors = _errors(chain, rotations, paths, names)
    rotations[:, 0] = turn
    motion = Motion(chain.skeleton, so3.continuous(rotations), place, checked_rate(frame_rate))
    return FingerResult(motion, names, asked_for, errors, searches)


def _constraints(chain: ArticulatedChain, tips: Array, names: Sequence[str]) -> list[constraints.Constraint]:
    known = [Reach(name, tip) for name, tip in zip(names, tips) if np.isfinite(tip).all()]
    return [*(constraints.Noisy(reach, noise=NOISE) for reach in known), *chain.rules]


def _errors(chain: ArticulatedChain, rotations: Array, tips: Array, names: Sequence[str]) -> Array:
    """Distances `(frames, tips)` from the tips, NaN where missing."""
    batch = constraints.PoseBatch(chain.skeleton, rotations, np.zeros((len(rotations), 3)))
    there = np.stack([batch.point(name) for name in names], axis=1)
    return np.asarray(np.linalg.norm(there - tips, axis=2))
