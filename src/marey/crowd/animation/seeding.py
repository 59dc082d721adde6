"""Where people start: evenly over the ground, as densely as the video shows, or where the field streams in.

Courty & Corpetti 2007, section 5.3, set the first density by hand and name it the weak point; here it can be
taken from who is seen where. Pixels are drawn by weight, places within them evenly, and a place too near
to one taken before is dropped (Poisson-disk sampling by dart throwing). Cost: about 1 µs a dart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.crowd import cameras as plane
from marey.crowd.animation.place import WALKABLE, Place
from marey.crowd.polygons import contains
from marey.errors import InputError

Array = NDArray[np.float64]

MOST_PEOPLE = 2_000_000
# Share of the spacing of a square lattice: darts fill the ground to about 0.8 of it.
DART_SPACING = 0.7
DARTS_EACH = 12
ROUNDS = 14
# A picture moves at least this much, pixels per frame, where people come in.
SLOWEST_INFLOW = 0.02


def density_weights(place: Place, presence: FloatArray | None) -> Array:
    """How many people a pixel may expect `(rows, columns)`, up to a factor.

    Without `presence` `(rows, columns)` the ground it covers. With it, how surely somebody is seen there,
    over the pixels a body covers, which grow as the square of the picture's scale.
    """
    if presence is None:
        return place.cell_areas
    weights = np.where(place.region == WALKABLE, presence * place.body_scales**2, 0.0)
    return weights if weights.sum() > 0 else place.cell_areas


def scattered(
    place: Place,
    people: int,
    rng: np.random.Generator,
    *,
    presence: FloatArray | None = None,
    polygon: Array | None = None,
    distance: float | None = None,
) -> Array:
    """Places `(people, 2)` metres, apart from each other as far as their number allows.

    presence: `(rows, columns)`, 0 to 1: more people where more is seen; None = evenly
    polygon: `(corners, 2)` metres, only within
    distance: keep at least so far apart, metres, while there is room; None = as far as possible

    >>> from marey.crowd import FieldSeries
    >>> place = Place.of(FieldSeries(np.ones((1, 20, 30, 2)), 10, homography=plane.orthographic(0.5)))
    >>> scattered(place, 40, np.random.default_rng(0)).shape
    (40, 2)
    """
    if not 1 <= people <= MOST_PEOPLE:
        raise InputError(f"people: 1 to {MOST_PEOPLE}, got {people}")
    weights = density_weights(place, presence)
    if polygon is not None:
        weights = weights * _touched(place, polygon)
    if not weights.sum() > 0:
        raise InputError("people: there is no walkable ground in the area given")
    darts = _darts(place, weights, DARTS_EACH * people + 200, rng, polygon)
    covered = float(place.cell_areas[weights > 0].sum())
    widest = DART_SPACING * float(np.sqrt(covered / people))
    apart = widest if distance is None else min(distance, widest)
    return _apart(darts, apart, people)


def entering(
    place: Place, field: FloatArray, presence: FloatArray | None, count: int, rng: np.random.Generator
) -> Array:
    """Places `(count, 2)` metres at the border of the picture through which people stream in.

    field: `(rows, columns, 2)` pixels per frame. The chance of a border pixel is the motion into the picture
    there times how many people are there. `(0, 2)` where nothing streams in.
    """
    pixels, inwards = place.borders
    column, row = pixels.T
    if presence is None:
        expected = place.cell_areas[row, column]
    else:
        # Somebody may come in where nobody is seen yet, but seldom.
        expected = (presence[row, column] + 1e-3) * place.body_scales[row, column] ** 2
    inward = np.sum(field[row, column] * inwards, axis=1)
    flux = np.where(inward > SLOWEST_INFLOW, inward * expected, 0.0).astype(np.float64)
    cumulated = np.cumsum(flux)
    if len(flux) == 0 or not cumulated[-1] > 0:
        return np.empty((0, 2))
    chosen = np.searchsorted(cumulated, rng.uniform(0, cumulated[-1], size=count), side="right")
    chosen = np.minimum(chosen, len(flux) - 1)
    along = rng.uniform(-0.49, 0.49, size=(count, 1))
    # Just within the edge of the pixel, anywhere along it.
    places = pixels[chosen] - 0.49 * inwards[chosen] + along * inwards[chosen][:, ::-1]
    return plane.apply(place.to_ground, places)


def _touched(place: Place, polygon: Array) -> NDArray[np.bool_]:
    """Pixels `(rows, columns)` with a part in the polygon: their centre, a corner, or one of its corners."""
    rows, columns = place.region.shape
    row, column = np.mgrid[: rows + 1, : columns + 1] - 0.5
    corners = contains(polygon, plane.apply(place.to_ground, np.stack([column, row], axis=-1)))
    touched = corners[:-1, :-1] | corners[1:, :-1] | corners[:-1, 1:] | corners[1:, 1:]
    seen = np.rint(plane.apply(place.to_pixel, polygon))
    for x, y in seen[np.isfinite(seen).all(axis=1)].astype(int):
        if 0 <= y < rows and 0 <= x < columns:
            touched[y, x] = True
    return np.asarray(touched)


def _darts(
    place: Place, weights: Array, count: int, rng: np.random.Generator, polygon: Array | None
) -> Array:
    """Random places `(n, 2)` by pixel weight; fewer than `count` where a polygon cuts pixels."""
    cumulated = np.cumsum(weights.ravel())
    drawn = np.searchsorted(cumulated, rng.uniform(0, cumulated[-1], size=count), side="right")
    drawn = np.minimum(drawn, weights.size - 1)
    row, column = np.divmod(drawn, weights.shape[1])
    pixels = np.stack([column, row], axis=1) + rng.uniform(-0.499, 0.499, size=(count, 2))
    darts = plane.apply(place.to_ground, pixels)
    if polygon is not None:
        darts = darts[contains(polygon, darts)]
    if len(darts) == 0:
        raise InputError("people: there is no walkable ground in the area given")
    return np.ascontiguousarray(darts)


def _apart(darts: Array, distance: float, people: int) -> Array:
    """The first `people` darts that keep their distance; where they find no room, with less and less."""
    from marey.crowd.animation import _contact_kernels

    chosen = np.zeros(len(darts), dtype=np.bool_)
    reach = np.ptp(darts, axis=0)
    for _ in range(ROUNDS):
        distance = max(distance, float(reach.max()) / 2000 + 1e-9)
        columns, rows = (reach / distance).astype(int) + 1
        heads = np.full((rows, columns), -1, dtype=np.int64)
        following = np.full(len(darts), -1, dtype=np.int64)
        if _contact_kernels.keep_apart(darts, distance, people, chosen, heads, following) >= people:
            break
        distance *= 0.8
    taken = np.flatnonzero(chosen)
    if len(taken) < people:
        rest = np.flatnonzero(~chosen)[: people - len(taken)]
        taken = np.sort(np.concatenate([taken, rest]))
    if len(taken) < people:
        taken = np.resize(taken, people)
    return darts[taken]
