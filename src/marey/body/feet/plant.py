"""Planted feet: the clip in which feet in contact do not slide, solved for all frames at once.

Sliding feet are the admitted defect of simulated motion (Courty & Cuzol 2010, section 6). Feet in contact do
not move, no foot goes below the ground, no joint beyond its limits, and the legs and the root's path change
as little and as smoothly as possible: Gauss–Newton steps on a banded least squares, whose smooth solution is
interpolated. O(frames), some milliseconds a second of motion and step.

Legs are also bent so that ankle and toe come to given places, in closed form for two bones: the knee turns
about its hinge until hip and ankle are as far apart as asked, the hip turns the leg there, the ankle turns
the foot. Near full stretch the reach is softened, so that the knee never snaps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, BoolArray, IntArray, checked, read_only
from marey.body.anatomy import Limb, anatomy
from marey.body.feet.contacts import FeetSettings, checked_contacts, foot_joints, ground_heights
from marey.body.kinematics import GlobalPose, forward_kinematics
from marey.body.limits.limits import CompiledLimits
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3


@dataclass(frozen=True)
class PlantSettings:
    """Numbers of the planter. Weights are relative to 1 for a metre by which a foot is moved.

    Attributes:
        rate: Frames a second, about, at which changes are solved for.
        steps: Gauss–Newton steps at most; after `whole` ones they are shortened to `relax`, since limits that
            are left and entered in turn would make whole steps oscillate.
        largest: Radians that a joint turns in one step at most.
        tolerance: Radians and metres of a step below which they end.
        leg_hz, root_hz: How fast legs, and the root, may be changed beside what feet in contact ask for.
        slide, lift, limit: Weights of a step of a foot in contact at 30 frames a second, of heights, and of
            radians beyond limits.
        root: Weight of a metre by which the root is moved: up or down, and sideways if it is firm.
        arms: Metres that a turn of a radian at hip, knee and ankle counts as.
    """

    rate: float = 60.0
    steps: int = 8
    whole: int = 3
    relax: float = 0.7
    largest: float = 0.5
    tolerance: float = 2e-3
    leg_hz: float = 2.0
    root_hz: float = 0.7
    slide: float = 3e4
    lift: float = 1e4
    limit: float = 3e3
    root: float = 0.3
    arms: tuple[float, float, float] = (0.9, 0.45, 0.2)


SETTINGS = PlantSettings()


def plant(
    motion: Motion,
    contact: ArrayLike,
    *,
    heights: ArrayLike | None = None,
    floor: ArrayLike | None = None,
    keep: ArrayLike | None = None,
    limits: CompiledLimits | None = None,
    root: Literal["follow", "firm"] = "follow",
    max_slide: float = 0.0,
    settings: PlantSettings = SETTINGS,
) -> Motion:
    """The clip with feet that stay where they are in contact and do not sink into the ground.

    Args:
        contact: `(frames, feet)`, as :func:`marey.body.feet.contacts` gives it.
        heights: `(feet,)`, metres, of feet on the ground; found in the clip if None.
        floor: `(frames, feet)`, metres, heights below which feet never are; 1 cm below `heights` if None.
        keep: `(frames,)`, frames whose pose stays as it is (their place may shift with the root).
        limits: Limits of the joints; none if None.
        root: "follow" if feet may lead the root's path anywhere, "firm" if it should stay near.
        max_slide: Metres a second that a foot in contact may go on sliding.

    >>> import marey
    >>> from marey.body.feet import contacts, slide_speed
    >>> walk = marey.samples.walk()
    >>> contact = contacts(walk)
    >>> slide_speed(plant(walk, contact), contact) < 0.02
    True
    """
    mask = checked_contacts(motion, contact)
    frames, feet = mask.shape
    if root not in ("follow", "firm"):
        raise InputError(f"root {root!r}: one of follow, firm")
    kept = np.zeros(frames, bool) if keep is None else checked("keep", keep, (frames,), dtype=bool)
    ground = ground_heights(motion) if heights is None else checked("heights", heights, (feet,))
    low = ground - FeetSettings.sink if floor is None else checked("floor", floor, (frames, feet))
    every = max(1, round(motion.frame_rate / settings.rate))
    at = np.round(np.linspace(0, frames - 1, (frames - 1) // every + 1)).astype(np.intp)
    if len(at) < 4 or not feet:
        return motion
    rate = motion.frame_rate * (len(at) - 1) / (frames - 1)
    high = np.where(mask, ground + FeetSettings.hysteresis * FeetSettings.height, np.inf)
    still = np.zeros(len(at), dtype=bool)
    places = np.searchsorted(at, np.flatnonzero(kept))
    still[places] = still[np.maximum(places - 1, 0)] = True
    problem = _Problem(_legs(motion, at, limits), rate, settings, root)
    bounds = np.broadcast_to(low, mask.shape)[at], high[at]
    change = problem.solve(mask[at], bounds, still, max_slide)
    if len(at) < frames:
        from scipy.interpolate import CubicSpline

        change = CubicSpline(at, change)(np.arange(frames))
    rotations = np.array(motion.rotations, dtype=np.float64)
    for number, leg in enumerate(anatomy(motion.skeleton).legs):
        joints, first = [leg.root, leg.middle, leg.end], 3 + 9 * number
        turns = change[:, first : first + 9].reshape(-1, 3, 3)
        rotations[:, joints] = so3.multiply(rotations[:, joints], so3.exp(turns))
    rotations[kept] = motion.rotations[kept]
    path = motion.root + change[:, :3]
    return replace(motion, rotations=so3.continuous(so3.normalise(rotations)), root=path)


class _Leg(NamedTuple):
    """A leg in the kernel's terms: which foot joints its points are, its chain, and its limits."""

    points: list[int]
    chain: tuple[Array, Array, Array, Array, NDArray[np.int64], NDArray[np.int64]]
    limits: tuple[int, NDArray[np.int64], Array, Array]


def _legs(motion: Motion, at: NDArray[np.intp], limits: CompiledLimits | None) -> list[_Leg]:
    """The legs of a clip at some of its frames."""
    pose = forward_kinematics(motion)
    turned, places = pose.rotations[at], pose.positions[at]
    parents, feet = motion.skeleton.parents, foot_joints(motion.skeleton)
    row: dict[int, int] = {}
    centres, parameters = np.zeros((0, 4)), np.zeros((0, 6))
    if limits is not None:
        row = {joint: number for number, joint in enumerate(limits.joints.tolist())}
        centres, parameters = np.array(limits.centres), np.array(limits.parameters)
    found = []
    for leg in anatomy(motion.skeleton).legs:
        joints = _chain(parents, leg.root, leg.tip if leg.tip >= 0 else leg.end)
        points = [joint for joint in (leg.end, leg.tip) if joint >= 0]
        turning = [leg.root, leg.middle, leg.end]
        moved = np.diff(places[:, joints], axis=1)
        chain = (
            np.ascontiguousarray(turned[:, int(parents[leg.root])]),
            np.ascontiguousarray(places[:, leg.root]),
            np.ascontiguousarray(motion.rotations[at][:, joints], dtype=np.float64),
            np.ascontiguousarray(so3.rotate(so3.inverse(turned[:, joints[:-1]]), moved)),
            np.array([turning.index(j) if j in turning else -1 for j in joints]),
            np.array([points.index(j) if j in points else -1 for j in joints]),
        )
        limited = [row.get(joint, -1) for joint in turning]
        # Read-only as those of inverse kinematics, so that kernels of limits are compiled once.
        rows = limits.kind if limits else 0, np.array(limited), read_only(centres), read_only(parameters)
        found.append(_Leg([feet.index(joint) for joint in points], chain, rows))
    return found


@dataclass(frozen=True, eq=False)
class _Problem:
    """Changes of the root's place and of three joints a leg, for every frame."""

    legs: list[_Leg]
    rate: float
    settings: PlantSettings
    root: str

    def solve(
        self, contact: BoolArray, bounds: tuple[Array, Array], still: BoolArray, max_slide: float
    ) -> Array:
        """Changes `(frames, 3 + 9 legs)`: metres of the root, rotation vectors of hip, knee and ankle."""
        from scipy.linalg import solveh_banded

        from marey.body.feet import _kernels

        s, frames, size = self.settings, len(contact), 3 + 9 * len(self.legs)
        change, fixed = np.zeros((frames, size)), np.zeros((frames, size), dtype=bool)
        fixed[still, 3:] = True
        fixed[0, [0, 2]] = True
        # A step is a speed times a time: weighed so that a speed counts the same at every rate.
        weights = s.slide * (self.rate / 30.0) ** 2, s.lift, s.limit
        slide = max_slide / self.rate
        asked = [
            (
                np.append([0, 1, 2], 3 + 9 * number + np.arange(9)),
                leg.chain,
                leg.limits,
                tuple(np.ascontiguousarray(bound[:, leg.points]) for bound in bounds),
                np.ascontiguousarray(contact[:, leg.points]),
            )
            for number, leg in enumerate(self.legs)
        ]
        for count in range(s.steps):
            band, right = self._smooth_normal(change)
            for columns, chain, limits, *own in asked:
                _kernels.add_leg(band, right, columns, chain, limits, change, *own, slide, weights)
            _eliminate(band, right, np.flatnonzero(fixed))
            flat = solveh_banded(band.T, right.ravel(), lower=True, check_finite=False, overwrite_ab=True)
            step = flat.reshape(frames, size)
            step[:, 3:] = np.clip(step[:, 3:], -s.largest, s.largest)
            change = change + (step if count < s.whole else s.relax * step)
            if np.abs(step).max() < s.tolerance:
                break
        return change

    def _smooth_normal(self, change: Array) -> tuple[Array, Array]:
        """Normal equations that keep changes small and smooth.

        Lower diagonals of the matrix `(frames · unknowns, 2 unknowns + 1)`, a row a column of it, and the
        right side `(frames, unknowns)`.
        """
        frames, size = change.shape
        s = self.settings
        squares = np.tile(np.square(np.repeat(s.arms, 3)), len(self.legs))
        # Feet may carry a root that follows anywhere over the ground, but not up or down.
        sideways = 1e-6 if self.root == "follow" else s.root
        weights = np.concatenate([[sideways, s.root, sideways], squares])
        bends = np.concatenate([np.full(3, s.root / s.root_hz**4), squares / s.leg_hz**4])
        bends *= (self.rate / (2 * np.pi)) ** 4
        curvature = bends * np.diff(change, 2, axis=0)
        right = -weights * change
        band = np.zeros((frames, size, 2 * size + 1))
        band[..., 0] = weights
        for lag, factor in ((0, 1.0), (1, -2.0), (2, 1.0)):
            rows = slice(lag, frames - 2 + lag)
            right[rows] -= factor * curvature
            band[rows, :, 0] += factor**2 * bends
            for further, other in ((1, -2.0), (2, 1.0)):
                if lag < further:
                    band[rows, :, (further - lag) * size] += factor * other * bends
        return band.reshape(frames * size, -1), right


def _eliminate(band: Array, right: Array, fixed: NDArray[np.intp]) -> None:
    """Take unknowns that stay what they are out of normal equations, in place."""
    right.ravel()[fixed] = 0.0
    band[fixed] = 0.0
    band[fixed, 0] = 1.0
    for below in range(1, band.shape[1]):
        band[fixed[fixed >= below] - below, below] = 0.0


# Share of a leg's length from which its reach is softened, and which it never passes.
SOFT, FULL = 0.97, 0.9995


def bend_legs(motion: Motion, goals: Mapping[int, Array], where: BoolArray) -> Motion:
    """The clip whose legs bend so that feet are where they should be in some of the frames.

    Args:
        goals: `(frames, 3)`, metres, of ankles and toes by joint; a leg whose ankle has none stays.
        where: `(frames,)`, frames that change; the others stay bit by bit.
    """
    rotations, pose = np.array(motion.rotations, dtype=np.float64), forward_kinematics(motion)
    parents = np.asarray(motion.skeleton.parents, dtype=np.int64)
    for leg in (leg for leg in anatomy(motion.skeleton).legs if leg.end in goals):
        bend_leg(rotations, parents, pose, leg, goals[leg.end], goals.get(leg.tip))
    bent = so3.normalise(so3.like(rotations, motion.rotations))
    return replace(motion, rotations=np.where(where[:, None, None], bent, motion.rotations))


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
    hinge, backwards = _hinge(turned[:, leg.root], hip, knee, foot)
    angle = _knee_angle(thigh, shin, now)
    change = _knee_angle(thigh, shin, wanted) - np.where(backwards, 2 * np.pi - angle, angle)
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
    above = turned[:, parents[leg.root]]
    for joint in _chain(parents, leg.root, leg.end):
        # A joint between two of the leg's turns with the one above it.
        carried = whole[joint] if joint in whole else so3.multiply(above, rotations[:, joint])
        if joint in whole:
            rotations[:, joint] = so3.multiply(so3.inverse(above), carried)
        above = carried


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


def _hinge(turned: Array, hip: Array, knee: Array, foot: Array) -> tuple[Array, BoolArray]:
    """Axis `(frames, 3)` about which the shin turns; where the leg is straight, that of other frames.

    Second: `(frames,)`, where the knee is bent otherwise than in most frames.
    """
    normal = np.cross(knee - hip, foot - knee)
    size = np.linalg.norm(normal, axis=-1, keepdims=True)
    usual = so3.rotate(so3.inverse(turned), normal).sum(axis=0)
    length = float(np.linalg.norm(usual))
    if length < 1e-12:
        usual, length = np.array([1.0, 0.0, 0.0]), 1.0
    typical = so3.rotate(turned, usual / length)
    thigh, shin = (np.linalg.norm(bone, axis=-1, keepdims=True) for bone in (knee - hip, foot - knee))
    sure = np.clip(size / np.maximum(0.1 * (thigh * shin), 1e-12), 0.0, 1.0)
    backwards = np.einsum("fi,fi->f", normal, typical) < 0.0
    normal = np.where(backwards[:, None], -normal, normal)
    return _unit(sure * normal / np.maximum(size, 1e-12) + (1.0 - sure) * typical), backwards


def _chain(parents: IntArray, first: int, last: int) -> list[int]:
    """Joints from one down to another."""
    chain = [last]
    while chain[-1] != first:
        chain.append(int(parents[chain[-1]]))
    return chain[::-1]


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))
