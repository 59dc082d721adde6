"""Figures of crowds: tracks and simulated people from above, scenes, contact sheets of videos.

Each function returns a matplotlib `Figure`, to be shown, changed, or written with `style.save`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from marey._arrays import AnyArray
from marey.crowd.direct import DirectResult
from marey.crowd.fields import Footage
from marey.crowd.scenes import Scene
from marey.crowd.simulation.routes import desired_directions
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.views import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def tracks(
    tracks: Tracks,
    *,
    colour: Literal["person", "speed", "time"] | None = None,
    size: tuple[int, int] = (1280, 720),
) -> Figure:
    """Everyone's path over the ground plane.

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
    with style.figure(size) as figure:
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
            lines.set(cmap=style.colour_map(), array=values)
            finite = values[np.isfinite(values)]
            if len(finite):
                lines.set_clim(
                    *(np.quantile(finite, [0.01, 0.99]) if colour == "speed" else (0, finite.max()))
                )
        axes.add_collection(lines)
        _mark_ends(axes, places, present, colour)
        style.frame_ground(axes, places[present], labels=("x (m)", "y (m)"))
        if colour != "person" and len(segments):
            style.colour_bar(figure, axes, lines, "speed (m/s)" if colour == "speed" else "time (s)")
        people = "1 person" if tracks.agents == 1 else f"{tracks.agents} people"
        axes.set_title(f"{tracks.name or 'Trajectories'} · {people}, {tracks.duration:.4g} s")
        figure.draw_without_rendering()
    return figure


def _segments(places: AnyArray, present: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Straight pieces of everyone's path `(pieces, 2, 2)`, whose they are, and the frame they start at."""
    pieces, who, when = [], [], []
    for agent in range(places.shape[1]):
        frames = np.flatnonzero(present[:, agent])
        points = places[frames, agent]
        pieces.append(np.stack([points[:-1], points[1:]], axis=1))
        who.append(np.full(max(len(frames) - 1, 0), agent))
        when.append(frames[:-1])
    return np.concatenate(pieces), np.concatenate(who), np.concatenate(when)


def _mark_ends(axes: Axes, places: AnyArray, present: AnyArray, colour: str) -> None:
    """A dot where everyone is last seen."""
    agents = np.flatnonzero(present.any(axis=0))
    last = len(present) - 1 - present[::-1].argmax(axis=0)
    ends = places[last[agents], agents]
    tint = [style.PALETTE[i % len(style.PALETTE)] for i in agents] if colour == "person" else style.SOFT_INK
    axes.scatter(ends[:, 0], ends[:, 1], s=26 if len(agents) <= 8 else 5, c=tint, linewidths=0, zorder=3)


STREAK_SECONDS = 3.0
ONE_IN = 3
# Arrows along the longer side of a plan.
ARROWS = 40
PANELS = 4


def scene_plan(scene: Scene, size: tuple[int, int] = (1280, 720)) -> Figure:
    """A scene as it is laid out: walls, where groups start, where they go, and in which direction.

    >>> from marey.crowd import scenes
    >>> scene_plan(scenes.preset("escape")).axes[0].get_title("left")
    'escape · 240 people'
    """
    with style.figure(size) as figure:
        axes = figure.subplots()
        _ground(axes, scene)
        goals = list(scene.goals)
        for name, goal in scene.goals.items():
            colour = style.PALETTE[goals.index(name) % len(style.PALETTE)]
            axes.fill(
                *goal.area.T, facecolor="none", edgecolor=colour, hatch="////", linewidth=0.8, zorder=1.5
            )
            _arrows(axes, scene, name, colour)
        for group in scene.groups:
            colour = style.PALETTE[goals.index(group.goal) % len(style.PALETTE)]
            axes.fill(*group.start.T, color=colour, alpha=0.18, linewidth=0, zorder=1)
            label = f"{group.people} to {group.goal}" + (f", {group.rate:g} per s" if group.rate else "")
            axes.plot([], [], "s", color=colour, alpha=0.6, label=label)
        if scene.groups:
            axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.1), ncols=4)
        people = sum(group.people for group in scene.groups)
        axes.set_title(f"{scene.name or 'scene'} · {people} people")
    return figure


def crowd_streaks(
    crowd: SimulatedCrowd, size: tuple[int, int] = (1280, 720), *, at: list[float] | None = None
) -> Figure:
    """The paths of one person in three over the last three seconds, at some times.

    at: seconds; four spread over the crowd's time after its rest if left out
    """
    rate, end = crowd.frame_rate, (crowd.frames - 1) / crowd.frame_rate
    begin = min(crowd.scene.hold + 1.0, end)
    times = list(np.linspace(begin, end, PANELS)) if at is None else at
    columns = 1 if crowd.scene.size[0] > 2.5 * crowd.scene.size[1] else min(2, len(times))
    rows = -(-len(times) // columns)
    back = round(STREAK_SECONDS * rate)
    with style.figure(size) as figure:
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for axes, time in zip(panels, times, strict=False):
            frame = int(np.clip(round(time * rate), 0, crowd.frames - 1))
            _ground(axes, crowd.scene)
            _draw_streaks(axes, crowd, max(frame - back, 0), frame)
            axes.set_title(f"{frame / rate:.1f} s")
            axes.label_outer()
        for axes in panels[len(times) :]:
            axes.set_visible(False)
    return figure


def crowd_paths(crowd: SimulatedCrowd, size: tuple[int, int] = (1280, 720)) -> Figure:
    """Everyone's path among the walls."""
    figure = tracks(crowd.tracks, size=size)
    with style.house_style():
        _walls(figure.axes[0], crowd.scene)
    return figure


def directed(found: DirectResult, size: tuple[int, int] = (1280, 720)) -> Figure:
    """A crowd without control and with it, at the last time that something is asked for, and the cost."""
    scenario, rate = found.scenario, found.tracks.frame_rate
    asked = [one.t for one in scenario.constraints.constraints]  # type: ignore[attr-defined]
    frame = round(rate * max(t if isinstance(t, int | float) else t[-1] for t in asked))
    goals, radius = np.asarray(scenario.people.goal), scenario.people.radius
    everywhere = np.concatenate([found.free.positions[frame], found.tracks.positions[frame]])
    low, high = everywhere.min(axis=0) - 2, everywhere.max(axis=0) + 2
    wide = high[0] - low[0] > high[1] - low[1]
    with style.figure(size) as figure:
        from matplotlib.patches import Circle

        panels = figure.subplot_mosaic(
            [["free", "cost"], ["directed", "cost"]] if wide else [["free", "directed", "cost"]],
            width_ratios=(3, 1) if wide else (2, 2, 1),
        )
        for title, shown in (("free", found.free), ("directed", found.tracks)):
            axes = panels[title]
            _walls(axes, scenario.scene)
            for person, path in enumerate(shown.positions[: frame + 1].transpose(1, 0, 2)):
                colour = style.PALETTE[int(goals[person]) % len(style.PALETTE)]
                axes.plot(*path.T, color=colour, linewidth=0.5, alpha=0.35, zorder=2)
                axes.add_patch(Circle(tuple(path[-1]), radius[person], color=colour, linewidth=0, zorder=3))
            axes.set(
                xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xlabel="x, m", ylabel="y, m"
            )
            axes.set_title(f"{title}, {frame / rate:g} s")
        panels["cost"].plot(found.report.costs)
        panels["cost"].set(xlabel="iteration", title="cost", yscale="log")
        for axis in (panels["cost"].yaxis.set_major_formatter, panels["cost"].yaxis.set_minor_formatter):
            axis("{x:g}")
    return figure


def _draw_streaks(axes: Axes, crowd: SimulatedCrowd, first: int, last: int) -> None:
    from matplotlib.collections import LineCollection

    shown = np.arange(0, crowd.agents, ONE_IN)
    shown = shown[np.isfinite(crowd.positions[last, shown, 0])]
    paths = [crowd.positions[first : last + 1, person] for person in shown]
    paths = [path[np.isfinite(path[:, 0])] for path in paths]
    tints = [style.PALETTE[int(crowd.group[person]) % len(style.PALETTE)] for person in shown]
    axes.add_collection(LineCollection(paths, colors=tints, linewidths=1.1, alpha=0.8, zorder=2.5))
    x, y = crowd.positions[last, shown].T
    axes.scatter(x, y, s=5, c=tints, linewidths=0, zorder=3)


def _ground(axes: Axes, scene: Scene) -> None:
    width, depth = scene.size
    axes.set_aspect("equal")
    axes.set_xlim(0, width)
    axes.set_ylim(0, depth)
    axes.grid(visible=False)
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    _walls(axes, scene)


def _walls(axes: Axes, scene: Scene) -> None:
    for obstacle in scene.obstacles:
        axes.fill(*obstacle.T, color=style.SOFT_INK, alpha=0.55, linewidth=0, zorder=2)


def _arrows(axes: Axes, scene: Scene, goal: str, colour: str) -> None:
    step = max(scene.size) / ARROWS
    x, y = np.meshgrid(np.arange(0.5 * step, scene.size[0], step), np.arange(0.5 * step, scene.size[1], step))
    points = np.stack([x.ravel(), y.ravel()], axis=-1)
    directions = desired_directions(scene, goal).at(points)
    known = np.linalg.norm(directions, axis=-1) > 0.5
    look: Any = {"color": colour, "angles": "xy", "scale": 1.6 * ARROWS, "width": 0.0014, "alpha": 0.7}
    axes.quiver(*points[known].T, *directions[known].T, **look)


Image = NDArray[np.uint8]

MOST_TILES = 12


def contact_sheet(footage: Footage, size: tuple[int, int]) -> Figure:
    """Up to twelve frames, equally far apart in time, each with its time."""
    count = min(footage.frames, MOST_TILES)
    chosen = np.unique(np.rint(np.linspace(0, footage.frames - 1, count)).astype(int))
    columns = style.columns(len(chosen), footage.columns / footage.rows, size)
    rows = -(-len(chosen) // columns)
    with style.figure(size) as figure:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat:
            axes.set_axis_off()
        for axes, frame in zip(grid.flat, chosen, strict=False):
            image = fitted(footage.read(int(frame)), (size[0] // columns, size[1] // rows))
            axes.imshow(image, interpolation="antialiased")
            axes.set_title(f"{frame / footage.frame_rate:.2f} s", fontsize=8, pad=3)
        figure.suptitle(
            f"{footage.name or 'Footage'} · {footage.columns} × {footage.rows}, {footage.frames} frames, "
            f"{footage.duration:.4g} s",
            x=0.01,
            ha="left",
            fontsize=11,
        )
    return figure


def footage_clip(footage: Footage, size: tuple[int, int]) -> Iterator[Image]:
    """Every frame, made smaller if it exceeds (columns, rows); its shape is kept."""
    for image in footage:
        yield fitted(image, size)


def fitted(image: Any, size: tuple[int, int]) -> Image:
    """An image made smaller if it exceeds (columns, rows)."""
    import cv2

    rows, columns = image.shape[:2]
    factor = min(size[0] / columns, size[1] / rows, 1.0)
    if factor == 1.0:
        return np.asarray(image)
    # Video codecs want even numbers.
    fitted = (max(2 * int(columns * factor / 2), 2), max(2 * int(rows * factor / 2), 2))
    return np.asarray(cv2.resize(image, fitted, interpolation=cv2.INTER_AREA))
