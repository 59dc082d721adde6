"""Whole clips laid over each other in time, and mixed: a left and a right turn give a straight walk
(Boukhayma 2017, figure 3.14).

Clips of like motions are aligned by a time warp with limited slope, then blended with any weight, constant or
changing; the mixture takes as long as its parts do on average. Averaging many clips that correspond badly
damps the motion. Cost: the pose distances of both clips, and one interpolation a frame.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._progress import Progress
from marey.errors import InputError
from marey.surface.distances import DistanceMatrix, distances
from marey.surface.library import Library
from marey.surface.planar import Planar
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation
from marey.surface.synthesis.appearance import gathered
from marey.surface.synthesis.blending import Blender, checked_shares, course_frames
from marey.surface.synthesis.course import Course
from marey.surface.synthesis.footing import Footing
from marey.surface.synthesis.tracks import Tracks, aligning_turns, turns_between
from marey.surface.transitions import Transition, smooth_path, warped

Array = NDArray[np.float64]

# Radians a frame of the path costs beside its distance: where poses do not tell, time passes evenly.
EVENNESS = 0.001


def synchronise(
    library: Library, first: str, second: str, *, apart: DistanceMatrix | None = None, slope: int = 3
) -> Transition:
    """Which frames of two whole clips correspond, from their first to their last.

    first, second: names of sequences of the library
    apart: pose distances of the library, if at hand; else those of the two clips are measured
    slope: neither clip passes more than so many times as fast as the other

    >>> import marey
    >>> walk = marey.samples.performance()
    >>> both = Library((walk[:40].renamed("a"), walk[10:50].renamed("b")))
    >>> synchronise(both, "a", "b").path[[0, -1]].tolist()
    [[0, 40], [39, 79]]
    """
    starts = library.starts
    one, two = (library.locate(library.number(name))[0] for name in (first, second))
    lengths = [library.sequences[clip].frames for clip in (one, two)]
    if apart is None:
        clips = Library((library.sequences[one], library.sequences[two].renamed("other clip")))
        found = warped(distances(clips), 0, clips.frames - 1, *lengths, slope=slope, alpha=EVENNESS)
        offsets = np.array([starts[one], starts[two] - lengths[0]])
        return Transition(found.path + offsets, found.cost)
    return warped(apart, int(starts[one]), int(starts[two + 1]) - 1, *lengths, slope=slope, alpha=EVENNESS)


def blend_clips(
    library: Library,
    first: str,
    second: str,
    weight: ArrayLike = 0.5,
    *,
    blender: Blender | None = None,
    apart: DistanceMatrix | None = None,
    slope: int = 3,
    tracks: Tracks | None = None,
    placed: Planar | None = None,
    progress: Progress | None = None,
) -> Animation:
    """A mixture of two clips, beginning where the first stands.

    weight: share of the second clip, 0…1; several are spread evenly over the time of the clips
    blender: of poses; non-linear, if None
    tracks, apart: of the library, if at hand
    """
    match = synchronise(library, first, second, apart=apart, slope=slope)
    times, shares = _paced(smooth_path(match), _spread(weight, match.length))
    known = Tracks.of(library) if tracks is None else tracks
    turns = _turns(library, apart, times)
    if blender is None:
        from marey.surface.interpolation import Interpolator

        blender = Interpolator.prepare(np.asarray(library.vertices(0), np.float64), library.faces)
    course = Course.lay_out(known, times, shares, turns)
    frames = course_frames(
        library, known, course, blender, Planar.identity() if placed is None else placed,
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


def _spread(weight: ArrayLike, length: int) -> Array:
    """Shares of the second clip over `length` frames from one, or from several spread evenly."""
    given = np.asarray(weight, np.float64)
    if given.ndim == 1 and len(given) > 1:
        checked_shares(given, len(given))
        return np.interp(np.linspace(0, 1, length), np.linspace(0, 1, len(given)), given)
    return checked_shares(given.reshape(()) if given.size == 1 else given, length)


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


def _turns(library: Library, apart: DistanceMatrix | None, times: Array) -> Array:
    if apart is not None:
        return turns_between(apart.turns, times)
    return turns_between(*aligning_turns(library, times))
