"""What placing a captured subject needs of each frame: its middle, its heading to others, its feet.

Everything that decides where a blend stands (Boukhayma 2017, section 3.4.1) is a function of these few
numbers a frame, so that animations can be searched without a single mesh. Cost: a few
passes over the vertices, once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.geometry import planar
from marey.surface.contacts import Contacts, find_contacts
from marey.surface.distances.heading import yaw_offsets
from marey.surface.distances.template import SAMPLE, ReferencePose
from marey.surface.library import Library

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tracks:
    """Per frame of a library, where it was captured.

    centroids: `(frames, 2)`, middle of the vertices on the ground, metres
    contacts: what touches the ground, and the floor
    patches: `(frames, patches, 3)`, middles of the patches that touch it

    >>> import marey
    >>> tracks = Tracks.of(Library((marey.samples.mesh_sequence()[:30],)))
    >>> tracks.centroids.shape
    (30, 2)
    """

    centroids: Array
    contacts: Contacts
    patches: Array

    @classmethod
    def of(cls, library: Library) -> Tracks:
        """Measured on all frames of a library."""
        contacts = find_contacts(library)
        centroids = np.empty((library.frames, 2))
        patches = np.empty((library.frames, contacts.patches, 3))
        for i, vertices in enumerate(library.all_vertices()):
            centroids[i] = planar.centroid(vertices)
            patches[i] = contacts.patch_positions(vertices)
        return cls(centroids, contacts, patches)


def at_times(values: FloatArray, times: Array) -> Array:
    """Rows of `(frames, ...)` at fractional frames `(n,)`, straight between neighbours.

    >>> at_times(np.array([[0.0], [10.0]]), np.array([0.25])).tolist()
    [[2.5]]
    """
    before, after = np.floor(times).astype(np.int64), np.ceil(times).astype(np.int64)
    share = (times - before).reshape((-1,) + (1,) * (values.ndim - 1))
    return np.asarray(values[before] * (1.0 - share) + values[after] * share, np.float64)


def turns_between(turns: FloatArray, times: Array) -> Array:
    """By how much the second frame turns to face as the first, `(n,)`, at fractional frames `(n, 2)`.

    turns: `(frames, frames)`, between whole frames
    """
    before, after = np.floor(times).astype(np.int64), np.ceil(times).astype(np.int64)
    share = times - before
    found = np.asarray(turns[before[:, 0], before[:, 1]], np.float64)
    # Differences to one corner, wrapped, so that angles near half a turn do not cancel.
    other = (
        (after[:, 0], before[:, 1], share[:, 0] * (1 - share[:, 1])),
        (before[:, 0], after[:, 1], (1 - share[:, 0]) * share[:, 1]),
        (after[:, 0], after[:, 1], share[:, 0] * share[:, 1]),
    )
    return found + sum(weight * wrapped(turns[row, column] - found) for row, column, weight in other)


def aligning_turns(library: Library, times: Array) -> tuple[FloatArray, Array]:
    """The turns a path needs where there are no pose distances: those by which its surfaces face alike.

    They are the ones of the surface metric, as everywhere else; with those of footprints, blends of captured
    walks, runs and turns deform and slide as much.

    Two results: a small matrix of turns between the frames of the path, and the same fractional frames
    `(n, 2)` counted in it.
    """
    lowest = np.floor(times.min(axis=0)).astype(np.int64)
    highest = np.ceil(times.max(axis=0)).astype(np.int64)
    parts = []
    for first, last in zip(lowest, highest, strict=True):
        sequence, local = library.locate(int(first))
        parts.append(library.sequences[sequence][local : local + int(last - first) + 1])
    both = Library(tuple(parts))
    turns = yaw_offsets(both, ReferencePose.of(both.vertices(0), both.faces, triangles=SAMPLE))
    return turns, times - lowest + [0, parts[0].frames]


def wrapped(angles: FloatArray) -> Array:
    """Angles in −π…π.

    >>> wrapped(np.array([3.5])).round(4).tolist()
    [-2.7832]
    """
    return np.asarray(np.mod(np.asarray(angles, np.float64) + np.pi, 2 * np.pi) - np.pi)
