"""A compressed clip: the bytes of a `.mry` file, from which any stretch of frames is decoded.

`MRYC`, a byte for version and codec, the carriers and the header (or, for the source's codec, its own
description), the payload, and a CRC-32 of all that. Decoding costs what the codec costs for the frames asked
for; nothing in the bytes is trusted.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from marey._arrays import assign
from marey._timed import as_slice
from marey.body.codec._packing import Reader
from marey.body.codec.carriers import Carriers, pack_carriers, put_back, read_carriers
from marey.body.codec.header import Header, unpack_header
from marey.body.codec.source import SourceClip, decode_frames
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, InputError, MareyError

MAGIC = b"MRYC"
VERSION = 1

Mode = Literal["transform", "source"]
MODES: tuple[Mode, ...] = ("transform", "source")

# Bytes of rotations decoded at once from a file of any size; larger files may ask for this many times more.
_MOST_AT_ONCE = 1 << 30
_LARGEST_GAIN = 20_000
_SOURCE_BLOCK = 1024

Data = bytes


@dataclass(frozen=True, repr=False)
class CompressedMotion:
    """A clip in as few bytes as an error allows; `decode` gives it back, whole or in part.

    data: all bytes of the file

    >>> import marey
    >>> small = marey.body.compress(marey.samples.walk(), mode="source")
    >>> small.mode, small.frames, small.decode(slice(10, 20)).frames
    ('source', 240, 10)
    """

    data: Data
    header: Header = field(init=False, compare=False)
    mode: Mode = field(init=False, compare=False)
    payload: Data = field(init=False, compare=False)
    _carriers: Carriers | None = field(init=False, compare=False)
    _source: SourceClip | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        mode, carried, reader = _opened(self.data)
        try:
            carriers = read_carriers(reader) if carried else None
            rest = reader.data[reader.place :]
            source = SourceClip.from_bytes(rest) if mode == "source" else None
            header, payload = unpack_header(rest) if source is None else (_header_of(source), rest)
        except FormatError:
            raise
        except MareyError as error:
            raise FormatError(f"the compressed clip is damaged ({error})") from error
        if carriers is not None and carriers.moving and len(carriers.rotations) != header.frames:
            raise FormatError("the compressed clip is damaged: what carries it has another length")
        assign(self, header=header, mode=mode, payload=payload, _carriers=carriers, _source=source)

    def __repr__(self) -> str:
        return f"CompressedMotion({self.name!r}, {self.frames} frames, {self.mode}, {self.bytes} bytes)"

    @property
    def bytes(self) -> int:
        """Size of the file."""
        return len(self.data)

    @property
    def frames(self) -> int:
        """Number of frames."""
        return self.header.frames

    @property
    def frame_rate(self) -> float:
        """Frames a second."""
        return self.header.frame_rate

    @property
    def duration(self) -> float:
        """Seconds: frames divided by frame rate."""
        return self.frames / self.frame_rate

    @property
    def name(self) -> str:
        """What the clip is called."""
        return self.header.name

    @property
    def skeleton(self) -> Skeleton:
        """The joints, as they will be decoded."""
        return self._whole(self._still(), 0).skeleton

    @property
    def joints(self) -> int:
        """Number of joints."""
        return self.header.skeleton.joints + (len(self._carriers.names) if self._carriers else 0)

    @property
    def raw_bytes(self) -> int:
        """Size of the clip as plain float32 channels: three a joint, and three for the root."""
        return 4 * (3 * self.joints + 3) * self.frames

    @property
    def ratio(self) -> float:
        """How many times smaller than plain float32 channels."""
        return self.raw_bytes / self.bytes

    @property
    def modes(self) -> int:
        """Directions of the pose model; the most of any segment."""
        if self._source is not None:
            return self._source.modes
        from marey.body.codec.transform import decoder

        return decoder.modes(self.payload, self.header)

    @property
    def segments(self) -> list[range]:
        """Stretches of frames that are decoded one by one."""
        if self._source is not None:
            starts = range(0, self.frames, _SOURCE_BLOCK)
            return [range(start, min(start + _SOURCE_BLOCK, self.frames)) for start in starts]
        from marey.body.codec.transform import decoder

        return decoder.segments(self.payload, self.header)

    @property
    def source(self) -> SourceClip:
        """What the source's codec stores, to be edited (`marey.body.codec.displace`)."""
        if self._source is None:
            raise InputError(
                f"{self.name or 'the clip'}: only clips of mode 'source' hold end joints to edit"
            )
        return self._source

    def decode(self, frames: slice | int | None = None) -> Motion:
        """The clip, or some of its frames: `decode(slice(100, 200))`, `decode(7)`."""
        chosen = slice(None) if frames is None else as_slice(frames, self.frames)
        wanted = range(self.frames)[chosen]
        span = range(min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1]) + 1)
        # A segment is decoded as a whole, whatever is asked of it.
        most = max(
            [len(span), *(len(s) for s in self.segments if s.start < span.stop and span.start < s.stop)]
        )
        memory = 32 * self.joints * most
        if memory > max(_MOST_AT_ONCE, _LARGEST_GAIN * self.bytes):
            raise InputError(
                f"{self.name or 'the clip'}: {most} frames would take {memory / 1e9:.3g} GB at once; "
                "decode some of them, or segment by segment with stream()"
            )
        motion = self._whole(self._decoded(span), span.start)
        return motion if wanted.step == 1 else motion[:: wanted.step]

    def stream(self) -> Iterator[Motion]:
        """The clip segment by segment, in little memory."""
        for segment in self.segments:
            yield self.decode(slice(segment.start, segment.stop))

    def _decoded(self, frames: range) -> Motion:
        if self._source is not None:
            return decode_frames(self._source, np.arange(frames.start, frames.stop))
        from marey.body.codec.transform import decoder

        try:
            rotations, root = decoder.decode(self.payload, self.header, frames)
            return self.header.motion(rotations, root)
        except FormatError:
            raise
        except MareyError as error:
            raise FormatError(f"the compressed clip is damaged ({error})") from error

    def _whole(self, motion: Motion, start: int) -> Motion:
        return motion if self._carriers is None else put_back(motion, self._carriers, start=start)

    def _still(self) -> Motion:
        joints = self.header.skeleton.joints
        return self.header.motion(np.tile([1.0, 0.0, 0.0, 0.0], (1, joints, 1)), np.zeros((1, 3)))


def assembled(mode: Mode, carriers: Carriers | None, content: Data) -> CompressedMotion:
    """The file around a codec's content: header and payload, or the source's own bytes."""
    marks = VERSION << 4 | (carriers is not None) * _CARRIED | MODES.index(mode)
    body = MAGIC + bytes([marks]) + (b"" if carriers is None else pack_carriers(carriers)) + content
    return CompressedMotion(body + zlib.crc32(body).to_bytes(4, "little"))


def is_compressed_clip(data: Data) -> bool:
    """Whether a file that begins with these bytes is a compressed clip.

    >>> is_compressed_clip(b"MRYC...")
    True
    """
    return data.startswith(MAGIC)


_CARRIED = 8


def _opened(data: Data) -> tuple[Mode, bool, Reader]:
    if not is_compressed_clip(data):
        raise FormatError("not a compressed clip")
    if len(data) < len(MAGIC) + 5:
        raise FormatError("the compressed clip is cut off")
    version, marks = divmod(data[len(MAGIC)], 16)
    if version != VERSION:
        raise FormatError(f"compressed clip of version {version}; this marey reads version {VERSION}")
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise FormatError("the compressed clip is damaged or cut off: its checksum does not fit")
    carried, mode = divmod(marks, _CARRIED)
    if mode >= len(MODES):
        raise FormatError(f"compressed by codec number {mode}, which is not known: install a newer marey")
    return MODES[mode], bool(carried), Reader(data[len(MAGIC) + 1 : -4])


def _header_of(clip: SourceClip) -> Header:
    return Header(clip.skeleton, clip.frames, clip.frame_rate, clip.convention, clip.channels, clip.name)
