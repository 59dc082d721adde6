"""How far a velocity field is from the truth: endpoint, angle, divergence and vorticity.

The endpoint and angular errors are those of Baker et al., "A Database and Evaluation Methodology for Optical
Flow", 2011; divergence and vorticity are what crowds are about (Courty & Corpetti 2007, section 3.1). Cost: a
few passes over the pixels, one frame at a time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, FloatArray
from marey.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FieldErrors:
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

    def as_dict(self) -> dict[str, float | int | None]:
        """Names and values; None where one is not defined."""
        return {name: None if value != value else value for name, value in asdict(self).items()}


def field_errors(estimated: ArrayLike, true: ArrayLike, mask: ArrayLike | None = None) -> FieldErrors:
    """Errors of `estimated` against `true`, both `([frames,] rows, columns, 2)` pixels per frame.

    mask: `([frames,] rows, columns)`, True where pixels count. Divergence and vorticity count where the
        four neighbours do too.

    >>> still, moving = np.zeros((4, 5, 2)), np.full((4, 5, 2), [1.0, 0.0])
    >>> errors = field_errors(still, moving)
    >>> errors.endpoint, round(errors.angular_degrees, 6), errors.divergence
    (1.0, 45.0, 0.0)
    """
    found, wanted, counts = _checked(estimated, true, mask)
    endpoint = angle = 0.0
    squares = np.zeros((2, 2))
    pixels = stencils = 0
    for one, other, where in zip(found, wanted, counts, strict=True):
        one = np.where(where[..., None], one, 0.0).astype(np.float64)
        other = np.where(where[..., None], other, 0.0).astype(np.float64)
        endpoint += float(endpoint_map(one, other)[where].sum())
        angle += float(angle_map(one, other)[where].sum())
        pixels += int(where.sum())
        inner = whole_stencils(where)
        stencils += int(inner.sum())
        for row, field in enumerate((one - other, other)):
            for column, part in enumerate(divergence_and_vorticity(field)):
                squares[row, column] += np.sum(part[inner] ** 2)
    if pixels == 0:
        raise InputError("fields: the mask leaves no pixel to compare")
    if stencils:
        divergence, vorticity = np.sqrt(squares[0] / stencils)
    else:
        divergence = vorticity = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.sqrt(squares[0] / np.where(squares[1] > 0, squares[1], np.nan))
    return FieldErrors(
        endpoint / pixels,
        angle / pixels,
        float(divergence),
        float(vorticity),
        float(relative[0]),
        float(relative[1]),
        pixels,
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
