"""The distribution of a series of a vector autoregression given what is known of it.

Known numbers, noisy measurements and linear constraints are conditioned on exactly. The energy ½ Σ rᵀQ⁻¹r of
the residuals is quadratic with a banded matrix, which takes one banded Cholesky factorisation: O(frames ·
order² · components³). Long runs of free frames are passed in one transition instead, and filled by a free run
that is corrected to end where it must: O(frames · order · components²). Conditional simulation by double
kriging has the same distribution (Courty 2013, section 3.2.2.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, checked, runs
from marey._random import Rng
from marey.errors import InputError
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


class FreeRun(NamedTuple):
    """Frames of which nothing is known; all but the last `order` are left out of the banded system.

    Args:
        first: First frame.
        stop: One past the last frame.
        matrix: A^n of the state, newest frame first, with n the number of frames.
        energy: Precision of the states at the end and before the run together.
    """

    first: int
    stop: int
    matrix: Array
    energy: Array

    @property
    def precision(self) -> Array:
        """Inverse of the covariance that the n frames add to the state."""
        return self.energy[: len(self.matrix), : len(self.matrix)]


class UnknownNumbers(NamedTuple):
    """The unknown numbers of a series around its mean. Series are `(frames, count, components)`.

    Args:
        model: Of the series.
        places: `(n,)`, where the numbers of the banded system are in the flattened series, ascending.
        factor: `(width, n)`, banded Cholesky factor of their precision, lower form.
        free: Runs that the banded system leaves out.
    """

    model: VectorAutoregression
    places: NDArray[np.intp]
    factor: Array
    free: list[FreeRun]

    def sample(self, frames: int, rng: np.random.Generator, count: int) -> Array:
        from scipy.linalg.lapack import dtbtrs

        noise = rng.standard_normal((len(self.places), count))
        series = self._placed(dtbtrs(self.factor, noise, uplo="L", trans="T")[0], frames)
        size, root = self.model.components, self.model.noise_root.T
        self.fill(
            series, [rng.standard_normal((run.stop - run.first, count, size)) @ root for run in self.free]
        )
        return series

    def covariance_times(self, vectors: Array) -> Array:
        from scipy.linalg import cho_solve_banded

        order, steps = self.model.order, self.model.coefficients
        pull, forcings = vectors.copy(), []
        for run in self.free:
            inside = pull[run.first : run.stop].copy()
            inside[-order:] = 0.0
            adjoint = self._adjoint(inside)
            forcings.append(adjoint @ self.model.noise)
            weights = _state(self._forward(forcings[-1])[-order:]) @ run.precision
            pull[run.stop - order : run.stop] += _frames(weights, order)
            pull[run.first - order : run.first] -= _frames(weights @ run.matrix, order)
            for back in range(1, order + 1):
                ahead = range(back, order + 1)
                pull[run.first - back] += sum(adjoint[i - back] @ steps[i - 1] for i in ahead)
        flat = pull.swapaxes(1, 2).reshape(-1, pull.shape[1])[self.places]
        found = cho_solve_banded((self.factor, True), flat, check_finite=False)
        series = self._placed(found, len(vectors))
        self.fill(series, forcings)
        return series

    def fill(self, series: Array, forcings: list[Array] | None = None) -> None:
        """Fill the free runs in place: forced runs from the frames before, corrected to end in those kept."""
        order, noise = self.model.order, self.model.noise
        for i, run in enumerate(self.free):
            part = series[run.first - order : run.stop]
            missed = _state(part[-order:]) - _state(part[:order]) @ run.matrix.T
            forcing = np.zeros_like(part[order:]) if forcings is None else forcings[i]
            if forcings is not None:
                missed -= _state(self._forward(forcing)[-order:])
            pull = np.zeros_like(forcing)
            pull[-order:] = _frames(missed @ run.precision, order)
            part[order:-order] = self._forward(forcing + self._adjoint(pull) @ noise, part[:order])[:-order]

    def _forward(self, forcing: Array, history: Array | float = 0.0) -> Array:
        """Frames of the recursion after a history, `forcing` added to each."""
        return _run(forcing, self.model.transposed_coefficients, history)

    def _adjoint(self, vectors: Array) -> Array:
        """The transpose of the map from forcing to frames."""
        return _run(vectors[::-1], self.model.coefficients)[::-1]

    def _placed(self, numbers: Array, frames: int) -> Array:
        flat = np.zeros((frames * self.model.components, numbers.shape[1]))
        flat[self.places] = numbers
        return np.ascontiguousarray(flat.reshape(frames, -1, numbers.shape[1]).swapaxes(1, 2))


def _run(forcing: Array, steps: Array, history: Array | float = 0.0) -> Array:
    from marey.statistics.autoregression._kernels import run_forward

    series = np.empty((len(steps) + len(forcing), *forcing.shape[1:]))
    series[: len(steps)], series[len(steps) :] = history, forcing
    run_forward(series, steps)
    return series[len(steps) :]


def _state(frames: Array) -> Array:
    """States `(count, order · components)`, newest frame first, of the last frames of series."""
    return frames[::-1].swapaxes(0, 1).reshape(frames.shape[1], -1)


def _frames(state: Array, order: int) -> Array:
    return state.reshape(len(state), order, -1).swapaxes(0, 1)[::-1]


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
        energy: Of the series.
        unknown: The numbers that are not known.
        imposed: Functionals imposed since, in that order.
    """

    mean: Array
    energy: Energy
    unknown: UnknownNumbers
    imposed: tuple[Imposed, ...] = ()

    def sample(self, rng: Rng = None, count: int | None = None) -> Array:
        """Series `(frames, components)`, or `(count, frames, components)`, of this distribution."""
        rng = np.random.default_rng(rng)
        number = 1 if count is None else count
        series = self.unknown.sample(len(self.mean), rng, number).swapaxes(0, 1)
        for imposed in self.imposed:
            errors = rng.standard_normal((number, len(imposed.rows))) * imposed.deviations
            series = imposed.correct(series, errors)
        series = series + self.mean
        return np.asarray(series[0] if count is None else series)

    def covariance_times(self, vectors: ArrayLike) -> Array:
        """The covariance of the series times vectors, both `(n, frames, components)`."""
        given = np.asarray(vectors, dtype=np.float64)
        series = self.unknown.covariance_times(given.swapaxes(0, 1)).swapaxes(0, 1)
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
        one = self.energy.factored([])[0] if self.unknown.free else self.unknown
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
        return np.asarray(np.maximum(np.einsum("tcc->tc", self.covariances), 0.0))


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
    energy = Energy(model, given, soft)
    unknown, pull = energy.factored(energy.free_runs())
    series = energy.known.copy()
    series.ravel()[unknown.places] = cho_solve_banded((unknown.factor, True), pull, check_finite=False)
    unknown.fill(series[:, None])
    return ConditionalSeries(np.where(energy.unknown, series + model.mean, given), energy, unknown)


class Energy:
    """The quadratic energy of a series: its residuals, evidence, and the stationary start."""

    # Shorter free runs, in orders of the model, are not worth a transition.
    SHORTEST_RUN = 12

    def __init__(self, model: VectorAutoregression, given: Array, soft: Evidence | None) -> None:
        self.model, self.soft = model, soft
        self.unknown = np.isnan(given)
        self.known = np.where(self.unknown, 0.0, given - model.mean)

    def free_runs(self) -> list[FreeRun]:
        """Long runs of frames without knowledge or evidence, where the transition can be inverted."""
        order, free = self.model.order, np.asarray(self.unknown.all(axis=1))
        free[:order] = False
        if self.soft is not None:
            free[self.soft.frames] = False
        spans = [(first, stop) for first, stop in runs(free) if stop - first >= self.SHORTEST_RUN * order]
        passed = [(first, stop, self.model.transition_energy(stop - first)) for first, stop in spans]
        return [FreeRun(first, stop, *step) for first, stop, step in passed if step is not None]

    def factored(self, free: list[FreeRun]) -> tuple[UnknownNumbers, Array]:
        """The unknown numbers outside of free runs, their precision factored, and their linear term."""
        from scipy.linalg.lapack import dpbtrf

        from marey.statistics.autoregression._kernels import add_to_band

        order = self.model.order
        kept = np.ones(len(self.known), dtype=bool)
        residuals = np.arange(len(kept)) >= order
        for run in free:
            kept[run.first : run.stop - order] = residuals[run.first : run.stop] = False
        known, unknown, residuals = self.known[kept], self.unknown[kept], residuals[kept]
        counts, frames = unknown.sum(axis=1), len(known)
        ranks = np.where(unknown, unknown.ravel().cumsum().reshape(unknown.shape) - 1, -1)
        reach = max(order + 1, 2 * order if free else 0)
        width = int(np.convolve(counts, np.ones(reach, dtype=int)).max())
        band, pull = np.zeros((int(counts.sum()), width)), np.zeros_like(known)
        steps, weighed, products = self.model.residual_energy
        rest = sum(known[order - i : frames - i] @ step.T for i, step in enumerate(steps))
        rest = rest * residuals[order:, None]
        for i, step in enumerate(weighed):
            pull[order - i : frames - i] -= rest @ step
        for back in range(order + 1):
            # Which of the residuals that hold both frames, `back` apart, there are, as bits.
            at, ahead = np.arange(back, frames), np.arange(order + 1 - back)
            there = np.append(residuals, np.zeros(order, dtype=bool))[at[:, None] + ahead] @ (1 << ahead)
            sets, which = np.unique(there, return_inverse=True)
            inside = sets[:, None] >> ahead & 1
            blocks = np.einsum("si,iab->sab", inside, products[ahead, ahead + back])
            add_to_band(band, blocks, which, ranks[at], ranks[at - back])
        if unknown[:order].any():
            _add_states(band, pull, known, ranks, order, self.model.stationary_precision)
        number = np.cumsum(kept) - 1
        for run in free:
            _add_states(band, pull, known, ranks, int(number[run.stop - 1]) + 1, run.energy)
        if self.soft is not None:
            at, precision = number[self.soft.frames], self.soft.precision
            held = np.einsum("nij,nj->ni", precision, known[at] + self.model.mean)
            np.add.at(pull, at, self.soft.vector - held)
            add_to_band(band, precision, np.arange(len(at)), ranks[at], ranks[at])
        places = np.flatnonzero(self.unknown & kept[:, None])
        factor, failed = dpbtrf(band.T, lower=1, overwrite_ab=1) if len(places) else (band.T, 0)
        if failed:
            raise InputError("the conditions on the series contradict one another, or its noise is 0")
        return UnknownNumbers(self.model, places, factor, free), pull[unknown]


def _add_states(
    band: Array, pull: Array, known: Array, ranks: NDArray[np.int64], stop: int, precision: Array
) -> None:
    """Add the energy ½ sᵀPs of the frames before `stop`, newest first."""
    from marey.statistics.autoregression._kernels import add_to_band

    size = known.shape[1]
    count = len(precision) // size
    at = stop - 1 - np.arange(count)
    pull[at] -= (precision @ known[at].ravel()).reshape(count, size)
    blocks = precision.reshape(count, size, count, size).swapaxes(1, 2).reshape(-1, size, size)
    row, column = np.divmod(np.arange(count**2), count)
    add_to_band(band, blocks, np.arange(count**2), ranks[at[row]], ranks[at[column]])
