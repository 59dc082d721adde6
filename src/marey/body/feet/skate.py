"""Foot skate: how fast feet move over the ground that should stand on it. One pass of kinematics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import checked
from marey.body.feet.contacts import checked_contacts, foot_positions, foot_speeds
from marey.body.motion import Motion


def skate(motion: Motion, *, heights: ArrayLike | None = None, near: float = 0.025) -> float:
    """Horizontal speed of feet near the ground, metres a second; 0 if none ever is.

    The mean over all frames and feet of `v (2 − 2^(h / near))` for heights `h < near` above the ground (Zhang
    et al. 2018, Mode-Adaptive Neural Networks). It needs no contacts, so that it is independent of how
    contacts are found and feet are planted.

    Args:
        motion: The clip.
        heights: `(feet,)`, metres, of feet on the ground; those of :func:`skate_heights` if None.
        near: Metres above the ground from which a foot counts as off it.

    >>> import marey
    >>> 0 < skate(marey.samples.walk()) < 0.2
    True
    """
    places = foot_positions(motion)
    ground = skate_heights(motion) if heights is None else checked("heights", heights, (places.shape[1],))
    weights = 2 - 2 ** np.clip((places[..., 1] - ground) / near, 0, 1)
    total = weights.sum()
    return float((weights * foot_speeds(motion, horizontal=True)).sum() / total) if total > 0 else 0.0


def skate_heights(motion: Motion) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Heights that each foot joint is rarely below `(feet,)`, metres: the ground of :func:`skate`."""
    high = foot_positions(motion)[..., 1]
    return np.asarray(np.percentile(high, 2, axis=0) if high.size else [], dtype=np.float64)


def slide_speed(motion: Motion, contact: ArrayLike) -> float:
    """Mean horizontal speed of feet in contact, metres a second; 0 without contacts.

    Args:
        motion: The clip.
        contact: `(frames, feet)`, as :func:`marey.body.feet.contacts` gives it.

    >>> import marey
    >>> from marey.body.feet import contacts
    >>> walk = marey.samples.walk()
    >>> slide_speed(walk, contacts(walk)) < 0.2
    True
    """
    mask = checked_contacts(motion, contact)
    steps = np.linalg.norm(np.diff(foot_positions(motion)[..., ::2], axis=0), axis=-1)
    both = mask[1:] & mask[:-1]
    return float(steps[both].mean()) * motion.frame_rate if both.any() else 0.0
