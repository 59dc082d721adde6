"""What moves together: principal directions of the curves, limb by limb, rounded to whole numbers.

A direction is worth storing to a precision that its own coefficients set: with `s` the spread of a mode, `T`
frames and the step `d` of its coefficients, rounding an entry by `d / (s √T)` costs as much error as rounding
a coefficient by `d`. Short clips gain nothing from directions and keep their curves as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Integers

# How the columns are put together before directions are sought.
CURVES, LIMBS = range(2)
# A branch with fewer joints (a thumb) belongs to the limb it hangs on.
_SHORTEST_LIMB = 3


@dataclass(frozen=True, eq=False)
class Basis:
    """Directions of the curves in whole numbers.

    Args:
        parts: `(columns,)`, which columns share directions; -1 where nothing moves.
        entries: `(columns, modes)`, zero outside the mode's part; None if every column that moves is a mode.
        octaves: `(modes,)`, twice the binary logarithm of what entries are divided by.
    """

    parts: Integers
    entries: Integers | None
    octaves: Integers

    @property
    def modes(self) -> int:
        return len(self.octaves)

    def directions(self, arms: Array) -> Array:
        """Directions `(columns, modes)` as real numbers, given the lever arm of each column."""
        entries = np.eye(len(self.parts))[:, self.first_columns()] if self.entries is None else self.entries
        return np.asarray(entries / 2.0 ** (self.octaves / 2) / arms[:, None])

    def expand(self, modes: Array, arms: Array) -> Array:
        """Curves `(frames, columns)` of modes `(frames, modes)`."""
        if self.entries is not None:
            return np.asarray(modes @ self.directions(arms).T)
        curves = np.zeros((len(modes), len(self.parts)))
        curves[:, self.first_columns()] = modes / arms[self.first_columns()]
        return curves

    def first_columns(self) -> Integers:
        """A column that each mode moves, `(modes,)`."""
        if self.entries is None:
            return np.flatnonzero(self.parts >= 0)
        return np.asarray((self.entries != 0).argmax(axis=0), dtype=np.int64)

    def keep(self, kept: NDArray[np.bool_]) -> Basis:
        """The basis of these modes alone, and of the columns they move."""
        if self.entries is None:
            parts = np.full(len(self.parts), -1, dtype=np.int64)
            parts[self.first_columns()[kept]] = np.arange(kept.sum())
            return Basis(parts, None, self.octaves[kept])
        entries = self.entries[:, kept]
        return Basis(np.where(entries.any(axis=1), self.parts, -1), entries, self.octaves[kept])


def limbs(parents: NDArray) -> Integers:
    """The limb of each joint, `(joints,)`: 0 for the root, then in order of appearance.

    >>> limbs(np.array([-1, 0, 1, 2, 0, 4, 5, 0])).tolist()  # two legs and a tail of one joint
    [0, 1, 1, 1, 2, 2, 2, 0]
    """
    joints = len(parents)
    below = np.ones(joints, dtype=int)
    for joint in range(joints - 1, 0, -1):
        below[parents[joint]] += below[joint]
    long_children = np.zeros(joints, dtype=int)
    for joint in range(1, joints):
        long_children[parents[joint]] += below[joint] >= _SHORTEST_LIMB
    labels = np.zeros(joints, dtype=np.int64)
    newest = 0
    for joint in range(1, joints):
        parent = int(parents[joint])
        parts = below[joint] >= _SHORTEST_LIMB and (long_children[parent] >= 2 or parent == 0)
        newest += parts
        labels[joint] = newest if parts else labels[parent]
    return labels


def single_columns(curves: Array, arms: Array, step: float) -> Basis:
    """Every column that moves by more than a little of `step` on its own."""
    return each_column(np.abs(curves).max(axis=0) * arms > 0.05 * step)


class Spectrum(NamedTuple):
    """Principal directions before they are rounded, a part after the other, strongest first in each.

    Args:
        parts: `(columns,)`, which columns share directions.
        directions: `(columns, modes)`, of unit length in the metric.
        sizes: `(modes,)`, root of the sum of squares over frames, metres.
    """

    parts: Integers
    directions: Array
    sizes: Array


def spectrum(curves: Array, metric: Array, parts: Integers) -> Spectrum:
    """Directions of largest spread in `metric` of curves `(frames, columns)` about their centre."""
    directions, sizes = [], []
    for part in np.unique(parts):
        rows = np.flatnonzero(parts == part)
        root = np.linalg.cholesky(metric[np.ix_(rows, rows)])
        _, spread, vectors = np.linalg.svd(curves[:, rows] @ root, full_matrices=False)
        block = np.zeros((len(parts), len(spread)))
        block[rows] = np.linalg.solve(root.T, vectors.T)
        directions.append(block)
        sizes.append(spread)
    return Spectrum(parts, np.concatenate(directions, axis=1), np.concatenate(sizes))


def principal_directions(found: Spectrum, curves: Array, arms: Array, step: float) -> Basis:
    """Directions rounded as coarsely as `step`, what coefficients are rounded to, allows; strongest first."""
    moving = np.abs(curves).max(axis=0) * arms > 0.05 * step
    kept = found.sizes / step > 0.8
    octaves = np.round(2 * np.log2(np.maximum(found.sizes[kept] / step, 1.0))).astype(np.int64)
    scaled = found.directions[:, kept] * arms[:, None] * 2.0 ** (octaves / 2)
    scaled[~moving] = 0.0
    # Decided part by part, as they will be written.
    of_mode = found.parts[(scaled != 0).argmax(axis=0)]
    entries = np.zeros(scaled.shape, dtype=np.int64)
    for part in np.unique(of_mode):
        block = np.ix_(moving & (found.parts == part), of_mode == part)
        entries[block] = decide(scaled[block], [scaled[block].shape[0]])
    return strongest_first(np.where(moving, found.parts, -1), entries, octaves)


def decide(
    values: Array, sizes: list[int], *, steps: Array | None = None, lagrangian: float = 1.5
) -> Integers:
    """Round coefficients `(frames, curves)` in multiples of `steps` so that error and bits balance.

    Args:
        values: the coefficients.
        sizes: of their bands.
        steps: what they are rounded to, broadcast to their shape; 1 if None.
        lagrangian: what a bit is worth in squared error, relative to fine quantisation.
    """
    from marey.body.codec.transform._kernels import decide_bands

    numbers = np.zeros(values.shape, np.int64)
    every = np.ascontiguousarray(np.broadcast_to(1.0 if steps is None else steps, values.shape))
    decide_bands(np.ascontiguousarray(values), every, np.array(sizes, np.int64), lagrangian, numbers)
    return numbers


def each_column(moving: NDArray[np.bool_]) -> Basis:
    """Every moving column on its own."""
    count = int(moving.sum())
    parts = np.full(len(moving), -1, dtype=np.int64)
    parts[moving] = np.arange(count)
    return Basis(parts, None, np.zeros(count, dtype=np.int64))


def strongest_first(parts: Integers, entries: Integers, octaves: Integers) -> Basis:
    """The basis with its modes in order, those that are nothing left out."""
    order = np.argsort(-octaves, kind="stable")
    order = order[np.asarray(entries.any(axis=0))[order]]
    return Basis(parts, entries[:, order], octaves[order])
