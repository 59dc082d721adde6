"""Angular velocity and acceleration of noisy rotations, by local polynomials as Savitzky and Golay's.

Around each sample the rotation vectors `log(q_i⁻¹ q_{i+j})`, |j| ≤ k, are fitted by a polynomial; its first
two derivatives, carried over by the differential of the exponential, are those of the rotation. For turns
about one axis this is `scipy.signal.savgol_filter` of the angle. At the ends the polynomial of the last whole
window is used. It replaces the plain differences of Courty 2013, section 2.1.2.5, which double noise.
Cost: one logarithm a sample of the window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, checked_rate
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.filters import check_half_width
from marey.geometry.matrices import dexp_body


class AngularMotion(NamedTuple):
    """Smoothed rotations `(frames, ..., 4)`; velocity (rad/s), acceleration (rad/s²) `(frames, ..., 3)`."""

    rotations: Array
    velocity: Array
    acceleration: Array


def angular_motion(
    rotations: ArrayLike, frame_rate: float, *, half: int = 4, degree: int = 3, frame: str = "body"
) -> AngularMotion:
    """How fast rotations `(frames, ..., 4)` turn, and how that changes.

    Args:
        half: Samples on either side that a polynomial is fitted to; fewer where the clip is shorter.
        degree: Of the polynomial, 1 to `2 half`.
        frame: "body", seen by what turns, or "world", seen from outside.

    >>> spin = so3.exp(np.outer(np.arange(20) / 100, [0.0, 3.0, 0.0]))
    >>> angular_motion(spin, 100.0).velocity[7].round(9) + 0.0
    array([0., 3., 0.])
    """
    q = np.asarray(rotations, dtype=np.float64)
    rate = checked_rate(frame_rate)
    if q.ndim < 2 or q.shape[-1] != 4 or len(q) < 3:
        raise InputError(f"rotations must have shape (frames, ..., 4) and 3 frames or more, found {q.shape}")
    if frame not in ("body", "world"):
        raise InputError(f"frame {frame!r}: one of body, world")
    for name, value, least in (("half", half, 1), ("degree", degree, 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{name}: a whole number, {least} or more, got {value!r}")
    check_half_width(int(half))
    half = min(int(half), (len(q) - 1) // 2)
    if degree > 2 * half:
        raise InputError(f"degree: at most {2 * half} for {2 * half + 1} samples, got {degree}")
    q = so3.continuous(so3.normalise(q))
    frames = len(q)
    centres = np.clip(np.arange(frames), half, frames - 1 - half)
    offset, rates, bends = _fitted(q, centres, half, int(degree))
    # r(t) about the centre's frame: the rotation is q_c exp(r), its body velocity D(r) r'.
    turn = dexp_body(offset)
    velocity = np.einsum("...ij,...j->...i", turn, rates)
    small = 1e-6
    ahead = dexp_body(offset + small * rates)
    behind = dexp_body(offset - small * rates)
    change = np.einsum("...ij,...j->...i", (ahead - behind) / (2.0 * small), rates)
    acceleration = np.einsum("...ij,...j->...i", turn, bends) + change
    smooth = so3.multiply(q[centres], so3.exp(offset))
    velocity, acceleration = rate * velocity, rate**2 * acceleration
    if frame == "world":
        velocity, acceleration = so3.rotate(smooth, velocity), so3.rotate(smooth, acceleration)
    return AngularMotion(so3.continuous(smooth), velocity, acceleration)


def _fitted(q: Array, centres: NDArray[np.int64], half: int, degree: int) -> tuple[Array, Array, Array]:
    """Value and first two derivatives, per sample, at every frame, of the polynomial about its centre."""
    frames = len(q)
    places = np.arange(-half, half + 1, dtype=np.float64)
    # (degree + 1, window): coefficients of the polynomial from the samples.
    solve = np.linalg.pinv(np.vander(places / half, degree + 1, increasing=True))
    solve /= float(half) ** np.arange(degree + 1)[:, None]
    at = (np.arange(frames) - centres).astype(np.float64)
    powers = np.arange(degree + 1)
    value = at[:, None] ** powers
    first = np.where(powers > 0, powers * at[:, None] ** np.maximum(powers - 1, 0), 0.0)
    second = np.where(powers > 1, powers * (powers - 1) * at[:, None] ** np.maximum(powers - 2, 0), 0.0)
    weights = np.stack([value, first, second]) @ solve
    found = np.zeros((3, *q.shape[:-1], 3))
    shape = (3, frames, *(1,) * (q.ndim - 1))
    for j in range(2 * half + 1):
        away = _sphere_log(so3.multiply(so3.inverse(q[centres]), q[centres + j - half]))
        found += weights[:, :, j].reshape(shape) * away
    return found[0], found[1], found[2]


def _sphere_log(q: Array) -> Array:
    """Rotation vectors up to 2 π long: the sign of q counts, so that windows may turn by more than π."""
    sine = np.linalg.norm(q[..., 1:], axis=-1)
    angle = 2.0 * np.arctan2(sine, q[..., 0])
    return np.where(sine > 1e-150, angle / np.maximum(sine, 1e-150), 2.0)[..., None] * q[..., 1:]
