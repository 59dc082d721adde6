"""The style of a crowd by frequency bands: few low frequencies look calm, stronger high ones look nervous.

Courty & Corpetti 2007, section 4.2 and figure 5. One dial: 1 is as captured, below it the quicker changes
fade, above it those of 0.3 to 2 Hz grow while the very quickest, which are noise, fade. The mean over time
always stays, speeds are softly limited, and nobody is driven into an obstacle who was not before. Cost: two
cosine transforms of the series.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray, handed_over
from marey.crowd.fields import FieldSeries
from marey.crowd.spectrum import bases
from marey.errors import InputError

Preset = Literal["calm", "original", "nervous", "stressed"]
PRESETS: tuple[Preset, ...] = get_args(Preset)
Gains = Callable[[NDArray[np.float64]], NDArray[np.float64]]

Array = NDArray[np.float64]

# Hz: where the band that makes a crowd nervous begins to count, counts fully, and where noise takes over.
SLOWEST, SLOW, QUICK, QUICKEST = 0.1, 0.3, 2.0, 4.0
# Numbers that the calm preset keeps of a pixel.
CALM = 3
NERVOUS = 1.7
STRONGEST = 10.0
# The speed limit, in fastest captured speeds.
LIMIT = 1.5


def restyle(
    fields: FieldSeries, style: float | str | Gains, *, largest_speed: float | None = None
) -> FieldSeries:
    """The same flow, quieter or more nervous.

    style: the dial, 0 (only the mean is left) to 10, 1 = as captured; or a preset: "calm" (the first three
        numbers of each pixel), "original", "nervous", "stressed" (the mean and what is quick); or a
        function of frequencies `(n,)` in Hz that gives their gains `(n,)`
    largest_speed: pixels per frame that no speed exceeds; if None, 1.5 times the fastest captured. Speeds up
        to two thirds of it are left as they are.

    >>> import marey
    >>> field = marey.samples.field()
    >>> bool(np.allclose(restyle(field, 1.0).velocities, field.velocities, atol=1e-6))
    True
    """
    gains = style_gains(style, fields.frames, fields.frame_rate)
    fastest = float(np.sqrt((fields.velocities.astype(np.float64) ** 2).sum(axis=-1)).max())
    limit = LIMIT * fastest if largest_speed is None else float(largest_speed)
    if not (np.isfinite(limit) and limit >= 0):
        raise InputError(f"largest speed: must be positive and finite, got {largest_speed}")
    if (gains == 1.0).all() and limit >= LIMIT * fastest:
        return fields
    styled = np.empty(fields.velocities.shape, dtype=fields.velocities.dtype)
    size = max(1, (1 << 24) // (fields.frames * fields.columns * 2))
    for start in range(0, fields.rows, size):
        part = slice(start, start + size)
        found = bases.coefficients(fields.velocities[:, part], "dct")
        found *= gains[:, None, None, None]
        styled[:, part] = bases.values(found, "dct")
    styled = _limited(styled, limit)
    if fields.mask is not None:
        _keep_off(styled, fields.velocities, fields.mask)
    return replace(fields, velocities=handed_over(styled))


def style_gains(style: float | str | Gains, frames: int, frame_rate: float) -> Array:
    """The gain of each cosine of a series, `(frames,)`; that of the mean is 1.

    >>> style_gains(2.0, 8, 16.0).round(2).tolist()
    [1.0, 4.0, 4.0, 1.15, 0.5, 0.5, 0.5, 0.5]
    """
    hertz = bases.frequencies("dct", frames, frame_rate)
    if callable(style):
        gains = np.asarray(style(hertz), dtype=np.float64)
        if gains.shape != hertz.shape or not np.isfinite(gains).all():
            raise InputError("style: the function must give one finite gain for every frequency")
        gains = gains.copy()
    elif isinstance(style, str):
        gains = _preset(style, hertz)
    else:
        gains = _dial(float(style), hertz)
    gains[0] = 1.0
    return gains


def _dial(style: float, hertz: Array) -> Array:
    if not 0.0 <= style <= STRONGEST:
        raise InputError(f"style {style:g}: 0 (still) to {STRONGEST:g}, 1 is as captured")
    band, noise = _rise(hertz, SLOWEST, SLOW), _rise(hertz, QUICK, QUICKEST)
    if style <= 1.0:
        return np.asarray(style ** (2 * band))
    return np.asarray(style ** (2 * band * (1 - noise)) * (1 - (1 - 1 / style) * noise))


def _preset(style: str, hertz: Array) -> Array:
    if style == "original":
        return np.ones(len(hertz))
    if style == "calm":
        return (np.arange(len(hertz)) < CALM).astype(np.float64)
    if style == "nervous":
        return _dial(NERVOUS, hertz)
    if style == "stressed":
        return _rise(hertz, SLOWEST, SLOW) * (1 - _rise(hertz, QUICK, QUICKEST))
    raise InputError(f"style {style!r}: a number, 1 = as captured, or one of {', '.join(PRESETS)}")


def _rise(hertz: Array, low: float, high: float) -> Array:
    """0 below `low`, 1 above `high`, smooth and even on a logarithmic scale between."""
    share = np.log(np.maximum(hertz, 1e-9) / low) / np.log(high / low)
    share = np.clip(share, 0.0, 1.0)
    return np.asarray(share * share * (3 - 2 * share))


def _limited(velocities: NDArray[np.floating], limit: float) -> NDArray[np.floating]:
    """Speeds above two thirds of the limit bent so that they never reach it."""
    speed = np.sqrt((velocities.astype(np.float64) ** 2).sum(axis=-1))
    free = limit / LIMIT
    over = speed > free
    if not over.any():
        return velocities
    room = max(limit - free, 1e-300)
    bent = free + room * np.tanh((speed[over] - free) / room)
    velocities[over] *= (bent / speed[over])[:, None].astype(velocities.dtype)
    return velocities


def _keep_off(styled: NDArray[np.floating], captured: NDArray[np.floating], mask: BoolArray) -> None:
    """Beside obstacles, motion into them is no stronger than it was captured."""
    rows, columns, normals = wall_normals(mask)
    for frame in range(len(styled)):
        before = (captured[frame, rows, columns] * normals).sum(axis=-1)
        after = (styled[frame, rows, columns] * normals).sum(axis=-1)
        excess = np.maximum(after - np.maximum(before, 0.0), 0.0)
        styled[frame, rows, columns] -= (excess[:, None] * normals).astype(styled.dtype)


def wall_normals(mask: BoolArray) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Pixels beside an obstacle (rows, columns), and unit vectors `(n, 2)` (right, down) towards it.

    >>> rows, columns, normals = wall_normals(np.array([[True, True, False]]))
    >>> columns.tolist(), normals.tolist()
    ([1], [[1.0, 0.0]])
    """
    solid = np.pad(~mask, 1)
    pull = np.zeros((*mask.shape, 2))
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            if down or right:
                there = solid[1 + down : 1 + down + mask.shape[0], 1 + right : 1 + right + mask.shape[1]]
                pull += there[..., None] * np.array([right, down]) / np.hypot(right, down)
    length = np.hypot(pull[..., 0], pull[..., 1])
    rows, columns = np.nonzero(mask & (length > 1e-9))
    return rows, columns, pull[rows, columns] / length[rows, columns][:, None]
