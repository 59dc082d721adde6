"""Footage as pictures: a contact sheet, and the frames themselves at the size asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey.crowd.footage import Footage
from marey.views import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Image = NDArray[np.uint8]

MOST_TILES = 12


def sheet(footage: Footage, size: tuple[int, int]) -> Figure:
    """Up to twelve frames, equally far apart in time, each with its time."""
    count = min(footage.frames, MOST_TILES)
    chosen = np.unique(np.rint(np.linspace(0, footage.frames - 1, count)).astype(int))
    columns = _columns(len(chosen), footage.columns / footage.rows, size)
    rows = -(-len(chosen) // columns)
    figure = plots.blank(size)
    with plots.house_style():
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat:
            axes.set_axis_off()
        for axes, frame in zip(grid.flat, chosen, strict=False):
            image = _fitted(footage.read(int(frame)), (size[0] // columns, size[1] // rows))
            axes.imshow(image, interpolation="antialiased")
            axes.set_title(f"{frame / footage.frame_rate:.2f} s", fontsize=8, pad=3)
        figure.suptitle(
            f"{footage.name or 'Footage'} · {footage.columns} × {footage.rows}, {footage.frames} frames, "
            f"{footage.duration:.4g} s",
            x=0.01,
            ha="left",
            fontsize=11,
        )
    return figure


def clip(footage: Footage, size: tuple[int, int]) -> Iterator[Image]:
    """Every frame, made smaller if it exceeds (columns, rows); its shape is kept."""
    for image in footage:
        yield _fitted(image, size)


def _fitted(image: Any, size: tuple[int, int]) -> Image:
    import cv2

    rows, columns = image.shape[:2]
    factor = min(size[0] / columns, size[1] / rows, 1.0)
    if factor == 1.0:
        return np.asarray(image)
    # Video codecs want even numbers.
    fitted = (max(2 * int(columns * factor / 2), 2), max(2 * int(rows * factor / 2), 2))
    return np.asarray(cv2.resize(image, fitted, interpolation=cv2.INTER_AREA))


def _columns(count: int, aspect: float, size: tuple[int, int]) -> int:
    """Columns of tiles that make the tiles largest."""

    def tile(columns: int) -> float:
        rows = -(-count // columns)
        return min(size[0] / columns, size[1] / rows * aspect)

    return max(range(1, count + 1), key=tile)
