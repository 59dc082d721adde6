"""Chosen poses of a clip side by side, each with balls where its targets are: to compare, not for travel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.body.motion import Motion
from marey.body.steer.requests import TimedReach, targets
from marey.io._files import atomic_write
from marey.io.images import encode_image
from marey.views.actors import Actor
from marey.views.shots import strip
from marey.views.troupe import across_view, troupe

Array = NDArray[np.float64]


def row(
    motion: Motion, frames: Sequence[int], *, marks: ArrayLike | None = None, apart: float = 1.1
) -> Actor:
    """Poses of some frames as one actor of a single frame, from left to right.

    marks: `(frames, marks, 3)`, metres, where balls are beside each of them; NaN where there is none
    apart: metres between the roots

    >>> import marey
    >>> actor = row(marey.samples.walk(), [10, 40, 70])
    >>> actor.frames, bool(np.ptp(actor.vertices(0)[:, [0, 2]], axis=0).max() > 2.0)
    (1, True)
    """
    poses = [motion[int(frame)] for frame in frames]
    right = across_view(poses[0])
    shifts = np.array(
        [i * apart * right - pose.root[0] * [1.0, 0.0, 1.0] for i, pose in enumerate(poses)], dtype=np.float64
    )
    places = np.empty((1, 0, 3))
    if marks is not None:
        given = np.asarray(marks, dtype=np.float64) + shifts[:, None]
        flat = given.reshape(-1, 3)
        places = flat[np.isfinite(flat).all(axis=1)][None]
    return troupe(poses, shifts=shifts, marks=places)


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
    images = [strip(row(clip, frames, marks=marks), (1280, 400)) for clip in (before, after)]
    with atomic_write(path) as draft:
        draft.write_bytes(encode_image(np.concatenate(images), path.suffix))
