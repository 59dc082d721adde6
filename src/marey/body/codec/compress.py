"""Compress a clip to an error you choose, and get it back: the codec's front door.

Everything besides the error is chosen by the codec. Cost: some tens of encodings, about a second for ten
seconds of a human figure; decoding takes microseconds a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

from marey._progress import Progress
from marey.body.codec.clip import METHODS, CompressedMotion, Method, assemble
from marey.body.codec.tournier.clip import TournierClip
from marey.body.codec.tournier.encode import DROPPED, encode_within
from marey.body.codec.tournier.encode import encode as encode_tournier
from marey.body.motion import Motion
from marey.errors import InputError

# Metres, of the largest error, if none is given.
MAX_ERROR = 0.01


def compress(
    motion: Motion,
    *,
    max_error: float | None = None,
    mean_error: float | None = None,
    method: Method = "transform",
    modes: int | None = None,
    dropped_levels: int | Sequence[int] | None = None,
    progress: Progress | None = None,
) -> CompressedMotion:
    """The clip in as few bytes as the error allows; skeleton, names and units included.

    Args:
        motion: the clip; joints may slide.
        max_error: metres that no joint or end site may be off in any frame; 1 cm if neither bound is given.
        mean_error: metres they may be off on average.
        method: `"transform"`, or `"tournier"` for the codec of Tournier 2011, chapter 9.
        modes: for method tournier, instead of a bound: geodesics.
        dropped_levels: for method tournier, instead of a bound: finest levels left out of the curves (one
            number; or the root's, then that of the end effectors).
        progress: called with (done, total).

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> small = compress(walk, method="tournier", modes=8)
    >>> small.ratio > 3, decompress(small).frames == walk.frames
    (True, True)
    """
    if method not in METHODS:
        raise InputError(f"method: one of {', '.join(METHODS)}, got {method!r}")
    if not isinstance(motion, Motion):
        raise InputError(
            f"only skeleton motion is compressed, not a {type(motion).__name__}; marey.load reads files"
        )
    for name, bound in (("max_error", max_error), ("mean_error", mean_error)):
        if bound is not None and not (isinstance(bound, Real) and 0 < bound < float("inf")):
            raise InputError(f"{name}: must be a positive number of metres, got {bound!r}")
    if method == "tournier":
        return assemble(method, *_tournier(motion, max_error, mean_error, modes, dropped_levels).pack())
    if modes is not None or dropped_levels is not None:
        raise InputError("modes and dropped levels are settings of method 'tournier'; give an error instead")
    if max_error is None and mean_error is None:
        max_error = MAX_ERROR
    from marey.body.codec.transform import encoder

    return assemble(
        method, *encoder.encode(motion, max_error=max_error, mean_error=mean_error, progress=progress)
    )


def decompress(clip: CompressedMotion, *, frames: slice | int | None = None) -> Motion:
    """The clip back, or some of its frames."""
    return clip.decode(frames)


def _tournier(
    motion: Motion,
    max_error: float | None,
    mean_error: float | None,
    modes: int | None,
    dropped: int | Sequence[int] | None,
) -> TournierClip:
    if max_error is None and mean_error is None:
        levels = (dropped, dropped) if isinstance(dropped, int) else tuple(dropped or (DROPPED, DROPPED))
        if len(levels) != 2:
            raise InputError(
                f"dropped levels: one number, or the root's and the end effectors', got {levels}"
            )
        return encode_tournier(motion, modes=modes, dropped_root=levels[0], dropped_effectors=levels[1])
    if modes is not None or dropped is not None:
        raise InputError("give either an error, or modes and dropped levels")
    return encode_within(motion, max_error=max_error, mean_error=mean_error)
