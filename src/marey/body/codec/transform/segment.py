"""Segments of a clip as bytes and back: mean pose, directions, and wavelet coefficients of their modes.

Everything is whole numbers here, so what the encoder measured is what every decoder gives back. A segment
stands alone: decoding it needs the skeleton and nothing of the segments before it. The payload is one segment
after the other; the header's `segments` has frames, bytes and modes of each. A segment is decoded whole,
which takes some microseconds a frame; those that share frames are blended, the rotations along geodesics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array, Integers
from marey.body.clip_header import Header, whole
from marey.body.codec.transform.channels import (
    CURVES,
    LIMBS,
    Basis,
    Channels,
    Columns,
    each_column,
    lever_arms,
    limbs,
    strongest_first,
)
from marey.body.skeleton import Skeleton
from marey.errors import FormatError
from marey.geometry import rotations as so3
from marey.geometry.fades import minimum_jerk
from marey.statistics.coding.range_coder import FIRST_ROOM, Coder
from marey.statistics.coding.wavelet import band_frames, band_sizes, synthesise

# Blocks of this many seconds may have steps of their own where the error would be too large.
_BLOCK_SECONDS = 0.25
# Steps go by eighths of an octave from one metre down, refinements by quarters.
STEPS_AN_OCTAVE = 8
REFINEMENTS_AN_OCTAVE = 4
FINEST_STEP = 255
MOST_LEVELS = 15
_OVERLAP = 0.1  # seconds
# No figure with directions has as many entries; others keep their curves.
_MOST_ENTRIES = 1 << 22


class RangeCoder(Coder):
    """Writes numbers when made without data, reads them when made with it.

    >>> writer = RangeCoder()
    >>> _ = writer.plain(np.array([3, -1, 0, 2]))
    >>> data = writer.finish()
    >>> RangeCoder(data).plain(np.zeros(4, np.int64)).tolist()
    [3, -1, 0, 2]
    """

    def __init__(self, data: bytes | None = None, *, room: int = FIRST_ROOM) -> None:
        from marey.body.codec.transform import _kernels
        from marey.statistics.coding._kernels import SLOTS

        self._kernels = _kernels
        super().__init__(data, groups=_kernels.END, mixers=_kernels.MIXERS // SLOTS, room=room)

    def plain(self, numbers: Integers, *, family: int = 0, expected: float = 1.0) -> Integers:
        """Numbers one after the other, each about as large as those before it.

        Args:
            numbers: `(count,)`.
            family: 0…6, numbers of one kind that share what is learned about them.
            expected: size of the first.
        """
        numbers = np.array(numbers, dtype=np.int64)
        self._kernels.code_plain(self.state, numbers, family, int(256 * expected))
        return numbers

    def bands(self, numbers: Integers, sizes: list[int]) -> Integers:
        """Wavelet coefficients `(frames, curves)` in bands of `sizes`, coarse to fine."""
        numbers = np.array(numbers, dtype=np.int64, order="C")
        self._kernels.code_bands(self.state, numbers, np.array(sizes, np.int64))
        return numbers


def decode(payload: bytes, header: Header, frames: range) -> tuple[Array, Array]:
    """Consecutive frames of a clip.

    Returns:
        Rotations `(frames, joints, 4)`, and positions `(frames, sliding, 3)`, metres.
    """
    rotations = np.empty((len(frames), header.skeleton.joints, 4))
    positions = np.empty((len(frames), len(header.sliding), 3))
    done, sizes = frames.start, _sizes(header)
    edges = np.cumsum([0, *(size for _, size, _ in sizes)]).tolist()
    if edges[-1] != len(payload):
        raise FormatError("the compressed clip is damaged: its segments do not add up to its bytes")
    parts = overlapping([length for length, _, _ in sizes], header.frame_rate)
    for part, data in ((p, payload[a:b]) for p, a, b in zip(parts, edges, edges[1:], strict=False)):
        first, last = max(part.start, frames.start), min(part.stop, frames.stop)
        if first >= last:
            continue
        here = slice(first - part.start, last - part.start)
        turned, moved = (array[here] for array in read_segment(data, len(part), header).motion(header))
        if done > first:
            both, count = slice(first - frames.start, done - frames.start), done - first
            fading = (np.arange(first, done) - part.start + 1) / (overlap(header.frame_rate) + 1)
            share = minimum_jerk(np.asarray(fading, dtype=np.float64))[:, None]
            turned[:count] = so3.slerp(rotations[both], turned[:count], share)
            moved[:count] = positions[both] + share[..., None] * (moved[:count] - positions[both])
        there = slice(first - frames.start, last - frames.start)
        rotations[there], positions[there] = turned, moved
        done = last
    return rotations, positions


def segments(header: Header) -> list[range]:
    """Frames of the segments, without those shared with the one before."""
    found = overlapping([length for length, _, _ in _sizes(header)], header.frame_rate)
    starts = [0, *(part.stop for part in found)]
    return [range(start, part.stop) for start, part in zip(starts, found, strict=False)]


def modes(header: Header) -> int:
    """The most modes of any segment."""
    return max(count for _, _, count in _sizes(header))


def overlap(frame_rate: float) -> int:
    """Frames that neighbouring segments share."""
    return max(2, round(_OVERLAP * frame_rate))


def overlapping(lengths: list[int], frame_rate: float) -> list[range]:
    """Frames of segments of these lengths, each starting before the last one ends."""
    found: list[range] = []
    for length in lengths:
        start = found[-1].stop - overlap(frame_rate) if found else 0
        found.append(range(start, start + length))
    return found


@dataclass(frozen=True, eq=False)
class Segment:
    """Numbers from which a segment of a clip is rebuilt.

    Args:
        layout: how columns were put together for the basis.
        step: of the coefficients, in eighths of an octave below one metre.
        levels: of the wavelets.
        columns: what the curves are.
        centre: `(columns,)`, the mean pose, in steps of its own.
        basis: directions of the modes.
        refinement: `(blocks, limbs)`, by how many quarters of an octave the step is smaller there and then.
        coefficients: `(frames, modes)`.
    """

    layout: int
    step: int
    levels: int
    columns: Columns
    centre: Integers
    basis: Basis
    refinement: Integers
    coefficients: Integers

    @property
    def frames(self) -> int:
        return len(self.coefficients)

    def motion(self, header: Header) -> tuple[Array, Array]:
        """Rotations `(frames, joints, 4)` and positions `(frames, sliding, 3)`, metres."""
        skeleton = header.skeleton
        channels = decoded_channels(skeleton, self.columns, self.centre, self.step, self.frames)
        modes = synthesise(self.coefficients * self.steps(header), self.levels)
        return channels.motion(self.basis.expand(modes, lever_arms(skeleton, channels)))

    def steps(self, header: Header) -> Array:
        """What each coefficient is rounded to, metres, `(frames, modes)`; `(1, 1)` if all are equal."""
        if not self.refinement.any():
            return np.full((1, 1), step_size(self.step))
        groups = column_parts(LIMBS, self.columns, header.skeleton)[self.basis.first_columns()]
        blocks = band_frames(self.frames, self.levels) // block_length(header.frame_rate)
        return refined_steps(self.step, self.refinement, blocks, groups)


def step_size(step: int) -> float:
    """Metres."""
    return float(2.0 ** (-step / STEPS_AN_OCTAVE))


def refined_steps(step: int, refinement: Integers, blocks: Integers, groups: Integers) -> Array:
    """What coefficients are rounded to, metres, given the block of each row and the limb of each mode."""
    steps = step_size(step) * 2.0 ** (-refinement / REFINEMENTS_AN_OCTAVE)
    return np.asarray(steps[:, groups][blocks])


def rounded_centre(skeleton: Skeleton, channels: Channels, step: int, frames: int) -> Integers:
    """The mean pose in whole numbers, `(columns,)`; its error is that of all frames at once."""
    fine, columns = step_size(step) / np.sqrt(frames), channels.columns
    numbers = np.round(channels.centre / fine)
    arms = lever_arms(skeleton, Channels(columns, numbers * fine), straight=True)
    numbers[columns.positions :] = np.round(channels.centre * arms / fine)[columns.positions :]
    return np.asarray(numbers.astype(np.int64))


def decoded_channels(
    skeleton: Skeleton, columns: Columns, centre: Integers, step: int, frames: int
) -> Channels:
    """Inverse of :func:`rounded_centre`."""
    values = centre * (step_size(step) / np.sqrt(frames))
    arms = lever_arms(skeleton, Channels(columns, values), straight=True)
    values[columns.positions :] /= arms[columns.positions :]
    return Channels(columns, values)


def block_length(frame_rate: float) -> int:
    """Frames of a block with a step of its own."""
    return max(8, round(_BLOCK_SECONDS * frame_rate))


def column_parts(layout: int, columns: Columns, skeleton: Skeleton) -> Integers:
    """Which columns share directions, `(columns,)`: none, or those of a limb (whose steps are one)."""
    joints = columns.joint
    return np.arange(len(joints)) if layout == CURVES else limbs(skeleton.parents)[joints]


def write_segment(segment: Segment, skeleton: Skeleton) -> bytes:
    """The segment's bytes; its number of frames is not among them."""
    room = 4096 + 2 * segment.coefficients.size
    while True:
        coder = RangeCoder(room=room)
        coder.plain(segment.columns.quaternion_columns.astype(np.int64), family=4, expected=0.1)
        coder.plain(segment.centre, family=0, expected=1024.0)
        _write_basis(coder, segment.basis, column_parts(segment.layout, segment.columns, skeleton))
        refined = segment.refinement.any(axis=0)
        coder.plain(np.asarray(refined, dtype=np.int64), family=4, expected=0.1)
        for group in np.flatnonzero(refined):
            coder.plain(segment.refinement[:, group], family=5, expected=0.2)
        coder.bands(segment.coefficients, band_sizes(segment.frames, segment.levels))
        try:
            return bytes([segment.layout | segment.levels << 4, segment.step]) + coder.finish()
        except BufferError:
            room *= 4


def read_segment(data: bytes, frames: int, header: Header) -> Segment:
    """The segment of `frames` frames that :func:`write_segment` wrote."""
    skeleton = header.skeleton
    if len(data) < 2:
        raise FormatError("the compressed clip ends in the middle of a segment")
    layout, levels, step = data[0] & 15, data[0] >> 4, data[1]
    if layout > LIMBS or (frames >> levels) == 0:
        raise FormatError("the compressed clip is damaged: a segment's layout is unknown")
    coder = RangeCoder(data[2:])
    quaternions = coder.plain(np.zeros(skeleton.joints, dtype=np.int64), family=4, expected=0.1) != 0
    columns = Columns(header.sliding, quaternions)
    groups = column_parts(LIMBS, columns, skeleton)
    centre = coder.plain(np.zeros(len(groups), dtype=np.int64), family=0, expected=1024.0)
    basis = _read_basis(coder, layout, column_parts(layout, columns, skeleton))
    blocks = -(-frames // block_length(header.frame_rate))
    refinement = np.zeros((blocks, int(groups.max()) + 1), dtype=np.int64)
    refined = coder.plain(np.zeros(refinement.shape[1], dtype=np.int64), family=4, expected=0.1) != 0
    for group in np.flatnonzero(refined):
        numbers = coder.plain(np.zeros(len(refinement), dtype=np.int64), family=5, expected=0.2)
        refinement[:, group] = np.clip(numbers, 0, 255)
    coefficients = np.zeros((frames, basis.modes), dtype=np.int64)
    coefficients = coder.bands(coefficients, band_sizes(frames, levels))
    return Segment(layout, step, levels, columns, centre, basis, refinement, coefficients)


def _write_basis(coder: RangeCoder, basis: Basis, labels: Integers) -> None:
    """Put a basis into the stream; `labels` `(columns,)` are the parts the layout would have."""
    coder.plain((basis.parts >= 0).astype(np.int64), family=1, expected=0.5)
    if basis.entries is None:
        return
    of_mode = basis.parts[basis.first_columns()]
    strongest = 16  # half octaves, as most have
    for part in np.unique(labels[basis.parts >= 0]):
        rows, modes = basis.parts == part, of_mode == part
        coder.plain(np.array([modes.sum()]), family=2, expected=4.0)
        coder.plain(-np.diff(basis.octaves[modes], prepend=strongest), family=3, expected=2.0)
        coder.bands(basis.entries[np.ix_(rows, modes)], [int(rows.sum())])
        strongest = int(basis.octaves[modes].max(initial=strongest))


def _read_basis(coder: RangeCoder, layout: int, labels: Integers) -> Basis:
    """The basis that `_write_basis` wrote."""
    columns = len(labels)
    moving = coder.plain(np.zeros(columns, dtype=np.int64), family=1, expected=0.5) != 0
    if layout == CURVES:
        return each_column(moving)
    parts = np.where(moving, labels, -1)
    entries, octaves = [np.zeros((columns, 0), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    strongest = 16  # half octaves, as most have
    for part in np.unique(labels[moving]):
        rows = np.flatnonzero(parts == part)
        count = coder.plain(np.zeros(1, dtype=np.int64), family=2, expected=4.0)[0]
        # Not `len(rows)`: columns whose entries were all rounded away are no rows, their modes stay.
        modes = int(np.clip(count, 0, (labels == part).sum()))
        falls = coder.plain(np.zeros(modes, dtype=np.int64), family=3, expected=2.0)
        if columns * (modes + sum(len(found) for found in octaves)) > _MOST_ENTRIES:
            raise FormatError("the compressed clip is damaged: it has more directions than any could")
        octaves.append(np.clip(strongest - np.cumsum(falls), -128, 128))
        strongest = int(octaves[-1].max(initial=strongest))
        block = np.zeros((columns, modes), dtype=np.int64)
        block[rows] = coder.bands(block[rows], [len(rows)])
        entries.append(block)
    return strongest_first(parts, np.concatenate(entries, axis=1), np.concatenate(octaves))


def _sizes(header: Header) -> list[tuple[int, int, int]]:
    """Frames, bytes and modes of each segment."""
    try:
        stored = header.content["segments"]
        sizes = [(whole(frames, 1), whole(size), whole(count)) for frames, size, count in stored]
    except (LookupError, TypeError, ValueError) as error:
        raise FormatError("the compressed clip is damaged: it has no segments") from error
    shared = overlap(header.frame_rate)
    frames = sum(length for length, _, _ in sizes) - shared * (len(sizes) - 1)
    if not sizes or frames != header.frames or any(length <= shared for length, _, _ in sizes[1:]):
        raise FormatError("the compressed clip is damaged: its segments do not add up to its frames")
    return sizes
