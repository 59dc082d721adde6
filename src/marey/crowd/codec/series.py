"""Compressed field series: the bytes of a `.mry` file, from which any stretch of frames is decoded.

`MRYF`, a version byte, the length of a deflated JSON header, the header, the blocks one after the other, a
CRC-32 of all that. Nothing in the bytes is trusted; decoding costs what the blocks that are asked for cost.
One quantisation step for all blocks of a series at hand is found by trying: the largest that keeps the error
asked for. For a stream of blocks each has its own. Cost: about 1 µs a velocity and trial, up to 14 trials.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from marey._arrays import BoolArray, FloatArray, as_slice, assign, derived, read_only
from marey._work import Progress
from marey.crowd.codec import coder
from marey.crowd.codec.coder import Step
from marey.crowd.fields import FieldSeries, check_fields, concatenate
from marey.errors import FormatError, InputError, MareyError

MAGIC = b"MRYF"
VERSION = 1
LARGEST_HEADER = 64 << 20
LARGEST_BLOCK = 1 << 28
"""Samples of a block that are read."""


@dataclass(frozen=True, repr=False)
class CompressedFields:
    """A field series in as few bytes as an error allows; `decode` gives it back, whole or in part.

    Attributes:
        data: All bytes of the file; everything else is read from them.

    >>> import marey
    >>> small = compress(marey.samples.field(), max_error=0.02)
    >>> small.decode(slice(10, 20)).frames, small.ratio > 20
    (10, True)
    """

    data: bytes
    frames: int = field(init=False, compare=False)
    rows: int = field(init=False, compare=False)
    columns: int = field(init=False, compare=False)
    frame_rate: float = field(init=False, compare=False)
    name: str = field(init=False, compare=False)
    mask: BoolArray | None = field(init=False, compare=False)
    homography: FloatArray | None = field(init=False, compare=False)
    _blocks: tuple[_Block, ...] = field(init=False, compare=False)
    _like: FieldSeries = field(init=False, compare=False)

    def __post_init__(self) -> None:
        header, payload = _opened(self.data)
        try:
            rows, columns = int(header["rows"]), int(header["columns"])
            if not (0 < rows < 1 << 16 and 0 < columns < 1 << 16) or rows * columns > LARGEST_BLOCK:
                raise FormatError(f"the compressed fields are damaged: {columns} × {rows} pixels")
            table = _table(header["blocks"], len(self.data) - 4, payload)
            whole = FieldSeries(
                np.zeros((1, rows, columns, 2), dtype=np.float32),
                header["frame_rate"],
                mask=_mask(header.get("mask"), rows, columns),
                homography=header.get("homography"),
                name=str(header.get("name", "")),
                scale=header.get("scale", ""),
            )
        except FormatError:
            raise
        except (MareyError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"the compressed fields are damaged ({error})") from error
        largest = max(block.frames for block in table)
        if largest * rows * columns * 2 > LARGEST_BLOCK:
            raise FormatError(f"the compressed fields are damaged: a block of {largest} frames is too large")
        assign(
            self,
            frames=table[-1].start + table[-1].frames,
            rows=rows,
            columns=columns,
            frame_rate=whole.frame_rate,
            name=whole.name,
            mask=whole.mask,
            homography=whole.homography,
            _blocks=table,
            _like=whole,
        )

    def __repr__(self) -> str:
        size = f"{self.frames} × {self.rows} × {self.columns}"
        return f"CompressedFields({self.name!r}, {size}, {self.bytes} bytes)"

    bytes = derived(len, "data", "Size of the file.")

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
        check_fields(high - low, self.rows, self.columns, "decode some of them, or stream() them")
        touched = [b for b in self._blocks if b.start < high and low < b.start + b.frames]
        first = touched[0].start
        series = concatenate([self._decoded(block) for block in touched])[low - first : high - first]
        return series if step == 1 else series[::step]

    def stream(self) -> Iterator[FieldSeries]:
        """The series block by block, in little memory."""
        return (self._decoded(block) for block in self._blocks)

    def _decoded(self, block: _Block) -> FieldSeries:
        shape = (block.frames, self.rows, self.columns)
        middle, end = block.place + block.size, block.place + block.size + block.foreground
        velocities = coder.decode(self.data[block.place : middle], shape, self.mask)
        foreground = None
        if block.foreground:
            unknown = self.data[end : end + block.unknown]
            foreground = read_only(coder.decode_foreground(self.data[middle:end], unknown, shape))
        return replace(self._like, velocities=read_only(velocities), foreground=foreground)


@dataclass(frozen=True)
class _Block:
    """Where a block lies: its frames, first byte, bytes of velocities, foreground, where it is unknown."""

    start: int
    frames: int
    place: int
    size: int
    foreground: int
    unknown: int


def compress(
    fields: FieldSeries | Iterable[FieldSeries],
    *,
    max_error: float | None = None,
    rms_error: float | None = None,
    progress: Progress | None = None,
) -> CompressedFields:
    """Store a field series small; the error is guaranteed.

    Pixels outside the mask decode to zero. Foreground, if there is any, is kept to a few hundredths.

    Args:
        fields: The series, or its pieces one after the other (`marey.io.zarr_store.field_blocks`), which are
            coded one by one.
        max_error: How far off a velocity may be at any pixel in any frame, pixels per frame (length of the
            error).
        rms_error: How far off they may be in the root mean square; with neither, 5 % of their own.
        progress: Called with the frames done and their number.

    >>> import marey
    >>> field = marey.samples.field()
    >>> off = compress(field, max_error=0.01).decode().velocities - field.velocities
    >>> bool(np.hypot(off[..., 0], off[..., 1]).max() <= 0.01)
    True
    """
    for label, value in (("max_error", max_error), ("rms_error", rms_error)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(f"{label}: must be positive and finite, got {value}")
    # More than any velocity of single precision can be off: allowing more changes nothing.
    max_error = None if max_error is None else min(max_error, 1e30)
    rms_error = None if rms_error is None else min(rms_error, 1e30)
    step, total, done = None, 0, 0
    parts: Iterable[FieldSeries]
    if isinstance(fields, FieldSeries):
        parts, total = _split(fields), fields.frames
        step = _step_for(parts, max_error, rms_error)
    else:
        parts = _regrouped(fields)
    coded, first = [], None
    for part in parts:
        first = part if first is None else first
        chosen = _step_for([part], max_error, rms_error) if step is None else step
        data = coder.encode(_single(part), part.mask, chosen, max_error)
        foreground = (b"", b"") if part.foreground is None else coder.encode_foreground(part.foreground)
        coded.append((part.frames, data, *foreground))
        done += part.frames
        if progress is not None:
            progress(done, total)
    if first is None:
        raise InputError("there are no fields to compress")
    return _assembled(first, coded)


def _split(fields: FieldSeries) -> list[FieldSeries]:
    """Blocks of nearly equal length."""
    count = -(-fields.frames // _block_frames(fields))
    edges = [fields.frames * i // count for i in range(count + 1)]
    return [fields[start:stop] for start, stop in pairwise(edges)]


def _regrouped(pieces: Iterable[FieldSeries]) -> Iterator[FieldSeries]:
    """Pieces of any length as blocks of the usual one; the last is what is left."""
    waiting: list[FieldSeries] = []
    for piece in pieces:
        waiting.append(piece)
        size = _block_frames(piece)
        if sum(part.frames for part in waiting) >= size:
            joined = concatenate(waiting)
            whole = joined.frames - joined.frames % size
            for start in range(0, whole, size):
                yield joined[start : start + size]
            waiting = [joined[whole:]] if whole < joined.frames else []
    if waiting:
        yield concatenate(waiting)


def _block_frames(fields: FieldSeries) -> int:
    """At most 128 frames, and 8 million samples."""
    return min(max((1 << 23) // (2 * fields.rows * fields.columns), 8), 128)


def _single(part: FieldSeries) -> coder.Fields:
    return part.velocities.astype(np.float32, copy=False)


def _step_for(parts: list[FieldSeries], max_error: float | None, rms_error: float | None) -> Step:
    inside = [_single(p) if p.mask is None else _single(p)[:, p.mask] for p in parts]
    speeds = [np.hypot(v[..., 0], v[..., 1]) for v in inside]
    largest = max((float(s.max()) for s in speeds if s.size), default=0.0)
    if largest == 0.0:
        return Step.near(1.0)
    # Single precision has no room for less.
    smallest = 1e-4 * largest
    if max_error is not None and max_error < smallest:
        raise InputError(
            f"a largest error of {max_error:g} where velocities reach {largest:g} pixels per frame: "
            f"ask for {smallest:.2g} or more, or store the fields as .zarr"
        )
    if rms_error is None and max_error is None:
        squares = sum(float((s.astype(np.float64) ** 2).sum()) for s in speeds)
        rms_error = 0.05 * math.sqrt(squares / sum(s.size for s in speeds))
    if rms_error is not None:
        return _largest_step(parts, rms_error, largest)
    assert max_error is not None
    return _cheapest_step(parts[len(parts) // 2], max_error)


def _largest_step(parts: list[FieldSeries], rms_error: float, largest: float) -> Step:
    """The largest step whose error stays below `rms_error`, to within 2 % of the error."""
    low, high = 0.0, math.inf
    step = Step.near(max(4.0 * rms_error, 1e-7 * largest))
    for _ in range(14):
        error = _rms(parts, step)
        if error <= rms_error:
            low = step.size
            if error >= 0.98 * rms_error or step.size > 4096 * largest:
                break
        else:
            high = step.size
        # The error grows more slowly than the step, so this guess approaches from the right side.
        guess = step.size * min(max((rms_error / max(error, 1e-30)) ** 1.5, 0.2), 8.0)
        if low and math.isfinite(high):
            guess = min(max(guess, low**0.9 * high**0.1), low**0.1 * high**0.9)
        step = Step.near(guess)
    if low == 0.0:
        raise InputError(
            f"an rms error of {rms_error:g} where velocities reach {largest:g} pixels per frame is too small"
        )
    return Step.near(low)


def _rms(parts: list[FieldSeries], step: Step) -> float:
    total, count = 0.0, 0
    for part in parts:
        off = (coder.approximated(_single(part), part.mask, step) - _single(part)).astype(np.float64)
        off = off if part.mask is None else off[:, part.mask]
        total += float((off**2).sum())
        count += off.size // 2
    return math.sqrt(total / max(count, 1))


def _cheapest_step(part: FieldSeries, max_error: float) -> Step:
    """Coarser steps until what they save is less than the corrections they need."""
    some = _single(part)[:32]
    best, fewest = Step.near(0.7 * max_error), None
    for factor in (0.7, 1.0, 1.4, 2.0, 2.8, 4.0):
        step = Step.near(factor * max_error)
        size = len(coder.encode(some, part.mask, step, max_error))
        if fewest is not None and size >= fewest:
            break
        best, fewest = step, size
    return best


def _assembled(like: FieldSeries, coded: list[tuple[int, bytes, bytes, bytes]]) -> CompressedFields:
    """The file around coded blocks (frames, velocities, foreground, where it is unknown), seen as `like`."""
    header: dict[str, Any] = {
        "rows": like.rows,
        "columns": like.columns,
        "frame_rate": like.frame_rate,
        "blocks": [[frames, *map(len, parts)] for frames, *parts in coded],
    }
    if like.name:
        header["name"] = like.name
    if like.scale:
        header["scale"] = like.scale
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


def _opened(data: bytes) -> tuple[dict[str, Any], int]:
    """The header, and where the blocks begin."""
    if not data.startswith(MAGIC):
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


def _table(rows: list[list[int]], end: int, place: int) -> tuple[_Block, ...]:
    table = []
    start = 0
    for frames, *sizes in rows:
        if frames < 1 or len(sizes) != 3 or min(sizes) < 0:
            raise FormatError("the compressed fields are damaged: an empty block")
        table.append(_Block(start, int(frames), place, *map(int, sizes)))
        start, place = start + frames, place + sum(sizes)
    if not table or place != end or len({block.foreground > 0 for block in table}) > 1:
        raise FormatError("the compressed fields are damaged: their blocks do not fill the file")
    return tuple(table)


def _mask(text: str | None, rows: int, columns: int) -> BoolArray | None:
    if text is None:
        return None
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8))
    if len(bits) != -(-rows * columns // 8) * 8:
        raise FormatError("the compressed fields are damaged: their mask has another size")
    return np.asarray(bits[: rows * columns].reshape(rows, columns), dtype=np.bool_)
