"""A clip steered by a few targets: hands and feet reach given points at given times (Courty 2013, 3.2.3.2).

Around each target the clip is displaced as smoothly and as much like itself as possible; feet in contact
stay, and frames outside the window are not touched. The window is as long as it must be for the accelerations
to stay like the clip's own. Targets that the body cannot reach while its feet stay are drawn back. Optionally
the window is simulated anew, as a gap of the clip (:mod:`marey.body.fill`), given the poses at the targets
and all frames outside (conditional simulation); or a deviation, which is 0 at the targets and at the edges,
is added to the smooth change. Some tens of milliseconds a second of motion that is changed, beside learning
the clip's poses; simulated, as long as filling takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from marey._arrays import Array
from marey._random import Rng
from marey._report import Result
from marey.body.codec.clip import CompressedMotion
from marey.body.feet import bend_legs, foot_joints
from marey.body.feet.contacts import foot_positions
from marey.body.fill import fill
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel, check_joints
from marey.body.steer.compressed import edit
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

METHODS = ("displace", "joint", "gp")


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
        tries: Factors of the window, simulated until one is as calm as the clip.
    """

    modes: int = 15
    acceleration: float = 1.5
    speed: float = 1.15
    wider: float = 1.4
    helps: float = 0.95
    met: float = 0.005
    slack: float = 300.0
    tries: tuple[float, ...] = (1.0, 1.4, 1.0)


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
        compressed: Of a compressed clip, the file that was edited; else None.
    """

    motion: Motion
    residual_cm: tuple[float, ...]
    peak_acceleration_ratio: float
    intervals: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    compressed: CompressedMotion | None = None

    def lines(self) -> list[str]:
        """One sentence for every target that was missed."""
        return [
            f"{name}: target out of reach, missed by {error:.1f} cm"
            for name, error in zip(self.names, self.residual_cm, strict=True)
            if error > 100 * SETTINGS.met
        ]


def steer(
    motion: Motion | CompressedMotion,
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
        motion: The clip; a compressed one of method "tournier" is edited as it is stored, see
            :mod:`marey.body.steer.compressed`.
        requests: Where points should be, and when.
        method: "displace", a smooth change of the original; or the window simulated anew, given the pose at
            the target and the frames around, by a method of :func:`marey.body.fill.fill`: "joint", learned
            from the clip as a whole, or "gp", of each feature by itself, with our feet and intervals.
        deviation: With "displace", how much simulated deviation is added to the smooth change; 1 is as much
            as a simulation has.
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
    if isinstance(motion, CompressedMotion):
        if method != "displace" or deviation or model is not None or interval == "published":
            raise InputError("a compressed clip is edited by method displace alone; decode it for others")
        found = edit(motion, requests, interval=interval)
        told = _result(found.before, found.after, requests, found.asked, found.asked, found.windows)
        return replace(told, compressed=found.compressed)
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
    check_joints(poses.skeleton, motion)
    task = _Task(motion, poses, DisplacementPrior.of(motion, poses), interval, settings)
    asked = task.clip_to_reach(wanted)
    plan = plan_contacts(motion, asked)
    result, windows = task.widened(asked, plan)
    if method != "displace" or deviation > 0:
        generator = np.random.default_rng(rng)
        tried = []
        for factor in settings.tries if interval is None else settings.tries[:1]:
            around = [window.wider(factor) for window in windows]
            start = simulate(result, asked, around, method=method, share=deviation, rng=generator)
            drawn = task.solve(start, asked, plan, around)
            tried.append((task.acceleration(drawn, asked, around), drawn, around))
            if tried[-1][0] <= settings.acceleration:
                break
        _, result, windows = min(tried, key=lambda one: one[0])
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
    smooth: Motion,
    targets: list[Target],
    windows: list[Window],
    *,
    method: str,
    share: float,
    rng: np.random.Generator,
) -> Motion:
    """A steered clip simulated anew within the windows, whose poses at the targets are kept.

    Args:
        method: "joint" or "gp"; or "displace", which adds to the clip the `share` of a simulated deviation.
    """
    unknown = covered(windows, smooth.frames)
    beside = max(1, round(BESIDE * smooth.frame_rate))
    for target in targets:
        unknown[max(target.frame - beside, 0) : target.frame + beside + 1] = False
    if not unknown.any():
        return smooth
    known, anew = replace(smooth, translations=None), method != "displace"
    filled = fill(known, unknown, samples=1, method=method if anew else "joint", rng=rng)
    drawn = filled.samples[0] if anew else filled.deviated(smooth, share)
    rotations = np.array(smooth.rotations)
    rotations[unknown] = so3.normalise(so3.like(drawn.rotations[unknown], rotations[unknown]))
    root = np.where(unknown[:, None], drawn.root, smooth.root)
    # A simulation does not know the ground: feet go where they went.
    feet = dict(zip(foot_joints(smooth.skeleton), np.moveaxis(foot_positions(smooth), 1, 0), strict=True))
    return bend_legs(replace(smooth, rotations=rotations, root=root), feet, unknown)
