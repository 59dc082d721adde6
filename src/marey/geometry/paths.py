"""Paths to follow, sampled evenly along their length, with the behaviours asked for on their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, assign, checked
from marey.errors import InputError

# Metres: the longest path that can be followed.
LONGEST = 10_000.0


@dataclass(frozen=True)
class Behaviour:
    """What is to be shown on a part of a path.

    Args:
        labels: One of these behaviours.
        start: Metres along the path where the part begins.
        stop: Metres along the path where it ends.
    """

    labels: tuple[str, ...]
    start: float
    stop: float


@dataclass(frozen=True, eq=False)
class Path:
    """A path on the ground or in space.

    Args:
        points: `(samples, 3)`, metres, evenly spaced.
        spatial: Whether heights count; on the ground they do not.
        behaviours: What is asked for on parts of it; elsewhere anything is allowed.

    >>> square = Path.through([[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]])
    >>> square.length, square.points.shape[1]
    (8.0, 3)
    """

    points: Array
    spatial: bool = False
    behaviours: tuple[Behaviour, ...] = ()

    def __post_init__(self) -> None:
        points = checked("path", self.points, (None, 3))
        if len(points) < 2:
            raise InputError("path: it has no length")
        assign(self, points=points, behaviours=tuple(self.behaviours))

    @classmethod
    def through(
        cls, corners: ArrayLike, *, behaviours: Sequence[Behaviour] = (), spacing: float = 0.05
    ) -> Path:
        """The polygon through corners `(n, 2)` on the ground (x, z), or `(n, 3)` in space (x, y, z)."""
        given = np.asarray(corners, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] not in (2, 3) or len(given) < 2:
            raise InputError(
                f"path: expected two or more points (x, z) or (x, y, z), got shape {given.shape}"
            )
        wrong = ~(np.abs(given) <= 1e9).all(axis=1)
        if wrong.any():
            raise InputError(f"path: point {int(wrong.argmax()) + 1} is not finite, or too far off")
        spatial = given.shape[1] == 3
        points = given if spatial else np.insert(given, 1, 0.0, axis=1)
        along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        if not spacing <= along[-1] <= LONGEST:
            raise InputError(
                f"path: it is {along[-1]:.3g} m long; {spacing} m to {LONGEST:,.0f} m can be followed"
            )
        apart = np.concatenate([[True], np.diff(along) > 0])
        count = round(along[-1] / spacing) + 1
        at = np.linspace(0, along[-1], max(count, 2))
        sampled = np.stack([np.interp(at, along[apart], axis) for axis in points[apart].T], axis=1)
        return cls(sampled, spatial, tuple(behaviours))

    @cached_property
    def spacing(self) -> float:
        """Metres along the path between two samples."""
        return self.length / (len(self.points) - 1)

    @cached_property
    def length(self) -> float:
        """Metres."""
        steps = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        return float(round(steps.sum(), 12))

    @property
    def heading(self) -> float:
        """Direction of its first half metre, radians about the vertical from +z."""
        ahead = self.points[min(round(0.5 / self.spacing) + 1, len(self.points) - 1)] - self.points[0]
        return float(np.arctan2(ahead[0], ahead[2]))


def figure_eight(size: float) -> Path:
    """Two loops, `size` metres across each, crossing in the middle where it begins and ends.

    >>> round(figure_eight(4.0).length, 1)
    24.4
    """
    t = np.linspace(0, 2 * np.pi, 721)
    return Path.through(size * np.stack([np.sin(2 * t) / 2, np.sin(t)], axis=1))


def square(size: float) -> Path:
    """A square of `size` metres.

    >>> square(3.0).length
    12.0
    """
    corners = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]], dtype=np.float64)
    return Path.through(size * corners)
