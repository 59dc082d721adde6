"""One action many times in a row: a clip repeated, each repetition where the one before ended.

Copies of a clip are joined where it resembles itself most, turned and moved so that each goes on from the
last (Courty & Cuzol 2010, section 6.3: three kicks from one). What is between is a hole for the clip's joint
model, given the frames around; feet that must be elsewhere afterwards step there one after the other. Each
repetition can be steered to targets of its own. Cost: learning the clip's dynamics, and steering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import Array
from marey._random import Rng
from marey.body.dynamics import MotionModel
from marey.body.feet import foot_joints, legs
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion, concatenate
from marey.body.root_travel import heading
from marey.body.steering import ReachAt, Steered, steer
from marey.body.steering.conditioning import Observations, conditioned
from marey.body.steering.freedom import Freedom
from marey.body.steering.process import Span
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous
from marey.statistics.autoregression import condition

# Seconds of a transition: at least, with steps, at most.
SHORTEST, STEPPING, LONGEST = 0.25, 0.7, 1.2
# Seconds that are kept before the first and after the last request of a repetition.
KEPT = 0.35
# Seconds that a difference in velocity counts for, beside one in place, where joins are looked for.
VELOCITY = 0.15
# Metres beyond which a foot steps rather than slides, how high it goes of its way, and at most.
STEP, LIFT, HIGHEST = 0.02, 0.25, 0.08
# Metres to which steps are meant.
ROUGHLY = 0.002
# Looked at to find a join: every so many seconds.
EVERY = 1 / 30


@dataclass(frozen=True, eq=False)
class Chained:
    """A clip repeated.

    motion: the new clip
    before: the same before it was steered
    starts: `(repetitions,)`, the frame at which the clip's own frame 0 is, or would be, in each repetition
    transitions: first and last frame of each transition
    steered: how targets were met, if there were any
    """

    motion: Motion
    before: Motion
    starts: tuple[int, ...]
    transitions: tuple[tuple[int, int], ...]
    steered: Steered | None = None


def chain(
    motion: Motion,
    targets: Sequence[Sequence[ReachAt]],
    *,
    turns: Sequence[float] | None = None,
    transition: float | None = None,
    deviation: float = 0.0,
    rng: Rng = None,
) -> Chained:
    """The clip as often as there are entries of `targets`, each repetition steered to its own.

    targets: for each repetition what is asked of it, at times of the clip itself; may be empty
    turns: radians about y by which each repetition but the first faces otherwise than the one before ended
    transition: seconds between repetitions; as long as their poses need if None
    deviation: how much chance there is in transitions, 1 as much as in the clip's dynamics

    >>> import marey
    >>> walk = marey.samples.walk(seconds=3)
    >>> again = chain(walk, [[], []])
    >>> again.motion.frames > walk.frames, len(again.starts)
    (True, 2)
    """
    count = len(targets)
    if count < 1:
        raise InputError("nothing to chain: give what is asked of each repetition")
    angles = [0.0] * (count - 1) if turns is None else [float(turn) for turn in turns]
    if len(angles) != count - 1 or not np.isfinite(angles).all():
        raise InputError(f"turns: one angle for each of the {count - 1} repetitions after the first")
    if transition is not None and not (np.isfinite(transition) and transition > 0):
        raise InputError(f"transition: seconds above 0, got {transition}")
    if not (np.isfinite(deviation) and deviation >= 0):
        raise InputError(f"deviation: a number, not below 0, got {deviation}")
    times = [request.time for one in targets for request in one]
    joined = Chained(motion, motion, (0,), ())
    if count > 1:
        join = _join(motion, times, transition)
        joined = _joined(motion, join, angles, deviation, np.random.default_rng(rng))
    asked = [
        replace(request, time=request.time + start / motion.frame_rate)
        for one, start in zip(targets, joined.starts, strict=True)
        for request in one
    ]
    if not asked:
        return joined
    steered = steer(joined.motion, asked, rng=rng)
    return replace(joined, motion=steered.motion, steered=steered)


@dataclass(frozen=True)
class _Join:
    """The clip goes on after frame `last` with `first`, `frames` later than without a transition."""

    last: int
    first: int
    frames: int


def _join(motion: Motion, times: list[float], transition: float | None) -> _Join:
    """Where the clip is most like itself after all that is asked of it and before, and how far that is."""
    rate, every = motion.frame_rate, max(1, round(EVERY * motion.frame_rate))
    latest = round((min(times) - KEPT) * rate) if times else motion.frames // 4
    earliest = round((max(times) + KEPT) * rate) if times else motion.frames - motion.frames // 4
    starts = np.arange(0, max(latest, 1), every)
    ends = np.arange(max(min(earliest, motion.frames - 2), 1), motion.frames, every)
    places, speeds = _seen_by_itself(motion)
    apart = np.sqrt(
        _squares(places[ends], places[starts]) + VELOCITY**2 * _squares(speeds[ends], speeds[starts])
    )
    end, start = np.unravel_index(int(np.argmin(apart)), apart.shape)
    last, first = int(ends[end]), int(starts[start])
    if transition is None:
        way = np.linalg.norm(places[last] - places[first], axis=-1).max()
        usual = float(np.quantile(np.linalg.norm(speeds, axis=-1), 0.9))
        transition = float(np.clip(2.0 * way / max(usual, 1e-6), SHORTEST, LONGEST))
        soles = list(foot_joints(motion.skeleton))
        if soles and np.linalg.norm((places[last] - places[first])[soles], axis=-1).max() > STEP:
            transition = max(transition, STEPPING)
    return _Join(last, first, max(2, round(transition * rate)))


def _seen_by_itself(motion: Motion) -> tuple[Array, Array]:
    """Joints `(frames, joints, 3)` from the ground below the root, facing ahead, and their velocities."""
    back = so3.inverse(so3.exp(heading(motion)[:, None] * [0.0, 1.0, 0.0]))[:, None]
    positions = motion.positions()
    places = so3.rotate(back, positions - (motion.root * [1.0, 0.0, 1.0])[:, None])
    speeds = np.gradient(positions, axis=0) * motion.frame_rate if motion.frames > 1 else 0 * positions
    return places, so3.rotate(back, speeds)


def _squares(one: Array, other: Array) -> Array:
    """Mean squared distance of points `(n, points, 3)` from `(m, points, 3)`, `(n, m)`."""
    a, b = one.reshape(len(one), -1), other.reshape(len(other), -1)
    total = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.maximum(total, 0.0) / one.shape[1])


def _joined(
    motion: Motion, join: _Join, turns: list[float], deviation: float, rng: np.random.Generator
) -> Chained:
    """Repetitions with transitions between."""
    learned = MotionModel.fit(motion, period=None)
    coordinates = learned.poses.encode(motion) - learned.trend_at(motion.frames)
    parts, starts, gaps = [motion[: join.last + 1]], [0], []
    length = join.last + 1
    for i, turn in enumerate(turns):
        between, placed = _transition(learned, motion, coordinates, parts[-1][-1], join, turn, deviation, rng)
        final = i == len(turns) - 1
        body = placed[join.first :] if final else placed[join.first : join.last + 1]
        gaps.append((length, length + between.frames - 1))
        starts.append(length + between.frames - join.first)
        parts += [between, body]
        length += between.frames + body.frames
    whole = concatenate(parts)
    for first, last in gaps:
        whole = _stepping(whole, first, last, learned)
    return Chained(whole, whole, tuple(starts), tuple(gaps))


def _transition(
    learned: MotionModel,
    motion: Motion,
    coordinates: Array,
    before: Motion,
    join: _Join,
    turn: float,
    deviation: float,
    rng: np.random.Generator,
) -> tuple[Motion, Motion]:
    """What comes between the frame `before` and the next repetition, and the whole clip placed there."""
    order = learned.dynamics.order + 1
    past = coordinates[max(join.last - order, 0) : join.last + 1]
    future = coordinates[join.first : join.first + order]
    hole = np.full((join.frames, learned.modes), np.nan)
    law = condition(learned.dynamics, np.concatenate([past, hole, future]))
    if turn:
        travel = learned.poses.travel
        assert travel is not None
        row = np.zeros((1, len(law.mean), learned.modes))
        row[0, len(past) : len(past) + join.frames] = travel.directions[:, 3] / motion.frame_rate
        natural = float(np.einsum("tc,tc", row[0], law.mean))
        law = law.given(row, [natural + turn])
    found = law.mean if not deviation else law.mean + deviation * (law.sample(rng) - law.mean)
    centre = learned.trend_at(1)[0]
    shown = found[len(past) - 1 : len(past) + join.frames + 1] + centre
    made = learned.poses.decode_motion(
        shown, motion.frame_rate, start=before.root[0], heading=float(heading(before)[0])
    )
    angle = float(heading(made)[-1] - heading(motion)[join.first])
    spin = so3.exp([0.0, angle, 0.0])
    way = (made.root[-1] - so3.rotate(spin, motion.root[join.first])) * [1.0, 0.0, 1.0]
    placed = motion.transform(rotation=spin, translation=way)
    ends = concatenate([before, placed[join.first]])
    return _with_details(made, ends, before), placed


def _with_details(made: Motion, ends: Motion, like: Motion) -> Motion:
    """Frames between, with what the model leaves out of the first and last frame led over smoothly."""
    x = np.linspace(0.0, 1.0, made.frames)
    ramp = (x**3 * (10 - 15 * x + 6 * x**2))[:, None, None]
    inverse = so3.inverse(made.rotations[[0, -1]])
    lost = so3.log(so3.multiply(inverse, ends.rotations))
    turns = lost[0] + ramp * (lost[1] - lost[0])
    gap = ends.root - made.root[[0, -1]]
    root = made.root + gap[0] + ramp[:, 0] * (gap[1] - gap[0])
    rotations = so3.normalise(so3.multiply(made.rotations, so3.exp(turns)))[1:-1]
    return replace(like, rotations=continuous(rotations), root=root[1:-1], translations=None)


def _stepping(motion: Motion, first: int, last: int, learned: MotionModel) -> Motion:
    """The clip with feet that, over a transition, stand and step instead of sliding."""
    pose = forward_kinematics(motion)
    t = np.arange(first, last + 1)
    x = (t - (first - 1)) / (last + 2 - first)
    parts = []
    for leg, (begin, end) in zip(legs(motion.skeleton), ((0.05, 0.5), (0.5, 0.95)), strict=False):
        u = np.clip((x - begin) / (end - begin), 0.0, 1.0)
        share = (u**3 * (10 - 15 * u + 6 * u**2))[:, None]
        for joint in (j for j in (leg.ankle, leg.toe) if j >= 0):
            a, b = pose.positions[first - 1, joint], pose.positions[last + 1, joint]
            way = float(np.linalg.norm(b - a))
            up = min(LIFT * way, HIGHEST) if way > STEP else 0.0
            course = a + share * (b - a) + (up * (4 * u * (1 - u)) ** 2)[:, None] * [0.0, 1.0, 0.0]
            parts.append(
                Observations(
                    t, np.full(len(t), joint), np.zeros((len(t), 3)), course, np.full(len(t), ROUGHLY)
                )
            )
    if not parts:
        return motion
    every = max(1, len(t) // 12)
    some = [part.some(slice(None, None, every)) for part in parts]
    span = Span(first - 1, last + 1)
    return conditioned(motion, Freedom.of(motion, learned.poses), [span], Observations.joined(some))
