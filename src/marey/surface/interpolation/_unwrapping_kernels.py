"""Compiled loops that make the rotation vectors of neighbouring faces agree. Import inside functions."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Radians from the neighbour's rotation vector beyond which a logarithm is not its continuation.
_FAR = 0.5 * math.pi


@njit(**_OPTIONS)
def disagree(logs: Floats, links: Ints) -> bool:
    """Whether the rotation vectors of any two neighbours differ by more than π."""
    for k in range(links.shape[0]):
        a, b = links[k, 0], links[k, 1]
        x, y, z = logs[a, 0] - logs[b, 0], logs[a, 1] - logs[b, 1], logs[a, 2] - logs[b, 2]
        if x * x + y * y + z * z > math.pi * math.pi:
            return True
    return False


@njit(**_OPTIONS)
def spread(logs: Floats, order: Ints, starts: Ints, neighbours: Ints, agreed: Floats, rests: Floats) -> bool:
    """Carry rotation vectors from face to face, smoothest edges first; whether any rest is left.

    order: faces by their angle; the first that is not yet reached starts anew
    """
    count = logs.shape[0]
    turns = np.empty((count, 4))
    for m in range(count):
        turns[m] = _quaternion(logs[m])
    done = np.zeros(count, np.bool_)
    some = False
    for seed in order:
        if done[seed]:
            continue
        queue = [(0.0, seed, np.int64(-1))]
        while len(queue) > 0:
            _, face, parent = heapq.heappop(queue)
            if done[face]:
                continue
            done[face] = True
            if parent < 0:
                agreed[face] = logs[face]
            elif _continue(logs[face], turns[face], agreed[parent], agreed[face], rests[face]):
                some = True
            for k in range(starts[face], starts[face + 1]):
                other = neighbours[k]
                if not done[other]:
                    heapq.heappush(queue, (_apart(turns[face], turns[other]), other, face))
    return some


@njit(**_OPTIONS)
def _continue(log: Floats, turn: Floats, parent: Floats, agreed: Floats, rest: Floats) -> bool:
    """The logarithm of `turn` nearest to the parent's; or along the parent's axis, with a rest (True)."""
    full = 2.0 * math.pi
    angle = math.sqrt(log[0] ** 2 + log[1] ** 2 + log[2] ** 2)
    if angle > 1e-12:
        along = (parent[0] * log[0] + parent[1] * log[1] + parent[2] * log[2]) / angle
        turned = angle + full * np.round((along - angle) / full)
        for k in range(3):
            agreed[k] = turned * log[k] / angle
        if (agreed[0] - parent[0]) ** 2 + (agreed[1] - parent[1]) ** 2 + (
            agreed[2] - parent[2]
        ) ** 2 < _FAR**2:
            return False
    size = math.sqrt(parent[0] ** 2 + parent[1] ** 2 + parent[2] ** 2)
    if size < _FAR:
        agreed[:] = log
        return False
    between = _log(_product(_conjugate(_quaternion(parent)), turn))
    advance = (between[0] * parent[0] + between[1] * parent[1] + between[2] * parent[2]) / size
    for k in range(3):
        agreed[k] = parent[k] * (1.0 + advance / size)
    rest[:] = _log(_product(_conjugate(_quaternion(agreed)), turn))
    return True


@njit(**_OPTIONS)
def _apart(a: Floats, b: Floats) -> float:
    return 1.0 - abs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3])


@njit(**_OPTIONS)
def _quaternion(log: Floats) -> Floats:
    angle = math.sqrt(log[0] ** 2 + log[1] ** 2 + log[2] ** 2)
    scale = 0.5 if angle < 1e-12 else math.sin(0.5 * angle) / angle
    return np.array([math.cos(0.5 * angle), scale * log[0], scale * log[1], scale * log[2]])


@njit(**_OPTIONS)
def _conjugate(q: Floats) -> Floats:
    return np.array([q[0], -q[1], -q[2], -q[3]])


@njit(**_OPTIONS)
def _product(p: Floats, q: Floats) -> Floats:
    return np.array(
        [
            p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
            p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
            p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
            p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
        ]
    )


@njit(**_OPTIONS)
def _log(q: Floats) -> Floats:
    """The shortest rotation vector of a quaternion of either sign."""
    sign = -1.0 if q[0] < 0.0 else 1.0
    vector = math.sqrt(q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    scale = 2.0 * sign if vector < 1e-12 else 2.0 * sign * math.atan2(vector, sign * q[0]) / vector
    return np.array([scale * q[1], scale * q[2], scale * q[3]])
