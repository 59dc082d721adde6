"""The house style: colours, light and paper shared by renderings and plots."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.geometry.colour import from_srgb

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


def linear(colour: str | tuple[str, ...]) -> NDArray[np.float64]:
    """Linear light 0…1 of `#rrggbb`, `(3,)`, or of several, `(colours, 3)`.

    >>> linear("#ff0000").tolist()
    [1.0, 0.0, 0.0]
    """
    if not isinstance(colour, str):
        return np.array([linear(one) for one in colour])
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    return from_srgb(srgb)
