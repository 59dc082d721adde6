"""A compressed clip: the bytes of a `.mry` file, from which any range of frames is decoded.

`MRYC`, a byte for the version of the format, the header, the payload of the codec that the header names, and
a CRC-32 of all that. Nothing in the bytes is trusted. A clip is compressed to an error you choose; everything
else is chosen by the codec. Cost: some tens of encodings, about a second for ten seconds of a human figure;
decoding takes microseconds a frame.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Literal

import numpy as np

from marey._arrays import as_slice, assign, derived
from marey._report import Report
from marey._work import Progress
from marey.body.clip_header import Headed, Header, pack_header, unpack_header
from marey.body.codec.tournier.clip import TournierClip, decode_frames
from marey.body.codec.tournier.encode import DROPPED, encode_within
from marey.body.codec.tournier.encode import encode as encode_tournier
from marey.body.compare import joint_error, relative_distortion
from marey.body.motion import Motion
from marey.errors import FormatError, InputError, MareyError

MAGIC = b"MRYC"
VERSION = 1

Method = Literal["transform", "tournier"]
METHODS: tuple[Method, ...] = ("transform", "tournier")

# Bytes of rotations decoded at once from a file of any size; larger files may ask for this many times more.
_MOST_AT_ONCE = 1 << 30
_LARGEST_GAIN = 20_000
_TOURNIER_BLOCK = 1024
# Metres, of the largest error, if none is given.
MAX_ERROR = 0.01

Data = bytes


@dataclass(frozen=True, repr=False)
class CompressedMotion(Headed):
    """A clip in as few bytes as an error allows; `decode` gives it back, whole or in part.

    Args:
        data: all bytes of the file.

    >>> import marey
    >>> small = marey.body.compress(marey.samples.walk(), method="tournier")
    >>> small.method, small.frames, small.decode(slice(10, 20)).frames
    ('tournier', 240, 10)
    """

    data: Data
    header: Header = field(init=False, compare=False)
    method: Method = field(init=False, compare=False)
    payload: Data = field(init=False, compare=False)
    _tournier: TournierClip | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        data = self.data
        if not data.startswith(MAGIC):
            raise FormatError("not a compressed clip")
        if len(data) < len(MAGIC) + 5:
            raise FormatError("the compressed clip is cut off")
        version = data[len(MAGIC)]
        if version != VERSION:
            raise FormatError(f"compressed clip of version {version}; this marey reads version {VERSION}")
        if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
            raise FormatError("the compressed clip is damaged or cut off: its checksum does not fit")
        header, payload = unpack_header(data[len(MAGIC) + 1 : -4])
        method = header.content.get("method")
        if method not in METHODS:
            raise FormatError(f"compressed by method {method!r}, which is not known: install a newer marey")
        clip = TournierClip.unpack(header, payload) if method == "tournier" else None
        assign(self, header=header, method=method, payload=payload, _tournier=clip)

    def __repr__(self) -> str:
        return f"CompressedMotion({self.name!r}, {self.frames} frames, {self.method}, {self.bytes} bytes)"

    bytes = derived(len, "data", "Size of the file.")

    @property
    def duration(self) -> float:
        """Seconds: frames divided by frame rate."""
        return self.frames / self.frame_rate

    name = derived(str, "header.name", "What the clip is called.")

    joints = derived(int, "skeleton.joints", "Number of joints.")

    @property
    def raw_bytes(self) -> int:
        """Size of the clip as plain float32 channels: three a joint, three more for those that slide."""
        return 4 * 3 * (self.joints + len(self.header.sliding)) * self.frames

    @property
    def ratio(self) -> float:
        """How many times smaller than plain float32 channels."""
        return self.raw_bytes / self.bytes

    @property
    def modes(self) -> int:
        """Directions of the pose model; the most of any segment."""
        if self._tournier is not None:
            return self._tournier.modes
        from marey.body.codec.transform import segment

        return segment.modes(self.header)

    @property
    def segments(self) -> list[range]:
        """Ranges of frames that are decoded one by one."""
        if self._tournier is not None:
            starts = range(0, self.frames, _TOURNIER_BLOCK)
            return [range(start, min(start + _TOURNIER_BLOCK, self.frames)) for start in starts]
        from marey.body.codec.transform import segment

        return segment.segments(self.header)

    @property
    def tournier(self) -> TournierClip:
        """What Tournier's codec stores, to be edited (`marey.body.codec.tournier.displace`)."""
        if self._tournier is None:
            name = self.name or "the clip"
            raise InputError(f"{name}: only clips of method 'tournier' hold end effectors to edit")
        return self._tournier

    def decode(self, frames: slice | int | None = None) -> Motion:
        """The clip, or some of its frames: `decode(slice(100, 200))`, `decode(7)`."""
        chosen = slice(None) if frames is None else as_slice(frames, self.frames)
        wanted = range(self.frames)[chosen]
        span = range(min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1]) + 1)
        # A segment is decoded as a whole, whatever is asked of it.
        touched = (len(s) for s in self.segments if s.start < span.stop and span.start < s.stop)
        most = max([len(span), *touched])
        memory = 32 * self.joints * most
        if memory > max(_MOST_AT_ONCE, _LARGEST_GAIN * self.bytes):
            raise InputError(
                f"{self.name or 'the clip'}: {most} frames would take {memory / 1e9:.3g} GB at once; "
                "decode some of them, or segment by segment with stream()"
            )
        if self._tournier is not None:
            motion = decode_frames(self._tournier, np.arange(span.start, span.stop))
        else:
            from marey.body.codec.transform import segment

            try:
                motion = self.header.motion(*segment.decode(self.payload, self.header, span))
            except FormatError:
                raise
            except MareyError as error:
                raise FormatError(f"the compressed clip is damaged ({error})") from error
        return motion if wanted.step == 1 else motion[:: wanted.step]

    def stream(self) -> Iterator[Motion]:
        """The clip segment by segment, in little memory."""
        for segment in self.segments:
            yield self.decode(slice(segment.start, segment.stop))

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {
            "kind": "compressed motion",
            "joints": self.joints,
            "end_sites": len(self.skeleton.end_parents),
            "method": self.method,
            "bytes": self.bytes,
            "ratio": round(self.ratio, 2),
            "name": self.name,
            "unit": self.header.convention.unit_name,
            "up": self.header.convention.up,
            "joint_names": list(self.skeleton.names),
        }


def assemble(method: Method, header: Header, payload: Data) -> CompressedMotion:
    """The file of a codec's header and payload."""
    header = replace(header, content={"method": method, **header.content})
    body = MAGIC + bytes([VERSION]) + pack_header(header) + payload
    return CompressedMotion(body + zlib.crc32(body).to_bytes(4, "little"))


def channel_bytes(motion: Motion) -> int:
    """The clip as plain float32 channels: three a joint, three more for the root and joints that slide.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> channel_bytes(walk) == walk.frames * (3 * walk.joints + 3) * 4
    True
    """
    return 4 * 3 * (motion.joints + len(Header.of(motion).sliding)) * motion.frames


def engine_bytes(motion: Motion) -> int:
    """The clip as game engines hold it (the "raw" of ACL): ten float32 a joint and frame."""
    return 40 * motion.joints * motion.frames


def compress(
    motion: Motion,
    *,
    max_error: float | None = None,
    mean_error: float | None = None,
    method: Method = "transform",
    modes: int | None = None,
    dropped_levels: int | Sequence[int] | None = None,
    progress: Progress | None = None,
) -> CompressedMotion:
    """The clip in as few bytes as the error allows; skeleton, names and units included.

    Args:
        motion: the clip; joints may slide.
        max_error: metres that no joint or end site may be off in any frame; 1 cm if neither bound is given.
        mean_error: metres they may be off on average.
        method: `"transform"`, or `"tournier"` for the codec of Tournier 2011, chapter 9.
        modes: for method tournier, instead of a bound: geodesics.
        dropped_levels: for method tournier, instead of a bound: finest levels left out of the curves (one
            number; or the root's, then that of the end effectors; or one a curve).
        progress: called with (done, total).

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> small = compress(walk, method="tournier", modes=8)
    >>> small.ratio > 3, decompress(small).frames == walk.frames
    (True, True)
    """
    if method not in METHODS:
        raise InputError(f"method: one of {', '.join(METHODS)}, got {method!r}")
    if not isinstance(motion, Motion):
        kind = type(motion).__name__
        raise InputError(f"only skeleton motion is compressed, not a {kind}; marey.load reads files")
    for name, bound in (("max_error", max_error), ("mean_error", mean_error)):
        if bound is not None and not (isinstance(bound, Real) and 0 < bound < float("inf")):
            raise InputError(f"{name}: must be a positive number of metres, got {bound!r}")
    free = max_error is None and mean_error is None
    chosen = modes is not None or dropped_levels is not None
    if method == "transform":
        from marey.body.codec.transform import encoder

        if chosen:
            raise InputError(
                "modes and dropped levels are settings of method 'tournier'; give an error instead"
            )
        most = MAX_ERROR if free else max_error
        found = encoder.encode(motion, max_error=most, mean_error=mean_error, progress=progress)
        return assemble(method, *found)
    if chosen and not free:
        raise InputError("give either an error, or modes and dropped levels")
    if free:
        levels = DROPPED if dropped_levels is None else dropped_levels
        clip = encode_tournier(motion, modes=modes, dropped_levels=levels)
    else:
        clip = encode_within(motion, max_error=max_error, mean_error=mean_error)
    return assemble(method, *clip.pack())


def decompress(clip: CompressedMotion, *, frames: slice | int | None = None) -> Motion:
    """The clip back, or some of its frames."""
    return clip.decode(frames)


@dataclass(frozen=True)
class CompressionReport(Report):
    """What compression saved and lost; `share_within` counts joints within the error allowed."""

    bytes: int
    raw_bytes: int
    ratio: float
    error_mean_cm: float
    error_max_cm: float
    error_p99_cm: float
    share_within: float
    method: str
    modes: int
    segments: int
    frames: int
    joints: int
    published_ratio: float | None
    ratio_acl_raw: float
    distortion_f: float
    distortion_squared: float
    decode_milliseconds_per_frame: float


def measure(motion: Motion, compressed: CompressedMotion, threshold: float) -> CompressionReport:
    """Compare a clip with its compressed form; `threshold` in metres is the error allowed."""
    again = CompressedMotion(compressed.data)
    again.decode(0)  # so that compilation is not counted
    started = time.perf_counter()
    decoded = again.decode()
    seconds = time.perf_counter() - started
    error = joint_error(motion, decoded, threshold=threshold)
    distortion = relative_distortion(motion, decoded)
    tournier = compressed.method == "tournier"
    return CompressionReport(
        compressed.bytes,
        compressed.raw_bytes,
        round(compressed.ratio, 2),
        round(100 * error.mean, 5),
        round(100 * error.maximum, 5),
        round(100 * error.percentile_99, 5),
        round(error.share_within, 6),
        compressed.method,
        compressed.modes,
        len(compressed.segments),
        compressed.frames,
        compressed.joints,
        round(compressed.tournier.ratio, 2) if tournier else None,
        round(engine_bytes(motion) / compressed.bytes, 2),
        round(distortion.frobenius, 5),
        round(distortion.squared, 5),
        round(1e3 * seconds / compressed.frames, 5),
    )
