"""How people on tracks take their steps: where they look, how far into a stride they are, how wide it is.

Legs move with the way gone, so feet hardly slide (Courty 2013, section 6.3.2, picks walking cycles by
speed). Cost: a Gaussian filter over `(frames, agents)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.crowd.tracks import Tracks

Array = NDArray[np.float64]

STRIDE = 1.4
"""Metres of a full cycle of two steps (Winter 2009, natural cadence)."""


def steps(tracks: Tracks) -> tuple[Array, Array, Array]:
    """Heading (radians about y, 0 along +z), phase of the steps, angle of the swing; `(frames, agents)`.

    The phase grows by 2 π over a full cycle of two steps; the angle of the swing by speed, radians.

    >>> east = Tracks(np.stack([np.arange(30) * 0.1, np.zeros(30)], axis=1)[:, None], 10)
    >>> heading, phase, swing = steps(east)
    >>> round(float(heading[15, 0]), 3), round(float(np.ptp(phase)), 1)
    (1.571, 13.0)
    """
    from scipy.ndimage import gaussian_filter1d

    present = tracks.present
    velocity = np.nan_to_num(tracks.velocities())
    sigma = 0.35 * tracks.frame_rate
    weight = gaussian_filter1d(present.astype(float), sigma, axis=0, mode="nearest")
    smooth = gaussian_filter1d(velocity * present[..., None], sigma, axis=0, mode="nearest")
    smooth /= np.maximum(weight, 1e-3)[..., None]
    speed = np.linalg.norm(smooth, axis=-1)
    heading = np.arctan2(smooth[..., 0], -smooth[..., 1])
    # Who stands keeps looking where he walked last; who has not walked yet, where he will walk first.
    moving = (speed > 0.15) & present
    frames = np.arange(tracks.frames)[:, None]
    latest = np.maximum.accumulate(np.where(moving, frames, -1), axis=0)
    source = np.where(latest >= 0, latest, moving.argmax(axis=0))
    heading = np.take_along_axis(heading, source, axis=0)
    travelled = np.cumsum(speed, axis=0) / tracks.frame_rate
    assert tracks.ids is not None
    phase = 2 * np.pi * (travelled / STRIDE + np.asarray(tracks.ids) * 0.381966)
    return heading, phase, 0.48 * np.clip(speed / 1.3, 0.0, 1.25)
