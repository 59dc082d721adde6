"""Do two distance matrices of the same objects agree? (Boukhayma 2017, section 2.3.2; Mantel 1967.)

Correlation: Pearson's sees straight lines only; the distance correlation (equations 2.17-2.22) is 0 for
independent variables alone and is worked out by sorting and merging, O(n log n) with O(n) memory: half a
second for a million samples. Significance: Mantel's test gives the objects of one matrix each other's places
many times. Pairs share objects, so pairs may not be shuffled one by one (as published;
this underestimates the spread); objects that follow each other in time are similar, so whole sequences may be
moved ("block"). Cost: 2 ns a pair and permutation, shared by all cores; memory two matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import Array, Integers, checked
from marey._random import Rng, as_generator
from marey._work import Progress
from marey.errors import InputError

Order = NDArray[np.uint32]
Mode = Literal["object", "block"]


@dataclass(frozen=True, eq=False)
class Mantel:
    """How two matrices correlate, and how they do when the objects of one are permuted.

    Attributes:
        correlation: Of the matrices as they are.
        p: Share of permutations that correlate as much or more, the matrices themselves counted as one.
        permuted: `(permutations,)`, correlations of permuted objects.
    """

    correlation: float
    p: float
    permuted: Array
    mode: Mode


@dataclass(frozen=True, eq=False)
class Correlogram:
    """How two matrices correlate from near pairs to far ones.

    Attributes:
        edges: `(classes + 1,)`, of the classes of distance in the ground truth.
        counts: `(classes,)`, pairs.
        correlations: `(classes,)`, of the pairs of a class; NaN where it has too few, or all equal.
    """

    edges: Array
    counts: Integers
    correlations: Array


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation of two samples `(n,)`, -1…1.

    >>> pearson([1, 2, 3], [2, 4, 7]) > 0.98
    True
    >>> abs(pearson(np.arange(-10, 11), np.arange(-10, 11) ** 2)) < 1e-12
    True
    """
    first, second = _samples(x, y)
    first, second = _standardised(first, "first"), _standardised(second, "second")
    return float(np.clip(first @ second, -1.0, 1.0))


def distance_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Distance correlation of two samples `(n,)`, 0…1: 0 if one says nothing of the other, 1 on a line.

    >>> x = np.arange(-10, 11)
    >>> round(distance_correlation(x, x**2), 4)
    0.4932
    """
    first, second = _samples(x, y)
    first, second = _standardised(first, "first"), _standardised(second, "second")
    # Of one size for numbers of any count, or sums of their products would lose digits.
    first, second = first * np.sqrt(len(first)), second * np.sqrt(len(second))
    sums_first, sums_second = _sums_of_differences(first), _sums_of_differences(second)
    both = _covariance(_sum_of_products(first, second), sums_first, sums_second)
    alone_first = _covariance(_sum_of_squares(first), sums_first, sums_first)
    alone_second = _covariance(_sum_of_squares(second), sums_second, sums_second)
    return float(np.sqrt(min(max(both, 0.0) / np.sqrt(alone_first * alone_second), 1.0)))


def condensed(matrix: ArrayLike) -> Array:
    """The entries above the diagonal of a symmetric matrix `(n, n)`, row by row: `(n (n - 1) / 2,)`.

    >>> condensed([[0, 1, 2], [1, 0, 3], [2, 3, 0]]).tolist()
    [1.0, 2.0, 3.0]
    """
    table = _square(matrix, "matrix")
    return table[np.triu(np.ones(table.shape, bool), 1)].astype(np.float64)


def mantel(
    candidate: ArrayLike,
    truth: ArrayLike,
    *,
    permutations: int = 10_000,
    mode: Mode = "object",
    starts: ArrayLike | None = None,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Mantel:
    """Mantel's test of two symmetric matrices `(objects, objects)`.

    Args:
        mode: "object" permutes rows and columns together; "block" lays whole sequences out in another order,
            each begun at another of its frames.
        starts: `(sequences + 1,)`, first object of each sequence, for "block".

    >>> points = np.random.default_rng(0).normal(size=(30, 2))
    >>> apart = np.linalg.norm(points[:, None] - points, axis=-1)
    >>> test = mantel(apart**2, apart, permutations=99)
    >>> test.p, bool(test.correlation > 0.9 > test.permuted.max())
    (0.01, True)
    """
    first, second = _two(candidate, truth)
    if permutations < 1:
        raise InputError(f"permutations: 1 or more, got {permutations}")
    x, y = condensed(first), condensed(second)
    actual = pearson(x, y)
    fixed = _single((first - x.mean()) / _scale(x))
    moved = _single((second - y.mean()) / _scale(y))

    def one(order: Order) -> float:
        from marey.statistics import _matrix_kernels

        return float(_matrix_kernels.permuted_products(fixed, moved, order))

    orders = _orders(len(first), mode, starts, permutations, as_generator(rng))
    permuted = np.array(_work.map(one, orders, progress=progress, total=permutations))
    # Sums in single precision: as much as the matrices have.
    reached = int((permuted >= actual - 1e-6).sum())
    return Mantel(actual, (reached + 1) / (permutations + 1), permuted, mode)


def correlogram(candidate: ArrayLike, truth: ArrayLike, *, classes: int = 10) -> Correlogram:
    """Correlation with the ground truth for every class of its distances, each of equally many pairs.

    Where the range of distances is cut, correlations fall by themselves: compare metrics, not classes.

    >>> points = np.random.default_rng(0).normal(size=(40, 2))
    >>> apart = np.linalg.norm(points[:, None] - points, axis=-1)
    >>> near = correlogram(apart**2, apart, classes=4)
    >>> near.counts.tolist(), bool((near.correlations > 0.9).all())
    ([195, 195, 195, 195], True)
    """
    first, second = _two(candidate, truth)
    if not 1 <= classes <= 1000:
        raise InputError(f"classes: 1 to 1000 of them, got {classes}")
    x, y = condensed(first), condensed(second)
    edges = np.quantile(y, np.linspace(0, 1, classes + 1))
    members = np.clip(np.searchsorted(edges, y, side="right") - 1, 0, classes - 1)
    correlations = np.full(classes, np.nan)
    for one in range(classes):
        mine, theirs = x[members == one], y[members == one]
        if len(mine) > 2 and np.ptp(mine) > 1e-9 * np.ptp(x) and np.ptp(theirs) > 1e-9 * np.ptp(y):
            correlations[one] = pearson(mine, theirs)
    return Correlogram(edges, np.bincount(members, minlength=classes), correlations)


def _two(candidate: ArrayLike, truth: ArrayLike) -> tuple[Array, Array]:
    first, second = _square(candidate, "candidate"), _square(truth, "ground truth")
    if len(first) != len(second):
        raise InputError(f"matrices of {len(first)} and {len(second)} objects cannot be compared")
    return first.astype(np.float64), second.astype(np.float64)


def _scale(values: Array) -> float:
    return float(np.linalg.norm(values - values.mean())) or 1.0


def _single(matrix: Array) -> NDArray[np.float32]:
    return np.ascontiguousarray(matrix, dtype=np.float32)


def _orders(
    objects: int, mode: Mode, starts: ArrayLike | None, count: int, rng: np.random.Generator
) -> Iterator[Order]:
    """Permutations of the objects."""
    if mode == "object":
        return (rng.permutation(objects).astype(np.uint32) for _ in range(count))
    if mode != "block":
        raise InputError(f"mode {mode!r}: one of object, block")
    if starts is None:
        raise InputError("starts: needed for blocks; give the first object of each sequence")
    bounds = checked("starts", starts, (None,), dtype=np.int64)
    if len(bounds) < 2 or bounds[0] != 0 or bounds[-1] != objects or (np.diff(bounds) < 1).any():
        raise InputError(f"starts: must rise from 0 to {objects}, the number of objects")
    return (_blocks(bounds, rng) for _ in range(count))


def _blocks(bounds: NDArray[np.int64], rng: np.random.Generator) -> Order:
    parts = [np.arange(first, last) for first, last in pairwise(bounds)]
    turned = [np.roll(part, rng.integers(len(part))) for part in parts]
    return np.concatenate([turned[k] for k in rng.permutation(len(turned))]).astype(np.uint32)


def _square(matrix: ArrayLike, what: str) -> NDArray[np.floating]:
    """A symmetric matrix of at least 3 objects, or an :class:`InputError`."""
    given = np.asarray(matrix)
    table = checked(what, given, (None, None), dtype=np.float32 if given.dtype == np.float32 else np.float64)
    if table.shape[0] != table.shape[1]:
        raise InputError(f"{what}: expected a square matrix, got {table.shape}")
    if len(table) < 3:
        raise InputError(f"{what}: {len(table)} objects; three or more are needed to compare distances")
    if not np.allclose(table, table.T, rtol=1e-4, atol=1e-5 * float(np.abs(table).max())):
        raise InputError(f"{what}: it is not symmetric")
    return table


def _samples(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    first = checked("first sample", x, (None,))
    second = checked("second sample", y, (None,))
    if len(first) != len(second):
        raise InputError(f"samples of {len(first)} and {len(second)} numbers cannot be compared")
    if len(first) < 2:
        raise InputError(f"{len(first)} numbers: a correlation needs two or more")
    return first, second


def _standardised(values: Array, which: str) -> Array:
    """Centred, of length 1."""
    centred = values - values.mean()
    length = float(np.linalg.norm(centred))
    if length <= 1e-14 * float(np.abs(values).max()) * np.sqrt(len(values)):
        raise InputError(f"{which} sample: all its numbers are the same, so it correlates with nothing")
    return np.asarray(centred / length)


def _covariance(products: float, first: Array, second: Array) -> float:
    """Squared distance covariance: the mean product of doubly centred differences, multiplied out."""
    n = len(first)
    return float(products / n**2 - 2.0 * float(first @ second) / n**3 + first.sum() * second.sum() / n**4)


def _sums_of_differences(values: Array) -> Array:
    """For each number the sum of its differences to all, without signs, `(n,)`."""
    order = np.argsort(values, kind="stable")
    rising = values[order]
    n = len(rising)
    below = np.concatenate([[0.0], np.cumsum(rising)[:-1]])
    rank = np.arange(n)
    sums = np.empty(n)
    sums[order] = (2 * rank - n) * rising + rising.sum() - 2 * below
    return sums


def _sum_of_squares(values: Array) -> float:
    """Of all differences squared."""
    return 2.0 * len(values) * float(values @ values) - 2.0 * float(values.sum()) ** 2


def _sum_of_products(first: Array, second: Array) -> float:
    """Sum over all pairs of |difference in first| · |difference in second|."""
    from marey.statistics import _matrix_kernels

    order = np.argsort(first, kind="stable")
    return 2.0 * float(_matrix_kernels.products_of_differences(first[order], second[order]))
