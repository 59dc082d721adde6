"""Choosing modes and resolution for Tournier's codec by the error allowed (Tournier 2011, section 9.2.1).

For every number of dropped levels, coarsest first, the fewest modes that keep the error are found by
bisection; the smallest of these encodings is taken. Trials encode and decode some hundred frames; the result
is checked on all, and the frames that miss the bound join the trials. Cost: seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey.body.codec.tournier.clip import MOST_DROPPED, TournierClip, decode_frames
from marey.body.codec.tournier.encode import Encoder
from marey.body.codec.tournier.sizes import level_count
from marey.body.compare import joint_error, relative_distortion
from marey.body.motion import Motion
from marey.errors import InputError, UnreachableError
from marey.geometry import rotations as so3

# Frames of a trial, spread over the clip, and how often the worst ones are added.
_TRIAL_FRAMES, _ROUNDS = 200, 5


def encode_within(
    motion: Motion,
    *,
    max_error: float | None = None,
    mean_error: float | None = None,
    max_distortion: float | None = None,
    effectors: Sequence[str] | None = None,
) -> TournierClip:
    """The smallest encoding found whose error is allowed; give at least one bound.

    Args:
        motion: the clip; joints may not slide.
        max_error: largest distance of joints and end sites, metres.
        mean_error: their mean distance, metres.
        max_distortion: of the positions, per cent, as printed in section 9.3
            (`relative_distortion.frobenius`).
        effectors: as for `encode`.

    >>> import marey
    >>> from marey.body.codec.tournier import decode
    >>> walk = marey.samples.walk()
    >>> clip = encode_within(walk, mean_error=0.02)
    >>> joint_error(walk, decode(clip)).mean <= 0.02, clip.ratio > 5
    (True, True)
    """
    bounds = _Bounds(max_error, mean_error, max_distortion)
    encoder = Encoder(motion, effectors=effectors)
    every = np.arange(motion.frames)
    some = np.unique(np.linspace(0, motion.frames - 1, min(motion.frames, _TRIAL_FRAMES)).astype(np.int64))
    least = np.inf
    for _ in range(_ROUNDS):
        clip = _smallest(encoder, bounds, some)
        decoded = decode_frames(clip, every)
        missed = bounds.missed(motion, decoded)
        if missed <= 1:
            return clip
        least = min(least, missed)
        farthest = np.linalg.norm(decoded.positions() - motion.positions(), axis=-1).max(axis=1).argsort()
        some = np.union1d(some, farthest[-len(some) :])
    raise UnreachableError(
        f"{motion.name or 'the clip'}: Tournier's codec cannot keep {bounds}: all samples of "
        f"{len(encoder.ends)} end effectors leave {least:.3g} times that; allow more, name more, or use the "
        "default method"
    )


class _Bounds:
    """What is allowed, and how many times it is exceeded."""

    def __init__(self, *bounds: float | None) -> None:
        given = [bound for bound in bounds if bound is not None]
        if not given:
            raise InputError("give max_error, mean_error or max_distortion")
        if not all(bound > 0 for bound in given):
            raise InputError(f"bounds must be positive, got {given}")
        self._bounds = bounds

    def __str__(self) -> str:
        words = (
            "every joint within {:.3g} cm",
            "{:.3g} cm on average",
            "distortion within {:.3g} %",
        )
        named = zip(words, (100, 100, 1), self._bounds, strict=True)
        return " and ".join(word.format(scale * bound) for word, scale, bound in named if bound is not None)

    def missed(self, original: Motion, decoded: Motion) -> float:
        """The largest error over its bound; at most 1 if all are kept."""
        largest, mean, distortion = self._bounds
        error = joint_error(original, decoded)
        found = [
            0.0 if largest is None else error.maximum / largest,
            0.0 if mean is None else error.mean / mean,
        ]
        if distortion is not None:
            found.append(relative_distortion(original, decoded).frobenius / distortion)
        return max(found)


def _smallest(encoder: Encoder, bounds: _Bounds, some: NDArray[np.int64]) -> TournierClip:
    """The encoding with the highest ratio whose error on some frames is allowed; the finest if none is."""
    motion, all_modes = encoder.motion, encoder.geodesics.modes
    truth = replace(motion, rotations=so3.continuous(motion.rotations[some]), root=motion.root[some])

    def clip(modes: int, dropped: int) -> TournierClip:
        return encoder.clip(modes, (dropped,) * (2 + len(encoder.ends)))

    def good(modes: int, dropped: int) -> bool:
        return bounds.missed(truth, decode_frames(clip(modes, dropped), some)) <= 1

    best = finest = clip(all_modes, 0)
    for dropped in range(min(level_count(motion.frames) - 1, MOST_DROPPED), -1, -1):
        if not good(all_modes, dropped):
            continue
        low, high = 0, all_modes
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if good(middle, dropped) else (middle + 1, high)
        found = clip(low, dropped)
        if best is not finest and found.ratio < best.ratio:
            break
        best = found
    return best
