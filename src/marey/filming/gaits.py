"""How people hold themselves at every speed: poses of standing, walking and running, and who is in which.

The walk is that of :mod:`marey.samples.walk` at several speeds; the run follows the joint angles of Novacheck
1998 (Gait & Posture 7), rounded. The phase of a step advances with the way gone, divided by the stride at
that speed (Courty 2013, section 6.3.2: cycles picked by speed). Cost: a few passes over `(frames, people)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.crowd.tracks import Tracks
from marey.filming.figure import BONES
from marey.geometry import rotations as rot
from marey.samples import walk as sample_walk
from marey.samples.body_plan import STATURE, body_skeleton, standing_height
from marey.samples.gait_legs import about, cadence, curve

Array = NDArray[np.float64]

PHASES = 48
WALKS, RUN = (0.6, 0.9, 1.2, 1.5, 2.0), 2.7
"""Metres per second of the stored walks, and from where on people run."""

STANDS_BELOW, WALKS_ABOVE = 0.2, 0.3
FADE_SECONDS = 0.2
HEADING_SECONDS, SPEED_SECONDS = 0.35, 0.15
JITTER = 0.10
IDLE_SECONDS = 6.0

# Degrees at every tenth of the cycle, from foot strike on.
RUN_HIP = (32, 27, 14, -3, -10, 2, 26, 46, 52, 43)
RUN_KNEE = (14, 36, 38, 24, 24, 60, 94, 96, 58, 18)
RUN_ANKLE = (4, 16, 20, 4, -20, -16, -6, 2, 4, 4)
FLIGHT, FLIGHT_HEIGHT = (0.38, 0.50), 0.06


@dataclass(frozen=True, eq=False)
class Gait:
    """Who does what in every frame, each `(frames, people)`.

    heading: radians about the vertical, 0 along +x of the ground, counter-clockwise from above
    phase: cycles of two steps
    walking: 0 stands, 1 walks, between while changing over
    pace: place among the stored walks: 0 stands still, 1 the slowest walk, … , the last one the run
    idle: cycles of standing about
    """

    heading: Array
    phase: Array
    walking: Array
    pace: Array
    idle: Array


def stride(speed: Array) -> Array:
    """Metres of two steps by a person of 1.75 m.

    >>> stride(np.array([0.2, 1.34, 4.8])).round(2).tolist()
    [0.56, 1.45, 2.98]
    """
    walk = 2 * np.sqrt(0.39 * np.maximum(speed, 0.05))
    run = 2 * speed / (2.6 + 0.13 * speed)
    return np.where(speed < 2.0, walk, np.maximum(run, 2 * np.sqrt(0.39 * 2.0)))


def gait_of(tracks: Tracks, statures: Array, rng: np.random.Generator | int = 0) -> Gait:
    """What everyone's legs do; `statures` `(people,)` metres.

    >>> standing = Tracks(np.zeros((50, 1, 2)), 25)
    >>> float(gait_of(standing, np.array([1.75])).walking.max())
    0.0
    """
    from scipy.ndimage import gaussian_filter1d, uniform_filter1d

    generator = np.random.default_rng(rng)
    rate, present = tracks.frame_rate, tracks.present
    velocity = np.where(present[..., None], np.nan_to_num(tracks.velocities()), 0.0)

    def smooth(values: Array, seconds: float) -> Array:
        weight = gaussian_filter1d(present.astype(float), seconds * rate, axis=0, mode="nearest")
        mean = gaussian_filter1d(values, seconds * rate, axis=0, mode="nearest")
        return np.asarray(mean / np.maximum(weight, 1e-6).reshape(weight.shape + (1,) * (values.ndim - 2)))

    speed = smooth(np.linalg.norm(velocity, axis=-1) * present, SPEED_SECONDS)
    heading = _heading(smooth(velocity, HEADING_SECONDS), present, smooth, generator)
    decided = _last_decision(speed > WALKS_ABOVE, speed < STANDS_BELOW)
    width = max(1, round(FADE_SECONDS * rate))
    walking = uniform_filter1d(decided.astype(float), width, axis=0, mode="nearest")
    size = statures / STATURE * (1 + JITTER * generator.uniform(-1, 1, tracks.agents))
    steps = walking * speed / (stride(speed) * size) / rate
    phase = generator.random(tracks.agents) + np.cumsum(steps, axis=0) - steps
    slow = stride(speed) / stride(np.array(WALKS[0]))
    pace = np.where(
        speed < WALKS[0], np.minimum(slow, 1.0), np.interp(speed, (*WALKS, RUN), np.arange(1.0, 7))
    )
    seconds = np.arange(tracks.frames)[:, None] / rate
    idle = generator.random(tracks.agents) + seconds / (
        IDLE_SECONDS * generator.uniform(0.8, 1.3, tracks.agents)
    )
    return Gait(heading, phase, walking, pace, idle)


def _heading(
    velocity: Array,
    present: BoolArray,
    smooth: Callable[[Array, float], Array],
    generator: np.random.Generator,
) -> Array:
    speed = np.linalg.norm(velocity, axis=-1)
    moving = (speed > STANDS_BELOW) & present
    frames = np.arange(len(speed))[:, None]
    # Who stands keeps looking where he walked last; who has not walked yet, where he will walk first.
    latest = np.maximum.accumulate(np.where(moving, frames, -1), axis=0)
    source = np.where(latest >= 0, latest, moving.argmax(axis=0))
    towards = np.take_along_axis(velocity / np.maximum(speed, 1e-9)[..., None], source[..., None], axis=0)
    anywhere = generator.uniform(-np.pi, np.pi, speed.shape[1])
    idlers = np.stack([np.cos(anywhere), np.sin(anywhere)], axis=1)
    towards = np.where(moving.any(axis=0)[None, :, None], towards, idlers)
    eased = smooth(towards * present[..., None], 0.5 * HEADING_SECONDS)
    return np.arctan2(eased[..., 1], eased[..., 0])


def _last_decision(on: BoolArray, off: BoolArray) -> BoolArray:
    """Hysteresis along the frames: what was decided last; before any decision, off."""
    frames = np.arange(len(on))[:, None]
    started = np.maximum.accumulate(np.where(on, frames, -1), axis=0)
    stopped = np.maximum.accumulate(np.where(off, frames, -1), axis=0)
    return np.asarray(started > stopped)


@cache
def pose_tables() -> Array:
    """Frames of the bones of a person one metre tall, `(1 + walks + 1, phases, bones, 12)`.

    First standing, then the walks from slow to fast, then the run. Twelve numbers: rotation, row by row, and
    place of the joint; y up, the person looks along +z and stands at the origin.
    """
    tables = [_standing(), *(_walk(speed) for speed in WALKS), _running()]
    return np.ascontiguousarray(np.stack(tables))


def _table(motion: Motion, advance: float) -> Array:
    pose = forward_kinematics(motion)
    chosen = [motion.skeleton.index(name) for name in BONES]
    positions = pose.positions - advance * np.arange(motion.frames)[:, None, None] / motion.frames * [0, 0, 1]
    soles = [side + end for side in ("Left", "Right") for end in ("Foot", "ToeBase")]
    feet = positions[:, [motion.skeleton.index(name) for name in soles]]
    # The middle of both soles, over the whole cycle, is where the person is.
    middle = feet.mean(axis=(0, 1)) * [1.0, 0.0, 1.0]
    turned = rot.to_matrix(pose.rotations[:, chosen]).reshape(motion.frames, len(BONES), 9)
    return np.concatenate([turned, (positions[:, chosen] - middle) / STATURE], axis=-1)


def _walk(speed: float) -> Array:
    motion = sample_walk(cycles=1, speed=speed, frame_rate=PHASES * cadence(speed) / 2)
    return _table(motion, speed * motion.frames / motion.frame_rate)


def _clip(turns: dict[str, Array], heights: Array, sway: Array) -> Motion:
    """A cycle from rotations of joints by name; the right ones are those of the left, half a cycle on."""
    skeleton = body_skeleton()
    local = rot.identity((PHASES, skeleton.joints))
    for name, q in turns.items():
        local[:, skeleton.index(name)] = q
        if name.startswith("Left"):
            mirrored = np.roll(q, PHASES // 2, axis=0) * [1.0, 1.0, -1.0, -1.0]
            local[:, skeleton.index(name.replace("Left", "Right"))] = mirrored
    root = np.stack([sway, heights, np.zeros(PHASES)], axis=1)
    return Motion(skeleton, local, root, 30.0)


def _standing() -> Array:
    """Standing about: the head looks round, weight shifts a little."""
    turn = 2 * np.pi * np.arange(PHASES) / PHASES
    level = np.zeros(PHASES)
    turns = {
        "LeftArm": rot.multiply(
            rot.multiply(about("x", level + 0.04), about("z", level - 1.42)), about("x", level + 0.2)
        ),
        "LeftForeArm": about("y", level - 0.25),
        "LeftUpLeg": about("z", level + 0.03),
        "LeftFoot": about("z", level - 0.03),
        "Neck": about("y", 0.16 * np.sin(turn) + 0.10 * np.sin(2 * turn + 1.0)),
        "Head": about("y", 0.16 * np.sin(turn) + 0.10 * np.sin(2 * turn + 1.0)),
        "Spine1": about("y", 0.05 * np.sin(turn - 0.4)),
    }
    return _table(_clip(turns, level + standing_height() - 0.0005, level), 0.0)


def _running() -> Array:
    phase = np.arange(PHASES) / PHASES
    turn = 2 * np.pi * phase
    level = np.zeros(PHASES)
    hip, knee, ankle = (curve(angles, phase, 4) for angles in (RUN_HIP, RUN_KNEE, RUN_ANKLE))
    swing, lean = np.radians(4) - np.radians(34) * np.cos(turn - 0.2), np.radians(9.0)
    turns = {
        "Hips": rot.multiply(about("y", -np.radians(7) * np.cos(turn)), about("x", level + 0.4 * lean)),
        "LowerBack": about("x", level + 0.6 * lean),
        "Spine1": about("y", np.radians(12) * np.cos(turn)),
        "Neck": about("x", level - 0.6 * lean),
        "LeftUpLeg": about("x", -hip - 0.4 * lean),
        "LeftLeg": about("x", knee),
        "LeftFoot": about("x", -ankle),
        "LeftArm": rot.multiply(
            rot.multiply(about("x", -swing), about("z", level - 1.33)), about("x", level + 0.35)
        ),
        "LeftForeArm": about("y", -np.radians(88) - 0.25 * np.cos(turn)),
    }
    flying = _clip(turns, level, level)
    pose = forward_kinematics(flying)
    soles = flying.skeleton
    toes = [soles.index(side + "ToeBase") for side in ("Left", "Right")]
    heels = [soles.index(side + "Foot") for side in ("Left", "Right")]
    behind = rot.rotate(pose.rotations[:, heels], np.array([0.0, -0.065, -0.06]))
    low = np.minimum((pose.positions[:, heels] + behind)[..., 1], pose.positions[:, toes, 1] - 0.02).min(
        axis=1
    )
    share = (phase % 0.5 - FLIGHT[0]) / (FLIGHT[1] - FLIGHT[0])
    hop = np.where((share > 0) & (share < 1), FLIGHT_HEIGHT * np.sin(np.pi * np.clip(share, 0, 1)), 0.0)
    waves = np.fft.rfft(hop - low)
    waves[7:] = 0
    return _table(_clip(turns, np.fft.irfft(waves, PHASES), level), 0.0)
