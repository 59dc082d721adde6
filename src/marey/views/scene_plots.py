"""Scenes and simulated crowds from above: walls, starts, goals, wishes, and the ways people just went.

Streaks are those of Courty 2013, figure 33: one person in three, the last three seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marey.crowd.scene import Scene
from marey.crowd.simulation.routes import desired_directions
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.views import plots, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STREAK_SECONDS = 3.0
ONE_IN = 3
# Arrows along the longer side of a plan.
ARROWS = 40
PANELS = 4


def plan(scene: Scene, size: tuple[int, int] = (1280, 720)) -> Figure:
    """A scene as it is laid out: walls, where groups start, where they go, and which way.

    >>> from marey.crowd import scenes
    >>> plan(scenes.preset("escape")).axes[0].get_title("left")
    'escape · 240 people'
    """
    figure = plots.blank(size)
    with plots.house_style():
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


def streaks(
    crowd: SimulatedCrowd, size: tuple[int, int] = (1280, 720), *, at: list[float] | None = None
) -> Figure:
    """The ways of one person in three over the last three seconds, at some times.

    at: seconds; four spread over the crowd's time after its rest if left out
    """
    rate, end = crowd.frame_rate, (crowd.frames - 1) / crowd.frame_rate
    begin = min(crowd.scene.hold + 1.0, end)
    times = list(np.linspace(begin, end, PANELS)) if at is None else at
    columns = 1 if crowd.scene.size[0] > 2.5 * crowd.scene.size[1] else min(2, len(times))
    rows = -(-len(times) // columns)
    figure = plots.blank(size)
    back = round(STREAK_SECONDS * rate)
    with plots.house_style():
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for axes, time in zip(panels, times, strict=False):
            frame = int(np.clip(round(time * rate), 0, crowd.frames - 1))
            _ground(axes, crowd.scene)
            _streaks(axes, crowd, max(frame - back, 0), frame)
            axes.set_title(f"{frame / rate:.1f} s")
            axes.label_outer()
        for axes in panels[len(times) :]:
            axes.set_visible(False)
    return figure


def paths(crowd: SimulatedCrowd, size: tuple[int, int] = (1280, 720)) -> Figure:
    """Everyone's way among the walls."""
    figure = plots.tracks(crowd.tracks, size=size)
    with plots.house_style():
        _walls(figure.axes[0], crowd.scene)
    return figure


def _streaks(axes: Axes, crowd: SimulatedCrowd, first: int, last: int) -> None:
    from matplotlib.collections import LineCollection

    shown = np.arange(0, crowd.agents, ONE_IN)
    shown = shown[np.isfinite(crowd.positions[last, shown, 0])]
    ways = [crowd.positions[first : last + 1, person] for person in shown]
    ways = [way[np.isfinite(way[:, 0])] for way in ways]
    tints = [style.PALETTE[int(crowd.group[person]) % len(style.PALETTE)] for person in shown]
    axes.add_collection(LineCollection(ways, colors=tints, linewidths=1.1, alpha=0.8, zorder=2.5))
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
    ways = desired_directions(scene, goal).at(points)
    known = np.linalg.norm(ways, axis=-1) > 0.5
    axes.quiver(
        *points[known].T,
        *ways[known].T,
        color=colour,
        angles="xy",
        scale=1.6 * ARROWS,
        width=0.0014,
        alpha=0.7,
    )
