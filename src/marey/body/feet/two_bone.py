"""Legs bent so that the ankle and the toe come to given places: a closed form for two bones.

The knee turns about its hinge until hip and ankle are as far apart as asked, the hip turns the leg there,
the ankle turns the foot. Near full stretch the reach is softened, so that the knee never snaps. Nothing is
iterated: O(frames) a leg, and a leg that is asked to stay keeps its rotations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.anatomy import Limb
from marey.body.kinematics import GlobalPose
from marey.geometry import rotations as so3

# Share of a leg's length from which its reach is softened, and which it never passes.
SOFT, FULL = 0.97, 0.9995


def bend_leg(
    rotations: Array, parents: NDArray[np.int64], pose: GlobalPose, leg: Limb, ankle: Array, toe: Array | None
) -> None:
    """Turn hip, knee and ankle in `rotations` `(frames, joints, 4)`, in place.

    Args:
        pose: world frames before.
        ankle, toe: `(frames, 3)`, metres, where they should be.
    """
    places, turned = pose.positions, pose.rotations
    hip, knee, foot = places[:, leg.root], places[:, leg.middle], places[:, leg.end]
    thigh, shin = np.linalg.norm(knee - hip, axis=-1), np.linalg.norm(foot - knee, axis=-1)
    now = np.linalg.norm(foot - hip, axis=-1)
    wanted = softened(np.linalg.norm(ankle - hip, axis=-1), now, thigh + shin, np.abs(thigh - shin))
    change = _knee_angle(thigh, shin, wanted) - _knee_angle(thigh, shin, now)
    hinge = _hinge(turned[:, leg.root], hip, knee, foot)
    at_knee = so3.exp(hinge * -change[:, None])
    bent = knee + so3.rotate(at_knee, foot - knee)
    at_hip = so3.between(_unit(bent - hip), _unit(ankle - hip))
    here = hip + so3.rotate(at_hip, bent - hip)

    whole = {leg.root: so3.multiply(at_hip, turned[:, leg.root])}
    whole[leg.middle] = so3.multiply(at_hip, so3.multiply(at_knee, turned[:, leg.middle]))
    whole[leg.end] = turned[:, leg.end]
    if toe is not None and leg.tip >= 0:
        sole = places[:, leg.tip] - foot
        swing = so3.between(_unit(sole), _unit(toe - here))
        whole[leg.end] = so3.multiply(swing, turned[:, leg.end])
    # A joint between two of the leg's turns with the one above it.
    carried = {leg.root: whole[leg.root]}
    chain = _chain(parents, leg)
    above = _above(turned, parents, leg.root)
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


def _chain(parents: NDArray[np.int64], leg: Limb) -> list[int]:
    chain = [leg.end]
    while chain[-1] != leg.root:
        chain.append(int(parents[chain[-1]]))
    return chain[::-1]


def _above(turned: Array, parents: NDArray[np.int64], joint: int) -> Array:
    return turned[:, parents[joint]]


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))
