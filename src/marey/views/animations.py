"""Pictures of new motion made from captured sequences: captured frames green, synthetic ones red, as in the
source (Boukhayma 2017, figures 3.11, 3.15 and 3.17).

The way over the ground from above beside the one asked for, what plays when, and the meshes themselves, in
their own textures if they have some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked
from marey.errors import InputError
from marey.geometry import resampling
from marey.geometry.planar import centroid
from marey.surface.library import Library
from marey.surface.synthesis.animation import Animation, Provenance
from marey.views import plots, style
from marey.views.actors import Actor, actor
from marey.views.scene import Look
from marey.views.shots import viewpoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]

CAPTURED, SYNTHETIC = "#5aa17f", "#d0604f"
SIZE = (1280, 720)
# Seconds between the marks of time along a way.
MARK_EVERY = 1.0


def cast(animation: Animation) -> Actor:
    """The animation on the stage; without a texture green where frames are captured, red where they are not.

    >>> from marey.surface import MeshSequence
    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 30)
    >>> new = cast(Animation(triangle, Provenance([0, 1], [0, 8], [0, 0.5], [False, True])))
    >>> bool(new.tints(0)[1] > new.tints(0)[0]), bool(new.tints(1)[1] > new.tints(1)[0])
    (True, False)
    """
    sequence, synthetic = animation.sequence, animation.provenance.synthetic
    plain = actor(sequence)
    # A texture shows best what was captured; a tint would hide it.
    if sequence.uv is not None and sequence.textures:
        return plain
    colours = style.linear((CAPTURED, SYNTHETIC))
    return replace(plain, tints=lambda frame: colours[int(synthetic[frame])])


def row(animation: Animation, frames: Sequence[int], *, apart: float = 1.0) -> Actor:
    """Some frames side by side from left to right, as one actor of a single frame, to be compared.

    apart: metres between their middles

    >>> from marey.surface import MeshSequence
    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 30)
    >>> new = Animation(triangle, Provenance([0, 1], [0, 8], [0, 0.5], [False, True]))
    >>> actors = row(new, [0, 1])
    >>> actors.frames, bool(np.ptp(actors.vertices(0)[:, 0]) > 1.0)
    (1, True)
    """
    if not len(frames):
        raise InputError("frames: name one or more to set side by side")
    one = cast(animation)
    towards = viewpoint(one, frontal=True)
    right = np.array([towards[2], -towards[0]]) / np.hypot(towards[0], towards[2])
    poses = []
    for place, frame in enumerate(frames):
        if not 0 <= frame < one.frames:
            raise InputError(f"frame {frame}: the animation has frames 0…{one.frames - 1}")
        pose = np.array(one.vertices(frame), np.float64)
        pose[:, 0::2] += place * apart * right - centroid(pose)
        poses.append(pose)
    together = np.concatenate(poses)
    count = len(poses[0])
    colours = style.linear((CAPTURED, SYNTHETIC))
    paints = [np.tile(colours[int(animation.provenance.synthetic[frame])], (count, 1)) for frame in frames]
    welded = np.arange(count) if one.look.welded is None else one.look.welded
    look = Look(
        np.concatenate([one.look.faces + count * k for k in range(len(poses))]),
        np.concatenate(paints),
        welded=np.concatenate([welded + count * k for k in range(len(poses))]),
        closed=one.look.closed,
    )
    middle = 0.5 * (together.min(axis=0) + together.max(axis=0))
    return Actor(
        look,
        lambda frame: together,
        1,
        one.frame_rate,
        one.size,
        middle[None],
        facing=one.facing,
        trail=False,
    )


def at_rate(animation: Animation, frame_rate: float) -> Animation:
    """The animation at another rate; each frame keeps the origin of the nearest one."""
    sequence = animation.sequence
    positions = resampling.sample_positions(sequence.frames, sequence.frame_rate, frame_rate)
    near = resampling.nearest(sequence.frames, positions)
    origin = animation.provenance
    return Animation(
        sequence.resample(frame_rate),
        Provenance(
            origin.sources[near], origin.destinations[near], origin.weights[near], origin.synthetic[near]
        ),
    )


def plan(
    animation: Animation,
    *,
    curve: ArrayLike | None = None,
    footprints: ArrayLike | None = None,
    size: tuple[int, int] = (1000, 860),
) -> Figure:
    """The way over the ground seen from above, a dot every second.

    curve: `(points, 2)`, metres along x and z: the way that was asked for
    footprints: `(prints, 2)`, metres, where feet were set down

    >>> from marey.surface import MeshSequence
    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 30)
    >>> origin = Provenance([0, 1], [0, 8], [0, 0.5], [False, True])
    >>> plan(Animation(triangle, origin), curve=[[0, 0], [0, 2]]).axes[0].get_xlabel()
    'x (m)'
    """
    sequence = animation.sequence
    way = np.array([centroid(vertices) for vertices in sequence.vertices])
    asked = None if curve is None else checked("curve", curve, (None, 2))
    prints = np.empty((0, 2)) if footprints is None else checked("footprints", footprints, (None, 2))
    figure = plots.blank(size)
    with plots.house_style():
        axes = figure.subplots()
        if asked is not None:
            axes.plot(*asked.T, color=style.FAINT, lw=9, label="asked for", zorder=1)
        axes.scatter(prints[:, 0], prints[:, 1], s=14, color=style.SOFT_INK, alpha=0.5, lw=0, zorder=2)
        _coloured_way(axes, way, animation.provenance.synthetic)
        every = max(round(MARK_EVERY * sequence.frame_rate), 1)
        marks = way[::every]
        axes.scatter(marks[:, 0], marks[:, 1], s=16, color=style.PAPER, edgecolor=style.INK, lw=0.9, zorder=4)
        axes.plot(*way[0], "o", color=style.INK, ms=7, zorder=5)
        _frame_ground(axes, np.concatenate([way, prints, *([] if asked is None else [asked])]))
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=3)
        seconds = sequence.frames / sequence.frame_rate
        axes.set_title(f"{_length(way):.1f} m in {seconds:.1f} s" + _aside(way, asked))
    return figure


def timeline(
    animation: Animation, library: Library | None = None, *, size: tuple[int, int] = (1280, 460)
) -> Figure:
    """What plays when: captured frames of each sequence in green, in red the two that are blended.

    library: whose sequences are named; if None, frames are told by their number alone

    >>> from marey.surface import MeshSequence
    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 30, name="walk")
    >>> new = Animation(triangle, Provenance([0, 1], [0, 3], [0, 0.5], [False, True]))
    >>> axes = timeline(new, Library((triangle, triangle))).axes[0]
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['walk', 'walk-2']
    """
    origin = animation.provenance
    time = np.arange(len(origin.sources)) / animation.sequence.frame_rate
    ends = np.stack([origin.sources, origin.destinations])
    figure = plots.blank(size)
    with plots.house_style():
        axes = figure.subplots()
        if library is None:
            height = ends.astype(float)
        else:
            height = _rows(axes, ends, library)
        for start, stop in _runs(origin.synthetic):
            if origin.synthetic[start]:
                axes.axvspan(time[start], time[stop - 1], color=SYNTHETIC, alpha=0.09, lw=0)
        captured, blended = ~origin.synthetic, origin.synthetic
        axes.scatter(time[captured], height[0, captured], s=14, lw=0, color=CAPTURED, label="captured")
        axes.scatter(time[blended], height[0, blended], s=14, lw=0, color=SYNTHETIC, label="synthetic")
        axes.scatter(time[blended], height[1, blended], s=14, lw=0, color=SYNTHETIC)
        axes.set_xlabel("time (s)")
        axes.margins(x=0.01)
        if library is None:
            axes.set_ylabel("frame of the library")
        share = 100 * origin.captured_frames / len(time)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=2, markerscale=2.5)
        axes.set_title(f"What plays when: {len(time)} frames, {share:.0f} % captured")
    return figure


def _rows(axes: Axes, frames: Array, library: Library) -> Array:
    """Heights of frames in a chart with a band for each sequence, its first frame at the bottom."""
    if frames.max() >= library.frames:
        raise InputError(f"animation: it uses frame {frames.max()}; the library has {library.frames}")
    starts, lengths = library.starts, np.diff(library.starts)
    which = library.sequence_of[frames]
    used = np.unique(which)
    place = np.full(len(lengths), -1)
    place[used] = np.arange(len(used))
    axes.set_yticks(np.arange(len(used)) + 0.5, [library.names[k] for k in used])
    axes.set_ylim(-0.05, len(used) + 0.05)
    for border in range(len(used) + 1):
        axes.axhline(border, color=style.FAINT, lw=0.8, zorder=0)
    axes.grid(False)
    axes.tick_params(axis="y", length=0)
    return np.asarray(
        place[which] + 0.08 + 0.84 * (frames - starts[which]) / np.maximum(lengths[which] - 1, 1)
    )


def _coloured_way(axes: Axes, way: Array, synthetic: Array) -> None:
    shown = set()
    for start, stop in _runs(synthetic):
        kind = bool(synthetic[start])
        part = way[max(start - 1, 0) : stop]
        axes.plot(
            *part.T, color=SYNTHETIC if kind else CAPTURED, lw=2.6, zorder=3,
            label=None if kind in shown else "synthetic" if kind else "captured",
        )  # fmt: skip
        shown.add(kind)


def _runs(flags: Array) -> list[tuple[int, int]]:
    """Stretches of equal values, first and behind last."""
    cuts = np.flatnonzero(np.diff(flags.astype(np.int8))) + 1
    bounds = [0, *cuts.tolist(), len(flags)]
    return list(pairwise(bounds))


def _frame_ground(axes: Axes, points: Array) -> None:
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.06 * float((high - low).max()) + 0.1
    axes.set_aspect("equal")
    axes.set_xlim(low[0] - room, high[0] + room)
    # From above x runs to the right and z down the page.
    axes.set_ylim(high[1] + room, low[1] - room)
    axes.set_xlabel("x (m)")
    axes.set_ylabel("z (m)")


def _length(way: Array) -> float:
    return float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())


def _aside(way: Array, asked: Array | None) -> str:
    """How far the way is from the one asked for, in words."""
    if asked is None:
        return ""
    near = np.full(len(way), np.inf)
    if len(asked) == 1:
        near = np.linalg.norm(way - asked[0], axis=1)
    for first, last in pairwise(asked):
        along = last - first
        t = np.clip((way - first) @ along / max(float(along @ along), 1e-12), 0, 1)
        near = np.minimum(near, np.linalg.norm(way - first - t[:, None] * along, axis=1))
    return f", {100 * near.mean():.0f} cm from the way asked for on average"
