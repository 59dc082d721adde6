"""OpenCV's estimators behind the same call: dense inverse search and Farnebäck's polynomials.

For speed, for a first guess, and to compare with. They know no masks: what a mask hides is filled smoothly
before and means nothing after. Cost: 0.02 to 0.5 microseconds a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.crowd.estimation import pyramid
from marey.errors import InputError

Plane = NDArray[np.float32]

PRESETS = {"ultrafast": 0, "fast": 1, "medium": 2}
# Dense inverse search takes patches of 8 pixels on at least one halved level.
SMALLEST_FOR_DIS = 32


@dataclass(frozen=True, kw_only=True)
class DisSettings:
    """preset: "ultrafast", "fast" or "medium", from quick to exact."""

    preset: str = "medium"

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise InputError(f"preset: one of {', '.join(PRESETS)}, not '{self.preset}'")


@dataclass(frozen=True, kw_only=True)
class FarnebackSettings:
    """levels: of the pyramid; window: pixels; iterations: a level; neighbourhood: pixels of a polynomial
    (5 or 7), deviation: of its Gaussian."""

    levels: int = 5
    window: int = 15
    iterations: int = 5
    neighbourhood: int = 7
    deviation: float = 1.5

    def __post_init__(self) -> None:
        if min(self.levels, self.window, self.iterations, self.neighbourhood) < 1 or not self.deviation > 0:
            raise InputError("levels, window, iterations, neighbourhood and deviation must be positive")


class Dis:
    """Dense inverse search (Kroeger et al. 2016)."""

    def __init__(self, rows: int, columns: int, mask: BoolArray | None, settings: DisSettings) -> None:
        import cv2

        if min(rows, columns) < SMALLEST_FOR_DIS:
            raise InputError(
                f"engine dis: images of {rows} × {columns} pixels are too small, {SMALLEST_FOR_DIS} at least;"
                " choose divcurl, hs, lk or farneback"
            )
        self.mask = mask
        # The type information of OpenCV does not list it in every release.
        self.engine = getattr(cv2, "DISOpticalFlow_create")(PRESETS[settings.preset])  # noqa: B009

    def __call__(
        self, first: Plane, second: Plane, weight: Plane | None = None, initial: Plane | None = None
    ) -> Plane:
        guess = None if initial is None else np.ascontiguousarray(np.moveaxis(initial, 0, -1))
        return _planes(self.engine.calc(_grey(first, self.mask), _grey(second, self.mask), guess))


class Farneback:
    """Polynomial expansion (Farnebäck 2003)."""

    def __init__(self, rows: int, columns: int, mask: BoolArray | None, settings: FarnebackSettings) -> None:
        self.mask, self.settings = mask, settings

    def __call__(
        self, first: Plane, second: Plane, weight: Plane | None = None, initial: Plane | None = None
    ) -> Plane:
        import cv2

        settings = self.settings
        guess: Any = None if initial is None else np.ascontiguousarray(np.moveaxis(initial, 0, -1)).copy()
        found = cv2.calcOpticalFlowFarneback(
            _grey(first, self.mask),
            _grey(second, self.mask),
            guess,
            0.5,
            settings.levels,
            settings.window,
            settings.iterations,
            settings.neighbourhood,
            settings.deviation,
            0 if guess is None else cv2.OPTFLOW_USE_INITIAL_FLOW,
        )
        return _planes(found)


def _grey(image: Plane, mask: BoolArray | None) -> NDArray[np.uint8]:
    whole = image if mask is None else pyramid.filled(image, mask)
    return np.clip(np.rint(whole), 0, 255).astype(np.uint8)


def _planes(flow: Any) -> Plane:
    return np.ascontiguousarray(np.moveaxis(flow, -1, 0), dtype=np.float32)
