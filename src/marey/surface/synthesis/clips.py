"""Whole clips laid over each other in time, and mixed: a left and a right turn give a straight walk
(Boukhayma 2017, figure 3.14).

Clips of like motions are aligned by a time warp with limited slope, then blended with any weight, constant or
changing; the mixture takes as long as its parts do on average. Clips out of step may lose a little at their
ends, or one would have to hurry until it has caught up. Averaging many clips that correspond badly damps the
motion. Cost: the pose distances of both clips, some hundred time warps if ends may be cut off, and one
interpolation a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._progress import Progress
from marey.errors import InputError
from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs.transitions import Transition, smooth_path, warped
from marey.surface.distances import DistanceMatrix, distances
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation
from marey.surface.synthesis.appearance import gathered
from marey.surface.synthesis.blending import Blender, checked_shares, course_frames
from marey.surface.synthesis.course import Course
from marey.surface.synthesis.footing import Footing
from marey.surface.synthesis.tracks import Tracks, turns_between

Array = NDArray[np.float64]
Share = ArrayLike | Callable[[Array], Array]

# Radians a frame of the path costs beside its distance: where poses do not tell, time passes evenly.
EVENNESS = 0.001
# At most so much of the shorter clip is cut off at either end.
MOST_CUT = 1 / 3


def synchronise(
    library: Library,
    first: str,
    second: str,
    *,
    apart: DistanceMatrix | None = None,
    slope: int = 3,
    trim: float = 0.0,
) -> Transition:
    """Which frames of two clips correspond, from their first to their last.

    first, second: names of sequences of the library
    apart: pose distances of the library, if at hand; else those of the two clips are measured
    slope: neither clip passes more than so many times as fast as the other
    trim: seconds that one of the clips may lose at either end, if both are in step sooner for it

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> both = Library((walk[:40].renamed("a"), walk[10:50].renamed("b")))
    >>> synchronise(both, "a", "b").path[[0, -1]].tolist()
    [[0, 40], [39, 79]]
    >>> synchronise(both, "a", "b", trim=0.4).path[[0, -1]].tolist()
    [[9, 40], [39, 71]]
    """
    compared, offsets = _compared(library, first, second, apart)
    found = _matched(compared, library, first, second, offsets, slope, trim)
    return Transition(found.path + offsets, found.cost)


def blend_clips(
    library: Library,
    first: str,
    second: str,
    weight: Share = 0.5,
    *,
    blender: Blender | None = None,
    apart: DistanceMatrix | None = None,
    slope: int = 3,
    trim: float = 0.0,
    tracks: Tracks | None = None,
    placed: PlanarMotion | None = None,
    progress: Progress | None = None,
) -> Animation:
    """A mixture of two clips, beginning where the first stands.

    weight: share of the second clip, 0…1; several are spread evenly over the time of the clips; or a function
        from seconds of the mixture `(n,)` to shares `(n,)`
    blender: of poses; non-linear, if None
    tracks, apart: of the library, if at hand
    slope, trim: as of :func:`synchronise`
    """
    compared, offsets = _compared(library, first, second, apart)
    match = _matched(compared, library, first, second, offsets, slope, trim)
    local = smooth_path(match)
    times, shares = _paced(local, _spread(weight, local, library.frame_rate))
    turns = turns_between(compared.yaw_offsets, times)
    times = times + offsets
    known = Tracks.of(library) if tracks is None else tracks
    if blender is None:
        from marey.surface.interpolation import Interpolator

        blender = Interpolator.prepare(np.asarray(library.vertices(0), np.float64), library.faces)
    course = Course.lay_out(known, times, shares, turns)
    frames = course_frames(
        library, known, course, blender, PlanarMotion.identity() if placed is None else placed,
        footing=Footing.of(library, known),
    )  # fmt: skip
    return gathered(library, frames, len(times), name=f"{first}-{second}", progress=progress)


def blend_several(
    library: Library, names: Sequence[str], weights: ArrayLike, *, slope: int = 3
) -> MeshSequence:
    """A mixture of several clips, taken in one after another.

    weights: `(clips,)`, shares of the clips; they need not sum to 1
    """
    shares = np.asarray(weights, np.float64)
    if len(names) < 2 or shares.shape != (len(names),):
        raise InputError(f"blend: give two clips or more, and a weight for each; got {len(names)} clips")
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares[0] > 0):
        raise InputError("blend: weights must not be negative, and the first above 0")
    chosen = [library.sequences[library.locate(library.number(name))[0]] for name in names]
    mixed = chosen[0]
    for i in range(1, len(chosen)):
        pair = Library((mixed.renamed("mixed"), chosen[i].renamed("next")))
        share = float(shares[i] / shares[: i + 1].sum())
        mixed = blend_clips(pair, "mixed", "next", share, slope=slope).sequence
    return mixed.renamed("-".join(names))


def _compared(
    library: Library, first: str, second: str, apart: DistanceMatrix | None
) -> tuple[DistanceMatrix, NDArray[np.int64]]:
    """Pose distances with those of both clips, and what takes their frames' numbers to the library's."""
    if apart is not None:
        return apart, np.zeros(2, np.int64)
    one, two = (library.sequences[library.locate(library.number(name))[0]] for name in (first, second))
    starts = np.array([library.number(name) for name in (first, second)])
    return distances(Library((one, two.renamed("other clip")))), starts - [0, one.frames]


def _matched(
    apart: DistanceMatrix,
    library: Library,
    first: str,
    second: str,
    offsets: NDArray[np.int64],
    slope: int,
    trim: float,
) -> Transition:
    """The path over two clips, in numbers of `apart`."""
    if not (np.isfinite(trim) and trim >= 0):
        raise InputError(f"trim: must not be negative, got {trim}")
    (top, height), (left, width) = (
        (library.number(name) - int(offset), library.number(name, -1) - library.number(name) + 1)
        for name, offset in zip((first, second), offsets, strict=True)
    )

    def over(begin: int, end: int) -> Transition:
        """With `begin` and `end` frames cut off the first clip, or, below 0, off the second."""
        rows = height - max(begin, 0) - max(end, 0)
        columns = width + min(begin, 0) + min(end, 0)
        last = left + width - 1 + min(end, 0)
        return warped(apart, top + max(begin, 0), last, rows, columns, slope=slope, alpha=EVENNESS)

    whole = over(0, 0)
    most = min(round(trim * library.frame_rate), int(MOST_CUT * min(height, width)))
    if most == 0:
        return whole
    # A frame cut off costs as much as a mean one of the whole match: none is cut off for nothing.
    price = whole.cost / whole.length + EVENNESS
    end = _least_cost(lambda cut: over(0, cut), most, price)
    begin = _least_cost(lambda cut: over(cut, end), most, price)
    return over(begin, end)


def _least_cost(matched: Callable[[int], Transition], most: int, price: float) -> int:
    """How many frames to cut off one clip, or, below 0, off the other."""
    best, least = 0, matched(0).cost
    for cut in sorted(range(-most, most + 1), key=abs):
        try:
            cost = matched(cut).cost + price * abs(cut)
        except InputError:  # what is left of the clips differs too much in length
            continue
        if cost < least:
            best, least = cut, cost
    return best


def _spread(weight: Share, times: Array, frame_rate: float) -> Array:
    """Shares of the second clip at each row of `times`, from one, from several, or from a function."""
    length = len(times)
    if callable(weight):
        return _followed(weight, np.diff(times, axis=0), frame_rate)
    given = np.asarray(weight, np.float64)
    if given.ndim == 1 and len(given) > 1:
        checked_shares(given, len(given))
        return np.interp(np.linspace(0, 1, length), np.linspace(0, 1, len(given)), given)
    return checked_shares(given.reshape(()) if given.size == 1 else given, length)


def _followed(weight: Callable[[Array], Array], steps: Array, frame_rate: float) -> Array:
    """Shares by the mixture's own time, which passes as they tell: step by step."""
    shares, passed = np.empty(len(steps) + 1), 0.0
    for i in range(len(shares)):
        shares[i] = checked_shares(weight(np.array([passed / frame_rate])), 1)[0]
        if i < len(steps):
            passed += (1 - shares[i]) * steps[i, 0] + shares[i] * steps[i, 1]
    return shares


def _paced(times: Array, shares: Array) -> tuple[Array, Array]:
    """Times and shares taken so that a frame passes at the mixed rate of both clips."""
    middle = 0.5 * (shares[1:] + shares[:-1])
    steps = np.diff(times, axis=0)
    passed = np.concatenate([[0.0], np.cumsum((1 - middle) * steps[:, 0] + middle * steps[:, 1])])
    count = max(2, round(passed[-1]) + 1)
    at = np.linspace(0.0, passed[-1], count)
    even = np.stack([np.interp(at, passed, column) for column in times.T], axis=1)
    # A clip of full weight is met at its own frames, not a rounding beside them.
    nearest = np.round(even)
    even = np.where(np.abs(even - nearest) < 1e-9, nearest, even)
    return even, np.interp(at, passed, shares)
