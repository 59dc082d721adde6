"""Content of a gap learned from the clip: from windows of the same shape that are known in full.

The Hermite curve of each known window misses something. Part of that follows from the frames beyond the
edges, by the same weights for all joints (a pooled linear regression); part from the poses at the edges, as
in windows that begin and end similarly (Gaussian process regression over whole windows, which keeps limbs
together). How much to trust either, and how much is missed in the end, is measured on windows that were
left out. Of joints that are missing while others are known, most follows from the others (a linear
regression over the whole frames of the clip); what does not is a series of its own with a gap. After
Courty 2013, section 3.2.3.1, whose components are independent. O(windows² · frames + windows³).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.fill.coordinates import (
    Edges,
    FillSettings,
    Gap,
    Indices,
    WindowCoordinates,
    hermite,
    linear,
    surroundings,
)

Folds = list[tuple[Indices, Indices]]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Content of a gap.

    Attributes:
        edges: Shape of its window.
        mean: `(frames, features)`.
        deviations: `(n, frames, features)`, equally likely deviations from it; can be none.
        inflation: Factor on the deviations, since the clip showed so few windows.
    """

    edges: Edges
    mean: Array
    deviations: Array
    inflation: float = 1.0

    def sample(self, count: int, rng: np.random.Generator) -> Array:
        """Random deviations `(count, frames, features)`: Gaussian, of the size of one chosen at random."""
        if not len(self.deviations):
            return np.zeros((count, *self.mean.shape))
        # Busy windows deviate far more than calm ones: one Gaussian for all would be too wide for most.
        sizes = np.sqrt(np.square(self.deviations).mean(axis=(1, 2)))
        usual = np.maximum(sizes, max(float(np.median(sizes)), 1e-300))
        noise = rng.standard_normal((count, len(sizes))) / usual
        noise *= self.inflation * rng.choice(sizes, count)[:, None]
        noise /= max(float(np.linalg.norm(sizes / usual)), 1e-300)
        return np.tensordot(noise, self.deviations, axes=1)

    def members(self, count: int) -> Array:
        """Deviations `(count, frames, features)` that represent all of them."""
        if not len(self.deviations):
            return np.zeros((count, *self.mean.shape))
        return np.asarray(
            self.deviations[np.linspace(0, len(self.deviations) - 1, count).round().astype(int)]
        )


def predict(coordinates: WindowCoordinates, gap: Gap, edges: Edges) -> Prediction:
    """The content of a gap as the rest of the clip suggests."""
    settings, rate = coordinates.settings, coordinates.motion.frame_rate
    starts = coordinates.complete(edges)
    most = max(min(settings.max_windows, settings.max_window_frames // edges.frames), settings.min_windows)
    if len(starts) > most:
        starts = starts[np.linspace(0, len(starts) - 1, most).round().astype(int)]
    enough = len(starts) >= settings.min_windows
    others = np.flatnonzero(~coordinates.gap_mask[gap.first : gap.stop].any(axis=0))
    others = others[others > 0]
    # Vectors to fill, and the same with what was learned without a window, to judge it by.
    choices = [(coordinates.vectors, coordinates.vectors)]
    if len(others) and len(gap.limbs):
        choices.append(_without_others(coordinates, gap, others))
    windows = [coordinates.windows(starts, edges, gap.joints, left_out) for _, left_out in choices]
    best = -1
    if enough:
        losses = [_loss(_inside(known, edges) - hermite(known, edges, rate), None) for known in windows]
        best = int(np.argmin(losses))
    vectors = choices[best][0]
    own = coordinates.windows(np.array([gap.first]), edges, gap.joints, vectors, hollow=True)
    curve = hermite(own, edges, rate)
    inflation = 1.0
    if enough:
        alone = not len(others)
        correction, deviations = _learn(coordinates, starts, gap, edges, windows[best], own, exemplars=alone)
        curve = curve + correction
        inflation += 1.0 / len(np.unique(starts // edges.frames))
    else:
        # As much as the velocities at the edges bend a line.
        sizes = np.random.default_rng(0).standard_normal((24, 1, curve.shape[-1]))
        deviations = np.asarray((curve - linear(own, edges)) * sizes)
    mean = curve[0]
    size = 3 * len(gap.limbs)
    following = (coordinates.vectors - vectors)[gap.first : gap.stop, gap.limbs]
    mean[:, :size] += following.reshape(gap.frames, size)
    return Prediction(edges, mean, deviations, inflation)


def _learn(
    coordinates: WindowCoordinates,
    starts: Indices,
    gap: Gap,
    edges: Edges,
    known: Array,
    own: Array,
    *,
    exemplars: bool,
) -> tuple[Array, Array]:
    """What to add to the Hermite curve of the gap `(frames, features)`, and what known windows then still
    miss `(n, frames, features)`.

    Args:
        starts: `(n,)`, first gap frames of the known windows, in order.
        known, own: `(n or 1, before + frames + after, features)`, the known windows, and the gap's, hollow.
        exemplars: Whether to compare poses at the edges.
    """
    settings, rate = coordinates.settings, coordinates.motion.frame_rate
    # Neighbouring windows to be left out together, and those that share no frame with them.
    folds: Folds = []
    for test in np.array_split(np.arange(len(starts)), min(settings.folds, len(starts))):
        first, last = starts[test[0]] - edges.frames, starts[test[-1]] + edges.frames
        folds.append((test, np.flatnonzero((starts <= first) | (starts >= last))))
    apart, counts = None, np.ones(len(starts))
    if exemplars:
        features = coordinates.poses_at_edges(np.append(starts, gap.first), edges)
        apart = _distances(features, settings.features)
    if apart is not None:
        # Windows similar to the gap's count most, and none for nothing.
        counts = np.exp((apart[-1].min() - apart[-1]) / (2.0 * 0.35**2)) + 0.02
    missed = _inside(known, edges) - hermite(known, edges, rate)
    around, around_gap = (surroundings(part, edges, settings.beyond) for part in (known, own))
    weights, expected = _pooled(missed, around, folds, counts, settings)
    independent = len(np.unique(starts // edges.frames))
    trust = _trust(missed, expected, counts, independent)
    correction = trust * _within(np.einsum("kl,kd->ld", weights, around_gap[0]), expected)
    missed = _scaled(missed - trust * expected, around, around_gap[0])
    if apart is not None:
        more, expected = _exemplars(missed, apart, folds, counts, settings)
        trust = _trust(missed, expected, counts, independent)
        correction = correction + trust * _within(more, expected)
        missed = missed - trust * expected
    return correction, missed


def _distances(features: Array, kept: int) -> Array | None:
    """Squared distances `(n + 1, n)` of n windows and the gap's, the last, from the windows.

    In so many principal axes, relative to the median between windows; None if all are the same.
    """
    from scipy.spatial.distance import cdist, pdist

    centred = features - features[:-1].mean(axis=0)
    points = centred @ np.linalg.svd(centred[:-1], full_matrices=False)[2][:kept].T
    median = float(np.median(pdist(points[:-1], "sqeuclidean")))
    return cdist(points, points[:-1], "sqeuclidean") / median if median > 0.0 else None


def _trust(missed: Array, expected: Array, counts: Array, independent: int) -> float:
    """The share of what is expected that was best for windows left out, less if few are independent.

    Windows that share frames with one another, as nearly all of a short clip do, agree by that alone: a
    single independent one is trusted by half.
    """
    size = np.sqrt(np.square(missed).sum(axis=(1, 2)))
    share = counts / np.maximum(size, max(1e-3 * float(size.max()), 1e-12))
    along = float(share @ np.einsum("nld,nld->n", missed, expected))
    square = float(share @ np.square(expected).sum(axis=(1, 2)))
    best = min(max(along / square, 0.0), 1.0) if square > 0.0 else 0.0
    return best * independent / (independent + 1.0)


def _within(correction: Array, expected: Array) -> Array:
    """A correction, made smaller where it is larger than nine in ten of those that were tried."""
    largest = float(np.quantile(np.square(expected).sum(axis=(1, 2)), 0.9))
    size = max(float(np.square(correction).sum()), 1e-300)
    return np.asarray(correction * min(1.0, np.sqrt(largest / size)))


def _pooled(
    missed: Array, around: Array, folds: Folds, counts: Array, settings: FillSettings
) -> tuple[Array, Array]:
    """Weights `(places, frames)` by which surroundings predict what is missed, and their predictions for
    windows left out; zero if that does not help."""
    size = np.sqrt(np.square(around).mean(axis=(1, 2)))
    scale = 1.0 / np.sqrt(np.maximum(size, max(float(np.quantile(size, 0.1)), 1e-9)))
    scale = scale[:, None, None]
    places, frames = around.shape[1], missed.shape[1]
    # Products of each window, so that the sums of every fold are cheap.
    inner = (around * scale) @ (around * scale).swapaxes(1, 2)
    outer = (around * scale) @ (missed * scale).swapaxes(1, 2)

    def solved(which: Indices, ridge: float) -> Array:
        gram = inner[which].sum(axis=0)
        gram[np.diag_indices_from(gram)] += ridge * np.diag(gram) + 1e-9 * max(np.trace(gram), 1e-300)
        return np.linalg.solve(gram, outer[which].sum(axis=0))

    best, weights, expected = _loss(missed, counts), np.zeros((places, frames)), np.zeros_like(missed)
    for ridge in settings.ridges if places else ():
        guess = np.zeros_like(missed)
        for test, training in folds:
            if len(training):
                guess[test] = solved(training, ridge).T @ around[test]
        loss = _loss(missed - guess, counts)
        if loss < best:
            best, weights, expected = loss, solved(np.arange(len(missed)), ridge), guess
    return weights, expected


def _exemplars(
    missed: Array, apart: Array, folds: Folds, counts: Array, settings: FillSettings
) -> tuple[Array, Array]:
    """What windows that begin and end similarly missed: for the gap, and for windows left out."""
    count = len(missed)
    flat = missed.reshape(count, -1)
    values, vectors = np.linalg.eigh(flat @ flat.T)
    values, vectors = np.maximum(values[::-1], 1e-300), vectors[:, ::-1]
    kept = min(count, int(np.searchsorted(np.cumsum(values), 0.98 * values.sum())) + 1)
    scores = vectors[:, :kept] * np.sqrt(values[:kept])
    modes = (vectors[:, :kept].T @ flat) / np.sqrt(values[:kept])[:, None]
    rest = np.maximum(np.square(flat).sum(axis=1) - np.square(scores).sum(axis=1), 0.0)

    def loss(errors: Array) -> float:
        return float(np.average(np.sqrt(rest + np.square(errors).sum(axis=1)), weights=counts))

    best, found, expected = loss(scores), np.zeros(kept), np.zeros_like(scores)
    for length in settings.lengths:
        covariance = np.exp(-apart / (2.0 * length**2))
        covariance, near = covariance[:-1], covariance[-1]
        for noise in settings.noises:
            noisy = covariance + noise * np.eye(count)
            guess = np.zeros_like(scores)
            for test, training in folds:
                if len(training):
                    solved = np.linalg.solve(noisy[np.ix_(training, training)], scores[training])
                    guess[test] = covariance[np.ix_(test, training)] @ solved
            lost = loss(scores - guess)
            if lost < best:
                best, found, expected = lost, near @ np.linalg.solve(noisy, scores), guess
    return (found @ modes).reshape(missed.shape[1:]), (expected @ modes).reshape(missed.shape)


def _without_others(coordinates: WindowCoordinates, gap: Gap, others: Indices) -> tuple[Array, Array]:
    """Vectors `(frames, joints, 3)` less what the missing joints do by what the others do.

    Then the same learned without the fifth of the clip that a frame lies in, to judge it by.
    """
    whole = np.flatnonzero(~coordinates.gap_mask.any(axis=1))
    inputs = coordinates.vectors[:, others].reshape(len(coordinates.vectors), -1)
    targets = coordinates.vectors[whole][:, gap.limbs].reshape(len(whole), -1)
    centre, level = inputs[whole].mean(axis=0), targets.mean(axis=0)
    x, y = inputs[whole] - centre, targets - level
    size = float(np.square(x).sum()) / x.shape[1]
    parts = np.array_split(np.arange(len(whole)), min(5, len(whole)))
    sums = [(x[part].T @ x[part], x[part].T @ y[part]) for part in parts]
    gram, products = np.sum([a for a, _ in sums], axis=0), np.sum([b for _, b in sums], axis=0)

    def solved(gram: Array, products: Array, ridge: float) -> Array:
        return np.linalg.solve(gram + max(ridge * size, 1e-12) * np.eye(len(gram)), products)

    def left_out(ridge: float) -> Array:
        pairs = zip(parts, sums, strict=True)
        return np.concatenate([x[part] @ solved(gram - a, products - b, ridge) for part, (a, b) in pairs])

    guesses = {ridge: left_out(ridge) for ridge in (1e-4, 1e-3, 1e-2, 1e-1)}
    ridge = min(guesses, key=lambda ridge: float(np.square(y - guesses[ridge]).sum()))
    full, judged = coordinates.vectors.copy(), coordinates.vectors.copy()
    learned = level + (inputs - centre) @ solved(gram, products, ridge)
    full[:, gap.limbs] -= learned.reshape(len(inputs), -1, 3)
    judged[np.ix_(whole, gap.limbs)] -= (level + guesses[ridge]).reshape(len(whole), -1, 3)
    return full, judged


def _scaled(missed: Array, around: Array, around_gap: Array) -> Array:
    """What was missed, as it would be where as much happens around as around the gap."""
    happens = np.sqrt(np.square(around).mean(axis=(1, 2))) if around.shape[1] else np.zeros(len(around))
    here = float(np.sqrt(np.square(around_gap).mean())) if around_gap.size else 0.0
    size = np.sqrt(np.square(missed).mean(axis=(1, 2)))
    if happens.min(initial=np.inf) <= 0.0 or here <= 0.0 or size.min() <= 0.0:
        return missed
    logs = np.log(happens) - np.log(happens).mean()
    power = float(np.clip(logs @ np.log(size) / max(float(logs @ logs), 1e-12), 0.0, 1.0))
    return np.asarray(missed * np.clip((here / happens) ** power, 0.1, 5.0)[:, None, None])


def _inside(windows: Array, edges: Edges) -> Array:
    return windows[:, edges.before : edges.before + edges.frames]


def _loss(errors: Array, counts: Array | None) -> float:
    return float(np.average(np.sqrt(np.square(errors).sum(axis=-1)).mean(axis=1), weights=counts))
