"""Coarse samples whose smooth curve is nearest the whole curve, instead of every n-th sample.

Reconstruction from coarse samples is linear for vectors, `curve = S samples`, with S sparse and banded: the
samples of least squares solve `SᵀS c = Sᵀ curve`, a banded system factored once. Rotations follow by
Gauss-Newton steps with the same matrix on spatial logarithms. Same format and decoder as decimation
(Tournier 2011, section 9.2.2, decimates). Cost: linear in the samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked
from marey.body.codec.pyramid import decimate, expand
from marey.body.codec.sizes import coarse_length
from marey.geometry import rotations as so3

_TURNS = 6


def nearest_samples(curve: ArrayLike, dropped: int, *, rotations: bool = False) -> Array:
    """Coarse samples `(ceil(frames / 2^dropped), size)` whose expansion is nearest `curve`, least squares.

    >>> t = np.arange(40.0)[:, None]
    >>> wave = np.sin(t / 3)
    >>> error = [np.abs(expand(pick(wave, 3), 40, 3) - wave).mean() for pick in (decimate, nearest_samples)]
    >>> bool(error[1] < 0.9 * error[0])
    True
    """
    curve = checked("curve", curve, (None, 4 if rotations else None))
    samples = decimate(curve, dropped, rotations=rotations)
    if dropped == 0 or len(curve) < 3:
        return samples
    expansion = _expansion(len(curve), dropped)
    if not rotations:
        return expansion.solve(curve)
    best, least = samples, np.inf
    for _ in range(_TURNS + 1):
        rebuilt = expand(samples, len(curve), dropped, rotations=True)
        # Spatial logarithms, so that S acts on vectors of one common frame.
        error = so3.log(so3.multiply(curve, so3.inverse(rebuilt)))
        size = float((error**2).sum())
        if size >= least:
            break
        best, least = samples, size
        samples = so3.multiply(so3.exp(expansion.solve(error)), samples)
    return best


def expansion_matrix(frames: int, dropped: int) -> Any:
    """The sparse matrix `(frames, ceil(frames / 2^dropped))` that expands coarse samples of vectors."""
    from scipy import sparse

    matrix = sparse.identity(coarse_length(frames, dropped), format="csr")
    for level in range(dropped - 1, -1, -1):
        matrix = _doubling(coarse_length(frames, level)) @ matrix
    return matrix.tocsr()


@dataclass(frozen=True, eq=False)
class _Expansion:
    """S and the Cholesky factor of SᵀS in banded storage."""

    matrix: Any
    factor: Array

    def solve(self, curve: Array) -> Array:
        from scipy.linalg import cho_solve_banded

        return np.asarray(cho_solve_banded((self.factor, True), self.matrix.T @ curve))


@lru_cache(maxsize=8)
def _expansion(frames: int, dropped: int) -> _Expansion:
    from scipy.linalg import cholesky_banded

    matrix = expansion_matrix(frames, dropped)
    normal = (matrix.T @ matrix).tocoo()
    below = normal.row - normal.col
    width = int(below.max(initial=0)) + 1
    banded = np.zeros((width, normal.shape[0]))
    lower = below >= 0
    banded[below[lower], normal.col[lower]] = normal.data[lower]
    return _Expansion(matrix, cholesky_banded(banded, lower=True))


def _doubling(length: int) -> Any:
    """One level of the pyramid as a sparse matrix `(length, ceil(length / 2))`."""
    from scipy import sparse

    coarse = (length + 1) // 2
    if coarse == 1:
        return sparse.csr_matrix(np.ones((length, 1)))
    # Rows of samples -1…coarse + 1 in terms of samples 0…coarse - 1, by point reflection.
    unit = sparse.identity(coarse, format="csr")
    before = 2 * unit[0] - unit[1]
    extended = sparse.vstack([before, unit], format="csr")
    after = [2 * unit[-1] - extended[-2], 2 * unit[-1] - extended[-3]]
    extended = sparse.vstack([extended, *after], format="csr")
    count = length - coarse
    odd = (9 * (extended[1 : 1 + count] + extended[2 : 2 + count])) - (
        extended[:count] + extended[3 : 3 + count]
    )
    stacked = sparse.vstack([unit, odd / 16.0], format="csr")
    order = np.empty(length, dtype=np.int64)
    order[::2], order[1::2] = np.arange(coarse), coarse + np.arange(count)
    return stacked[order]
