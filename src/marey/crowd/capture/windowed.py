"""Lucas–Kanade: the brightness equation solved in a Gaussian window round each pixel, from coarse to fine.

Courty & Corpetti 2007, section 2.2, equation 2. Cost: about half a microsecond a pixel on one core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import BoolArray
from marey.crowd.capture import pyramid
from marey.crowd.capture.divcurl import DataTerm, linearised
from marey.crowd.capture.pyramid import Plane
from marey.errors import InputError


@dataclass(frozen=True, kw_only=True)
class WindowSettings:
    """What Lucas–Kanade takes.

    Attributes:
        window: Standard deviation of the Gaussian window, pixels.
        ridge: Share of the mean stiffness added to each window's own, which keeps flat windows still.
        warps: Linearisations a level.
        levels: Of the pyramid; None = as many as there are.
    """

    window: float = 5.0
    ridge: float = 0.01
    warps: int = 3
    levels: int | None = None

    def __post_init__(self) -> None:
        if not self.window > 0 or not self.ridge >= 0 or self.warps < 1:
            raise InputError("window must be positive, ridge not negative, warps at least one")


class LucasKanade:
    """Least squares in a Gaussian window round every pixel."""

    def __init__(self, shape: tuple[int, int], mask: BoolArray | None, settings: WindowSettings) -> None:
        self.settings, self.mask = settings, mask
        self.shapes = pyramid.sizes(*shape, levels=settings.levels)
        self.masks = None if mask is None else pyramid.masks(mask, self.shapes)

    def __call__(self, first: Plane, second: Plane, weight: Plane | None = None) -> Plane:
        """The field `(2, rows, columns)` from `first` to `second`."""
        whole = (pyramid.filled(image, self.mask) for image in (first, second))
        before, after = (pyramid.images(image, self.shapes) for image in whole)
        weights: list[Plane | None] = [None] * len(self.shapes)
        if weight is not None:
            weights = list(pyramid.weights(weight, self.shapes))
        if self.masks is not None:
            weights = [m.astype(np.float32) if w is None else w * m for w, m in zip(weights, self.masks)]
        field = np.zeros((2, *self.shapes[-1]), np.float32)
        for level in range(len(self.shapes) - 1, -1, -1):
            field = pyramid.resized_field(field, self.shapes[level])
            for _ in range(self.settings.warps):
                term = linearised(
                    before[level][None], after[level][None], field, weights[level], penalty="quadratic"
                )
                field = self._solve(term, field)
        return field

    def _solve(self, term: DataTerm, field: Plane) -> Plane:
        from cv2 import GaussianBlur

        matrices, right = term.system(field)
        a, b, d, p, q = (GaussianBlur(plane, (0, 0), self.settings.window) for plane in (*matrices, *right))
        u, v = (GaussianBlur(plane, (0, 0), self.settings.window) for plane in field)
        # The ridge pulls towards the field so far, smoothed: it decides where the window is flat.
        ridge = np.float32(self.settings.ridge * 0.5 * float((a + d).mean()) + 1e-12)
        a, d, p, q = a + ridge, d + ridge, p + ridge * u, q + ridge * v
        determinant = a * d - b * b
        return np.stack([(d * p - b * q) / determinant, (a * q - b * p) / determinant]).astype(np.float32)
