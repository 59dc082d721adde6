"""One transition between two captured frames: the best timing, blended with feet planted."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from marey._work import Progress
from marey.errors import InputError
from marey.statistics.graphs.graph import DistanceMatrix, Windows
from marey.statistics.graphs.transitions import Transition, optimal, standard, warped
from marey.surface.distances import distances
from marey.surface.interpolation import Interpolator
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animation import Animation, collect_frames
from marey.surface.synthesis.blend import blend, context_frames
from marey.surface.synthesis.placement import GroundFrames


class MadeTransition(NamedTuple):
    """A transition between two frames.

    Attributes:
        animation: The frames before it, the blended ones, and those after it.
        transition: Its path in `distances`.
        standard: The transition frame by frame, for comparison; None where a sequence is too short for it.
        distances: Of the frames that may be blended.
        ground: Contacts and places of the library's frames.
    """

    animation: Animation
    transition: Transition
    standard: Transition | None
    distances: DistanceMatrix
    ground: GroundFrames


def make_transition(
    library: Library,
    first: int,
    last: int,
    windows: Windows,
    *,
    method: str = "optimal",
    objective: Any = "mean",
    alpha: float = 0.01,
    before: int = 0,
    after: int = 0,
    name: str = "",
    progress: Progress | None = None,
) -> MadeTransition:
    """The best transition from frame `first` to frame `last` of a library, as an animation.

    Args:
        library: The sequences.
        first: Frame to leave.
        last: Frame to arrive at.
        windows: Frames that may be blended on both sides.
        method: "optimal" (best windows and timing), "warped" (given windows, best timing) or "standard"
            (given windows, frame by frame).
        objective: What is least, see :func:`~marey.statistics.graphs.transitions.optimal`.
        alpha: Cost of a frame of time, with objective "weight".
        before: Captured frames to play before it.
        after: Captured frames to play after it.
        name: Of the animation.
        progress: Called with (done, total).
    """
    apart, offsets = _window_distances(library, first, last, windows)
    here, there = first - offsets[0], last - offsets[1]
    if method == "optimal":
        found = optimal(apart, here, there, windows=windows, objective=objective, alpha=alpha)
    elif method == "warped":
        found = warped(apart, here, there, windows.longest, windows.longest, slope=windows.slope)
    else:
        found = standard(apart, here, there, windows.longest)
    plain = None
    with suppress(InputError):
        plain = standard(apart, here, there, windows.shortest)
    transition = Transition(found.path + offsets, found.cost)
    begin, end = context_frames(library, transition, before, after)
    ground = GroundFrames.of(library)
    blender = Interpolator.prepare(library.vertices(first), library.faces)
    frames = blend(library, transition, blender, ground=ground, before=before, after=after)
    total = transition.source - begin + transition.length + end - transition.destination
    animation = collect_frames(library, frames, total, name=name, progress=progress)
    return MadeTransition(animation, found, plain, apart, ground)


def _window_distances(
    library: Library, first: int, last: int, windows: Windows
) -> tuple[DistanceMatrix, Any]:
    """Pose distances of the frames that may be blended, and what takes their numbers to the library's."""
    parts: list[MeshSequence] = []
    offsets = []
    for frame, ahead in ((first, True), (last, False)):
        sequence, local = library.locate(frame)
        whole = library.sequences[sequence]
        begin = local if ahead else max(0, local - windows.longest + 1)
        end = min(whole.frames, local + windows.longest) if ahead else local + 1
        offsets.append(frame - local + begin - sum(part.frames for part in parts))
        parts.append(whole[begin:end].renamed(whole.name))
    return distances(Library(tuple(parts))), np.array(offsets)
