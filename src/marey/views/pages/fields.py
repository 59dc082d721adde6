"""Pages of velocity fields: where everything moves, in colours, arrows or streaks, how it spreads and turns.

Fields are averaged to a grid of at most a few thousand cells, which is as much as can be seen beside the
arrows, and kept in 16 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.crowd.fields import FieldSeries
from marey.views.figures.fields import WHEEL
from marey.views.pages.page import Page, thinning

Array = NDArray[Any]

MOST_COLUMNS, MOST_ROWS = 144, 108


def field_page(fields: FieldSeries, page: Page) -> None:
    """A field series with a choice of what is drawn."""
    cell = max(int(np.ceil(max(fields.columns / MOST_COLUMNS, fields.rows / MOST_ROWS))), 1)
    rows, columns = -(-fields.rows // cell), -(-fields.columns // cell)
    step = thinning(fields.frames, 4.0 * rows * columns)
    if step > 1:
        fields = fields[::step]
        page.thinned(step)
    if cell > 1:
        page.notes.append(f"Each cell is the mean of {cell} × {cell} pixels.")
    mask = np.ones((fields.rows, fields.columns), bool) if fields.mask is None else fields.mask
    weight = _sums(mask.astype(np.float32), cell)
    coarse = np.empty((fields.frames, rows, columns, 2), np.float32)
    for frame in range(fields.frames):
        for k in range(2):
            coarse[frame, ..., k] = _sums(fields.velocities[frame, ..., k] * mask, cell)
    coarse /= np.maximum(weight, 1.0)[..., None]
    speeds = np.hypot(coarse[..., 0], coarse[..., 1])[:, weight > 0]
    largest = (float(np.quantile(speeds[:: max(len(speeds) // 50, 1)], 0.995)) if speeds.size else 0.0) or 1.0
    page.show = "field"
    page.frames, page.frame_rate = fields.frames, fields.frame_rate
    page.more["field"] = {
        "velocities": page.quantised(coarse),
        "inside": page.exact((weight > 0.5 * cell * cell).astype(np.uint8)),
        "cell": cell,
        "columns": fields.columns,
        "rows": fields.rows,
        "largest": largest,
        "wheel": list(WHEEL),
    }


def _sums(values: Array, cell: int) -> Array:
    """Sums over squares of `cell` pixels, those at the right and lower edge cut."""
    starts = (np.arange(0, size, cell) for size in values.shape)
    rows, columns = starts
    return np.add.reduceat(np.add.reduceat(values, rows, axis=0), columns, axis=1)
