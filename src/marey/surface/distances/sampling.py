"""A few triangles that stand for all of them: the surface cut into compact pieces of equal area.

The template is halved again and again across the direction in which it is longest, by area, so that the
pieces do not depend on which way it faces; each piece is represented by the triangle nearest to its middle,
which counts as much as the piece. Cost: sorting the triangles once for each doubling of the pieces.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, IntArray
from marey.errors import InputError
from marey.geometry import mesh

Array = NDArray[np.float64]


def stratified(vertices: FloatArray, faces: IntArray, count: int) -> tuple[NDArray[np.int64], Array]:
    """Numbers of at most `count` triangles in rising order, and the area each of them stands for.

    >>> import marey
    >>> human = marey.samples.performance()[0]
    >>> chosen, areas = stratified(human.vertices[0], human.faces, 500)
    >>> len(chosen), bool(np.isclose(areas.sum(), mesh.area(human.vertices[0], human.faces)))
    (500, True)
    """
    if count < 1:
        raise InputError(f"triangles: at least 1, got {count}")
    areas = np.asarray(mesh.face_areas(vertices, faces), np.float64)
    middles = np.asarray(vertices, np.float64)[faces].mean(axis=1)
    chosen: list[int] = []
    shares: list[float] = []
    pending = [(np.flatnonzero(areas > 0), count)]
    while pending:
        piece, parts = pending.pop()
        if len(piece) == 0:
            continue
        if parts == 1 or len(piece) == 1:
            share = areas[piece]
            centre = share @ middles[piece] / share.sum()
            chosen.append(int(piece[np.argmin(((middles[piece] - centre) ** 2).sum(axis=1))]))
            shares.append(float(share.sum()))
            continue
        piece = piece[np.argsort(_along(middles[piece], areas[piece]), kind="stable")]
        reached = np.cumsum(areas[piece])
        cut = int(np.searchsorted(reached, reached[-1] * (parts // 2) / parts)) + 1
        cut = min(max(cut, 1), len(piece) - 1)
        pending += [(piece[:cut], parts // 2), (piece[cut:], parts - parts // 2)]
    order = np.argsort(chosen)
    return np.asarray(chosen, np.int64)[order], np.asarray(shares)[order]


def _along(points: Array, weights: Array) -> Array:
    """Where points `(n, 3)` lie in the direction of their greatest spread, the longer tail last."""
    centred = points - np.average(points, axis=0, weights=weights)
    _, directions = np.linalg.eigh((centred * weights[:, None]).T @ centred)
    position = centred @ directions[:, -1]
    return np.asarray(-position if weights @ position**3 < 0 else position)
