"""Compiled loops of the flow texture: angles between all pairs of fields, and the cheapest future."""

from __future__ import annotations

import numpy as np

from marey._compiling import njit

# arcsin(x) / x in powers of x², fitted on 0 ≤ x ≤ 1/2: within 5e-9, below the rounding of float32.
C0, C1, C2 = np.float32(0.9999999957384348), np.float32(0.1666678701171962), np.float32(0.07494534269345886)
C3, C4, C5 = (
    np.float32(0.04553900971474075),
    np.float32(0.023909363581096008),
    np.float32(0.042553599123441976),
)
QUARTER, HALF, ONE = np.float32(0.25), np.float32(0.5), np.float32(1.0)
HALF_TURN, TWO, FOUR = np.float32(np.pi), np.float32(2.0), np.float32(4.0)


@njit(cache=True, nogil=True, fastmath=True, inline="always")
def _angle(dx, dy, dz):  # type: ignore[no-untyped-def]
    """Twice the arcsine of half the chord, which keeps small angles exact."""
    square = min((dx * dx + dy * dy + dz * dz) * QUARTER, ONE)
    wide = square > QUARTER
    z = (ONE - np.sqrt(square)) * HALF if wide else square
    arc = np.sqrt(z) * (C0 + z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * C5)))))
    return HALF_TURN - FOUR * arc if wide else TWO * arc


@njit(cache=True, nogil=True, fastmath=True)
def _sum(ax, ay, az, bx, by, bz):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for x in range(len(ax)):
        total += _angle(ax[x] - bx[x], ay[x] - by[x], az[x] - bz[x])
    return total


@njit(cache=True, nogil=True, fastmath=True)
def _weighted_sum(ax, ay, az, aw, bx, by, bz, bw):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for x in range(len(ax)):
        total += _angle(ax[x] - bx[x], ay[x] - by[x], az[x] - bz[x]) * (aw[x] + bw[x])
    return total


@njit(cache=True, nogil=True)
def add_angles(a, b, wa, wb, first, last, triangle, weighted, tile, sums):  # type: ignore[no-untyped-def]
    """Add to `sums` `(n, m)` the angles between rows first to last-1 of `a` `(3, n, pixels)` and all of `b`.

    With `weighted` each pixel counts by the sum of its weights `(n, pixels)`, `(m, pixels)`. With
    `triangle` only j > i.
    """
    for start in range(0, b.shape[1], tile):
        stop = min(start + tile, b.shape[1])
        for i in range(first, last):
            ax, ay, az = a[0, i], a[1, i], a[2, i]
            for j in range(max(start, i + 1) if triangle else start, stop):
                bx, by, bz = b[0, j], b[1, j], b[2, j]
                if weighted:
                    sums[i, j] += _weighted_sum(ax, ay, az, wa[i], bx, by, bz, wb[j])
                else:
                    sums[i, j] += _sum(ax, ay, az, bx, by, bz)
