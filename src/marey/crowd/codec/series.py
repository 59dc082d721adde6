"""A compressed field series: the bytes of a `.mry` file, from which any stretch of frames is decoded.

`MRYF`, a version byte, the length of a deflated JSON header, the header, the blocks one after the other, a
CRC-32 of all that. Nothing in the bytes is trusted; decoding costs what the blocks that are asked for cost.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from marey._arrays import BoolArray, FloatArray, assign, handed_over
from marey._timed import as_slice
from marey.crowd.codec import blocks
from marey.crowd.fields import FieldSeries
from marey.errors import FormatError, InputError, MareyError

MAGIC = b"MRYF"
VERSION = 1
LARGEST_HEADER = 64 << 20
# Samples of one block, and of what may be decoded at once.
LARGEST_BLOCK = 1 << 28
LARGEST_SERIES = 1 << 31

Data = bytes


@dataclass(frozen=True, repr=False)
class CompressedFields:
    """A field series in as few bytes as an error allows; `decode` gives it back, whole or in part.

    data: all bytes of the file

    >>> import marey
    >>> from marey.crowd.codec import compress
    >>> small = compress(marey.samples.field(), max_error=0.02)
    >>> small.decode(slice(10, 20)).frames, small.ratio > 20
    (10, True)
    """

    data: Data
    frames: int = field(init=False, compare=False)
    rows: int = field(init=False, compare=False)
    columns: int = field(init=False, compare=False)
    frame_rate: float = field(init=False, compare=False)
    name: str = field(init=False, compare=False)
    mask: BoolArray | None = field(init=False, compare=False)
    homography: FloatArray | None = field(init=False, compare=False)
    _blocks: tuple[_Block, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        header, payload = _opened(self.data)
        try:
            facts = _facts(header)
            table = _table(header["blocks"], len(self.data) - 4, payload)
            whole = FieldSeries(
                np.zeros((1, facts["rows"], facts["columns"], 2), dtype=np.float32),
                header["frame_rate"],
                mask=_mask(header.get("mask"), facts["rows"], facts["columns"]),
                homography=header.get("homography"),
                name=str(header.get("name", "")),
            )
        except FormatError:
            raise
        except (MareyError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"the compressed fields are damaged ({error})") from error
        largest = max(block.frames for block in table)
        if largest * facts["rows"] * facts["columns"] * 2 > LARGEST_BLOCK:
            raise FormatError(f"the compressed fields are damaged: a block of {largest} frames is too large")
        assign(
            self,
            **facts,
            frames=table[-1].start + table[-1].frames,
            frame_rate=whole.frame_rate,
            name=whole.name,
            mask=whole.mask,
            homography=whole.homography,
            _blocks=table,
        )

    def __repr__(self) -> str:
        size = f"{self.frames} × {self.rows} × {self.columns}"
        return f"CompressedFields({self.name!r}, {size}, {self.bytes} bytes)"

    @property
    def bytes(self) -> int:
        """Size of the file."""
        return len(self.data)

    @property
    def raw_bytes(self) -> int:
        """Size of the velocities as plain float32."""
        return 8 * self.frames * self.rows * self.columns

    @property
    def ratio(self) -> float:
        """How many times smaller than plain float32."""
        return self.raw_bytes / self.bytes

    @property
    def duration(self) -> float:
        """Seconds: frames divided by frame rate."""
        return self.frames / self.frame_rate

    @property
    def blocks(self) -> list[range]:
        """Stretches of frames that are decoded one by one."""
        return [range(block.start, block.start + block.frames) for block in self._blocks]

    def decode(self, frames: slice | int | None = None) -> FieldSeries:
        """The series, or some of its frames: `decode(slice(100, 200))`, `decode(7)`."""
        chosen = slice(None) if frames is None else as_slice(frames, self.frames)
        start, stop, step = chosen.indices(self.frames)
        low, high = (start, stop) if step > 0 else (stop + 1, start + 1)
        if (high - low) * self.rows * self.columns * 2 > LARGEST_SERIES:
            raise InputError(
                f"{self.name or 'the fields'}: {high - low} frames would take "
                f"{8e-9 * (high - low) * self.rows * self.columns:.3g} GB at once; "
                "decode some of them, or block by block with stream()"
            )
        touched = [b for b in self._blocks if b.start < high and low < b.start + b.frames]
        parts = [self._decoded(block) for block in touched]
        first = touched[0].start
        velocities = np.concatenate([part.velocities for part in parts])[low - first : high - first]
        presence = None
        if parts[0].presence is not None:
            presence = np.concatenate([part.presence for part in parts])[low - first : high - first]
        series = self._series(velocities, presence)
        return series if step == 1 else series[::step]

    def stream(self) -> Iterator[FieldSeries]:
        """The series block by block, in little memory."""
        return (self._decoded(block) for block in self._blocks)

    def _decoded(self, block: _Block) -> FieldSeries:
        shape = (block.frames, self.rows, self.columns)
        middle = block.place + block.size
        velocities = blocks.decode(self.data[block.place : middle], shape, self.mask)
        presence = None
        if block.presence:
            end = middle + block.presence
            unknown = None if block.unknown is None else self.data[end : end + block.unknown]
            presence = blocks.decode_presence(self.data[middle:end], unknown, shape)
        return self._series(velocities, presence)

    def _series(self, velocities: Any, presence: Any) -> FieldSeries:
        return FieldSeries(
            handed_over(velocities),
            self.frame_rate,
            mask=self.mask,
            homography=self.homography,
            name=self.name,
            presence=None if presence is None else handed_over(presence),
        )


@dataclass(frozen=True)
class _Block:
    """Where a block lies: its frames, its first byte, bytes of velocities, presence, where it is unknown."""

    start: int
    frames: int
    place: int
    size: int
    presence: int
    unknown: int | None


def assembled(like: FieldSeries, coded: list[tuple[int, Data, Data, Data]]) -> CompressedFields:
    """The file around coded blocks of (frames, velocities, presence, where it is unknown), seen as `like`."""
    header: dict[str, Any] = {
        "rows": like.rows,
        "columns": like.columns,
        "frame_rate": like.frame_rate,
        "blocks": [[frames, *map(len, parts)] for frames, *parts in coded],
    }
    if like.name:
        header["name"] = like.name
    if like.homography is not None:
        header["homography"] = like.homography.tolist()
    if like.mask is not None:
        header["mask"] = np.packbits(like.mask).tobytes().hex()
    packed = zlib.compress(json.dumps(header, separators=(",", ":")).encode(), 9)
    body = b"".join(
        [MAGIC, bytes([VERSION]), len(packed).to_bytes(4, "little"), packed]
        + [part for _, *parts in coded for part in parts]
    )
    return CompressedFields(body + zlib.crc32(body).to_bytes(4, "little"))


def is_compressed_fields(data: Data) -> bool:
    """Whether a file that begins with these bytes is a compressed field series.

    >>> is_compressed_fields(b"MRYF...")
    True
    """
    return data.startswith(MAGIC)


def _opened(data: Data) -> tuple[dict[str, Any], int]:
    """The header, and where the blocks begin."""
    if not is_compressed_fields(data):
        raise FormatError("not a compressed field series")
    start = len(MAGIC) + 5
    if len(data) < start + 4:
        raise FormatError("the compressed fields are cut off")
    if data[len(MAGIC)] != VERSION:
        raise FormatError(
            f"compressed fields of version {data[len(MAGIC)]}; this marey reads version {VERSION}"
        )
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise FormatError("the compressed fields are damaged or cut off: their checksum does not fit")
    end = start + int.from_bytes(data[start - 4 : start], "little")
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(data[start:end], LARGEST_HEADER)
        header = json.loads(text) if unpacker.eof else None
    except (zlib.error, ValueError, RecursionError) as error:
        raise FormatError(f"the compressed fields are damaged: their header ({error})") from error
    if not isinstance(header, dict):
        raise FormatError("the compressed fields are damaged: their header is cut off")
    return header, end


def _facts(header: dict[str, Any]) -> dict[str, int]:
    facts = {name: int(header[name]) for name in ("rows", "columns")}
    if not all(0 < n < 1 << 16 for n in facts.values()) or math.prod(facts.values()) > LARGEST_BLOCK:
        raise FormatError(f"the compressed fields are damaged: {facts['columns']} × {facts['rows']} pixels")
    return facts


def _table(rows: list[list[int]], end: int, place: int) -> tuple[_Block, ...]:
    table = []
    start = 0
    for frames, size, presence, *more in rows:
        if frames < 1 or min(size, presence, *more) < 0 or len(more) > 1:
            raise FormatError("the compressed fields are damaged: an empty block")
        table.append(_Block(start, int(frames), place, int(size), int(presence), more[0] if more else None))
        start, place = start + frames, place + size + presence + sum(more)
    if not table or place != end or len({block.presence > 0 for block in table}) > 1:
        raise FormatError("the compressed fields are damaged: their blocks do not fill the file")
    return tuple(table)


def _mask(text: str | None, rows: int, columns: int) -> BoolArray | None:
    if text is None:
        return None
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8))
    if len(bits) != -(-rows * columns // 8) * 8:
        raise FormatError("the compressed fields are damaged: their mask has another size")
    return np.asarray(bits[: rows * columns].reshape(rows, columns), dtype=np.bool_)
