"""How something is framed on the stage of a page: what must be seen, from where, and what is followed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.views.actors import Actor, first_shown, viewpoint
from marey.views.camera import smooth_path
from marey.views.pages.page import Page
from marey.views.shots import looked_at

Array = NDArray[Any]


def stage_of(
    low: Array, high: Array, *, towards: Array, size: float, ground: float | None = None
) -> dict[str, Any]:
    """A stage that shows the box from `low` to `high` (metres) from the direction `towards`.

    size: metres, of one subject; ground: its height, the lower side of the box if None

    >>> stage_of(np.zeros(3), np.ones(3), towards=np.array([0, 0, 1.0]), size=1.0)["ground"]
    0.0
    """
    return {
        "low": [float(v) for v in low],
        "high": [float(v) for v in high],
        "towards": [float(v) for v in towards],
        "size": float(size),
        "ground": float(low[1] if ground is None else ground),
    }


def frame_actor(page: Page, actor: Actor, *, ghosts: bool = True) -> None:
    """Frame a single subject, and let the page follow it."""
    poses = [np.asarray(actor.vertices(frame)) for frame in looked_at(actor)]
    low = np.min([np.nanmin(pose, axis=0) for pose in poses], axis=0)
    high = np.max([np.nanmax(pose, axis=0) for pose in poses], axis=0)
    # Toes dip below the floor when a foot is pointed, jumps rise.
    ground = float(np.quantile([np.nanmin(pose[:, 1]) for pose in poses], 0.3))
    towards = viewpoint(actor, frontal=False)
    page.stage = stage_of(low, high, towards=towards, size=actor.size, ground=ground)
    page.start = first_shown(actor)
    if actor.frames > 1:
        way = smooth_path(actor.anchors, actor.frame_rate, seconds=0.25)
        way[: page.start] = way[page.start]
        page.stage["way"] = page.exact(way)
        page.stage["travel"] = float(np.ptp(way[:, ::2], axis=0).max())
        page.stage["ghosts"] = ghosts
