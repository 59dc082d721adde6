"""Compress a clip to an error you choose, and get it back: the codec's front door.

Everything besides the error is chosen by the codec. Cost: some tens of encodings, about a second for ten
seconds of a human figure; decoding takes microseconds a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

from marey._progress import Progress
from marey.body.codec.carriers import set_aside
from marey.body.codec.clip import MODES, CompressedMotion, Mode, assembled
from marey.body.codec.distortion import joint_error
from marey.body.codec.source import SourceClip, decompress_source
from marey.body.codec.source_choice import choose_source
from marey.body.codec.source_encoder import DROPPED, compress_source
from marey.body.motion import Motion
from marey.errors import InputError, UnreachableError

# Metres, of the largest error, if none is given.
MAX_ERROR = 0.01

# The source's codec bounds means: tries to bring the largest error down by a lower mean.
_MOST_TRIES = 6


def compress(
    motion: Motion,
    *,
    max_error: float | None = None,
    mean_error: float | None = None,
    mode: Mode = "transform",
    modes: int | None = None,
    dropped: int | Sequence[int] | None = None,
    improved: bool = False,
    progress: Progress | None = None,
) -> CompressedMotion:
    """The clip in as few bytes as the error allows; skeleton, names and units included.

    max_error: metres that no joint or end site may be off in any frame; 1 cm if neither bound is given
    mean_error: metres they may be off on average
    mode: `"transform"`, or `"source"` for the codec of Tournier 2011, chapter 9
    modes, dropped: for the source's codec, instead of a bound: geodesics, and finest levels left out of the
        curves (one number; or the root's, then that of the end joints)
    improved: for the source's codec: same format, less error, by weighted modes, least-squares samples and a
        better prior
    progress: called with (done, total)

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> small = compress(walk, mode="source", modes=8)
    >>> small.ratio > 3, decompress(small).frames == walk.frames
    (True, True)
    """
    if mode not in MODES:
        raise InputError(f"mode: one of {', '.join(MODES)}, got {mode!r}")
    if not isinstance(motion, Motion):
        raise InputError(
            f"only skeleton motion is compressed, not a {type(motion).__name__}; marey.load reads files"
        )
    for name, bound in (("max_error", max_error), ("mean_error", mean_error)):
        if bound is not None and not (isinstance(bound, Real) and 0 < bound < float("inf")):
            raise InputError(f"{name}: must be a positive number of metres, got {bound!r}")
    bounds = [bound for bound in (max_error, mean_error) if bound is not None]
    core, carriers = set_aside(motion, error=min(bounds, default=MAX_ERROR))
    if mode == "source":
        clip = _by_source(core, max_error, mean_error, modes, dropped, improved)
        return assembled(mode, carriers, clip.to_bytes())
    if modes is not None or dropped is not None:
        raise InputError("modes and dropped levels are settings of mode 'source'; give an error instead")
    if improved:
        raise InputError("improved is a setting of mode 'source'; the default mode needs none")
    if max_error is None and mean_error is None:
        max_error = MAX_ERROR
    from marey.body.codec.transform import encoder

    payload, header = encoder.encode(core, max_error=max_error, mean_error=mean_error, progress=progress)
    return assembled(mode, carriers, header + payload)


def decompress(clip: CompressedMotion, *, frames: slice | int | None = None) -> Motion:
    """The clip back, or some of its frames."""
    return clip.decode(frames)


def _by_source(
    motion: Motion,
    max_error: float | None,
    mean_error: float | None,
    modes: int | None,
    dropped: int | Sequence[int] | None,
    improved: bool,
) -> SourceClip:
    if max_error is None and mean_error is None:
        levels = (dropped, dropped) if isinstance(dropped, int) else tuple(dropped or (DROPPED, DROPPED))
        if len(levels) != 2:
            raise InputError(f"dropped levels: one number, or the root's and the end joints', got {levels}")
        return compress_source(
            motion, modes=modes, dropped_root=levels[0], dropped_effectors=levels[1], improved=improved
        )
    if modes is not None or dropped is not None:
        raise InputError("give either an error, or modes and dropped levels")
    if max_error is None:
        return choose_source(motion, max_error=mean_error, improved=improved)
    bound = max_error / 3 if mean_error is None else min(mean_error, max_error / 3)
    least = float("inf")
    for _ in range(_MOST_TRIES):
        try:
            clip = choose_source(motion, max_error=bound, improved=improved)
        except UnreachableError as error:
            raise _out_of_reach(motion, least, max_error) from error
        found = joint_error(motion, decompress_source(clip)).maximum
        if found <= max_error:
            return clip
        least = min(least, found)
        bound *= 0.9 * max_error / found
    raise _out_of_reach(motion, least, max_error)


def _out_of_reach(motion: Motion, least: float, max_error: float) -> UnreachableError:
    reached = f" (it leaves {100 * least:.3g} cm)" if least < float("inf") else ""
    return UnreachableError(
        f"{motion.name or 'the clip'}: the source's codec cannot keep every joint within "
        f"{100 * max_error:.3g} cm{reached}; allow more, or use the default mode"
    )
