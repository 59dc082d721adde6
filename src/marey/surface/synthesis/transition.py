"""One transition between two captured frames: the best timing, blended with feet planted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from marey._arrays import Integers
from marey._report import Report, Result
from marey._work import Progress
from marey.errors import InputError
from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs.graph import DistanceMatrix, Windows
from marey.statistics.graphs.transitions import Objective, Transition, optimal, smooth_path, standard, warped
from marey.surface.contacts import compare_foot_skate
from marey.surface.decimation import decimate
from marey.surface.distances import distances
from marey.surface.interpolation import Interpolator
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animation import Animation, Frame, collect_frames
from marey.surface.synthesis.blend import Blender, captured_frame, placed_frames
from marey.surface.synthesis.placement import FootLock, GroundFrames, Placement, aligning_turns, ease_weights


@dataclass(frozen=True)
class TransitionReport(Report):
    """Of a transition.

    Attributes:
        cost, mean_cost: Sum and mean of the pose distances along it, radians.
        length: Frames that are blended.
        windows: Frames of each side.
        standard_mean_cost: Mean cost frame by frame; None where a sequence is too short for it.
        frames, captured_frames: Of the animation.
        slide_cm_s: Speed of feet in contact.
        slide_ratio: Over that in the captured frames.
    """

    cost: float
    length: int
    mean_cost: float
    windows: tuple[int, ...]
    standard_mean_cost: float | None
    frames: int
    captured_frames: int
    slide_cm_s: float
    slide_ratio: float


@dataclass(frozen=True, eq=False)
class TransitionResult(Result):
    """A transition between two captured frames.

    Attributes:
        animation: The frames before it, the blended ones, and those after it.
        path: In `distances`.
        distances: Of the frames that may be blended.
        report: What was measured.
    """

    animation: Animation
    path: Transition
    distances: DistanceMatrix
    report: TransitionReport

    @property
    def sequence(self) -> MeshSequence:
        """The meshes."""
        return self.animation.sequence


def transition(
    source: MeshSequence,
    first: int,
    destination: MeshSequence,
    last: int,
    *,
    method: str = "optimal",
    length: int | None = None,
    before: int = 0,
    after: int = 0,
    objective: Objective = "mean",
    alpha: float = 0.01,
    slope: int = 3,
    vertices: int | None = None,
    name: str = "",
    progress: Progress | None = None,
) -> TransitionResult:
    """The best transition from one captured frame to another, feet planted.

    Args:
        source: The sequence to leave.
        first: Its frame to leave.
        destination: The sequence to arrive in; may be the same.
        last: Its frame to arrive at.
        method: "optimal" (best windows and timing), "warped" (given windows, best timing) or "standard"
            (given windows, frame by frame).
        length: Frames of both windows, or the most of them if optimal; 0.3 s, or 2 s, if None.
        before: Captured frames to play before it.
        after: Captured frames to play after it.
        objective: What is least, see :func:`~marey.statistics.graphs.transitions.optimal`.
        alpha: Cost of a frame of time, with objective "weight".
        slope: Neither side passes more than so many times as fast as the other.
        vertices: Decimate the surface to so many.
        name: Of the animation.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> transition(walk, 20, walk, 80).report.length > 3
    True
    """
    same = source is destination
    library = Library((source,)) if same else Library((source, destination))
    arrived, last = last + 1, last if same else last + source.frames
    if vertices is not None:
        library = decimate(library, vertices=vertices)
    windows = _windows(library.frame_rate, method, length, slope)
    for what, room, where in (
        ("source", source.frames - first, "from it on"),
        ("destination", arrived, "up to it"),
    ):
        if room < windows.shortest:
            raise InputError(
                f"{what}: there are {room} frames {where}, but the window needs {windows.shortest}; "
                "choose another frame, or a shorter `length`"
            )
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
    best = Transition(found.path + offsets, found.cost)
    if before < 0 or after < 0:
        raise InputError(f"frames before and after: 0 or more, got {before} and {after}")
    begin = max(0, best.source - before)
    end = min((0 if same else source.frames) + destination.frames - 1, best.destination + after)
    ground = GroundFrames.of(library)
    blender = Interpolator.prepare(library.vertices(first), library.faces)
    frames = _frames(library, best, blender, ground, begin, end)
    total = best.source - begin + best.length + end - best.destination
    animation = collect_frames(library, frames, total, name=name, progress=progress)
    skate = compare_foot_skate(animation, library, ground.contacts)
    report = TransitionReport(
        cost=round(found.cost, 6),
        length=found.length,
        mean_cost=round(found.cost / found.length, 6),
        windows=tuple(int(column.max() - column.min()) + 1 for column in found.path.T),
        standard_mean_cost=None if plain is None else round(plain.cost / plain.length, 6),
        frames=animation.sequence.frames,
        captured_frames=animation.provenance.captured_frames,
        slide_cm_s=round(100 * skate.animation.speed, 4),
        slide_ratio=round(skate.ratio, 4),
    )
    return TransitionResult(animation, found, apart, report)


def _windows(frame_rate: float, method: str, length: int | None, slope: int) -> Windows:
    usual = Windows.at(frame_rate, slope=slope)
    if method == "optimal":
        longest = usual.longest if length is None else length
        return Windows(min(usual.shortest, longest), longest, slope)
    exact = usual.shortest if length is None else length
    return Windows(exact, exact, slope)


def _frames(
    library: Library, transition: Transition, blender: Blender, ground: GroundFrames, first: int, last: int
) -> Iterator[Frame]:
    """The frames from `first` over the transition to `last`, one by one; the first where it was captured."""
    times = smooth_path(transition)
    turns = aligning_turns(library, times)
    placement = Placement.lay_out(ground, times, ease_weights(len(times)), turns)
    here = PlanarMotion.identity()
    for frame in range(first, transition.source):
        yield captured_frame(library, frame, here)
    lock = FootLock.of(library, ground)
    yield from placed_frames(library, ground, placement, blender, here, foot_lock=lock)
    move, rise = placement.arrival(ground)
    there = PlanarMotion(move.angle[0], move.shift[0])
    for frame in range(transition.destination + 1, last + 1):
        yield captured_frame(library, frame, there, height_offset=float(rise[0]))


def _window_distances(
    library: Library, first: int, last: int, windows: Windows
) -> tuple[DistanceMatrix, Integers]:
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
