"""The default estimator: Lucas–Kanade over time baselines that grow, at the scale of single people.

Between two neighbouring images a pedestrian moves less than a pixel, and a tenth of a pixel of error carries
people metres away in a few seconds. So the motion of a pair is found from coarse to fine in space first, and
then from short to long in time: with the motion so far, the images `reach` frames before and after the pair
are brought to its middle, where they must agree; an error of the same size in their match is an error in the
motion smaller by 2 `reach` + 1. Residuals are weighted by the presence of people in both images and by a
robust penalty, which drops whoever is hidden in one of them. Images lose their slow variations before, so
shadows and changes of exposure count little. The brightness equation is that of Courty & Corpetti 2007,
section 2.2, equation 2; the normal equations are summed over cells of two pixels, and windows, solutions and
their continuation over flat places are Gaussian averages of cells. Cost: 0.2 µs a pixel and pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marey._arrays import BoolArray
from marey.crowd.capture import framing
from marey.crowd.capture.framing import Grey as Plane

CELL = 2
"""Pixels along the side of a cell that shares its equations."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Numbers of the estimator.

    Attributes:
        variation: Standard deviation, pixels of a level, above which variations of brightness are removed.
        window: Standard deviation of the window of longer baselines, pixels.
        first_window: That of neighbouring images, pixels.
        ridge: Share of the mean stiffness with which the surroundings continue into flat places.
        tolerance: Scale of the robust penalty in robust standard deviations of the residual.
        levels: Of the pyramid, at most.
        trials: Linearisations of a level; a longer baseline takes one.
        seconds: How far the longest baseline reaches before and after the pair.
    """

    variation: float = 2.0
    window: float = 1.5
    first_window: float = 4.0
    ridge: float = 0.02
    tolerance: float = 10.0
    levels: int = 4
    trials: int = 2
    seconds: float = 0.25


@dataclass(frozen=True, eq=False)
class Prepared:
    """An image and what its pixels count for, at every level, finest first."""

    images: list[Plane]
    weights: list[Plane]


class GrowingBaselines:
    """The estimator for images of one size.

    Args:
        shape: Rows and columns.
        mask: `(rows, columns)`, True where the image counts; None = everywhere.
        settings: Its numbers.
    """

    def __init__(self, shape: tuple[int, int], mask: BoolArray | None, settings: Settings) -> None:
        self.settings, self.mask = settings, mask
        self.shapes = framing.pyramid_sizes(*shape)[: settings.levels]

    def __call__(self, first: Plane, second: Plane, weight: Plane | None = None) -> Plane:
        """The field `(2, rows, columns)` from `first` to `second`."""
        return self.along([self.prepared(image, weight) for image in (first, second)], 0)

    def prepared(self, image: Plane, weight: Plane | None = None) -> Prepared:
        """What :meth:`along` takes; `weight` `(rows, columns)` is what pixels count for."""
        from cv2 import GaussianBlur

        levels = framing.pyramid_images(framing.filled(image, self.mask), self.shapes)
        counts = np.ones(self.shapes[0], np.float32) if weight is None else weight
        if self.mask is not None:
            counts = counts * self.mask
        return Prepared(
            [level - GaussianBlur(level, (0, 0), self.settings.variation) for level in levels],
            framing.pyramid_weights(np.ascontiguousarray(counts, np.float32), self.shapes),
        )

    def along(self, images: Sequence[Prepared], at: int) -> Plane:
        """The field `(2, rows, columns)` from image number `at` to the next, by all images given."""
        settings, pair = self.settings, (images[at], images[at + 1])
        field = np.zeros((2, *self.shapes[-1]), np.float32)
        for level in range(len(self.shapes) - 1, -1, -1):
            field = framing.resized_field(field, self.shapes[level])
            for _ in range(settings.trials):
                field = self._improved(*pair, level, field, 0, settings.first_window)
        longest, reach = min(at, len(images) - at - 2), 0
        for _ in range(settings.trials if longest == 0 else 0):
            field = self._improved(*pair, 0, field, 0, settings.window)
        while reach < longest:
            reach = min(2 * reach + 1, longest)
            ends = images[at - reach], images[at + 1 + reach]
            field = self._improved(*ends, 0, field, reach, settings.window)
        return field

    def _improved(
        self, first: Prepared, last: Prepared, level: int, field: Plane, reach: int, window: float
    ) -> Plane:
        """`field` after one step towards agreement of two images `2 reach + 1` frames apart."""
        import cv2

        from marey.crowd.capture import _kernels as kernels

        rows, columns = self.shapes[level]
        length = 2 * reach + 1
        mean, apart, trust = np.empty((3, rows, columns), np.float32)
        ends = (first.images[level], last.images[level], first.weights[level], last.weights[level])
        kernels.meet(*ends, field, np.float32(0.5 * length), mean, apart, trust)
        counted = trust[::3, ::3]
        seen = np.abs(apart[::3, ::3][counted > 0.5 * counted.max()])
        # Half a grey level is rounding.
        typical = (1.4826 * float(np.median(seen)) if seen.size else 0.0) + 0.5
        sums = np.zeros((5, -(-rows // CELL), -(-columns // CELL)), np.float32)
        scale = np.float32(1 / (self.settings.tolerance * typical))
        kernels.normal_equations(mean, apart, trust, np.float32(length), scale, CELL, sums)

        def blurred(plane: Plane, deviation: float) -> Plane:
            return np.asarray(cv2.GaussianBlur(plane, (0, 0), deviation / CELL))

        a, b, d, p, q = (blurred(plane, window) for plane in sums)
        cells = [cv2.resize(part, a.shape[::-1], interpolation=cv2.INTER_AREA) for part in field]
        stiff = 0.5 * (a + d)
        ridge = np.float32(self.settings.ridge * float(stiff.mean()) + 1e-9)
        near = blurred(stiff, 2 * window) + 1e-9
        # Where the window is flat the step leads to the average of the surroundings, by their stiffness.
        p, q = (
            ridge * (blurred(stiff * part, 2 * window) / near - part) - side
            for part, side in zip(cells, (p, q))
        )
        a, d = a + ridge, d + ridge
        determinant = a * d - b * b
        u, v = (d * p - b * q) / determinant, (a * q - b * p) / determinant
        # A linearisation holds for about half a pixel at either end.
        held = np.minimum(1, 1 / np.maximum(length * np.hypot(u, v), 1e-9))
        whole = (sums.shape[2] * CELL, sums.shape[1] * CELL)
        step = [cv2.resize(part * held, whole)[:rows, :columns] for part in (u, v)]
        return np.ascontiguousarray(field + np.stack(step), np.float32)
