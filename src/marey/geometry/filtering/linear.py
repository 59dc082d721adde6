"""Linear filters of rotations, after Lee and Shin: any mask, without leaving the sphere and without drift.

With `w_i = log(q_i⁻¹ q_{i+1})` and a mask `m_{-k} … m_k` of sum 1, the filtered rotation is

    q_i exp(Σ_r b_r w_{i+r}),   b_r = Σ_{j>r} m_j for r ≥ 0,   b_r = -Σ_{j≤r} m_j for r < 0

(Courty 2013, section 2.1.2.1, whose equation 2.6 lacks the minus sign). For turns about one axis it is the
ordinary convolution of the angle. Cost: O(frames × mask) a series and pass, after one logarithm a frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry.filtering.boundaries import (
    MIRROR,
    MOST_HALF_WIDTH,
    as_series,
    check_half_width,
    from_series,
    pad_rotations,
    pad_vectors,
)

# Share of a mask's weight that may be cut off at its ends.
CUT = 1e-4
MOST_PASSES = 1_000


def linear_rotations(
    rotations: ArrayLike, mask: ArrayLike, *, passes: int = 1, boundary: str = MIRROR
) -> Array:
    """Rotations `(frames, ..., 4)` filtered along time by a mask `(2 k + 1,)`, which is scaled to sum 1.

    boundary: "mirror" or "continue", see :mod:`marey.geometry.filtering.boundaries`

    >>> from marey.geometry import rotations as so3
    >>> step = so3.exp([[0.0, 0, 0], [0.0, 0, 0], [0.4, 0, 0], [0.4, 0, 0]])
    >>> so3.log(linear_rotations(step, [1, 2, 1]))[:, 0].round(6)
    array([0. , 0.1, 0.3, 0.4])
    """
    weights, half = _checked_mask(mask)
    check_passes(passes)
    series = as_series(rotations, 4, "rotations")
    shape = np.shape(rotations)
    if half == 0 or shape[0] == 1:
        return np.array(rotations, dtype=np.float64)
    shares = step_shares(weights)
    from marey.geometry.filtering import _kernels

    work = np.empty((7, shape[0] + 2 * half))
    for _ in range(passes):
        padded = pad_rotations(series, half, boundary)
        _kernels.linear_rotations(padded, shares, work, series)
    return from_series(series, shape)


def linear_vectors(vectors: ArrayLike, mask: ArrayLike, *, passes: int = 1, boundary: str = MIRROR) -> Array:
    """Vectors `(frames, ..., dims)` filtered along time by a mask `(2 k + 1,)`, which is scaled to sum 1.

    >>> linear_vectors([[0.0], [0.0], [4.0], [4.0]], [1, 2, 1])[:, 0]
    array([0., 1., 3., 4.])
    """
    weights, half = _checked_mask(mask)
    check_passes(passes)
    series = as_series(vectors, None, "vectors")
    shape = np.shape(vectors)
    if half == 0 or shape[0] == 1:
        return np.array(vectors, dtype=np.float64)
    from marey.geometry.filtering import _kernels

    for _ in range(passes):
        padded = pad_vectors(series, half, boundary)
        _kernels.linear_vectors(padded, weights, series)
    return from_series(series, shape)


def gaussian_mask(sigma: float, *, half: int | None = None) -> Array:
    """Weights `(2 half + 1,)` of a bell of standard deviation `sigma`, in samples.

    half: samples on either side; `ceil(3 sigma) + 1` if None

    >>> gaussian_mask(1.0, half=1).round(4)
    array([0.2741, 0.4519, 0.2741])
    """
    near = time_weights(sigma, half)
    mask = np.concatenate([near[:0:-1], near])
    return np.asarray(mask / mask.sum())


def binomial_mask(half: int) -> Array:
    """Weights `(2 half + 1,)` of the binomial distribution: the smoothest taper to 0, σ² = half / 2.

    >>> binomial_mask(2)
    array([0.0625, 0.25  , 0.375 , 0.25  , 0.0625])
    """
    if isinstance(half, bool) or not isinstance(half, int | np.integer) or half < 0:
        raise InputError(f"half: a whole number of samples, not below 0, got {half!r}")
    check_half_width(int(half))
    places = np.arange(1, 2 * half + 1)
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(2 * half + 1 - places) - np.log(places))])
    mask = np.exp(logarithms - 2 * half * np.log(2.0))
    return np.asarray(mask / mask.sum())


def butterworth_mask(cutoff: float, *, order: int = 2) -> Array:
    """Impulse response `(2 k + 1,)` of a Butterworth low-pass run forwards and then backwards.

    Zero phase; the amplitude at the cutoff is halved. Cut off where the rest is less than 1e-4 of it.

    cutoff: share of the sampling rate, between 0 and 0.5; 6 Hz at 120 frames a second are 0.05
    order: of the filter that is run twice

    >>> mask = butterworth_mask(0.05)
    >>> at_cutoff = mask @ np.cos(2 * np.pi * 0.05 * (np.arange(len(mask)) - len(mask) // 2))
    >>> bool(abs(at_cutoff - 0.5) < 1e-3)
    True
    """
    if not (np.isfinite(cutoff) and 0.0 < cutoff < 0.5):
        raise InputError(f"cutoff: between 0 and 0.5 of the frame rate, got {cutoff:g}")
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or not 1 <= order <= 10:
        raise InputError(f"order: a whole number from 1 to 10, got {order!r}")
    # The bilinear transform warps frequencies by a tangent; forward and backward multiply the gains.
    size = 4 * (MOST_HALF_WIDTH + 1)
    frequency = np.arange(size // 2 + 1) / size
    with np.errstate(over="ignore", divide="ignore"):
        warped = np.tan(np.pi * np.minimum(frequency, 0.5 - 1e-12)) / np.tan(np.pi * cutoff)
        gain = 1.0 / (1.0 + warped ** (2 * int(order)))
    response = np.fft.irfft(gain, size)[: size // 2]
    rest = 2.0 * np.cumsum(np.abs(response[::-1]))[::-1]
    half = max(int(np.argmax(rest < CUT * rest[0])) - 1, 1)
    check_half_width(half)
    mask = np.concatenate([response[half:0:-1], response[: half + 1]])
    return np.asarray(mask / mask.sum())


def check_passes(passes: int) -> None:
    """A whole number of passes, not too many."""
    if isinstance(passes, bool) or not isinstance(passes, int | np.integer) or not 1 <= passes <= MOST_PASSES:
        raise InputError(f"passes: a whole number from 1 to {MOST_PASSES}, got {passes!r}")


def time_weights(sigma: float, half: int | None) -> Array:
    """exp(-r² / (2 sigma²)) of the sample itself and its followers on one side, `(half + 1,)`."""
    if not (np.isfinite(sigma) and sigma >= 0.0):
        raise InputError(f"sigma: a number of samples, not below 0, got {sigma}")
    if half is None:
        half = int(min(np.ceil(3.0 * sigma) + 1, MOST_HALF_WIDTH + 1)) if sigma > 0.0 else 0
    if isinstance(half, bool) or not isinstance(half, int | np.integer) or half < 0:
        raise InputError(f"half: a whole number of samples, not below 0, got {half!r}")
    check_half_width(int(half))
    places = np.arange(half + 1, dtype=np.float64)
    return np.exp(-0.5 * (places / max(sigma, 1e-150)) ** 2)


def step_shares(mask: Array) -> Array:
    """The b_r `(2 k,)`, r from -k to k - 1, of a mask `(2 k + 1,)` with sum 1."""
    half = len(mask) // 2
    below, above = np.cumsum(mask)[:half], np.cumsum(mask[::-1])[half - 1 :: -1]
    return np.concatenate([-below, above])


def _checked_mask(mask: ArrayLike) -> tuple[Array, int]:
    weights = np.asarray(mask, dtype=np.float64)
    if weights.ndim != 1 or len(weights) % 2 == 0 or not np.isfinite(weights).all():
        raise InputError(f"mask: an odd number of finite weights in a row, found shape {weights.shape}")
    total = float(weights.sum())
    if abs(total) < 1e-9 * np.abs(weights).max(initial=0.0) or total == 0.0:
        raise InputError("mask: its weights add up to 0; a filter that keeps still poses still needs a sum")
    check_half_width(len(weights) // 2)
    return np.ascontiguousarray(weights / total), len(weights) // 2
