"""Analytic velocity fields: a stream with two Lamb-Oseen vortices that drift with it.

Divergence-free, with known vorticity at every pixel: for views of fields and for checking their operators.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array, checked_rate
from marey.crowd.fields import FieldSeries
from marey.errors import InputError

LARGEST = 1 << 28
"""Values in the series."""


def field(
    rows: int = 90,
    columns: int = 160,
    *,
    seconds: float = 2.0,
    frame_rate: float = 25.0,
    stream: tuple[float, float] = (0.8, 0.0),
) -> FieldSeries:
    """A stream and two vortices that turn against each other, as velocities in pixels per frame.

    rows, columns: size in pixels
    seconds: length of the series
    stream: `(u, v)` of the stream, pixels per frame; the vortices drift with it

    >>> series = field(rows=30, columns=40, seconds=1)
    >>> series.velocities.shape
    (25, 30, 40, 2)
    """
    frame_rate = checked_rate(frame_rate)
    frames = seconds * frame_rate
    if not (frames >= 0.5 and rows >= 1 and columns >= 1 and 2 * frames * rows * columns <= LARGEST):
        raise InputError(f"field: {frames:g} frames of {rows} × {columns} pixels cannot be made")
    row, column = np.mgrid[:rows, :columns].astype(np.float64)
    series = np.empty((round(frames), rows, columns, 2), dtype=np.float32)
    core = 0.12 * min(rows, columns)
    for frame, velocity in enumerate(series):
        velocity[:] = stream
        for sign, share in ((1.0, 0.30), (-1.0, 0.70)):
            x = column - 0.35 * columns - stream[0] * frame
            y = row - share * rows - stream[1] * frame
            velocity += sign * vortex(x, y, core=core, top_speed=1.0)
    return FieldSeries(series, frame_rate, name="swirl")


def vortex(x: Array, y: Array, *, core: float, top_speed: float) -> Array:
    """Velocities `(..., 2)` around the origin, clockwise on a screen whose y points down.

    The Lamb-Oseen vortex: solid rotation inside `core`, decay as 1/r outside; `top_speed` is reached
    near 1.12 cores.

    >>> float(np.abs(vortex(np.array([1.121]), np.array([0.0]), core=1.0, top_speed=2.0)[0, 1]).round(3))
    2.0
    """
    squared = (x**2 + y**2) / core**2
    # (1 - exp(-s)) / s, which is 1 at the centre; 1.5670 makes its largest product with the radius 1.
    decay = np.divide(-np.expm1(-squared), squared, out=np.ones_like(squared), where=squared > 1e-12)
    return (1.5670 * top_speed / core * decay)[..., None] * np.stack([-y, x], axis=-1)
