"""A long mesh sequence as a few shapes, so that hundreds of frames play in a browser.

The motion over the ground is taken out into a node (a turn about the vertical and a shift), what is left of
every frame is the first one plus a weighted sum of shapes: principal components, as many as keep every vertex
of every frame within a bound. Cost: some ten times 3 · frames · vertices · shapes multiplications.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import Array
from marey.geometry.planar import PlanarMotion, align
from marey.surface.sequence import MeshSequence

Floats = NDArray[np.float32]

# Frames the components are computed from, evenly spread, in at most 512 MB.
MOST_LEARNED = 600


@dataclass(frozen=True)
class Shapes:
    """Frame f is `placements[f]` applied to `base + weights[f] · targets`.

    Attributes:
        placements: one planar motion each frame.
        base: `(vertices, 3)`.
        targets: `(shapes, vertices, 3)`.
        weights: `(frames, shapes)`, within 0…1, to which Blender clips them; so the base is no frame.
        error: the farthest any vertex of any frame is from where it was, metres.
    """

    placements: PlanarMotion
    base: Array
    targets: Floats
    weights: Floats
    error: float

    def fitted(self, frame_values: Callable[[slice], Array]) -> Floats:
        """What each shape adds to other values of the vertices, e.g. normals: least squares.

        Args:
            frame_values: values `(frames, vertices, 3)` of some frames, minus those of the first.
        """
        gathered = np.zeros((self.weights.shape[1], self.base.size))
        weights = self.weights.astype(np.float64) - self.weights[0]
        for rows in _work.blocks(len(weights), 8 * self.base.size):
            gathered += weights[rows].T @ frame_values(rows).reshape(-1, self.base.size)
        solved = np.linalg.lstsq(weights.T @ weights, gathered, rcond=1e-9)[0]
        return np.asarray(solved.astype(np.float32).reshape(self.targets.shape))


def shapes_of(sequence: MeshSequence, max_error: float) -> Shapes | None:
    """A sequence as shapes within `max_error` metres, or None if that takes nearly as many as its frames.

    >>> import marey
    >>> shapes = shapes_of(marey.samples.mesh_sequence(), 0.001)
    >>> len(shapes.targets) < len(shapes.weights) / 2, shapes.error <= 0.001
    (True, True)
    """
    local = _Local(sequence)
    # With more shapes than this share of the frames, too little is gained.
    most = int(0.7 * (sequence.frames - 1))
    # What is rounded to single precision later must stay within the bound.
    bound = 0.98 * max_error
    basis = _components(local)
    weights = local.weights(basis)
    if local.errors(basis, weights).max() <= bound:
        count = _fewest(local, basis, weights, bound)
        basis, weights = basis[:count], weights[:, :count]
    else:
        while len(basis) <= most and (errors := local.errors(basis, weights)).max() > bound:
            # The worst frames become shapes of their own where components are not enough.
            worst = np.argsort(errors)[-8:]
            basis = _with_frames(basis, local, weights, worst[errors[worst] > bound])
            weights = local.weights(basis)
    if len(basis) > most:
        return None
    low = weights.min(axis=0)
    size = np.maximum(weights.max(axis=0) - low, 1e-30)
    targets = (basis * size[:, None]).astype(np.float32)
    shares = np.clip((weights - low) / size, 0, 1).astype(np.float32)
    rounded, against_first = targets.astype(np.float64), shares.astype(np.float64) - shares[0]
    base = local.base - (shares[0].astype(np.float64) @ rounded).reshape(local.base.shape)
    error = float(local.errors(rounded, against_first).max())
    return Shapes(local.placements, base, targets.reshape(-1, *base.shape), shares, error)


class _Local:
    """The frames of a sequence moved along the ground onto the first, as rows of differences from that."""

    def __init__(self, sequence: MeshSequence) -> None:
        self.vertices = sequence.vertices
        self.base = self.vertices[0].astype(np.float64)
        onto = [align(self.base, frame) for frame in self.vertices]
        self.onto = PlanarMotion(np.array([p.angle for p in onto]), np.array([p.shift for p in onto]))
        self.placements = self.onto.inverse()

    def rows(self, which: slice | NDArray[np.int64]) -> Array:
        """Differences `(frames, 3 · vertices)` of some frames."""
        motion = PlanarMotion(self.onto.angle[which], self.onto.shift[which])
        moved = motion.apply(self.vertices[which].astype(np.float64))
        return np.asarray(moved - self.base, dtype=np.float64).reshape(len(moved), -1)

    def weights(self, basis: Array) -> Array:
        """Of every frame for orthonormal shapes."""
        found = np.empty((len(self.vertices), len(basis)))
        for rows in _work.blocks(len(found), 8 * self.base.size):
            found[rows] = self.rows(rows) @ basis.T
        return found

    def errors(self, basis: Array, weights: Array) -> Array:
        """The farthest any vertex of each frame is from its place, `(frames,)`."""
        found = np.empty(len(self.vertices))
        for rows in _work.blocks(len(found), 8 * self.base.size):
            apart = (self.rows(rows) - weights[rows] @ basis).reshape(-1, *self.base.shape)
            found[rows] = np.sqrt(np.einsum("fvc,fvc->fv", apart, apart).max(axis=1))
        return found


def _components(local: _Local) -> Array:
    """Orthonormal shapes `(shapes, 3 · vertices)` by falling variance."""
    frames = len(local.vertices)
    most = max(2, min(frames, MOST_LEARNED, (64 << 20) // local.base.size))
    learned = local.rows(np.unique(np.linspace(0, frames - 1, most).astype(np.int64)))
    values, vectors = np.linalg.eigh(learned @ learned.T)
    kept = values > max(values[-1], 1e-30) * 1e-12
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    return np.asarray((vectors / np.sqrt(values)).T @ learned)


def _fewest(local: _Local, basis: Array, weights: Array, bound: float) -> int:
    """The fewest of the shapes that are enough, by bisection."""
    low, high = 0, len(basis)
    while low < high:
        middle = (low + high) // 2
        if local.errors(basis[:middle], weights[:, :middle]).max() <= bound:
            high = middle
        else:
            low = middle + 1
    return high


def _with_frames(basis: Array, local: _Local, weights: Array, frames: NDArray[np.int64]) -> Array:
    left = local.rows(frames) - weights[frames] @ basis
    added = np.linalg.qr((left - (left @ basis.T) @ basis).T)[0].T
    return np.concatenate([basis, added])
