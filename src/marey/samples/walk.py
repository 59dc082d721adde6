"""A walking human, made from published gait curves, whose feet stay where they stand.

:mod:`marey.samples.gait_legs` has the curves and makes them agree
with the ground. Left and right are the same half a cycle apart, mirrored. Cost: a few milliseconds for
the cycle, then a copy per frame.
"""

from __future__ import annotations

from functools import lru_cache, reduce

import numpy as np

from marey._arrays import Array, checked_rate
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.samples.body_plan import STATURE, body_skeleton
from marey.samples.gait_legs import (
    COMFORTABLE_SPEED,
    ELBOW,
    PELVIS_OBLIQUITY,
    PELVIS_ROTATION,
    PELVIS_TILT,
    SHOULDER,
    about,
    cadence,
    curve,
    path_and_left_leg,
)

SPEEDS, FRAME_RATES, MOST_FRAMES = (0.6, 2.0), (10, 1000), 1_000_000

# Phases per cycle at least, at which the legs are worked out before frames are picked.
DENSE = 720

# In statures: the stride at the comfortable speed.
COMFORTABLE_STRIDE = 0.827


def walk(
    seconds: float | None = None,
    *,
    cycles: int | None = None,
    speed: float = COMFORTABLE_SPEED,
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
    if not FRAME_RATES[0] <= frame_rate <= FRAME_RATES[1]:
        raise InputError(
            f"frame rate: between {FRAME_RATES[0]} and {FRAME_RATES[1]} frames per second, got {frame_rate:g}"
        )
    cycle_frames = round(2 * frame_rate / cadence(speed))
    frames = _frame_count(seconds, cycles, cycle_frames, frame_rate)
    stride = speed * cycle_frames / frame_rate
    pace = min(speed / COMFORTABLE_SPEED, 1.3)
    rotations, root = _one_cycle(stature, stride, pace, cycle_frames)
    turn, within = np.divmod(np.arange(frames), cycle_frames)
    path = root[within] + turn[:, None] * np.array([0.0, 0.0, stride])
    return Motion(body_skeleton(stature), rotations[within], path, frame_rate, name="walk")


def _frame_count(seconds: float | None, cycles: int | None, cycle_frames: int, frame_rate: float) -> int:
    if seconds is not None and cycles is not None:
        raise InputError("walk: give seconds or cycles, not both")
    if cycles is not None:
        frames = float(int(cycles) * cycle_frames)
    else:
        frames = np.round((4.0 if seconds is None else seconds) * frame_rate)
    if not 1 <= frames <= MOST_FRAMES:
        raise InputError(f"walk: between 1 and {MOST_FRAMES} frames can be made, not {frames:g}")
    return int(frames)


@lru_cache(maxsize=8)
def _one_cycle(stature: float, stride: float, pace: float, cycle_frames: int) -> tuple[Array, Array]:
    """Local rotations `(cycle_frames, joints, 4)` and root `(cycle_frames, 3)`; left heel strike first."""
    skeleton = body_skeleton(stature)
    refine = -(-DENSE // cycle_frames)
    refine += cycle_frames * refine % 2
    phase = np.arange(cycle_frames * refine) / (cycle_frames * refine)
    reach = stride / (COMFORTABLE_STRIDE * stature)
    pelvis = _pelvis(phase, min(reach, 1.2))
    path, left_leg = path_and_left_leg(skeleton, stature, phase, stride, reach, pelvis)
    turned = {"Hips": pelvis, **left_leg, **_trunk(phase, pelvis), **_left_arm(phase, pace)}
    local = rot.identity((len(phase), skeleton.joints))
    for name, q in turned.items():
        local[:, (left := skeleton.index(name))] = q
        if name.startswith("Left"):
            # The right side does what the left one did half a cycle ago, mirrored.
            mirrored = np.roll(local[:, left], len(phase) // 2, axis=0) * [1.0, 1.0, -1.0, -1.0]
            local[:, skeleton.index(name.replace("Left", "Right"))] = mirrored
    return rot.continuous(local[::refine]), path[::refine]


def _pelvis(phase: Array, amount: float) -> Array:
    """Rotation of the pelvis in the world, `(phases, 4)`."""
    return _product(
        about("y", -amount * curve(PELVIS_ROTATION, phase, 3)),
        about("z", amount * curve(PELVIS_OBLIQUITY, phase, 3)),
        about("x", curve(PELVIS_TILT, phase, 4)),
    )


def _trunk(phase: Array, pelvis: Array) -> dict[str, Array]:
    """The spine turns the thorax against the pelvis, the neck turns the face back to where it goes."""
    thorax = _product(
        about("y", 0.8 * curve(PELVIS_ROTATION, phase - 0.03, 3)),
        about("z", -0.35 * curve(PELVIS_OBLIQUITY, phase, 3)),
        about("x", np.radians(2.5) - curve(PELVIS_TILT, phase, 4)),
    )
    head = about("x", np.radians(4.0) + 0.6 * curve(PELVIS_TILT, phase, 4))
    back = rot.exp(rot.log(rot.multiply(rot.inverse(pelvis), thorax)) / 3)
    neck = rot.exp(rot.log(rot.multiply(rot.inverse(thorax), head)) / 2)
    return {"LowerBack": back, "Spine": back, "Spine1": back, "Neck": neck, "Head": neck}


def _left_arm(phase: Array, pace: float) -> dict[str, Array]:
    """The arm hangs, swings with the other leg, further when walking faster, and bends in front."""
    swing = curve(SHOULDER, phase, 3)
    swing = swing.mean() + pace * (swing - swing.mean())
    elbow = curve(ELBOW, phase, 3)
    elbow = elbow.mean() * (0.5 + 0.5 * pace) + pace * (elbow - elbow.mean())
    return {
        "LeftArm": _product(about("x", -swing), about("z", -np.radians(80.0)), about("x", 0.2)),
        "LeftForeArm": about("y", -elbow),
        "LeftHand": about("z", -np.radians(6.0)),
        "LeftHandIndex1": about("z", -np.radians(22.0)),
        "LeftThumb": about("y", np.radians(12.0)),
    }


def _product(*rotations: Array) -> Array:
    return reduce(rot.multiply, rotations)
