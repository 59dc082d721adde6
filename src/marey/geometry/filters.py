"""Filters of rotations and vectors over time that stay on the manifold (Courty 2013, section 2.1.2).

*Linear*, after Lee and Shin: with `w_i = log(q_i⁻¹ q_{i+1})` and a mask `m_{-k} … m_k` of sum 1,

    q_i exp(Σ_r b_r w_{i+r}),   b_r = Σ_{j>r} m_j for r ≥ 0,   b_r = -Σ_{j≤r} m_j for r < 0

(equation 2.6 lacks the minus sign); for turns about one axis the ordinary convolution of the angle.
*Bilateral*: each sample has a mask of its own, by how near its neighbours are in time and in pose,

    m_r(i) ∝ exp(-r² / 2 σ_t²) exp(-d(q_i, q_{i+r})² / 2 σ_g²),     Σ_r m_r(i) = 1,

with d half the angle between rotations (printed there without the squares and without the sum): noise goes,
quick changes stay. Filtering `a q b` for constant rotations a, b gives `a` times the filtered `q` times `b`.
Cost: one logarithm a frame, O(frames × half width) a series and pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry import rotations as so3

BOUNDARIES = ("mirror", "extrapolate")
"""What lies beyond the ends of a series.

"mirror": time runs backwards there, and the end sample is not repeated (Courty 2013, section 2.1.2.5), which
bends a series that moves at its end to a halt. "extrapolate": a reflection in the end pose, so that
motion goes on at its own speed; the pose is fitted by a line to the last samples, so that
noise of one counts less.
"""


@dataclass(frozen=True)
class FilterSettings:
    """Numbers of the filters.

    Attributes:
        per_noise: Automatic σ_g in units of the noise, where poses of the samples are compared.
        per_noise_guided: The same where poses of a smoothed copy are compared.
        min_sigma_g: Half radians; rounding of a still series is no noise to compare with.
        max_half_width: Samples on either side; more is a slip of the pen, not a filter.
        max_passes: As often as a filter may be repeated.
        cut: Share of a Butterworth mask's weight that may be cut off at its ends.
        fitted: Samples, beyond the first, that an end pose is fitted to.
    """

    per_noise: float = 1.5
    per_noise_guided: float = 1.0
    min_sigma_g: float = 1e-9
    max_half_width: int = 5_000
    max_passes: int = 1_000
    cut: float = 1e-4
    fitted: int = 4


SETTINGS = FilterSettings()


def linear_rotations(
    rotations: ArrayLike, mask: ArrayLike, *, passes: int = 1, boundary: str = "mirror"
) -> Array:
    """Rotations `(frames, ..., 4)` filtered along time by a mask `(2 k + 1,)`, which is scaled to sum 1.

    >>> step = so3.exp([[0.0, 0, 0], [0.0, 0, 0], [0.4, 0, 0], [0.4, 0, 0]])
    >>> so3.log(linear_rotations(step, [1, 2, 1]))[:, 0].round(6)
    array([0. , 0.1, 0.3, 0.4])
    """
    return _linear(rotations, mask, passes, boundary, dims=4)


def linear_vectors(
    vectors: ArrayLike, mask: ArrayLike, *, passes: int = 1, boundary: str = "mirror"
) -> Array:
    """Vectors `(frames, ..., dims)` filtered along time by a mask `(2 k + 1,)`, which is scaled to sum 1.

    >>> linear_vectors([[0.0], [0.0], [4.0], [4.0]], [1, 2, 1])[:, 0]
    array([0., 1., 3., 4.])
    """
    return _linear(vectors, mask, passes, boundary, dims=None)


def bilateral_rotations(
    rotations: ArrayLike,
    *,
    sigma: float = 1.0,
    sigma_g: ArrayLike | None = None,
    passes: int = 5,
    half: int | None = None,
    guided: bool = False,
    boundary: str = "mirror",
) -> Array:
    """Rotations `(frames, ..., 4)` without noise, with their quick changes.

    Args:
        sigma: How far in time neighbours count, samples.
        sigma_g: How far in pose they count, half-angle radians; one for all or one a series, `(...)`; None =
            from the noise of each series.
        passes: Number of passes; each reads the result of the one before.
        half: Samples on either side; None = `ceil(3 sigma) + 1`.
        guided: Compare poses of a slightly smoothed copy, which noise misleads less.

    >>> rng = np.random.default_rng(0)
    >>> jump = so3.exp(np.outer(np.arange(60) >= 30, [0.0, 1.0, 0.0]))
    >>> noisy = so3.multiply(jump, so3.exp(rng.normal(scale=0.05, size=(60, 3))))
    >>> before, after = (so3.distance(jump, q).mean() for q in (noisy, bilateral_rotations(noisy)))
    >>> bool(after < 0.5 * before)
    True
    """
    return _bilateral(rotations, sigma, sigma_g, passes, half, guided, boundary, dims=4)


def bilateral_vectors(
    vectors: ArrayLike,
    *,
    sigma: float = 1.0,
    sigma_g: ArrayLike | None = None,
    passes: int = 5,
    half: int | None = None,
    guided: bool = False,
    boundary: str = "mirror",
) -> Array:
    """Vectors `(frames, ..., dims)` without noise, with their quick changes.

    Args:
        sigma_g: In the unit of the vectors; the others are those of :func:`bilateral_rotations`.

    >>> jump = 1.0 * (np.arange(60) >= 30)[:, None]
    >>> noisy = jump + np.random.default_rng(0).normal(scale=0.05, size=(60, 1))
    >>> bool(np.abs(bilateral_vectors(noisy) - jump).mean() < 0.6 * np.abs(noisy - jump).mean())
    True
    """
    return _bilateral(vectors, sigma, sigma_g, passes, half, guided, boundary, dims=None)


def rotation_noise(rotations: ArrayLike) -> Array:
    """Standard deviation `(...)` of each rotation-vector component's noise, radians, of `(frames, ..., 4)`.

    Third differences take away what a motion does slowly and leave √20 times the noise of a sample; the
    median of their lengths is that of noise as long as motion is quick for less than half of the time.
    Zero for fewer than four frames.

    >>> shaken = so3.exp(np.random.default_rng(0).normal(scale=0.05, size=(9000, 3)))
    >>> round(float(rotation_noise(shaken)), 3)
    0.05
    """
    series = _as_series(rotations, 4)
    steps = so3.log(so3.multiply(so3.inverse(series[:, :-1]), series[:, 1:]))
    return _noise(np.diff(steps, n=2, axis=1)).reshape(np.shape(rotations)[1:-1])


def vector_noise(vectors: ArrayLike) -> Array:
    """Standard deviation `(...)` of each component's noise, of vectors `(frames, ..., dims)`.

    >>> shaken = np.random.default_rng(0).normal(scale=0.02, size=(9000, 3))
    >>> round(float(vector_noise(shaken)), 3)
    0.02
    """
    return _noise(np.diff(_as_series(vectors, None), n=3, axis=1)).reshape(np.shape(vectors)[1:-1])


def gaussian_mask(sigma: float, *, half: int | None = None) -> Array:
    """Weights `(2 half + 1,)` of a bell of standard deviation `sigma`, in samples.

    Args:
        half: Samples on either side; None = `ceil(3 sigma) + 1`.

    >>> gaussian_mask(1.0, half=1).round(4)
    array([0.2741, 0.4519, 0.2741])
    """
    near = _time_weights(sigma, half)
    mask = np.concatenate([near[:0:-1], near])
    return np.asarray(mask / mask.sum())


def binomial_mask(half: int) -> Array:
    """Weights `(2 half + 1,)` of the binomial distribution: the smoothest taper to 0, σ² = half / 2.

    >>> binomial_mask(2)
    array([0.0625, 0.25  , 0.375 , 0.25  , 0.0625])
    """
    check_half_width(half)
    places = np.arange(1, 2 * half + 1)
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(2 * half + 1 - places) - np.log(places))])
    mask = np.exp(logarithms - 2 * half * np.log(2.0))
    return np.asarray(mask / mask.sum())


def butterworth_mask(cutoff: float, *, order: int = 2) -> Array:
    """Impulse response `(2 k + 1,)` of a Butterworth low-pass run forwards and then backwards.

    Zero phase; the amplitude at the cutoff is halved. Cut off where the rest is less than 1e-4 of it.

    Args:
        cutoff: Share of the sampling rate, between 0 and 0.5; 6 Hz at 120 frames a second are 0.05.
        order: Of the filter that is run twice.

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
    size = 4 * (SETTINGS.max_half_width + 1)
    frequency = np.arange(size // 2 + 1) / size
    with np.errstate(over="ignore", divide="ignore"):
        warped = np.tan(np.pi * np.minimum(frequency, 0.5 - 1e-12)) / np.tan(np.pi * cutoff)
        gain = 1.0 / (1.0 + warped ** (2 * int(order)))
    response = np.fft.irfft(gain, size)[: size // 2]
    rest = 2.0 * np.cumsum(np.abs(response[::-1]))[::-1]
    half = max(int(np.argmax(rest < SETTINGS.cut * rest[0])) - 1, 1)
    check_half_width(half)
    mask = np.concatenate([response[half:0:-1], response[: half + 1]])
    return np.asarray(mask / mask.sum())


def step_shares(mask: Array) -> Array:
    """The b_r `(2 k,)`, r from -k to k - 1, of a mask `(2 k + 1,)` with sum 1."""
    half = len(mask) // 2
    below, above = np.cumsum(mask)[:half], np.cumsum(mask[::-1])[half - 1 :: -1]
    return np.concatenate([-below, above])


def check_half_width(half: int) -> None:
    """A whole number of samples that a motion is long enough for."""
    if isinstance(half, bool) or not isinstance(half, int | np.integer) or half < 0:
        raise InputError(f"half: a whole number of samples, not below 0, got {half!r}")
    if half > SETTINGS.max_half_width:
        raise InputError(
            f"the filter reaches over {half} frames on each side; at most {SETTINGS.max_half_width}"
        )


def _linear(values: ArrayLike, mask: ArrayLike, passes: int, boundary: str, *, dims: int | None) -> Array:
    """Rotations (dims 4) or vectors (dims None), filtered."""
    weights = _checked_mask(mask)
    _check(passes, boundary)
    series, half = _as_series(values, dims), len(weights) // 2
    shape = np.shape(values)
    if half == 0 or shape[0] == 1:
        return np.array(values, dtype=np.float64)
    for _ in range(passes):
        _smooth(_pad(series, half, boundary, dims), weights, dims, series)
    return _from_series(series, shape)


def _bilateral(
    values: ArrayLike,
    sigma: float,
    sigma_g: ArrayLike | None,
    passes: int,
    half: int | None,
    guided: bool,
    boundary: str,
    *,
    dims: int | None,
) -> Array:
    from marey.geometry import _filter_kernels as kernels

    series, shape = _as_series(values, dims), np.shape(values)
    if sigma_g is None:
        factor = SETTINGS.per_noise_guided if guided else SETTINGS.per_noise
        # Lengths are whole, angles are halved.
        noise = rotation_noise(values) if dims else 2.0 * vector_noise(values)
        sigma_g = np.maximum(factor * noise, SETTINGS.min_sigma_g)
    scale = _scale(sigma_g, shape[1:-1])
    near = _time_weights(sigma, half)
    _check(passes, boundary)
    reach = len(near) - 1
    if reach == 0 or shape[0] == 1:
        return np.array(values, dtype=np.float64)
    mask = gaussian_mask(sigma, half=reach)
    run = kernels.bilateral_rotations if dims else kernels.bilateral_vectors
    for _ in range(passes):
        guide = padded = _pad(series, reach, boundary, dims)
        if guided:
            smooth = np.empty_like(series)
            _smooth(padded, mask, dims, smooth)
            guide = _pad(smooth, reach, boundary, dims)
        run(padded, guide, near, scale, series)
    return _from_series(series, shape)


def _smooth(padded: Array, mask: Array, dims: int | None, out: Array) -> None:
    from marey.geometry import _filter_kernels as kernels

    if dims:
        kernels.linear_rotations(padded, step_shares(mask), out)
    else:
        kernels.linear_vectors(padded, mask, out)


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


def _time_weights(sigma: float, half: int | None) -> Array:
    """exp(-r² / (2 sigma²)) of the sample itself and its followers on one side, `(half + 1,)`."""
    if not (np.isfinite(sigma) and sigma >= 0.0):
        raise InputError(f"sigma: a number of samples, not below 0, got {sigma}")
    if half is None:
        half = int(min(np.ceil(3.0 * sigma) + 1, SETTINGS.max_half_width + 1)) if sigma > 0.0 else 0
    check_half_width(half)
    return np.exp(-0.5 * (np.arange(half + 1.0) / max(sigma, 1e-150)) ** 2)


def _checked_mask(mask: ArrayLike) -> Array:
    weights = np.asarray(mask, dtype=np.float64)
    if weights.ndim != 1 or len(weights) % 2 == 0 or not np.isfinite(weights).all():
        raise InputError(f"mask: an odd number of finite weights in a row, found shape {weights.shape}")
    total = float(weights.sum())
    if abs(total) < 1e-9 * np.abs(weights).max(initial=0.0) or total == 0.0:
        raise InputError("mask: its weights add up to 0; a filter that keeps still poses still needs a sum")
    check_half_width(len(weights) // 2)
    return np.ascontiguousarray(weights / total)


def _check(passes: int, boundary: str) -> None:
    most = SETTINGS.max_passes
    if isinstance(passes, bool) or not isinstance(passes, int | np.integer) or not 1 <= passes <= most:
        raise InputError(f"passes: a whole number from 1 to {most}, got {passes!r}")
    if boundary not in BOUNDARIES:
        raise InputError(f"boundary {boundary!r}: one of {', '.join(BOUNDARIES)}")


def _as_series(values: ArrayLike, dims: int | None) -> Array:
    """`(frames, ..., dims)` as `(series, frames, dims)`, contiguous, a fresh copy."""
    name = "rotations" if dims else "vectors"
    array = np.asarray(values, dtype=np.float64)
    if array.ndim < 2 or (dims is not None and array.shape[-1] != dims) or 0 in array.shape:
        raise InputError(f"{name} must have shape (frames, ..., {dims or 'dims'}), found {array.shape}")
    if not np.isfinite(array).all():
        frame = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise InputError(f"{name}: a value of frame {frame} is not finite; fill or drop that frame first")
    flat = array.reshape(len(array), -1, array.shape[-1])
    return np.array(flat.transpose(1, 0, 2), order="C")


def _from_series(series: Array, shape: tuple[int, ...]) -> Array:
    """`(series, frames, dims)` back in the shape it came in."""
    return np.ascontiguousarray(series.transpose(1, 0, 2)).reshape(shape)


def _pad(series: Array, half: int, boundary: str, dims: int | None) -> Array:
    """`(series, frames, dims)` with `half` more samples on both sides.

    >>> turning = so3.exp(np.outer(np.arange(5.0), [0.0, 0.1, 0.0]))[None]
    >>> so3.log(_pad(turning, 2, "mirror", 4))[0, :, 1].round(3)
    array([0.2, 0.1, 0. , 0.1, 0.2, 0.3, 0.4, 0.3, 0.2])
    >>> so3.log(_pad(turning, 2, "extrapolate", 4))[0, :, 1].round(3)
    array([-0.2, -0.1,  0. ,  0.1,  0.2,  0.3,  0.4,  0.5,  0.6])
    """
    frames = series.shape[1]
    if boundary == "mirror" or frames == 1:
        period = max(2 * (frames - 1), 1)
        place = np.abs(np.arange(-half, frames + half)) % period
        return np.ascontiguousarray(np.take(series, np.where(place < frames, place, period - place), axis=1))
    while half > 0:
        more = min(half, series.shape[1] - 1)
        # Both ends at once: little arrays cost by the call.
        count = max(more, SETTINGS.fitted) + 1
        ends = np.concatenate([series[:, :count], series[:, : -count - 1 : -1]])
        beyond = _reflected_rotations(ends, more) if dims else _reflected_vectors(ends, more)
        series = np.concatenate([beyond[: len(series), ::-1], series, beyond[len(series) :]], axis=1)
        half -= more
    return np.ascontiguousarray(series)


def _reflected_rotations(ahead: Array, more: int) -> Array:
    """What lies before the first of `ahead`, nearest first: c q⁻¹ c, the reflection in the end pose c."""
    weights = _end_weights(ahead.shape[1])
    # Steps added up, not logarithms from the first on: those would jump after half a turn.
    steps = so3.log(so3.multiply(so3.inverse(ahead[:, : len(weights) - 1]), ahead[:, 1 : len(weights)]))
    away = np.einsum("k,skd->sd", weights[1:], np.cumsum(steps, axis=1))
    centre = so3.multiply(ahead[:, :1], so3.exp(away[:, None]))
    back = so3.multiply(centre, so3.inverse(ahead[:, 1 : more + 1]))
    return so3.normalise(so3.multiply(back, centre))


def _reflected_vectors(ahead: Array, more: int) -> Array:
    weights = _end_weights(ahead.shape[1])
    centre = np.einsum("k,skd->sd", weights, ahead[:, : len(weights)])[:, None]
    return np.asarray(2.0 * centre - ahead[:, 1 : more + 1])


def _end_weights(samples: int) -> Array:
    """Weights of the first samples whose sum is where a line fitted to them begins."""
    at = np.arange(min(SETTINGS.fitted + 1, samples), dtype=np.float64)
    return np.asarray(np.linalg.pinv(np.stack([np.ones_like(at), at], axis=1))[0])


def _noise(differences: Array) -> Array:
    """Noise a component of each series of `(series, samples, dims)` third differences."""
    if differences.shape[1] == 0:
        return np.zeros(len(differences))
    dims = differences.shape[2]
    # Median length of a standard normal vector (Wilson and Hilferty); 0.6745 in one dimension.
    usual = 0.6745 if dims == 1 else np.sqrt(dims * (1.0 - 2.0 / (9.0 * dims)) ** 3)
    # Third differences of white noise are the root of 1² + 3² + 3² + 1² = 20 times as long.
    return np.asarray(np.median(np.linalg.norm(differences, axis=2), axis=1) / (usual * np.sqrt(20.0)))
