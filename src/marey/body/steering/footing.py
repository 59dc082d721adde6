"""Feet that stand while a clip is steered: they stay where the original has them, unless they are asked for.

A foot that is asked to be elsewhere on the ground takes its whole stand there, if that is short; one that is
lifted, or that stands for long, is let go while it stands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, runs
from marey.body.feet import bend_leg, contacts, foot_joints, ground_heights, legs
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.body.steering.conditioning import Observations
from marey.body.steering.process import Span
from marey.body.steering.requests import Goal
from marey.geometry import rotations as so3
from marey.geometry.fades import fade

# Metres: how exactly feet are held, and how far up a foot leaves the ground.
HELD, LIFTED = 5e-4, 0.03
# Seconds between frames at which standing feet are held, and the longest stand that is moved as a whole.
EVERY, LONGEST = 0.05, 1.2
# Seconds: a foot that is displaced cannot stand where it was so soon before or after.
TOO_SOON = 0.25
# Seconds over which a leg is bent before and after a stand.
FADE = 0.1


class Footing(NamedTuple):
    """Where feet stand.

    joints: joints that can stand; standing: `(frames, joints)`, while they are to be held
    places: `(frames, joints, 3)`, where, metres; floor: `(frames, joints)`, the height they keep above
    stands: frames `[first, last]` of the stand that goes with each goal, or None
    """

    joints: tuple[int, ...]
    standing: NDArray[np.bool_]
    places: Array
    floor: Array
    stands: list[tuple[int, int] | None]

    def covered(self, spans: list[Span]) -> NDArray[np.bool_]:
        """Frames strictly within any of the spans."""
        t = np.arange(len(self.standing))
        return np.asarray(np.any([(t > span.start) & (t < span.end) for span in spans], axis=0))


def footing(motion: Motion, asked: list[Goal], *, let_go: bool = False) -> Footing:
    """Where the feet of a clip stand and are to be held, given what is asked of them.

    let_go: feet that are asked for are held nowhere, rather than to take their stand elsewhere
    """
    joints = foot_joints(motion.skeleton)
    standing = contacts(motion) if joints else np.zeros((motion.frames, 0), dtype=bool)
    places = np.array(motion.positions()[:, list(joints)], dtype=np.float64)
    floor = np.minimum(places[..., 1], ground_heights(motion)) if joints else places[..., 1]
    stands: list[tuple[int, int] | None] = []
    for goal in asked:
        columns = [i for i, joint in enumerate(joints) if joint in foot_of(motion, goal)]
        stand = (
            _stand(np.asarray(standing[:, columns].any(axis=1)), goal.frame, motion.frame_rate)
            if columns
            else None
        )
        whole = not let_go and stand is not None and _moves_whole(motion, goal, stand, standing[:, columns])
        stands.append(stand if whole else None)
        if stand is not None and whole:
            # A foot in the air comes down elsewhere, at the ground's height.
            on_ground = standing[goal.frame, columns].any()
            places[stand[0] : stand[1] + 1, columns] += goal.way * [1.0, float(on_ground), 1.0]
        elif stand is not None:
            standing[stand[0] : stand[1] + 1, columns] = False
    return Footing(joints, standing, places, floor, stands)


def held_feet(ground: Footing, spans: list[Span], rate: float) -> Observations:
    """Feet at some of the frames in which they stand within the spans."""
    frames, columns = [], []
    every = max(1, round(EVERY * rate))
    inside = ground.covered(spans)
    for column in range(len(ground.joints)):
        for a, b in runs(ground.standing[:, column] & inside):
            chosen = np.unique(np.append(np.arange(a, b, every), b - 1))
            frames.append(chosen)
            columns.append(np.full(len(chosen), column))
    at = np.concatenate([*frames, np.empty(0, dtype=np.intp)]).astype(np.intp)
    which = np.concatenate([*columns, np.empty(0, dtype=np.intp)]).astype(np.intp)
    joints = np.asarray(ground.joints, dtype=np.intp)[which] if len(which) else which
    return Observations(at, joints, np.zeros((len(at), 3)), ground.places[at, which], np.full(len(at), HELD))


def settled(motion: Motion, asked: list[Goal], ground: Footing, spans: list[Span]) -> Motion:
    """The clip with the legs bent within the spans until standing feet are where they stand, to rounding.

    Other feet are lifted where they would sink into the ground. Feet that are asked for are left as they are:
    a stand beside the request may contradict it a little.
    """
    inside = ground.covered(spans)
    parents = np.asarray(motion.skeleton.parents, dtype=np.int64)
    rotations, pose = np.array(motion.rotations, dtype=np.float64), forward_kinematics(motion)
    column = {joint: i for i, joint in enumerate(ground.joints)}
    faded = max(1, round(FADE * motion.frame_rate))
    busy = {joint for goal in asked for joint in foot_of(motion, goal)}
    for leg in (leg for leg in legs(motion.skeleton) if leg.ankle not in busy):
        goals: list[Array] = []
        for joint in (j for j in (leg.ankle, leg.toe) if j >= 0):
            held = ground.standing[:, column[joint]] & inside
            off = ground.places[:, column[joint]] - pose.positions[:, joint]
            led = _led_over(off, held, faded)
            sunk = ground.floor[:, column[joint]] - pose.positions[:, joint, 1] - led[:, 1]
            led[:, 1] += _lifted(sunk, faded) * ~held
            goals.append(pose.positions[:, joint] + led * inside[:, None])
        bend_leg(rotations, parents, pose, leg, goals[0], goals[1] if len(goals) > 1 else None)
    flipped = np.einsum("tja,tja->tj", rotations, motion.rotations) < 0
    bent = so3.normalise(np.where(flipped[..., None], -rotations, rotations))
    return replace(motion, rotations=np.where(inside[:, None, None], bent, motion.rotations))


def foot_of(motion: Motion, goal: Goal) -> set[int]:
    """Joints of the foot that a goal is about; none if it is about another part."""
    for leg in legs(motion.skeleton):
        below = set(motion.skeleton.descendants(leg.ankle)) | {leg.ankle}
        if goal.joint in below:
            return below
    return set()


def _led_over(off: Array, held: NDArray[np.bool_], frames: int) -> Array:
    """Corrections where feet are held, fading beside: each frame takes that of the nearest held one."""
    at = np.flatnonzero(held)
    if not len(at):
        return np.zeros_like(off)
    nearest = at[np.abs(np.arange(len(held))[:, None] - at[None]).argmin(axis=1)]
    return np.asarray(fade(held, frames)[:, None] * off[nearest])


def _lifted(sunk: Array, fade: int) -> Array:
    """What lifts by `sunk` `(frames,)` at least where that is above 0, smoothly."""
    from scipy.ndimage import gaussian_filter1d, maximum_filter1d

    if sunk.max(initial=0.0) <= 0:
        return np.zeros_like(sunk)
    wide = maximum_filter1d(np.maximum(sunk, 0.0), 2 * fade + 1, mode="nearest")
    return np.asarray(gaussian_filter1d(wide, 0.5 * fade, mode="nearest", truncate=2.0))


def _stand(held: NDArray[np.bool_], frame: int, rate: float) -> tuple[int, int] | None:
    """First and last frame of the stand at a frame, with those that come too soon after it or before."""
    near = TOO_SOON * rate
    first = last = frame
    stands = runs(held)
    for a, b in stands:
        if a <= last + near and b - 1 > last:
            last = b - 1
    for a, b in reversed(stands):
        if b - 1 >= first - near and a < first:
            first = a
    inside = np.flatnonzero(held[first : last + 1])
    return (first + int(inside[0]), first + int(inside[-1])) if len(inside) else None


def _moves_whole(motion: Motion, goal: Goal, stand: tuple[int, int], standing: NDArray[np.bool_]) -> bool:
    """Whether a foot takes its stand elsewhere, rather than to be let go."""
    first, last = stand
    short = (last - first) <= LONGEST * motion.frame_rate
    lifted = standing[goal.frame].any() and abs(goal.way[1]) > LIFTED
    return bool(short and first > 0 and last < motion.frames - 1 and not lifted)
