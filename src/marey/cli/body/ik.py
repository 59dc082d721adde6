"""`marey body ik`: pose a character by handles."""

from typing import Annotated, Literal

from marey.cli._console import stage, warn
from marey.cli._options import (
    Clip,
    Height,
    Length,
    LimitsFile,
    LookAt,
    Move,
    Orientation,
    Out,
    Parsed,
    PoseModelFile,
    Reach,
    option,
)  # fmt: skip
from marey.cli._run import Output, Run, command
from marey.errors import InputError


def _range(text: str) -> tuple[float | None, float | None]:
    start, end = text.split(":")
    return (float(start) if start.strip() else None), (float(end) if end.strip() else None)


TimeRange = Annotated[tuple[float | None, float | None], Parsed(_range, "write it as A:B in seconds")]


@command(writes=("Motion", "CompressedMotion"), views=(".png",), reports="residual_cm, milliseconds, modes")
def ik(
    motion: Clip,
    run: Run,
    out: Out = option(..., "Clip or image (.png) to write.", "OUT"),
    reach: Reach = (),
    move: Move = (),
    orient: list[Orientation] = option((), "Turn a joint so, in the world.", "JOINT=W,X,Y,Z"),
    look_at: LookAt = (),
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
    limits: LimitsFile | None = option(None, "Joint limits (marey body limits).", "LIMITS"),
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
    from marey import body
    from marey.io import container

    stored = out.suffix.lower() == ".mry"
    if max_error is not None and not stored:
        raise InputError("--max-error: only a compressed clip, OUT.mry, has an error")
    exactly = None if tolerance is None else tolerance / 100
    found = run.call("solving", body.ik, motion, tolerance=exactly)
    for line in found.report.lines():
        warn(line)
    poses = found.poses if model is None else f"of {run.path('model')}"
    report = {**found.report.as_dict(), "poses": poses, "frames": found.motion.frames}
    if stored and (max_error is not None or container.is_compressed(run.path("motion"))):
        with stage(f"compressing {out.name}") as progress:
            compressed = body.compress(found.motion, max_error=max_error or 0.01, progress=progress)
        return Output(compressed, report)
    return Output(found.motion, report, marks=found.places())
