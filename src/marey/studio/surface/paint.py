"""A surface in its main colours: parts of one colour each, since the page draws a moving mesh in one colour.

Borders between parts are borders of colours, where an edge in the shading is not seen. Cost: some
milliseconds for 15,000 faces, once for a subject.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, IntArray
from marey.geometry import mesh
from marey.surface.sequence import MeshSequence

Array = NDArray[np.float64]
Colour = tuple[int, int, int]

MOST_COLOURS = 12
PLAIN: Colour = (158, 172, 183)
# Colours are first counted in cells of this size, then moved to the middles of what is theirs.
CELL, ROUNDS = 32, 4


@dataclass(frozen=True, eq=False)
class Part:
    """Faces of one colour.

    vertices: `(n,)`, which vertices of the surface it uses
    faces: `(faces, 3)`, indices into those
    colour: red, green, blue, 0…255
    """

    vertices: NDArray[np.int64]
    faces: NDArray[np.int64]
    colour: Colour


def parts(sequence: MeshSequence) -> list[Part]:
    """A sequence's surface in at most `MOST_COLOURS` parts; one grey part if it has no colours.

    >>> square = [[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]]
    >>> red_and_blue = [[1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]]
    >>> plain = MeshSequence(square, [[0, 1, 2], [0, 2, 3]], 30)
    >>> painted = MeshSequence(square, [[0, 1, 2], [0, 2, 3]], 30, colours=red_and_blue)
    >>> len(parts(plain)), [part.colour for part in parts(painted)]
    (1, [(85, 0, 170), (170, 0, 85)])
    """
    colours = face_colours(sequence)
    if colours is None or not len(colours):
        return [_part(sequence.faces, np.arange(len(sequence.faces)), PLAIN)]
    areas = mesh.face_areas(sequence.vertices[0], sequence.faces)
    mains, nearest = _main_colours(colours, areas)
    found = []
    for k, main in enumerate(mains):
        mine = np.flatnonzero(nearest == k)
        if len(mine):
            red, green, blue = np.rint(main).astype(int).tolist()
            found.append(_part(sequence.faces, mine, (red, green, blue)))
    return found


def face_colours(sequence: MeshSequence) -> Array | None:
    """Colours `(faces, 3)`, 0…255, from the colours of the vertices or else the first texture."""
    if sequence.colours is not None:
        return np.asarray(255.0 * np.clip(sequence.colours, 0, 1)[sequence.faces].mean(axis=1))
    texture = sequence.texture(0)
    if texture is None or sequence.uv is None or sequence.uv_faces is None:
        return None
    image = texture.read()
    middles = sequence.uv[sequence.uv_faces].mean(axis=1)
    last = np.array(image.shape[:2]) - 1
    column = np.minimum(((middles[:, 0] % 1.0) * image.shape[1]).astype(int), last[1])
    row = np.minimum(((-middles[:, 1] % 1.0) * image.shape[0]).astype(int), last[0])
    return np.asarray(image[row, column], np.float64)


def mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """A colour with a share of another.

    >>> mixed((0, 0, 0), (100, 50, 10), 0.5)
    (50, 25, 5)
    """
    red, green, blue = ((1 - share) * np.array(colour) + share * np.array(other)).astype(int).tolist()
    return red, green, blue


def _main_colours(colours: Array, areas: FloatArray) -> tuple[Array, NDArray[np.int64]]:
    """Colours that cover most of the surface, `(colours, 3)`, and which of them each face is nearest to."""
    cells = (colours // CELL).astype(np.int64) @ np.array([64, 8, 1])
    _, cell = np.unique(cells, return_inverse=True)
    covered = np.bincount(cell, areas)
    largest = np.argsort(-covered, kind="stable")[:MOST_COLOURS]
    weight = np.maximum(np.bincount(cell), 1)
    mains = np.stack([np.bincount(cell, shade) / weight for shade in colours.T], axis=1)[largest]
    nearest = _nearest(colours, mains)
    for _ in range(ROUNDS):
        count = np.bincount(nearest, minlength=len(mains))
        sums = np.stack([np.bincount(nearest, shade, len(mains)) for shade in colours.T], axis=1)
        mains = np.where(count[:, None] > 0, sums / np.maximum(count, 1)[:, None], mains)
        nearest = _nearest(colours, mains)
    return mains, nearest


def _nearest(colours: Array, mains: Array) -> NDArray[np.int64]:
    apart = np.stack([((colours - main) ** 2).sum(axis=1) for main in mains])
    return np.asarray(apart.argmin(axis=0))


def _part(faces: IntArray, mine: NDArray[np.int64], colour: Colour) -> Part:
    used, local = np.unique(faces[mine], return_inverse=True)
    return Part(used.astype(np.int64), local.reshape(-1, 3), colour)
