"""Crowd motion capture: a film becomes a series of fields (Courty & Corpetti 2007, sections 2 and 3).

Every pair of neighbouring pictures gives one field, n pictures n - 1 of them. Pairs do not depend on each
other, so several are worked on at once; the motion of a crowd is then made steady over a fixed fraction of a
second, so any field can still be computed alone, and the result is the same. Where nobody is seen the
pictures count for little and the regulariser fills in. Memory: a few pictures and fields a thread, whatever
the length; time: the estimator's, plus two to four milliseconds a picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import handed_over
from marey._progress import Progress
from marey.crowd.background import (
    SHORTEST_FILM,
    Background,
    make_background,
    sampled_frames,
    unknown_background,
)
from marey.crowd.fields import UNKNOWN, FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.framing import Framing, Mask, Picture, Size, View, frame_footage
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.crowd.estimation import Estimator

ENGINE = "divcurl"
REGULARISED = ("divcurl", "hs")
"""Engines with a weight alpha of their smoothness."""
LARGEST_SERIES = 8 << 30
"""Bytes of a series in memory; a longer one is captured to disk."""
EMPTY_WEIGHT, EMPTY_WEIGHT_OF_CROWDS = 0.03, 0.3
"""What the pictures count for where nobody is seen: the place itself does not move. The estimate of a crowd's
motion holds back what does not change anyway."""

STEADY = 0.08
"""Seconds: standard deviation of the Gaussian over which the motion of a crowd is averaged in time."""
PAIRS_AT_A_TIME = 4
"""Neighbours that a thread takes together: what is prepared of a picture serves two pairs."""

Pair = tuple[Picture, Picture, Background | None]
Moment = tuple[NDArray[np.float32], NDArray[np.uint8] | None]
"""A field `(rows, columns, 2)` and who is seen where `(rows, columns)`."""


def capture(
    footage: Footage,
    *,
    engine: str = ENGINE,
    size: Size = None,
    mask: Mask = None,
    camera: View = None,
    plane_height: float = 0.0,
    alpha: float | None = None,
    motion: str | None = None,
    presence: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> FieldSeries:
    """The motion in a film, one field for each two neighbouring pictures, in memory.

    engine: `divcurl` (keeps whirls and sources), `hs`, `lk`, `parametric`, `dis` or `farneback`
    size: working grid, (columns, rows) or the longer side; None = 320. Velocities are in its pixels a frame
    mask: what counts: an image or array of any size, or polygons in pixels of the video
    camera: a :class:`~marey.crowd.Camera` (its lens is straightened) or a homography of the video's pixels
    plane_height: metres above the ground at which bodies are seen by a camera; about 0.9 for people
    alpha: weight of the smoothness (`divcurl`, `hs`); None = from the pictures. The source has 250
    motion: "crowd", the smooth and steady flow that people follow, or "seen", what each pixel shows
        (`divcurl`, `hs`); None = "crowd", with a given alpha "seen", the source's energy as it is
    presence: also find who is seen where, and let the pictures count for little where nobody is
    jobs: threads; None = one a core. The result does not depend on it

    >>> from marey import samples
    >>> flow = capture(samples.footage(samples.crowd(people=6, seconds=1)), size=80)
    >>> flow.velocities.shape, flow.presence.shape
    ((24, 24, 80, 2), (24, 24, 80))
    """
    plan = plan_capture(
        footage,
        engine=engine,
        size=size,
        mask=mask,
        camera=camera,
        plane_height=plane_height,
        alpha=alpha,
        motion=motion,
        presence=presence,
    )
    bytes_needed = plan.frames * plan.rows * plan.columns * (9 if presence else 8)
    if bytes_needed > LARGEST_SERIES:
        raise InputError(
            f"{plan.frames} fields of {plan.columns} × {plan.rows} take {bytes_needed / 1e9:.0f} GB; "
            "capture them to disk with marey.io.capturing.capture_to, or to a smaller size"
        )
    velocities = np.empty((plan.frames, plan.rows, plan.columns, 2), dtype=np.float32)
    seen = np.empty(velocities.shape[:3], dtype=np.uint8) if presence else None
    for index, (moved, there) in enumerate(plan.moments(jobs=jobs)):
        velocities[index] = moved
        if seen is not None and there is not None:
            seen[index] = there
        if progress is not None:
            progress(index + 1, plan.frames)
    return FieldSeries(
        handed_over(velocities),
        footage.frame_rate,
        mask=plan.framing.mask,
        homography=plan.framing.homography,
        name=footage.name,
        presence=None if seen is None else handed_over(seen),
    )


@dataclass(frozen=True, eq=False)
class CapturePlan:
    """A capture that is ready to run, from any field on; made by :func:`plan_capture`."""

    footage: Footage
    framing: Framing
    engine: str
    presence: bool
    motion: str | None = None
    """"crowd" or "seen"; None for engines that do not know the difference."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of the estimator."""

    @property
    def frames(self) -> int:
        """Number of fields: one less than there are pictures."""
        return self.footage.frames - 1

    @property
    def rows(self) -> int:
        """Height of the working grid."""
        return self.framing.size[1]

    @property
    def columns(self) -> int:
        """Width of the working grid."""
        return self.framing.size[0]

    def moments(
        self, start: int = 0, stop: int | None = None, *, jobs: int | None = None
    ) -> Iterator[Moment]:
        """The fields number `start` to `stop - 1`, in order, each as soon as it is there."""
        stop = self.frames if stop is None else stop
        if start >= stop:
            return
        weights = self._time_weights()
        reach = len(weights) // 2
        first, last = max(start - reach, 0), min(stop + reach, self.frames)
        alone = self._moments_alone(first, last, _work.cores(jobs))
        if not reach:
            yield from alone
            return
        near: dict[int, Moment] = {}
        for at in range(start, stop):
            for number in range(max(near, default=first - 1) + 1, min(at + reach, last - 1) + 1):
                near[number] = next(alone)
            for number in [number for number in near if number < at - reach]:
                del near[number]
            yield _steadied(near, at, weights)

    def _time_weights(self) -> NDArray[np.float32]:
        """What the fields round a moment count for, `(2 reach + 1,)`."""
        deviation = STEADY * self.footage.frame_rate if self.motion == "crowd" else 0.0
        reach = int(np.ceil(2.5 * deviation)) if deviation > 0.25 else 0
        apart = np.arange(-reach, reach + 1)
        return np.exp(-0.5 * (apart / max(deviation, 1e-9)) ** 2).astype(np.float32)

    def _moments_alone(self, start: int, stop: int, threads: int) -> Iterator[Moment]:
        """Those of each pair by itself."""
        idle: SimpleQueue[Estimator] = SimpleQueue()
        for _ in range(threads):
            idle.put(self.estimator())

        def work(pairs: list[Pair]) -> list[Moment]:
            estimator = idle.get()
            try:
                return [_moment(estimator, self.motion, *pair) for pair in pairs]
            finally:
                idle.put(estimator)

        pairs = self._pairs(start, stop)
        runs = iter(lambda: list(islice(pairs, PAIRS_AT_A_TIME)), [])
        for moments in _work.stream(work, runs, jobs=threads):
            yield from moments

    def estimator(self) -> Estimator:
        """One that a thread may use."""
        from marey.crowd.estimation import Estimator

        return Estimator(self.rows, self.columns, engine=self.engine, mask=self.framing.mask, **self.options)

    def _pairs(self, start: int, stop: int) -> Iterator[Pair]:
        pictures = self._pictures(start, stop + 1, 1)
        first = next(pictures)
        backgrounds = self._backgrounds(start)
        for second in pictures:
            yield first, second, next(backgrounds)
            first = second

    def _backgrounds(self, start: int) -> Iterator[Background | None]:
        """That of each picture from number `start` on."""
        if not self.presence:
            while True:
                yield None
        if self.footage.duration < SHORTEST_FILM:
            while True:
                yield unknown_background(self.rows, self.columns)
        known: dict[int, NDArray[np.uint8]] = {}
        frame = start
        while True:
            shared, samples = sampled_frames(self.footage.frames, self.footage.frame_rate, frame)
            known = {number: known[number] for number in samples if number in known}
            missing = [number for number in samples if number not in known]
            if missing:
                # Windows move forwards, so what is missing lies together at the end.
                images = self._pictures(missing[0], missing[-1] + 1, samples.step)
                known.update(zip(missing, (np.rint(image).astype(np.uint8) for image in images), strict=True))
            background = make_background(np.stack([known[number] for number in samples]))
            for _ in range(frame, shared.stop):
                yield background
            frame = shared.stop

    def _pictures(self, start: int, stop: int, step: int) -> Iterator[Picture]:
        """Those pictures on the working grid, all of them or an error."""
        wanted = range(start, stop, step)
        shown = 0
        for image in self.footage.open(start, stop, step):
            yield self.framing.picture(image)
            shown += 1
        if shown < len(wanted):
            raise InputError(
                f"{self.footage.name or 'footage'}: ends early, at picture {wanted[shown]} of "
                f"{self.footage.frames}; it is damaged, capture the frames before that one"
            )


def plan_capture(
    footage: Footage,
    *,
    engine: str = ENGINE,
    size: Size = None,
    mask: Mask = None,
    camera: View = None,
    plane_height: float = 0.0,
    alpha: float | None = None,
    motion: str | None = None,
    presence: bool = True,
) -> CapturePlan:
    """Everything checked and prepared, nothing decoded yet; for what the options mean see :func:`capture`."""
    from marey.crowd.estimation import ENGINES

    if engine not in ENGINES:
        raise InputError(f"engine {engine!r}: one of {', '.join(ENGINES)}")
    if alpha is not None and engine not in REGULARISED:
        raise InputError(f"alpha: {engine} has none; it belongs to {' and '.join(REGULARISED)}")
    if alpha is not None and not (np.isfinite(alpha) and alpha > 0):
        raise InputError(f"alpha {alpha:g}: must be positive")
    if footage.frames < 2:
        raise InputError(f"{footage.name or 'footage'}: is one picture; motion needs two or more")
    if motion is not None and engine not in REGULARISED:
        raise InputError(f"motion: {engine} has no choice of it; it belongs to {' and '.join(REGULARISED)}")
    framing = frame_footage(footage, size=size, mask=mask, camera=camera, plane_height=plane_height)
    options: dict[str, Any] = {} if alpha is None else {"alpha": float(alpha)}
    if engine in REGULARISED:
        motion = motion or ("crowd" if alpha is None else "seen")
        options["motion"] = motion
    plan = CapturePlan(footage, framing, engine, presence, motion, options)
    plan.estimator()  # It may have a reason to refuse, such as a size.
    return plan


def data_weight(presence: NDArray[np.uint8], motion: str | None = None) -> NDArray[np.float32]:
    """What pictures count for, 0 to 1: fully where somebody is seen or may be, little where nobody is.

    motion: what is looked for, as in :func:`capture`

    >>> data_weight(np.array([0, 64, 128, 255], np.uint8)).round(2)
    array([0.03, 0.52, 1.  , 1.  ], dtype=float32)
    """
    sure = np.minimum(presence.astype(np.float32) / np.float32(UNKNOWN), np.float32(1))
    empty = np.float32(EMPTY_WEIGHT_OF_CROWDS if motion == "crowd" else EMPTY_WEIGHT)
    return empty + (1 - empty) * sure


def _moment(
    estimator: Estimator, motion: str | None, first: Picture, second: Picture, background: Background | None
) -> Moment:
    there = None if background is None else background.presence(first)
    if np.array_equal(first, second):
        # A frame that was lost, and is shown twice.
        return np.zeros((*first.shape, 2), dtype=np.float32), there
    weight = None if there is None else data_weight(there, motion)
    return estimator(first, second, weight=weight), there


def _steadied(near: dict[int, Moment], at: int, weights: NDArray[np.float32]) -> Moment:
    """The moment number `at` averaged with those round it; one without motion at all is a lost frame."""
    moved, there = near[at]
    if not moved.any():
        return moved, there
    total, count = np.zeros_like(moved), np.float32(0)
    for number in sorted(near):
        weight, other = weights[number - at + len(weights) // 2], near[number][0]
        if other.any():
            total += weight * other
            count += weight
    return total / count, there
