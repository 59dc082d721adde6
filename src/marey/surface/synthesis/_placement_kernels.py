"""Compiled loops that lay out many transitions at once, in time and on the ground. Importing this module
imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit
from marey.statistics.graphs._transition_kernels import best_of_pair, trace

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]

# So much of a patch must touch the ground for the body to be carried by it alone.
FIRM = 0.25

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def lay_out_times(
    values: NDArray[np.float32], sources: Whole, targets: Whole, rows: Whole, columns: Whole, slope: int,
    alpha: float, first: Whole, times: NDArray[np.float64],
) -> None:  # fmt: skip
    """Smooth times of transitions between windows of `rows` frames from each source and `columns` to each
    target; transition e fills the rows `first[e]` up to `first[e + 1]` of `times`, `(…, 2)`.
    """
    for e in range(len(sources)):
        height, width = rows[e], columns[e]
        costs = np.empty((height, slope + width))
        kept = np.zeros((height, slope + width), np.int64)
        down, across = np.empty((slope, width)), np.empty((slope, width))
        left = targets[e] - width + 1
        cells = best_of_pair(
            values, sources[e], left, alpha, 1, height, False, costs, kept, down, across
        )[1]  # fmt: skip
        out = times[first[e] : first[e + 1]]
        path = np.empty((max(cells, 2), 2), np.int64)
        if cells > 0:
            trace(values, sources[e], left, alpha, slope, costs, height - 1, path)
        else:  # windows that do not fit each other: straight through both
            path[0, 0], path[0, 1] = height - 1, width - 1
            path[1, 0], path[1, 1] = 0, 0
        for side in range(2):
            begin = sources[e] if side == 0 else left
            resample(spread(path[::-1, side]), out[:, side])
            out[:, side] += begin


@njit(**_OPTIONS)
def spread(path: Any) -> NDArray[np.float64]:
    """Times of one window with its rests spread over the frames around them, as `smooth_path` does."""
    count = len(path) - 1
    steps, smooth = np.empty(count), np.empty(count)
    rest, run = 0, 0
    for i in range(count):
        steps[i] = path[i + 1] - path[i]
        run = 0 if steps[i] > 0 else run + 1
        rest = max(rest, run)
    times = np.empty(count + 1)
    times[0] = path[0]
    if rest == count:
        rest = 0
    for i in range(count):
        total = 0.0
        for k in range(-rest, rest + 1):
            j = (i + k) % (2 * count)
            total += (rest + 1 - abs(k)) * steps[j if j < count else 2 * count - 1 - j]
        smooth[i] = total / ((rest + 1) * (rest + 1))
        times[i + 1] = times[i] + smooth[i]
    times[count] = path[count]
    return times


@njit(**_OPTIONS)
def resample(times: NDArray[np.float64], out: Any) -> None:
    """Times taken evenly, first and last included; as they are if the numbers agree."""
    count = len(out)
    for i in range(count):
        at = i * (len(times) - 1) / (count - 1) if count > 1 else len(times) - 1.0
        before = min(int(at), len(times) - 2)
        out[i] = times[before] + (at - before) * (times[before + 1] - times[before])
    out[count - 1] = times[-1]


@njit(**_OPTIONS)
def lay_out_places(
    first: Whole, times: Floats, weights: Floats, turns: Floats, centroids: Floats, floors: Floats,
    patches: Floats, touching: Floats, low: float, anchored: bool,
    source_turns: Floats, target_turns: Floats, positions: Floats, grounds: Floats, blended: Floats,
    skate: Floats,
) -> None:  # fmt: skip
    """Fill the last six, as `Placement` describes them; patches touch up to about `low` metres."""
    count = patches.shape[1]
    here, there = np.empty((2, 4 * count + 3)), np.empty((2, 4 * count + 3))
    for e in range(len(first) - 1):
        for t in range(first[e], first[e + 1]):
            if t == first[e]:
                change = turns[t]
                source_turns[t] = -weights[t] * change
                target_turns[t] = source_turns[t] + change
            else:
                change = (turns[t] - turns[t - 1] + math.pi) % (2.0 * math.pi) - math.pi
                source_turns[t] = source_turns[t - 1] - weights[t] * change
                target_turns[t] = target_turns[t - 1] + (1.0 - weights[t]) * change
            for side in range(2):
                turn = source_turns[t] if side == 0 else target_turns[t]
                sample(times[t, side], turn, centroids, floors, patches, touching, there[side])
            for p in range(count):
                height = (1 - weights[t]) * there[0, 3 + 4 * p] + weights[t] * there[1, 3 + 4 * p]
                known = (1 - weights[t]) * there[0, 4 + 4 * p] + weights[t] * there[1, 4 + 4 * p]
                s = min(max(1.5 - height / low, 0.0), 1.0)
                blended[t, p] = s * s * (3.0 - 2.0 * s) * known
            if t == first[e]:
                positions[t, 0], positions[t, 1], grounds[t] = there[0, 0], there[0, 1], there[0, 2]
            else:
                advance(t, weights, source_turns, target_turns, here, there, blended, anchored,
                        positions, grounds, skate[t])  # fmt: skip
            here[:] = there


@njit(**_OPTIONS)
def sample(
    time: float,
    turn: float,
    centroids: Floats,
    floors: Floats,
    patches: Floats,
    touching: Floats,
    out: Floats,
) -> None:
    """A captured moment: middle and floor, then of every patch its height above the floor, how surely it
    touches, and its place beside the middle, turned (2 numbers)."""
    a = int(time)
    share = time - a
    b = a + 1 if share > 0 else a
    out[0] = centroids[a, 0] + share * (centroids[b, 0] - centroids[a, 0])
    out[1] = centroids[a, 1] + share * (centroids[b, 1] - centroids[a, 1])
    out[2] = floors[a] + share * (floors[b] - floors[a])
    c, s = math.cos(turn), math.sin(turn)
    for p in range(patches.shape[1]):
        x = patches[a, p, 0] + share * (patches[b, p, 0] - patches[a, p, 0]) - out[0]
        y = patches[a, p, 1] + share * (patches[b, p, 1] - patches[a, p, 1]) - out[2]
        z = patches[a, p, 2] + share * (patches[b, p, 2] - patches[a, p, 2]) - out[1]
        out[3 + 4 * p] = y
        out[4 + 4 * p] = touching[a, p] + share * (touching[b, p] - touching[a, p])
        out[5 + 4 * p] = c * x + s * z
        out[6 + 4 * p] = c * z - s * x


@njit(**_OPTIONS)
def advance(
    t: int, weights: Floats, source_turns: Floats, target_turns: Floats, here: Floats, there: Floats,
    blended: Floats, anchored: bool, positions: Floats, grounds: Floats, skate: Floats,
) -> None:  # fmt: skip
    """From row t - 1 to t: blended steps of both clips, less what would slide along the ground."""
    count = blended.shape[1]
    total = 0.0
    for p in range(count):
        total += min(blended[t - 1, p], blended[t, p])
    x, z, rise = 0.0, 0.0, 0.0
    before, after = (1.0 - weights[t - 1], weights[t - 1]), (1.0 - weights[t], weights[t])
    half = (0.5 * (source_turns[t] - source_turns[t - 1]), 0.5 * (target_turns[t] - target_turns[t - 1]))
    cosines, sines = (math.cos(half[0]), math.cos(half[1])), (math.sin(half[0]), math.sin(half[1]))
    steps = np.empty((2, 2))
    for side in range(2):
        turn = (source_turns[t - 1] if side == 0 else target_turns[t - 1]) + half[side]
        c, s = math.cos(turn), math.sin(turn)
        dx, dz = there[side, 0] - here[side, 0], there[side, 1] - here[side, 1]
        steps[side, 0], steps[side, 1] = c * dx + s * dz, c * dz - s * dx
        middle = 0.5 * (before[side] + after[side])
        x += middle * steps[side, 0]
        z += middle * steps[side, 1]
        rise += middle * (there[side, 2] - here[side, 2])
    step_x, step_z = x, z
    for p in range(count):
        move_x, move_z, own_x, own_z, known = step_x, step_z, 0.0, 0.0, 0.0
        for side in range(2):
            old_x, old_z = here[side, 5 + 4 * p], here[side, 6 + 4 * p]
            new_x, new_z = there[side, 5 + 4 * p], there[side, 6 + 4 * p]
            move_x += after[side] * new_x - before[side] * old_x
            move_z += after[side] * new_z - before[side] * old_z
            share = (before[side] + after[side]) * (here[side, 4 + 4 * p] + there[side, 4 + 4 * p])
            # What the captured patch does, seen at the heading halfway: the new place turned back by half a
            # change of heading, the old one forward.
            c, s = cosines[side], sines[side]
            own_x += share * (steps[side, 0] + (c * new_x - s * new_z) - (c * old_x + s * old_z))
            own_z += share * (steps[side, 1] + (c * new_z + s * new_x) - (c * old_z - s * old_x))
            known += share
        if known > 0.0:
            move_x -= own_x / known
            move_z -= own_z / known
        skate[p, 0], skate[p, 1] = move_x, move_z
        if anchored:
            held = min(blended[t - 1, p], blended[t, p])
            x -= held / max(total, FIRM) * move_x
            z -= held / max(total, FIRM) * move_z
    for p in range(count):
        skate[p, 0] += x - step_x
        skate[p, 1] += z - step_z
    positions[t, 0] = positions[t - 1, 0] + x
    positions[t, 1] = positions[t - 1, 1] + z
    grounds[t] = grounds[t - 1] + rise
