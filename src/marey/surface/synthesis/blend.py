"""Meshes of transitions and mixtures of whole clips, placed in the world (Boukhayma 2017, section 3.4.1).

Where each frame stands comes from :class:`~marey.surface.synthesis.placement.Placement`; here the two poses
are taken at their times, between captured frames if need be, rotated to one heading, blended and put there
(algorithm 2). Whole clips of similar motions are aligned by a time warp with limited slope and blended with
any weight, constant or changing, so that a left and a right turn give a straight walk (figure 3.14); the
mixture takes as long as its parts do on average. Trimming ends avoids a fast catch-up when clips are out of
phase. Cost: one interpolation a frame, of which one mesh is in memory; for clips also their pose distances
and some hundred time warps where ends may be trimmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray
from marey._report import Report, Result
from marey._work import Progress
from marey.errors import InputError
from marey.geometry import planar
from marey.geometry.planar import PlanarMotion
from marey.geometry.resampling import linear
from marey.statistics.graphs.graph import DistanceMatrix
from marey.statistics.graphs.transitions import Transition, smooth_path, warped
from marey.surface.contacts import compare_foot_skate
from marey.surface.distances import distances, yaw_between
from marey.surface.interpolation import Interpolator
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animation import Animation, Frame, collect_frames
from marey.surface.synthesis.placement import FootLock, GroundFrames, Placement, turns_between

Weight = ArrayLike | Callable[[Array], Array]

EVENNESS = 0.001
"""Radians a frame of the time warp costs: where poses do not decide, time passes evenly."""


class Blender(Protocol):
    """What blends two poses of one heading: an `Interpolator` of marey.surface.interpolation, or LINEAR."""

    def between(self, first: FloatArray, second: FloatArray, weight: float) -> FloatArray:
        """Vertices `(vertices, 3)` between two poses; `weight` is that of the second."""


class _Linear:
    def between(self, first: FloatArray, second: FloatArray, weight: float) -> FloatArray:
        return first + np.asarray(weight * (second - first), first.dtype)


LINEAR: Blender = _Linear()


def captured_frame(
    library: Library, frame: int, placed: PlanarMotion, *, height_offset: float = 0.0
) -> Frame:
    """A captured frame moved along the ground, and up by `height_offset` metres."""
    vertices = placed.apply(library.vertices(frame))
    vertices[:, 1] += height_offset
    return Frame(vertices, frame, frame, 0.0, False)


def placed_frames(
    library: Library,
    ground: GroundFrames,
    placement: Placement,
    blender: Blender,
    placed: PlanarMotion,
    *,
    height_offset: float = 0.0,
    foot_lock: FootLock | None = None,
) -> Iterator[Frame]:
    """The meshes of the placement of one transition.

    Args:
        library: of the frames.
        ground: of the library.
        placement: where the frames stand.
        blender: of poses.
        placed: how its first frame is moved along the ground.
        height_offset: and up, metres.
        foot_lock: holds touching patches where the placement has them.
    """
    shifts = None if foot_lock is None else foot_lock.shifts(placement)
    for t, (times, weight) in enumerate(zip(placement.times, placement.weights.tolist(), strict=True)):
        sides = []
        for time, turn in zip(
            times, (placement.source_turns[t], placement.destination_turns[t]), strict=True
        ):
            pose = _pose_at(library, float(time))
            pose[:, 1] -= linear(ground.contacts.floors, [time])[0]
            sides.append(PlanarMotion.about(planar.centroid(pose), turn, np.zeros(2)).apply(pose))
        inner = 0 < weight < 1
        here, there = sides
        vertices = np.array(blender.between(here, there, weight) if inner else sides[int(weight)])
        vertices[:, 0::2] -= planar.centroid(vertices).astype(vertices.dtype)
        if foot_lock is not None and shifts is not None and inner:
            foot_lock.lock(vertices, here, there, weight, placement.touching[t], shifts[t])
        vertices[:, 1] += placement.floors[t] + height_offset
        vertices[:, 0::2] += placement.positions[t].astype(vertices.dtype)
        source, destination = (int(time) for time in times)
        synthetic = inner or bool(times[int(weight)] % 1)
        if not synthetic:
            source = destination = destination if weight == 1 else source
        yield Frame(placed.apply(vertices), source, destination, weight if synthetic else 0.0, synthetic)


def align_clips(library: Library, apart: DistanceMatrix, *, slope: int = 3, trim: float = 0.0) -> Transition:
    """Which frames of two clips correspond, from their first to their last.

    Args:
        library: of both clips.
        apart: its pose distances.
        slope: neither clip passes more than so many times as fast as the other.
        trim: seconds that one of the clips may lose at either end, if both are in phase sooner for it.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> both = Library((walk[:40], walk[10:50]))
    >>> align_clips(both, distances(both)).path[[0, -1]].tolist()
    [[0, 40], [39, 79]]
    >>> align_clips(both, distances(both), trim=0.4).path[[0, -1]].tolist()
    [[9, 40], [39, 71]]
    """
    if not (np.isfinite(trim) and trim >= 0):
        raise InputError(f"trim: must not be negative, got {trim}")
    height, width = np.diff(library.starts).tolist()

    def over(begin: int, end: int) -> Transition:
        """With `begin` and `end` frames cut off the first clip, or, below 0, off the second."""
        rows = height - max(begin, 0) - max(end, 0)
        columns = width + min(begin, 0) + min(end, 0)
        last = height + width - 1 + min(end, 0)
        return warped(apart, max(begin, 0), last, rows, columns, slope=slope, alpha=EVENNESS)

    whole = over(0, 0)
    # At most a third of the shorter clip is cut off at either end.
    most = min(round(trim * library.frame_rate), min(height, width) // 3)
    if most == 0:
        return whole
    # A frame cut off costs as much as a mean one of the whole match: none is cut off for nothing.
    price = whole.cost / whole.length + EVENNESS
    end = _least_cost(lambda cut: over(0, cut), most, price)
    begin = _least_cost(lambda cut: over(cut, end), most, price)
    return over(begin, end)


def _pose_at(library: Library, time: float) -> FloatArray:
    """Vertices `(vertices, 3)` at a time between captured frames, a copy."""
    before = int(time)
    vertices = np.array(library.vertices(before))
    if time > before:
        step = (time - before) * (library.vertices(before + 1) - vertices)
        vertices += step.astype(vertices.dtype)
    return vertices


def _least_cost(aligned: Callable[[int], Transition], most: int, price: float) -> int:
    """How many frames to cut off one clip, or, below 0, off the other."""
    best, least = 0, aligned(0).cost
    for cut in sorted(range(-most, most + 1), key=abs):
        try:
            cost = aligned(cut).cost + price * abs(cut)
        except InputError:  # what is left of the clips differs too much in length
            continue
        if cost < least:
            best, least = cut, cost
    return best


def _weights_along(weight: Weight, times: Array, frame_rate: float) -> Array:
    """Weights of the second clip at each row of `times`, from one, from several, or from a function."""
    if callable(weight):
        # By the mixture's own time, which passes as the weights say: step by step.
        weights, passed = np.empty(len(times)), 0.0
        for i, step in enumerate(np.diff(times, axis=0, append=times[-1:])):
            weights[i] = _checked_weights(weight(np.array([passed / frame_rate])))[0]
            passed += (1 - weights[i]) * step[0] + weights[i] * step[1]
        return weights
    given = _checked_weights(weight)
    return np.interp(np.linspace(0, 1, len(times)), np.linspace(0, 1, len(given)), given)


def _checked_weights(weight: ArrayLike) -> Array:
    given = np.atleast_1d(np.asarray(weight, np.float64))
    if given.ndim != 1 or not len(given) or not ((given >= 0) & (given <= 1)).all():
        raise InputError(f"weights: one or a list of numbers from 0 to 1, got {weight!r}")
    return given


def _mixed_pace(times: Array, weights: Array) -> tuple[Array, Array]:
    """Times and weights taken so that a frame passes at the mixed rate of both clips."""
    middle = 0.5 * (weights[1:] + weights[:-1])
    steps = np.diff(times, axis=0)
    passed = np.concatenate([[0.0], np.cumsum((1 - middle) * steps[:, 0] + middle * steps[:, 1])])
    at = np.linspace(0.0, passed[-1], max(2, round(passed[-1]) + 1))
    even = np.stack([np.interp(at, passed, column) for column in times.T], axis=1)
    # A clip of full weight is met at its own frames, not a rounding beside them.
    nearest = np.round(even)
    even = np.where(np.abs(even - nearest) < 1e-9, nearest, even)
    return even, np.interp(at, passed, weights)


def path_and_turn(sequence: MeshSequence) -> tuple[float, float]:
    """How far the middle of the body goes, metres, and by how much it turns to its left, degrees."""
    vertices, faces = sequence.vertices, sequence.faces
    middles = np.array([planar.centroid(frame) for frame in vertices])
    travelled = np.linalg.norm(np.diff(middles, axis=0), axis=1).sum()
    # Turns from frame to frame only count the whole rounds, since their errors add up; few triangles do.
    some = faces[:: max(1, len(faces) // 2000)]
    passed = sum(yaw_between(after, before, some) for before, after in pairwise(vertices))
    turn = yaw_between(vertices[-1], vertices[0], faces)
    turn += 2 * np.pi * round((passed - turn) / (2 * np.pi))
    return float(travelled), float(np.rad2deg(turn))


@dataclass(frozen=True)
class BlendReport(Report):
    """How two clips were mixed.

    Attributes:
        frames: Of the mixture.
        path_cost, path_cost_mean: Sum and mean of the pose distances along the alignment, radians.
        frames_of_first, frames_of_second: First and last frame used of each.
        travelled_first, travelled_second, travelled: Metres that the middle of the body goes.
        turned_first, turned_second, turned: Degrees that it turns to its left.
        foot_slide_ratio: Speed of feet in contact, over that in the captured frames.
    """

    frames: int
    path_cost: float
    path_cost_mean: float
    frames_of_first: tuple[int, int]
    frames_of_second: tuple[int, int]
    travelled_first: float
    travelled_second: float
    travelled: float
    turned_first: float
    turned_second: float
    turned: float
    foot_slide_ratio: float


@dataclass(frozen=True, eq=False)
class BlendResult(Result):
    """A mixture of two clips.

    Attributes:
        animation: The meshes, and where they come from.
        report: What was measured.
    """

    animation: Animation
    report: BlendReport

    @property
    def sequence(self) -> MeshSequence:
        """The meshes."""
        return self.animation.sequence


def blend(
    first: MeshSequence,
    second: MeshSequence,
    *,
    weight: Weight = 0.5,
    trim: float = 1.0,
    slope: int = 3,
    progress: Progress | None = None,
) -> BlendResult:
    """Mix two clips of one kind: a left and a right turn give a straight walk.

    Args:
        first: A clip.
        second: Another of the same subject and kind.
        weight: Of the second, 0 to 1: a number, several spread evenly over the time of the clips, or a
            function from seconds of the mixture `(n,)` to weights `(n,)`.
        trim: Seconds that either may lose at its ends to be aligned; 0 keeps both whole.
        slope: Neither passes more than so many times as fast as the other.

    >>> import marey
    >>> library = marey.samples.mesh_library(vertices=300)
    >>> blend(*library.sequences[:2]).report.frames > 20
    True
    """
    library = Library((first, second))
    apart = distances(library, progress=progress)
    match = align_clips(library, apart, slope=slope, trim=trim)
    path = smooth_path(match)
    times, weights = _mixed_pace(path, _weights_along(weight, path, library.frame_rate))
    ground = GroundFrames.of(library)
    placement = Placement.lay_out(ground, times, weights, turns_between(apart.yaw_offsets, times))
    blender = Interpolator.prepare(library.vertices(0), library.faces)
    lock = FootLock.of(library, ground)
    frames = placed_frames(library, ground, placement, blender, PlanarMotion.identity(), foot_lock=lock)
    name = "-".join(library.names)
    mixture = collect_frames(library, frames, len(times), name=name, progress=progress)
    parts = match.path - library.starts[:2]
    (far, around), (far_two, around_two), (far_both, around_both) = (
        path_and_turn(sequence) for sequence in (*library.sequences, mixture.sequence)
    )
    report = BlendReport(
        mixture.sequence.frames,
        round(match.cost, 6),
        round(match.cost / match.length, 6),
        (int(parts[0, 0]), int(parts[-1, 0])),
        (int(parts[0, 1]), int(parts[-1, 1])),
        round(far, 4),
        round(far_two, 4),
        round(far_both, 4),
        round(around, 2),
        round(around_two, 2),
        round(around_both, 2),
        round(compare_foot_skate(mixture, library, ground.contacts).ratio, 4),
    )
    return BlendResult(mixture, report)
