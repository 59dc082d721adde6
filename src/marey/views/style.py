"""The house style: colours, light and paper shared by renderings and figures; figures on a blank sheet."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marey._arrays import AnyArray, Array, Bytes
from marey.errors import InputError
from marey.geometry.colour import from_srgb
from marey.io._files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

INK = "#2f3640"
SOFT_INK = "#6b7480"
FAINT = "#d9dde2"
PAPER = "#ffffff"

PALETTE = (
    "#4c78a8",  # blue
    "#e08b5a",  # clay
    "#5aa17f",  # sage
    "#b2627a",  # rose
    "#8a7bb5",  # lavender
    "#c9a64b",  # ochre
    "#5b9fb0",  # lagoon
    "#8c8378",  # stone
)
"""Muted colours that stay apart in print; used in this order."""

STONE = "#8a8f98"
"""A clip that others are compared with."""

OVERLAID = "#f2a58e", "#62bfe0"
"""Of two figures through each other; their mean is grey: where both agree, neither shows."""

CAPTURED, SYNTHETIC = "#5aa17f", "#d0604f"

SKIN = "#ccb8a6"
LEFT = "#8ba3bb"
RIGHT = "#cfa28c"
CLOTH = "#c4cad1"
CLAY = "#a9b9ca"

# Neutral: video codecs turn the faintest tint of a large pale surface into bands of colour.
BACKDROP_TOP = "#fcfcfc"
BACKDROP_BOTTOM = "#f4f4f4"
GROUND = "#ededed"
WALL = "#b9bec6"

SEQUENCE = ("#e9dfc8", "#d9b48a", "#c3806b", "#93566e", "#4f3d6b")
"""Colours of a quantity that grows, light to dark."""

PLOT_SETTINGS: dict[str, Any] = {
    # Names of files and captures may hold dollars.
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.titlepad": 10.0,
    "axes.labelsize": 10.0,
    "axes.labelcolor": SOFT_INK,
    "axes.edgecolor": SOFT_INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "text.color": INK,
    # A `matplotlibrc` in the working folder could ask for LaTeX, and say what that runs.
    "text.usetex": False,
    "xtick.color": SOFT_INK,
    "ytick.color": SOFT_INK,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
}
"""Settings for `matplotlib.rc_context`."""


def linear(colour: str | tuple[str, ...]) -> Array:
    """Linear light 0…1 of `#rrggbb`, `(3,)`, or of several, `(colours, 3)`.

    >>> linear("#ff0000").tolist()
    [1.0, 0.0, 0.0]
    """
    if not isinstance(colour, str):
        return np.array([linear(one) for one in colour])
    return from_srgb(np.array(rgb(colour)) / 255.0)


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green, blue of `#rrggbb`, 0…255.

    >>> rgb("#e08b5a")
    (224, 139, 90)
    """
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def house_style() -> Any:
    """The house style for a `with` block around what draws."""
    import matplotlib

    settings: Any = PLOT_SETTINGS
    return matplotlib.rc_context(settings)


def blank(size: tuple[int, int]) -> Figure:
    """An empty figure of (columns, rows) pixels in the house style."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    dots = max(110 * min(size) / 620, 20.0)
    with house_style():
        sheet = Figure(figsize=(size[0] / dots, size[1] / dots), dpi=dots, layout="constrained")
        FigureCanvasAgg(sheet)
    return sheet


@contextmanager
def figure(size: tuple[int, int]) -> Iterator[Figure]:
    """An empty figure of (columns, rows) pixels; what draws on it within the block has the house style."""
    sheet = blank(size)
    with house_style():
        yield sheet


def filled(image: Bytes) -> Figure:
    """A figure of the image's size that shows nothing else."""
    with figure((image.shape[1], image.shape[0])) as sheet:
        axes = sheet.add_axes((0, 0, 1, 1))
        axes.imshow(image)
        axes.set_axis_off()
    return sheet


def encoded(figure: Figure, ending: str) -> bytes:
    """A figure as the bytes of a file, of the format that the ending names."""
    file = io.BytesIO()
    with house_style():
        figure.savefig(file, format=ending.lower().lstrip("."), dpi=figure.dpi)
    return file.getvalue()


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure; the ending chooses the format (.png, .svg, .pdf). Whole or not at all."""
    path = Path(path)
    known = (".png", ".svg", ".pdf")
    if path.suffix.lower() not in known:
        raise InputError(f"{path}: figures are written as {', '.join(known)}")
    with atomic_write(path) as draft:
        draft.write_bytes(encoded(figure, path.suffix))


def colour_bar(figure: Figure, axes: Axes, drawn: Any, label: str, *, shrink: float = 0.6) -> Colorbar:
    """A colour bar without a frame beside the axes; a square in a wide figure stays close to it."""
    if axes.get_aspect() != "auto" and axes.get_adjustable() == "box":
        figure.set_layout_engine("compressed")
    bar = figure.colorbar(drawn, ax=axes, shrink=shrink, aspect=24, pad=0.02, label=label)
    bar.outline.set_visible(False)
    return bar


def bare(axes: Axes) -> None:
    """Axes without grid, spines and tick marks, for images."""
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def colour_map(colours: Sequence[str] = SEQUENCE) -> Colormap:
    """A colour map through some colours; by default that of a quantity that grows."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("marey", list(colours))


def columns(count: int, aspect: float, size: tuple[int, int]) -> int:
    """Columns of tiles, of this width over height, that make the tiles in (columns, rows) pixels largest."""
    return max(range(1, count + 1), key=lambda c: min(size[0] / c, size[1] / -(-count // c) * aspect))


def frame_ground(axes: Axes, points: AnyArray, *, labels: tuple[str, str]) -> None:
    """Ground axes in metres around points `(points, 2)`, one scale for both axes."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.06 * float((high - low).max()) + 0.1
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.0)
    axes.dataLim.update_from_data_xy(np.array([low - room, high + room]), ignore=True)
    axes.autoscale_view()
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
