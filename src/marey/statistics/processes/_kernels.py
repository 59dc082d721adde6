"""Compiled smoother, draws and streams; one thread a component."""

from __future__ import annotations

import numpy as np
from numba import prange
from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[np.float64]
# Relative change of the predicted covariance below which a filter on even steps has settled.
SETTLED = 1e-13


@njit(cache=True, nogil=True)
def _product(a: Array, b: Array, out: Array) -> None:
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            out[i, j] = s


@njit(cache=True, nogil=True)
def lower_root(matrix: Array) -> Array:
    """Lower triangular root of a positive semidefinite matrix; directions without variance stay zero."""
    n = matrix.shape[0]
    root = np.zeros((n, n))
    for j in range(n):
        s = matrix[j, j]
        for k in range(j):
            s -= root[j, k] ** 2
        if s <= 1e-14 * matrix[j, j] or s <= 0.0:
            continue
        root[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            s = matrix[i, j]
            for k in range(j):
                s -= root[i, k] * root[j, k]
            root[i, j] = s / root[j, j]
    return root


def _prior_paths(
    which: NDArray[np.int64],
    A: Array,
    roots: Array,
    first: Array,
    readout: Array,
    noise: Array,
    values: Array,
) -> None:
    """Write states' readouts `(components, draws, frames)` driven by `noise (components, draws, frames, n)`.

    A, roots: `(components, steps, n, n)`; first: `(components, n, n)`, root of the stationary covariance
    """
    components, draws, frames, n = noise.shape
    for c in prange(components):
        x, y = np.zeros(n), np.zeros(n)
        for d in range(draws):
            for t in range(frames):
                step = which[t]
                for i in range(n):
                    s = 0.0
                    if t == 0:
                        for j in range(i + 1):
                            s += first[c, i, j] * noise[c, d, t, j]
                    else:
                        for j in range(i + 1):
                            s += roots[c, step, i, j] * noise[c, d, t, j]
                        for j in range(n):
                            s += A[c, step, i, j] * x[j]
                    y[i] = s
                s = 0.0
                for i in range(n):
                    x[i] = y[i]
                    s += readout[i] * x[i]
                values[c, d, t] = s


def _smooth(
    series: Array,
    known: NDArray[np.bool_],
    noise: Array,
    which: NDArray[np.int64],
    A: Array,
    Q: Array,
    P0: Array,
    readout: Array,
    want_variance: bool,
    means: Array,
    variances: Array,
) -> None:
    """Write posterior means `(components, draws, frames)` and variances `(components, frames)`.

    series: `(components, draws, frames)`; known, noise (error variances): `(components, frames)`
    """
    components, draws, frames = series.shape
    n = readout.shape[0]
    for c in prange(components):
        Ps, gains, inverse = np.empty((frames, n, n)), np.empty((frames, n)), np.empty(frames)
        P, Pf, AP, spare = P0[c].copy(), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
        PH = np.zeros(n)
        scale = 0.0
        for i in range(n):
            for j in range(n):
                scale += readout[i] * readout[j] * P0[c, i, j]
        settled = False
        for t in range(frames):
            step = which[t]
            if t > 0:
                if settled and (step != which[t - 1] or not known[c, t] or noise[c, t] != noise[c, t - 1]):
                    settled = False
                if settled:
                    for i in range(n):
                        gains[t, i] = gains[t - 1, i]
                        for j in range(n):
                            Ps[t, i, j] = Ps[t - 1, i, j]
                    inverse[t] = inverse[t - 1]
                    continue
                for i in range(n):
                    for j in range(n):
                        s = 0.0
                        for k in range(n):
                            s += A[c, step, i, k] * Pf[k, j]
                        AP[i, j] = s
                change = 0.0
                for i in range(n):
                    for j in range(i + 1):
                        s = Q[c, step, i, j]
                        for k in range(n):
                            s += AP[i, k] * A[c, step, j, k]
                        change = max(change, abs(s - P[i, j]))
                        P[i, j] = s
                        P[j, i] = s
                settled = (
                    t > 1
                    and change < SETTLED * scale
                    and step == which[t - 1]
                    and known[c, t]
                    and known[c, t - 1]
                    and noise[c, t] == noise[c, t - 1]
                )
            F = noise[c, t]
            for i in range(n):
                s = 0.0
                for j in range(n):
                    Ps[t, i, j] = P[i, j]
                    s += P[i, j] * readout[j]
                PH[i] = s
                F += readout[i] * s
            use = known[c, t] and 1e-14 * scale < F
            inverse[t] = 1 / F if use else 0.0
            for i in range(n):
                gains[t, i] = PH[i] * inverse[t]
            for i in range(n):
                for j in range(n):
                    Pf[i, j] = P[i, j] - gains[t, i] * PH[j]
        a, af, r, back = np.zeros((frames, n)), np.zeros(n), np.zeros(n), np.zeros(n)
        v = np.zeros(frames)
        for d in range(draws):
            af[:] = 0.0
            for t in range(frames):
                if t > 0:
                    for i in range(n):
                        s = 0.0
                        for j in range(n):
                            s += A[c, which[t], i, j] * af[j]
                        a[t, i] = s
                if inverse[t] == 0.0:
                    v[t] = 0.0
                    for i in range(n):
                        af[i] = a[t, i]
                    continue
                s = series[c, d, t]
                for i in range(n):
                    s -= readout[i] * a[t, i]
                v[t] = s
                for i in range(n):
                    af[i] = a[t, i] + gains[t, i] * s
            r[:] = 0.0
            for t in range(frames - 1, -1, -1):
                # r: what later values say about the filtered state; back: with this frame's.
                s = v[t] * inverse[t]
                for i in range(n):
                    s -= gains[t, i] * r[i]
                total = 0.0
                for i in range(n):
                    back[i] = r[i] + readout[i] * s
                for i in range(n):
                    s = a[t, i]
                    for j in range(n):
                        s += Ps[t, i, j] * back[j]
                    total += readout[i] * s
                means[c, d, t] = total
                if t > 0:
                    for i in range(n):
                        s = 0.0
                        for j in range(n):
                            s += A[c, which[t], j, i] * back[j]
                        r[i] = s
        if want_variance:
            N, L = np.zeros((n, n)), np.zeros((n, n))
            for t in range(frames - 1, -1, -1):
                for i in range(n):
                    for j in range(n):
                        L[i, j] = (1.0 if i == j else 0.0) - gains[t, i] * readout[j]
                _product(N, L, AP)
                for i in range(n):
                    for j in range(n):
                        s = readout[i] * readout[j] * inverse[t]
                        for k in range(n):
                            s += L[k, i] * AP[k, j]
                        spare[i, j] = s
                total = 0.0
                for i in range(n):
                    s = 0.0
                    for j in range(n):
                        s += Ps[t, i, j] * readout[j]
                    PH[i] = s
                    total += readout[i] * s
                for i in range(n):
                    for j in range(n):
                        total -= PH[i] * spare[i, j] * PH[j]
                variances[c, t] = max(total, 0.0)
                if t > 0:
                    for i in range(n):
                        for j in range(n):
                            s = 0.0
                            for k in range(n):
                                s += spare[i, k] * A[c, which[t], k, j]
                            AP[i, j] = s
                    for i in range(n):
                        for j in range(n):
                            s = 0.0
                            for k in range(n):
                                s += A[c, which[t], k, i] * AP[k, j]
                            N[i, j] = s


@njit(cache=True)
def lower_roots(matrices: Array) -> Array:
    """`lower_root` of `(components, steps, n, n)`."""
    roots = np.empty_like(matrices)
    for c in range(matrices.shape[0]):
        for s in range(matrices.shape[1]):
            roots[c, s] = lower_root(matrices[c, s])
    return roots


def _advance(states: Array, A: Array, roots: Array, readout: Array, noise: Array, values: Array) -> None:
    """Move `states (components, n, draws)` on by the frames of `noise (frames, components, n, draws)`.

    Writes readouts `(frames, components, draws)`. A, roots: `(components, n, n)`
    """
    frames, components, n, draws = noise.shape
    for c in prange(components):
        moved = np.empty((n, draws))
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
            for d in range(draws):
                values[t, c, d] = 0.0
            for i in range(n):
                for d in range(draws):
                    states[c, i, d] = moved[i, d]
                    values[t, c, d] += readout[i] * moved[i, d]


def _convolve(noise: Array, taps: Array, values: Array) -> None:
    """Write `values[t] = sum_k taps[k] noise[t + k]`; noise `(frames + taps - 1, components, draws)`."""
    length, components = taps.shape
    frames, _, draws = values.shape
    for c in prange(components):
        for t in range(frames):
            for d in range(draws):
                values[t, c, d] = 0.0
            for k in range(length):
                w = taps[k, c]
                for d in range(draws):
                    values[t, c, d] += w * noise[t + k, c, d]


@njit(cache=True)
def process_noise(A: Array, P0: Array) -> tuple[Array, Array]:
    """Covariance of what each step adds, `P0 - A P0 Aᵀ`, and its root: `(components, steps, n, n)`."""
    Q, roots = np.empty_like(A), np.empty_like(A)
    n = A.shape[-1]
    AP = np.empty((n, n))
    for c in range(A.shape[0]):
        for s in range(A.shape[1]):
            for i in range(n):
                for j in range(n):
                    AP[i, j] = 0.0
                    for k in range(n):
                        AP[i, j] += A[c, s, i, k] * P0[c, k, j]
            for i in range(n):
                for j in range(i + 1):
                    total = P0[c, i, j]
                    for k in range(n):
                        total -= AP[i, k] * A[c, s, j, k]
                    Q[c, s, i, j] = total
                    Q[c, s, j, i] = total
            roots[c, s] = lower_root(Q[c, s])
    return Q, roots


# Waking a thread costs more than a short job saves: each has a twin on one thread.
prior_paths, prior_paths_alone = njit(cache=True, parallel=True)(_prior_paths), njit(cache=True)(_prior_paths)
smooth, smooth_alone = njit(cache=True, parallel=True)(_smooth), njit(cache=True)(_smooth)
advance, advance_alone = njit(cache=True, parallel=True)(_advance), njit(cache=True)(_advance)
convolve, convolve_alone = njit(cache=True, parallel=True)(_convolve), njit(cache=True)(_convolve)
