"""The div–curl estimator: dense motion whose divergence and curl are smooth, from coarse to fine.

Courty & Corpetti 2007, section 3.1 (Courty 2013, section 6.1) and, with first differences, Horn and Schunck.
Summed over the plane, the squared gradients of divergence and curl are the squared second derivatives of both
components: the two have the same interior equation and differ at the border only, where the first leaves
every harmonic motion undetermined and the second just the affine ones, six numbers. That is why the second
form is used. Terms that touch a masked pixel are cut. The papers leave the numerical scheme open; this one
takes a few linearisations a level, each with robust penalties reweighted (section 5.1) and solved by
conjugate gradients. Cost: two to three microseconds a pixel on one core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marey._arrays import BoolArray
from marey.crowd.capture import framing
from marey.crowd.capture.framing import Grey as Plane
from marey.errors import InputError

CHOICES: dict[str, tuple[str | int | None, ...]] = {
    "motion": ("seen", "crowd"),
    "order": (1, 2),
    "smoothness": (None, "robust", "quadratic"),
    "robust": (None, "quadratic", "charbonnier", "geman-mcclure"),
    "constancy": (None, "brightness", "gradient"),
    "median": (None, 0, 3, 5),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the estimator minimises, and how; what is None is chosen by :meth:`completed`.

    Attributes:
        motion: "seen", what each pixel shows, breaking at the edges of people; or "crowd", the smooth flow
            that people follow, in which pixels count by how much they change. It decides on wavelength,
            smoothness, robust and median where not given.
        alpha: Weight of the regulariser for brightness from 0 to 255 (published: 250); None = from the data,
            through `wavelength`.
        wavelength: Pixels; motion of shorter waves is smoothed away.
        shortest_wave: Pixels of a level that a wave has at least, so that it differs from the grid.
        order: 2, the div–curl regulariser, or 1, that of Horn and Schunck.
        smoothness: "quadratic", as published, or "robust", which lets motion break at edges.
        robust_scale: px/frame per px (order 1) or per px² (order 2) beyond which the robust one yields.
        robust: Penalty of the data term: "quadratic", "charbonnier" or "geman-mcclure".
        tolerance: Scale of that penalty in medians of the residual.
        constancy: What stays the same from image to image: "brightness" or "gradient", which shadows and
            changes of exposure do not disturb.
        normalise: How much strong edges are held back, 0 = not at all.
        least_change: Grey levels of change at which a pixel counts half in the motion of a crowd.
        still_weight: What a pixel without change counts there.
        warps: Linearisations a level.
        iterations: Solver steps in each linearisation.
        residual: Share of the residual at which the solver stops.
        median: Side of the median filter after each warp, pixels; 0 = none.
    """

    motion: str = "seen"
    alpha: float | None = None
    wavelength: float | None = None
    shortest_wave: float = 6.0
    order: int = 2
    smoothness: str | None = None
    robust_scale: float = 0.02
    robust: str | None = None
    tolerance: float = 3.0
    constancy: str | None = None
    normalise: float = 1.0
    least_change: float = 2.8
    still_weight: float = 0.01
    warps: int = 5
    iterations: int = 12
    residual: float = 1e-3
    median: int | None = None

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                listed = ", ".join(str(choice) for choice in known if choice is not None)
                raise InputError(f"{name}: one of {listed}, not {getattr(self, name)!r}")
        for name in ("alpha", "wavelength", "robust_scale", "tolerance"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(f"{name}: must be positive, got {value}")
        for name in ("warps", "iterations"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: at least 1, got {getattr(self, name)}")
        if not (math.isfinite(self.normalise) and self.normalise >= 0):
            raise InputError(f"normalise: must not be negative, got {self.normalise}")

    def completed(self, rows: int, columns: int) -> Settings:
        """The settings in effect for images of that size: nothing but `alpha` is None.

        A given alpha means the published energy: brightness alone, a quadratic regulariser, no filter.

        >>> Settings(motion="crowd").completed(480, 640).wavelength
        120.0
        """
        published, smooth = self.alpha is not None, self.motion == "crowd"
        chosen: dict[str, Any] = {
            "wavelength": max(12.0, min(rows, columns) / 4) if smooth else 12.0,
            "smoothness": "quadratic" if published or smooth else "robust",
            "constancy": "brightness" if published else "gradient",
            "median": 0 if published or smooth else 5,
            # Where most of the image is ground at rest, a robust penalty would give up the people.
            "robust": "quadratic" if smooth else "charbonnier",
        }
        return replace(self, **{name: value for name, value in chosen.items() if getattr(self, name) is None})

    def wavelength_of(self, level: int) -> float:
        """The smoothing wavelength of completed settings, in pixels of a level."""
        return max((self.wavelength or 0.0) / 2.0**level, self.shortest_wave)

    def step_of(self, level: int) -> int:
        """How many pixels of a level share an unknown: a twelfth of the wavelength, a power of two.

        >>> Settings(wavelength=16).step_of(0), Settings(wavelength=64).step_of(0)
        (1, 4)
        """
        if self.alpha is not None:
            return 1
        return int(2 ** max(int(np.floor(np.log2(max(self.wavelength_of(level), 1.0) / 12.0))), 0))


class DivCurl:
    """The estimator for pairs of one size: what depends on size and mask is made once.

    Args:
        shape: Rows and columns.
        mask: `(rows, columns)`, True where the image counts; None = everywhere.
        settings: What is minimised.
    """

    def __init__(self, shape: tuple[int, int], mask: BoolArray | None, settings: Settings) -> None:
        self.settings = settings = settings.completed(*shape)
        self.shapes = framing.pyramid_sizes(*shape)
        self.mask = mask
        whole = np.ones(shape, dtype=np.bool_) if mask is None else mask
        self.masks = framing.pyramid_masks(whole, self.shapes)
        self.opened = [
            open_terms(coarse_mask(level, settings.step_of(k)), settings.order)
            for k, level in enumerate(self.masks)
        ]
        self._last: tuple[Plane, list[Plane]] | None = None

    def __call__(self, first: Plane, second: Plane, weight: Plane | None = None) -> Plane:
        """The field `(2, rows, columns)` from `first` to `second`."""
        before, after = self._stacks(first), self._stacks(second)
        self._last = (second, after)
        if self.settings.motion == "crowd" and self.settings.alpha is None:
            changing = change_weight(first, second, self.settings)
            weight = changing if weight is None else weight * changing
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
        return [
            channels(level, self.settings.constancy) for level in framing.pyramid_images(whole, self.shapes)
        ]

    def _refine(self, first: Plane, second: Plane, field: Plane, weight: Plane | None, level: int) -> Plane:
        from cv2 import medianBlur

        settings = self.settings
        free = settings.alpha is None
        step = settings.step_of(level)
        # The finest level starts from a field that is close; blocks and coarse levels are cheap. The coarsest
        # one has to reach across areas without data, whatever that takes.
        effort = min(2**level, 5) if step == 1 and free else 5
        reach = 25 if 0 < level == len(self.shapes) - 1 else effort
        for warp in range(settings.warps):
            term = linearised(
                first,
                second,
                field,
                weight,
                penalty=settings.robust or "charbonnier",
                tolerance=settings.tolerance,
                unit_stiffness=free,
                normalise=settings.normalise if free else 0.0,
            )
            matrices, right = term.system(field)
            field = improve(
                matrices,
                right,
                field,
                self.opened[level],
                alpha=self._alpha(level, _stiffness(matrices, term.weight)),
                robust_scale=settings.robust_scale if settings.smoothness == "robust" else 0.0,
                step=step,
                iterations=(reach if warp == 0 else effort) * settings.iterations,
                residual=settings.residual,
            )
            if settings.median:
                whole = self._unmasked(field)
                field = np.stack([medianBlur(plane, settings.median) for plane in whole])
        return field

    def _alpha(self, level: int, stiffness: float) -> float:
        settings = self.settings
        wave = settings.wavelength_of(level) if settings.alpha is None else settings.shortest_wave
        balanced = max(stiffness, 1e-12) * (wave / (2 * math.pi)) ** (2 * settings.order)
        if settings.alpha is None:
            return balanced
        # Lengths shrink by 2^level, velocities with them: second differences grow as much, first ones not.
        # Coarse levels, which only prepare the finest, must not fall apart into single pixels.
        scaled = settings.alpha * 2.0 ** (2 * level * (1 - settings.order))
        return max(scaled, balanced) if level else scaled

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
        share: Factor of the whole term.
        penalty: Its name.
    """

    slopes: Plane
    constants: Plane
    weight: Plane
    scale: float
    share: float
    penalty: str

    def system(self, field: Plane) -> tuple[Plane, Plane]:
        """The reweighted normal equations at `field` `(2, rows, columns)`.

        Returns:
            Matrices `(3, rows, columns)` (uu, uv, vv) and right-hand sides `(2, rows, columns)`.
        """
        from marey.crowd.capture._kernels import PENALTIES, data_system

        matrices = np.empty((3, *self.weight.shape), dtype=np.float32)
        right = np.empty((2, *self.weight.shape), dtype=np.float32)
        numbers = (self.scale, self.share, PENALTIES[self.penalty])
        data_system(self.slopes, self.constants, field, self.weight, *numbers, matrices, right)
        return matrices, right


def channels(image: Plane, constancy: str | None) -> Plane:
    """What has to stay the same from image to image, `(channels, rows, columns)`."""
    from marey.crowd.capture._kernels import differentiate

    if constancy == "brightness":
        return np.ascontiguousarray(image[None], dtype=np.float32)
    slopes = np.empty((2, *image.shape), dtype=np.float32)
    differentiate(image, slopes[0], slopes[1])
    return slopes


def change_weight(first: Plane, second: Plane, settings: Settings) -> Plane:
    """What pixels count for in the motion of a crowd, `(rows, columns)`, near 0 where nothing changes.

    The ground behind people does not change, and it must not hold them back.

    >>> still, bright = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    >>> bright[6:10, 6:10] = 100
    >>> change_weight(still, bright, Settings())[[0, 8], [0, 8]].round(2)
    array([0.01, 1.  ], dtype=float32)
    """
    from cv2 import GaussianBlur

    apart = GaussianBlur(second, (0, 0), 1.0) - GaussianBlur(first, (0, 0), 1.0)
    apart = np.square(apart - np.median(apart[::3, ::3]))
    still, half = np.float32(settings.still_weight), np.float32(settings.least_change)
    return np.asarray(still + (1 - still) * apart / (apart + half**2), dtype=np.float32)


def linearised(
    first: Plane,
    second: Plane,
    field: Plane,
    weight: Plane | None,
    *,
    penalty: str,
    tolerance: float = 1.0,
    unit_stiffness: bool = True,
    normalise: float = 0.0,
) -> DataTerm:
    """The data term of two stacks of :func:`channels` near `field` (Courty & Corpetti 2007, section 2.2).

    Args:
        first: `(channels, rows, columns)`.
        second: As `first`.
        field: `(2, rows, columns)`.
        weight: `(rows, columns)`, what pixels count for; None = all the same.
        penalty: One of the robust penalties of :class:`Settings`.
        tolerance: The penalty's scale in medians of the residual.
        unit_stiffness: Divide by the mean squared slope, so that a unit of energy is a squared pixel.
        normalise: How much strong edges are held back, 0 = not at all.
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
    share = 1.0
    if unit_stiffness:
        share = 1.0 / stiffness if stiffness > 0 else 0.0
    if normalise and stiffness > 0:
        outer /= 1 + np.float32(normalise / stiffness) * np.square(slopes).sum(axis=(0, 1))
    return DataTerm(slopes, constants, outer, 1.0 / scale if scale > 0 else 1.0, share, penalty)


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


def reweighted(field: Plane, opened: Plane, alpha: float, scale: float) -> Plane:
    """Weights `alpha / √(1 + |D field|² / scale²)` of the open terms: bends beyond `scale` count less.

    Args:
        field: `(2, rows, columns)`.
        opened: See :func:`open_terms`.
        alpha: Weight of the regulariser.
        scale: px/frame per px (order 1) or px² (order 2); 0 = all terms the same, the quadratic form.
    """
    if scale <= 0:
        return np.float32(alpha) * opened
    bends = np.square(_differences(field, len(opened) - 1)).sum(axis=(0, 1))
    return np.asarray(np.float32(alpha) / np.sqrt(1 + np.float32(scale**-2) * bends) * opened)


def _differences(field: Plane, order: int) -> Plane:
    """x, y (order 1) or xx, √2 xy, yy (order 2) of a field `(2, rows, columns)`, central, terms first."""
    wide = np.pad(field, ((0, 0), (1, 1), (1, 1)), mode="edge")
    if order == 1:
        return np.float32(0.5) * np.stack(
            [wide[:, 1:-1, 2:] - wide[:, 1:-1, :-2], wide[:, 2:, 1:-1] - wide[:, :-2, 1:-1]]
        )
    xx = wide[:, 1:-1, 2:] - 2 * field + wide[:, 1:-1, :-2]
    yy = wide[:, 2:, 1:-1] - 2 * field + wide[:, :-2, 1:-1]
    xy = wide[:, :-2, :-2] - wide[:, :-2, 2:] - wide[:, 2:, :-2] + wide[:, 2:, 2:]
    yy[:, [0, -1]] = 0
    bends = np.stack([xx, np.float32(0.25 * math.sqrt(2.0)) * xy, yy])
    if field.shape[2] > 2:
        bends[..., [0, -1]] = bends[..., [1, -2]]
    return bends


def improve(
    matrices: Plane,
    right: Plane,
    field: Plane,
    opened: Plane,
    *,
    alpha: float,
    robust_scale: float,
    step: int,
    iterations: int,
    residual: float = 1e-3,
) -> Plane:
    """`field` after a step towards the minimum of data term plus regulariser.

    A field that is smooth over a wavelength is described by one number in a twelfth of that: the data of
    blocks of pixels are added up, the correction is found for the blocks and interpolated back. Conjugate
    gradients with each pixel's own block inverted then need about ten steps at any wavelength.

    Args:
        matrices: Of the normal equations of :meth:`DataTerm.system`.
        right: Their right-hand sides.
        field: `(2, rows, columns)`.
        opened: Of the grid of blocks of `step` pixels, see :func:`coarse_mask`.
        alpha: Weight of the regulariser in pixels of the fine grid.
        robust_scale: See :class:`Settings`; 0 = quadratic.
        step: Pixels along the side of a block.
        iterations: Of the solver.
        residual: Share of the residual at which it stops.
    """
    from marey.crowd.capture._kernels import conjugate_gradients

    order = len(opened) - 1
    if step == 1:
        weights = reweighted(field, opened, alpha, robust_scale)
        improved = field.copy()
        conjugate_gradients(matrices, right, weights, improved, order, iterations, residual)
        return improved
    from cv2 import INTER_CUBIC, resize

    rows, columns = field.shape[1:]
    data = np.stack([_blocks(plane, step) for plane in matrices])
    old = np.stack([_blocks(plane, step, mean=True) for plane in field])
    # Right-hand sides hold for the field itself: ask for the correction of the blocks instead.
    needed = np.stack([_blocks(plane, step) for plane in right - _times(matrices, field)])
    needed += _times(data, old)
    weights = reweighted(old, opened, alpha * float(step) ** (2 - 2 * order), robust_scale * step**order)
    new = old.copy()
    conjugate_gradients(data, needed, weights, new, order, iterations, residual)
    whole = (opened.shape[2] * step, opened.shape[1] * step)
    change = [resize(plane, whole, interpolation=INTER_CUBIC)[:rows, :columns] for plane in new - old]
    return np.ascontiguousarray(field + np.stack(change), dtype=np.float32)


def coarse_mask(mask: BoolArray, step: int) -> BoolArray:
    """Which blocks of `step` pixels hold a pixel that counts."""
    return np.asarray(_blocks(mask.astype(np.float32), step) > 0) if step > 1 else mask


def _times(matrices: Plane, field: Plane) -> Plane:
    a, b, d = matrices
    return np.stack([a * field[0] + b * field[1], b * field[0] + d * field[1]])


def _blocks(plane: Plane, step: int, mean: bool = False) -> Plane:
    """Sums over blocks of pixels, or means; the last ones may be cut off by the border."""
    rows, columns = plane.shape
    below, beside = -rows % step, -columns % step
    if below or beside:
        plane = np.pad(plane, ((0, below), (0, beside)), mode="edge" if mean else "constant")
    sums = plane.reshape(plane.shape[0] // step, step, -1, step).sum(axis=(1, 3), dtype=np.float32)
    return np.asarray(sums / np.float32(step * step) if mean else sums)
