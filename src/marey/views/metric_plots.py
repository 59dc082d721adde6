"""Plots of how well a pose metric agrees with another: chance against the truth, and near pairs against far
ones (Boukhayma 2017, figures 2.5 and 2.6).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from marey.errors import InputError
from marey.statistics.matrix_comparison import Correlogram, Mantel
from marey.views import plots, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (1100, 620)
# The source draws the surface metric in red, the Euclidean one in blue.
COLOURS = {"surface": style.PALETTE[3], "euclidean": style.PALETTE[0]}


def permutation_histograms(
    tests: Mapping[str, Mapping[str, Mantel]], *, size: tuple[int, int] = SIZE
) -> Figure:
    """Correlations by chance in grey, the true one as a line: a row a metric, a column a subject.

    tests: for each metric the tests by subject

    >>> test = Mantel(0.9, 0.01, np.random.default_rng(0).normal(size=99) / 20, "object")
    >>> len(permutation_histograms({"surface": {"Ada": test}}).axes)
    1
    """
    subjects = _subjects(tests)
    lowest = min(float(t.permuted.min()) for found in tests.values() for t in found.values())
    bins = np.linspace(min(lowest, -0.1), 1.0, 90)
    figure = plots.blank(size)
    with plots.house_style():
        grid = figure.subplots(len(tests), len(subjects), sharex=True, squeeze=False)
        for line, (metric, found) in zip(grid, tests.items(), strict=True):
            for axes, subject in zip(line, subjects, strict=True):
                test = found[subject]
                axes.hist(test.permuted, bins=list(bins), color=style.SOFT_INK, alpha=0.55, lw=0)
                colour = _colour(metric)
                axes.axvline(test.correlation, color=colour, lw=2.2)
                axes.text(
                    test.correlation - 0.02, 0.96, f"r = {test.correlation:.3f}\np = {test.p:.2g}",
                    transform=axes.get_xaxis_transform(), ha="right", va="top", color=colour, fontsize=9,
                )  # fmt: skip
                axes.set_yticks([])
                axes.spines["left"].set_visible(False)
                axes.grid(False)
                axes.set_title(f"{metric}, {subject}")
        grid[0, 0].set_xlim(bins[0], 1.0)
        for axes in grid[-1]:
            axes.set_xlabel("correlation with the ground truth")
    return figure


def correlograms(found: Mapping[str, Mapping[str, Correlogram]], *, size: tuple[int, int] = SIZE) -> Figure:
    """Correlation in each class of distance, with what chance gives and, below, how many pairs there are.

    found: for each metric the correlograms by subject, all with the same classes of the ground truth
    """
    subjects = _subjects(found)
    figure = plots.blank(size)
    with plots.house_style():
        grid = figure.subplots(
            2, len(subjects), sharex="col", sharey="row", squeeze=False, height_ratios=(3.2, 1)
        )
        for column, subject in enumerate(subjects):
            above, below = grid[:, column]
            for metric, series in found.items():
                one = series[subject]
                middles = 0.5 * (one.edges[:-1] + one.edges[1:])
                colour = _colour(metric)
                above.fill_between(middles, one.low, one.high, color=colour, alpha=0.18, lw=0)
                above.plot(middles, one.correlations, color=colour, marker="o", ms=4, label=metric)
            above.axhline(0, color=style.SOFT_INK, lw=0.8)
            above.set_title(subject)
            below.bar(
                one.edges[:-1], one.counts / 1000, width=np.diff(one.edges), align="edge",
                color=style.FAINT, edgecolor=style.PAPER, lw=0.8,
            )  # fmt: skip
            below.set_xlabel("distance in the ground truth")
        confidence = next(iter(found.values()))[subjects[0]].confidence
        grid[0, 0].set_ylabel("correlation within the class")
        grid[1, 0].set_ylabel("pairs (1000s)")
        grid[0, -1].legend(loc="upper right", title=f"bands: {100 * confidence:.0f} % of chance")
    return figure


def agreement(
    test: Mantel, by_class: Correlogram, metrics: tuple[str, str], *, size: tuple[int, int] = (1300, 560)
) -> Figure:
    """How two metrics agree: from near pairs to far ones with what chance gives, and over all beside chance.

    metrics: names of the one compared, and of the one whose distances make the classes

    >>> test = Mantel(0.9, 0.01, np.random.default_rng(0).normal(size=99) / 20, "object")
    >>> line = Correlogram(np.arange(3.0), np.array([5, 5]), np.array([0.8, 0.5]),
    ...                    np.full(2, -0.1), np.full(2, 0.1), 0.95)
    >>> len(agreement(test, line, ("surface", "skeleton")).axes)
    2
    """
    colour = _colour(metrics[0])
    middles = 0.5 * (by_class.edges[:-1] + by_class.edges[1:])
    figure = plots.blank(size)
    with plots.house_style():
        classes, chance = figure.subplots(1, 2)
        band = f"{100 * by_class.confidence:.0f} % of chance"
        classes.fill_between(
            middles, by_class.low, by_class.high, color=style.SOFT_INK, alpha=0.3, lw=0, label=band
        )
        classes.plot(middles, by_class.correlations, color=colour, marker="o", ms=5)
        classes.axhline(0, color=style.SOFT_INK, lw=0.8)
        classes.set_xlabel(f"{metrics[1]} distance")
        classes.set_ylabel(f"correlation with {metrics[0]} distance in the class")
        classes.set_title("From near pairs to far ones")
        classes.legend(loc="best")
        bins = np.linspace(min(float(test.permuted.min()), -0.1), 1.0, 90)
        chance.hist(test.permuted, bins=list(bins), color=style.SOFT_INK, alpha=0.55, lw=0)
        chance.axvline(test.correlation, color=colour, lw=2.2)
        left = test.correlation > 0.5
        chance.text(
            test.correlation + (-0.02 if left else 0.02), 0.96,
            f"r = {test.correlation:.3f}\np = {test.p:.2g}", transform=chance.get_xaxis_transform(),
            ha="right" if left else "left", va="top", color=colour,
        )  # fmt: skip
        chance.set_yticks([])
        chance.grid(False)
        chance.set_xlabel("correlation of all pairs")
        chance.set_title(f"Beside {len(test.permuted)} permutations")
    return figure


def _subjects(found: Mapping[str, Mapping[str, object]]) -> list[str]:
    if not found or not next(iter(found.values())):
        raise InputError("there is nothing to draw: give results of a metric and a subject or more")
    return list(next(iter(found.values())))


def _colour(metric: str) -> str:
    return COLOURS.get(metric, style.PALETTE[4])
