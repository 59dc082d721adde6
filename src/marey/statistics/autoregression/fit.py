"""Learning a vector autoregression by regularised least squares, and what drives it (Courty 2013, 2.3.1).

Clips are pooled without crossing their ends, invalid frames are left out, the order is chosen by the Bayesian
information criterion over one common set of frames, and an unstable model is made stable: A_i γⁱ has γ times
the eigenvalues. O(frames · (order · components)²).

Driven by inputs, x_t − μ = A₁ (x_{t−1} − μ) + … + A_m (x_{t−m} − μ) + B u_t follows an example. Inputs are
what the recursion leaves of it, in its first c singular directions; run forward from the first frames with
them, the model gives the example back: exactly with as many inputs as components, roughly with few. Cost: one
singular value decomposition, O(frames · components²).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, checked, derived, width
from marey.errors import InputError
from marey.statistics.autoregression.model import VectorAutoregression

LARGEST_ORDER = 4

Clips = list[tuple[Array, BoolArray]]
"""Series about their mean, 0 where they are not valid, and the valid frames of each."""


def fit(
    series: ArrayLike | Sequence[ArrayLike],
    *,
    order: int | None = None,
    ridge: float = 1e-3,
    valid: ArrayLike | Sequence[ArrayLike] | None = None,
    mean: ArrayLike | None = None,
    largest_radius: float = 0.999,
) -> VectorAutoregression:
    """Learn from a series `(frames, components)`, or from several.

    Args:
        series: One or several.
        order: Frames to look back; by the information criterion, up to 4, if None.
        ridge: Share of each predictor's variance added to it, against random correlations.
        valid: `(frames,)`, true where a frame can be learned from; one for each series.
        mean: `(components,)`, if it is known.
        largest_radius: Eigenvalues of the recursion are kept below this.

    >>> rng = np.random.default_rng(0)
    >>> truth = VectorAutoregression([1.0], [[[1.6]], [[-0.8]]], [[0.04]])
    >>> fit(truth.sample(4000, rng=rng), order=2, ridge=0).coefficients.round(1).ravel().tolist()
    [1.6, -0.8]
    """
    clips, centre = _centred(series, valid, mean)
    if order is None:
        frames = sum(max(int(mask.sum()) - LARGEST_ORDER, 0) for _, mask in clips)
        usable = [m for m in range(1, LARGEST_ORDER + 1) if frames > 2 * m * len(centre)] or [1]
        scores = [_criterion(clips, m, usable[-1], ridge) for m in usable] if len(usable) > 1 else [0.0]
        order = usable[int(np.argmin(scores))]
    coefficients, past, now = _least_squares(clips, order, order, ridge)
    radius = VectorAutoregression(centre, coefficients, np.eye(len(centre))).radius
    if radius > largest_radius:
        coefficients = coefficients * (largest_radius / radius) ** np.arange(1, order + 1)[:, None, None]
    rest = now - past @ np.concatenate(list(coefficients), axis=1).T
    return VectorAutoregression(centre, coefficients, _covariance(rest))


def information_criterion(
    series: ArrayLike | Sequence[ArrayLike],
    orders: Sequence[int],
    *,
    ridge: float = 1e-3,
    valid: ArrayLike | Sequence[ArrayLike] | None = None,
) -> Array:
    """Bayesian information criterion of each order, all on the same frames: the smallest is best.

    BIC(m) = N log det Σ_m + m d² log N, with Σ_m the covariance of the residuals of N frames.
    """
    clips, _ = _centred(series, valid, None)
    return np.array([_criterion(clips, order, max(orders), ridge) for order in orders])


def _criterion(clips: Clips, order: int, skip: int, ridge: float) -> float:
    coefficients, past, now = _least_squares(clips, order, skip, ridge)
    count, size = now.shape
    rest = now - past @ np.concatenate(list(coefficients), axis=1).T
    sign, logarithm = np.linalg.slogdet(_covariance(rest))
    return float("inf") if sign <= 0 else float(count * logarithm + order * size**2 * np.log(count))


def _least_squares(clips: Clips, order: int, skip: int, ridge: float) -> tuple[Array, Array, Array]:
    """Coefficients, the `order` frames before `(pairs, order · components)`, newest first, and each frame.

    Only frames after `skip` valid ones count.
    """
    rows, targets = [], []
    for clip, mask in clips:
        if len(clip) > skip:
            usable = np.all([mask[skip - i : len(mask) - i] for i in range(skip + 1)], axis=0)
            behind = [clip[skip - i : len(clip) - i][usable] for i in range(1, order + 1)]
            rows.append(np.concatenate(behind, axis=1))
            targets.append(clip[skip:][usable])
    if not sum(map(len, targets)):
        raise InputError(f"order {order} needs {skip + 1} valid frames in a row; there are none")
    past, now = np.concatenate(rows), np.concatenate(targets)
    size = now.shape[1]
    gram = past.T @ past
    gram[np.diag_indices_from(gram)] += ridge * np.diag(gram) + 1e-12 * max(np.trace(gram), 1e-300)
    solved = np.linalg.solve(gram, past.T @ now)
    return np.ascontiguousarray(solved.T.reshape(size, order, size).swapaxes(0, 1)), past, now


def _covariance(residuals: Array) -> Array:
    """Covariance of the residuals, with a floor so that it can be factored."""
    found = residuals.T @ residuals / max(len(residuals), 1)
    floor = 1e-9 * max(float(np.trace(found)) / len(found), 1e-300)
    return np.asarray(found + floor * np.eye(len(found)))


def _centred(
    series: ArrayLike | Sequence[ArrayLike],
    valid: ArrayLike | Sequence[ArrayLike] | None,
    mean: ArrayLike | None,
) -> tuple[Clips, Array]:
    """The clips about their common mean, and that."""
    single = isinstance(series, np.ndarray) and series.ndim == 2
    given = [series] if single else list(series)  # type: ignore[arg-type]
    if not given:
        raise InputError("there is no series to learn from")
    masks = [None] * len(given) if valid is None else [valid] if single else list(valid)  # type: ignore[arg-type]
    clips = []
    for i, (one, mask) in enumerate(zip(given, masks, strict=True)):
        clip = checked(f"series {i}", one, (None, None), finite=False)
        good = np.ones(len(clip), bool) if mask is None else checked("valid", mask, (len(clip),), dtype=bool)
        if not np.isfinite(clip[good]).all():
            raise InputError(f"series {i}: a valid frame has values that are not finite")
        clips.append((clip, good))
    if len({clip.shape[1] for clip, _ in clips}) > 1:
        raise InputError("the series have different numbers of components")
    known = np.concatenate([clip[mask] for clip, mask in clips])
    if not len(known):
        raise InputError("there is no valid frame to learn from")
    centre = known.mean(axis=0) if mean is None else checked("mean", mean, (known.shape[1],))
    return [(np.where(mask[:, None], clip - centre, 0.0), mask) for clip, mask in clips], centre


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

    dimensions = derived(width, "inputs", "How many inputs a frame has.")

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
