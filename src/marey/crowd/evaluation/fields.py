"""Captured fields against the truth: endpoint, angle, divergence, vorticity, and where people end up.

The endpoint and angular errors are those of Baker et al., "A Database and Evaluation Methodology for Optical
Flow", 2011; divergence and vorticity are what crowds are about (Courty & Corpetti 2007, section 3.1). Cost: a
few passes over the pixels, one frame at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, FloatArray
from marey._report import Report
from marey.crowd.analysis.measures import divergence, vorticity
from marey.crowd.evaluation.trajectories import trajectory_errors
from marey.crowd.fields import UNKNOWN, FieldSeries
from marey.crowd.grids import on_grid, pixel_map
from marey.crowd.tracks import Tracks
from marey.errors import InputError


@dataclass(frozen=True)
class FieldErrors(Report):
    """Over the pixels that count, of all frames.

    Attributes:
        endpoint: Mean length of the difference, pixels per frame.
        angular_degrees: Mean angle between `(u, v, 1)` vectors.
        divergence: Root mean square of the difference, per frame.
        vorticity: As `divergence`.
        relative_divergence: The same, over that of the truth; NaN if that has none.
        relative_vorticity: As `relative_divergence`.
        pixels: How many were counted.
    """

    endpoint: float
    angular_degrees: float
    divergence: float
    vorticity: float
    relative_divergence: float
    relative_vorticity: float
    pixels: int


def field_errors(estimated: ArrayLike, true: ArrayLike, mask: ArrayLike | None = None) -> FieldErrors:
    """Errors of fields against the true ones, both in pixels per frame.

    Args:
        estimated: Fields `([frames,] rows, columns, 2)`.
        true: As many of the same size.
        mask: `([frames,] rows, columns)`, True where pixels count. Divergence and vorticity count where the
            four neighbours do too.

    >>> still, moving = np.zeros((4, 5, 2)), np.full((4, 5, 2), [1.0, 0.0])
    >>> errors = field_errors(still, moving)
    >>> errors.endpoint, round(errors.angular_degrees, 6), errors.divergence
    (1.0, 45.0, 0.0)
    """
    sums = ErrorSums()
    for one, other, where in zip(*_checked(estimated, true, mask), strict=True):
        sums.add(one, other, where)
    return sums.errors()


class ErrorSums:
    """Errors of fields that come one by one: :meth:`add` each, then ask for the :meth:`errors`."""

    def __init__(self) -> None:
        self._endpoint = self._angle = 0.0
        self._pixels = self._stencils = 0
        self._squares = np.zeros((2, 2))

    def add(self, estimated: FloatArray, true: FloatArray, mask: BoolArray) -> None:
        """Fields `(rows, columns, 2)` and the pixels `(rows, columns)` that count."""
        from scipy.ndimage import binary_erosion

        one = np.where(mask[..., None], estimated, 0.0).astype(np.float64)
        other = np.where(mask[..., None], true, 0.0).astype(np.float64)
        self._endpoint += float(endpoint_map(one, other)[mask].sum())
        self._angle += float(angle_map(one, other)[mask].sum())
        self._pixels += int(mask.sum())
        # Pixels whose four neighbours count too.
        inner = binary_erosion(mask)
        self._stencils += int(inner.sum())
        for row, field in enumerate((one - other, other)):
            for column, part in enumerate((divergence(field), vorticity(field))):
                self._squares[row, column] += np.sum(part[inner] ** 2)

    def errors(self) -> FieldErrors:
        """Of all that was added."""
        if self._pixels == 0:
            raise InputError("fields: the mask leaves no pixel to compare")
        absolute = np.sqrt(self._squares[0] / self._stencils) if self._stencils else np.full(2, np.nan)
        truth = np.where(self._squares[1] > 0, self._squares[1], np.nan)
        relative = np.sqrt(self._squares[0] / truth)
        return FieldErrors(
            self._endpoint / self._pixels,
            self._angle / self._pixels,
            float(absolute[0]),
            float(absolute[1]),
            float(relative[0]),
            float(relative[1]),
            self._pixels,
        )


def endpoint_map(estimated: FloatArray, true: FloatArray) -> Array:
    """Length of the difference `(..., rows, columns)`, pixels per frame."""
    return np.asarray(np.hypot(estimated[..., 0] - true[..., 0], estimated[..., 1] - true[..., 1]))


def angle_map(estimated: FloatArray, true: FloatArray) -> Array:
    """Angle between `(u, v, 1)` vectors `(..., rows, columns)`, degrees."""
    a, b, c, d = estimated[..., 0], estimated[..., 1], true[..., 0], true[..., 1]
    # The angle by its tangent: that by its cosine is off by 1e-6 degrees where the fields agree.
    across = np.sqrt((b - d) ** 2 + (c - a) ** 2 + (a * d - b * c) ** 2)
    return np.asarray(np.degrees(np.arctan2(across, 1 + a * c + b * d)))


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known: the motion in the image, and where people are on the ground; one of them may be missing.

    Attributes:
        all_pixels: Whether pixels without people count too.
    """

    fields: FieldSeries | None = None
    tracks: Tracks | None = None
    all_pixels: bool = False

    def counts(self, frame: int) -> BoolArray:
        """Pixels `(rows, columns)` whose motion is known."""
        assert self.fields is not None
        if self.fields.presence is None or self.all_pixels:
            return self.fields.valid
        seen = self.fields.presence[frame]
        # More than one half; a frame in which nothing is known is like a truth without presence.
        return np.asarray(self.fields.valid & ((seen > UNKNOWN) | (seen == UNKNOWN).all()))


def compare(series: FieldSeries, truth: Truth) -> dict[str, Any]:
    """Errors by name: endpoint, angular_degrees, divergence, vorticity, trajectory_m and more.

    Field errors are in pixels of the truth's grid; None where the truth has none. `trajectory_m` is the
    mean distance after the longest of 1, 2 and 5 seconds that the series is long enough for.

    >>> from marey import samples
    >>> flow = samples.field(rows=20, columns=30, seconds=1)
    >>> compare(flow, Truth(flow))["endpoint"]
    0.0
    """
    row: dict[str, Any] = dict.fromkeys(field.name for field in fields(FieldErrors))
    placed = series
    if truth.fields is not None:
        _check_comparable(series, truth.fields)
        sums = ErrorSums()
        for frame in range(min(series.frames, truth.fields.frames)):
            found = on_grid(series.velocities[frame], truth.fields.rows, truth.fields.columns)
            sums.add(found, truth.fields.velocities[frame], truth.counts(frame))
        row |= sums.errors().as_dict()
        if truth.fields.homography is not None:
            shapes = (series.rows, series.columns), (truth.fields.rows, truth.fields.columns)
            placed = replace(series, homography=truth.fields.homography @ pixel_map(*shapes))
    row |= {"trajectory_m": None, "trajectory_seconds": None, "trajectories": []}
    if truth.tracks is not None and placed.homography is not None:
        errors = trajectory_errors(placed, truth.tracks)
        row["trajectories"] = [error.as_dict() for error in errors]
        if errors:
            row["trajectory_m"], row["trajectory_seconds"] = errors[-1].mean, errors[-1].seconds
    return row


def error_map(series: FieldSeries, truth: Truth) -> Array:
    """Mean endpoint error of each pixel `(rows, columns)` of the truth; NaN where none counts."""
    assert truth.fields is not None
    _check_comparable(series, truth.fields)
    total = np.zeros((truth.fields.rows, truth.fields.columns))
    count = np.zeros_like(total)
    for frame in range(min(series.frames, truth.fields.frames)):
        where = truth.counts(frame)
        found = on_grid(series.velocities[frame], *total.shape)
        total += np.where(where, endpoint_map(found, truth.fields.velocities[frame]), 0.0)
        count += where
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _check_comparable(series: FieldSeries, truth: FieldSeries) -> None:
    ratio = (series.columns / truth.columns) / (series.rows / truth.rows)
    if not 0.95 < ratio < 1.05:
        raise InputError(
            f"a field of {series.columns} × {series.rows} pixels and a truth of {truth.columns} × "
            f"{truth.rows} do not show one image"
        )
    several = min(series.frames, truth.frames) > 1
    if several and not np.isclose(series.frame_rate, truth.frame_rate, rtol=1e-3):
        raise InputError(
            f"the field has {series.frame_rate:g} frames per second and the truth {truth.frame_rate:g}; "
            "resample one of them"
        )


def _checked(
    estimated: ArrayLike, true: ArrayLike, mask: ArrayLike | None
) -> tuple[FloatArray, FloatArray, BoolArray]:
    found, wanted = np.asarray(estimated), np.asarray(true)
    if found.shape != wanted.shape or found.ndim not in (3, 4) or found.shape[-1] != 2 or found.size == 0:
        raise InputError(f"fields: shapes {found.shape} and {wanted.shape} cannot be compared")
    if found.ndim == 3:
        found, wanted = found[None], wanted[None]
    shape = found.shape[:3]
    counts = np.ones(shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    if counts.shape not in (shape, shape[1:]):
        raise InputError(f"mask: shape {counts.shape} does not fit fields of {shape}")
    return found, wanted, np.broadcast_to(counts, shape)
