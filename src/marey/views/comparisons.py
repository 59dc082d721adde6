"""A clip beside what was made of it: curves before and after a filter, performances in step.

Each function returns a matplotlib `Figure`, to be shown, changed, or written with `plots.save`. Cost: that of
the plots, and for performances of three strips of poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.body.restyle import RestyleResult
from marey.body.root_motion import without_carriers
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.views import style
from marey.views.plots import blank, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[Any]

MOST_JOINTS = 3
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
    order = np.argsort(-(apart**2).mean(axis=0), kind="stable")[:MOST_JOINTS]
    time = np.arange(before.frames) / before.frame_rate
    figure = blank(size)
    with house_style():
        grid = figure.subplots(2, len(order), sharex=True, sharey="row", squeeze=False)
        for column, joint in enumerate(index[order]):
            curves, speeds = grid[:, column]
            mean = _mean(after.rotations[:, joint])
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


def in_step(
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
    figure = blank(size)
    figure.set_dpi(DOTS)
    figure.set_size_inches(size[0] / DOTS, size[1] / DOTS)
    with house_style():
        grid = figure.add_gridspec(4, 2, height_ratios=(1, 1, 1, 1.1), width_ratios=(2.4, 1))
        for row, (clip, name) in enumerate(zip(clips, names, strict=True)):
            axes = figure.add_subplot(grid[row, :])
            axes.imshow(_row_of_poses(clip, (size[0], round(0.22 * size[1]))))
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


def _row_of_poses(motion: Motion, size: tuple[int, int], count: int = 10) -> Array:
    """Poses at even times, side by side, whichever way the figure goes."""
    from marey.views.shots import strip
    from marey.views.troupe import across_view, troupe

    figure = without_carriers(motion)
    chosen = np.rint(np.linspace(0, figure.frames - 1, min(count, figure.frames))).astype(int)
    poses = [figure[int(frame)] for frame in chosen]
    across = across_view(poses[0])
    reach = float(
        np.linalg.norm(
            np.ptp(figure.positions()[:, :, [0, 2]] - figure.root[:, None, [0, 2]], axis=1), axis=1
        ).max()
    )
    shifts = [
        0.85 * max(reach, 0.6) * place * across - np.array([pose.root[0, 0], 0.0, pose.root[0, 2]])
        for place, pose in enumerate(poses)
    ]
    return np.asarray(strip(troupe(poses, shifts=shifts), size))


def _mean(q: Array) -> Array:
    near = np.where((q @ q[len(q) // 2] < 0)[:, None], -q, q)
    return so3.normalise(near.mean(axis=0))
