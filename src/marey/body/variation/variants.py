"""Any number of new versions of one clip, for crowds without clones (Courty & Cuzol 2010, section 6.2).

The clip's coordinates are drawn anew from the law of the example, nearer to it or farther; key frames and the
first modes can be kept. Joints stay within their ranges, the root's path is the sum of its steps from where
the example began, and feet that stand are held. Cost: O(frames log frames), some 0.15 ms a frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey._progress import Progress
from marey._random import Rng, seed_sequence
from marey.body.ik.plants import ramps
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.pose_samples import pose_samples
from marey.body.root_travel import Travel, heading, path
from marey.body.two_bone import legs
from marey.body.variation.footing import Footing
from marey.body.variation.laws import METHODS, draw
from marey.body.variation.measures import VariationReport, report_on
from marey.body.variation.planting import Ranges
from marey.body.variation.shaping import TEMPO, closed, grounded, limited, retimed, tempo, within_range
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous
from marey.statistics.processes.example_law import ExampleLaw
from marey.statistics.processes.kriging import Functional
from marey.statistics.processes.trend import Trend

DEVIATION = 0.3
# Standard deviation of the tempo at deviation 1.
TIMING = 0.03
# Draws of a variant whose feet do not stand well.
DRAWS = 4
# Seconds beside a kept frame over which its detail comes and goes.
DETAIL = 0.1
# Cosine of the tilt from which a clip turns over.
UPSIDE_DOWN = -0.5
# Hertz: what a body does faster is detail or noise, and kept as it is.
FASTEST = 6.0


@dataclass(frozen=True, eq=False)
class Variants:
    """New versions of a clip; a sequence of :class:`Motion`.

    example: what they were made from
    motions: the variants
    poses: the pose model they were made in
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
        """How they differ, how their feet stand, how far joints leave their range."""
        return report_on(self.example, self.motions, self.poses)


def vary(
    motion: Motion,
    *,
    count: int = 4,
    deviation: float = DEVIATION,
    pins: Sequence[float] = (),
    keep_modes: int = 0,
    loop: bool = False,
    method: str = "joint",
    timing: float | None = None,
    free_range: bool = False,
    hold: bool = True,
    modes: int | None = None,
    variance: float | None = None,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Variants:
    """New versions of a clip.

    deviation: 0 (the clip itself) … 1 (nothing but its law is kept). The default, 0.3, suits clips that tell
        a story, like a kick; steady motion bears 1.
    pins: seconds at which the pose is kept
    keep_modes: so many first coordinates are kept over the whole clip, the rest is simulated around them
    loop: make the last pose the first one, with its velocity
    method: "joint" keeps all covariances over time and across the body; "gp" is the source's model, an
        independent squared exponential process a mode
    timing: standard deviation of a random tempo, 0 for none; 0.03 times the deviation if None
    free_range: let joints leave the example's range by more than a tenth
    hold: keep standing feet where they are
    modes, variance: size of the pose model, as in :meth:`PoseModel.fit`
    rng: seed, or what gives one; the n-th variant depends on it and on n alone, also where it was drawn again
        because its feet slid or sank too much

    >>> import marey
    >>> walk = marey.samples.walk(seconds=4)
    >>> variants = vary(walk, count=2, pins=[1.0], rng=0)
    >>> len(variants), variants[0].frames == walk.frames
    (2, True)
    """
    amount = TIMING * deviation if timing is None else float(timing)
    _check(motion, count, deviation, keep_modes, method, amount)
    model = _Learned(motion, modes, variance)
    kept = _frames(pins, motion)
    seeds = seed_sequence(rng).spawn(count)

    def drawn(seeds: Sequence[np.random.SeedSequence]) -> Array:
        return draw(
            model.rest,
            motion.frame_rate,
            seeds=[seed.spawn(1)[0] for seed in seeds],
            deviation=float(deviation),
            kept_frames=kept,
            kept_modes=keep_modes,
            conditions=_closing(model) if loop else (),
            method=method,
        )

    made = []
    hold = hold and deviation > 0
    simulated = method == "joint" and keep_modes == 0
    for number, (rest, seed) in enumerate(zip(drawn(seeds), seeds, strict=True)):
        if progress is not None:
            progress(number, count)
        least, variant = np.inf, motion
        for attempt in range(DRAWS if simulated and hold else 1):
            tried = model.clip(
                rest if attempt == 0 else drawn([seed])[0],
                deviation=deviation,
                free_range=free_range,
                loop=loop,
                kept=kept,
                noise=seed.spawn(1)[0] if simulated else None,
            )
            tried, fault = model.held(tried, kept, free_range=free_range) if hold else (tried, 0.0)
            if fault < least:
                least, variant = fault, tried
            if least <= 1:
                break
        if amount > 0:
            places = tempo(motion.frames, motion.frame_rate, amount, kept, np.random.default_rng(seed))
            variant = retimed(variant, places)
            if not free_range:
                # Between two poses far apart lies one that may be beyond both.
                variant = model.limited(variant)
        if loop:
            variant = closed(variant)
        made.append(replace(variant, name=f"{motion.name}-{number + 1:02d}" if motion.name else ""))
    if progress is not None:
        progress(count, count)
    return Variants(motion, tuple(made), model.poses)


class _Learned:
    """The example in coordinates, and the way back to clips with all that the coordinates leave out."""

    def __init__(self, motion: Motion, modes: int | None, variance: float | None) -> None:
        self.example = motion
        # Who turns over has no heading on the way: root and path then stay the example's.
        self.root = "none" if _turns_over(motion) else "heading"
        self.poses = PoseModel.fit([motion], modes=modes, variance=variance, root=self.root)
        samples = pose_samples(motion, self.root)
        self.coordinates = _smooth(self.poses.encode(motion), motion.frame_rate)
        trend = Trend.fit(self.coordinates, motion.frame_rate, degree=0)
        self.trend = trend.at(np.arange(motion.frames) / motion.frame_rate)
        self.rest = self.coordinates - self.trend
        # What the modes, and the smoothing, leave of the clip is added to every variant: at key frames
        # nothing is then lost, and the noise of measured velocities, which the coordinates share out to all
        # joints, does not come twice.
        rebuilt = self.poses.decode(self.coordinates)
        detail = so3.log(so3.multiply(so3.inverse(rebuilt), samples.rotations))
        travel = self.poses.travel
        away = samples.numbers - (0.0 if travel is None else travel.decode(self.coordinates))
        self.detail = np.concatenate([detail.reshape(motion.frames, -1), away], axis=1)
        self.detail_law = ExampleLaw.of((self.detail - self.detail.mean(axis=0)) * self._told_anew())
        self.mean = self.poses.geodesics.mean
        turns = so3.log(so3.multiply(so3.inverse(self.mean), samples.rotations))
        self.turns = turns.min(axis=0), turns.max(axis=0)
        self.speeds = samples.numbers.min(axis=0), samples.numbers.max(axis=0)
        self.footing = Footing.of(motion)
        self.stance = self.footing.stance(motion) if len(self.footing.levels) else (0.0, 0.0)

    def clip(
        self,
        rest: Array,
        *,
        deviation: float,
        free_range: bool,
        loop: bool,
        kept: NDArray[np.intp],
        noise: np.random.SeedSequence | None,
    ) -> Motion:
        """The clip of coordinates about the trend, from where the example began.

        noise: seed of new detail; none if None
        """
        example = self.example
        coordinates = self.trend + rest
        detail = self._detail(deviation, kept, noise)
        if loop:
            detail *= _fading(example.frames, example.frame_rate)[:, None]
        turns = detail[:, : 3 * example.joints].reshape(example.frames, -1, 3)
        rotations = so3.multiply(self.poses.decode(coordinates), so3.exp(turns))
        if not free_range:
            rotations = limited(rotations, self.mean, *self.turns)
        travel = self.poses.travel
        if travel is None:
            rotations[:, 0], places = example.rotations[:, 0], example.root
        else:
            features = travel.decode(coordinates) + detail[:, 3 * example.joints :]
            if not free_range:
                features = within_range(features, *self.speeds)
            yaw = float(heading(example)[0])
            travelled = path(
                Travel(features, rotations[:, 0]), example.frame_rate, start=example.root[0], heading=yaw
            )
            rotations[:, 0], places = travelled.rotations, travelled.positions
        return replace(example, rotations=continuous(so3.normalise(rotations)), root=places, channels=None)

    def _detail(
        self, deviation: float, kept: NDArray[np.intp], noise: np.random.SeedSequence | None
    ) -> Array:
        """Detail of a variant `(frames, numbers)`: as much of the clip's as of the clip itself, all of it at
        kept frames, and the rest new.

        Detail belongs to its frame, the end of a fast move to the move; elsewhere it would be a jerk.
        """
        frames, angle = self.example.frames, 0.5 * np.pi * deviation
        there = np.zeros(frames, dtype=bool)
        there[kept] = True
        near = ramps(there, round(DETAIL * self.example.frame_rate))[:, None]
        usual = self.detail.mean(axis=0)
        told = usual + (near + (1 - near) * np.cos(angle)) * (self.detail - usual)
        if noise is not None and deviation > 0:
            told += (1 - near) * np.sin(angle) * self.detail_law.sample(frames, rngs=[noise])[0]
        return np.asarray(told)

    def _told_anew(self) -> Array:
        """1 for numbers of the detail that are drawn anew, 0 for those of the legs and the root's turn.

        Much of a leg's detail is the shock of a step: anywhere else feet would pop.
        """
        skeleton = self.example.skeleton
        told = np.ones(self.detail.shape[1])
        told[:3] = 0.0
        for leg in legs(skeleton):
            for joint in range(self.example.joints):
                if leg.hip in skeleton.ancestors(joint):
                    told[3 * joint : 3 * joint + 3] = 0.0
        return told

    def held(self, variant: Motion, kept: NDArray[np.intp], *, free_range: bool) -> tuple[Motion, float]:
        """The clip with feet still while they stand, as far as the legs allow, and how badly they do."""
        if not len(self.footing.levels):
            return variant, 0.0
        fixed = np.zeros(variant.frames, dtype=bool)
        fixed[kept] = True
        ranges = None if free_range else Ranges(self.mean, *self.turns)
        found = []
        # Feet that cannot stand on the path as it is lead it.
        for loose in (False, True):
            start = grounded(variant, self.example, self.footing.levels) if loose else variant
            held = self.footing.held(start, fixed, ranges, loose=loose)
            held = held if free_range else self.limited(held)
            found.append((held, self.footing.fault(held, self.stance)))
            if found[-1][1] <= 1:
                break
        return min(found, key=lambda one: one[1])

    def limited(self, variant: Motion) -> Motion:
        """The clip with all joints but the root within their range."""
        low, high = self.turns
        rotations = np.array(variant.rotations, dtype=np.float64)
        rotations[:, 1:] = limited(rotations[:, 1:], self.mean[1:], low[1:], high[1:])
        return replace(variant, rotations=continuous(so3.normalise(rotations)))


def _turns_over(motion: Motion) -> bool:
    """Whether the root's up ever points down: a somersault, a cartwheel."""
    up = so3.rotate(motion.rotations[:, 0], np.array([0.0, 1.0, 0.0]))
    return bool(up[:, 1].min() < UPSIDE_DOWN)


def _smooth(coordinates: Array, frame_rate: float) -> Array:
    """Coordinates without what is faster than a body moves, none of it late."""
    if frame_rate < 2.5 * FASTEST or len(coordinates) < 40:
        return coordinates
    from scipy.signal import butter, sosfiltfilt

    filters = butter(3, FASTEST, fs=frame_rate, output="sos")
    return np.asarray(sosfiltfilt(filters, coordinates, axis=0))


def _closing(model: _Learned) -> tuple[Functional, Functional]:
    """That the last frame is the first one again, coming with the velocity with which that one leaves."""
    last = len(model.trend) - 1
    ends = Functional([0, last], [-1.0, 1.0], model.trend[0] - model.trend[last])
    step = Functional([0, 1, last - 1, last], [1.0, -1.0, -1.0, 1.0], 0.0)
    return ends, Functional(step.frames, step.weights, -step.of(model.trend))


def _fading(frames: int, frame_rate: float) -> Array:
    """1 but for a quarter of a second at the ends, where it goes to 0."""
    long = max(1, min(round(0.25 * frame_rate), frames // 4))
    away = np.minimum(np.arange(frames), np.arange(frames)[::-1])
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * np.minimum(away / long, 1.0)))


def _frames(pins: Sequence[float], motion: Motion) -> NDArray[np.intp]:
    last = (motion.frames - 1) / motion.frame_rate
    for seconds in pins:
        if not -1e-9 <= seconds <= last + 0.5 / motion.frame_rate:
            raise InputError(f"pin at {seconds:g} s: the clip lasts from 0 to {last:.3f} s")
    frames = np.round(np.asarray(pins, dtype=np.float64) * motion.frame_rate)
    return np.unique(np.clip(frames, 0, motion.frames - 1)).astype(np.intp)


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
