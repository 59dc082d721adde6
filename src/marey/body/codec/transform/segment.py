"""One stretch of a clip in bytes: mean pose, directions, and the wavelet coefficients of their modes.

Everything is whole numbers here, so what the encoder measured is what every decoder gives back. A segment
stands alone: decoding it needs the skeleton and nothing of the segments before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.codec.transform.basis import BODY, CURVES, Basis, read_basis, write_basis
from marey.body.codec.transform.channels import Channels, columns_of, lever_arms, reaches
from marey.body.codec.transform.limbs import limbs
from marey.body.codec.transform.range_coder import RangeCoder
from marey.body.skeleton import Skeleton
from marey.errors import FormatError
from marey.statistics.coding.wavelet import band_frames, band_sizes, synthesise

Whole = NDArray[np.int64]

# Stretches of this many seconds may have steps of their own where the error would be too large.
_BLOCK_SECONDS = 0.25
# Steps go by eighths of an octave from one metre down, refinements by quarters.
STEPS_AN_OCTAVE = 8
FINER_AN_OCTAVE = 4
FINEST_STEP = 255
MOST_LEVELS = 15


@dataclass(frozen=True, eq=False)
class Segment:
    """Numbers from which a stretch of a clip is rebuilt.

    layout: how columns were put together for the basis
    step: of the coefficients, in eighths of an octave below one metre
    levels: of the wavelets
    wide: `(joints,)`, joints whose curve is a quaternion
    centre: `(columns,)`, the mean pose, in steps of its own
    basis: directions of the modes
    finer: `(blocks, limbs)`, by how many quarters of an octave the step is smaller there and then
    coefficients: `(frames, modes)`
    """

    layout: int
    step: int
    levels: int
    wide: NDArray[np.bool_]
    centre: Whole
    basis: Basis
    finer: Whole
    coefficients: Whole

    @property
    def frames(self) -> int:
        return len(self.coefficients)

    def motion(self, skeleton: Skeleton, frame_rate: float) -> tuple[Array, Array]:
        """Rotations `(frames, joints, 4)` and root `(frames, 3)`, metres."""
        channels, curves = self.curves(skeleton, frame_rate)
        return channels.motion(curves)

    def curves(self, skeleton: Skeleton, frame_rate: float) -> tuple[Channels, Array]:
        """The mean pose, and curves `(frames, columns)` about it."""
        steps = centre_steps(skeleton, self.wide, self.step, self.frames)
        channels = Channels(self.wide, self.centre * steps)
        modes = synthesise(self.coefficients * self.steps(skeleton, frame_rate), self.levels)
        return channels, self.basis.expand(modes, lever_arms(skeleton, channels))

    def steps(self, skeleton: Skeleton, frame_rate: float) -> Array:
        """What each coefficient is rounded to, metres, `(frames, modes)`; `(1, 1)` if all alike."""
        if not self.finer.any():
            return np.full((1, 1), step_size(self.step))
        groups = refined_groups(self.layout, columns_of(self.wide), skeleton)[self.basis.first_columns()]
        blocks = band_frames(self.frames, self.levels) // block_length(frame_rate)
        return steps_of(self.step, self.finer, blocks, groups)


def step_size(step: int) -> float:
    """Metres."""
    return float(2.0 ** (-step / STEPS_AN_OCTAVE))


def steps_of(step: int, finer: Whole, blocks: Whole, groups: Whole) -> Array:
    """What coefficients are rounded to, metres, given the block of each row and the group of each mode."""
    steps = step_size(step) * 2.0 ** (-finer / FINER_AN_OCTAVE)
    return np.asarray(steps[:, groups][blocks])


def centre_steps(skeleton: Skeleton, wide: NDArray[np.bool_], step: int, frames: int) -> Array:
    """What the mean pose is rounded to, `(columns,)`: its error is that of all frames at once."""
    return step_size(step) / np.sqrt(frames) / reaches(skeleton, wide)


def block_length(frame_rate: float) -> int:
    """Frames of a block with a step of its own."""
    return max(8, round(_BLOCK_SECONDS * frame_rate))


def blocks_in(frames: int, frame_rate: float) -> int:
    """How many blocks there are."""
    return -(-frames // block_length(frame_rate))


def refined_groups(layout: int, columns: Whole, skeleton: Skeleton) -> Whole:
    """The group of columns, `(columns,)`, whose steps are refined together: limbs, or all."""
    if layout == BODY:
        return np.zeros(len(columns), dtype=np.int64)
    return limbs(skeleton.parents)[np.maximum(columns, 0)]


def part_labels(layout: int, columns: Whole, skeleton: Skeleton) -> Whole:
    """Which columns share directions, `(columns,)`: none, those of a limb, or all."""
    if layout == CURVES:
        return np.arange(len(columns))
    if layout == BODY:
        return np.zeros(len(columns), dtype=np.int64)
    return limbs(skeleton.parents)[np.maximum(columns, 0)]


def write_segment(segment: Segment, skeleton: Skeleton, frame_rate: float) -> bytes:
    """The segment's bytes; its number of frames is not among them."""
    columns = columns_of(segment.wide)
    room = 4096 + 2 * segment.coefficients.size
    while True:
        coder = RangeCoder(room=room)
        coder.plain(segment.wide.astype(np.int64), family=4, expected=0.1)
        coder.plain(segment.centre, family=0, expected=1024.0)
        write_basis(coder, segment.basis, part_labels(segment.layout, columns, skeleton))
        refined = segment.finer.any(axis=0)
        coder.plain(np.asarray(refined, dtype=np.int64), family=4, expected=0.1)
        for group in np.flatnonzero(refined):
            coder.plain(segment.finer[:, group], family=5, expected=0.2)
        coder.bands(segment.coefficients, band_sizes(segment.frames, segment.levels))
        try:
            return bytes([segment.layout | segment.levels << 4, segment.step]) + coder.finish()
        except BufferError:
            room *= 4


def read_segment(data: bytes, frames: int, skeleton: Skeleton, frame_rate: float) -> Segment:
    """The segment of `frames` frames that :func:`write_segment` wrote."""
    if len(data) < 2:
        raise FormatError("the compressed clip ends in the middle of a segment")
    layout, levels, step = data[0] & 15, data[0] >> 4, data[1]
    if layout > BODY or (frames >> levels) == 0:
        raise FormatError("the compressed clip is damaged: a segment's layout is unknown")
    coder = RangeCoder(data[2:])
    wide = coder.plain(np.zeros(skeleton.joints, dtype=np.int64), family=4, expected=0.1) != 0
    columns = columns_of(wide)
    centre = coder.plain(np.zeros(len(columns), dtype=np.int64), family=0, expected=1024.0)
    basis = read_basis(coder, layout, part_labels(layout, columns, skeleton))
    groups = int(refined_groups(layout, columns, skeleton).max()) + 1
    finer = np.zeros((blocks_in(frames, frame_rate), groups), dtype=np.int64)
    refined = coder.plain(np.zeros(groups, dtype=np.int64), family=4, expected=0.1) != 0
    for group in np.flatnonzero(refined):
        numbers = coder.plain(np.zeros(len(finer), dtype=np.int64), family=5, expected=0.2)
        finer[:, group] = np.clip(numbers, 0, 255)
    coefficients = np.zeros((frames, basis.modes), dtype=np.int64)
    coefficients = coder.bands(coefficients, band_sizes(frames, levels))
    return Segment(layout, step, levels, wide, centre, basis, finer, coefficients)
