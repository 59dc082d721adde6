"""The smallest file that keeps a clip within an error: the search around `trial`, segment by segment.

The step, and whether to learn directions limb by limb, for the whole body, or not at all, are chosen by the
size of the result. Long clips are cut into segments with models of their own, each decoded
alone, that overlap by a tenth of a second. Cost: some 15 trials, each about 0.1 ms a frame.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from marey._progress import Progress
from marey.body.codec._packing import pack_varint
from marey.body.codec.header import pack_header, unpack_header
from marey.body.codec.transform.basis import BODY, CURVES, LIMBS
from marey.body.codec.transform.decoder import overlap, stretches
from marey.body.codec.transform.segment import FINEST_STEP, STEPS_AN_OCTAVE
from marey.body.codec.transform.trial import Stretch, Trial, attempt, look_at
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError

Array = NDArray[np.float64]

_LONGEST = 30.0  # seconds of a segment
# Offsets of the skeleton are rounded to a small part of the error allowed, never more than this, metres.
_COARSEST_SKELETON = 5e-4
_SMALLEST_ERROR = 1e-5
# A blend of two poses may be a little farther off than either.
_BLEND_ALLOWANCE = 0.97
# For the progress bar.
_USUAL_TRIALS = 12


def encode(
    motion: Motion, *, max_error: float | None, mean_error: float | None, progress: Progress | None = None
) -> tuple[bytes, bytes]:
    """Payload and header of a clip within both errors, metres; at least one must be given."""
    allowed = min(bound for bound in (max_error, mean_error) if bound is not None)
    if allowed < _SMALLEST_ERROR:
        raise InputError(
            f"errors below {_SMALLEST_ERROR * 1000:g} mm are not offered, got {allowed * 1000:g} mm"
        )
    header = pack_header(motion, quantum=min(allowed / 20, _COARSEST_SKELETON))
    skeleton = unpack_header(header)[0].skeleton
    parts = stretches(_segment_lengths(motion.frames, motion.frame_rate), motion.frame_rate)
    bound = max_error if max_error is None or len(parts) == 1 else max_error * _BLEND_ALLOWANCE
    payload = [pack_varint(len(parts))]
    for number, part in enumerate(parts):

        def tried(trials: int, number: int = number) -> None:
            if progress is not None:
                progress(number * _USUAL_TRIALS + min(trials, _USUAL_TRIALS), len(parts) * _USUAL_TRIALS)

        found = smallest(_stretch(motion, skeleton, part), bound, mean_error, tried)
        payload += [pack_varint(len(part)), pack_varint(len(found.data)), found.data]
    return b"".join(payload), header


def _stretch(motion: Motion, skeleton: Skeleton, part: range) -> Stretch:
    frames = slice(part.start, part.stop)
    return look_at(
        skeleton,
        motion.skeleton,
        np.asarray(motion.rotations[frames], dtype=np.float64),
        np.asarray(motion.root[frames], dtype=np.float64),
        motion.frame_rate,
    )


def _segment_lengths(frames: int, frame_rate: float) -> list[int]:
    """Lengths of segments, overlaps included, nearly equal and none longer than it may be."""
    shared = overlap(frame_rate)
    longest = max(round(_LONGEST * frame_rate), 4 * shared)
    if frames <= longest:
        return [frames]
    count = -(-(frames - shared) // (longest - shared))
    edges = np.linspace(0, frames - shared, count + 1).round().astype(int)
    return [int(length) + shared for length in np.diff(edges)]


def smallest(
    stretch: Stretch,
    max_error: float | None,
    mean_error: float | None,
    tried: Callable[[int], None] = lambda trials: None,
) -> Trial:
    """The smallest encoding found within both errors, metres; `tried` is told how many trials there were."""
    trials: dict[tuple[int, int], Trial] = {}

    def trial(layout: int, step: int) -> Trial:
        if (layout, step) not in trials:
            trials[layout, step] = attempt(stretch, layout, step, max_error)
            tried(len(trials))
        return trials[layout, step]

    def good(found: Trial) -> bool:
        return (max_error is None or found.worst <= max_error) and (
            mean_error is None or found.mean <= mean_error
        )

    first = max_error / 3 if max_error is not None else mean_error
    assert first is not None
    start = round(-STEPS_AN_OCTAVE * np.log2(first))
    layout = LIMBS if stretch.skeleton.joints > 1 else CURVES
    step = _best_step(lambda step: trial(layout, step), good, start)
    for other in (CURVES, BODY):
        if len(trial(other, step).data) < len(trial(layout, step).data):
            layout = other
    step = _best_step(lambda step: trial(layout, step), good, step)
    return trial(layout, step)


def _best_step(trial: Callable[[int], Trial], good: Callable[[Trial], bool], start: int) -> int:
    """A step whose trial is good and smaller than its neighbours'; steps grow finer with their number."""
    step = min(max(start, 1), FINEST_STEP)
    while not good(trial(step)) and step < FINEST_STEP:
        step = min(step + 3, FINEST_STEP)
    for stride in (3, 1):
        for direction in (-stride, stride):
            while 0 < step + direction <= FINEST_STEP:
                beside = trial(step + direction)
                if not good(beside) or len(beside.data) >= len(trial(step).data):
                    break
                step += direction
    return step
