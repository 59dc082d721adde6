"""A vector autoregression driven by inputs, few of which make it follow an example (Courty 2013, 2.3.1).

    x_t − μ = A₁ (x_{t−1} − μ) + … + A_m (x_{t−m} − μ) + B u_t

The inputs are what the recursion leaves of the example, in its first c singular directions. Run forward from
the first frames with them, the model gives the example back: exactly with as many inputs as components,
roughly with few. Cost: one singular value decomposition, O(frames · components²).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked
from marey.errors import InputError
from marey.statistics.autoregression.model import VectorAutoregression


@dataclass(frozen=True, eq=False)
class Control:
    """An example as a recursion and its inputs.

    Args:
        model: The recursion.
        series: `(frames, components)`, the example.
        directions: `(components, dimensions)`, B, orthonormal.
        inputs: `(frames − order, dimensions)`, u.
        singular_values: `(components,)`, falling, of all inputs.

    >>> swing = VectorAutoregression([0.0, 0.0], [1.6 * np.eye(2), -0.8 * np.eye(2)], np.eye(2))
    >>> example = swing.sample(100, rng=0)
    >>> bool(control(swing, example, dimensions=2).open_loop_error < 1e-10)
    True
    """

    model: VectorAutoregression
    series: Array
    directions: Array
    inputs: Array
    singular_values: Array

    @property
    def dimensions(self) -> int:
        """How many inputs a frame has."""
        return self.inputs.shape[1]

    def driven(self, inputs: ArrayLike | None = None) -> Array:
        """The series `(frames, components)` that inputs drive from the first frames.

        Args:
            inputs: `(steps, dimensions)`; the example's own if None.
        """
        from marey.statistics.autoregression._kernels import run_forward

        order = self.model.order
        given = self.inputs if inputs is None else checked("inputs", inputs, (None, self.dimensions))
        path = np.empty((order + len(given), 1, self.model.components))
        path[:order, 0] = self.series[:order] - self.model.mean
        path[order:, 0] = given @ self.directions.T
        run_forward(path, self.model.transposed_coefficients)
        return path[:, 0] + self.model.mean

    @property
    def open_loop_error(self) -> float:
        """How far the driven series is off, as a share of the example's own deviation from its mean."""
        return float(np.linalg.norm(self.driven() - self.series)) / self._deviation

    @property
    def one_step_error(self) -> float:
        """The same for each frame by itself, from the example's own frames before it."""
        return float(np.sqrt((self.singular_values[self.dimensions :] ** 2).sum())) / self._deviation

    @property
    def _deviation(self) -> float:
        return max(float(np.linalg.norm(self.series - self.series.mean(axis=0))), 1e-300)


def control(model: VectorAutoregression, series: ArrayLike, *, dimensions: int | None = None) -> Control:
    """The inputs by which a model follows a series.

    Args:
        model: The recursion.
        series: `(frames, components)`.
        dimensions: How many inputs; up to the largest drop of the singular values if None.
    """
    example = checked("series", series, (None, model.components))
    if len(example) <= model.order:
        raise InputError(f"the series has {len(example)} frames; a model of order {model.order} needs more")
    left, values, right = np.linalg.svd(model.residuals(example).T, full_matrices=False)
    values = np.pad(values, (0, model.components - len(values)))
    wanted = _before_largest_drop(values) if dimensions is None else dimensions
    if not 0 <= wanted <= model.components:
        raise InputError(f"dimensions {wanted}: from 0 to {model.components}")
    kept = min(wanted, left.shape[1])
    return Control(model, example, left[:, :kept], (values[:kept, None] * right[:kept]).T, values)


def _before_largest_drop(values: Array) -> int:
    """How many singular values lie before the largest drop, as a ratio; those of rounding do not count."""
    real = values[values > 1e-9 * max(float(values[0]), 1e-300)]
    if len(real) < 2:
        return len(real)
    return int(np.argmax(real[:-1] / real[1:])) + 1
