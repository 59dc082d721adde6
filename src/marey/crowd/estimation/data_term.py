"""How well a field explains two images: linearised constancy of brightness and of its gradient, robust.

The brightness equation of Courty & Corpetti 2007, section 2.2, with the robust penalty of their section 5.1.
The constancy of the gradient stands beside it because it does not mind shadows and changes of exposure. The
scale of the penalty follows the residuals of the pair at hand. Cost: about a hundred nanoseconds a pixel for
each linearisation, ten for each reweighting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.errors import InputError

Plane = NDArray[np.float32]

PENALTIES = {"quadratic": 0, "charbonnier": 1, "lorentzian": 2, "geman-mcclure": 3}
# Shares of the brightness and of its gradient in the data term.
CONSTANCIES = {"brightness": (1.0, 0.0), "gradient": (0.0, 1.0), "both": (1.0, 1.0)}
# Residuals are judged by their median on every third pixel of every third row.
SUBSAMPLE = 3
# No residual below what a shift of this many pixels makes is an outlier.
SMALLEST_SHIFT = 0.01
# Grey levels: what changes less from image to image is at rest. It does not tell how well motion is met.
AT_REST = 1.0

# Change counts by half at so many grey levels, after blurring by a pixel; what stays as it is, for so little.
LEAST_CHANGE, CHANGE_BLUR, STILL_WEIGHT = np.float32(2.8), 1.0, np.float32(0.01)


def channels(image: Plane, constancy: str) -> Plane:
    """What has to stay the same from image to image, `(channels, rows, columns)`."""
    from marey.crowd.estimation._image_kernels import differentiate

    if constancy not in CONSTANCIES:
        raise InputError(f"constancy: there is no '{constancy}'; choose one of {', '.join(CONSTANCIES)}")
    planes = [image] if CONSTANCIES[constancy][0] else []
    if CONSTANCIES[constancy][1]:
        slopes = np.empty((2, *image.shape), dtype=np.float32)
        differentiate(image, slopes[0], slopes[1])
        planes += [slopes[0], slopes[1]]
    return np.ascontiguousarray(np.stack(planes), dtype=np.float32)


def change(first: Plane, second: Plane) -> Plane:
    """What pixels count for in the motion of a crowd, `(rows, columns)`, near 0 where nothing changes.

    The place behind people does not change, and it must not hold them back.

    >>> still, bright = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    >>> bright[6:10, 6:10] = 100
    >>> change(still, bright)[[0, 8], [0, 8]].round(2)
    array([0.01, 1.  ], dtype=float32)
    """
    import cv2

    apart = cv2.GaussianBlur(second, (0, 0), CHANGE_BLUR) - cv2.GaussianBlur(first, (0, 0), CHANGE_BLUR)
    apart = np.square(apart - np.median(apart[::SUBSAMPLE, ::SUBSAMPLE]))
    return np.asarray(STILL_WEIGHT + (1 - STILL_WEIGHT) * apart / (apart + LEAST_CHANGE**2), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class DataTerm:
    """The data term near one field: `constants + slopes · v` is the residual of each channel.

    slopes: `(channels, 2, rows, columns)`; constants: `(channels, rows, columns)`
    weight: `(rows, columns)`, zero where the pixel does not count or moves out of the image
    ends: `(channels,)`, one past the last channel of the group that shares a penalty with each
    scales, shares: `(channels,)`, one over the penalty's scale, and the channel's factor
    """

    slopes: Plane
    constants: Plane
    weight: Plane
    ends: NDArray[np.int64]
    scales: Plane
    shares: Plane
    penalty: int

    def system(self, field: Plane) -> tuple[Plane, Plane]:
        """The reweighted normal equations at `field` `(2, rows, columns)`: matrices `(3, rows, columns)`
        (uu, uv, vv) and right-hand sides `(2, rows, columns)`."""
        from marey.crowd.estimation._image_kernels import data_system

        rows, columns = self.weight.shape
        matrices = np.empty((3, rows, columns), dtype=np.float32)
        right = np.empty((2, rows, columns), dtype=np.float32)
        data_system(
            self.slopes,
            self.constants,
            field,
            self.weight,
            self.ends,
            self.scales,
            self.shares,
            self.penalty,
            matrices,
            right,
        )
        return matrices, right


def linearised(
    first: Plane,
    second: Plane,
    field: Plane,
    weight: Plane | None,
    *,
    constancy: str,
    penalty: str,
    tolerance: float,
    unit_stiffness: bool,
    normalise: float,
) -> DataTerm:
    """The data term of two stacks of :func:`channels` near `field`.

    tolerance: the penalty's scale in medians of the residual
    unit_stiffness: divide each group by its mean squared slope, so that a unit of energy is a squared pixel
    normalise: how much strong edges are held back, 0 = not at all
    """
    from marey.crowd.estimation import _image_kernels as kernels

    count, rows, columns = first.shape
    warped = np.empty_like(first)
    outer = np.empty((rows, columns), dtype=np.float32)
    kernels.warp(second, field, warped, outer)
    slopes = np.empty((count, 2, rows, columns), dtype=np.float32)
    constants = np.empty_like(first)
    kernels.linearise(first, warped, field, slopes, constants)
    if weight is not None:
        outer *= weight
    ends, scales, shares = np.empty(count, np.int64), np.ones(count, np.float32), np.ones(count, np.float32)
    thin = (slice(None, None, SUBSAMPLE), slice(None, None, SUBSAMPLE))
    trust = outer[thin]
    counted = trust > 0
    trust = trust[counted]
    steepness: Any = None
    start = 0
    for share, width in zip(CONSTANCIES[constancy], (1, 2)):
        if not share:
            continue
        group = slice(start, start + width)
        start += width
        ends[group] = start
        steep = (slopes[group][(slice(None), slice(None), *thin)] ** 2).sum((0, 1))[counted]
        stiffness = float((steep * trust).sum() / trust.sum()) if steep.size else 0.0
        before, met, after = (stack[group][(slice(None), *thin)] for stack in (first, warped, second))
        typical = _typical_residual(before, met, after, counted)
        scale = tolerance * typical + SMALLEST_SHIFT * np.sqrt(stiffness)
        scales[group] = 1.0 / scale if scale > 0 else 1.0
        if unit_stiffness:
            shares[group] = share / stiffness if stiffness > 0 else 0.0
        steepness = (slice(group.start, group.stop), stiffness) if steepness is None else steepness
    if normalise and steepness is not None and steepness[1] > 0:
        kernels.hold_back_edges(slopes[steepness[0]], normalise / steepness[1], outer)
    return DataTerm(slopes, constants, outer, ends, scales, shares, PENALTIES[penalty])


def _typical_residual(first: Plane, warped: Plane, second: Plane, counted: BoolArray) -> float:
    """Median residual of the pixels that change from image to image, of all if few do.

    Were those of a place at rest among them, people in front of it would be outliers in a film without noise.
    """
    apart = ((warped - first) ** 2).sum(0)[counted]
    changed = apart[((second - first) ** 2).sum(0)[counted] > AT_REST**2]
    judged = changed if changed.size > 0.01 * apart.size else apart
    return float(np.sqrt(np.median(judged))) if judged.size else 0.0
