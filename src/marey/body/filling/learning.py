"""What a clip teaches about its hole: stretches of the same length that are known in full.

The smooth bridge of each known stretch misses something. Part of that follows from the frames beyond the
edges, alike for all joints (a pooled linear regression, that is, kriging with the clip's own covariance);
part from what the figure does at the edges, as in stretches that begin and end alike (Gaussian process
regression over whole stretches, which keeps limbs together); between them, paths through the world lead the
poses. How much to trust either, and how much is
missed in the end, is measured on stretches that were left out. After Courty 2013, section 3.2.3.1, whose
components are independent. O(stretches² · frames + stretches³).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey.body.filling.guiding import Guide
from marey.body.filling.stretches import Edges

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Folds = list[tuple[Indices, Indices]]

FOLDS = 6
# Frames beyond the edges that the regression looks at.
BEYOND = (1, 2, 4, 7, 12, 20)
RIDGES = (1e-5, 1e-3, 1e-2, 1e-1, 1.0)
# Of the covariance of stretches: lengths relative to their median distance, noise.
# Stretches count for the hole within this share of the median distance, and all of them a little.
LENGTHS, NOISES = (0.2, 0.4, 0.8), (0.1, 1.0)
ALIKE, LEAST = 0.35, 0.02
FEATURES = 16
KEPT_VARIANCE = 0.98
# Stretches of independent motion that a clip must have for half of what it teaches to be believed.
HALF_BELIEF = 2.0
# Corrections are not larger than this share of those that were tried.
LARGEST = 0.9


class Lesson(NamedTuple):
    """What is to be added to a smooth bridge `(frames, numbers)`, and what is then still missed in known
    stretches `(n, frames, numbers)`, which are `independent` so many."""

    correction: Array
    missed: Array
    independent: float


def learn(
    starts: Indices,
    edges: Edges,
    inside: Array,
    bridges: Array,
    around: Array,
    around_hole: Array,
    features: tuple[Array, Array] | None,
    guide: Guide | None,
) -> Lesson:
    """Learn from stretches what their smooth bridges missed.

    starts: `(n,)`, first frames, in order
    inside: `(n, frames, numbers)`; bridges: `(n + 1, frames, numbers)`, of the stretches and the hole
    around: `(n, places, numbers)`, their surroundings; around_hole: `(places, numbers)`
    features: of the stretches `(n, features)` and of the hole `(features,)`, or None for no examples
    guide: if it is given, the last numbers are paths of its points
    """
    folds = _folds(starts, edges.frames)
    independent = len(np.unique(starts // max(edges.frames, 1)))
    points = None if features is None else _Points.of(*features)
    counts = np.ones(len(starts)) if points is None else points.likeness
    numbers = inside.shape[-1] - (0 if guide is None else 3 * len(guide.joints))
    missed = inside - bridges[:-1]
    weights, expected = _pooled(missed, around, folds, counts, numbers)
    belief = _belief(missed[..., :numbers], expected[..., :numbers], counts, independent)
    told = belief * np.concatenate([expected, np.einsum("kl,kd->ld", weights, around_hole)[None]])
    if guide is not None:
        led = guide.lead(missed - told[:-1], bridges + told)
        told = told[..., :numbers] + led * (independent + 1) / (independent + 2)
    missed, around, around_hole = (part[..., :numbers] for part in (missed, around, around_hole))
    correction = _within(told[-1], told[:-1])
    missed = _scaled(missed - told[:-1], around, around_hole)
    if points is not None:
        more, expected = _exemplars(missed, points, folds, counts)
        belief = _belief(missed, expected, counts, independent)
        correction = correction + belief * _within(more, expected)
        missed = missed - belief * expected
    return Lesson(correction, missed, float(independent))


class _Points(NamedTuple):
    """Stretches `(n, features)` and the hole `(features,)` as points, and the median squared distance."""

    stretches: Array
    hole: Array
    square: float

    @classmethod
    def of(cls, stretches: Array, hole: Array) -> _Points | None:
        """In principal axes; None if all are the same."""
        centre = stretches.mean(axis=0)
        axes = np.linalg.svd(stretches - centre, full_matrices=False)[2][:FEATURES]
        points = (stretches - centre) @ axes.T
        apart = _squared(points, points)[np.triu_indices(len(points), 1)]
        square = float(np.median(apart)) if len(apart) else 0.0
        return cls(points, (hole - centre) @ axes.T, square) if square > 0.0 else None

    @property
    def likeness(self) -> Array:
        """How much each stretch is like the hole `(n,)`."""
        apart = _squared(self.hole[None], self.stretches)[0]
        nearest = np.exp(-(apart - apart.min()) / (2.0 * ALIKE**2 * self.square))
        return np.asarray(nearest + LEAST)


def _belief(missed: Array, expected: Array, counts: Array, independent: float) -> float:
    """How much of what is expected to take: what was best for stretches left out, less if they were few."""
    size = np.sqrt(np.square(missed).sum(axis=(1, 2)))
    share = counts / np.maximum(size, max(1e-3 * float(size.max()), 1e-12))
    along = float(share @ np.einsum("nld,nld->n", missed, expected))
    square = float(share @ np.square(expected).sum(axis=(1, 2)))
    best = min(max(along / square, 0.0), 1.0) if square > 0.0 else 0.0
    return best * independent / (independent + HALF_BELIEF)


def _within(correction: Array, expected: Array) -> Array:
    """A correction, made smaller where it is larger than nearly all that were tried: it is a guess then."""
    largest = float(np.quantile(np.square(expected).sum(axis=(1, 2)), LARGEST))
    return np.asarray(
        correction * min(1.0, np.sqrt(largest / max(float(np.square(correction).sum()), 1e-300)))
    )


def _pooled(missed: Array, around: Array, folds: Folds, counts: Array, numbers: int) -> tuple[Array, Array]:
    """Weights `(places, frames)` by which surroundings tell what is missed, and what they tell of
    stretches left out; none if that does not help. Learned from the first `numbers`."""
    everything, missed, around = around, missed[..., :numbers], around[..., :numbers]
    size = np.sqrt(np.square(around).mean(axis=(1, 2)))
    scale = 1.0 / np.sqrt(np.maximum(size, max(float(np.quantile(size, 0.1)), 1e-9)))
    scale = scale[:, None, None]
    places, frames = around.shape[1], missed.shape[1]
    # Products of each stretch, so that the sums of every fold are cheap.
    inner = (around * scale) @ (around * scale).swapaxes(1, 2)
    outer = (around * scale) @ (missed * scale).swapaxes(1, 2)

    def solved(which: Indices, ridge: float) -> Array:
        gram = inner[which].sum(axis=0)
        gram[np.diag_indices_from(gram)] += ridge * np.diag(gram) + 1e-9 * max(np.trace(gram), 1e-300)
        return np.linalg.solve(gram, outer[which].sum(axis=0))

    best, kept = _loss(missed, counts), np.inf
    told = np.zeros((*missed.shape[:2], everything.shape[-1]))
    for ridge in RIDGES if places else ():
        guess = np.zeros_like(told)
        for test, training in folds:
            if len(training):
                guess[test] = solved(training, ridge).T @ everything[test]
        loss = _loss(missed - guess[..., :numbers], counts)
        if loss < best:
            best, kept, told = loss, ridge, guess
    if not np.isfinite(kept):
        return np.zeros((places, frames)), told
    return solved(np.arange(len(missed)), kept), told


def _exemplars(missed: Array, points: _Points, folds: Folds, counts: Array) -> tuple[Array, Array]:
    """What stretches that begin and end alike missed: for the hole, and for stretches left out."""
    count = len(missed)
    flat = missed.reshape(count, -1)
    values, vectors = np.linalg.eigh(flat @ flat.T)
    values, vectors = np.maximum(values[::-1], 1e-300), vectors[:, ::-1]
    kept = min(count, int(np.searchsorted(np.cumsum(values), KEPT_VARIANCE * values.sum())) + 1)
    scores = vectors[:, :kept] * np.sqrt(values[:kept])
    modes = (vectors[:, :kept].T @ flat) / np.sqrt(values[:kept])[:, None]
    rest = np.maximum(np.square(flat).sum(axis=1) - np.square(scores).sum(axis=1), 0.0)

    def loss(errors: Array) -> float:
        return float(np.average(np.sqrt(rest + np.square(errors).sum(axis=1)), weights=counts))

    best, found, told = loss(scores), np.zeros(kept), np.zeros_like(scores)
    for length in LENGTHS:
        covariance = _covariance(points.stretches, points.stretches, length**2 * points.square)
        near = _covariance(points.hole[None], points.stretches, length**2 * points.square)[0]
        for noise in NOISES:
            noisy = covariance + noise * np.eye(count)
            guess = np.zeros_like(scores)
            for test, training in folds:
                if len(training):
                    solved = np.linalg.solve(noisy[np.ix_(training, training)], scores[training])
                    guess[test] = covariance[np.ix_(test, training)] @ solved
            lost = loss(scores - guess)
            if lost < best:
                best, found, told = lost, near @ np.linalg.solve(noisy, scores), guess
    return (found @ modes).reshape(missed.shape[1:]), (told @ modes).reshape(missed.shape)


def _scaled(missed: Array, around: Array, around_hole: Array) -> Array:
    """What was missed, as it would be where as much happens around as around the hole."""
    happens = np.sqrt(np.square(around).mean(axis=(1, 2))) if around.shape[1] else np.zeros(len(around))
    here = float(np.sqrt(np.square(around_hole).mean())) if around_hole.size else 0.0
    size = np.sqrt(np.square(missed).mean(axis=(1, 2)))
    if happens.min(initial=np.inf) <= 0.0 or here <= 0.0 or size.min() <= 0.0:
        return missed
    logs = np.log(happens) - np.log(happens).mean()
    power = float(np.clip(logs @ np.log(size) / max(float(logs @ logs), 1e-12), 0.0, 1.0))
    return np.asarray(missed * np.clip((here / happens) ** power, 0.1, 5.0)[:, None, None])


def _folds(starts: Indices, frames: int) -> Folds:
    """Neighbouring stretches to be left out together, and those that share no frame with them."""
    found = []
    for test in np.array_split(np.arange(len(starts)), min(FOLDS, len(starts))):
        apart = (starts <= starts[test[0]] - frames) | (starts >= starts[test[-1]] + frames)
        found.append((test, np.flatnonzero(apart)))
    return found


def _loss(errors: Array, counts: Array) -> float:
    return float(np.average(np.sqrt(np.square(errors).sum(axis=-1)).mean(axis=1), weights=counts))


def _squared(a: Array, b: Array) -> Array:
    lengths = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)
    return np.asarray(np.maximum(lengths - 2.0 * a @ b.T, 0.0))


def _covariance(a: Array, b: Array, square: float) -> Array:
    return np.asarray(np.exp(-_squared(a, b) / (2.0 * square)))
