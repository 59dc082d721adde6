"""The picture of a motion graph: sequences as arcs of a circle, transitions as curves across it.

All transitions together make a soft cloud, darker where there are many; the cheapest are drawn over it, so
that two edges and a hundred thousand are readable alike (Boukhayma 2017, figure 3.5 for two sequences).
Cost: about a second for 100,000 edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from marey.statistics.graphs.graph import MotionGraph
from marey.views import plots, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

SIZE = (1000, 860)
# Part of the circle left empty between sequences, together, and where the arcs run.
GAPS, RADIUS = 0.12, 1.0
INNER = 0.965
# Transitions drawn one by one, and the pairs of sequences that they are between.
MOST_CURVES, MOST_BUNDLES = 600, 64
# With more sequences than this, or longer names, the names stand like spokes.
MOST_LEVEL, LONGEST_LEVEL = 10, 9
# Curves in the cloud, points of one, and pixels each way.
MOST_IN_CLOUD, POINTS, CELLS = 12_000, 400, 600


def graph_picture(graph: MotionGraph, names: Sequence[str] = (), *, size: tuple[int, int] = SIZE) -> Figure:
    """Frames around a circle, time running clockwise, and the transitions between them.

    names: of the sequences

    >>> from marey.statistics.graphs.transitions import Windows
    >>> alone = MotionGraph.chains([0, 30, 50], alpha=0.1, windows=Windows(2, 4))
    >>> graph_picture(alone, ("walk", "run")).get_suptitle()
    'Essential graph: 50 frames, 48 captured steps, no transition'
    """
    figure = plots.blank(size)
    with plots.house_style():
        axes = figure.subplots()
        axes.set_aspect("equal")
        axes.axis("off")
        angles = frame_angles(graph)
        chosen = np.flatnonzero(graph.synthetic)
        if len(chosen):
            _transitions(figure, axes, graph, angles, chosen)
        longest = max(map(len, names), default=0)
        spokes = len(names) > MOST_LEVEL or longest > LONGEST_LEVEL
        _arcs(axes, graph, angles, tuple(names), spokes=spokes)
        room = 1.1 + 0.034 * longest if spokes else 1.16
        axes.set_xlim(-max(room, 1.3), max(room, 1.3))
        axes.set_ylim(-room, room)
        figure.suptitle(_title(graph, len(chosen)), x=0.01, ha="left", color=style.INK, fontsize=11)
    return figure


def _title(graph: MotionGraph, transitions: int) -> str:
    kind = "Essential graph" if graph.kind == "essential" else "Motion graph"
    captured = graph.edges - transitions
    if not transitions:
        return f"{kind}: {graph.frames} frames, {captured} captured steps, no transition"
    return (
        f"{kind}: {graph.frames:,} frames, {transitions:,} transitions, α = {graph.alpha:g}, "
        f"{100 * graph.density:.2g} % of all pairs"
    )


def frame_angles(graph: MotionGraph) -> Array:
    """Where on the circle each frame is, radians, clockwise from the top."""
    lengths = np.diff(graph.starts)
    gap = 2 * np.pi * GAPS / len(lengths)
    step = (2 * np.pi - gap * len(lengths)) / lengths.sum()
    which = np.repeat(np.arange(len(lengths)), lengths)
    return np.asarray(gap * (which + 0.5) + step * (np.arange(graph.frames) + 0.5))


def _on_circle(angles: Array, radius: float) -> Array:
    return radius * np.stack([np.sin(angles), np.cos(angles)], axis=-1)


def _arcs(axes: Axes, graph: MotionGraph, angles: Array, names: tuple[str, ...], *, spokes: bool) -> None:
    for k, (first, last) in enumerate(pairwise(graph.starts.tolist())):
        colour = style.PALETTE[k % len(style.PALETTE)]
        along = np.linspace(angles[first], angles[last - 1], max(int(200 * (last - first) / graph.frames), 2))
        x, y = _on_circle(along, RADIUS).T
        axes.plot(x, y, color=colour, lw=7, solid_capstyle="butt")
        tip, before = _on_circle(np.array([along[-1] + 0.02, along[-1]]), RADIUS)
        axes.annotate(
            "", tip, before, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 0, "mutation_scale": 26}
        )
        if k < len(names):
            _name(axes, names[k], 0.5 * (along[0] + along[-1]), colour, spoke=spokes)


def _name(axes: Axes, name: str, angle: float, colour: str, *, spoke: bool) -> None:
    x, y = _on_circle(np.array(angle), RADIUS + 0.07)
    side = "left" if x > 0 else "right"
    if spoke:
        slope = np.degrees(np.arctan2(y, x))
        turned, level, size = float(slope if x > 0 else slope + 180.0), "center", 8.5
    else:
        side = "center" if abs(x) < 0.12 else side
        turned, level, size = 0.0, "center" if abs(y) < 0.85 else "bottom" if y > 0 else "top", 11.0
    text = axes.text(
        x, y, name, color=colour, ha=side, va=level, fontsize=size, weight="bold", rotation=turned,
        rotation_mode="anchor",
    )  # fmt: skip
    # The circle has its place, however long the names are.
    text.set_in_layout(False)


def _transitions(
    figure: Figure, axes: Axes, graph: MotionGraph, angles: Array, chosen: NDArray[np.intp]
) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    shown = _cheapest(graph, chosen)
    if len(shown) < len(chosen):
        _cloud(axes, graph, angles, chosen[:: max(len(chosen) // MOST_IN_CLOUD, 1)])
    curves = _curves(graph, angles, shown, 60)
    colours = LinearSegmentedColormap.from_list("cheap to dear", style.SEQUENCE[:0:-1])
    opaque = float(np.clip(220 / len(shown), 0.4, 0.9))
    lines = LineCollection(
        list(curves), cmap=colours, array=graph.weights[shown], linewidths=0.9, alpha=opaque
    )
    axes.add_collection(lines)
    bar = figure.colorbar(lines, ax=axes, shrink=0.5, aspect=26, pad=0.03)
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_alpha(1.0)
    few = len(shown) == len(chosen)
    bar.set_label("weight of a transition" if few else "weight of the cheapest transitions; the others grey")


def _cheapest(graph: MotionGraph, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """The cheapest transitions of the pairs of sequences between which it is cheapest; dear ones first."""
    weights = graph.weights[chosen]
    if len(chosen) <= MOST_CURVES:
        return np.asarray(chosen[np.argsort(-weights, kind="stable")])
    ends = [np.searchsorted(graph.starts, at[chosen], side="right") for at in (graph.sources, graph.targets)]
    pair = ends[0] * len(graph.starts) + ends[1]
    order = np.lexsort((weights, pair))
    first = np.flatnonzero(np.diff(pair[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    bundles = np.argsort(weights[order[first]], kind="stable")[:MOST_BUNDLES]
    near = np.isin(pair[order], pair[order[first[bundles]]])
    kept = order[near & (rank < MOST_CURVES // len(bundles))]
    return np.asarray(chosen[kept[np.argsort(-weights[kept], kind="stable")]])


def _curves(graph: MotionGraph, angles: Array, edges: NDArray[np.intp], points: int) -> Array:
    """Quadratic curves `(edges, points, 2)`, drawn to the middle if their ends lie far apart."""
    start = _on_circle(angles[graph.sources[edges]], INNER)
    end = _on_circle(angles[graph.targets[edges]], INNER)
    apart = np.linalg.norm(end - start, axis=1, keepdims=True)
    middle = 0.5 * (start + end) * np.clip(1.0 - 0.75 * apart / 2.0, 0.1, 1.0) ** 1.5
    t = np.linspace(0, 1, points)[None, :, None]
    return np.asarray((1 - t) ** 2 * start[:, None] + 2 * t * (1 - t) * middle[:, None] + t**2 * end[:, None])


def _cloud(axes: Axes, graph: MotionGraph, angles: Array, edges: NDArray[np.intp]) -> None:
    """How many curves run through each place, on a scale on which few and many can be told."""
    counts = np.zeros(CELLS**2)
    for part in np.array_split(edges, -(-len(edges) // 1000)):
        cells = ((_curves(graph, angles, part, POINTS) + 1.0) * (0.5 * CELLS)).astype(np.int64)
        np.clip(cells, 0, CELLS - 1, out=cells)
        counts += np.bincount((cells[..., 1] * CELLS + cells[..., 0]).ravel(), minlength=CELLS**2)
    strength = (counts / np.quantile(counts[counts > 0], 0.995)).reshape(CELLS, CELLS)
    image = np.zeros((CELLS, CELLS, 4))
    image[..., :3] = [int(style.SOFT_INK[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    image[..., 3] = 0.75 * np.clip(strength, 0, 1) ** 0.6
    axes.imshow(image, extent=(-1, 1, -1, 1), origin="lower", interpolation="bilinear", zorder=0)
