"""Any number of new versions of one clip, for crowds without clones (Courty & Cuzol 2010, section 6.2).

New coordinates are sampled from a Gaussian process fitted to the clip, nearer to it or farther; key frames
and the first modes can be kept. Joints stay within their ranges, the root's path is the sum of its steps from
where the example began, and feet are planted. Cost: O(frames log frames), some 0.15 ms a frame.
The report measures how variants differ from their example and from one another, how their feet skate, how far
joints leave their ranges, and how plausible they are, in a few passes of kinematics.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey._random import Rng, seed_sequence
from marey._report import Report, Result
from marey._work import Progress
from marey.body import feet
from marey.body.anatomy import anatomy
from marey.body.feet.contacts import skate, skate_heights
from marey.body.limits.learned import LearnedLimits
from marey.body.limits.limits import CompiledLimits, RangeLimits, soft_clip
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel, pose_samples
from marey.body.root_motion import RootMotion, about_y, integrate_root_motion, positions_in_heading_frame, yaw
from marey.body.vary.draw import METHODS, TEMPO, close, draw, retime, taper, tempo
from marey.errors import InputError, MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.fades import fade, minimum_jerk
from marey.statistics.processes.example import ExampleProcess
from marey.statistics.processes.process import LinearConstraint
from marey.statistics.processes.trend import Trend


@dataclass(frozen=True)
class VarySettings:
    """Numbers of the method.

    Attributes:
        timing: Standard deviation of the tempo at deviation 1.
        detail: Seconds beside a kept frame over which its detail fades.
        fastest: Hertz; what a body does faster is detail or noise, which is drawn apart.
        give: Share of its range by which a joint or a velocity may leave it.
        upside_down: Cosine of the root's tilt from which a clip turns over; it then keeps its root.
        loop: Seconds at the ends over which detail fades in a loop.
        rougher: Times the clip's jerk (mean, and 99th percentile) and foot skate that a variant may have.
        least: Share of the deviation that a variant has at least, or is refused.
    """

    timing: float = 0.03
    detail: float = 0.1
    fastest: float = 6.0
    give: float = 0.1
    upside_down: float = -0.5
    loop: float = 0.25
    rougher: float = 1.2
    least: float = 0.02


SETTINGS = VarySettings()


@dataclass(frozen=True, eq=False)
class VaryResult(Result):
    """New versions of a clip; a sequence of :class:`Motion`.

    Attributes:
        example: What they were made from.
        motions: The variants.
        poses: The pose model they were made in.
    """

    example: Motion
    motions: tuple[Motion, ...]
    poses: PoseModel

    def __len__(self) -> int:
        return len(self.motions)

    def __iter__(self) -> Iterator[Motion]:
        return iter(self.motions)

    def __getitem__(self, index: int) -> Motion:
        return self.motions[index]

    @cached_property
    def report(self) -> VariationReport:
        """How they differ, how much their feet skate, how far joints leave their range."""
        return report_on(self.example, self.motions, self.poses)


def vary(
    motion: Motion,
    *,
    count: int = 4,
    deviation: float = 0.3,
    pins: Sequence[float] = (),
    keep_modes: int = 0,
    loop: bool = False,
    method: str = "joint",
    timing: float | None = None,
    limits: bool | LearnedLimits = True,
    plant: bool = True,
    modes: int | None = None,
    rng: Rng = None,
    progress: Progress | None = None,
    settings: VarySettings = SETTINGS,
) -> VaryResult:
    """New versions of a clip.

    Args:
        count: How many.
        deviation: 0 (the clip itself) … 1 (nothing but its distribution is kept). The default, 0.3, suits
            clips of one action, like a kick; steady motion bears 1.
        pins: Seconds at which the pose is kept.
        keep_modes: So many first coordinates are kept over the whole clip, the rest is simulated.
        loop: Make the last pose the first one, with its velocity.
        method: "joint" keeps all covariances over time and across the body; "gp" is an independent squared
            exponential process for each mode (Courty & Cuzol 2010, section 5).
        timing: Standard deviation of a random tempo, 0 for none; 0.03 times the deviation if None.
        limits: Keep joints within a tenth of the ranges that they have in the clip, or within learned limits.
        plant: Plant the feet.
        modes: Size of the pose model; enough for 99 % of the variance if None.
        rng: Seed, or what gives one; the n-th variant depends on it and on n alone.
        progress: Called with the number of variants that are done.

    >>> import marey
    >>> walk = marey.samples.walk(seconds=4)
    >>> variants = vary(walk, count=2, pins=[1.0], rng=0)
    >>> len(variants), variants[0].frames == walk.frames
    (2, True)
    """
    amount = settings.timing * deviation if timing is None else float(timing)
    _check(motion, count, deviation, keep_modes, method, amount)
    model = _Learned(motion, modes, settings)
    # A loop has to bring its ends together, and limits that are given hold, whatever that takes.
    judged = method == "joint" and not loop and not isinstance(limits, LearnedLimits)
    if isinstance(limits, LearnedLimits):
        model.ranges, limits = limits.of(motion.skeleton), True
    last = (motion.frames - 1) / motion.frame_rate
    for seconds in pins:
        if not -1e-9 <= seconds <= last + 0.5 / motion.frame_rate:
            raise InputError(f"pin at {seconds:g} s: the clip lasts from 0 to {last:.3f} s")
    frames = np.round(np.asarray(pins, dtype=np.float64) * motion.frame_rate)
    kept = np.unique(np.clip(frames, 0, motion.frames - 1)).astype(np.intp)
    seeds = seed_sequence(rng).spawn(count)
    drawn_with = [seed.spawn(1)[0] for seed in seeds]
    simulated = method == "joint" and keep_modes == 0
    noises = [seed.spawn(1)[0] if simulated else None for seed in seeds]

    def rests(numbers: Sequence[int], deviation: float) -> Array:
        return draw(
            model.rest,
            motion.frame_rate,
            seeds=[drawn_with[number] for number in numbers],
            deviation=deviation,
            kept_frames=kept,
            kept_modes=keep_modes,
            conditions=_closing(model) if loop else (),
            method=method,
        )

    def variant(number: int, rest: Array, deviation: float, fast: float) -> Motion:
        noise = noises[number]
        made = model.clip(
            rest, deviation=deviation, limits=limits, loop=loop, kept=kept, noise=noise, fast=fast
        )
        if plant and deviation > 0:
            made = model.planted(made, kept, limits=limits)
        speed = settings.timing * deviation if timing is None else amount
        if speed > 0:
            rng = np.random.default_rng(seeds[number])
            made = retime(made, tempo(motion.frames, motion.frame_rate, speed, kept, rng))
        if limits:
            made = model.limited(made)
        return close(made) if loop else made

    def smoothest(number: int, rest: Array, deviation: float) -> tuple[Motion, str]:
        """The variant with as much new fast detail as it bears, and in what it is rougher than the clip."""
        for fast in (1.0, 0.5, 0.25, 0.0):
            made = variant(number, rest, deviation, fast)
            why = model.worse(made, planted=plant) if judged else ""
            if "jerks" not in why:
                break
        return made, why

    found: list[Motion] = []
    nearer: dict[int, str] = {}
    for number, rest in enumerate(rests(range(count), float(deviation))):
        if progress is not None:
            progress(number, count)
        share = float(deviation)
        made, why = smoothest(number, rest, share)
        while judged and share > 0 and why:
            share *= 0.6
            if share < settings.least * deviation:
                raise InputError(
                    f"variant {number + 1} {why} even at a deviation of {share / 0.6:.2g}; "
                    "give a longer clip, or pin key poses (pins, --pin)"
                )
            nearer[number] = why
            made, why = smoothest(number, rests([number], share)[0], share)
        found.append(replace(made, name=f"{motion.name}-{number + 1:02d}" if motion.name else ""))
    if progress is not None:
        progress(count, count)
    if nearer:
        number, why = next(iter(nearer.items()))
        note = (
            f"{len(nearer)} of {count} variants are nearer to the clip than asked: number {number + 1} {why}"
        )
        warnings.warn(MareyWarning(note), stacklevel=2)
    return VaryResult(motion, tuple(found), model.poses)


class _Learned:
    """The example in coordinates, and clips from coordinates with all that the coordinates leave out."""

    def __init__(self, motion: Motion, modes: int | None, settings: VarySettings) -> None:
        self.example, self.settings = motion, settings
        up = so3.rotate(motion.rotations[:, 0], np.array([0.0, 1.0, 0.0]))
        # A clip that turns over (a somersault, a cartwheel) has no heading meanwhile: it keeps its root.
        self.root = "none" if up[:, 1].min() < settings.upside_down else "heading"
        self.poses = PoseModel.fit([motion], modes=modes, root=self.root)
        samples = pose_samples(motion, self.root)
        self.coordinates = self.poses.encode(motion)
        self.coordinates = self._slow(self.coordinates)
        trend = Trend.fit(self.coordinates, motion.frame_rate, degree=0)
        self.trend = trend.at(np.arange(motion.frames) / motion.frame_rate)
        self.rest = self.coordinates - self.trend
        # What the modes, and the smoothing, leave of the clip is added to every variant: at key frames
        # nothing is then lost, and the noise of measured velocities, which the coordinates share out to all
        # joints, does not come twice.
        rebuilt = self.poses.decode(self.coordinates)
        detail = so3.log(so3.multiply(so3.inverse(rebuilt), samples.rotations))
        path = self.poses.root_motion
        away = samples.numbers - (0.0 if path is None else path.decode(self.coordinates))
        self.detail = np.concatenate([detail.reshape(motion.frames, -1), away], axis=1)
        # Much of a leg's detail is the shock of a step: anywhere else feet would pop. It is not drawn anew,
        # nor is that of the root's rotation.
        anew, skeleton = np.ones(self.detail.shape[1]), motion.skeleton
        turns = anew[: 3 * skeleton.joints].reshape(-1, 3)
        turns[[0, *(j for leg in anatomy(skeleton).legs for j in skeleton.descendants(leg.root))]] = 0.0
        simulated = (self.detail - self.detail.mean(axis=0)) * anew
        fading = taper(motion.frames, motion.frame_rate)
        self.detail_process = ExampleProcess.of(simulated, taper=fading)
        self.ranges: CompiledLimits = RangeLimits.of_poses(
            samples.rotations, self.poses.geodesics.mean, give=settings.give
        )
        self.speeds = samples.numbers.min(axis=0), samples.numbers.max(axis=0)
        self.profile = feet.ContactProfile.of(motion)
        self.heights = skate_heights(motion)
        self.usual = self.roughness(motion)

    def roughness(self, motion: Motion) -> Array:
        """Jerk of the joints, mean and 99th percentile, m/s³, and foot skate, m/s."""
        jerk = jerks(motion)
        return np.array([jerk.mean(), np.quantile(jerk, 0.99), skate(motion, heights=self.heights)])

    def worse(self, variant: Motion, *, planted: bool) -> str:
        """In what a variant is rougher than the clip by more than is allowed; empty if in nothing."""
        least = np.array([1e-9, 1e-9, LEAST_SKATE])
        times = self.roughness(variant) / np.maximum(self.usual, least)
        for what, more in zip(("jerks", "jerks", "skates"), times[: 3 if planted else 2], strict=False):
            if not more <= self.settings.rougher:
                return f"{what} {more:.1f} times as much as the clip"
        return ""

    def _slow(self, series: Array) -> Array:
        """What a body does on purpose of a series `(frames, features)`."""
        if self.example.frame_rate < 2.5 * self.settings.fastest:
            return series
        from scipy.signal import butter, sosfiltfilt

        slow = butter(3, self.settings.fastest, fs=self.example.frame_rate, output="sos")
        return np.asarray(sosfiltfilt(slow, series, axis=0, padlen=min(12, len(series) - 1)))

    def clip(
        self,
        rest: Array,
        *,
        deviation: float,
        limits: bool,
        loop: bool,
        kept: NDArray[np.intp],
        noise: np.random.SeedSequence | None,
        fast: float = 1.0,
    ) -> Motion:
        """The clip of coordinates `(frames, modes)` about the trend, from where the example began.

        Args:
            noise: seed of new detail; none if None.
            fast: share of its fast part that is added.
        """
        example, give = self.example, self.settings.give
        coordinates = self.trend + rest
        detail = self._detail(deviation, kept, noise, fast)
        if loop:
            frames = max(1, min(round(self.settings.loop * example.frame_rate), example.frames // 4))
            inside = np.minimum(np.arange(example.frames), np.arange(example.frames)[::-1]) / frames
            detail *= minimum_jerk(np.minimum(inside, 1.0))[:, None]
        turns = detail[:, : 3 * example.joints].reshape(example.frames, -1, 3)
        rotations = so3.multiply(self.poses.decode(coordinates), so3.exp(turns))
        if limits:
            rotations = self.ranges.project(rotations)
        path = self.poses.root_motion
        if path is None:
            rotations[:, 0], places = example.rotations[:, 0], example.root
        else:
            features = path.decode(coordinates) + detail[:, 3 * example.joints :]
            if limits:
                features = soft_clip(features, *self.speeds, give=give)
            moved = RootMotion(features, rotations[:, 0], path.frame)
            places, rotations[:, 0] = integrate_root_motion(
                moved, example.frame_rate, start=example.root[0], heading=float(yaw(example)[0])
            )
        return replace(
            example, rotations=so3.continuous(so3.normalise(rotations)), root=places, channels=None
        )

    def _detail(
        self, deviation: float, kept: NDArray[np.intp], noise: np.random.SeedSequence | None, fast: float
    ) -> Array:
        """Detail of a variant `(frames, features)`: as much of the clip's as of the clip itself, all of it at
        kept frames, and the rest new.

        Detail belongs to its frame, the end of a fast move to the move; elsewhere it would be a jerk.
        """
        frames, angle = self.example.frames, 0.5 * np.pi * deviation
        there = np.zeros(frames, dtype=bool)
        there[kept] = True
        near = fade(there, round(self.settings.detail * self.example.frame_rate))[:, None]
        usual = self.detail.mean(axis=0)
        found = usual + (near + (1 - near) * np.cos(angle)) * (self.detail - usual)
        if noise is not None and deviation > 0:
            new = self.detail_process.sample(frames, rngs=[noise])[0]
            slow = self._slow(new)
            found += (1 - near) * np.sin(angle) * (slow + fast * (new - slow))
        return np.asarray(found)

    def planted(self, variant: Motion, kept: NDArray[np.intp], *, limits: bool) -> Motion:
        """The clip with planted feet, as far as the legs allow, but for part of the example's own skate."""
        keep = np.zeros(variant.frames, dtype=bool)
        keep[kept] = True
        contact = feet.contacts_like(variant, self.profile)
        return feet.plant(
            variant,
            contact,
            heights=self.profile.heights,
            floor=self.profile.floor(variant, contact),
            keep=keep,
            limits=self.ranges if limits else None,
            root="firm",
            max_slide=0.2 * self.profile.slide,
        )

    def limited(self, variant: Motion) -> Motion:
        """The clip with all joints within their range; planting and other times may lead beyond it."""
        rotations = np.array(variant.rotations, dtype=np.float64)
        facing = about_y(yaw(variant))
        rotations[:, 0] = so3.multiply(so3.inverse(facing), rotations[:, 0])
        rotations = self.ranges.project(rotations)
        upright = self.root == "heading"
        rotations[:, 0] = so3.multiply(facing, rotations[:, 0]) if upright else variant.rotations[:, 0]
        return replace(variant, rotations=so3.continuous(so3.normalise(rotations)))


def _closing(model: _Learned) -> tuple[LinearConstraint, LinearConstraint]:
    """That the last frame is the first one again, coming with the velocity with which that one leaves."""
    last = len(model.trend) - 1
    difference, signs = np.array([0, last]), np.array([-1.0, 1.0])
    ends = LinearConstraint(difference, signs, model.trend[0] - model.trend[last])
    step = LinearConstraint(np.array([0, 1, last - 1, last]), np.array([1.0, -1.0, -1.0, 1.0]), 0.0)
    return ends, LinearConstraint(step.frames, step.weights, -step.of(model.trend))


def _check(motion: Motion, count: int, deviation: float, keep_modes: int, method: str, timing: float) -> None:
    if motion.frames < 8:
        raise InputError(f"a clip of {motion.frames} frames is too short to learn from; give at least 8")
    if count < 1:
        raise InputError(f"count: at least 1, got {count}")
    if not 0 <= deviation <= 1:
        raise InputError(f"deviation: from 0 (the clip) to 1 (all new), got {deviation}")
    if keep_modes < 0:
        raise InputError(f"keep_modes: 0 or more, got {keep_modes}")
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    if not 0 <= timing <= 0.5:
        raise InputError(f"timing: from 0 to 0.5, got {timing}")
    seconds = motion.frames / motion.frame_rate
    if timing > 0 and seconds < TEMPO:
        raise InputError(
            f"a clip of {seconds:.2f} s is too short for a tempo that varies over {TEMPO} s; "
            "give a longer clip, or keep the tempo (timing=0, --timing 0)"
        )


# Pairs compared for the diversity.
MOST_PAIRS = 60
# Radians: a joint's range counts as at least this.
LEAST_RANGE = 0.1
# Metres a second that the example's feet count as skating at least.
LEAST_SKATE = 5e-3


@dataclass(frozen=True)
class VariationReport(Report):
    """What was made.

    Attributes:
        deviation_cm: Mean distance of joints from the example's, root and heading aligned.
        world_deviation_cm: The same in the world.
        diversity_cm: Mean distance of joints between two variants, aligned; NaN of a single one.
        foot_skate_cm_s: Speed of feet near the ground, by :func:`marey.body.feet.skate`, mean of all.
        example_foot_skate_cm_s: The same of the example.
        foot_slide_ratio: The first over the second.
        worst_foot_slide_ratio: Of the variant whose feet skate most.
        jerk_ratio: Mean jerk of joints over the example's, of the variant that jerks most.
        beyond_range: Largest share of its range by which a joint leaves it.
        plausibility: Mean squared Mahalanobis distance of a frame, over that of the example's own frames.
    """

    deviation_cm: float
    world_deviation_cm: float
    diversity_cm: float
    foot_skate_cm_s: float
    example_foot_skate_cm_s: float
    foot_slide_ratio: float
    worst_foot_slide_ratio: float
    jerk_ratio: float
    beyond_range: float
    plausibility: float


def report_on(example: Motion, variants: Sequence[Motion], poses: PoseModel) -> VariationReport:
    """Measure variants of an example beside it."""
    own, there = positions_in_heading_frame(example), example.positions()
    posed = [positions_in_heading_frame(variant) for variant in variants]
    away = [float(np.linalg.norm(p - own, axis=-1).mean()) for p in posed]
    world = [float(np.linalg.norm(v.positions() - there, axis=-1).mean()) for v in variants]
    pairs = list(combinations(range(len(posed)), 2))[:MOST_PAIRS]
    apart = [float(np.linalg.norm(posed[a] - posed[b], axis=-1).mean()) for a, b in pairs]
    heights = skate_heights(example)
    usual_skate = skate(example, heights=heights)
    skates = np.array([skate(variant, heights=heights) for variant in variants])
    ratios = skates / max(usual_skate, LEAST_SKATE)
    usual = _mahalanobis(poses, example)
    likely = [_mahalanobis(poses, variant) / max(usual, 1e-12) for variant in variants]
    return VariationReport(
        deviation_cm=100 * float(np.mean(away)),
        world_deviation_cm=100 * float(np.mean(world)),
        diversity_cm=100 * float(np.mean(apart)) if apart else float("nan"),
        foot_skate_cm_s=100 * float(skates.mean()),
        example_foot_skate_cm_s=100 * usual_skate,
        foot_slide_ratio=float(ratios.mean()),
        worst_foot_slide_ratio=float(ratios.max()),
        jerk_ratio=max(float(jerks(v).mean()) for v in variants) / max(float(jerks(example).mean()), 1e-9),
        beyond_range=max(beyond_range(example, variant, poses.geodesics.mean) for variant in variants),
        plausibility=float(np.mean(likely)),
    )


def jerks(motion: Motion) -> Array:
    """Of all joints, `(frames − 3, joints)`, m/s³."""
    thirds = np.diff(motion.positions(), 3, axis=0)
    return np.asarray(np.linalg.norm(thirds, axis=-1) * motion.frame_rate**3)


def beyond_range(example: Motion, variant: Motion, mean: Array) -> float:
    """Largest share of its range in the example by which a turn of a joint of a variant leaves it."""
    usual, found = (_turns(motion, mean) for motion in (example, variant))
    low, high = usual.min(axis=0), usual.max(axis=0)
    over = np.maximum(found.max(axis=0) - high, low - found.min(axis=0))
    return float(np.maximum(over / np.maximum(high - low, LEAST_RANGE), 0.0).max())


def _turns(motion: Motion, mean: Array) -> Array:
    return so3.log(so3.multiply(so3.inverse(mean), pose_samples(motion, "heading").rotations))


def _mahalanobis(poses: PoseModel, motion: Motion) -> float:
    spread = poses.geodesics.spectrum[: poses.modes]
    return float((poses.encode(motion) ** 2 / np.maximum(spread, 1e-12)).mean())
