"""Shapes by which a character meets planes and balls: a capsule a bone, boxes for the feet.

Contact points are the ends of the capsules, spheres, and the corners of the boxes. Of a plane and a capsule
or box one of these is deepest, so penetration that is measured on them is that of the shapes. The box of a
foot bends at its ball: the corners at the heel move with the ankle, those at the toes with the toes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array, Integers
from marey.body.anatomy import Limb, anatomy
from marey.body.physics.reduced import PhysicalCharacter
from marey.body.skeleton import Skeleton

if TYPE_CHECKING:
    from marey.body.physics.simulate import SimulationSettings


@dataclass(frozen=True)
class FootSettings:
    """Metres: how far a foot goes behind the ankle and before the ball, half its width, its height at the
    toes, and how far the sole is below the ball at rest. Bones shorter than `least` have no capsule."""

    behind: float = 0.05
    before: float = 0.06
    half_width: float = 0.04
    toes: float = 0.04
    sole: float = 0.02
    least: float = 0.03


@dataclass(frozen=True, eq=False)
class Shapes:
    """Capsules and contact points of a character.

    Args:
        capsules: `(bones, 8)`: joint, both ends in its frame, radius; metres.
        carriers: `(points,)`, joints of the contact points.
        spheres: `(points, 4)`, their centres in the joints' frames and radii, 0 for corners of boxes.
    """

    capsules: Array
    carriers: Integers
    spheres: Array

    @classmethod
    def of(cls, character: PhysicalCharacter, settings: FootSettings | None = None) -> Shapes:
        """The shapes of a character's bones.

        >>> import marey
        >>> from marey.body import PoseModel
        >>> shapes = Shapes.of(PhysicalCharacter.of(PoseModel.fit([marey.samples.walk()], modes=2)))
        >>> int((shapes.spheres[:, 3] == 0).sum())  # corners of two feet
        16
        """
        options = settings or FootSettings()
        skeleton, bones = character.skeleton, character.bones
        legs = anatomy(skeleton).legs
        feet = {joint for leg in legs for end in (leg.end, leg.tip) if end >= 0 for joint in [end]}
        below = {joint for foot in feet for joint in skeleton.descendants(foot)}
        capsules, points = [], []
        ends: list[tuple[Array, float]] = []
        places = skeleton.rest_positions()
        for joint in range(skeleton.joints):
            long = np.linalg.norm(bones.tips[joint]) > options.least
            if joint in feet | below or not (long or joint == 0):
                continue
            radius = float(bones.radii[joint])
            capsules.append([joint, 0.0, 0.0, 0.0, *bones.tips[joint], radius])
            for point in (np.zeros(3), bones.tips[joint]):
                # At rest all joints' frames are the world's. One sphere where two capsules meet.
                at = places[joint] + point
                if all(np.linalg.norm(at - other) > 0.01 or radius > size for other, size in ends):
                    ends.append((at, radius))
                    points.append((joint, [*point, radius]))
        for leg in legs:
            points += [(joint, [*corner, 0.0]) for joint, corner in _box(skeleton, leg, options)]
        carriers = np.array([joint for joint, _ in points], dtype=np.int64)
        return cls(np.array(capsules).reshape(-1, 8), carriers, np.array([p for _, p in points]))


def _box(skeleton: Skeleton, leg: Limb, options: FootSettings) -> list[tuple[int, Array]]:
    """Corners of a foot: joints and points in their frames."""
    low, forward = skeleton.rest_positions(), anatomy(skeleton).forward
    side = np.cross([0.0, 1.0, 0.0], forward)
    ball = leg.tip if leg.tip >= 0 else leg.end
    sole = min(low[ball, 1], low[leg.end, 1] - 0.03) - options.sole
    found = []
    for joint, along, top in (
        (leg.end, -options.behind, low[leg.end, 1]),
        (ball, options.before, sole + options.toes),
    ):
        for across in (-options.half_width, options.half_width):
            for height in (sole, top):
                up = np.array([0.0, height - low[joint, 1], 0.0])
                found.append((joint, along * forward + across * side + up))
    return found


def planes(settings: SimulationSettings) -> Array:
    """Planes of a simulation `(planes, 10)`: unit normal, offset, two tangents."""
    given = [(0.0, 1.0, 0.0, settings.floor)] * settings.ground + list(settings.planes)
    made = []
    for *normal, offset in given:
        length = float(np.linalg.norm(normal))
        n = np.array(normal) / length
        first = np.eye(3)[np.abs(n).argmin()]
        first = first - (first @ n) * n
        first /= np.linalg.norm(first)
        made.append([*n, offset / length, *first, *np.cross(n, first)])
    return np.array(made, dtype=np.float64).reshape(-1, 10)
