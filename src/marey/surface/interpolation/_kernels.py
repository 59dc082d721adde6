"""Compiled loops of the interpolation: rotations of faces between two poses, right-hand sides, substitution.

One thread each, without allocations that grow; face by face in order, so that sums do not depend on
anything but the mesh. Importing this module imports numba: do so inside functions.

A rotation has many logarithms; the shortest jumps where a part of the surface turns by more than π, and the
in-between would collapse there. From the face that turns least, in one pass over the edges across which the
rotation changes least, each face takes the logarithm nearest to its neighbour's. Near a full turn none is
near, since the axis is lost there: the face then keeps its neighbour's axis and what remains becomes a
second, small rotation. Cost: 0.1 ms for 20,000 faces where no neighbours disagree, else about 2 ms.
"""

from __future__ import annotations

import math

import numpy as np

from marey._arrays import Array, BoolArray, IntArray, Integers
from marey._compiling import OPTIONS, njit
from marey.geometry._inline_kernels import (
    Vector,
    conjugate,
    exp,
    from_matrix,
    log,
    product,
    quaternion,
    store,
    vector,
)
from marey.surface._distance_kernels import polar_2d, rotation_between, tangent

# Where a rotation vector moves this many times as far as the rotation itself, the axis is being lost.
_STEEPEST = 2.0
# Steps of smoothness by which edges are taken in order.
_STEPS = 256


@njit(**OPTIONS)
def measure(
    first: Array, second: Array, faces: IntArray, couplings: Array, logs: Array, here: Array, there: Array,
    stretches: Array,
) -> float:  # fmt: skip
    """What turns and stretches each face from `first` to `second`; the largest angle, radians.

    logs: `(faces, 3)`, rotation vectors; here, there: `(faces, 6)`, the flow out of the first two corners
    in either pose, that of the second turned back; stretches: `(faces, 2)`, the principal ones
    """
    largest = 0.0
    for m in range(faces.shape[0]):
        a, b, c = faces[m, 0], faces[m, 1], faces[m, 2]
        e1x, e1y, e1z = first[a, 0] - first[c, 0], first[a, 1] - first[c, 1], first[a, 2] - first[c, 2]
        e2x, e2y, e2z = first[b, 0] - first[c, 0], first[b, 1] - first[c, 1], first[b, 2] - first[c, 2]
        d1x, d1y, d1z = second[a, 0] - second[c, 0], second[a, 1] - second[c, 1], second[a, 2] - second[c, 2]
        d2x, d2y, d2z = second[b, 0] - second[c, 0], second[b, 1] - second[c, 1], second[b, 2] - second[c, 2]
        logs[m, 0] = logs[m, 1] = logs[m, 2] = 0.0
        stretches[m, 0] = stretches[m, 1] = 1.0
        here_flat, before, (p, q, r) = tangent((e1x, e1y, e1z), (e2x, e2y, e2z), 0.0)
        there_flat, after, (P, Q, R) = tangent((d1x, d1y, d1z), (d2x, d2y, d2z), 0.0)
        # A face without area in one of the poses has no rotation: its edges go straight from here to there.
        if not (
            here_flat
            or there_flat
            or p * r <= 1e-9 * (p * p + q * q + r * r)
            or P * R <= 1e-9 * (P * P + Q * Q + R * R)
        ):
            cos, sin = polar_2d((p, q, r), (P, Q, R))
            inverse = 1.0 / (p * r)
            product = P * R * inverse
            half = 0.5 * inverse * (cos * (P * r + R * p) + sin * (P * q - Q * p))
            spread = math.sqrt(max(half * half - product, 0.0))
            stretches[m, 0] = half + spread
            stretches[m, 1] = product / (half + spread)
            # Edges of the second pose, turned back.
            (tx, sx, _), (ty, sy, _), (tz, sz, _) = before
            x, y = cos * P, -sin * P
            d1x, d1y, d1z = x * tx + y * sx, x * ty + y * sy, x * tz + y * sz
            x, y = cos * Q + sin * R, cos * R - sin * Q
            d2x, d2y, d2z = x * tx + y * sx, x * ty + y * sy, x * tz + y * sz
            x, y, z = log(from_matrix(rotation_between(before, after, cos, sin)))
            logs[m, 0], logs[m, 1], logs[m, 2] = x, y, z
            largest = max(largest, x * x + y * y + z * z)
        w23, w31, w12 = couplings[m, 0], couplings[m, 1], couplings[m, 2]
        here[m, 0] = w12 * (e1x - e2x) + w31 * e1x
        here[m, 1] = w12 * (e1y - e2y) + w31 * e1y
        here[m, 2] = w12 * (e1z - e2z) + w31 * e1z
        here[m, 3] = w12 * (e2x - e1x) + w23 * e2x
        here[m, 4] = w12 * (e2y - e1y) + w23 * e2y
        here[m, 5] = w12 * (e2z - e1z) + w23 * e2z
        there[m, 0] = w12 * (d1x - d2x) + w31 * d1x
        there[m, 1] = w12 * (d1y - d2y) + w31 * d1y
        there[m, 2] = w12 * (d1z - d2z) + w31 * d1z
        there[m, 3] = w12 * (d2x - d1x) + w23 * d2x
        there[m, 4] = w12 * (d2y - d1y) + w23 * d2y
        there[m, 5] = w12 * (d2z - d1z) + w23 * d2z
    return math.sqrt(largest)


@njit(**OPTIONS)
def gather(
    faces: IntArray, logs: Array, residuals: Array, here: Array, there: Array, stretches: Array,
    geometric: bool, weight: float, sums: Array,
) -> None:  # fmt: skip
    """Right-hand side at `weight` between them, `(vertices, 3)`; `residuals` may have no rows."""
    sums[:] = 0.0
    twice = residuals.shape[0] > 0
    for m in range(faces.shape[0]):
        from_here, from_there = 1.0 - weight, weight
        if geometric:
            s, t = stretches[m, 0], stretches[m, 1]
            if s - t > 1e-7 * s:
                from_there = (s**weight - t**weight) / (s - t)
                from_here = s**weight - from_there * s
            else:
                from_here, from_there = (1.0 - weight) * s**weight, weight * s ** (weight - 1.0)
        x1 = from_here * here[m, 0] + from_there * there[m, 0]
        y1 = from_here * here[m, 1] + from_there * there[m, 1]
        z1 = from_here * here[m, 2] + from_there * there[m, 2]
        x2 = from_here * here[m, 3] + from_there * there[m, 3]
        y2 = from_here * here[m, 4] + from_there * there[m, 4]
        z2 = from_here * here[m, 5] + from_there * there[m, 5]
        if twice:
            x1, y1, z1, x2, y2, z2 = _turn(residuals, m, weight, x1, y1, z1, x2, y2, z2)
        x1, y1, z1, x2, y2, z2 = _turn(logs, m, weight, x1, y1, z1, x2, y2, z2)
        a, b, c = faces[m, 0], faces[m, 1], faces[m, 2]
        sums[a, 0] += x1
        sums[a, 1] += y1
        sums[a, 2] += z1
        sums[b, 0] += x2
        sums[b, 1] += y2
        sums[b, 2] += z2
        sums[c, 0] -= x1 + x2
        sums[c, 1] -= y1 + y2
        sums[c, 2] -= z1 + z2


@njit(**OPTIONS)
def substitute(
    starts: IntArray, rows: IntArray, values: Array, inverse_diagonal: Array, place: IntArray, sums: Array,
    out: Array,
) -> None:  # fmt: skip
    """Solve L D Lᵀ x = sums for three columns; `place`: row of each vertex in L, below 0 if it is held at 0.

    starts, rows, values: L without its diagonal of ones, column by column
    """
    count = starts.shape[0] - 1
    x = np.empty((count, 3))
    for v in range(place.shape[0]):
        i = place[v]
        if i >= 0:
            x[i, 0], x[i, 1], x[i, 2] = sums[v, 0], sums[v, 1], sums[v, 2]
    for j in range(count):
        a, b, c = x[j, 0], x[j, 1], x[j, 2]
        for k in range(starts[j], starts[j + 1]):
            i, value = rows[k], values[k]
            x[i, 0] -= value * a
            x[i, 1] -= value * b
            x[i, 2] -= value * c
    for j in range(count - 1, -1, -1):
        scale = inverse_diagonal[j]
        a, b, c = x[j, 0] * scale, x[j, 1] * scale, x[j, 2] * scale
        for k in range(starts[j], starts[j + 1]):
            i, value = rows[k], values[k]
            a -= value * x[i, 0]
            b -= value * x[i, 1]
            c -= value * x[i, 2]
        x[j, 0], x[j, 1], x[j, 2] = a, b, c
    for v in range(place.shape[0]):
        i = place[v]
        if i >= 0:
            out[v, 0], out[v, 1], out[v, 2] = x[i, 0], x[i, 1], x[i, 2]
        else:
            out[v, 0] = out[v, 1] = out[v, 2] = 0.0


@njit(**OPTIONS)
def place_pieces(
    first: Array, second: Array, pieces: IntArray, sizes: Array, weight: float, out: Array
) -> None:
    """Move each connected piece to the centroid at `weight` between them."""
    shift = np.zeros((sizes.shape[0], 3))
    for v in range(out.shape[0]):
        piece = pieces[v]
        for k in range(3):
            shift[piece, k] += (1.0 - weight) * first[v, k] + weight * second[v, k] - out[v, k]
    for piece in range(sizes.shape[0]):
        for k in range(3):
            shift[piece, k] /= sizes[piece]
    for v in range(out.shape[0]):
        piece = pieces[v]
        for k in range(3):
            out[v, k] += shift[piece, k]


@njit(**OPTIONS)
def enclosed(vertices: Array, faces: IntArray, pieces: IntArray, volumes: Array, growth: Array) -> None:
    """The volume of each piece, and how it grows with each vertex, `(vertices, 3)`."""
    volumes[:] = 0.0
    growth[:] = 0.0
    for m in range(faces.shape[0]):
        a, b, c = faces[m, 0], faces[m, 1], faces[m, 2]
        ax, ay, az = vertices[a, 0], vertices[a, 1], vertices[a, 2]
        ux, uy, uz = vertices[b, 0] - ax, vertices[b, 1] - ay, vertices[b, 2] - az
        vx, vy, vz = vertices[c, 0] - ax, vertices[c, 1] - ay, vertices[c, 2] - az
        x, y, z = (uy * vz - uz * vy) / 6.0, (uz * vx - ux * vz) / 6.0, (ux * vy - uy * vx) / 6.0
        volumes[pieces[a]] += x * ax + y * ay + z * az
        for corner in (a, b, c):
            growth[corner, 0] += x
            growth[corner, 1] += y
            growth[corner, 2] += z


@njit(**OPTIONS)
def swell(
    pieces: IntArray, missing: Array, most: Array, growth: Array, swelling: Array, vertices: Array
) -> None:
    """Add to each piece as much of `swelling` as its volume is missing, unless that is too much."""
    gains = np.zeros(missing.shape[0])
    for v in range(vertices.shape[0]):
        for k in range(3):
            gains[pieces[v]] += growth[v, k] * swelling[v, k]
    for piece in range(missing.shape[0]):
        fits = gains[piece] > 0.0 and abs(missing[piece]) <= most[piece]
        gains[piece] = missing[piece] / gains[piece] if fits else 0.0
    for v in range(vertices.shape[0]):
        for k in range(3):
            vertices[v, k] += gains[pieces[v]] * swelling[v, k]


@njit(**OPTIONS)
def _turn(
    logs: Array, m: int, weight: float, x1: float, y1: float, z1: float, x2: float, y2: float, z2: float
) -> tuple[float, float, float, float, float, float]:
    """Two vectors turned by `weight` times the rotation vector of face m."""
    x, y, z = logs[m, 0], logs[m, 1], logs[m, 2]
    angle = math.sqrt(x * x + y * y + z * z)
    if angle < 1e-150:
        return x1, y1, z1, x2, y2, z2
    x, y, z = x / angle, y / angle, z / angle
    sin, cos = math.sin(weight * angle), math.cos(weight * angle)
    k1, k2 = (1.0 - cos) * (x * x1 + y * y1 + z * z1), (1.0 - cos) * (x * x2 + y * y2 + z * z2)
    return (
        cos * x1 + sin * (y * z1 - z * y1) + k1 * x,
        cos * y1 + sin * (z * x1 - x * z1) + k1 * y,
        cos * z1 + sin * (x * y1 - y * x1) + k1 * z,
        cos * x2 + sin * (y * z2 - z * y2) + k2 * x,
        cos * y2 + sin * (z * x2 - x * z2) + k2 * y,
        cos * z2 + sin * (x * y2 - y * x2) + k2 * z,
    )


@njit(**OPTIONS)
def disagree(logs: Array, links: Integers) -> bool:
    """Whether the rotation vectors of any two neighbours differ by more than π."""
    for k in range(links.shape[0]):
        a, b = links[k, 0], links[k, 1]
        x, y, z = logs[a, 0] - logs[b, 0], logs[a, 1] - logs[b, 1], logs[a, 2] - logs[b, 2]
        if x * x + y * y + z * z > math.pi * math.pi:
            return True
    return False


@njit(**OPTIONS)
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


@njit(**OPTIONS)
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


@njit(**OPTIONS)
def _agree(a: Vector, b: Vector) -> bool:
    """Whether the rotation vectors of two neighbours are near each other, or both far from half a turn."""
    if (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2 < 1.0:
        return True
    quarter = 0.25 * math.pi * math.pi
    return a[0] ** 2 + a[1] ** 2 + a[2] ** 2 < quarter and b[0] ** 2 + b[1] ** 2 + b[2] ** 2 < quarter


@njit(**OPTIONS)
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
