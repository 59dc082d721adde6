"""Where captured fields are wrong: one map of mean endpoint errors each, in one scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from marey.crowd.evaluation import Truth, error_map
from marey.crowd.fields import FieldSeries
from marey.views import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACROSS = 3


def sheet(fields: Mapping[str, FieldSeries], truth: Truth) -> Figure:
    """A figure of maps, by name; white where the truth does not tell."""
    maps = {name: error_map(series, truth) for name, series in fields.items()}
    known = np.concatenate([one[np.isfinite(one)] for one in maps.values()])
    top = float(np.percentile(known, 98)) if known.size else 1.0
    columns = min(len(maps), ACROSS)
    rows = -(-len(maps) // columns)
    with plots.house_style():
        figure = plots.blank((420 * columns + 90, 330 * rows + 40))
        panels = figure.subplots(rows, columns, squeeze=False)
        for axes in panels.flat[len(maps) :]:
            axes.set_axis_off()
        for axes, (name, errors) in zip(panels.flat, maps.items(), strict=False):
            drawn = axes.imshow(errors, vmin=0, vmax=top or 1.0, cmap="magma_r", interpolation="nearest")
            axes.set_title(f"{name} · mean {np.nanmean(errors):.3g} px")
            axes.set_xticks([])
            axes.set_yticks([])
        figure.colorbar(drawn, ax=panels, label="endpoint error, pixels per frame", shrink=0.8)
    return figure
