"""Estimators of motion between two images beside divcurl: Lucas–Kanade and those of OpenCV.

Lucas–Kanade solves the brightness equation in a Gaussian window round each pixel, from coarse to fine
(Courty & Corpetti 2007, section 2.2, equation 2; half a microsecond a pixel). OpenCV's dense inverse search
and Farnebäck's polynomials are there for speed and comparison: they take no masks and no weights; what a
mask hides is filled smoothly before and means nothing after (0.02 to 0.5 microseconds a pixel).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marey._arrays import AnyArray, BoolArray
from marey.crowd.capture import framing
from marey.crowd.capture.divcurl import DataTerm, linearised
from marey.crowd.capture.framing import Grey as Plane
from marey.errors import InputError


class LucasKanade:
    """Least squares in a Gaussian window round every pixel.

    Attributes:
        window: Standard deviation of the Gaussian window, pixels.
        ridge: Share of the mean stiffness added to each window's own, which keeps flat windows still.
        warps: Linearisations a level.
    """

    window, ridge, warps = 5.0, 0.01, 3

    def __init__(self, shape: tuple[int, int], mask: BoolArray | None) -> None:
        self.mask = mask
        self.shapes = framing.pyramid_sizes(*shape)
        self.masks = None if mask is None else framing.pyramid_masks(mask, self.shapes)

    def __call__(self, first: Plane, second: Plane, weight: Plane | None = None) -> Plane:
        """The field `(2, rows, columns)` from `first` to `second`."""
        whole = (framing.filled(image, self.mask) for image in (first, second))
        before, after = (framing.pyramid_images(image, self.shapes) for image in whole)
        weights: list[Plane | None] = [None] * len(self.shapes)
        if weight is not None:
            weights = list(framing.pyramid_weights(weight, self.shapes))
        if self.masks is not None:
            weights = [m.astype(np.float32) if w is None else w * m for w, m in zip(weights, self.masks)]
        field = np.zeros((2, *self.shapes[-1]), np.float32)
        for level in range(len(self.shapes) - 1, -1, -1):
            field = framing.resized_field(field, self.shapes[level])
            for _ in range(self.warps):
                term = linearised(
                    before[level][None], after[level][None], field, weights[level], penalty="quadratic"
                )
                field = self._solve(term, field)
        return field

    def _solve(self, term: DataTerm, field: Plane) -> Plane:
        from cv2 import GaussianBlur

        matrices, right = term.system(field)
        a, b, d, p, q = (GaussianBlur(plane, (0, 0), self.window) for plane in (*matrices, *right))
        u, v = (GaussianBlur(plane, (0, 0), self.window) for plane in field)
        # The ridge pulls towards the field so far, smoothed: it decides where the window is flat.
        ridge = np.float32(self.ridge * 0.5 * float((a + d).mean()) + 1e-12)
        a, d, p, q = a + ridge, d + ridge, p + ridge * u, q + ridge * v
        determinant = a * d - b * b
        return np.stack([(d * p - b * q) / determinant, (a * q - b * p) / determinant]).astype(np.float32)


class OpenCv:
    """What OpenCV's engines `flow(first, second, None)` share: bytes in, planes out."""

    mask: BoolArray | None
    flow: Callable[..., AnyArray]

    def __call__(self, first: Plane, second: Plane, weight: Plane | None = None) -> Plane:
        """The field `(2, rows, columns)` from `first` to `second`."""
        filled = (framing.filled(image, self.mask) for image in (first, second))
        grey = (np.clip(np.rint(image), 0, 255).astype(np.uint8) for image in filled)
        return np.ascontiguousarray(np.moveaxis(self.flow(*grey, None), -1, 0), dtype=np.float32)


class Dis(OpenCv):
    """Dense inverse search (Kroeger et al. 2016)."""

    def __init__(self, shape: tuple[int, int], mask: BoolArray | None) -> None:
        import cv2

        # Patches of 8 pixels on at least one halved level.
        if min(shape) < 32:
            raise InputError(
                f"method dis: images of {shape[0]} × {shape[1]} pixels are too small, 32 at least;"
                " choose divcurl, hs, lk or farneback"
            )
        # The preset `medium`; the type information of OpenCV does not list it in every release.
        self.mask, self.flow = mask, getattr(cv2, "DISOpticalFlow_create")(2).calc  # noqa: B009


class Farneback(OpenCv):
    """Polynomial expansion (Farnebäck 2003)."""

    def __init__(self, shape: tuple[int, int], mask: BoolArray | None) -> None:
        import cv2

        # 5 halved levels, window 15, 5 iterations, polynomials of 7 pixels, deviation 1.5.
        engine = cv2.FarnebackOpticalFlow.create(5, 0.5, False, 15, 5, 7, 1.5)
        self.mask, self.flow = mask, engine.calc
