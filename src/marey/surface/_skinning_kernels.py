"""Compiled loops of skinning, one thread each.

Frames come in blocks, packed so that the innermost loop runs over the frames of one block: the processor
then moves a vertex in several frames with one instruction. Importing this module imports numba: do so
inside functions.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey._compiling import OPTIONS, njit

Ints = NDArray[np.int32]

_OPTIONS = {**OPTIONS, "fastmath": {"contract"}}
_INFLUENCES = types.Array(types.int32, 2, "C", readonly=True)


def _signature(real: types.Type) -> types.Type:
    given = types.Array(real, 2, "C", readonly=True)
    packed = types.Array(real, 4, "C", readonly=True)
    return types.void(given, _INFLUENCES, given, packed, types.Array(real, 3, "C"))


_SIGNATURES = [_signature(types.float64), _signature(types.float32)]


@njit(_SIGNATURES, **_OPTIONS)
def linear_blend(
    vertices: FloatArray,
    influences: Ints,
    weights: FloatArray,
    packed: FloatArray,
    out: FloatArray,
) -> None:
    """`packed`: `(blocks, joints, 12, lanes)`, the upper three rows of each transform."""
    frames, lanes = out.shape[0], packed.shape[3]
    sums = np.empty((3, lanes), out.dtype)
    x, y, z = sums[0], sums[1], sums[2]
    for block in range(packed.shape[0]):
        first = block * lanes
        for v in range(vertices.shape[0]):
            for i in range(lanes):
                x[i] = 0
                y[i] = 0
                z[i] = 0
            for k in range(influences.shape[1]):
                w = weights[v, k]
                if w == 0:
                    continue
                m = packed[block, influences[v, k]]
                a, b, c = w * vertices[v, 0], w * vertices[v, 1], w * vertices[v, 2]
                for i in range(lanes):
                    x[i] += m[0, i] * a + m[1, i] * b + m[2, i] * c + m[3, i] * w
                    y[i] += m[4, i] * a + m[5, i] * b + m[6, i] * c + m[7, i] * w
                    z[i] += m[8, i] * a + m[9, i] * b + m[10, i] * c + m[11, i] * w
            for i in range(min(lanes, frames - first)):
                out[first + i, v, 0] = x[i]
                out[first + i, v, 1] = y[i]
                out[first + i, v, 2] = z[i]


@njit(_SIGNATURES, **_OPTIONS)
def dual_quaternion(
    vertices: FloatArray,
    influences: Ints,
    weights: FloatArray,
    packed: FloatArray,
    out: FloatArray,
) -> None:
    """`packed`: `(blocks, joints, 8, lanes)`, real then dual part; the heaviest influence comes first."""
    frames, lanes = out.shape[0], packed.shape[3]
    two = vertices.dtype.type(2)
    sums = np.empty((8, lanes), out.dtype)
    for block in range(packed.shape[0]):
        first = block * lanes
        for v in range(vertices.shape[0]):
            sums[:] = 0
            pivot = packed[block, influences[v, 0]]
            for k in range(influences.shape[1]):
                w = weights[v, k]
                if w == 0:
                    continue
                q = packed[block, influences[v, k]]
                for i in range(lanes):
                    cosine = q[0, i] * pivot[0, i] + q[1, i] * pivot[1, i]
                    cosine += q[2, i] * pivot[2, i] + q[3, i] * pivot[3, i]
                    s = w if cosine >= 0 else -w
                    sums[0, i] += s * q[0, i]
                    sums[1, i] += s * q[1, i]
                    sums[2, i] += s * q[2, i]
                    sums[3, i] += s * q[3, i]
                    sums[4, i] += s * q[4, i]
                    sums[5, i] += s * q[5, i]
                    sums[6, i] += s * q[6, i]
                    sums[7, i] += s * q[7, i]
            px, py, pz = vertices[v, 0], vertices[v, 1], vertices[v, 2]
            for i in range(min(lanes, frames - first)):
                w, x, y, z = sums[0, i], sums[1, i], sums[2, i], sums[3, i]
                d, e, f, g = sums[4, i], sums[5, i], sums[6, i], sums[7, i]
                factor = two / (w * w + x * x + y * y + z * z)
                # With r = (x, y, z), d = (e, f, g): p + 2 (r × (r × p + w p + d) + w d − d0 r) / |real|²
                a = y * pz - z * py + w * px + e
                b = z * px - x * pz + w * py + f
                c = x * py - y * px + w * pz + g
                out[first + i, v, 0] = px + factor * (y * c - z * b + w * e - d * x)
                out[first + i, v, 1] = py + factor * (z * a - x * c + w * f - d * y)
                out[first + i, v, 2] = pz + factor * (x * b - y * a + w * g - d * z)
