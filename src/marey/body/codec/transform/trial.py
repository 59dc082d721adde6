"""One try at encoding a stretch of a clip: round, decode, measure, refine where the error is too large.

Curves are rounded where bits are dear (rate–distortion optimal thresholds), the result is decoded and
measured at every joint, end site and shell point; blocks of a limb that are still too far off get a finer
step, until none is. Cost: about 20 µs a frame and round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.codec.transform.basis import (
    BODY,
    CURVES,
    LIMBS,
    Spectrum,
    principal_directions,
    single_columns,
    spectrum,
)
from marey.body.codec.transform.channels import (
    SHELL,
    Channels,
    columns_of,
    find_channels,
    lever_arms,
    reaches,
)
from marey.body.codec.transform.limbs import limbs
from marey.body.codec.transform.metric import displacement_metric
from marey.body.codec.transform.range_coder import LARGEST_NUMBER, decide
from marey.body.codec.transform.segment import (
    FINER_AN_OCTAVE,
    FINEST_STEP,
    MOST_LEVELS,
    STEPS_AN_OCTAVE,
    Segment,
    block_length,
    blocks_in,
    centre_steps,
    part_labels,
    refined_groups,
    step_size,
    steps_of,
    write_segment,
)
from marey.body.kinematics import GlobalPose, global_frames, points_on
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.statistics.coding.wavelet import analyse, band_frames, band_sizes, synthesise

Whole = NDArray[np.int64]

# Seconds of the coarsest wavelets: slower than this, motion is not smoother.
_SLOWEST = 1.5
_MOST_ROUNDS = 40
# Tries after which refinement becomes bolder.
_PATIENCE = 10
_MOST_REFINED = 40
# Joints of a figure whose directions are sought; beyond, that takes too long.
_MOST_JOINTS = 300
# So that refined ones can be written too.
_LARGEST_COEFFICIENT = LARGEST_NUMBER >> (_MOST_REFINED // FINER_AN_OCTAVE + 4)
# Only frames with errors near the largest allowed are measured every round.
_WATCHED = 0.7
# What the decoder sums in another order may differ in the last digits.
_ROUNDING = 1 - 1e-9
# Rounds of pushing before each refinement, how much of the error, and seconds about it.
_PUSHES = 10
_PUSH = 0.15
_AROUND = 0.02


@dataclass(frozen=True, eq=False)
class Stretch:
    """A stretch of a clip to be encoded, and what is needed again and again while trying.

    skeleton: as it will be read back
    truth: world frames of the original, `(frames, joints, …)`
    ends: `(frames, ends, 3)`, world positions of the original's end sites
    spectra: what moves together, for the layouts that ask
    metric: None for a figure with so many joints that its curves are best left alone
    """

    skeleton: Skeleton
    rotations: Array
    root: Array
    frame_rate: float
    truth: GlobalPose
    ends: Array
    channels: Channels
    metric: Array | None
    spectra: dict[int, Spectrum]
    limbs: Whole
    levels: int


@dataclass(frozen=True, eq=False)
class Trial:
    """A segment tried, its bytes and its errors."""

    segment: Segment
    data: bytes
    mean: float  # metres, over joints and end sites
    worst: float  # metres, over everything that is bounded


def look_at(
    skeleton: Skeleton, original: Skeleton, rotations: Array, root: Array, frame_rate: float
) -> Stretch:
    """Prepare a stretch; `original` is the skeleton before it was rounded to `skeleton`."""
    truth = global_frames(original.parents, original.offsets, rotations, root)
    channels = find_channels(rotations, root)
    metric, spectra = None, {}
    if skeleton.joints <= _MOST_JOINTS:
        curves = channels.curves(rotations, root)
        metric = displacement_metric(original, rotations, channels, curves)
        for layout in (LIMBS, BODY):
            spectra[layout] = spectrum(curves, metric, part_labels(layout, channels.columns, skeleton))
    frames = len(rotations)
    slowest = np.log2(max(_SLOWEST * frame_rate, 1.0))
    return Stretch(
        skeleton,
        rotations,
        root,
        frame_rate,
        truth,
        points_on(truth, original.end_parents, original.end_offsets),
        channels,
        metric,
        spectra,
        limbs(original.parents),
        int(max(0, min(round(slowest), np.floor(np.log2(frames)), MOST_LEVELS))),
    )


def finest_step(stretch: Stretch) -> int:
    """The finest step whose numbers can be written, refined or not; below 1 if there is none."""
    spread = np.sqrt(len(stretch.root))
    curves = stretch.channels.curves(stretch.rotations, stretch.root)
    arms = reaches(stretch.skeleton, stretch.channels.wide) * spread
    centre = max(float((np.abs(stretch.channels.centre) * arms).max()), 1.0)
    farthest_curve = max(float((np.abs(curves) * arms).max()), 1.0)
    octaves = min(np.log2(LARGEST_NUMBER / centre), np.log2(_LARGEST_COEFFICIENT / farthest_curve))
    return min(FINEST_STEP, int(np.floor(STEPS_AN_OCTAVE * octaves)))


def attempt(
    stretch: Stretch, layout: int, step: int, max_error: float | None, *, patient: bool = False
) -> Trial:
    """Encode with this layout and step; `worst` tells whether `max_error`, metres, could be kept.

    patient: before steps are refined, targets are pushed away from errors that are too large, which often
        suffices and costs no bits, but many rounds
    """
    skeleton, frames, frame_rate = stretch.skeleton, len(stretch.root), stretch.frame_rate
    centre_step = centre_steps(skeleton, stretch.channels.wide, step, frames)
    centre = np.round(stretch.channels.centre / centre_step).astype(np.int64)
    channels = Channels(stretch.channels.wide, centre * centre_step)
    curves = channels.curves(stretch.rotations, stretch.root)
    columns = columns_of(channels.wide)
    arms = lever_arms(skeleton, channels)
    feedback = None
    if layout == CURVES or stretch.metric is None:
        basis = single_columns(curves, arms, step_size(step))
        modes = curves[:, basis.first_columns()] * arms[basis.first_columns()]
    else:
        basis = principal_directions(stretch.spectra[layout], curves, arms, step_size(step))
        modes = _coordinates(curves, basis.directions(arms), stretch.metric, basis.parts)
    if stretch.metric is not None:
        feedback = _feedback(basis.directions(arms), stretch.metric)
    wanted = analyse(modes, stretch.levels)
    of_columns = refined_groups(layout, columns, skeleton)
    groups = of_columns[basis.first_columns()]
    blocks = band_frames(frames, stretch.levels) // block_length(frame_rate)
    finer = np.zeros((blocks_in(frames, frame_rate), int(of_columns.max()) + 1), dtype=np.int64)
    gauge = _Gauge.of(stretch, channels)
    sizes = band_sizes(frames, stretch.levels)
    pushes = _PUSHES if patient else 0
    limit = np.inf if max_error is None else max_error * _ROUNDING
    near = every = np.arange(frames)
    bounded = np.zeros((frames, skeleton.joints))
    most_rounds = _MOST_ROUNDS * (1 + pushes)
    for tries in range(most_rounds):
        steps = steps_of(step, finer, blocks, groups)
        numbers = decide(wanted, sizes, steps=steps, feedback=feedback)
        decoded = synthesise(numbers * steps, stretch.levels)
        last = tries == most_rounds - 1 or finer.max() > _MOST_REFINED
        if not last and len(near) < frames:
            bounded[near], _ = gauge.errors(basis.expand(decoded[near], arms), near)
        if last or len(near) == frames or bounded.max() <= limit:
            bounded, mean = gauge.errors(basis.expand(decoded, arms), every)
            if last or bounded.max() <= limit:
                break
        near = np.flatnonzero(bounded.max(axis=1) > _WATCHED * limit)
        excess = bounded / limit
        refinements, pushed = divmod(tries, pushes + 1)
        if pushed < pushes:
            off = _offending(excess, stretch, finer.shape[1])[:, groups]
            wanted = wanted + analyse(_PUSH * off * (modes - decoded), stretch.levels)
            continue
        finer = _refined(finer, excess, stretch, refinements)
    kept = np.asarray(numbers.any(axis=0))
    segment = Segment(
        layout, step, stretch.levels, channels.wide, centre, basis.keep(kept), finer, numbers[:, kept]
    )
    return Trial(segment, write_segment(segment, skeleton, frame_rate), mean, float(bounded.max()))


def farthest(stretch: Stretch, rotations: Array, root: Array) -> float:
    """The largest bounded error, metres, of decoded frames that begin with the stretch's first."""
    truth, frames = stretch.truth, len(root)
    pose = global_frames(stretch.skeleton.parents, stretch.skeleton.offsets, rotations, root)
    off = np.linalg.norm(pose.positions - truth.positions[:frames], axis=-1)
    turned = so3.distance(pose.rotations, truth.rotations[:frames])
    ends = points_on(pose, stretch.skeleton.end_parents, stretch.skeleton.end_offsets)
    ends_off = np.linalg.norm(ends - stretch.ends[:frames], axis=-1)
    return float(max((off + 2 * SHELL * np.sin(turned / 2)).max(), ends_off.max(initial=0.0)))


def _coordinates(curves: Array, directions: Array, metric: Array, parts: Whole) -> Array:
    """Coordinates `(frames, modes)` that come nearest to the curves in the metric, part by part."""
    together = np.where(parts[:, None] == parts[None], metric, 0.0)
    duals = together @ directions
    gram = directions.T @ duals
    return np.asarray(curves @ duals @ np.linalg.pinv(gram, rcond=1e-4, hermitian=True))


def _feedback(directions: Array, metric: Array) -> Array:
    """How much of the error of a mode those after it should take back, `(modes, modes)`, lower triangle."""
    gram = directions.T @ metric @ directions
    factor = np.linalg.cholesky(gram[::-1, ::-1] + 1e-9 * np.eye(len(gram)))[::-1, ::-1].T
    return np.asarray(np.tril(factor / np.diag(factor)[:, None], -1))


@dataclass(frozen=True, eq=False)
class _Gauge:
    """Measures curves about one mean pose against the original.

    starts: `(joints + 1,)`, first column of each joint
    means: `(joints, 4)`
    """

    stretch: Stretch
    starts: Whole
    means: Array
    path_centre: Array

    @staticmethod
    def of(stretch: Stretch, channels: Channels) -> _Gauge:
        starts = np.searchsorted(channels.columns, np.arange(len(channels.wide) + 1))
        return _Gauge(stretch, starts, channels.mean_quaternions(), channels.centre[:3])

    def errors(self, curves: Array, frames: Whole) -> tuple[Array, float]:
        """What is bounded at each joint `(frames, joints)`, and the mean over joints and end sites, metres.

        Bounded are the joint with all points within a shell about it, and its end sites.
        """
        from marey.body.codec.transform._measure_kernels import displacements

        skeleton, truth = self.stretch.skeleton, self.stretch.truth
        bounded = np.empty((len(curves), skeleton.joints))
        total = displacements(
            curves,
            frames,
            self.starts,
            self.means,
            self.path_centre,
            skeleton.parents,
            skeleton.offsets,
            skeleton.end_parents,
            skeleton.end_offsets,
            truth.positions,
            truth.rotations,
            self.stretch.ends,
            SHELL,
            bounded,
        )
        points = skeleton.joints + len(skeleton.end_parents)
        return bounded, float(total / (len(curves) * points))


def _offending(excess: Array, stretch: Stretch, count: int) -> Array:
    """Where limbs `(frames, count)` are too far off, or carry one that is: 1 there and around, else 0."""
    parents = stretch.skeleton.parents
    labels = stretch.limbs if count > 1 else np.zeros(len(parents), dtype=np.int64)
    found = np.zeros((len(excess), count))
    for limb in range(count):
        joints = np.flatnonzero(labels == limb)
        worst = excess[:, joints].max(axis=1)
        base = int(parents[joints[0]])
        found[worst > 1, limb] = 1
        if base >= 0:
            found[(worst > 1) & (excess[:, base] > 0.5 * worst), labels[base]] = 1
    reach = max(1, round(_AROUND * stretch.frame_rate))
    spread = found.copy()
    for shift in range(1, reach + 1):
        spread[shift:] = np.maximum(spread[shift:], found[:-shift])
        spread[:-shift] = np.maximum(spread[:-shift], found[shift:])
    return spread


def _refined(finer: Whole, excess: Array, stretch: Stretch, tries: int) -> Whole:
    """Finer steps for limbs and blocks where `excess` `(frames, joints)`, error over bound, is above one.

    The limb above is refined too where most of the error is inherited from it; after some tries so are the
    blocks around, whose wavelets reach in, and all by more.
    """
    parents = stretch.skeleton.parents
    labels = stretch.limbs if finer.shape[1] > 1 else np.zeros(len(parents), dtype=np.int64)
    length = block_length(stretch.frame_rate)
    blocks = np.arange(len(excess)) // length
    more = np.zeros(finer.shape)
    for limb in range(finer.shape[1]):
        joints = np.flatnonzero(labels == limb)
        worst = excess[:, joints].max(axis=1)
        base = int(parents[joints[0]])
        for block in np.unique(blocks[worst > 1]):
            here = np.flatnonzero(blocks == block)
            frame = here[worst[here].argmax()]
            more[block, limb] = max(more[block, limb], _quarters(worst[frame]))
            if base >= 0 and excess[frame, base] > 0.5 * worst[frame]:
                above = labels[base]
                more[block, above] = max(more[block, above], 1)
    more[more > 0] += tries // _PATIENCE
    for _ in range(tries // _PATIENCE):
        more[1:] = np.maximum(more[1:], more[:-1] > 0)
        more[:-1] = np.maximum(more[:-1], more[1:] > 0)
    return finer + more.astype(np.int64)


def _quarters(excess: float) -> int:
    """Quarters of an octave that bring an error down by `excess`, carefully."""
    return max(1, int(np.ceil(0.7 * FINER_AN_OCTAVE * np.log2(excess))))
