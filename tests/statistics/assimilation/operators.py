"""Dot-product and Taylor tests of operators with hand-written derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Map = Callable[[Array], Array]


def dot_product_error(tangent: Map, adjoint: Map, inputs: int, rng: np.random.Generator) -> float:
    """|<A v, w> - <v, Aᵀ w>| over the size of its terms, the worst of five random pairs."""
    worst = 0.0
    for _ in range(5):
        direction = rng.normal(size=inputs)
        moved = tangent(direction)
        cotangent = rng.normal(size=moved.shape)
        back = adjoint(cotangent)
        size = np.linalg.norm(moved) * np.linalg.norm(cotangent)
        worst = max(worst, abs(np.sum(moved * cotangent) - direction @ back) / size)
    return worst


def taylor_orders(function: Map, tangent: Map, at: Array, direction: Array, steps: Array) -> Array:
    """Slopes of the remainder |f(x + e d) - f(x) - e f'(x) d| from step to step; 2 if f' is right."""
    here, slope = function(at), tangent(direction)
    rest = [np.linalg.norm(function(at + e * direction) - here - e * slope) for e in steps]
    return np.asarray(np.diff(np.log(rest)) / np.diff(np.log(steps)))
