"""Covariances of states by their roots: independent values, smooth fields on a grid with walls, stacks.

A smooth field is white noise that diffuses for a while within the open cells; nothing crosses a wall. The
diffusion is symmetric, so its transpose is itself. Cost: linear in the cells, and in (length / spacing)².
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, checked
from marey.errors import InputError
from marey.statistics.assimilation.problem import Covariance


class Diagonal:
    """Independent values.

    Args:
        deviation: Standard deviations `(size,)`; 0 where a value is known exactly.
    """

    def __init__(self, deviation: ArrayLike) -> None:
        self.deviation = checked("deviation", deviation, (None,))
        if (self.deviation < 0).any():
            raise InputError("deviation: must not be negative")
        self.size = len(self.deviation)

    def root(self, white: Array) -> Array:
        """`(size,)` scaled."""
        return np.asarray(self.deviation * white)

    root_adjoint = root


class SmoothGrid:
    """Fields on the open cells of a grid, with a Gaussian correlation that walls interrupt.

    Args:
        open_cells: `(rows, columns)`; states list these cells row by row.
        deviation: Standard deviation far from walls, one number or `(cells,)`; beside a wall it is up to
            twice as large.
        length: Standard deviation of the correlation, in cells.

    >>> smooth = SmoothGrid(np.ones((1, 9), dtype=bool), 2.0, 1.0)
    >>> smooth.root(np.eye(9)[4]).round(2).tolist()
    [0.0, 0.0, 0.0, 0.6, 1.81, 0.6, 0.0, 0.0, 0.0]
    """

    ALONG_AXIS = 0.2
    """Share that goes to each neighbour in one pass; stable below 1/4."""

    def __init__(self, open_cells: BoolArray, deviation: ArrayLike, length: float) -> None:
        self.open_cells = checked("open cells", open_cells, (None, None), dtype=np.bool_)
        self.size = int(self.open_cells.sum())
        if self.size == 0 or not (np.isfinite(length) and length >= 0):
            raise InputError(f"smooth grid: {self.size} open cells, correlated over {length:g} cells")
        # The covariance is two roots in a row, so each has half the variance of the correlation.
        self.passes = round(0.25 * length**2 / self.ALONG_AXIS)
        self.deviation = np.broadcast_to(np.asarray(deviation, dtype=np.float64), self.size)

    @cached_property
    def _diffusion(self) -> object:
        """One pass, a sparse symmetric matrix."""
        from scipy import sparse

        numbers = np.full(self.open_cells.shape, -1)
        numbers[self.open_cells] = np.arange(self.size)
        pairs = [(numbers[:, :-1], numbers[:, 1:]), (numbers[:-1], numbers[1:])]
        first = np.concatenate([a[(a >= 0) & (b >= 0)] for a, b in pairs])
        second = np.concatenate([b[(a >= 0) & (b >= 0)] for a, b in pairs])
        share = np.full(len(first), self.ALONG_AXIS)
        off = sparse.coo_array((share, (first, second)), shape=(self.size, self.size))
        off = off + off.T
        kept = 1.0 - np.asarray(off.sum(axis=1)).ravel()
        return (off + sparse.diags_array(kept)).tocsr()

    @cached_property
    def _scale(self) -> Array:
        """Deviations over those of the diffused noise, `(cells,)`."""
        reach = 2 * int(np.ceil(np.sqrt(2 * self.ALONG_AXIS * max(self.passes, 1)))) * 2 + 1
        rows, columns = (min(reach, side) for side in self.open_cells.shape)
        patch = np.zeros((rows, columns))
        patch[rows // 2, columns // 2] = 1.0
        for _ in range(self.passes):
            patch = _diffused(patch, self.ALONG_AXIS)
        return np.asarray(self.deviation / np.sqrt(np.sum(patch**2)))

    def root(self, white: Array) -> Array:
        """Smooth fields `(cells,)` of white noise."""
        return np.asarray(self._scale * self._smoothed(white))

    def root_adjoint(self, state: Array) -> Array:
        """The transpose of :meth:`root`."""
        return self._smoothed(self._scale * state)

    def _smoothed(self, values: Array) -> Array:
        for _ in range(self.passes):
            values = self._diffusion @ values  # type: ignore[operator]
        return values


def _diffused(patch: Array, share: float) -> Array:
    """One pass on an open grid whose edges are walls."""
    padded = np.pad(patch, 1, mode="edge")
    around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    return np.asarray(patch + share * (around - 4 * patch))


class Stacked:
    """Independent parts of a state, one after the other.

    >>> Stacked([Diagonal([2.0]), Diagonal([3.0])]).root(np.ones(2)).tolist()
    [2.0, 3.0]
    """

    def __init__(self, parts: Sequence[Covariance]) -> None:
        self.parts = tuple(parts)
        self.size = sum(part.size for part in parts)
        self._ends = np.cumsum([part.size for part in parts])[:-1]
        self._state_ends = np.cumsum([len(part.root(np.zeros(part.size))) for part in parts])[:-1]

    def root(self, white: Array) -> Array:
        """Each part's root of its share of `(size,)`."""
        shares = np.split(white, self._ends)
        return np.concatenate([part.root(share) for part, share in zip(self.parts, shares, strict=True)])

    def root_adjoint(self, state: Array) -> Array:
        """The transpose of :meth:`root`."""
        shares = np.split(state, self._state_ends)
        return np.concatenate(
            [part.root_adjoint(share) for part, share in zip(self.parts, shares, strict=True)]
        )
