"""Learning a vector autoregression by regularised least squares (Courty 2013, section 2.3.1).

Clips are pooled without crossing their ends, invalid frames are left out, the order is chosen by the Bayesian
information criterion over one common set of frames, and an unstable model is made stable: A_i γⁱ has γ times
the eigenvalues. O(frames · (order · components)²).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, checked
from marey.errors import InputError
from marey.statistics.autoregression.model import VectorAutoregression

LARGEST_ORDER = 4

Clips = list[tuple[Array, BoolArray]]
"""Series about their mean, 0 where they are not valid, and the valid frames of each."""


def fit(
    series: ArrayLike | Sequence[ArrayLike],
    *,
    order: int | None = None,
    ridge: float = 1e-3,
    valid: ArrayLike | Sequence[ArrayLike] | None = None,
    mean: ArrayLike | None = None,
    largest_radius: float = 0.999,
) -> VectorAutoregression:
    """Learn from a series `(frames, components)`, or from several.

    Args:
        series: One or several.
        order: Frames to look back; by the information criterion, up to 4, if None.
        ridge: Share of each predictor's variance added to it, against random correlations.
        valid: `(frames,)`, true where a frame can be learned from; one for each series.
        mean: `(components,)`, if it is known.
        largest_radius: Eigenvalues of the recursion are kept below this.

    >>> rng = np.random.default_rng(0)
    >>> truth = VectorAutoregression([1.0], [[[1.6]], [[-0.8]]], [[0.04]])
    >>> fit(truth.sample(4000, rng=rng), order=2, ridge=0).coefficients.round(1).ravel().tolist()
    [1.6, -0.8]
    """
    clips, centre = _centred(series, valid, mean)
    if order is None:
        frames = sum(max(int(mask.sum()) - LARGEST_ORDER, 0) for _, mask in clips)
        usable = [m for m in range(1, LARGEST_ORDER + 1) if frames > 2 * m * len(centre)] or [1]
        scores = [_criterion(clips, m, usable[-1], ridge) for m in usable] if len(usable) > 1 else [0.0]
        order = usable[int(np.argmin(scores))]
    coefficients, past, now = _least_squares(clips, order, order, ridge)
    radius = VectorAutoregression(centre, coefficients, np.eye(len(centre))).radius
    if radius > largest_radius:
        coefficients = coefficients * (largest_radius / radius) ** np.arange(1, order + 1)[:, None, None]
    rest = now - past @ np.concatenate(list(coefficients), axis=1).T
    return VectorAutoregression(centre, coefficients, _covariance(rest))


def information_criterion(
    series: ArrayLike | Sequence[ArrayLike],
    orders: Sequence[int],
    *,
    ridge: float = 1e-3,
    valid: ArrayLike | Sequence[ArrayLike] | None = None,
) -> Array:
    """Bayesian information criterion of each order, all on the same frames: the smallest is best.

    BIC(m) = N log det Σ_m + m d² log N, with Σ_m the covariance of the residuals of N frames.
    """
    clips, _ = _centred(series, valid, None)
    return np.array([_criterion(clips, order, max(orders), ridge) for order in orders])


def _criterion(clips: Clips, order: int, skip: int, ridge: float) -> float:
    coefficients, past, now = _least_squares(clips, order, skip, ridge)
    count, size = now.shape
    rest = now - past @ np.concatenate(list(coefficients), axis=1).T
    sign, logarithm = np.linalg.slogdet(_covariance(rest))
    return float("inf") if sign <= 0 else float(count * logarithm + order * size**2 * np.log(count))


def _least_squares(clips: Clips, order: int, skip: int, ridge: float) -> tuple[Array, Array, Array]:
    """Coefficients, the `order` frames before `(pairs, order · components)`, newest first, and each frame.

    Only frames after `skip` valid ones count.
    """
    rows, targets = [], []
    for clip, mask in clips:
        if len(clip) > skip:
            usable = np.all([mask[skip - i : len(mask) - i] for i in range(skip + 1)], axis=0)
            behind = [clip[skip - i : len(clip) - i][usable] for i in range(1, order + 1)]
            rows.append(np.concatenate(behind, axis=1))
            targets.append(clip[skip:][usable])
    if not sum(map(len, targets)):
        raise InputError(f"order {order} needs {skip + 1} valid frames in a row; there are none")
    past, now = np.concatenate(rows), np.concatenate(targets)
    size = now.shape[1]
    gram = past.T @ past
    gram[np.diag_indices_from(gram)] += ridge * np.diag(gram) + 1e-12 * max(np.trace(gram), 1e-300)
    solved = np.linalg.solve(gram, past.T @ now)
    return np.ascontiguousarray(solved.T.reshape(size, order, size).swapaxes(0, 1)), past, now


def _covariance(residuals: Array) -> Array:
    """Covariance of the residuals, with a floor so that it can be factored."""
    found = residuals.T @ residuals / max(len(residuals), 1)
    floor = 1e-9 * max(float(np.trace(found)) / len(found), 1e-300)
    return np.asarray(found + floor * np.eye(len(found)))


def _centred(
    series: ArrayLike | Sequence[ArrayLike],
    valid: ArrayLike | Sequence[ArrayLike] | None,
    mean: ArrayLike | None,
) -> tuple[Clips, Array]:
    """The clips about their common mean, and that."""
    single = isinstance(series, np.ndarray) and series.ndim == 2
    given = [series] if single else list(series)  # type: ignore[arg-type]
    if not given:
        raise InputError("there is no series to learn from")
    masks = [None] * len(given) if valid is None else [valid] if single else list(valid)  # type: ignore[arg-type]
    clips = []
    for i, (one, mask) in enumerate(zip(given, masks, strict=True)):
        clip = checked(f"series {i}", one, (None, None), finite=False)
        good = np.ones(len(clip), bool) if mask is None else checked("valid", mask, (len(clip),), dtype=bool)
        if not np.isfinite(clip[good]).all():
            raise InputError(f"series {i}: a valid frame has values that are not finite")
        clips.append((clip, good))
    if len({clip.shape[1] for clip, _ in clips}) > 1:
        raise InputError("the series have different numbers of components")
    known = np.concatenate([clip[mask] for clip, mask in clips])
    if not len(known):
        raise InputError("there is no valid frame to learn from")
    centre = known.mean(axis=0) if mean is None else checked("mean", mean, (known.shape[1],))
    return [(np.where(mask[:, None], clip - centre, 0.0), mask) for clip, mask in clips], centre
