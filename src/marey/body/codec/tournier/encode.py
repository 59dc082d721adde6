"""Encoding a clip by Tournier's codec (Tournier 2011, section 9.2).

One principal geodesic analysis, the paths of the end effectors, and coarse samples of all curves. What
several encodings of one clip have in common is made once, so that settings can be tried in milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marey._arrays import Array, FloatArray
from marey.body.anatomy import end_effectors
from marey.body.codec.header import Header
from marey.body.codec.tournier.clip import MOST_DROPPED, TournierClip
from marey.body.codec.tournier.curves import decimate
from marey.body.kinematics import points_on
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3

# The text finds 8 frames a sample invisible in most clips of 120 frames a second.
DROPPED = 3
# Square metres a squared coordinate: the weight of the prior |λ|², which is not given.
PRIOR = 3e-4
# Offsets of the skeleton are rounded to the longest over this.
_SKELETON_DETAIL = 50_000


def encode(
    motion: Motion,
    *,
    modes: int | None = None,
    dropped_root: int | tuple[int, int] = DROPPED,
    dropped_effectors: int | Sequence[int] = DROPPED,
    effectors: Sequence[str] | None = None,
) -> TournierClip:
    """Compress a clip as in Tournier (2011, 9.2).

    Args:
        motion: the clip; joints may not slide.
        modes: geodesics of the pose model; enough for 99 % of the variance if None.
        dropped_root: finest levels left out of the root's position and orientation (one number, or both).
        dropped_effectors: of the end effectors (one number, or one each).
        effectors: joints that lead the figure; head, hands and feet if None.

    >>> import marey
    >>> from marey.body.codec.tournier import decode
    >>> walk = marey.samples.walk()
    >>> clip = encode(walk, modes=8)
    >>> clip.ratio > 7, decode(clip).frames == walk.frames
    (True, True)
    """
    encoder = Encoder(motion, effectors=effectors)
    root = (dropped_root, dropped_root) if isinstance(dropped_root, int) else tuple(dropped_root)
    count = len(encoder.ends)
    curves = [dropped_effectors] * count if isinstance(dropped_effectors, int) else list(dropped_effectors)
    if len(root) != 2 or len(curves) != count:
        raise InputError(f"dropped levels: two for the root and {count} for the curves, got {root}, {curves}")
    return encoder.clip(encoder.enough_modes if modes is None else modes, (*root, *curves))


class Encoder:
    """What encodings of one clip share: its model with all modes, and its curves."""

    def __init__(self, motion: Motion, *, effectors: Sequence[str] | None) -> None:
        skeleton = motion.skeleton
        longest = np.abs(np.concatenate([skeleton.offsets, skeleton.end_offsets])).max()
        quantum = float(f"{longest / _SKELETON_DETAIL:.1g}") if longest > 0 else None
        self.header = Header.of(motion, quantum=quantum)
        if self.header.sliding != (0,):
            names = ", ".join(skeleton.names[joint] for joint in self.header.sliding[1:4])
            raise InputError(
                f"{motion.name or 'the clip'}: joints slide ({names}), which Tournier's codec cannot store; "
                "use the default method"
            )
        self.motion = self.header.motion(motion.rotations, motion.root[:, None])
        self.geodesics = PoseModel.fit([self.motion], variance=1.0, metric="canonical").geodesics
        ends = end_effectors(skeleton, effectors)
        points = _single(np.array([end.point for end in ends]))
        self.ends = tuple(
            end._replace(point=tuple(point)) for end, point in zip(ends, points.tolist(), strict=True)
        )
        paths = points_on(motion.forward_kinematics(), [end.joint for end in ends], points)
        self._curves = [motion.root, *paths.swapaxes(0, 1)]

    @property
    def enough_modes(self) -> int:
        """Modes for 99 % of the variance."""
        return int(np.searchsorted(self.geodesics.explained, 0.99) + 1) if self.geodesics.modes else 0

    def clip(self, modes: int, dropped: Sequence[int]) -> TournierClip:
        """The clip with so many modes and coarse curves."""
        most = 3 * (self.motion.joints - 1)
        if not 0 <= modes <= most:
            raise InputError(f"modes: must be 0…{most}, got {modes}")
        for p in dropped:
            if not 0 <= p <= MOST_DROPPED:
                raise InputError(f"dropped levels: 0…{MOST_DROPPED}, got {p}")
        found = self.geodesics.first(min(modes, self.geodesics.modes))
        root, *curves = (
            _single(decimate(curve, p))
            for curve, p in zip(self._curves, (dropped[0], *dropped[2:]), strict=True)
        )
        return TournierClip(
            self.header,
            _single(so3.log(found.mean)),
            _single(found.directions),
            _single(found.variances),
            self.ends,
            root,
            _single(so3.log(decimate(self.motion.rotations[:, 0], dropped[1], rotations=True))),
            tuple(curves),
            tuple(dropped),
            PRIOR,
        )


def _single(values: FloatArray) -> Array:
    """Rounded to single precision, which is what is stored."""
    return np.asarray(values, dtype=np.float32).astype(np.float64)
