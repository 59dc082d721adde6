"""Velocity fields over time on a pixel grid, grids of other sizes of one image, and footage.

Footage is images over time (a video, a folder of images) that are decoded only when they are needed. A field
is often captured on a coarser grid than the truth it is compared with. Both cover the same image, so pixel
edges match, not centres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from marey._arrays import (
    Array,
    BoolArray,
    FloatArray,
    Timed,
    as_slice,
    assign,
    check_memory,
    checked,
    checked_rate,
    derived,
    read_only,
    width,
)
from marey._report import rounded
from marey.errors import InputError
from marey.geometry.resampling import nearest, sample_positions


def on_grid(field: FloatArray, rows: int, columns: int) -> Array:
    """A field `(r, c, 2)` in pixels per frame on `(rows, columns, 2)`, in pixels of that grid.

    >>> on_grid(np.ones((2, 3, 2)), 4, 3)[0, 0].tolist()
    [1.0, 2.0]
    """
    values = np.asarray(field, dtype=np.float64)
    old_rows, old_columns = values.shape[:2]
    for axis, (old, new) in enumerate(((old_rows, rows), (old_columns, columns))):
        if old == new:
            continue
        at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
        first = np.minimum(at.astype(int), max(old - 2, 0))
        share = (at - first).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        below, above = np.take(values, first, axis), np.take(values, np.minimum(first + 1, old - 1), axis)
        values = below + share * (above - below)
    return np.asarray(values * [columns / old_columns, rows / old_rows])


def pixel_centres(shape: tuple[int, ...]) -> Array:
    """`(rows, columns, 2)`, (column, row) of each pixel.

    >>> pixel_centres((1, 2)).tolist()
    [[[0.0, 0.0], [1.0, 0.0]]]
    """
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(np.float64)
    return np.stack([columns, rows], axis=-1)


def pixel_map(shape: tuple[int, int], other: tuple[int, int]) -> Array:
    """`(3, 3)`: pixels (column, row) of a grid of `shape` (rows, columns) to those of the `other`.

    >>> (pixel_map((2, 3), (4, 6)) @ [0.0, 0.0, 1.0]).tolist()
    [0.5, 0.5, 1.0]
    """
    down, across = other[0] / shape[0], other[1] / shape[1]
    return np.array([[across, 0, 0.5 * across - 0.5], [0, down, 0.5 * down - 0.5], [0, 0, 1.0]])


def fill_masked(volume: Array, mask: BoolArray | None) -> Array:
    """A volume `(frames, rows, columns, parts)` with a smooth continuation outside `mask` `(rows, columns)`.

    Coarser and coarser block averages, the finest where there is one (pull and push): two passes.

    >>> fill_masked(np.array([1.0, 9.0, 3.0]).reshape(1, 1, 3, 1), np.array([[True, False, True]])).ravel()
    array([1., 1., 3.])
    """
    if mask is None or mask.all():
        return volume
    if not mask.any():
        return np.zeros_like(volume)
    weights = mask.astype(np.float64)[None, :, :, None]
    return np.asarray(np.where(weights > 0, volume, _coarser(volume * weights, weights)))


def _coarser(sums: Array, weights: Array) -> Array:
    """Averages over blocks of 2 × 2 pixels, of 4 × 4 where those are empty, and so on, at every pixel."""
    rows, columns = sums.shape[1:3]
    pad = ((0, 0), (0, rows % 2), (0, columns % 2), (0, 0))
    sums, weights = (
        padded[:, ::2, ::2] + padded[:, 1::2, ::2] + padded[:, ::2, 1::2] + padded[:, 1::2, 1::2]
        for padded in (np.pad(array, pad) for array in (sums, weights))
    )
    known = weights > 0
    means = sums / np.maximum(weights, 1e-300)
    if not known.all():
        means = np.where(known, means, _coarser(sums, weights))
    return np.asarray(means.repeat(2, axis=1).repeat(2, axis=2)[:, :rows, :columns])


UNKNOWN = 128
"""Foreground where it is not known."""

SCALES = ("", "person", "crowd")


@dataclass(frozen=True, eq=False)
class FieldSeries(Timed):
    """Motion of every pixel over time.

    Field n is the motion from frame n to frame n + 1, a mean over that time.

    Attributes:
        velocities: `(frames, rows, columns, 2)`, `(u, v)` in pixels per frame, u to the right, v down, in the
            precision given (float32 or float64); NaN is not allowed, use the mask.
        frame_rate: Frames per second.
        mask: `(rows, columns)`, True where the field means something; None = everywhere.
        homography: `(3, 3)` or None, maps image `(column, row, 1)` to ground `(x, y, 1)` in metres.
        name: What to call it.
        foreground: `(frames, rows, columns)` uint8 or None, how surely people are seen there, 0 to 255, but
            128 (:data:`UNKNOWN`) where that is not known.
        scale: "person", each person's own motion, as captured; "crowd", the flow of the crowd as a whole, see
            :func:`~marey.crowd.scales.crowd_flow`; "" where that is not known.
        maps: What else is known of every pixel, by name, each `(frames, rows, columns)`, such as the
            `density` in people per m² that :func:`marey.crowd.density` finds.

    >>> still = FieldSeries(np.zeros((2, 4, 6, 2)), 25)
    >>> still.frames, still.rows, still.columns
    (2, 4, 6)
    """

    velocities: FloatArray
    frame_rate: float
    mask: BoolArray | None = None
    homography: FloatArray | None = None
    name: str = ""
    foreground: NDArray[np.uint8] | None = None
    scale: str = ""
    maps: Mapping[str, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = np.asarray(self.velocities)
        dtype = np.float32 if given.dtype == np.float32 else np.float64
        velocities = checked("velocities", given, (None, None, None, 2), dtype=dtype)
        if velocities.size == 0:
            raise InputError("field series: there is no frame or no pixel")
        if self.scale not in SCALES:
            raise InputError(f"scale: one of {', '.join(SCALES[1:])}, not {self.scale!r}")
        mask, homography, foreground = self.mask, self.homography, self.foreground
        if mask is not None:
            mask = checked("mask", mask, velocities.shape[1:3], dtype=np.bool_)
        if homography is not None:
            homography = checked("homography", homography, (3, 3))
            if abs(np.linalg.det(homography)) < 1e-12 * np.abs(homography).max() ** 3:
                raise InputError("homography: it is singular")
        if foreground is not None:
            foreground = checked("foreground", foreground, velocities.shape[:3], dtype=np.uint8)
        assign(
            self,
            velocities=velocities,
            frame_rate=checked_rate(self.frame_rate),
            mask=mask,
            homography=homography,
            foreground=foreground,
            maps={
                name: checked(name, values, velocities.shape[:3], dtype=np.float32)
                for name, values in self.maps.items()
            },
        )

    frames = derived(len, "velocities", "Number of frames.")

    rows = derived(width, "velocities", "Height in pixels.")

    @property
    def columns(self) -> int:
        """Width in pixels."""
        return int(self.velocities.shape[2])

    @property
    def valid(self) -> BoolArray:
        """The mask `(rows, columns)`, all True without one."""
        return np.ones((self.rows, self.columns), dtype=np.bool_) if self.mask is None else self.mask

    @property
    def power(self) -> float:
        """Mean square speed where motion is known, pixels² a frame²."""
        inside = slice(None) if self.mask is None else self.mask
        frames = (np.square(frame[inside], dtype=np.float64).sum(axis=-1).mean() for frame in self.velocities)
        return float(sum(frames)) / self.frames

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> dict[str, FloatArray]:
        """Every map after a change."""
        return {name: read_only(np.asarray(change(values))) for name, values in self.maps.items()}

    def __getitem__(self, key: int | slice) -> FieldSeries:
        """Frames as a shorter series; velocities turn round when it is played backwards, `[::-1]`.

        A frame of `[::step]` is the motion over the step frames it spans. Where fewer are left for the last
        one, they stand for all of it.
        """
        start, stop, step = as_slice(key, self.frames).indices(self.frames)
        frames = slice(start, stop if stop >= 0 else None, 1 if step > 0 else -1)
        chosen = replace(
            self,
            velocities=self.velocities[frames] if step > 0 else read_only(-self.velocities[frames]),
            foreground=None if self.foreground is None else self.foreground[frames],
            maps=self.mapped(lambda values: values[frames]),
        )
        return chosen if abs(step) == 1 else chosen.resample(self.frame_rate / abs(step))

    def resample(self, frame_rate: float) -> FieldSeries:
        """At another rate: a new frame is the motion over its time, so longer ones have larger values.

        >>> speeding = FieldSeries(np.arange(8.0)[:, None, None, None] * np.ones((8, 1, 1, 2)), 10)
        >>> speeding.resample(5).velocities[:, 0, 0, 0].tolist()
        [1.0, 5.0, 9.0, 13.0]
        """
        rate = checked_rate(frame_rate)
        bounds = sample_positions(self.frames + 1, self.frame_rate, rate)
        lasts = bounds[1] if len(bounds) > 1 else self.frame_rate / rate
        starts = bounds[bounds < self.frames]
        spanned = self.over(np.append(starts, min(starts[-1] + lasts, self.frames)))
        # What is left of the last frame stands for all of it.
        velocities = np.array(spanned.velocities)
        velocities[-1] *= lasts / (min(starts[-1] + lasts, self.frames) - starts[-1])
        return replace(spanned, velocities=read_only(velocities), frame_rate=rate)

    def over(self, bounds: Array) -> FieldSeries:
        """The motion between each two of the bounds `(n + 1,)`, in frames, rising: `n` fields.

        >>> speeding = FieldSeries(np.arange(4.0)[:, None, None, None] * np.ones((4, 1, 1, 2)), 10)
        >>> speeding.over(np.array([0.0, 1.5, 4.0])).velocities[:, 0, 0, 0].tolist()
        [0.5, 5.5]
        """
        velocities = np.empty((len(bounds) - 1, *self.velocities.shape[1:]), self.velocities.dtype)
        foreground = None if self.foreground is None else np.empty(velocities.shape[:3], np.uint8)
        maps = {name: np.empty(velocities.shape[:3], np.float32) for name in self.maps}
        for number, (start, stop) in enumerate(pairwise(bounds)):
            frames = np.arange(int(start), max(int(np.ceil(stop - 1e-6)), int(start) + 1))
            weights = np.minimum(frames + 1, stop) - np.maximum(frames, start)
            part = slice(frames[0], frames[-1] + 1)
            velocities[number] = np.tensordot(weights.astype(velocities.dtype), self.velocities[part], 1)
            if foreground is not None and self.foreground is not None:
                foreground[number] = mixed_foreground(self.foreground[part], weights[:, None, None])
            for name, values in maps.items():
                values[number] = np.tensordot(weights / weights.sum(), self.maps[name][part], 1)
        return replace(self, velocities=read_only(velocities), foreground=foreground, maps=maps)

    def mirror(self) -> FieldSeries:
        """The image seen in a mirror: columns reversed, u becomes -u; on the ground x becomes -x."""
        homography = self.homography
        if homography is not None:
            unflip = np.array([[-1.0, 0, self.columns - 1], [0, 1, 0], [0, 0, 1]])
            homography = np.diag([-1.0, 1, 1]) @ homography @ unflip
        velocities = self.velocities[:, :, ::-1].copy()
        velocities[..., 0] *= -1
        return replace(
            self,
            velocities=read_only(velocities),
            mask=None if self.mask is None else self.mask[:, ::-1],
            homography=homography,
            foreground=None if self.foreground is None else self.foreground[:, :, ::-1],
            maps=self.mapped(lambda values: values[:, :, ::-1]),
        )

    def crop(self, rows: slice, columns: slice) -> FieldSeries:
        """A window of the image, e.g. `crop(slice(10, 50), slice(0, 80))`.

        >>> FieldSeries(np.zeros((2, 4, 6, 2)), 25).crop(slice(1, 3), slice(2, None)).velocities.shape
        (2, 2, 4, 2)
        """
        window = []
        for name, part, length in (("rows", rows, self.rows), ("columns", columns, self.columns)):
            start, stop, step = part.indices(length)
            if step != 1 or start >= stop:
                raise InputError(f"{name} {part.start}:{part.stop} of {length}: no window there")
            window.append(slice(start, stop))
        homography = self.homography
        if homography is not None:
            shift = np.array([[1.0, 0, window[1].start], [0, 1, window[0].start], [0, 0, 1]])
            homography = homography @ shift
        return replace(
            self,
            velocities=self.velocities[:, window[0], window[1]],
            mask=None if self.mask is None else self.mask[tuple(window)],
            homography=homography,
            foreground=None if self.foreground is None else self.foreground[:, window[0], window[1]],
            maps=self.mapped(lambda values: values[:, window[0], window[1]]),
        )

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        speed = np.hypot(self.velocities[..., 0], self.velocities[..., 1])
        return {
            "kind": "field",
            "rows": self.rows,
            "columns": self.columns,
            "masked": None if self.mask is None else rounded(1 - self.mask.mean()),
            "scale": self.scale or None,
            **({"maps": list(self.maps)} if self.maps else {}),
            "mean_speed_pixels": rounded(speed.mean() if self.mask is None else speed[:, self.mask].mean()),
        }


def check_fields(frames: int, rows: int, columns: int, advice: str) -> None:
    """Refuse more fields of single precision than 8 GB."""
    what = f"{frames} fields of {columns} × {rows} pixels"
    check_memory(8 * frames * rows * columns, what, advice, most=8 << 30)


def known_foreground(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Foreground that is known: a level that would read as unknown becomes its neighbour.

    >>> known_foreground(np.array([0, 128, 255], np.uint8))
    array([  0, 127, 255], dtype=uint8)
    """
    return np.asarray(levels - (levels == UNKNOWN))


def mixed_foreground(parts: NDArray[np.uint8], weights: FloatArray) -> NDArray[np.uint8]:
    """The mean over the first axis of what is known, unknown where nothing is.

    >>> mixed_foreground(np.array([[0, 128, 128], [100, 100, 128]], np.uint8), np.array([[0.25], [0.75]]))
    array([ 75, 100, 128], dtype=uint8)
    """
    share = np.where(parts == UNKNOWN, 0.0, weights)
    total = share.sum(axis=0)
    mean = np.rint((share * parts).sum(axis=0) / np.where(total > 0, total, 1))
    return np.where(total > 0, known_foreground(mean.astype(np.uint8)), np.uint8(UNKNOWN))


def concatenate(parts: Sequence[FieldSeries]) -> FieldSeries:
    """Series of one camera and rate, end to end; a pixel counts where it counts in all of them."""
    if not parts:
        raise InputError("there are no fields to join")
    first = parts[0]
    if len(parts) == 1:
        return first
    for other in parts[1:]:
        if (other.rows, other.columns) != (first.rows, first.columns):
            raise InputError(
                f"cannot join fields of {first.columns} × {first.rows} pixels "
                f"and of {other.columns} × {other.rows}"
            )
        if not np.isclose(other.frame_rate, first.frame_rate):
            raise InputError(
                f"cannot join fields of {first.frame_rate:g} and {other.frame_rate:g} frames per second; "
                "resample one of them first"
            )
        a, b = first.homography, other.homography
        if not (a is b if a is None or b is None else np.allclose(b, a, rtol=1e-9, atol=0)):
            raise InputError("cannot join fields of different cameras: their homographies differ")
    masks = [part.mask for part in parts if part.mask is not None]
    known = [part.foreground for part in parts if part.foreground is not None]
    return replace(
        first,
        velocities=read_only(np.concatenate([part.velocities for part in parts])),
        mask=np.logical_and.reduce(masks) if masks else None,
        foreground=read_only(np.concatenate(known)) if len(known) == len(parts) else None,
        maps={
            name: read_only(np.concatenate([part.maps[name] for part in parts]))
            for name in first.maps
            if all(name in part.maps for part in parts)
        },
    )


Image = NDArray[np.uint8]
"""`(rows, columns, 3)`, red green blue."""

OpenFrames = Callable[[int, int, int], Iterator[Image]]
"""`open(start, stop, step)` yields those frames, all of them, decoding in bounded memory."""


@dataclass(frozen=True, eq=False)
class Footage(Timed):
    """A video or image folder.

    Attributes:
        frames: Number of images.
        rows: Their height, pixels.
        columns: Their width, pixels.
        frame_rate: Images per second.
        open: Yields the images `start, start + step, … < stop`, `(rows, columns, 3)` uint8.
        name: What to call it.

    >>> black = Footage(3, 2, 2, 25, lambda a, b, s: (np.zeros((2, 2, 3), np.uint8) for _ in range(a, b, s)))
    >>> sum(1 for image in black), black[1:].frames
    (3, 2)
    """

    frames: int
    rows: int
    columns: int
    frame_rate: float
    open: OpenFrames
    name: str = ""

    def __post_init__(self) -> None:
        if min(self.frames, self.rows, self.columns) < 1:
            raise InputError("footage: there is no frame or no pixel")
        assign(self, frame_rate=checked_rate(self.frame_rate))

    def __iter__(self) -> Iterator[Image]:
        return self.open(0, self.frames, 1)

    def read(self, frame: int) -> Image:
        """One image."""
        chosen = as_slice(frame, self.frames)
        return next(self.open(chosen.start, chosen.stop, 1))

    def __getitem__(self, key: int | slice) -> Footage:
        """Frames as shorter footage; nothing is decoded."""
        chosen = range(*as_slice(key, self.frames).indices(self.frames))
        if chosen.step < 1:
            raise InputError("footage plays forwards: give a positive step")
        inner = self.open

        def open_part(start: int, stop: int, step: int) -> Iterator[Image]:
            part = chosen[start:stop:step]
            return inner(part.start, part.stop, part.step)

        return replace(self, frames=len(chosen), frame_rate=self.frame_rate / chosen.step, open=open_part)

    def resample(self, frame_rate: float) -> Footage:
        """At another rate: each new frame is the old one nearest in time. Nothing is decoded yet.

        >>> black = np.zeros((2, 2, 3), np.uint8)
        >>> Footage(3, 2, 2, 25, lambda a, b, s: (black for _ in range(a, b, s))).resample(50).frames
        5
        """
        rate = checked_rate(frame_rate)
        chosen = nearest(self.frames, sample_positions(self.frames, self.frame_rate, rate)).tolist()
        inner = self.open

        def open_chosen(start: int, stop: int, step: int) -> Iterator[Image]:
            return _pick(inner, chosen[start:stop:step])

        return replace(self, frames=len(chosen), frame_rate=rate, open=open_chosen)

    def grey(self) -> Iterator[NDArray[np.uint8]]:
        """The images as luminance, `(rows, columns)` uint8 (ITU-R BT.601 weights)."""
        import cv2

        for image in self:
            yield cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {"kind": "video", "rows": self.rows, "columns": self.columns}


def _pick(open_frames: OpenFrames, wanted: Sequence[int]) -> Iterator[Image]:
    """Images by ascending, possibly repeated, frame number, decoded in one pass."""
    if not wanted:
        return
    remaining = iter(wanted)
    frame = next(remaining)
    for number, image in enumerate(open_frames(wanted[0], wanted[-1] + 1, 1), start=wanted[0]):
        while frame == number:
            yield image
            frame = next(remaining, -1)
