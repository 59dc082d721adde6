"""Values for pixels that mean nothing, such that they cost few bits: averages of what is around them.

Coarser and coarser averages, finest where there is one (pull and push). Cost: about two passes over the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray

Volume = NDArray[np.float64]


def filled(volume: Volume, mask: BoolArray | None) -> Volume:
    """A volume `(frames, rows, columns, parts)` whose pixels outside `mask` `(rows, columns)` are smooth.

    >>> filled(np.array([1.0, 9.0, 3.0]).reshape(1, 1, 3, 1), np.array([[True, False, True]])).ravel()
    array([1., 1., 3.])
    """
    if mask is None or mask.all():
        return volume
    if not mask.any():
        return np.zeros_like(volume)
    weights = mask.astype(np.float64)[None, :, :, None]
    return np.asarray(np.where(weights > 0, volume, _coarser(volume * weights, weights)))


def _coarser(sums: Volume, weights: Volume) -> Volume:
    """Averages over blocks of 2 × 2 pixels, of 4 × 4 where those are empty, and so on, at every pixel."""
    rows, columns = sums.shape[1:3]
    pad = ((0, 0), (0, rows % 2), (0, columns % 2), (0, 0))
    sums, weights = (_halved(np.pad(array, pad)) for array in (sums, weights))
    known = weights > 0
    means = sums / np.maximum(weights, 1e-300)
    if not known.all():
        means = np.where(known, means, _coarser(sums, weights))
    return np.asarray(means.repeat(2, axis=1).repeat(2, axis=2)[:, :rows, :columns])


def _halved(array: Volume) -> Volume:
    return np.asarray(array[:, ::2, ::2] + array[:, 1::2, ::2] + array[:, ::2, 1::2] + array[:, 1::2, 1::2])
