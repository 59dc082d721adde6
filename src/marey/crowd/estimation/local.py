"""Local and global least squares: Lucas–Kanade windows and one affine motion for all.

Lucas–Kanade solves the brightness equation in a Gaussian window round each pixel, the parametric engine one
for the whole image in homogeneous coordinates (Courty & Corpetti 2007, section 2.2, equations 2 and 3); both
warp from coarse to fine. Cost: about half a microsecond a pixel on one core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.crowd.estimation import data_term, pyramid
from marey.errors import InputError

Plane = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class WindowSettings:
    """window: standard deviation of the Gaussian window, pixels; ridge: share of the mean stiffness added
    to each window's own, which keeps flat windows still; warps, levels: as in the variational engines."""

    window: float = 5.0
    ridge: float = 0.01
    warps: int = 3
    levels: int | None = None

    def __post_init__(self) -> None:
        if not self.window > 0 or not self.ridge >= 0 or self.warps < 1:
            raise InputError("window must be positive, ridge not negative, warps at least one")


@dataclass(frozen=True, kw_only=True)
class ParametricSettings:
    """robust: penalty of the data term; warps, levels: as in the variational engines."""

    robust: str = "geman-mcclure"
    warps: int = 5
    levels: int | None = None

    def __post_init__(self) -> None:
        if self.robust not in data_term.PENALTIES:
            raise InputError(f"robust: one of {', '.join(data_term.PENALTIES)}, not '{self.robust}'")
        if self.warps < 1:
            raise InputError("warps: at least one")


class _CoarseToFine:
    """The loop both engines share; `_solve` makes the next field of a level."""

    penalty = "quadratic"
    # Standard deviations are compared with the median residual.
    tolerance = 2.5

    def __init__(
        self, rows: int, columns: int, mask: BoolArray | None, *, warps: int, levels: int | None
    ) -> None:
        self.shapes = pyramid.sizes(rows, columns, levels=levels)
        self.mask, self.warps = mask, warps
        self.masks = None if mask is None else pyramid.masks(mask, self.shapes)

    def __call__(
        self, first: Plane, second: Plane, weight: Plane | None = None, initial: Plane | None = None
    ) -> Plane:
        whole = [
            image if self.mask is None else pyramid.filled(image, self.mask) for image in (first, second)
        ]
        before, after = (pyramid.images(image, self.shapes) for image in whole)
        weights: list[Plane | None] = [None] * len(self.shapes)
        if weight is not None:
            weights = list(pyramid.weights(weight, self.shapes))
        if self.masks is not None:
            weights = [m.astype(np.float32) if w is None else w * m for w, m in zip(weights, self.masks)]
        start = np.zeros((2, *self.shapes[0]), np.float32) if initial is None else initial
        field = pyramid.resized_field(start, self.shapes[-1])
        for level in range(len(self.shapes) - 1, -1, -1):
            field = pyramid.resized_field(field, self.shapes[level])
            for _ in range(self.warps):
                term = data_term.linearised(
                    before[level][None],
                    after[level][None],
                    field,
                    weights[level],
                    constancy="brightness",
                    penalty=self.penalty,
                    tolerance=self.tolerance,
                    unit_stiffness=True,
                    normalise=0.0,
                )
                field = self._solve(term, field)
        return field

    def _solve(self, term: data_term.DataTerm, field: Plane) -> Plane:
        raise NotImplementedError


class LucasKanade(_CoarseToFine):
    """Least squares in a Gaussian window round every pixel."""

    def __init__(self, rows: int, columns: int, mask: BoolArray | None, settings: WindowSettings) -> None:
        super().__init__(rows, columns, mask, warps=settings.warps, levels=settings.levels)
        self.settings = settings

    def _solve(self, term: data_term.DataTerm, field: Plane) -> Plane:
        from cv2 import GaussianBlur

        matrices, right = term.system(field)
        a, b, d, p, q = (GaussianBlur(plane, (0, 0), self.settings.window) for plane in (*matrices, *right))
        u, v = (GaussianBlur(plane, (0, 0), self.settings.window) for plane in field)
        # The ridge pulls towards the field so far, smoothed: it decides where the window is flat.
        ridge = np.float32(self.settings.ridge * 0.5 * float((a + d).mean()) + 1e-12)
        a, d, p, q = a + ridge, d + ridge, p + ridge * u, q + ridge * v
        determinant = a * d - b * b
        return np.stack([(d * p - b * q) / determinant, (a * q - b * p) / determinant]).astype(np.float32)


class Parametric(_CoarseToFine):
    """One affine motion `v = Θ (x, y, 1)` of everything, the best one in the robust sense."""

    REWEIGHTINGS = 3

    def __init__(self, rows: int, columns: int, mask: BoolArray | None, settings: ParametricSettings) -> None:
        super().__init__(rows, columns, mask, warps=settings.warps, levels=settings.levels)
        self.penalty = settings.robust

    def _solve(self, term: data_term.DataTerm, field: Plane) -> Plane:
        rows, columns = field.shape[1:]
        y, x = np.mgrid[:rows, :columns].astype(np.float64)
        basis = np.stack([x / columns - 0.5, y / rows - 0.5, np.ones_like(x)]).reshape(3, -1)
        for _ in range(self.REWEIGHTINGS):
            matrices, right = term.system(field)
            uu, uv, vv = (np.einsum("ip,p,jp->ij", basis, m.ravel(), basis, optimize=True) for m in matrices)
            normal = np.block([[uu, uv], [uv.T, vv]])
            wanted = np.concatenate([basis @ plane.ravel() for plane in right])
            # Without texture nothing is known: the least-norm answer stands still.
            theta = np.linalg.lstsq(normal, wanted, rcond=1e-8)[0].reshape(2, 3)
            field = (theta @ basis).reshape(2, rows, columns).astype(np.float32)
        return field
