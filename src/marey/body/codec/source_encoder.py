"""Encoding a clip the source's way, plain or improved (Tournier 2011, section 9.2).

One principal geodesic analysis, the paths of the end joints, and coarse samples of all curves. What several
encodings of one clip have in common is made once, so that settings can be tried in milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from marey._arrays import Array, FloatArray
from marey.body.codec.coarse_samples import nearest_samples
from marey.body.codec.end_joints import EndJoint, end_joints
from marey.body.codec.pyramid import decimate
from marey.body.codec.source import MOST_DROPPED, SourceClip, root_frames, stored_paths
from marey.body.kinematics import global_frames, points_on
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

Store = Literal["end joints", "coordinates"]

# The source's text finds 8 frames a sample invisible in most clips of 120 frames a second.
DROPPED = 3
# Square metres a squared coordinate: the weight of the source's prior |λ|², which it does not give.
PLAIN_PRIOR = 3e-4
# Of the mean squared error of the curves, the share taken for noise: the rest is known to be systematic.
NOISE_SHARE = 0.5
LEAST_NOISE = 1e-8


def compress_source(
    motion: Motion,
    *,
    modes: int | None = None,
    dropped_root: int | tuple[int, int] = DROPPED,
    dropped_effectors: int | Sequence[int] = DROPPED,
    effectors: Sequence[str] | None = None,
    improved: bool = False,
    store: Store = "end joints",
) -> SourceClip:
    """Compress a clip the source's way.

    modes: geodesics of the pose model; enough for 99 % of the variance if None
    dropped_root: finest levels left out of the root's position and orientation (one number, or both)
    dropped_effectors: of the end joints (one number, or one each), or of the coordinates
    effectors: joints that lead the figure; head, hands and feet if None
    improved: same format, less error: modes of the kinetic metric, least-squares samples, prior of the
        modes' variances with a noise measured on the clip
    store: world paths of the end joints, or the model's coordinates

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> clip = compress_source(walk, modes=8, improved=True)
    >>> from marey.body.codec import decompress_source, joint_error
    >>> decoded = decompress_source(clip)
    >>> clip.ratio > 7, joint_error(walk, decoded).mean < 0.01
    (True, True)
    """
    encoder = Encoder(motion, effectors=effectors, improved=improved, store=store)
    root = (dropped_root, dropped_root) if isinstance(dropped_root, int) else tuple(dropped_root)
    count = encoder.curve_count
    curves = [dropped_effectors] * count if isinstance(dropped_effectors, int) else list(dropped_effectors)
    if len(root) != 2 or len(curves) != count:
        raise InputError(f"dropped levels: two for the root and {count} for the curves, got {root}, {curves}")
    return encoder.clip(encoder.enough_modes if modes is None else modes, (*root, *curves))


class Encoder:
    """What encodings of one clip share: its model with all modes, its curves, their coarse samples."""

    def __init__(
        self, motion: Motion, *, effectors: Sequence[str] | None, improved: bool, store: Store
    ) -> None:
        if motion.translations is not None:
            raise InputError(
                f"motion {motion.name!r}: joints slide, which this codec cannot store; use the default mode"
            )
        if store not in ("end joints", "coordinates"):
            raise InputError(f"store: 'end joints' or 'coordinates', got {store!r}")
        self.motion, self.improved = motion, improved
        self.skeleton = _rounded_skeleton(motion.skeleton)
        metric = "kinetic" if improved else "canonical"
        model = PoseModel.fit([motion], variance=1.0, metric=metric)
        self.geodesics = model.geodesics
        self.coordinates = model.encode(motion)
        self.ends = (
            tuple(end._replace(point=_single_point(end)) for end in end_joints(motion.skeleton, effectors))
            if store == "end joints"
            else ()
        )
        pose = motion.forward_kinematics()
        self.paths = points_on(pose, [e.joint for e in self.ends], _points(self.ends)) if self.ends else None
        self._samples: dict[tuple[int, int], Array] = {}

    @property
    def curve_count(self) -> int:
        """Curves besides those of the root."""
        return len(self.ends) or 1

    @property
    def enough_modes(self) -> int:
        """Modes for 99 % of the variance."""
        return int(np.searchsorted(self.geodesics.explained, 0.99) + 1) if self.geodesics.modes else 0

    def clip(self, modes: int, dropped: Sequence[int]) -> SourceClip:
        """The clip with so many modes and coarse curves."""
        most = 3 * (self.skeleton.joints - 1)
        if not 0 <= modes <= most:
            raise InputError(f"modes: must be 0…{most}, got {modes}")
        for p in dropped:
            if not 0 <= p <= MOST_DROPPED:
                raise InputError(f"dropped levels: 0…{MOST_DROPPED}, got {p}")
        found = self.geodesics.first(min(modes, self.geodesics.modes))
        curves = [self._coarse(2 + i, p) for i, p in enumerate(dropped[2:])]
        motion = self.motion
        clip = SourceClip(
            skeleton=self.skeleton,
            frame_rate=motion.frame_rate,
            frames=motion.frames,
            mean=_single(so3.log(found.mean)),
            directions=_single(found.directions),
            variances=_single(found.variances),
            ends=self.ends,
            root=self._coarse(0, dropped[0]),
            root_turns=self._coarse(1, dropped[1]),
            curves=tuple(curves) if self.ends else (curves[0][:, : found.modes],),
            dropped=tuple(dropped),
            noise=PLAIN_PRIOR,
            improved=self.improved,
            convention=motion.convention,
            channels=motion.channels,
            name=motion.name,
        )
        if not (self.improved and self.ends):
            return clip
        return replace(clip, noise=float(np.float32(self._noise(clip))))

    def _coarse(self, curve: int, dropped: int) -> Array:
        """Coarse samples of the root's path, its orientation, and every other curve, made once each."""
        if (curve, dropped) not in self._samples:
            pick = nearest_samples if self.improved else decimate
            if curve == 1:
                samples = so3.log(pick(self.motion.rotations[:, 0], dropped, rotations=True))
            else:
                whole = (
                    self.motion.root
                    if curve == 0
                    else self.coordinates
                    if self.paths is None
                    else self.paths[:, curve - 2]
                )
                samples = pick(whole, dropped)
            self._samples[curve, dropped] = _single(samples)
        return self._samples[curve, dropped]

    def _noise(self, clip: SourceClip) -> float:
        """Variance of what the stored paths say beyond the best pose of the model, a coordinate."""
        some = np.unique(np.linspace(0, clip.frames - 1, min(clip.frames, 2000)).astype(np.int64))
        root, turns = root_frames(clip)
        rotations = self.geodesics.first(clip.modes).decode(self.coordinates[some, : clip.modes])
        rotations[:, 0] = turns[some]
        pose = global_frames(clip.skeleton.parents, clip.skeleton.offsets, rotations, root[some])
        best = points_on(pose, [end.joint for end in clip.ends], _points(clip.ends))
        return max(NOISE_SHARE * float(((stored_paths(clip)[some] - best) ** 2).mean()), LEAST_NOISE)


def _single(values: FloatArray) -> Array:
    """Rounded to single precision, which is what is stored."""
    return np.asarray(values, dtype=np.float32).astype(np.float64)


def _single_point(end: EndJoint) -> tuple[float, float, float]:
    x, y, z = (float(np.float32(v)) for v in end.point)
    return x, y, z


def _points(ends: Sequence[EndJoint]) -> Array:
    return np.array([end.point for end in ends]).reshape(-1, 3)


def _rounded_skeleton(skeleton: Skeleton) -> Skeleton:
    return Skeleton(
        skeleton.names,
        skeleton.parents,
        _single(skeleton.offsets),
        skeleton.end_parents,
        _single(skeleton.end_offsets),
    )
