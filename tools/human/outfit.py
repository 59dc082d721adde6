"""What the sample human wears and looks like: colours as a function of where on the body a point lies.

Painted in three dimensions, so that no seam of the texture shows; stripes and seams make motion visible.
Edges are soft by about a texel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array

Colour = tuple[float, float, float]

SKIN: Colour = (0.88, 0.68, 0.56)
HAIR: Colour = (0.25, 0.16, 0.11)
SHIRT: Colour = (0.93, 0.91, 0.86)
STRIPE: Colour = (0.14, 0.21, 0.40)
TROUSERS: Colour = (0.28, 0.34, 0.46)
SEAM: Colour = (0.18, 0.22, 0.30)
BELT: Colour = (0.30, 0.19, 0.12)
BUCKLE: Colour = (0.78, 0.72, 0.55)
SHOE: Colour = (0.60, 0.18, 0.15)
SOLE: Colour = (0.94, 0.93, 0.91)

SOFT = 0.0015

# Metres: heights of the belt's edges and of the trousers' hem; length of the sleeve; way between stripes
# and up to where there are any.
WAIST, BELT_LOW, HEM, SLEEVE = 1.035, 1.000, 0.090, 0.17
STRIPES = 0.046
TOP_STRIPE = 30 * STRIPES


def painted(points: Array, regions: NDArray[np.str_], left_shoulder: Array) -> Array:
    """Red, green, blue in 0…1, `(n, 3)`.

    points: `(n, 3)`, metres, on the body at rest
    regions: `(n,)`, "head", "torso", "arm", "hand", "thumb", "leg" or "foot"
    left_shoulder: `(3,)`, the joint, at rest
    """
    colours = np.empty((len(points), 3))
    colours[:] = SKIN
    for names, brush in ((("head",), _head), (("torso",), _torso), (("arm",), _arm), (("leg", "foot"), _leg)):
        mine = np.isin(regions, names)
        # Left and right are dressed alike.
        colours[mine] = brush(points[mine] * np.where(points[mine, :1] < 0, [[-1, 1, 1]], 1), left_shoulder)
    return np.clip(colours, 0.0, 1.0)


def _head(points: Array, shoulder: Array) -> Array:
    x, y, z = points.T
    front = z > 0.03

    def spot(u: Array, v: Array, width: float, height: float) -> Array:
        return np.clip((1 - np.hypot(u / width, v / height)) / 0.15 + 0.5, 0.0, 1.0) * front

    cheek = np.exp(-(((x - 0.040) / 0.015) ** 2) - ((y - 1.622) / 0.013) ** 2)
    smile = y - 1.588 - 4.0 * x**2
    brow = y - 1.671 + 0.15 * np.abs(x - 0.030)
    eye = spot(x - 0.031, y - 1.652, 0.0135, 0.0068)
    face = _over(SKIN, (0.87, 0.50, 0.43), 0.30 * cheek * front)
    face = _over(face, (0.74, 0.40, 0.36), 0.85 * spot(x, smile, 0.024, 0.0075))
    face = _over(face, (0.45, 0.20, 0.19), spot(x, smile - 0.0008, 0.023, 0.0014))
    face = _over(face, (0.58, 0.38, 0.31), spot(x - 0.008, y - 1.6125, 0.0042, 0.0028))
    face = _over(face, (0.48, 0.32, 0.25), spot(x - 0.031, y - 1.6526, 0.0152, 0.0084))
    face = _over(face, (0.97, 0.96, 0.94), eye)
    face = _over(face, (0.24, 0.38, 0.42), eye * spot(x - 0.031, y - 1.6525, 0.0060, 0.0060))
    face = _over(face, (0.05, 0.05, 0.06), eye * spot(x - 0.031, y - 1.6525, 0.0028, 0.0028))
    face = _over(face, HAIR, 0.9 * spot(x - 0.032, brow, 0.018, 0.0038))

    hairline = 1.606 + 0.62 * (z + 0.09) - 0.30 * np.clip(x - 0.045, 0.0, None)
    hairline = np.where((z > -0.03) & (x > 0.062), np.maximum(hairline, 1.645), hairline)
    around = np.arctan2(x, z + 0.02)
    strands = 0.04 * (np.sin(61.0 * around + 25.0 * y) + np.sin(97.0 * around - 40.0 * y))
    hair = np.array(HAIR) * (1 + strands[:, None])
    return _shirt(_over(face, hair, _above(y, hairline, 0.003)), points)


def _torso(points: Array, shoulder: Array) -> Array:
    x, y, z = points.T
    dressed = _over(_shirt(SKIN, points), _cloth(points), _above(BELT_LOW, y, SOFT))
    dressed = _over(dressed, BELT, _above(WAIST, y, SOFT) * _above(y, BELT_LOW, SOFT))
    buckle = _above(0.021, x, SOFT) * _above(0.014, np.abs(y - (WAIST + BELT_LOW) / 2), SOFT)
    return _over(dressed, BUCKLE, buckle * (z > 0))


def _arm(points: Array, shoulder: Array) -> Array:
    along = np.linalg.norm(points - shoulder, axis=1)
    stripes = _stripes(along) * (along > 0.1) * (along < 0.15)
    sleeve = _over(SHIRT, STRIPE, np.maximum(stripes, _above(along, SLEEVE - 0.006, SOFT)))
    return _over(SKIN, sleeve, _above(SLEEVE, along, SOFT))


def _leg(points: Array, shoulder: Array) -> Array:
    _, y, z = points.T
    seam = np.maximum(_above(0.003, np.abs(z + 0.004), SOFT), _above(HEM + 0.012, y, SOFT))
    lace = _above(0.003, np.abs(np.mod(z, 0.018) - 0.009), SOFT) * (z > 0.02) * (z < 0.12) * (y > 0.058)
    shoe = _over(SHOE, SOLE, np.maximum(lace, _above(0.020, y, SOFT)))
    return _over(_over(_cloth(points), SEAM, seam), shoe, _above(HEM, y, SOFT))


def _shirt(skin: Array | Colour, points: Array) -> Array:
    """The trunk's part of the shirt; its neckline is cut out by an upright elliptic cylinder."""
    x, y, z = points.T
    from_neck = np.hypot(x / 0.088, (z - 0.004) / 0.084)
    cloth = np.maximum(_above(from_neck, 1.0, 0.02), _above(1.38, y, SOFT)) * (y < 1.52)
    rim = _above(1.10, from_neck, 0.02) * (y > 1.38) * (z > -0.06)
    shirt = _over(SHIRT, STRIPE, np.maximum(_stripes(y) * (y < TOP_STRIPE) * (x < 0.165), rim))
    return _over(skin, shirt, cloth)


def _cloth(points: Array) -> Array:
    """Denim, paler over the thighs."""
    x, y, z = points.T
    faded = 0.12 * np.exp(-(((y - 0.62) / 0.14) ** 2)) * np.clip(z / 0.03, 0.0, 1.0)
    weave = 0.02 * np.sin(700.0 * y) * np.sin(600.0 * x)
    return np.array(TROUSERS) * (1 + faded + weave)[:, None]


def _stripes(way: Array) -> Array:
    return _above(0.008, np.abs(np.mod(way, STRIPES) - STRIPES / 2), SOFT)


def _above(value: Array | float, bound: Array | float, soft: float) -> Array:
    """1 where `value` exceeds `bound`, 0 where it does not, and a ramp of width `soft` between."""
    return np.clip((np.asarray(value) - bound) / soft + 0.5, 0.0, 1.0)


def _over(below: Array | Colour, above: Array | Colour, share: Array) -> Array:
    """`above` laid over `below`, as much as `share`, `(n,)`, says."""
    share = share[:, None]
    return (1 - share) * np.asarray(below) + share * np.asarray(above)
