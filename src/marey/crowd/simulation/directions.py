"""Where to walk from anywhere: one field of unit vectors a goal.

Fields come from travel times around obstacles, or from a formula; between the grid's nodes they are
interpolated and made unit again, so that nobody slows down where directions meet. Courty 2013,
section 6.3.2 (the wished direction). Cost: some 10 ns a person.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import FloatArray, assign, checked
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class DirectionField:
    """Directions at the nodes of a grid on the ground plane.

    vectors: `(rows, columns, 2)`; length does not matter, zero or NaN where there is none (in a wall)
    origin: `(x, y)` of the node in row 0 and column 0, metres; x grows with columns, y with rows
    spacing: metres between nodes

    Beyond the grid the nearest node counts.

    >>> DirectionField.constant(3, 4).at([[10.0, 20.0]]).tolist()
    [[0.6, 0.8]]
    """

    vectors: FloatArray
    origin: tuple[float, float] = (0.0, 0.0)
    spacing: float = 1.0

    def __post_init__(self) -> None:
        vectors = checked("vectors", self.vectors, (None, None, 2), finite=False)
        if vectors.shape[0] == 0 or vectors.shape[1] == 0:
            raise InputError("vectors: there is no node")
        origin = checked("origin", self.origin, (2,))
        if not (np.isfinite(self.spacing) and self.spacing > 0):
            raise InputError(f"spacing: must be more than 0 metres, got {self.spacing}")
        finite = np.isfinite(vectors).all(axis=-1, keepdims=True)
        known = np.where(finite, vectors, 0.0)
        length = np.hypot(known[..., :1], known[..., 1:])
        unit = np.divide(known, length, out=np.zeros_like(known), where=length > 1e-12)
        unit.setflags(write=False)
        assign(self, vectors=unit, origin=(float(origin[0]), float(origin[1])), spacing=float(self.spacing))

    @classmethod
    def constant(cls, x: float, y: float) -> DirectionField:
        """The same direction everywhere."""
        return cls(np.array([[[x, y]]], dtype=np.float64))

    @classmethod
    def from_formula(
        cls,
        formula: Callable[[FloatArray], ArrayLike],
        lower: tuple[float, float],
        upper: tuple[float, float],
        *,
        spacing: float = 0.25,
    ) -> DirectionField:
        """Directions `(points, 2)` that `formula` gives at points `(points, 2)`, between two corners.

        >>> outwards = DirectionField.from_formula(lambda points: points, (-5, -5), (5, 5))
        >>> outwards.at([[0.0, 2.0]]).round(3).tolist()
        [[0.0, 1.0]]
        """
        if not (upper[0] > lower[0] and upper[1] > lower[1]):
            raise InputError(f"corners: {upper} is not above and right of {lower}")
        columns, rows = (int(np.ceil((b - a) / spacing)) + 1 for a, b in zip(lower, upper, strict=True))
        if columns * rows > 100_000_000:
            raise InputError(f"{columns} × {rows} nodes are too many: take a larger spacing")
        x = lower[0] + spacing * np.arange(columns)
        y = lower[1] + spacing * np.arange(rows)
        points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        return cls(np.asarray(formula(points), dtype=np.float64).reshape(rows, columns, 2), lower, spacing)

    @classmethod
    def rotation(
        cls, centre: tuple[float, float], radius: float, *, clockwise: bool = False
    ) -> DirectionField:
        """Round about `centre`, within `radius` metres of it."""
        sign = -1.0 if clockwise else 1.0
        x, y = centre

        def formula(points: FloatArray) -> FloatArray:
            return sign * np.stack([-(points[:, 1] - y), points[:, 0] - x], axis=-1)

        return cls.from_formula(formula, (x - radius, y - radius), (x + radius, y + radius))

    def at(self, positions: ArrayLike) -> FloatArray:
        """Unit directions `(people, 2)` at positions `(people, 2)`; zero where there is none."""
        from marey.crowd.simulation import _place_kernels

        places = checked("positions", positions, (None, 2))
        result = np.zeros((len(places), 2))
        goals = np.zeros(len(places), dtype=np.int64)
        _place_kernels.directions(np.array(places), goals, *flattened([self]), result)
        return result


def flattened(fields: list[DirectionField]) -> tuple[FloatArray, FloatArray]:
    """All vectors `(nodes, 2)` and, `(fields, 6)`, first node, rows, columns, origin x, y and spacing."""
    if not fields:
        return np.zeros((0, 2)), np.zeros((0, 6))
    first = np.cumsum([0, *(f.vectors.shape[0] * f.vectors.shape[1] for f in fields)])[:-1]
    heads = [
        (start, *f.vectors.shape[:2], *f.origin, f.spacing) for start, f in zip(first, fields, strict=True)
    ]
    return np.concatenate([f.vectors.reshape(-1, 2) for f in fields]), np.array(heads, dtype=np.float64)
