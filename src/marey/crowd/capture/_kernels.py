"""Compiled: bicubic warping, the linearised data term, regularisers and the conjugate-gradient solver.

Images are stacks of channels `(channels, rows, columns)`, fields planes `(2, rows, columns)` of float32. The
second-order form is the sum over pixels and both components of `weight (f_xx² + 2 f_xy² + f_yy²)`, whose
interior equation is that of the squared gradients of divergence and curl; the first-order form is that of
Horn and Schunck. A term whose weight is zero is cut. Cost a pixel: sixty nanoseconds for warping three
channels, ten for the data term, ten for one product with the whole system. Imports numba: import it inside
functions.
"""

from __future__ import annotations

import math

import numpy as np

from marey._arrays import AnyArray as Array
from marey._compiling import njit

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": True}

QUADRATIC, CHARBONNIER, GEMAN_MCCLURE = range(3)
PENALTIES = {"quadratic": QUADRATIC, "charbonnier": CHARBONNIER, "geman-mcclure": GEMAN_MCCLURE}


@njit(**_OPTIONS)
def warp(images: Array, field: Array, out: Array, inside: Array) -> None:
    """`out[k](x) = images[k](x + field(x))` by cubic convolution; `inside` is 0 where x leaves the image.

    Args:
        images: `(channels, rows, columns)`.
        field: `(2, rows, columns)`.
        out: As `images`, filled.
        inside: `(rows, columns)`, filled.
    """
    channels, rows, columns = images.shape
    wx, wy = np.empty(4, dtype=np.float32), np.empty(4, dtype=np.float32)
    at_x, at_y = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64)
    for r in range(rows):
        for c in range(columns):
            x, y = c + field[0, r, c], r + field[1, r, c]
            inside[r, c] = 1.0 if (0.0 <= x <= columns - 1 and 0.0 <= y <= rows - 1) else 0.0
            x = min(max(x, np.float32(0.0)), np.float32(columns - 1))
            y = min(max(y, np.float32(0.0)), np.float32(rows - 1))
            left, top = min(int(x), columns - 1), min(int(y), rows - 1)
            _cubic(np.float32(x - left), wx)
            _cubic(np.float32(y - top), wy)
            if 1 <= left < columns - 2 and 1 <= top < rows - 2:
                for k in range(channels):
                    image = images[k]
                    total = np.float32(0.0)
                    for i in range(4):
                        row = image[top - 1 + i]
                        total += wy[i] * (
                            wx[0] * row[left - 1]
                            + wx[1] * row[left]
                            + wx[2] * row[left + 1]
                            + wx[3] * row[left + 2]
                        )
                    out[k, r, c] = total
            else:
                for i in range(4):
                    at_x[i] = min(max(left - 1 + i, 0), columns - 1)
                    at_y[i] = min(max(top - 1 + i, 0), rows - 1)
                for k in range(channels):
                    total = np.float32(0.0)
                    for i in range(4):
                        for j in range(4):
                            total += wy[i] * wx[j] * images[k, at_y[i], at_x[j]]
                    out[k, r, c] = total


@njit(**_OPTIONS)
def _cubic(t: float, weights: Array) -> None:
    half = np.float32(0.5)
    one = np.float32(1.0)
    weights[0] = half * t * (t * (np.float32(2.0) - t) - one)
    weights[1] = half * (t * t * (np.float32(3.0) * t - np.float32(5.0)) + np.float32(2.0))
    weights[2] = half * t * (t * (np.float32(4.0) - np.float32(3.0) * t) + one)
    weights[3] = half * t * t * (t - one)


@njit(**_OPTIONS)
def differentiate(image: Array, along_x: Array, along_y: Array) -> None:
    """Both derivatives of one image by `[1 -8 0 8 -1] / 12`, the border repeated."""
    rows, columns = image.shape
    near, far = np.float32(8.0 / 12.0), np.float32(1.0 / 12.0)
    for r in range(rows):
        row = image[r]
        target = along_x[r]
        for c in range(2, columns - 2):
            target[c] = near * (row[c + 1] - row[c - 1]) - far * (row[c + 2] - row[c - 2])
        for edge in range(4):
            c = edge if edge < 2 else columns - 1 - (edge - 2)
            if 0 <= c < columns:
                a, b = min(c + 1, columns - 1), max(c - 1, 0)
                d, e = min(c + 2, columns - 1), max(c - 2, 0)
                target[c] = near * (row[a] - row[b]) - far * (row[d] - row[e])
        below, above = image[min(r + 1, rows - 1)], image[max(r - 1, 0)]
        lower, upper = image[min(r + 2, rows - 1)], image[max(r - 2, 0)]
        target = along_y[r]
        for c in range(columns):
            target[c] = near * (below[c] - above[c]) - far * (lower[c] - upper[c])


@njit(**_OPTIONS)
def data_system(
    slopes: Array,
    constants: Array,
    field: Array,
    weight: Array,
    scale: np.float32,
    share: np.float32,
    penalty: int,
    data: Array,
    right: Array,
) -> None:
    """Normal equations of the reweighted data term at every pixel.

    Args:
        slopes: `(channels, 2, rows, columns)`.
        constants: `(channels, rows, columns)`.
        field: `(2, rows, columns)`.
        weight: `(rows, columns)`.
        scale: One over the penalty's scale, in units of the channels.
        share: Factor of the whole term.
        penalty: One of `PENALTIES`.
        data: `(3, rows, columns)`, filled: uu, uv, vv.
        right: `(2, rows, columns)`, filled.
    """
    channels, rows, columns = constants.shape
    scale, share = np.float32(scale), np.float32(share)
    for r in range(rows):
        for c in range(columns):
            u, v = field[0, r, c], field[1, r, c]
            a = b = d = p = q = strength = np.float32(0.0)
            for k in range(channels):
                e = (constants[k, r, c] + slopes[k, 0, r, c] * u + slopes[k, 1, r, c] * v) * scale
                strength += e * e
            factor = weight[r, c] * share * _influence(strength, penalty)
            for k in range(channels):
                x, y = slopes[k, 0, r, c], slopes[k, 1, r, c]
                a += factor * x * x
                b += factor * x * y
                d += factor * y * y
                p -= factor * x * constants[k, r, c]
                q -= factor * y * constants[k, r, c]
            data[0, r, c], data[1, r, c], data[2, r, c] = a, b, d
            right[0, r, c], right[1, r, c] = p, q


@njit(**_OPTIONS)
def _influence(square: np.float32, penalty: int) -> np.float32:
    """Weight of a residual whose square, in units of the penalty's scale, is given."""
    one = np.float32(1.0)
    if penalty == CHARBONNIER:
        return one / np.sqrt(one + square)
    if penalty == GEMAN_MCCLURE:
        return one / ((one + square) * (one + square))
    return one


@njit(**_OPTIONS)
def second_order_product(field: Array, weights: Array, out: Array) -> None:
    """`out = Dᵀ W D field` for the second differences; weights `(3, rows, columns)`: xx, xy, yy.

    The xx and yy terms stand at their middle pixel, the xy term at the upper left pixel of its square.
    """
    rows, columns = field.shape[1:]
    term = np.zeros(columns, dtype=np.float32)
    two = np.float32(2.0)
    for k in range(2):
        f, o = field[k], out[k]
        o[:] = 0.0
        for r in range(rows):
            here, w, target = f[r], weights[0, r], o[r]
            term[0] = 0.0
            term[columns - 1] = 0.0
            for c in range(1, columns - 1):
                term[c] = w[c] * (here[c - 1] - two * here[c] + here[c + 1])
            for c in range(1, columns - 1):
                target[c] += term[c - 1] - two * term[c] + term[c + 1]
            if columns > 2:
                target[0] += term[1]
                target[columns - 1] += term[columns - 2]
            if 0 < r < rows - 1:
                above, below, w = f[r - 1], f[r + 1], weights[2, r]
                o_above, o_below = o[r - 1], o[r + 1]
                for c in range(columns):
                    t = w[c] * (above[c] - two * here[c] + below[c])
                    o_above[c] += t
                    target[c] -= two * t
                    o_below[c] += t
            if r < rows - 1:
                below, w, o_below = f[r + 1], weights[1, r], o[r + 1]
                for c in range(columns - 1):
                    term[c] = two * w[c] * (here[c] - here[c + 1] - below[c] + below[c + 1])
                target[0] += term[0]
                o_below[0] -= term[0]
                for c in range(1, columns - 1):
                    t = term[c] - term[c - 1]
                    target[c] += t
                    o_below[c] -= t
                if columns > 1:
                    target[columns - 1] -= term[columns - 2]
                    o_below[columns - 1] += term[columns - 2]


@njit(**_OPTIONS)
def first_order_product(field: Array, weights: Array, out: Array) -> None:
    """`out = Dᵀ W D field` for the first differences; weights `(2, rows, columns)`: to the right, down."""
    rows, columns = field.shape[1:]
    for k in range(2):
        f, o = field[k], out[k]
        o[:] = 0.0
        for r in range(rows):
            here, target = f[r], o[r]
            w = weights[0, r]
            for c in range(columns - 1):
                t = w[c] * (here[c + 1] - here[c])
                target[c] -= t
                target[c + 1] += t
            if r < rows - 1:
                below, o_below, w = f[r + 1], o[r + 1], weights[1, r]
                for c in range(columns):
                    t = w[c] * (below[c] - here[c])
                    target[c] -= t
                    o_below[c] += t


def second_order_diagonal(weights: Array) -> Array:
    """The diagonal `(rows, columns)` of the second-order form, the same for both components."""
    along, cross, down = weights[0], np.float32(2.0) * weights[1], weights[2]
    out = np.float32(4.0) * (along + down) + cross
    out[:, 1:] += along[:, :-1] + cross[:, :-1]
    out[:, :-1] += along[:, 1:]
    out[1:] += down[:-1] + cross[:-1]
    out[:-1] += down[1:]
    out[1:, 1:] += cross[:-1, :-1]
    return out


def first_order_diagonal(weights: Array) -> Array:
    """The diagonal `(rows, columns)` of the first-order form, the same for both components."""
    out = weights[0] + weights[1]
    out[:, 1:] += weights[0, :, :-1]
    out[1:] += weights[1, :-1]
    return out


def conjugate_gradients(
    data: Array, right: Array, weights: Array, field: Array, order: int, iterations: int, tolerance: float
) -> tuple[int, float]:
    """Improve `field` towards `(data + DᵀWD) field = right`; iterations made, share of residual left.

    The preconditioner is the inverse of each pixel's own 2 × 2 block.

    Args:
        data: `(3, rows, columns)`, the symmetric 2 × 2 matrix of every pixel: uu, uv, vv.
        right: `(2, rows, columns)`.
        weights: As the products take them, with the regulariser's factor; 0 for terms that leave the image.
        field: `(2, rows, columns)`.
        order: 1 or 2.
        iterations: How many at most.
        tolerance: Share of the residual at which they end.
    """
    diagonal = second_order_diagonal(weights) if order == 2 else first_order_diagonal(weights)
    a, b, d = data[0] + diagonal, data[1], data[2] + diagonal
    determinant = a * d - b * b
    # Pixels that neither the data nor a neighbour says anything about stay as they are.
    scale = np.float32(1.0) / np.where(determinant > 1e-20, determinant, np.float32(np.inf))
    inverse = np.stack([d * scale, -b * scale, a * scale])
    product, scaled, direction = np.empty_like(field), np.empty_like(field), np.zeros_like(field)
    _product(data, weights, field, order, product)
    residual = right - product
    gain = first = _precondition(inverse, residual, scaled)
    if not first > 0.0:
        return 0, 0.0
    share = 0.0
    for done in range(iterations):
        _extend(direction, scaled, share)
        bent = _product(data, weights, direction, order, product)
        if not bent > 0.0:
            return done, math.sqrt(gain / first)
        _step(field, residual, direction, product, gain / bent)
        before = gain
        gain = _precondition(inverse, residual, scaled)
        if gain <= tolerance * tolerance * first:
            return done + 1, math.sqrt(gain / first)
        share = gain / before
    return iterations, math.sqrt(gain / first)


@njit(**_OPTIONS)
def _extend(direction: Array, scaled: Array, share: float) -> None:
    d, s, factor = direction.ravel(), scaled.ravel(), np.float32(share)
    for i in range(d.size):
        d[i] = s[i] + factor * d[i]


@njit(**_OPTIONS)
def _step(field: Array, residual: Array, direction: Array, product: Array, length: float) -> None:
    f, t, step = field.ravel(), residual.ravel(), np.float32(length)
    d, p = direction.ravel(), product.ravel()
    for i in range(d.size):
        f[i] += step * d[i]
        t[i] -= step * p[i]


@njit(**_OPTIONS)
def _product(data: Array, weights: Array, field: Array, order: int, out: Array) -> float:
    if order == 2:
        second_order_product(field, weights, out)
    else:
        first_order_product(field, weights, out)
    rows, columns = field.shape[1:]
    total = np.float64(0.0)
    for r in range(rows):
        u, v, p, q = field[0, r], field[1, r], out[0, r], out[1, r]
        a, b, d = data[0, r], data[1, r], data[2, r]
        line = np.float32(0.0)
        for c in range(columns):
            x = p[c] + a[c] * u[c] + b[c] * v[c]
            y = q[c] + b[c] * u[c] + d[c] * v[c]
            p[c] = x
            q[c] = y
            line += x * u[c] + y * v[c]
        total += line
    return total


@njit(**_OPTIONS)
def _precondition(inverse: Array, residual: Array, out: Array) -> float:
    rows, columns = out.shape[1:]
    total = np.float64(0.0)
    for r in range(rows):
        s, t, p, q = residual[0, r], residual[1, r], out[0, r], out[1, r]
        a, b, d = inverse[0, r], inverse[1, r], inverse[2, r]
        line = np.float32(0.0)
        for c in range(columns):
            x = a[c] * s[c] + b[c] * t[c]
            y = b[c] * s[c] + d[c] * t[c]
            p[c] = x
            q[c] = y
            line += x * s[c] + y * t[c]
        total += line
    return total
