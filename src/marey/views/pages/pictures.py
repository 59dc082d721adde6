"""Pages of what does not move: pictures, and pose distances in which one can point at two frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marey.statistics.graphs.clips import DistanceMatrix
from marey.views import style
from marey.views.figures.surface import UNITS
from marey.views.pages.page import Page

# Frames of a matrix beyond which neighbours are averaged: more than a screen shows.
MOST_CELLS = 1500


def show_picture(picture: Path, page: Page, *, said: str) -> None:
    """A picture (PNG) as large as the page allows; `said` tells those who cannot see it what it is."""
    page.show = "picture"
    page.more["picture"] = {"png": page.keep(picture.read_bytes()), "said": said}


def matrix_page(distances: DistanceMatrix, page: Page) -> None:
    """Pose distances, dark where poses are alike; pointing at a cell tells its frames and their distance."""
    step = -(-distances.frames // MOST_CELLS)
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
