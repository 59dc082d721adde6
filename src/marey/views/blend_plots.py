"""Clips that were mixed, seen from above: the ways of both and of their mixture (Boukhayma 2017, figure
3.14).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey.geometry.planar import PlanarMotion, centroid
from marey.surface.sequence import MeshSequence
from marey.views import plots, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[Any]

# Seconds over which a clip's first direction is told.
START_SECONDS = 0.3


def mixed_ways(
    first: MeshSequence,
    second: MeshSequence,
    mixture: MeshSequence,
    *,
    size: tuple[int, int] = (1000, 860),
) -> Figure:
    """Where two clips and their mixture go, all begun at one place and in one direction; a dot every second.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()[:40]
    >>> len(mixed_ways(walk, walk, walk).axes[0].get_lines())
    3
    """
    shown = (
        (first, first.name or "first", style.PALETTE[0], 2.0),
        (second, second.name or "second", style.PALETTE[3], 2.0),
        (mixture, "mixture", style.INK, 3.2),
    )
    figure = plots.blank(size)
    with plots.house_style():
        axes = figure.subplots()
        ways = []
        for sequence, name, colour, width in shown:
            way = _from_origin(sequence)
            length = float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())
            seconds = sequence.frames / sequence.frame_rate
            axes.plot(*way.T, color=colour, lw=width, label=f"{name}: {length:.1f} m in {seconds:.1f} s")
            marks = way[:: max(round(sequence.frame_rate), 1)]
            axes.scatter(marks[:, 0], marks[:, 1], s=18, color=style.PAPER, edgecolor=colour, zorder=4)
            ways.append(way)
        points = np.concatenate(ways)
        low, high = points.min(axis=0), points.max(axis=0)
        # Never a sliver: a straight way gets room at its sides.
        room = np.maximum(
            0.06 * float((high - low).max()) + 0.1, 0.25 * (high - low).max() - (high - low) / 2
        )
        axes.set_aspect("equal")
        axes.set_xlim(low[0] - room[0], high[0] + room[0])
        axes.set_ylim(low[1] - room[1], high[1] + room[1])
        axes.set_xlabel("to the right (m)")
        axes.set_ylabel("ahead (m)")
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=1)
    return figure


def _from_origin(sequence: MeshSequence) -> Array:
    """The way of the body's middle, begun at the origin: metres to the right and ahead."""
    way = np.array([centroid(vertices) for vertices in sequence.vertices])
    soon = way[min(round(START_SECONDS * sequence.frame_rate), len(way) - 1)] - way[0]
    ahead = PlanarMotion.about(way[0], -np.arctan2(soon[0], soon[1]), np.zeros(2)).on_ground(way)
    return ahead * [-1.0, 1.0]
