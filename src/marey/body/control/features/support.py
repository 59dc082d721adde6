"""The support centre: the centroid of what the feet in contact stand on (Tournier 2011, section 15.2.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array
from marey.body.control.features import Feature, Term
from marey.body.control.features.centre import PROJECTION, Centre
from marey.body.control.mechanics import Instant
from marey.body.physics.reduced import GRAVITY


@dataclass(frozen=True, eq=False, kw_only=True)
class Support(Feature):
    """The centre of mass, or a joint, above the support centre.

    Args:
        place: `(2,)`, the support centre, x and z.
        joint: what is to be above it; -1 for the centre of mass.
    """

    place: Array
    joint: int = -1

    def term(self, now: Instant) -> Term:
        if self.joint < 0:
            rows, here = Centre.rows(now), Centre.of(now)
        else:
            rows, here = now.moves([self.joint], np.zeros((1, 3)))[0], now.joint(self.joint)[1]
        which = list(PROJECTION)
        return self.asked(now, rows[which], self.place - here[which])


@dataclass(frozen=True, eq=False, kw_only=True)
class Capture(Feature):
    """The centre of mass comes to rest above the support centre, by pressures that the support can give.

    A point that falls like an inverted pendulum of the height h comes to rest at ξ = c + ċ/ω, ω² = g/h. The
    centre of pressure p = ξ + k (ξ - place) brings ξ to the place; it is kept within the support, and the
    acceleration ω² (c - p) is asked for. What ξ is outside of the support only angular momentum can take.

    Args:
        place: `(2,)`, the support centre, x and z.
        corners: `(n, 2)`, of the support polygon, counter-clockwise.
        returning: k, without unit.
        margin: metres, from the border of the polygon, that pressures keep if they can.
        most: metres, how far ξ counts as outside.
    """

    place: Array
    corners: Array
    returning: float = 2.0
    margin: float = 0.01
    most: float = 0.1

    def term(self, now: Instant) -> Term:
        which = list(PROJECTION)
        rows, here = Centre.rows(now)[which], Centre.of(now)
        height = max(float(here[1]) - now.mechanics.settings.floor, 0.1)
        squared, c, speed = -GRAVITY[1] / height, here[which], rows @ now.v
        capture = c + speed / np.sqrt(squared)
        room = shrunk(self.corners, self.margin)
        pressure = nearest(room, capture + self.returning * (capture - self.place))
        left = capture - nearest(room, capture)
        left *= min(1.0, self.most / max(float(np.linalg.norm(left)), 1e-12))
        pressure = pressure + (1 + self.returning) * left
        return Term(rows, speed + now.step * squared * (c - pressure), self.weight)


def polygon(points: Array) -> Array:
    """The convex hull `(corners, 2)` of points `(n, 2)`, counter-clockwise (Andrew's monotone chain).

    >>> polygon(np.array([[0, 0], [2, 0], [1, 0.5], [2, 2], [0, 2.0]])).tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]
    """
    ordered: list[tuple[float, ...]] = sorted({(float(x), float(z)) for x, z in points})

    def chain(rows: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        found: list[tuple[float, ...]] = []
        for p in rows:
            while len(found) > 1:
                (a, b), (c, d) = found[-2], found[-1]
                if (c - a) * (p[1] - b) - (d - b) * (p[0] - a) > 0:
                    break
                found.pop()
            found.append(p)
        return found[:-1] if len(found) > 1 else found

    return np.asarray(chain(ordered) + chain(ordered[::-1]), dtype=np.float64).reshape(-1, 2)


def centroid(corners: Array) -> Array:
    """The centroid `(2,)` of a polygon; the mean of corners that span no area."""
    following = np.roll(corners, -1, axis=0)
    areas = corners[:, 0] * following[:, 1] - corners[:, 1] * following[:, 0]
    if abs(areas.sum()) < 1e-9:
        return np.asarray(corners.mean(axis=0))
    return np.asarray(((corners + following) * areas[:, None]).sum(axis=0) / (3 * areas.sum()))


def inside(corners: Array, point: Array) -> float:
    """Metres from a point `(2,)` to the border of a polygon, negative outside.

    >>> round(inside(np.array([[0, 0], [2, 0], [2, 2], [0, 2.0]]), np.array([0.5, 1.0])), 6)
    0.5
    """
    if len(corners) < 3:
        return -float(np.linalg.norm(corners - point, axis=1).min(initial=np.inf))
    along = np.roll(corners, -1, axis=0) - corners
    away = point - corners
    distances = (along[:, 0] * away[:, 1] - along[:, 1] * away[:, 0]) / np.linalg.norm(along, axis=1)
    return float(distances.min())


def shrunk(corners: Array, margin: float) -> Array:
    """A polygon that is smaller by about a margin, about its centroid; at most by half."""
    middle = centroid(corners)
    return np.asarray(
        middle + (1 - min(0.5, margin / max(inside(corners, middle), 1e-9))) * (corners - middle)
    )


def nearest(corners: Array, point: Array) -> Array:
    """The point `(2,)` of a convex polygon that is nearest to a point.

    >>> nearest(np.array([[0, 0], [2, 0], [2, 2], [0, 2.0]]), np.array([3.0, 1.0])).tolist()
    [2.0, 1.0]
    """
    if inside(corners, point) >= 0:
        return point
    along = np.roll(corners, -1, axis=0) - corners
    shares = ((point - corners) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-12)
    found = corners + np.clip(shares, 0.0, 1.0)[:, None] * along
    return np.asarray(found[((found - point) ** 2).sum(axis=1).argmin()])


def reach(corners: Array, point: Array, direction: Array) -> float:
    """Metres from a point inside a polygon to its border along a unit direction."""
    along = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
    rates = normals @ direction
    room = ((corners - point) * normals).sum(axis=1)
    ahead = rates > 1e-12
    return float((room[ahead] / rates[ahead]).min(initial=np.inf))
