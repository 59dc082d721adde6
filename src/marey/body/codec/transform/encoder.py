"""The smallest file that keeps a clip within an error: tries at encoding, segment by segment.

The step, and whether to learn directions limb by limb or not at all, are chosen by the size of the result.
Long clips are cut into segments with models of their own, each decoded alone, that overlap by a tenth of a
second. In a try, coefficients are rounded where bits are dear (rate–distortion optimal thresholds), the
result is decoded and measured at every joint, end site and shell point; blocks of a limb that are still too
far off get a finer step, until none is. Cost: some 15 tries, each about 0.1 ms a frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from marey._arrays import Array, Integers
from marey._work import Progress
from marey.body.clip_header import STILL, Header
from marey.body.codec.transform import segment as segments
from marey.body.codec.transform.channels import (
    CURVES,
    LIMBS,
    SHELL,
    Channels,
    Spectrum,
    decide,
    find_channels,
    lever_arms,
    limbs,
    principal_directions,
    single_columns,
    spectrum,
)  # fmt: skip
from marey.body.compare import joint_errors
from marey.body.kinematics import GlobalPose, end_positions, local_positions
from marey.body.motion import Motion
from marey.body.pose_metric import displacement_matrix
from marey.body.skeleton import Skeleton
from marey.errors import InputError, UnreachableError
from marey.geometry.rotations import continuous
from marey.statistics.coding.range_coder import LARGEST_NUMBER
from marey.statistics.coding.wavelet import analyse, band_frames, band_sizes, synthesise

_SMALLEST_ERROR = 1e-5  # metres
# For the progress bar.
_USUAL_TRIALS = 20

Bounds = tuple[float | None, float | None]  # largest and mean error, metres


@dataclass(frozen=True)
class EncoderSettings:
    """Numbers of the search for the smallest encoding; none of them changes the format.

    Args:
        longest: seconds of a segment at most.
        coarsest_offset: metres that offsets of the skeleton are rounded to at most.
        offset_detail: share of the longest bone that they are rounded to at most.
        blend_allowance: factor of the error allowed in segments, as a blend of two poses may be a little
            farther off than either.
        tightening: factor of the error allowed in segments whose blend is beyond it nevertheless.
        tightenings: how often at most.
        slowest: seconds of the coarsest wavelets: slower than this, motion is not smoother.
        rounds: refinements at most.
        patience: refinements after which they become bolder.
        most_refined: quarters of an octave that a step is refined by at most.
        most_joints: of a figure whose directions are sought; beyond, that takes too long.
        metric_poses: poses that the metric of displacements averages.
        gyration: metres, radius about each joint whose turns count in that metric.
        coupling: factor of that metric between curves: as the pose changes, errors of two joints cancel less
            reliably than on average.
        watched: share of the error allowed; only frames above it are measured every round.
        pushes: rounds of pushing coefficients against the error before each refinement.
        push: share of the error that they are pushed by.
        around: seconds about an excessive error that are pushed as well.
    """

    longest: float = 30.0
    coarsest_offset: float = 5e-4
    offset_detail: float = 1 / 400
    blend_allowance: float = 0.97
    tightening: float = 0.9
    tightenings: int = 6
    slowest: float = 1.5
    rounds: int = 40
    patience: int = 10
    most_refined: int = 40
    most_joints: int = 300
    metric_poses: int = 48
    gyration: float = 0.012
    coupling: float = 0.95
    watched: float = 0.7
    pushes: int = 10
    push: float = 0.15
    around: float = 0.02


SETTINGS = EncoderSettings()
# So that refined ones can be written too.
_LARGEST_COEFFICIENT = LARGEST_NUMBER >> (SETTINGS.most_refined // segments.REFINEMENTS_AN_OCTAVE + 4)
# What the decoder sums in another order may differ in the last digits.
_ROUNDING = 1 - 1e-9


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
    shared = segments.overlap(motion.frame_rate)
    longest = max(round(SETTINGS.longest * motion.frame_rate), 4 * shared)
    count = max(1, -(-(motion.frames - shared) // (longest - shared))) if motion.frames > longest else 1
    edges = np.linspace(0, motion.frames - shared, count + 1).round().astype(int)
    parts = segments.overlapping([int(length) + shared for length in np.diff(edges)], motion.frame_rate)
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
            blend = header.motion(*segments.decode(payload, header, both))
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
    start = round(-segments.STEPS_AN_OCTAVE * np.log2(first))
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


@dataclass(frozen=True, eq=False)
class SegmentData:
    """A segment of a clip to be encoded, and what is needed again and again while trying.

    Args:
        header: with the skeleton as it will be read back.
        rotations: `(frames, joints, 4)`.
        positions: `(frames, sliding, 3)`, metres.
        truth: world frames of the original, `(frames, joints, …)`.
        ends: `(frames, ends, 3)`, world positions of the original's end sites.
        channels: how the clip becomes curves.
        metric: `(columns, columns)`, of displacements by changes of the curves; None for a figure with so
            many joints that its curves are best left alone.
        spectrum: what moves together, if there is a metric.
        limbs: `(joints,)`.
        levels: of the wavelets.
    """

    header: Header
    rotations: Array
    positions: Array
    truth: GlobalPose
    ends: Array
    channels: Channels
    metric: Array | None
    spectrum: Spectrum | None
    limbs: Integers
    levels: int

    @property
    def frames(self) -> int:
        return len(self.rotations)


@dataclass(frozen=True, eq=False)
class Encoded:
    """A segment, its bytes and its errors."""

    segment: segments.Segment
    data: bytes
    mean: float  # metres, over joints and end sites
    worst: float  # metres, over everything that is bounded


def prepare(
    header: Header, rotations: Array, positions: Array, truth: GlobalPose, ends: Array
) -> SegmentData:
    """Everything that encodings of a segment share; arguments as in :class:`SegmentData`, rotations without
    jumps of sign."""
    skeleton = header.skeleton
    channels = find_channels(rotations, positions, header.sliding)
    metric = found = None
    if skeleton.joints <= SETTINGS.most_joints:
        curves = channels.curves(rotations, positions)
        metric = _column_metric(header, channels, curves, truth)
        found = spectrum(curves, metric, segments.column_parts(LIMBS, channels.columns, skeleton))
    levels = round(np.log2(max(SETTINGS.slowest * header.frame_rate, 1.0)))
    levels = max(0, min(levels, int(np.log2(len(rotations))), segments.MOST_LEVELS))
    original, parts = (rotations, positions, truth, ends), limbs(skeleton.parents)
    return SegmentData(header, *original, channels, metric, found, parts, levels)


def finest_step(data: SegmentData) -> int:
    """The finest step whose numbers can be written, refined or not; below 1 if there is none."""
    channels = data.channels
    arms = lever_arms(data.header.skeleton, channels, straight=True) * np.sqrt(data.frames)
    largest = max(float((np.abs(channels.centre) * arms).max()), 1.0)
    curves = channels.curves(data.rotations, data.positions)
    farthest = max(float((np.abs(curves) * arms).max()), 1.0)
    octaves = min(np.log2(LARGEST_NUMBER / largest), np.log2(_LARGEST_COEFFICIENT / farthest))
    return min(segments.FINEST_STEP, int(np.floor(segments.STEPS_AN_OCTAVE * octaves)))


def encode_segment(
    data: SegmentData, layout: int, step: int, max_error: float | None, *, patient: bool = False
) -> Encoded:
    """Encode with this layout and step; `worst` of the result says whether `max_error` could be kept.

    Args:
        data: the segment.
        layout: `CURVES` or `LIMBS`.
        step: of the coefficients, in eighths of an octave below one metre.
        max_error: metres, or None for no bound.
        patient: coefficients are shifted against excessive errors before steps are refined; this needs no
            extra bits but more iterations.
    """
    from scipy.ndimage import maximum_filter1d

    header, frames = data.header, data.frames
    skeleton, columns = header.skeleton, data.channels.columns
    centre = segments.rounded_centre(skeleton, data.channels, step, frames)
    channels = segments.decoded_channels(skeleton, columns, centre, step, frames)
    curves = channels.curves(data.rotations, data.positions)
    arms = lever_arms(skeleton, channels)
    if layout == CURVES or data.metric is None or data.spectrum is None:
        basis = single_columns(curves, arms, segments.step_size(step))
        modes = curves[:, basis.first_columns()] * arms[basis.first_columns()]
    else:
        basis = principal_directions(data.spectrum, curves, arms, segments.step_size(step))
        modes = _coordinates(curves, basis.directions(arms), data.metric, basis.parts)
    wanted = analyse(modes, data.levels)
    groups = segments.column_parts(LIMBS, columns, skeleton)[basis.first_columns()]
    blocks = band_frames(frames, data.levels) // segments.block_length(header.frame_rate)
    refinement = np.zeros((blocks.max() + 1, int(data.limbs.max()) + 1), dtype=np.int64)
    sizes = band_sizes(frames, data.levels)
    pushes = SETTINGS.pushes if patient else 0
    limit = np.inf if max_error is None else max_error * _ROUNDING
    near = every = np.arange(frames)
    bounded = np.zeros((frames, skeleton.joints))
    most_rounds = SETTINGS.rounds * (1 + pushes)
    for tries in range(most_rounds):
        steps = segments.refined_steps(step, refinement, blocks, groups)
        numbers = decide(wanted, sizes, steps=steps)
        decoded = synthesise(numbers * steps, data.levels)
        last = tries == most_rounds - 1 or refinement.max() > SETTINGS.most_refined
        if not last and len(near) < frames:
            bounded[near], _ = _measured(data, channels, basis.expand(decoded[near], arms), near)
        if last or len(near) == frames or bounded.max() <= limit:
            bounded, mean = _measured(data, channels, basis.expand(decoded, arms), every)
            if last or bounded.max() <= limit:
                break
        near = np.flatnonzero(bounded.max(axis=1) > SETTINGS.watched * limit)
        limbs_off = [bounded[:, data.limbs == limb].max(axis=1) for limb in range(refinement.shape[1])]
        excess = np.stack(limbs_off, axis=1) / limit
        refinements, pushed = divmod(tries, pushes + 1)
        if pushed < pushes:
            # 1 where limbs are too far off, and around, else 0.
            off = np.where(excess > 1, 1.0, 0.0)
            reach = max(1, round(SETTINGS.around * header.frame_rate))
            off = maximum_filter1d(off, 2 * reach + 1, axis=0, mode="constant")[:, groups]
            wanted = wanted + analyse(SETTINGS.push * off * (modes - decoded), data.levels)
            continue
        refinement = refinement + _refinement(excess, segments.block_length(header.frame_rate), refinements)
    kept = np.asarray(numbers.any(axis=0))
    rounded = basis.keep(kept), refinement, numbers[:, kept]
    segment = segments.Segment(layout, step, data.levels, columns, centre, *rounded)
    return Encoded(segment, segments.write_segment(segment, skeleton), mean, float(bounded.max()))


def _column_metric(header: Header, channels: Channels, curves: Array, truth: GlobalPose) -> Array:
    """Mean squared displacement of the joints by changes of the curves, `(columns, columns)`.

    Positions count by how much of the figure they carry, apart from rotations. A quaternion, whose axes turn
    with the joint, counts the same in all directions.
    """
    skeleton, columns = header.skeleton, channels.columns
    frames = np.unique(np.linspace(0, len(curves) - 1, SETTINGS.metric_poses).astype(int))
    some = GlobalPose(truth.positions[frames], truth.rotations[frames])
    vectors = channels.rotation_vectors(curves[frames])
    by_joint = displacement_matrix(skeleton, some, vectors, gyration=SETTINGS.gyration)
    by_joint = SETTINGS.coupling * by_joint + (1 - SETTINGS.coupling) * np.diag(np.diag(by_joint))
    metric = 1e-9 * np.eye(len(columns.joint))
    narrow = (3 * np.flatnonzero(~columns.quaternion_columns)[:, None] + np.arange(3)).ravel()
    metric[np.ix_(columns.logarithms, columns.logarithms)] += by_joint[np.ix_(narrow, narrow)]
    weights = np.diag(metric).copy()
    for joint in np.flatnonzero(columns.quaternion_columns).tolist():
        weights[columns.of(joint)] += 4 * np.diag(by_joint)[3 * joint : 3 * joint + 3].mean()
    for place, joint in enumerate(columns.sliding):
        weights[3 * place : 3 * place + 3] += len(skeleton.descendants(joint)) / skeleton.joints
    np.fill_diagonal(metric, weights)
    return metric


def _coordinates(curves: Array, directions: Array, metric: Array, parts: Integers) -> Array:
    """Coordinates `(frames, modes)` that come nearest to the curves in the metric, part by part."""
    together = np.where(parts[:, None] == parts[None], metric, 0.0)
    duals = together @ directions
    gram = directions.T @ duals
    return np.asarray(curves @ duals @ np.linalg.pinv(gram, rcond=1e-4, hermitian=True))


def _measured(data: SegmentData, channels: Channels, curves: Array, frames: Integers) -> tuple[Array, float]:
    """Errors of curves about a mean pose at `frames`.

    Returns:
        What is bounded at each joint `(frames, joints)`, metres: the joint with all points within a shell
        about it, and its end sites. Then the mean over joints and end sites.
    """
    from marey.body.codec.transform._kernels import displacements

    columns, skeleton, truth = channels.columns, data.header.skeleton, data.truth
    slides = np.full(skeleton.joints, -1, dtype=np.int64)
    slides[list(columns.sliding)] = 3 * np.arange(len(columns.sliding))
    means = channels.mean_quaternions(), channels.mean_positions(skeleton)
    figure = skeleton.parents, skeleton.end_parents, skeleton.end_offsets
    original = truth.positions, truth.rotations, data.ends
    bounded = np.empty((len(curves), skeleton.joints))
    total = displacements(curves, frames, columns.starts, slides, *means, *figure, *original, SHELL, bounded)
    return bounded, float(total / (len(curves) * (skeleton.joints + len(skeleton.end_parents))))


def _refinement(excess: Array, length: int, tries: int) -> Integers:
    """Quarters of an octave, `(blocks, limbs)`, by which steps become finer where `excess` is above one.

    After some tries the blocks around, whose wavelets reach in, are refined too, and all by more.
    """
    worst = np.maximum.reduceat(excess, np.arange(0, len(excess), length), axis=0)
    # As much as brings the error down, carefully.
    quarters = np.ceil(0.7 * segments.REFINEMENTS_AN_OCTAVE * np.log2(np.maximum(worst, 1.0)))
    bolder = tries // SETTINGS.patience
    more = np.where(worst > 1, np.maximum(quarters, 1) + bolder, 0)
    for _ in range(bolder):
        more[1:] = np.maximum(more[1:], more[:-1] > 0)
        more[:-1] = np.maximum(more[:-1], more[1:] > 0)
    return more.astype(np.int64)
