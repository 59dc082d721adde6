"""A walking human, made from published gait curves, whose feet stay where they stand.

The curves give every joint's angle; summed along the leg they also say how the foot rolls: about the
heel, flat, about the ball, about the toes. Rolling without slip fixes the ankle during stance, the pelvis
path follows by least squares, the swing carries the small disagreement from one stance to the next, and
two-link inverse kinematics turns ankles back into angles (which stay within a few degrees of the curves).
Cost: linear in the frames of one cycle.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from marey._arrays import checked_rate
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.samples import gait_curves as gait
from marey.samples.body_plan import HEEL_BEHIND_ANKLE, STATURE, body_skeleton

Array = NDArray[np.float64]

SPEEDS = (0.6, 2.0)
STEP_WIDTH = 0.09
TOE_OUT = np.radians(7.0)
SWAY = 0.018
DENSE = 720

# Shares of the cycle: the foot is flat from the first to the second, rolls over the toes from the third.
FLAT, HEEL_OFF, TOE_ROLL = 0.11, 0.27, 0.47

# Shares of the cycle: when the foot is let go, how long the swing remembers that, and foresees the next.
RELEASE, AWAY, BACK = 0.59, 0.2, 0.12

# How much of the foot's pitch the toes share at toe-off; the rest bends the joint at the ball.
TOE_SHARE = 0.45

# The knee never locks: it keeps this flexion, and the pelvis is lowered by so many statures.
LEAST_KNEE, KNEE_EASE = np.radians(2.0), 0.001

# In statures: the toes' least height in mid-swing (Winter 1992: 1 to 2 cm).
CLEARANCE = 0.009

# In statures, of the comfortable walk.
COMFORTABLE_STRIDE = 0.827


def walk(
    seconds: float | None = None,
    *,
    cycles: int | None = None,
    speed: float = gait.COMFORTABLE_SPEED,
    frame_rate: float = 60.0,
    stature: float = STATURE,
) -> Motion:
    """A human walking straight ahead, along +z, on the ground y = 0.

    seconds: length of the clip; 4 if neither this nor `cycles` is given
    cycles: instead of `seconds`: whole gait cycles (two steps each), which loop without a seam, because
        a cycle always takes a whole number of frames
    speed: metres per second, 0.6 to 2 (0.45 to 1.5 times comfortable); steps get longer and quicker with it
    frame_rate: frames per second
    stature: metres

    >>> motion = walk(cycles=2, frame_rate=30)
    >>> motion.joints, motion.frames % 2, motion.skeleton.names[0]
    (26, 0, 'Hips')
    """
    frame_rate = checked_rate(frame_rate)
    if not SPEEDS[0] <= speed <= SPEEDS[1]:
        raise InputError(f"speed: walking is between {SPEEDS[0]} and {SPEEDS[1]} m/s, got {speed}")
    if frame_rate < 10:
        raise InputError(f"frame rate: at least 10 frames per second make a walk, got {frame_rate:g}")
    skeleton = body_skeleton(stature)
    cycle_frames = round(2 * frame_rate / gait.cadence(speed))
    frames = _frame_count(seconds, cycles, cycle_frames, frame_rate)
    stride = speed * cycle_frames / frame_rate
    pace = min(speed / gait.COMFORTABLE_SPEED, 1.3)
    rotations, root = _one_cycle(skeleton, stature, stride, pace, cycle_frames)
    turn, within = np.divmod(np.arange(frames), cycle_frames)
    path = root[within] + turn[:, None] * np.array([0.0, 0.0, stride])
    return Motion(skeleton, rotations[within], path, frame_rate, name="walk")


def _frame_count(seconds: float | None, cycles: int | None, cycle_frames: int, frame_rate: float) -> int:
    if seconds is not None and cycles is not None:
        raise InputError("walk: give seconds or cycles, not both")
    if cycles is not None:
        if cycles < 1:
            raise InputError(f"cycles: at least 1, got {cycles}")
        return int(cycles) * cycle_frames
    frames = round((4.0 if seconds is None else seconds) * frame_rate)
    if frames < 1:
        raise InputError(f"seconds: the clip must last at least one frame, got {seconds}")
    return frames


def _one_cycle(
    skeleton: Skeleton, stature: float, stride: float, pace: float, cycle_frames: int
) -> tuple[Array, Array]:
    """Local rotations `(cycle_frames, joints, 4)` and root `(cycle_frames, 3)`; left heel strike first."""
    refine = -(-DENSE // cycle_frames)
    refine += cycle_frames * refine % 2
    phase = np.arange(cycle_frames * refine) / (cycle_frames * refine)
    reach = stride / (COMFORTABLE_STRIDE * stature)
    pelvis = _pelvis(phase, min(reach, 1.2))
    path, left_leg = _path_and_left_leg(skeleton, stature, phase, stride, reach, pelvis)
    turned = {"Hips": pelvis, **left_leg, **_trunk(phase, pelvis), **_left_arm(phase, pace)}
    local = rot.identity((len(phase), skeleton.joints))
    for name, q in turned.items():
        local[:, skeleton.index(name)] = q
        if name.startswith("Left"):
            # The right side does what the left one did half a cycle ago, mirrored.
            mirrored = np.roll(q, len(phase) // 2, axis=0) * [1.0, 1.0, -1.0, -1.0]
            local[:, skeleton.index(name.replace("Left", "Right"))] = mirrored
    return rot.continuous(local[::refine]), path[::refine]


def _pelvis(phase: Array, amount: float) -> Array:
    """Rotation of the pelvis in the world, `(phases, 4)`."""
    return _product(
        _about("y", -amount * gait.curve(gait.PELVIS_ROTATION, phase, 3)),
        _about("z", amount * gait.curve(gait.PELVIS_OBLIQUITY, phase, 3)),
        _about("x", gait.curve(gait.PELVIS_TILT, phase, 4)),
    )


def _path_and_left_leg(
    skeleton: Skeleton, stature: float, phase: Array, stride: float, reach: float, pelvis: Array
) -> tuple[Array, dict[str, Array]]:
    """The root's path `(phases, 3)` and the local rotations of the left leg."""
    ball = skeleton.offsets[skeleton.index("LeftToeBase")]
    tip = skeleton.end_offsets[skeleton.end_parents == skeleton.index("LeftToeBase")][0]
    heel = np.array([0.0, ball[1] + tip[1], -HEEL_BEHIND_ANKLE * stature])
    hip = gait.curve(gait.HIP, phase)
    hip = hip.mean() + reach * (hip - hip.mean())
    bend = (1 + min(reach, 1.2)) / 2
    knee = bend * gait.curve(gait.KNEE, phase)
    foot, toes = _foot_roll(hip - knee + bend * gait.curve(gait.ANKLE, phase), phase)

    # Where the ankle must be: about a heel planted at the origin, then about the tip of the toes.
    over_heel = -_flexed(heel, foot)
    over_toes = (ball + tip - heel) - _flexed(ball, foot) - _flexed(tip, toes)
    planted = np.where((phase < FLAT)[:, None], over_heel, over_toes)
    planted = rot.rotate(_about("y", TOE_OUT), planted) + [STEP_WIDTH / 2, 0.0, 0.0]

    # Where the curves alone would put it, seen from the root; the root's path makes the two agree.
    hip_centre = rot.rotate(pelvis, skeleton.offsets[skeleton.index("LeftUpLeg")])
    thigh = skeleton.offsets[skeleton.index("LeftLeg")]
    shank = skeleton.offsets[skeleton.index("LeftFoot")]
    free = hip_centre + _flexed(thigh, hip) + _flexed(shank, hip - knee)
    path = _root_path(phase, planted - free, stride)
    path[:, 1] -= KNEE_EASE * stature
    free[:, 0] += (planted - path - free)[phase < RELEASE, 0].mean()
    ankle = path + free + _carried_into_swing(phase, planted - path - free)
    toe_height = (ankle + _flexed(ball, foot) + _flexed(tip, toes))[:, 1]
    ankle[:, 1] += _swing_lift(phase, toe_height, CLEARANCE * stature)
    return path, _leg_rotations(pelvis, ankle - path - hip_centre, -thigh[1], -shank[1], foot, toes)


def _foot_roll(pitch: Array, phase: Array) -> tuple[Array, Array]:
    """Pitch of foot and toes in the world, toes up positive, from what the curves say of the foot."""
    down = 1 - _smooth_step(phase / FLAT)
    up = _smooth_step((phase - HEEL_OFF) / (0.45 - HEEL_OFF))
    foot = pitch * (down + up)
    rolling = TOE_SHARE * _smooth_step((phase - TOE_ROLL) / (gait.STANCE - TOE_ROLL))
    straightened = _smooth_step((phase - gait.STANCE) / 0.18)
    follow = np.where(phase < FLAT, 1.0, np.where(phase < gait.STANCE, rolling, TOE_SHARE))
    return foot, foot * (follow + (1 - follow) * straightened)


def _root_path(phase: Array, wanted: Array, stride: float) -> Array:
    """A smooth path `(phases, 3)` near the `wanted` one of the stance, the same for both legs."""
    beat = 4 * np.pi * phase
    basis = np.stack([np.ones_like(phase), np.cos(beat), np.sin(beat)], axis=1)
    advance = np.outer(phase, [0.0, 0.0, stride])
    stance = phase < 0.55
    weights = np.linalg.lstsq(basis[stance], (wanted - advance)[stance], rcond=None)[0]
    path = basis @ weights + advance
    path[:, 0] = SWAY * np.cos(2 * np.pi * (phase - gait.STANCE / 2))
    return path


def _carried_into_swing(phase: Array, correction: Array) -> Array:
    """`correction` while the foot is planted; in swing it fades away and comes back in time.

    Both fades are quintics that meet the stance up to the second derivative.
    """
    last = int(np.searchsorted(phase, RELEASE, side="right")) - 1
    fading = _fade(phase - phase[last], correction[last - np.arange(3)], phase[1], AWAY)
    fading += _fade(1 - phase, correction[np.arange(3)], phase[1], BACK)
    return np.where((phase > phase[last])[:, None], fading, correction)


def _swing_lift(phase: Array, toe_height: Array, clearance: float) -> Array:
    """How much higher the swing must go for the toes to clear the ground, a smooth hump over the phases."""
    x = np.clip((phase - RELEASE) / (1 - RELEASE), 0.0, 1.0)
    hump = (4 * x * (1 - x)) ** 3
    middle = hump > 0.5
    return hump * max(0.0, float(((clearance - toe_height[middle]) / hump[middle]).max()))


def _fade(x: Array, samples: Array, step: float, span: float) -> Array:
    """From `samples[0]` at x = 0 to 0 at x = `span`; the samples `step` before give speed and bend."""
    p, before, earlier = samples
    v = (3 * p - 4 * before + earlier) / (2 * step) * span
    a = (p - 2 * before + earlier) / step**2 * span**2
    t = np.clip(x / span, 0.0, 1.0)[:, None]
    return (1 - t) ** 3 * (p + t * (3 * p + v + t * (6 * p + 3 * v + a / 2)))


def _leg_rotations(
    pelvis: Array, ankle: Array, thigh: float, shank: float, foot: Array, toes: Array
) -> dict[str, Array]:
    """Local rotations of the left leg that bring the ankle to `ankle`, `(phases, 3)` from the hip joint."""
    wanted = np.linalg.norm(ankle, axis=1)
    distance = _bounded(wanted, float(np.sqrt(thigh**2 + shank**2 + 2 * thigh * shank * np.cos(LEAST_KNEE))))
    knee = np.pi - _angle_opposite(distance, thigh, shank)
    lead = _angle_opposite(np.full_like(distance, shank), thigh, distance)
    down = -ankle / wanted[:, None]
    across = rot.rotate(_about("y", TOE_OUT / 2), [1.0, 0.0, 0.0])
    side = across - (down @ across)[:, None] * down
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    straight = rot.from_matrix(np.stack([side, down, np.cross(side, down)], axis=-1))
    upper = rot.multiply(straight, _about("x", -lead))
    lower = rot.multiply(upper, _about("x", knee))
    sole = rot.multiply(_about("y", TOE_OUT), _about("x", -foot))
    return {
        "LeftUpLeg": rot.multiply(rot.inverse(pelvis), upper),
        "LeftLeg": _about("x", knee),
        "LeftFoot": rot.multiply(rot.inverse(lower), sole),
        "LeftToeBase": _about("x", foot - toes),
    }


def _trunk(phase: Array, pelvis: Array) -> dict[str, Array]:
    """The spine turns the thorax against the pelvis, the neck turns the face back to where it goes."""
    thorax = _product(
        _about("y", 0.8 * gait.curve(gait.PELVIS_ROTATION, phase - 0.03, 3)),
        _about("z", -0.35 * gait.curve(gait.PELVIS_OBLIQUITY, phase, 3)),
        _about("x", np.radians(2.5) - gait.curve(gait.PELVIS_TILT, phase, 4)),
    )
    head = _about("x", np.radians(1.5) + 0.6 * gait.curve(gait.PELVIS_TILT, phase, 4))
    back = rot.exp(rot.log(rot.multiply(rot.inverse(pelvis), thorax)) / 3)
    neck = rot.exp(rot.log(rot.multiply(rot.inverse(thorax), head)) / 2)
    return {"LowerBack": back, "Spine": back, "Spine1": back, "Neck": neck, "Head": neck}


def _left_arm(phase: Array, pace: float) -> dict[str, Array]:
    """The arm hangs, swings with the other leg, further when walking faster, and bends in front."""
    swing = gait.curve(gait.SHOULDER, phase, 3)
    swing = swing.mean() + pace * (swing - swing.mean())
    elbow = gait.curve(gait.ELBOW, phase, 3)
    elbow = elbow.mean() * (0.5 + 0.5 * pace) + pace * (elbow - elbow.mean())
    return {
        "LeftArm": _product(_about("x", -swing), _about("z", -np.radians(80.0)), _about("x", 0.2)),
        "LeftForeArm": _about("y", -elbow),
        "LeftHand": _about("z", -np.radians(6.0)),
        "LeftHandIndex1": _about("z", -np.radians(22.0)),
        "LeftThumb": _about("y", np.radians(12.0)),
    }


def _smooth_step(x: Array) -> Array:
    """0 below 0, 1 above 1, with two continuous derivatives."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10 - 15 * x + 6 * x**2)


def _bounded(distance: Array, longest: float) -> Array:
    """`distance`, bent smoothly within the last millimetres so that it stays below `longest`."""
    slack = 0.002 * longest
    return longest - slack * np.logaddexp(0.0, (longest - distance) / slack)


def _angle_opposite(side: Array, a: float, b: Array | float) -> Array:
    """The angle between sides `a` and `b` of a triangle whose third side is `side`."""
    return np.arccos(np.clip((a**2 + b**2 - side**2) / (2 * a * b), -1.0, 1.0))


def _flexed(vector: Array, angle: Array) -> Array:
    """`vector` turned forwards and upwards in the sagittal plane by `angle`, `(phases, 3)`."""
    return rot.rotate(_about("x", -angle), vector)


def _about(axis: str, angle: Array | float) -> Array:
    """Rotation by `angle` about a coordinate axis, `(..., 4)`."""
    half = np.asarray(angle) / 2
    q = np.zeros((*half.shape, 4))
    q[..., 0], q[..., "xyz".index(axis) + 1] = np.cos(half), np.sin(half)
    return q


def _product(*rotations: Array) -> Array:
    return reduce(rot.multiply, rotations)
