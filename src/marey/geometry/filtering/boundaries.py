"""What a filter sees beyond the ends of a series.

*mirror* is the source's rule (Courty 2013, section 2.1.2.5): time runs backwards there, and the end sample is
not repeated. A series that moves at its end is bent to a halt by it. *continue* reflects in the end *pose*
instead, so that the motion goes on at its own speed; the pose is fitted by a line over the last samples,
so noise of a single one does not count. Cost: one pass over what is added.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry import rotations as so3

MIRROR, CONTINUE = "mirror", "continue"
BOUNDARIES = (MIRROR, CONTINUE)
# Samples on either side of the one that is filtered. More is a slip of the pen, not a filter.
MOST_HALF_WIDTH = 5_000
# Samples that the end pose is fitted to, beyond the first.
FITTED = 4


def as_series(values: ArrayLike, dims: int | None, name: str) -> Array:
    """`(frames, ..., dims)` as `(series, frames, dims)`, contiguous, a fresh copy."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim < 2 or (dims is not None and array.shape[-1] != dims) or 0 in array.shape:
        wanted = "dims" if dims is None else dims
        raise InputError(f"{name} must have shape (frames, ..., {wanted}), found {array.shape}")
    if not np.isfinite(array).all():
        frame = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise InputError(f"{name}: a value of frame {frame} is not finite; fill or drop that frame first")
    flat = array.reshape(len(array), -1, array.shape[-1])
    return np.array(flat.transpose(1, 0, 2), order="C")


def from_series(series: Array, shape: tuple[int, ...]) -> Array:
    """`(series, frames, dims)` back in the shape it came in."""
    return np.ascontiguousarray(series.transpose(1, 0, 2)).reshape(shape)


def check_half_width(half: int) -> None:
    """Refuse windows that no motion is long enough for."""
    if half > MOST_HALF_WIDTH:
        raise InputError(f"the filter reaches over {half} frames on each side; at most {MOST_HALF_WIDTH}")


def check_boundary(boundary: str) -> None:
    """One of the rules for the ends."""
    if boundary not in BOUNDARIES:
        raise InputError(f"boundary {boundary!r}: one of {', '.join(BOUNDARIES)}")


def pad_rotations(series: Array, half: int, boundary: str) -> Array:
    """`(series, frames, 4)` with `half` more rotations on both sides.

    >>> turning = so3.exp(np.outer(np.arange(5.0), [0.0, 0.1, 0.0]))[None]
    >>> so3.log(pad_rotations(turning, 2, "mirror"))[0, :, 1].round(3)
    array([0.2, 0.1, 0. , 0.1, 0.2, 0.3, 0.4, 0.3, 0.2])
    >>> so3.log(pad_rotations(turning, 2, "continue"))[0, :, 1].round(3)
    array([-0.2, -0.1,  0. ,  0.1,  0.2,  0.3,  0.4,  0.5,  0.6])
    """
    check_boundary(boundary)
    if boundary == MIRROR or series.shape[1] == 1:
        return _mirrored(series, half)
    while half > 0:
        more = min(half, series.shape[1] - 1)
        # Both ends at once: little arrays cost by the call.
        count = max(more, FITTED) + 1
        beyond = _point_reflected_rotations(
            np.concatenate([series[:, :count], series[:, : -count - 1 : -1]]), more
        )
        before, after = beyond[: len(series), ::-1], beyond[len(series) :]
        series = np.concatenate([before, series, after], axis=1)
        half -= more
    return np.ascontiguousarray(series)


def pad_vectors(series: Array, half: int, boundary: str) -> Array:
    """`(series, frames, dims)` with `half` more vectors on both sides.

    >>> pad_vectors(np.arange(5.0)[None, :, None], 2, "continue")[0, :, 0].round(6) + 0.0
    array([-2., -1.,  0.,  1.,  2.,  3.,  4.,  5.,  6.])
    """
    check_boundary(boundary)
    if boundary == MIRROR or series.shape[1] == 1:
        return _mirrored(series, half)
    while half > 0:
        more = min(half, series.shape[1] - 1)
        # Both ends at once: little arrays cost by the call.
        count = max(more, FITTED) + 1
        beyond = _point_reflected_vectors(
            np.concatenate([series[:, :count], series[:, : -count - 1 : -1]]), more
        )
        before, after = beyond[: len(series), ::-1], beyond[len(series) :]
        series = np.concatenate([before, series, after], axis=1)
        half -= more
    return np.ascontiguousarray(series)


def _mirrored(series: Array, half: int) -> Array:
    frames = series.shape[1]
    period = max(2 * (frames - 1), 1)
    place = np.abs(np.arange(-half, frames + half)) % period
    return np.ascontiguousarray(np.take(series, np.where(place < frames, place, period - place), axis=1))


def _end_weights(samples: int) -> Array:
    """Weights of the first samples whose sum is where a line fitted to them begins."""
    at = np.arange(min(FITTED + 1, samples), dtype=np.float64)
    return np.asarray(np.linalg.pinv(np.stack([np.ones_like(at), at], axis=1))[0])


def _point_reflected_rotations(ahead: Array, more: int) -> Array:
    """What lies before the first of `ahead`, nearest first: c q⁻¹ c, the reflection in the end pose c."""
    weights = _end_weights(ahead.shape[1])
    first = ahead[:, :1]
    # Steps added up, not logarithms from the first on: those would jump after half a turn.
    steps = so3.log(so3.multiply(so3.inverse(ahead[:, : len(weights) - 1]), ahead[:, 1 : len(weights)]))
    away = np.einsum("k,skd->sd", weights[1:], np.cumsum(steps, axis=1))
    centre = so3.multiply(first, so3.exp(away[:, None]))
    back = so3.multiply(centre, so3.inverse(ahead[:, 1 : more + 1]))
    return so3.normalise(so3.multiply(back, centre))


def _point_reflected_vectors(ahead: Array, more: int) -> Array:
    weights = _end_weights(ahead.shape[1])
    centre = np.einsum("k,skd->sd", weights, ahead[:, : len(weights)])[:, None]
    return np.asarray(2.0 * centre - ahead[:, 1 : more + 1])
