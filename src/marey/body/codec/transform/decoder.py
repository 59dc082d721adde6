"""From the bytes of the default codec back to motion: any stretch of frames, or segment by segment.

A segment is decoded whole, which takes some microseconds a frame; those that share frames are blended, the
rotations along geodesics. The payload is: number of segments, then for each its frames, its bytes, its data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marey._arrays import Array
from marey.body.codec._packing import Reader
from marey.body.codec.header import Header
from marey.body.codec.transform.segment import Segment, read_segment
from marey.errors import FormatError
from marey.geometry import rotations as so3

_SHARED = 0.1  # seconds


class Part(NamedTuple):
    """A segment in the payload: its frames in the clip, and its bytes."""

    frames: range
    data: bytes


def decode(payload: bytes, header: Header, frames: range) -> tuple[Array, Array]:
    """Rotations `(frames, joints, 4)` and root `(frames, 3)`, metres, of consecutive frames."""
    joints = header.skeleton.joints
    rotations = np.empty((len(frames), joints, 4))
    root = np.empty((len(frames), 3))
    done = frames.start
    for part in _parts(payload, header):
        first, last = max(part.frames.start, frames.start), min(part.frames.stop, frames.stop)
        if first >= last:
            continue
        here = slice(first - part.frames.start, last - part.frames.start)
        turned, path = _segment(part, header).motion(header.skeleton, header.frame_rate)
        turned, path = turned[here], path[here]
        both = slice(first - frames.start, done - frames.start)
        if done > first:
            shared = overlap(header.frame_rate)
            share = (np.arange(first, done) - part.frames.start + 1.0) / (shared + 1.0)
            share = share * share * (3 - 2 * share)
            count = done - first
            turned[:count] = so3.slerp(rotations[both], turned[:count], share[:, None])
            path[:count] = root[both] + share[:, None] * (path[:count] - root[both])
        there = slice(first - frames.start, last - frames.start)
        rotations[there], root[there] = turned, path
        done = last
    return rotations, root


def segments(payload: bytes, header: Header) -> list[range]:
    """Frames of the segments, without those shared with the one before."""
    found = [part.frames for part in _parts(payload, header)]
    starts = [0, *(part.stop for part in found)]
    return [range(start, part.stop) for start, part in zip(starts, found, strict=False)]


def modes(payload: bytes, header: Header) -> int:
    """The most modes of any segment."""
    return max(_segment(part, header).basis.modes for part in _parts(payload, header))


def overlap(frame_rate: float) -> int:
    """Frames that neighbouring segments share."""
    return max(2, round(_SHARED * frame_rate))


def stretches(lengths: list[int], frame_rate: float) -> list[range]:
    """Frames of segments of these lengths, each beginning before the last one ends."""
    found: list[range] = []
    for length in lengths:
        start = found[-1].stop - overlap(frame_rate) if found else 0
        found.append(range(start, start + length))
    return found


def _parts(payload: bytes, header: Header) -> list[Part]:
    reader = Reader(payload)
    count = reader.varint()
    lengths, contents = [], []
    for _ in range(count):
        lengths.append(reader.varint())
        contents.append(reader.take(reader.varint()))
    shared = overlap(header.frame_rate)
    found = stretches(lengths, header.frame_rate)
    if not found or found[-1].stop != header.frames or min(lengths[1:], default=shared + 1) <= shared:
        raise FormatError("the compressed clip is damaged: its segments do not add up to its frames")
    return [Part(frames, data) for frames, data in zip(found, contents, strict=True)]


def _segment(part: Part, header: Header) -> Segment:
    return read_segment(part.data, len(part.frames), header.skeleton, header.frame_rate)
