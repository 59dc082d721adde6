"""A clip of skeleton motion: local rotations over time and the root's path (Tournier 2011, chapter 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import FloatArray, Timed, as_slice, assign, checked, checked_rate, derived, read_only
from marey._report import rounded
from marey.body import kinematics, mirror, resample, selection
from marey.body.kinematics import GlobalPose, local_positions
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.convention import Convention, UpAxis, unit_size

# Norms this far from 1 are a mistake; those between (single precision, rounded text) are made 1 exactly.
UNIT_TOLERANCE = 1e-6
ROUNDING = 1e-12
# Metres by which bones of clips to be joined may differ: text files hold no more digits.
SAME_OFFSET = 1e-5


@dataclass(frozen=True, eq=False)
class Motion(Timed):
    """What a skeleton does over time. Metres, radians, seconds; y up; quaternions `(w, x, y, z)`.

    Args:
        rotations: `(frames, joints, 4)`, unit (within 1e-6, and then made so), of each joint in its parent's
            frame; the root's in the world.
        root: `(frames, 3)`, position of the root joint in the world.
        frame_rate: frames per second.
        translations: `(frames, joints, 3)` or None. Only for joints that slide (6-channel BVH, glTF
            translation tracks): positions in the parent's frame that replace the offsets. Row 0 is made to
            repeat `root`.
        convention: how the file it came from measures; used when it is written back.
        channels: BVH channels per joint as the file had them, or None.
        name: what to call it.
        first_frame: number of its first frame in the file it came from, where frames count from 0. Commands
            name and print frames by these numbers; indices of arrays and slices count from 0 in the clip
            itself.

    >>> still = Motion(Skeleton(("hips",), [-1], [[0, 0, 0]]), [[[1, 0, 0, 0]]] * 3, [[0, 1, 0]] * 3, 30)
    >>> still.frames, still.duration
    (3, 0.1)
    """

    skeleton: Skeleton
    rotations: FloatArray
    root: FloatArray
    frame_rate: float
    translations: FloatArray | None = None
    convention: Convention = field(default_factory=Convention)
    channels: tuple[tuple[str, ...], ...] | None = None
    name: str = ""
    # Not stored: frames of a file that is written count anew.
    first_frame: int = field(default=0, metadata={"stored": False})

    def __post_init__(self) -> None:
        joints = self.skeleton.joints
        rotations = checked("rotations", self.rotations, (None, joints, 4))
        frames = len(rotations)
        if frames == 0:
            raise InputError("motion: it has no frame")
        norms = np.sqrt(np.einsum("...i,...i", rotations, rotations))
        off = np.abs(norms - 1)
        if off.max() > UNIT_TOLERANCE:
            frame, joint = (int(i) for i in np.argwhere(off > UNIT_TOLERANCE)[0])
            raise InputError(
                f"rotations: quaternion of joint {self.skeleton.names[joint]!r} at frame {frame} "
                f"has norm {norms[frame, joint]:.6g}, not 1; normalise it first"
            )
        if off.max() > ROUNDING:
            rotations = read_only(rotations / norms[..., None])
        root = checked("root", self.root, (frames, 3))
        translations = self.translations
        if translations is not None:
            translations = checked("translations", translations, (frames, joints, 3))
            if not np.array_equal(translations[:, 0], root):
                translations = np.concatenate([root[:, None], translations[:, 1:]], axis=1)
                translations = read_only(translations)
        channels = self.channels
        if channels is not None:
            channels = tuple(tuple(names) for names in channels)
            if len(channels) != joints:
                raise InputError(f"channels: {len(channels)} entries for {joints} joints")
        rate, made = checked_rate(self.frame_rate), {"rotations": rotations, "root": root}
        assign(self, **made, frame_rate=rate, translations=translations, channels=channels)

    frames = derived(len, "rotations", "Number of frames.")

    joints = derived(int, "skeleton.joints", "Number of joints, the root included.")

    def __getitem__(self, key: int | slice) -> Motion:
        """Frames as a shorter clip: `motion[10:50]`, `motion[7]`, `motion[::4]` (rate divided by 4).

        They count from 0 in this clip, whatever its first frame's number in a file.
        """
        frames = as_slice(key, self.frames)
        step = abs(frames.step or 1)
        chosen = range(*frames.indices(self.frames))
        rotations = self.rotations[frames]
        return replace(
            self,
            rotations=rotations if step == 1 else so3.continuous(rotations),
            root=self.root[frames],
            translations=None if self.translations is None else self.translations[frames],
            frame_rate=self.frame_rate / step,
            first_frame=self.first_frame + min(chosen[0], chosen[-1]),
        )

    def forward_kinematics(self) -> GlobalPose:
        """World positions `(frames, joints, 3)` and rotations `(frames, joints, 4)` of all joints."""
        return kinematics.forward_kinematics(self)

    def positions(self) -> FloatArray:
        """World positions of all joints, `(frames, joints, 3)`, metres."""
        return kinematics.forward_kinematics(self).positions

    def end_positions(self) -> FloatArray:
        """World positions of the end sites, `(frames, ends, 3)`, metres."""
        return kinematics.end_positions(self)

    def resample(self, frame_rate: float, *, antialias: bool = False) -> Motion:
        """The clip at another frame rate; `antialias` smooths first when the rate goes down."""
        return resample.resample(self, frame_rate, antialias=antialias)

    def mirror(self, *, pairs: Mapping[str, str] | None = None) -> Motion:
        """The clip mirrored in the plane x = 0, left and right swapped by name or by `pairs`."""
        return mirror.mirror(self, pairs=pairs)

    def pick(self, names: Sequence[str]) -> Motion:
        """The clip of these joints alone, each moving in the world as before."""
        return selection.pick(self, names)

    def without(self, names: Iterable[str]) -> Motion:
        """The clip without these joints and all below them, such as `motion.without(["LeftHand"])`."""
        chosen = self.skeleton.indices(list(names))
        dropped = {below for joint in chosen for below in self.skeleton.descendants(joint)}
        return self.pick([name for j, name in enumerate(self.skeleton.names) if j not in dropped])

    def subtree(self, name: str) -> Motion:
        """The clip of one joint, the new root, and all below it."""
        below = self.skeleton.descendants(self.skeleton.index(name))
        return self.pick([self.skeleton.names[joint] for joint in below])

    def transform(
        self, *, rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0), translation: ArrayLike = (0.0, 0.0, 0.0)
    ) -> Motion:
        """The clip turned about the world's origin, then moved; only the root changes.

        Args:
            rotation: `(4,)` quaternion, such as `rotations.exp([0, angle, 0])` to turn on the ground.
            translation: `(3,)`, metres.
        """
        turn = so3.normalise(checked("rotation", rotation, (4,)))
        rotations = np.array(self.rotations)
        rotations[:, 0] = so3.multiply(turn, rotations[:, 0])
        root = so3.rotate(turn, self.root) + checked("translation", translation, (3,))
        return replace(self, rotations=rotations, root=root)

    def with_convention(self, *, unit: str | float | None = None, up: UpAxis | None = None) -> Motion:
        """The same clip, to be written with another unit (`"cm"`, or metres) or up axis."""
        kept = self.convention
        size = kept.unit if unit is None else unit_size(unit)
        return replace(self, convention=Convention(size, kept.up if up is None else up))

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        shown = self[:: max(1, self.frames // 200)]
        positions = np.concatenate([shown.positions(), shown.end_positions()], axis=1)
        moving = np.ptp(np.abs(shown.rotations), axis=0).max(axis=-1) > 1e-6
        # The middle of the body: in some files the root joint stays where it is and the hips travel.
        path = np.linalg.norm(np.diff(positions.mean(axis=1), axis=0), axis=-1).sum()
        return {
            "kind": "motion",
            "joints": self.joints,
            "end_sites": len(self.skeleton.end_parents),
            "moving_joints": int(moving.sum()),
            "sliding_joints": self.translations is not None,
            "height": rounded(np.ptp(positions[..., 1], axis=1).max()),
            "travelled": rounded(path),
            "unit": self.convention.unit_name,
            "up": self.convention.up,
            "joint_names": list(self.skeleton.names),
        }


def concatenate(motions: Sequence[Motion]) -> Motion:
    """Clips of one skeleton and one rate, end to end; nothing is moved or blended at the joins.

    >>> still = Motion(Skeleton(("hips",), [-1], [[0, 0, 0]]), [[[1, 0, 0, 0]]] * 3, [[0, 1, 0]] * 3, 30)
    >>> concatenate([still, still[:2]]).frames
    5
    """
    if not motions:
        raise InputError("nothing to join: give at least one clip")
    first = motions[0]
    for other in motions[1:]:
        mine, theirs, both = first.skeleton, other.skeleton, f"{first.name!r} and {other.name!r}"
        if mine.names != theirs.names or not np.array_equal(mine.parents, theirs.parents):
            raise InputError(f"cannot join {both}: their joints differ")
        gap = np.abs(mine.offsets[1:] - theirs.offsets[1:]).max(initial=0.0)
        if gap > SAME_OFFSET and (first.translations is None or other.translations is None):
            raise InputError(f"cannot join {both}: their bones differ by up to {gap * 100:.3g} cm")
        if not np.isclose(other.frame_rate, first.frame_rate):
            raise InputError(
                f"cannot join clips of {first.frame_rate:g} and {other.frame_rate:g} frames per second; "
                "resample one of them first"
            )
    sliding = any(m.translations is not None for m in motions)
    return replace(
        first,
        rotations=so3.continuous(np.concatenate([m.rotations for m in motions])),
        root=np.concatenate([m.root for m in motions]),
        translations=np.concatenate([local_positions(m) for m in motions]) if sliding else None,
        first_frame=first.first_frame if len(motions) == 1 else 0,
    )
