"""Pose a clip by handles: joints that reach, look and stay, at one moment or over a stretch of time.

The whole of `marey body ik`: targets from joints and places, the poses that are allowed, then one pose
(:class:`~marey.body.ik.PoseSolver`) or a stretch of the clip (:func:`~marey.body.ik.solve_clip`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey._report import Result
from marey.body.ik.solver import PoseSolver
from marey.body.ik.targets import Contact, IKReport, LookAt, Orient, Pin, Reach, Target, find_point
from marey.body.ik.trajectory import blend_pose, solve_clip
from marey.body.kinematics import forward_kinematics, points_on
from marey.body.limits.learned import LearnedLimits, limits_of
from marey.body.limits.limits import Limits
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel, check_joints
from marey.body.skeleton import Skeleton
from marey.errors import InputError, MareyWarning
from marey.geometry.fades import fade

Handles = Mapping[str, ArrayLike] | Sequence[tuple[str, ArrayLike]]
"""Joints, or `JOINT_end` for end sites, and what is asked of each."""


@dataclass(frozen=True)
class HandleSettings:
    """Numbers of posing by handles.

    Attributes:
        modes: Of the pose model that is learned from the clip.
        least_frames: A shorter clip is too short to learn from: any pose is allowed.
        fade: Seconds over which targets of a range come and go.
    """

    modes: int = 15
    least_frames: int = 30
    fade: float = 0.2


SETTINGS = HandleSettings()


@dataclass(frozen=True, eq=False)
class HandleResult(Result):
    """A clip posed by handles.

    Attributes:
        motion: The pose as a clip of one frame, or the whole clip.
        report: What was missed by how much.
        targets: What was asked.
        poses: Which poses were allowed, in a few words.
    """

    motion: Motion
    report: IKReport
    targets: tuple[Target, ...]
    poses: str

    def places(self) -> Array:
        """Where reached and looked-at points are, `(frames, points, 3)`, metres."""
        points = [one.position for one in self.targets if isinstance(one, Reach)]
        points += [one.point for one in self.targets if isinstance(one, LookAt)]
        rows = [np.broadcast_to(np.asarray(point), (self.motion.frames, 3)) for point in points]
        return np.stack(rows, axis=1) if rows else np.empty((self.motion.frames, 0, 3))


def ik(
    motion: Motion,
    *,
    reach: Handles = (),
    move: Handles = (),
    orient: Handles = (),
    look_at: Handles = (),
    pin: Sequence[str] = (),
    above: Handles = (),
    at: float | None = None,
    blend: float | None = None,
    range: tuple[float | None, float | None] | None = None,
    model: PoseModel | None = None,
    no_model: bool = False,
    refine: bool = False,
    fixed_root: bool = False,
    tolerance: float | None = None,
    damping: str = "spread",
    limits: LearnedLimits | Limits | None = None,
) -> HandleResult:
    """Pose a clip by handles; the rest of the body follows.

    Args:
        reach: Joints and the places they are brought to, metres.
        move: Joints and how far they are moved, metres.
        orient: Joints and their rotations in the world, `(w, x, y, z)`.
        look_at: Joints and the points they face.
        pin: Joints that stay where they are.
        above: Joints and the height they stay above, metres.
        at: The moment to pose, seconds; the start if None.
        blend: Seconds over which the pose is faded into the clip; the pose alone if None.
        range: Seconds from and to which targets are met, in the whole clip, instead of one moment.
        model: Poses to stay in; if None, those like the clip's own.
        no_model: Any pose of the skeleton.
        refine: Leave the model in the end, to meet targets exactly.
        fixed_root: Keep the root where it is.
        tolerance: Metres, how exactly targets are meant.
        damping: Of steps: "spread", "canonical" or "kinetic".
        limits: Of the joints, such as :func:`marey.body.limits.learn` gives; none if None.

    >>> import marey
    >>> posed = ik(marey.samples.walk(), reach={"LeftHand": [0.3, 1.2, 0.4]}, at=1.5)
    >>> posed.motion.frames, posed.report.residual_cm < 5
    (1, True)
    """
    if range is not None and (at is not None or blend is not None):
        raise InputError("range edits the clip over a time; `at` and `blend` are for one moment")
    if range is not None and damping != "spread":
        raise InputError("range always solves with `damping` spread")
    if no_model and model is not None:
        raise InputError("no_model takes any pose, `model` the poses of a model: give one of them")
    if motion.translations is not None:
        warnings.warn(SLIDING, MareyWarning, stacklevel=2)
    bounds = limits_of(limits, motion.skeleton)
    body, poses = _body(motion, model, no_model)
    frame = 0 if at is None else frame_at(motion, at, "at")
    points = reached_points(motion, frame if range is None else None, move)
    targets: list[Target] = [Reach(joint, place) for joint, place in (*pairs(reach), *points)]
    targets += [oriented(joint, rotation) for joint, rotation in pairs(orient)]
    targets += [LookAt(joint, point) for joint, point in pairs(look_at)]
    if not targets:
        raise InputError(NOTHING)
    targets += [Pin(joint) for joint in pin]
    targets += [Contact(joint, float(np.ravel(height)[0]), above=True) for joint, height in pairs(above)]
    for target in targets:
        find_point(motion.skeleton, target.joint)
    root = "fixed" if fixed_root else "free"
    if range is not None:
        weights = _weights(motion, *range)
        faded = [replace(target, weight=weights) for target in targets]
        found = solve_clip(body, faded, motion, root=root, tolerance=tolerance, limits=bounds)
        return HandleResult(found.motion, found.report, tuple(targets), poses)
    start = motion[frame]
    solver = PoseSolver(
        body, start=start, damping=damping, refine=refine, root=root, tolerance=tolerance, limits=bounds
    )
    posed = solver.solve(targets)
    result = posed.motion(like=motion) if blend is None else blend_pose(motion, frame, posed, blend)
    return HandleResult(result, posed.report, tuple(targets), poses)


SLIDING = "joints that slide are posed with the bones of the skeleton at rest"
NOTHING = "nothing to do: give a target, e.g. `reach` LeftHand=0.3,1.4,0.5"


def pairs(handles: Handles) -> list[tuple[str, ArrayLike]]:
    """Joints and what is asked of them, one by one."""
    return list(handles.items() if isinstance(handles, Mapping) else handles)


def reached_points(motion: Motion, frame: int | None, move: Handles) -> list[tuple[str, Array]]:
    """Joints and where moving them brings them, `(3,)` of a frame, or `(frames, 3)` of all if None."""
    pose = forward_kinematics(motion if frame is None else motion[frame])
    found = []
    for joint, offset in pairs(move):
        index, point = find_point(motion.skeleton, joint)
        places = points_on(pose, [index], point[None])[:, 0] + np.asarray(offset, dtype=np.float64)
        found.append((joint, places if frame is None else places[0]))
    return found


def frame_at(motion: Motion, seconds: float, what: str) -> int:
    """The frame of a clip at a time; `what` asked for it, in case there is none."""
    frame = round(seconds * motion.frame_rate)
    if not 0 <= frame < motion.frames:
        last = (motion.frames - 1) / motion.frame_rate
        raise InputError(f"{what} {seconds:g}: the clip goes from 0 to {last:g} seconds")
    return frame


def oriented(joint: str, rotation: ArrayLike) -> Orient:
    """A joint and its rotation in the world `(4,)` as a target."""
    if not np.any(rotation):
        raise InputError(f"orient {joint}=0,0,0,0: four zeros are no rotation; 1,0,0,0 is no turn")
    return Orient(joint, rotation)


def _body(motion: Motion, model: PoseModel | None, no_model: bool) -> tuple[PoseModel | Skeleton, str]:
    """What is posed, a model or the skeleton, and in a few words what that means."""
    if model is not None:
        check_joints(model.skeleton, motion)
        return model, "of the model"
    short = motion.frames < SETTINGS.least_frames
    if short and not no_model:
        said = f"a clip of {motion.frames} frames is too short to learn poses from: any pose is allowed"
        warnings.warn(said, MareyWarning, stacklevel=3)
    if no_model or short:
        return motion.skeleton, "of the whole skeleton"
    return PoseModel.fit([motion], modes=min(SETTINGS.modes, 3 * motion.joints)), "like those of the clip"


def _weights(motion: Motion, start: float | None, end: float | None) -> Array:
    """Weights `(frames,)` of targets that are met from `start` to `end` seconds."""
    last = (motion.frames - 1) / motion.frame_rate
    start, end = 0.0 if start is None else start, last if end is None else end
    if not 0 <= start <= end <= last + 1 / motion.frame_rate:
        raise InputError(f"range {start:g}:{end:g}: write it as A:B in seconds, between 0 and {last:g}")
    inside = np.zeros(motion.frames, dtype=bool)
    inside[round(start * motion.frame_rate) : round(end * motion.frame_rate) + 1] = True
    return fade(inside, round(SETTINGS.fade * motion.frame_rate))
