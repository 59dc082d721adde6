"""Compiled loops of the filters: one thread, one series after the other, nothing allocated a sample.

Series are padded by `half` samples on both sides and lie one after the other, `(series, padded, 4)` or
`(series, padded, dims)`. Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from marey._arrays import Array
from marey._compiling import OPTIONS, njit
from marey.geometry._inline_kernels import product, quaternion, store, turn

_GIVEN1 = types.Array(types.float64, 1, "C", readonly=True)
_GIVEN3 = types.Array(types.float64, 3, "C", readonly=True)
_SCRATCH = types.Array(types.float64, 2, "C")
_RESULT3 = types.Array(types.float64, 3, "C")
_OPTIONS = {**OPTIONS, "fastmath": {"contract"}}

# Weights below exp(-40) change no digit.
_NEGLIGIBLE = 40.0


@njit(types.void(_GIVEN3, types.int64, _SCRATCH), **_OPTIONS)
def _columns_of(q: Array, s: int, columns: Array) -> None:
    """The quaternions of one series, a component a row: loops over those run several samples at a time."""
    for p in range(q.shape[1]):
        for c in range(4):
            columns[c, p] = q[s, p, c]


@njit(types.void(_SCRATCH, _SCRATCH), **_OPTIONS)
def _steps_of(q: Array, steps: Array) -> None:
    """Rotation vectors of q_p⁻¹ q_{p+1}, whichever sign quaternions have; `(4, padded)`, `(3, padded)`."""
    for p in range(q.shape[1] - 1):
        before = q[0, p], -q[1, p], -q[2, p], -q[3, p]
        w, x, y, z = product(before, (q[0, p + 1], q[1, p + 1], q[2, p + 1], q[3, p + 1]))
        squared = x * x + y * y + z * z
        # With h the squared sine of a quarter, and of an eighth, of the angle: no branch, no cancellation.
        cosine = math.sqrt(w * w)
        h = squared / (2.0 * (cosine + 1.0))
        root = math.sqrt(1.0 - h)
        h = h / (2.0 * (1.0 + root))
        # asin(√h) / √h, of which the angle is eight times √h times that.
        arc = 1.0 + h * (1 / 6 + h * (3 / 40 + h * (5 / 112 + h * (35 / 1152 + h * (63 / 2816 + h * (
            231 / 13312 + h * (143 / 10240 + h * (6435 / 557056 + h * (12155 / 1245184 + h * (
            46189 / 5505024 + h * (88179 / 12058624 + h * (676039 / 104857600 + h * (1300075 / 226492416
            + h * (5014575 / 973078528 + h * 9694845 / 2080374784))))))))))))))  # fmt: skip
        # sin(angle / 2) = 4 √h √(1 - h) (1 - 2 h), and 1 - 2 h = root.
        factor = math.copysign(2.0 * arc / (math.sqrt(1.0 - h) * root), w)
        steps[0, p] = factor * x
        steps[1, p] = factor * y
        steps[2, p] = factor * z


@njit(
    types.void(_GIVEN3, types.int64, types.int64, types.float64, types.float64, types.float64, _RESULT3),
    **_OPTIONS,
)
def _turned(q: Array, s: int, p: int, vx: float, vy: float, vz: float, out: Array) -> None:
    """q[s, p] exp(v), made unit, as the sample of `out` that it stands over."""
    i = p - (q.shape[1] - out.shape[1]) // 2
    store(turn(quaternion(q[s, p]), (vx, vy, vz)), out[s, i])


@njit(types.void(_GIVEN3, _GIVEN1, _RESULT3), **_OPTIONS)
def linear_rotations(q: Array, shares: Array, out: Array) -> None:
    """q_i exp(Σ b_r w_{i+r}), with `shares` the b_r from -half to half - 1."""
    half = shares.shape[0] // 2
    columns, steps = np.empty((4, q.shape[1])), np.empty((3, q.shape[1]))
    for s in range(q.shape[0]):
        _columns_of(q, s, columns)
        _steps_of(columns, steps)
        for i in range(out.shape[1]):
            vx = vy = vz = 0.0
            for r in range(2 * half):
                vx += shares[r] * steps[0, i + r]
                vy += shares[r] * steps[1, i + r]
                vz += shares[r] * steps[2, i + r]
            _turned(q, s, i + half, vx, vy, vz, out)


@njit(types.void(_SCRATCH, _GIVEN1, types.float64, _SCRATCH), **_OPTIONS)
def _band_of(q: Array, near: Array, scale: float, band: Array) -> None:
    """Weights of the pairs p, p + r: near[r] exp(-d² scale), with d the angle between quaternions."""
    for r in range(1, near.shape[0]):
        for p in range(q.shape[1] - r):
            w, x, y, z = q[0, p], q[1, p], q[2, p], q[3, p]
            v, i, j, k = q[0, p + r], q[1, p + r], q[2, p + r], q[3, p + r]
            minus = (w - v) * (w - v) + (x - i) * (x - i) + (y - j) * (y - j) + (z - k) * (z - k)
            plus = (w + v) * (w + v) + (x + i) * (x + i) + (y + j) * (y + j) + (z + k) * (z + k)
            # The squared sine of d / 2; then of d / 4 and d / 8, for which the series is short.
            h = 0.25 * min(minus, plus)
            h = h / (2.0 * (1.0 + math.sqrt(1.0 - h)))
            h = h / (2.0 * (1.0 + math.sqrt(1.0 - h)))
            squared = 64.0 * h * (1.0 + h * (1 / 3 + h * (8 / 45 + h * (4 / 35 + h * (128 / 1575 + h * (
                128 / 2079 + h * (1024 / 21021 + h * (256 / 6435 + h * (32768 / 984555
                + h * 32768 / 1154725)))))))))  # fmt: skip
            # exp(-t) as the 64th power of a short series; beyond t = 40 it changes no digit.
            u = min(squared * scale, _NEGLIGIBLE) / -64.0
            e = 1.0 + u * (1.0 + u * (1 / 2 + u * (1 / 6 + u * (1 / 24 + u * (1 / 120 + u * (1 / 720 + u * (
                1 / 5040 + u * (1 / 40320 + u * (1 / 362880 + u * (1 / 3628800 + u / 39916800
                ))))))))))  # fmt: skip
            e = e * e
            e = e * e
            e = e * e
            e = e * e
            e = e * e
            band[r - 1, p] = near[r] * e * e


@njit(types.void(_GIVEN3, _GIVEN3, _GIVEN1, _GIVEN1, _RESULT3), **_OPTIONS)
def bilateral_rotations(q: Array, guide: Array, near: Array, scale: Array, out: Array) -> None:
    """The same with masks made at every sample, of `near[r]` and of distances between samples of `guide`.

    scale: 1 / (2 sigma_g²) of each series
    """
    half = near.shape[0] - 1
    columns, steps = np.empty((4, q.shape[1])), np.empty((3, q.shape[1]))
    band = np.empty((half, q.shape[1]))
    for s in range(q.shape[0]):
        _columns_of(q, s, columns)
        _steps_of(columns, steps)
        _columns_of(guide, s, columns)
        _band_of(columns, near, scale[s], band)
        for i in range(out.shape[1]):
            p = i + half
            total = near[0]
            vx = vy = vz = 0.0
            share = 0.0
            for r in range(half - 1, -1, -1):
                share += band[r, p]
                vx += share * steps[0, p + r]
                vy += share * steps[1, p + r]
                vz += share * steps[2, p + r]
            total += share
            share = 0.0
            for r in range(half - 1, -1, -1):
                share += band[r, p - r - 1]
                vx -= share * steps[0, p - r - 1]
                vy -= share * steps[1, p - r - 1]
                vz -= share * steps[2, p - r - 1]
            total += share
            _turned(q, s, p, vx / total, vy / total, vz / total, out)


@njit(types.void(_GIVEN3, _GIVEN3, _GIVEN1, _GIVEN1, _RESULT3), **_OPTIONS)
def bilateral_vectors(x: Array, guide: Array, near: Array, scale: Array, out: Array) -> None:
    """Weighted averages of neighbours; weights by time and by distance between samples of `guide`."""
    half = near.shape[0] - 1
    dims = x.shape[2]
    for s in range(x.shape[0]):
        for i in range(out.shape[1]):
            p = i + half
            total = near[0]
            for c in range(dims):
                out[s, i, c] = near[0] * x[s, p, c]
            for r in range(-half, half + 1):
                if r == 0:
                    continue
                squared = 0.0
                for c in range(dims):
                    step = guide[s, p + r, c] - guide[s, p, c]
                    squared += step * step
                exponent = squared * scale[s]
                if exponent < _NEGLIGIBLE:
                    weight = near[abs(r)] * math.exp(-exponent)
                    total += weight
                    for c in range(dims):
                        out[s, i, c] += weight * x[s, p + r, c]
            for c in range(dims):
                out[s, i, c] /= total


@njit(types.void(_GIVEN3, _GIVEN1, _RESULT3), **_OPTIONS)
def linear_vectors(x: Array, mask: Array, out: Array) -> None:
    """Averages of neighbours with the weights of `mask`."""
    for s in range(x.shape[0]):
        for i in range(out.shape[1]):
            for c in range(x.shape[2]):
                total = 0.0
                for r in range(mask.shape[0]):
                    total += mask[r] * x[s, i + r, c]
                out[s, i, c] = total
