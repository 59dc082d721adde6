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
from marey.body.codec.transform.range_coder import RangeCoder, decide
from marey.errors import FormatError

# How the columns are put together before directions are sought.
CURVES, LIMBS = range(2)
# No figure with directions has as many entries; others keep their curves.
_MOST_ENTRIES = 1 << 22
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
            from marey.body.codec.transform._kernels import combine

            curves = np.zeros((len(modes), len(arms)))
            combine(modes, np.ascontiguousarray(self.directions(arms).T), curves)
            return curves
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
    return _single(np.abs(curves).max(axis=0) * arms > 0.05 * step)


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
    return _strongest_first(np.where(moving, found.parts, -1), entries, octaves)


def write_basis(coder: RangeCoder, basis: Basis, labels: Integers) -> None:
    """Put a basis into the stream; `labels` `(columns,)` are the parts the layout would have."""
    coder.plain((basis.parts >= 0).astype(np.int64), family=1, expected=0.5)
    if basis.entries is None:
        return
    of_mode = basis.parts[basis.first_columns()]
    strongest = 16  # half octaves, as most have
    for part in np.unique(labels[basis.parts >= 0]):
        rows, modes = basis.parts == part, of_mode == part
        coder.plain(np.array([modes.sum()]), family=2, expected=4.0)
        coder.plain(-np.diff(basis.octaves[modes], prepend=strongest), family=3, expected=2.0)
        coder.bands(basis.entries[np.ix_(rows, modes)], [int(rows.sum())])
        strongest = int(basis.octaves[modes].max(initial=strongest))


def read_basis(coder: RangeCoder, layout: int, labels: Integers) -> Basis:
    """The basis that :func:`write_basis` wrote."""
    columns = len(labels)
    moving = coder.plain(np.zeros(columns, dtype=np.int64), family=1, expected=0.5) != 0
    if layout == CURVES:
        return _single(moving)
    parts = np.where(moving, labels, -1)
    entries, octaves = [np.zeros((columns, 0), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    strongest = 16  # half octaves, as most have
    for part in np.unique(labels[moving]):
        rows = np.flatnonzero(parts == part)
        count = coder.plain(np.zeros(1, dtype=np.int64), family=2, expected=4.0)[0]
        # Not `len(rows)`: columns whose entries were all rounded away are no rows, their modes stay.
        modes = int(np.clip(count, 0, (labels == part).sum()))
        falls = coder.plain(np.zeros(modes, dtype=np.int64), family=3, expected=2.0)
        if columns * (modes + sum(len(found) for found in octaves)) > _MOST_ENTRIES:
            raise FormatError("the compressed clip is damaged: it has more directions than any could")
        octaves.append(np.clip(strongest - np.cumsum(falls), -128, 128))
        strongest = int(octaves[-1].max(initial=strongest))
        block = np.zeros((columns, modes), dtype=np.int64)
        block[rows] = coder.bands(block[rows], [len(rows)])
        entries.append(block)
    return _strongest_first(parts, np.concatenate(entries, axis=1), np.concatenate(octaves))


def _single(moving: NDArray[np.bool_]) -> Basis:
    """Every moving column on its own."""
    count = int(moving.sum())
    parts = np.full(len(moving), -1, dtype=np.int64)
    parts[moving] = np.arange(count)
    return Basis(parts, None, np.zeros(count, dtype=np.int64))


def _strongest_first(parts: Integers, entries: Integers, octaves: Integers) -> Basis:
    """The basis with its modes in order, those that are nothing left out."""
    order = np.argsort(-octaves, kind="stable")
    order = order[np.asarray(entries.any(axis=0))[order]]
    return Basis(parts, entries[:, order], octaves[order])
