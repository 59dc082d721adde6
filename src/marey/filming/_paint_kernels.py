"""Compiled: colours of cloth, skin, paving and walls as functions of place, in linear light.

Patterns fade where a pixel no longer resolves them. Importing this module imports numba: do so inside
functions.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from marey._compiling import njit

Array = NDArray[Any]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz", "arcp"}}

# Parts of the figure, see `figure`.
TRUNK, HEAD, ARM, HAND, LEG, FOOT, HAIR, HAT, SKIRT, RUCKSACK, BAG = range(11)

# Columns of a look: colours of skin, hair, top, its pattern, bottom, shoes, extras (3 each), then these.
PATTERN, PERIOD, SLEEVE, HEM, WAIST, BALD, COAT, SEED = 21, 22, 23, 24, 25, 26, 27, 28

GROUND, FACADE, ROOF, SKY = range(4)


@njit(**_OPTIONS)
def noise(table: Array, x: float, y: float, z: float) -> float:
    """Smooth noise in -1…1 with features of size 1; `table` `(32, 32, 32)` repeats."""
    i, j, k = math.floor(x), math.floor(y), math.floor(z)
    a, b, c = x - i, y - j, z - k
    a, b, c = a * a * (3 - 2 * a), b * b * (3 - 2 * b), c * c * (3 - 2 * c)
    i0, j0, k0 = int(i) & 31, int(j) & 31, int(k) & 31
    i1, j1, k1 = (i0 + 1) & 31, (j0 + 1) & 31, (k0 + 1) & 31
    low = (1 - b) * ((1 - a) * table[i0, j0, k0] + a * table[i1, j0, k0]) + b * (
        (1 - a) * table[i0, j1, k0] + a * table[i1, j1, k0]
    )
    high = (1 - b) * ((1 - a) * table[i0, j0, k1] + a * table[i1, j0, k1]) + b * (
        (1 - a) * table[i0, j1, k1] + a * table[i1, j1, k1]
    )
    return (1 - c) * low + c * high


@njit(**_OPTIONS)
def fade(size: float, pixel: float) -> float:
    """How much of a detail of some size shows in pixels of some size, 0…1."""
    return min(max(0.5 * size / pixel - 0.5, 0.0), 1.0)


@njit(**_OPTIONS)
def cloth(
    part: int, x: float, y: float, z: float, look: Array, table: Array, pixel: float
) -> tuple[float, float, float]:
    """Colour of a figure at a place of its resting body, metres."""
    first, mix = 0, 0.0
    if part == TRUNK:
        # Up to the collar, which is higher behind.
        if y > 1.485 - 0.35 * z:
            first = 0
        elif y > look[WAIST]:
            first = 6
            mix = _pattern(x, y, z, look, pixel)
        else:
            first = 12
    elif part == HEAD:
        line = 1.600 + 0.9 * (z + 0.06)
        if look[BALD] > 0.5:
            first = 3 if z < 0.0 and 1.55 < y < 1.63 else 0
        elif y > line or (
            z > 0.05 and abs(abs(x) - 0.031) < 0.013 and abs(y - 1.645) < 0.008 and pixel < 0.02
        ):
            first = 3
    elif part == ARM:
        if abs(x) < look[SLEEVE]:
            first = 6
            mix = _pattern(x, 1.42 - 0.9 * (abs(x) - 0.17), z, look, pixel)
    elif part == LEG:
        first = 12 if y > look[HEM] else 0
    elif part == FOOT:
        first = 15
        if y < 0.02:
            mix = -0.5
    elif part == HAIR:
        first = 3
    elif part == SKIRT:
        first = 6 if look[COAT] > 0.5 else 12
        if look[COAT] > 0.5:
            mix = _pattern(x, y, z, look, pixel)
    elif part >= HAT and part != HAND:
        first = 18
    red, green, blue = look[first], look[first + 1], look[first + 2]
    if mix > 0.0:
        red += mix * (look[9] - red)
        green += mix * (look[10] - green)
        blue += mix * (look[11] - blue)
    elif mix < 0.0:
        red, green, blue = 0.4 * red + 0.2, 0.4 * green + 0.2, 0.4 * blue + 0.2
    s = look[SEED]
    grain = 0.20 * fade(0.12, pixel) * noise(table, 8.0 * x + s, 8.0 * y, 8.0 * z)
    grain += 0.16 * fade(0.04, pixel) * noise(table, 27.0 * x, 27.0 * y + s, 27.0 * z)
    if first == 0:
        grain *= 0.35
    return red * (1 + grain), green * (1 + grain), blue * (1 + grain)


@njit(**_OPTIONS)
def _pattern(x: float, y: float, z: float, look: Array, pixel: float) -> float:
    """Share of the pattern's colour: plain, stripes across, stripes along, checks, dots, a yoke."""
    kind, period = int(look[PATTERN]), look[PERIOD]
    turn = 2.0 * math.pi / period
    if kind == 0:
        return 0.0
    if kind == 5:
        return min(max((y - 1.30) * 60.0, 0.0), 1.0)
    clear = fade(0.5 * period, pixel)
    across, along = math.sin(turn * y), math.sin(turn * (x + 0.6 * z))
    if kind == 1:
        wave = across
    elif kind == 2:
        wave = along
    elif kind == 3:
        wave = across * along
    else:
        wave = 1.4 * across * along - 0.5
    # Where it does not show, the mean of the pattern does.
    return 0.5 + clear * (min(max(0.5 + 2.5 * wave, 0.0), 1.0) - 0.5)


@njit(**_OPTIONS)
def paving(x: float, y: float, table: Array, pixel: float) -> tuple[float, float, float]:
    """Slabs of 60 × 40 cm in rows, each of its own tone, with joints, stains and grain."""
    row = math.floor(y / 0.4)
    shift = 0.3 * (row - 2 * math.floor(row / 2))
    column = math.floor((x + shift) / 0.6)
    tone = table[int(column) & 31, int(row) & 31, 7]
    warm = table[int(row) & 31, int(column) & 31, 19]
    value = 0.36 + 0.07 * tone
    value *= 1.0 + 0.16 * noise(table, 0.23 * x, 0.23 * y, 3.3)
    value *= 1.0 + 0.16 * noise(table, 1.3 * x, 1.3 * y, 9.1)
    value *= 1.0 + 0.22 * fade(0.12, pixel) * noise(table, 9.0 * x, 9.0 * y, 14.2)
    value *= 1.0 + 0.30 * fade(0.03, pixel) * noise(table, 37.0 * x, 37.0 * y, 21.7)
    u, v = x + shift - 0.6 * column, y - 0.4 * row
    edge = min(u, 0.6 - u, v, 0.4 - v)
    if edge < 0.009:
        value *= 0.45
    return value * (1.0 + 0.04 * warm), value * 0.965, value * (0.90 - 0.04 * warm)


@njit(**_OPTIONS)
def walling(
    along: float, height: float, roof: bool, table: Array, pixel: float
) -> tuple[float, float, float]:
    """Rendered walls with a plinth and streaks; roofs are plain concrete."""
    value = 0.46 * (1.0 + 0.14 * noise(table, 0.5 * along, 0.7 * height, 5.5))
    value *= 1.0 + 0.18 * fade(0.2, pixel) * noise(table, 5.0 * along, 5.0 * height, 11.3)
    value *= 1.0 + 0.24 * fade(0.05, pixel) * noise(table, 21.0 * along, 21.0 * height, 25.9)
    if roof:
        return 0.80 * value, 0.79 * value, 0.78 * value
    value *= 1.0 + 0.20 * noise(table, 4.0 * along, 0.35 * height, 17.0)
    if height < 0.35:
        return 0.48 * value, 0.47 * value, 0.47 * value
    panel = along - 2.0 * math.floor(0.5 * along)
    if panel < 0.03 or abs(height - 1.4) < 0.012:
        value *= 0.6
    return value, 0.90 * value, 0.76 * value
