"""Where the mass of a body is, as one point a joint: for steps measured by kinetic energy.

Shares of body mass by segment follow de Leva (1996, Journal of Biomechanics 29(9), men). Segments are
those of :func:`marey.body.anatomy.segments`; a skeleton whose names say nothing has its mass spread by bone
length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import FloatArray, assign, checked
from marey.body.anatomy import segments
from marey.body.skeleton import Skeleton

# Share of body mass of one segment; what no segment begins at (neck, fingers, toes) has none of its own.
SHARES = {
    "hand": 0.0061,
    "forearm": 0.0162,
    "upper arm": 0.0271,
    "foot": 0.0137,
    "thigh": 0.1416,
    "shank": 0.0433,
    "head": 0.0694,
    "trunk": 0.4346,
}


@dataclass(frozen=True, eq=False)
class PointMasses:
    """One mass a joint, in shares of the whole.

    masses: `(joints,)`; points: `(joints, 3)`, where it is in the joint's frame, metres

    >>> import marey
    >>> body = PointMasses.of(marey.samples.walk().skeleton)
    >>> float(body.masses.sum().round(6))
    1.0
    """

    masses: FloatArray
    points: FloatArray

    def __post_init__(self) -> None:
        masses = checked("masses", self.masses, (None,))
        assign(self, masses=masses, points=checked("mass points", self.points, (len(masses), 3)))

    @classmethod
    def none(cls, joints: int) -> PointMasses:
        """A body without mass."""
        return cls(np.zeros(joints), np.zeros((joints, 3)))

    @classmethod
    def of(cls, skeleton: Skeleton) -> PointMasses:
        """Masses at the middle of the segments."""
        points = np.zeros((skeleton.joints, 3))
        lengths = np.zeros(skeleton.joints)
        for joint in range(skeleton.joints):
            below = [skeleton.offsets[c] for c in skeleton.children(joint)]
            below += list(skeleton.end_offsets[skeleton.end_parents == joint])
            if below:
                points[joint] = 0.5 * np.mean(below, axis=0)
                lengths[joint] = np.linalg.norm(below, axis=1).max()
        masses = np.zeros(skeleton.joints)
        found = segments(skeleton)
        for kind, share in SHARES.items():
            members = [j for j, segment in enumerate(found) if segment == kind]
            sides = 1 if kind in ("trunk", "head") else 2
            masses[members] = sides * share / max(len(members), 1)
        if masses.sum() < 0.5:
            masses = lengths if lengths.sum() > 0 else np.ones(skeleton.joints)
        return cls(masses / masses.sum(), points)
