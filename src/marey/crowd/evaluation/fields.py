"""How far a velocity field is from the truth: endpoint, angle, divergence and vorticity.

The endpoint and angular errors are those of Baker et al., "A Database and Evaluation Methodology for Optical
Flow", 2011; divergence and vorticity are what crowds are about (Courty & Corpetti 2007, section 3.1). Cost: a
few passes over the pixels, one frame at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, FloatArray
from marey._report import Report
from marey.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FieldErrors(Report):
    """Over the pixels that count, of all frames.

    endpoint: mean length of the difference, pixels per frame
    angular_degrees: mean angle between `(u, v, 1)` vectors
    divergence, vorticity: root mean square of the difference, per frame
    relative_divergence, relative_vorticity: the same, over that of the truth; NaN if that has none
    pixels: how many were counted
    """

    endpoint: float
    angular_degrees: float
    divergence: float
    vorticity: float
    relative_divergence: float
    relative_vorticity: float
    pixels: int


def field_errors(estimated: ArrayLike, true: ArrayLike, mask: ArrayLike | None = None) -> FieldErrors:
    """Errors of `estimated` against `true`, both `([frames,] rows, columns, 2)` pixels per frame.

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
        one = np.where(mask[..., None], estimated, 0.0).astype(np.float64)
        other = np.where(mask[..., None], true, 0.0).astype(np.float64)
        self._endpoint += float(endpoint_map(one, other)[mask].sum())
        self._angle += float(angle_map(one, other)[mask].sum())
        self._pixels += int(mask.sum())
        inner = whole_stencils(mask)
        self._stencils += int(inner.sum())
        for row, field in enumerate((one - other, other)):
            for column, part in enumerate(divergence_and_vorticity(field)):
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


def divergence_and_vorticity(field: FloatArray) -> tuple[Array, Array]:
    """`u_x + v_y` and `v_x - u_y` `(rows, columns)` of a field `(rows, columns, 2)`, central differences."""
    if min(field.shape[:2]) < 2:
        nothing = np.zeros(field.shape[:2])
        return nothing, nothing
    u_y, u_x = np.gradient(field[..., 0])
    v_y, v_x = np.gradient(field[..., 1])
    return np.asarray(u_x + v_y), np.asarray(v_x - u_y)


def whole_stencils(mask: BoolArray) -> BoolArray:
    """Pixels that count `(rows, columns)` and whose four neighbours do."""
    whole = np.zeros_like(mask)
    if min(mask.shape) > 2:
        whole[1:-1, 1:-1] = (
            mask[1:-1, 1:-1] & mask[:-2, 1:-1] & mask[2:, 1:-1] & mask[1:-1, :-2] & mask[1:-1, 2:]
        )
    return whole


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
