"""Figures of pose models and of models of motion.

Each function returns a matplotlib `Figure`, to be shown, changed, or written with `style.save`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from marey._arrays import Array
from marey.body.dynamics import MotionModel
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.statistics.geodesics.linear import NOTHING
from marey.views import style
from marey.views.actors import Actor, actor
from marey.views.camera import FIELD_OF_VIEW, Camera, direction, framing
from marey.views.renderer import Ground, Image, Renderer

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MAX_ROWS = 5
MAX_TILES = 6
STEPS = (-3, -2, -1, 0, 1, 2, 3)
MAX_DEVIATION = 2.0
SWEEP_SECONDS = 2.4
TURN, ELEVATION = np.radians(48.0), np.radians(9.0)


def pose_modes(model: PoseModel, size: tuple[int, int]) -> Figure:
    """The mean and ±1, 2, 3 standard deviations along each of the first modes.

    >>> import marey
    >>> figure = pose_modes(PoseModel.fit([marey.samples.walk()], modes=2), (640, 360))
    >>> len(figure.axes)  # 7 poses a mode
    14
    """
    rows = min(max(model.modes, 1), MAX_ROWS)
    poses = np.zeros((rows, len(STEPS), model.modes))
    for mode in range(min(rows, model.modes)):
        poses[mode, :, mode] = np.array(STEPS) * model.geodesics.deviations[mode]
    stage = _Stage(
        model, poses.reshape(rows * len(STEPS), model.modes), (size[0] // 8, int(0.86 * size[1]) // rows)
    )
    with style.figure(size) as figure:
        grid = figure.subplots(rows, len(STEPS), squeeze=False)
        shares = np.diff(model.geodesics.explained, prepend=0.0)
        for index, axes in enumerate(grid.flat):
            row, column = divmod(index, len(STEPS))
            axes.imshow(stage.image(index), interpolation="antialiased")
            axes.set(xticks=[], yticks=[])
            style.bare(axes)
            if row == 0:
                axes.set_title(_column_title(STEPS[column]), fontsize=9, loc="center", pad=4)
            if column == 0 and row < model.modes:
                text = f"mode {row + 1}\n{100 * shares[row]:.3g} %"
                axes.set_ylabel(text, rotation=0, ha="right", va="center", fontsize=9)
        figure.suptitle(_modes_title(model), x=0.01, ha="left", color=style.INK, fontsize=11)
        figure.set_layout_engine("constrained", w_pad=0.04, h_pad=0.02, wspace=0.0, hspace=0.0)
    return figure


def pose_sweep(model: PoseModel, size: tuple[int, int], frame_rate: float) -> Iterator[Image]:
    """Images of the modes swung to ±2 standard deviations and back, up to six side by side."""
    import cv2

    count = min(max(model.modes, 1), MAX_TILES)
    # Tiles that suit upright figures.
    columns = style.columns(count, 0.7, size)
    rows = -(-count // columns)
    tile = (2 * (size[0] // columns // 2), 2 * (size[1] // rows // 2))
    frames = sweep_frames(frame_rate)
    swing = MAX_DEVIATION * np.sin(2.0 * np.pi * np.arange(frames) / frames)
    poses = np.zeros((count, frames, model.modes))
    for mode in range(min(count, model.modes)):
        poses[mode, :, mode] = swing * model.geodesics.deviations[mode]
    stage = _Stage(model, poses.reshape(count * frames, model.modes), tile)
    shares = np.diff(model.geodesics.explained, prepend=0.0)
    ink = style.rgb(style.SOFT_INK)
    scale = max(tile[1] / 620, 0.3)
    for frame in range(frames):
        sheet = np.full((size[1], size[0], 3), 255, dtype=np.uint8)
        for mode in range(count):
            row, column = divmod(mode, columns)
            image = np.ascontiguousarray(stage.image(mode * frames + frame))
            if mode < model.modes:
                text = f"mode {mode + 1}, {100 * shares[mode]:.3g} %: {swing[frame]:+.1f} sd"
                place = (int(24 * scale), int(36 * scale))
                cv2.putText(image, text, place, cv2.FONT_HERSHEY_DUPLEX, 0.8 * scale, ink, 1, cv2.LINE_AA)
            sheet[row * tile[1] : (row + 1) * tile[1], column * tile[0] : (column + 1) * tile[0]] = image
        yield sheet


def sweep_frames(frame_rate: float) -> int:
    """Images in one swing to and fro."""
    return max(round(SWEEP_SECONDS * frame_rate), 2)


def mode_variance(model: PoseModel, size: tuple[int, int]) -> Figure:
    """The share of variance in the first modes, by their number (figure 8.6).

    >>> import marey
    >>> mode_variance(PoseModel.fit([marey.samples.walk()]), (640, 360)).axes[0].get_xlabel()
    'modes'
    """
    spectrum = model.geodesics.spectrum
    total = spectrum.sum()
    if total <= NOTHING:
        raise InputError(
            "this pose model has no variance to plot: it was learned from a pose that does not change"
        )
    share = 100.0 * np.concatenate([[0.0], np.cumsum(spectrum)]) / total
    shown = min(int(np.searchsorted(share, 99.95)) + 2, len(spectrum))
    with style.figure(size) as figure:
        axes = figure.subplots()
        modes = np.arange(shown + 1)
        kept = min(model.modes, shown)
        axes.bar(modes[1:], np.diff(share[: shown + 1]), color=style.FAINT, width=0.7, label="of each mode")
        axes.plot(
            modes, share[: shown + 1], color=style.PALETTE[0], marker="o", ms=3.5, label="of all up to it"
        )
        axes.plot(kept, share[kept], "o", color=style.PALETTE[1], ms=9, label=f"kept: {model.modes} modes")
        for level in (90, 95, 99):
            enough = int(np.searchsorted(share, level))
            axes.hlines(level, 0, enough, color=style.SOFT_INK, lw=0.7, ls=(0, (4, 4)))
            look: Any = {"textcoords": "offset points", "color": style.SOFT_INK, "fontsize": 8}
            axes.annotate(f"{level} %: {enough}", (enough, level), (5, -11), **look)
        axes.set(xlabel="modes", ylabel="share of variance (%)", xlim=(0, shown + 0.5), ylim=(0, 102))
        axes.set_title(_modes_title(model))
        axes.legend(loc="center right")
    return figure


class _Stage:
    """Images of poses of a model, all by the same camera; the figure stands on the ground in each."""

    def __init__(self, model: PoseModel, coordinates: Array, tile: tuple[int, int]) -> None:
        still = np.zeros((len(coordinates), 3))
        self.actor: Actor = actor(Motion(model.skeleton, _standing(model, coordinates), still, 30.0))
        self.tile = (max(tile[0], 16), max(tile[1], 16))
        some = np.unique(np.linspace(0, len(coordinates) - 1, 60).astype(int))
        placed = [self._placed(int(frame)) for frame in some]
        facing = self.actor.facing if self.actor.facing is not None else np.array([0.0, 0.0, 1.0])
        towards = direction(float(np.arctan2(facing[0], facing[2])) + TURN, ELEVATION)
        self.camera: Camera = framing(
            np.concatenate(placed), towards, self.tile, margin=0.92, field_of_view=0.6 * FIELD_OF_VIEW
        )
        ground = replace(Ground.of_size(self.actor.size), reach=1.2 * self.actor.size)
        self.scene = Renderer(self.actor.look, ground, size=self.tile, subject_size=self.actor.size)

    def image(self, index: int) -> Image:
        return self.scene.render(self._placed(index), self.camera)

    def _placed(self, index: int) -> Array:
        """The mesh with its lowest point on the ground."""
        vertices = np.array(self.actor.vertices(index), dtype=np.float64)
        vertices[:, 1] -= vertices[:, 1].min()
        return vertices


def _standing(model: PoseModel, coordinates: Array) -> Array:
    """Local rotations of poses, the root turned as it usually is."""
    rotations = so3.normalise(model.decode(coordinates))
    if model.root_motion is None:
        rotations[:, 0] = model.stance
    return rotations


def _column_title(step: int) -> str:
    return "mean" if step == 0 else f"{step:+d} sd".replace("-", "−")


def _modes_title(model: PoseModel) -> str:
    modes = "1 mode" if model.modes == 1 else f"{model.modes} modes"
    share = f"{100 * model.variance:.4g} % of the {model.metric} variance"
    return f"Pose model · {model.frames} frames, {modes}, {share}"


MAX_MODES = 4
SAMPLES = 3
# Seconds of motion, and of lags, that are shown at most.
MAX_SECONDS, MAX_LAG = 10.0, 2.0
# Standard deviations on either side that hold 95 % of a normal distribution.
WIDTH = 1.96


def process_model(model: MotionModel, size: tuple[int, int]) -> Figure:
    """The first coordinates over time, and their correlation with themselves later.

    >>> import marey
    >>> figure = process_model(MotionModel.fit(marey.samples.walk(seconds=4), modes=2), (640, 360))
    >>> len(figure.axes)  # two a coordinate
    4
    """
    shown = min(model.modes, MAX_MODES)
    rate = model.frame_rate
    frames = max(2, min(model.frames, round(MAX_SECONDS * rate)))
    lags = max(2, min(frames, round(MAX_LAG * rate)))
    time, trend = np.arange(frames) / rate, model.trend_at(frames)
    made = trend + model.deviations(frames, rng=0, count=SAMPLES)
    covariances = model.autocovariance(lags)
    spread = WIDTH * np.sqrt(covariances[0])
    with style.figure(size) as figure:
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
        grid[0, 0].set_title(_process_title(model))
        grid[0, 0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
        grid[0, 1].set_title("correlation")
        grid[-1, 0].set_xlabel("time (s)")
        grid[-1, 1].set_xlabel("later by (s)")
        figure.draw_without_rendering()
    return figure


def _process_title(model: MotionModel) -> str:
    modes = "1 mode" if model.modes == 1 else f"{model.modes} modes"
    cycle = "no cycle" if model.trend.period is None else f"a cycle of {model.trend.period:.3g} s"
    memory = "Gaussian processes" if model.order is None else f"order {model.order}"
    return f"Motion model · {model.frames} frames, {modes}, {memory}, {cycle}"
