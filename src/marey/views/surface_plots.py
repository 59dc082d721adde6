"""Plots of what is known of a captured subject: pose distances, transitions, costs of ways through its graph.

Rows and columns of a matrix are the frames of all sequences, one after the other, with lines and names where
they begin (Boukhayma 2017, chapters 2 and 3). Cost: a second for 2,600 frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.errors import InputError
from marey.statistics.graphs.clips import DistanceMatrix
from marey.statistics.graphs.transitions import Transition, TransitionTable
from marey.views import plots, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]

SIZE = (1280, 720)
UNITS = {
    "surface": "mean turn of the triangles (rad)",
    "euclidean": "distance of the vertices (m)",
    "skeleton": "sum of joint angles (rad)",
    "euler": "difference of Euler angles (rad)",
}
# Cells beyond the picture's pixels are averaged before they are drawn.
MOST_CELLS = 1400
# Sequences shorter than this share of the whole get no name.
NARROWEST = 0.022
# Width of a letter as a share of a matrix: names wider than their sequence are slanted.
LETTER = 0.017
# With more sequences than this names are small and stand upright.
MOST_SLANTED = 12
COSTS_SHOWN, COST_STEPS = 600, 40


def distance_map(distances: DistanceMatrix, *, size: tuple[int, int] = SIZE) -> Figure:
    """All pose distances as a square, dark where poses are alike.

    >>> from marey.statistics.graphs.clips import DistanceMatrix
    >>> apart = np.abs(np.subtract.outer(np.arange(9), np.arange(9)))
    >>> figure = distance_map(DistanceMatrix(apart, np.zeros((9, 9)), [0, 4, 9], ("walk", "run"), "surface"))
    >>> figure.axes[0].get_title(loc="left")
    'Pose distances: 9 frames of 2 sequences, surface metric'
    """
    figure = plots.blank(size)
    with plots.house_style():
        axes = figure.subplots()
        _square(figure, axes, distances.values, distances, UNITS.get(distances.metric, distances.metric))
        axes.set_title(
            f"Pose distances: {distances.frames} frames of {_sequences(len(distances.names))}, "
            f"{distances.metric} metric"
        )
    return figure


def transition_map(
    table: TransitionTable, names: Sequence[str] = (), *, size: tuple[int, int] = (1280, 640)
) -> Figure:
    """What the best transition from each frame (row) to each (column) costs a frame, and how long it is.

    names: of the sequences
    """
    count = len(table.starts) - 1
    frame = _Frame(table.starts, tuple(names) or ("",) * count)
    there = table.lengths > 0
    with np.errstate(all="ignore"):
        costs = np.where(there, table.costs / table.lengths, np.nan)
    figure = plots.blank(size)
    with plots.house_style():
        left, right = figure.subplots(1, 2)
        _square(figure, left, costs, frame, "distance a frame (rad)")
        left.set_title("Cost of the best transition")
        _square(figure, right, np.where(there, table.lengths, np.nan), frame, "frames")
        right.set_title("Its length")
        for axes in (left, right):
            axes.set_ylabel("from frame")
            axes.set_xlabel("to frame")
    return figure


def warp_path(
    distances: DistanceMatrix, transition: Transition, *, size: tuple[int, int] = (900, 720)
) -> Figure:
    """A transition laid over the pose distances of the two windows it blends.

    >>> from marey.statistics.graphs.clips import DistanceMatrix
    >>> apart = np.abs(np.subtract.outer(np.arange(9), np.arange(9)))
    >>> walk = DistanceMatrix(apart, np.zeros((9, 9)), [0, 9], ("walk",), "surface")
    >>> figure = warp_path(walk, Transition([[1, 4], [2, 5], [2, 6]], 11.0))
    >>> figure.axes[0].get_xlabel()
    'frame of walk (destination)'
    """
    path = transition.path
    if path.max() >= distances.frames:
        raise InputError(f"transition: it uses frame {path.max()}; there are {distances.frames}")
    figure = plots.blank(size)
    with plots.house_style():
        axes = figure.subplots()
        spans, names = [], []
        for column in (0, 1):
            first, last = int(path[0, column]), int(path[-1, column])
            sequence = int(np.searchsorted(distances.starts, first, side="right")) - 1
            room = max((last - first) // 3, 3)
            low, high = distances.starts[sequence], distances.starts[sequence + 1]
            spans.append((max(first - room, int(low)), min(last + room + 1, int(high)), int(low)))
            names.append(distances.names[sequence])
        (top, bottom, above), (left, right, before) = spans
        shown = distances.values[top:bottom, left:right]
        extent = (left - before - 0.5, right - before - 0.5, bottom - above - 0.5, top - above - 0.5)
        drawn = axes.imshow(shown, cmap=_near_to_far(), extent=extent, interpolation="nearest", vmin=0)
        rows, columns = path[:, 0] - above, path[:, 1] - before
        axes.plot(columns, rows, color=style.PAPER, lw=3.6)
        axes.plot(columns, rows, color=style.INK, lw=1.6, marker="o", ms=2.6)
        corners = np.array([[columns[0], rows[0]], [columns[-1], rows[-1]]])
        axes.plot(*corners.T, "o", color=style.PAPER, mec=style.INK, mew=1.4, ms=7, ls="none", zorder=4)
        axes.annotate("leaves", corners[0], (-8, 0), textcoords="offset points", ha="right", va="center")
        axes.annotate("arrives", corners[1], (8, 0), textcoords="offset points", ha="left", va="center")
        axes.grid(False)
        axes.set_xlabel(f"frame of {names[1]} (destination)")
        axes.set_ylabel(f"frame of {names[0]} (source)")
        axes.set_title(
            f"Transition of {transition.length} frames, {transition.cost / transition.length:.3f} a frame"
        )
        _bar(figure, axes, drawn, "pose distance")
    return figure


def path_costs(
    motion: ArrayLike, essential: ArrayLike, *, alpha: float | None = None, size: tuple[int, int] = SIZE
) -> Figure:
    """Costs of the cheapest ways between pairs of frames in two graphs, ordered by those in the first.

    Lines are means, dots some single pairs in the essential graph.

    motion, essential: costs in the motion graph and in the essential graph, same shape; infinite where there
        is no way

    >>> figure = path_costs(np.array([3.0, 2, 4]), np.array([2.5, 2, 3]), alpha=0.2)
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['motion graph', 'essential graph']
    """
    first, second = np.ravel(np.asarray(motion, float)), np.ravel(np.asarray(essential, float))
    if first.shape != second.shape:
        raise InputError(f"costs of {len(first)} and {len(second)} pairs cannot be compared")
    both = np.isfinite(first) & np.isfinite(second) & ((first > 0) | (second > 0))
    if not both.any():
        raise InputError("costs: no pair of frames is connected in both graphs")
    first, second = first[both], second[both]
    order = np.argsort(first, kind="stable")
    first, second = first[order], second[order]
    share = np.linspace(0, 100, len(first))
    some = np.unique(np.linspace(0, len(first) - 1, COSTS_SHOWN).astype(int))
    steps = [part for part in np.array_split(np.arange(len(first)), COST_STEPS) if len(part)]
    middles = np.array([share[part].mean() for part in steps])
    means = [np.array([costs[part].mean() for part in steps]) for costs in (first, second)]
    figure = plots.blank(size)
    with plots.house_style():
        axes = figure.subplots()
        axes.scatter(share[some], second[some], s=7, color=style.PALETTE[2], alpha=0.45, lw=0)
        axes.fill_between(middles, means[1], means[0], color=style.PALETTE[2], alpha=0.14, lw=0)
        axes.plot(middles, means[0], color=style.PALETTE[1], label="motion graph", lw=2.4)
        axes.plot(middles, means[1], color=style.PALETTE[2], label="essential graph", lw=2.4)
        axes.set_xlabel("pairs of frames, from the cheapest way to the dearest (%)")
        axes.set_ylabel("cost of the cheapest way")
        axes.margins(x=0)
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left")
        gain = 100 * (1 - second.mean() / first.mean())
        at = "" if alpha is None else f" at α = {alpha:g}"
        axes.set_title(
            f"Ways through both graphs{at}: {first.mean():.3f} and {second.mean():.3f} on average, "
            f"{gain:.1f} % less"
        )
    return figure


class _Frame:
    """Where sequences begin and what they are called."""

    def __init__(self, starts: NDArray[np.int64], names: tuple[str, ...]) -> None:
        self.starts, self.names = starts, names


def _square(figure: Figure, axes: Axes, values: Array, frame: _Frame | DistanceMatrix, label: str) -> None:
    """A matrix of frames by frames, with borders and names of the sequences."""
    frames = len(values)
    finite = values[np.isfinite(values)]
    highest = float(np.quantile(finite, 0.995)) if len(finite) else 1.0
    lowest = float(finite.min()) if len(finite) else 0.0
    extent = (-0.5, frames - 0.5, frames - 0.5, -0.5)
    axes.set_facecolor(style.FAINT)
    drawn = axes.imshow(
        _averaged(values),
        cmap=_near_to_far(),
        extent=extent,
        interpolation="nearest" if frames < MOST_CELLS // 2 else "antialiased",
        vmin=0.0 if lowest < 0.2 * highest else lowest,
        vmax=highest or 1.0,
    )
    borders = frame.starts[1:-1] - 0.5
    axes.hlines(borders, -0.5, frames - 0.5, color=style.PAPER, lw=0.9)
    axes.vlines(borders, -0.5, frames - 0.5, color=style.PAPER, lw=0.9)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    lengths = np.diff(frame.starts)
    middles = 0.5 * (frame.starts[:-1] + frame.starts[1:] - 1)
    wide = lengths > NARROWEST * frames
    named = [name if shown else "" for name, shown in zip(frame.names, wide, strict=True)]
    if any(named):
        crowded = any(len(name) * LETTER > n / frames for name, n in zip(named, lengths, strict=True))
        many = len(named) > MOST_SLANTED
        font = 7.5 if many else 10.0
        axes.set_yticks(middles, named, fontsize=font)
        axes.set_xticks(
            middles, named, fontsize=font, rotation=90 if many else 38 if crowded else 0,
            ha="right" if crowded else "center", va="center" if many else "top", rotation_mode="anchor",
        )  # fmt: skip
        axes.tick_params(length=0)
    _bar(figure, axes, drawn, label)


def _averaged(values: Array) -> Array:
    """Cells of a large matrix in groups, each with its mean; not a number where there is none."""
    step = -(-len(values) // MOST_CELLS)
    if step == 1:
        return values
    whole = len(values) // step * step
    parts = values[:whole, :whole].reshape(whole // step, step, whole // step, step)
    there = np.isfinite(parts)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(there, parts, 0.0).sum(axis=(1, 3)) / there.sum(axis=(1, 3)))


def _near_to_far() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("distance", style.SEQUENCE[::-1])


def _bar(figure: Figure, axes: Axes, drawn: Any, label: str) -> None:
    # Squares in a wide picture: bars and names stay close to them.
    figure.set_layout_engine("compressed")
    bar = figure.colorbar(drawn, ax=axes, shrink=0.7, aspect=26, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)


def _sequences(count: int) -> str:
    return "1 sequence" if count == 1 else f"{count} sequences"
