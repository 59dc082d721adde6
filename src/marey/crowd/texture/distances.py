"""How similar two velocity fields are: the angle between them, for all pairs of frames.

Courty & Corpetti 2007, section 4.2, equation 7, after Barron et al.: every vector gets a third component 1,
and the angle between those of two frames is averaged over the pixels, so that resolution does not matter.
T frames of P pixels take T² P / 2 arcsines, about 1 ns each on one core, in memory for T² numbers and a few
hundred pixels of every frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import Array
from marey._work import Progress
from marey.crowd.fields import FieldSeries
from marey.errors import InputError

MOST_FRAMES = 6000
"""Frames compared at most; a table of so many takes 288 MB."""

PIXELS_AT_ONCE = 256
ROWS_AT_ONCE = 32


def flow_scale(*series: FieldSeries) -> float:
    """The inverse of the usual speed, per (pixel / frame): half of all motion is faster, half is slower.

    Angles depend on speeds against the constant 1 of the third component, so fields are multiplied by this
    first. Every speed counts by itself (and by presence, where known), so still ground does not count.

    >>> flow_scale(FieldSeries(np.full((2, 3, 3, 2), [0.0, 4.0]), 25))
    0.25
    """
    speeds, weights = [], []
    for fields in series:
        # Some thousand pixels of some hundred frames say it as well as all of them.
        step = max(1, fields.frames // 200)
        some = np.flatnonzero(fields.valid)
        some = some[:: max(1, len(some) // 5000)]
        part = fields.velocities[::step].reshape(-1, fields.rows * fields.columns, 2)[:, some]
        speed = np.hypot(part[..., 0], part[..., 1]).astype(np.float64)
        weight = speed
        if fields.presence is not None:
            weight = speed * fields.presence[::step].reshape(len(part), -1)[:, some]
        speeds.append(speed.ravel())
        weights.append(weight.ravel())
    speed, weight = np.concatenate(speeds), np.concatenate(weights)
    total = float(weight.sum())
    if not total > 0.0:
        return 1.0
    order = np.argsort(speed)
    middle = int(np.searchsorted(np.cumsum(weight[order]), 0.5 * total))
    return 1.0 / float(speed[order[min(middle, len(order) - 1)]])


def frame_distances(
    fields: FieldSeries,
    other: FieldSeries | None = None,
    *,
    scale: float | None = None,
    progress: Progress | None = None,
) -> Array:
    """Mean angle between all pairs of frames, radians, `(frames, frames of other)`.

    Of one series: symmetric, with zeros on the diagonal. Right to 1e-6. Pixels outside the mask do not
    count; where presence is known, a pixel counts as much as people are seen there in the two frames.

    Args:
        fields: The series.
        other: A second series on the same pixels; None = the same one.
        scale: What velocities are multiplied by; None = :func:`flow_scale` of what is compared.
        progress: Called with the pixels done and their number.

    >>> right, down = np.full((2, 4, 4, 2), [1.0, 0.0]), np.full((1, 4, 4, 2), [0.0, 1.0])
    >>> table = frame_distances(FieldSeries(np.concatenate([right, down]), 25))
    >>> np.degrees(table).round(3).tolist()
    [[0.0, 0.0, 60.0], [0.0, 0.0, 60.0], [60.0, 60.0, 0.0]]
    """
    second = fields if other is None else other
    check_same_pixels(fields, second)
    if max(fields.frames, second.frames) > MOST_FRAMES:
        raise InputError(
            f"{max(fields.frames, second.frames)} frames: at most {MOST_FRAMES} can be compared with each "
            "other; take a part of them or a lower frame rate"
        )
    if scale is None:
        scale = flow_scale(fields) if other is None else flow_scale(fields, second)
    if not (np.isfinite(scale) and scale > 0):
        raise InputError(f"scale: above 0, got {scale}")
    inside = np.flatnonzero(fields.valid & second.valid)
    if len(inside) == 0:
        raise InputError("fields: no pixel is inside the mask")
    sums, weights = _sums(fields, second, other is None, inside, float(scale), progress)
    table = np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0)
    if other is None:
        table += table.T
    return table


def check_same_pixels(a: FieldSeries, b: FieldSeries) -> None:
    """Refuse two series of different size."""
    if (a.rows, a.columns) != (b.rows, b.columns):
        raise InputError(
            f"fields of {a.columns} × {a.rows} pixels and of {b.columns} × {b.rows} cannot be compared"
        )


def _sums(
    a: FieldSeries,
    b: FieldSeries,
    same: bool,
    inside: NDArray[np.intp],
    scale: float,
    progress: Progress | None,
) -> tuple[Array, Array]:
    """Sums of angles, above the diagonal only if both are the same, and of the weights they have."""
    from marey.crowd.texture import _kernels

    weighted = a.presence is not None or b.presence is not None
    sums = np.zeros((a.frames, b.frames))
    weights_a, weights_b = np.zeros(a.frames), np.zeros(b.frames)
    for start in range(0, len(inside), PIXELS_AT_ONCE):
        pixels = inside[start : start + PIXELS_AT_ONCE]
        na, wa = _unit_vectors(a, pixels, scale), _weights(a, pixels, weighted)
        nb, wb = (na, wa) if same else (_unit_vectors(b, pixels, scale), _weights(b, pixels, weighted))
        weights_a += wa.sum(axis=1) if weighted else 0.5 * len(pixels)
        weights_b += wb.sum(axis=1) if weighted else 0.5 * len(pixels)
        vectors = (na, nb, wa, wb)

        def rows(first: int, last: int, vectors: tuple[Any, ...] = vectors) -> None:
            _kernels.add_angles(*vectors, first, last, same, weighted, ROWS_AT_ONCE, sums)

        _work.spread(rows, a.frames, size=ROWS_AT_ONCE)
        if progress is not None:
            progress(start + len(pixels), len(inside))
    return sums, np.add.outer(weights_a, weights_b)


def _unit_vectors(fields: FieldSeries, pixels: NDArray[np.intp], scale: float) -> NDArray[np.float32]:
    """`(u, v, 1)` of length 1, components first: `(3, frames, pixels)`."""
    flat = fields.velocities.reshape(fields.frames, -1, 2)
    flow = flat[:, pixels].astype(np.float64) * scale
    length = np.sqrt(1.0 + (flow * flow).sum(axis=-1))
    unit = np.empty((3, *length.shape), dtype=np.float32)
    unit[0], unit[1], unit[2] = flow[..., 0] / length, flow[..., 1] / length, 1.0 / length
    return unit


def _weights(fields: FieldSeries, pixels: NDArray[np.intp], weighted: bool) -> NDArray[np.float32]:
    if not weighted:
        return np.empty((fields.frames, 0), dtype=np.float32)
    if fields.presence is None:
        return np.ones((fields.frames, len(pixels)), dtype=np.float32)
    seen = fields.presence.reshape(fields.frames, -1)[:, pixels]
    return np.ascontiguousarray(seen, dtype=np.float32) / np.float32(255)
