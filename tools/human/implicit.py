"""Smooth bodies from a few shapes: a distance-like function that is negative inside.

A shape is a tube about a straight axis whose cross-section, an ellipse or a rounder rectangle, follows a
profile; an ellipsoid is a tube of no length. Shapes melt into each other over a given width (polynomial
smooth minimum). On a grid each is evaluated only where it can matter, so the cost is that of the shapes'
own bounding boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array

FAR = 1.0
"""Metres; the value where no shape is near."""


@dataclass(frozen=True, eq=False)
class Tube:
    """A tube from `origin` along the middle one of its axes.

    origin: `(3,)`
    axes: `(3, 3)`, rows: across, along, forwards; orthonormal
    length: metres, 0 for an ellipsoid
    profile: `(samples, 3)` at equal steps of the length: half-width across, half-width forwards, and by
        how much the middle lies forwards of the axis
    caps: how far the rounded ends reach beyond the length, at its beginning and its end
    power: 2 for ellipses; more makes the cross-section squarer
    melt: metres over which it melts into what is there already
    carve: whether it is taken away instead of added
    """

    origin: Array
    axes: Array
    length: float
    profile: Array
    caps: tuple[float, float]
    power: float = 2.0
    melt: float = 0.02
    carve: bool = False

    def distance(self, points: Array) -> Array:
        """About the signed distance of `points`, `(..., 3)`: exact on the surface, first order near it."""
        across, along, forwards = np.moveaxis((points - self.origin) @ self.axes.T, -1, 0)
        within = np.clip(along, 0.0, self.length)
        a, b, middle = self._section(within)
        cap = np.where(along < 0, *self.caps)
        scaled = [np.abs(across) / a, np.abs(along - within) / cap, np.abs(forwards - middle) / b]
        if self.power == 2.0:
            rho = np.sqrt(scaled[0] ** 2 + scaled[1] ** 2 + scaled[2] ** 2) + 1e-9
            slopes = [x / rho for x in scaled]
        else:
            p = self.power
            rho = (scaled[0] ** p + scaled[1] ** p + scaled[2] ** p) ** (1 / p) + 1e-9
            slopes = [(x / rho) ** (p - 1) for x in scaled]
        steepness = np.sqrt((slopes[0] / a) ** 2 + (slopes[1] / cap) ** 2 + (slopes[2] / b) ** 2)
        return (rho - 1) / (steepness + 1e-9)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Corners of a box around it, melting included."""
        widest = np.abs(self.profile).max(axis=0)
        reach = np.array([widest[0], 0.0, widest[1] + widest[2]]) + self.melt
        low = np.array([-reach[0], -self.caps[0] - self.melt, -reach[2]])
        high = np.array([reach[0], self.length + self.caps[1] + self.melt, reach[2]])
        corners = np.array(list(product(*zip(low, high))))
        world = self.origin + corners @ self.axes
        return world.min(axis=0), world.max(axis=0)

    def _section(self, within: Array) -> tuple[Array, ...]:
        if self.length == 0 or len(self.profile) == 1:
            return tuple(np.full(within.shape, value) for value in self.profile[0])
        at = np.linspace(0.0, self.length, len(self.profile))
        return tuple(np.interp(within, at, column) for column in self.profile.T)


def tube(
    start: ArrayLike,
    end: ArrayLike,
    profile: Sequence[Sequence[float]],
    *,
    forwards: ArrayLike = (0.0, 0.0, 1.0),
    caps: tuple[float, float] | None = None,
    power: float = 2.0,
    melt: float = 0.02,
) -> Tube:
    """A tube from `start` to `end`; rows of `profile`: share of the way, width, depth[, offset forwards].

    Between its rows the profile is a smooth monotone curve.
    """
    from scipy.interpolate import PchipInterpolator

    start, end = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    length = float(np.linalg.norm(end - start))
    rows = np.array([[*row, 0.0][:4] for row in profile])
    smooth = PchipInterpolator(rows[:, 0], rows[:, 1:])(np.linspace(0.0, 1.0, 65))
    if caps is None:
        caps = (float(rows[0, 1:3].min()), float(rows[-1, 1:3].min()))
    return Tube(start, _frame((end - start) / length, forwards), length, smooth, caps, power, melt)


def ellipsoid(
    centre: ArrayLike,
    radii: Sequence[float],
    *,
    melt: float = 0.02,
    carve: bool = False,
    power: float = 2.0,
    along: ArrayLike = (0.0, 1.0, 0.0),
) -> Tube:
    """An ellipsoid; `radii` across, along and forwards."""
    a, cap, b = radii
    axes = _frame(np.asarray(along, dtype=np.float64), (0.0, 0.0, 1.0))
    return Tube(
        np.asarray(centre, dtype=np.float64),
        axes,
        0.0,
        np.array([[a, b, 0.0]]),
        (cap, cap),
        power,
        melt,
        carve,
    )


def distance_near(shapes: Sequence[Tube], points: Array, *, margin: float) -> Callable[[Array], Array]:
    """The whole body's value as a function of points that stay within `margin` of `points`, `(n, 3)`.

    Which shapes matter to which point is found out once.
    """
    chosen = []
    for shape in shapes:
        low, high = shape.bounds
        near = ((points >= low - margin) & (points <= high + margin)).all(axis=-1)
        chosen.append((shape, np.flatnonzero(near)))

    def value(points: Array) -> Array:
        values = np.full(len(points), FAR)
        for shape, rows in chosen:
            values[rows] = _joined(values[rows], shape.distance(points[rows]), shape)
        return values

    return value


def distance_on_grid(shapes: Sequence[Tube], grid: tuple[Array, Array, Array]) -> Array:
    """The same at the points of a rectilinear grid, `(len(x), len(y), len(z))`."""
    value = np.full(tuple(len(axis) for axis in grid), FAR)
    for shape in shapes:
        low, high = shape.bounds
        part = tuple(
            slice(*np.searchsorted(axis, [a, b])) for axis, a, b in zip(grid, low, high, strict=True)
        )
        points = np.stack(
            np.meshgrid(*(axis[s] for axis, s in zip(grid, part, strict=True)), indexing="ij"), -1
        )
        value[part] = _joined(value[part], shape.distance(points), shape)
    return value


def _joined(value: Array, other: Array, shape: Tube) -> Array:
    if shape.carve:
        return -_smooth_minimum(-value, other, shape.melt)
    return _smooth_minimum(value, other, shape.melt)


def _smooth_minimum(a: Array, b: Array, width: float) -> Array:
    overlap = np.maximum(width - np.abs(a - b), 0.0)
    return np.minimum(a, b) - overlap**2 / (4 * width)


def _frame(along: Array, forwards: ArrayLike) -> Array:
    """Rows: across, along and forwards, as far as that is not along."""
    ahead = np.asarray(forwards, dtype=np.float64)
    ahead = ahead - (ahead @ along) * along
    ahead = ahead / np.linalg.norm(ahead)
    return np.stack([np.cross(along, ahead), along, ahead])
