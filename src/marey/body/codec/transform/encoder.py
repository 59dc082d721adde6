"""The smallest file that keeps a clip within an error: the search around `trial`, segment by segment.

The step, and whether to learn directions limb by limb or not at all, are chosen by the size of the result.
Long clips are cut into segments with models of their own, each decoded alone, that overlap by a tenth of a
second. Cost: some 15 trials, each about 0.1 ms a frame.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marey._work import Progress
from marey.body.clip_header import STILL, Header
from marey.body.codec.transform.channels import CURVES, LIMBS, SHELL
from marey.body.codec.transform.segment import STEPS_AN_OCTAVE, decode, overlap, overlapping
from marey.body.codec.transform.trial import (
    SETTINGS,
    Encoded,
    SegmentData,
    encode_segment,
    finest_step,
    prepare,
)
from marey.body.compare import joint_errors
from marey.body.kinematics import GlobalPose, end_positions, local_positions
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError, UnreachableError
from marey.geometry.rotations import continuous

_SMALLEST_ERROR = 1e-5  # metres
# For the progress bar.
_USUAL_TRIALS = 20

Bounds = tuple[float | None, float | None]  # largest and mean error, metres


def encode(
    motion: Motion, *, max_error: float | None, mean_error: float | None, progress: Progress | None = None
) -> tuple[Header, bytes]:
    """Header and payload of a clip within both errors, metres; at least one must be given."""
    allowed = min(bound for bound in (max_error, mean_error) if bound is not None)
    if allowed < _SMALLEST_ERROR:
        least = 1000 * _SMALLEST_ERROR
        raise InputError(f"errors below {least:g} mm are not offered, got {allowed * 1000:g} mm")
    header = _fine_header(motion, allowed)
    # Lengths of segments, overlaps included, are nearly equal and none is longer than it may be.
    shared = overlap(motion.frame_rate)
    longest = max(round(SETTINGS.longest * motion.frame_rate), 4 * shared)
    count = max(1, -(-(motion.frames - shared) // (longest - shared))) if motion.frames > longest else 1
    edges = np.linspace(0, motion.frames - shared, count + 1).round().astype(int)
    parts = overlapping([int(length) + shared for length in np.diff(edges)], motion.frame_rate)
    prepared = prepare_segments(motion, header, parts)
    tightness = np.full(len(parts), 1.0 if len(parts) == 1 else SETTINGS.blend_allowance)

    found: list[Encoded] = []

    def searched(number: int) -> Encoded:
        def tried(trials: int) -> None:
            if progress is not None and not found:
                progress(number * _USUAL_TRIALS + min(trials, _USUAL_TRIALS), len(parts) * _USUAL_TRIALS)

        largest = None if max_error is None else tightness[number] * max_error
        return search(prepared[number], (largest, mean_error), tried)

    found += [searched(number) for number in range(len(parts))]
    for _ in range(SETTINGS.tightenings):
        sizes = [[e.segment.frames, len(e.data), e.segment.basis.modes] for e in found]
        header = header.with_content(segments=sizes)
        payload = b"".join(encoded.data for encoded in found)
        # Segments with frames, shared with a neighbour, whose blend is beyond the error.
        missed: set[int] = set()
        for number, part in enumerate(parts[1:], start=1) if max_error is not None else ():
            both = range(part.start, part.start + shared)
            blend = header.motion(*decode(payload, header, both))
            if joint_errors(motion[both.start : both.stop], blend, shell=SHELL).max() > max_error:
                missed |= {number - 1, number}
        if not missed:
            return header, payload
        for number in sorted(missed):
            tightness[number] *= SETTINGS.tightening
            found[number] = searched(number)
    raise UnreachableError("segments of the clip cannot be blended within the error; allow more")


def search(data: SegmentData, bounds: Bounds, tried: Callable[[int], None] = lambda trials: None) -> Encoded:
    """The smallest encoding found within both bounds; `tried` is called with the number of trials so far."""
    largest, mean = bounds
    trials: dict[tuple[int, int, bool], Encoded] = {}

    def trial(layout: int, step: int, patient: bool = False) -> Encoded:
        if (layout, step, patient) not in trials:
            trials[layout, step, patient] = encode_segment(data, layout, step, largest, patient=patient)
            tried(len(trials))
        return trials[layout, step, patient]

    def good(found: Encoded) -> bool:
        return (largest is None or found.worst <= largest) and (mean is None or found.mean <= mean)

    first = largest / 3 if largest is not None else mean
    assert first is not None
    finest = finest_step(data)
    if finest < 1:
        raise UnreachableError("the figure is too large, or too far away, to be kept within any error")
    start = round(-STEPS_AN_OCTAVE * np.log2(first))
    layout = LIMBS if data.metric is not None and data.header.skeleton.joints > 1 else CURVES
    step = _best_step(lambda step: trial(layout, step), good, start, finest)
    plain = trial(CURVES, step)
    if good(plain) and len(plain.data) < len(trial(layout, step).data):
        layout = CURVES
    step = _best_step(lambda step: trial(layout, step), good, step, finest)
    if largest is not None:
        step = _best_step(lambda step: trial(layout, step, True), good, step, finest, strides=(1,))
    found = min((t for t in trials.values() if good(t)), key=lambda t: len(t.data), default=None)
    if found is None:
        nearest, kinds = min(trials.values(), key=lambda t: t.worst), ("max_error", "mean_error")
        asked = [f"{kind} {1000 * b:.3g} mm" for kind, b in zip(kinds, bounds, strict=True) if b is not None]
        raise UnreachableError(
            f"the clip cannot be kept within {' and '.join(asked)}: the nearest is "
            f"{1000 * nearest.worst:.3g} mm at most, {1000 * nearest.mean:.3g} mm on average; allow more"
        )
    return found


def prepare_segments(motion: Motion, header: Header, parts: list[range]) -> list[SegmentData]:
    rotations = continuous(motion.rotations)
    # Of both signs the one whose rotation vectors are shorter.
    rotations *= np.where(rotations[..., 0].sum(axis=0) < 0, -1.0, 1.0)[:, None]
    positions = np.asarray(local_positions(motion)[:, list(header.sliding)], dtype=np.float64)
    truth = motion.forward_kinematics()
    ends = end_positions(motion, truth)
    found = []
    for s in (slice(part.start, part.stop) for part in parts):
        pose = GlobalPose(truth.positions[s], truth.rotations[s])
        found.append(prepare(header, rotations[s], positions[s], pose, ends[s]))
    return found


def _fine_header(motion: Motion, allowed: float) -> Header:
    """Header with a skeleton that is no more than a small part of the error off in any pose."""
    still = min(STILL, allowed / 100)
    exact = Header.of(motion, still=still)
    longest = float(np.linalg.norm(exact.skeleton.offsets[1:], axis=1).max(initial=0.0))
    quantum = min(allowed / 12, SETTINGS.coarsest_offset, max(longest, 1e-9) * SETTINGS.offset_detail)
    while quantum > _SMALLEST_ERROR / 4:
        header = Header.of(motion, quantum=float(f"{quantum:.1g}"), still=still)
        if _skeleton_error(exact.skeleton, header.skeleton) <= allowed / 4:
            return header
        quantum /= 4
    return exact


def _skeleton_error(skeleton: Skeleton, rounded: Skeleton) -> float:
    """The farthest any joint may be off by the rounding of the bones above it, metres."""
    errors = np.linalg.norm(rounded.offsets - skeleton.offsets, axis=1)
    errors[0] = 0.0
    for joint in range(1, len(errors)):
        errors[joint] += errors[skeleton.parents[joint]]
    ends = np.linalg.norm(rounded.end_offsets - skeleton.end_offsets, axis=1)
    return float(max(errors.max(), (errors[skeleton.end_parents] + ends).max(initial=0.0)))


def _best_step(
    trial: Callable[[int], Encoded],
    good: Callable[[Encoded], bool],
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
