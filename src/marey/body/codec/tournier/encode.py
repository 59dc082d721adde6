"""Encoding a clip by Tournier's codec (Tournier 2011, section 9.2).

One principal geodesic analysis, the paths of the end effectors, and coarse samples of all curves. What
several encodings of one clip have in common is made once, so that settings can be tried in milliseconds.
To keep an error (section 9.2.1), the fewest modes are found by bisection for every number of dropped levels,
coarsest first, and the smallest of these encodings is taken. Trials encode and decode some hundred frames;
the result is checked on all, and the frames that miss the bound join the trials. Cost: seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, FloatArray
from marey.body.anatomy import end_effectors
from marey.body.clip_header import Header
from marey.body.codec.tournier.clip import MOST_DROPPED, TournierClip, decimate, decode_frames
from marey.body.compare import joint_error
from marey.body.kinematics import points_on
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.errors import InputError, UnreachableError
from marey.geometry import rotations as so3

# The text finds 8 frames a sample invisible in most clips of 120 frames a second.
DROPPED = 3
# Square metres a squared coordinate: the weight of the prior |λ|², which is not given.
PRIOR = 3e-4
# Offsets of the skeleton are rounded to the longest over this.
_SKELETON_DETAIL = 50_000
# Frames of a trial, spread over the clip, and how often the worst ones are added.
_TRIAL_FRAMES, _ROUNDS = 200, 5


def encode(
    motion: Motion,
    *,
    modes: int | None = None,
    dropped_levels: int | Sequence[int] = DROPPED,
) -> TournierClip:
    """Compress a clip as in Tournier (2011, 9.2).

    Args:
        motion: the clip; joints may not slide.
        modes: geodesics of the pose model; enough for 99 % of the variance if None.
        dropped_levels: finest levels left out of the curves: one number; the root's, then that of the end
            effectors; or one a curve, the root's position and orientation first.

    >>> import marey
    >>> from marey.body.codec.tournier import decode
    >>> walk = marey.samples.walk()
    >>> clip = encode(walk, modes=8)
    >>> clip.ratio > 7, decode(clip).frames == walk.frames
    (True, True)
    """
    encoder = Encoder(motion)
    levels, count = np.atleast_1d(dropped_levels).tolist(), len(encoder.ends)
    if len(levels) <= 2:
        levels = levels[:1] * 2 + levels[-1:] * count
    if len(levels) != 2 + count:
        ask = f"one number, or the root's and the end effectors', or {2 + count} for all curves"
        raise InputError(f"dropped levels: {ask}, got {dropped_levels}")
    if modes is None:
        found = encoder.geodesics
        modes = int(np.searchsorted(found.explained, 0.99) + 1) if found.modes else 0
    return encoder.clip(modes, tuple(levels))


def encode_within(
    motion: Motion, *, max_error: float | None = None, mean_error: float | None = None
) -> TournierClip:
    """The smallest encoding found whose error is allowed; give at least one bound.

    Args:
        motion: the clip; joints may not slide.
        max_error: largest distance of joints and end sites, metres.
        mean_error: their mean distance, metres.

    >>> import marey
    >>> from marey.body.codec.tournier import decode
    >>> walk = marey.samples.walk()
    >>> clip = encode_within(walk, mean_error=0.02)
    >>> joint_error(walk, decode(clip)).mean <= 0.02, clip.ratio > 5
    (True, True)
    """
    limits = (max_error, mean_error)
    given = [limit for limit in limits if limit is not None]
    if not given or not all(limit > 0 for limit in given):
        raise InputError(f"give max_error or mean_error, above 0; got {given or 'none'}")

    def excess(original: Motion, decoded: Motion) -> float:
        """The largest error over its bound; at most 1 if all are kept."""
        error = joint_error(original, decoded)
        found = zip((error.maximum, error.mean), limits, strict=True)
        return max(value / limit for value, limit in found if limit is not None)

    encoder = Encoder(motion)
    every = np.arange(motion.frames)
    some = np.unique(np.linspace(0, motion.frames - 1, min(motion.frames, _TRIAL_FRAMES)).astype(np.int64))
    least = np.inf
    for _ in range(_ROUNDS):
        clip = _smallest(encoder, excess, some)
        decoded = decode_frames(clip, every)
        missed = excess(motion, decoded)
        if missed <= 1:
            return clip
        least = min(least, missed)
        farthest = np.linalg.norm(decoded.positions() - motion.positions(), axis=-1).max(axis=1).argsort()
        some = np.union1d(some, farthest[-len(some) :])
    asked = zip(("every joint within {:.3g} cm", "{:.3g} cm on average"), limits, strict=True)
    bounds = " and ".join(words.format(100 * limit) for words, limit in asked if limit is not None)
    raise UnreachableError(
        f"{motion.name or 'the clip'}: Tournier's codec cannot keep {bounds}: all samples of "
        f"{len(encoder.ends)} end effectors leave {least:.3g} times that; allow more, or use the default "
        "method"
    )


class Encoder:
    """What encodings of one clip share: its model with all modes, and its curves."""

    def __init__(self, motion: Motion) -> None:
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
        ends = end_effectors(skeleton)
        points = _single(np.array([end.point for end in ends]))
        placed = zip(ends, points.tolist(), strict=True)
        self.ends = tuple(end._replace(point=tuple(point)) for end, point in placed)
        paths = points_on(motion.forward_kinematics(), [end.joint for end in ends], points)
        self._curves = [motion.root, *paths.swapaxes(0, 1)]

    def clip(self, modes: int, dropped: Sequence[int]) -> TournierClip:
        """The clip with so many modes and coarse curves."""
        most = 3 * (self.motion.joints - 1)
        if not 0 <= modes <= most:
            raise InputError(f"modes: must be 0…{most}, got {modes}")
        for p in dropped:
            if not 0 <= p <= MOST_DROPPED:
                raise InputError(f"dropped levels: 0…{MOST_DROPPED}, got {p}")
        found = self.geodesics.first(min(modes, self.geodesics.modes))
        mean, directions, variances = map(_single, (so3.log(found.mean), found.directions, found.variances))
        levels = zip(self._curves, (dropped[0], *dropped[2:]), strict=True)
        root, *curves = (_single(decimate(curve, p)) for curve, p in levels)
        turns = _single(so3.log(decimate(self.motion.rotations[:, 0], dropped[1], rotations=True)))
        pose, paths = (mean, directions, variances), (root, turns, tuple(curves))
        return TournierClip(self.header, *pose, self.ends, *paths, tuple(dropped), PRIOR)


def _smallest(
    encoder: Encoder, excess: Callable[[Motion, Motion], float], some: NDArray[np.int64]
) -> TournierClip:
    """The encoding with the highest ratio whose error on some frames is allowed; the finest if none is."""
    motion, all_modes = encoder.motion, encoder.geodesics.modes
    truth = replace(motion, rotations=so3.continuous(motion.rotations[some]), root=motion.root[some])

    def clip(modes: int, dropped: int) -> TournierClip:
        return encoder.clip(modes, (dropped,) * (2 + len(encoder.ends)))

    def good(modes: int, dropped: int) -> bool:
        return excess(truth, decode_frames(clip(modes, dropped), some)) <= 1

    best = finest = clip(all_modes, 0)
    for dropped in range(min((motion.frames - 1).bit_length(), MOST_DROPPED), -1, -1):
        if not good(all_modes, dropped):
            continue
        low, high = 0, all_modes
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if good(middle, dropped) else (middle + 1, high)
        found = clip(low, dropped)
        if best is not finest and found.ratio < best.ratio:
            break
        best = found
    return best


def _single(values: FloatArray) -> Array:
    """Rounded to single precision, which is what is stored."""
    return np.asarray(values, dtype=np.float32).astype(np.float64)
