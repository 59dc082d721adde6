"""Coarse to fine: warp, linearise, reweight, solve, at every level of the pyramid.

The div–curl estimator of Courty & Corpetti 2007, section 3.1 (Courty 2013, section 6.1) and, with first
differences, that of Horn and Schunck. The source leaves the numerical scheme open; this one takes a few
linearisations a level, each with a few reweightings of the robust penalties and conjugate gradients in
between. Cost: two to three microseconds a pixel on one core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.crowd.estimation import data_term, pyramid, smoothness, solver
from marey.errors import InputError

Plane = NDArray[np.float32]

MOTIONS = ("seen", "crowd")
# Below this many pixels of a level a wave cannot be told from the grid.
SHORTEST_WAVE = 6.0
# Smoothing wavelength for what each pixel shows, and for the crowd's flow as a share of the smaller side.
SEEN_WAVE, CROWD_SHARE = 12.0, 1.0 / 4.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a variational engine minimises, and how; what is None is chosen by :meth:`completed`.

    motion: "seen", what each pixel shows, breaking at the edges of people; or "crowd", the smooth flow that
        people follow, in which pixels count by how much they change. It decides on wavelength, smoothness,
        robust and median where not given
    alpha: weight of the regulariser for brightness from 0 to 255, as the source has it (250); None = from
        the data, through `wavelength`
    wavelength: pixels; motion of shorter waves is smoothed away
    order: 2, the div–curl regulariser, or 1, that of Horn and Schunck
    smoothness: "quadratic", the source's, or "robust", which lets motion break at the edges of things
    bend: px/frame per px (order 1) or per px² (order 2) beyond which the robust one gives way
    robust: penalty of the data term, one of `data_term.PENALTIES`
    tolerance: scale of that penalty in medians of the residual
    constancy: what stays the same from image to image: "brightness", "gradient" or "both"
    normalise: how much strong edges are held back
    levels: of the pyramid, None = as many as there are
    warps, reweightings, iterations: linearisations a level, reweightings in each, solver steps in those
    median: side of the median filter after each warp, 0 = none
    """

    motion: str = "seen"
    alpha: float | None = None
    wavelength: float | None = None
    order: int = 2
    smoothness: str | None = None
    bend: float = 0.02
    robust: str | None = None
    tolerance: float = 3.0
    constancy: str | None = None
    normalise: float = 1.0
    levels: int | None = None
    warps: int = 5
    reweightings: int = 1
    iterations: int = 12
    median: int | None = None

    def __post_init__(self) -> None:
        choices: dict[str, tuple[Any, ...]] = {
            "motion": MOTIONS,
            "order": tuple(smoothness.TERMS),
            "smoothness": (None, "robust", "quadratic"),
            "robust": (None, *data_term.PENALTIES),
            "constancy": (None, *data_term.CONSTANCIES),
            "median": (None, 0, 3, 5),
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                listed = ", ".join(str(choice) for choice in known if choice is not None)
                raise InputError(f"{name}: one of {listed}, not {getattr(self, name)!r}")
        for name in ("alpha", "wavelength", "bend", "tolerance"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(f"{name}: must be positive, got {value}")
        for name in ("warps", "reweightings", "iterations", "levels"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name}: at least 1, got {value}")
        if not (math.isfinite(self.normalise) and self.normalise >= 0):
            raise InputError(f"normalise: must not be negative, got {self.normalise}")

    def completed(self, rows: int, columns: int) -> Settings:
        """The settings in effect for images of that size: nothing but `alpha` and `levels` is None.

        A given alpha means the source's energy: brightness alone, a quadratic regulariser, no filter.

        >>> Settings(motion="crowd").completed(480, 640).wavelength
        120.0
        """
        source, smooth = self.alpha is not None, self.motion == "crowd"
        wave = max(SEEN_WAVE, CROWD_SHARE * min(rows, columns)) if smooth else SEEN_WAVE
        chosen: dict[str, Any] = {
            "wavelength": wave,
            "smoothness": "quadratic" if source or smooth else "robust",
            "constancy": "brightness" if source else "gradient",
            "median": 0 if source or smooth else 5,
            # Where most of the picture is ground at rest, people are what a robust penalty would give up.
            "robust": "quadratic" if smooth else "charbonnier",
        }
        return replace(self, **{name: value for name, value in chosen.items() if getattr(self, name) is None})

    def wavelength_of(self, level: int) -> float:
        """The smoothing wavelength in pixels of a level."""
        return max((self.wavelength or SEEN_WAVE) / 2.0**level, SHORTEST_WAVE)

    def step_of(self, level: int) -> int:
        """How many pixels of a level share an unknown."""
        return solver.grid_step(self.wavelength_of(level)) if self.alpha is None else 1


class Variational:
    """An engine for pairs of one size: what depends on size and mask is made once.

    mask: `(rows, columns)`, True where the image counts, None = everywhere
    """

    def __init__(self, rows: int, columns: int, mask: BoolArray | None, settings: Settings) -> None:
        self.settings = settings = settings.completed(rows, columns)
        self.shapes = pyramid.sizes(rows, columns, levels=settings.levels)
        self.mask = mask
        whole = np.ones((rows, columns), dtype=np.bool_) if mask is None else mask
        self.masks = pyramid.masks(whole, self.shapes)
        self.opened = [
            smoothness.open_terms(solver.coarse_mask(level, settings.step_of(k)), settings.order)
            for k, level in enumerate(self.masks)
        ]
        self._last: tuple[Any, list[Plane]] | None = None

    def __call__(
        self, first: Plane, second: Plane, weight: Plane | None = None, initial: Plane | None = None
    ) -> Plane:
        """The field `(2, rows, columns)` from `first` to `second`."""
        before, after = self._stacks(first), self._stacks(second)
        self._last = (second, after)
        if self.settings.motion == "crowd" and self.settings.alpha is None:
            changing = data_term.change(first, second)
            weight = changing if weight is None else weight * changing
        weights: list[Plane | None] = [None] * len(self.shapes)
        if weight is not None or self.mask is not None:
            given = np.ones(self.shapes[0], np.float32) if weight is None else weight
            weights = [share * mask for share, mask in zip(pyramid.weights(given, self.shapes), self.masks)]
        start = np.zeros((2, *self.shapes[0]), np.float32) if initial is None else initial
        field = pyramid.resized_field(start, self.shapes[-1])
        for level in range(len(self.shapes) - 1, -1, -1):
            field = pyramid.resized_field(self._unmasked(field), self.shapes[level])
            field = self._refine(before[level], after[level], field, weights[level], level)
        return field

    def _stacks(self, image: Plane) -> list[Plane]:
        if self._last is not None and np.array_equal(self._last[0], image):
            return self._last[1]
        whole = image if self.mask is None else pyramid.filled(image, self.mask)
        return [
            data_term.channels(level, self.settings.constancy or "gradient")
            for level in pyramid.images(whole, self.shapes)
        ]

    def _refine(self, first: Plane, second: Plane, field: Plane, weight: Plane | None, level: int) -> Plane:
        from cv2 import medianBlur

        settings = self.settings
        bend = settings.bend if settings.smoothness == "robust" else 0.0
        step = settings.step_of(level)
        # The finest level starts from a field that is close; blocks and coarse levels are cheap. The coarsest
        # one has to reach across areas without data, whatever that takes.
        effort = min(2**level, 5) if step == 1 and settings.alpha is None else 5
        reach = 25 if 0 < level == len(self.shapes) - 1 else effort
        for warp in range(settings.warps):
            term = data_term.linearised(
                first,
                second,
                field,
                weight,
                constancy=settings.constancy or "gradient",
                penalty=settings.robust or "charbonnier",
                tolerance=settings.tolerance,
                unit_stiffness=settings.alpha is None,
                normalise=settings.normalise if settings.alpha is None else 0.0,
            )
            for _ in range(settings.reweightings):
                matrices, right = term.system(field)
                stiffness = _stiffness(matrices, term.weight)
                field = solver.improve(
                    matrices,
                    right,
                    field,
                    self.opened[level],
                    alpha=self._alpha(level, stiffness),
                    bend=bend,
                    step=step,
                    iterations=(effort if warp else reach) * settings.iterations,
                )
            if settings.median:
                whole = self._unmasked(field)
                field = np.stack([medianBlur(plane, settings.median) for plane in whole])
        return field

    def _alpha(self, level: int, stiffness: float) -> float:
        order, given = self.settings.order, self.settings.alpha
        longest = self.settings.wavelength_of(level) if given is None else SHORTEST_WAVE
        balanced = max(stiffness, 1e-12) * (longest / (2 * math.pi)) ** (2 * order)
        if given is None:
            return balanced
        # Lengths shrink by 2^level, velocities with them: second differences grow as much, first ones not.
        # Coarse levels, which only prepare the finest, must not fall apart into single pixels.
        scaled = given * 2.0 ** (2 * level * (1 - order))
        return max(scaled, balanced) if level else scaled

    def _unmasked(self, field: Plane) -> Plane:
        """`field` with masked pixels continued from around them, so that filters may cross them."""
        if self.mask is None:
            return field
        level = next(mask for mask in self.masks if mask.shape == field.shape[1:])
        return np.stack([pyramid.filled(plane, level) for plane in field])


def _stiffness(matrices: Plane, weight: Plane) -> float:
    """How strongly the data hold a pixel that counts: few pixels that count, or little, change nothing.

    The mean over pixels in proportion to their weight; for weights of 0 and 1, over those that count.
    """
    total = float(weight.sum(dtype=np.float64))
    if total <= 0:
        return 0.0
    typical = float(np.square(weight, dtype=np.float64).sum()) / total
    return (
        0.5 * float(matrices[0].sum(dtype=np.float64) + matrices[2].sum(dtype=np.float64)) / total * typical
    )
