"""Compiled loops of walking bodies: phases and footholds of one person at a time, without the GIL.

Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

# Metres a second below which somebody comes to stand, and above which he walks again.
STOP, START = 0.15, 0.25
# Metres and radians by which somebody who stands may be led away before he takes two steps.
DRIFT, TURN = 0.10, 0.6
# Cycles a second of the slowest steps; phase, from each touch-down, at which both feet are well down.
SLOWEST, BOTH_DOWN = 0.55, 0.06
# Share of a cycle that feet are down when standing.
STAND_DUTY = 0.80


@njit(**_OPTIONS)
def pace(
    speeds: Array, cadences: Array, duties: Array, speed: float
) -> tuple[int, float, float, float, float]:
    """Cycle, how much of the next, share of a full step, cycles a second, share that feet are down."""
    last = speeds.shape[0] - 1
    if speed <= speeds[0]:
        share = math.sqrt(max(speed, 0.0) / speeds[0])
        return 0, 0.0, share, cadences[0] * share, STAND_DUTY + share * (duties[0] - STAND_DUTY)
    if speed >= speeds[last]:
        return last, 0.0, 1.0, cadences[last] * math.sqrt(speed / speeds[last]), duties[last]
    i = 0
    while speed >= speeds[i + 1]:
        i += 1
    w = (speed - speeds[i]) / (speeds[i + 1] - speeds[i])
    cadence = (1 - w) * cadences[i] + w * cadences[i + 1]
    return i, w, 1.0, cadence, (1 - w) * duties[i] + w * duties[i + 1]


@njit(**_OPTIONS)
def step_along(
    speed: Array,
    place: Array,
    heading: Array,
    rate: float,
    scale: float,
    curve: tuple[Array, Array, Array],
    start: float,
    phase: Array,
    stands: NDArray[np.bool_],
    paces: Array,
) -> None:
    """Phases of somebody's steps: they follow speed, end with both feet down, and begin again when led away.

    paces: result `(frames, 4)`, cycle, share of the next, share of a full step, share that feet are down
    """
    speeds, cadences, duties = curve
    quick = math.sqrt(scale)
    now, must, standing = start, start, False
    x, z, facing = place[0, 0], place[0, 1], heading[0]
    for t in range(speed.shape[0]):
        i, w, share, cadence, duty = pace(speeds, cadences, duties, speed[t] / quick)
        paces[t, 0], paces[t, 1], paces[t, 2], paces[t, 3] = i, w, share, duty
        if standing:
            away = math.hypot(place[t, 0] - x, place[t, 1] - z)
            if speed[t] > START:
                standing, must = False, now
            elif away > DRIFT * scale or abs(heading[t] - facing) > TURN:
                standing, must = False, now + 1.0
        if not standing:
            after = now + max(cadence / quick, SLOWEST) / rate
            rest = BOTH_DOWN + 0.5 * (math.floor(2 * (now - BOTH_DOWN) + 1e-9) + 1)
            if speed[t] < STOP and after >= rest and rest >= must - 1e-6:
                after, standing = rest, True
                x, z, facing = place[t, 0], place[t, 1], heading[t]
            now = after
        phase[t] = now
        stands[t] = standing


@njit(**_OPTIONS)
def footholds(
    phase: Array,
    stands: NDArray[np.bool_],
    paces: Array,
    place: Array,
    heading: Array,
    under: Array,
    scale: float,
    chance: Array,
    first: int,
    holds: Array,
) -> None:
    """Where the balls of the feet are set down: beside the way, where the body passes in mid-stance.

    Who comes to stand before that has the foot beside him. under: `(cycles, 2, 2)` of his cycles.
    chance: `(2, steps, 3)` metres to the left and ahead, radians; holds: result `(2, steps, 3)` x, z, heading
    """
    frames, steps = phase.shape[0], holds.shape[1]
    for foot in range(2):
        behind = 0.5 * foot
        before = phase[0] - behind - 0.5 * paces[0, 3]
        k = math.floor(before) - first
        for j in range(min(k + 1, steps)):
            _hold(place, heading, paces, 0, 0.0, under, foot, scale, chance, holds, j)
        for t in range(1, frames):
            after = max(before, phase[t] - behind - 0.5 * paces[t, 3])
            while after >= first + k + 1 and k + 1 < steps:
                part = (first + k + 1 - before) / max(after - before, 1e-9)
                k += 1
                _hold(
                    place,
                    heading,
                    paces,
                    t - 1,
                    min(max(part, 0.0), 1.0),
                    under,
                    foot,
                    scale,
                    chance,
                    holds,
                    k,
                )
            if stands[t] and math.floor(phase[t] - behind) >= first + k + 1 and k + 1 < steps:
                k += 1
                _hold(place, heading, paces, t, 0.0, under, foot, scale, chance, holds, k)
            before = after
        for j in range(k + 1, steps):
            _hold(place, heading, paces, frames - 1, 0.0, under, foot, scale, chance, holds, j)


@njit(**_OPTIONS)
def _hold(
    place: Array,
    heading: Array,
    paces: Array,
    t: int,
    part: float,
    under: Array,
    foot: int,
    scale: float,
    chance: Array,
    holds: Array,
    k: int,
) -> None:
    later = min(t + 1, place.shape[0] - 1)
    i, w = int(paces[t, 0]), paces[t, 1]
    j = min(i + 1, under.shape[0] - 1)
    yaw = (1 - part) * heading[t] + part * heading[later]
    left = scale * ((1 - w) * under[i, foot, 0] + w * under[j, foot, 0]) + chance[foot, k, 0]
    ahead = scale * ((1 - w) * under[i, foot, 1] + w * under[j, foot, 1]) + chance[foot, k, 1]
    c, s = math.cos(yaw), math.sin(yaw)
    holds[foot, k, 0] = (1 - part) * place[t, 0] + part * place[later, 0] + c * left + s * ahead
    holds[foot, k, 1] = (1 - part) * place[t, 1] + part * place[later, 1] - s * left + c * ahead
    holds[foot, k, 2] = yaw + chance[foot, k, 2]
