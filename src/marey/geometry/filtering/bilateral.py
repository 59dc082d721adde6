"""The bilateral filter of rotations: takes noise away and keeps quick changes (Courty 2013, section 2.1.2).

Each sample has a mask of its own, of how near its neighbours are in time and in pose,

    m_r(i) ∝ exp(-r² / 2 σ_t²) exp(-d(q_i, q_{i+r})² / 2 σ_g²),     Σ_r m_r(i) = 1,

applied as in :mod:`marey.geometry.filtering.linear`; d is half the angle between rotations. The source prints
the exponents without squares and the masks without the sum. Filtering `a q b` for constant rotations a, b
gives `a` times the filtered `q` times `b`. Cost: O(frames × half width) a series and pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry.filtering.boundaries import (
    MIRROR,
    as_series,
    from_series,
    pad_rotations,
    pad_vectors,
)
from marey.geometry.filtering.linear import (
    check_passes,
    gaussian_mask,
    step_shares,
    time_weights,
)
from marey.geometry.filtering.noise import rotation_noise, vector_noise

# The automatic σ_g in units of the noise, for weights made from the samples and from a smoothed guide.
PER_NOISE, PER_NOISE_GUIDED = 1.5, 1.0
# Half radians: rounding of a still series is no noise to compare with.
LEAST_SIGMA_G = 1e-9


def bilateral_rotations(
    rotations: ArrayLike,
    *,
    sigma: float = 1.0,
    sigma_g: ArrayLike | None = None,
    passes: int = 5,
    half: int | None = None,
    guided: bool = False,
    boundary: str = MIRROR,
) -> Array:
    """Rotations `(frames, ..., 4)` without noise, with their quick changes.

    sigma: samples, how far in time neighbours count
    sigma_g: half-angle radians, as the source measures, how far in pose they count; one for all or one a
        series, `(...)`. From the noise of each series if None.
    passes: how often; every pass reads the result of the one before
    half: samples looked at on either side; `ceil(3 sigma) + 1` if None
    guided: compare poses of a slightly smoothed copy, which noise misleads less

    >>> from marey.geometry import rotations as so3
    >>> rng = np.random.default_rng(0)
    >>> jump = so3.exp(np.outer(np.arange(60) >= 30, [0.0, 1.0, 0.0]))
    >>> noisy = so3.multiply(jump, so3.exp(rng.normal(scale=0.05, size=(60, 3))))
    >>> before, after = (so3.distance(jump, q).mean() for q in (noisy, bilateral_rotations(noisy)))
    >>> bool(after < 0.5 * before)
    True
    """
    series = as_series(rotations, 4, "rotations")
    shape = np.shape(rotations)
    if sigma_g is None:
        factor = PER_NOISE_GUIDED if guided else PER_NOISE
        sigma_g = np.maximum(factor * rotation_noise(rotations), LEAST_SIGMA_G)
    scale = _scale(sigma_g, shape[1:-1])
    near = time_weights(sigma, half)
    check_passes(passes)
    reach = len(near) - 1
    if reach == 0 or shape[0] == 1:
        return np.array(rotations, dtype=np.float64)
    from marey.geometry.filtering import _kernels

    work = np.empty((7 + reach, shape[0] + 2 * reach))
    shares = step_shares(gaussian_mask(sigma, half=reach))
    for _ in range(passes):
        padded = pad_rotations(series, reach, boundary)
        guide = padded
        if guided:
            smooth = np.empty_like(series)
            _kernels.linear_rotations(padded, shares, work, smooth)
            guide = pad_rotations(smooth, reach, boundary)
        _kernels.bilateral_rotations(padded, guide, near, scale, work, series)
    return from_series(series, shape)


def bilateral_vectors(
    vectors: ArrayLike,
    *,
    sigma: float = 1.0,
    sigma_g: ArrayLike | None = None,
    passes: int = 5,
    half: int | None = None,
    guided: bool = False,
    boundary: str = MIRROR,
) -> Array:
    """Vectors `(frames, ..., dims)` without noise, with their quick changes: the same for a vector space.

    sigma_g: in the unit of the vectors; options as for :func:`bilateral_rotations`

    >>> jump = 1.0 * (np.arange(60) >= 30)[:, None]
    >>> noisy = jump + np.random.default_rng(0).normal(scale=0.05, size=(60, 1))
    >>> bool(np.abs(bilateral_vectors(noisy) - jump).mean() < 0.6 * np.abs(noisy - jump).mean())
    True
    """
    series = as_series(vectors, None, "vectors")
    shape = np.shape(vectors)
    if sigma_g is None:
        # Twice that of rotations: lengths are whole, angles were halved.
        factor = 2.0 * (PER_NOISE_GUIDED if guided else PER_NOISE)
        sigma_g = np.maximum(factor * vector_noise(vectors), LEAST_SIGMA_G)
    scale = _scale(sigma_g, shape[1:-1])
    near = time_weights(sigma, half)
    check_passes(passes)
    reach = len(near) - 1
    if reach == 0 or shape[0] == 1:
        return np.array(vectors, dtype=np.float64)
    from marey.geometry.filtering import _kernels

    mask = gaussian_mask(sigma, half=reach)
    for _ in range(passes):
        padded = pad_vectors(series, reach, boundary)
        guide = padded
        if guided:
            smooth = np.empty_like(series)
            _kernels.linear_vectors(padded, mask, smooth)
            guide = pad_vectors(smooth, reach, boundary)
        _kernels.bilateral_vectors(padded, guide, near, scale, series)
    return from_series(series, shape)


def _scale(sigma_g: ArrayLike, series: tuple[int, ...]) -> Array:
    """1 / (2 σ_g²) of each series, flat."""
    sigmas = np.asarray(sigma_g, dtype=np.float64)
    if not (np.isfinite(sigmas) & (sigmas > 0.0)).all():
        raise InputError("sigma_g: numbers above 0; None finds them from the noise")
    try:
        every = np.broadcast_to(sigmas, series)
    except ValueError as error:
        raise InputError(f"sigma_g: one for all or one a series {series}, found {sigmas.shape}") from error
    return np.ascontiguousarray(0.5 / np.maximum(every, 1e-100).ravel() ** 2)
