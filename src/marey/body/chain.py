"""One action many times in a row: a clip repeated, each repetition where the one before ended.

Copies of a clip are joined where it resembles itself most, turned and moved so that each goes on from the
last (Courty & Cuzol 2010, section 6.3: three kicks from one). The transitions are filled by the clip's joint
model, conditioned on the frames on both sides; feet that must be elsewhere afterwards step there one after
the other. Each repetition can be steered to targets of its own. Cost: filling, and steering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from marey._random import Rng
from marey._report import Result
from marey.body import feet
from marey.body.anatomy import anatomy
from marey.body.fill import fill
from marey.body.motion import Motion, concatenate
from marey.body.pose_model import PoseModel
from marey.body.root_motion import about_y, positions_in_heading_frame, yaw
from marey.body.steer import SteerResult, TimedReach, steer
from marey.body.steer.displacement import DisplacementPrior, Observations, displace
from marey.body.steer.requests import Window
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.fades import minimum_jerk


@dataclass(frozen=True)
class ChainSettings:
    """Numbers of the method.

    Attributes:
        shortest, stepping, longest: Seconds of a transition: at least, with steps, at most.
        kept: Seconds that are kept before the first and after the last target of a repetition.
        velocity: Seconds that a difference in velocity counts for, beside one in place, between poses.
        every: Seconds between frames at which a join is looked for.
        step: Metres beyond which a foot steps instead of sliding.
        lift, highest: How high a foot is lifted, of the length of its step, and metres at most.
        exact: Metres, how exactly steps are meant.
    """

    shortest: float = 0.25
    stepping: float = 0.7
    longest: float = 1.2
    kept: float = 0.35
    velocity: float = 0.15
    every: float = 1 / 30
    step: float = 0.02
    lift: float = 0.25
    highest: float = 0.08
    exact: float = 0.002


SETTINGS = ChainSettings()


@dataclass(frozen=True, eq=False)
class ChainResult(Result):
    """A clip repeated.

    Attributes:
        motion: The new clip.
        before: The same before it was steered.
        starts: `(repetitions,)`, the frame at which the clip's own frame 0 is, or would be.
        transitions: First and last frame of each transition.
        steered: How targets were met, if there were any.
    """

    motion: Motion
    before: Motion
    starts: tuple[int, ...]
    transitions: tuple[tuple[int, int], ...]
    steered: SteerResult | None = None


def chain(
    motion: Motion,
    targets: Sequence[Sequence[TimedReach]],
    *,
    turns: Sequence[float] | None = None,
    transition: float | None = None,
    deviation: float = 0.0,
    rng: Rng = None,
) -> ChainResult:
    """The clip as often as there are entries of `targets`, each repetition steered to its own.

    Args:
        targets: For each repetition what is asked of it, at times of the clip itself; may be empty.
        turns: Radians about y by which each repetition but the first is turned from the one before.
        transition: Seconds between repetitions; as long as their poses need if None.
        deviation: How much of a random sample of the transitions is taken, 0 for the likeliest ones.
        rng: Seed or generator of the samples.

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
    joined = ChainResult(motion, motion, (0,), ())
    if count > 1:
        join = _join(motion, [request.time for one in targets for request in one], transition)
        joined = _joined(motion, join, angles, deviation, rng)
    asked = [
        replace(request, time=request.time + start / motion.frame_rate)
        for one, start in zip(targets, joined.starts, strict=True)
        for request in one
    ]
    if not asked:
        return joined
    steered = steer(joined.motion, asked, rng=rng)
    return replace(joined, motion=steered.motion, steered=steered)


class _Join(NamedTuple):
    """The clip goes on after frame `last` with `first`, after `frames` frames of transition."""

    last: int
    first: int
    frames: int


def _join(motion: Motion, times: list[float], transition: float | None) -> _Join:
    """Where the clip is most like itself after all its targets and before, and how long it needs there."""
    s, rate = SETTINGS, motion.frame_rate
    every = max(1, round(s.every * rate))
    latest = round((min(times) - s.kept) * rate) if times else motion.frames // 4
    earliest = round((max(times) + s.kept) * rate) if times else motion.frames - motion.frames // 4
    starts = np.arange(0, max(latest, 1), every)
    ends = np.arange(max(min(earliest, motion.frames - 2), 1), motion.frames, every)
    positions, places = motion.positions(), positions_in_heading_frame(motion)
    speeds = np.gradient(positions, axis=0) * rate if motion.frames > 1 else 0 * positions
    speeds = so3.rotate(about_y(-yaw(motion))[:, None], speeds)
    both = np.concatenate([places, s.velocity * speeds], axis=1).reshape(motion.frames, -1)
    a, b = both[ends], both[starts]
    apart = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    end, start = np.unravel_index(int(np.argmin(apart)), apart.shape)
    last, first = int(ends[end]), int(starts[start])
    if transition is None:
        away = np.linalg.norm(places[last] - places[first], axis=-1)
        usual = float(np.quantile(np.linalg.norm(speeds, axis=-1), 0.9))
        transition = float(np.clip(2.0 * away.max() / max(usual, 1e-6), s.shortest, s.longest))
        if away[list(feet.foot_joints(motion.skeleton))].max(initial=0.0) > s.step:
            transition = max(transition, s.stepping)
    return _Join(last, first, max(2, round(transition * rate)))


def _joined(motion: Motion, join: _Join, turns: list[float], deviation: float, rng: Rng) -> ChainResult:
    """Repetitions with transitions between."""
    parts, starts, gaps = [motion[: join.last + 1]], [0], []
    placed, length = motion, join.last + 1
    for number, turn in enumerate(turns):
        placed = _next(placed, motion, join, turn)
        final = number == len(turns) - 1
        body = placed[join.first :] if final else placed[join.first : join.last + 1]
        gaps.append((length, length + join.frames - 1))
        starts.append(length + join.frames - join.first)
        parts += [body[:1]] * join.frames + [body]
        length += join.frames + body.frames
    whole = concatenate(parts)
    ranges = [(first, last + 1) for first, last in gaps]
    filled = fill(whole, ranges, samples=1 if deviation else 0, rng=rng)
    made = filled.deviated(filled.motion, deviation) if deviation else filled.motion
    rotations, root = np.array(whole.rotations), np.array(whole.root)
    for first, last in gaps:
        gap = slice(first, last + 1)
        rotations[gap], root[gap] = so3.like(made.rotations[gap], rotations[first - 1]), made.root[gap]
    found = replace(whole, rotations=rotations, root=root)
    prior = DisplacementPrior.of(found, PoseModel.fit([motion], modes=15))
    for first, last in gaps:
        found = _stepping(found, first, last, prior)
    return ChainResult(found, found, tuple(starts), tuple(gaps))


def _next(placed: Motion, motion: Motion, join: _Join, turn: float) -> Motion:
    """The clip where it goes on after a repetition: over the transition the root keeps its velocity, and
    turns as it does on average in the clip.

    The turning of single frames would not do: hips turn to and fro with every step.
    """
    seconds, turned = (join.frames + 1) / motion.frame_rate, yaw(motion)
    speed = np.gradient(motion.root, axis=0) * motion.frame_rate
    spin = (join.frames + 1) * (turned[-1] - turned[0]) / (motion.frames - 1)
    facing = yaw(placed)[join.last] - turned[join.last]
    ahead = facing + turned[join.last] + spin + turn - turned[join.first]
    turns = about_y(np.array([facing, ahead]))
    moved = 0.5 * seconds * so3.rotate(turns, speed[[join.last, join.first]]).sum(axis=0)
    goal = placed.root[join.last] + moved
    shift = (goal - so3.rotate(turns[1], motion.root[join.first])) * [1.0, 0.0, 1.0]
    return motion.transform(rotation=turns[1], translation=shift)


def _stepping(motion: Motion, first: int, last: int, prior: DisplacementPrior) -> Motion:
    """The clip with feet that step one after the other over a transition, instead of sliding.

    The body follows the steps at some of the frames; then the legs are bent as in the rest of the clip, so
    that the feet are on their paths at every frame.
    """
    s, positions, within = SETTINGS, motion.positions(), slice(first, last + 1)
    t = np.arange(first, last + 1)
    x = (t - (first - 1)) / (last + 2 - first)
    some = slice(None, None, max(1, len(t) // 12))
    parts: list[Observations] = []
    goals = {joint: np.array(positions[:, joint], np.float64) for joint in feet.foot_joints(motion.skeleton)}
    legs = anatomy(motion.skeleton).legs[:2]
    for leg, (begin, end) in zip(legs, ((0.05, 0.5), (0.5, 0.95)), strict=False):
        u = np.clip((x - begin) / (end - begin), 0.0, 1.0)
        for joint in (j for j in (leg.end, leg.tip) if j >= 0):
            a, b = positions[first - 1, joint], positions[last + 1, joint]
            away = float(np.linalg.norm(b - a))
            up = min(s.lift * away, s.highest) if away > s.step else 0.0
            path = a + minimum_jerk(u)[:, None] * (b - a)
            path[:, 1] += up * (4 * u * (1 - u)) ** 2
            goals[joint][within], at = path, t[some]
            joints, exact = np.full(len(at), joint), np.full(len(at), s.exact)
            parts.append(Observations(at, joints, np.zeros((len(at), 3)), path[some], exact))
    if not parts:
        return motion
    followed = displace(motion, prior, [Window(first - 1, last + 1)], Observations.joined(parts))
    inside = np.zeros(motion.frames, dtype=bool)
    inside[within] = True
    return feet.bend_legs(followed, goals, inside)
