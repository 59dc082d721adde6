"""`marey body ik`: pose a character by handles."""

from typing import Annotated, Any, Literal

from marey.cli._console import stage, warn
from marey.cli._inputs import check_joints, frame_at
from marey.cli._options import Clip, Height, Length, Orientation, Out, Parsed, Point, PoseModelFile, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

# Seconds over which targets of a range come and go.
FADE = 0.2


def _range(text: str) -> tuple[float | None, float | None]:
    start, end = text.split(":")
    return (float(start) if start.strip() else None), (float(end) if end.strip() else None)


TimeRange = Annotated[tuple[float | None, float | None], Parsed(_range, "write it as A:B in seconds")]


@command(writes=("Motion", "CompressedMotion"), views=(".png",), reports="residual_cm, milliseconds, modes")
def ik(
    motion: Clip,
    run: Run,
    out: Out = option(..., "Clip or image (.png) to write.", "OUT"),
    reach: list[Point] = option((), "Bring a joint to a place, metres.", "JOINT=X,Y,Z"),
    move: list[Point] = option((), "Move a joint by so much, metres.", "JOINT=X,Y,Z"),
    orient: list[Orientation] = option((), "Turn a joint so, in the world.", "JOINT=W,X,Y,Z"),
    look_at: list[Point] = option((), "Let a joint, e.g. Head, face a point.", "JOINT=X,Y,Z"),
    pin: list[str] = option((), "Keep a joint where it is.", "JOINT"),
    above: list[Height] = option((), "Keep a joint above a height, metres.", "JOINT=H"),
    at: float | None = option(None, "Which moment to pose, seconds.", "T"),
    blend: float | None = option(
        None, "Write the clip with the pose in it, faded over S seconds.", "S", min=0
    ),
    range: TimeRange | None = option(None, "Meet the targets from A to B seconds, in the whole clip.", "A:B"),
    model: PoseModelFile | None = option(None, "Pose model (marey body fit) to stay in.", "MODEL"),
    no_model: bool = option(False, "Any pose of the skeleton."),
    refine: bool = option(False, "Leave the model in the end, to meet targets exactly."),
    fixed_root: bool = option(False, "Keep the root where it is."),
    tolerance: float | None = option(
        None, "Target tolerance in cm (default 0.5; 2 with --refine).", "CM", above=0
    ),
    damping: Literal["spread", "canonical", "kinetic"] = option("spread", "Damping of steps.", "DAMPING"),
    max_error: Length | None = option(
        None, "For OUT.mry: compress the clip within this error; 1cm if IN is compressed.", "LENGTH"
    ),
) -> Output:
    """Pose a character by handles: joints that reach, look, stand.

    Examples:
        marey body ik walk.bvh -o pose.bvh --reach LeftHand=0.3,1.4,0.5 --at 1.5
        marey body ik walk.bvh -o pose.png --move RightHand=0,0.3,0.1 --pin LeftFoot --pin RightFoot
        marey body ik walk.bvh -o edited.bvh --move Head=0,-0.2,0 --at 2 --blend 0.5
        marey body ik walk.bvh -o wave.bvh --reach RightHand=0.4,1.7,0.3 --range 1:3
        marey body ik walk.bvh -o pose.glb --model all.mry --look-at Head=2,1.5,0 --reach LeftHand_end=0,1,1
        marey body ik small.mry -o edited.mry --move LeftHand=0,0.2,0 --at 1 --blend 0.5

    The rest of the body follows. Places are in metres, y up. Without --model, poses stay like those of the
    clip itself. A compressed clip stays compressed.
    """
    from marey.body.ik.solver import PoseSolver
    from marey.body.ik.trajectory import blend_pose, solve_clip

    if range is not None and (at is not None or blend is not None):
        raise InputError("--range edits the clip over a time; --at and --blend are for one moment")
    if range is not None and damping != "spread":
        raise InputError("--range always solves with --damping spread")
    if no_model and model is not None:
        raise InputError("--no-model takes any pose, --model the poses of a model: give one of them")
    if max_error is not None and out.suffix.lower() != ".mry":
        raise InputError("--max-error: only a compressed clip, OUT.mry, has an error")
    if motion.translations is not None:
        warn("joints that slide are posed with the bones of the skeleton at rest")
    body, poses = _body(motion, model, no_model, run)
    frame = 0 if at is None else frame_at(motion, at, "--at")
    targets = _targets(motion, frame if range is None else None, reach, move, orient, look_at, pin, above)
    options: dict[str, Any] = {"root": "fixed" if fixed_root else "free"}
    if tolerance is not None:
        options["tolerance"] = tolerance / 100
    with stage("solving"):
        if range is not None:
            weights = _weights(motion, *range)
            faded = [type(target)(**{**vars(target), "weight": weights}) for target in targets]
            found = solve_clip(body, faded, motion, **options)
            result, report = found.motion, found.report
        else:
            solver = PoseSolver(body, start=motion[frame], damping=damping, refine=refine, **options)
            posed = solver.solve(targets)
            result = posed.motion(like=motion) if blend is None else blend_pose(motion, frame, posed, blend)
            report = posed.report
    for line in report.lines():
        warn(line)
    facts = {**report.as_dict(), "poses": poses, "frames": result.frames}
    return Output(_stored(result, run, max_error), facts, marks=_marks(targets, result.frames))


def _body(motion: Any, model: Any, no_model: bool, run: Run) -> tuple[Any, str]:
    """What is posed, a model or the skeleton, and in a few words what that means."""
    from marey.body.pose_model import PoseModel

    if model is not None:
        check_joints(model, motion)
        return model, f"of {run.path('model')}"
    if not no_model and motion.frames < 30:
        warn(f"a clip of {motion.frames} frames is too short to learn poses from: any pose is allowed")
    if no_model or motion.frames < 30:
        return motion.skeleton, "of the whole skeleton"
    return PoseModel.fit([motion], modes=min(15, 3 * motion.joints)), "like those of the clip"


def _targets(
    motion: Any, frame: int | None, reach: Any, move: Any, orient: Any, look_at: Any, pin: Any, above: Any
) -> list[Any]:
    """Targets of the options; `frame` None: over all frames."""
    from marey.body.ik.targets import Contact, LookAt, Orient, Pin, Reach, find_point
    from marey.body.kinematics import forward_kinematics, points_on

    targets: list[Any] = [Reach(one.joint, one.values) for one in reach]
    pose = forward_kinematics(motion if frame is None else motion[frame])
    for one in move:
        index, point = find_point(motion.skeleton, one.joint)
        places = points_on(pose, [index], point[None])[:, 0] + one.values
        targets.append(Reach(one.joint, places if frame is None else places[0]))
    for one in orient:
        if not any(one.values):
            raise InputError(f"--orient {one}: four zeros are no rotation; 1,0,0,0 is no turn")
        targets.append(Orient(one.joint, one.values))
    targets += [LookAt(one.joint, one.values) for one in look_at]
    if not targets:
        raise InputError("nothing to do: give a target, e.g. --reach LeftHand=0.3,1.4,0.5")
    targets += [Pin(joint) for joint in pin]
    targets += [Contact(one.joint, one.values[0], above=True) for one in above]
    for target in targets:
        find_point(motion.skeleton, target.joint)
    return targets


def _weights(motion: Any, start: float | None, end: float | None) -> Any:
    """Weights `(frames,)` of targets that are met from `start` to `end` seconds."""
    import numpy as np

    from marey.geometry.fades import fade

    last = (motion.frames - 1) / motion.frame_rate
    start, end = 0.0 if start is None else start, last if end is None else end
    if not 0 <= start <= end <= last + 1 / motion.frame_rate:
        raise InputError(f"--range {start:g}:{end:g}: write it as A:B in seconds, between 0 and {last:g}")
    inside = np.zeros(motion.frames, dtype=bool)
    inside[round(start * motion.frame_rate) : round(end * motion.frame_rate) + 1] = True
    return fade(inside, round(FADE * motion.frame_rate))


def _marks(targets: list[Any], frames: int) -> Any:
    """Places that targets are at, `(frames, marks, 3)`."""
    import numpy as np

    places = [getattr(target, "position", getattr(target, "point", None)) for target in targets]
    kinds = [type(target).__name__ in ("Reach", "LookAt") for target in targets]
    rows = [np.broadcast_to(np.asarray(place), (frames, 3)) for place, kind in zip(places, kinds) if kind]
    return np.stack(rows, axis=1) if rows else np.empty((frames, 0, 3))


def _stored(result: Any, run: Run, max_error: float | None) -> Any:
    """The result as it goes to a file: compressed if that is asked for, or if the clip was."""
    from marey.body.codec import compress
    from marey.io import container

    source, out = run.path("motion"), run.path("out")
    if out.suffix.lower() != ".mry" or not (max_error or container.is_compressed(source)):
        return result
    with stage(f"compressing {out.name}") as progress:
        return compress(result, max_error=max_error or 0.01, progress=progress)
