"""The trunk of a mannequin: a skin over rings between pelvis and chest that bends with the spine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.body.anatomy import Anatomy
from marey.views.parts import Sample, square, unit
from marey.views.shapes import refined

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trunk:
    """A skin over rings between pelvis and chest, along a cubic that leaves both at right angles.

    pelvis, chest: joints that carry its ends
    hips, shoulders: `(3,)`, the middles between the limbs, in those joints' frames
    pelvis_axes, chest_axes: `(3, 2)`, to the left and up, in those joints' frames
    rings: `(rings, 4)`, metres: along the trunk from the hips (beyond the shoulders past `length`),
        half-width, half-depth, shift backwards
    """

    pelvis: int
    chest: int
    hips: Array
    shoulders: Array
    pelvis_axes: Array
    chest_axes: Array
    rings: Array
    length: float

    def frames(self, points: Array, rotations: Array) -> tuple[Array, Array]:
        """Origins `(rings, 3)` and axes `(rings, 3, 3)` of the rings: to the left, backwards, up."""
        at = self.rings[:, 0]
        low = points[self.pelvis] + rotations[self.pelvis] @ self.hips
        high = points[self.chest] + rotations[self.chest] @ self.shoulders
        left_low, up_low = (rotations[self.pelvis] @ self.pelvis_axes).T
        left_high, up_high = (rotations[self.chest] @ self.chest_axes).T
        size = np.linalg.norm(high - low)
        s = np.clip(at / self.length, 0.0, 1.0)[:, None]
        pull_low, pull_high = size * up_low, size * up_high
        middle = (
            (2 * s**3 - 3 * s**2 + 1) * low
            + (s**3 - 2 * s**2 + s) * pull_low
            + (-2 * s**3 + 3 * s**2) * high
            + (s**3 - s**2) * pull_high
        )
        up = unit(
            (6 * s**2 - 6 * s) * (low - high)
            + (3 * s**2 - 4 * s + 1) * pull_low
            + (3 * s**2 - 2 * s) * pull_high
        )
        below, above = np.minimum(at, 0.0)[:, None], np.maximum(at - self.length, 0.0)[:, None]
        left = (1 - s) * left_low + s * left_high
        left = unit(left - (left * up).sum(axis=1, keepdims=True) * up)
        origins = middle + below * up_low + above * up_high
        return origins, np.stack([left, np.cross(up, left), up], axis=2)


def trunk(some: Sample, marks: Anatomy, stature: float) -> Trunk:
    """The trunk of a figure of that stature, metres."""
    s = stature
    left_hip, right_hip = (leg.root for leg in marks.legs)
    left_arm, right_arm = (arm.root for arm in marks.arms)
    hips, shoulders = some.at(left_hip, right_hip), some.at(left_arm, right_arm)
    length = float(np.median(np.linalg.norm(shoulders - hips, axis=1)))
    left_low = unit(some.vector(marks.pelvis, some.at(right_hip), some.at(left_hip)))
    left_high = unit(some.vector(marks.chest, some.at(right_arm), some.at(left_arm)))
    up_low = square(some.vector(marks.pelvis, hips, shoulders), left_low)
    up_high = square(some.vector(marks.chest, hips, shoulders), left_high)
    half_hips = min(0.5 * some.between(left_hip, right_hip), 0.07 * s)
    half_shoulders = min(max(0.5 * some.between(left_arm, right_arm), 0.075 * s), 0.13 * s)
    d = length
    rings = [
        (-0.062 * s, 0.0, 0.0, 0.0),
        (-0.050 * s, 0.030 * s, 0.036 * s, 0.0),
        (-0.020 * s, half_hips + 0.030 * s, 0.053 * s, 0.004 * s),
        (0.020 * s, half_hips + 0.037 * s, 0.057 * s, 0.006 * s),
        (0.20 * d, half_hips + 0.029 * s, 0.054 * s, 0.003 * s),
        (0.38 * d, 0.071 * s, 0.047 * s, -0.002 * s),
        (0.58 * d, 0.077 * s, 0.051 * s, -0.003 * s),
        (0.76 * d, 0.088 * s, 0.057 * s, -0.003 * s),
        (0.90 * d, 0.6 * half_shoulders + 0.030 * s, 0.055 * s, 0.0),
        (d, half_shoulders - 0.008 * s, 0.041 * s, 0.004 * s),
        (d + 0.018 * s, 0.70 * half_shoulders, 0.034 * s, 0.006 * s),
        (d + 0.033 * s, 0.38 * half_shoulders, 0.030 * s, 0.006 * s),
        (d + 0.050 * s, 0.026 * s, 0.026 * s, 0.005 * s),
        (d + 0.060 * s, 0.0, 0.0, 0.005 * s),
    ]
    return Trunk(
        pelvis=marks.pelvis,
        chest=marks.chest,
        hips=some.vector(marks.pelvis, some.at(marks.pelvis), hips),
        shoulders=some.vector(marks.chest, some.at(marks.chest), shoulders),
        pelvis_axes=np.stack([left_low, up_low], axis=1),
        chest_axes=np.stack([left_high, up_high], axis=1),
        rings=refined(rings),
        length=length,
    )
