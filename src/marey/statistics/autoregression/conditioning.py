"""The law of a vector autoregression given what is known of a series: holes, soft evidence, conditions.

Mean, draws, answers and marginal covariances are exact. Stretches of unknown frames are independent given
what is known between them; each costs O(frames · order · components²) where nothing is known of long runs,
and O(frames · order² · components³) where something is. Conditional simulation by double kriging has the
same law (Courty 2013, section 3.2.2.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked
from marey._random import Rng
from marey.errors import InputError
from marey.statistics.autoregression.model import VectorAutoregression
from marey.statistics.autoregression.stretches import Evidence, Stretch, stretch

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


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
    given_first: what it was made of: the numbers that are known `(frames, components)`, and the evidence
    conditions: what was imposed on it since, in that order
    """

    mean: Array
    stretches: tuple[Stretch, ...]
    given_first: tuple[Array, Evidence | None]
    conditions: tuple[Conditions, ...] = ()

    def sample(self, rng: Rng = None, count: int | None = None) -> Array:
        """Series `(frames, components)`, or `(count, frames, components)`, with this law."""
        rng = np.random.default_rng(rng)
        number = 1 if count is None else count
        series = np.zeros((number, *self.mean.shape))
        for one in self.stretches:
            series[:, one.first : one.last] += one.drawn(rng, number).swapaxes(0, 1)
        for condition in self.conditions:
            inexact = rng.standard_normal((number, len(condition.rows))) * condition.deviations
            series = _corrected(series, condition, inexact)
        series += self.mean
        return np.asarray(series[0] if count is None else series)

    def answer(self, vectors: ArrayLike) -> Array:
        """The covariance times vectors `(n, frames, components)`: how the series answers to each."""
        given = np.asarray(vectors, dtype=np.float64)
        answers = np.zeros_like(given)
        for one in self.stretches:
            answers[:, one.first : one.last] += one.solved(
                given[:, one.first : one.last].swapaxes(0, 1)
            ).swapaxes(0, 1)
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
        known, soft = self.given_first
        for one in self.stretches:
            if one.runs:
                whole = _stretches(one.model, known, soft, jumps=False, only=one)[1][0]
            else:
                whole = one
            inverse = selected_inverse(np.ascontiguousarray(whole.factor.T))
            _scatter(found, whole.kept + whole.first * size, inverse)
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
    if len(given) < model.order:
        raise InputError(f"the series has {len(given)} frames; a model of order {model.order} needs as many")
    mean, stretches = _stretches(model, given, soft)
    return Trajectories(mean, stretches, (given, soft))


def _stretches(
    model: VectorAutoregression,
    given: Array,
    soft: Evidence | None,
    *,
    jumps: bool = True,
    only: Stretch | None = None,
) -> tuple[Array, tuple[Stretch, ...]]:
    """The mean of a series and its unknown stretches; `only` the frames of one of them."""
    unknown = ~np.isfinite(given)
    series = np.where(unknown, 0.0, given - model.mean)
    mean, found = series.copy(), []
    missing: Mask = np.asarray(unknown.any(axis=1))
    if only is not None:
        missing[: only.first] = missing[only.last :] = False
    for within in _windows(missing, model.order):
        one, middle = stretch(model, unknown, series, within, soft, jumps=jumps)
        mean[one.first : one.last] = np.where(one.unknown, middle, mean[one.first : one.last])
        found.append(one)
    return np.where(unknown, mean + model.mean, given), tuple(found)


def _windows(unknown: NDArray[np.bool_], order: int) -> list[tuple[int, int]]:
    """Runs of frames with unknowns, joined where fewer than `order` known frames lie between."""
    at = np.flatnonzero(unknown)
    if not len(at):
        return []
    breaks = np.flatnonzero(np.diff(at) > order)
    firsts = at[np.concatenate([[0], breaks + 1])]
    lasts = at[np.concatenate([breaks, [len(at) - 1]])]
    return [(int(a), int(b) + 1) for a, b in zip(firsts, lasts, strict=True)]


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
