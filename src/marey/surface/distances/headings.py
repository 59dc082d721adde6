"""Which way a surface faces, told by all its triangles: the turn that makes two poses most alike.

Footprints, by which the source aligns poses (Boukhayma 2017, eq. 2.3), mislead where the legs of two poses
are crossed: those of a walk half a cycle apart lie on each other best when far off course. The turn that
brings the rotations of all triangles nearest, in least squares, is as simple: a product of matrices for all
pairs. It is within some degrees of the one that makes the surface distance least. Cost: seconds for 2,600
frames.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import BoolArray, FloatArray, IntArray
from marey.geometry import mesh, rotations
from marey.surface.distances import gradients
from marey.surface.distances.alignment import CLEAR
from marey.surface.distances.template import Template, described
from marey.surface.library import Library

Array = NDArray[np.float64]
Turns = NDArray[np.float32]

ROWS_AT_ONCE = 128
SEARCHES_AT_ONCE = 256


def heading(
    onto: FloatArray, moving: FloatArray, faces: IntArray, *, areas: FloatArray | None = None
) -> float:
    """Radians by which `moving` `(vertices, 3)` turns about the vertical to face as `onto` does.

    areas: `(faces,)`, what each triangle counts; its mean area in both poses, if None

    >>> import marey
    >>> walk = marey.samples.performance()
    >>> turned = walk.transform(rotation=[0.8, 0, 0.6, 0])
    >>> round(float(np.rad2deg(heading(walk.vertices[0], turned.vertices[0], walk.faces))), 3)
    -73.74
    """
    found = gradients.deformation(onto, moving, faces)
    if areas is None:
        areas = (mesh.face_areas(onto, faces) + mesh.face_areas(moving, faces)) / 2
    mean = np.einsum("m,mab->ab", np.where(found.degenerate, 0.0, areas), found.rotations)
    return float(np.arctan2(mean[2, 0] - mean[0, 2], mean[0, 0] + mean[2, 2]))


def headings(library: Library, template: Template) -> Turns:
    """The turn of each frame (column) to face as each other (row) does, `(frames, frames)`, antisymmetric."""
    found, areas = described(library, template, exact=False, scale=0.0)
    frames = library.frames
    root = np.sqrt(areas / max(areas.sum(), np.finfo(float).tiny))
    matrices = rotations.to_matrix(np.moveaxis(found[:, :4], 1, 2)) * root[:, None, None]
    x, z = matrices[:, :, 0].reshape(frames, -1), matrices[:, :, 2].reshape(frames, -1)
    sizes = np.sqrt(np.einsum("fm,fm->f", x, x) + np.einsum("fm,fm->f", z, z))
    turns = np.zeros((frames, frames), np.float32)
    unclear = np.zeros((frames, frames), np.bool_)
    for start, stop in ranges(frames, ROWS_AT_ONCE):
        rows, rest = slice(start, stop), slice(start, None)
        along = x[rows] @ x[rest].T + z[rows] @ z[rest].T
        across = x[rows] @ z[rest].T - z[rows] @ x[rest].T
        turns[rows, rest] = np.arctan2(across, along)
        unclear[rows, rest] = np.hypot(along, across) < CLEAR * sizes[rows, None] * sizes[rest]
    for row in range(frames):
        turns[row, row] = 0
        turns[row + 1 :, row] = -turns[row, row + 1 :]
    return searched(turns, unclear, found, areas)


def footprint_headings(library: Library, template: Template, turns: Turns, unclear: BoolArray) -> Turns:
    """Turns of footprints; where those tell none, the ones that make the surface distance least."""
    if not unclear.any():
        return turns
    return searched(turns, unclear, *described(library, template, exact=False, scale=0.0))


def searched(turns: Turns, unclear: BoolArray, found: NDArray[np.floating], areas: Array) -> Turns:
    """Turns, the unclear ones replaced by the best of 36 angles, refined; some 80 µs each on one core."""
    first, second = np.nonzero(np.triu(unclear, 1))
    if len(first) == 0:
        return turns
    from marey.surface.distances import _kernels

    share = (areas / max(areas.sum(), np.finfo(float).tiny)).astype(np.float32)
    best = np.empty(len(first))

    def search(start: int, stop: int) -> None:
        some = slice(start, stop)
        _kernels.best_turns(found, share, first[some], second[some], best[some])

    _work.spread(search, len(first), size=SEARCHES_AT_ONCE)
    result = turns.copy()
    result[first, second], result[second, first] = best, -best
    return result


def ranges(count: int, size: int) -> Iterator[tuple[int, int]]:
    """0…count in pieces of `size`, the last one shorter.

    >>> list(ranges(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, count, size):
        yield start, min(start + size, count)
