"""The law of a vector autoregression given what is known of a series: holes, soft evidence, conditions.

The energy ½ Σ rᵀQ⁻¹r of the residuals is quadratic in the unknown numbers; its matrix `J` is banded, with
(order + 1) · components entries beside the diagonal. Each stretch of unknown frames is one Cholesky
factorisation: mean J⁻¹b, draws mean + L⁻ᵀε, marginal covariances by selected inversion. Exact; the cost is
O(unknown frames · order² · components³), whatever the length of the series. Conditional simulation by
double kriging has the same law (Courty 2013, section 3.2.2.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked
from marey.errors import InputError
from marey.statistics.autoregression.model import Seed, VectorAutoregression

Array = NDArray[np.float64]


class Evidence(NamedTuple):
    """What is known of frames, softly: the energy ½ xᵀPx − vᵀx is added for each.

    frames: `(n,)` which; precision: `(n, components, components)`; vector: `(n, components)`
    """

    frames: NDArray[np.intp]
    precision: Array
    vector: Array


def evidence(frames: ArrayLike, matrix: ArrayLike, values: ArrayLike, noise: ArrayLike) -> Evidence:
    """Evidence of measurements `values = matrix · x + noise` at some frames.

    matrix: `(rows, components)`, or one a frame `(n, rows, components)`
    values: `(n, rows)`; those that are NaN were not measured
    noise: variance of a measurement, `()`, `(rows,)` or `(n, rows)`
    """
    given = np.asarray(values, dtype=np.float64)
    known = np.isfinite(given)
    weight = np.where(known, 1.0 / np.broadcast_to(np.asarray(noise, dtype=np.float64), given.shape), 0.0)
    rows = np.asarray(matrix, dtype=np.float64)
    weighed = rows * weight[..., None]
    precision = np.swapaxes(weighed, -1, -2) @ rows
    vector = np.einsum("nrc,nr->nc", weighed, np.where(known, given, 0.0))
    return Evidence(np.asarray(frames, dtype=np.intp), precision, vector)


class Stretch(NamedTuple):
    """Unknown numbers that depend on one another: places in the flattened series, and the banded factor."""

    places: NDArray[np.intp]
    factor: Array


class Conditions(NamedTuple):
    """Linear functionals `(n, frames, components)` that were imposed together, how the series answers to
    each `(n, frames, components)`, and how inexactly `(n,)` they are meant."""

    rows: Array
    gains: Array
    deviations: Array


@dataclass(frozen=True, eq=False)
class Trajectories:
    """A Gaussian law of whole series, given what is known of them.

    mean: `(frames, components)`
    stretches: where the series is not known
    conditions: what was imposed on it since, in that order
    """

    mean: Array
    stretches: tuple[Stretch, ...]
    conditions: tuple[Conditions, ...] = ()

    def sample(self, rng: Seed = None, count: int | None = None) -> Array:
        """Series `(frames, components)`, or `(count, frames, components)`, with this law."""
        rng = np.random.default_rng(rng)
        number = 1 if count is None else count
        drawn = np.zeros((number, self.mean.size))
        for one in self.stretches:
            noise = rng.standard_normal((len(one.places), number))
            drawn[:, one.places] = _solved(one.factor, noise, transposed=True).T
        series = drawn.reshape(number, *self.mean.shape)
        for condition in self.conditions:
            inexact = rng.standard_normal((number, len(condition.rows))) * condition.deviations
            series = _corrected(series, condition, inexact)
        made = series + self.mean
        return np.asarray(made[0] if count is None else made)

    def answer(self, vectors: ArrayLike) -> Array:
        """The covariance times vectors `(n, frames, components)`: how the series answers to each."""
        given = np.asarray(vectors, dtype=np.float64)
        flat = given.reshape(len(given), self.mean.size)
        found = np.zeros_like(flat)
        for one in self.stretches:
            part = _solved(one.factor, flat[:, one.places].T)
            found[:, one.places] = _solved(one.factor, part, transposed=True).T
        answers = found.reshape(given.shape)
        for condition in self.conditions:
            answers = _corrected(answers, condition, 0.0)
        return answers

    def given(self, functionals: ArrayLike, values: ArrayLike, noise: ArrayLike = 0.0) -> Trajectories:
        """The law when also `Σ functional · x = value`, exactly or with a variance of `noise`.

        functionals: `(n, frames, components)`; values: `(n,)`; noise: `()` or `(n,)`
        """
        rows = checked("functionals", functionals, (None, *self.mean.shape))
        wanted = checked("values", values, (len(rows),))
        variances = np.broadcast_to(np.asarray(noise, dtype=np.float64), (len(rows),))
        answers = self.answer(rows)
        inner = np.einsum("itc,jtc->ij", rows, answers) + np.diag(variances)
        # Conditions that the known frames already decide have no say left.
        inverse = np.linalg.pinv(0.5 * (inner + inner.T), rcond=1e-12, hermitian=True)
        gains = np.einsum("ij,jtc->itc", inverse, answers)
        missing = wanted - np.einsum("itc,tc->i", rows, self.mean)
        mean = self.mean + np.einsum("i,itc->tc", missing, gains)
        imposed = Conditions(rows, gains, np.sqrt(variances))
        return replace(self, mean=mean, conditions=(*self.conditions, imposed))

    @cached_property
    def covariances(self) -> Array:
        """Covariance of each frame `(frames, components, components)`; zero where it is known."""
        from marey.statistics.autoregression._kernels import selected_inverse

        frames, size = self.mean.shape
        found = np.zeros((frames, size, size))
        for one in self.stretches:
            _scatter(found, one.places, selected_inverse(np.ascontiguousarray(one.factor.T)))
        for condition in self.conditions:
            answers = self._answers_before(condition)
            found -= np.einsum("itb,itc->tbc", condition.gains, answers)
        return found

    @property
    def deviations(self) -> Array:
        """Standard deviations `(frames, components)`; zero where it is known."""
        return np.sqrt(np.maximum(np.einsum("tcc->tc", self.covariances), 0.0))

    def _answers_before(self, condition: Conditions) -> Array:
        before = self.conditions[: [c is condition for c in self.conditions].index(True)]
        return replace(self, conditions=before).answer(condition.rows)


def condition(model: VectorAutoregression, known: ArrayLike, *, soft: Evidence | None = None) -> Trajectories:
    """The law of a series of which some numbers are known.

    known: `(frames, components)`, NaN where a number is not known
    soft: what else is known of some frames, inexactly (:func:`evidence`)

    >>> swing = VectorAutoregression([0.0], [[[1.9]], [[-0.95]]], [[0.01]])
    >>> series = swing.sample(100, rng=1)
    >>> holed = series.copy()
    >>> holed[40:60] = np.nan
    >>> law = condition(swing, holed)
    >>> law.sample(rng=2, count=5).shape, bool(np.abs(law.mean[:40] - series[:40]).max() == 0)
    ((5, 100, 1), True)
    """
    given = checked("known", known, (None, model.components), finite=False)
    if np.isinf(given).any():
        raise InputError("known: numbers, or NaN where a number is not known")
    unknown = ~np.isfinite(given)
    start = np.where(unknown, 0.0, given - model.mean)
    if len(given) < model.order:
        raise InputError(f"the series has {len(given)} frames; a model of order {model.order} needs as many")
    parts = _Energy.of(model, len(given))
    slope = -parts.times(start)
    mean, stretches = start.copy(), []
    for a, b in _windows(unknown.any(axis=1), model.order):
        places = np.flatnonzero(unknown[a:b].ravel()) + a * model.components
        pull = slope.ravel()[places]
        factored, pull = _factored(parts, unknown[a:b], a, places, soft, pull, start[a:b] + model.mean)
        solved = _solved(factored, _solved(factored, pull[:, None]), transposed=True)
        mean.ravel()[places] = solved[:, 0]
        stretches.append(Stretch(places, factored))
    return Trajectories(np.where(unknown, mean + model.mean, given), tuple(stretches))


@dataclass(frozen=True, eq=False)
class _Energy:
    """The quadratic energy of a series `(frames, components)` about the mean.

    steps: B₀ = I, B_i = −A_i, `(order + 1, components, components)`
    weighed: Q⁻¹ B_i
    products: B_iᵀ Q⁻¹ B_j, `(order + 1, order + 1, components, components)`
    beginning: inverse covariance of the first `order` frames, oldest first
    """

    frames: int
    steps: Array
    weighed: Array
    products: Array
    beginning: Array

    @classmethod
    def of(cls, model: VectorAutoregression, frames: int) -> _Energy:
        size, order = model.components, model.order
        steps = np.concatenate([np.eye(size)[None], -model.coefficients])
        weighed = np.linalg.solve(model.noise, steps)
        products = np.einsum("iba,jbc->ijac", steps, weighed)
        newest_first = model.stationary.reshape(order, size, order, size)
        oldest_first = newest_first[::-1, :, ::-1].reshape(order * size, order * size)
        floor = 1e-12 * np.trace(oldest_first) / len(oldest_first)
        beginning = np.linalg.inv(oldest_first + floor * np.eye(order * size))
        return cls(frames, steps, weighed, products, 0.5 * (beginning + beginning.T))

    @property
    def order(self) -> int:
        return len(self.steps) - 1

    def times(self, series: Array) -> Array:
        """The energy's matrix times a series `(frames, components)`."""
        order, frames = self.order, len(series)
        rest = sum(series[order - i : frames - i] @ self.steps[i].T for i in range(order + 1))
        found = np.zeros_like(series)
        for i in range(order + 1):
            found[order - i : frames - i] += rest @ self.weighed[i]
        first = (self.beginning @ series[:order].ravel()).reshape(order, -1)
        found[:order] += first
        return found

    def blocks(self, frames: NDArray[np.intp], back: int) -> Array:
        """Blocks of the matrix between frames and those `back` before, `(n, components, components)`."""
        size, order = self.steps.shape[1], self.order
        found = np.zeros((len(frames), size, size))
        for i in range(order + 1 - back):
            inside = (frames + i >= order) & (frames + i < self.frames)
            found[inside] += self.products[i, i + back]
        early = np.flatnonzero((frames < order) & (frames - back >= 0))
        grid = self.beginning.reshape(order, size, order, size)
        for k in early:
            found[k] += grid[frames[k], :, frames[k] - back]
        return found


def _windows(unknown: NDArray[np.bool_], order: int) -> list[tuple[int, int]]:
    """Runs of frames with unknowns, joined where fewer than `order` known frames lie between."""
    at = np.flatnonzero(unknown)
    if not len(at):
        return []
    breaks = np.flatnonzero(np.diff(at) > order)
    firsts = at[np.concatenate([[0], breaks + 1])]
    lasts = at[np.concatenate([breaks, [len(at) - 1]])]
    return [(int(a), int(b) + 1) for a, b in zip(firsts, lasts, strict=True)]


def _factored(
    parts: _Energy,
    unknown: NDArray[np.bool_],
    a: int,
    places: NDArray[np.intp],
    soft: Evidence | None,
    pull: Array,
    start: Array,
) -> tuple[Array, Array]:
    """Banded Cholesky factor (lower form) of the unknowns from frame a on, and slope with the evidence."""
    from scipy.linalg import cholesky_banded

    b, size = a + len(unknown), unknown.shape[1]
    rank = np.full((b - a) * size, -1)
    rank[places - a * size] = np.arange(len(places))
    rank = rank.reshape(b - a, size)
    width = min((parts.order + 1) * size, len(places))
    band = np.zeros((width, len(places)))
    for back in range(min(parts.order, b - a - 1) + 1):
        here = np.arange(a + back, b)
        _fill(band, parts.blocks(here, back), rank[here - a], rank[here - a - back])
    if soft is not None:
        inside = np.flatnonzero((soft.frames >= a) & (soft.frames < b))
        at = soft.frames[inside]
        precision = soft.precision[inside]
        _fill(band, precision, rank[at - a], rank[at - a])
        extra = np.zeros((b - a, size))
        np.add.at(extra, at - a, soft.vector[inside] - np.einsum("nab,nb->na", precision, start[at - a]))
        pull = pull + extra.ravel()[places - a * size]
    try:
        return cholesky_banded(band, lower=True, check_finite=False), pull
    except np.linalg.LinAlgError as error:
        raise InputError("the conditions on the series contradict one another, or its noise is 0") from error


def _fill(band: Array, blocks: Array, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
    """Add blocks to a lower band, at the ranks of their rows and columns (−1: not there)."""
    row = np.broadcast_to(rows[:, :, None], blocks.shape)
    column = np.broadcast_to(columns[:, None, :], blocks.shape)
    keep = (row >= 0) & (column >= 0) & (row >= column)
    np.add.at(band, (row[keep] - column[keep], column[keep]), blocks[keep])


def _solved(factor: Array, right: Array, *, transposed: bool = False) -> Array:
    """`L⁻¹ right`, or `L⁻ᵀ right`, of a banded factor in lower form."""
    from scipy.linalg.lapack import dtbtrs

    if not right.size:
        return right
    found, failed = dtbtrs(factor, right, uplo="L", trans="T" if transposed else "N")
    if failed:
        raise InputError("the conditions on the series contradict one another")
    return np.asarray(found)


def _corrected(series: Array, condition: Conditions, inexact: Array | float) -> Array:
    missed = np.einsum("itc,ntc->ni", condition.rows, series) + inexact
    return np.asarray(series - np.einsum("ni,itc->ntc", missed, condition.gains))


def _scatter(found: Array, places: NDArray[np.intp], inverse: Array) -> None:
    """Put the entries of a banded inverse `(n, width)` that belong to one frame into `found`."""
    size = found.shape[1]
    frame, part = places // size, places % size
    for away in range(min(size, inverse.shape[1])):
        near = np.flatnonzero(frame[away:] == frame[: len(frame) - away])
        values = inverse[near, away]
        one, other = part[near], part[near + away]
        found[frame[near], one, other] = values
        found[frame[near], other, one] = values
