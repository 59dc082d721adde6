"""Plots in the house style: joint angles over time, paths from above, trajectories of a crowd.

Each function returns a matplotlib `Figure` of its own (no pyplot, no global state), to be shown in a
notebook, changed, or written with :func:`save`.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.io._files import atomic_write
from marey.views import style
from marey.views.parts import Poses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

Array = NDArray[Any]

MOST_PANELS = 12


def curves(
    motion: Motion, joints: Sequence[str] | None = None, *, size: tuple[int, int] = (1280, 720)
) -> Figure:
    """Joint angles in degrees over time.

    joints: names; for each the rotation from its mean pose, as a rotation vector about x, y, z. If None,
        the bending of hips, knees, ankles, shoulders and elbows, left and right, where the figure is human
        (0 is upright with hanging arms), and the joints that move most where it is not.

    >>> import marey
    >>> len(curves(marey.samples.walk()).axes)
    6
    """
    panels = None if joints is not None else _bending(motion)
    if panels is None:
        panels = _turning(motion, _liveliest(motion) if joints is None else list(joints))
    time = np.arange(motion.frames) / motion.frame_rate
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = blank(size)
    with house_style():
        grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
        for axes, (title, lines) in zip(grid.flat, panels.items(), strict=False):
            for label, (values, colour) in lines.items():
                axes.plot(time, values, color=colour, label=label, marker="o" if len(time) == 1 else None)
            axes.set_title(title)
            axes.margins(x=0.0 if len(time) > 1 else 0.5)
            axes.locator_params(axis="y", nbins=5)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        for axes in grid[-1]:
            axes.set_xlabel("time (s)")
        for axes in grid[:, 0]:
            axes.set_ylabel("degrees")
        figure.suptitle(motion.name or "Joint angles", x=0.01, ha="left", color=style.INK, fontsize=12)
        figure.legend(*_unique_labels(figure), ncols=3, loc="upper right", handlelength=1.2)
    return figure


def trajectory(motion: Motion, *, size: tuple[int, int] = (1280, 720)) -> Figure:
    """The way of the body over the ground, seen from above, coloured by speed; an arrow where it faces.

    >>> import marey
    >>> sorted([trajectory(marey.samples.walk()).axes[0].get_xlabel(), "x (m)"])[-1]
    'z (m)'
    """
    poses = Poses(motion)
    points = poses.body
    # From above, x to the right and z down the page; or turned by a quarter, z to the right and x up.
    turned = np.ptp(points[:, 2]) > 1.2 * np.ptp(points[:, 0])
    plan = [2, 0] if turned else [0, 2]
    path = points[:, plan]
    speed = _speed(path, motion.frame_rate)
    figure = blank(size)
    with house_style():
        axes = figure.subplots()
        drawn = _coloured_line(axes, path, speed)
        axes.plot(*path[0], "o", color=style.INK, ms=5)
        axes.plot(*path[-1], "o", color=style.PAPER, mec=style.INK, mew=1.4, ms=6)
        if poses.ahead is not None:
            ahead = poses.ahead[:, plan]
            ahead /= np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-9)
            some = np.unique(np.linspace(0, len(path) - 1, 12).astype(int))
            axes.quiver(
                *path[some].T, *ahead[some].T, color=style.SOFT_INK, width=0.0022, scale=28, angles="xy"
            )
        _from_above(axes, path, labels=("z (m)", "x (m)") if turned else ("x (m)", "z (m)"))
        if not turned:
            axes.invert_yaxis()
        _bar(figure, axes, drawn, "speed (m/s)")
        axes.set_title(motion.name or "Path")
        # The scale is settled in drawing; then the labels have their final widths.
        figure.draw_without_rendering()
    return figure


def tracks(
    tracks: Tracks,
    *,
    colour: Literal["person", "speed", "time"] | None = None,
    size: tuple[int, int] = (1280, 720),
) -> Figure:
    """Everyone's way over the ground plane.

    colour: by person (the default for up to eight), by speed (for more), or by time

    >>> walk = Tracks([[[0, 0], [3, 1]], [[1, 0], [2, 1]], [[2, 0], [1, 1]]], 1.0)
    >>> tracks(walk).axes[0].get_ylabel()
    'y (m)'
    """
    colour = ("person" if tracks.agents <= len(style.PALETTE) else "speed") if colour is None else colour
    if colour not in ("person", "speed", "time"):
        raise InputError(f"colour {colour!r}: one of person, speed, time")
    places = tracks.positions
    present = tracks.present
    figure = blank(size)
    with house_style():
        axes = figure.subplots()
        segments, who, when = _segments(places, present)
        width = float(np.clip(14 / np.sqrt(tracks.agents), 0.6, 2.2))
        from matplotlib.collections import LineCollection

        # Butt ends: round ones overlap, and show where lines are translucent.
        opaque = 0.9 if tracks.agents <= len(style.PALETTE) else 0.65
        lines = LineCollection(list(segments), linewidths=width, capstyle="butt", alpha=opaque)
        if colour == "person":
            lines.set_color([style.PALETTE[i % len(style.PALETTE)] for i in who])
        else:
            values = when / tracks.frame_rate
            if colour == "speed":
                velocity = np.linalg.norm(tracks.velocities(), axis=-1)
                values = velocity[when, who]
            lines.set(cmap=_sequence(), array=values)
            finite = values[np.isfinite(values)]
            if len(finite):
                lines.set_clim(
                    *(np.quantile(finite, [0.01, 0.99]) if colour == "speed" else (0, finite.max()))
                )
        axes.add_collection(lines)
        _mark_ends(axes, places, present, colour)
        _from_above(axes, places[present], labels=("x (m)", "y (m)"))
        if colour != "person" and len(segments):
            _bar(figure, axes, lines, "speed (m/s)" if colour == "speed" else "time (s)")
        people = "1 person" if tracks.agents == 1 else f"{tracks.agents} people"
        axes.set_title(f"{tracks.name or 'Trajectories'} · {people}, {tracks.duration:.4g} s")
        figure.draw_without_rendering()
    return figure


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure; the ending chooses the format (.png, .svg, .pdf). Whole or not at all."""
    path = Path(path)
    known = ("png", "svg", "pdf")
    ending = path.suffix.lower().lstrip(".")
    if ending not in known:
        raise InputError(f"{path}: plots are written as {', '.join('.' + e for e in known)}")
    with atomic_write(path) as draft, house_style():
        figure.savefig(draft, format=ending, dpi=figure.dpi)


def blank(size: tuple[int, int]) -> Figure:
    """An empty figure of (columns, rows) pixels in the house style."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    dots = max(110 * min(size) / 620, 20.0)
    with house_style():
        figure = Figure(figsize=(size[0] / dots, size[1] / dots), dpi=dots, layout="constrained")
        FigureCanvasAgg(figure)
    return figure


def house_style() -> Any:
    """Settings of the house style, for a `with` block around what draws."""
    import matplotlib

    settings: Any = style.PLOT_SETTINGS
    return matplotlib.rc_context(settings)


Lines = dict[str, tuple[Array, str]]


def _bending(motion: Motion) -> dict[str, Lines] | None:
    """Bending of the main joints of a human figure, degrees."""
    poses = Poses(motion)
    landmarks = poses.landmarks
    if landmarks is None:
        return None
    at = poses.points
    parents = np.concatenate([motion.skeleton.parents, motion.skeleton.end_parents])
    hips = at[:, [leg.root for leg in landmarks.legs]].mean(axis=1)
    down = hips - at[:, [arm.root for arm in landmarks.arms]].mean(axis=1)
    panels: dict[str, Lines] = {name: {} for name in ("Hip", "Knee", "Ankle", "Shoulder", "Elbow")}
    sides = (("left", style.PALETTE[0]), ("right", style.PALETTE[1]))
    for leg, (side, colour) in zip(landmarks.legs, sides, strict=True):
        thigh, shank = at[:, leg.middle] - at[:, leg.root], at[:, leg.end] - at[:, leg.middle]
        panels["Hip"][side] = _between(down, thigh), colour
        panels["Knee"][side] = _between(thigh, shank), colour
        toes = [int(j) for j in np.flatnonzero(parents == leg.end)]
        toes = [j for j in toes if np.linalg.norm(at[0, j] - at[0, leg.end]) > 1e-3]
        if toes:
            panels["Ankle"][side] = 90.0 - _between(shank, at[:, toes[0]] - at[:, leg.end]), colour
    for arm, (side, colour) in zip(landmarks.arms, sides, strict=True):
        upper, fore = at[:, arm.middle] - at[:, arm.root], at[:, arm.end] - at[:, arm.middle]
        panels["Shoulder"][side] = _between(down, upper), colour
        panels["Elbow"][side] = _between(upper, fore), colour
    upright = np.broadcast_to([0.0, -1.0, 0.0], down.shape)
    panels["Trunk lean"] = {"trunk": (_between(upright, down), style.PALETTE[2])}
    return {title: lines for title, lines in panels.items() if lines}


def _turning(motion: Motion, joints: list[str]) -> dict[str, Lines]:
    """Rotation of joints from their mean pose about x, y, z, degrees."""
    if not 0 < len(joints) <= MOST_PANELS:
        raise InputError(f"joints: name 1 to {MOST_PANELS} of them, not {len(joints)}")
    panels: dict[str, Lines] = {}
    for name in joints:
        q = motion.rotations[:, motion.skeleton.index(name)]
        q = np.where((q @ q[0] < 0)[:, None], -q, q)
        mean = so3.normalise(q.mean(axis=0))
        turned = np.degrees(so3.log(so3.multiply(so3.inverse(mean), q)))
        panels[name] = {axis: (turned[:, i], style.PALETTE[i]) for i, axis in enumerate("xyz")}
    return panels


def _liveliest(motion: Motion) -> list[str]:
    """The six joints that turn most."""
    steps = so3.distance(motion.rotations[1:], motion.rotations[:-1]).sum(axis=0)
    order = np.argsort(-steps, kind="stable")[:6]
    return [motion.skeleton.names[j] for j in sorted(order)]


def _between(a: Array, b: Array) -> Array:
    """Angles between vectors, degrees."""
    cross = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.degrees(np.arctan2(cross, (a * b).sum(axis=-1)))


def _speed(path: Array, frame_rate: float) -> Array:
    if len(path) < 2:
        return np.zeros(len(path))
    return np.linalg.norm(np.gradient(path, axis=0), axis=1) * frame_rate


def _segments(places: Array, present: Array) -> tuple[Array, Array, Array]:
    """Straight pieces of everyone's way `(pieces, 2, 2)`, whose they are, and the frame they start at."""
    pieces, who, when = [], [], []
    for agent in range(places.shape[1]):
        frames = np.flatnonzero(present[:, agent])
        points = places[frames, agent]
        pieces.append(np.stack([points[:-1], points[1:]], axis=1))
        who.append(np.full(max(len(frames) - 1, 0), agent))
        when.append(frames[:-1])
    return np.concatenate(pieces), np.concatenate(who), np.concatenate(when)


def _mark_ends(axes: Axes, places: Array, present: Array, colour: str) -> None:
    """A dot where everyone is last seen."""
    agents = np.flatnonzero(present.any(axis=0))
    last = len(present) - 1 - present[::-1].argmax(axis=0)
    ends = places[last[agents], agents]
    tint = [style.PALETTE[i % len(style.PALETTE)] for i in agents] if colour == "person" else style.SOFT_INK
    axes.scatter(ends[:, 0], ends[:, 1], s=26 if len(agents) <= 8 else 5, c=tint, linewidths=0, zorder=3)


def _coloured_line(axes: Axes, path: Array, values: Array) -> Any:
    from matplotlib.collections import LineCollection

    segments = np.stack([path[:-1], path[1:]], axis=1)
    line = LineCollection(
        list(segments), cmap=_sequence(), array=values[:-1], linewidths=3.0, capstyle="round"
    )
    return axes.add_collection(line)


def _from_above(axes: Axes, points: Array, *, labels: tuple[str, str]) -> None:
    """Metres, same scale both ways, with some room around."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.06 * float((high - low).max()) + 0.1
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.0)
    axes.dataLim.update_from_data_xy(np.array([low - room, high + room]), ignore=True)
    axes.autoscale_view()
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])


def _bar(figure: Figure, axes: Axes, drawn: Any, label: str) -> None:
    bar = figure.colorbar(drawn, ax=axes, shrink=0.6, aspect=24, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)


def _sequence() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("marey", list(style.SEQUENCE))


def _unique_labels(figure: Figure) -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)
