"""Motion between two images by any method: images, masks, weights and settings are checked here.

Lucas–Kanade solves the brightness equation in a Gaussian window round each pixel, from coarse to fine
(Courty & Corpetti 2007, section 2.2, equation 2; half a microsecond a pixel). OpenCV's dense inverse search
and Farnebäck's polynomials are there for speed and comparison: they take no masks and no weights; what a
mask hides is filled smoothly before and means nothing after (0.02 to 0.5 microseconds a pixel).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import AnyArray, BoolArray, checked
from marey.crowd.capture import divcurl, framing
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
    "lk": (LucasKanade, None),
    "dis": (Dis, None),
    "farneback": (Farneback, None),
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
        settings: What differs from the own :class:`~marey.crowd.capture.divcurl.Settings` of `divcurl` and
            `hs`, e.g. `{"alpha": 250}`.
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
        known = [field.name for field in fields(usual)] if usual else []
        for name in settings or {}:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise InputError(f"method {method}: it has no option '{name}'; it has {listed}")
        self.shape, self.method, self.mask_mode = shape, method, mask_mode
        self.mask: BoolArray | None = None
        if mask is not None:
            self.mask = checked("mask", mask, shape, dtype=np.bool_)
            if not self.mask.any():
                raise InputError("mask: it hides the whole image")
        hidden = self.mask if mask_mode == "cut" else None
        own = (replace(usual, **(settings or {})),) if usual else ()
        self._estimate: Callable[..., Plane] = kind(shape, hidden, *own)
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
