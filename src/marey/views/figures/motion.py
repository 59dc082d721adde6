"""Figures of clips: joint angles, paths from above, filled gaps, a clip beside what was made of it.

Each function returns a matplotlib `Figure`, to be shown, changed, or written with `style.save`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from marey._arrays import AnyArray
from marey.body.fill import FillResult
from marey.body.motion import Motion
from marey.body.restyle import RestyleResult
from marey.body.root_motion import without_carriers
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.views import style
from marey.views.mannequin_parts import Poses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
    with style.figure(size) as figure:
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
    """The path of the body over the ground, seen from above, coloured by speed; an arrow where it faces.

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
    with style.figure(size) as figure:
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
        style.frame_ground(axes, path, labels=("z (m)", "x (m)") if turned else ("x (m)", "z (m)"))
        if not turned:
            axes.invert_yaxis()
        style.colour_bar(figure, axes, drawn, "speed (m/s)")
        axes.set_title(motion.name or "Path")
        # The scale is settled in drawing; then the labels have their final widths.
        figure.draw_without_rendering()
    return figure


Lines = dict[str, tuple[AnyArray, str]]


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


def _between(a: AnyArray, b: AnyArray) -> AnyArray:
    """Angles between vectors, degrees."""
    cross = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.asarray(np.degrees(np.arctan2(cross, (a * b).sum(axis=-1))))


def _speed(path: AnyArray, frame_rate: float) -> AnyArray:
    if len(path) < 2:
        return np.zeros(len(path))
    return np.asarray(np.linalg.norm(np.gradient(path, axis=0), axis=1) * frame_rate)


def _coloured_line(axes: Axes, path: AnyArray, values: AnyArray) -> Any:
    from matplotlib.collections import LineCollection

    segments = np.stack([path[:-1], path[1:]], axis=1)
    line = LineCollection(
        list(segments), cmap=style.colour_map(), array=values[:-1], linewidths=3.0, capstyle="round"
    )
    return axes.add_collection(line)


def _unique_labels(figure: Figure) -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


MAX_JOINTS = 3
# Seconds that are shown around the gaps.
GAP_MARGIN = 0.5


def credible_bands(filling: FillResult, *, size: tuple[int, int] = (1280, 720)) -> Figure:
    """Paths of the joints that are least certain, by coordinate, with band and alternatives.

    >>> import marey
    >>> from marey.body.fill import fill
    >>> len(credible_bands(fill(marey.samples.walk(2), [(60, 90)], samples=2, rng=0)).axes)
    9
    """
    gone = np.flatnonzero(filling.gap_mask.any(axis=1))
    if not len(gone):
        raise InputError("nothing was filled: there is no gap to draw")
    motion = filling.motion
    margin = round(GAP_MARGIN * motion.frame_rate)
    first, stop = max(int(gone[0]) - margin, 0), min(int(gone[-1]) + margin + 1, motion.frames)
    shown = np.argsort(-filling.confidence_radius.mean(axis=0), kind="stable")[:MAX_JOINTS]
    time = np.arange(first, stop) / motion.frame_rate
    likeliest = motion.positions()[first:stop]
    others = [clip.positions()[first:stop] for clip in filling.samples]
    with style.figure(size) as figure:
        grid = figure.subplots(3, len(shown), sharex=True, squeeze=False)
        for column, joint in enumerate(shown):
            for axis in range(3):
                band = filling.axis_radius[first:stop, joint, axis]
                plot, line = grid[axis, column], likeliest[:, joint, axis]
                plot.fill_between(time, line - band, line + band, color=style.PALETTE[0], alpha=0.18, lw=0)
                for other in others:
                    plot.plot(time, other[:, joint, axis], color=style.SOFT_INK, lw=0.7)
                plot.plot(time, line, color=style.PALETTE[0], lw=1.8)
                plot.margins(x=0.0)
                if not column:
                    plot.set_ylabel(f"{'xyz'[axis]} (m)")
            grid[0, column].set_title(motion.skeleton.names[int(joint)])
            grid[-1, column].set_xlabel("time (s)")
        figure.draw_without_rendering()
    return figure


DOTS = 100


def before_and_after(
    before: Motion,
    after: Motion,
    joints: Sequence[str] | None = None,
    *,
    size: tuple[int, int] = (1280, 720),
) -> Figure:
    """Rotations and angular speeds of joints in two clips of one length, of the three that differ most.

    joints: which to choose from; all if None

    >>> import marey
    >>> walk = marey.samples.walk(1)
    >>> len(before_and_after(walk, walk).axes)
    6
    """
    if before.frames != after.frames or before.skeleton.names != after.skeleton.names:
        raise InputError("clips to compare need the same frames and joints")
    names = list(before.skeleton.names if joints is None else joints)
    index = np.array(before.skeleton.indices(names))
    apart = so3.distance(before.rotations[:, index], after.rotations[:, index])
    order = np.argsort(-(apart**2).mean(axis=0), kind="stable")[:MAX_JOINTS]
    time = np.arange(before.frames) / before.frame_rate
    with style.figure(size) as figure:
        grid = figure.subplots(2, len(order), sharex=True, sharey="row", squeeze=False)
        for column, joint in enumerate(index[order]):
            curves, speeds = grid[:, column]
            mean = _mean_rotation(after.rotations[:, joint])
            for clip, width, strength in ((before, 0.9, 0.45), (after, 1.8, 1.0)):
                q = clip.rotations[:, joint]
                angles = np.degrees(so3.unwrap(so3.log(so3.multiply(so3.inverse(mean), q))))
                for axis in range(3):
                    label = "xyz"[axis] if clip is after and column == 0 else None
                    look = {"color": style.PALETTE[axis], "lw": width, "alpha": strength}
                    curves.plot(time, angles[:, axis], label=label, **look)
                speed = np.degrees(so3.distance(q[1:], q[:-1])) * clip.frame_rate
                look = {"color": style.SOFT_INK if clip is before else style.PALETTE[3], "lw": width}
                speeds.plot(time[1:], speed, label="before" if clip is before else "after", **look)
            curves.set_title(names[int(order[column])])
            speeds.set_xlabel("time (s)")
            curves.margins(x=0.0)
        grid[0, 0].set_ylabel("rotation from the mean (°)")
        grid[1, 0].set_ylabel("angular speed (°/s)")
        grid[0, 0].legend(ncols=3, loc="upper right")
        grid[1, 0].legend(loc="upper right")
    return figure


def aligned_clips(
    motion: Motion,
    reference: Motion,
    restyled: RestyleResult,
    *,
    names: Sequence[str] = ("clip", "reference", "restyled"),
    size: tuple[int, int] = (1280, 980),
) -> Figure:
    """Strips of poses of a clip, its reference and what came of both; their first coordinates; the path.

    Of clip and reference only what was matched is shown. Poses stand at even times, left to right.
    """
    if not np.isclose(reference.frame_rate, motion.frame_rate):
        reference = reference.resample(motion.frame_rate)
    (first, other_first), (last, other_last) = (map(int, ends) for ends in restyled.alignment.path[[0, -1]])
    clips = motion[first : last + 1], reference[other_first : other_last + 1], restyled.motion
    with style.figure(size) as figure:
        figure.set_dpi(DOTS)
        figure.set_size_inches(size[0] / DOTS, size[1] / DOTS)
        grid = figure.add_gridspec(4, 2, height_ratios=(1, 1, 1, 1.1), width_ratios=(2.4, 1))
        for row, (clip, name) in enumerate(zip(clips, names, strict=True)):
            axes = figure.add_subplot(grid[row, :])
            axes.imshow(_poses_in_row(clip, (size[0], round(0.22 * size[1]))))
            axes.set_title(f"{name} · {clip.duration:.2f} s", pad=3)
            axes.set_axis_off()
        curves = figure.add_subplot(grid[3, 0])
        looks = ((style.PALETTE[7], 1.1), (style.PALETTE[0], 1.4), (style.PALETTE[1], 2.0))
        for clip, label, (colour, width) in zip(clips, ("clip", "reference", "result"), looks, strict=True):
            values = restyled.model.encode(without_carriers(clip))[:, 0]
            curves.plot(np.arange(clip.frames) / clip.frame_rate, values, color=colour, lw=width, label=label)
        curves.set(xlabel="time (s)", ylabel="first coordinate")
        curves.set_title("Poses in the model of both", pad=16)
        curves.legend(ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0)
        curves.margins(x=0.0)
        warp = figure.add_subplot(grid[3, 1])
        i, j = restyled.alignment.path.T
        warp.plot(j / motion.frame_rate, i / motion.frame_rate, color=style.PALETTE[3])
        warp.set(xlabel="time of the reference (s)", ylabel="time of the clip (s)")
        warp.set_title("What was matched", pad=16)
        warp.margins(0.02)
    return figure


def _poses_in_row(motion: Motion, size: tuple[int, int], count: int = 10) -> AnyArray:
    """Poses at even times, side by side, whatever the direction of the motion."""
    from marey.views.actors import side_by_side
    from marey.views.shots import strip

    figure = without_carriers(motion)
    chosen = np.rint(np.linspace(0, figure.frames - 1, min(count, figure.frames))).astype(int)
    around = figure.positions()[:, :, [0, 2]] - figure.root[:, None, [0, 2]]
    reach = float(np.linalg.norm(np.ptp(around, axis=1), axis=1).max())
    return np.asarray(strip(side_by_side(figure, chosen.tolist(), apart=0.85 * max(reach, 0.6)), size))


def _mean_rotation(q: AnyArray) -> AnyArray:
    near = np.where((q @ q[len(q) // 2] < 0)[:, None], -q, q)
    return so3.normalise(near.mean(axis=0))
