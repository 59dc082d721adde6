"""A clip steered by a few targets: hands and feet reach given points at given times (Courty 2013, 3.2.3.2).

Around each target the clip is displaced as smoothly and as much like itself as possible; feet in contact
stay, and frames outside the window are not touched. The window is as long as it must be for the accelerations
to stay like the clip's own. Targets that the body cannot reach while its feet stay are drawn back. Optionally
the clip's dynamics simulate the window anew. Some tens of milliseconds a second of motion that is changed,
beside learning the clip's poses.

Simulated is either the window, given the poses at the targets and all frames outside (conditional
simulation), or a deviation from the smooth change, which is 0 at the targets and at the edges. The root's
motion is part of the model; that it ends where the original goes on is imposed on its sum. What the model
does not hold of a clip is kept. Cost: that of fitting the dynamics, and of one conditional sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from marey._arrays import Array
from marey._random import Rng
from marey._report import Result
from marey.body import dynamics, root_motion
from marey.body.dynamics import MotionModel
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.steer.contacts import ContactPlan, feet_stay, plan_contacts, settle
from marey.body.steer.displacement import SETTINGS as EXACTLY
from marey.body.steer.displacement import DisplacementPrior, Observations, displace
from marey.body.steer.published import control
from marey.body.steer.requests import (
    LONGEST,
    Target,
    TimedReach,
    Window,
    covered,
    first_halves,
    merge_windows,
    peak_ratio,
    targets,
    trajectory,
    windows_around,
)
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.fades import minimum_jerk
from marey.statistics.autoregression import condition
from marey.statistics.processes.process import GaussianProcesses

METHODS = ("displace", *dynamics.METHODS)


@dataclass(frozen=True)
class SteerSettings:
    """Numbers of the method.

    Attributes:
        modes: Of the pose model that is learned from the clip.
        acceleration: Largest acceleration of a target's point, of its largest in the clip.
        speed: Largest speed in the pose model's coordinates, of the largest in the clip.
        wider: Factor by which a window is tried longer; the next one must lower the excess to `helps`.
        met: Metres within which a target counts as met.
        slack: How many times less exactly targets are meant to find how far a body reaches: 3 cm beside feet
            of half a millimetre.
        tries: Simulations until one is as calm as the clip: share of the variance of its poses that is
            simulated, factor of the window.
    """

    modes: int = 15
    acceleration: float = 1.5
    speed: float = 1.15
    wider: float = 1.4
    helps: float = 0.95
    met: float = 0.005
    slack: float = 300.0
    tries: tuple[tuple[float, float], ...] = ((0.999, 1.0), (0.999, 1.4), (0.99, 1.0))


SETTINGS = SteerSettings()


@dataclass(frozen=True, eq=False)
class SteerResult(Result):
    """A clip that was steered.

    Attributes:
        motion: The new clip.
        residual_cm: `(targets,)`, how far each target is missed.
        peak_acceleration_ratio: Of the targets' points within the windows: their largest acceleration over
            the largest in the original clip.
        intervals: First and last frame changed, of each stretch.
        names: Joint and time of each target.
    """

    motion: Motion
    residual_cm: tuple[float, ...]
    peak_acceleration_ratio: float
    intervals: tuple[tuple[int, int], ...]
    names: tuple[str, ...]

    def lines(self) -> list[str]:
        """One sentence for every target that was missed."""
        return [
            f"{name}: target out of reach, missed by {error:.1f} cm"
            for name, error in zip(self.names, self.residual_cm, strict=True)
            if error > 100 * SETTINGS.met
        ]


def steer(
    motion: Motion,
    requests: Sequence[TimedReach],
    *,
    method: str = "displace",
    deviation: float = 0.0,
    interval: float | Literal["published"] | None = None,
    model: PoseModel | None = None,
    rng: Rng = None,
    settings: SteerSettings = SETTINGS,
) -> SteerResult:
    """The clip in which points of the body are where they are asked to be.

    Args:
        requests: Where points should be, and when.
        method: "displace", a smooth change of the original; or the window simulated anew from the clip's
            dynamics, given the pose at the target and the frames around: "joint", of all coordinates, or
            "gp", of each by itself with a squared exponential covariance, with our feet and intervals.
        deviation: With "displace", how much simulated deviation is added to the smooth change; 1 is as much
            as the clip's dynamics have.
        interval: Seconds that may change around a target; as long as needed if None; "published", with "gp",
            for all of Courty & Cuzol (2010), section 6.3: see :mod:`marey.body.steer.published`.
        model: Poses to stay like; learned from the clip if None.
        rng: Seed or generator of the simulation.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> found = steer(walk, [TimedReach("LeftHand", 1.0, [0.0, 0.1, 0.05], relative=True)])
    >>> max(found.residual_cm) < 0.5, found.peak_acceleration_ratio <= 1.5
    (True, True)
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    if not (np.isfinite(deviation) and deviation >= 0):
        raise InputError(f"deviation: a number, not below 0, got {deviation}")
    if interval == "published":
        if method != "gp" or model is not None:
            raise InputError('interval "published": with method "gp", and without a model')
        asked = targets(motion, requests)
        made = control(motion, asked, rng=rng)
        return _result(motion, made.motion, requests, asked, asked, made.windows)
    if interval is not None and not (np.isfinite(interval) and interval > 0):
        raise InputError(f"interval: seconds above 0, got {interval}")
    wanted = targets(motion, requests)
    poses = PoseModel.fit([motion], modes=min(settings.modes, 3 * motion.joints)) if model is None else model
    if poses.skeleton.names != motion.skeleton.names:
        raise InputError("the pose model's joints differ from those of the clip")
    task = _Task(motion, poses, DisplacementPrior.of(motion, poses), interval, settings)
    asked = task.clip_to_reach(wanted)
    plan = plan_contacts(motion, asked)
    result, windows = task.widened(asked, plan)
    if method != "displace" or deviation > 0:
        generator = np.random.default_rng(rng)
        found = []
        for variance, factor in (one for one in settings.tries if interval is None or one[1] == 1.0):
            around = [window.wider(factor) for window in windows]
            learned = MotionModel.fit(
                motion, variance=variance, method="joint" if method == "displace" else method
            )
            share = deviation if method == "displace" else None
            start = simulate(learned, motion, result, asked, around, share=share, rng=generator)
            drawn = task.solve(start, asked, plan, around)
            found.append((task.acceleration(drawn, asked, around), drawn, around))
            if found[-1][0] <= settings.acceleration:
                break
        _, result, windows = min(found, key=lambda one: one[0])
    return _result(motion, result, requests, wanted, asked, windows)


def _result(
    motion: Motion,
    result: Motion,
    requests: Sequence[TimedReach],
    wanted: list[Target],
    asked: list[Target],
    windows: list[Window],
) -> SteerResult:
    pairs = list(zip(asked, windows, strict=True))
    return SteerResult(
        result,
        tuple(100 * error for error in _errors(result, wanted)),
        max(peak_ratio(motion, result, target, window) for target, window in pairs),
        merge_windows(windows, motion.frames),
        tuple(f"{request.joint} at {request.time:g} s" for request in requests),
    )


@dataclass(frozen=True, eq=False)
class _Task:
    """A clip to be steered, and how it may be displaced."""

    motion: Motion
    poses: PoseModel
    prior: DisplacementPrior
    interval: float | None
    settings: SteerSettings

    def solve(
        self,
        motion: Motion,
        asked: list[Target],
        plan: ContactPlan,
        windows: list[Window],
        slack: float = 1.0,
    ) -> Motion:
        """The clip, or another start, with targets met and feet held, stretch by stretch."""
        for first, last in merge_windows(windows, motion.frames):
            here = [i for i, target in enumerate(asked) if first <= target.frame <= last]
            around = [windows[i] for i in here]
            parts = [plan.observations(around, motion.frame_rate)]
            for target in (asked[i] for i in here):
                # The target, and the frames beside it at the original's velocity.
                path, at = trajectory(motion, target), target.frame + np.arange(-1, 2)
                at = at[(at >= 0) & (at < motion.frames)]
                goals = target.position + path[at] - path[target.frame]
                noise = slack * EXACTLY.exact * np.where(at == target.frame, 1 / 3, 1.0)
                joints, points = np.full(len(at), target.joint), np.tile(target.point, (len(at), 1))
                parts.append(Observations(at, joints, points, goals, noise))
            motion = displace(motion, self.prior, around, Observations.joined([*parts[1:], parts[0]]))
        return settle(motion, asked, plan, windows)

    def widened(self, asked: list[Target], plan: ContactPlan) -> tuple[Motion, list[Window]]:
        """The steered clip, with windows as long as accelerations and speeds like the clip's own need."""
        s, motion = self.settings, self.motion
        usual = max(latent_speeds(motion, self.poses).max(initial=0.0), 1e-9)
        halves, longest = first_halves(motion, asked, self.interval), LONGEST * motion.frame_rate
        best: tuple[Motion, list[Window]] | None = None
        worst = np.inf
        while True:
            windows = windows_around(asked, plan.moved, halves)
            result = self.solve(motion, asked, plan, windows)
            pairs = list(zip(asked, windows, strict=True))
            peaks = np.array([peak_ratio(motion, result, target, window) for target, window in pairs])
            speeds = np.array([self._speed(result, window) for window in windows])
            ratios = np.maximum(peaks / s.acceleration, speeds / (s.speed * usual))
            helps = ratios.max() < s.helps * worst
            if best is None or (ratios.max() < worst and feet_stay(result, asked, plan, windows)):
                best, worst = (result, windows), float(ratios.max())
            wider = (ratios > 1.0) & (halves < longest)
            # Where targets contradict one another, or are out of reach, more time is of no use.
            if self.interval is not None or not wider.any() or not helps:
                return best
            halves = np.where(wider, np.minimum(s.wider * halves, longest), halves)

    def clip_to_reach(self, asked: list[Target]) -> list[Target]:
        """The targets, with those that cannot be met drawn back to where the body can get.

        The body first goes as far as it can with targets meant loosely beside the feet; targets that it
        misses are put where it got to, and nearer, until all are met while feet stay.
        """
        if self._fits(asked):
            return asked
        # Feet with targets are released here: where they would be in contact is not known yet.
        plan = plan_contacts(self.motion, asked, release=True)
        windows = windows_around(asked, plan.moved, first_halves(self.motion, asked, self.interval))
        loose = self.solve(self.motion, asked, plan, windows, slack=self.settings.slack)
        missed = _errors(loose, asked)
        got = [trajectory(loose[target.frame], target)[0] for target in asked]
        found = list(asked)
        # The targets that are missed most are given up first.
        for i in np.argsort(-np.array(missed)).tolist():
            start = asked[i].position - asked[i].offset
            for share in (1.0, 0.85, 0.7, 0.5, 0.35, 0.2):
                found[i] = asked[i].moved_to(start + share * (got[i] - start))
                if self._fits(found):
                    return found
        return found

    def acceleration(self, result: Motion, asked: list[Target], windows: list[Window]) -> float:
        """The largest of the targets' ratios of accelerations."""
        pairs = zip(asked, windows, strict=True)
        return max(peak_ratio(self.motion, result, target, window) for target, window in pairs)

    def _fits(self, asked: list[Target]) -> bool:
        """Whether all targets can be met together while feet stay in contact."""
        plan = plan_contacts(self.motion, asked)
        windows = windows_around(asked, plan.moved, first_halves(self.motion, asked, self.interval))
        result = self.solve(self.motion, asked, plan, windows)
        met = max(_errors(result, asked)) < self.settings.met
        return met and feet_stay(result, asked, plan, windows)

    def _speed(self, motion: Motion, window: Window) -> float:
        """The largest change of coordinates between frames around a window."""
        first = max(int(np.floor(window.start)) - 1, 0)
        near = motion[first : int(np.ceil(window.end)) + 2]
        return float(latent_speeds(near, self.poses).max(initial=0.0))


def latent_speeds(motion: Motion, model: PoseModel) -> Array:
    """How fast the coordinates change `(frames - 1,)`: their length a frame."""
    return np.asarray(np.linalg.norm(np.diff(model.encode(motion), axis=0), axis=1))


def _errors(result: Motion, asked: list[Target]) -> list[float]:
    """Metres by which each target is missed."""
    return [
        float(np.linalg.norm(trajectory(result[target.frame], target)[0] - target.position))
        for target in asked
    ]


# Seconds before and after a target whose poses are given too: it is passed at the right velocity.
BESIDE = 1 / 60


def simulate(
    learned: MotionModel,
    original: Motion,
    smooth: Motion,
    targets: list[Target],
    windows: list[Window],
    *,
    share: float | None,
    rng: Rng,
) -> Motion:
    """A clip that is simulated within the windows and the original outside.

    Args:
        learned: Dynamics of the original.
        original: The clip.
        smooth: The clip as it is steered without simulation; its poses at the targets are kept.
        windows: Around the targets.
        share: How much of a simulated deviation from `smooth` is taken; None simulates the motion itself.
        rng: Of the sample.
    """
    anew = share is None
    base = original if anew else smooth
    coordinates = learned.poses.encode(base)
    centre = learned.trend_at(original.frames)
    stretches = merge_windows(windows, original.frames)
    unknown = covered(windows, original.frames)
    beside = max(1, round(BESIDE * original.frame_rate))
    if learned.method == "gp":
        beside = 0  # as published
    near = [f for target in targets for f in range(target.frame - beside, target.frame + beside + 1)]
    given = sorted({f for f in near if 0 <= f < original.frames and unknown[f]})
    unknown[given] = False
    known = coordinates - centre if anew else np.zeros_like(coordinates)
    if anew:
        known[given] = learned.poses.encode(smooth)[given] - centre[given]
    if isinstance(learned.dynamics, GaussianProcesses):
        # The nugget is noise of the frames that are known, never of the pose asked for.
        noise = np.broadcast_to(learned.dynamics.noise, known.shape).copy()
        noise[given] = 0.0
        drawn = learned.dynamics.condition(known, ~unknown, noise=noise).sample(rng=rng)[0]
    else:
        conditional = condition(learned.dynamics, np.where(unknown[:, None], np.nan, known))
        rows, values = _closing(learned, base, stretches, coordinates, centre if anew else None)
        drawn = conditional.condition(rows, values).sample(rng)
    new = drawn + centre if share is None else coordinates + share * drawn
    return _transfer(learned, base, coordinates, new, stretches)


def _closing(
    learned: MotionModel,
    base: Motion,
    stretches: tuple[tuple[int, int], ...],
    coordinates: Array,
    centre: Array | None,
) -> tuple[Array, Array]:
    """Conditions on the sums of turning and of root motion over each window: the same position at its end."""
    moved = learned.poses.root_motion
    assert moved is not None
    facing = root_motion.about_y(root_motion.yaw(base))
    sideways, ahead = (so3.rotate(facing, np.array(axis)) for axis in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    right, forward, turning = (moved.directions[:, i] for i in (0, 1, 3))
    rows = []
    for first, last in stretches:
        inside = np.zeros((base.frames, 1))
        inside[max(first - 1, 0) : last] = 1.0
        rows += [inside * (sideways[:, [i]] * right + ahead[:, [i]] * forward) for i in (0, 2)]
        rows.append(inside * turning)
    functionals = np.array(rows)
    target = np.zeros_like(coordinates) if centre is None else coordinates - centre
    return functionals, np.einsum("itc,tc->i", functionals, target)


def _transfer(
    learned: MotionModel, base: Motion, old: Array, new: Array, stretches: tuple[tuple[int, int], ...]
) -> Motion:
    """The change from old to new coordinates, put on the clip within the windows."""
    rotations, root = np.array(base.rotations), np.array(base.root)
    yaw = root_motion.yaw(base)
    for first, last in stretches:
        begin = max(first - 1, 0)
        frames = slice(begin, min(last + 2, base.frames))
        at = {"start": base.root[begin], "heading": float(yaw[begin])}
        before, after = (
            learned.poses.decode_motion(part[frames], base.frame_rate, **at) for part in (old, new)
        )
        turns = so3.log(so3.multiply(so3.inverse(before.rotations), after.rotations))
        shifts = after.root - before.root
        # What is left of the shift and of the turn at the end is spread over the window.
        ramp = minimum_jerk(np.linspace(0.0, 1.0, len(shifts))) * (last + 1 < base.frames)
        shifts -= ramp[:, None] * shifts[-1]
        turns[:, 0] -= ramp[:, None] * turns[-1, 0]
        inner = slice(first, last + 1)
        kept = slice(first - begin, last + 1 - begin)
        moved = so3.multiply(base.rotations[inner], so3.exp(turns[kept]))
        rotations[inner] = so3.normalise(so3.like(moved, base.rotations[inner]))
        root[inner] = base.root[inner] + shifts[kept]
    return replace(base, rotations=rotations, root=root)
