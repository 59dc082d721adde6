"""The div–curl estimator: dense motion whose divergence and curl are smooth, from coarse to fine.

Courty & Corpetti 2007, section 3.1 (Courty 2013, section 6.1) and, with first differences, Horn and Schunck.
Summed over the plane, the squared gradients of divergence and curl are the squared second derivatives of both
components: the two have the same interior equation and differ at the border only, where the first leaves
every harmonic motion undetermined and the second just the affine ones, six numbers. That is why the second
form is used. Terms that touch a masked pixel are cut. The papers leave the numerical scheme open; this one
takes a few linearisations a level, each with robust penalties reweighted (section 5.1) and solved by
conjugate gradients. It is as published, for comparison. Cost: two microseconds a pixel on one core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marey._arrays import BoolArray
from marey.crowd.capture import framing
from marey.crowd.capture.framing import Grey as Plane
from marey.errors import InputError

ROBUST = ("quadratic", "charbonnier", "geman-mcclure")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the estimator minimises, and how.

    Attributes:
        alpha: Weight of the regulariser for brightness from 0 to 255, as published.
        order: 2, the div–curl regulariser, or 1, that of Horn and Schunck.
        robust: Penalty of the data term: "quadratic", "charbonnier" or "geman-mcclure".
        tolerance: Scale of that penalty in medians of the residual.
        shortest_wave: Pixels of a coarse level below which motion is smoothed, so that it holds together.
        warps: Linearisations a level.
        iterations: Solver steps in each linearisation.
        residual: Share of the residual at which the solver stops.
    """

    alpha: float = 250.0
    order: int = 2
    robust: str = "charbonnier"
    tolerance: float = 3.0
    shortest_wave: float = 6.0
    warps: int = 5
    iterations: int = 60
    residual: float = 1e-3

    def __post_init__(self) -> None:
        if self.order not in (1, 2):
            raise InputError(f"order: 1 or 2, not {self.order!r}")
        if self.robust not in ROBUST:
            raise InputError(f"robust: one of {', '.join(ROBUST)}, not {self.robust!r}")
        for name in ("alpha", "tolerance"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"{name}: must be positive, got {getattr(self, name)}")
        for name in ("warps", "iterations"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: at least 1, got {getattr(self, name)}")


class DivCurl:
    """The estimator for pairs of one size: what depends on size and mask is made once.

    Args:
        shape: Rows and columns.
        mask: `(rows, columns)`, True where the image counts; None = everywhere.
        settings: What is minimised.
    """

    def __init__(self, shape: tuple[int, int], mask: BoolArray | None, settings: Settings) -> None:
        self.settings, self.mask = settings, mask
        self.shapes = framing.pyramid_sizes(*shape)
        whole = np.ones(shape, dtype=np.bool_) if mask is None else mask
        self.masks = framing.pyramid_masks(whole, self.shapes)
        self.opened = [open_terms(level, settings.order) for level in self.masks]
        self._last: tuple[Plane, list[Plane]] | None = None

    def __call__(self, first: Plane, second: Plane, weight: Plane | None = None) -> Plane:
        """The field `(2, rows, columns)` from `first` to `second`."""
        before, after = self._stacks(first), self._stacks(second)
        self._last = (second, after)
        weights: list[Plane | None] = [None] * len(self.shapes)
        if weight is not None or self.mask is not None:
            given = np.ones(self.shapes[0], np.float32) if weight is None else weight
            weights = [
                share * mask for share, mask in zip(framing.pyramid_weights(given, self.shapes), self.masks)
            ]
        field = np.zeros((2, *self.shapes[-1]), np.float32)
        for level in range(len(self.shapes) - 1, -1, -1):
            field = framing.resized_field(self._unmasked(field), self.shapes[level])
            field = self._refine(before[level], after[level], field, weights[level], level)
        return field

    def _stacks(self, image: Plane) -> list[Plane]:
        if self._last is not None and np.array_equal(self._last[0], image):
            return self._last[1]
        whole = framing.filled(image, self.mask)
        return [level[None] for level in framing.pyramid_images(whole, self.shapes)]

    def _refine(self, first: Plane, second: Plane, field: Plane, weight: Plane | None, level: int) -> Plane:
        from marey.crowd.capture._kernels import conjugate_gradients

        settings = self.settings
        # The coarsest level has to reach across areas without data, whatever that takes.
        far = 5 if 0 < level == len(self.shapes) - 1 else 1
        for warp in range(settings.warps):
            term = linearised(
                first, second, field, weight, penalty=settings.robust, tolerance=settings.tolerance
            )
            matrices, right = term.system(field)
            weights = np.float32(self._alpha(level, _stiffness(matrices, term.weight))) * self.opened[level]
            steps = (far if warp == 0 else 1) * settings.iterations
            field = field.copy()
            conjugate_gradients(matrices, right, weights, field, settings.order, steps, settings.residual)
        return field

    def _alpha(self, level: int, stiffness: float) -> float:
        settings = self.settings
        if level == 0:
            return settings.alpha
        # Lengths shrink by 2^level, velocities with them: second differences grow as much, first ones not.
        # Coarse levels, which only prepare the finest, must not fall apart into single pixels.
        balanced = max(stiffness, 1e-12) * (settings.shortest_wave / (2 * math.pi)) ** (2 * settings.order)
        return max(settings.alpha * 2.0 ** (2 * level * (1 - settings.order)), balanced)

    def _unmasked(self, field: Plane) -> Plane:
        """`field` with masked pixels continued from around them, so that filters may cross them."""
        if self.mask is None:
            return field
        level = next(mask for mask in self.masks if mask.shape == field.shape[1:])
        return np.stack([framing.filled(plane, level) for plane in field])


@dataclass(frozen=True, eq=False)
class DataTerm:
    """The data term near one field: `constants + slopes · v` is the residual of each channel.

    Attributes:
        slopes: `(channels, 2, rows, columns)`.
        constants: `(channels, rows, columns)`.
        weight: `(rows, columns)`, zero where the pixel does not count or moves out of the image.
        scale: One over the scale of the penalty.
        penalty: Its name.
    """

    slopes: Plane
    constants: Plane
    weight: Plane
    scale: float
    penalty: str

    def system(self, field: Plane) -> tuple[Plane, Plane]:
        """The reweighted normal equations at `field` `(2, rows, columns)`.

        Returns:
            Matrices `(3, rows, columns)` (uu, uv, vv) and right-hand sides `(2, rows, columns)`.
        """
        from marey.crowd.capture._kernels import PENALTIES, data_system

        matrices = np.empty((3, *self.weight.shape), dtype=np.float32)
        right = np.empty((2, *self.weight.shape), dtype=np.float32)
        numbers = (self.scale, PENALTIES[self.penalty])
        data_system(self.slopes, self.constants, field, self.weight, *numbers, matrices, right)
        return matrices, right


def linearised(
    first: Plane,
    second: Plane,
    field: Plane,
    weight: Plane | None,
    *,
    penalty: str,
    tolerance: float = 1.0,
) -> DataTerm:
    """The data term of two stacks of channels near `field` (Courty & Corpetti 2007, section 2.2).

    Args:
        first: `(channels, rows, columns)`.
        second: As `first`.
        field: `(2, rows, columns)`.
        weight: `(rows, columns)`, what pixels count for; None = all the same.
        penalty: One of the robust penalties of :class:`Settings`.
        tolerance: The penalty's scale in medians of the residual.
    """
    from marey.crowd.capture import _kernels as kernels

    count, rows, columns = first.shape
    warped = np.empty_like(first)
    outer = np.empty((rows, columns), dtype=np.float32)
    kernels.warp(second, field, warped, outer)
    slopes = np.empty((count, 2, rows, columns), dtype=np.float32)
    for mean, (along_x, along_y) in zip(0.5 * (first + warped), slopes):
        kernels.differentiate(mean, along_x, along_y)
    constants = warped - first - slopes[:, 0] * field[0] - slopes[:, 1] * field[1]
    if weight is not None:
        outer *= weight
    # Every third pixel of every third row is enough to find scales.
    trust = outer[::3, ::3]
    counted = trust > 0
    trust = trust[counted]
    steep = (slopes[..., ::3, ::3] ** 2).sum((0, 1))[counted]
    stiffness = float((steep * trust).sum() / trust.sum()) if steep.size else 0.0
    scale = 0.0
    if penalty != "quadratic":
        before, met, after = (stack[..., ::3, ::3] for stack in (first, warped, second))
        typical = _typical_residual(before, met, after, counted)
        # No residual below what a shift of a hundredth of a pixel makes is an outlier.
        scale = tolerance * typical + 0.01 * math.sqrt(stiffness)
    return DataTerm(slopes, constants, outer, 1.0 / scale if scale > 0 else 1.0, penalty)


def _typical_residual(first: Plane, warped: Plane, second: Plane, counted: BoolArray) -> float:
    """Median residual of the pixels that change by more than a grey level, of all if few do.

    If pixels at rest were included, people in front of them would be outliers in a video without noise.
    """
    apart = ((warped - first) ** 2).sum(0)[counted]
    changed = apart[((second - first) ** 2).sum(0)[counted] > 1.0]
    judged = changed if changed.size > 0.01 * apart.size else apart
    return float(np.sqrt(np.median(judged))) if judged.size else 0.0


def _stiffness(matrices: Plane, weight: Plane) -> float:
    """How strongly the data hold a pixel that counts: few pixels that count, or little, change nothing.

    The mean over pixels in proportion to their weight; for weights of 0 and 1, over those that count.
    """
    total = float(weight.sum(dtype=np.float64))
    if total <= 0:
        return 0.0
    typical = float(np.square(weight, dtype=np.float64).sum()) / total
    trace = float(matrices[0].sum(dtype=np.float64) + matrices[2].sum(dtype=np.float64))
    return 0.5 * trace / total * typical


def open_terms(mask: BoolArray, order: int) -> Plane:
    """1 for each difference that lies wholly within the mask and the image, else 0: `(terms, rows, columns)`.

    The terms are xx, xy, yy (order 2), or right, down (order 1).

    >>> open_terms(np.ones((3, 3), dtype=bool), 2).sum(axis=(1, 2))
    array([3., 4., 3.], dtype=float32)
    """
    opened = np.zeros((order + 1, *mask.shape), dtype=np.float32)
    if order == 1:
        opened[0, :, :-1] = mask[:, :-1] & mask[:, 1:]
        opened[1, :-1] = mask[:-1] & mask[1:]
    else:
        opened[0, :, 1:-1] = mask[:, :-2] & mask[:, 1:-1] & mask[:, 2:]
        opened[1, :-1, :-1] = mask[:-1, :-1] & mask[:-1, 1:] & mask[1:, :-1] & mask[1:, 1:]
        opened[2, 1:-1] = mask[:-2] & mask[1:-1] & mask[2:]
    return opened
