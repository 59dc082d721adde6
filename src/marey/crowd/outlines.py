"""The free part of a ground as polygons with holes, for programs that want it so (JuPedSim, PedPy).

All edges are cut where they meet; those with free ground on one side only are the outline, and are chained
into rings with the free ground on their left. Cost: O(edges²); scenes have dozens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from marey.crowd.scene import inside, rectangle
from marey.errors import InputError

Array = NDArray[np.float64]
Region = tuple[Array, tuple[Array, ...]]

# Decimals of a metre to which corners are told apart, and metres beside an edge at which its sides are tried.
DECIMALS, BESIDE = 7, 1e-5
MOST_EDGES = 20_000
# Metres: beyond any corner of a scene.
FAR = 1e6


def free_regions(ground: Array, obstacles: Sequence[Array]) -> list[Region]:
    """What of a polygon is outside of others: (outline, holes) of each connected piece, largest first.

    Outlines run counter-clockwise, holes clockwise, no corner twice.

    >>> from marey.crowd.scene import rectangle
    >>> walls = [rectangle(0, 5, 9, 6), rectangle(2, 2, 3, 3)]
    >>> [(outline, holes)] = free_regions(rectangle(0, 0, 9, 6), walls)
    >>> outline.tolist(), len(holes)
    ([[0.0, 0.0], [9.0, 0.0], [9.0, 5.0], [0.0, 5.0]], 1)
    """
    edges = _cut(_edges([ground, *obstacles]))
    rings = _rings(_with_free_left(edges, ground, obstacles))
    outlines = sorted((ring for ring in rings if area(ring) > 0), key=area, reverse=True)
    holes: list[list[Array]] = [[] for _ in outlines]
    for ring in rings:
        if area(ring) <= 0:
            around = [n for n, outline in enumerate(outlines) if inside(_beside(ring), outline).all()]
            if around:
                holes[around[-1]].append(ring)
    return [(outline, tuple(mine)) for outline, mine in zip(outlines, holes, strict=True)]


def on_ground(corners: Array, size: tuple[float, float], obstacles: Sequence[Array] = ()) -> list[Region]:
    """What of a polygon lies on a ground of `size` (width, depth) and outside of obstacles.

    >>> [(outline, _)] = on_ground(rectangle(-5, 1, 3, 2), (9.0, 5.0))
    >>> outline.tolist()
    [[0.0, 1.0], [3.0, 1.0], [3.0, 2.0], [0.0, 2.0]]
    """
    width, depth = size
    beyond = [
        rectangle(-FAR, -FAR, 0.0, FAR),
        rectangle(width, -FAR, FAR, FAR),
        rectangle(-FAR, -FAR, FAR, 0.0),
        rectangle(-FAR, depth, FAR, FAR),
    ]
    return free_regions(corners, [*obstacles, *beyond])


def with_slits(regions: Sequence[Region]) -> Array:
    """Regions as one polygon `(corners, 2)`: rings joined by ways that are gone there and back.

    An odd number of edges beside a point tells that it is inside (:func:`marey.crowd.scene.inside`).
    """
    rings = [ring for outline, holes in regions for ring in (outline, *holes)]
    there = [np.concatenate([ring, ring[:1]]) for ring in rings]
    back = [ring[:1] for ring in rings[-2::-1]]
    return np.concatenate(there + back)


def area(ring: Array) -> float:
    """Square metres; negative if the corners run clockwise.

    >>> area(np.array([[0.0, 0], [2, 0], [2, 1], [0, 1]]))
    2.0
    """
    x, y = ring.T
    return float(0.5 * (x * np.roll(y, -1) - np.roll(x, -1) * y).sum())


def _edges(polygons: Sequence[Array]) -> Array:
    """All sides `(edges, 2, 2)`, those without length left out."""
    sides = [np.stack([ring, np.roll(ring, -1, axis=0)], axis=1) for ring in polygons]
    edges = np.round(np.concatenate(sides), DECIMALS)
    return np.asarray(edges[(edges[:, 0] != edges[:, 1]).any(axis=-1)])


def _cut(edges: Array) -> Array:
    """Edges cut where they meet another one, each piece once, `(pieces, 2, 2)`."""
    if len(edges) > MOST_EDGES:
        raise InputError(f"the obstacles have {len(edges)} sides; at most {MOST_EDGES} are taken")
    tolerance = 10.0**-DECIMALS
    pieces = []
    start, along = edges[:, 0], edges[:, 1] - edges[:, 0]
    for a, d in zip(start, along, strict=True):
        length = float(np.hypot(*d))
        cross = d[0] * along[:, 1] - d[1] * along[:, 0]
        gap = start - a
        with np.errstate(divide="ignore", invalid="ignore"):
            mine = (gap[:, 0] * along[:, 1] - gap[:, 1] * along[:, 0]) / cross
            theirs = (gap[:, 0] * d[1] - gap[:, 1] * d[0]) / cross
        reach = tolerance / np.maximum(np.hypot(*along.T), tolerance)
        meets = (np.abs(cross) > 1e-14) & (theirs >= -reach) & (theirs <= 1 + reach)
        # Ends of others that lie on this edge, parallel ones included.
        ends = edges.reshape(-1, 2) - a
        off = np.abs(ends[:, 0] * d[1] - ends[:, 1] * d[0]) / length
        touches = (ends @ d / length**2)[off < tolerance]
        at = np.concatenate([[0.0, 1.0], mine[meets], touches])
        at = np.unique(at[(at >= 0) & (at <= 1)])
        points = np.round(a + at[:, None] * d, DECIMALS)
        points = points[np.concatenate([[True], (np.diff(points, axis=0) != 0).any(axis=-1)])]
        pieces.append(np.stack([points[:-1], points[1:]], axis=1))
    flat = np.concatenate(pieces)
    turned = (flat[:, 0, 0] > flat[:, 1, 0]) | (
        (flat[:, 0, 0] == flat[:, 1, 0]) & (flat[:, 0, 1] > flat[:, 1, 1])
    )
    flat[turned] = flat[turned][:, ::-1]
    return np.asarray(np.unique(flat.reshape(-1, 4), axis=0).reshape(-1, 2, 2))


def _with_free_left(pieces: Array, ground: Array, obstacles: Sequence[Array]) -> Array:
    """Pieces with free ground on one side only, turned so that it is their left."""
    middle, along = pieces.mean(axis=1), pieces[:, 1] - pieces[:, 0]
    normal = np.stack([-along[:, 1], along[:, 0]], axis=-1) / np.hypot(*along.T)[:, None]
    sides = []
    for sign in (1.0, -1.0):
        points = middle + sign * BESIDE * normal
        free = inside(points, ground)
        for obstacle in obstacles:
            free &= ~inside(points, obstacle)
        sides.append(free)
    left, right = sides
    return np.concatenate([pieces[left & ~right], pieces[right & ~left][:, ::-1]])


def _rings(pieces: Array) -> list[Array]:
    """Directed pieces chained into rings without repeated corners."""
    leaving: dict[tuple[float, ...], list[tuple[float, ...]]] = {}
    for a, b in pieces:
        leaving.setdefault(tuple(a), []).append(tuple(b))
    rings = []
    while leaving:
        first = next(iter(leaving))
        walk = [first]
        while True:
            ways = leaving.get(walk[-1])
            if not ways:
                break
            following = ways.pop(_leftmost(walk, ways))
            if not ways:
                del leaving[walk[-1]]
            if following in walk:
                begin = walk.index(following)
                ring = _straightened(np.array(walk[begin:]))
                if len(ring) > 2:
                    rings.append(ring)
                walk = walk[: begin + 1]
                if begin == 0 and following not in leaving:
                    break
            else:
                walk.append(following)
        leaving.pop(walk[-1], None)
    return rings


def _leftmost(walk: list[tuple[float, ...]], ways: list[tuple[float, ...]]) -> int:
    """Which way turns furthest to the left."""
    if len(ways) == 1 or len(walk) < 2:
        return 0
    here = np.array(walk[-1])
    came, go = here - np.array(walk[-2]), np.array(ways) - here
    turn = np.arctan2(came[0] * go[:, 1] - came[1] * go[:, 0], go @ came)
    return int(np.argmax(turn))


def _straightened(ring: Array) -> Array:
    """Without corners that lie on the line between their neighbours."""
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    turns = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    bends = np.abs(turns) > 10.0**-DECIMALS * np.hypot(*before.T) * np.hypot(*after.T)
    return np.asarray(ring[bends])


def _beside(ring: Array) -> Array:
    """A point just left of a ring's first edge, `(1, 2)`: in the free ground."""
    a, b = ring[0], ring[1]
    along = (b - a) / np.hypot(*(b - a))
    return np.asarray((0.5 * (a + b) + BESIDE * np.array([-along[1], along[0]]))[None])
