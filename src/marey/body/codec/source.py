"""The source's motion codec: a pose model, and coarse curves of the root and five end joints.

Decoding rebuilds the curves and finds each pose by inverse kinematics within the model (Tournier 2011,
section 9.2). `improved` keeps the format and gets more out of it: modes of the kinetic metric instead of the
canonical one, coarse samples by least squares, and a prior that knows how much each mode varies. With
`store="coordinates"` the model's coordinates take the place of the end joints and decoding solves nothing.
Cost: one analysis of the clip to encode; tens of microseconds a frame to decode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, FloatArray, assign, checked, checked_rate, handed_over
from marey._timed import as_slice
from marey.body.codec.end_joints import EndJoint
from marey.body.codec.pyramid import expand
from marey.body.codec.sizes import coarse_length
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.convention import Convention
from marey.statistics.geodesics import PrincipalGeodesics

if TYPE_CHECKING:
    from marey.body.codec.source_editing import Pin


# No more than 1024 frames a sample, so that a small file cannot ask for an endless clip.
MOST_DROPPED = 10


@dataclass(frozen=True, eq=False)
class SourceClip:
    """A clip as the source's codec stores it: numbers that fit single precision.

    skeleton, frame_rate, frames: of the clip
    mean: `(joints, 3)`, rotation vectors of the mean pose; the root's is zero here and below
    directions: `(modes, joints, 3)`, of the pose model
    variances: `(modes,)`, of its coordinates
    ends: points whose world paths are stored; none if coordinates are
    root: `(samples, 3)`, coarse path of the root
    root_turns: `(samples, 3)`, coarse rotation vectors of the root
    curves: coarse world paths `(samples, 3)` of the ends; or one curve `(samples, modes)` of coordinates
    dropped: finest pyramid levels left out of root, root_turns and each curve
    noise: square metres; with `improved` the variance of the curves' errors, otherwise the weight of |λ|²
    improved: whether modes are kinetic, samples of least squares and the prior relative to the variances
    convention, channels, name: how to write the clip back
    """

    skeleton: Skeleton
    frame_rate: float
    frames: int
    mean: Array
    directions: Array
    variances: Array
    ends: tuple[EndJoint, ...]
    root: FloatArray
    root_turns: FloatArray
    curves: tuple[FloatArray, ...]
    dropped: tuple[int, ...]
    noise: float
    improved: bool = False
    convention: Convention = field(default_factory=Convention)
    channels: tuple[tuple[str, ...], ...] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        joints = self.skeleton.joints
        if self.frames < 1:
            raise InputError(f"frames: a clip has at least one, got {self.frames}")
        variances = checked("variances", self.variances, (None,))
        modes = len(variances)
        if (variances < 0).any():
            raise InputError("variances: must not be negative")
        if not (np.isfinite(self.noise) and self.noise > 0):
            raise InputError(f"noise: must be positive and finite, got {self.noise}")
        if len(self.curves) != (len(self.ends) or 1) or len(self.dropped) != 2 + len(self.curves):
            raise InputError(
                f"curves: {len(self.ends)} ends, {len(self.curves)} curves and {len(self.dropped)} numbers "
                "of dropped levels do not belong together"
            )
        for end in self.ends:
            if not (0 <= end.joint < joints and len(end.point) == 3 and np.isfinite(end.point).all()):
                raise InputError(f"ends: joints 0…{joints - 1} and finite points, got {end}")
        if not all(0 <= p <= MOST_DROPPED for p in self.dropped):
            raise InputError(f"dropped levels: 0…{MOST_DROPPED}, got {self.dropped}")
        lengths = [coarse_length(self.frames, p) for p in self.dropped]
        width = 3 if self.ends else modes
        curves = zip(self.curves, lengths[2:], strict=True)
        assign(
            self,
            frame_rate=checked_rate(self.frame_rate),
            mean=checked("mean", self.mean, (joints, 3)),
            directions=checked("directions", self.directions, (modes, joints, 3)),
            variances=variances,
            root=checked("root", self.root, (lengths[0], 3)),
            root_turns=checked("root_turns", self.root_turns, (lengths[1], 3)),
            curves=tuple(checked("curve", curve, (length, width)) for curve, length in curves),
        )

    @property
    def modes(self) -> int:
        """Number of geodesics of the pose model."""
        return len(self.directions)

    @property
    def ratio(self) -> float:
        """The source's compression ratio: numbers of the clip over numbers kept, with n = joints."""
        n = self.skeleton.joints
        kept = self.root.size + self.root_turns.size + sum(curve.size for curve in self.curves)
        return 3 * (n + 1) * self.frames / (3 * n * (self.modes + 1) + kept)

    @property
    def precision(self) -> Array:
        """Weight `(modes,)` of each squared coordinate in the prior, square metres."""
        if not self.improved:
            return np.full(self.modes, self.noise)
        # Modes that never move are held where they are.
        floor = max(1e-9 * self.variances.max(initial=0.0), 1e-12)
        return np.asarray(self.noise / np.maximum(self.variances, floor))

    def model(self) -> PoseModel:
        """The pose model, for decoding."""
        return PoseModel(self.skeleton, _geodesics(self.mean, self.directions, self.variances), self.frames)

    def to_bytes(self) -> bytes:
        """A compact, versioned, checked form: single precision, deflated."""
        from marey.body.codec.source_bytes import to_bytes

        return to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> SourceClip:
        """Inverse of :meth:`to_bytes`; anything else is a :class:`FormatError`."""
        from marey.body.codec.source_bytes import from_bytes

        return from_bytes(data)


def decompress_source(
    clip: SourceClip, *, frames: slice | int | None = None, pins: Sequence[Pin] = ()
) -> Motion:
    """The clip back, or some of its frames: curves at full rate, then a pose for each frame.

    frames: which, as in `motion[frames]`; all if None
    pins: hold end joints in place meanwhile; see :class:`marey.body.codec.source_editing.Pin`
    """
    kept = slice(None) if frames is None else as_slice(frames, clip.frames)
    return decode_frames(clip, np.arange(clip.frames)[kept], step=abs(kept.step or 1), pins=pins)


def decode_frames(
    clip: SourceClip, chosen: NDArray[np.int64], *, step: int = 1, pins: Sequence[Pin] = ()
) -> Motion:
    """Frames of a clip by index; `step` apart, for the frame rate."""
    model = clip.model()
    root, turns = root_frames(clip)
    root, turns = root[chosen], turns[chosen]
    if clip.ends:
        coordinates = _posed(clip, model, chosen, root, turns, pins)
    elif pins:
        raise InputError("pins: this clip stores coordinates, not end joints; there is nothing to hold")
    else:
        coordinates = expand(clip.curves[0], clip.frames, clip.dropped[2])[chosen]
    rotations = model.decode(coordinates)
    rotations[:, 0] = turns
    return Motion(
        clip.skeleton,
        handed_over(so3.continuous(so3.normalise(rotations))),
        handed_over(root),
        clip.frame_rate / step,
        convention=clip.convention,
        channels=clip.channels,
        name=clip.name,
    )


def root_frames(clip: SourceClip) -> tuple[Array, Array]:
    """Path `(frames, 3)` and rotations `(frames, 4)` of the root at full rate."""
    path = expand(clip.root, clip.frames, clip.dropped[0])
    return path, expand(so3.exp(clip.root_turns), clip.frames, clip.dropped[1], rotations=True)


def stored_paths(clip: SourceClip) -> Array:
    """World paths of the end joints at full rate, `(frames, ends, 3)`, as the coarse samples give them."""
    curves = zip(clip.curves, clip.dropped[2:], strict=True)
    return np.stack([expand(curve, clip.frames, p) for curve, p in curves], axis=1)


def _posed(
    clip: SourceClip,
    model: PoseModel,
    chosen: NDArray[np.int64],
    root: Array,
    turns: Array,
    pins: Sequence[Pin],
) -> Array:
    """Coordinates `(frames, modes)` by inverse kinematics, the root given."""
    from marey.body.ik.fixed_root import solve_in_model

    paths, weights = stored_paths(clip), None
    if pins:
        from marey.body.codec.source_editing import pinned

        paths, weights = pinned(clip, paths, pins)
        weights = weights[chosen]
    seen = so3.rotate(so3.inverse(turns)[:, None], paths[chosen] - root[:, None])
    effectors = [(end.joint, end.point) for end in clip.ends]
    return solve_in_model(model, effectors, seen, precision=clip.precision, weights=weights).coordinates


def _geodesics(mean: Array, directions: Array, variances: Array) -> PrincipalGeodesics:
    # Decoding needs no duals and no spectrum; those of the canonical metric stand in.
    return PrincipalGeodesics(so3.exp(mean), directions, directions, variances, variances)
