"""The distribution of a series of a vector autoregression given what is known of it.

Known numbers, noisy measurements and linear constraints are conditioned on exactly. The energy ½ Σ rᵀQ⁻¹r of
the residuals is quadratic with a banded matrix, so runs of unknown frames, independent given the known frames
between them, each take one banded Cholesky factorisation: O(frames · order² · components³). Conditional
simulation by double kriging has the same distribution (Courty 2013, section 3.2.2.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, BoolArray, checked, runs
from marey._random import Rng
from marey.errors import InputError
from marey.statistics._linear import banded_root
from marey.statistics.autoregression.model import VectorAutoregression


class Evidence(NamedTuple):
    """Inexact knowledge of frames: the energy ½ xᵀPx − vᵀx is added for each.

    Args:
        frames: `(n,)`, which frames.
        precision: `(n, components, components)`.
        vector: `(n, components)`.
    """

    frames: NDArray[np.intp]
    precision: Array
    vector: Array


def evidence(frames: ArrayLike, matrix: ArrayLike, values: ArrayLike, noise: ArrayLike) -> Evidence:
    """Evidence of measurements `values = matrix · x + noise` at some frames.

    Args:
        frames: `(n,)`.
        matrix: `(rows, components)`, or one for each frame `(n, rows, components)`.
        values: `(n, rows)`; NaN where nothing was measured.
        noise: Variance of a measurement, `()`, `(rows,)` or `(n, rows)`.
    """
    given = np.asarray(values, dtype=np.float64)
    known = np.isfinite(given)
    weight = np.where(known, 1.0 / np.broadcast_to(np.asarray(noise, dtype=np.float64), given.shape), 0.0)
    rows = np.asarray(matrix, dtype=np.float64)
    weighed = rows * weight[..., None]
    precision = np.swapaxes(weighed, -1, -2) @ rows
    vector = np.einsum("nrc,nr->nc", weighed, np.where(known, given, 0.0))
    return Evidence(np.asarray(frames, dtype=np.intp), precision, vector)


class UnknownFrames(NamedTuple):
    """Unknown numbers that depend on one another.

    Args:
        places: `(n,)`, where they are in the flattened series, ascending.
        factor: `(width, n)`, banded Cholesky factor of their precision, lower form.
    """

    places: NDArray[np.intp]
    factor: Array


class Imposed(NamedTuple):
    """Linear functionals that were imposed together.

    Args:
        rows: `(n, frames, components)`.
        responses: `(n, frames, components)`, covariance of the series with each before it was imposed.
        gains: `(n, frames, components)`, how the series follows a miss of each.
        deviations: `(n,)`, of the errors allowed.
    """

    rows: Array
    responses: Array
    gains: Array
    deviations: Array

    def correct(self, series: Array, errors: Array | float) -> Array:
        missed = np.einsum("itc,ntc->ni", self.rows, series) + errors
        return np.asarray(series - np.einsum("ni,itc->ntc", missed, self.gains))


@dataclass(frozen=True, eq=False)
class ConditionalSeries:
    """A Gaussian distribution of whole series, given what is known of them.

    Args:
        mean: `(frames, components)`.
        unknown: Where the series is not known.
        imposed: Functionals imposed since, in that order.
    """

    mean: Array
    unknown: tuple[UnknownFrames, ...]
    imposed: tuple[Imposed, ...] = ()

    def sample(self, rng: Rng = None, count: int | None = None) -> Array:
        """Series `(frames, components)`, or `(count, frames, components)`, of this distribution."""
        from scipy.linalg.lapack import dtbtrs

        rng = np.random.default_rng(rng)
        number = 1 if count is None else count
        flat = np.zeros((self.mean.size, number))
        for one in self.unknown:
            noise = rng.standard_normal((len(one.places), number))
            flat[one.places] = dtbtrs(one.factor, noise, uplo="L", trans="T")[0]
        series = flat.T.reshape(number, *self.mean.shape)
        for imposed in self.imposed:
            errors = rng.standard_normal((number, len(imposed.rows))) * imposed.deviations
            series = imposed.correct(series, errors)
        series = series + self.mean
        return np.asarray(series[0] if count is None else series)

    def covariance_times(self, vectors: ArrayLike) -> Array:
        """The covariance of the series times vectors, both `(n, frames, components)`."""
        from scipy.linalg import cho_solve_banded

        given = np.asarray(vectors, dtype=np.float64)
        flat = given.reshape(len(given), -1).T
        found = np.zeros_like(flat)
        for one in self.unknown:
            found[one.places] = cho_solve_banded((one.factor, True), flat[one.places], check_finite=False)
        series = found.T.reshape(given.shape)
        for imposed in self.imposed:
            series = imposed.correct(series, 0.0)
        return series

    def condition(
        self, functionals: ArrayLike, values: ArrayLike, noise: ArrayLike = 0.0
    ) -> ConditionalSeries:
        """The distribution when also `Σ functional · x = value`, exactly or with a variance of `noise`.

        Args:
            functionals: `(n, frames, components)`.
            values: `(n,)`.
            noise: `()` or `(n,)`.
        """
        rows = checked("functionals", functionals, (None, *self.mean.shape))
        wanted = checked("values", values, (len(rows),))
        variances = np.broadcast_to(np.asarray(noise, dtype=np.float64), (len(rows),))
        responses = self.covariance_times(rows)
        inner = np.einsum("itc,jtc->ij", rows, responses) + np.diag(variances)
        # Functionals that the known frames already determine are left out.
        inverse = np.linalg.pinv(0.5 * (inner + inner.T), rcond=1e-12, hermitian=True)
        gains = np.einsum("ij,jtc->itc", inverse, responses)
        missing = wanted - np.einsum("itc,tc->i", rows, self.mean)
        mean = self.mean + np.einsum("i,itc->tc", missing, gains)
        imposed = Imposed(rows, responses, gains, np.sqrt(variances))
        return replace(self, mean=mean, imposed=(*self.imposed, imposed))

    @cached_property
    def covariances(self) -> Array:
        """Covariance of each frame `(frames, components, components)`; zero where it is known."""
        from marey.statistics.autoregression._kernels import selected_inverse

        frames, size = self.mean.shape
        found = np.zeros((frames, size, size))
        for one in self.unknown:
            inverse = selected_inverse(np.ascontiguousarray(one.factor.T))
            frame, part = np.divmod(one.places, size)
            for away in range(min(size, inverse.shape[1])):
                near = np.flatnonzero(frame[away:] == frame[: len(frame) - away])
                a, b = part[near], part[near + away]
                found[frame[near], a, b] = found[frame[near], b, a] = inverse[near, away]
        for imposed in self.imposed:
            found -= np.einsum("itb,itc->tbc", imposed.gains, imposed.responses)
        return found

    @property
    def variance(self) -> Array:
        """Variance of each number `(frames, components)`; zero where it is known."""
        return np.maximum(np.einsum("tcc->tc", self.covariances), 0.0)


def condition(
    model: VectorAutoregression, known: ArrayLike, *, soft: Evidence | None = None
) -> ConditionalSeries:
    """The distribution of a series of which some numbers are known.

    Args:
        model: Of the series.
        known: `(frames, components)`, NaN where a number is not known.
        soft: Measurements of some frames (:func:`evidence`).

    >>> swing = VectorAutoregression([0.0], [[[1.9]], [[-0.95]]], [[0.01]])
    >>> series = swing.sample(100, rng=1)
    >>> with_gap = series.copy()
    >>> with_gap[40:60] = np.nan
    >>> found = condition(swing, with_gap)
    >>> found.sample(rng=2, count=5).shape, bool(np.abs(found.mean[:40] - series[:40]).max() == 0)
    ((5, 100, 1), True)
    """
    from scipy.linalg import cho_solve_banded

    given = checked("known", known, (None, model.components), finite=False)
    if np.isinf(given).any():
        raise InputError("known: numbers, or NaN where a number is not known")
    order = model.order
    if len(given) < order:
        raise InputError(f"the series has {len(given)} frames; a model of order {order} needs as many")
    unknown = np.isnan(given)
    series = np.where(unknown, 0.0, given - model.mean)
    mean, found = np.where(unknown, model.mean, given), []
    energy = _Energy(model)
    # Fewer than `order` known frames do not separate the unknown ones around them.
    for first, last in runs(np.convolve(unknown.any(axis=1), np.ones(order)) > 0):
        window = slice(max(first - order, 0), min(last + 1, len(given)))
        places, band, pull = energy.of(unknown, series, window, soft)
        factor = banded_root(band)
        mean.ravel()[places] += cho_solve_banded((factor, True), pull, check_finite=False)
        found.append(UnknownFrames(places, factor))
    return ConditionalSeries(mean, tuple(found))


class _Energy:
    """The quadratic energy of a series: its residuals, and the stationary distribution at its start."""

    def __init__(self, model: VectorAutoregression) -> None:
        self.model = model
        self.steps = np.concatenate([np.eye(model.components)[None], -model.coefficients])
        try:
            self.weighed = np.linalg.solve(model.noise, self.steps)
        except np.linalg.LinAlgError as error:
            raise InputError("the model's noise is singular: some numbers never vary freely") from error
        self.products = self.steps.swapaxes(1, 2)[:, None] @ self.weighed

    def of(
        self, unknown: BoolArray, series: Array, window: slice, soft: Evidence | None
    ) -> tuple[NDArray[np.intp], Array, Array]:
        """The unknown numbers of a window: places in the flattened series, band, and linear term."""
        from marey.statistics.autoregression._kernels import add_to_band

        order, size = self.model.order, self.model.components
        here, known = unknown[window], series[window]
        counts, frames = here.sum(axis=1), len(here)
        numbers = int(counts.sum())
        ranks = np.where(here, here.ravel().cumsum().reshape(here.shape) - 1, -1)
        band = np.zeros((numbers, int(np.convolve(counts, np.ones(order + 1, dtype=int)).max())))
        rest = sum(known[order - i : frames - i] @ step.T for i, step in enumerate(self.steps))
        pull = np.zeros_like(known)
        for i, step in enumerate(self.weighed):
            pull[order - i : frames - i] -= rest @ step
        for back in range(order + 1):
            self._add_pairs(band, ranks, back)
        if window.start == 0 and here[:order].any():
            start = self.model.stationary_precision
            pull[:order] -= (start @ known[order - 1 :: -1].ravel()).reshape(order, size)[::-1]
            blocks = start.reshape(order, size, order, size).swapaxes(1, 2).reshape(-1, size, size)
            row, column = np.divmod(np.arange(order**2), order)
            add_to_band(band, blocks, np.arange(order**2), ranks[order - 1 - row], ranks[order - 1 - column])
        if soft is not None:
            inside = (soft.frames >= window.start) & (soft.frames < window.stop)
            at, precision = soft.frames[inside] - window.start, soft.precision[inside]
            held = np.einsum("nij,nj->ni", precision, known[at] + self.model.mean)
            np.add.at(pull, at, soft.vector[inside] - held)
            add_to_band(band, precision, np.arange(len(at)), ranks[at], ranks[at])
        places = np.flatnonzero(here)
        return places + window.start * size, band.T, pull.ravel()[places]

    def _add_pairs(self, band: Array, ranks: NDArray[np.int64], back: int) -> None:
        """Add the energy between frames that are `back` frames apart."""
        from marey.statistics.autoregression._kernels import add_to_band

        order, frames = self.model.order, len(ranks)
        at = np.arange(back, frames)
        # The residuals of frames at + low … at + high hold both.
        low, high = np.maximum(order - at, 0), np.minimum(order - back, frames - 1 - at)
        spans, which = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
        ahead = np.arange(order + 1 - back)
        inside = (spans[:, :1] <= ahead) & (ahead <= spans[:, 1:])
        blocks = np.einsum("si,iab->sab", inside, self.products[ahead, ahead + back])
        add_to_band(band, blocks, which.ravel(), ranks[at], ranks[at - back])
