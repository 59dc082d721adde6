"""Where agents start: evenly over the ground, as densely as the video shows, or where the field streams in.

Courty & Corpetti 2007, section 5.3, set the first density by hand and name it the weak point; here it can be
taken from the foreground. Pixels are drawn by weight, places within them evenly, and a place too near to one
taken before is dropped (Poisson-disk sampling by dart throwing). Cost: about 1 µs a dart.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array, BoolArray, FloatArray
from marey.crowd import cameras
from marey.crowd.animation.ground import WALKABLE, WalkableGround
from marey.crowd.polygons import contains
from marey.errors import InputError

MOST_AGENTS = 2_000_000


def poisson_disk_seeds(
    ground: WalkableGround,
    count: int,
    rng: np.random.Generator,
    *,
    presence: FloatArray | None = None,
    polygon: Array | None = None,
    distance: float | None = None,
) -> Array:
    """Places `(count, 2)` metres, apart from each other as far as their number allows.

    Args:
        ground: Where agents can be.
        count: How many.
        rng: Where random numbers come from.
        presence: `(rows, columns)`, 0 to 1: more agents where people are seen; None = evenly.
        polygon: `(corners, 2)` metres, only within.
        distance: Keep at least so far apart, metres, while there is room; None = as far as possible.

    >>> from marey.crowd import FieldSeries
    >>> ground = WalkableGround.of(FieldSeries(np.ones((1, 9, 9, 2)), 10, homography=cameras.orthographic(1)))
    >>> poisson_disk_seeds(ground, 40, np.random.default_rng(0)).shape
    (40, 2)
    """
    if not 1 <= count <= MOST_AGENTS:
        raise InputError(f"people: 1 to {MOST_AGENTS}, got {count}")
    weights = ground.cell_areas
    if presence is not None:
        # A body covers pixels in proportion to the square of the image's scale.
        seen = np.where(ground.region == WALKABLE, presence * ground.body_scales**2, 0.0)
        weights = seen if seen.sum() > 0 else weights
    if polygon is not None:
        weights = weights * _touched(ground, polygon)
    if not weights.sum() > 0:
        raise InputError("people: there is no walkable ground in the area given")
    darts = _darts(ground, weights, 12 * count + 200, rng, polygon)
    # Darts fill the ground to about 0.8 of a square lattice with 0.7 of its spacing.
    widest = 0.7 * float(np.sqrt(ground.cell_areas[weights > 0].sum() / count))
    distance = widest if distance is None else min(distance, widest)
    chosen = np.zeros(len(darts), dtype=np.bool_)
    for _ in range(14):
        distance = max(distance, float(np.ptp(darts, axis=0).max()) / 2000 + 1e-9)
        if mark_apart(darts, distance, count, chosen) >= count:
            break
        distance *= 0.8
    chosen[np.flatnonzero(~chosen)[: max(count - int(chosen.sum()), 0)]] = True
    return np.resize(darts[chosen], (count, 2))


def inflow_seeds(
    ground: WalkableGround,
    field: FloatArray,
    presence: FloatArray | None,
    count: int,
    rng: np.random.Generator,
) -> Array:
    """Places `(count, 2)` metres at the border of the image through which people stream in.

    The probability of a border pixel is the motion into the image there times how many people are there.
    `(0, 2)` where nothing streams in.

    Args:
        ground: Where agents can be.
        field: `(rows, columns, 2)` pixels per frame.
        presence: `(rows, columns)`, 0 to 1; None = the same everywhere on the ground.
        count: How many.
        rng: Where random numbers come from.
    """
    pixels, inwards = ground.borders
    column, row = pixels.T
    expected = ground.cell_areas[row, column]
    if presence is not None:
        # People may come in where none is seen yet, but seldom.
        expected = (presence[row, column] + 1e-3) * ground.body_scales[row, column] ** 2
    inward = np.sum(field[row, column] * inwards, axis=1)
    flux = np.where(inward > 0.02, inward * expected, 0.0).astype(np.float64)
    if not flux.sum() > 0:
        return np.empty((0, 2))
    chosen = _drawn(flux, count, rng)
    along = rng.uniform(-0.49, 0.49, size=(count, 1))
    # Just within the edge of the pixel, anywhere along it.
    places = pixels[chosen] - 0.49 * inwards[chosen] + along * inwards[chosen][:, ::-1]
    return cameras.apply(ground.to_ground, places)


def mark_apart(points: Array, distance: float, count: int, chosen: BoolArray) -> int:
    """Mark in `chosen` `(n,)` points `(n, 2)`, in turn, no nearer than `distance` to one chosen before.

    Args:
        points: Candidates, and those chosen before.
        distance: Metres.
        count: How many are wanted, those marked before included.
        chosen: True for those chosen before; gets the new ones.

    Returns:
        How many are chosen now.
    """
    from marey.crowd.animation import _kernels

    # At most 2000 cells each way; few points far apart need no more.
    width = max(distance, float(np.ptp(points, axis=0).max()) / 2000)
    return int(_kernels.poisson_disk(np.ascontiguousarray(points), distance, count, width, chosen))


def _touched(ground: WalkableGround, polygon: Array) -> BoolArray:
    """Pixels `(rows, columns)` with a part in the polygon: a corner, or one of its corners."""
    rows, columns = ground.region.shape
    row, column = np.mgrid[: rows + 1, : columns + 1] - 0.5
    corners = contains(polygon, cameras.apply(ground.to_ground, np.stack([column, row], axis=-1)))
    touched = corners[:-1, :-1] | corners[1:, :-1] | corners[:-1, 1:] | corners[1:, 1:]
    seen = np.rint(cameras.apply(ground.to_pixel, polygon))
    for x, y in seen[np.isfinite(seen).all(axis=1)].astype(int):
        if 0 <= y < rows and 0 <= x < columns:
            touched[y, x] = True
    return np.asarray(touched)


def _darts(
    ground: WalkableGround, weights: Array, count: int, rng: np.random.Generator, polygon: Array | None
) -> Array:
    """Random places `(n, 2)` by pixel weight; fewer than `count` where a polygon cuts pixels."""
    row, column = np.divmod(_drawn(weights.ravel(), count, rng), weights.shape[1])
    pixels = np.stack([column, row], axis=1) + rng.uniform(-0.499, 0.499, size=(count, 2))
    darts = cameras.apply(ground.to_ground, pixels)
    if polygon is not None:
        darts = darts[contains(polygon, darts)]
    if len(darts) == 0:
        raise InputError("people: there is no walkable ground in the area given")
    return darts


def _drawn(weights: Array, count: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Indices `(count,)` drawn in proportion to weights `(n,)`."""
    cumulated = np.cumsum(weights)
    drawn = np.searchsorted(cumulated, rng.uniform(0, cumulated[-1], size=count), side="right")
    return np.minimum(drawn, len(weights) - 1)
