"""Compiled likelihoods, smoother, draws and streams of Gaussian processes.

Kernels of several components take a range of them, so that threads can share the work. The first state of a
Markov form is the process itself. `log_sum` is the sum of log innovation variances, `square_sum` that of
squared innovations over their variances; the likelihood follows from both, whatever the overall scale. Both
are computed in complex numbers: a tiny imaginary step of a parameter gives their slopes, exact to rounding
(Squire and Trapp 1998).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, BoolArray
from marey._compiling import njit

ComplexArray = NDArray[np.complex128]

# Relative change of the predicted covariance below which a filter on even steps has settled.
SETTLED = 1e-13


@njit(cache=True, nogil=True)
def durbin(series: Array, covariance: ComplexArray, tolerance: float) -> tuple[complex, complex]:
    """`log_sum` and `square_sum` of one series `(frames,)` with covariances `(frames,)` at all lags.

    Once the predictor stays as it is to `tolerance` for a while, it is kept: then the cost is frames x order.
    """
    frames = series.shape[0]
    phi, before = np.zeros_like(covariance), np.zeros_like(covariance)
    v = covariance[0]
    log_sum, square_sum = np.log(v), series[0] ** 2 / v
    order, calm = 0, 0
    for t in range(1, frames):
        if calm < 16:
            kappa = covariance[t]
            for j in range(1, t):
                kappa -= phi[j] * covariance[t - j]
            kappa /= v
            before[1:t] = phi[1:t]
            for j in range(1, t):
                phi[j] -= kappa * before[t - j]
            phi[t] = kappa
            v *= 1 - kappa * kappa
            if v.real <= 1e-15 * covariance[0].real:
                return log_sum + np.inf, square_sum + np.inf
            order = t
            calm = calm + 1 if abs(kappa) ** 2 < tolerance else 0
        e = series[t] + 0 * v
        for j in range(1, order + 1):
            e -= phi[j] * series[t - j]
        log_sum += np.log(v)
        square_sum += e * e / v
    return log_sum, square_sum


@njit(cache=True, nogil=True)
def filter_sums(
    series: Array, known: BoolArray, A: ComplexArray, Q: ComplexArray, P0: ComplexArray, noise: complex
) -> tuple[complex, complex]:
    """`log_sum` and `square_sum` of one series by the Kalman filter.

    A, Q, P0: `(n, n)`, transition, covariance of what a step adds, stationary one
    """
    frames, n = series.shape[0], P0.shape[0]
    a, af, K = np.zeros_like(P0[0]), np.zeros_like(P0[0]), np.zeros_like(P0[0])
    P, Pf, AP = P0.copy(), np.zeros_like(P0), np.zeros_like(P0)
    log_sum, square_sum, log_F, inverse = 0 * noise, 0 * noise, 0 * noise, 0 * noise
    scale = np.abs(np.diag(P0)).max()
    settled = False
    for t in range(frames):
        if t > 0:
            for i in range(n):
                a[i] = 0.0
                for j in range(n):
                    a[i] += A[i, j] * af[j]
            if not settled:
                change = _predict(A, Q, Pf, AP, P)
                settled = change < SETTLED * scale and known[t - 1] and t > 1
        if not known[t]:
            settled = False
            af[:] = a
            Pf[:] = P
            continue
        v = series[t] - a[0]
        if not settled:
            F = noise + P[0, 0]
            if F.real <= 0:
                return log_sum + np.inf, square_sum + np.inf
            log_F, inverse = np.log(F), 1 / F
            for i in range(n):
                K[i] = P[i, 0] * inverse
                for j in range(n):
                    Pf[i, j] = P[i, j] - K[i] * P[j, 0]
        for i in range(n):
            af[i] = a[i] + K[i] * v
        log_sum += log_F
        square_sum += v * v * inverse
    return log_sum, square_sum


@njit(cache=True, nogil=True)
def smooth(
    start: int,
    stop: int,
    series: Array,
    known: BoolArray,
    noise: Array,
    A: Array,
    Q: Array,
    P0: Array,
    want_variance: bool,
    means: Array,
    variances: Array,
) -> None:
    """Write posterior means `(components, draws, frames)` and variances `(components, frames)`.

    series: `(components, draws, frames)`; known, noise (error variances): `(components, frames)`
    """
    _, draws, frames = series.shape
    n = P0.shape[1]
    Ps, gains, inverse = np.empty((frames, n, n)), np.empty((frames, n)), np.empty(frames)
    Pf, AP, spare, N = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    a, af, r, back, v = np.zeros((frames, n)), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(frames)
    for c in range(start, stop):
        A_own, Q_own, P, scale = A[c], Q[c], P0[c].copy(), P0[c, 0, 0]
        settled = False
        for t in range(frames):
            if t > 0:
                same = known[c, t] and noise[c, t] == noise[c, t - 1]
                if settled and same:
                    gains[t], Ps[t], inverse[t] = gains[t - 1], Ps[t - 1], inverse[t - 1]
                    continue
                change = _predict(A_own, Q_own, Pf, AP, P)
                settled = t > 1 and change < SETTLED * scale and same and known[c, t - 1]
            F = noise[c, t] + P[0, 0]
            inverse[t] = 1 / F if known[c, t] and 1e-14 * scale < F else 0.0
            for i in range(n):
                gains[t, i] = P[i, 0] * inverse[t]
                for j in range(n):
                    Ps[t, i, j] = P[i, j]
                    Pf[i, j] = P[i, j] - gains[t, i] * P[j, 0]
        for d in range(draws):
            af[:] = 0.0
            for t in range(frames):
                for i in range(n):
                    s = 0.0
                    if t > 0:
                        for j in range(n):
                            s += A_own[i, j] * af[j]
                    a[t, i] = s
                v[t] = series[c, d, t] - a[t, 0] if inverse[t] > 0.0 else 0.0
                for i in range(n):
                    af[i] = a[t, i] + gains[t, i] * v[t]
            r[:] = 0.0
            for t in range(frames - 1, -1, -1):
                # r: what later values say about the filtered state; back: with this frame's.
                s, total = v[t] * inverse[t], a[t, 0]
                for i in range(n):
                    back[i] = r[i]
                    s -= gains[t, i] * r[i]
                back[0] += s
                for i in range(n):
                    total += Ps[t, 0, i] * back[i]
                means[c, d, t] = total
                for i in range(n):
                    s = 0.0
                    for j in range(n):
                        s += A_own[j, i] * back[j]
                    r[i] = s
        if want_variance:
            N[:] = 0.0
            for t in range(frames - 1, -1, -1):
                # spare = Lᵀ N L + e₀ e₀ᵀ / F with L = I − gain e₀ᵀ
                spare[:] = N
                spare[0, 0] += inverse[t]
                for i in range(n):
                    s = 0.0
                    for j in range(n):
                        s += N[i, j] * gains[t, j]
                    spare[i, 0] -= s
                    spare[0, i] -= s
                    spare[0, 0] += gains[t, i] * s
                total = Ps[t, 0, 0]
                for i in range(n):
                    for j in range(n):
                        total -= Ps[t, i, 0] * spare[i, j] * Ps[t, j, 0]
                variances[c, t] = max(total, 0.0)
                _product(spare, A_own, AP)
                _product(A_own.T, AP, N)


@njit(cache=True, nogil=True)
def advance(
    start: int, stop: int, states: Array, A: Array, roots: Array, noise: Array, values: Array
) -> None:
    """Move `states (components, n, draws)` on by the frames of `noise (frames, components, n, draws)`.

    Writes the process `(frames, components, draws)`. A, roots: `(components, n, n)`
    """
    frames, _, n, draws = noise.shape
    moved = np.empty((n, draws))
    for c in range(start, stop):
        for t in range(frames):
            for i in range(n):
                for d in range(draws):
                    moved[i, d] = 0.0
                for j in range(n):
                    for d in range(draws):
                        moved[i, d] += A[c, i, j] * states[c, j, d]
                for j in range(i + 1):
                    for d in range(draws):
                        moved[i, d] += roots[c, i, j] * noise[t, c, j, d]
            states[c] = moved
            values[t, c] = moved[0]


@njit(cache=True, nogil=True)
def convolve(start: int, stop: int, noise: Array, taps: Array, values: Array) -> None:
    """Write `values[t] = sum_k taps[k] noise[t + k]`; noise `(frames + taps - 1, components, draws)`."""
    frames, _, draws = values.shape
    for c in range(start, stop):
        for t in range(frames):
            for d in range(draws):
                values[t, c, d] = 0.0
            for k in range(len(taps)):
                w = taps[k, c]
                for d in range(draws):
                    values[t, c, d] += w * noise[t + k, c, d]


@njit(cache=True, nogil=True)
def lower_roots(matrices: Array) -> Array:
    """Lower triangular roots of positive semidefinite `(m, n, n)`; directions without variance stay zero."""
    roots = np.zeros_like(matrices)
    for m in range(len(matrices)):
        matrix, root = matrices[m], roots[m]
        for j in range(len(matrix)):
            s = matrix[j, j]
            for k in range(j):
                s -= root[j, k] ** 2
            if s <= 1e-14 * matrix[j, j] or s <= 0.0:
                continue
            root[j, j] = np.sqrt(s)
            for i in range(j + 1, len(matrix)):
                s = matrix[i, j]
                for k in range(j):
                    s -= root[i, k] * root[j, k]
                root[i, j] = s / root[j, j]
    return roots


@njit(cache=True, nogil=True)
def _predict(A: Array, Q: Array, Pf: Array, AP: Array, P: Array) -> float:
    """Write `A Pf Aᵀ + Q` into P; the largest change of an entry. AP: scratch."""
    n, change = len(P), 0.0
    _product(A, Pf, AP)
    for i in range(n):
        for j in range(i + 1):
            value = Q[i, j]
            for k in range(n):
                value += AP[i, k] * A[j, k]
            change = max(change, abs(value - P[i, j]))
            P[i, j] = P[j, i] = value
    return change


@njit(cache=True, nogil=True)
def _product(a: Array, b: Array, out: Array) -> None:
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = a[i, 0] * b[0, j]
            for k in range(1, a.shape[1]):
                s += a[i, k] * b[k, j]
            out[i, j] = s
