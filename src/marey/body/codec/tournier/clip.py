"""A clip in Tournier's codec: a pose model, and coarse curves of the root and the end effectors.

Decoding rebuilds the curves and finds each pose by inverse kinematics within the model (Tournier 2011,
section 9.2). Stored are the numbers in single precision, split into byte planes and deflated. The curves are
the handles of a rig (section 9.3.2): moving samples of an end effector or the root moves the whole body in
the clip's style, and a pin holds an end effector in place, as for feet on the ground. Cost: tens of
microseconds a frame to decode.

Curves of vectors and of rotations are coarse (section 9.2.2): every second sample is kept, those between are
predicted from four kept neighbours by a Catmull-Rom midpoint; then the same with the kept samples. Of the
interpolating pyramid the codec keeps the coarsest level alone: a smooth curve through every `2^dropped`-th
sample. Beyond its ends a curve goes on as its point reflection.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray, as_slice, assign, checked, derived
from marey.body.anatomy import EndEffector
from marey.body.clip_header import Headed, Header, whole
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.errors import FormatError, InputError, MareyError
from marey.geometry import rotations as so3
from marey.geometry.fades import minimum_jerk
from marey.statistics.geodesics import PrincipalGeodesics

# No more than 1024 frames a sample, so that a small file cannot ask for an endless clip.
MOST_DROPPED = 10
# Deflate cannot do better: a payload that claims to unpack to more is damaged.
_LARGEST_GAIN = 1040
# Weight of a pinned joint relative to a stored one.
_PIN_WEIGHT = 100.0


@dataclass(frozen=True, eq=False)
class TournierClip(Headed):
    """A clip as Tournier's codec stores it: numbers that fit single precision.

    Args:
        header: skeleton, frames, rate, and how to write the clip back.
        mean: `(joints, 3)`, rotation vectors of the mean pose; the root's is zero here and below.
        directions: `(modes, joints, 3)`, of the pose model.
        variances: `(modes,)`, of its coordinates.
        ends: points whose world paths are stored.
        root: `(samples, 3)`, coarse path of the root, metres.
        root_turns: `(samples, 3)`, coarse rotation vectors of the root.
        curves: coarse world paths `(samples, 3)` of the ends, metres.
        dropped_levels: finest pyramid levels left out of root, root_turns and each curve.
        prior: square metres, weight of the squared coordinates |λ|² in inverse kinematics.
    """

    header: Header
    mean: Array
    directions: Array
    variances: Array
    ends: tuple[EndEffector, ...]
    root: FloatArray
    root_turns: FloatArray
    curves: tuple[FloatArray, ...]
    dropped_levels: tuple[int, ...]
    prior: float

    def __post_init__(self) -> None:
        joints = self.skeleton.joints
        variances = checked("variances", self.variances, (None,))
        if (variances < 0).any():
            raise InputError("variances: must not be negative")
        if not (np.isfinite(self.prior) and self.prior > 0):
            raise InputError(f"prior: must be positive and finite, got {self.prior}")
        if not len(self.curves) == len(self.ends) == len(self.dropped_levels) - 2 > 0:
            raise InputError(
                f"curves: {len(self.ends)} ends, {len(self.curves)} curves and {len(self.dropped_levels)} "
                "numbers of dropped levels do not belong together"
            )
        for end in self.ends:
            if not (0 <= end.joint < joints and len(end.point) == 3 and np.isfinite(end.point).all()):
                raise InputError(f"ends: joints 0…{joints - 1} and finite points, got {end}")
        if not all(0 <= p <= MOST_DROPPED for p in self.dropped_levels):
            raise InputError(f"dropped levels: 0…{MOST_DROPPED}, got {self.dropped_levels}")
        lengths = [coarse_length(self.frames, p) for p in self.dropped_levels]
        curves = zip(self.curves, lengths[2:], strict=True)
        assign(
            self,
            mean=checked("mean", self.mean, (joints, 3)),
            directions=checked("directions", self.directions, (len(variances), joints, 3)),
            variances=variances,
            root=checked("root", self.root, (lengths[0], 3)),
            root_turns=checked("root_turns", self.root_turns, (lengths[1], 3)),
            curves=tuple(checked("curve", curve, (length, 3)) for curve, length in curves),
        )

    modes = derived(len, "directions", "Number of geodesics of the pose model.")

    @property
    def ratio(self) -> float:
        """The published compression ratio: numbers of the clip over numbers kept, with n = joints."""
        levels = self.dropped_levels
        return published_ratio(self.frames, self.skeleton.joints, modes=self.modes, dropped_levels=levels)

    def model(self) -> PoseModel:
        """The pose model, for decoding: without duals and spectrum, which decoding does not need."""
        twice = self.directions, self.directions, self.variances, self.variances
        return PoseModel(self.skeleton, PrincipalGeodesics(so3.exp(self.mean), *twice), self.frames)

    def pack(self) -> tuple[Header, bytes]:
        """Header and payload of a file."""
        ends, dropped = [[end.joint, end.part] for end in self.ends], self.dropped_levels
        stored = {"modes": self.modes, "ends": ends, "dropped_levels": dropped, "prior": self.prior}
        header = self.header.with_content(**stored)
        points = np.array([end.point for end in self.ends])
        pose = points, self.mean[1:], self.directions[:, 1:], self.variances
        arrays = [np.ravel(array) for array in (*pose, self.root, self.root_turns, *self.curves)]
        numbers = np.concatenate(arrays).astype("<f4")
        return header, zlib.compress(numbers.view(np.uint8).reshape(-1, 4).T.tobytes(), 9)

    @classmethod
    def unpack(cls, header: Header, payload: bytes) -> TournierClip:
        """Inverse of :meth:`pack`; anything else is a :class:`FormatError`."""
        try:
            return _unpacked(header, payload)
        except FormatError:
            raise
        except (MareyError, zlib.error, ValueError, TypeError, LookupError, OverflowError) as bad:
            raise FormatError(f"the compressed clip is damaged ({bad})") from bad


@dataclass(frozen=True)
class Pin:
    """Hold an end effector in place for a while.

    Args:
        joint: its name.
        start, stop: seconds.
        position: `(x, y, z)` in the world, metres; where the joint is meanwhile, on average, if None.
        ramp: seconds over which the hold comes and goes, outside `start`…`stop`.
    """

    joint: str
    start: float
    stop: float
    position: tuple[float, float, float] | None = None
    ramp: float = 0.06


def decode(clip: TournierClip, *, frames: slice | int | None = None, pins: Sequence[Pin] = ()) -> Motion:
    """The clip back, or some of its frames: curves at full rate, then a pose for each frame.

    Args:
        frames: which, as in `motion[frames]`; all if None.
        pins: hold end effectors in place meanwhile; see :class:`marey.body.codec.tournier.Pin`.
    """
    kept = slice(None) if frames is None else as_slice(frames, clip.frames)
    return decode_frames(clip, np.arange(clip.frames)[kept], step=abs(kept.step or 1), pins=pins)


def decode_frames(
    clip: TournierClip, chosen: NDArray[np.int64], *, step: int = 1, pins: Sequence[Pin] = ()
) -> Motion:
    """Frames of a clip by index; `step` apart, for the frame rate."""
    from marey.body.ik.solver import solve_in_model

    root = expand(clip.root, clip.frames, clip.dropped_levels[0])[chosen]
    turns = expand(so3.exp(clip.root_turns), clip.frames, clip.dropped_levels[1], rotations=True)[chosen]
    curves = zip(clip.curves, clip.dropped_levels[2:], strict=True)
    paths = np.stack([expand(curve, clip.frames, p) for curve, p in curves], axis=1)
    paths, weights = _pinned(clip, paths, pins)
    seen = so3.rotate(so3.inverse(turns)[:, None], paths[chosen] - root[:, None])
    effectors = [(end.joint, end.point) for end in clip.ends]
    model = clip.model()
    prior = np.full(clip.modes, clip.prior)
    found = solve_in_model(model, effectors, seen, precision=prior, weights=weights[chosen])
    rotations = model.decode(found.coordinates)
    rotations[:, 0] = turns
    rotations = so3.continuous(so3.normalise(rotations))
    return clip.header.motion(rotations, root[:, None], frame_rate=clip.frame_rate / step)


def displace(clip: TournierClip, joint: str, offset: ArrayLike, *, time: float, width: float) -> TournierClip:
    """Move the stored path of an end effector, or of the root, around a time.

    Args:
        joint: name of an end effector, or "root" (the end effectors then stay and the limbs bend).
        offset: `(x, y, z)`, metres, reached at `time`.
        time: seconds.
        width: seconds on either side over which the offset grows and fades.

    >>> import marey
    >>> from marey.body.codec.tournier import decode, encode
    >>> clip = encode(marey.samples.walk(), modes=10)
    >>> further = displace(clip, "LeftHand", [0.0, 0.0, 0.2], time=1.0, width=0.5)
    >>> before, after = (decode(c, frames=slice(60, 61)).positions()[0] for c in (clip, further))
    >>> bool((after - before)[clip.skeleton.index("LeftHand"), 2] > 0.15)
    True
    """
    shift = checked("offset", offset, (3,))
    curve = 0 if joint == "root" else 2 + end_index(clip, joint)
    last = (clip.frames - 1) / clip.frame_rate
    if not 0 <= time <= last:
        raise InputError(f"time: the clip lasts from 0 to {last:.4g} s, got {time:g}")
    dropped = clip.dropped_levels[curve]
    spacing = (1 << dropped) / clip.frame_rate
    if not width >= spacing:
        raise InputError(
            f"width: this curve has a sample every {spacing:.3g} s, so an edit must be at least that wide "
            f"on either side, got {width:g}"
        )
    samples = clip.root if curve == 0 else clip.curves[curve - 2]
    away = (np.arange(len(samples)) * spacing - time) / width
    window = minimum_jerk(np.maximum(1 - np.abs(away), 0.0))[:, None]
    # Samples beside the time reach less than the whole offset there: make up for it.
    reached = expand(window, clip.frames, dropped)[round(time * clip.frame_rate), 0]
    moved = (samples + shift * window / reached).astype(np.float32).astype(np.float64)
    if curve == 0:
        return replace(clip, root=moved)
    curves = [moved if i == curve - 2 else kept for i, kept in enumerate(clip.curves)]
    return replace(clip, curves=tuple(curves))


def end_index(clip: TournierClip, joint: str) -> int:
    """Which of the stored end effectors is called `joint`."""
    names = [clip.skeleton.names[end.joint] for end in clip.ends]
    if joint not in names:
        raise InputError(
            f"no end effector {joint!r} in the clip; stored are {', '.join(names)}, and 'root' can be moved"
        )
    return names.index(joint)


def _pinned(clip: TournierClip, paths: Array, pins: Sequence[Pin]) -> tuple[Array, Array]:
    """Paths `(frames, ends, 3)` that stand still where pinned, and weights `(frames, ends)`."""
    paths, weights = paths.copy(), np.ones(paths.shape[:2])
    times = np.arange(clip.frames) / clip.frame_rate
    for pin in pins:
        end = end_index(clip, pin.joint)
        inside = (times >= pin.start) & (times <= pin.stop)
        if not inside.any():
            raise InputError(
                f"pin of {pin.joint!r}: no frame between {pin.start:g} and {pin.stop:g} s; "
                f"the clip lasts to {times[-1]:.4g} s"
            )
        place = paths[inside, end].mean(axis=0)
        if pin.position is not None:
            place = checked("pin position", pin.position, (3,))
        outside = np.maximum(np.maximum(pin.start - times, times - pin.stop), 0.0)
        share = minimum_jerk(1 - np.minimum(outside / max(pin.ramp, 1e-9), 1.0))
        paths[:, end] += share[:, None] * (place - paths[:, end])
        weights[:, end] = np.maximum(weights[:, end], 1 + share * (_PIN_WEIGHT - 1))
    return paths, weights


def _unpacked(header: Header, payload: bytes) -> TournierClip:
    content, joints = header.content, header.skeleton.joints
    modes, ends = whole(content["modes"]), content["ends"]
    dropped = tuple(whole(p) for p in content["dropped_levels"])
    if header.sliding != (0,) or max(dropped) > MOST_DROPPED:
        raise FormatError("the compressed clip is damaged: its description makes no sense")
    lengths = [coarse_length(header.frames, p) for p in dropped]
    shapes = [(len(ends), 3), (joints - 1, 3), (modes, joints - 1, 3), (modes,), *((n, 3) for n in lengths)]
    sizes = [math.prod(shape) for shape in shapes]
    if 4 * sum(sizes) > _LARGEST_GAIN * len(payload) + 64:
        raise FormatError("the compressed clip is damaged: it claims to unpack to more than it can")
    unpacker = zlib.decompressobj()
    planes = unpacker.decompress(payload, 4 * sum(sizes) + 1)
    if len(planes) != 4 * sum(sizes) or not unpacker.eof or unpacker.unused_data:
        raise FormatError("the compressed clip is damaged: it does not unpack to what is announced")
    numbers = np.ascontiguousarray(np.frombuffer(planes, np.uint8).reshape(4, -1).T).view("<f4").ravel()
    parts = np.split(numbers.astype(np.float64), np.cumsum(sizes)[:-1])
    points, mean, directions, variances, root, root_turns, *curves = (
        part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)
    )
    effectors = tuple(
        EndEffector(whole(joint), tuple(point.tolist()), str(part))
        for (joint, part), point in zip(ends, points, strict=True)
    )
    mean = np.concatenate([np.zeros((1, 3)), mean])
    directions = np.concatenate([np.zeros((modes, 1, 3)), directions], axis=1)
    paths, prior = (root, root_turns, tuple(curves)), float(content["prior"])
    return TournierClip(header, mean, directions, variances, effectors, *paths, dropped, prior)


def decimate(curve: ArrayLike, dropped: int, *, rotations: bool = False) -> Array:
    """Every `2^dropped`-th sample: what a pyramid without its `dropped` finest levels keeps.

    Args:
        curve: `(frames, size)` vectors, or `(frames, 4)` rotations.
        dropped: finest levels left out.
        rotations: whether these are rotations.

    >>> decimate(np.arange(10.0)[:, None], 2).ravel().tolist()
    [0.0, 4.0, 8.0]
    """
    coarse_length(1, dropped)
    return _checked_curve(curve, rotations)[:: 1 << dropped].copy()


def expand(samples: ArrayLike, frames: int, dropped: int, *, rotations: bool = False) -> Array:
    """The smooth curve of `frames` samples through coarse `samples`, `dropped` levels up.

    >>> expand([[0.0], [4.0], [8.0]], 10, 2).ravel().tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    """
    curve = _checked_curve(samples, rotations)
    wanted = coarse_length(frames, dropped)
    if len(curve) != wanted:
        raise InputError(
            f"a curve of {frames} samples without its {dropped} finest levels has {wanted} samples, "
            f"got {len(curve)}"
        )
    for level in range(dropped - 1, -1, -1):
        finer = np.empty((coarse_length(frames, level), curve.shape[1]))
        finer[::2], finer[1::2] = curve, _midpoints(curve, len(finer) - len(curve), rotations)
        curve = finer
    return so3.continuous(curve) if rotations else curve


def coarse_length(frames: int, dropped: int) -> int:
    """Samples left of a curve without its finest levels: `ceil(frames / 2^dropped)`.

    >>> coarse_length(141, 5)
    5
    """
    if frames < 1:
        raise InputError(f"frames: a curve has at least one sample, got {frames}")
    if dropped < 0:
        raise InputError(f"dropped levels: must not be negative, got {dropped}")
    return -(-frames >> dropped)


def published_ratio(frames: int, joints: int, *, modes: int, dropped_levels: Sequence[int]) -> float:
    """The published compression ratio: numbers of the clip over numbers kept (Tournier 2011, section 9.2.3).

    `3 (n + 1) m` numbers become `3 n (k + 1)` of the pose model and three for each coarse sample. The
    published table needs n = 31, the joints of a CMU figure with the root: 96 numbers a frame.

    Args:
        frames: m.
        joints: n.
        modes: k.
        dropped_levels: finest levels left out of the root's position, its orientation, and each end effector.

    >>> round(published_ratio(4499, 31, modes=15, dropped_levels=[5] * 7), 1)
    97.1
    """
    kept = 3 * joints * (modes + 1) + sum(3 * coarse_length(frames, p) for p in dropped_levels)
    return 3 * (joints + 1) * frames / kept


def _checked_curve(curve: ArrayLike, rotations: bool) -> Array:
    samples = checked("curve", curve, (None, 4 if rotations else None))
    if len(samples) == 0:
        raise InputError("curve: it has no sample")
    return samples


def _midpoints(samples: Array, count: int, rotations: bool) -> Array:
    """Predictions midway after each of the first `count` samples.

    For rotations the product form q1 · exp(1/16 log q0⁻¹q1) · exp(1/2 log q1⁻¹q2) · exp(-1/16 log q2⁻¹q3),
    which needs no base point.
    """
    # One sample more before the first and two after the last, by point reflection.
    around = np.repeat(samples, 4, axis=0)
    if len(samples) > 1:
        before = np.concatenate([_reflected(samples[1:2], samples[:1], rotations), samples])
        around = np.concatenate([before, _reflected(before[[-2, -3]], samples[-1:], rotations)])
    if not rotations:
        q0, q1, q2, q3 = (around[i : i + count] for i in range(4))
        return (9.0 * (q1 + q2) - (q0 + q3)) / 16.0
    steps = so3.log(so3.multiply(so3.inverse(around[:-1]), around[1:]))
    before, here, after = (steps[i : i + count] for i in range(3))
    middle = so3.multiply(so3.exp(before / 16.0), so3.exp(here / 2.0))
    return so3.multiply(samples[:count], so3.multiply(middle, so3.exp(after / -16.0)))


def _reflected(point: Array, centre: Array, rotations: bool) -> Array:
    if rotations:
        return so3.multiply(centre, so3.multiply(so3.inverse(point), centre))
    return 2.0 * centre - point
