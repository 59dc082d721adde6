"""What is inside a field series, as pictures: divergence, vorticity, parts, path and streak lines, spectrum.

Each function returns a matplotlib `Figure`; maps are means over time. The spectrum shows one pixel over time
beside smoother and quicker versions of it, and how the error falls with the numbers kept, as figures 5 and 2
of Courty & Corpetti 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from marey.crowd.analysis import derivatives, events, helmholtz
from marey.crowd.analysis.lines import grid_points, path_lines, streak_lines
from marey.crowd.fields import FieldSeries
from marey.crowd.spectrum import error_curve
from marey.crowd.spectrum.edit import restyle
from marey.errors import InputError
from marey.views import plots, style
from marey.views.flow import flow_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]
Image = NDArray[np.uint8]

SIGNED = ("#3b6a9c", "#8fb0cf", "#ffffff", "#e0a88a", "#b4553f")
"""Colours of a quantity with a sign, from negative to positive."""

# Lines across a picture, events that are named in it, and frames looked at for a map.
LINES, NAMED, LOOKED_AT = 22, 6, 400


def divergence(fields: FieldSeries, size: tuple[int, int] = (1280, 720)) -> Figure:
    """Where people part (positive) and meet (negative), mean over time, with the strongest events named."""
    kinds = ("source", "sink")
    return _map(fields, derivatives.divergence, kinds, "Divergence", "divergence (1/frame)", size)


def vorticity(fields: FieldSeries, size: tuple[int, int] = (1280, 720)) -> Figure:
    """Where people turn, clockwise positive, mean over time, with the strongest events named."""
    kinds = ("clockwise", "anticlockwise")
    return _map(fields, derivatives.vorticity, kinds, "Vorticity", "vorticity (1/frame)", size)


def parts(fields: FieldSeries, size: tuple[int, int] = (1280, 720)) -> Figure:
    """The mean field as compression (with its potential), rotation (with its stream lines), and the rest.

    >>> import marey
    >>> len(parts(marey.samples.field()).axes)
    3
    """
    mean = fields.velocities.mean(axis=0, dtype=np.float64)
    mask = np.ones(mean.shape[:2], np.bool_) if fields.mask is None else fields.mask
    found = helmholtz.Helmholtz(mask).split(mean)
    largest = float(np.quantile(np.hypot(mean[..., 0], mean[..., 1])[mask], 0.99)) or 1.0
    figure = plots.blank(size)
    with plots.house_style():
        grid = figure.subplots(1, 3, sharex=True, sharey=True)
        for axes, part, scalar, title in zip(
            grid,
            (found.compression, found.rotation, found.harmonic),
            (found.potential, found.stream, None),
            ("Compression and its potential", "Rotation and its stream", "Harmonic rest"),
            strict=True,
        ):
            colours = flow_colours(part, largest)
            colours[~mask] = 225
            axes.imshow(colours, interpolation="bilinear")
            if scalar is not None and np.ptp(scalar) > 1e-12:
                at = [np.arange(n) - 0.5 for n in scalar.shape[::-1]]
                axes.contour(*at, scalar, levels=9, colors=style.INK, linewidths=0.6, alpha=0.6)
            share = 100 * float((part**2).sum() / max(float((mean[mask] ** 2).sum()), 1e-300))
            axes.set_title(f"{title} · {share:.0f} %")
            axes.grid(False)
        _label(grid[0])
    return figure


def lines(
    fields: FieldSeries,
    size: tuple[int, int] = (1280, 720),
    *,
    kind: Literal["path", "streak"] = "path",
    image: Image | None = None,
    across: int = LINES,
) -> Figure:
    """Path or streak lines from a grid of points, light where they begin, over an image if one is given.

    image: `(rows, columns, 3)` of any size, e.g. the first frame of the video
    """
    if kind not in ("path", "streak"):
        raise InputError(f"lines {kind!r}: path or streak")
    starts = grid_points(fields, across)
    walk = path_lines if kind == "path" else streak_lines
    ways = walk(fields, starts)
    figure = plots.blank(size)
    with plots.house_style():
        from matplotlib.collections import LineCollection
        from matplotlib.colors import LinearSegmentedColormap

        axes = figure.subplots()
        extent = (-0.5, fields.columns - 0.5, fields.rows - 0.5, -0.5)
        backdrop = np.full((1, 1, 3), 255, np.uint8) if image is None else image
        axes.imshow(backdrop, extent=extent, alpha=1.0 if image is None else 0.75)
        pieces = np.stack([ways[:-1], ways[1:]], axis=2)
        seconds = np.broadcast_to(np.arange(len(pieces))[:, None] / fields.frame_rate, pieces.shape[:2])
        known = np.isfinite(pieces).all(axis=(2, 3))
        shades = LinearSegmentedColormap.from_list("marey", list(style.SEQUENCE))
        drawn = LineCollection(list(pieces[known]), cmap=shades, array=seconds[known], linewidths=1.3)
        axes.add_collection(drawn)
        axes.plot(*starts.T, ".", color=style.SOFT_INK, ms=2)
        axes.set(xlim=extent[:2], ylim=extent[2:])
        if fields.mask is not None:
            _walls(axes, fields)
        if known.any():
            label = "time (s)" if kind == "path" else "released after (s)"
            _bar(figure, axes, drawn, label)
        axes.set_title(f"{fields.name or 'Flow'} · {kind} lines over {fields.duration:.3g} s")
        axes.grid(False)
        _label(axes)
    return figure


def spectrum(fields: FieldSeries, size: tuple[int, int] = (1280, 720)) -> Figure:
    """The liveliest pixel over time, smoother and quicker; and the error against the numbers kept.

    >>> import marey
    >>> len(spectrum(marey.samples.field()).axes)
    2
    """
    row, column = _liveliest(fields)
    one = fields.crop(slice(row, row + 1), slice(column, column + 1))
    part = int(np.argmax(one.velocities[:, 0, 0].var(axis=0)))
    series = one.velocities[:, 0, 0, part]
    time = np.arange(fields.frames) / fields.frame_rate
    figure = plots.blank(size)
    with plots.house_style():
        above, below = figure.subplots(2, 1)
        above.plot(time, series, "--", color=style.SOFT_INK, lw=1.0, label="as captured")
        above.axhline(series.mean(), color=style.PALETTE[7], lw=1.2, label="mean (1 number)")
        for label, preset, colour in (
            ("calm (3 numbers)", "calm", style.PALETTE[0]),
            ("stressed (mean and what is quick)", "stressed", style.PALETTE[1]),
        ):
            above.plot(time, restyle(one, preset).velocities[:, 0, 0, part], color=colour, label=label)
        above.set_title(f"Pixel ({column}, {row}), {'uv'[part]} over time")
        above.set_xlabel("time (s)")
        above.set_ylabel("pixels per frame")
        above.legend(ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0))
        draw_error_curve(below, {"this series": error_curve(fields)})
    return figure


def error_curves(curves: dict[str, Array], size: tuple[int, int] = (1280, 720)) -> Figure:
    """Relative squared errors `(numbers kept,)` of several series, by name."""
    figure = plots.blank(size)
    with plots.house_style():
        draw_error_curve(figure.subplots(), curves)
    return figure


def draw_error_curve(axes: Axes, curves: dict[str, Array]) -> None:
    """The error of norms and of energies against the share of numbers kept, on given axes."""
    for (name, curve), colour in zip(curves.items(), style.PALETTE, strict=False):
        share = 100 * (np.arange(len(curve)) + 1) / len(curve)
        axes.plot(share, 100 * curve, color=colour, label=f"{name}: energy")
        axes.plot(share, 100 * np.sqrt(curve), ":", color=colour, label=f"{name}: norm")
    axes.axvline(10, color=style.SOFT_INK, lw=0.8)
    axes.set_title("Reconstruction error against frequencies kept")
    axes.set_xlabel("numbers kept per pixel (%)")
    axes.set_ylabel("relative error (%)")
    axes.set_ylim(0, None)
    axes.legend()


def _paths(fields: FieldSeries, size: tuple[int, int]) -> Figure:
    return lines(fields, size)


def _streaks(fields: FieldSeries, size: tuple[int, int]) -> Figure:
    return lines(fields, size, kind="streak")


PICTURES: dict[str, Callable[[FieldSeries, tuple[int, int]], Figure]] = {
    "divergence": divergence,
    "vorticity": vorticity,
    "parts": parts,
    "paths": _paths,
    "streaks": _streaks,
    "spectrum": spectrum,
}
"""Pictures of a series besides the flow itself, by the name of their kind."""


def _map(
    fields: FieldSeries,
    derive: Callable[..., Array],
    kinds: tuple[str, str],
    title: str,
    label: str,
    size: tuple[int, int],
) -> Figure:
    mean = derive(fields.velocities.mean(axis=0, dtype=np.float64), fields.mask)
    largest = float(np.quantile(np.abs(mean), 0.995)) or 1.0
    figure = plots.blank(size)
    with plots.house_style():
        from matplotlib.colors import LinearSegmentedColormap

        axes = figure.subplots()
        shades = LinearSegmentedColormap.from_list("signed", list(SIGNED))
        drawn = axes.imshow(mean, cmap=shades, vmin=-largest, vmax=largest, interpolation="bilinear")
        if fields.mask is not None:
            _walls(axes, fields)
        some = fields[:LOOKED_AT]
        chosen = [event for event in events.find_events(some) if event.kind in kinds][:NAMED]
        for event in chosen:
            axes.plot(event.column, event.row, "o", mfc="none", mec=style.INK, ms=9)
            seconds = event.frame / fields.frame_rate
            axes.annotate(
                f"{event.name}, {seconds:.1f} s",
                (event.column, event.row),
                xytext=(7, 5),
                textcoords="offset points",
                fontsize=8,
            )
        _bar(figure, axes, drawn, label)
        axes.set_title(f"{fields.name or title} · {title.lower()}, mean of {fields.frames} frames")
        axes.grid(False)
        _label(axes)
    return figure


def _liveliest(fields: FieldSeries) -> tuple[int, int]:
    """The pixel that changes most."""
    change = fields.velocities.var(axis=0).sum(axis=-1)
    if fields.mask is not None:
        change = np.where(fields.mask, change, -1.0)
    row, column = np.unravel_index(int(change.argmax()), change.shape)
    return int(row), int(column)


def _walls(axes: Axes, fields: FieldSeries) -> None:
    assert fields.mask is not None
    grey = np.zeros((*fields.mask.shape, 4))
    grey[~fields.mask] = (0.88, 0.88, 0.88, 1.0)
    axes.imshow(grey, interpolation="nearest")


def _bar(figure: Figure, axes: Axes, drawn: Any, label: str) -> None:
    bar = figure.colorbar(drawn, ax=axes, shrink=0.6, aspect=24, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)


def _label(axes: Axes) -> None:
    axes.set_xlabel("column (pixels)")
    axes.set_ylabel("row (pixels)")
