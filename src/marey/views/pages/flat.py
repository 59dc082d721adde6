"""Pages of flat things: velocity fields, videos, images, and pose distances to point at.

Fields are averaged to a grid of at most a few thousand cells, which is as much as can be seen beside the
arrows, and kept in 16 bits.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from marey._arrays import AnyArray
from marey._work import Progress
from marey.crowd.fields import FieldSeries, Footage
from marey.io.video import write_frames
from marey.statistics.graphs.graph import DistanceMatrix
from marey.views import style
from marey.views.figures.crowd import footage_clip
from marey.views.figures.fields import WHEEL
from marey.views.figures.surface import UNITS
from marey.views.pages.page import MAX_BYTES, Page

MAX_COLUMNS, MAX_ROWS = 144, 108


def field_page(fields: FieldSeries, page: Page) -> None:
    """A field series with a choice of what is drawn."""
    cell = max(int(np.ceil(max(fields.columns / MAX_COLUMNS, fields.rows / MAX_ROWS))), 1)
    rows, columns = -(-fields.rows // cell), -(-fields.columns // cell)
    fields = page.thin(fields, fields.frames, 4.0 * rows * columns)
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


def _sums(values: AnyArray, cell: int) -> AnyArray:
    """Sums over squares of `cell` pixels, those at the right and lower edge cut."""
    rows, columns = (np.arange(0, size, cell) for size in values.shape)
    return np.add.reduceat(np.add.reduceat(values, rows, axis=0), columns, axis=1)


# Columns and rows at most, and how videos that would not fit are made smaller.
FILM_SIZES = ((1280, 720), (854, 480), (426, 240))


def film_page(footage: Footage, page: Page, progress: Progress | None = None) -> None:
    """The video, made smaller if it is larger than a page should be."""
    page.show = "film"
    page.frames, page.frame_rate = footage.frames, footage.frame_rate
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        for size in FILM_SIZES:
            images, rate = footage_clip(footage, size), footage.frame_rate
            write_frames(images, path, frame_rate=rate, progress=progress, total=footage.frames)
            if path.stat().st_size < 0.7 * MAX_BYTES:
                break
        page.more["film"] = {"mp4": page.keep(path.read_bytes())}


# Frames of a matrix beyond which neighbours are averaged: more than a screen shows.
MAX_CELLS = 1500


def matrix_page(distances: DistanceMatrix, page: Page) -> None:
    """Pose distances, dark where poses are similar; pointing at a cell names frames and distance."""
    step = -(-distances.frames // MAX_CELLS)
    values = distances.values[::step, ::step]
    largest = float(values.max()) or 1.0
    if step > 1:
        page.notes.append(f"Every {step}th frame is shown.")
    page.show = "matrix"
    page.more["matrix"] = {
        "values": page.exact(np.rint(values / largest * 65535).astype(np.uint16)),
        "largest": largest,
        "step": step,
        "starts": distances.starts,
        "names": list(distances.names),
        "unit": UNITS.get(distances.metric, distances.metric),
        "colours": list(style.SEQUENCE[::-1]),
    }
