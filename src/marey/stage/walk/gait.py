"""Captured walks and runs as gait cycles: the body by phase, and each foot by progress through its step.

A step begins where a foot is farthest ahead of the hips and ends where it is farthest behind (Zeni, Richards
& Higginson 2008, Gait & Posture 27: gait events from kinematics). Feet are relative to where they stand, so
that a step can be set down anywhere; all captured cycles are kept, for new ones to be drawn from their
distribution. Cost: the retargeting, some 0.1 s a clip.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from marey._arrays import Array, Integers
from marey.body.feet import contacts, plant, slide_speed
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.fades import minimum_jerk
from marey.geometry.resampling import linear
from marey.stage.skin_clip import skin_clip
from marey.stage.walk.figure import Figure

# Samples a cycle of the body; samples of a foot on the ground, and as many in the air.
PHASES, STEP = 32, 24
FRAME_RATE = 60.0
# What the other foot does, of the nine columns of :attr:`Cycle.feet`.
MIRROR = (-1.0, 1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0)


class GaitSettings(NamedTuple):
    """Numbers of the method, in metres of the shared body, seconds and radians; a tuple for the kernels.

    Attributes:
        path_window: over which the path of a clip is smoothed.
        prominence: distance that feet go ahead of the hips at least in a step.
        min_speed, max_speed, min_cadence, max_cadence: of a walk or run; cadence in cycles a second.
        jump: a first frame whose step is so many times the median step is not part of the clip.
        start, stop: speeds above which a person at rest walks, below which a walking one comes to stand.
        drift, turn: how far a person at rest may be moved and turned before taking two steps.
        slowest: cycles a second of the slowest steps.
        both_down: phase after each touch-down at which both feet are down.
        stand_duty: share of a cycle that feet are down at speed 0.
        idle: cycles a second at which a body at rest moves on.
        lift: share of its lift that a foot keeps in the smallest step.
        reach: share of a leg's length that it may span.
        sink, ease: how far at most the body sinks so that both feet reach, and how long it takes.
        min_cycles: from which a distribution is estimated.
        drawn_cycles: drawn for each person, then repeated.
        variance: share of the variance that modes hold.
        posture: standard deviation of the posture of each person, at deviation 1.
        similar: ratio of speeds up to which one of two walks is drawn instead of blending them.
        scatter: standard deviation of footfalls to the left, ahead and in heading.
        strides: standard deviation of the logarithm of stride lengths among people of one height.
    """

    path_window: float = 1.3
    prominence: float = 0.12
    min_speed: float = 0.2
    max_speed: float = 12.0
    min_cadence: float = 0.3
    max_cadence: float = 3.0
    jump: float = 20.0
    start: float = 0.25
    stop: float = 0.15
    drift: float = 0.10
    turn: float = 0.6
    slowest: float = 0.55
    both_down: float = 0.06
    stand_duty: float = 0.80
    idle: float = 0.15
    lift: float = 0.35
    reach: float = 0.995
    sink: float = 0.15
    ease: float = 0.16
    min_cycles: int = 3
    drawn_cycles: int = 24
    variance: float = 0.99
    posture: float = 0.12
    similar: float = 1.15
    scatter: tuple[float, float, float] = (0.012, 0.015, 0.05)
    strides: float = 0.04


SETTINGS = GaitSettings()


@dataclass(frozen=True, eq=False)
class Cycle:
    """A captured walk or run of the shared body.

    Attributes:
        name: of the clip.
        cadence: cycles (two steps) a second.
        stride: metres a cycle.
        duty: share of the cycle that a foot is down.
        body: `(PHASES, joints above the legs · 3 + 3)`, rotation vectors of :func:`trunk_joints` from rest,
            the root's without heading, and its position left of, above and ahead of its smooth path.
        feet: `(2, 2 STEP + 1, 9)`, left and right foot from touch-down through lift-off to touch-down:
            ball relative to where it stands, rotation vectors of foot (without heading) and toes.
        under: `(2, 2)`, metres to the left and ahead of the path at which the balls stand.
        captured: `(samples, …)`, the body in all captured cycles, PHASES a cycle from the left touch-down.
        skate: metres a second, foot skate of the clip.
    """

    name: str
    cadence: float
    stride: float
    duty: float
    body: Array
    feet: Array
    under: Array
    captured: Array
    skate: float

    @property
    def speed(self) -> float:
        """Metres a second."""
        return self.cadence * self.stride


def cycle(figure: Figure, motion: Motion) -> Cycle:
    """The mean cycle of a walk or run, retargeted to the shared body.

    >>> import marey
    >>> from marey.stage.walk.figure import figure
    >>> walk = cycle(figure(), marey.samples.walk(seconds=4, speed=1.3))
    >>> round(walk.speed, 1), 0.5 < walk.duty < 0.75
    (1.3, True)
    """
    name = motion.name or "clip"
    if motion.frames < 0.5 * motion.frame_rate:
        raise InputError(f"{name}: a walk of {motion.duration:.2g} s is too short; give two steps or more")
    if motion.frames >= 10:
        # Some files begin with a T-pose, which is far from the second frame.
        moved = np.linalg.norm(np.diff(motion.positions(), axis=0), axis=-1).max(axis=1)
        motion = motion[1:] if moved[0] > SETTINGS.jump * max(float(np.median(moved)), 1e-3) else motion
    try:
        motion = skin_clip(figure.character, motion.resample(FRAME_RATE)).motion
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    contact = contacts(motion)
    skate = slide_speed(motion, contact)
    clip = _Clip(figure, plant(motion, contact, root="firm"), name)
    steps = clip.steps()
    feet, under, stride = clip.feet(steps)
    captured = _by_phase(clip.body(), steps)
    cadence = float(np.ptp(steps.phases) / (np.ptp(steps.strikes) / FRAME_RATE))
    speed, s = cadence * stride, SETTINGS
    if not (s.min_speed <= speed <= s.max_speed and s.min_cadence <= cadence <= s.max_cadence):
        raise InputError(f"{name}: {cadence:.2g} cycles a second of {stride:.2g} m are no walk or run")
    body = np.stack([captured[phase::PHASES].mean(axis=0) for phase in range(PHASES)])
    return Cycle(name, cadence, stride, steps.duty, body, feet, under, captured, skate)


def trunk_joints(figure: Figure) -> list[int]:
    """All joints but those of the legs, root first."""
    below = {joint for leg in figure.legs for joint in figure.skeleton.descendants(leg.root)}
    return [joint for joint in range(figure.skeleton.joints) if joint not in below]


class _Steps(NamedTuple):
    """Touch-downs of both feet in turn.

    Attributes:
        strikes: `(steps,)`, frames.
        phases: `(steps,)`, cycles; whole for the left foot.
        foot: `(steps,)`, 0 left, 1 right.
        offs: for each foot, frames of lift-off in order.
        duty: share of a cycle that a foot is down.
    """

    strikes: Array
    phases: Array
    foot: Integers
    offs: tuple[Array, Array]
    duty: float


class _Clip:
    """A clip of the shared body, and its smooth path over the ground."""

    def __init__(self, figure: Figure, motion: Motion, name: str) -> None:
        from scipy.signal import savgol_filter

        self.figure, self.motion, self.name = figure, motion, name
        self.pose = forward_kinematics(motion)
        flat = np.asarray(motion.root[:, [0, 2]], np.float64)
        window = min(round(SETTINGS.path_window * FRAME_RATE) | 1, (len(flat) - 1) | 1)
        window = window if window <= len(flat) else window - 2
        self.path = savgol_filter(flat, window, 2, axis=0)
        velocity = savgol_filter(flat, window, 2, deriv=1, delta=1 / FRAME_RATE, axis=0)
        least = SETTINGS.min_speed
        if np.median(np.linalg.norm(velocity, axis=1)) < least:
            raise InputError(f"{name}: the root moves slower than {least:g} m/s; a walk or run is needed")
        self.heading = np.unwrap(np.arctan2(velocity[:, 0], velocity[:, 1]))

    def steps(self) -> _Steps:
        """The longest run of touch-downs of both feet in turn."""
        from scipy.signal import find_peaks

        found: list[tuple[float, int]] = []
        offs = []
        for foot, leg in enumerate(self.figure.legs):
            away = (self.pose.positions[:, leg.end] - self.pose.positions[:, 0])[:, [0, 2]]
            ahead = away[:, 0] * np.sin(self.heading) + away[:, 1] * np.cos(self.heading)
            fore, back = (
                find_peaks(sign * ahead, prominence=SETTINGS.prominence, distance=0.3 * FRAME_RATE)[0]
                for sign in (1.0, -1.0)
            )
            found += [(float(frame), foot) for frame in fore]
            offs.append(back.astype(np.float64))
        best: list[tuple[float, int]] = []
        run: list[tuple[float, int]] = []
        for step in sorted(found):
            run = [*run, step] if run and run[-1][1] != step[1] else [step]
            best = run if len(run) > len(best) else best
        if len(best) < 3:
            raise InputError(f"{self.name}: no whole cycle of two steps in it; a walk or run is needed")
        strikes, side = np.array([frame for frame, _ in best]), np.array([foot for _, foot in best])
        phases = 0.5 * np.arange(len(best)) + 0.5 * side[0]
        shares = []
        for a, b, own in zip(strikes[:-2], strikes[2:], side[:-2], strict=True):
            inside = offs[own][(offs[own] > a) & (offs[own] < b)]
            shares += [(inside[0] - a) / (b - a)] if len(inside) else []
        duty = float(np.clip(np.mean(shares) if shares else 0.6, 0.25, 0.8))
        return _Steps(strikes, phases, side, (offs[0], offs[1]), duty)

    def feet(self, steps: _Steps) -> tuple[Array, Array, float]:
        """Feet through a step `(2, 2 STEP + 1, 9)`, where they stand `(2, 2)`, and the stride in metres."""
        tables: list[list[Array]] = [[], []]
        stands: list[list[Array]] = [[], []]
        strides: list[float] = []
        middle = STEP // 2
        for foot, leg in enumerate(self.figure.legs):
            offs = steps.offs[foot]
            from_rest, toe_rest = so3.inverse(self.figure.rotations[leg.end]), self.figure.local[leg.tip]
            toes = so3.log(so3.multiply(so3.inverse(toe_rest), self.motion.rotations[:, leg.tip]))
            for a, b in pairwise(steps.strikes[steps.foot == foot]):
                inside = offs[(offs > a) & (offs < b)]
                off = inside[0] if len(inside) else a + steps.duty * (b - a)
                at = np.concatenate([np.linspace(a, off, STEP + 1), np.linspace(off, b, STEP + 1)[1:]])
                upright = so3.exp([0.0, -float(linear(self.heading, at[middle : middle + 1])[0]), 0.0])
                ball = linear(self.pose.positions[:, leg.tip], at)
                stand = ball[middle] * [1.0, 0.0, 1.0]
                away = so3.rotate(upright, ball - stand)
                away[:, 1] -= self.figure.positions[leg.tip, 1]
                turned = so3.multiply(from_rest, so3.multiply(upright, self.pose.rotations[:, leg.end]))
                tables[foot].append(np.hstack([away, linear(so3.log(turned), at), linear(toes, at)]))
                x, z = stand[[0, 2]] - linear(self.path, at[middle : middle + 1])[0]
                stands[foot].append(so3.rotate(upright, [x, 0.0, z])[[0, 2]])
                strides.append(float(away[-1, 2] - away[0, 2]))
        for foot in range(2):
            if not tables[foot]:
                tables[foot] = [table * MIRROR for table in tables[1 - foot]]
                stands[foot] = [stand * [-1.0, 1.0] for stand in stands[1 - foot]]
        table = np.stack([np.mean(mine, axis=0) for mine in tables])
        stride = float(np.mean(strides))
        # Captured floors and marker offsets leave soles a centimetre above or below the ground.
        table[..., 1] -= table[:, STEP // 4 : STEP, 1].min(axis=1, keepdims=True)
        # The touch-down at the end is that at the start, a stride farther.
        gap = table[:, 0] - table[:, -1]
        gap[:, 2] += stride
        table[:, STEP:] += minimum_jerk(np.linspace(0.0, 1.0, STEP + 1))[:, None] * gap[:, None]
        return table, np.stack([np.mean(mine, axis=0) for mine in stands]), stride

    def body(self) -> Array:
        """The body above the legs by frame, as in :attr:`Cycle.body`."""
        joints = trunk_joints(self.figure)
        upright = so3.exp(self.heading[:, None] * [0.0, -1.0, 0.0])
        rotations = np.array(self.motion.rotations[:, joints], np.float64)
        rotations[:, 0] = so3.multiply(upright, rotations[:, 0])
        vectors = so3.log(so3.multiply(so3.inverse(self.figure.local[joints]), rotations))
        away = np.array(self.motion.root, np.float64)
        away[:, [0, 2]] -= self.path
        return np.hstack([vectors.reshape(len(vectors), -1), so3.rotate(upright, away)])


def _by_phase(values: Array, steps: _Steps) -> Array:
    """Values at PHASES phases a cycle from one touch-down to the last, without a jump from cycle to cycle."""
    first, last = steps.phases[0], steps.phases[-1]
    phases = np.arange(round(first * PHASES), round(last * PHASES) + 1) / PHASES
    found = linear(values, np.interp(phases, steps.phases, steps.strikes))
    # Bodies that slowly lean or turn would jump where the cycle begins anew.
    gap = (found[PHASES:] - found[:-PHASES]).mean(axis=0)
    found = (found - (phases - phases.mean())[:, None] * gap)[:-1]
    late = round(first * PHASES)
    return np.roll(found, late, axis=0) if len(found) == PHASES else found[-late % PHASES :]
