"""Kernels of :mod:`marey.surface.decimation`: half-edge collapses in the order of their quadric error.

A vertex has one entry in the heap, its cheapest admissible collapse; entries that a later collapse made stale
are recognised by their stamp. Faces around a vertex are a linked list of corners, so that a collapse costs
the size of two rings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, BoolArray, Integers
from marey._compiling import OPTIONS, njit
from marey.geometry._inline_kernels import heap_pop, heap_push

Faces = NDArray[np.int32]

# A face may turn by no more than this cosine, nor become a worse needle than this (1 is equilateral) unless
# it already was.
LEAST_COSINE = 0.3
LEAST_QUALITY = 0.1
# A vertex with more neighbours stays.
RING = 64
# Share of the squared length of a collapse in its cost: in flat places short ones come first.
LENGTH_SHARE = 1e-3


@njit(**OPTIONS)
def collapse(
    points: Array, faces: Faces, quadrics: Array, areas: Array, border: BoolArray, wanted: int
) -> tuple[Integers, BoolArray, BoolArray]:
    """Where each vertex went, and which vertices and faces are left: `(vertices,)` twice, `(faces,)`.

    faces: rewritten in place
    points: `(poses, vertices, 3)`
    quadrics: `(vertices, poses, 10)`, summed in place
    areas: `(vertices,)`, mean area of the faces around each vertex over the poses
    border: `(vertices,)`
    """
    count, corners = points.shape[1], 3 * len(faces)
    head = np.full(count, -1, np.int64)
    after = np.full(corners, -1, np.int64)
    for corner in range(corners - 1, -1, -1):
        vertex = faces[corner // 3, corner % 3]
        after[corner] = head[vertex]
        head[vertex] = corner
    alive = np.ones(len(faces), np.bool_)
    here = head >= 0
    stamp = np.zeros(count, np.int64)
    keys, items = np.empty(4 * count + 16), np.empty((4 * count + 16, 2), np.int64)
    goal = np.full(count, -1, np.int64)
    size = 0
    ring, other, near = np.empty(RING, np.int64), np.empty(RING, np.int64), np.empty(RING + 1, np.int64)
    for vertex in range(count):
        if here[vertex]:
            goal[vertex], cost = best(
                vertex, points, faces, quadrics, areas, border, head, after, alive, ring, other
            )
            if goal[vertex] >= 0:
                size = heap_push(keys, items, size, cost, 0, vertex)
    left = here.sum()
    into = np.arange(count)
    while left > wanted and size > 0:
        entry, size = heap_pop(keys, items, size)
        # An entry is its vertex, and how often the vertex was touched before, times their number.
        vertex = entry % count
        if not here[vertex] or stamp[vertex] != entry // count:
            continue
        target = goal[vertex]
        merge(vertex, target, faces, head, after, alive)
        here[vertex] = False
        into[vertex] = target
        for pose in range(quadrics.shape[1]):
            for k in range(10):
                quadrics[target, pose, k] += quadrics[vertex, pose, k]
        areas[target] += areas[vertex]
        left -= 1
        touched = neighbours(target, faces, head, after, alive, ring)
        for k in range(touched):
            near[k] = ring[k]
        near[touched] = target
        if size + touched + 1 >= len(keys):
            keys = np.concatenate((keys, np.empty_like(keys)))
            items = np.concatenate((items, np.empty_like(items)))
        for k in range(touched + 1):
            one = near[k]
            stamp[one] += 1
            goal[one], cost = best(
                one, points, faces, quadrics, areas, border, head, after, alive, ring, other
            )
            if goal[one] >= 0:
                size = heap_push(keys, items, size, cost, 0, one + count * stamp[one])
    for vertex in range(count):
        while into[vertex] != into[into[vertex]]:
            into[vertex] = into[into[vertex]]
    return into, here, alive


@njit(**OPTIONS)
def best(
    vertex: int, points: Array, faces: Faces, quadrics: Array, areas: Array, border: BoolArray,
    head: Integers, after: Integers, alive: BoolArray, ring: Integers, other: Integers,
) -> tuple[int, float]:  # fmt: skip
    """The neighbour onto which a vertex may collapse at the least cost, and that cost; -1 if none."""
    degree = neighbours(vertex, faces, head, after, alive, ring)
    chosen, least = -1, np.inf
    if degree >= RING:
        return chosen, least
    for k in range(degree):
        target = ring[k]
        cost = 0.0
        for pose in range(len(points)):
            x, y, z = points[pose, target, 0], points[pose, target, 1], points[pose, target, 2]
            cost += error(quadrics, vertex, pose, x, y, z) + error(quadrics, target, pose, x, y, z)
            length = (x - points[pose, vertex, 0]) ** 2 + (y - points[pose, vertex, 1]) ** 2
            length += (z - points[pose, vertex, 2]) ** 2
            cost += LENGTH_SHARE * areas[vertex] * length
        if cost >= least or (border[vertex] and not border[target]):
            continue
        if not linked(vertex, target, degree, faces, head, after, alive, border, ring, other):
            continue
        if upright(vertex, target, points, faces, head, after, alive):
            chosen, least = target, cost
    return chosen, least


@njit(**OPTIONS)
def error(q: Array, vertex: int, pose: int, x: float, y: float, z: float) -> float:
    """Squared distance of a point to the planes that a vertex's quadric sums, each times its area."""
    v, p = vertex, pose
    return (
        x * (q[v, p, 0] * x + 2 * (q[v, p, 1] * y + q[v, p, 2] * z + q[v, p, 3]))
        + y * (q[v, p, 4] * y + 2 * (q[v, p, 5] * z + q[v, p, 6]))
        + z * (q[v, p, 7] * z + 2 * q[v, p, 8])
        + q[v, p, 9]
    )


@njit(**OPTIONS)
def neighbours(
    vertex: int, faces: Faces, head: Integers, after: Integers, alive: BoolArray, ring: Integers
) -> int:
    """Fill `ring` with the vertices around one; how many there are, at most `RING`."""
    found = 0
    corner = head[vertex]
    while corner >= 0:
        face = corner // 3
        if alive[face]:
            for k in range(3):
                one = faces[face, k]
                if one == vertex:
                    continue
                known = False
                for i in range(found):
                    if ring[i] == one:
                        known = True
                        break
                if not known and found < RING:
                    ring[found] = one
                    found += 1
        corner = after[corner]
    return found


@njit(**OPTIONS)
def linked(
    vertex: int, target: int, degree: int, faces: Faces, head: Integers, after: Integers, alive: BoolArray,
    border: BoolArray, ring: Integers, other: Integers,
) -> bool:  # fmt: skip
    """The link condition: the surface stays a manifold of the same kind."""
    shared = 0
    corner = head[vertex]
    while corner >= 0:
        face = corner // 3
        if alive[face] and (faces[face, 0] == target or faces[face, 1] == target or faces[face, 2] == target):
            shared += 1
        corner = after[corner]
    around = neighbours(target, faces, head, after, alive, other)
    if around >= RING or around + degree - 4 >= RING:
        return False
    common = 0
    for i in range(degree):
        for j in range(around):
            if ring[i] == other[j]:
                common += 1
    if common != shared or shared != (1 if border[vertex] else 2) or (not border[vertex] and degree < 3):
        return False
    # Of a tetrahedron two faces would be left on top of each other, of a lone triangle nothing.
    if degree == 3 and around == 3 and shared == 2:
        return False
    return not (degree == 2 and around == 2)


@njit(**OPTIONS)
def upright(
    vertex: int, target: int, points: Array, faces: Faces, head: Integers, after: Integers,
    alive: BoolArray,
) -> bool:  # fmt: skip
    """Whether no face around the vertex turns over or becomes a needle in any pose."""
    corner = head[vertex]
    while corner >= 0:
        face, k = corner // 3, corner % 3
        corner = after[corner]
        if not alive[face]:
            continue
        a, b = faces[face, (k + 1) % 3], faces[face, (k + 2) % 3]
        if a == target or b == target:
            continue
        for pose in range(len(points)):
            ox, oy, oz, old = normal(points, pose, vertex, a, b)
            nx, ny, nz, new = normal(points, pose, target, a, b)
            if ox * nx + oy * ny + oz * nz < LEAST_COSINE * np.sqrt(
                (ox * ox + oy * oy + oz * oz) * (nx * nx + ny * ny + nz * nz)
            ):
                return False
            if new < LEAST_QUALITY and new < old:
                return False
    return True


@njit(**OPTIONS)
def normal(p: Array, pose: int, a: int, b: int, c: int) -> tuple[float, float, float, float]:
    """Twice the area vector of a triangle, and its quality: 1 if equilateral, 0 if flat."""
    ux, uy, uz = p[pose, b, 0] - p[pose, a, 0], p[pose, b, 1] - p[pose, a, 1], p[pose, b, 2] - p[pose, a, 2]
    vx, vy, vz = p[pose, c, 0] - p[pose, a, 0], p[pose, c, 1] - p[pose, a, 1], p[pose, c, 2] - p[pose, a, 2]
    wx, wy, wz = vx - ux, vy - uy, vz - uz
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    sides = ux * ux + uy * uy + uz * uz + vx * vx + vy * vy + vz * vz + wx * wx + wy * wy + wz * wz
    quality = 2 * np.sqrt(3.0) * np.sqrt(nx * nx + ny * ny + nz * nz) / (sides + 1e-300)
    return nx, ny, nz, quality


@njit(**OPTIONS)
def merge(vertex: int, target: int, faces: Faces, head: Integers, after: Integers, alive: BoolArray) -> None:
    """Collapse a vertex onto another: their common faces go, the rest hang on the other."""
    corner = head[vertex]
    while corner >= 0:
        following = after[corner]
        face, k = corner // 3, corner % 3
        if alive[face]:
            if faces[face, 0] == target or faces[face, 1] == target or faces[face, 2] == target:
                alive[face] = False
            else:
                faces[face, k] = target
                after[corner] = head[target]
                head[target] = corner
        corner = following
    head[vertex] = -1
    # Dead faces leave the list, so that it stays as short as the ring.
    last = -1
    corner = head[target]
    while corner >= 0:
        if alive[corner // 3]:
            last = corner
        elif last < 0:
            head[target] = after[corner]
        else:
            after[last] = after[corner]
        corner = after[corner]
