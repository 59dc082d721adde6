"""Rigid motions of the ground plane, the one that lays a mesh onto another, and paths to follow on it.

A body is placed by a turn about the vertical and a shift along the ground. Angles follow the right hand about
+y: (x, z) goes to (x cos a + z sin a, -x sin a + z cos a). The best alignment is in closed form, with the
quadrant the printed arctangent loses (Boukhayma 2017, eqs 2.2-2.5). Cost: one pass over the vertices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, assign, checked
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class PlanarMotion:
    """A turn about the vertical through the origin, then a shift along the ground; or many of them.

    Args:
        angle: `(...)`, radians.
        shift: `(..., 2)`, metres along x and z.

    >>> quarter = PlanarMotion(np.array(np.pi / 2), np.array([0.0, 1.0]))
    >>> quarter.apply([[1.0, 5.0, 0.0]]).round(12).tolist()
    [[0.0, 5.0, 0.0]]
    """

    angle: Array
    shift: Array

    @classmethod
    def identity(cls) -> PlanarMotion:
        """The motion that leaves everything where it is."""
        return cls(np.zeros(()), np.zeros(2))

    @classmethod
    def about(cls, centre: ArrayLike, angle: ArrayLike, to: ArrayLike) -> PlanarMotion:
        """The turn by `angle` about `centre` `(..., 2)` which then takes that centre `to` `(..., 2)`."""
        turn = np.asarray(angle, np.float64)
        return cls(turn, np.asarray(to, np.float64) - rotate(np.asarray(centre, np.float64), turn))

    def apply(self, points: ArrayLike) -> FloatArray:
        """Points `(..., n, 3)` moved, in their own precision; heights stay."""
        given = np.asarray(points)
        result: FloatArray = np.array(given, dtype=np.float32 if given.dtype == np.float32 else np.float64)
        result[..., 0::2] = self.on_ground(given[..., 0::2])
        return result

    def on_ground(self, points: ArrayLike) -> Array:
        """Ground points `(..., n, 2)` moved."""
        return rotate(np.asarray(points, np.float64), self.angle[..., None]) + self.shift[..., None, :]

    def compose(self, first: PlanarMotion) -> PlanarMotion:
        """`first`, then this."""
        return PlanarMotion(self.angle + first.angle, rotate(first.shift, self.angle) + self.shift)

    def inverse(self) -> PlanarMotion:
        """The motion that undoes this one."""
        return PlanarMotion(-self.angle, -rotate(self.shift, -self.angle))


def rotate(points: Array, angle: ArrayLike) -> Array:
    """Ground points `(..., 2)` turned about the origin by `angle` `(...)`.

    >>> rotate(np.array([0.0, 2.0]), np.pi / 2).round(12).tolist()
    [2.0, 0.0]
    """
    c, s = np.cos(angle), np.sin(angle)
    x, z = points[..., 0], points[..., 1]
    return np.stack(np.broadcast_arrays(c * x + s * z, c * z - s * x), axis=-1)


def centroid(vertices: FloatArray, weights: FloatArray | None = None) -> Array:
    """Where on the ground the middle of the vertices is, `(..., 2)`.

    >>> centroid(np.array([[0.0, 9.0, 0.0], [2.0, 9.0, 4.0]])).tolist()
    [1.0, 2.0]
    """
    return np.asarray(np.average(vertices[..., 0::2], axis=-2, weights=weights), dtype=np.float64)


def align(onto: FloatArray, moving: FloatArray, weights: FloatArray | None = None) -> PlanarMotion:
    """The planar motion that lays `moving` `(vertices, 3)` as near as can be on `onto`, vertex by vertex.

    Least squares of the distances, each vertex with its weight (all the same, if None).

    >>> feet = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 2.0]])
    >>> away = PlanarMotion(np.array(2.5), np.array([3.0, -1.0])).apply(feet)
    >>> float(align(feet, away).angle.round(9))
    -2.5
    """
    target, source = np.asarray(onto[:, 0::2], np.float64), np.asarray(moving[:, 0::2], np.float64)
    to, centre = np.average(target, axis=0, weights=weights), np.average(source, axis=0, weights=weights)
    target, source = target - to, source - centre
    if weights is not None:
        source = source * weights[:, None]
    across = target[:, 0] @ source[:, 1] - target[:, 1] @ source[:, 0]
    along = target[:, 0] @ source[:, 0] + target[:, 1] @ source[:, 1]
    return PlanarMotion.about(centre, np.arctan2(across, along), to)


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
