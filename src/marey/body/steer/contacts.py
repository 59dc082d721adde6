"""Feet in contact while a clip is steered: they stay where the original has them, unless they are targets.

A foot whose target is elsewhere on the ground has its whole contact there, if that is short; one that is
lifted, or is in contact for long, is released meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marey._arrays import Array, BoolArray, runs
from marey.body.anatomy import anatomy
from marey.body.feet import bend_legs, contacts, foot_joints, ground_heights
from marey.body.feet.contacts import foot_positions
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.body.steer.displacement import Observations
from marey.body.steer.requests import Target, Window, covered
from marey.geometry.fades import fade

# Metres: how exactly feet are held, and how far up a foot leaves the ground.
HELD, LIFTED = 5e-4, 0.03
# Seconds: between frames at which feet are held; the longest contact that is moved as a whole; a displaced
# foot is not in contact where it was so soon before or after; over which a leg is bent beside a contact.
EVERY, LONGEST, TOO_SOON, FADE = 0.05, 1.2, 0.25, 0.1


class ContactPlan(NamedTuple):
    """Where feet are to be held.

    Attributes:
        joints: Joints that touch the ground.
        contact: `(frames, joints)`, while they are held.
        positions: `(frames, joints, 3)`, where, metres.
        floor: `(frames, joints)`, heights below which they never are, metres.
        moved: First and last frame of the contact that goes with each target, or None.
    """

    joints: tuple[int, ...]
    contact: BoolArray
    positions: Array
    floor: Array
    moved: list[tuple[int, int] | None]

    def observations(self, windows: list[Window], rate: float) -> Observations:
        """Feet at some of the frames in which they are held within the windows."""
        every = max(1, round(EVERY * rate))
        inside = covered(windows, len(self.contact))
        found = [np.empty((0, 2), dtype=np.intp)]
        for column in range(len(self.joints)):
            for first, stop in runs(self.contact[:, column] & inside):
                at = np.unique(np.append(np.arange(first, stop, every), stop - 1))
                found.append(np.stack([at, np.full(len(at), column)], axis=1))
        frames, columns = np.concatenate(found).T
        joints = np.asarray(self.joints, dtype=np.intp)[columns]
        count = len(frames)
        held = self.positions[frames, columns]
        return Observations(frames, joints, np.zeros((count, 3)), held, np.full(count, HELD))


def plan_contacts(motion: Motion, targets: list[Target], *, release: bool = False) -> ContactPlan:
    """Where the feet of a clip are in contact and to be held, given their targets.

    Args:
        release: Hold feet that have targets nowhere, instead of moving their contact.
    """
    joints, contact = foot_joints(motion.skeleton), contacts(motion)
    positions = np.array(foot_positions(motion), dtype=np.float64)
    floor = np.minimum(positions[..., 1], ground_heights(motion))
    moved: list[tuple[int, int] | None] = []
    for target in targets:
        columns = np.flatnonzero(np.isin(joints, list(foot_of(motion, target))))
        own = contact[:, columns]
        near = _contact_near(np.asarray(own.any(axis=1)), target.frame, motion.frame_rate)
        whole = False
        if near is not None and not release:
            # A foot has its contact elsewhere, if that is short and it is not lifted.
            lifted = own[target.frame].any() and abs(target.offset[1]) > LIFTED
            short = near[1] - near[0] <= LONGEST * motion.frame_rate
            whole = bool(short and near[0] > 0 and near[1] < motion.frames - 1 and not lifted)
        moved.append(near if whole else None)
        if near is None:
            continue
        if whole:
            # A foot in the air comes down elsewhere, at the ground's height.
            along = [1.0, float(own[target.frame].any()), 1.0]
            positions[near[0] : near[1] + 1, columns] += target.offset * along
        else:
            contact[near[0] : near[1] + 1, columns] = False
    return ContactPlan(joints, contact, positions, floor, moved)


def settle(motion: Motion, targets: list[Target], plan: ContactPlan, windows: list[Window]) -> Motion:
    """The clip with the legs bent within the windows until feet are where they are held, to rounding.

    Other feet are lifted where they would sink into the ground. Feet with targets are left as they are: a
    contact beside a target may contradict it a little.
    """
    inside, pose = covered(windows, motion.frames), forward_kinematics(motion)
    frames = max(1, round(FADE * motion.frame_rate))
    busy = {joint for target in targets for joint in foot_of(motion, target)}
    goals: dict[int, Array] = {}
    for column, joint in enumerate(plan.joints):
        if joint not in busy:
            held, here = plan.contact[:, column] & inside, pose.positions[:, joint]
            shift = _faded(plan.positions[:, column] - here, held, frames)
            sunk = plan.floor[:, column] - here[:, 1] - shift[:, 1]
            shift[:, 1] += _lift(sunk, frames) * ~held
            goals[joint] = here + shift * inside[:, None]
    return bend_legs(motion, goals, inside)


def feet_stay(result: Motion, targets: list[Target], plan: ContactPlan, windows: list[Window]) -> bool:
    """Whether feet are within 1 cm of where they are held, those with targets within 8 cm."""
    away = np.linalg.norm(foot_positions(result) - plan.positions, axis=-1)
    away[~(plan.contact & covered(windows, result.frames)[:, None])] = 0.0
    busy = {joint for target in targets for joint in foot_of(result, target)}
    return bool((away < [0.08 if joint in busy else 0.01 for joint in plan.joints]).all())


def foot_of(motion: Motion, target: Target) -> set[int]:
    """Joints of the foot that a target is about; none if it is about another part."""
    for leg in anatomy(motion.skeleton).legs:
        below = {leg.end, *motion.skeleton.descendants(leg.end)}
        if target.joint in below:
            return below
    return set()


def _faded(off: Array, held: BoolArray, frames: int) -> Array:
    """Corrections where feet are held, fading beside: each frame takes that of the nearest held one."""
    at = np.flatnonzero(held)
    if not len(at):
        return np.zeros_like(off)
    nearest = at[np.abs(np.arange(len(held))[:, None] - at[None]).argmin(axis=1)]
    return np.asarray(fade(held, frames)[:, None] * off[nearest])


def _lift(sunk: Array, frames: int) -> Array:
    """What lifts by `sunk` `(frames,)` at least where that is above 0, smoothly."""
    from scipy.ndimage import gaussian_filter1d, maximum_filter1d

    wide = maximum_filter1d(np.maximum(sunk, 0.0), 2 * frames + 1, mode="nearest")
    return np.asarray(gaussian_filter1d(wide, 0.5 * frames, mode="nearest", truncate=2.0))


def _contact_near(held: BoolArray, frame: int, rate: float) -> tuple[int, int] | None:
    """First and last frame of the contact at a frame, with those that come too soon after it or before."""
    first = last = frame
    spells = runs(held)
    for a, b in spells:
        if a <= last + TOO_SOON * rate and b - 1 > last:
            last = b - 1
    for a, b in reversed(spells):
        if b - 1 >= first - TOO_SOON * rate and a < first:
            first = a
    inside = first + np.flatnonzero(held[first : last + 1])
    return (int(inside[0]), int(inside[-1])) if len(inside) else None
