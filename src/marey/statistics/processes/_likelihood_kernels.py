"""Compiled likelihoods with their derivatives: Durbin's recursion and the Kalman filter.

`log_sum` is the sum of log innovation variances, `square_sum` that of squared innovations over their
variances; the likelihood follows from both, whatever the overall scale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]
# Relative change of the predicted covariance below which a filter on even steps has settled.
SETTLED = 1e-13


@njit(cache=True, nogil=True)
def durbin(
    series: Array, covariance: Array, slopes: Array, tolerance: float
) -> tuple[float, float, Array, Array]:
    """Innovation sums of one series `(frames,)` with covariance `(frames,)`, `slopes (parameters, frames)`.

    Once the predictor stays as it is to `tolerance` for a while, it is kept: then the cost is frames x order.
    """
    frames, count = series.shape[0], slopes.shape[0]
    phi, before = np.zeros(frames), np.zeros(frames)
    d_phi, d_before = np.zeros((count, frames)), np.zeros((count, frames))
    d_log, d_square, d_v, d_kappa = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    v = covariance[0]
    d_v[:] = slopes[:, 0]
    log_sum, square_sum = np.log(v), series[0] ** 2 / v
    for i in range(count):
        d_log[i] = d_v[i] / v
        d_square[i] = -square_sum * d_v[i] / v
    order, calm, growing = 0, 0, True
    for t in range(1, frames):
        if growing:
            k = t
            kappa = covariance[k]
            for j in range(1, k):
                kappa -= phi[j] * covariance[k - j]
            kappa /= v
            for i in range(count):
                s = slopes[i, k]
                for j in range(1, k):
                    s -= d_phi[i, j] * covariance[k - j] + phi[j] * slopes[i, k - j]
                d_kappa[i] = (s - kappa * d_v[i]) / v
            before[1:k] = phi[1:k]
            for i in range(count):
                d_before[i, 1:k] = d_phi[i, 1:k]
                for j in range(1, k):
                    d_phi[i, j] -= d_kappa[i] * before[k - j] + kappa * d_before[i, k - j]
                d_phi[i, k] = d_kappa[i]
                d_v[i] = d_v[i] * (1 - kappa**2) - 2 * v * kappa * d_kappa[i]
            for j in range(1, k):
                phi[j] -= kappa * before[k - j]
            phi[k] = kappa
            v *= 1 - kappa**2
            if v <= 1e-15 * covariance[0]:
                return np.inf, np.inf, d_log, d_square
            order = k
            calm = calm + 1 if kappa**2 < tolerance else 0
            growing = calm < 16
        e = series[t]
        for j in range(1, order + 1):
            e -= phi[j] * series[t - j]
        log_sum += np.log(v)
        square_sum += e * e / v
        for i in range(count):
            de = 0.0
            for j in range(1, order + 1):
                de -= d_phi[i, j] * series[t - j]
            d_log[i] += d_v[i] / v
            d_square[i] += (2 * e * de - e * e * d_v[i] / v) / v
    return log_sum, square_sum, d_log, d_square


@njit(cache=True, nogil=True)
def filter_sums(
    series: Array,
    known: NDArray[np.bool_],
    which: NDArray[np.int64],
    A: Array,
    Q: Array,
    P0: Array,
    readout: Array,
    noise: float,
    dA: Array,
    dQ: Array,
    dP0: Array,
    d_noise: Array,
) -> tuple[float, float, Array, Array]:
    """Innovation sums of one series by the Kalman filter, with derivatives, forward.

    which: `(frames,)`, the step that leads to each frame; A, Q: `(steps, n, n)`; dA, dQ: `(steps, p, n, n)`
    """
    frames, n, p = series.shape[0], readout.shape[0], d_noise.shape[0]
    a, P = np.zeros(n), P0.copy()
    da, dP = np.zeros((p, n)), dP0.copy()
    PH, K, af = np.zeros(n), np.zeros(n), np.zeros(n)
    dPH, dK, daf = np.zeros((p, n)), np.zeros((p, n)), np.zeros((p, n))
    Pf, AP, newP = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    dPf, dAP, new_dP = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    d_log, d_square, dF = np.zeros(p), np.zeros(p), np.zeros(p)
    log_sum, square_sum, F = 0.0, 0.0, 1.0
    scale = 0.0
    for i in range(n):
        scale = max(scale, P0[i, i])
    settled = False
    for t in range(frames):
        if t > 0:
            step = which[t]
            if settled and step != which[t - 1]:
                settled = False
            for i in range(n):
                s = 0.0
                for j in range(n):
                    s += A[step, i, j] * af[j]
                a[i] = s
            for q in range(p):
                for i in range(n):
                    s = 0.0
                    for j in range(n):
                        s += dA[step, q, i, j] * af[j] + A[step, i, j] * daf[q, j]
                    da[q, i] = s
            if not settled:
                change = 0.0
                _product(A[step], Pf, AP)
                _product_transposed(AP, A[step], newP)
                for q in range(p):
                    for i in range(n):
                        for j in range(n):
                            dPf[i, j] = dP[q, i, j]
                            if known[t - 1]:
                                dPf[i, j] -= dK[q, i] * PH[j] + K[i] * dPH[q, j]
                    _product(dA[step, q], Pf, dAP)
                    _product_transposed(dAP, A[step], new_dP)
                    for i in range(n):
                        for j in range(n):
                            dP[q, i, j] = new_dP[i, j] + new_dP[j, i] + dQ[step, q, i, j]
                    _product(A[step], dPf, dAP)
                    _product_transposed(dAP, A[step], new_dP)
                    for i in range(n):
                        for j in range(n):
                            dP[q, i, j] += new_dP[i, j]
                for i in range(n):
                    for j in range(n):
                        new = 0.5 * (newP[i, j] + newP[j, i]) + Q[step, i, j]
                        change = max(change, abs(new - P[i, j]))
                        P[i, j] = new
                settled = change < SETTLED * scale and known[t - 1] and t > 1 and which[t - 1] == step
        if not known[t]:
            settled = False
            af[:] = a
            Pf[:] = P
            daf[:] = da
            continue
        v = series[t]
        for i in range(n):
            v -= readout[i] * a[i]
        if not settled:
            F = noise
            for i in range(n):
                s = 0.0
                for j in range(n):
                    s += P[i, j] * readout[j]
                PH[i] = s
                F += readout[i] * s
            if F <= 0:
                return np.inf, np.inf, d_log, d_square
            for i in range(n):
                K[i] = PH[i] / F
            for i in range(n):
                for j in range(n):
                    Pf[i, j] = P[i, j] - K[i] * PH[j]
            for q in range(p):
                dF[q] = d_noise[q]
                for i in range(n):
                    s = 0.0
                    for j in range(n):
                        s += dP[q, i, j] * readout[j]
                    dPH[q, i] = s
                    dF[q] += readout[i] * s
                for i in range(n):
                    dK[q, i] = (dPH[q, i] - K[i] * dF[q]) / F
        for i in range(n):
            af[i] = a[i] + K[i] * v
        log_sum += np.log(F)
        square_sum += v * v / F
        for q in range(p):
            dv = 0.0
            for i in range(n):
                dv -= readout[i] * da[q, i]
            for i in range(n):
                daf[q, i] = da[q, i] + dK[q, i] * v + K[i] * dv
            d_log[q] += dF[q] / F
            d_square[q] += (2 * v * dv - v * v * dF[q] / F) / F
    return log_sum, square_sum, d_log, d_square


@njit(cache=True, nogil=True)
def _product(a: Array, b: Array, out: Array) -> None:
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            out[i, j] = s


@njit(cache=True, nogil=True)
def _product_transposed(a: Array, b: Array, out: Array) -> None:
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            out[i, j] = s
