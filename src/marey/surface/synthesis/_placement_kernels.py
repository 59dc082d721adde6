"""Compiled loops that place many transitions on the ground at once. Importing this module
imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._compiling import OPTIONS, njit

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]

# So much of a patch must touch the ground for the body to be carried by it alone.
FIRM = 0.25


@njit(**OPTIONS)
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


@njit(**OPTIONS)
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


@njit(**OPTIONS)
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
