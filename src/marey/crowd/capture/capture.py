"""Crowd motion capture: from a video to a series of velocity fields (Courty & Corpetti 2007, sections 2, 3).

Every pair of neighbouring images gives one field, n images n - 1 of them. A field depends on a fixed number
of images round it, so several are worked on at once, any can be computed alone, and the result is the same.
Where no person is detected the images count for little. What is captured is the motion of each person; the
flow of the crowd is its average (:mod:`marey.crowd.scales`). A capture to disk may be interrupted and
resumed; the result is the same bit for bit. Memory: the images and fields within reach, whatever the length;
a field is there half a second after its image. Time: the estimator's, plus two to four milliseconds an image.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import __version__, _work
from marey._arrays import AnyArray, BoolArray, checked, read_only
from marey._work import Progress
from marey.crowd.capture import baselines, divcurl, flow, framing
from marey.crowd.capture.framing import Background, Grey, Mask, Size, View, WorkingGrid, frame_footage
from marey.crowd.fields import SCALES, UNKNOWN, FieldSeries, Footage, check_fields
from marey.crowd.scales import CrowdScale, FlowFrame
from marey.errors import InputError

Prepared = tuple[Any, Grey, NDArray[np.uint8] | None]
"""What an estimator made of an image, the image, and how surely people are seen in it."""

MASK_MODES = ("cut", "decorrelate")

_HORN_SCHUNCK = divcurl.Settings(order=1, robust="quadratic", iterations=200)
_METHODS: dict[str, tuple[Callable[..., Any], Any]] = {
    "default": (baselines.GrowingBaselines, baselines.Settings()),
    "divcurl": (divcurl.DivCurl, divcurl.Settings()),
    "hs": (divcurl.DivCurl, _HORN_SCHUNCK),
    "lk": (flow.LucasKanade, None),
    "dis": (flow.Dis, None),
    "farneback": (flow.Farneback, None),
}
METHODS = tuple(_METHODS)
REGULARISED = ("divcurl", "hs")
"""Methods with a weight alpha of their smoothness."""


class FlowEstimator:
    """A method for many pairs of images of one size: keeps what does not change from pair to pair.

    The object is not for several threads at once: give each its own.

    Args:
        shape: Rows and columns.
        method: One of :data:`METHODS`.
        mask: `(rows, columns)`, True where the image counts; the field is 0 elsewhere.
        settings: What differs from the own :class:`~marey.crowd.capture.divcurl.Settings` of `divcurl` and
            `hs`, e.g. `{"alpha": 250}`.
        mask_mode: "cut" (nothing crosses the mask's border) or "decorrelate" (Courty & Corpetti 2007, section
            5.1: masked pixels get new noise in every image, and a robust data term gives them up).

    >>> FlowEstimator((40, 48), "hs", settings={"alpha": 100}).method
    'hs'
    """

    def __init__(
        self,
        shape: tuple[int, int],
        method: str = "default",
        mask: ArrayLike | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        mask_mode: str = "cut",
    ) -> None:
        if method not in _METHODS:
            raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
        if mask_mode not in MASK_MODES:
            raise InputError(f"mask_mode: one of {', '.join(MASK_MODES)}, not '{mask_mode}'")
        if min(shape) < 8:
            raise InputError(
                f"images: need two grey ones of at least 8 × 8 pixels, got {shape[0]} × {shape[1]}"
            )
        kind, usual = _METHODS[method]
        known = [known.name for known in fields(usual)] if usual else []
        for name in settings or {}:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise InputError(f"method {method}: it has no option '{name}'; it has {listed}")
        self.shape, self.method, self.mask_mode = shape, method, mask_mode
        self.mask: BoolArray | None = None
        if mask is not None:
            self.mask = checked("mask", mask, shape, dtype=np.bool_)
            if not self.mask.any():
                raise InputError("mask: it hides the whole image")
        hidden = self.mask if mask_mode == "cut" else None
        own = (replace(usual, **(settings or {})),) if usual else ()
        self._estimate: Callable[..., Grey] = kind(shape, hidden, *own)

    def reach(self, frame_rate: float) -> int:
        """Images before and after a pair that its field is found by."""
        several = isinstance(self._estimate, baselines.GrowingBaselines) and self.mask_mode == "cut"
        return round(self._estimate.settings.seconds * frame_rate) if several else 0  # type: ignore[attr-defined]

    def prepared(self, image: Grey, weight: Grey | None) -> Any:
        """What :meth:`along` takes of an image `(rows, columns)` whose pixels count for `weight`."""
        if isinstance(self._estimate, baselines.GrowingBaselines) and self.mask_mode == "cut":
            return self._estimate.prepared(image, weight)
        return image, weight

    def along(self, images: Sequence[Any], at: int) -> NDArray[np.float32]:
        """As a call, from prepared image number `at` to the next, by all that are given."""
        if not isinstance(images[at], baselines.Prepared):
            return self(images[at][0], images[at + 1][0], images[at][1])
        return self._unmasked(self._estimate.along(images, at))  # type: ignore[attr-defined]

    def __call__(
        self, first: ArrayLike, second: ArrayLike, weight: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """Motion from one image to the next.

        Args:
            first: `(rows, columns)`, grey from 0 to 255.
            second: As `first`.
            weight: `(rows, columns)` from 0 to 1, how much the data count, e.g. because people are there.

        Returns:
            `(rows, columns, 2)`, `(u, v)` in px/frame.
        """
        images = [
            checked(name, image, self.shape, dtype=np.float32)
            for name, image in (("first image", first), ("second image", second))
        ]
        if self.mask is not None and self.mask_mode == "decorrelate":
            images = [_decorrelated(image, self.mask) for image in images]
        data = None
        if weight is not None:
            data = checked("weight", weight, self.shape, dtype=np.float32)
            if data.min() < 0 or data.max() > 1:
                raise InputError(f"weight: must lie between 0 and 1, got {data.min()} to {data.max()}")
        return self._unmasked(self._estimate(*images, data))

    def _unmasked(self, planes: Grey) -> NDArray[np.float32]:
        field = np.ascontiguousarray(np.moveaxis(planes, 0, -1))
        if self.mask is not None:
            field[~self.mask] = 0.0
        return field


def estimate(
    first: ArrayLike,
    second: ArrayLike,
    *,
    method: str = "default",
    mask: ArrayLike | None = None,
    mask_mode: str = "cut",
    weight: ArrayLike | None = None,
    **settings: Any,
) -> NDArray[np.float32]:
    """Motion from one image to the next, `(rows, columns, 2)`; arguments as of :class:`FlowEstimator`.

    >>> y, x = np.mgrid[:40, :48]
    >>> def blob(shift): return 200 * np.exp(-((x - 24 - shift) ** 2 + (y - 20) ** 2) / 50)
    >>> field = estimate(blob(0), blob(1.5))
    >>> abs(field[20, 24] - [1.5, 0]).max() < 0.05
    np.True_
    """
    rows, columns = np.shape(first) if np.ndim(first) == 2 else (0, 0)
    return FlowEstimator((rows, columns), method, mask, settings, mask_mode=mask_mode)(first, second, weight)


def _decorrelated(image: Grey, mask: BoolArray) -> Grey:
    """`image` with what the mask hides replaced by blurred noise of the image's own mean and contrast."""
    from cv2 import GaussianBlur

    # Another blur for each image, as published, the same one in both pairs that it is part of.
    rng = np.random.default_rng(zlib.crc32(image.tobytes()))
    noise = GaussianBlur(
        rng.normal(size=image.shape).astype(np.float32), (0, 0), float(rng.uniform(0.6, 1.4))
    )
    spoilt = image[mask].mean() + image[mask].std() * noise / max(float(noise.std()), 1e-12)
    return np.where(mask, image, spoilt).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class CaptureSettings:
    """Numbers of a capture.

    Attributes:
        empty_weight: Data weight where no person is detected.
        run: Neighbouring pairs that a thread takes together: what is prepared of an image serves two pairs.
    """

    empty_weight: float = 0.03
    run: int = 4


SETTINGS = CaptureSettings()


class FieldStore(Protocol):
    """A series that grows."""

    @property
    def frames(self) -> int:
        """How many there are."""

    def append(self, velocities: ArrayLike, foreground: ArrayLike | None = None) -> None:
        """Fields `(n, rows, columns, 2)` and foreground `(n, rows, columns)` after those there are."""


class Draft(Protocol):
    """A series on disk that counts only once it is whole."""

    def opened(
        self, like: FieldSeries, frames: int, about: dict[str, object]
    ) -> AbstractContextManager[FieldStore]:
        """The store, new or as far as it came; `about` must be that of the interrupted work."""

    def blocks(self) -> Iterator[FieldSeries]:
        """What is stored, a few frames at a time."""

    def finish(self) -> None:
        """Put the whole series in its place."""


@dataclass(frozen=True)
class CaptureReport:
    """What a capture came to.

    Attributes:
        frames: Number of fields.
        resumed_at: How many of them were there already.
        speed_mean: Pixels per frame, where motion counts.
        speed_max: The same.
        foreground_share: How much of what counts is covered by people, 0 to 1; None if it is not known.
        repeated: Images that are the same as the one before, as videos with lost frames have.
    """

    frames: int
    resumed_at: int
    speed_mean: float
    speed_max: float
    foreground_share: float | None
    repeated: int


def capture(
    footage: Footage, *, jobs: int | None = None, progress: Progress | None = None, **options: Any
) -> FieldSeries:
    """The motion in a video, one field for each two neighbouring images, in memory.

    Args:
        footage: The video.
        jobs: Threads; None = one a core. The result does not depend on it.
        progress: Called with the fields done and their number.
        options: What to capture and how, as in :func:`plan_capture`.

    >>> from marey import samples
    >>> flow = capture(samples.video(samples.crowd(people=6, seconds=1)), size=80)
    >>> flow.velocities.shape, flow.foreground.shape
    ((24, 24, 80, 2), (24, 24, 80))
    """
    plan = plan_capture(footage, **options)
    check_fields(plan.frames, plan.rows, plan.columns, "capture them to disk with capture_to, or smaller")
    velocities = np.empty((plan.frames, plan.rows, plan.columns, 2), dtype=np.float32)
    foreground = np.empty(velocities.shape[:3], dtype=np.uint8) if plan.foreground else None
    for index, (moved, seen) in enumerate(plan.fields(jobs=jobs)):
        velocities[index] = moved
        if foreground is not None:
            foreground[index] = seen
        if progress is not None:
            progress(index + 1, plan.frames)
    return plan.series(velocities, foreground)


def capture_to(
    plan: CapturePlan, draft: Draft, *, jobs: int | None = None, progress: Progress | None = None
) -> CaptureReport:
    """Run a capture to disk, for videos of any length.

    Args:
        plan: From :func:`~marey.crowd.capture.plan_capture`.
        draft: Where to, e.g. `marey.io.drafts.FieldDraft("flow.zarr")`.
        jobs: Threads; None = one a core.
        progress: Called with the fields done and their number.
    """
    shape = (1, plan.rows, plan.columns)
    like = plan.series(
        np.zeros((*shape, 2), np.float32), np.zeros(shape, np.uint8) if plan.foreground else None
    )
    with draft.opened(like, plan.frames, _description(plan)) as store:
        resumed_at = store.frames
        for moved, seen in plan.fields(resumed_at, jobs=jobs):
            store.append(moved[None], None if seen is None else seen[None])
            if progress is not None:
                progress(store.frames, plan.frames)
    report = _measured(draft.blocks(), resumed_at)
    draft.finish()
    return report


@dataclass(frozen=True, eq=False)
class CapturePlan:
    """A capture that is ready to run, from any field on; made by :func:`plan_capture`.

    Attributes:
        footage: The video.
        grid: The working grid.
        method: Of the estimator.
        foreground: Whether people are detected.
        scale: "person" or "crowd".
        settings: Of the estimator.
        mask_mode: How the mask is treated, see :class:`FlowEstimator`.
    """

    footage: Footage
    grid: WorkingGrid
    method: str
    foreground: bool
    scale: str = "person"
    settings: dict[str, Any] = field(default_factory=dict)
    mask_mode: str = "cut"

    @property
    def frames(self) -> int:
        """Number of fields: one less than there are images."""
        return self.footage.frames - 1

    @property
    def rows(self) -> int:
        """Height of the working grid."""
        return self.grid.size[1]

    @property
    def columns(self) -> int:
        """Width of the working grid."""
        return self.grid.size[0]

    def series(
        self, velocities: NDArray[np.float32], foreground: NDArray[np.uint8] | None = None
    ) -> FieldSeries:
        """Fields `(frames, rows, columns, 2)` of this capture as a series."""
        return FieldSeries(
            read_only(velocities),
            self.footage.frame_rate,
            mask=self.grid.mask,
            homography=self.grid.homography,
            name=self.footage.name,
            foreground=None if foreground is None else read_only(foreground),
            scale=self.scale,
        )

    def fields(
        self, start: int = 0, stop: int | None = None, *, jobs: int | None = None
    ) -> Iterator[FlowFrame]:
        """The fields number `start` to `stop - 1`, in order, each as soon as it is there."""
        stop = self.frames if stop is None else stop
        if start >= stop:
            return
        threads = _work.cores(jobs)
        if self.scale == "person":
            yield from self._people(start, stop, threads)
            return
        crowd = CrowdScale(
            (self.rows, self.columns), self.footage.frame_rate, self.grid.homography, self.grid.mask
        )
        first, last = max(start - crowd.reach, 0), min(stop + crowd.reach, self.frames)
        yield from crowd.fields(self._people(first, last, threads), start, stop, first)

    def _people(self, start: int, stop: int, threads: int) -> Iterator[FlowFrame]:
        """The motion of people, fields `start` to `stop - 1`."""
        idle: SimpleQueue[FlowEstimator] = SimpleQueue()
        estimators = [self.estimator() for _ in range(threads)]
        for estimator in estimators:
            idle.put(estimator)

        def prepare(shown: tuple[Grey, Background | None]) -> Prepared:
            image, background = shown
            seen = None if background is None else background.foreground(image)
            # A given alpha means the published energy, in which all pixels count.
            weigh = seen is not None and self.settings.get("alpha") is None
            weight = data_weight(seen) if weigh and seen is not None else None
            return estimators[0].prepared(image, weight), image, seen

        def work(windows: list[tuple[list[Prepared], int]]) -> list[FlowFrame]:
            estimator = idle.get()
            try:
                return [_flow_frame(estimator, *window) for window in windows]
            finally:
                idle.put(estimator)

        reach = estimators[0].reach(self.footage.frame_rate)
        first, last = max(start - reach, 0), min(stop + reach, self.frames)
        shown = zip(self._images(first, last + 1, 1), self._backgrounds(first), strict=False)
        windows = _windows(_work.stream(prepare, shown, jobs=threads), reach, first, last, range(start, stop))
        runs = iter(lambda: list(islice(windows, SETTINGS.run)), [])
        for frames in _work.stream(work, runs, jobs=threads):
            yield from frames

    def foregrounds(self) -> Iterator[NDArray[np.uint8]]:
        """How surely people are seen in the images that the first background is made of."""
        _, samples = framing.sampled_frames(self.footage.frames, self.footage.frame_rate, 0)
        background = next(self._backgrounds(0))
        if background is not None:
            yield from map(background.foreground, self._images(samples.start, samples.stop, samples.step))

    def estimator(self) -> FlowEstimator:
        """One that a thread may use."""
        return FlowEstimator(
            (self.rows, self.columns), self.method, self.grid.mask, self.settings, mask_mode=self.mask_mode
        )

    def _backgrounds(self, start: int) -> Iterator[Background | None]:
        """That of each image from number `start` on."""
        if not self.foreground:
            while True:
                yield None
        if self.footage.duration < framing.SETTINGS.shortest:
            while True:
                yield framing.unknown_background(self.rows, self.columns)
        known: dict[int, NDArray[np.uint8]] = {}
        frame = start
        while True:
            shared, samples = framing.sampled_frames(self.footage.frames, self.footage.frame_rate, frame)
            known = {number: known[number] for number in samples if number in known}
            missing = [number for number in samples if number not in known]
            if missing:
                # Windows move forwards, so what is missing lies together at the end.
                images = self._images(missing[0], missing[-1] + 1, samples.step)
                known.update(zip(missing, (np.rint(image).astype(np.uint8) for image in images), strict=True))
            background = framing.make_background(np.stack([known[number] for number in samples]))
            for _ in range(frame, shared.stop):
                yield background
            frame = shared.stop

    def _images(self, start: int, stop: int, step: int) -> Iterator[Grey]:
        """Those images on the working grid, all of them or an error."""
        wanted = range(start, stop, step)
        shown = 0
        for image in self.footage.open(start, stop, step):
            yield self.grid.grey(image)
            shown += 1
        if shown < len(wanted):
            raise InputError(
                f"{self.footage.name or 'footage'}: ends early, at image {wanted[shown]} of "
                f"{self.footage.frames}; it is damaged, capture the frames before that one"
            )


def plan_capture(
    footage: Footage,
    *,
    method: str = "default",
    size: Size = None,
    mask: Mask = None,
    camera: View = None,
    plane_height: float = 0.0,
    alpha: float | None = None,
    scale: str = "person",
    foreground: bool = True,
    mask_mode: str = "cut",
) -> CapturePlan:
    """Check and prepare a capture; nothing is decoded yet.

    Args:
        footage: The video.
        method: `default`, or for comparison `divcurl`, as published, `hs`, `lk`, `dis` or `farneback`.
        size: Working grid, (columns, rows) or the longer side; None = 320. Velocities are in its pixels a
            frame.
        mask: What counts: an image or array of any size, or polygons in pixels of the video.
        camera: A :class:`~marey.crowd.Camera` (its lens is straightened) or a homography of video pixels.
        plane_height: Metres above the ground at which bodies are seen by a camera; about 0.9.
        alpha: Weight of the smoothness (`divcurl`, `hs`); None = 250, as published.
        scale: "person", the motion of each person, from which the crowd's flow is found when it is needed;
            or "crowd", that flow alone.
        foreground: Also detect people, and let the images count for little where there are none.
        mask_mode: "cut", nothing crosses the mask's border; "decorrelate" as published.
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    if alpha is not None and method not in REGULARISED:
        raise InputError(f"alpha: {method} has none; it belongs to {' and '.join(REGULARISED)}")
    if alpha is not None and not (np.isfinite(alpha) and alpha > 0):
        raise InputError(f"alpha {alpha:g}: must be positive")
    if footage.frames < 2:
        raise InputError(f"{footage.name or 'footage'}: is one image; motion needs two or more")
    if scale not in SCALES[1:]:
        raise InputError(f"scale: one of {', '.join(SCALES[1:])}, not '{scale}'")
    grid = frame_footage(footage, size=size, mask=mask, camera=camera, plane_height=plane_height)
    settings: dict[str, Any] = {} if alpha is None else {"alpha": float(alpha)}
    plan = CapturePlan(footage, grid, method, foreground, scale, settings, mask_mode)
    plan.estimator()  # It may have a reason to refuse, such as a size.
    return plan


def data_weight(foreground: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What images count for, 0 to 1: fully where people are seen or may be, little where there are none.

    Args:
        foreground: `(rows, columns)`, 0 to 255.

    >>> data_weight(np.array([0, 64, 128, 255], np.uint8)).round(2)
    array([0.03, 0.52, 1.  , 1.  ], dtype=float32)
    """
    sure = np.minimum(foreground.astype(np.float32) / np.float32(UNKNOWN), np.float32(1))
    empty = np.float32(SETTINGS.empty_weight)
    return np.asarray(empty + (1 - empty) * sure, np.float32)


def _windows(
    images: Iterator[Prepared], reach: int, first: int, last: int, fields: range
) -> Iterator[tuple[list[Prepared], int]]:
    """For each of the fields the images of its baselines, and where its own is among them.

    Images begin with number `first` and end with `last`; baselines reach equally far to both sides.
    """
    near: dict[int, Prepared] = {}
    number = first - 1
    for at in fields:
        far = min(reach, at - first, last - at - 1)
        while number < min(at + 1 + reach, last):
            number += 1
            near[number] = next(images)
        for old in [old for old in near if old < at - reach]:
            del near[old]
        yield [near[k] for k in range(at - far, at + far + 2)], far


def _flow_frame(estimator: FlowEstimator, images: list[Prepared], at: int) -> FlowFrame:
    (_, first, seen), (_, second, _) = images[at], images[at + 1]
    if np.array_equal(first, second):
        # A frame that was lost, and is shown twice.
        return np.zeros((*first.shape, 2), dtype=np.float32), seen
    return estimator.along([image[0] for image in images], at), seen


def _description(plan: CapturePlan) -> dict[str, object]:
    """What a capture is of and how it is made; two captures with the same description are the same."""
    grid = plan.grid
    return {
        "marey": __version__,
        "method": plan.method,
        "settings": plan.settings,
        "scale": plan.scale,
        "foreground": plan.foreground,
        "images": plan.footage.frames,
        "video size": list(grid.source),
        "size": list(grid.size),
        "frame rate": plan.footage.frame_rate,
        "mask": _digest(grid.mask),
        "camera": _digest(grid.homography, *(grid.lens or ())),
        "video": _digest(plan.footage.read(0)),
    }


def _measured(blocks: Iterator[FieldSeries], resumed_at: int) -> CaptureReport:
    """Figures of a whole series, in one pass over it."""
    frames = repeated = 0
    total, largest, pixels, seen, known = 0.0, 0.0, 0, 0.0, 0
    for block in blocks:
        speeds = np.hypot(block.velocities[..., 0], block.velocities[..., 1])
        repeated += int((speeds.max(axis=(1, 2)) == 0).sum())
        counted = speeds if block.mask is None else speeds[:, block.mask]
        total += float(counted.sum(dtype=np.float64))
        largest = max(largest, float(counted.max()))
        pixels += counted.size
        frames += block.frames
        if block.foreground is not None:
            there = block.foreground if block.mask is None else block.foreground[:, block.mask]
            there = there[there != UNKNOWN]
            seen += float(there.sum(dtype=np.float64)) / 255
            known += there.size
    return CaptureReport(
        frames, resumed_at, total / pixels, largest, seen / known if known else None, repeated
    )


def _digest(*arrays: AnyArray | None) -> str | None:
    """A fingerprint; None of nothing."""
    given = [np.ascontiguousarray(array).tobytes() for array in arrays if array is not None]
    return hashlib.sha256(b"".join(given)).hexdigest()[:16] if given else None
