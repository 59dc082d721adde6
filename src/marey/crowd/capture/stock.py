"""OpenCV's estimators behind the same call: dense inverse search and Farnebäck's polynomials.

For speed, and to compare with. They know no masks and no weights: what a mask hides is filled smoothly before
and means nothing after. Cost: 0.02 to 0.5 microseconds a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.crowd.capture import pyramid
from marey.crowd.capture.pyramid import Plane
from marey.errors import InputError

PRESETS = {"ultrafast": 0, "fast": 1, "medium": 2}


@dataclass(frozen=True, kw_only=True)
class DisSettings:
    """`preset`: "ultrafast", "fast" or "medium", from quick to exact."""

    preset: str = "medium"

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise InputError(f"preset: one of {', '.join(PRESETS)}, not '{self.preset}'")


@dataclass(frozen=True, kw_only=True)
class FarnebackSettings:
    """What Farnebäck's method takes.

    Attributes:
        levels: Of the pyramid.
        window: Side of the averaging window, pixels.
        iterations: At each level.
        neighbourhood: Side of a polynomial's neighbourhood, pixels (5 or 7).
        deviation: Standard deviation of its Gaussian, pixels.
    """

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

    def __init__(self, shape: tuple[int, int], mask: BoolArray | None, settings: DisSettings) -> None:
        import cv2

        # Patches of 8 pixels on at least one halved level.
        if min(shape) < 32:
            raise InputError(
                f"method dis: images of {shape[0]} × {shape[1]} pixels are too small, 32 at least;"
                " choose divcurl, hs, lk or farneback"
            )
        self.mask = mask
        # The type information of OpenCV does not list it in every release.
        self.engine = getattr(cv2, "DISOpticalFlow_create")(PRESETS[settings.preset])  # noqa: B009

    def __call__(self, first: Plane, second: Plane, weight: Plane | None = None) -> Plane:
        """The field `(2, rows, columns)` from `first` to `second`."""
        return _planes(self.engine.calc(_grey(first, self.mask), _grey(second, self.mask), None))


class Farneback:
    """Polynomial expansion (Farnebäck 2003)."""

    def __init__(self, shape: tuple[int, int], mask: BoolArray | None, settings: FarnebackSettings) -> None:
        self.mask, self.settings = mask, settings

    def __call__(self, first: Plane, second: Plane, weight: Plane | None = None) -> Plane:
        """The field `(2, rows, columns)` from `first` to `second`."""
        import cv2

        images = (_grey(first, self.mask), _grey(second, self.mask))
        s, start, no_flags = self.settings, None, 0
        numbers = (0.5, s.levels, s.window, s.iterations, s.neighbourhood, s.deviation, no_flags)
        return _planes(cv2.calcOpticalFlowFarneback(*images, start, *numbers))  # type: ignore[call-overload]


def _grey(image: Plane, mask: BoolArray | None) -> NDArray[np.uint8]:
    return np.clip(np.rint(pyramid.filled(image, mask)), 0, 255).astype(np.uint8)


def _planes(flow: Any) -> Plane:
    return np.ascontiguousarray(np.moveaxis(flow, -1, 0), dtype=np.float32)
