"""Figures of velocity fields: flow, its derivatives and parts, spectra, textures, tilings, errors.

Each function returns a matplotlib `Figure`, to be shown, changed, or written with `style.save`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from marey._arrays import AnyArray
from marey.crowd import analysis
from marey.crowd.analysis import find_events, grid_points, path_lines, streak_lines
from marey.crowd.edit import restyle
from marey.crowd.evaluation.fields import Truth, error_map
from marey.crowd.fields import FieldSeries
from marey.crowd.spectrum import error_curve
from marey.crowd.texture import FlowTexture
from marey.crowd.tiling import Tiling
from marey.errors import InputError
from marey.geometry.colour import to_srgb
from marey.views import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Image = NDArray[np.uint8]

WHEEL = ("#d9545b", "#e3924a", "#d8c04c", "#76b35f", "#3fa59a", "#4a84bf", "#7766b4", "#b8599c")
"""Directions in the image, from right (red) over down (ochre to sage) clockwise."""

ARROWS = 30
"""Arrows across the flow."""


def flow_colours(velocities: AnyArray, largest: float) -> Image:
    """Colours `(rows, columns, 3)` of velocities `(rows, columns, 2)`; white is rest, full is `largest`.

    >>> flow_colours(np.array([[[0.0, 0.0], [2.0, 0.0]]]), 2.0)[0].tolist()
    [[255, 255, 255], [217, 84, 91]]
    """
    u, v = velocities[..., 0].astype(np.float64), velocities[..., 1].astype(np.float64)
    turn = np.arctan2(v, u) / (2 * np.pi) % 1.0 * len(WHEEL)
    anchors = style.linear((*WHEEL, WHEEL[0]))
    below = np.minimum(turn.astype(np.int64), len(WHEEL) - 1)
    share = (turn - below)[..., None]
    hue = (1 - share) * anchors[below] + share * anchors[below + 1]
    # Less than proportional, so that slow motion shows.
    strength = np.minimum(np.hypot(u, v) / max(largest, 1e-12), 1.0)[..., None] ** 0.7
    return np.rint(255 * to_srgb(1 + strength * (hue - 1))).astype(np.uint8)


def flow(fields: FieldSeries, size: tuple[int, int]) -> Figure:
    """One figure: the field, or the mean of all fields over time."""
    mean = fields.velocities.mean(axis=0)
    largest = _max_speed(fields, mean[None])
    figure = _flow_sheet(fields, size, largest)
    axes, title = figure.axes[0], fields.name or "Velocity field"
    with style.house_style():
        _show_flow(axes, mean, _free(fields), largest, ARROWS)
        axes.set_title(title if fields.frames == 1 else f"{title} · mean of {fields.frames} frames")
    return figure


def flow_clip(fields: FieldSeries, size: tuple[int, int]) -> Iterator[Image]:
    """Every field as an image: colours and arrows drawn into one sheet with axes and key."""
    import cv2

    largest = _max_speed(fields, fields.velocities[:: max(fields.frames // 20, 1)])
    sheet, (left, top, right, bottom), dots = _flow_background(fields, size, largest)
    size = right - left, bottom - top
    free, scale = _free(fields), np.array(size) / [fields.columns, fields.rows]
    ink, font = style.rgb(style.SOFT_INK), cv2.FONT_HERSHEY_DUPLEX
    for frame in range(fields.frames):
        image, velocities = sheet.copy(), fields.velocities[frame]
        panel = np.asarray(cv2.resize(_masked_colours(velocities, free, largest), size))
        x, y, u, v = _arrows(velocities, free, largest, ARROWS)
        # OpenCV counts sixteenths of a pixel here.
        ends = np.rint(16 * scale * (np.stack([[x, y], [x + u, y + v]]).transpose(2, 0, 1) + 0.5)).astype(int)
        for tail, tip in ends.tolist():
            cv2.arrowedLine(panel, tail, tip, ink, 1, cv2.LINE_AA, 4, 0.25)
        image[top:bottom, left:right] = panel
        time, place = f"{frame / fields.frame_rate:.2f} s", (left, top - round(0.09 * dots))
        cv2.putText(image, time, place, font, dots / 220, ink, 1, cv2.LINE_AA)
        yield image


def _flow_background(
    fields: FieldSeries, size: tuple[int, int], largest: float
) -> tuple[Image, tuple[int, int, int, int], float]:
    """The sheet of a clip without its field, the pixels left, top, right and bottom of the field, the dpi."""
    figure = _flow_sheet(fields, size, largest)
    canvas: Any = figure.canvas
    with style.house_style():
        figure.axes[0].set_title(fields.name or "Velocity field", loc="right")
        # Room for the time.
        figure.axes[0].set_title(" ")
        canvas.draw()
    sheet = np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])
    (left, low), (right, high) = np.rint(figure.axes[0].bbox.get_points()).astype(int).tolist()
    return sheet, (left, len(sheet) - high, right, len(sheet) - low), figure.dpi


def _flow_sheet(fields: FieldSeries, size: tuple[int, int], largest: float) -> Figure:
    """Axes of the field's pixels, and the key: every direction at every speed up to the largest."""
    across = np.linspace(-1, 1, 161)
    x, y = np.meshgrid(across, across)
    colours = flow_colours(np.stack([x, y], axis=-1), 1.0).astype(np.float64) / 255
    inside = np.clip((1.0 - np.hypot(x, y)) * 80 + 0.5, 0, 1)
    with style.figure(size) as figure:
        axes = figure.add_subplot()
        axes.grid(False)
        axes.imshow(np.full((fields.rows, fields.columns, 3), 255, np.uint8))
        _label(axes)
        key = figure.add_axes((0.875, 0.66, 0.105, 0.19))
        key.set_in_layout(False)
        key.imshow(np.dstack([colours, inside]), extent=(-1, 1, 1, -1), interpolation="bilinear")
        key.set_axis_off()
        key.set_title(f"up to {largest:.3g}\npixels a frame", fontsize=8, loc="center", pad=4)
        key.annotate("", (0.97, 0), (0, 0), arrowprops={"arrowstyle": "->", "color": style.INK, "lw": 0.8})
        layout: Any = figure.get_layout_engine()
        layout.set(rect=(0, 0, 0.865, 1))
    return figure


def _show_flow(axes: Axes, velocities: AnyArray, free: AnyArray, largest: float, across: int) -> None:
    """Colours and arrows of a field on given axes."""
    axes.imshow(_masked_colours(velocities, free, largest), interpolation="bilinear")
    look: Any = {"width": 0.0016, "color": style.INK, "alpha": 0.8}
    axes.quiver(*_arrows(velocities, free, largest, across), angles="xy", scale_units="xy", scale=1.0, **look)


def _arrows(velocities: AnyArray, free: AnyArray, largest: float, across: int) -> AnyArray:
    """Columns, rows, lengths along both axes of arrows on a grid, `(4, arrows)`; none exceeds its step."""
    step = max(int(np.ceil(velocities.shape[1] / across)), 1)
    rows, columns = np.mgrid[step // 2 : free.shape[0] : step, step // 2 : free.shape[1] : step]
    rows, columns = rows[free[rows, columns]], columns[free[rows, columns]]
    u, v = velocities[rows, columns].astype(np.float64).T
    stretch = 0.95 * step / np.maximum(np.hypot(u, v), max(largest, 1e-12))
    return np.stack([columns, rows, u * stretch, v * stretch])


def _masked_colours(velocities: AnyArray, free: AnyArray, largest: float) -> Image:
    colours = flow_colours(velocities, largest)
    colours[~free] = 225
    return colours


def _free(fields: FieldSeries) -> AnyArray:
    return np.ones((fields.rows, fields.columns), np.bool_) if fields.mask is None else fields.mask


def _max_speed(fields: FieldSeries, velocities: AnyArray, share: float = 0.995) -> float:
    """A speed that hardly any pixel of velocities `(frames, rows, columns, 2)` exceeds."""
    speeds = np.hypot(velocities[..., 0], velocities[..., 1])[:, _free(fields)]
    return (float(np.quantile(speeds, share)) if speeds.size else 0.0) or 1.0


SIGNED = ("#3b6a9c", "#8fb0cf", "#ffffff", "#e0a88a", "#b4553f")
"""Colours of a quantity with a sign, from negative to positive."""

# Lines across a figure, events that are named in it, and frames searched for events.
LINES, MAX_NAMED, SAMPLED_FRAMES = 22, 6, 400


def divergence(fields: FieldSeries, size: tuple[int, int] = (1280, 720)) -> Figure:
    """Where people part (positive) and meet (negative), mean over time, with the strongest events named."""
    kinds = ("source", "sink")
    return _map(fields, analysis.divergence, kinds, "Divergence", "divergence (1/frame)", size)


def vorticity(fields: FieldSeries, size: tuple[int, int] = (1280, 720)) -> Figure:
    """Where people turn, clockwise positive, mean over time, with the strongest events named."""
    kinds = ("clockwise", "anticlockwise")
    return _map(fields, analysis.vorticity, kinds, "Vorticity", "vorticity (1/frame)", size)


def flow_parts(fields: FieldSeries, size: tuple[int, int] = (1280, 720)) -> Figure:
    """The mean field as compression (with its potential), rotation (with its stream lines), and the rest.

    >>> import marey
    >>> len(flow_parts(marey.samples.field()).axes)
    3
    """
    mean = fields.velocities.mean(axis=0, dtype=np.float64)
    mask = _free(fields)
    found = analysis.Helmholtz(mask).split(mean)
    largest = _max_speed(fields, mean[None], 0.99)
    with style.figure(size) as figure:
        grid = figure.subplots(1, 3, sharex=True, sharey=True)
        for axes, part, scalar, title in zip(
            grid,
            (found.compression, found.rotation, found.harmonic),
            (found.potential, found.stream, None),
            ("Compression and its potential", "Rotation and its stream", "Harmonic rest"),
            strict=True,
        ):
            axes.imshow(_masked_colours(part, mask, largest), interpolation="bilinear")
            if scalar is not None and np.ptp(scalar) > 1e-12:
                at = [np.arange(n) - 0.5 for n in scalar.shape[::-1]]
                axes.contour(*at, scalar, levels=9, colors=style.INK, linewidths=0.6, alpha=0.6)
            share = 100 * float((part**2).sum() / max(float((mean[mask] ** 2).sum()), 1e-300))
            axes.set_title(f"{title} · {share:.0f} %")
            axes.grid(False)
        _label(grid[0])
    return figure


def flow_lines(
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
    lines = (path_lines if kind == "path" else streak_lines)(fields, starts)
    with style.figure(size) as figure:
        from matplotlib.collections import LineCollection

        axes = figure.subplots()
        extent = (-0.5, fields.columns - 0.5, fields.rows - 0.5, -0.5)
        backdrop = np.full((1, 1, 3), 255, np.uint8) if image is None else image
        axes.imshow(backdrop, extent=extent, alpha=1.0 if image is None else 0.75)
        pieces = np.stack([lines[:-1], lines[1:]], axis=2)
        seconds = np.broadcast_to(np.arange(len(pieces))[:, None] / fields.frame_rate, pieces.shape[:2])
        known = np.isfinite(pieces).all(axis=(2, 3))
        drawn = LineCollection(
            list(pieces[known]), cmap=style.colour_map(), array=seconds[known], linewidths=1.3
        )
        axes.add_collection(drawn)
        axes.plot(*starts.T, ".", color=style.SOFT_INK, ms=2)
        axes.set(xlim=extent[:2], ylim=extent[2:])
        _walls(axes, fields)
        if known.any():
            label = "time (s)" if kind == "path" else "released after (s)"
            style.colour_bar(figure, axes, drawn, label)
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
    with style.figure(size) as figure:
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


def draw_error_curve(axes: Axes, curves: dict[str, AnyArray]) -> None:
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


def _map(
    fields: FieldSeries,
    derive: Callable[..., AnyArray],
    kinds: tuple[str, str],
    title: str,
    label: str,
    size: tuple[int, int],
) -> Figure:
    mean = derive(fields.velocities.mean(axis=0, dtype=np.float64), fields.mask)
    largest = float(np.quantile(np.abs(mean), 0.995)) or 1.0
    with style.figure(size) as figure:
        axes = figure.subplots()
        drawn = axes.imshow(
            mean, cmap=style.colour_map(SIGNED), vmin=-largest, vmax=largest, interpolation="bilinear"
        )
        _walls(axes, fields)
        found = (event for event in find_events(fields[:SAMPLED_FRAMES]) if event.kind in kinds)
        for event in islice(found, MAX_NAMED):
            place = event.column, event.row
            axes.plot(*place, "o", mfc="none", mec=style.INK, ms=9)
            text = f"{event.name}, {event.frame / fields.frame_rate:.1f} s"
            axes.annotate(text, place, (7, 5), textcoords="offset points", fontsize=8)
        style.colour_bar(figure, axes, drawn, label)
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
    if fields.mask is not None:
        grey = np.zeros((*fields.mask.shape, 4))
        grey[~fields.mask] = (0.88, 0.88, 0.88, 1.0)
        axes.imshow(grey, interpolation="nearest")


def _label(axes: Axes) -> None:
    axes.set(xlabel="column (pixels)", ylabel="row (pixels)")


SIZE = (1280, 720)
MAX_ARCS = 400


def texture_picture(
    texture: FlowTexture, order: AnyArray | None = None, *, size: tuple[int, int] = SIZE
) -> Figure:
    """Distances before and after the filter, above the jumps as arcs and, if given, the frames played.

    order: `(frames,)`, which captured frame is played when

    >>> import marey
    >>> from marey.crowd.texture import learn
    >>> len(texture_picture(learn(marey.samples.field(12, 16)), size=(640, 360)).axes)
    5
    """
    with style.figure(size) as figure:
        grid = figure.add_gridspec(2, 2, height_ratios=(1.7, 1))
        for place, filtered in ((grid[0, 0], False), (grid[0, 1], True)):
            texture_matrix(figure, figure.add_subplot(place), texture, filtered)
        below = figure.add_subplot(grid[1, :] if order is None else grid[1, 0])
        _arcs(below, texture)
        if order is not None:
            _played(figure.add_subplot(grid[1, 1]), texture, order)
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

    grid = (2, 1) if tiling.columns > tiling.rows else (1, 2)
    with style.figure(size) as figure:
        left, right = figure.subplots(*grid, squeeze=False).ravel()
        kinds = np.full((tiling.rows, tiling.columns), 1)
        kinds[tiling.coverage > 1] = 2
        kinds[tiling.coverage == 0] = 0
        kinds[~tiling.free] = 3
        names = ("gap", "one capture", "overlap", "wall")
        colours = (style.FAINT, "#ffffff", style.PALETTE[1], style.INK)
        tints = np.array([style.rgb(colour) for colour in colours], dtype=np.uint8)
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
        largest = float(np.quantile(np.hypot(made[..., 0], made[..., 1]), 0.995)) or 1.0
        _show_flow(right, made, tiling.free, largest, 40)
        right.set_title(f"The flow made of it, frame {frame}")
        for axes in (left, right):
            axes.grid(False)
            axes.set_xlim(-0.5, tiling.columns - 0.5)
            axes.set_ylim(tiling.rows - 0.5, -0.5)
    return figure


def texture_matrix(figure: Figure, axes: Axes, texture: FlowTexture, filtered: bool) -> None:
    """Distances of all pairs of frames, before or after the filter, on given axes."""
    degrees = np.degrees(texture.filtered if filtered else texture.distances)
    before = texture.taps // 2 if filtered else 0
    seconds = (np.array([before, before + len(degrees)]) - 0.5) / texture.fields.frame_rate
    extent = (*seconds, *seconds[::-1])
    colours = style.colour_map(style.SEQUENCE[::-1])
    drawn = axes.imshow(degrees, cmap=colours, extent=extent, interpolation="nearest", vmin=0)
    style.colour_bar(figure, axes, drawn, "mean angle (degrees)", shrink=0.85)
    axes.grid(False)
    axes.set_title(f"After a filter of {texture.taps} taps" if filtered else "Distances of all frames")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("time (s)")


def _arcs(axes: Axes, texture: FlowTexture) -> None:
    """Jumps over the time of the capture: forward ones above, backward ones below."""
    from matplotlib.collections import LineCollection

    jumps = texture.transitions
    chosen = np.argsort(-jumps.probabilities)[:MAX_ARCS]
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


def _played(axes: Axes, texture: FlowTexture, order: AnyArray) -> None:
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


ACROSS = 3


def field_errors(fields: Mapping[str, FieldSeries], truth: Truth) -> Figure:
    """A figure of maps, by name; white where the truth is unknown."""
    maps = {name: error_map(series, truth) for name, series in fields.items()}
    known = np.concatenate([one[np.isfinite(one)] for one in maps.values()])
    top = float(np.percentile(known, 98)) if known.size else 1.0
    columns = min(len(maps), ACROSS)
    rows = -(-len(maps) // columns)
    with style.figure((420 * columns + 90, 330 * rows + 40)) as figure:
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
