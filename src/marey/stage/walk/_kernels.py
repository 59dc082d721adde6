"""Compiled loops of walking bodies: phases, footfalls and joints of one person at a time, without the GIL.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, BoolArray, Integers
from marey._compiling import njit
from marey.geometry._inline_kernels import (
    Quaternion,
    Vector,
    about_y,
    conjugate,
    exp,
    from_matrix,
    matrix_product,
    product,
    quaternion,
    rotate,
    store,
    vector,
)
from marey.stage.walk.gait import GaitSettings

Singles = NDArray[np.float32]
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def pose(
    figure: tuple[Array, Array, Array, Integers, Integers, Array, Array],
    tables: tuple[Array, Array, Array, Array], drawn: tuple[Array, Array],
    steps: tuple[Array, Array, Array, int], path: tuple[Array, Array], rate: float, scale: float,
    settings: GaitSettings, rotations: Singles, root: Singles, margin: int,
) -> None:  # fmt: skip
    """All joints of one person, written to `rotations` and `root`.

    Args:
        figure: rest rotations in the parents' frames and in the world, offsets, joints above the legs, legs,
            transposed frames of thighs and shanks at rest, heights of the balls of the feet.
        tables: body `(cycles, phases, numbers)` and feet of the person's cycles, strides, the body at rest.
        drawn: random deviations `(samples, modes)`, and the modes `(modes, numbers)`.
        steps: phases `(frames,)`, paces `(frames, 4)`, footfalls `(2, steps, 3)`, number of the first.
        path: position `(frames, 2)` and heading `(frames,)`.
        rate: frames a second.
        scale: size of the person over that of the figure.
        rotations: result `(frames − 2 margin, joints, 4)`.
        root: result `(frames − 2 margin, 3)`, metres.
        margin: frames left out at both ends.
    """
    local, world, offsets, trunk, legs, frames_at_rest, balls = figure
    body, feet, strides, still = tables
    phase, paces, footfalls, first = steps
    position, heading = path
    frames, numbers = phase.shape[0], still.shape[0]
    posed = np.empty((frames, numbers))
    cursor = 0.0
    for t in range(frames):
        if t > 0:
            cursor += body.shape[1] * max(phase[t] - phase[t - 1], settings.idle / rate)
        _body_at(body, still, drawn, phase[t], cursor, paces[t], posed[t])
    hips, places, sink = np.empty((frames, 4)), np.empty((frames, 3)), np.zeros(frames)
    ankles, soles = np.empty((2, frames, 3)), np.empty((2, frames, 4))
    foot = np.empty((2, frames, 10))
    for t in range(frames):
        yaw = about_y(heading[t])
        away = posed[t, numbers - 3 :]
        x, _, z = rotate(yaw, (scale * away[0], 0.0, scale * away[2]))
        store((position[t, 0] + x, scale * away[1], position[t, 1] + z), places[t])
        pelvis = product(yaw, product(quaternion(local[0]), exp(vector(posed[t]))))
        store(pelvis, hips[t])
        for side in range(2):
            hip, knee, ankle, toe = legs[side, 0], legs[side, 1], legs[side, 2], legs[side, 3]
            at = foot[side, t]
            _foot_at(feet, strides, paces[t], phase[t], side, scale, settings, footfalls, first, at)
            at[1] += scale * balls[side]
            sole = product(about_y(at[9]), product(quaternion(world[ankle]), exp(vector(at[3:]))))
            store(sole, soles[side, t])
            x, y, z = rotate(sole, _scaled(offsets[toe], scale))
            store((at[0] - x, at[1] - y, at[2] - z), ankles[side, t])
            x, y, z = rotate(pelvis, _scaled(offsets[hip], scale))
            flat = math.hypot(places[t, 0] + x - ankles[side, t, 0], places[t, 2] + z - ankles[side, t, 2])
            reach = settings.reach * scale * (_length(offsets[knee]) + _length(offsets[ankle]))
            room = math.sqrt(max(reach * reach - flat * flat, 0.0))
            sink[t] = max(sink[t], places[t, 1] + y - ankles[side, t, 1] - room)
    _ease(sink, round(settings.ease * rate), settings.sink * scale)
    for t in range(margin, frames - margin):
        row = t - margin
        store((places[t, 0], places[t, 1] - sink[t], places[t, 2]), root[row])
        pelvis = quaternion(hips[t])
        _keep(rotations, row, 0, pelvis)
        for m in range(1, trunk.shape[0]):
            turned = product(quaternion(local[trunk[m]]), exp(vector(posed[t, 3 * m :])))
            _keep(rotations, row, trunk[m], turned)
        for side in range(2):
            _leg(
                pelvis, root[row], offsets, legs[side], frames_at_rest[side], world, scale, ankles[side, t],
                quaternion(soles[side, t]), rotations, row,
            )  # fmt: skip
            toe = legs[side, 3]
            _keep(rotations, row, toe, product(quaternion(local[toe]), exp(vector(foot[side, t, 6:]))))


@njit(**_OPTIONS)
def _body_at(
    body: Array,
    still: Array,
    drawn: tuple[Array, Array],
    phase: float,
    cursor: float,
    pace: Array,
    out: Array,
) -> None:
    """The body above the legs at a phase, with the deviations at `cursor`, written to `out`."""
    draws, modes = drawn
    phases = body.shape[1]
    i, w, share = int(pace[0]), pace[1], pace[2]
    j = min(i + 1, body.shape[0] - 1)
    at = (phase - math.floor(phase)) * phases
    low = int(at) % phases
    part, high = at - int(at), (low + 1) % phases
    for n in range(out.shape[0]):
        a = (1 - part) * body[i, low, n] + part * body[i, high, n]
        b = (1 - part) * body[j, low, n] + part * body[j, high, n]
        out[n] = still[n] + share * ((1 - w) * a + w * b - still[n])
    at = cursor % (draws.shape[0] - 1)
    low = int(at)
    part = at - low
    lively = 0.25 + 0.75 * share
    for m in range(modes.shape[0]):
        amount = lively * ((1 - part) * draws[low, m] + part * draws[low + 1, m])
        for n in range(out.shape[0]):
            out[n] += amount * modes[m, n]


@njit(**_OPTIONS)
def _foot_at(
    feet: Array, strides: Array, pace: Array, phase: float, side: int, scale: float, settings: GaitSettings,
    footfalls: Array, first: int, out: Array,
) -> None:  # fmt: skip
    """Position of the ball (0 to 2), rotation vectors of foot (3 to 5) and toes (6 to 8), heading (9)."""
    i, w, share, duty = int(pace[0]), pace[1], pace[2], pace[3]
    j = min(i + 1, feet.shape[0] - 1)
    step = math.floor(phase - 0.5 * side)
    since = phase - 0.5 * side - step
    # 0 to 1 on the ground, 1 to 2 in the air.
    u = since / duty if since < duty else 1 + (since - duty) / (1 - duty)
    samples = (feet.shape[2] - 1) // 2
    at = min(u * samples, 2 * samples - 1e-9)
    low = int(at)
    part = at - low
    lift = share
    if u > 1 and share < settings.lift:
        lift += (settings.lift - share) * math.sin(math.pi * (u - 1)) ** 2
    for n in range(9):
        a = (1 - part) * feet[i, side, low, n] + part * feet[i, side, low + 1, n]
        b = (1 - part) * feet[j, side, low, n] + part * feet[j, side, low + 1, n]
        out[n] = (share if n == 2 or n >= 6 else lift) * ((1 - w) * a + w * b)
    one = footfalls[side, min(max(step - first, 0), footfalls.shape[1] - 1)]
    two = footfalls[side, min(max(step - first + 1, 0), footfalls.shape[1] - 1)]
    s = max(u - 1, 0.0)
    b = s * s * s * (10 + s * (6 * s - 15))
    x, z = scale * out[0], scale * out[2]
    back = z - scale * share * ((1 - w) * strides[i] + w * strides[j])
    c1, s1, c2, s2 = math.cos(one[2]), math.sin(one[2]), math.cos(two[2]), math.sin(two[2])
    out[0] = (1 - b) * (one[0] + c1 * x + s1 * z) + b * (two[0] + c2 * x + s2 * back)
    out[1] *= scale
    out[2] = (1 - b) * (one[1] - s1 * x + c1 * z) + b * (two[1] - s2 * x + c2 * back)
    out[9] = one[2] + b * (two[2] - one[2])


@njit(**_OPTIONS)
def _ease(sink: Array, reach: int, most: float) -> None:
    """Smooth the sinking of the body in place: at every frame at least what is asked there, up to `most`."""
    frames = sink.shape[0]
    widest = np.empty(frames)
    for t in range(frames):
        widest[t] = min(sink[max(t - reach, 0) : t + reach + 1].max(), most)
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
    pelvis: Quaternion, root: Singles, offsets: Array, leg: Integers, at_rest: Array, world: Array,
    scale: float, ankle: Array, sole: Quaternion, rotations: Singles, row: int,
) -> None:  # fmt: skip
    """Hip, knee and ankle of a leg that ends at `ankle`, the knee towards where pelvis and foot face."""
    hx, hy, hz = rotate(pelvis, _scaled(offsets[leg[0]], scale))
    upper, lower = scale * _length(offsets[leg[1]]), scale * _length(offsets[leg[2]])
    span, n = _unit((ankle[0] - hx - root[0], ankle[1] - hy - root[1], ankle[2] - hz - root[2]))
    span = min(max(span, abs(upper - lower) + 0.1 * upper), 0.9995 * (upper + lower))
    ax, ay, az = rotate(pelvis, (0.0, 0.0, 1.0))
    bx, _, bz = rotate(product(sole, conjugate(quaternion(world[leg[2]]))), (0.0, 0.0, 1.0))
    # Feet pitch while they roll; their heading counts.
    flat = max(math.hypot(bx, bz), 1e-6)
    ax, az = ax + bx / flat, az + bz / flat
    along = ax * n[0] + ay * n[1] + az * n[2]
    _, k = _unit((ax - along * n[0], ay - along * n[1], az - along * n[2]))
    cosine = (upper * upper + span * span - lower * lower) / (2 * upper * span)
    cosine = min(max(cosine, -1.0), 1.0)
    sine = math.sqrt(1 - cosine * cosine)
    thigh = cosine * n[0] + sine * k[0], cosine * n[1] + sine * k[1], cosine * n[2] + sine * k[2]
    _, shank = _unit(
        (span * n[0] - upper * thigh[0], span * n[1] - upper * thigh[1], span * n[2] - upper * thigh[2])
    )
    hinge = _cross(k, n)
    hip = product(_turn_to(hinge, thigh, at_rest[0]), quaternion(world[leg[0]]))
    knee = product(_turn_to(hinge, shank, at_rest[1]), quaternion(world[leg[1]]))
    _keep(rotations, row, leg[0], product(conjugate(pelvis), hip))
    _keep(rotations, row, leg[1], product(conjugate(hip), knee))
    _keep(rotations, row, leg[2], product(conjugate(knee), sole))


@njit(**_OPTIONS)
def _turn_to(hinge: Vector, bone: Vector, at_rest: Array) -> Quaternion:
    """The turn of the frame (hinge, bone, their product) at rest, the rows of `at_rest`, into this one."""
    third = _cross(hinge, bone)
    now = (hinge[0], bone[0], third[0]), (hinge[1], bone[1], third[1]), (hinge[2], bone[2], third[2])
    return from_matrix(matrix_product(now, (vector(at_rest[0]), vector(at_rest[1]), vector(at_rest[2]))))


@njit(**_OPTIONS)
def _keep(rotations: Singles, row: int, joint: int, q: Quaternion) -> None:
    """Store a unit quaternion, of the two signs the one near the frame before."""
    scale = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if row > 0:
        before = rotations[row - 1, joint]
        if before[0] * q[0] + before[1] * q[1] + before[2] * q[2] + before[3] * q[3] < 0:
            scale = -scale
    for n in range(4):
        rotations[row, joint, n] = scale * q[n]


@njit(**_OPTIONS)
def _scaled(row: Array, scale: float) -> Vector:
    return scale * row[0], scale * row[1], scale * row[2]


@njit(**_OPTIONS)
def _length(row: Array) -> float:
    return math.sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2])


@njit(**_OPTIONS)
def _unit(v: Vector) -> tuple[float, Vector]:
    """Length and direction."""
    size = max(math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), 1e-9)
    return size, (v[0] / size, v[1] / size, v[2] / size)


@njit(**_OPTIONS)
def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(**_OPTIONS)
def step_along(
    speed: Array, path: tuple[Array, Array], rate: float, scale: float, curve: tuple[Array, Array, Array],
    settings: GaitSettings, start: float, phase: Array, stands: BoolArray, paces: Array,
) -> None:  # fmt: skip
    """Phases of a person's steps: they follow speed, end with both feet down, and begin again after a shift.

    Args:
        speed: `(frames,)`, metres a second.
        path: position `(frames, 2)` and heading `(frames,)`.
        rate: frames a second.
        scale: size of the person over that of the figure.
        curve: speeds, cadences and duties of the person's cycles, slow to fast.
        start: phase of the first frame.
        phase: result `(frames,)`, cycles.
        stands: result `(frames,)`.
        paces: result `(frames, 4)`, cycle, share of the next, share of a full step, share that feet are down.
    """
    position, heading = path
    quick = math.sqrt(scale)
    now, must, resting = start, start, False
    x, z, facing = position[0, 0], position[0, 1], heading[0]
    for t in range(speed.shape[0]):
        cadence = _pace(curve, speed[t] / quick, settings.stand_duty, paces[t])
        if resting:
            away = math.hypot(position[t, 0] - x, position[t, 1] - z)
            if speed[t] > settings.start:
                resting, must = False, now
            elif away > settings.drift * scale or abs(heading[t] - facing) > settings.turn:
                resting, must = False, now + 1.0
        if not resting:
            after = now + max(cadence / quick, settings.slowest) / rate
            rest = settings.both_down + 0.5 * (math.floor(2 * (now - settings.both_down) + 1e-9) + 1)
            if speed[t] < settings.stop and after >= rest and rest >= must - 1e-6:
                after, resting = rest, True
                x, z, facing = position[t, 0], position[t, 1], heading[t]
            now = after
        phase[t] = now
        stands[t] = resting


@njit(**_OPTIONS)
def footfalls(
    steps: tuple[Array, BoolArray, Array], path: tuple[Array, Array], under: Array, scale: float,
    scatter: Array, first: int, found: Array,
) -> None:  # fmt: skip
    """Where the balls of the feet are set down: beside the path, where the body passes in mid-stance.

    A person who stops before that has the foot beside the body.

    Args:
        steps: phases, stands and paces of :func:`step_along`.
        path: position `(frames, 2)` and heading `(frames,)`.
        under: `(cycles, 2, 2)`, metres to the left and ahead of the path at which feet stand.
        scale: size of the person over that of the figure.
        scatter: `(2, steps, 3)`, random metres to the left and ahead, and radians.
        first: number of the first step.
        found: result `(2, steps, 3)`, x, z and heading.
    """
    phase, stands, paces = steps
    frames, count = phase.shape[0], found.shape[1]
    for foot in range(2):
        before = phase[0] - 0.5 * foot - 0.5 * paces[0, 3]
        k = math.floor(before) - first
        for j in range(min(k + 1, count)):
            _set_down(path, paces, 0, 0.0, under, scale, scatter, found, foot, j)
        for t in range(1, frames):
            after = max(before, phase[t] - 0.5 * foot - 0.5 * paces[t, 3])
            while after >= first + k + 1 and k + 1 < count:
                part = min(max((first + k + 1 - before) / max(after - before, 1e-9), 0.0), 1.0)
                k += 1
                _set_down(path, paces, t - 1, part, under, scale, scatter, found, foot, k)
            if stands[t] and math.floor(phase[t] - 0.5 * foot) >= first + k + 1 and k + 1 < count:
                k += 1
                _set_down(path, paces, t, 0.0, under, scale, scatter, found, foot, k)
            before = after
        for j in range(k + 1, count):
            _set_down(path, paces, frames - 1, 0.0, under, scale, scatter, found, foot, j)


@njit(**_OPTIONS)
def _pace(curve: tuple[Array, Array, Array], speed: float, stand_duty: float, out: Array) -> float:
    """Cycle, share of the next, of a full step, and that feet are down, to `out`; cycles a second."""
    speeds, cadences, duties = curve
    last = speeds.shape[0] - 1
    i, w, share = 0, 0.0, 1.0
    if speed <= speeds[0]:
        share = math.sqrt(max(speed, 0.0) / speeds[0])
        cadence, duty = cadences[0] * share, stand_duty + share * (duties[0] - stand_duty)
    elif speed >= speeds[last]:
        i, cadence, duty = last, cadences[last] * math.sqrt(speed / speeds[last]), duties[last]
    else:
        while speed >= speeds[i + 1]:
            i += 1
        w = (speed - speeds[i]) / (speeds[i + 1] - speeds[i])
        cadence = (1 - w) * cadences[i] + w * cadences[i + 1]
        duty = (1 - w) * duties[i] + w * duties[i + 1]
    out[0], out[1], out[2], out[3] = i, w, share, duty
    return cadence


@njit(**_OPTIONS)
def _set_down(
    path: tuple[Array, Array], paces: Array, t: int, part: float, under: Array, scale: float, scatter: Array,
    found: Array, foot: int, k: int,
) -> None:  # fmt: skip
    """Footfall k, where the body is at frame t + part."""
    position, heading = path
    later = min(t + 1, position.shape[0] - 1)
    i, w = int(paces[t, 0]), paces[t, 1]
    j = min(i + 1, under.shape[0] - 1)
    yaw = (1 - part) * heading[t] + part * heading[later]
    left = scale * ((1 - w) * under[i, foot, 0] + w * under[j, foot, 0]) + scatter[foot, k, 0]
    ahead = scale * ((1 - w) * under[i, foot, 1] + w * under[j, foot, 1]) + scatter[foot, k, 1]
    c, s = math.cos(yaw), math.sin(yaw)
    found[foot, k, 0] = (1 - part) * position[t, 0] + part * position[later, 0] + c * left + s * ahead
    found[foot, k, 1] = (1 - part) * position[t, 1] + part * position[later, 1] - s * left + c * ahead
    found[foot, k, 2] = yaw + scatter[foot, k, 2]
