"""Legs bent so that the ankle and the toe come to given places: a closed form for two bones.

The knee turns about its hinge until hip and ankle are as far apart as asked, the hip turns the leg there,
the ankle turns the foot. Near full stretch the reach is softened, so that the knee never snaps. Nothing is
iterated: O(frames) a leg, and a leg that is asked to stay keeps its rotations.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.anatomy import legs_of
from marey.body.codec.end_joints import end_joints
from marey.body.kinematics import GlobalPose
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3

# Share of a leg's length from which its reach is softened, and which it never passes.
SOFT, FULL = 0.97, 0.9995


class Leg(NamedTuple):
    """Joints of a leg from above; toe is −1 where the skeleton has none."""

    hip: int
    knee: int
    ankle: int
    toe: int


@lru_cache(maxsize=16)
def legs(skeleton: Skeleton) -> tuple[Leg, ...]:
    """The legs of a skeleton, by the names and places of their joints; none if it has no feet.

    >>> import marey
    >>> skeleton = marey.samples.walk().skeleton
    >>> [skeleton.names[joint] for joint in legs(skeleton)[0]]
    ['LeftUpLeg', 'LeftLeg', 'LeftFoot', 'LeftToeBase']
    """
    found = []
    has_feet = any(end.part == "foot" for end in end_joints(skeleton))
    for limb in legs_of(skeleton) if has_feet else ():
        below = [j for j in skeleton.children(limb.lower) if _length(skeleton, j) > 0]
        toe = max(below, key=lambda j: ("toe" in skeleton.names[j].lower(), _length(skeleton, j)), default=-1)
        found.append(Leg(limb.upper, limb.middle, limb.lower, toe))
    return tuple(found)


def bend_leg(
    rotations: Array, parents: NDArray[np.int64], pose: GlobalPose, leg: Leg, ankle: Array, toe: Array | None
) -> None:
    """Turn hip, knee and ankle in `rotations` `(frames, joints, 4)`, in place.

    pose: world frames before
    ankle, toe: `(frames, 3)`, metres, where they should be
    """
    places, turned = pose.positions, pose.rotations
    hip, knee, foot = places[:, leg.hip], places[:, leg.knee], places[:, leg.ankle]
    thigh, shin = np.linalg.norm(knee - hip, axis=-1), np.linalg.norm(foot - knee, axis=-1)
    now = np.linalg.norm(foot - hip, axis=-1)
    wanted = softened(np.linalg.norm(ankle - hip, axis=-1), now, thigh + shin, np.abs(thigh - shin))
    change = _knee_angle(thigh, shin, wanted) - _knee_angle(thigh, shin, now)
    hinge = _hinge(turned[:, leg.hip], hip, knee, foot)
    at_knee = so3.exp(hinge * -change[:, None])
    bent = knee + so3.rotate(at_knee, foot - knee)
    at_hip = so3.between(_unit(bent - hip), _unit(ankle - hip))
    here = hip + so3.rotate(at_hip, bent - hip)

    whole = {leg.hip: so3.multiply(at_hip, turned[:, leg.hip])}
    whole[leg.knee] = so3.multiply(at_hip, so3.multiply(at_knee, turned[:, leg.knee]))
    whole[leg.ankle] = turned[:, leg.ankle]
    if toe is not None and leg.toe >= 0:
        sole = places[:, leg.toe] - foot
        swing = so3.between(_unit(sole), _unit(toe - here))
        whole[leg.ankle] = so3.multiply(swing, turned[:, leg.ankle])
    # A joint between two of the leg's turns with the one above it.
    carried = {leg.hip: whole[leg.hip]}
    chain = _chain(parents, leg)
    above = _above(turned, parents, leg.hip)
    for joint in chain:
        if joint in whole:
            carried[joint] = whole[joint]
            rotations[:, joint] = so3.multiply(so3.inverse(above), whole[joint])
        else:
            carried[joint] = so3.multiply(above, rotations[:, joint])
        above = carried[joint]


def softened(wanted: Array, now: Array, length: Array, shortest: Array) -> Array:
    """Distances that a leg can span: as asked up to where it is or nearly straight, then ever less."""
    most = np.maximum(FULL * length, np.minimum(now, length))
    soft = np.minimum(np.maximum(SOFT * length, now), most)
    room = np.maximum(most - soft, 1e-9)
    over = np.maximum(wanted - soft, 0.0)
    eased = np.where(over > 0, soft + room * (1.0 - np.exp(-over / room)), wanted)
    return np.asarray(np.maximum(eased, shortest + 0.05 * length))


def _knee_angle(thigh: Array, shin: Array, span: Array) -> Array:
    """Angle at the knee between the bones, π for a straight leg."""
    cosine = (thigh**2 + shin**2 - span**2) / np.maximum(2 * thigh * shin, 1e-12)
    return np.asarray(np.arccos(np.clip(cosine, -1.0, 1.0)))


def _hinge(turned: Array, hip: Array, knee: Array, foot: Array) -> Array:
    """Axis `(frames, 3)` about which the shin turns; where the leg is straight, that of other frames."""
    normal = np.cross(knee - hip, foot - knee)
    size = np.linalg.norm(normal, axis=-1, keepdims=True)
    usual = so3.rotate(so3.inverse(turned), normal).sum(axis=0)
    length = float(np.linalg.norm(usual))
    if length < 1e-12:
        usual, length = np.array([1.0, 0.0, 0.0]), 1.0
    typical = so3.rotate(turned, usual / length)
    bones = np.linalg.norm(knee - hip, axis=-1, keepdims=True) * np.linalg.norm(
        foot - knee, axis=-1, keepdims=True
    )
    sure = np.clip(size / np.maximum(0.1 * bones, 1e-12), 0.0, 1.0)
    blended = sure * normal / np.maximum(size, 1e-12) + (1.0 - sure) * typical
    return _unit(blended)


def _chain(parents: NDArray[np.int64], leg: Leg) -> list[int]:
    chain = [leg.ankle]
    while chain[-1] != leg.hip:
        chain.append(int(parents[chain[-1]]))
    return chain[::-1]


def _above(turned: Array, parents: NDArray[np.int64], joint: int) -> Array:
    return turned[:, parents[joint]]


def _length(skeleton: Skeleton, joint: int) -> float:
    return float(np.linalg.norm(skeleton.offsets[joint]))


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))
