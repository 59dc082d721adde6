"""What a clip teaches about its hole: stretches of the same length that are known in full.

The smooth bridge of each known stretch misses something. Part of that follows from the frames beyond the
edges, alike for all joints (a pooled linear regression, that is, kriging with the clip's own covariance);
part from what the figure does at the edges, as in stretches that begin and end alike (Gaussian process
regression over whole stretches, which keeps limbs together). How much to trust either, and how much is
missed in the end, is measured on stretches that were left out. After Courty 2013, section 3.2.3.1, whose
components are independent. O(stretches² · frames + stretches³).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey.body.filling.stretches import Edges

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Folds = list[tuple[Indices, Indices]]

FOLDS = 6
# Frames beyond the edges that the regression looks at.
BEYOND = (1, 2, 4, 7, 12, 20)
RIDGES = (1e-5, 1e-3, 1e-2, 1e-1, 1.0)
# Lengths relative to the median distance of stretches, shares of linear covariance, noise.
LENGTHS, LINEARS, NOISES = (0.3, 0.8), (0.0, 0.3), (0.1, 1.0)
FEATURES = 16
KEPT_VARIANCE = 0.98
# Stretches of independent motion that a clip must have for half of what it teaches to be believed.
HALF_BELIEF = 2.0


class Lesson(NamedTuple):
    """What is to be added to a smooth bridge `(frames, numbers)`, and what is then still missed in known
    stretches `(n, frames, numbers)`, which are `independent` so many."""

    correction: Array
    missed: Array
    independent: float


def learn(
    starts: Indices,
    edges: Edges,
    missed: Array,
    around: Array,
    around_hole: Array,
    features: tuple[Array, Array] | None,
) -> Lesson:
    """Learn from stretches what their smooth bridges missed.

    starts: `(n,)`, first frames, in order
    missed: `(n, frames, numbers)`; around: `(n, places, numbers)`, their surroundings
    around_hole: `(places, numbers)`
    features: of the stretches `(n, features)` and of the hole `(features,)`, or None for no examples
    """
    folds = _folds(starts, edges.frames)
    weights, expected = _pooled(missed, around, folds)
    correction = np.einsum("kl,kd->ld", weights, around_hole)
    if features is not None:
        more, found = _exemplars(missed - expected, *features, folds)
        correction, expected = correction + more, expected + found
    independent = len(np.unique(starts // max(edges.frames, 1)))
    belief = independent / (independent + HALF_BELIEF)
    left = _scaled(missed - belief * expected, around, around_hole)
    return Lesson(belief * correction, left, float(independent))


def _pooled(missed: Array, around: Array, folds: Folds) -> tuple[Array, Array]:
    """Weights `(places, frames)` by which surroundings tell what is missed, and what they tell of
    stretches left out; none if that does not help."""
    size = np.sqrt(np.square(around).mean(axis=(1, 2)))
    scale = 1.0 / np.sqrt(np.maximum(size, max(float(np.quantile(size, 0.1)), 1e-9)))[:, None, None]
    places, frames = around.shape[1], missed.shape[1]
    # (n, places, places) and (n, places, frames): sums over stretches are then cheap for each fold.
    inner = np.einsum("nkd,njd->nkj", around * scale, around * scale, optimize=True)
    outer = (around * scale) @ (missed * scale).swapaxes(1, 2)

    def solved(which: Indices, ridge: float) -> Array:
        gram = inner[which].sum(axis=0)
        gram[np.diag_indices_from(gram)] += ridge * np.diag(gram) + 1e-9 * max(np.trace(gram), 1e-300)
        return np.linalg.solve(gram, outer[which].sum(axis=0))

    best, kept, told = _loss(missed), np.inf, np.zeros_like(missed)
    for ridge in RIDGES if places else ():
        guess = np.zeros_like(missed)
        for test, training in folds:
            if len(training):
                guess[test] = solved(training, ridge).T @ around[test]
        loss = _loss(missed - guess)
        if loss < best:
            best, kept, told = loss, ridge, guess
    if not np.isfinite(kept):
        return np.zeros((places, frames)), told
    return solved(np.arange(len(missed)), kept), told


def _exemplars(missed: Array, features: Array, here: Array, folds: Folds) -> tuple[Array, Array]:
    """What stretches that begin and end alike missed: for the hole, and for stretches left out."""
    count = len(missed)
    flat = missed.reshape(count, -1)
    values, vectors = np.linalg.eigh(flat @ flat.T)
    values, vectors = np.maximum(values[::-1], 1e-300), vectors[:, ::-1]
    kept = min(count, int(np.searchsorted(np.cumsum(values), KEPT_VARIANCE * values.sum())) + 1)
    scores = vectors[:, :kept] * np.sqrt(values[:kept])
    modes = (vectors[:, :kept].T @ flat) / np.sqrt(values[:kept])[:, None]
    rest = np.maximum(np.square(flat).sum(axis=1) - np.square(scores).sum(axis=1), 0.0)
    centre = features.mean(axis=0)
    axes = np.linalg.svd(features - centre, full_matrices=False)[2][:FEATURES]
    points, place = (features - centre) @ axes.T, (here - centre) @ axes.T
    apart = _squared(points, points)
    usual = float(np.median(apart[~np.eye(count, dtype=bool)])) if count > 1 else 0.0
    if usual <= 0.0:
        return np.zeros(missed.shape[1:]), np.zeros_like(missed)
    best, choice, told = float(np.sqrt(rest + np.square(scores).sum(axis=1)).mean()), None, np.zeros_like(scores)
    for length in LENGTHS:
        for linear in LINEARS:
            covariance = _covariance(points, points, length**2 * usual, linear)
            for noise in NOISES:
                guess = np.zeros_like(scores)
                for test, training in folds:
                    if len(training):
                        inner = covariance[np.ix_(training, training)] + noise * np.eye(len(training))
                        guess[test] = covariance[np.ix_(test, training)] @ np.linalg.solve(
                            inner, scores[training]
                        )
                loss = float(np.sqrt(rest + np.square(scores - guess).sum(axis=1)).mean())
                if loss < best:
                    best, choice, told = loss, (length, linear, noise), guess
    if choice is None:
        return np.zeros(missed.shape[1:]), np.zeros_like(missed)
    length, linear, noise = choice
    inner = _covariance(points, points, length**2 * usual, linear) + noise * np.eye(count)
    near = _covariance(place[None], points, length**2 * usual, linear)
    found = near @ np.linalg.solve(inner, scores) @ modes
    return found.reshape(missed.shape[1:]), (told @ modes).reshape(missed.shape)


def _scaled(missed: Array, around: Array, around_hole: Array) -> Array:
    """What was missed, as it would be where as much happens around as around the hole."""
    happens = np.sqrt(np.square(around).mean(axis=(1, 2))) if around.shape[1] else np.zeros(len(around))
    here = float(np.sqrt(np.square(around_hole).mean())) if around_hole.size else 0.0
    size = np.sqrt(np.square(missed).mean(axis=(1, 2)))
    if happens.min(initial=np.inf) <= 0.0 or here <= 0.0 or size.min() <= 0.0:
        return missed
    logs = np.log(happens) - np.log(happens).mean()
    power = float(np.clip(logs @ np.log(size) / max(float(logs @ logs), 1e-12), 0.0, 1.0))
    return np.asarray(missed * np.clip((here / happens) ** power, 0.2, 5.0)[:, None, None])


def _folds(starts: Indices, frames: int) -> Folds:
    """Neighbouring stretches to be left out together, and those that share no frame with them."""
    found = []
    for test in np.array_split(np.arange(len(starts)), min(FOLDS, len(starts))):
        apart = (starts <= starts[test[0]] - frames) | (starts >= starts[test[-1]] + frames)
        found.append((test, np.flatnonzero(apart)))
    return found


def _loss(errors: Array) -> float:
    return float(np.sqrt(np.square(errors).sum(axis=-1)).mean())


def _squared(a: Array, b: Array) -> Array:
    lengths = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)
    return np.asarray(np.maximum(lengths - 2.0 * a @ b.T, 0.0))


def _covariance(a: Array, b: Array, square: float, linear: float) -> Array:
    return np.asarray(np.exp(-_squared(a, b) / (2.0 * square)) + linear * (a @ b.T) / square)
