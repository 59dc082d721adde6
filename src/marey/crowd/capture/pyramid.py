"""Images and masks from fine to coarse, and fields from coarse to fine.

What a mask hides is first filled smoothly from around it, so that neither blurring nor differentiating
carries an obstacle's edge into the image. Cost: about fifteen nanoseconds a pixel for the whole pyramid,
four times that with a mask.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray

Plane = NDArray[np.float32]
"""`(rows, columns)`, or several of them."""


def sizes(rows: int, columns: int) -> list[tuple[int, int]]:
    """Rows and columns of every level, finest first; halved until a side would fall below 16 pixels.

    >>> sizes(60, 80)
    [(60, 80), (30, 40)]
    """
    found = [(rows, columns)]
    while min(half := ((found[-1][0] + 1) // 2, (found[-1][1] + 1) // 2)) >= 16:
        found.append(half)
    return found


def images(image: Plane, shapes: list[tuple[int, int]]) -> list[Plane]:
    """The image at every size, blurred before it is made smaller."""
    import cv2

    found = [image]
    for rows, columns in shapes[1:]:
        # A Gaussian of 0.6 px at either size: what it takes to get from the finer to the coarser one.
        blurred = cv2.GaussianBlur(found[-1], (0, 0), 0.6 * math.sqrt(3.0))
        found.append(cv2.resize(blurred, (columns, rows), interpolation=cv2.INTER_LINEAR))
    return found


def masks(mask: BoolArray, shapes: list[tuple[int, int]]) -> list[BoolArray]:
    """The mask at every size: True where at least half of a pixel counts."""
    return [np.asarray(share >= 0.5) for share in weights(mask.astype(np.float32), shapes)]


def weights(weight: Plane, shapes: list[tuple[int, int]]) -> list[Plane]:
    """The weight of the data at every size, averaged."""
    import cv2

    return [
        cv2.resize(weight, (columns, rows), interpolation=cv2.INTER_AREA)
        if (rows, columns) != weight.shape
        else weight
        for rows, columns in shapes
    ]


def resized_field(field: Plane, shape: tuple[int, int]) -> Plane:
    """A field `(2, rows, columns)` on another grid, its velocities in pixels of that grid."""
    import cv2

    rows, columns = field.shape[1:]
    if (rows, columns) == shape:
        return field
    how = cv2.INTER_AREA if shape[0] < rows else cv2.INTER_CUBIC
    ratios = (shape[1] / columns, shape[0] / rows)
    resized = [
        cv2.resize(plane, shape[::-1], interpolation=how) * ratio for plane, ratio in zip(field, ratios)
    ]
    return np.ascontiguousarray(np.stack(resized), dtype=np.float32)


def filled(plane: Plane, mask: BoolArray | None) -> Plane:
    """`plane` with what the mask hides replaced by a smooth continuation of what it shows.

    >>> filled(np.full((8, 8), 3, np.float32), np.eye(8, dtype=bool))[0, 4]
    np.float32(3.0)
    """
    if mask is None or mask.all() or not mask.any():
        return plane
    import cv2

    known = mask.astype(np.float32)
    result = np.where(mask, plane, np.float32(0.0))
    missing = ~mask
    total: Any = result.copy()
    deviation = 1.0
    while missing.any():
        weight = cv2.GaussianBlur(known, (0, 0), deviation)
        near = missing & (weight > 0.02)
        result[near] = cv2.GaussianBlur(total, (0, 0), deviation)[near] / weight[near]
        missing &= ~near
        deviation *= 2.0
    return result
