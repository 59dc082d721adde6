"""Feet on the ground: when they stand, how far they slide, and clips in which they stay.

The source's variants slide (Courty & Cuzol 2010, section 6). A foot stands while its ankle or toe is slow and
near its lowest; sliding is then taken out by shifting feet and root as smoothly as possible (one banded least
squares over the clip) and bending the legs there in closed form. O(frames).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray, checked
from marey.body.ik.plants import ramps, runs
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.body.two_bone import Leg, bend_leg, legs
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous

Mask = NDArray[np.bool_]

# Metres a second and metres above rest below which a foot comes to stand; it stands until LEAVE times these.
SPEED, HEIGHT, LEAVE = 0.2, 0.03, 1.5
# A foot that swings fast rolls fast: it stands below this share of its swing's speed too.
SWING_SHARE = 0.04
# Seconds: speeds are taken over this, shorter stands and shorter gaps do not count.
WINDOW, SHORTEST, GAP = 1 / 30, 0.08, 0.04


class Sliding(NamedTuple):
    """How standing feet move over the ground.

    speed: mean horizontal speed, metres a second
    way: metres in all
    seconds: that a foot stood, summed over the feet
    """

    speed: float
    way: float
    seconds: float


def feet(skeleton: Skeleton) -> tuple[int, ...]:
    """Joints that can stand: ankle and toe of each leg; empty for a figure without feet.

    >>> import marey
    >>> skeleton = marey.samples.walk().skeleton
    >>> [skeleton.names[joint] for joint in feet(skeleton)]
    ['LeftFoot', 'LeftToeBase', 'RightFoot', 'RightToeBase']
    """
    return tuple(joint for leg in legs(skeleton) for joint in (leg.ankle, leg.toe) if joint >= 0)


def contacts(
    motion: Motion, *, speed: float | None = None, height: float = HEIGHT, levels: ArrayLike | None = None
) -> Mask:
    """Where the joints of :func:`feet` stand, `(frames, feet)`.

    speed: metres a second below which a joint comes to stand; it leaves above 1.5 times that; by
        :func:`standing_speed` if None
    height: metres above its level below which it comes to stand; it leaves above 1.5 times that
    levels: `(feet,)`, heights at rest, metres; found by :func:`rest_levels` if None

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> standing = contacts(walk)
    >>> standing.shape[1], bool(0.3 < standing.mean() < 0.9)
    (4, True)
    """
    joints = _feet_of(motion)
    places = motion.positions()[:, joints]
    rest = rest_levels(motion) if levels is None else checked("levels", levels, (len(joints),))
    moving = speeds(places, motion.frame_rate)
    speed = _standing_speed(moving) if speed is None else speed
    above = places[..., 1] - rest
    enter = (moving < speed) & (above < height)
    stay = (moving < LEAVE * speed) & (above < LEAVE * height)
    standing = np.zeros(enter.shape, dtype=bool)
    for foot in range(len(joints)):
        for a, b in runs(stay[:, foot]):
            standing[a:b, foot] = enter[a:b, foot].any()
        _tidy(standing[:, foot], motion.frame_rate)
    return standing


def standing_speed(motion: Motion) -> float:
    """Metres a second below which feet of a clip stand: 0.2, and more for a run."""
    return _standing_speed(speeds(motion.positions()[:, _feet_of(motion)], motion.frame_rate))


def rest_levels(motion: Motion) -> Array:
    """Height of each joint of :func:`feet` where it rests `(feet,)`, metres, the same left and right."""
    joints = _feet_of(motion)
    places = motion.positions()[:, joints]
    slow = speeds(places, motion.frame_rate) < SPEED
    found = np.array(
        [
            np.percentile(column[still], 20) if still.sum() > 3 else np.percentile(column, 2)
            for column, still in zip(places[..., 1].T, slow.T, strict=True)
        ]
    )
    found = np.minimum(found, np.percentile(places[..., 1], 5, axis=0) + HEIGHT)
    kinds = ["toe" if any(leg.toe == j for leg in legs(motion.skeleton)) else "ankle" for j in joints]
    for kind in set(kinds):
        same = [i for i, k in enumerate(kinds) if k == kind]
        found[same] = found[same].min() + np.minimum(found[same] - found[same].min(), HEIGHT / 2)
    return found


def sliding(motion: Motion, standing: ArrayLike) -> Sliding:
    """How far standing feet slide, with `standing` `(frames, feet)` as :func:`contacts` gives it.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> sliding(walk, contacts(walk)).speed < 0.2
    True
    """
    joints = _feet_of(motion)
    stands = _standing(standing, motion, joints)
    steps = np.diff(motion.positions()[:, joints][..., [0, 2]], axis=0)
    both = stands[1:] & stands[:-1]
    way = float(np.linalg.norm(steps, axis=-1)[both].sum())
    seconds = float(both.sum()) / motion.frame_rate
    return Sliding(way / seconds if seconds else 0.0, way, seconds)


def speeds(places: FloatArray, frame_rate: float) -> Array:
    """Speeds `(frames, points)` over a thirtieth of a second, metres a second, whatever the frame rate."""
    frames = len(places)
    half = max(1, round(0.5 * WINDOW * frame_rate))
    before = np.maximum(np.arange(frames) - half, 0)
    after = np.minimum(np.arange(frames) + half, frames - 1)
    span = np.maximum(after - before, 1)[:, None]
    return np.asarray(np.linalg.norm(places[after] - places[before], axis=-1) * frame_rate / span)


def hold_feet(
    motion: Motion,
    standing: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    kept: ArrayLike | None = None,
    roam: float = 0.0,
    slack: float = 0.0,
) -> Motion:
    """The clip with feet that stay where they stand and do not sink into the ground.

    standing: `(frames, feet)`, as :func:`contacts` gives it
    levels: `(feet,)`, heights at rest, metres; found in the clip if None
    kept: `(frames,)`, frames whose pose must stay as it is (their place may shift with the root's path)
    roam: seconds over which the root's path may be led away by the feet; 0 brings it back at once, infinity
        lets the feet carry the root wherever they go
    slack: metres a second that a standing foot may go on rolling or sliding

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> stands = contacts(walk)
    >>> sliding(hold_feet(walk, stands), stands).speed < 0.02
    True
    """
    joints = _feet_of(motion)
    stands = _standing(standing, motion, joints)
    still = (
        np.zeros(motion.frames, bool) if kept is None else checked("kept", kept, (motion.frames,), dtype=bool)
    )
    if not len(joints) or motion.frames < 3:
        return motion
    shifts, root = standing_shifts(motion, stands, levels=levels, kept=still, roam=roam, slack=slack)
    pose = forward_kinematics(motion)
    places = pose.positions[:, joints]
    moved = pose._replace(positions=pose.positions + root[:, None])
    rotations = np.array(motion.rotations, dtype=np.float64)
    parents = np.asarray(motion.skeleton.parents, dtype=np.int64)
    column = {joint: i for i, joint in enumerate(joints)}
    for leg in legs(motion.skeleton):
        goal = places[:, column[leg.ankle]] + shifts[:, column[leg.ankle]]
        toe = None
        if leg.toe >= 0:
            foot = [column[leg.ankle], column[leg.toe]]
            toe = places[:, foot[1]] + shifts[:, foot[1]]
            goal = goal + _foot_fitted(places[:, foot], goal, toe, stands[:, foot], motion.frame_rate)
        bend_leg(rotations, parents, moved, leg, goal, toe)
    rotations[still] = motion.rotations[still]
    path = motion.root + root
    translations = motion.translations
    if translations is not None:
        translations = np.concatenate([path[:, None], translations[:, 1:]], axis=1)
    return replace(
        motion, rotations=continuous(so3.normalise(rotations)), root=path, translations=translations
    )


def standing_shifts(
    motion: Motion,
    standing: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    kept: ArrayLike | None = None,
    roam: float = 0.0,
    slack: float = 0.0,
) -> tuple[Array, Array]:
    """Smoothest shifts of the feet `(frames, feet, 3)` and of the root `(frames, 3)` that let feet stand.

    The options are those of :func:`hold_feet`, which bends the legs there.
    """
    joints = _feet_of(motion)
    stands = _standing(standing, motion, joints)
    still = (
        np.zeros(motion.frames, bool) if kept is None else checked("kept", kept, (motion.frames,), dtype=bool)
    )
    rest = rest_levels(motion) if levels is None else checked("levels", levels, (len(joints),))
    places = forward_kinematics(motion).positions[:, joints]
    siblings = _siblings(motion, joints)
    return _shifts(places, stands, rest, still, motion.frame_rate, roam, slack, siblings)


# Hertz: how fast legs may be changed, and the root, beside what standing feet ask for.
_LEG_RATE, _ROOT_RATE = 2.0, 0.7
# Weights beside 1 for a metre by which a leg is stretched: a standing foot's step, a pose to be kept, a foot
# that bends, the root's shift, and a foot's height.
_STAND, _KEEP, _RIGID, _ROOT, _LIFT = 1e6, 1e8, 300.0, 0.3, 1e5
# Seconds over which ankle and toe hand the weight over.
_FADE = 0.08
# Metres that a foot may sink below its level, and how often it is looked whether one does.
_SINK, _ROUNDS = 0.01, 4


def _shifts(
    places: Array,
    stands: Mask,
    rest: Array,
    still: Mask,
    rate: float,
    roam: float,
    slack: float,
    siblings: list[tuple[int, int]],
) -> tuple[Array, Array]:
    """Smoothest shifts of the feet `(frames, feet, 3)` and of the root `(frames, 3)` that let feet stand."""
    frames, count = stands.shape
    system = _System(frames, count + 1)
    root = count
    faithful = np.where(still, _KEEP, 1.0)
    bend = (rate / (2 * np.pi * _LEG_RATE)) ** 4
    for foot in range(count):
        system.add(0, {(0, foot): 1.0, (0, root): -1.0}, faithful)
        system.add(2, _second(foot, 1.0) | _second(root, -1.0), bend)
    for one, other in siblings:
        system.add(0, {(0, one): 1.0, (0, other): -1.0}, _RIGID)
    swing = _ROOT * (rate / (2 * np.pi * _ROOT_RATE)) ** 4
    least = 1 / (2 * np.pi * _ROOT_RATE)
    start = np.arange(frames) == 0
    system.add(2, _second(root, 1.0), swing)
    # Feet may lead the root away over the ground, but not up or down.
    upright = system.copy()
    for equations, seconds in ((system, max(roam, least)), (upright, least)):
        back = max(swing / (seconds * rate) ** 4, 1e-9)
        equations.add(0, {(0, root): 1.0}, np.where(start, 1.0, back))

    both = stands[1:] & stands[:-1]
    for foot in range(count):
        steps = np.diff(places[:, foot][:, [0, 2]], axis=0)
        long = np.linalg.norm(steps, axis=1, keepdims=True)
        slid = steps * np.maximum(1 - slack / rate / np.maximum(long, 1e-12), 0.0)
        system.add(1, {(1, foot): 1.0, (0, foot): -1.0}, _STAND * both[:, foot], -slid)
    flat, level = system.solve(2), _levelled(upright, places[..., 1], stands, rest)
    whole = np.stack([flat[..., 0], level[..., 0], flat[..., 1]], axis=-1)
    return whole[:, :count], whole[:, root]


def _levelled(system: _System, heights: Array, stands: Mask, rest: Array) -> Array:
    """Vertical shifts that keep standing feet at their level and no foot below it."""
    floor, ceiling = rest - _SINK, np.where(stands, rest + LEAVE * HEIGHT, np.inf)
    active, found = stands, np.zeros((*heights.shape, 1))
    for _ in range(_ROUNDS):
        asked = system.copy()
        for foot in range(heights.shape[1]):
            wanted = np.clip(heights, floor, ceiling)[:, foot] - heights[:, foot]
            asked.add(0, {(0, foot): 1.0}, _LIFT * (active[:, foot] | (wanted != 0)), wanted[:, None])
        found = asked.solve(1)
        sunk = heights + found[:, :-1, 0] < floor - 1e-3
        if not (sunk & ~active).any():
            break
        active = active | sunk
    return found


def _foot_fitted(places: Array, ankle: Array, toe: Array, stands: Mask, rate: float) -> Array:
    """What brings the ankle as far from the toe as the foot is long, less so the more it stands itself."""
    long = np.linalg.norm(places[:, 1] - places[:, 0], axis=-1)
    away = toe - ankle
    distance = np.maximum(np.linalg.norm(away, axis=-1), 1e-9)
    heel, ball = (ramps(column, round(_FADE * rate)) + 1e-3 for column in stands.T)
    part = ball / (heel + ball) * (distance - long) / distance
    return np.asarray(part[:, None] * away)


def _second(unknown: int, sign: float) -> dict[tuple[int, int], float]:
    """Second difference of one unknown over the frames t, t + 1, t + 2."""
    return {(0, unknown): sign, (1, unknown): -2 * sign, (2, unknown): sign}


class _System:
    """Least squares over frames × unknowns whose equations reach over at most three frames in a row."""

    def __init__(self, frames: int, unknowns: int) -> None:
        self.frames, self.unknowns = frames, unknowns
        self.band = np.zeros((3 * unknowns, frames * unknowns))
        self.right = np.zeros((frames * unknowns, 2))

    def copy(self) -> _System:
        other = _System(self.frames, self.unknowns)
        other.band, other.right = self.band.copy(), self.right.copy()
        return other

    def add(
        self, reach: int, row: dict[tuple[int, int], float], weight: ArrayLike, value: Array | None = None
    ) -> None:
        """An equation for each frame t: the sum of factor × unknown at t + lag is `value`, times a weight."""
        count = self.frames - reach
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), (count,))
        first = np.arange(count) * self.unknowns
        for (lag, unknown), factor in row.items():
            here = first + lag * self.unknowns + unknown
            if value is not None:
                self.right[here, : value.shape[1]] += (factor * weights)[:, None] * value
            for (other_lag, other), other_factor in row.items():
                away = (lag - other_lag) * self.unknowns + unknown - other
                if away >= 0:
                    self.band[away, here - away] += factor * other_factor * weights

    def solve(self, axes: int) -> Array:
        """The unknowns `(frames, unknowns, axes)`."""
        from scipy.linalg import solveh_banded

        found = solveh_banded(self.band, self.right[:, :axes], lower=True, check_finite=False)
        return np.asarray(found).reshape(self.frames, self.unknowns, axes)


def _feet_of(motion: Motion) -> list[int]:
    return list(feet(motion.skeleton))


def _standing_speed(moving: Array) -> float:
    return max(SPEED, SWING_SHARE * float(np.percentile(moving, 98))) if moving.size else SPEED


def _siblings(motion: Motion, joints: list[int]) -> list[tuple[int, int]]:
    found: list[Leg] = [leg for leg in legs(motion.skeleton) if leg.toe >= 0]
    return [(joints.index(leg.ankle), joints.index(leg.toe)) for leg in found]


def _standing(standing: ArrayLike, motion: Motion, joints: list[int]) -> Mask:
    given = np.asarray(standing)
    if given.shape != (motion.frames, len(joints)) or given.dtype != bool:
        raise InputError(
            f"standing: true or false a frame and foot joint, ({motion.frames}, {len(joints)}), "
            f"got {given.dtype} {given.shape}"
        )
    return given


def _tidy(standing: Mask, rate: float) -> None:
    """Close short gaps and drop short stands, in place."""
    for a, b in runs(~standing):
        if a > 0 and b < len(standing) and b - a < GAP * rate:
            standing[a:b] = True
    for a, b in runs(standing):
        if b - a < SHORTEST * rate and b - a < len(standing):
            standing[a:b] = False
