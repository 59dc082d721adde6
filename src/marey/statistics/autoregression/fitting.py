"""Learning a vector autoregression by regularised least squares (Courty 2013, section 2.3.1).

Clips are pooled without crossing their borders, frames that are not valid are left out, the order is
chosen by the Bayesian information criterion over one common set of frames, and a model that would run away
is slowed down: A_i γⁱ has γ times the eigenvalues. O(frames · (order · components)²).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked
from marey.errors import InputError
from marey.statistics.autoregression.model import VectorAutoregression

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

LARGEST_ORDER = 4
LARGEST_RADIUS = 0.999


def fit(
    series: ArrayLike | Sequence[ArrayLike],
    *,
    order: int | None = None,
    ridge: float = 1e-3,
    valid: ArrayLike | Sequence[ArrayLike] | None = None,
    mean: ArrayLike | None = None,
    largest_radius: float = LARGEST_RADIUS,
) -> VectorAutoregression:
    """Learn from a series `(frames, components)`, or from several.

    order: frames to look back; by the information criterion, up to 4, if None
    ridge: share of each predictor's variance added to it, against chance correlations
    valid: `(frames,)`, true where a frame can be learned from; one a series
    mean: `(components,)`, if it is known
    largest_radius: eigenvalues of the recursion are kept below this

    >>> rng = np.random.default_rng(0)
    >>> truth = VectorAutoregression([1.0], [[[1.6]], [[-0.8]]], [[0.04]])
    >>> fit(truth.sample(4000, rng=rng), order=2, ridge=0).coefficients.round(1).ravel().tolist()
    [1.6, -0.8]
    """
    clips, masks = _pooled(series, valid)
    known = np.concatenate([clip[mask] for clip, mask in zip(clips, masks, strict=True)])
    if not len(known):
        raise InputError("there is no valid frame to learn from")
    centre = known.mean(axis=0) if mean is None else checked("mean", mean, (known.shape[1],))
    centred = [np.where(mask[:, None], clip - centre, 0.0) for clip, mask in zip(clips, masks, strict=True)]
    if order is None:
        order = _by_criterion(centred, masks, ridge)
    coefficients, _ = _least_squares(centred, masks, order, order, ridge)
    model = VectorAutoregression(centre, coefficients, np.eye(len(centre)))
    if model.radius > largest_radius:
        slower = (largest_radius / model.radius) ** np.arange(1, order + 1)
        coefficients = coefficients * slower[:, None, None]
    rest = _residuals(centred, masks, coefficients)
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
    clips, masks = _pooled(series, valid)
    known = np.concatenate([clip[mask] for clip, mask in zip(clips, masks, strict=True)])
    centred = [
        np.where(mask[:, None], clip - known.mean(axis=0), 0.0)
        for clip, mask in zip(clips, masks, strict=True)
    ]
    return np.array([_criterion(centred, masks, order, max(orders), ridge) for order in orders])


def _by_criterion(clips: list[Array], masks: list[Mask], ridge: float) -> int:
    size = clips[0].shape[1]
    usable = [m for m in range(1, LARGEST_ORDER + 1) if _count(masks, LARGEST_ORDER) > 2 * m * size]
    if not usable:
        return 1
    return int(usable[int(np.argmin([_criterion(clips, masks, m, usable[-1], ridge) for m in usable]))])


def _criterion(clips: list[Array], masks: list[Mask], order: int, largest: int, ridge: float) -> float:
    _, rest = _least_squares(clips, masks, order, largest, ridge)
    count, size = rest.shape
    sign, logarithm = np.linalg.slogdet(_covariance(rest))
    return float("inf") if sign <= 0 else float(count * logarithm + order * size**2 * np.log(count))


def _least_squares(
    clips: list[Array], masks: list[Mask], order: int, skip: int, ridge: float
) -> tuple[Array, Array]:
    """Coefficients of an order, learned where `skip` valid frames come before, and the residuals there."""
    past, now = _pairs(clips, masks, order, skip)
    size = now.shape[1]
    if not len(now):
        raise InputError(f"order {order} needs {skip + 1} valid frames in a row; there are none")
    gram = past.T @ past
    gram[np.diag_indices_from(gram)] += ridge * np.diag(gram) + 1e-12 * max(np.trace(gram), 1e-300)
    solved = np.linalg.solve(gram, past.T @ now)
    coefficients = solved.T.reshape(size, order, size).swapaxes(0, 1)
    return np.ascontiguousarray(coefficients), now - past @ solved


def _residuals(clips: list[Array], masks: list[Mask], coefficients: Array) -> Array:
    order = len(coefficients)
    past, now = _pairs(clips, masks, order, order)
    return np.asarray(now - past @ np.concatenate(list(coefficients), axis=1).T)


def _pairs(clips: list[Array], masks: list[Mask], order: int, skip: int) -> tuple[Array, Array]:
    """The `order` frames before, newest first `(pairs, order · components)`, and each frame itself."""
    rows, targets = [], []
    for clip, mask in zip(clips, masks, strict=True):
        if len(clip) <= skip:
            continue
        usable = np.all([mask[skip - i : len(mask) - i] for i in range(skip + 1)], axis=0)
        behind = [clip[skip - i : len(clip) - i][usable] for i in range(1, order + 1)]
        rows.append(np.concatenate(behind, axis=1))
        targets.append(clip[skip:][usable])
    size = clips[0].shape[1]
    if not rows:
        return np.empty((0, order * size)), np.empty((0, size))
    return np.concatenate(rows), np.concatenate(targets)


def _covariance(residuals: Array) -> Array:
    """Covariance of the residuals, with the least floor that lets it be factored."""
    found = residuals.T @ residuals / max(len(residuals), 1)
    floor = 1e-9 * max(float(np.trace(found)) / len(found), 1e-300)
    return np.asarray(found + floor * np.eye(len(found)))


def _count(masks: list[Mask], order: int) -> int:
    return sum(max(int(mask.sum()) - order, 0) for mask in masks)


def _pooled(
    series: ArrayLike | Sequence[ArrayLike], valid: ArrayLike | Sequence[ArrayLike] | None
) -> tuple[list[Array], list[Mask]]:
    single = isinstance(series, np.ndarray) and series.ndim == 2
    given = [series] if single else list(series)  # type: ignore[arg-type]
    if not given:
        raise InputError("there is no series to learn from")
    masks = [None] * len(given) if valid is None else [valid] if single else list(valid)  # type: ignore[arg-type]
    clips, kept = [], []
    for i, (one, mask) in enumerate(zip(given, masks, strict=True)):
        clip = checked(f"series {i}", one, (None, None), finite=False)
        good = np.ones(len(clip), bool) if mask is None else checked("valid", mask, (len(clip),), dtype=bool)
        if not np.isfinite(clip[good]).all():
            raise InputError(f"series {i}: a valid frame has values that are not finite")
        clips.append(clip)
        kept.append(good)
    if len({clip.shape[1] for clip in clips}) > 1:
        raise InputError("the series have different numbers of components")
    return clips, kept
