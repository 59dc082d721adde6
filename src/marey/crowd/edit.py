"""Edits of a captured flow: noise faded where no person walks, parts and frequencies by gains, style.

Denoising (Courty & Corpetti 2007, section 3.2): a series is noise where no pedestrian is seen, known from
the foreground or estimated by comparing the energy in a small neighbourhood of space and time with the noise
floor that second differences in time reveal (a Wiener gain). Style (section 4.2, figure 5): one dial, 1 is as
captured, below it the quicker changes fade, above it those of 0.3 to 2 Hz grow while the very quickest, which
are noise, fade. The mean over time always stays, speeds are softly limited, and no motion into an obstacle is
added. Cost: a few passes over the series; two cosine transforms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import Array, BoolArray, FloatArray, read_only
from marey.crowd import spectrum
from marey.crowd.analysis import with_gains
from marey.crowd.fields import UNKNOWN, FieldSeries
from marey.crowd.scales import crowd_flow
from marey.crowd.spectrum import Basis, Select
from marey.errors import InputError

Preset = Literal["calm", "original", "nervous", "stressed"]
PRESETS: tuple[Preset, ...] = get_args(Preset)
Gains = Callable[[Array], Array]

# Chi-square quantile: the median of a squared normal variable.
MEDIAN_OF_SQUARE = 0.4549
# Hz: where the band that makes a crowd nervous begins to count and counts fully, where noise takes over.
NERVOUS_BAND, NOISE_BAND = (0.1, 0.3), (2.0, 4.0)
# The speed limit, in fastest captured speeds.
LIMIT = 1.5


def edit(
    fields: FieldSeries,
    *,
    denoise: bool = False,
    vorticity: float = 1.0,
    divergence: float = 1.0,
    keep: float | None = None,
    basis: Basis = "dct",
    select: Select = "low",
    style: float | str | None = None,
) -> FieldSeries:
    """Edit a captured flow; edits are made in the order of the arguments.

    Args:
        fields: The flow.
        denoise: Fade the field where no person walks; takes three frames if foreground is not known.
        vorticity: Gain of the part that turns; 1 leaves it.
        divergence: Gain of the part that spreads and meets; 1 leaves it.
        keep: Share of the temporal frequencies to keep.
        basis: Of these, "dct" (cosines) or "dft" (Fourier pairs).
        select: Which of them: "low", "energy-shared" or "energy-pixel".
        style: 1 as captured, less is calmer, more is nervous; or the name of a preset.

    >>> from marey import samples
    >>> edit(samples.field(20, 30), keep=0.1).frames
    50
    """
    if not denoise and keep is None and style is None and (vorticity, divergence) == (1.0, 1.0):
        raise InputError("nothing to edit: give `denoise`, `vorticity`, `divergence`, `keep` or `style`")
    if keep is None and (basis, select) != ("dct", "low"):
        raise InputError("basis and `select`: go with `keep`")
    edited = fields = crowd_flow(fields)
    if denoise:
        edited = replace(fields, velocities=read_only(fields.velocities * foreground_gain(fields)[..., None]))
    if (vorticity, divergence) != (1.0, 1.0):
        edited = with_gains(edited, rotation=vorticity, compression=divergence)
    if keep is not None:
        kept = spectrum.compress(edited, keep=keep, basis=basis, select=select).decode()
        edited = replace(kept, foreground=edited.foreground)
    return edited if style is None else restyle(edited, style)


def foreground_gain(fields: FieldSeries) -> NDArray[np.float32]:
    """How much of the velocity at each pixel and frame is people's, 0 to 1, `(frames, rows, columns)`.

    Judged over 0.4 s and 3 × 3 pixels.
    """
    from scipy.ndimage import uniform_filter

    span = max(1, round(0.4 * fields.frame_rate) | 1)
    size = (min(span, fields.frames), 3, 3)
    unknown = None if fields.foreground is None else fields.foreground == UNKNOWN
    if fields.foreground is not None and unknown is not None and not unknown.all():
        seen = fields.foreground.astype(np.float32) / np.float32(255)
        if unknown.any():
            seen[unknown] = foreground_gain(replace(fields, foreground=None))[unknown]
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
        raise InputError(f"denoise needs at least 3 frames; this series has {fields.frames}")
    values: FloatArray = (
        fields.velocities if fields.mask is None else fields.velocities[:, fields.mask][:, None]
    )
    squares = (np.diff(values, n=2, axis=0).astype(np.float64) ** 2).reshape(fields.frames - 2, -1)
    if squares.size == 0:
        return 0.0
    # Medians: people who pass now and then, or are always there at half of the pixels, do not count.
    return float(np.sqrt(np.median(np.median(squares, axis=0)) / MEDIAN_OF_SQUARE / 6.0))


def restyle(
    fields: FieldSeries, style: float | str | Gains, *, largest_speed: float | None = None
) -> FieldSeries:
    """The same flow, quieter or more nervous.

    Args:
        fields: The series.
        style: The dial, 0 (only the mean is left) to 10, 1 = as captured; or a preset: "calm" (the first
            three numbers of each pixel), "original", "nervous", "stressed" (the mean and what is quick); or a
            function of frequencies `(n,)` in Hz that gives their gains `(n,)`.
        largest_speed: Pixels per frame that no speed exceeds; if None, 1.5 times the fastest captured. Speeds
            up to two thirds of it are left as they are.

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
    for part in _work.blocks(fields.rows, 16 * fields.frames * fields.columns):
        found = spectrum.coefficients(fields.velocities[:, part], "dct")
        found *= gains[:, None, None, None]
        styled[:, part] = spectrum.values(found, "dct")
    _limit_speeds(styled, limit)
    if fields.mask is not None:
        _keep_off_walls(styled, fields.velocities, fields.mask)
    return replace(fields, velocities=read_only(styled))


def style_gains(style: float | str | Gains, frames: int, frame_rate: float) -> Array:
    """The gain of each cosine of a series, `(frames,)`; that of the mean is 1.

    >>> style_gains(2.0, 8, 16.0).round(2).tolist()
    [1.0, 4.0, 4.0, 1.15, 0.5, 0.5, 0.5, 0.5]
    """
    hertz = spectrum.frequencies("dct", frames, frame_rate)
    if callable(style):
        gains = np.array(style(hertz), dtype=np.float64)
        if gains.shape != hertz.shape or not np.isfinite(gains).all():
            raise InputError("style: the function must give one finite gain for every frequency")
    elif isinstance(style, str):
        gains = _preset(style, hertz)
    else:
        gains = _dial(float(style), hertz)
    gains[0] = 1.0
    return gains


def _dial(style: float, hertz: Array) -> Array:
    if not 0.0 <= style <= 10.0:
        raise InputError(f"style {style:g}: 0 (still) to 10, 1 is as captured")
    band, noise = _rise(hertz, NERVOUS_BAND), _rise(hertz, NOISE_BAND)
    if style <= 1.0:
        return np.asarray(style ** (2 * band))
    return np.asarray(style ** (2 * band * (1 - noise)) * (1 - (1 - 1 / style) * noise))


def _preset(style: str, hertz: Array) -> Array:
    if style == "original":
        return np.ones(len(hertz))
    if style == "calm":
        return (np.arange(len(hertz)) < 3).astype(np.float64)
    if style == "nervous":
        return _dial(1.7, hertz)
    if style == "stressed":
        return _rise(hertz, NERVOUS_BAND) * (1 - _rise(hertz, NOISE_BAND))
    raise InputError(f"style {style!r}: a number, 1 = as captured, or one of {', '.join(PRESETS)}")


def _rise(hertz: Array, band: tuple[float, float]) -> Array:
    """0 below the band, 1 above it, smooth and even on a logarithmic scale between."""
    low, high = band
    share = np.clip(np.log(np.maximum(hertz, 1e-9) / low) / np.log(high / low), 0.0, 1.0)
    return np.asarray(share * share * (3 - 2 * share))


def _limit_speeds(velocities: FloatArray, limit: float) -> None:
    """Bend speeds above two thirds of the limit so that they never reach it."""
    speed = np.sqrt((velocities.astype(np.float64) ** 2).sum(axis=-1))
    free = limit / LIMIT
    over = speed > free
    if not over.any():
        return
    room = max(limit - free, 1e-300)
    bent = free + room * np.tanh((speed[over] - free) / room)
    velocities[over] *= (bent / speed[over])[:, None].astype(velocities.dtype)


def _keep_off_walls(styled: FloatArray, captured: FloatArray, mask: BoolArray) -> None:
    """Beside obstacles, motion into them is no stronger than it was captured."""
    # Directions of the blocked neighbours: smoothed normals would let some motion through at corners.
    solid = np.pad(~mask, 1)
    pull = np.zeros((*mask.shape, 2))
    for down, right in ((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j):
        there = solid[1 + down : 1 + down + mask.shape[0], 1 + right : 1 + right + mask.shape[1]]
        pull += there[..., None] * np.array([right, down]) / np.hypot(right, down)
    length = np.hypot(pull[..., 0], pull[..., 1])
    beside = mask & (length > 1e-9)
    normals = pull[beside] / length[beside, None]
    for after, before in zip(styled, captured, strict=True):
        into, was = ((field[beside] * normals).sum(axis=-1) for field in (after, before))
        excess = np.maximum(into - np.maximum(was, 0.0), 0.0)
        after[beside] -= (excess[:, None] * normals).astype(styled.dtype)
