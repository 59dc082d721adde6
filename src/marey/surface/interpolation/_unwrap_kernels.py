"""Compiled loops that make the rotation vectors of neighbouring faces agree. Import inside functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, BoolArray, Integers
from marey._compiling import njit
from marey.geometry._inline_kernels import Vector, conjugate, exp, log, product, quaternion, store, vector

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# Where a rotation vector moves this many times as far as the rotation itself, the axis is being lost.
_STEEPEST = 2.0
# Steps of smoothness by which edges are taken in order.
_STEPS = 256


@njit(**_OPTIONS)
def disagree(logs: Array, links: NDArray[Any]) -> bool:
    """Whether the rotation vectors of any two neighbours differ by more than π."""
    for k in range(links.shape[0]):
        a, b = links[k, 0], links[k, 1]
        x, y, z = logs[a, 0] - logs[b, 0], logs[a, 1] - logs[b, 1], logs[a, 2] - logs[b, 2]
        if x * x + y * y + z * z > math.pi * math.pi:
            return True
    return False


@njit(**_OPTIONS)
def spread(
    logs: Array, starts: Integers, neighbours: Integers, islands: Integers, agreed: Array, residuals: Array
) -> bool:
    """Carry rotation vectors from the face that turns least in each island, smoothest edges first.

    agreed: a copy of `logs`; residuals: zeros

    Returns:
        Whether any rotation vector changes.
    """
    count = logs.shape[0]
    least, seeds, turns = np.full(count, np.inf), np.zeros(count, np.int64), np.empty((count, 4))
    for face in range(count):
        x, y, z = vector(logs[face])
        store(exp((x, y, z)), turns[face])
        if x * x + y * y + z * z < least[islands[face]]:
            least[islands[face]], seeds[islands[face]] = x * x + y * y + z * z, face
    # Edges to go over, by how much the rotation changes across: lists linked through `following`.
    heads, done = np.full(_STEPS, -1, np.int64), np.zeros(count, np.bool_)
    following, origin = np.empty(neighbours.shape[0], np.int64), np.empty(neighbours.shape[0], np.int64)
    for island in range(count):
        if least[island] < np.inf:
            done[seeds[island]] = True
            _push(seeds[island], done, turns, starts, neighbours, heads, following, origin)
    changed = False
    lowest = 0
    while lowest < _STEPS:
        link = heads[lowest]
        if link < 0:
            lowest += 1
            continue
        heads[lowest] = following[link]
        face = neighbours[link]
        if done[face]:
            continue
        done[face] = True
        changed |= _continue(logs[face], turns[face], agreed[origin[link]], agreed[face], residuals[face])
        lowest = min(lowest, _push(face, done, turns, starts, neighbours, heads, following, origin))
    return changed


@njit(**_OPTIONS)
def _push(
    face: int, done: BoolArray, turns: Array, starts: Integers, neighbours: Integers, heads: Integers,
    following: Integers, origin: Integers,
) -> int:  # fmt: skip
    """Queue the edges from a face to neighbours that are not done; the smoothest step among them."""
    lowest = _STEPS
    for k in range(starts[face], starts[face + 1]):
        other = neighbours[k]
        if not done[other]:
            cosine = 0.0
            for axis in range(4):
                cosine += turns[face, axis] * turns[other, axis]
            step = min(int(_STEPS * math.sqrt(max(1.0 - abs(cosine), 0.0))), _STEPS - 1)
            following[k], origin[k] = heads[step], face
            heads[step] = k
            lowest = min(lowest, step)
    return lowest


@njit(**_OPTIONS)
def _agree(a: Vector, b: Vector) -> bool:
    """Whether the rotation vectors of two neighbours are near each other, or both far from half a turn."""
    if (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2 < 1.0:
        return True
    quarter = 0.25 * math.pi * math.pi
    return a[0] ** 2 + a[1] ** 2 + a[2] ** 2 < quarter and b[0] ** 2 + b[1] ** 2 + b[2] ** 2 < quarter


@njit(**_OPTIONS)
def _continue(shortest: Array, turn: Array, parent: Array, agreed: Array, residual: Array) -> bool:
    """The logarithm nearest to the parent's, or one along its axis and a residual; whether it changed."""
    px, py, pz = vector(parent)
    size = math.sqrt(px * px + py * py + pz * pz)
    x, y, z = vector(shortest)
    if size <= math.pi and _agree((x, y, z), (px, py, pz)):
        return False
    angle = math.sqrt(x * x + y * y + z * z)
    bx, by, bz = log(product(conjugate(exp((px, py, pz))), quaternion(turn)))
    if angle > 1e-12 and size <= math.pi:
        windings = np.round(((px * x + py * y + pz * z) / angle - angle) / (2.0 * math.pi))
        scale = 1.0 + 2.0 * math.pi * windings / angle
        gap = (scale * x - px) ** 2 + (scale * y - py) ** 2 + (scale * z - pz) ** 2
        if gap < _STEEPEST**2 * (bx * bx + by * by + bz * bz) + 1e-12:
            store((scale * x, scale * y, scale * z), agreed)
            return windings != 0.0
    if size < 0.5 * math.pi:
        return False
    scale = 1.0 + (bx * px + by * py + bz * pz) / (size * size)
    axis = (scale * px, scale * py, scale * pz)
    store(axis, agreed)
    store(log(product(conjugate(exp(axis)), quaternion(turn))), residual)
    return True
