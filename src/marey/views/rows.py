"""Chosen poses of a clip side by side, each with balls where its targets are: to compare, not for travel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.body.motion import Motion
from marey.views.actors import Actor
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
