"""Compiled loops of walking bodies: all joints of one person at a time, without the GIL.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit
from marey.stage.walking._turn_kernels import (
    about_up,
    exponential,
    from_axes,
    inverse,
    length,
    quaternion,
    rotated,
    store,
    times,
)

Array = NDArray[np.float64]
Row = Any

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

# Share of its lift that a foot keeps in the smallest step.
LEAST_LIFT = 0.35
# Of a leg's length: what it may span; metres that the body sinks at most so that both feet reach.
FULL, SINK = 0.995, 0.15
# Seconds over which the body sinks and rises again.
EASE = 0.16


@njit(**_OPTIONS)
def pose(
    figure: tuple[Array, Array, Array, NDArray[np.int64], NDArray[np.int64], Array, Array],
    tables: tuple[Array, Array, Array, Array],
    drawn: tuple[Array, Array],
    phase: Array,
    stands: NDArray[np.bool_],
    paces: Array,
    place: Array,
    heading: Array,
    rate: float,
    scale: float,
    holds: Array,
    first: int,
    rotations: NDArray[np.float32],
    root: NDArray[np.float32],
    skip: int,
) -> None:
    """All joints of one person; `rotations` `(frames − 2 skip, joints, 4)`, `root` likewise.

    figure: rest rotations in the parents' frames and in the world, offsets, joints above the legs, legs,
        frames of thighs and shanks at rest, heights of the balls of the feet
    tables: body `(cycles, phases, numbers)` and feet of his cycles, strides, the body that stands
    drawn: what chance adds `(samples, modes)`, PHASES a cycle, and the modes `(modes, numbers)`
    """
    local, whole, offsets, trunk, legs, frames_at_rest, balls = figure
    body, feet, strides, still = tables
    draws, modes = drawn
    frames, numbers = phase.shape[0], still.shape[0]
    phases, samples = body.shape[1], (feet.shape[2] - 1) // 2
    posed = np.empty((frames, numbers))
    cursor = 0.0
    for t in range(frames):
        if t > 0:
            cursor += phases * max(phase[t] - phase[t - 1], 0.15 / rate)
        _body_at(body, still, draws, modes, phase[t], cursor, paces[t], posed[t])
    hips = np.empty((frames, 4))
    places = np.empty((frames, 3))
    ankles = np.empty((2, frames, 3))
    soles = np.empty((2, frames, 4))
    toes = np.empty((2, frames, 3))
    n = np.empty(9)
    thigh, shank = np.empty(2), np.empty(2)
    for side in range(2):
        thigh[side] = scale * length(offsets[legs[side, 1]])
        shank[side] = scale * length(offsets[legs[side, 2]])
    sink = np.zeros(frames)
    for t in range(frames):
        yaw = about_up(heading[t])
        vector = posed[t, numbers - 3 :]
        x, y, z = rotated(yaw, vector[0], 0.0, vector[2])
        places[t, 0] = place[t, 0] + scale * x
        places[t, 1] = scale * vector[1]
        places[t, 2] = place[t, 1] + scale * z
        q = times(yaw, times(quaternion(local[0]), exponential(posed[t, 0], posed[t, 1], posed[t, 2])))
        hips[t, 0], hips[t, 1], hips[t, 2], hips[t, 3] = q
        for side in range(2):
            _foot_at(feet, strides, paces[t], phase[t], side, samples, scale, holds, first, n)
            n[1] += scale * balls[side]
            turned = times(
                about_up(n[8]), times(quaternion(whole[legs[side, 2]]), exponential(n[3], n[4], n[5]))
            )
            soles[side, t, 0], soles[side, t, 1], soles[side, t, 2], soles[side, t, 3] = turned
            o = offsets[legs[side, 3]]
            x, y, z = rotated(turned, scale * o[0], scale * o[1], scale * o[2])
            ankles[side, t, 0], ankles[side, t, 1], ankles[side, t, 2] = n[0] - x, n[1] - y, n[2] - z
            _toes_at(feet, paces[t], phase[t], side, samples, toes[side, t])
            o = offsets[legs[side, 0]]
            x, y, z = rotated(q, scale * o[0], scale * o[1], scale * o[2])
            flat = math.hypot(places[t, 0] + x - ankles[side, t, 0], places[t, 2] + z - ankles[side, t, 2])
            reach = FULL * (thigh[side] + shank[side])
            room = math.sqrt(max(reach * reach - flat * flat, 0.0))
            sink[t] = max(sink[t], places[t, 1] + y - ankles[side, t, 1] - room)
    _ease(sink, round(EASE * rate), SINK * scale)
    for t in range(skip, frames - skip):
        row = t - skip
        root[row, 0], root[row, 1], root[row, 2] = places[t, 0], places[t, 1] - sink[t], places[t, 2]
        store(rotations, row, 0, quaternion(hips[t]))
        for m in range(1, trunk.shape[0]):
            turned = exponential(posed[t, 3 * m], posed[t, 3 * m + 1], posed[t, 3 * m + 2])
            store(rotations, row, trunk[m], times(quaternion(local[trunk[m]]), turned))
        for side in range(2):
            _leg(
                quaternion(hips[t]), root[row], offsets, legs[side], frames_at_rest[side], whole,
                scale, ankles[side, t], quaternion(soles[side, t]), rotations, row,
            )  # fmt: skip
            v = toes[side, t]
            toe = legs[side, 3]
            store(rotations, row, toe, times(quaternion(local[toe]), exponential(v[0], v[1], v[2])))


@njit(**_OPTIONS)
def _body_at(
    body: Array,
    still: Array,
    draws: Array,
    modes: Array,
    phase: float,
    cursor: float,
    paced: Array,
    out: Array,
) -> None:
    phases = body.shape[1]
    i, w, share = int(paced[0]), paced[1], paced[2]
    j = min(i + 1, body.shape[0] - 1)
    at = (phase - math.floor(phase)) * phases
    low = int(at) % phases
    part, high = at - int(at), (low + 1) % phases
    for n in range(out.shape[0]):
        a = (1 - part) * body[i, low, n] + part * body[i, high, n]
        b = (1 - part) * body[j, low, n] + part * body[j, high, n]
        out[n] = still[n] + share * ((1 - w) * a + w * b - still[n])
    where = cursor % (draws.shape[0] - 1)
    low = int(where)
    part = where - low
    lively = 0.25 + 0.75 * share
    for m in range(modes.shape[0]):
        amount = lively * ((1 - part) * draws[low, m] + part * draws[low + 1, m])
        for n in range(out.shape[0]):
            out[n] += amount * modes[m, n]


@njit(**_OPTIONS)
def _progress(phase: float, side: int, duty: float) -> tuple[int, float]:
    """Which step a foot is in, and how far: 0 to 1 on the ground, 1 to 2 in the air."""
    since = phase - 0.5 * side
    k = math.floor(since)
    r = since - k
    return k, r / duty if r < duty else 1 + (r - duty) / (1 - duty)


@njit(**_OPTIONS)
def _foot_at(
    feet: Array,
    strides: Array,
    paced: Array,
    phase: float,
    side: int,
    samples: int,
    scale: float,
    holds: Array,
    first: int,
    out: Array,
) -> None:
    """Place of the ball (0 to 2), rotation vector of the foot (3 to 5) and its heading (8)."""
    i, w, share = int(paced[0]), paced[1], paced[2]
    j = min(i + 1, feet.shape[0] - 1)
    k, u = _progress(phase, side, paced[3])
    at = min(u * samples, 2 * samples - 1e-9)
    low = int(at)
    part = at - low
    lift = share
    if u > 1 and share < LEAST_LIFT:
        lift += (LEAST_LIFT - share) * math.sin(math.pi * (u - 1)) ** 2
    for n in range(6):
        a = (1 - part) * feet[i, side, low, n] + part * feet[i, side, low + 1, n]
        b = (1 - part) * feet[j, side, low, n] + part * feet[j, side, low + 1, n]
        out[n] = (share if n == 2 else lift) * ((1 - w) * a + w * b)
    stride = share * ((1 - w) * strides[i] + w * strides[j])
    one = holds[side, min(max(k - first, 0), holds.shape[1] - 1)]
    two = holds[side, min(max(k - first + 1, 0), holds.shape[1] - 1)]
    s = max(u - 1, 0.0)
    b = s * s * s * (10 + s * (6 * s - 15))
    x, y, z = scale * out[0], out[1], scale * out[2]
    back = scale * stride
    out[1] = scale * y
    yaw = one[2] + b * (two[2] - one[2])
    c1, s1, c2, s2 = math.cos(one[2]), math.sin(one[2]), math.cos(two[2]), math.sin(two[2])
    out[0] = (1 - b) * (one[0] + c1 * x + s1 * z) + b * (two[0] + c2 * x + s2 * (z - back))
    out[2] = (1 - b) * (one[1] - s1 * x + c1 * z) + b * (two[1] - s2 * x + c2 * (z - back))
    out[8] = yaw


@njit(**_OPTIONS)
def _toes_at(feet: Array, paced: Array, phase: float, side: int, samples: int, out: Array) -> None:
    i, w, share = int(paced[0]), paced[1], paced[2]
    j = min(i + 1, feet.shape[0] - 1)
    _, u = _progress(phase, side, paced[3])
    at = min(u * samples, 2 * samples - 1e-9)
    low = int(at)
    part = at - low
    for n in range(3):
        a = (1 - part) * feet[i, side, low, 6 + n] + part * feet[i, side, low + 1, 6 + n]
        b = (1 - part) * feet[j, side, low, 6 + n] + part * feet[j, side, low + 1, 6 + n]
        out[n] = share * ((1 - w) * a + w * b)


@njit(**_OPTIONS)
def _ease(sink: Array, reach: int, most: float) -> None:
    """Make the least sinking smooth: at every frame at least what is asked there, up to `most`."""
    frames = sink.shape[0]
    widest = np.empty(frames)
    for t in range(frames):
        top = 0.0
        for n in range(max(t - reach, 0), min(t + reach + 1, frames)):
            top = max(top, sink[n])
        widest[t] = min(top, most)
    for t in range(frames):
        total, weight = 0.0, 0.0
        for n in range(max(t - reach, 0), min(t + reach + 1, frames)):
            # A bell that ends where the widening does: the mean never falls below what was asked.
            w = 1.0 + math.cos(math.pi * (n - t) / (reach + 1))
            total += w * widest[n]
            weight += w
        sink[t] = total / weight


@njit(**_OPTIONS)
def _leg(
    pelvis: Row,
    root: NDArray[np.float32],
    offsets: Array,
    leg: NDArray[np.int64],
    at_rest: Array,
    whole: Array,
    scale: float,
    ankle: Array,
    sole: Row,
    rotations: NDArray[np.float32],
    row: int,
) -> None:
    """Hip, knee and ankle of a leg that ends at `ankle`, the knee towards where pelvis and foot look."""
    o = offsets[leg[0]]
    hx, hy, hz = rotated(pelvis, scale * o[0], scale * o[1], scale * o[2])
    hx, hy, hz = hx + root[0], hy + root[1], hz + root[2]
    long, lower = scale * length(offsets[leg[1]]), scale * length(offsets[leg[2]])
    nx, ny, nz = ankle[0] - hx, ankle[1] - hy, ankle[2] - hz
    span = math.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = nx / span, ny / span, nz / span
    span = min(max(span, abs(long - lower) + 0.1 * long), 0.9995 * (long + lower))
    ax, ay, az = rotated(pelvis, 0.0, 0.0, 1.0)
    ahead = times(sole, inverse(quaternion(whole[leg[2]])))
    bx, _, bz = rotated(ahead, 0.0, 0.0, 1.0)
    # Feet pitch while they roll; their heading counts.
    flat = max(math.hypot(bx, bz), 1e-6)
    kx, ky, kz = ax + bx / flat, ay, az + bz / flat
    along = kx * nx + ky * ny + kz * nz
    kx, ky, kz = kx - along * nx, ky - along * ny, kz - along * nz
    size = max(math.sqrt(kx * kx + ky * ky + kz * kz), 1e-9)
    kx, ky, kz = kx / size, ky / size, kz / size
    cosine = (long * long + span * span - lower * lower) / (2 * long * span)
    cosine = min(max(cosine, -1.0), 1.0)
    sine = math.sqrt(1 - cosine * cosine)
    dx, dy, dz = cosine * nx + sine * kx, cosine * ny + sine * ky, cosine * nz + sine * kz
    ex, ey, ez = ky * nz - kz * ny, kz * nx - kx * nz, kx * ny - ky * nx
    thigh = times(from_axes(ex, ey, ez, dx, dy, dz, at_rest[0]), quaternion(whole[leg[0]]))
    sx, sy, sz = span * nx - long * dx, span * ny - long * dy, span * nz - long * dz
    shank = times(
        from_axes(ex, ey, ez, sx / lower, sy / lower, sz / lower, at_rest[1]), quaternion(whole[leg[1]])
    )
    store(rotations, row, leg[0], times(inverse(pelvis), thigh))
    store(rotations, row, leg[1], times(inverse(thigh), shank))
    store(rotations, row, leg[2], times(inverse(shank), sole))
