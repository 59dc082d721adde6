"""Pictures of flows edited in time and space: which moments are alike, where playback jumps, what lies where.

The distance matrices are those of Courty & Corpetti 2007, figure 4, before and after the diagonal filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey.crowd.texture import FlowTexture
from marey.crowd.tiling import Tiling
from marey.views import plots, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]

SIZE = (1280, 720)
MOST_ARCS = 400


def texture_picture(
    texture: FlowTexture, order: Array | None = None, *, size: tuple[int, int] = SIZE
) -> Figure:
    """Distances before and after the filter, above the jumps as arcs and, if given, the frames played.

    order: `(frames,)`, which frame of the source is played when

    >>> import marey
    >>> from marey.crowd.texture import learn
    >>> len(texture_picture(learn(marey.samples.field(12, 16)), size=(640, 360)).axes)
    5
    """
    figure = plots.blank(size)
    with plots.house_style():
        grid = figure.add_gridspec(2, 2, height_ratios=(1.7, 1))
        for place, filtered in ((grid[0, 0], False), (grid[0, 1], True)):
            _matrix(figure, figure.add_subplot(place), texture, filtered)
        below = figure.add_subplot(grid[1, :] if order is None else grid[1, 0])
        _arcs(below, texture)
        if order is not None:
            _played(figure.add_subplot(grid[1, 1]), texture, order)
    return figure


def matrices(texture: FlowTexture, *, size: tuple[int, int] = (1280, 620)) -> Figure:
    """Distances of all pairs of frames before and after the filter, side by side."""
    figure = plots.blank(size)
    with plots.house_style():
        for axes, filtered in zip(figure.subplots(1, 2), (False, True), strict=True):
            _matrix(figure, axes, texture, filtered)
    return figure


def layout_picture(tiling: Tiling, *, frame: int = 0, size: tuple[int, int] = SIZE) -> Figure:
    """What lies where: patches with their outlines, overlaps, gaps and walls; beside it the flow.

    >>> import marey
    >>> from marey.crowd.tiling import Patch
    >>> flow = marey.samples.field(12, 16)
    >>> len(layout_picture(Tiling((Patch(flow), Patch(flow, 12, 2)), 14, 28), size=(640, 360)).axes)
    2
    """
    from matplotlib.patches import Patch as Swatch
    from matplotlib.patches import Polygon

    from marey.views.flow import flow_colours

    figure = plots.blank(size)
    grid = (2, 1) if tiling.columns > tiling.rows else (1, 2)
    with plots.house_style():
        left, right = figure.subplots(*grid, squeeze=False).ravel()
        kinds = np.full((tiling.rows, tiling.columns), 1)
        kinds[tiling.coverage > 1] = 2
        kinds[tiling.coverage == 0] = 0
        kinds[~tiling.free] = 3
        names = ("gap", "one capture", "overlap", "wall")
        colours = (style.FAINT, "#ffffff", style.PALETTE[1], style.INK)
        tints = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in colours], dtype=np.uint8)
        left.imshow(tints[kinds], interpolation="nearest")
        for number, patch in enumerate(tiling.patches):
            colour = style.PALETTE[number % len(style.PALETTE)]
            left.add_patch(Polygon(patch.corners(), closed=True, fill=False, edgecolor=colour, lw=1.8))
            middle = patch.corners().mean(axis=0)
            label = patch.fields.name or f"{number + 1}"
            left.annotate(label, middle, color=colour, ha="center", va="center", fontsize=9)
        shown = [Swatch(fc=c, ec=style.SOFT_INK, label=n) for c, n in zip(colours, names, strict=True)]
        there = [swatch for k, swatch in enumerate(shown) if (kinds == k).any()]
        left.legend(handles=there, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
        left.set_title("What lies where")
        made = tiling.part(frame, frame + 1).velocities[0]
        speeds = np.hypot(made[..., 0], made[..., 1])
        image = flow_colours(made, float(np.quantile(speeds, 0.995)) or 1.0)
        image[~tiling.free] = 225
        right.imshow(image, interpolation="bilinear")
        _arrows(right, made, tiling.free)
        right.set_title(f"The flow made of it, frame {frame}")
        for axes in (left, right):
            axes.grid(False)
            axes.set_xlim(-0.5, tiling.columns - 0.5)
            axes.set_ylim(tiling.rows - 0.5, -0.5)
    return figure


def _matrix(figure: Figure, axes: Axes, texture: FlowTexture, filtered: bool) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    degrees = np.degrees(texture.filtered if filtered else texture.distances)
    before = texture.taps // 2 if filtered else 0
    seconds = (np.array([before, before + len(degrees)]) - 0.5) / texture.fields.frame_rate
    colours = LinearSegmentedColormap.from_list("distance", style.SEQUENCE[::-1])
    extent = (*seconds, *seconds[::-1])
    drawn = axes.imshow(degrees, cmap=colours, extent=extent, interpolation="nearest", vmin=0)
    figure.colorbar(drawn, ax=axes, label="mean angle (degrees)", shrink=0.85)
    axes.grid(False)
    axes.set_title(f"After a filter of {texture.taps} taps" if filtered else "Distances of all frames")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("time (s)")


def _arcs(axes: Axes, texture: FlowTexture) -> None:
    """Jumps over the time of the source: forward ones above, backward ones below."""
    from matplotlib.collections import LineCollection

    jumps = texture.transitions
    chosen = np.argsort(-jumps.probabilities)[:MOST_ARCS]
    rate = texture.fields.frame_rate
    turn = np.linspace(0.0, np.pi, 40)
    tallest = 1e-9
    lines, colours, strength = [], [], []
    for k in chosen:
        start, end = (jumps.sources[k] + 1) / rate, jumps.targets[k] / rate
        middle, half = 0.5 * (start + end), 0.5 * (end - start)
        lines.append(np.stack([middle - half * np.cos(turn), half * np.sin(turn)], axis=1))
        colours.append(style.PALETTE[0] if half > 0 else style.PALETTE[1])
        strength.append(0.15 + 0.85 * float(jumps.probabilities[k]))
        tallest = max(tallest, abs(half))
    axes.add_collection(LineCollection(lines, colors=colours, alpha=strength, linewidths=0.9))
    axes.axhline(0, color=style.INK, lw=1)
    axes.set_xlim(0, texture.fields.frames / rate)
    axes.set_ylim(-1.08 * tallest, 1.08 * tallest)
    axes.set_yticks([])
    axes.set_xlabel("time in the capture (s)")
    axes.set_title(f"Jumps ({len(jumps.sources)}): forward above, back below")


def _played(axes: Axes, texture: FlowTexture, order: Array) -> None:
    shown = order[: 20 * texture.fields.frames]
    rate = texture.fields.frame_rate
    cuts = np.flatnonzero(np.diff(shown) != 1) + 1
    # A gap in the line where playback jumps.
    time = np.insert(np.arange(len(shown)) / rate, cuts, np.nan)
    axes.plot(time, np.insert(shown / rate, cuts, np.nan), color=style.PALETTE[0], lw=1.0)
    axes.set_xlabel("time played (s)")
    axes.set_ylabel("in the capture (s)")
    axes.set_title(f"What is played: {len(cuts)} jumps in {len(shown) / rate:.3g} s")
    axes.margins(x=0)


def _arrows(axes: Axes, flow: Array, free: Array) -> None:
    step = max(int(np.ceil(flow.shape[1] / 40)), 1)
    rows, columns = np.mgrid[step // 2 : flow.shape[0] : step, step // 2 : flow.shape[1] : step]
    keep = free[rows, columns]
    if not keep.any():
        return
    u, v = flow[rows[keep], columns[keep]].T
    largest = float(np.quantile(np.hypot(u, v), 0.99)) or 1.0
    axes.quiver(
        columns[keep],
        rows[keep],
        u,
        v,
        angles="xy",
        scale_units="xy",
        scale=largest / (0.95 * step),
        width=0.0016,
        color=style.INK,
        alpha=0.8,
    )
