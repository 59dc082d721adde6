"""Figures of clips as images and clips: with targets, beside their variants, before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from marey._work import Progress
from marey.body.motion import Motion
from marey.body.steer.requests import TimedReach, targets
from marey.io._files import atomic_write
from marey.io.images import encode_image
from marey.io.video import write_frames
from marey.views.actors import group, side_by_side
from marey.views.render import clip_rate
from marey.views.shots import clip, strip

ORIGINAL_COLOUR = "#8a8f98"
# Metres from the root beyond which a mark is left out, and between figures side by side.
IN_VIEW, SPACING = 3.0, 1.2


def draw_figures(
    motions: Sequence[Motion],
    path: Path,
    *,
    colours: Sequence[str | None] | None = None,
    shifts: ArrayLike | None = None,
    marks: ArrayLike | None = None,
    size: tuple[int, int] = (1280, 720),
    progress: Progress | None = None,
) -> None:
    """Draw figures (see :func:`marey.views.actors.group`) as an image or, by the ending, as a clip.

    Marks far from the first figure's root are left out.
    """
    if marks is not None:
        places = np.asarray(marks, dtype=np.float64)
        near = np.linalg.norm(places - np.asarray(motions[0].root)[:, None], axis=2) < IN_VIEW
        marks = np.where(near[..., None], places, np.nan)[:, near.all(axis=0)]
    rate = motions[0].frame_rate
    if path.suffix.lower() in (".png", ".jpg"):
        image = strip(group(motions, colours=colours, shifts=shifts, marks=marks), size)
        with atomic_write(path) as draft:
            draft.write_bytes(encode_image(image, path.suffix))
        return
    if not np.isclose(rate := clip_rate(rate), motions[0].frame_rate):
        motions = [motion.resample(rate) for motion in motions]
    actors = group(motions, colours=colours, shifts=shifts, marks=marks)
    write_frames(clip(actors, size), path, frame_rate=rate, progress=progress, total=actors.frames)


def draw_variants(
    original: Motion, variants: Sequence[Motion], path: Path, progress: Progress | None
) -> None:
    """Draw a clip in grey and up to six variants of it side by side, across the direction it goes in."""
    shown = [original, *variants[:6]]
    along = np.array(original.root[-1] - original.root[0])
    length = float(np.hypot(along[0], along[2]))
    across = np.array([along[2], 0.0, -along[0]]) / length if length > 0.5 else np.array([1.0, 0.0, 0.0])
    shifts = (np.arange(len(shown)) - 0.5 * (len(shown) - 1))[:, None] * SPACING * across
    colours = [ORIGINAL_COLOUR, *[None] * (len(shown) - 1)]
    draw_figures(shown, path, colours=colours, shifts=shifts, progress=progress)


def draw_targets(before: Motion, after: Motion, requests: Sequence[TimedReach], path: Path) -> None:
    """Draw poses around targets: the original above, the result below, balls where targets are."""
    goals = targets(before, requests) if requests else []
    moments = sorted({goal.frame for goal in goals})
    last = after.frames - 1
    if len(moments) > 1:
        frames = sorted({*moments, *((a + b) // 2 for a, b in pairwise(moments))})[:10]
    elif moments:
        step = 0.2 * after.frame_rate
        frames = sorted({int(np.clip(moments[0] + i * step, 0, last)) for i in range(-2, 3)})
    else:
        frames = [int(frame) for frame in np.linspace(0, last, 5)]
    marks = np.full((len(frames), len(goals), 3), np.nan)
    for column, goal in enumerate(goals):
        marks[[frame == goal.frame for frame in frames], column] = goal.position
    images = [strip(side_by_side(shown, frames, marks=marks), (1280, 400)) for shown in (before, after)]
    with atomic_write(path) as draft:
        draft.write_bytes(encode_image(np.concatenate(images), path.suffix))
