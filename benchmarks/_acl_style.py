"""A coder of clips in the manner of ACL 2.1, the library game engines use, to compare with on any clip.

ACL (github.com/nfrechette/acl, MIT) is C++ and cannot be installed from Python. This follows its published
"uniformly sampled" algorithm with its default settings: constant sub-tracks are stored once, the others are
scaled into the range of the clip and of segments of about 16 frames (8 bits for minimum and extent), and
their three components (quaternions without w) are stored with 0 to 23 or 32 bits each, the fewest that keep
points at a shell around every joint within `precision` in the world; frames that their neighbours predict
within the precision are left out. No entropy coding and no skeleton in the file, bones being part of the
constants. Sizes of headers follow ACL's; the bytes are not its format. Cost: about 3 ms a segment.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3

Array = NDArray[np.float64]

BITS = (*range(24), 32)
RAW = len(BITS) - 1
SEGMENT, LONGEST_SEGMENT = 16, 31
# Bytes of ACL's headers of buffer, tracks and transforms, of one segment and of its mask of frames; padding.
HEADERS, SEGMENT_HEADER, FRAME_MASK, PADDING = 8 + 24 + 52, 16, 4, 15
# Clips of up to this many frames get the slow search for bit rates.
TRY_HARDER = 500
# Metres: the virtual surface about each joint where errors are looked at.
SHELL = 0.03


def encode(motion: Motion, precision: float) -> bytes:
    """The clip with every point 3 cm from a joint within about `precision` metres.

    As with ACL the bound is not strict: raising the rate of a shared parent can push a finished sibling
    over it by some per cent.
    """
    if motion.translations is not None:
        raise ValueError("clips with sliding joints are not supported here")
    tracks = Tracks.of(motion, precision)
    lengths = segment_lengths(motion.frames)
    segments, start = [], 0
    for length in lengths:
        frames = slice(start, start + length)
        segments.append(Segment.fitted(tracks.scaled[:, frames], tracks.values[:, frames], len(lengths) > 1))
        _search(segments[-1], tracks, motion, frames, precision)
        start += length

    saved = sum(int((~segment.kept).sum()) * segment.width for segment in segments) // 8
    thinned = saved > FRAME_MASK * len(segments)
    if not thinned:
        for segment in segments:
            segment.kept[:] = True
    count = len(lengths)
    head = (motion.frames, motion.joints, count, motion.frame_rate, tracks.root_constant, thinned)
    parts = [
        struct.pack("<IIIfII", *head).ljust(HEADERS, b"\0"),
        bytes(0 if count == 1 else 4 * (count + 1)),
        bytes(SEGMENT_HEADER * count),
        b"".join(struct.pack("<I", _mask(segment.kept)) for segment in segments) if thinned else b"",
        np.packbits(tracks.constant).tobytes().ljust(_flag_bytes(motion.joints), b"\0"),
        tracks.rotations[0, tracks.constant, 1:].astype("<f4").tobytes(),
        motion.skeleton.offsets[1:].astype("<f4").tobytes(),
        motion.root[0].astype("<f4").tobytes() if tracks.root_constant else b"",
        np.stack([tracks.lows, tracks.extents], axis=1).astype("<f4").tobytes(),
        *(segment.to_bytes(len(tracks.moving)) for segment in segments),
        bytes(PADDING),
    ]
    return b"".join(parts)


def decode(data: bytes, skeleton: Skeleton) -> Motion:
    """The clip back from its bytes; `skeleton` gives names, parents and ends, which ACL does not store."""
    frames, joints, count, rate, root_constant, thinned = struct.unpack_from("<IIIfII", data)
    lengths = segment_lengths(frames)
    at = HEADERS + (0 if count == 1 else 4 * (count + 1)) + SEGMENT_HEADER * count
    masks = [0xFFFFFFFF] * count
    if thinned:
        masks = list(struct.unpack_from(f"<{count}I", data, at))
        at += FRAME_MASK * count
    constant = np.unpackbits(np.frombuffer(data, np.uint8, -(-joints // 8), at))[:joints].astype(bool)
    at += _flag_bytes(joints)
    moving = np.flatnonzero(~constant)

    def floats(size: int) -> Array:
        nonlocal at
        found = np.frombuffer(data, "<f4", size, at).astype(np.float64)
        at += 4 * size
        return found

    rotations = np.zeros((frames, joints, 4))
    rotations[:, constant] = with_w(floats(3 * int(constant.sum())).reshape(-1, 3))
    offsets = np.concatenate([skeleton.offsets[:1], floats(3 * (joints - 1)).reshape(-1, 3)])
    root = np.tile(floats(3), (frames, 1)) if root_constant else np.empty((frames, 3))
    tracks = len(moving) + (0 if root_constant else 1)
    ranges = floats(6 * tracks).reshape(tracks, 2, 3)
    start = 0
    for length, mask in zip(lengths, masks, strict=True):
        kept = np.flatnonzero([mask >> f & 1 for f in range(length)])
        values, at = _segment_from_bytes(data, at, tracks, len(moving), len(kept), ranges)
        span = slice(start, start + length)
        before, t = _neighbours(kept, length)
        turned = with_w(values[: len(moving)]).swapaxes(0, 1)
        rotations[span, moving] = _lerp(turned, before, t[:, None, None])
        if not root_constant:
            after = np.minimum(before + 1, len(kept) - 1)
            root[span] = (1 - t)[:, None] * values[-1][before] + t[:, None] * values[-1][after]
        start += length
    return Motion(replace(skeleton, offsets=offsets), rotations, root, rate)


def limb_lengths(skeleton: Skeleton, shell: float) -> Array:
    """How far from each joint something may hang, `(joints,)`: the shell, or bones down the longest limb."""
    lengths = np.full(skeleton.joints, shell)
    for j in range(skeleton.joints - 1, 0, -1):
        p = skeleton.parents[j]
        lengths[p] = max(lengths[p], lengths[j] + np.linalg.norm(skeleton.offsets[j]))
    return lengths


def segment_lengths(frames: int) -> list[int]:
    """Frames of each segment: sixteen, the remainder spread over the first ones if they can take it."""
    if frames <= LONGEST_SEGMENT:
        return [frames]
    whole, rest = divmod(frames, SEGMENT)
    if rest > whole * (LONGEST_SEGMENT - SEGMENT):
        return [SEGMENT] * whole + [rest]
    more, some = divmod(rest, whole)
    return [SEGMENT + more + (i < some) for i in range(whole)]


def with_w(vectors: Array) -> Array:
    """Unit quaternions of the vector parts of those with w >= 0."""
    w = np.sqrt(np.maximum(0.0, 1.0 - (vectors**2).sum(axis=-1, keepdims=True)))
    return so3.normalise(np.concatenate([w, vectors], axis=-1))


@dataclass(frozen=True)
class Tracks:
    """Sub-tracks of a clip: rotations that move, then the root's position unless it is constant.

    rotations: `(frames, joints, 4)`, w >= 0; constant: `(joints,)`; moving: joints that are not
    values, scaled: `(tracks, frames, 3)`, as they are and within the clip's range `lows`, `extents`
    """

    rotations: Array
    constant: NDArray[np.bool_]
    moving: NDArray[np.int64]
    root_constant: bool
    values: Array
    lows: NDArray[np.float32]
    extents: NDArray[np.float32]
    scaled: Array

    @staticmethod
    def of(motion: Motion, precision: float) -> Tracks:
        rotations = np.where(motion.rotations[..., :1] < 0, -motion.rotations, motion.rotations)
        turn = so3.distance(rotations, rotations[:1]).max(axis=0)
        constant = 2 * limb_lengths(motion.skeleton, SHELL) * np.sin(turn / 2) <= precision
        root_constant = bool((np.linalg.norm(motion.root - motion.root[0], axis=-1) <= precision).all())
        moving = np.flatnonzero(~constant)
        rows = [rotations[:, j, 1:] for j in moving] + ([] if root_constant else [motion.root])
        values = np.array(rows).reshape(len(rows), motion.frames, 3)
        lows = values.min(axis=1).astype(np.float32)
        extents = (values.max(axis=1) - lows).astype(np.float32)
        scaled = _within(values, lows[:, None], extents[:, None])
        return Tracks(rotations, constant, moving, root_constant, values, lows, extents, scaled)


@dataclass
class Segment:
    """Sub-tracks of some frames, scaled once more into the range they have there.

    lows, extents: `(tracks, 3)`, whole numbers up to 255; scaled: `(tracks, frames, 3)` in [0, 1]
    first: `(tracks, 3)`, the first frame in the clip's range, whole numbers up to 65535
    values: `(tracks, frames, 3)` as they were; rates: `(tracks,)`; kept: `(frames,)`
    """

    lows: Array
    extents: Array
    scaled: Array
    first: Array
    values: Array
    rates: NDArray[np.int64]
    kept: NDArray[np.bool_]

    @staticmethod
    def fitted(scaled: Array, values: Array, ranged: bool) -> Segment:
        lows, extents = np.zeros((len(scaled), 3)), np.full((len(scaled), 3), 255.0)
        if ranged:
            lows = np.floor(scaled.min(axis=1) * 255)
            extents = np.minimum(255, np.ceil(scaled.max(axis=1) * 255 - lows))
        inner = _within(scaled, lows[:, None] / 255, extents[:, None] / 255)
        first = np.rint(scaled[:, 0] * 65535)
        rates, kept = np.zeros(len(scaled), dtype=np.int64), np.ones(scaled.shape[1], dtype=bool)
        return Segment(lows, extents, inner, first, values, rates, kept)

    @property
    def width(self) -> int:
        """Bits of a frame."""
        return 3 * sum(BITS[rate] for rate in self.rates)

    def decoded(self, rate: int) -> Array:
        """All sub-tracks at one rate, in the clip's range, `(tracks, frames, 3)`."""
        if rate == 0:
            return np.broadcast_to(self.first[:, None] / 65535, self.scaled.shape)
        steps = 2 ** BITS[rate] - 1
        return (self.lows[:, None] + np.rint(self.scaled * steps) / steps * self.extents[:, None]) / 255

    def to_bytes(self, rotations: int) -> bytes:
        """Rates, ranges and, frame after frame, the bits."""
        bounds = np.concatenate([self.lows, self.extents], axis=1).astype(np.uint8)
        still = self.first.astype("<u2").view(np.uint8).reshape(len(self.rates), 6)
        bounds = np.where((self.rates == 0)[:, None], still, bounds)
        fields = [
            _bits_of(self.scaled[i, self.kept], self.values[i, self.kept], int(rate))
            for i, rate in enumerate(self.rates)
        ]
        # Rotations are read four at a time, so that their rates and ranges are padded.
        spare = -rotations % 4
        head = self.rates.astype(np.uint8).tobytes() + bytes(spare)
        head += bytes(len(head) % 2) + bounds.tobytes() + bytes(6 * spare)
        return head + bytes(-len(head) % 4) + np.packbits(np.concatenate(fields, axis=1)).tobytes()


def _segment_from_bytes(
    data: bytes, at: int, tracks: int, rotations: int, frames: int, ranges: Array
) -> tuple[Array, int]:
    """Values `(tracks, frames, 3)` of a segment's kept frames and where the next segment begins."""
    start, spare = at, -rotations % 4
    rates = np.frombuffer(data, np.uint8, tracks, at)
    at += tracks + spare
    at += (at - start) % 2
    bounds = np.frombuffer(data, np.uint8, 6 * tracks, at).reshape(tracks, 6)
    at += 6 * (tracks + spare)
    at += -(at - start) % 4
    width = 3 * sum(BITS[rate] for rate in rates)
    used = -(-width * frames // 8)
    rows = np.unpackbits(np.frombuffer(data, np.uint8, used, at))[: width * frames].reshape(frames, width)
    values, column = np.empty((tracks, frames, 3)), 0
    for i, rate in enumerate(rates):
        size = BITS[rate]
        field = rows[:, column : column + 3 * size].reshape(frames, 3, size)
        column += 3 * size
        if rate == RAW:
            values[i] = np.packbits(field, axis=-1).view(">f4")[..., 0]
        elif rate == 0:
            values[i] = ranges[i, 0] + bounds[i].view("<u2") / 65535 * ranges[i, 1]
        else:
            numbers = field @ (1 << np.arange(size)[::-1])
            inner = (bounds[i, :3] + numbers / (2**size - 1) * bounds[i, 3:]) / 255
            values[i] = ranges[i, 0] + inner * ranges[i, 1]
    return values, at + used


def _search(segment: Segment, tracks: Tracks, motion: Motion, frames: slice, precision: float) -> None:
    """Fill in the rates and the frames to keep."""
    from _acl_search import least_rates, needed_frames

    length, moving = frames.stop - frames.start, tracks.moving
    turns = np.empty((motion.joints, len(BITS), length, 4))
    turns[tracks.constant] = tracks.rotations[0, tracks.constant][:, None, None]
    places = np.empty((len(BITS), length, 3))
    places[:] = motion.root[0]
    for rate in range(len(BITS)):
        if rate == RAW:
            values = segment.values.astype(np.float32).astype(np.float64)
        else:
            values = tracks.lows[:, None] + segment.decoded(rate) * tracks.extents[:, None]
        turns[moving, rate] = with_w(values[: len(moving)])
        if not tracks.root_constant:
            places[rate] = values[-1]
    truth = np.ascontiguousarray(tracks.rotations[frames]), np.ascontiguousarray(motion.root[frames])
    parents = np.asarray(motion.skeleton.parents, dtype=np.int64)
    offsets = np.asarray(motion.skeleton.offsets, dtype=np.float64)
    shells = limb_lengths(motion.skeleton, SHELL)
    found = least_rates(
        *truth,
        turns,
        places,
        np.array(BITS),
        parents,
        offsets,
        shells,
        precision,
        np.append(~tracks.constant, not tracks.root_constant),
        0 if motion.frames > LONGEST_SEGMENT else 1,
        3 if motion.frames <= TRY_HARDER else 1,
    )
    segment.rates = np.concatenate([found[moving], found[motion.joints :][: not tracks.root_constant]])
    chosen = np.ascontiguousarray(turns[np.arange(motion.joints), found[:-1]].swapaxes(0, 1))
    segment.kept = needed_frames(*truth, chosen, places[found[-1]], parents, offsets, shells, precision)


def _neighbours(kept: NDArray[np.int64], length: int) -> tuple[NDArray[np.int64], Array]:
    """For every frame of a segment the kept one before it (its rank) and the share of the one after."""
    frames = np.arange(length)
    before = np.searchsorted(kept, frames, side="right") - 1
    after = np.minimum(before + 1, len(kept) - 1)
    return before, (frames - kept[before]) / np.maximum(1, kept[after] - kept[before])


def _lerp(rotations: Array, before: NDArray[np.int64], t: Array) -> Array:
    a, b = rotations[before], rotations[np.minimum(before + 1, len(rotations) - 1)]
    sign = np.where((a * b).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return so3.normalise((1 - t) * a + t * sign * b)


def _within(values: Array, low: Array, extent: Array) -> Array:
    wide = extent > 1e-9
    return np.clip(np.where(wide, (values - low) / np.where(wide, extent, 1), 0.0), 0, 1)


def _bits_of(scaled: Array, raw: Array, rate: int) -> NDArray[np.uint8]:
    """Bits of the three components of each frame, `(frames, 3 * bits)`."""
    frames, size = len(scaled), BITS[rate]
    if rate == RAW:
        return np.unpackbits(raw.astype(">f4").view(np.uint8).reshape(frames, 12), axis=1)
    numbers = np.rint(scaled * (2**size - 1)).astype(np.int64)
    return ((numbers[..., None] >> np.arange(size)[::-1]) & 1).astype(np.uint8).reshape(frames, 3 * size)


def _mask(kept: NDArray[np.bool_]) -> int:
    return sum(1 << int(f) for f in np.flatnonzero(kept))


def _flag_bytes(joints: int) -> int:
    """Two bits a sub-track, sixteen to a word, rotations and positions apart."""
    return 2 * 4 * -(-joints // 16)
