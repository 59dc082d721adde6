"""Clips at other frame rates: great arcs between rotations, straight lines between positions.

Captured frames that fall on the new times are kept bit by bit (quaternions up to their sign, which follows
the frame before). Going to a lower rate can first take away what the new rate cannot carry (Courty 2013,
section 2.1.1 on tangent-space filters). Cost: one pass over the new frames, and with `antialias` six passes
a kept frame over the old ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import AnyArray, Array, FloatArray, checked_rate
from marey.geometry import rotations as so3
from marey.geometry.resampling import linear, neighbours, sample_positions

if TYPE_CHECKING:
    from marey.body.motion import Motion

# Half width of the low-pass window, in frames of the new rate.
WINDOW = 3


def resample(motion: Motion, frame_rate: float, *, antialias: bool = False) -> Motion:
    """The clip at another rate; it starts with the same frame and does not reach beyond the last one.

    Args:
        antialias: when the rate goes down, first smooth away what is faster than half the new rate.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> resample(walk, walk.frame_rate / 2).frames == (walk.frames + 1) // 2
    True
    """
    rate = checked_rate(frame_rate)
    if antialias and rate < motion.frame_rate:
        rotations, root, translations = motion.rotations, motion.root, motion.translations
        # Of a frame and its followers on one side: a sinc that ends in a cosine bell.
        factor = motion.frame_rate / rate
        taps = np.arange(int(np.ceil(WINDOW * factor)))
        weights = np.sinc(taps / factor) * (0.5 + 0.5 * np.cos(np.pi * taps / (WINDOW * factor)))
        slid = None if translations is None else smooth(translations, weights)
        rotations, root = smooth(rotations, weights, rotations=True), smooth(root, weights)
        motion = replace(motion, rotations=rotations, root=root, translations=slid)
    timed = retime(motion, sample_positions(motion.frames, motion.frame_rate, rate))
    first = motion.first_frame if rate == motion.frame_rate else 0
    return replace(timed, frame_rate=rate, first_frame=first)


def retime(motion: Motion, positions: ArrayLike) -> Motion:
    """The clip at fractional frames `(new_frames,)`, in their order, at its own frame rate.

    Poses and root go along together, so planted feet stay planted.

    >>> import marey
    >>> retime(marey.samples.walk(), np.linspace(0, 20, 41)).frames
    41
    """
    at = np.asarray(positions, dtype=np.float64)
    first, share = neighbours(motion.frames, at)
    turned = so3.slerp(motion.rotations[first], motion.rotations[first + (share > 0)], share[:, None])
    slid = None if motion.translations is None else linear(motion.translations, at)
    rotations, root = so3.continuous(turned), linear(motion.root, at)
    return replace(motion, rotations=rotations, root=root, translations=slid)


def smooth(values: FloatArray, weights: AnyArray, *, rotations: bool = False) -> Array:
    """Weighted means over time of vectors `(frames, ..., n)` or rotations `(frames, ..., 4)`.

    Towards the ends the window closes, so that the ends stay and steady motion stays as it is.

    Args:
        weights: Of a frame and its followers on one side.
        rotations: Whether these are rotations, whose means are taken about each frame.

    >>> smooth(np.array([[0.0], [0.0], [3.0], [3.0], [3.0]]), np.ones(2)).ravel().tolist()
    [0.0, 1.0, 2.0, 3.0, 3.0]
    """
    change = np.zeros((*values.shape[:-1], 3) if rotations else values.shape)
    total = np.full((len(values), *(1,) * (change.ndim - 1)), weights[0])
    for k, weight in enumerate(weights[1 : (len(values) + 1) // 2], start=1):
        here = values[k:-k]
        for other in (values[: -2 * k], values[2 * k :]):
            away = so3.log(so3.multiply(so3.inverse(here), other)) if rotations else other - here
            change[k:-k] += weight * away
        total[k:-k] += 2 * weight
    change /= total
    return so3.multiply(values, so3.exp(change)) if rotations else np.asarray(values + change)
