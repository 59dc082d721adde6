"""Compiled loops of walking bodies: phases and footfalls of one person at a time, without the GIL.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

from marey._arrays import Array, BoolArray
from marey._compiling import njit
from marey.stage.walk.gait import GaitSettings

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def step_along(
    speed: Array,
    path: tuple[Array, Array],
    rate: float,
    scale: float,
    curve: tuple[Array, Array, Array],
    settings: GaitSettings,
    start: float,
    phase: Array,
    stands: BoolArray,
    paces: Array,
) -> None:
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
    now, must, standing = start, start, False
    x, z, facing = position[0, 0], position[0, 1], heading[0]
    for t in range(speed.shape[0]):
        cadence = _pace(curve, speed[t] / quick, settings.stand_duty, paces[t])
        if standing:
            away = math.hypot(position[t, 0] - x, position[t, 1] - z)
            if speed[t] > settings.start:
                standing, must = False, now
            elif away > settings.drift * scale or abs(heading[t] - facing) > settings.turn:
                standing, must = False, now + 1.0
        if not standing:
            after = now + max(cadence / quick, settings.slowest) / rate
            rest = settings.both_down + 0.5 * (math.floor(2 * (now - settings.both_down) + 1e-9) + 1)
            if speed[t] < settings.stop and after >= rest and rest >= must - 1e-6:
                after, standing = rest, True
                x, z, facing = position[t, 0], position[t, 1], heading[t]
            now = after
        phase[t] = now
        stands[t] = standing


@njit(**_OPTIONS)
def footfalls(
    steps: tuple[Array, BoolArray, Array],
    path: tuple[Array, Array],
    under: Array,
    scale: float,
    scatter: Array,
    first: int,
    found: Array,
) -> None:
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
