"""A person of some 900 faces, at rest with arms spread, bound to the bones of the samples' skeleton.

Tubes over elliptic rings: trunk, head, limbs with knees and elbows, feet and hands, and things that some
wear (hair, hat, skirt, rucksack, bag). Each ring follows one bone or two. Few faces, because a film shows
hundreds of people at once, and half as many where people are small; made once, in a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from marey.samples.body_plan import body_skeleton, standing_height
from marey.views.shapes import Shape, loft

Array = NDArray[np.float64]
Integers = NDArray[np.int32]

TRUNK, HEAD, ARM, HAND, LEG, FOOT, HAIR, HAT, SKIRT, RUCKSACK, BAG = range(11)
"""Parts of the figure, as the faces are labelled."""

ALWAYS = (TRUNK, HEAD, ARM, HAND, LEG, FOOT)

_SIDED = ("Arm", "ForeArm", "Hand", "UpLeg", "Leg", "Foot", "ToeBase")
BONES = (
    *("Hips", "LowerBack", "Spine1", "Neck", "Head"),
    *(side + name for side in ("Left", "Right") for name in _SIDED),
)
"""Joints whose frames move the figure."""

# A ring: place along the tube, half-widths across and deep, its middle across and deep, first and second
# bone, share of the first.
_Ring = tuple[float, float, float, float, float, str, str, float]


@dataclass(frozen=True, eq=False)
class Figure:
    """The figure of 1.75 m.

    vertices: `(vertices, 3)`, metres, y up, looking along +z, left arm towards +x, soles at y = 0
    faces: `(faces, 3)`, counter-clockwise from outside
    face_parts, vertex_parts: which part each belongs to
    bones: `(vertices, 2)`, indices into `BONES`
    weights: `(vertices,)`, share of the first bone
    joints: `(bones, 3)`, where the bones begin at rest
    """

    vertices: Array
    faces: Integers
    face_parts: Integers
    vertex_parts: Integers
    bones: Integers
    weights: Array
    joints: Array


@cache
def figure(coarse: bool = False) -> Figure:
    """The figure of everyone; a coarse one for pictures in which people are small.

    >>> person = figure()
    >>> bool(abs(person.vertices[:, 1].min()) < 0.01), bool(1.7 < person.vertices[:, 1].max() < 1.85)
    (True, True)
    """
    trunk, head, limb = (6, 5, 4) if coarse else (10, 8, 6)
    leg = 4 if coarse else 8
    joints = resting_joints()
    at = dict(zip(BONES, joints, strict=True))
    tubes = [
        _upright(TRUNK, _trunk(), trunk),
        _upright(HEAD, _head(), head),
        _upright(HAIR, _hair(), head),
        _upright(HAT, _hat(), head),
        _upright(SKIRT, _skirt(), trunk),
        _upright(RUCKSACK, _rucksack(), head, squareness=0.8),
        _upright(BAG, _bag(), limb, squareness=0.9),
    ]
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        tubes += [
            _upright(LEG, _leg(at, side, sign), leg),
            _lying(FOOT, _foot(at, side, sign), limb, "z"),
            _lying(ARM, _arm(at, side), limb, "x" if sign > 0 else "-x"),
            _lying(HAND, _hand(at, side), limb, "x" if sign > 0 else "-x"),
        ]
    starts = np.cumsum([0] + [len(shape.vertices) for _, shape, _, _ in tubes])
    return Figure(
        np.concatenate([shape.vertices for _, shape, _, _ in tubes]),
        np.concatenate([tube[1].faces + start for tube, start in zip(tubes, starts)]).astype(np.int32),
        np.concatenate([np.full(len(shape.faces), part) for part, shape, _, _ in tubes]).astype(np.int32),
        np.concatenate([np.full(len(shape.vertices), part) for part, shape, _, _ in tubes]).astype(np.int32),
        np.concatenate([bones for _, _, bones, _ in tubes]).astype(np.int32),
        np.concatenate([weights for _, _, _, weights in tubes]),
        joints,
    )


def resting_joints() -> Array:
    """Where the bones begin when the figure stands with its arms spread, `(bones, 3)` metres."""
    skeleton = body_skeleton()
    positions = np.zeros((skeleton.joints, 3))
    positions[0] = [0.0, standing_height(), 0.0]
    for joint in range(1, skeleton.joints):
        positions[joint] = positions[skeleton.parents[joint]] + skeleton.offsets[joint]
    return positions[[skeleton.index(name) for name in BONES]]


def _trunk() -> list[_Ring]:
    hips, back, chest = "Hips", "LowerBack", "Spine1"
    return [
        (0.80, 0.0, 0.0, 0.0, 0.0, hips, hips, 1.0),
        (0.83, 0.095, 0.085, 0.0, -0.005, hips, hips, 1.0),
        (0.91, 0.165, 0.112, 0.0, -0.012, hips, hips, 1.0),
        (1.00, 0.158, 0.108, 0.0, -0.006, hips, hips, 1.0),
        (1.10, 0.138, 0.098, 0.0, 0.004, hips, back, 0.4),
        (1.21, 0.150, 0.106, 0.0, 0.004, back, chest, 0.5),
        (1.32, 0.172, 0.118, 0.0, 0.004, chest, chest, 1.0),
        (1.40, 0.192, 0.102, 0.0, -0.008, chest, chest, 1.0),
        (1.445, 0.160, 0.078, 0.0, -0.014, chest, chest, 1.0),
        (1.480, 0.075, 0.062, 0.0, -0.012, chest, chest, 1.0),
        (1.520, 0.055, 0.055, 0.0, -0.006, chest, "Neck", 0.4),
        (1.535, 0.0, 0.0, 0.0, -0.004, "Neck", "Neck", 1.0),
    ]


def _head() -> list[_Ring]:
    rows = [
        (1.500, 0.0, 0.0, 0.000),
        (1.505, 0.050, 0.052, 0.000),
        (1.545, 0.056, 0.068, 0.012),
        (1.585, 0.068, 0.090, 0.020),
        (1.640, 0.077, 0.100, 0.014),
        (1.695, 0.073, 0.094, 0.006),
        (1.735, 0.048, 0.062, 0.000),
        (1.752, 0.0, 0.0, 0.000),
    ]
    return [(y, wide, deep, 0.0, z, "Head", "Neck", 1.0 if y > 1.52 else 0.3) for y, wide, deep, z in rows]


def _hair() -> list[_Ring]:
    """Down to the shoulders, open in front."""
    return [
        (1.46, 0.0, 0.0, 0.0, -0.075, "Spine1", "Head", 0.5),
        (1.47, 0.070, 0.030, 0.0, -0.080, "Spine1", "Head", 0.4),
        (1.56, 0.084, 0.062, 0.0, -0.042, "Head", "Head", 1.0),
        (1.66, 0.090, 0.090, 0.0, -0.014, "Head", "Head", 1.0),
        (1.735, 0.066, 0.080, 0.0, -0.006, "Head", "Head", 1.0),
        (1.770, 0.0, 0.0, 0.0, -0.006, "Head", "Head", 1.0),
    ]


def _hat() -> list[_Ring]:
    return [
        (1.675, 0.0, 0.0, 0.0, 0.01, "Head", "Head", 1.0),
        (1.680, 0.125, 0.150, 0.0, 0.015, "Head", "Head", 1.0),
        (1.695, 0.122, 0.146, 0.0, 0.015, "Head", "Head", 1.0),
        (1.705, 0.088, 0.108, 0.0, 0.004, "Head", "Head", 1.0),
        (1.780, 0.070, 0.088, 0.0, 0.002, "Head", "Head", 1.0),
        (1.800, 0.0, 0.0, 0.0, 0.000, "Head", "Head", 1.0),
    ]


def _skirt() -> list[_Ring]:
    return [
        (0.52, 0.0, 0.0, 0.0, 0.0, "Hips", "Hips", 1.0),
        (0.53, 0.215, 0.170, 0.0, 0.0, "Skirt", "Hips", 0.6),
        (0.72, 0.198, 0.150, 0.0, 0.0, "Skirt", "Hips", 0.6),
        (0.92, 0.176, 0.125, 0.0, -0.010, "Hips", "Hips", 1.0),
        (1.06, 0.152, 0.112, 0.0, 0.000, "Hips", "LowerBack", 0.6),
        (1.08, 0.0, 0.0, 0.0, 0.0, "Hips", "LowerBack", 0.6),
    ]


def _rucksack() -> list[_Ring]:
    chest = "Spine1"
    return [
        (1.04, 0.0, 0.0, 0.0, -0.18, chest, chest, 1.0),
        (1.05, 0.135, 0.070, 0.0, -0.19, chest, chest, 1.0),
        (1.22, 0.145, 0.088, 0.0, -0.20, chest, chest, 1.0),
        (1.40, 0.125, 0.070, 0.0, -0.175, chest, chest, 1.0),
        (1.45, 0.0, 0.0, 0.0, -0.16, chest, chest, 1.0),
    ]


def _bag() -> list[_Ring]:
    return [
        (0.74, 0.0, 0.0, 0.225, 0.0, "Hips", "Hips", 1.0),
        (0.75, 0.042, 0.135, 0.225, 0.0, "Hips", "Hips", 1.0),
        (0.98, 0.036, 0.120, 0.220, 0.0, "Hips", "Hips", 1.0),
        (0.99, 0.0, 0.0, 0.220, 0.0, "Hips", "Hips", 1.0),
    ]


def _leg(at: dict[str, Array], side: str, sign: float) -> list[_Ring]:
    upper, lower, foot = f"{side}UpLeg", f"{side}Leg", f"{side}Foot"
    hip, knee, ankle = at[upper], at[lower], at[foot]
    x = float(hip[0])
    rows = [
        (hip[1] + 0.045, 0.0, 0.0, 0.0, upper, upper, 1.0),
        (hip[1] + 0.010, 0.078, 0.088, -0.010, upper, "Hips", 0.7),
        (hip[1] - 0.130, 0.080, 0.088, -0.004, upper, upper, 1.0),
        (hip[1] - 0.290, 0.064, 0.072, 0.004, upper, upper, 1.0),
        (knee[1] + 0.050, 0.055, 0.062, 0.006, upper, lower, 0.85),
        (knee[1], 0.054, 0.060, 0.004, upper, lower, 0.5),
        (knee[1] - 0.060, 0.052, 0.060, -0.002, upper, lower, 0.1),
        (knee[1] - 0.150, 0.056, 0.064, -0.014, lower, lower, 1.0),
        (ankle[1] + 0.120, 0.044, 0.048, -0.008, lower, lower, 1.0),
        (ankle[1] + 0.020, 0.048, 0.054, 0.0, lower, foot, 0.7),
        (ankle[1] - 0.010, 0.0, 0.0, 0.0, foot, foot, 1.0),
    ]
    return [(y, w, d, x + 0.012 * sign, z, a, b, share) for y, w, d, z, a, b, share in rows[::-1]]


def _foot(at: dict[str, Array], side: str, sign: float) -> list[_Ring]:
    """Along z, from the heel to the toes; its middle height stands where tubes have their second middle."""
    foot, toe = f"{side}Foot", f"{side}ToeBase"
    x, z = float(at[foot][0]) + 0.012 * sign, float(at[foot][2])
    return [
        (z - 0.078, 0.0, 0.0, x, 0.040, foot, foot, 1.0),
        (z - 0.066, 0.032, 0.038, x, 0.039, foot, foot, 1.0),
        (z + 0.010, 0.038, 0.046, x, 0.047, foot, foot, 1.0),
        (z + 0.090, 0.046, 0.034, x, 0.035, foot, toe, 0.8),
        (z + 0.165, 0.044, 0.024, x, 0.025, toe, toe, 1.0),
        (z + 0.208, 0.0, 0.0, x, 0.020, toe, toe, 1.0),
    ]


def _arm(at: dict[str, Array], side: str) -> list[_Ring]:
    """Along x, away from the trunk."""
    upper, lower, hand = f"{side}Arm", f"{side}ForeArm", f"{side}Hand"
    shoulder, elbow, wrist = (abs(float(at[name][0])) for name in (upper, lower, hand))
    y, z = float(at[upper][1]), float(at[upper][2])
    rows = [
        (shoulder - 0.060, 0.0, "Spine1", upper, 0.6),
        (shoulder - 0.020, 0.058, upper, "Spine1", 0.7),
        (shoulder + 0.050, 0.060, upper, upper, 1.0),
        (shoulder + 0.150, 0.050, upper, upper, 1.0),
        (elbow - 0.030, 0.043, upper, lower, 0.8),
        (elbow + 0.030, 0.043, upper, lower, 0.2),
        (elbow + 0.100, 0.043, lower, lower, 1.0),
        (wrist, 0.030, lower, lower, 1.0),
        (wrist + 0.015, 0.0, lower, lower, 1.0),
    ]
    return [(x, r, r, z, y, a, b, share) for x, r, a, b, share in rows]


def _hand(at: dict[str, Array], side: str) -> list[_Ring]:
    hand = f"{side}Hand"
    wrist, y, z = abs(float(at[hand][0])), float(at[hand][1]), float(at[hand][2])
    rows = [
        (-0.01, 0.0, 0.0),
        (0.0, 0.027, 0.022),
        (0.06, 0.043, 0.020),
        (0.13, 0.034, 0.016),
        (0.18, 0.0, 0.0),
    ]
    return [(wrist + x, wide, thick, z, y, hand, hand, 1.0) for x, wide, thick in rows]


def _upright(
    part: int, rings: list[_Ring], sectors: int, squareness: float = 0.0
) -> tuple[int, Shape, Integers, Array]:
    """A tube along y; half-widths are along x and z."""
    return _tube(
        part, rings, sectors, squareness, lambda p: np.stack([p[:, 0], p[:, 2], p[:, 1]], axis=1), True
    )


def _lying(part: int, rings: list[_Ring], sectors: int, axis: str) -> tuple[int, Shape, Integers, Array]:
    """A tube along z (half-widths along x and y), or along x or against it (along z and y)."""
    if axis == "z":
        return _tube(part, rings, sectors, 0.0, lambda p: p, False)
    sign = 1.0 if axis == "x" else -1.0
    return _tube(
        part, rings, sectors, 0.0, lambda p: np.stack([sign * p[:, 2], p[:, 1], p[:, 0]], axis=1), sign > 0
    )


def _tube(
    part: int,
    rings: list[_Ring],
    sectors: int,
    squareness: float,
    placed: Callable[[Array], Array],
    flipped: bool,
) -> tuple[int, Shape, Integers, Array]:
    shape = loft([ring[:5] for ring in rings], sectors=sectors, squareness=squareness)
    vertices = placed(shape.vertices)
    faces = shape.faces[:, ::-1] if flipped else shape.faces
    # One vertex at either end, `sectors` at each ring between.
    counts = [1] + [sectors] * (len(rings) - 2) + [1]
    bones = np.repeat([[_bone(a), _bone(b)] for *_, a, b, _ in rings], counts, axis=0)
    weights = np.repeat([ring[7] for ring in rings], counts)
    if part == SKIRT:
        # Either half of the skirt goes with its leg.
        legs = np.where(vertices[:, 0] > 0, _bone("LeftUpLeg"), _bone("RightUpLeg"))
        bones[:, 0] = np.where(bones[:, 0] < 0, legs, bones[:, 0])
    return part, Shape(vertices, np.ascontiguousarray(faces)), bones, weights


def _bone(name: str) -> int:
    return BONES.index(name) if name in BONES else -1
