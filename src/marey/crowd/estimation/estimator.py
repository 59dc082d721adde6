"""One call for all engines: checks, masks and shapes are settled here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, checked
from marey.crowd.estimation import local, opencv, variational
from marey.crowd.estimation.masking import decorrelated
from marey.errors import InputError

SMALLEST_SIDE = 8
MASK_MODES = ("cut", "decorrelate")

# Each engine: its class, its settings, and the settings that make it what it is.
_ENGINES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "divcurl": (variational.Variational, variational.Settings, {}),
    "hs": (
        variational.Variational,
        variational.Settings,
        {
            "order": 1,
            "smoothness": "quadratic",
            "robust": "quadratic",
            "constancy": "brightness",
            "normalise": 0.0,
            "median": 0,
            "reweightings": 1,
            "iterations": 40,
        },
    ),
    "lk": (local.LucasKanade, local.WindowSettings, {}),
    "parametric": (local.Parametric, local.ParametricSettings, {}),
    "dis": (opencv.Dis, opencv.DisSettings, {}),
    "farneback": (opencv.Farneback, opencv.FarnebackSettings, {}),
}
ENGINES = tuple(_ENGINES)


def estimate(
    first: ArrayLike,
    second: ArrayLike,
    *,
    engine: str = "divcurl",
    mask: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    initial: ArrayLike | None = None,
    **options: Any,
) -> NDArray[np.float32]:
    """Motion from one image to the next, `(rows, columns, 2)` float32, `(u, v)` in px/frame.

    first, second: `(rows, columns)`, grey from 0 to 255
    engine: one of :data:`ENGINES`; options: its settings, and `mask_mode`
    mask: `(rows, columns)`, True where the image counts; the field is 0 elsewhere
    weight: `(rows, columns)` from 0 to 1, how much the data count, say because people are there
    initial: `(rows, columns, 2)`, a first guess

    >>> y, x = np.mgrid[:40, :48]
    >>> def blob(shift): return 200 * np.exp(-((x - 24 - shift) ** 2 + (y - 20) ** 2) / 50)
    >>> field = estimate(blob(0), blob(1.5))
    >>> abs(field[20, 24] - [1.5, 0]).max() < 0.05
    np.True_
    """
    rows, columns = np.shape(first)[:2] if np.ndim(first) == 2 else (0, 0)
    estimator = Estimator(rows, columns, engine=engine, mask=mask, **options)
    return estimator(first, second, weight=weight, initial=initial)


class Estimator:
    """An engine for many pairs of one size: keeps what does not change from pair to pair.

    mask_mode: "cut" (nothing crosses the mask's border) or "decorrelate", the source's way: masked pixels
        get new noise in every image so that a robust data term gives them up
    The object is not for several threads at once: give each its own.

    >>> Estimator(40, 48, engine="hs", alpha=100).engine
    'hs'
    """

    def __init__(
        self,
        rows: int,
        columns: int,
        *,
        engine: str = "divcurl",
        mask: ArrayLike | None = None,
        mask_mode: str = "cut",
        **options: Any,
    ) -> None:
        if engine not in _ENGINES:
            raise InputError(f"engine: there is no '{engine}'; choose one of {', '.join(ENGINES)}")
        if mask_mode not in MASK_MODES:
            raise InputError(f"mask_mode: one of {', '.join(MASK_MODES)}, not '{mask_mode}'")
        if min(rows, columns) < SMALLEST_SIDE:
            raise InputError(
                f"images: need two grey ones of at least {SMALLEST_SIDE} × {SMALLEST_SIDE} pixels,"
                f" got {rows} × {columns}"
            )
        self.rows, self.columns, self.engine = rows, columns, engine
        kind, settings, fixed = _ENGINES[engine]
        known = [field.name for field in fields(settings)]
        for name in options:
            if name not in known:
                raise InputError(
                    f"engine {engine}: it has no option '{name}'; it has {', '.join(known)}, mask_mode"
                )
        self.mask: BoolArray | None = None
        if mask is not None:
            self.mask = checked("mask", mask, (rows, columns), dtype=np.bool_)
            if not self.mask.any():
                raise InputError("mask: it hides the whole image")
        self.mask_mode = mask_mode
        hidden = self.mask if mask_mode == "cut" else None
        self._engine: Callable[..., Any] = kind(rows, columns, hidden, settings(**{**fixed, **options}))
        self._pairs = 0

    def __call__(
        self,
        first: ArrayLike,
        second: ArrayLike,
        weight: ArrayLike | None = None,
        initial: ArrayLike | None = None,
    ) -> NDArray[np.float32]:
        """Motion from `first` to `second`; arguments as those of :func:`estimate`."""
        shape = (self.rows, self.columns)
        images = [
            checked(name, image, shape, dtype=np.float32)
            for name, image in (("first image", first), ("second image", second))
        ]
        if self.mask is not None and self.mask_mode == "decorrelate":
            images = [decorrelated(image, self.mask, seed=self._pairs + k) for k, image in enumerate(images)]
        self._pairs += 1
        data = guess = None
        if weight is not None:
            data = checked("weight", weight, shape, dtype=np.float32)
            if data.min() < 0 or data.max() > 1:
                raise InputError(f"weight: must lie between 0 and 1, got {data.min()} to {data.max()}")
        if initial is not None:
            guess = checked("initial field", initial, (*shape, 2), dtype=np.float32)
            guess = np.ascontiguousarray(np.moveaxis(guess, -1, 0))
        field = np.ascontiguousarray(np.moveaxis(self._engine(*images, data, guess), 0, -1))
        if self.mask is not None:
            field[~self.mask] = 0.0
        return field
