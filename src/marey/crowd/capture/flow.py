"""Motion between two images by any method: images, masks, weights and settings are checked here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, checked
from marey.crowd.capture import divcurl, stock, windowed
from marey.crowd.capture.pyramid import Plane
from marey.errors import InputError

MASK_MODES = ("cut", "decorrelate")

_HORN_SCHUNCK = divcurl.Settings(
    order=1,
    smoothness="quadratic",
    robust="quadratic",
    constancy="brightness",
    normalise=0.0,
    median=0,
    iterations=40,
)
_METHODS: dict[str, tuple[Callable[..., Any], Any]] = {
    "divcurl": (divcurl.DivCurl, divcurl.Settings()),
    "hs": (divcurl.DivCurl, _HORN_SCHUNCK),
    "lk": (windowed.LucasKanade, windowed.WindowSettings()),
    "dis": (stock.Dis, stock.DisSettings()),
    "farneback": (stock.Farneback, stock.FarnebackSettings()),
}
METHODS = tuple(_METHODS)
REGULARISED = ("divcurl", "hs")
"""Methods with a weight alpha of their smoothness."""


class FlowEstimator:
    """A method for many pairs of images of one size: keeps what does not change from pair to pair.

    The object is not for several threads at once: give each its own.

    Args:
        shape: Rows and columns.
        method: One of :data:`METHODS`.
        mask: `(rows, columns)`, True where the image counts; the field is 0 elsewhere.
        settings: What differs from the method's own, e.g. `{"alpha": 250}`; see
            :class:`~marey.crowd.capture.divcurl.Settings` and its siblings.
        mask_mode: "cut" (nothing crosses the mask's border) or "decorrelate" (Courty & Corpetti 2007, section
            5.1: masked pixels get new noise in every image, and a robust data term gives them up).

    >>> FlowEstimator((40, 48), "hs", settings={"alpha": 100}).method
    'hs'
    """

    def __init__(
        self,
        shape: tuple[int, int],
        method: str = "divcurl",
        mask: ArrayLike | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        mask_mode: str = "cut",
    ) -> None:
        if method not in _METHODS:
            raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
        if mask_mode not in MASK_MODES:
            raise InputError(f"mask_mode: one of {', '.join(MASK_MODES)}, not '{mask_mode}'")
        if min(shape) < 8:
            raise InputError(
                f"images: need two grey ones of at least 8 × 8 pixels, got {shape[0]} × {shape[1]}"
            )
        kind, usual = _METHODS[method]
        known = [field.name for field in fields(usual)]
        for name in settings or {}:
            if name not in known:
                raise InputError(f"method {method}: it has no option '{name}'; it has {', '.join(known)}")
        self.shape, self.method, self.mask_mode = shape, method, mask_mode
        self.mask: BoolArray | None = None
        if mask is not None:
            self.mask = checked("mask", mask, shape, dtype=np.bool_)
            if not self.mask.any():
                raise InputError("mask: it hides the whole image")
        hidden = self.mask if mask_mode == "cut" else None
        self._estimate: Callable[..., Plane] = kind(shape, hidden, replace(usual, **(settings or {})))
        self._pairs = 0

    def __call__(
        self, first: ArrayLike, second: ArrayLike, weight: ArrayLike | None = None
    ) -> NDArray[np.float32]:
        """Motion from one image to the next.

        Args:
            first: `(rows, columns)`, grey from 0 to 255.
            second: As `first`.
            weight: `(rows, columns)` from 0 to 1, how much the data count, e.g. because people are there.

        Returns:
            `(rows, columns, 2)`, `(u, v)` in px/frame.
        """
        images = [
            checked(name, image, self.shape, dtype=np.float32)
            for name, image in (("first image", first), ("second image", second))
        ]
        if self.mask is not None and self.mask_mode == "decorrelate":
            images = [_decorrelated(image, self.mask, self._pairs + k) for k, image in enumerate(images)]
        self._pairs += 1
        data = None
        if weight is not None:
            data = checked("weight", weight, self.shape, dtype=np.float32)
            if data.min() < 0 or data.max() > 1:
                raise InputError(f"weight: must lie between 0 and 1, got {data.min()} to {data.max()}")
        field = np.ascontiguousarray(np.moveaxis(self._estimate(*images, data), 0, -1))
        if self.mask is not None:
            field[~self.mask] = 0.0
        return field


def estimate(
    first: ArrayLike,
    second: ArrayLike,
    *,
    method: str = "divcurl",
    mask: ArrayLike | None = None,
    mask_mode: str = "cut",
    weight: ArrayLike | None = None,
    **settings: Any,
) -> NDArray[np.float32]:
    """Motion from one image to the next, `(rows, columns, 2)`; arguments as of :class:`FlowEstimator`.

    >>> y, x = np.mgrid[:40, :48]
    >>> def blob(shift): return 200 * np.exp(-((x - 24 - shift) ** 2 + (y - 20) ** 2) / 50)
    >>> field = estimate(blob(0), blob(1.5))
    >>> abs(field[20, 24] - [1.5, 0]).max() < 0.05
    np.True_
    """
    rows, columns = np.shape(first) if np.ndim(first) == 2 else (0, 0)
    return FlowEstimator((rows, columns), method, mask, settings, mask_mode=mask_mode)(first, second, weight)


def _decorrelated(image: Plane, mask: BoolArray, seed: int) -> Plane:
    """`image` with what the mask hides replaced by blurred noise of the image's own mean and contrast."""
    from cv2 import GaussianBlur

    rng = np.random.default_rng(seed)
    # Another blur for each image, as published.
    noise = GaussianBlur(rng.normal(size=image.shape).astype(np.float32), (0, 0), 0.8 + 0.4 * (seed % 2))
    spoilt = image[mask].mean() + image[mask].std() * noise / max(float(noise.std()), 1e-12)
    return np.where(mask, image, spoilt).astype(np.float32)
