"""A clip of skeleton motion: local rotations over time and the root's path (Tournier 2011, chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from marey._arrays import FloatArray, as_slice, assign, checked, checked_rate, frame_slice
from marey.body.kinematics import GlobalPose, end_positions, forward_kinematics
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry.convention import Convention

UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Motion:
    """What a skeleton does over time. Metres, radians, seconds; y up; quaternions `(w, x, y, z)`.

    skeleton: the joints
    rotations: `(frames, joints, 4)`, unit, of each joint in its parent's frame; the root's in the world
    root: `(frames, 3)`, position of the root joint in the world
    frame_rate: frames per second
    translations: `(frames, joints, 3)` or None. Only for joints that slide (6-channel BVH, glTF
        translation tracks): positions in the parent's frame that replace the offsets. Row 0 repeats `root`.
    convention: how the file it came from measures; used when it is written back
    channels: BVH channels per joint as the file had them, or None
    name: what to call it

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

    def __post_init__(self) -> None:
        joints = self.skeleton.joints
        rotations = checked("rotations", self.rotations, (None, joints, 4))
        frames = len(rotations)
        if frames == 0:
            raise InputError("motion: it has no frame")
        norms = np.einsum("...i,...i", rotations, rotations)
        if np.abs(norms - 1).max() > 2 * UNIT_TOLERANCE:
            frame, joint = (int(i) for i in np.argwhere(np.abs(norms - 1) > 2 * UNIT_TOLERANCE)[0])
            raise InputError(
                f"rotations: quaternion of joint {self.skeleton.names[joint]!r} at frame {frame} "
                f"has norm {np.sqrt(norms[frame, joint]):.6g}, not 1; normalise it first"
            )
        translations = self.translations
        if translations is not None:
            translations = checked("translations", translations, (frames, joints, 3))
        if self.channels is not None and len(self.channels) != joints:
            raise InputError(f"channels: {len(self.channels)} entries for {joints} joints")
        assign(
            self,
            rotations=rotations,
            root=checked("root", self.root, (frames, 3)),
            frame_rate=checked_rate(self.frame_rate),
            translations=translations,
        )

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.rotations)

    @property
    def joints(self) -> int:
        """Number of joints, the root included."""
        return self.skeleton.joints

    @property
    def duration(self) -> float:
        """Seconds: frames divided by frame rate."""
        return self.frames / self.frame_rate

    def __len__(self) -> int:
        return self.frames

    def __getitem__(self, key: int | slice) -> Motion:
        """Frames as a shorter clip: `motion[10:50]`, `motion[7]`, `motion[::4]` (rate divided by 4)."""
        frames = as_slice(key, self.frames)
        step = frames.step or 1
        return replace(
            self,
            rotations=self.rotations[frames],
            root=self.root[frames],
            translations=None if self.translations is None else self.translations[frames],
            frame_rate=self.frame_rate / abs(step),
        )

    def between(self, start: float | None = None, stop: float | None = None) -> Motion:
        """Frames whose time in seconds lies in `[start, stop]`."""
        return self[frame_slice(self.frames, self.frame_rate, start, stop)]

    def forward_kinematics(self) -> GlobalPose:
        """World positions `(frames, joints, 3)` and rotations `(frames, joints, 4)` of all joints."""
        return forward_kinematics(self)

    def positions(self) -> FloatArray:
        """World positions of all joints, `(frames, joints, 3)`, metres."""
        return forward_kinematics(self).positions

    def end_positions(self) -> FloatArray:
        """World positions of the end sites, `(frames, ends, 3)`, metres."""
        return end_positions(self)


def concatenate(motions: Sequence[Motion]) -> Motion:
    """Clips of one skeleton and one rate, end to end."""
    first = motions[0]
    for other in motions[1:]:
        if other.skeleton.names != first.skeleton.names:
            raise InputError(f"cannot join {first.name!r} and {other.name!r}: their joints differ")
        if not np.isclose(other.frame_rate, first.frame_rate):
            raise InputError(
                f"cannot join clips of {first.frame_rate:g} and {other.frame_rate:g} frames per second; "
                "resample one of them first"
            )
    sliding = any(m.translations is not None for m in motions)
    return replace(
        first,
        rotations=np.concatenate([m.rotations for m in motions]),
        root=np.concatenate([m.root for m in motions]),
        translations=np.concatenate([local_positions(m) for m in motions]) if sliding else None,
    )


def local_positions(motion: Motion) -> FloatArray:
    """Position of every joint in its parent's frame, `(frames, joints, 3)`; the root's is its path."""
    if motion.translations is not None:
        return motion.translations
    positions = np.repeat(motion.skeleton.offsets[None], motion.frames, axis=0)
    positions[:, 0] = motion.root
    return positions
