"""`compress`: a field series, or a capture that comes block by block, in as few bytes as an error allows.

One step for all blocks of a series at hand, found by trying: the largest that keeps the error asked for. For
a stream of blocks each has its own. Cost: about 1 µs a velocity and trial, up to a dozen trials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from marey._arrays import handed_over
from marey._progress import Progress
from marey.crowd.codec import blocks
from marey.crowd.codec.blocks import Step
from marey.crowd.codec.series import CompressedFields, assembled
from marey.crowd.fields import FieldSeries, concatenate
from marey.errors import InputError

# Frames of a block at most, and its samples.
LONGEST_BLOCK, BLOCK_SAMPLES = 128, 1 << 23
# Root mean square error if none is asked for, as a share of the root mean square speed.
USUAL_SHARE = 0.05
# A largest error must be this share of the largest speed, at least: single precision has no room for less.
SMALLEST_SHARE = 1e-4
# More than any velocity of single precision can be off: allowing more changes nothing.
LARGEST_ERROR = 1e30

Measure = Callable[[Step], float]


def compress(
    fields: FieldSeries | Iterable[FieldSeries],
    *,
    max_error: float | None = None,
    rms_error: float | None = None,
    progress: Progress | None = None,
) -> CompressedFields:
    """Store a field series small; the error is guaranteed.

    fields: the series, or its pieces one after the other (`marey.io.fields.blocks`), then coded one by one
    max_error: how far off a velocity may be at any pixel in any frame, pixels per frame (length of the error)
    rms_error: how far off they may be in the root mean square; with neither, 5 % of their own

    Pixels outside the mask decode to zero. Presence, if there is any, is kept to a few hundredths.

    >>> import marey
    >>> field = marey.samples.field()
    >>> again = compress(field, max_error=0.01).decode()
    >>> off = again.velocities - field.velocities
    >>> bool(np.hypot(off[..., 0], off[..., 1]).max() <= 0.01)
    True
    """
    for label, value in (("max_error", max_error), ("rms_error", rms_error)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(f"{label}: must be positive and finite, got {value}")
    max_error = None if max_error is None else min(max_error, LARGEST_ERROR)
    rms_error = None if rms_error is None else min(rms_error, LARGEST_ERROR)
    whole = isinstance(fields, FieldSeries)
    parts = _split(fields) if isinstance(fields, FieldSeries) else _regrouped(fields)
    step = _step_for(list(_split(fields)), max_error, rms_error) if isinstance(fields, FieldSeries) else None
    coded, first = [], None
    total = fields.frames if isinstance(fields, FieldSeries) else 0
    done = 0
    for part in parts:
        first = part if first is None else first
        chosen = step if whole and step is not None else _step_for([part], max_error, rms_error)
        data = blocks.encode(_single(part), part.mask, chosen, max_error)
        presence = (b"", b"") if part.presence is None else blocks.encode_presence(part.presence)
        coded.append((part.frames, data, *presence))
        done += part.frames
        if progress is not None:
            progress(done, total)
    if first is None:
        raise InputError("there are no fields to compress")
    return assembled(first, coded)


def _split(fields: FieldSeries) -> Iterator[FieldSeries]:
    """Blocks of nearly equal length."""
    count = -(-fields.frames // _block_frames(fields))
    edges = [fields.frames * i // count for i in range(count + 1)]
    return (fields[start:stop] for start, stop in pairwise(edges))


def _regrouped(pieces: Iterable[FieldSeries]) -> Iterator[FieldSeries]:
    """Pieces of any length as blocks of the usual one; the last is what is left."""
    waiting: list[FieldSeries] = []
    for piece in pieces:
        waiting.append(piece)
        size = _block_frames(piece)
        if sum(part.frames for part in waiting) >= size:
            joined = waiting[0] if len(waiting) == 1 else concatenate(waiting)
            whole = joined.frames - joined.frames % size
            for start in range(0, whole, size):
                yield joined[start : start + size]
            waiting = [joined[whole:]] if whole < joined.frames else []
    if waiting:
        yield waiting[0] if len(waiting) == 1 else concatenate(waiting)


def _block_frames(fields: FieldSeries) -> int:
    return min(max(BLOCK_SAMPLES // (2 * fields.rows * fields.columns), 8), LONGEST_BLOCK)


def _single(part: FieldSeries) -> blocks.Fields:
    return part.velocities.astype(np.float32, copy=False)


def _step_for(parts: list[FieldSeries], max_error: float | None, rms_error: float | None) -> Step:
    inside = [_single(p) if p.mask is None else _single(p)[:, p.mask] for p in parts]
    speeds = [np.hypot(v[..., 0], v[..., 1]) for v in inside]
    largest = max((float(s.max()) for s in speeds if s.size), default=0.0)
    if largest == 0.0:
        return Step.near(1.0)
    if max_error is not None and max_error < SMALLEST_SHARE * largest:
        raise InputError(
            f"a largest error of {max_error:g} where velocities reach {largest:g} pixels per frame: "
            f"ask for {SMALLEST_SHARE * largest:.2g} or more, or store the fields as .zarr"
        )
    if rms_error is None and max_error is None:
        squares = sum(float((s.astype(np.float64) ** 2).sum()) for s in speeds)
        rms_error = USUAL_SHARE * math.sqrt(squares / sum(s.size for s in speeds))
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
        off = (blocks.approximated(_single(part), part.mask, step) - _single(part)).astype(np.float64)
        off = off if part.mask is None else off[:, part.mask]
        total += float((off**2).sum())
        count += off.size // 2
    return math.sqrt(total / max(count, 1))


def _cheapest_step(part: FieldSeries, max_error: float) -> Step:
    """Coarser steps until what they save is less than the corrections they need."""
    some = replace(part, velocities=handed_over(_single(part)[:32]), presence=None)
    best, fewest = Step.near(0.7 * max_error), None
    for factor in (0.7, 1.0, 1.4, 2.0, 2.8, 4.0):
        step = Step.near(factor * max_error)
        size = len(blocks.encode(_single(some), some.mask, step, max_error))
        if fewest is not None and size >= fewest:
            break
        best, fewest = step, size
    return best
