"""Rigid motions of the ground plane, and the one that lays a mesh onto another (Boukhayma 2017, eqs 2.2-2.5).

A body is placed by a turn about the vertical and a shift along the ground. Angles follow the right hand about
+y: (x, z) goes to (x cos a + z sin a, -x sin a + z cos a). The best alignment is in closed form, with the
quadrant the printed arctangent loses. Cost: one pass over the vertices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray


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

    Least squares of the distances, each vertex with its weight (all alike, if None).

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
