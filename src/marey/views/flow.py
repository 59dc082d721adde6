"""Velocity fields as pictures: hue says where to, strength how fast, arrows say it again, a wheel explains.

The colour code is that of Baker et al. 2011 (Middlebury) in spirit: a wheel of directions about white.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey.crowd.fields import FieldSeries
from marey.geometry.colour import to_srgb
from marey.views import plots, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[Any]
Image = NDArray[np.uint8]

WHEEL = ("#d9545b", "#e3924a", "#d8c04c", "#76b35f", "#3fa59a", "#4a84bf", "#7766b4", "#b8599c")
"""Directions in the image, from right (red) by way of down (ochre to sage) clockwise."""

ARROWS = 30
"""Arrows across the picture."""


def flow_colours(velocities: Array, largest: float) -> Image:
    """Colours `(rows, columns, 3)` of velocities `(rows, columns, 2)`; white is rest, full is `largest`.

    >>> flow_colours(np.array([[[0.0, 0.0], [2.0, 0.0]]]), 2.0)[0].tolist()
    [[255, 255, 255], [217, 84, 91]]
    """
    u, v = velocities[..., 0].astype(np.float64), velocities[..., 1].astype(np.float64)
    turn = np.arctan2(v, u) / (2 * np.pi) % 1.0 * len(WHEEL)
    anchors = style.linear((*WHEEL, WHEEL[0]))
    below = np.minimum(turn.astype(np.int64), len(WHEEL) - 1)
    share = (turn - below)[..., None]
    hue = (1 - share) * anchors[below] + share * anchors[below + 1]
    # Less than proportional, so that slow motion shows.
    strength = np.minimum(np.hypot(u, v) / max(largest, 1e-12), 1.0)[..., None] ** 0.7
    return np.rint(255 * to_srgb(1 + strength * (hue - 1))).astype(np.uint8)


def picture(fields: FieldSeries, size: tuple[int, int]) -> Figure:
    """One figure: the field, or the mean of all fields over time."""
    mean = fields.velocities.mean(axis=0)
    drawing = _Drawing(fields, size, _largest(fields, [mean]))
    drawing.show(mean)
    title = fields.name or "Velocity field"
    drawing.title(title if fields.frames == 1 else f"{title} · mean of {fields.frames} frames")
    return drawing.figure


def clip(fields: FieldSeries, size: tuple[int, int]) -> Iterator[Image]:
    """Every field as a picture."""
    some = fields.velocities[:: max(fields.frames // 20, 1)]
    drawing = _Drawing(fields, size, _largest(fields, list(some)))
    for frame in range(fields.frames):
        drawing.show(fields.velocities[frame])
        drawing.title(f"{fields.name or 'Velocity field'} · {frame / fields.frame_rate:.2f} s")
        yield drawing.image()


class _Drawing:
    """A figure whose field can be changed."""

    def __init__(self, fields: FieldSeries, size: tuple[int, int], largest: float) -> None:
        self.mask = np.ones((fields.rows, fields.columns), bool) if fields.mask is None else fields.mask
        self.largest = largest
        self.figure = plots.blank(size)
        with plots.house_style():
            self.axes = self.figure.add_subplot()
            self.axes.grid(False)
            blank = np.full((fields.rows, fields.columns, 3), 255, dtype=np.uint8)
            self.shown = self.axes.imshow(blank, interpolation="bilinear")
            self.axes.set_xlabel("column (pixels)")
            self.axes.set_ylabel("row (pixels)")
            step = max(int(np.ceil(fields.columns / ARROWS)), 1)
            first = step // 2
            rows, columns = np.mgrid[first : fields.rows : step, first : fields.columns : step]
            keep = self.mask[rows, columns]
            self.rows, self.columns = rows[keep], columns[keep]
            flat = np.zeros(len(self.rows))
            self.arrows = self.axes.quiver(
                self.columns,
                self.rows,
                flat,
                flat,
                angles="xy",
                scale_units="xy",
                scale=1.0,
                width=0.0016,
                color=style.INK,
                alpha=0.8,
            )
            self.stretch = 0.95 * step / max(largest, 1e-12)
            self._wheel()

    def show(self, velocities: Array) -> None:
        colours = flow_colours(velocities, self.largest)
        colours[~self.mask] = 225
        self.shown.set_data(colours)
        u, v = velocities[self.rows, self.columns].T
        shorten = np.minimum(self.largest / np.maximum(np.hypot(u, v), 1e-12), 1.0) * self.stretch
        self.arrows.set_UVC(u * shorten, v * shorten)

    def title(self, text: str) -> None:
        with plots.house_style():
            self.axes.set_title(text)

    def image(self) -> Image:
        canvas: Any = self.figure.canvas
        with plots.house_style():
            canvas.draw()
        return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])

    def _wheel(self) -> None:
        """The key: every direction at every speed up to the largest."""
        across = np.linspace(-1, 1, 161)
        x, y = np.meshgrid(across, across)
        colours = flow_colours(np.stack([x, y], axis=-1), 1.0).astype(np.float64) / 255
        inside = np.clip((1.0 - np.hypot(x, y)) * 80 + 0.5, 0, 1)
        key = self.figure.add_axes((0.875, 0.66, 0.105, 0.19))
        key.set_in_layout(False)
        key.imshow(np.dstack([colours, inside]), extent=(-1, 1, 1, -1), interpolation="bilinear")
        key.set_axis_off()
        key.set_title(f"up to {self.largest:.3g}\npixels a frame", fontsize=8, loc="center", pad=4)
        key.annotate("", (0.97, 0), (0, 0), arrowprops={"arrowstyle": "->", "color": style.INK, "lw": 0.8})
        layout: Any = self.figure.get_layout_engine()
        layout.set(rect=(0, 0, 0.865, 1))


def _largest(fields: FieldSeries, some: list[Array]) -> float:
    """A speed that hardly any pixel exceeds."""
    inside = slice(None) if fields.mask is None else fields.mask
    speeds = np.concatenate([np.hypot(v[..., 0], v[..., 1])[inside].ravel() for v in some])
    return (float(np.quantile(speeds, 0.995)) if len(speeds) else 0.0) or 1.0
