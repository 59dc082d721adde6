"""What a BVH file leaves unsaid, read off its contents: unit of length, up axis, exact frame rate."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from marey.body.kinematics import global_frames
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.geometry.convention import CMU_UNIT, UNITS, Convention, UpAxis

Array = NDArray[np.float64]

# The joints that only the skeletons of the CMU database have, in its ASF and in its BVH files.
CMU_JOINTS = {"lhipjoint", "rhipjoint", "lowerback"}

# A grown or half-grown person, metres. No two of the units below put one figure into it.
STATURES = (1.0, 2.2)
HUMAN_UNITS = ("m", "cm", "mm", "in")

# Stature over the longest way through the bones, hand to foot: 0.66-0.75 on rigs with hands and feet.
STATURE_OF_SPAN = 0.7

# How much longer than wide a figure must be along z to be taken for standing so.
CLEARLY = 1.5

USUAL_RATES = (10, 12, 15, 20, 24, 25, 30, 40, 48, 50, 60, 72, 75, 90, 100, 120, 125, 144, 150, 180, 200)
FAST_RATES = (240, 250, 300, 360, 400, 480, 500, 600, 1000)
BROADCAST_RATES = tuple(rate * 1000 / 1001 for rate in (24, 30, 48, 60, 120, 240))


def convention_read_back(motion: Motion, convention: Convention) -> Convention:
    """What our reader would take for the convention of a file with this motion, written in `convention`."""
    some = motion[:: -(-motion.frames // 32)]
    skeleton = replace(
        some.skeleton,
        offsets=convention.from_marey(some.skeleton.offsets),
        end_offsets=convention.from_marey(some.skeleton.end_offsets),
    )
    slid = None if some.translations is None else convention.from_marey(some.translations)
    rotations = convention.rotations_from_marey(some.rotations.astype(np.float64))
    return Convention(
        unit=guess_unit(skeleton, convention.from_marey(some.skeleton.offsets) if slid is None else slid[0]),
        up=guess_up(skeleton, rotations, convention.from_marey(some.root), slid),
    )


def guess_unit(skeleton: Skeleton, positions: Array) -> float:
    """Metres per unit of a file, from the names of its joints or the size of its figure.

    A CMU rig counts in CMU's own unit. Otherwise it is the unit (m, cm, mm or in) in which the figure is
    as tall as a person; and cm where none is: a hand, a mug.

    positions: `(joints, 3)`, of the joints in their parents' frames, in the file's unit
    """
    stature = STATURE_OF_SPAN * longest_way(skeleton, positions)
    if {name.lower() for name in skeleton.names} >= CMU_JOINTS and 0.8 <= stature * CMU_UNIT <= 2.5:
        return CMU_UNIT
    fitting = [UNITS[u] for u in HUMAN_UNITS if STATURES[0] <= stature * UNITS[u] <= STATURES[1]]
    return fitting[0] if fitting else UNITS["cm"]


def guess_up(skeleton: Skeleton, rotations: Array, root: Array, translations: Array | None) -> UpAxis:
    """z if the rest pose and the typical pose both stand along z, clearly so; y otherwise.

    One alone is not enough: a crawling or lying figure of a y-up file is long along z too.
    """
    if not _clearly_along_z(_rest_positions(skeleton)[None]):
        return "y"
    some = slice(None, None, -(-len(root) // 32))
    slid = None if translations is None else translations[some]
    pose = global_frames(skeleton.parents, skeleton.offsets, rotations[some], root[some], translations=slid)
    return "z" if _clearly_along_z(pose.positions) else "y"


def exact_rate(frame_time: str) -> float:
    """Frames per second of a printed frame time: a usual or whole rate where the printed digits allow it.

    >>> exact_rate(".0083333"), exact_rate("0.033333"), round(exact_rate("0.0333667"), 6)
    (120.0, 30.0, 29.97003)
    """
    seconds = float(frame_time)
    last_digit = float(Decimal(frame_time).as_tuple().exponent)
    # Digits may be cut off instead of rounded; some files print all digits of a 32-bit float.
    doubt = max(10.0 ** min(last_digit, 0.0), 6e-8 * seconds)
    for rates, share in (
        (USUAL_RATES + FAST_RATES, 1.0),
        ((round(1 / seconds),), 0.5),
        (BROADCAST_RATES, 0.5),
    ):
        errors = [abs(1 / rate - seconds) if rate else np.inf for rate in rates]
        best = int(np.argmin(errors))
        if errors[best] <= share * doubt and errors[best] < 0.05 * seconds:
            return float(rates[best])
    return 1.0 / seconds


def longest_way(skeleton: Skeleton, positions: Array) -> float:
    """Length of the longest way through the bones from one end to another: the same in every pose."""
    lengths = np.linalg.norm(positions, axis=1).tolist()
    ends: dict[int, list[float]] = {}
    for joint, length in zip(skeleton.end_parents.tolist(), np.linalg.norm(skeleton.end_offsets, axis=1)):
        ends.setdefault(joint, []).append(float(length))
    longest = 0.0
    # The longest branch below each joint; none yet.
    reach = [-np.inf] * skeleton.joints
    for joint in range(skeleton.joints - 1, -1, -1):
        for branch in ends.get(joint, []):
            longest = max(longest, reach[joint] + branch)
            reach[joint] = max(reach[joint], branch)
        parent = int(skeleton.parents[joint])
        if parent >= 0:
            branch = max(reach[joint], 0.0) + lengths[joint]
            longest = max(longest, reach[parent] + branch)
            reach[parent] = max(reach[parent], branch)
    return longest


def _rest_positions(skeleton: Skeleton) -> Array:
    """Positions `(joints, 3)` of the joints with no rotation anywhere."""
    positions = skeleton.offsets.tolist()
    for joint, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            positions[joint] = [a + b for a, b in zip(positions[joint], positions[parent], strict=True)]
    return np.array(positions)


def _clearly_along_z(positions: Array) -> bool:
    """Whether the typical pose of `(frames, joints, 3)` is much longer along z than along y."""
    _, along_y, along_z = np.median(np.ptp(positions, axis=1), axis=0)
    return bool(along_z > CLEARLY * along_y)
