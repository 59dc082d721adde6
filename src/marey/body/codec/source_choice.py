"""Choosing modes and resolutions for the source's codec by the error allowed (Tournier 2011, section 9.2.1).

Greedy: from fine settings, take the step - fewer modes, one level less of a curve - that saves most numbers
for the error it adds, as long as the error stays within bounds. Every trial encodes and decodes a few
hundred frames; the result is checked on all frames. Cost: seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from marey.body.codec.distortion import joint_error, relative_distortion
from marey.body.codec.sizes import level_count
from marey.body.codec.source import MOST_DROPPED, SourceClip, decode_frames
from marey.body.codec.source_encoder import Encoder, Store
from marey.body.motion import Motion
from marey.errors import InputError, UnreachableError
from marey.geometry import rotations as so3

# Frames of a trial, spread over the clip.
_TRIAL_FRAMES = 200
# Of the error allowed, what the modes to begin with may cost: each leads to another end.
_SHARES = (1 / 2, 1 / 3, 1 / 6)

_Measure = Callable[[Motion, Motion], float]


def choose_source(
    motion: Motion,
    *,
    max_distortion: float | None = None,
    max_error: float | None = None,
    effectors: Sequence[str] | None = None,
    improved: bool = True,
    store: Store = "end joints",
) -> SourceClip:
    """The smallest encoding found whose error is allowed; give exactly one of the two bounds.

    max_distortion: of the positions, per cent, as printed in section 9.3 (`relative_distortion.frobenius`)
    max_error: mean distance of joints and end sites, metres
    effectors, improved, store: as for `compress_source`

    >>> import marey
    >>> from marey.body.codec import decompress_source
    >>> walk = marey.samples.walk()
    >>> clip = choose_source(walk, max_error=0.01)
    >>> joint_error(walk, decompress_source(clip)).mean <= 0.01, clip.ratio > 5
    (True, True)
    """
    if (max_distortion is None) == (max_error is None):
        raise InputError("give either max_distortion or max_error")
    bound = max_error if max_error is not None else max_distortion
    if bound is None or not bound > 0:
        raise InputError(f"the bound must be positive, got {bound}")
    encoder = Encoder(motion, effectors=effectors, improved=improved, store=store)
    measure = _mean_error if max_error is not None else _distortion
    every = np.arange(motion.frames)
    best: SourceClip | None = None
    least = np.inf
    for share in _SHARES:
        for settings in reversed(_descend(encoder, bound, measure, share)):
            clip = encoder.clip(settings.modes, settings.dropped)
            if best is not None and clip.ratio <= best.ratio:
                break
            found = measure(motion, decode_frames(clip, every))
            least = min(least, found)
            if found <= bound:
                best = clip
                break
    if best is not None:
        return best
    scale, unit = (100, "cm") if max_error is not None else (1, "%")
    raise UnreachableError(
        f"{motion.name or 'the clip'}: the error stays at {scale * least:.3g} {unit} where "
        f"{scale * bound:.3g} is allowed, even with all samples of {len(encoder.ends)} end joints; "
        "allow more, or name more"
    )


@dataclass(frozen=True)
class _Settings:
    modes: int
    dropped: tuple[int, ...]


# A way to go one step coarser, or None at its end.
_Step = Callable[[_Settings], _Settings | None]


def _descend(encoder: Encoder, bound: float, measure: _Measure, share: float) -> list[_Settings]:
    """Settings from fine to coarse, each but perhaps the first within bounds on some of the frames.

    Gains are taken to fall as settings get coarser: a step is tried anew only when it looks best, and not
    again once it has broken the bound.
    """
    motion = encoder.motion
    some = np.unique(np.linspace(0, motion.frames - 1, min(motion.frames, _TRIAL_FRAMES)).astype(np.int64))
    truth = _at(motion, some)

    def tried(settings: _Settings) -> tuple[float, float]:
        clip = encoder.clip(settings.modes, settings.dropped)
        return measure(truth, decode_frames(clip, some)), motion.frames / clip.ratio

    here = _Settings(_modes_within(encoder, share * bound, measure, some), (0,) * (2 + encoder.curve_count))
    error, size = tried(here)
    taken = [here]
    promising: dict[_Step, float] = dict.fromkeys(_steps(encoder), np.inf)
    fresh: dict[_Step, tuple[_Settings, float, float]] = {}
    while promising:
        step = max(promising, key=lambda s: promising[s])
        if step in fresh:
            here, error, size = fresh[step]
            taken.append(here)
            fresh.clear()
            continue
        coarser = step(here)
        if coarser is None:
            del promising[step]
            continue
        new_error, new_size = tried(coarser)
        if new_error > bound or new_size >= size:
            del promising[step]
            continue
        fresh[step] = coarser, new_error, new_size
        promising[step] = (size - new_size) / max(new_error - error, 1e-6 * bound)
    return taken


def _modes_within(encoder: Encoder, bound: float, measure: _Measure, some: NDArray[np.int64]) -> int:
    """The fewest modes that keep the error within bounds if the poses themselves are stored."""
    motion = _at(encoder.motion, some)

    def projected(modes: int) -> float:
        rotations = encoder.geodesics.first(modes).decode(encoder.coordinates[some, :modes])
        rotations[:, 0] = motion.rotations[:, 0]
        return measure(motion, replace(motion, rotations=so3.normalise(rotations)))

    low, high = 0, encoder.geodesics.modes
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if projected(middle) <= bound else (middle + 1, high)
    return low


def _steps(encoder: Encoder) -> list[_Step]:
    """An eighth of the modes, or a level of one curve (limbs of a pair together)."""
    parts = [end.part or str(i) for i, end in enumerate(encoder.ends)] or [""]
    groups = [[0], [1], *([2 + i for i, p in enumerate(parts) if p == part] for part in dict.fromkeys(parts))]
    most = min(level_count(encoder.motion.frames) - 1, MOST_DROPPED)

    def fewer_modes(here: _Settings) -> _Settings | None:
        return replace(here, modes=here.modes - max(1, here.modes // 8)) if here.modes else None

    def coarser_curves(group: list[int]) -> _Step:
        def step(here: _Settings) -> _Settings | None:
            if any(here.dropped[i] >= most for i in group):
                return None
            return replace(here, dropped=tuple(p + (i in group) for i, p in enumerate(here.dropped)))

        return step

    return [fewer_modes, *(coarser_curves(group) for group in groups)]


def _at(motion: Motion, frames: NDArray[np.int64]) -> Motion:
    return replace(motion, rotations=so3.continuous(motion.rotations[frames]), root=motion.root[frames])


def _mean_error(original: Motion, decoded: Motion) -> float:
    return joint_error(original, decoded).mean


def _distortion(original: Motion, decoded: Motion) -> float:
    return relative_distortion(original, decoded).frobenius
