"""Unknown frames of a series that depend on one another: solving and drawing them together.

The energy ½ Σ rᵀQ⁻¹r of the residuals is quadratic with a banded matrix. Long runs of frames about which
nothing is known are left out of it: a :class:`~marey.statistics.autoregression.jumps.Jump` stands for them,
and they are filled in by recursions once the frames on both sides are there. What is kept is one banded
Cholesky factorisation, O(kept frames · order² · components³). Exact either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey.errors import InputError
from marey.statistics.autoregression.jumps import Jump, product
from marey.statistics.autoregression.model import VectorAutoregression

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]

# Runs shorter than this are never worth a jump.
SHORTEST_JUMP = 32


class Evidence(NamedTuple):
    """What is known of frames, softly: the energy ½ xᵀPx − vᵀx is added for each.

    frames: `(n,)` which; precision: `(n, components, components)`; vector: `(n, components)`
    """

    frames: NDArray[np.intp]
    precision: Array
    vector: Array


class Run(NamedTuple):
    """Free frames `first … last` of a stretch; `jump` leads over them to the state that ends `order` frames
    later, or is None where the series ends with them."""

    first: int
    last: int
    jump: Jump | None

    def span(self, order: int) -> int:
        """Steps that are taken from the state before."""
        return self.last - self.first + 1 + (0 if self.jump is None else order)


@dataclass(frozen=True, eq=False)
class Stretch:
    """Frames `first … first + len(unknown) − 1` of a series; known ones at both ends, as many as matter.

    model: of the series
    unknown: `(frames, components)`
    ranks: `(frames, components)`, place of each kept unknown number in the factor, −1 elsewhere
    factor: `(width, numbers)`, banded Cholesky factor of the kept unknowns, lower form
    runs: frames that are not kept
    """

    model: VectorAutoregression
    first: int
    unknown: Mask
    ranks: Whole
    factor: Array
    runs: tuple[Run, ...]

    @property
    def last(self) -> int:
        """The frame after it."""
        return self.first + len(self.unknown)

    @cached_property
    def kept(self) -> NDArray[np.intp]:
        """Places of the kept unknowns in the flattened stretch, by rank."""
        return np.flatnonzero(self.ranks.ravel() >= 0)

    @cached_property
    def batches(self) -> list[list[Run]]:
        """Runs of equal length: they are gone through side by side."""
        alike: dict[tuple[int, bool], list[Run]] = {}
        for run in self.runs:
            alike.setdefault((run.last - run.first, run.jump is None), []).append(run)
        return list(alike.values())

    def solved(self, pull: Array) -> Array:
        """The unknowns' covariance times `pull`, both `(frames, series, components)`; known rows are zero."""
        order = self.model.order
        pull = np.where(self.unknown[:, None], pull, 0.0)
        right, pushes = pull.copy(), []
        for runs in self.batches:
            starts, inside = self._before(runs), _inside(runs)
            behind = np.zeros((order + runs[0].span(order), len(runs) * pull.shape[1], pull.shape[2]))
            behind[order : order + len(inside)] = _gathered(pull, inside)
            self._backward(behind)
            pushes.append(times(behind[order:], self.model.noise))
            _scatter(right, starts, _gathered(right, starts) + behind[:order])
            if runs[0].jump is not None:
                path = np.concatenate([np.zeros_like(behind[:order]), pushes[-1]])
                self._forward(path)
                pulled = runs[0].jump.weighed(_states(path[-order:]))
                ends = self._after(runs)
                _scatter(right, ends, _gathered(right, ends) + _frames(pulled, order))
                taken = _frames(product(pulled, runs[0].jump.matrix), order)
                _scatter(right, starts, _gathered(right, starts) - taken)
        found = np.zeros_like(pull)
        flat = right.transpose(0, 2, 1).reshape(-1, pull.shape[1])[self.kept]
        self._put(found, triangular(self.factor, triangular(self.factor, flat), transposed=True))
        for runs, push in zip(self.batches, pushes, strict=True):
            self._fill(found, runs, push)
        return found

    def drawn(self, rng: np.random.Generator, count: int) -> Array:
        """Deviations from the mean `(frames, count, components)`."""
        found = np.zeros((len(self.unknown), count, self.model.components))
        noise = rng.standard_normal((len(self.kept), count))
        self._put(found, triangular(self.factor, noise, transposed=True))
        for runs in self.batches:
            noise = rng.standard_normal(self._steps_of(runs, count))
            self._fill(found, runs, times(noise, self.model.noise_factor.T))
        return found

    def completed(self, series: Array, pull: Array) -> Array:
        """The mean `(frames, components)`: `series` where it is known, elsewhere as `pull` and it want."""
        found = series[:, None].copy()
        flat = pull.ravel()[self.kept][:, None]
        self._put(found, triangular(self.factor, triangular(self.factor, flat), transposed=True))
        for runs in self.batches:
            self._fill(found, runs, np.zeros(self._steps_of(runs, 1)))
        return found[:, 0]

    def _fill(self, found: Array, runs: list[Run], push: Array) -> None:
        """Put the frames of runs between their ends, moved by `push` `(steps, runs · series, components)`."""
        order, inside = self.model.order, _inside(runs)
        before = _gathered(found, self._before(runs))
        path = np.concatenate([before, push])
        self._forward(path)
        if runs[0].jump is not None:
            missed = _gathered(found, self._after(runs)) - path[-order:]
            behind = np.zeros_like(path)
            behind[-order:] = _frames(runs[0].jump.weighed(_states(missed)), order)
            self._backward(behind)
            path = np.concatenate([before, push + times(behind[order:], self.model.noise)])
            self._forward(path)
        _scatter(found, inside, path[order : order + len(inside)])

    def _steps_of(self, runs: list[Run], count: int) -> tuple[int, int, int]:
        return runs[0].span(self.model.order), len(runs) * count, self.model.components

    def _before(self, runs: list[Run]) -> NDArray[np.intp]:
        """Frames `(order, runs)` of the states before runs."""
        return np.array([run.first for run in runs]) + np.arange(-self.model.order, 0)[:, None]

    def _after(self, runs: list[Run]) -> NDArray[np.intp]:
        return np.array([run.last + 1 for run in runs]) + np.arange(self.model.order)[:, None]

    def _put(self, found: Array, numbers: Array) -> None:
        """Put kept unknowns `(numbers, series)` into `(frames, series, components)`."""
        size = self.model.components
        found[self.kept // size, :, self.kept % size] = numbers

    def _forward(self, series: Array) -> None:
        from marey.statistics.autoregression._kernels import run_forward

        run_forward(series, self.model.steps_forward)

    def _backward(self, series: Array) -> None:
        from marey.statistics.autoregression._kernels import run_backward

        run_backward(series, self.model.steps_backward)


def stretch(
    model: VectorAutoregression,
    unknown: Mask,
    series: Array,
    within: tuple[int, int],
    soft: Evidence | None,
    *,
    jumps: bool = True,
) -> tuple[Stretch, Array]:
    """The unknown frames `within[0] … within[1] − 1` of a series, and their mean with what is around.

    unknown: `(frames, components)` of the whole series; series: the same, about the mean, 0 where unknown
    jumps: whether long runs of free frames may be left out of the factorisation
    """
    order, frames = model.order, len(unknown)
    a, b = max(within[0] - order, 0), min(within[1] + order, frames)
    here = unknown[a:b]
    at = np.empty(0, dtype=np.intp)
    touched = np.zeros(b - a, dtype=bool)
    if soft is not None:
        at = np.flatnonzero((soft.frames >= a) & (soft.frames < b))
        touched[soft.frames[at] - a] = True
    runs = _runs(model, here.all(axis=1) & ~touched, ends=b == frames) if jumps else ()
    ordinary = np.ones(b - a, dtype=bool)
    ordinary[:order] = False
    kept = np.ones(b - a, dtype=bool)
    for run in runs:
        kept[run.first : run.last + 1] = False
        ordinary[run.first : run.first + run.span(order)] = False
    ranks = np.full(here.shape, -1, dtype=np.int64)
    counted = here & kept[:, None]
    ranks[counted] = np.arange(int(counted.sum()))
    energy = _Energy(model, ranks, ordinary, runs, beginning=a == 0 and bool(here[:order].any()))
    band = energy.band(soft, at, a)
    pull = -energy.times(series[a:b])
    if soft is not None:
        where = soft.frames[at] - a
        held = np.einsum("nij,nj->ni", soft.precision[at], series[a:b][where] + model.mean)
        np.add.at(pull, where, soft.vector[at] - held)
    found = Stretch(model, a, here, ranks, _factored(band), runs)
    return found, found.completed(series[a:b], pull)


def times(series: Array, matrix: Array) -> Array:
    """`series @ matrix` for `(frames, series, components)`, in one product."""
    return product(series.reshape(-1, series.shape[2]), matrix).reshape(series.shape)


def triangular(factor: Array, right: Array, *, transposed: bool = False) -> Array:
    """`L⁻¹ right`, or `L⁻ᵀ right`, of a banded factor in lower form."""
    from scipy.linalg.lapack import dtbtrs

    if not right.size:
        return right
    found, failed = dtbtrs(factor, right, uplo="L", trans="T" if transposed else "N")
    if failed:
        raise InputError("the conditions on the series contradict one another")
    return np.asarray(found)


def _runs(model: VectorAutoregression, free: Mask, *, ends: bool) -> tuple[Run, ...]:
    """Runs of free frames that are worth leaving out; `ends`: the series ends with these frames."""
    order = model.order
    edges = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]]).astype(np.int8)))
    spans = [(max(int(p), order), int(q)) for p, q in edges.reshape(-1, 2)]
    lengths = [q - p for p, q in spans if q < len(free)]
    found = []
    for p, q in spans:
        if q == len(free) and ends:
            if q > p:
                found.append(Run(p, q - 1, None))
        elif _worth_it(q - p, lengths.count(q - p), order):
            found.append(Run(p, q - order, model.jumps.over(q - p + 1)))
    return tuple(found)


def _worth_it(length: int, times: int, order: int) -> bool:
    """Whether products of states (log₂ of the length, once) cost less than those of frames (each one)."""
    doubling = (3 * max(length, 1).bit_length() + 4 * times) * 2 * order**3
    return length >= max(SHORTEST_JUMP, 4 * order) and doubling < times * length * (order + 1) ** 2


class _Energy:
    """The quadratic energy of a stretch: ordinary residuals, jumps, and the long-run law at the beginning."""

    def __init__(
        self,
        model: VectorAutoregression,
        ranks: Whole,
        ordinary: Mask,
        runs: tuple[Run, ...],
        beginning: bool,
    ) -> None:
        order, size = model.order, model.components
        self.ranks, self.ordinary, self.runs, self.order = ranks, ordinary, runs, order
        self.steps = np.concatenate([np.eye(size)[None], -model.coefficients])
        try:
            self.weighed = np.linalg.solve(model.noise, self.steps)
        except np.linalg.LinAlgError as error:
            raise InputError("the model's noise is singular: some numbers never vary freely") from error
        self.start = model.long_run_precision if beginning else np.empty((0, 0))

    def times(self, series: Array) -> Array:
        """The energy's matrix times a series `(frames, components)` zero where frames are left out."""
        order = self.order
        found = np.zeros_like(series)
        at = np.flatnonzero(self.ordinary)
        rest = sum(product(series[at - i], step.T) for i, step in enumerate(self.steps))
        for i, step in enumerate(self.weighed):
            found[at - i] += product(np.asarray(rest), step)
        if self.start.size:
            found[:order] += (self.start @ series[:order].ravel()).reshape(order, -1)
        for run in self.runs:
            if run.jump is not None:
                before, after = self._ends(run)
                missed = series[after].ravel() - run.jump.matrix @ series[before].ravel()
                pulled = run.jump.weighed(missed[None])[0]
                found[after] += pulled.reshape(order, -1)
                found[before] -= (run.jump.matrix.T @ pulled).reshape(order, -1)
        return found

    def band(self, soft: Evidence | None, at: NDArray[np.intp], a: int) -> Array:
        """The matrix of the kept unknowns, `(numbers, width)` with entry `[j, k]` between j and j + k."""
        from marey.statistics.autoregression._kernels import PANEL, add_to_band

        ranks, order = self.ranks, self.order
        band = np.zeros((int(ranks.max(initial=-1)) + 1, self._width() + PANEL - 1))
        products = self.steps.swapaxes(1, 2)[:, None] @ self.weighed
        counted: Mask = np.asarray((ranks >= 0).any(axis=1))
        for back in range(order + 1):
            rows = back + np.flatnonzero(counted[back:] & counted[: len(ranks) - back])
            # Which residuals hold both frames: bit i for the one i frames later.
            ahead = np.arange(order + 1 - back)
            later = rows[:, None] + ahead
            there = (later < len(ranks)) & self.ordinary[np.minimum(later, len(ranks) - 1)]
            codes, which = np.unique(there @ (1 << ahead), return_inverse=True)
            picked = (codes[:, None] >> ahead & 1).astype(np.float64)
            table = np.einsum("ui,iac->uac", picked, products[ahead, ahead + back])
            add_to_band(band, table, which.ravel(), ranks[rows], ranks[rows - back])
        if self.start.size:
            self._add_square(band, self.start, np.arange(order))
        for run in self.runs:
            if run.jump is not None:
                self._add_square(band, run.jump.energy, np.concatenate(self._ends(run)))
        if soft is not None:
            where = ranks[soft.frames[at] - a]
            add_to_band(band, soft.precision[at], np.arange(len(at)), where, where)
        return band

    def _add_square(self, band: Array, square: Array, frames: NDArray[np.intp]) -> None:
        from marey.statistics.autoregression._kernels import add_to_band

        count, size = len(frames), self.ranks.shape[1]
        table = np.ascontiguousarray(square.reshape(count, size, count, size).swapaxes(1, 2))
        one, other = np.divmod(np.arange(count**2), count)
        rows, columns = self.ranks[frames[one]], self.ranks[frames[other]]
        add_to_band(band, table.reshape(-1, size, size), np.arange(count**2), rows, columns)

    def _ends(self, run: Run) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        behind = np.arange(-self.order, 0)
        return run.first + behind, run.last + 1 + self.order + behind

    def _width(self) -> int:
        """How far from the diagonal numbers still depend on one another, plus one."""
        far = self.ranks.max(initial=-1) + 1
        lowest = np.where(self.ranks >= 0, self.ranks, far).min(axis=1, initial=far)
        highest = self.ranks.max(axis=1, initial=-1)
        groups = [np.arange(len(lowest) - self.order)[:, None] + np.arange(self.order + 1)]
        groups[0] = groups[0][self.ordinary[self.order :]]
        groups += [np.concatenate(self._ends(run))[None] for run in self.runs if run.jump is not None]
        groups.append(np.arange(self.order)[None])
        reach = [(highest[g].max(axis=1) - lowest[g].min(axis=1)).max(initial=0) for g in groups]
        return int(max(reach)) + 1


def _factored(band: Array) -> Array:
    from marey.statistics.autoregression._kernels import factor_band

    if not factor_band(band):
        raise InputError("the conditions on the series contradict one another, or its noise is 0")
    return band.T


def _inside(runs: list[Run]) -> NDArray[np.intp]:
    """Frames `(length, runs)`."""
    return np.array([run.first for run in runs]) + np.arange(runs[0].last + 1 - runs[0].first)[:, None]


def _gathered(series: Array, frames: NDArray[np.intp]) -> Array:
    """Frames `(n, runs)` of `(frames, series, components)` side by side `(n, runs · series, components)`."""
    return series[frames].reshape(len(frames), -1, series.shape[2])


def _scatter(series: Array, frames: NDArray[np.intp], values: Array) -> None:
    """The reverse of :func:`_gathered`."""
    series[frames] = values.reshape(*frames.shape, *series.shape[1:])


def _states(frames: Array) -> Array:
    """Frames `(order, series, components)` as states `(series, order · components)`."""
    return np.ascontiguousarray(frames.transpose(1, 0, 2)).reshape(frames.shape[1], -1)


def _frames(states: Array, order: int) -> Array:
    return states.reshape(len(states), order, -1).transpose(1, 0, 2)
