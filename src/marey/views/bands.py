"""Filled holes as curves: where joints go through a hole, the alternatives, and the credible band.

The function returns a matplotlib `Figure`, to be shown, changed, or written with `plots.save`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marey.body.fill import FillResult
from marey.errors import InputError
from marey.views import style
from marey.views.plots import blank, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_JOINTS = 3
# Seconds that are shown around the holes.
AROUND = 0.5


def filled_holes(filling: FillResult, *, size: tuple[int, int] = (1280, 720)) -> Figure:
    """Paths of the joints that are least certain, by coordinate, with band and alternatives.

    >>> import marey
    >>> from marey.body.fill import fill
    >>> len(filled_holes(fill(marey.samples.walk(2), [(60, 90)], samples=2, rng=0)).axes)
    9
    """
    gone = np.flatnonzero(filling.gap_mask.any(axis=1))
    if not len(gone):
        raise InputError("nothing was filled: there is no hole to draw")
    motion = filling.motion
    margin = round(AROUND * motion.frame_rate)
    first, stop = max(int(gone[0]) - margin, 0), min(int(gone[-1]) + margin + 1, motion.frames)
    shown = np.argsort(-filling.confidence_radius.mean(axis=0), kind="stable")[:MOST_JOINTS]
    time = np.arange(first, stop) / motion.frame_rate
    likeliest = motion.positions()[first:stop]
    others = [clip.positions()[first:stop] for clip in filling.samples]
    figure = blank(size)
    with house_style():
        grid = figure.subplots(3, len(shown), sharex=True, squeeze=False)
        for column, joint in enumerate(shown):
            for axis in range(3):
                band = filling.axis_radius[first:stop, joint, axis]
                plot, line = grid[axis, column], likeliest[:, joint, axis]
                plot.fill_between(time, line - band, line + band, color=style.PALETTE[0], alpha=0.18, lw=0)
                for other in others:
                    plot.plot(time, other[:, joint, axis], color=style.SOFT_INK, lw=0.7)
                plot.plot(time, line, color=style.PALETTE[0], lw=1.8)
                plot.margins(x=0.0)
                if not column:
                    plot.set_ylabel(f"{'xyz'[axis]} (m)")
            grid[0, column].set_title(motion.skeleton.names[int(joint)])
            grid[-1, column].set_xlabel("time (s)")
        figure.draw_without_rendering()
    return figure
