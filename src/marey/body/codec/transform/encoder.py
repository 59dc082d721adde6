"""The smallest file that keeps a clip within an error: the search around `trial`, segment by segment.

The step, and whether to learn directions limb by limb, for the whole body, or not at all, are chosen by the
size of the result. Long clips are cut into segments with models of their own, each decoded
alone, that overlap by a tenth of a second. Cost: some 15 trials, each about 0.1 ms a frame.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marey._progress import Progress
from marey.body.codec._packing import pack_varint
from marey.body.codec.header import Header, pack_header, unpack_header
from marey.body.codec.transform.basis import BODY, CURVES, LIMBS
from marey.body.codec.transform.decoder import decode, overlap, stretches
from marey.body.codec.transform.segment import STEPS_AN_OCTAVE
from marey.body.codec.transform.trial import Stretch, Trial, attempt, farthest, finest_step, look_at
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError, UnreachableError
from marey.geometry.continuity import continuous

_LONGEST = 30.0  # seconds of a segment
# Offsets of the skeleton are rounded to a small part of the error allowed, never more than this, metres.
_COARSEST_SKELETON = 5e-4
_SMALLEST_ERROR = 1e-5
# A blend of two poses may be a little farther off than either.
_BLEND_ALLOWANCE = 0.97
# If it is, its segments are encoded again within a smaller error, at most this often.
_TIGHTENING, _MOST_TIGHTENINGS = 0.9, 6
# Offsets are rounded to this part of the longest bone at most.
_SKELETON_DETAIL = 1 / 400
# For the progress bar.
_USUAL_TRIALS = 20


def encode(
    motion: Motion, *, max_error: float | None, mean_error: float | None, progress: Progress | None = None
) -> tuple[bytes, bytes]:
    """Payload and header of a clip within both errors, metres; at least one must be given."""
    allowed = min(bound for bound in (max_error, mean_error) if bound is not None)
    if allowed < _SMALLEST_ERROR:
        raise InputError(
            f"errors below {_SMALLEST_ERROR * 1000:g} mm are not offered, got {allowed * 1000:g} mm"
        )
    packed = _packed_header(motion, allowed)
    header = unpack_header(packed)[0]
    parts = stretches(_segment_lengths(motion.frames, motion.frame_rate), motion.frame_rate)
    rotations, root = continuous(motion.rotations), np.asarray(motion.root, dtype=np.float64)
    # Of both signs the one whose rotation vectors are shorter.
    rotations *= np.where(rotations[..., 0].sum(axis=0) < 0, -1.0, 1.0)[:, None]
    looked_at = [
        look_at(header.skeleton, motion.skeleton, rotations[s], root[s], motion.frame_rate)
        for s in (slice(part.start, part.stop) for part in parts)
    ]
    tightness = np.full(len(parts), 1.0 if len(parts) == 1 else _BLEND_ALLOWANCE)
    found: list[Trial] = []
    for number, stretch in enumerate(looked_at):

        def tried(trials: int, number: int = number) -> None:
            if progress is not None:
                progress(number * _USUAL_TRIALS + min(trials, _USUAL_TRIALS), len(parts) * _USUAL_TRIALS)

        found.append(smallest(stretch, *_scaled(tightness[number], max_error, mean_error), tried))
    for _ in range(_MOST_TIGHTENINGS):
        payload = _payload(parts, found)
        missed = _missed_blends(payload, header, looked_at, parts, max_error)
        if not missed:
            return payload, packed
        for number in missed:
            tightness[number] *= _TIGHTENING
            found[number] = smallest(looked_at[number], *_scaled(tightness[number], max_error, mean_error))
    raise UnreachableError("segments of the clip cannot be blended within the error; allow more")


def _scaled(
    share: float, max_error: float | None, mean_error: float | None
) -> tuple[float | None, float | None]:
    return None if max_error is None else share * max_error, mean_error


def _payload(parts: list[range], found: list[Trial]) -> bytes:
    payload = [pack_varint(len(parts))]
    for part, trial in zip(parts, found, strict=True):
        payload += [pack_varint(len(part)), pack_varint(len(trial.data)), trial.data]
    return b"".join(payload)


def _missed_blends(
    payload: bytes, header: Header, looked_at: list[Stretch], parts: list[range], max_error: float | None
) -> list[int]:
    """Segments with frames, shared with a neighbour, whose blend is beyond the error."""
    missed: set[int] = set()
    shared = overlap(header.frame_rate)
    for number, part in enumerate(parts[1:], start=1):
        if max_error is None:
            break
        frames = range(part.start, part.start + shared)
        rotations, root = decode(payload, header, frames)
        if farthest(looked_at[number], rotations, root) > max_error:
            missed |= {number - 1, number}
    return sorted(missed)


def _packed_header(motion: Motion, allowed: float) -> bytes:
    """Header with a skeleton that is no more than a small part of the error off in any pose."""
    skeleton = motion.skeleton
    longest = float(np.linalg.norm(skeleton.offsets[1:], axis=1).max(initial=0.0))
    quantum: float | None = min(allowed / 20, _COARSEST_SKELETON, max(longest, 1e-9) * _SKELETON_DETAIL)
    while True:
        packed = pack_header(motion, quantum=quantum)
        if quantum is None or _skeleton_error(skeleton, unpack_header(packed)[0].skeleton) <= allowed / 4:
            return packed
        quantum = quantum / 4 if quantum > 1e-5 else None


def _skeleton_error(skeleton: Skeleton, rounded: Skeleton) -> float:
    """The farthest any joint may be off by the rounding of the bones above it, metres."""
    errors = np.linalg.norm(rounded.offsets - skeleton.offsets, axis=1)
    errors[0] = 0.0
    for joint in range(1, len(errors)):
        errors[joint] += errors[skeleton.parents[joint]]
    ends = np.linalg.norm(rounded.end_offsets - skeleton.end_offsets, axis=1)
    return float(max(errors.max(), (errors[skeleton.end_parents] + ends).max(initial=0.0)))


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
    trials: dict[tuple[int, int, bool], Trial] = {}

    def trial(layout: int, step: int, patient: bool = False) -> Trial:
        if (layout, step, patient) not in trials:
            trials[layout, step, patient] = attempt(stretch, layout, step, max_error, patient=patient)
            tried(len(trials))
        return trials[layout, step, patient]

    def good(found: Trial) -> bool:
        return (max_error is None or found.worst <= max_error) and (
            mean_error is None or found.mean <= mean_error
        )

    first = max_error / 3 if max_error is not None else mean_error
    assert first is not None
    finest = finest_step(stretch)
    if finest < 1:
        raise UnreachableError("the figure is too large, or too far away, to be kept within any error")
    start = round(-STEPS_AN_OCTAVE * np.log2(first))
    directed = stretch.metric is not None and stretch.skeleton.joints > 1
    layout = LIMBS if directed else CURVES
    step = _best_step(lambda step: trial(layout, step), good, start, finest)
    for other in (CURVES, BODY) if directed else ():
        if good(trial(other, step)) and len(trial(other, step).data) < len(trial(layout, step).data):
            layout = other
    step = _best_step(lambda step: trial(layout, step), good, step, finest)
    if max_error is not None:
        step = _best_step(lambda step: trial(layout, step, True), good, step, finest, strides=(1,))
    found = min((t for t in trials.values() if good(t)), key=lambda t: len(t.data), default=None)
    if found is None:
        raise _unreachable(min(trials.values(), key=lambda t: t.worst), max_error, mean_error)
    return found


def _best_step(
    trial: Callable[[int], Trial],
    good: Callable[[Trial], bool],
    start: int,
    finest: int,
    *,
    strides: tuple[int, ...] = (3, 1),
) -> int:
    """A step whose trial is good and smaller than its neighbours'; steps grow finer with their number."""
    step = min(max(start, 1), finest)
    while not good(trial(step)) and step < finest:
        step = min(step + 3, finest)
    for stride in strides:
        for direction in (-stride, stride):
            while 0 < step + direction <= finest:
                beside = trial(step + direction)
                if not good(beside) or len(beside.data) >= len(trial(step).data):
                    break
                step += direction
    return step


def _unreachable(nearest: Trial, max_error: float | None, mean_error: float | None) -> UnreachableError:
    asked = [
        f"{name} {1000 * bound:.3g} mm"
        for name, bound in (("max_error", max_error), ("mean_error", mean_error))
        if bound is not None
    ]
    return UnreachableError(
        f"the clip cannot be kept within {' and '.join(asked)}: the nearest is {1000 * nearest.worst:.3g} mm "
        f"at most, {1000 * nearest.mean:.3g} mm on average; allow more"
    )
