"""Compiled loops of the particle filter: noisy steps within joint limits, one thread.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

from marey._compiling import njit

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Draws of a joint that may fall outside its limits before one is reflected into them.
DRAWS = 8


@njit(**_OPTIONS)
def product(aw, ax, ay, az, bw, bx, by, bz):  # type: ignore[no-untyped-def]
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


@njit(**_OPTIONS)
def turned(qw, qx, qy, qz, x, y, z):  # type: ignore[no-untyped-def]
    """q exp(v), made unit again."""
    angle = math.sqrt(x * x + y * y + z * z)
    factor = math.sin(0.5 * angle) / angle if angle > 1e-6 else 0.5 - angle * angle / 48.0
    w, x, y, z = product(qw, qx, qy, qz, math.cos(0.5 * angle), factor * x, factor * y, factor * z)
    size = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return w * size, x * size, y * size, z * size


@njit(**_OPTIONS)
def parts(w, x, y, z, centre, frame):  # type: ignore[no-untyped-def]
    """Twist angle about the frame's x axis and swing vector (y, z) of centre⁻¹ q, q = centre swing twist."""
    w, x, y, z = product(centre[0], -centre[1], -centre[2], -centre[3], w, x, y, z)
    w, x, y, z = product(frame[0], -frame[1], -frame[2], -frame[3], w, x, y, z)
    w, x, y, z = product(w, x, y, z, frame[0], frame[1], frame[2], frame[3])
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


@njit(**_OPTIONS)
def joined(twist, a, b, centre, frame):  # type: ignore[no-untyped-def]
    """The rotation of these parts."""
    angle = math.sqrt(a * a + b * b)
    factor = math.sin(0.5 * angle) / angle if angle > 1e-6 else 0.5 - angle * angle / 48.0
    half = 0.5 * twist
    w, x, y, z = product(
        math.cos(0.5 * angle), 0.0, factor * a, factor * b, math.cos(half), math.sin(half), 0.0, 0.0
    )
    w, x, y, z = product(frame[0], frame[1], frame[2], frame[3], w, x, y, z)
    w, x, y, z = product(w, x, y, z, frame[0], -frame[1], -frame[2], -frame[3])
    return product(centre[0], centre[1], centre[2], centre[3], w, x, y, z)


@njit(**_OPTIONS)
def reach(a, b, swing):  # type: ignore[no-untyped-def]
    """How far out the swing is, 1 on the edge of its cone."""
    u = a / (swing[0, 1] if a > 0.0 else swing[0, 0])
    v = b / (swing[1, 1] if b > 0.0 else swing[1, 0])
    return math.sqrt(u * u + v * v)


@njit(**_OPTIONS)
def reflected(twist, low, high):  # type: ignore[no-untyped-def]
    if twist < low:
        twist = 2.0 * low - twist
    elif twist > high:
        twist = 2.0 * high - twist
    return min(max(twist, low), high)


@njit(**_OPTIONS)
def wander(rotations, centres, frames, deviations, twists, swings, scale, rng, out):  # type: ignore[no-untyped-def]
    """A noisy step of every joint of every particle, redrawn until it is within the joint's limits.

    rotations, out: `(particles, joints, 4)`; deviations: `(joints, 3)` in the frames; returns draws refused.
    """
    refused = 0
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            q, f = rotations[n, j], frames[j]
            d0, d1, d2 = scale * deviations[j, 0], scale * deviations[j, 1], scale * deviations[j, 2]
            out[n, j, 0], out[n, j, 1], out[n, j, 2], out[n, j, 3] = q[0], q[1], q[2], q[3]
            if d0 == 0.0 and d1 == 0.0 and d2 == 0.0:
                continue
            low, high = twists[j, 0], twists[j, 1]
            for attempt in range(DRAWS):
                vx = d0 * rng.standard_normal() if d0 > 0.0 else 0.0
                vy = d1 * rng.standard_normal() if d1 > 0.0 else 0.0
                vz = d2 * rng.standard_normal() if d2 > 0.0 else 0.0
                w, x, y, z = product(f[0], f[1], f[2], f[3], 0.0, vx, vy, vz)
                w, x, y, z = product(w, x, y, z, f[0], -f[1], -f[2], -f[3])
                w, x, y, z = turned(q[0], q[1], q[2], q[3], x, y, z)
                twist, a, b = parts(w, x, y, z, centres[j], f)
                far = reach(a, b, swings[j])
                inside = low <= twist <= high and far <= 1.0
                if not inside:
                    refused += 1
                    if attempt < DRAWS - 1:
                        continue
                    twist = reflected(twist, low, high)
                    if far > 1.0:
                        shrunk = max(2.0 - far, 0.0) / far
                        a, b = shrunk * a, shrunk * b
                    w, x, y, z = joined(twist, a, b, centres[j], f)
                out[n, j, 0], out[n, j, 1], out[n, j, 2], out[n, j, 3] = w, x, y, z
                break
    return refused


@njit(**_OPTIONS)
def done(q, w, x, y, z, frame, v):  # type: ignore[no-untyped-def]
    """v = log(q⁻¹ (w, x, y, z)) in the frame."""
    w, x, y, z = product(q[0], -q[1], -q[2], -q[3], w, x, y, z)
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 * math.atan2(sine, w) / sine if sine > 1e-12 else 2.0
    f = frame
    w, x, y, z = product(f[0], -f[1], -f[2], -f[3], 0.0, factor * x, factor * y, factor * z)
    w, x, y, z = product(w, x, y, z, f[0], f[1], f[2], f[3])
    v[0], v[1], v[2] = x, y, z


@njit(**_OPTIONS)
def displace(rotations, vectors, centres, frames, twists, swings, bounce, out):  # type: ignore[no-untyped-def]
    """Turn every joint by a vector `(particles, joints, 3)` in its frame.

    What leaves the limits is reflected (`bounce`) or stays at them; `vectors` become what was really done.
    """
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            q, f, v = rotations[n, j], frames[j], vectors[n, j]
            out[n, j, 0], out[n, j, 1], out[n, j, 2], out[n, j, 3] = q[0], q[1], q[2], q[3]
            if v[0] == 0.0 and v[1] == 0.0 and v[2] == 0.0:
                continue
            w, x, y, z = product(f[0], f[1], f[2], f[3], 0.0, v[0], v[1], v[2])
            w, x, y, z = product(w, x, y, z, f[0], -f[1], -f[2], -f[3])
            w, x, y, z = turned(q[0], q[1], q[2], q[3], x, y, z)
            twist, a, b = parts(w, x, y, z, centres[j], f)
            far = reach(a, b, swings[j])
            low, high = twists[j, 0], twists[j, 1]
            if not (low <= twist <= high and far <= 1.0):
                twist = reflected(twist, low, high) if bounce else min(max(twist, low), high)
                if far > 1.0:
                    shrunk = max(2.0 - far, 0.0) / far if bounce else 1.0 / far
                    a, b = shrunk * a, shrunk * b
                w, x, y, z = joined(twist, a, b, centres[j], f)
                done(q, w, x, y, z, f, v)
            out[n, j, 0], out[n, j, 1], out[n, j, 2], out[n, j, 3] = w, x, y, z


@njit(**_OPTIONS)
def clamp(rotations, centres, frames, twists, swings):  # type: ignore[no-untyped-def]
    """Turn joints that are beyond their limits back to the nearest twist and swing, in place."""
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            q = rotations[n, j]
            twist, a, b = parts(q[0], q[1], q[2], q[3], centres[j], frames[j])
            far = reach(a, b, swings[j])
            low, high = twists[j, 0], twists[j, 1]
            if low <= twist <= high and far <= 1.0:
                continue
            twist = min(max(twist, low), high)
            if far > 1.0:
                a, b = a / far, b / far
            w, x, y, z = joined(twist, a, b, centres[j], frames[j])
            q[0], q[1], q[2], q[3] = w, x, y, z


@njit(**_OPTIONS)
def measure(rotations, centres, frames, twists, swings, out):  # type: ignore[no-untyped-def]
    """Radians `(particles, joints)` beyond the limits, at most 0 inside."""
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            q = rotations[n, j]
            twist, a, b = parts(q[0], q[1], q[2], q[3], centres[j], frames[j])
            angle = math.sqrt(a * a + b * b)
            far = reach(a, b, swings[j])
            edge = angle / far if far > 1e-12 else math.inf
            out[n, j] = max(max(twists[j, 0] - twist, twist - twists[j, 1]), angle - edge)


@njit(**_OPTIONS)
def split(rotations, centres, frames, out):  # type: ignore[no-untyped-def]
    """Twist and both swings `(particles, joints, 3)`, radians."""
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            q = rotations[n, j]
            twist, a, b = parts(q[0], q[1], q[2], q[3], centres[j], frames[j])
            out[n, j, 0], out[n, j, 1], out[n, j, 2] = twist, a, b
