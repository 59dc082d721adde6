"""Noise away where nobody walks: the field fades to rest there, and keeps its low frequencies elsewhere.

Courty & Corpetti 2007, section 3.2: a series is noise where no pedestrian is seen, which the Fourier step
suppresses; here the emptiness itself is known (presence) or estimated. Without presence, energy in a small
neighbourhood of space and time is compared with the noise floor that second differences in time reveal
(a Wiener gain). Cost: a few passes over the series.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import handed_over
from marey.crowd.fields import UNKNOWN, FieldSeries
from marey.errors import InputError

Weights = NDArray[np.float32]

# Seconds and pixels over which emptiness is judged.
SECONDS, PIXELS = 0.4, 3
# Chi-square quantile: the median of a squared normal variable.
MEDIAN_OF_SQUARE = 0.4549


def denoise(fields: FieldSeries, *, keep: float | None = None) -> FieldSeries:
    """Fade the field where nobody walks.

    keep: also keep only this share of the lowest frequencies of every pixel (see
        :func:`~marey.crowd.spectrum.compression.compress`); None = all

    >>> import marey
    >>> field = marey.samples.field()
    >>> calm = denoise(field)
    >>> float(np.abs(calm.velocities).sum()) <= float(np.abs(field.velocities).sum())
    True
    """
    if keep is not None:
        from marey.crowd.spectrum.compression import compress

        fields = replace(fields, velocities=compress(fields, keep=keep).decode().velocities)
    weights = walking_share(fields)
    return replace(fields, velocities=handed_over(fields.velocities * weights[..., None]))


def walking_share(fields: FieldSeries) -> Weights:
    """How much of the velocity at each pixel and frame is people's, 0 to 1, `(frames, rows, columns)`."""
    from scipy.ndimage import uniform_filter

    span = max(1, round(SECONDS * fields.frame_rate) | 1)
    size = (min(span, fields.frames), PIXELS, PIXELS)
    unknown = None if fields.presence is None else fields.presence == UNKNOWN
    if fields.presence is not None and unknown is not None and not unknown.all():
        seen = fields.presence.astype(np.float32) / np.float32(255)
        if unknown.any():
            seen[unknown] = walking_share(replace(fields, presence=None))[unknown]
        return np.clip(uniform_filter(seen, size, mode="nearest"), 0.0, 1.0)
    energy = (fields.velocities.astype(np.float32) ** 2).sum(axis=-1)
    floor = 2.0 * noise_level(fields) ** 2
    local = uniform_filter(energy, size, mode="nearest")
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(local > 0, 1.0 - floor / local, 0.0)
    return np.asarray(np.clip(share, 0.0, 1.0), dtype=np.float32)


def noise_level(fields: FieldSeries) -> float:
    """Standard deviation of white noise in a velocity component: that of the quieter half of the pixels.

    >>> quiet = FieldSeries(0.1 * np.random.default_rng(0).normal(size=(60, 8, 8, 2)), 25)
    >>> round(noise_level(quiet), 2)
    0.1
    """
    if fields.frames < 3:
        raise InputError(f"noise is told from motion over time: {fields.frames} frames are too few, take 3")
    values: Any = fields.velocities if fields.mask is None else fields.velocities[:, fields.mask][:, None]
    squares = (np.diff(values, n=2, axis=0).astype(np.float64) ** 2).reshape(fields.frames - 2, -1)
    if squares.size == 0:
        return 0.0
    # Medians: someone who passes now and then, or is always there at half of the pixels, does not count.
    return float(np.sqrt(np.median(np.median(squares, axis=0)) / MEDIAN_OF_SQUARE / 6.0))
