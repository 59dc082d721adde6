"""A skinned mesh cut along lines, so that clothes end where a tailor would end them and not in teeth.

Where a scalar changes its sign along an edge a vertex is put there, with the weights in between, and the
faces are split. Cost: linear in the faces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class Cloth(NamedTuple):
    """A mesh: vertices `(vertices, 3)`, faces `(faces, 3)`, pull of the joints `(vertices, joints)`."""

    vertices: Array
    faces: Ints
    pull: Array


def cut(cloth: Cloth, values: Array, chosen: NDArray[np.bool_]) -> Cloth:
    """The mesh with edges where `values` `(vertices,)` are 0, in the `chosen` `(faces,)` faces and beside.

    >>> corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1.0, 0]])
    >>> square = Cloth(corners, np.array([[0, 1, 2], [0, 2, 3]]), np.ones((4, 1)))
    >>> halves = cut(square, square.vertices[:, 1] - 0.25, np.array([True, True]))
    >>> len(halves.vertices), len(halves.faces)
    (7, 6)
    """
    vertices, faces, pull = cloth
    above = values > 0
    edges = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1), axis=-1)[chosen].reshape(-1, 2)
    crossed = np.unique(edges[above[edges[:, 0]] != above[edges[:, 1]]], axis=0)
    if not len(crossed):
        return cloth
    a, b = crossed.T
    share = (values[a] / (values[a] - values[b]))[:, None]
    number = {(int(i), int(j)): len(vertices) + n for n, (i, j) in enumerate(crossed)}
    split: list[tuple[int, int, int]] = []
    for face in faces.tolist():
        split += _split(face, number)
    return Cloth(
        np.concatenate([vertices, (1 - share) * vertices[a] + share * vertices[b]]),
        np.array(split, np.int64),
        np.concatenate([pull, (1 - share) * pull[a] + share * pull[b]]),
    )


def _split(face: list[int], number: dict[tuple[int, int], int]) -> list[tuple[int, int, int]]:
    """A face as one to three, by the new vertices on its edges."""
    ring: list[int] = []
    for corner in range(3):
        i, j = face[corner], face[(corner + 1) % 3]
        ring.append(i)
        middle = number.get((min(i, j), max(i, j)))
        if middle is not None:
            ring.append(middle)
    old = set(face)
    # From a new vertex no triangle of the fan is flat.
    first = next((n for n, vertex in enumerate(ring) if vertex not in old), 0)
    ring = ring[first:] + ring[:first]
    return [(ring[0], ring[n], ring[n + 1]) for n in range(1, len(ring) - 1)]
