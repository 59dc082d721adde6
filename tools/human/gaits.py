"""Make the sample human's other motions: standing, running, jumping, walking along a curve.

    cd tools && python -m human.gaits        writes src/marey/samples/gaits.npz

Feet follow key places, legs bend to meet them, arms and trunk swing along. Times and heights are those of an
easy run at 3 m/s (a third of the cycle on the ground) and of a jump that lasts 0.4 s in the air; they are
plausible, not measured. A curved walk bends the ground like a ribbon: what the straight walk does at a
distance z along +z, it does at that length of the curve. The pelvis turns with the curve below it, each foot
with the curve below its own ball, so that a planted foot maps to one place. Cost: a few milliseconds a clip.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marey._arrays import Array
from marey.body.anatomy import anatomy
from marey.body.feet.plant import bend_leg
from marey.body.kinematics import GlobalPose, forward_kinematics, global_frames
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.samples.body_plan import (
    ANKLE_HEIGHT,
    BALL_BEFORE_ANKLE,
    BALL_HEIGHT,
    HIP_HALF_WIDTH,
    STATURE,
    body_skeleton,
    standing_height,
)
from marey.samples.gait_legs import about
from marey.samples.human import ASSET, FRAME_RATE
from marey.samples.walk import walk

GRAVITY = 9.81

# The run: metres a second, seconds a cycle, share of it that a foot is down.
RUN_SPEED, RUN_CYCLE, RUN_STANCE = 3.0, 0.72, 0.34

# The jump: seconds of standing, crouching, pushing, flying, landing, rising, standing.
JUMP_TIMES = np.cumsum([0.0, 0.25, 0.45, 0.2, 0.4, 0.2, 0.5, 0.25])
JUMP_LENGTH = 0.9

# Through a cycle of the run from the foot's touch-down: share, metres ahead of the hip, ankle's height above
# its resting height, pitch of the foot (toes down is positive, radians).
_SWING = np.array(
    [
        [0.40, -0.46, 0.20, 1.15],
        [0.52, -0.38, 0.42, 1.45],
        [0.66, -0.02, 0.36, 0.95],
        [0.80, 0.36, 0.20, 0.10],
        [0.93, 0.36, 0.05, -0.10],
    ]
)

# Metres between the points at which the curve is worked out.
STEP = 0.01


def main() -> None:
    """Write the asset."""
    behaviours, clips = zip(*motions(FRAME_RATE), strict=True)
    np.savez_compressed(
        ASSET,
        names=[clip.name for clip in clips],
        behaviours=behaviours,
        starts=np.cumsum([0, *(clip.frames for clip in clips)]),
        rotations=np.concatenate([clip.rotations for clip in clips]).astype(np.float32),
        roots=np.concatenate([clip.root for clip in clips]),
    )


def motions(frame_rate: float) -> list[tuple[str, Motion]]:
    """Clips and the behaviours they show."""

    def named(name: str, label: str, motion: Motion) -> tuple[str, Motion]:
        return label, replace(motion, name=name)

    made = [
        named(name, "walk", walk(cycles=2, speed=speed, frame_rate=frame_rate))
        for name, speed in (("walk-slow", 0.9), ("walk", 1.3), ("walk-brisk", 1.7))
    ]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        easy = bent(
            walk(seconds=3.2, speed=1.2, frame_rate=frame_rate), turn=sign * np.pi / 2, start=0.5, stop=3.4
        )
        tight = bent(
            walk(seconds=2.8, speed=1.0, frame_rate=frame_rate), turn=sign * 2.4, start=0.4, stop=2.4
        )
        made += [
            named(f"turn-{side}-gentle", f"turn-{side}", easy),
            named(f"turn-{side}-sharp", f"turn-{side}", tight),
        ]
    return [
        *made,
        named("stand", "idle", stand(2.0, frame_rate=frame_rate)),
        named("run", "run", run(3, frame_rate=frame_rate)),
        named("jump", "jump", jump(frame_rate=frame_rate)),
    ]


def stand(seconds: float = 2.0, *, frame_rate: float = 30.0) -> Motion:
    """Standing at ease: weight shifts slowly from leg to leg, breath moves the chest.

    >>> stand(1.0).frames
    30
    """
    time = np.arange(round(seconds * frame_rate)) / frame_rate
    sway = np.sin(2 * np.pi * time / 3.1)
    root = np.zeros((len(time), 3))
    root[:, 0] = 0.018 * sway
    root[:, 1] = 0.985 * standing_height() - 0.006 * sway**2
    figure = _Figure(len(time), root)
    figure.set("Hips", about("z", -0.03 * sway))
    figure.set("Spine", about("z", 0.02 * sway), about("x", 0.01 * np.sin(2 * np.pi * time / 3.7)))
    figure.arms(0.04 * np.sin(2 * np.pi * time / 3.1), np.full(len(time), 0.25))
    figure.feet({side: (_resting_foot(side, len(time)), np.zeros(len(time))) for side in (1, -1)})
    return figure.motion(frame_rate, "stand")


def run(cycles: int = 3, *, frame_rate: float = 30.0) -> Motion:
    """Running straight ahead, along +z, at 3 m/s.

    >>> run(2).frames
    43
    """
    count = round(cycles * RUN_CYCLE * frame_rate)
    phase = np.arange(count) / (RUN_CYCLE * frame_rate)
    root = np.zeros((count, 3))
    root[:, 2] = RUN_SPEED * RUN_CYCLE * phase
    # Lowest in the middle of each stance, highest in the middle of each flight.
    bounce = np.cos(4 * np.pi * (phase - RUN_STANCE / 2))
    root[:, 1] = 0.965 * standing_height() - 0.035 * bounce
    swing = np.cos(2 * np.pi * phase)
    figure = _Figure(count, root)
    figure.set("Hips", about("y", -0.14 * swing), about("x", np.full(count, 0.12)))
    figure.set("Spine", about("y", 0.12 * swing), about("x", np.full(count, 0.04)))
    figure.set("Spine1", about("y", 0.14 * swing))
    figure.set("Neck", about("x", np.full(count, -0.10)))
    figure.arms(0.75 * swing - 0.12, np.full(count, 1.55), against=True)
    figure.feet({1: _running_foot(1, phase, root), -1: _running_foot(-1, phase + 0.5, root)})
    return figure.motion(frame_rate, "run")


def jump(*, frame_rate: float = 30.0) -> Motion:
    """A jump forwards with both feet, from standing to standing.

    >>> bool(jump().root[:, 1].max() > 1.05)
    True
    """
    time = np.arange(round(JUMP_TIMES[-1] * frame_rate)) / frame_rate
    air = float(JUMP_TIMES[4] - JUMP_TIMES[3])
    share = np.clip((time - JUMP_TIMES[3]) / air, 0.0, 1.0)
    # Between these slopes the cubic is the parabola of free flight.
    off = GRAVITY / 2 * air
    tall = standing_height() * np.array([0.985, 0.985, 0.74, 1.02, 1.02, 0.78, 0.985, 0.985])
    height = _curve(time, JUMP_TIMES, tall, np.array([0, 0, 0, off, -off, 0, 0, 0]))
    way = np.array([0.0, 0.0, 0.02, 0.16, JUMP_LENGTH - 0.14, JUMP_LENGTH - 0.02, JUMP_LENGTH, JUMP_LENGTH])
    speed = (way[4] - way[3]) / air
    ahead = _curve(time, JUMP_TIMES, way, np.array([0, 0, 0, speed, speed, 0, 0, 0]))
    root = np.stack([np.zeros(len(time)), height, ahead], axis=1)
    lean = _eased(time, JUMP_TIMES, [0.0, 0.0, 0.75, 0.10, 0.15, 0.55, 0.0, 0.0])
    figure = _Figure(len(time), root)
    figure.set("Hips", about("x", 0.6 * lean))
    figure.set("Spine", about("x", 0.3 * lean))
    figure.set("Neck", about("x", -0.4 * lean))
    swing = _eased(time, JUMP_TIMES, [0.0, 0.0, -0.9, 2.0, 1.4, 0.5, 0.0, 0.0])
    figure.arms(swing, 0.3 + 0.3 * np.abs(np.sin(swing)), together=True)
    rise = 0.16 * np.sin(np.pi * share)
    pitch = _eased(time, JUMP_TIMES, [0.0, 0.0, 0.0, 0.9, -0.1, 0.0, 0.0, 0.0])
    figure.feet({side: _jumping_foot(side, share, rise, pitch) for side in (1, -1)})
    return figure.motion(frame_rate, "jump")


class _Figure:
    """The samples' skeleton while its joints are being set; sides are 1 for left and -1 for right."""

    def __init__(self, frames: int, root: Array):
        self.skeleton: Skeleton = body_skeleton(STATURE)
        self.root = root
        self.rotations = so3.identity((frames, self.skeleton.joints))
        for side in ("Left", "Right"):
            self.set(f"{side}UpLeg", about("x", np.full(frames, -0.2)))
            self.set(f"{side}Leg", about("x", np.full(frames, 0.4)))

    def set(self, joint: str, *turns: Array) -> None:
        product = turns[0]
        for turn in turns[1:]:
            product = so3.multiply(product, turn)
        self.rotations[:, self.skeleton.index(joint)] = product

    def arms(self, swing: Array, elbow: Array, *, against: bool = False, together: bool = False) -> None:
        """Arms that hang and swing (left and right against each other, or alike), elbows bent."""
        for side, name in ((1, "Left"), (-1, "Right")):
            own = swing if together or side > 0 else (-swing if not against else -swing - 0.24)
            self.set(
                f"{name}Arm",
                about("x", -own),
                about("z", np.full(len(own), -side * np.radians(80.0))),
                about("x", np.full(len(own), 0.2)),
            )
            self.set(f"{name}ForeArm", about("y", -side * elbow))
            self.set(f"{name}Hand", about("z", np.full(len(own), -side * np.radians(6.0))))

    def feet(self, wanted: dict[int, tuple[Array, Array]]) -> None:
        """Legs bent so that the balls of the feet are where they should be, at the given pitch."""
        pose = global_frames(self.skeleton.parents, self.skeleton.offsets, self.rotations, self.root)
        turned = np.array(pose.rotations)
        for leg in anatomy(self.skeleton).legs:
            side = 1 if self.skeleton.names[leg.root].startswith("Left") else -1
            ball, pitch = wanted[side]
            turned[:, leg.end] = so3.multiply(about("y", np.full(len(pitch), side * 0.1)), about("x", pitch))
            arm = so3.rotate(turned[:, leg.end], -self.skeleton.offsets[leg.tip])
            bend_leg(
                self.rotations,
                np.asarray(self.skeleton.parents, np.int64),
                GlobalPose(positions=pose.positions, rotations=turned),
                leg,
                ball + arm,
                None,
            )
            # The toes stay flat while the heel rises.
            down = np.clip(pitch, 0.0, 0.9) * (ball[:, 1] < BALL_HEIGHT * STATURE + 0.03)
            self.rotations[:, leg.tip] = about("x", -down)

    def motion(self, frame_rate: float, name: str) -> Motion:
        return Motion(self.skeleton, so3.continuous(self.rotations), self.root, frame_rate, name=name)


def _resting_foot(side: int, frames: int) -> Array:
    """The ball of a foot at rest below its hip, `(frames, 3)`."""
    place = STATURE * np.array([side * (HIP_HALF_WIDTH + 0.006), BALL_HEIGHT, 0.7 * BALL_BEFORE_ANKLE])
    return np.tile(place, (frames, 1))


def _running_foot(side: int, phase: Array, root: Array) -> tuple[Array, Array]:
    """The ball of a foot and its pitch; the foot comes down at whole phases."""
    share, travelled = phase % 1.0, RUN_SPEED * RUN_CYCLE
    down, up = 0.30, 0.30 - travelled * RUN_STANCE
    keys = np.concatenate(
        [[[0.0, down, 0.0, -0.05], [RUN_STANCE, up, 0.0, 0.55]], _SWING, [[1.0, down, 0.0, -0.05]]]
    )
    ankle_ahead, height, pitch = (_curve(share, keys[:, 0], keys[:, k]) for k in (1, 2, 3))
    stance = share < RUN_STANCE
    ball_ahead = ankle_ahead + STATURE * BALL_BEFORE_ANKLE * np.cos(pitch)
    ball_height = (
        STATURE * ANKLE_HEIGHT + height - STATURE * BALL_BEFORE_ANKLE * np.sin(np.maximum(pitch, 0.0))
    )
    # On the ground the ball stays where it came down.
    planted = down + STATURE * BALL_BEFORE_ANKLE - travelled * share
    ahead = np.where(
        stance, planted, ball_ahead + (up - _curve(np.array([RUN_STANCE]), keys[:, 0], keys[:, 1]))
    )
    low = STATURE * BALL_HEIGHT
    ball = np.stack(
        [
            np.full(len(phase), side * 0.6 * STATURE * HIP_HALF_WIDTH),
            np.where(stance, low, np.maximum(ball_height, low)),
            root[:, 2] + ahead,
        ],
        axis=1,
    )
    heel_rise = np.clip((share / RUN_STANCE - 0.45) / 0.55, 0.0, 1.0) ** 2 * 0.55
    return ball, np.where(stance, heel_rise, pitch)


def _jumping_foot(side: int, share: Array, rise: Array, pitch: Array) -> tuple[Array, Array]:
    ball = _resting_foot(side, len(share))
    ball[:, 2] += JUMP_LENGTH * share**2 * (3 - 2 * share)
    ball[:, 1] += rise
    return ball, pitch


def _eased(time: Array, knots: Array, values: list[float]) -> Array:
    """From value to value, at rest at each knot."""
    return _curve(time, knots, np.array(values), np.zeros(len(values)))


def _curve(x: Array, knots: Array, values: Array, slopes: Array | None = None) -> Array:
    """Cubic pieces through the values with these slopes; with those of the neighbours' chords, if None."""
    slope = np.gradient(values, knots) if slopes is None else slopes
    at = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    width = knots[at + 1] - knots[at]
    t = (x - knots[at]) / width
    return np.asarray(
        (1 + 2 * t) * (1 - t) ** 2 * values[at]
        + t * (1 - t) ** 2 * width * slope[at]
        + t**2 * (3 - 2 * t) * values[at + 1]
        - t**2 * (1 - t) * width * slope[at + 1]
    )


def bent(motion: Motion, *, turn: float, start: float, stop: float) -> Motion:
    """The walk along +z, turning by `turn` radians (left is positive) between `start` and `stop` metres.

    >>> from marey.samples.walk import walk
    >>> left = bent(walk(seconds=3), turn=np.pi / 2, start=0.5, stop=2.5)
    >>> bool(left.root[-1, 0] > 1.0)
    True
    """
    pose = forward_kinematics(motion)
    path, parents = np.asarray(motion.root, np.float64), np.asarray(motion.skeleton.parents, np.int64)
    curve = _Curve(
        turn, start, stop, float(pose.positions[..., 2].min()), float(pose.positions[..., 2].max())
    )
    heading = curve.heading(path[:, 2])
    turned = so3.multiply(about("y", heading)[:, None], pose.rotations)
    root = curve.place(path)
    arm = pose.positions - path[:, None]
    world = GlobalPose(
        positions=root[:, None] + so3.rotate(about("y", heading)[:, None], arm), rotations=turned
    )
    rotations = np.array(motion.rotations, np.float64)
    rotations[:, 0] = turned[:, 0]
    for leg in anatomy(motion.skeleton).legs:
        ball = pose.positions[:, leg.tip]
        under = about("y", curve.heading(ball[:, 2]))
        ankle = curve.place(ball) + so3.rotate(under, pose.positions[:, leg.end] - ball)
        turned[:, leg.end] = so3.multiply(under, pose.rotations[:, leg.end])
        bend_leg(rotations, parents, world, leg, ankle, None)
    return Motion(motion.skeleton, so3.continuous(rotations), root, motion.frame_rate, name=motion.name)


class _Curve:
    """A path by its length: straight, then ever more to one side and less again, then straight."""

    def __init__(self, turn: float, start: float, stop: float, low: float, high: float):
        self.turn, self.start, self.stop = turn, start, stop
        self.lengths = np.arange(min(low, 0.0) - STEP, high + 2 * STEP, STEP)
        middle = self.heading(self.lengths[:-1] + STEP / 2)
        steps = STEP * np.stack([np.sin(middle), np.cos(middle)], axis=1)
        places = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
        # Before the turn the curve is the z axis itself.
        self.places = places - places[0] + [0.0, self.lengths[0]]

    def heading(self, length: Array) -> Array:
        share = np.clip((length - self.start) / (self.stop - self.start), 0.0, 1.0)
        eased = share - np.sin(2 * np.pi * share) / (2 * np.pi)
        return np.asarray(self.turn * (0.5 * share + 0.5 * eased))

    def place(self, points: Array) -> Array:
        """Points `(..., 3)` of the straight walk on the bent ground."""
        heading = self.heading(points[..., 2])
        result = np.array(points)
        for axis, column in ((0, 0), (2, 1)):
            result[..., axis] = np.interp(points[..., 2], self.lengths, self.places[:, column])
        result[..., 0] += np.cos(heading) * points[..., 0]
        result[..., 2] -= np.sin(heading) * points[..., 0]
        return result


if __name__ == "__main__":
    main()
