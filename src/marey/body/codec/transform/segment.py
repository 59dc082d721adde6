"""One segment of a clip in bytes: mean pose, directions, and the wavelet coefficients of their modes.

Everything is whole numbers here, so what the encoder measured is what every decoder gives back. A segment
stands alone: decoding it needs the skeleton and nothing of the segments before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array, Integers
from marey.body.codec.header import Header
from marey.body.codec.transform.basis import CURVES, LIMBS, Basis, limbs, read_basis, write_basis
from marey.body.codec.transform.channels import Channels, Columns, lever_arms, reaches
from marey.body.codec.transform.range_coder import RangeCoder
from marey.body.skeleton import Skeleton
from marey.errors import FormatError
from marey.statistics.coding.wavelet import band_frames, band_sizes, synthesise

# Blocks of this many seconds may have steps of their own where the error would be too large.
_BLOCK_SECONDS = 0.25
# Steps go by eighths of an octave from one metre down, refinements by quarters.
STEPS_AN_OCTAVE = 8
REFINEMENTS_AN_OCTAVE = 4
FINEST_STEP = 255
MOST_LEVELS = 15


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
        groups = column_limbs(self.columns, header.skeleton)[self.basis.first_columns()]
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
    fine, count = step_size(step) / np.sqrt(frames), channels.columns.positions
    positions = np.round(channels.centre[:count] / fine)
    arms = reaches(skeleton, channels.columns, (positions * fine).reshape(-1, 3))
    turns = np.round(channels.centre[count:] * arms[count:] / fine)
    return np.concatenate([positions, turns]).astype(np.int64)


def decoded_channels(
    skeleton: Skeleton, columns: Columns, centre: Integers, step: int, frames: int
) -> Channels:
    """Inverse of :func:`rounded_centre`."""
    fine, count = step_size(step) / np.sqrt(frames), columns.positions
    positions = centre[:count] * fine
    arms = reaches(skeleton, columns, positions.reshape(-1, 3))
    return Channels(columns, np.concatenate([positions, centre[count:] * fine / arms[count:]]))


def block_length(frame_rate: float) -> int:
    """Frames of a block with a step of its own."""
    return max(8, round(_BLOCK_SECONDS * frame_rate))


def block_count(frames: int, frame_rate: float) -> int:
    """How many blocks there are."""
    return -(-frames // block_length(frame_rate))


def column_limbs(columns: Columns, skeleton: Skeleton) -> Integers:
    """The limb of each column, `(columns,)`: its steps are refined together."""
    return limbs(skeleton.parents)[columns.joint]


def column_parts(layout: int, columns: Columns, skeleton: Skeleton) -> Integers:
    """Which columns share directions, `(columns,)`: none, or those of a limb."""
    joints = columns.joint
    return np.arange(len(joints)) if layout == CURVES else limbs(skeleton.parents)[joints]


def write_segment(segment: Segment, skeleton: Skeleton) -> bytes:
    """The segment's bytes; its number of frames is not among them."""
    room = 4096 + 2 * segment.coefficients.size
    while True:
        coder = RangeCoder(room=room)
        coder.plain(segment.columns.quaternion_columns.astype(np.int64), family=4, expected=0.1)
        coder.plain(segment.centre, family=0, expected=1024.0)
        write_basis(coder, segment.basis, column_parts(segment.layout, segment.columns, skeleton))
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
    groups = column_limbs(columns, skeleton)
    centre = coder.plain(np.zeros(len(groups), dtype=np.int64), family=0, expected=1024.0)
    basis = read_basis(coder, layout, column_parts(layout, columns, skeleton))
    refinement = np.zeros((block_count(frames, header.frame_rate), int(groups.max()) + 1), dtype=np.int64)
    refined = coder.plain(np.zeros(refinement.shape[1], dtype=np.int64), family=4, expected=0.1) != 0
    for group in np.flatnonzero(refined):
        numbers = coder.plain(np.zeros(len(refinement), dtype=np.int64), family=5, expected=0.2)
        refinement[:, group] = np.clip(numbers, 0, 255)
    coefficients = np.zeros((frames, basis.modes), dtype=np.int64)
    coefficients = coder.bands(coefficients, band_sizes(frames, levels))
    return Segment(layout, step, levels, columns, centre, basis, refinement, coefficients)
