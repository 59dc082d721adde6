"""A motion model as curves: what its first coordinates do over time, and how long they remember.

Left, the trend, the range in which 95 % of all motions are, and three new motions; right, the correlation
of a coordinate with itself later, once the trend is taken away. The function returns a matplotlib `Figure`.
Cost: that of the plots, and O(lags · order · modes³).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marey.body.dynamics import MotionModel
from marey.views import plots, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_MODES = 4
MOTIONS = 3
# Seconds of motion, and of lags, that are shown at most.
LONGEST, LONGEST_LAG = 10.0, 2.0
# Standard deviations on either side that hold 95 % of a normal law.
WIDTH = 1.96


def law(model: MotionModel, size: tuple[int, int]) -> Figure:
    """The first coordinates over time, and their correlation with themselves later.

    >>> import marey
    >>> picture = law(MotionModel.fit(marey.samples.walk(seconds=4), modes=2), (640, 360))
    >>> len(picture.axes)  # two a coordinate
    4
    """
    shown = min(model.modes, MOST_MODES)
    rate = model.frame_rate
    frames = max(2, min(model.frames, round(LONGEST * rate)))
    lags = max(2, min(frames, round(LONGEST_LAG * rate)))
    time, trend = np.arange(frames) / rate, model.trend_at(frames)
    made = trend + model.dynamics.sample(frames, rng=0, count=MOTIONS)
    covariances = np.diagonal(model.dynamics.covariances(lags), axis1=1, axis2=2)
    spread = WIDTH * np.sqrt(covariances[0])
    figure = plots.blank(size)
    with plots.house_style():
        grid = figure.subplots(shown, 2, sharex="col", squeeze=False, width_ratios=(3, 1))
        for mode, (curves, memory) in enumerate(grid):
            middle, colour = trend[:, mode], style.PALETTE[mode]
            low, high = middle - spread[mode], middle + spread[mode]
            curves.fill_between(time, low, high, color=colour, alpha=0.15, lw=0, label="95 %")
            for number, one in enumerate(made):
                label = "new motions" if number == 0 else None
                curves.plot(time, one[:, mode], color=style.SOFT_INK, lw=0.7, label=label)
            curves.plot(time, middle, color=colour, label="trend")
            curves.margins(x=0.0)
            curves.set_ylabel(f"mode {mode + 1}")
            memory.plot(np.arange(lags) / rate, covariances[:, mode] / covariances[0, mode], color=colour)
            memory.set(ylim=(-1.05, 1.05))
            memory.margins(x=0.0)
        grid[0, 0].set_title(_title(model))
        grid[0, 0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
        grid[0, 1].set_title("correlation")
        grid[-1, 0].set_xlabel("time (s)")
        grid[-1, 1].set_xlabel("later by (s)")
        figure.draw_without_rendering()
    return figure


def _title(model: MotionModel) -> str:
    modes = "1 mode" if model.modes == 1 else f"{model.modes} modes"
    cycle = "no cycle" if model.trend.period is None else f"a cycle of {model.trend.period:.3g} s"
    return f"Motion model · {model.frames} frames, {modes}, order {model.dynamics.order}, {cycle}"
