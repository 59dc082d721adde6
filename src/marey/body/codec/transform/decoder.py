"""From the bytes of the default codec back to motion: any range of frames, or segment by segment.

A segment is decoded whole, which takes some microseconds a frame; those that share frames are blended, the
rotations along geodesics. The payload is one segment after the other; the header's `segments` has frames,
bytes and modes of each.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array
from marey.body.codec.header import Header, whole
from marey.body.codec.transform.segment import read_segment
from marey.errors import FormatError
from marey.geometry import rotations as so3
from marey.geometry.fades import minimum_jerk

_OVERLAP = 0.1  # seconds


def decode(payload: bytes, header: Header, frames: range) -> tuple[Array, Array]:
    """Consecutive frames of a clip.

    Returns:
        Rotations `(frames, joints, 4)`, and positions `(frames, sliding, 3)`, metres.
    """
    rotations = np.empty((len(frames), header.skeleton.joints, 4))
    positions = np.empty((len(frames), len(header.sliding), 3))
    done = frames.start
    for part, data in _parts(payload, header):
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


def _sizes(header: Header) -> list[tuple[int, int, int]]:
    """Frames, bytes and modes of each segment."""
    try:
        sizes = [
            (whole(frames, 1), whole(size), whole(count))
            for frames, size, count in header.content["segments"]
        ]
    except (LookupError, TypeError, ValueError) as error:
        raise FormatError("the compressed clip is damaged: it has no segments") from error
    shared = overlap(header.frame_rate)
    frames = sum(length for length, _, _ in sizes) - shared * (len(sizes) - 1)
    if not sizes or frames != header.frames or any(length <= shared for length, _, _ in sizes[1:]):
        raise FormatError("the compressed clip is damaged: its segments do not add up to its frames")
    return sizes


def _parts(payload: bytes, header: Header) -> list[tuple[range, bytes]]:
    """Frames and data of each segment."""
    sizes = _sizes(header)
    ends = np.cumsum([0, *(size for _, size, _ in sizes)]).tolist()
    if ends[-1] != len(payload):
        raise FormatError("the compressed clip is damaged: its segments do not add up to its bytes")
    found = overlapping([length for length, _, _ in sizes], header.frame_rate)
    return [(part, payload[a:b]) for part, a, b in zip(found, ends, ends[1:], strict=False)]
