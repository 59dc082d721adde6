"""The sample human's surface at rest: an implicit body of about fifty shapes around the skeleton's joints.

It rests in an A-pose, arms 45 degrees down and legs slightly apart, halfway to what bodies do, so that
skinning bends it little. Breadths and depths are those of an adult of 1.75 m, rounded; heights come from
the skeleton.
"""

from __future__ import annotations

import numpy as np
from human.implicit import Tube, ellipsoid, tube

from marey._arrays import Array
from marey.body.motion import Motion
from marey.geometry import rotations as rot
from marey.samples.body_plan import body_skeleton, standing_height

ARM_DOWN, LEG_OUT, ELBOW = np.radians(45.0), np.radians(6.0), np.radians(12.0)


def resting() -> Motion:
    """The pose in which the mesh is bound to the skeleton, one frame."""
    skeleton = body_skeleton()
    local = rot.identity((1, skeleton.joints))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        for name, vector in (
            ("Arm", (0.0, 0.0, -ARM_DOWN)),
            ("ForeArm", (0.0, -ELBOW, 0.0)),
            ("UpLeg", (0.0, 0.0, LEG_OUT)),
            ("Foot", (0.0, 0.0, -LEG_OUT)),
        ):
            x, y, z = vector
            local[0, skeleton.index(side + name)] = rot.exp([x, sign * y, sign * z])
    return Motion(skeleton, local, np.array([[0.0, standing_height(), 0.0]]), 30.0, name="rest")


def body_shapes(joints: dict[str, Array], turns: dict[str, Array]) -> list[Tube]:
    """The shapes, in the order in which they melt together.

    joints: position of each joint at rest; end sites are called by their joint's name and " end"
    turns: `(3, 3)`, columns: the axes of each joint at rest
    """
    shapes = _torso() + _head()
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        at = {name.removeprefix(side): p for name, p in joints.items() if name.startswith(side)}
        axes = {name.removeprefix(side): m for name, m in turns.items() if name.startswith(side)}
        shapes += _leg(at) + _foot(at, sign) + _arm(at, axes, sign)
    return shapes


def _torso() -> list[Tube]:
    trunk = tube(
        (0.0, 0.862, 0.0),
        (0.0, 1.490, 0.0),
        [
            (0.00, 0.080, 0.046, -0.020),
            (0.07, 0.132, 0.092, -0.015),
            (0.14, 0.160, 0.108, -0.014),
            (0.24, 0.156, 0.104, -0.008),
            (0.36, 0.138, 0.095, 0.000),
            (0.48, 0.141, 0.097, 0.003),
            (0.62, 0.155, 0.106, 0.003),
            (0.74, 0.163, 0.109, -0.002),
            (0.83, 0.158, 0.100, -0.008),
            (0.90, 0.136, 0.083, -0.014),
            (0.96, 0.096, 0.064, -0.018),
            (1.00, 0.066, 0.054, -0.020),
        ],
        caps=(0.022, 0.02),
        power=2.4,
        melt=0.03,
    )
    parts = [trunk]
    for sign in (1.0, -1.0):
        parts += [
            ellipsoid((sign * 0.070, 1.335, 0.066), (0.078, 0.052, 0.036), melt=0.05),
            ellipsoid((sign * 0.072, 0.905, -0.060), (0.076, 0.080, 0.062), melt=0.05),
            tube(
                (sign * 0.030, 1.480, -0.026),
                (sign * 0.155, 1.424, -0.018),
                [(0.0, 0.040, 0.042), (1.0, 0.040, 0.044)],
                melt=0.05,
            ),
        ]
    return parts


def _head() -> list[Tube]:
    neck = tube(
        (0.0, 1.440, -0.022),
        (0.0, 1.600, 0.000),
        [(0.0, 0.070, 0.066), (0.3, 0.059, 0.060), (0.6, 0.055, 0.058), (1.0, 0.056, 0.060)],
        melt=0.04,
    )
    parts = [
        neck,
        ellipsoid((0.0, 1.662, -0.008), (0.077, 0.089, 0.094), melt=0.03),
        ellipsoid((0.0, 1.608, 0.036), (0.060, 0.070, 0.060), melt=0.035, power=2.3),
        ellipsoid((0.0, 1.556, 0.066), (0.030, 0.024, 0.026), melt=0.03),
        ellipsoid((0.0, 1.676, 0.066), (0.056, 0.020, 0.020), melt=0.03),
    ]
    for sign in (1.0, -1.0):
        parts += [
            ellipsoid((sign * 0.032, 1.652, 0.104), (0.017, 0.012, 0.016), melt=0.016, carve=True),
            ellipsoid((sign * 0.042, 1.622, 0.066), (0.022, 0.018, 0.022), melt=0.03),
            ellipsoid((sign * 0.077, 1.640, -0.004), (0.011, 0.030, 0.019), melt=0.010),
        ]
    parts += [
        tube(
            (0.0, 1.656, 0.084), (0.0, 1.624, 0.104), [(0.0, 0.010, 0.010), (1.0, 0.015, 0.015)], melt=0.014
        ),
        ellipsoid((0.0, 1.588, 0.091), (0.024, 0.012, 0.010), melt=0.02),
        ellipsoid((0.0, 1.676, -0.016), (0.083, 0.084, 0.097), melt=0.012),
    ]
    return parts


def _leg(at: dict[str, Array]) -> list[Tube]:
    thigh = tube(
        at["UpLeg"],
        at["Leg"],
        [
            (0.00, 0.080, 0.090, -0.004),
            (0.20, 0.082, 0.089, 0.004),
            (0.45, 0.074, 0.079, 0.008),
            (0.75, 0.061, 0.065, 0.006),
            (1.00, 0.053, 0.056, 0.004),
        ],
        melt=0.045,
    )
    shank = tube(
        at["Leg"],
        at["Foot"],
        [
            (0.00, 0.052, 0.055, 0.004),
            (0.12, 0.052, 0.055, -0.004),
            (0.30, 0.054, 0.060, -0.016),
            (0.50, 0.049, 0.053, -0.015),
            (0.75, 0.041, 0.044, -0.010),
            (1.00, 0.040, 0.043, -0.006),
        ],
        melt=0.012,
    )
    return [thigh, shank]


def _foot(at: dict[str, Array], sign: float) -> list[Tube]:
    x = float(at["Foot"][0])
    heel, toes = np.array([x, 0.036, -0.026]), np.array([x + sign * 0.004, 0.036, 0.176])
    shoe = tube(
        heel,
        toes,
        [
            (0.00, 0.033, 0.038, 0.002),
            (0.25, 0.035, 0.044, 0.008),
            (0.50, 0.041, 0.040, 0.004),
            (0.72, 0.047, 0.034, -0.002),
            (0.90, 0.044, 0.029, -0.007),
            (1.00, 0.038, 0.027, -0.009),
        ],
        forwards=(0.0, 1.0, 0.0),
        caps=(0.034, 0.030),
        power=2.6,
        melt=0.03,
    )
    below = ellipsoid((x, -0.5, 0.07), (0.6, 0.5, 0.6), melt=0.004, carve=True, power=8.0)
    return [shoe, below]


def _arm(at: dict[str, Array], axes: dict[str, Array], sign: float) -> list[Tube]:
    upper = tube(
        at["Arm"],
        at["ForeArm"],
        [
            (0.00, 0.046, 0.050),
            (0.20, 0.050, 0.053),
            (0.50, 0.045, 0.049, 0.002),
            (0.80, 0.040, 0.042),
            (1.00, 0.038, 0.040),
        ],
        melt=0.04,
    )
    fore = tube(
        at["ForeArm"],
        at["Hand"],
        [
            (0.00, 0.038, 0.040),
            (0.20, 0.040, 0.044),
            (0.50, 0.034, 0.037),
            (0.80, 0.026, 0.030),
            (1.00, 0.023, 0.028),
        ],
        melt=0.012,
    )
    knuckles, tips = at["HandIndex1"], at["HandIndex1 end"]
    palm_wide = axes["Hand"][:, 2]
    palm = tube(
        at["Hand"],
        knuckles,
        [(0.0, 0.023, 0.028), (0.4, 0.021, 0.036), (1.0, 0.019, 0.040)],
        forwards=palm_wide,
        melt=0.02,
    )
    fingers = tube(
        knuckles,
        tips + 0.14 * (knuckles - tips),
        [(0.0, 0.019, 0.040), (0.5, 0.017, 0.039), (1.0, 0.014, 0.031)],
        forwards=palm_wide,
        caps=(0.019, 0.019),
        melt=0.012,
    )
    thumb = tube(
        at["Thumb"],
        at["Thumb end"],
        [(0.0, 0.018, 0.019), (0.5, 0.016, 0.016), (1.0, 0.013, 0.013)],
        melt=0.016,
    )
    shoulder = ellipsoid(at["Arm"] + [sign * 0.004, -0.010, 0.0], (0.050, 0.050, 0.052), melt=0.05)
    return [shoulder, upper, fore, palm, fingers, thumb]
