"""What a pose model is learned from: the poses of clips, chunk by chunk, checked to be of one skeleton.

A pose is its local rotations; the root's row is neutral, or holds what the model is to know of the root.
Clips may be loaded when their turn comes, so that one is in memory at a time. Cost: a copy of the rotations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from marey._arrays import Array
from marey.body.motion import Motion
from marey.body.root_motion import STILL, checked_frame, moving_root, root_motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError, MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.mean import rotation_mean
from marey.statistics.geodesics.streaming import Chunk

Clip = Motion | Callable[[], Motion]

# Metres by which bones of clips may differ before it is worth a note: text files hold no more digits.
SAME_BONES = 1e-4
# Frames taken at a time: bounds the memory for one long clip.
FRAMES_AT_A_TIME = 8192


def pose_rotations(motion: Motion) -> Array:
    """Local rotations `(frames, joints, 4)` with the identity for the root."""
    poses = np.array(motion.rotations, dtype=np.float64)
    poses[:, 0] = so3.identity()
    return poses


def pose_samples(motion: Motion, root: str) -> Chunk:
    """Local rotations with what the model holds of the root in row 0, and the features of root motion."""
    if root == "none":
        return Chunk(pose_rotations(motion), np.empty((motion.frames, 0)))
    moved = root_motion(motion, root)
    poses = np.array(motion.rotations, dtype=np.float64)
    poses[:, 0] = moved.rotations
    return Chunk(poses, moved.features)


def check_joints(skeleton: Skeleton, motion: Motion) -> None:
    """A clip of other joints than the skeleton's is an :class:`InputError`."""
    theirs = motion.skeleton
    if skeleton.names == theirs.names and np.array_equal(skeleton.parents, theirs.parents):
        return
    called = f" {motion.name!r}" if motion.name else ""
    if skeleton.joints != theirs.joints:
        raise InputError(
            f"the clip{called} has {theirs.joints} joints, the pose model {skeleton.joints}; "
            "use clips of one skeleton"
        )
    mine = next((a for a, b in zip(skeleton.names, theirs.names, strict=True) if a != b), None)
    what = f"no {mine!r} where the pose model has it" if mine else "joints on other parents"
    raise InputError(f"the clip{called} has {what}; use clips of one skeleton")


class Clips:
    """The samples of clips, chunk by chunk; keeps the first skeleton and checks the others by it."""

    def __init__(self, clips: Iterable[Clip], root: str) -> None:
        if isinstance(clips, Motion):
            clips = [clips]
        self.root = root if root == "none" else checked_frame(root)
        self.clips = clips
        self.again = not isinstance(clips, Iterator)
        self.skeleton: Skeleton | None = None
        self.stance: Array = so3.identity()
        self.other_bones = 0.0
        self.sliding: dict[str, None] = {}

    def __iter__(self) -> Iterator[Chunk]:
        for motion in self.motions():
            poses = pose_samples(motion, self.root)
            for start in range(0, motion.frames, FRAMES_AT_A_TIME):
                here = slice(start, start + FRAMES_AT_A_TIME)
                yield Chunk(poses.rotations[here], poses.numbers[here])

    def motions(self) -> Iterator[Motion]:
        """The clips themselves, each checked."""
        for clip in self.clips:
            motion = clip() if callable(clip) else clip
            if not isinstance(motion, Motion):
                raise InputError(
                    f"a pose model is learned from skeleton motion, not a {type(motion).__name__}; "
                    "marey.load reads files"
                )
            if self.skeleton is None:
                self.skeleton = motion.skeleton
                # The mean turn of the root without the way it faces.
                some = motion[:: max(1, motion.frames // FRAMES_AT_A_TIME)]
                self.stance = rotation_mean(root_motion(some, "heading").rotations).mean
            check_joints(self.skeleton, motion)
            gap = np.abs(motion.skeleton.offsets[1:] - self.skeleton.offsets[1:]).max(initial=0.0)
            self.other_bones = max(self.other_bones, float(gap))
            self._watch_sliding(motion)
            yield motion

    def _watch_sliding(self, motion: Motion) -> None:
        """Keep what is to be said of joints that slide, once each."""
        if motion.translations is None:
            return
        ranges = np.ptp(motion.translations[:, 1:], axis=0).max(axis=1, initial=0.0)
        if not (ranges > STILL).any():
            return
        names = motion.skeleton.names
        top = moving_root(motion)
        if top:
            said = f"{names[top]!r} travels by itself below {names[0]!r}: where it faces counts as pose; "
            self.sliding[said + f"learn from motion.subtree({names[top]!r})"] = None
        else:
            slides = ", ".join(names[1 + j] for j in np.flatnonzero(ranges > STILL)[:5])
            self.sliding[f"a pose model holds turns only, not how joints slide: {slides}"] = None

    def checked_skeleton(self) -> Skeleton:
        """The first clip's skeleton, once all were seen; warns of what the model cannot hold."""
        assert self.skeleton is not None
        for said in self.sliding:
            warnings.warn(said, MareyWarning, stacklevel=3)
        if self.other_bones > SAME_BONES:
            said = f"the clips' bones differ by up to {100 * self.other_bones:.3g} cm; "
            warnings.warn(said + "the model keeps those of the first", MareyWarning, stacklevel=3)
        return self.skeleton
