"""Is the agreement of two distance matrices more than chance? Mantel's test and his correlogram
(Boukhayma 2017, section 2.3.2; Mantel 1967).

The objects of one matrix are given each other's places many times. Pairs share objects, so pairs may not be
shuffled one by one ("sample", which the source does, makes chance look narrower than it is); objects that
follow each other in time are alike, so whole sequences may be moved ("block"). Cost: 2 ns a pair and
permutation, shared by all cores; memory two matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import checked
from marey._progress import Progress
from marey.errors import InputError
from marey.statistics.matrix_comparison.correlation import pearson, square, upper

Array = NDArray[np.float64]
Order = NDArray[np.uint32]
Mode = Literal["object", "block", "sample"]
Kind = Literal["within", "membership"]


@dataclass(frozen=True, eq=False)
class Mantel:
    """How two matrices correlate, and how they do when the objects of one are permuted.

    correlation: of the matrices as they are
    p: share of permutations that correlate as much or more, the matrices themselves counted as one of them
    permuted: `(permutations,)`, correlations by chance
    """

    correlation: float
    p: float
    permuted: Array
    mode: Mode


@dataclass(frozen=True, eq=False)
class Correlogram:
    """How two matrices correlate from near pairs to far ones.

    edges: `(classes + 1,)`, of the classes of distance in the ground truth
    counts: `(classes,)`, pairs
    correlations: `(classes,)`; NaN where a class has too few pairs, or all alike
    low, high: `(classes,)`, between which the correlation lies by chance in `confidence` of the cases
    kind: "within" for the correlation inside a class, "membership" for that of being in it with being near
    """

    edges: Array
    counts: NDArray[np.int64]
    correlations: Array
    low: Array
    high: Array
    confidence: float
    kind: Kind


def mantel(
    candidate: ArrayLike,
    truth: ArrayLike,
    *,
    permutations: int = 10_000,
    mode: Mode = "object",
    starts: ArrayLike | None = None,
    rng: np.random.Generator | int = 0,
    progress: Progress | None = None,
) -> Mantel:
    """Mantel's test of two symmetric matrices `(objects, objects)`.

    mode: "object" permutes rows and columns together; "block" lays whole sequences out in another order,
        each begun at another of its frames; "sample" shuffles the pairs, as if they were independent
    starts: `(sequences + 1,)`, first object of each sequence, for "block"

    >>> points = np.random.default_rng(0).normal(size=(30, 2))
    >>> apart = np.linalg.norm(points[:, None] - points, axis=-1)
    >>> test = mantel(apart**2, apart, permutations=99)
    >>> test.p, bool(test.correlation > 0.9 > test.permuted.max())
    (0.01, True)
    """
    first, second = _two(candidate, truth)
    _check_permutations(permutations)
    generator = np.random.default_rng(rng)
    x, y = upper(first), upper(second)
    actual = pearson(x, y)
    x_scale, y_scale = _scale(x), _scale(y)
    if mode == "sample":
        permuted = _shuffled(
            _single((x - x.mean()) / x_scale),
            _single((y - y.mean()) / y_scale),
            permutations,
            generator,
            progress,
        )
    else:
        orders = _orders(len(first), mode, starts, permutations, generator)
        fixed = _single((first - x.mean()) / x_scale)
        moved = _single((second - y.mean()) / y_scale)
        permuted = _permuted(fixed, moved, orders, permutations, progress)
    # Sums in single precision: as much as the matrices have.
    reached = int((permuted >= actual - 1e-6).sum())
    return Mantel(actual, (reached + 1) / (permutations + 1), permuted, mode)


def correlogram(
    candidate: ArrayLike,
    truth: ArrayLike,
    *,
    classes: int = 10,
    by: Literal["quantiles", "ranges"] = "quantiles",
    kind: Kind = "within",
    permutations: int = 999,
    mode: Literal["object", "block"] = "object",
    starts: ArrayLike | None = None,
    confidence: float = 0.95,
    rng: np.random.Generator | int = 0,
    progress: Progress | None = None,
) -> Correlogram:
    """Correlation with the ground truth for every class of its distances, and what chance gives.

    Where the range of distances is cut, correlations fall by themselves: compare metrics, not classes.

    by: classes of equally many pairs, or of equal ranges of distance
    kind: "within" correlates the pairs of a class; "membership" tells whether pairs of a class are nearer
        (positive) or farther (negative) in the candidate than pairs are at large
    mode, starts: as in :func:`mantel`

    >>> points = np.random.default_rng(0).normal(size=(40, 2))
    >>> apart = np.linalg.norm(points[:, None] - points, axis=-1)
    >>> near = correlogram(apart**2, apart, classes=4, permutations=99)
    >>> near.counts.tolist(), bool((near.correlations > near.high).all())
    ([195, 195, 195, 195], True)
    """
    first, second = _two(candidate, truth)
    _check_permutations(permutations)
    if not 1 <= classes <= 1000:
        raise InputError(f"classes: 1 to 1000 of them, got {classes}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence: between 0 and 1, got {confidence}")
    x, y = upper(first), upper(second)
    share = np.linspace(0, 1, classes + 1)
    edges = np.quantile(y, share) if by == "quantiles" else y.min() + share * np.ptp(y)
    members = np.clip(np.searchsorted(edges, second, side="right") - 1, 0, classes - 1).astype(np.int16)
    within = _Classes(members, (x - x.mean()) / _scale(x), (y - y.mean()) / _scale(y), classes, kind)
    fixed = _single((second - y.mean()) / _scale(y))
    moved = _single((first - x.mean()) / _scale(x))

    def one(order: Order) -> Array:
        from marey.statistics.matrix_comparison import _kernels

        sums = np.zeros((classes, 3))
        _kernels.class_sums(fixed, moved, members, order, sums)
        return within.correlations(sums)

    actual = one(np.arange(len(first), dtype=np.uint32))
    orders = _orders(len(first), mode, starts, permutations, np.random.default_rng(rng))
    chance = np.array(_work.map(one, orders, progress=progress, total=permutations))
    tail = 50 * (1 - confidence)
    empty = np.isnan(chance).all(axis=0)
    chance[:, empty] = 0.0
    low, high = np.nanpercentile(chance, [tail, 100 - tail], axis=0)
    low[empty], high[empty] = np.nan, np.nan
    return Correlogram(edges, within.counts, actual, low, high, confidence, kind)


class _Classes:
    """What stays the same of the classes while the objects are permuted."""

    def __init__(self, members: NDArray[np.int16], x: Array, y: Array, classes: int, kind: Kind) -> None:
        belongs = members[np.triu(np.ones(members.shape, bool), 1)]
        self.kind = kind
        self.counts = np.bincount(belongs, minlength=classes)
        self.sums = np.bincount(belongs, weights=y, minlength=classes)
        self.squares = np.bincount(belongs, weights=y * y, minlength=classes)
        self.pairs, self.spread = len(x), float(x.std())

    def correlations(self, sums: Array) -> Array:
        """From the sums over each class of the candidate, its square and its product with the truth."""
        n = self.counts
        with np.errstate(all="ignore"):
            if self.kind == "membership":
                share = n / self.pairs
                nearer = -sums[:, 0] / self.pairs / (self.spread * np.sqrt(share * (1 - share)))
                return np.where((n > 0) & (n < self.pairs), nearer, np.nan)
            together = n * sums[:, 2] - self.sums * sums[:, 0]
            squared = (n * self.squares - self.sums**2) * (n * sums[:, 1] - sums[:, 0] ** 2)
            enough = (n > 2) & (squared > 1e-18 * n.astype(float) ** 4 * self.spread**4)
            return np.where(enough, together / np.sqrt(squared), np.nan)


def _two(candidate: ArrayLike, truth: ArrayLike) -> tuple[Array, Array]:
    first, second = square(candidate, "candidate"), square(truth, "ground truth")
    if len(first) != len(second):
        raise InputError(f"matrices of {len(first)} and {len(second)} objects cannot be compared")
    return first.astype(np.float64), second.astype(np.float64)


def _check_permutations(permutations: int) -> None:
    if permutations < 1:
        raise InputError(f"permutations: 1 or more, got {permutations}")


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
        raise InputError(f"mode {mode!r}: one of object, block, sample (a correlogram: object or block)")
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


def _permuted(
    fixed: NDArray[np.float32],
    moved: NDArray[np.float32],
    orders: Iterator[Order],
    count: int,
    progress: Progress | None,
) -> Array:
    from marey.statistics.matrix_comparison import _kernels

    def one(order: Order) -> float:
        return float(_kernels.permuted_products(fixed, moved, order))

    return np.array(_work.map(one, orders, progress=progress, total=count))


def _shuffled(
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    count: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Array:
    from marey.statistics.matrix_comparison import _kernels

    def one(seed: np.uint64) -> float:
        return float(_kernels.shuffled_products(x, y, seed))

    seeds = rng.integers(1, 2**63, size=count, dtype=np.uint64)
    return np.array(_work.map(one, seeds, progress=progress))
