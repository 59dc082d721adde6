"""Captured walks and runs as cycles: what the body does by phase, and each foot by how far its step is.

Steps begin where a foot is farthest ahead of the hips and end where it is farthest behind (Zeni, Richards &
Higginson 2008, Gait & Posture 27: gait events from kinematics). Feet are told relative to where they stand,
so that a step can be set down anywhere; the cycles as they were captured stay, for new ones to be drawn from
their law. Cost: the dressing, some 0.1 s a clip.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey.body.contacts import contacts, hold_feet, sliding
from marey.body.kinematics import GlobalPose, forward_kinematics
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.stage.dressing import dress
from marey.stage.walking.figure import Figure

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

PHASES = 32
"""Samples a cycle of the body."""

STEP = 24
"""Samples of a foot on the ground, and as many in the air."""

FRAME_RATE = 60.0
# Seconds over which the path of a clip is smoothed, metres that feet go ahead of the hips at least.
PATH, REACH = 1.3, 0.12
# Metres a second and cycles a second between which somebody walks or runs.
SPEEDS, CADENCES = (0.2, 12.0), (0.3, 3.0)
# Metres a joint of a captured clip moves in a frame at most, as a multiple of its usual step.
JUMP = 20.0


@dataclass(frozen=True, eq=False)
class Cycle:
    """A captured walk or run of the shared body.

    name: of the clip
    cadence: cycles (two steps) a second
    stride: metres a cycle
    duty: share of the cycle that a foot is down
    body: `(PHASES, joints above the legs · 3 + 3)`, rotation vectors of :func:`trunk_joints` from rest, the
        root's without heading, and the root's place to the left, above the ground and ahead of its smooth way
    feet: `(2, 2 STEP + 1, 9)`, left and right foot from touch-down through lift-off to touch-down: place of
        the ball relative to where it stands, rotation vectors of foot (without heading) and toes from rest
    under: `(2, 2)`, metres to the left and ahead of the way at which the balls stand
    captured: `(samples, …)`, the body as it was, all cycles, PHASES a cycle from the left touch-down
    slide: metres a second that standing feet of the clip slide
    """

    name: str
    cadence: float
    stride: float
    duty: float
    body: Array
    feet: Array
    under: Array
    captured: Array
    slide: float

    @property
    def speed(self) -> float:
        """Metres a second."""
        return self.cadence * self.stride


def trunk_joints(figure: Figure) -> list[int]:
    """All joints but those of the legs, root first."""
    below = {joint for leg in figure.legs for joint in figure.skeleton.descendants(leg.hip)}
    return [joint for joint in range(figure.skeleton.joints) if joint not in below]


def cycle(figure: Figure, motion: Motion) -> Cycle:
    """The cycles of a walk or run, put on the shared body.

    >>> import marey
    >>> from marey.stage.walking.figure import figure
    >>> walk = cycle(figure(), marey.samples.walk(seconds=4, speed=1.3))
    >>> round(walk.speed, 1), 0.5 < walk.duty < 0.75
    (1.3, True)
    """
    name = motion.name or "clip"
    if motion.frames < 0.5 * motion.frame_rate:
        raise InputError(f"{name}: a walk of {motion.duration:.2g} s is too short; give two steps or more")
    motion = _without_start_pose(motion).resample(FRAME_RATE)
    try:
        worn = dress(figure.character, motion).motion
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    standing = contacts(worn)
    slide = sliding(worn, standing).speed
    worn = hold_feet(worn, standing, roam=1.0)
    pose = forward_kinematics(worn)
    way, heading = _way(worn, name)
    steps = _steps(figure, pose, way, heading, name)
    feet, under, stride = _feet(figure, worn, pose, way, heading, steps)
    body = _body(figure, worn, way, heading)
    captured = _by_phase(body, steps)
    taken = np.ptp(steps.phases) / (np.ptp(steps.strikes) / FRAME_RATE)
    if not (SPEEDS[0] <= taken * stride <= SPEEDS[1] and CADENCES[0] <= taken <= CADENCES[1]):
        raise InputError(f"{name}: {taken:.2g} cycles a second of {stride:.2g} m are no walk or run")
    return Cycle(
        name=name,
        cadence=float(taken),
        stride=stride,
        duty=steps.duty,
        body=_mean_cycle(captured),
        feet=feet,
        under=under,
        captured=captured,
        slide=slide,
    )


class _Steps(NamedTuple):
    """Touch-downs of both feet in turn: frames, phases (left ones whole) and which foot; `(steps,)`.

    offs: for each foot, frames of lift-off in order
    duty: share of a cycle that a foot is down
    """

    strikes: Array
    phases: Array
    foot: Ints
    offs: tuple[Array, Array]
    duty: float


def _without_start_pose(motion: Motion) -> Motion:
    """The clip without a first frame that is far from the second: the T-pose some files begin with."""
    if motion.frames < 10:
        return motion
    steps = np.linalg.norm(np.diff(motion.positions(), axis=0), axis=-1).max(axis=1)
    usual = float(np.median(steps))
    return motion[1:] if steps[0] > JUMP * max(usual, 1e-3) else motion


def _way(motion: Motion, name: str) -> tuple[Array, Array]:
    """The smooth way of the root over the ground `(frames, 2)` as x, z, and its heading `(frames,)`."""
    from scipy.signal import savgol_filter

    flat = np.asarray(motion.root[:, [0, 2]], np.float64)
    window = min(round(PATH * FRAME_RATE) | 1, (len(flat) - 1) | 1)
    window = window if window <= len(flat) else window - 2
    way = savgol_filter(flat, window, 2, axis=0)
    going = savgol_filter(flat, window, 2, deriv=1, delta=1 / FRAME_RATE, axis=0)
    if np.median(np.linalg.norm(going, axis=1)) < SPEEDS[0]:
        raise InputError(f"{name}: nobody gets anywhere in it; a walk or run is needed")
    return way, np.unwrap(np.arctan2(going[:, 0], going[:, 1]))


def _steps(figure: Figure, pose: GlobalPose, way: Array, heading: Array, name: str) -> _Steps:
    from scipy.signal import find_peaks

    found: list[tuple[float, int]] = []
    offs = []
    apart = 0.3 * FRAME_RATE
    for foot, leg in enumerate(figure.legs):
        away = pose.positions[:, leg.ankle][:, [0, 2]] - pose.positions[:, 0][:, [0, 2]]
        ahead = away[:, 0] * np.sin(heading) + away[:, 1] * np.cos(heading)
        fore = find_peaks(ahead, prominence=REACH, distance=apart)[0]
        back = find_peaks(-ahead, prominence=REACH, distance=apart)[0]
        found += [(float(frame), foot) for frame in fore]
        offs.append(back.astype(np.float64))
    found.sort()
    best: list[tuple[float, int]] = []
    run: list[tuple[float, int]] = []
    for step in found:
        run = [*run, step] if run and run[-1][1] != step[1] else [step]
        best = run if len(run) > len(best) else best
    if len(best) < 3:
        raise InputError(f"{name}: no whole cycle of two steps in it; a walk or run is needed")
    strikes, side = np.array([frame for frame, _ in best]), np.array([foot for _, foot in best])
    phases = 0.5 * np.arange(len(best)) + 0.5 * side[0]
    shares = []
    for a, b, own in zip(strikes[:-2], strikes[2:], side[:-2], strict=True):
        inside = offs[own][(offs[own] > a) & (offs[own] < b)]
        shares += [(inside[0] - a) / (b - a)] if len(inside) else []
    duty = float(np.clip(np.mean(shares) if shares else 0.6, 0.25, 0.8))
    return _Steps(strikes, phases, side, (offs[0], offs[1]), duty)


def _feet(
    figure: Figure, motion: Motion, pose: GlobalPose, way: Array, heading: Array, steps: _Steps
) -> tuple[Array, Array, float]:
    """Feet through a step `(2, 2 STEP + 1, 9)`, where they stand `(2, 2)`, and the stride in metres."""
    tables: list[Array | None] = []
    stands: list[Array | None] = []
    strides: list[float] = []
    for foot, leg in enumerate(figure.legs):
        mine = steps.strikes[steps.foot == foot]
        offs = steps.offs[foot]
        rows, under = [], []
        for a, b in pairwise(mine):
            inside = offs[(offs > a) & (offs < b)]
            off = inside[0] if len(inside) else a + steps.duty * (b - a)
            at = np.concatenate([np.linspace(a, off, STEP + 1), np.linspace(off, b, STEP + 1)[1:]])
            middle = STEP // 2
            yaw = float(_at(heading, at[middle : middle + 1])[0])
            upright = so3.exp([0.0, -yaw, 0.0])
            ball = _at(pose.positions[:, leg.toe], at)
            stand = ball[middle] * [1.0, 0.0, 1.0]
            away = so3.rotate(upright, ball - stand)
            away[:, 1] -= figure.places[leg.toe, 1]
            from_rest = so3.inverse(figure.turns[leg.ankle])
            turned = so3.multiply(from_rest, so3.multiply(upright, pose.rotations[:, leg.ankle]))
            toes = so3.multiply(
                so3.inverse(_rest_local(figure)[leg.toe]), np.asarray(motion.rotations[:, leg.toe])
            )
            rows.append(np.hstack([away, _at(so3.log(turned), at), _at(so3.log(toes), at)]))
            beside = stand[[0, 2]] - _at(way, at[middle : middle + 1])[0]
            under.append(so3.rotate(upright, [beside[0], 0.0, beside[1]])[[0, 2]])
            strides.append(float(away[-1, 2] - away[0, 2]))
        tables.append(np.mean(rows, axis=0) if rows else None)
        stands.append(np.mean(under, axis=0) if under else None)
    left, right = tables
    table = np.stack(
        [_mirrored(right) if left is None else left, _mirrored(left) if right is None else right]
    )
    beside = np.stack(
        [
            _across(stands[1]) if stands[0] is None else stands[0],
            _across(stands[0]) if stands[1] is None else stands[1],
        ]
    )
    stride = float(np.mean(strides))
    # Captured floors and marker offsets leave soles a centimetre above or below the ground.
    table[..., 1] -= table[:, STEP // 4 : STEP, 1].min(axis=1, keepdims=True)
    return _closed(table, stride), beside, stride


def _closed(table: Array, stride: float) -> Array:
    """Feet whose touch-down at the end is that at the start, a stride farther."""
    share = np.linspace(0.0, 1.0, STEP + 1)
    ease = share * share * (3 - 2 * share)
    gap = table[:, 0] - table[:, -1]
    gap[:, 2] += stride
    table[:, STEP:] += ease[:, None] * gap[:, None]
    return table


def _mirrored(table: Array | None) -> Array:
    """What the other foot does."""
    assert table is not None
    return table * [-1.0, 1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0]


def _across(place: Array | None) -> Array:
    assert place is not None
    return place * [-1.0, 1.0]


def _body(figure: Figure, motion: Motion, way: Array, heading: Array) -> Array:
    """The body above the legs, by frame."""
    joints = trunk_joints(figure)
    upright = so3.exp(np.stack([0 * heading, -heading, 0 * heading], axis=1))
    rotations = np.array(motion.rotations[:, joints], np.float64)
    rotations[:, 0] = so3.multiply(upright, rotations[:, 0])
    vectors = so3.log(so3.multiply(so3.inverse(_rest_local(figure)[joints]), rotations))
    away = np.array(motion.root, np.float64)
    away[:, [0, 2]] -= way
    return np.hstack([vectors.reshape(len(vectors), -1), so3.rotate(upright, away)])


def _rest_local(figure: Figure) -> Array:
    """Rotations of the joints in their parents' frames at rest, `(joints, 4)`."""
    return np.asarray(figure.character.motion.rotations[0])


def _by_phase(values: Array, steps: _Steps) -> Array:
    """Values at PHASES phases a cycle from one touch-down to the last, first and last phase alike."""
    first, last = steps.phases[0], steps.phases[-1]
    phases = np.arange(round(first * PHASES), round(last * PHASES) + 1) / PHASES
    at = np.interp(phases, steps.phases, steps.strikes)
    found = _at(values, at)
    # Bodies that slowly lean or turn would jump where the cycle begins anew.
    gap = (found[PHASES:] - found[:-PHASES]).mean(axis=0)
    found = (found - (phases - phases.mean())[:, None] * gap)[:-1]
    late = round(first * PHASES)
    return np.roll(found, late, axis=0) if len(found) == PHASES else found[-late % PHASES :]


def _mean_cycle(captured: Array) -> Array:
    """The mean of all cycles `(PHASES, numbers)`."""
    phase = np.arange(len(captured)) % PHASES
    return np.stack([captured[phase == p].mean(axis=0) for p in range(PHASES)])


def _at(values: Array, frames: Array) -> Array:
    """Values between frames, along straight lines."""
    low = np.clip(np.floor(frames).astype(np.int64), 0, len(values) - 2)
    share = (frames - low).reshape(-1, *([1] * (values.ndim - 1)))
    return np.asarray(values[low] * (1 - share) + values[low + 1] * share)
