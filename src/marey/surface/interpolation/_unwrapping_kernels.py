"""Compiled loops that make the rotation vectors of neighbouring faces agree. Import inside functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
# Where a rotation vector moves this many times as far as the rotation itself, the axis is being lost.
_STEEPEST = 2.0
# Beyond half a turn axes are evened out among neighbours, fully from three quarters of a turn on.
_EVEN_FROM, _EVEN_TO, _ROUNDS = math.pi, 1.5 * math.pi, 60
# Steps of smoothness by which edges are taken in order.
_STEPS = 256


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
def settled(logs: Floats, starts: Ints, neighbours: Ints, islands: Ints) -> Bools:
    """Faces whose rotation vectors stay: of each island, its largest region of faces that agree."""
    count = logs.shape[0]
    regions, queue = np.full(count, -1, np.int64), np.empty(count, np.int64)
    largest = np.zeros(count, np.int64)
    chosen = np.full(count, -1, np.int64)
    for seed in range(count):
        if regions[seed] >= 0:
            continue
        regions[seed] = queue[0] = seed
        i, size = 0, 1
        while i < size:
            face = queue[i]
            i += 1
            for k in range(starts[face], starts[face + 1]):
                other = neighbours[k]
                if regions[other] < 0 and _agree(logs, face, other):
                    regions[other] = seed
                    queue[size] = other
                    size += 1
        if size > largest[islands[seed]]:
            largest[islands[seed]] = size
            chosen[islands[seed]] = seed
    stays = np.empty(count, np.bool_)
    for m in range(count):
        stays[m] = regions[m] == chosen[islands[m]]
    return stays


@njit(**_OPTIONS)
def spread(logs: Floats, stays: Bools, starts: Ints, neighbours: Ints, agreed: Floats, rests: Floats) -> bool:
    """Carry rotation vectors into the faces that do not stay, smoothest edges first; whether any changes.

    agreed: a copy of `logs`; rests: zeros
    """
    count = logs.shape[0]
    done = stays.copy()
    changed = np.zeros(count, np.bool_)
    turns = np.empty((count, 4))
    # Edges to go over, by how much the turn changes across: lists linked through `following`.
    heads = np.full(_STEPS, -1, np.int64)
    following, origin = np.empty(neighbours.shape[0], np.int64), np.empty(neighbours.shape[0], np.int64)
    for m in range(count):
        if stays[m]:
            continue
        turns[m] = _quaternion(_row(logs, m), 1.0)
        for k in range(starts[m], starts[m + 1]):
            if stays[neighbours[k]]:
                turns[neighbours[k]] = _quaternion(_row(logs, neighbours[k]), 1.0)
    for m in range(count):
        if stays[m]:
            continue
        for k in range(starts[m], starts[m + 1]):
            other = neighbours[k]
            if stays[other]:
                for back in range(starts[other], starts[other + 1]):
                    if neighbours[back] == m:
                        step = _step(turns, m, other)
                        following[back], origin[back] = heads[step], other
                        heads[step] = back
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
        changed[face] = _continue(logs, turns, origin[link], face, agreed, rests)
        for k in range(starts[face], starts[face + 1]):
            other = neighbours[k]
            if not done[other]:
                step = _step(turns, face, other)
                following[k], origin[k] = heads[step], face
                heads[step] = k
                lowest = min(lowest, step)
    _keep_what_helps(logs, starts, neighbours, changed, agreed, rests)
    return _even_out(turns, starts, neighbours, changed, agreed, rests)


@njit(**_OPTIONS)
def _agree(logs: Floats, a: int, b: int) -> bool:
    """Whether the rotation vectors of two neighbours are near each other, or both far from half a turn."""
    ax, ay, az, bx, by, bz = logs[a, 0], logs[a, 1], logs[a, 2], logs[b, 0], logs[b, 1], logs[b, 2]
    if (ax - bx) ** 2 + (ay - by) ** 2 + (az - bz) ** 2 < 1.0:
        return True
    quarter = 0.25 * math.pi * math.pi
    return ax * ax + ay * ay + az * az < quarter and bx * bx + by * by + bz * bz < quarter


@njit(**_OPTIONS)
def _step(turns: Floats, a: int, b: int) -> int:
    return min(int(_STEPS * math.sqrt(_apart(_four(turns, a), _four(turns, b)))), _STEPS - 1)


@njit(**_OPTIONS)
def _continue(logs: Floats, turns: Floats, parent: int, face: int, agreed: Floats, rests: Floats) -> bool:
    """The logarithm nearest to the parent's, or one along its axis and a rest; whether not the shortest."""
    x, y, z = logs[face, 0], logs[face, 1], logs[face, 2]
    px, py, pz = agreed[parent, 0], agreed[parent, 1], agreed[parent, 2]
    angle, size = math.sqrt(x * x + y * y + z * z), math.sqrt(px * px + py * py + pz * pz)
    near = (x - px) ** 2 + (y - py) ** 2 + (z - pz) ** 2
    if size <= math.pi and (near < 1.0 or (size < 0.5 * math.pi and angle < 0.5 * math.pi)):
        agreed[face] = logs[face]
        return False
    bx, by, bz = _log(_product(_conjugate(_quaternion((px, py, pz), 1.0)), _four(turns, face)))
    if angle > 1e-12:
        windings = np.round(((px * x + py * y + pz * z) / angle - angle) / (2.0 * math.pi))
        scale = 1.0 + 2.0 * math.pi * windings / angle
        gap = (scale * x - px) ** 2 + (scale * y - py) ** 2 + (scale * z - pz) ** 2
        if gap < _STEEPEST**2 * (bx * bx + by * by + bz * bz) + 1e-12:
            agreed[face, 0], agreed[face, 1], agreed[face, 2] = scale * x, scale * y, scale * z
            return windings != 0.0
    if size < 0.5 * math.pi:
        agreed[face] = logs[face]
        return False
    scale = 1.0 + (bx * px + by * py + bz * pz) / (size * size)
    agreed[face, 0], agreed[face, 1], agreed[face, 2] = scale * px, scale * py, scale * pz
    _set_rest(turns, face, agreed, rests)
    return True


@njit(**_OPTIONS)
def _keep_what_helps(
    logs: Floats, starts: Ints, neighbours: Ints, changed: Bools, agreed: Floats, rests: Floats
) -> None:
    """Take back the change of a connected group of faces whose halfway turns it did not make smoother."""
    seen = np.zeros(logs.shape[0], np.bool_)
    group = np.empty(logs.shape[0], np.int64)
    for seed in range(logs.shape[0]):
        if not changed[seed] or seen[seed]:
            continue
        seen[seed] = True
        group[0] = seed
        gain, i, size = 0.0, 0, 1
        while i < size:
            face = group[i]
            i += 1
            before, after = _quaternion(_row(logs, face), 0.5), _halfway(agreed, rests, face)
            for k in range(starts[face], starts[face + 1]):
                other = neighbours[k]
                theirs = _quaternion(_row(logs, other), 0.5)
                gained = _apart(before, theirs)
                if changed[other]:
                    gain += 0.5 * (gained - _apart(after, _halfway(agreed, rests, other)))
                    if not seen[other]:
                        seen[other] = True
                        group[size] = other
                        size += 1
                else:
                    gain += gained - _apart(after, theirs)
        if gain <= 0.0:
            for k in range(size):
                changed[group[k]] = False
                agreed[group[k]] = logs[group[k]]
                rests[group[k]] = 0.0


@njit(**_OPTIONS)
def _even_out(
    turns: Floats, starts: Ints, neighbours: Ints, changed: Bools, agreed: Floats, rests: Floats
) -> bool:
    """Even out rotation vectors beyond half a turn, where axes are unsure; whether there are rests."""
    size = np.zeros(agreed.shape[0])
    for m in np.flatnonzero(changed):
        size[m] = math.sqrt(agreed[m, 0] ** 2 + agreed[m, 1] ** 2 + agreed[m, 2] ** 2)
    wide = np.flatnonzero(size > _EVEN_FROM)
    even, following = agreed.copy(), agreed.copy()
    for _ in range(_ROUNDS):
        for m in wide:
            x, y, z = even[m, 0], even[m, 1], even[m, 2]
            for k in range(starts[m], starts[m + 1]):
                other = neighbours[k]
                x, y, z = x + even[other, 0], y + even[other, 1], z + even[other, 2]
            share = 1.0 / (1 + starts[m + 1] - starts[m])
            following[m, 0], following[m, 1], following[m, 2] = share * x, share * y, share * z
        even, following = following, even
    for m in wide:
        share = min((size[m] - _EVEN_FROM) / (_EVEN_TO - _EVEN_FROM), 1.0)
        share *= share * (3.0 - 2.0 * share)
        for axis in range(3):
            agreed[m, axis] += share * (even[m, axis] - agreed[m, axis])
        _set_rest(turns, m, agreed, rests)
    return bool(changed.any())


@njit(**_OPTIONS)
def _set_rest(turns: Floats, face: int, agreed: Floats, rests: Floats) -> None:
    whole = _conjugate(_quaternion(_row(agreed, face), 1.0))
    rests[face, 0], rests[face, 1], rests[face, 2] = _log(_product(whole, _four(turns, face)))


@njit(**_OPTIONS)
def _halfway(agreed: Floats, rests: Floats, face: int) -> Quaternion:
    return _product(_quaternion(_row(agreed, face), 0.5), _quaternion(_row(rests, face), 0.5))


@njit(**_OPTIONS)
def _row(vectors: Floats, m: int) -> Vector:
    return vectors[m, 0], vectors[m, 1], vectors[m, 2]


@njit(**_OPTIONS)
def _four(quaternions: Floats, m: int) -> Quaternion:
    return quaternions[m, 0], quaternions[m, 1], quaternions[m, 2], quaternions[m, 3]


@njit(**_OPTIONS)
def _apart(a: Quaternion, b: Quaternion) -> float:
    """0 for equal turns, 1 for half a turn."""
    return max(1.0 - abs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]), 0.0)


@njit(**_OPTIONS)
def _quaternion(log: Vector, share: float) -> Quaternion:
    """Of a share of a rotation vector."""
    angle = math.sqrt(log[0] ** 2 + log[1] ** 2 + log[2] ** 2)
    scale = 0.5 * share if angle < 1e-12 else math.sin(0.5 * share * angle) / angle
    return math.cos(0.5 * share * angle), scale * log[0], scale * log[1], scale * log[2]


@njit(**_OPTIONS)
def _conjugate(q: Quaternion) -> Quaternion:
    return q[0], -q[1], -q[2], -q[3]


@njit(**_OPTIONS)
def _product(p: Quaternion, q: Quaternion) -> Quaternion:
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@njit(**_OPTIONS)
def _log(q: Quaternion) -> Vector:
    """The shortest rotation vector of a quaternion of either sign."""
    sign = -1.0 if q[0] < 0.0 else 1.0
    vector = math.sqrt(q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    scale = 2.0 * sign if vector < 1e-12 else 2.0 * sign * math.atan2(vector, sign * q[0]) / vector
    return scale * q[1], scale * q[2], scale * q[3]
