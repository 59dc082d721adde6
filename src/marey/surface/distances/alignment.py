"""The best planar alignment of every pair of frames at once (Boukhayma 2017, eqs 2.2-2.5).

With centred ground coordinates, turns and residuals of all pairs are products of matrices, taken block by
block: beside the results, which grow with the square of the frames, memory stays at some 300 MB. Cost: five
multiplications and additions for each vertex and pair, at the speed of matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, checked
from marey._progress import Progress
from marey.errors import InputError
from marey.surface.library import Library

Array = NDArray[np.float64]

BLOCK_BYTES = 64_000_000
CLEAR = 0.2


@dataclass(frozen=True, eq=False)
class Alignment:
    """How each frame (column) is laid onto each other (row).

    turns: `(frames, frames)`, float32, radians, antisymmetric
    distances: `(frames, frames)`, float32, metres: root mean square distance of the vertices once aligned
    unclear: `(frames, frames)`, bool: both footprints are so round, or so unlike, that the turn means little
    """

    turns: NDArray[np.float32]
    distances: NDArray[np.float32]
    unclear: NDArray[np.bool_]

    @property
    def middle(self) -> int:
        """The frame nearest to all others."""
        return int(np.argmin(self.distances.sum(axis=1, dtype=np.float64)))


def align_all(
    library: Library,
    *,
    weights: FloatArray | None = None,
    heights: bool = True,
    progress: Progress | None = None,
) -> Alignment:
    """Turns and residual distances of all pairs.

    weights: `(vertices,)`, what each vertex counts, e.g. more on the torso; all alike, if None
    heights: whether the vertical coordinate counts in the distance; it never turns anything

    >>> import marey
    >>> walk = marey.samples.performance()
    >>> library = Library((walk[:10], walk[:10].transform(rotation=[0.8, 0, 0.6, 0])))
    >>> found = align_all(library)
    >>> round(float(np.rad2deg(found.turns[0, 10])), 1)
    -73.7
    """
    frames = library.frames
    share = _shares(weights, library.vertices(0).shape[0])
    found = Alignment(
        np.zeros((frames, frames), np.float32),
        np.zeros((frames, frames), np.float32),
        np.zeros((frames, frames), np.bool_),
    )
    size = max(1, min(frames, BLOCK_BYTES // (24 * len(share))))
    blocks = [slice(start, min(start + size, frames)) for start in range(0, frames, size)]
    sizes = np.concatenate([_sizes(library, block, share) for block in blocks])
    done, total = 0, len(blocks) * (len(blocks) + 1) // 2
    for row, rows in enumerate(blocks):
        ground, height = _centred(library, rows, share)
        for columns in blocks[row:]:
            other = (ground, height) if columns == rows else _centred(library, columns, share)
            along = ground @ other[0].T
            count = len(share)
            across = ground[:, :count] @ other[0][:, count:].T - ground[:, count:] @ other[0][:, :count].T
            mutual = np.hypot(along, across)
            squared = sizes[rows, 0][:, None] + sizes[columns, 0] - 2 * mutual
            if heights:
                squared += sizes[rows, 1][:, None] + sizes[columns, 1] - 2 * (height @ other[1].T)
            turns = np.arctan2(across, along)
            unclear = mutual < CLEAR * np.sqrt(sizes[rows, 0][:, None] * sizes[columns, 0])
            _store(found, rows, columns, turns, np.sqrt(np.maximum(squared, 0)), unclear)
            done += 1
            if progress is not None:
                progress(done, total)
    for matrix in (found.turns, found.distances):
        np.fill_diagonal(matrix, 0)
    return found


def _shares(weights: FloatArray | None, vertices: int) -> Array:
    if weights is None:
        return np.full(vertices, 1 / vertices)
    share = checked("weights", weights, (vertices,))
    if (share < 0).any() or not share.sum() > 0:
        raise InputError("weights: one for each vertex, none negative and not all zero")
    return np.asarray(share / share.sum())


def _centred(library: Library, frames: slice, share: Array) -> tuple[Array, Array]:
    """Coordinates times the root of their share: x then z `(frames, 2 vertices)`, y `(frames, vertices)`.

    Heights are counted from one level for all frames, which loses no digits on a stage far above zero.
    """
    count = len(share)
    root = np.sqrt(share)
    level = float(library.vertices(0)[:, 1].mean())
    ground = np.empty((frames.stop - frames.start, 2 * count))
    height = np.empty((frames.stop - frames.start, count))
    for row, vertices in enumerate(_vertices(library, frames)):
        for part, axis in enumerate((0, 2)):
            values = vertices[:, axis] - share @ vertices[:, axis]
            ground[row, part * count : (part + 1) * count] = values * root
        height[row] = (vertices[:, 1] - level) * root
    return ground, height


def _sizes(library: Library, frames: slice, share: Array) -> Array:
    """Mean square extent over the ground and in height, `(frames, 2)`."""
    return np.stack([np.einsum("fv,fv->f", part, part) for part in _centred(library, frames, share)], axis=1)


def _vertices(library: Library, frames: slice) -> Iterator[Array]:
    for frame in range(frames.start, frames.stop):
        yield np.asarray(library.vertices(frame), dtype=np.float64)


def _store(
    found: Alignment,
    rows: slice,
    columns: slice,
    turns: Array,
    distances: Array,
    unclear: NDArray[np.bool_],
) -> None:
    found.turns[rows, columns], found.turns[columns, rows] = turns, -turns.T
    found.distances[rows, columns], found.distances[columns, rows] = distances, distances.T
    found.unclear[rows, columns], found.unclear[columns, rows] = unclear, unclear.T
