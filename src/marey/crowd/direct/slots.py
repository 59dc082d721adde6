"""Places that a group takes to show a shape: text in any font, the dark of an image, a region.

The shape is sampled finely and shared out among people by k-means, which spreads them evenly (Lloyd's
method); the Hungarian method says who goes where. Cost: sixty samples a person in each of sixty rounds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marey._arrays import Array, BoolArray
from marey.crowd.polygons import contains
from marey.errors import InputError

SAMPLES_EACH = 60
"""Samples of a shape for each person."""
ROUNDS, RELAXATIONS = 60, 200
"""Rounds in which places move to the middle of their samples, and at most of pushing near ones apart."""


def of_text(text: str, font: str = "DejaVu Sans") -> Array:
    """Samples `(n, 2)` of text one unit high, about its middle; `font` is a family or a font file.

    >>> np.ptp(of_text("I"), axis=0).round(1).tolist()
    [0.1, 1.0]
    """
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.textpath import TextPath

    if not text.strip():
        raise InputError("glyph: some text is needed")
    try:
        chosen = FontProperties(fname=font) if Path(font).suffix else FontProperties(family=font)
        findfont(chosen, fallback_to_default=False)
        outline = TextPath((0, 0), text, size=100, prop=chosen)
        rings = [np.asarray(ring, dtype=np.float64) for ring in outline.to_polygons()]
    except (ValueError, OSError, RuntimeError) as error:
        raise InputError(
            f"font {font!r}: not found; give a family that is installed or a font file"
        ) from error
    if not rings:
        raise InputError(f"glyph {text!r}: has no shape in {font}")
    low, high = (
        np.min([ring.min(axis=0) for ring in rings], axis=0),
        np.max([ring.max(axis=0) for ring in rings], axis=0),
    )
    points = _raster(low, high)
    inside: BoolArray = np.zeros(len(points), dtype=np.bool_)
    for ring in rings:
        inside ^= contains(ring[:-1], points)
    return _unit(points[inside], low, high)


def of_image(path: str) -> Array:
    """Samples `(n, 2)` of an image's dark pixels, one unit high."""
    import cv2

    data = np.fromfile(path, dtype=np.uint8) if Path(path).is_file() else np.empty(0, dtype=np.uint8)
    image = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE) if data.size else None
    if image is None:
        raise InputError(f"{path}: cannot be read as an image")
    rows, columns = np.nonzero(image < 128)
    if not len(rows):
        raise InputError(f"{path}: has no dark pixels to fill")
    points = np.stack([columns, -rows], axis=1).astype(np.float64)
    return _unit(points, points.min(axis=0), points.max(axis=0))


def filled(shape: Array, count: int, height: float, least: float) -> Array:
    """Places `(count, 2)` that fill samples one unit high, `height` metres high.

    Args:
        shape: Samples `(n, 2)`.
        count: How many places.
        height: Metres.
        least: Metres that places must be apart.
    """
    spread = height * _spread(shape, count)
    places = _apart(spread, least)
    # Pushed further than a body, places no longer show the shape.
    if np.linalg.norm(places - spread, axis=1).max() > least or _nearest(places) < 0.99 * least:
        nearest = _nearest(spread)
        raise InputError(
            f"{count} people on a height of {height:g} m stand {nearest:.2f} m apart, closer than their "
            f"bodies ({least:.2f} m); a height of {np.ceil(height * least / nearest):g} m would do"
        )
    return places


def inside(region: Array, count: int) -> Array:
    """Places `(count, 2)` that fill a polygon."""
    points = _raster(region.min(axis=0), region.max(axis=0))
    return _spread(points[contains(region, points)], count)


def assigned(start: Array, places: Array) -> Array:
    """The places in the order of the people at `start` that take them, by least squared distances.

    >>> assigned(np.array([[0.0, 0], [5, 0]]), np.array([[6.0, 0], [1, 0]])).tolist()
    [[1.0, 0.0], [6.0, 0.0]]
    """
    from scipy.optimize import linear_sum_assignment

    squared = ((start[:, None] - places[None]) ** 2).sum(axis=2)
    return np.asarray(places[linear_sum_assignment(squared)[1]])


def _spread(points: Array, count: int) -> Array:
    from scipy.spatial import cKDTree

    if len(points) < count:
        raise InputError(f"the shape has no room for {count} people")
    rng = np.random.default_rng(0)
    some = points[rng.permutation(len(points))[: max(SAMPLES_EACH * count, 2000)]]
    places = some[:count]
    for _ in range(ROUNDS):
        nearest = cKDTree(places).query(some)[1]
        shares = np.maximum(np.bincount(nearest, minlength=count), 1)
        # None is empty: each began at a sample.
        sums = [np.bincount(nearest, some[:, i], minlength=count) for i in range(2)]
        places = np.stack(sums, axis=1) / shares[:, None]
    return np.asarray(places)


def _apart(places: Array, least: float) -> Array:
    """Places pushed off each other until none are nearer than `least`, as far as there is room."""
    from scipy.spatial import cKDTree

    for _ in range(RELAXATIONS):
        i, j = cKDTree(places).query_pairs(1.01 * least, output_type="ndarray").T
        if not len(i):
            break
        off = places[i] - places[j]
        gap = np.maximum(np.linalg.norm(off, axis=1, keepdims=True), 1e-9)
        push = np.zeros_like(places)
        np.add.at(push, i, 0.5 * (1.01 * least / gap - 1.0) * off)
        np.subtract.at(push, j, 0.5 * (1.01 * least / gap - 1.0) * off)
        places = places + push
    return places


def _nearest(places: Array) -> float:
    from scipy.spatial import cKDTree

    return float(np.asarray(cKDTree(places).query(places, k=2)[0])[:, 1].min()) if len(places) > 1 else np.inf


def _raster(low: Array, high: Array) -> Array:
    """A fine grid of points `(n, 2)` over a rectangle."""
    spacing = float(np.sqrt(np.prod(high - low) / 200_000))
    x, y = (np.arange(low[i] + 0.5 * spacing, high[i], spacing) for i in range(2))
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _unit(points: Array, low: Array, high: Array) -> Array:
    return np.asarray((points - 0.5 * (low + high)) / (high[1] - low[1]))
