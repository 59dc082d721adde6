"""Edits of a stored clip: its coarse curves are the handles of a rig (Tournier 2011, section 9.3.2).

Moving samples of an end effector or the root and decoding moves the whole body in the clip's style; a pin
holds an end effector in place while decoding, as for feet on the ground. Cost: that of decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked
from marey.body.codec.tournier.clip import TournierClip
from marey.body.codec.tournier.curves import expand
from marey.errors import InputError
from marey.geometry.fades import minimum_jerk

# Weight of a pinned joint relative to a stored one.
_PIN_WEIGHT = 100.0


@dataclass(frozen=True)
class Pin:
    """Hold an end effector in place for a while.

    Args:
        joint: its name.
        start, stop: seconds.
        position: `(x, y, z)` in the world, metres; where the joint is meanwhile, on average, if None.
        ramp: seconds over which the hold comes and goes, outside `start`…`stop`.
    """

    joint: str
    start: float
    stop: float
    position: tuple[float, float, float] | None = None
    ramp: float = 0.06


def displace(clip: TournierClip, joint: str, offset: ArrayLike, *, time: float, width: float) -> TournierClip:
    """Move the stored path of an end effector, or of the root, around a time.

    Args:
        clip: what is stored.
        joint: name of an end effector, or "root" (the end effectors then stay and the limbs give way).
        offset: `(x, y, z)`, metres, reached at `time`.
        time: seconds.
        width: seconds on either side over which the offset grows and fades.

    >>> import marey
    >>> from marey.body.codec.tournier import decode, encode
    >>> clip = encode(marey.samples.walk(), modes=10)
    >>> further = displace(clip, "LeftHand", [0.0, 0.0, 0.2], time=1.0, width=0.5)
    >>> before, after = (decode(c, frames=slice(60, 61)).positions()[0] for c in (clip, further))
    >>> bool((after - before)[clip.skeleton.index("LeftHand"), 2] > 0.15)
    True
    """
    shift = checked("offset", offset, (3,))
    curve = 0 if joint == "root" else 2 + end_index(clip, joint)
    if not 0 <= time <= (clip.frames - 1) / clip.frame_rate:
        raise InputError(
            f"time: the clip lasts from 0 to {(clip.frames - 1) / clip.frame_rate:.4g} s, got {time:g}"
        )
    dropped = clip.dropped_levels[curve]
    spacing = (1 << dropped) / clip.frame_rate
    if not width >= spacing:
        raise InputError(
            f"width: this curve has a sample every {spacing:.3g} s, so an edit must be at least that wide "
            f"on either side, got {width:g}"
        )
    samples = clip.root if curve == 0 else clip.curves[curve - 2]
    away = (np.arange(len(samples)) * spacing - time) / width
    window = minimum_jerk(np.maximum(1 - np.abs(away), 0.0))[:, None]
    # Samples beside the time reach less than the whole offset there: make up for it.
    reached = expand(window, clip.frames, dropped)[round(time * clip.frame_rate), 0]
    moved = (samples + shift * window / reached).astype(np.float32).astype(np.float64)
    if curve == 0:
        return replace(clip, root=moved)
    curves = [moved if i == curve - 2 else kept for i, kept in enumerate(clip.curves)]
    return replace(clip, curves=tuple(curves))


def end_index(clip: TournierClip, joint: str) -> int:
    """Which of the stored end effectors is called `joint`."""
    names = [clip.skeleton.names[end.joint] for end in clip.ends]
    if joint not in names:
        raise InputError(
            f"no end effector {joint!r} in the clip; stored are {', '.join(names)}, and 'root' can be moved"
        )
    return names.index(joint)


def pinned(clip: TournierClip, paths: Array, pins: Sequence[Pin]) -> tuple[Array, Array]:
    """Paths `(frames, ends, 3)` that stand still where pinned, and weights `(frames, ends)`."""
    paths, weights = paths.copy(), np.ones(paths.shape[:2])
    times = np.arange(clip.frames) / clip.frame_rate
    for pin in pins:
        end = end_index(clip, pin.joint)
        inside = (times >= pin.start) & (times <= pin.stop)
        if not inside.any():
            raise InputError(
                f"pin of {pin.joint!r}: no frame between {pin.start:g} and {pin.stop:g} s; "
                f"the clip lasts to {times[-1]:.4g} s"
            )
        if pin.position is None:
            place = paths[inside, end].mean(axis=0)
        else:
            place = checked("pin position", pin.position, (3,))
        outside = np.maximum(np.maximum(pin.start - times, times - pin.stop), 0.0)
        share = minimum_jerk(1 - np.minimum(outside / max(pin.ramp, 1e-9), 1.0))
        paths[:, end] += share[:, None] * (place - paths[:, end])
        weights[:, end] = np.maximum(weights[:, end], 1 + share * (_PIN_WEIGHT - 1))
    return paths, weights
