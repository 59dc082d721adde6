"""Meshes of a transition, placed in the world (Boukhayma 2017, section 3.4.1 and algorithm 2).

Where each frame stands comes from :class:`~marey.surface.synthesis.course.Course`; here the two poses are
taken at their moments, between captured frames if need be, turned to one heading, blended and put there. One
mesh is in memory at a time. Cost: one interpolation a frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import FloatArray
from marey.errors import InputError
from marey.geometry import planar
from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs.transitions import Transition, smooth_path
from marey.surface.library import Library
from marey.surface.synthesis.course import Course, Ease, eased
from marey.surface.synthesis.footing import Footing
from marey.surface.synthesis.tracks import Tracks, aligning_turns, turns_between

Array = NDArray[np.float64]


class Blender(Protocol):
    """What blends two poses of one heading: an `Interpolator` of marey.surface.interpolation, or LINEAR."""

    def between(self, first: FloatArray, second: FloatArray, weight: float) -> FloatArray:
        """Vertices `(vertices, 3)` between two poses; `weight` is the share of the second."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A mesh of an animation, and where it comes from.

    vertices: `(vertices, 3)`, in the world
    source, destination: captured frames that were blended, numbers of the library; rounded down if between
    weight: share of the destination
    synthetic: whether it was blended; else it is the captured `source`, moved along the ground
    """

    vertices: FloatArray
    source: int
    destination: int
    weight: float
    synthetic: bool


class _Linear:
    def between(self, first: FloatArray, second: FloatArray, weight: float) -> FloatArray:
        return first + np.asarray(weight * (second - first), first.dtype)


LINEAR: Blender = _Linear()


def blend(
    library: Library,
    transition: Transition,
    blender: Blender = LINEAR,
    *,
    placed: PlanarMotion | None = None,
    ease: Ease = "smooth",
    weights: ArrayLike | None = None,
    tracks: Tracks | None = None,
    anchored: bool = True,
    smooth_time: bool = True,
    before: int = 0,
    after: int = 0,
) -> Iterator[Frame]:
    """The frames of a transition, one by one, beginning where the source frame stands.

    blender: non-linear from `Interpolator.prepare`, or LINEAR
    placed: how the source frame is moved along the ground; where it was captured, if None
    ease: how the share of the destination grows, at first and at last slowly ("smooth") or evenly
    weights: the shares instead, one for all or one a frame
    tracks: of the library, if at hand
    anchored: what touches the ground stays there; False is the source's rule
    smooth_time: let both clips flow through the steps of the time warp, instead of holding frames
    before, after: captured frames to play before the transition, and after it; fewer where a sequence ends

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()[:40]
    >>> path = np.stack([np.arange(5, 15), np.arange(20, 30)], 1)
    >>> frames = list(blend(Library((walk,)), Transition(path, 0.0)))
    >>> len(frames), frames[0].synthetic, frames[5].synthetic, frames[-1].source
    (10, False, True, 29)
    """
    known = Tracks.of(library) if tracks is None else tracks
    times = smooth_path(transition) if smooth_time else transition.path.astype(np.float64)
    turns = turns_between(*aligning_turns(library, times))
    shares = eased(len(times), ease) if weights is None else checked_shares(weights, len(times))
    course = Course.lay_out(known, times, shares, turns, anchored=anchored)
    first, last = played_around(library, transition, before, after)
    here = PlanarMotion.identity() if placed is None else placed
    for frame in range(first, transition.source):
        yield captured_frame(library, frame, here)
    yield from course_frames(
        library, known, course, blender, here, footing=Footing.of(library, known) if anchored else None
    )
    move, rise = course.arrival(known)
    there = here.compose(PlanarMotion(move.angle[0], move.shift[0]))
    for frame in range(transition.destination + 1, last + 1):
        yield captured_frame(library, frame, there, lift=float(rise[0]))


def played_around(library: Library, transition: Transition, before: int, after: int) -> tuple[int, int]:
    """First frame played before a transition and last one after it, within their sequences."""
    if before < 0 or after < 0:
        raise InputError(f"frames before and after: 0 or more, got {before} and {after}")
    starts = library.starts
    first = starts[library.locate(transition.source)[0]]
    last = starts[library.locate(transition.destination)[0] + 1] - 1
    return int(max(first, transition.source - before)), int(min(last, transition.destination + after))


def captured_frame(library: Library, frame: int, placed: PlanarMotion, *, lift: float = 0.0) -> Frame:
    """A captured frame moved along the ground, and up by `lift` metres."""
    vertices = placed.apply(library.vertices(frame))
    if lift:
        vertices[:, 1] += lift
    return Frame(vertices, frame, frame, 0.0, False)


def course_frames(
    library: Library,
    tracks: Tracks,
    course: Course,
    blender: Blender,
    placed: PlanarMotion,
    *,
    lift: float = 0.0,
    footing: Footing | None = None,
) -> Iterator[Frame]:
    """The meshes of a course of one transition.

    placed, lift: how the source frame is moved along the ground, and up, metres
    footing: keeps touching patches where the course has them
    """
    floors = tracks.contacts.floors
    shifts = None if footing is None else footing.shifts(course, tracks)
    for t in range(len(course.times)):
        weight = float(course.weights[t])
        sides = []
        for moment, turn in zip(
            course.times[t], (course.source_turns[t], course.destination_turns[t]), strict=True
        ):
            pose = between_frames(library, float(moment))
            pose[:, 1] -= _value_at(floors, float(moment))
            sides.append(PlanarMotion.about(planar.centroid(pose), turn, np.zeros(2)).apply(pose))
        vertices = np.array(_blended(blender, sides[0], sides[1], weight))
        vertices[:, 0::2] -= planar.centroid(vertices).astype(vertices.dtype)
        if footing is not None and shifts is not None and 0 < weight < 1:
            footing.keep(vertices, sides[0], sides[1], weight, course.touching[t], shifts[t])
        vertices[:, 1] += course.floors[t] + lift
        vertices[:, 0::2] += course.positions[t].astype(vertices.dtype)
        source, destination = (int(moment) for moment in course.times[t])
        synthetic = _is_synthetic(course.times[t], weight)
        if not synthetic:
            source = destination = destination if weight == 1 else source
        yield Frame(placed.apply(vertices), source, destination, weight if synthetic else 0.0, synthetic)


def between_frames(library: Library, moment: float) -> FloatArray:
    """Vertices `(vertices, 3)` at a moment between captured frames, a copy."""
    before = int(moment)
    share = moment - before
    vertices = np.array(library.vertices(before))
    if share > 0:
        vertices += np.asarray(share * (library.vertices(before + 1) - vertices), vertices.dtype)
    return vertices


def checked_shares(weights: ArrayLike, length: int) -> Array:
    """Shares of the destination in 0…1, one for each of `length` frames."""
    given = np.asarray(weights, np.float64)
    if given.shape not in ((), (length,)):
        raise InputError(f"weights: give one, or {length}, one a frame; got {given.shape}")
    if not (np.isfinite(given).all() and (given >= 0).all() and (given <= 1).all()):
        raise InputError("weights: shares of the destination lie in 0…1")
    return np.array(np.broadcast_to(given, (length,)))


def _is_synthetic(times: Array, weight: float) -> bool:
    if weight == 0:
        return bool(times[0] != int(times[0]))
    return bool(times[1] != int(times[1])) if weight == 1 else True


def _blended(blender: Blender, first: FloatArray, second: FloatArray, weight: float) -> FloatArray:
    if weight == 0:
        return first
    return second if weight == 1 else blender.between(first, second, weight)


def _value_at(values: Array, moment: float) -> float:
    before = int(moment)
    share = moment - before
    return float(
        values[before] + share * (values[before + 1] - values[before]) if share > 0 else values[before]
    )
