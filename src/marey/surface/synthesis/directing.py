"""Animations made to order: along a path, through poses at times, or from one frame to another.

Boukhayma 2017, section 3.5. Each order is first answered by a walk through the graph, without a mesh; then
the walk is played. Cost: the search, then a few milliseconds a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._progress import Progress
from marey.errors import InputError
from marey.geometry.paths import Path
from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs.graph import Walk
from marey.statistics.graphs.shortest import shortest_walk
from marey.statistics.graphs.timed import TimedWalk, walk_through
from marey.surface.synthesis.animation import Animation
from marey.surface.synthesis.following import Followed, follow
from marey.surface.synthesis.foot_slide import FootSlide, foot_slide
from marey.surface.synthesis.root_clips import RootClips
from marey.surface.synthesis.streaming import Performer, synthesize
from marey.surface.synthesis.surface_graph import SurfaceGraph
from marey.surface.synthesis.ways import worth_trying

Pose = int | str
"""A frame of the library: its number, or `"SEQUENCE:FRAME"`."""


@dataclass(frozen=True, eq=False)
class Directed:
    """An animation made to order, and how well it keeps to it.

    animation: the meshes and where each comes from
    walk, start: through the graph, and how its first frame is placed
    followed: how it keeps to a path, if one was asked for
    retimed: how it keeps to times, if some were asked for
    foot_slide: beside that of the captured frames it is made of
    """

    animation: Animation
    walk: Walk
    start: PlanarMotion
    followed: Followed | None
    retimed: TimedWalk | None
    foot_slide: FootSlide


def follow_path(
    repertoire: SurfaceGraph,
    path: Path | ArrayLike,
    *,
    track: int | Sequence[int] | None = None,
    accuracy: float = 5.0,
    width: int = 500,
    start: Pose | None = None,
    progress: Progress | None = None,
) -> Directed:
    """An animation along a curve, or along the polygon through points `(n, 2)` (x, z) or `(n, 3)`.

    track: the vertex, or the middle of those, that keeps to the curve; the middle of the body, if None
    accuracy, width: as of :func:`~marey.surface.synthesis.following.follow`
    start: the frame to begin with; any that fits, if None
    progress: told how far along the curve the search has come, then how many frames are made
    """
    curve = path if isinstance(path, Path) else Path.through(path)
    performer = Performer.prepare(repertoire)
    clips = RootClips.of(repertoire, track, tracks=performer.tracks, edges=worth_trying(repertoire))
    first = None if start is None else repertoire.library.frame(start)
    found = follow(
        repertoire, curve, clips=clips, accuracy=accuracy, width=width, start=first, progress=progress
    )
    return _played(performer, found.walk, found.start, followed=found, progress=progress)


def take_poses(
    repertoire: SurfaceGraph,
    poses: Sequence[Pose],
    seconds: Sequence[float],
    *,
    tolerance: float = 0.0,
    progress: Progress | None = None,
) -> Directed:
    """An animation that takes captured poses at given times.

    seconds: rising; the first pose is the first frame
    tolerance: seconds by which a pose may miss its time where that deforms less
    """
    rate = repertoire.library.frame_rate
    times = [round(float(moment) * rate) for moment in np.asarray(seconds, np.float64)]
    frames = [repertoire.library.frame(pose) for pose in poses]
    found = walk_through(repertoire.graph, frames, times, tolerance=round(tolerance * rate))
    performer = Performer.prepare(repertoire)
    return _played(performer, found.walk, PlanarMotion.identity(), retimed=found, progress=progress)


def go(
    repertoire: SurfaceGraph,
    start: Pose,
    end: Pose,
    *,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Directed:
    """The best animation from one captured frame to another, lasting as long as asked, if asked."""
    if seconds is not None:
        if not (np.isfinite(seconds) and seconds > 0):
            raise InputError(f"seconds: must be above 0, got {seconds}")
        return take_poses(repertoire, [start, end], [0.0, seconds], progress=progress)
    library = repertoire.library
    walk = shortest_walk(repertoire.graph, library.frame(start), library.frame(end))
    return _played(Performer.prepare(repertoire), walk, PlanarMotion.identity(), progress=progress)


def _played(
    performer: Performer,
    walk: Walk,
    start: PlanarMotion,
    *,
    followed: Followed | None = None,
    retimed: TimedWalk | None = None,
    progress: Progress | None = None,
) -> Directed:
    animation = synthesize(performer, walk, start=start, progress=progress)
    slid = foot_slide(animation, performer.repertoire.library, performer.tracks.contacts)
    return Directed(animation, walk, start, followed, retimed, slid)
