"""The whole body from a few trackers: feet and head, perhaps hands (Tournier 2011, section 8.2.3, fig. 8.11).

A pose model turns a handful of tracked points and directions into full poses with the root free: the same
inverse kinematics that poses by handles. Whole recordings are solved smoothly at once; a stream, frame by
frame, from what is past alone, at one or two thousand frames a second. Samples that are missing (NaN) are
left to the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, assign, checked, checked_rate
from marey._timed import Timed, as_slice
from marey.body.ik.engine import Parameters, PoseArrays, Problem, Solution, decoded, pull_back, world
from marey.body.ik.solver import inverse_variances, typical_change
from marey.body.ik.targets import (
    END,
    Orient,
    Reach,
    Target,
    compile_targets,
    find_point,
    goals_and_weights,
    places_of,
)
from marey.body.ik.trajectory import bending, second_differences, smoothed
from marey.body.kinematics import forward_kinematics, points_on
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.alignment import align
from marey.geometry.continuity import continuous

# Metres: how exactly trackers tell where they are: 0.1 of the unit of CMU files.
NOISE = 0.006
# Hertz: what bodies do faster is noise.
SMOOTHNESS = 6.0
# Starting directions about the vertical tried for the first frame, and how many answers are followed: from
# feet and head alone, a body seen from behind may fit as well.
HEADINGS, FOLLOWED = 8, 3
# Radians: answers whose roots are turned by less from each other are one.
SAME = 0.5
# Seconds after which a misfit is half forgotten, and after which a root no longer seen stands still.
MEMORY, COASTING = 1.0, 0.2


@dataclass(frozen=True, eq=False)
class Trackers(Timed):
    """A few tracked points of a body over time, perhaps with directions.

    names: what each is fixed to: a joint, or `JOINT_end` for the end site it carries
    positions: `(frames, trackers, 3)`, world, metres; NaN where missing
    frame_rate: frames per second
    rotations: `(frames, trackers, 4)` or None: world rotations of the joints; NaN where missing
    points: `(trackers, 3)`, where on the joint (in its frame) each sits, metres

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> seen = Trackers.of_motion(walk, ["LeftToeBase", "RightToeBase", "Head_end"], directions=["Head_end"])
    >>> seen.positions.shape, int(np.isfinite(seen.rotations).all(axis=(0, 2)).sum())
    ((240, 3, 3), 1)
    """

    names: tuple[str, ...]
    positions: FloatArray
    frame_rate: float
    rotations: FloatArray | None = None
    points: FloatArray | None = None
    name: str = ""

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.names)
        positions = checked("tracker positions", self.positions, (None, len(names), 3), finite=False)
        if len(positions) == 0 or not names:
            raise InputError("trackers: there is no frame or no tracker")
        rotations = self.rotations
        if rotations is not None:
            rotations = checked("tracker rotations", rotations, (len(positions), len(names), 4), finite=False)
        points = np.zeros((len(names), 3)) if self.points is None else self.points
        assign(
            self,
            names=names,
            positions=positions,
            rotations=rotations,
            points=checked("tracker points", points, (len(names), 3)),
            frame_rate=checked_rate(self.frame_rate),
        )

    @classmethod
    def of_motion(cls, motion: Motion, names: Sequence[str], *, directions: Sequence[str] = ()) -> Trackers:
        """What trackers on these joints of a clip would see; directions of those in `directions`."""
        unknown = set(directions) - set(names)
        if unknown:
            raise InputError(
                f"directions: {sorted(unknown)[0]!r} is not among the trackers {', '.join(names)}"
            )
        pose = forward_kinematics(motion)
        places = [find_point(motion.skeleton, name) for name in names]
        joints = [joint for joint, _ in places]
        positions = points_on(pose, joints, np.array([point for _, point in places]).reshape(-1, 3))
        rotations = np.full((*positions.shape[:2], 4), np.nan)
        for tracker, name in enumerate(names):
            if name in directions:
                rotations[:, tracker] = pose.rotations[:, joints[tracker]]
        return cls(
            tuple(names), positions, motion.frame_rate, rotations if directions else None, name=motion.name
        )

    @classmethod
    def of_markers(cls, markers: Markers, mapping: Mapping[str, str]) -> Trackers:
        """Markers by name, `{marker: joint}`, as trackers of joints."""
        missing = [name for name in mapping if name not in markers.names]
        if missing:
            raise InputError(f"no marker {missing[0]!r}; there are {', '.join(markers.names[:12])}")
        chosen = [markers.names.index(name) for name in mapping]
        return cls(
            tuple(mapping.values()), markers.positions[:, chosen], markers.frame_rate, name=markers.name
        )

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.positions)

    def __getitem__(self, key: int | slice) -> Trackers:
        frames = as_slice(key, self.frames)
        return replace(
            self,
            positions=self.positions[frames],
            rotations=None if self.rotations is None else self.rotations[frames],
            frame_rate=self.frame_rate / abs(frames.step or 1),
        )

    def renamed(self, mapping: Mapping[str, str]) -> Trackers:
        """With other names: `{tracker: joint}`; the others keep theirs."""
        unknown = [name for name in mapping if name not in self.names]
        if unknown:
            raise InputError(f"no tracker {unknown[0]!r}; there are {', '.join(self.names[:12])}")
        return replace(self, names=tuple(mapping.get(name, name) for name in self.names))

    def only(self, names: Sequence[str]) -> Trackers:
        """Only these trackers, in this order."""
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise InputError(f"no tracker {unknown[0]!r}; there are {', '.join(self.names[:12])}")
        chosen = [self.names.index(name) for name in names]
        rotations = None if self.rotations is None else self.rotations[:, chosen]
        assert self.points is not None
        return replace(
            self,
            names=tuple(names),
            positions=self.positions[:, chosen],
            rotations=rotations,
            points=self.points[chosen],
        )

    @property
    def directed(self) -> tuple[int, ...]:
        """Which trackers ever tell a direction."""
        if self.rotations is None:
            return ()
        return tuple(np.flatnonzero(np.isfinite(self.rotations).all(axis=2).any(axis=0)).tolist())

    def targets(self, directed: Sequence[int] | None = None) -> list[Target]:
        """As targets of inverse kinematics, a row a frame.

        directed: trackers whose direction is a target too; those that ever tell one if None
        """
        assert self.points is not None
        found: list[Target] = [
            Reach(name, self.positions[:, i], point=self.points[i]) for i, name in enumerate(self.names)
        ]
        for i in self.directed if directed is None else directed:
            assert self.rotations is not None
            found.append(Orient(self.names[i].removesuffix(END), self.rotations[:, i]))
        return found


def reconstruct(
    model: PoseModel,
    trackers: Trackers,
    *,
    online: bool = False,
    noise: float = NOISE,
    smoothness: float = SMOOTHNESS,
) -> Motion:
    """Full-body motion in the poses of a model that follows trackers.

    online: frame by frame, each from the past alone, as :class:`BodyFromTrackers` does; otherwise all
        frames together, smoothly
    noise: metres, how exactly the trackers are followed
    smoothness: hertz; what is faster counts as noise

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> seen = Trackers.of_motion(walk, ["LeftToeBase", "RightToeBase", "Head_end"])
    >>> found = reconstruct(PoseModel.fit([walk], modes=6), seen)
    >>> bool(np.linalg.norm(found.positions() - walk.positions(), axis=-1).mean() < 0.03)
    True
    """
    if online:
        stream = BodyFromTrackers(
            model, trackers, frame_rate=trackers.frame_rate, noise=noise, smoothness=smoothness
        )
        live = [stream.push(*sample) for sample in _samples(trackers)]
        rotations = np.array([pose.rotations[0] for pose in live])
        root = np.array([pose.root[0] for pose in live])
        return _motion(model, rotations, root, trackers)
    task = _Task(model, trackers, noise)
    goals, weights = task.aims(trackers)
    ahead = _followed(task, goals, weights, trackers.frame_rate, smoothness)
    back = _followed(task, goals[::-1], weights[::-1], trackers.frame_rate, smoothness)
    stiffness = bending(noise, typical_change(task.parameters, model, True), smoothness, trackers.frame_rate)
    found = [
        task.smoothed(goals, weights, poses, stiffness)
        for poses in (ahead, PoseArrays(back.root[::-1], back.coordinates[::-1], back.rotations[::-1]))
    ]
    poses = min(found, key=lambda poses: task.total(goals, weights, poses, stiffness))
    return _motion(model, poses.rotations, poses.root, trackers)


class BodyFromTrackers:
    """A full body that follows trackers live: push a sample, get a pose.

    model: of poses; like: trackers of the same names, points and directions as will come (any frames)

    Its root is expected to go on as it went and its pose to be what it was, as far as bodies are slower
    than `smoothness`.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> seen = Trackers.of_motion(walk, ["LeftToeBase", "RightToeBase", "Head_end"])
    >>> live = BodyFromTrackers(PoseModel.fit([walk], modes=6), seen, frame_rate=walk.frame_rate)
    >>> live.push(seen.positions[0]).rotations.shape
    (1, 26, 4)
    """

    def __init__(
        self,
        model: PoseModel,
        like: Trackers,
        *,
        frame_rate: float,
        noise: float = NOISE,
        smoothness: float = SMOOTHNESS,
    ) -> None:
        self._task = _Task(model, like, noise)
        self._like = like[0]
        self._answers = _Answers(self._task, frame_rate, smoothness)

    def push(self, positions: ArrayLike, rotations: ArrayLike | None = None) -> PoseArrays:
        """The pose for a sample: positions `(trackers, 3)` and rotations `(trackers, 4)`, NaN if missing."""
        sample = replace(
            self._like,
            positions=np.asarray(positions, dtype=np.float64)[None],
            rotations=None if self._like.rotations is None else _given(rotations, len(self._like.names)),
        )
        return self._answers.push(*self._task.aims(sample))


def swing(motion: Motion, joint: str, heading: ArrayLike) -> Array:
    """How far a joint is ahead of the root along a horizontal direction, `(frames,)`, metres."""
    along = np.asarray(heading, dtype=np.float64)
    places = motion.positions()[:, motion.skeleton.index(joint)] - motion.root
    return np.asarray(places @ along)


def heading_of(motion: Motion) -> Array:
    """The horizontal direction a clip travels in, `(3,)`, unit; along z if it does not."""
    way = np.array(motion.root[-1] - motion.root[0], dtype=np.float64)
    way[1] = 0.0
    length = float(np.linalg.norm(way))
    return way / length if length > 0.1 else np.array([0.0, 0.0, 1.0])


class _Task:
    """The engine's problem for a set of trackers, and places to start from."""

    def __init__(self, model: PoseModel, like: Trackers, noise: float) -> None:
        if not (np.isfinite(noise) and noise > 0):
            raise InputError(f"noise: metres above 0, got {noise}")
        self.skeleton: Skeleton = model.skeleton
        self.parameters = Parameters.of(model)
        self.directed = like.directed
        self.plan = compile_targets(like.targets(), self.skeleton)
        self.noise, self.typical_change = noise, typical_change(self.parameters, model, True)
        self.problem = Problem(self.parameters, self.plan.effectors, True, typical_change=self.typical_change)
        self.precision = np.concatenate([np.zeros(6), noise**2 * inverse_variances(model)])

    def aims(self, trackers: Trackers) -> tuple[Array, Array]:
        targets = trackers.targets(self.directed)
        return goals_and_weights(targets, self.plan, frames=trackers.frames)

    def centre(self, poses: PoseArrays) -> PoseArrays:
        return poses._replace(coordinates=np.zeros_like(poses.coordinates))

    def solve(self, goals: Array, weights: Array, start: PoseArrays) -> Solution:
        return self.problem.solve(goals, weights, start, centre=self.centre(start), precision=self.precision)

    def costs(self, solution: Solution, weights: Array, centre: PoseArrays, precision: Array) -> Array:
        data = np.nansum((solution.errors * weights) ** 2, axis=1)
        return np.asarray(data + pull_back(self.parameters, True, solution.poses, centre, precision)[1])

    def smoothed(self, goals: Array, weights: Array, poses: PoseArrays, stiffness: Array) -> PoseArrays:
        centre = self.centre(poses)
        return smoothed(
            self.problem, goals, weights, poses, centre=centre, precision=self.precision, stiffness=stiffness
        )[0]

    def total(self, goals: Array, weights: Array, poses: PoseArrays, stiffness: Array) -> float:
        values, _ = self.problem.evaluate(goals, weights, poses)
        _, prior = pull_back(self.parameters, True, poses, self.centre(poses), self.precision)
        bend = second_differences(self.parameters, True, poses, None) if len(goals) > 2 else np.zeros((0, 1))
        return float((values**2).sum() + prior.sum() + (stiffness * bend**2).sum())

    def nowhere(self) -> PoseArrays:
        """The mean pose where the skeleton stands at rest."""
        root = np.array(self.skeleton.offsets[:1], dtype=np.float64)
        still = PoseArrays(
            root, np.zeros((1, self.parameters.modes)), so3.identity((1, self.skeleton.joints))
        )
        return decoded(self.parameters, still)

    def placed(self, goals: Array, weights: Array) -> PoseArrays:
        """The mean pose in every frame, put where its points fit best to those that are seen."""
        frames = len(goals)
        seen = np.where(self.plan.effectors.kinds == 0, weights, 0.0)
        still = self.nowhere()
        points = places_of(self.plan.effectors, *world(self.parameters, still))[0] - still.root[0]
        enough = (seen > 0).sum(axis=1) >= 3
        fit = align(points, goals[..., :3], np.where(enough[:, None], seen, 1.0))
        usable = enough & np.isfinite(fit.translation).all(axis=1)
        rotations = np.repeat(still.rotations, frames, axis=0)
        rotations[:, 0] = np.where(usable[:, None], fit.rotation, so3.identity())
        total = np.maximum(seen.sum(axis=1), 1e-12)[:, None]
        shift = (seen[..., None] * (goals[..., :3] - points)).sum(axis=1) / total
        root = np.where(usable[:, None], fit.translation, shift)
        return PoseArrays(root, np.zeros((frames, self.parameters.modes)), rotations)


class _Answers:
    """The few answers that fit the trackers so far, the best first, each from its own past.

    Between frames the root keeps its velocity and the pose its coordinates, as far as the trackers do not
    say otherwise: where the feet pass each other, they hardly tell which way a body faces.
    """

    def __init__(self, task: _Task, frame_rate: float, smoothness: float) -> None:
        self.task = task
        rate = checked_rate(frame_rate)
        angle = min(2 * np.pi * smoothness / rate, np.pi)
        reach = task.typical_change * np.concatenate(
            [np.full(6, angle**2), np.full(task.parameters.modes, angle)]
        )
        self.hold = (task.noise / reach) ** 2
        self.decay = 0.5 ** (1 / (MEMORY * rate))
        self.coast = 0.5 ** (1 / (COASTING * rate))
        self.poses: PoseArrays | None = None
        self.parents: list[int] = []

    def push(self, goals: Array, weights: Array) -> PoseArrays:
        """The best answer for a frame of `(1, features, …)` goals and weights."""
        if self.poses is None:
            if not weights.any():
                return self.task.nowhere()
            self._begin(goals, weights)
        else:
            self._go_on(goals, weights, self.poses)
        assert self.poses is not None
        return _row(self.poses, 0)

    def _begin(self, goals: Array, weights: Array) -> None:
        task = self.task
        fitted = task.placed(goals, weights)
        start = _repeated(fitted, HEADINGS + 1)
        start.rotations[1:, 0] = so3.exp(np.arange(HEADINGS)[:, None] * [0.0, 2 * np.pi / HEADINGS, 0.0])
        many = np.repeat(weights, HEADINGS + 1, axis=0)
        tried = task.solve(np.repeat(goals, HEADINGS + 1, axis=0), many, start)
        costs = task.costs(tried, many, task.centre(tried.poses), task.precision)
        self.shift, self.turn = np.zeros((HEADINGS + 1, 3)), np.zeros((HEADINGS + 1, 3))
        self._keep(tried.poses, costs)

    def _go_on(self, goals: Array, weights: Array, last: PoseArrays) -> None:
        task, count = self.task, len(last.root)
        pose = task.precision[6:] + self.hold[6:]
        turned = last.rotations.copy()
        turned[:, 0] = so3.multiply(last.rotations[:, 0], so3.exp(self.turn))
        centre = PoseArrays(last.root + self.shift, self.hold[6:] * last.coordinates / pose, turned)
        precision = np.concatenate([self.hold[:6], pose])
        start = PoseArrays(centre.root, last.coordinates, turned)
        many = np.repeat(weights, count, axis=0)
        solution = task.problem.solve(
            np.repeat(goals, count, axis=0), many, start, centre=centre, precision=precision, warm=True
        )
        poses = solution.poses
        seen = 1.0 if weights.any() else self.coast
        self.shift = seen * (poses.root - last.root)
        self.turn = seen * so3.log(so3.multiply(so3.inverse(last.rotations[:, 0]), poses.rotations[:, 0]))
        self._keep(poses, self.decay * self.costs + task.costs(solution, many, centre, precision))

    def _keep(self, poses: PoseArrays, costs: Array) -> None:
        """The best few that differ."""
        kept: list[int] = []
        for i in np.argsort(costs, kind="stable"):
            between = so3.distance(poses.rotations[kept, 0], poses.rotations[i, 0]) if kept else np.empty(0)
            if len(kept) < FOLLOWED and not (between < SAME).any():
                kept.append(int(i))
        self.poses, self.costs = _rows_of(poses, kept), costs[kept]
        self.shift, self.turn = self.shift[kept], self.turn[kept]
        self.parents = kept


def _followed(task: _Task, goals: Array, weights: Array, frame_rate: float, smoothness: float) -> PoseArrays:
    """The poses of the answer that fits best in the end, a row a frame; the first one before it is seen."""
    answers = _Answers(task, frame_rate, smoothness)
    kept: list[tuple[PoseArrays, list[int]]] = []
    for t in range(len(goals)):
        answers.push(goals[t : t + 1], weights[t : t + 1])
        if answers.poses is not None:
            kept.append((answers.poses, answers.parents))
    rows, row = [task.nowhere()] if not kept else [], 0
    for poses, parents in reversed(kept):
        rows.append(_row(poses, row))
        row = parents[row]
    rows += [rows[-1]] * (len(goals) - len(rows))
    rows.reverse()
    return PoseArrays(
        np.concatenate([pose.root for pose in rows]),
        np.concatenate([pose.coordinates for pose in rows]),
        np.concatenate([pose.rotations for pose in rows]),
    )


def _row(poses: PoseArrays, i: int) -> PoseArrays:
    return _rows_of(poses, [i])


def _rows_of(poses: PoseArrays, rows: Sequence[int]) -> PoseArrays:
    chosen = list(rows)
    return PoseArrays(poses.root[chosen], poses.coordinates[chosen], poses.rotations[chosen])


def _repeated(poses: PoseArrays, count: int) -> PoseArrays:
    return PoseArrays(*(np.repeat(array, count, axis=0) for array in poses))


def _motion(model: PoseModel, rotations: Array, root: Array, trackers: Trackers) -> Motion:
    unit = continuous(so3.normalise(rotations))
    return Motion(model.skeleton, unit, root, trackers.frame_rate, name=trackers.name)


def _samples(trackers: Trackers) -> Iterator[tuple[Array, Array | None]]:
    for t in range(trackers.frames):
        rotations = (
            None if trackers.rotations is None else np.asarray(trackers.rotations[t], dtype=np.float64)
        )
        yield np.asarray(trackers.positions[t], dtype=np.float64), rotations


def _given(rotations: ArrayLike | None, count: int) -> Array:
    if rotations is None:
        return np.full((1, count, 4), np.nan)
    return np.asarray(rotations, dtype=np.float64)[None]
