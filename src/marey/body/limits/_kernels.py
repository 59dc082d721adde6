"""Compiled joint limits: excess and gradient of every kind, swing and twist taken apart, steps of particles.

Each limited joint has a centre `(4,)` and a row of parameters:

- RANGE: low `(3,)` and high `(3,)` of `log(centre⁻¹ q)`
- ELLIPSOID: a matrix `(3, 3)`
- SWING_TWIST: frame `(4,)`, twist from and to, swing about y to the negative and positive side, about z

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey._compiling import njit
from marey.body.limits.limits import ELLIPSOID, SWING_TWIST
from marey.geometry._inline_kernels import (
    Quaternion,
    Vector,
    conjugate,
    dexp_inverse,
    exp,
    log_between,
    product,
    quaternion,
    rotate,
    row_times,
    store,
    turn,
    vector,
)

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# Only kernels call these functions: without wrappers for Python they compile faster.
INNER = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Draws of a joint that may fall outside its limits before one is reflected into them.
DRAWS = 8


@njit(**INNER)
def limit(kind: int, q: Quaternion, centre: Quaternion, p: Array) -> tuple[float, Vector]:
    """How far a rotation is beyond its limit, and the derivative when it turns in its own frame."""
    if kind == SWING_TWIST:
        return _beyond_swing_twist(q, centre, p)
    u = log_between(centre, q)
    if kind == ELLIPSOID:
        s = (
            p[0] * u[0] + p[1] * u[1] + p[2] * u[2],
            p[3] * u[0] + p[4] * u[1] + p[5] * u[2],
            p[6] * u[0] + p[7] * u[1] + p[8] * u[2],
        )
        value = s[0] * u[0] + s[1] * u[1] + s[2] * u[2] - 1.0
        return value, row_times((2.0 * s[0], 2.0 * s[1], 2.0 * s[2]), dexp_inverse(u))
    return _beyond_range(u, p)


@njit(**OPTIONS)
def measure(
    kind: int,
    rotations: Array,
    joints: NDArray[np.int64],
    centres: Array,
    parameters: Array,
    values: Array,
    gradients: Array,
) -> None:
    """Excess `(poses, limited)` and gradients `(poses, limited, 3)` of rotations `(poses, joints, 4)`."""
    for n in range(rotations.shape[0]):
        for l in range(joints.shape[0]):
            q, centre = quaternion(rotations[n, joints[l]]), quaternion(centres[l])
            values[n, l], slope = limit(kind, q, centre, parameters[l])
            store(slope, gradients[n, l])


@njit(**OPTIONS)
def project_swing_twist(rotations: Array, centres: Array, parameters: Array) -> None:
    """Turn joints of `(poses, joints, 4)` that are beyond their limits back to them, in place."""
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            centre, p = quaternion(centres[j]), parameters[j]
            inside, twist, a, b = confined(parts(quaternion(rotations[n, j]), centre, p), p, False)
            if not inside:
                store(joined(twist, a, b, centre, p), rotations[n, j])


@njit(**OPTIONS)
def split(rotations: Array, centres: Array, parameters: Array, out: Array) -> None:
    """Twist and both swings `(poses, joints, 3)` of rotations `(poses, joints, 4)`, radians."""
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            store(parts(quaternion(rotations[n, j]), quaternion(centres[j]), parameters[j]), out[n, j])


@njit(**INNER)
def parts(q: Quaternion, centre: Quaternion, p: Array) -> Vector:
    """Twist about the frame's x axis and swing (y, z) of centre⁻¹ q, with q = centre · swing · twist."""
    frame = quaternion(p)
    w, x, y, z = product(product(conjugate(frame), product(conjugate(centre), q)), frame)
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    n = math.sqrt(w * w + x * x)
    if n < 1e-12:
        return 0.0, math.pi * y, math.pi * z
    c, s = w / n, x / n
    a, b = y * c - z * s, y * s + z * c
    sine = math.sqrt(a * a + b * b)
    factor = 2.0 * math.atan2(sine, n) / sine if sine > 1e-12 else 2.0
    return 2.0 * math.atan2(x, w), factor * a, factor * b


@njit(**INNER)
def joined(twist: float, a: float, b: float, centre: Quaternion, p: Array) -> Quaternion:
    """The rotation of these parts."""
    frame = quaternion(p)
    turned = product(exp((0.0, a, b)), (math.cos(0.5 * twist), math.sin(0.5 * twist), 0.0, 0.0))
    return product(centre, product(product(frame, turned), conjugate(frame)))


@njit(**INNER)
def confined(split: Vector, p: Array, reflect: bool) -> tuple[bool, float, float, float]:
    """Whether parts are within their limits, and the parts brought there: reflected, or to the edge."""
    twist, a, b = split
    low, high, far = p[4], p[5], reach(a, b, p)
    if low <= twist <= high and far <= 1.0:
        return True, twist, a, b
    if reflect and twist < low:
        twist = 2.0 * low - twist
    elif reflect and twist > high:
        twist = 2.0 * high - twist
    if far > 1.0:
        scale = max(2.0 - far, 0.0) / far if reflect else 1.0 / far
        a, b = scale * a, scale * b
    return False, min(max(twist, low), high), a, b


@njit(**INNER)
def reach(a: float, b: float, p: Array) -> float:
    """How far out a swing is, 1 on the edge of its cone."""
    u = a / (p[7] if a > 0.0 else p[6])
    v = b / (p[9] if b > 0.0 else p[8])
    return math.sqrt(u * u + v * v)


@njit(**INNER)
def _beyond_swing_twist(q: Quaternion, centre: Quaternion, p: Array) -> tuple[float, Vector]:
    """Radians beyond the range of twist or the cone of swing, whichever is farther.

    With s = exp(σ), σ = (0, a, b), a small turn η after the swing twists by η_x + tan(r/2)/r (a η_z - b η_y),
    r = |σ|, and changes σ by dexp⁻¹(σ) (η - twist e_x).
    """
    twist, a, b = parts(q, centre, p)
    r = math.sqrt(a * a + b * b)
    far = reach(a, b, p)
    low, high = p[4] - twist, twist - p[5]
    swung = r - r / far if far > 1e-12 else -math.inf
    value = max(max(low, high), swung)
    T = math.tan(0.5 * r) / r if r > 1e-6 else 0.5
    # How the twist changes with η; the sign and scale of it, and what the swing adds.
    g = (1.0, -b * T, a * T)
    scale = -1.0 if low >= high else 1.0
    if swung > max(low, high):
        A, B = p[7] if a > 0.0 else p[6], p[9] if b > 0.0 else p[8]
        da = a / r * (1.0 - 1.0 / far) + r * a / (A * A * far * far * far)
        db = b / r * (1.0 - 1.0 / far) + r * b / (B * B * far * far * far)
        D = dexp_inverse((0.0, a, b))
        along = row_times((0.0, da, db), D)
        # σ does not turn with the twist.
        rest = along[0]
        g = (along[0] - rest * g[0], along[1] - rest * g[1], along[2] - rest * g[2])
        scale = 1.0
    # From the axes after the swing to those after the twist, then to the joint's.
    c, s = math.cos(twist), math.sin(twist)
    g = (scale * g[0], scale * (c * g[1] + s * g[2]), scale * (c * g[2] - s * g[1]))
    return value, rotate(quaternion(p), g)


@njit(**INNER)
def _beyond_range(u: Vector, p: Array) -> tuple[float, Vector]:
    """Distance of a rotation vector from its box, negative inside.

    A turn beyond half a turn is one in the other direction: the one nearer to the box is meant.
    """
    angle = math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    distance, over = _from_box(u, p)
    if distance > 0.0 and angle > 1e-9:
        scale = 1.0 - 2.0 * math.pi / angle
        other = (scale * u[0], scale * u[1], scale * u[2])
        nearer, away = _from_box(other, p)
        if nearer < distance:
            u, distance, over = other, nearer, away
    return distance, row_times(over, dexp_inverse(u))


@njit(**INNER)
def _from_box(u: Vector, p: Array) -> tuple[float, Vector]:
    """Distance of a vector from a box, negative inside, and its gradient."""
    x = u[0] - min(max(u[0], p[0]), p[3])
    y = u[1] - min(max(u[1], p[1]), p[4])
    z = u[2] - min(max(u[2], p[2]), p[5])
    distance = math.sqrt(x * x + y * y + z * z)
    if distance > 0.0:
        return distance, (x / distance, y / distance, z / distance)
    value, axis, sign = -math.inf, 0, 1.0
    for i in range(3):
        if p[i] - u[i] > value:
            value, axis, sign = p[i] - u[i], i, -1.0
        if u[i] - p[3 + i] > value:
            value, axis, sign = u[i] - p[3 + i], i, 1.0
    return value, (sign * (axis == 0), sign * (axis == 1), sign * (axis == 2))


@njit(**OPTIONS)
def propose(
    rotations: Array, deviations: Array, centres: Array, limits: Array, rng: np.random.Generator, out: Array
) -> None:
    """A noisy step of every joint of every particle, redrawn until it is within the joint's limits.

    Args:
        rotations, out: `(particles, joints, 4)`.
        deviations: `(joints, 3)`, radians, in the limits' frames.
    """
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            q, centre, p = quaternion(rotations[n, j]), quaternion(centres[j]), limits[j]
            x, y, z = vector(deviations[j])
            new = q
            for attempt in range(DRAWS if x > 0.0 or y > 0.0 or z > 0.0 else 0):
                vx = x * rng.standard_normal() if x > 0.0 else 0.0
                vy = y * rng.standard_normal() if y > 0.0 else 0.0
                vz = z * rng.standard_normal() if z > 0.0 else 0.0
                new = turn(q, rotate(quaternion(p), (vx, vy, vz)))
                inside, twist, a, b = confined(parts(new, centre, p), p, True)
                if inside:
                    break
                if attempt == DRAWS - 1:
                    new = joined(twist, a, b, centre, p)
            store(new, out[n, j])


@njit(**OPTIONS)
def move(rotations: Array, vectors: Array, centres: Array, limits: Array, reflect: bool, out: Array) -> None:
    """Turn every joint by a vector `(particles, joints, 3)` in the frame of its limits.

    What leaves the limits is reflected, or stays at them; `vectors` become what was really done.
    """
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            q, v = quaternion(rotations[n, j]), vector(vectors[n, j])
            centre, p = quaternion(centres[j]), limits[j]
            new = q
            if v[0] != 0.0 or v[1] != 0.0 or v[2] != 0.0:
                new = turn(q, rotate(quaternion(p), v))
                inside, twist, a, b = confined(parts(new, centre, p), p, reflect)
                if not inside:
                    new = joined(twist, a, b, centre, p)
                    store(rotate(conjugate(quaternion(p)), log_between(q, new)), vectors[n, j])
            store(new, out[n, j])
