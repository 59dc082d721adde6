"""`marey body ik`: pose a character by handles."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from marey.body.codec.clip import CompressedMotion, compress, is_compressed_clip
from marey.body.ik.report import IKReport
from marey.body.ik.solver import DAMPINGS, PoseSolver
from marey.body.ik.targets import Contact, LookAt, Orient, Pin, Reach, Target, find_point
from marey.body.ik.trajectory import blend_pose, solve_clip
from marey.body.kinematics import forward_kinematics, points_on
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.skeleton import Skeleton
from marey.cli._typer import (
    Clip,
    Json,
    Rate,
    Root,
    Unit,
    Up,
    emit,
    note,
    parse_length,
    progress_bar,
)
from marey.cli.body._inputs import frame_at, joint_numbers, load_clip, load_pose_model
from marey.cli.body._pictures import check_writable, write
from marey.errors import InputError
from marey.geometry.fades import fade

NAME = "ik"

# A clip this long has a pose model of its own.
ENOUGH_FRAMES = 30
MODES = 15
# Seconds over which targets of a range come and go.
FADE = 0.2


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Clip of the character.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT", help="Clip or picture (.png) to write.")],
    reach: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=X,Y,Z", help="Bring a joint to a place, metres.")
    ] = None,
    move: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=X,Y,Z", help="Move a joint by so much, metres.")
    ] = None,
    orient: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=W,X,Y,Z", help="Turn a joint so, in the world.")
    ] = None,
    look_at: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=X,Y,Z", help="Let a joint, e.g. Head, face a point.")
    ] = None,
    pin: Annotated[list[str] | None, typer.Option(metavar="JOINT", help="Keep a joint where it is.")] = None,
    above: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=H", help="Keep a joint above a height, metres.")
    ] = None,
    at: Annotated[float | None, typer.Option(metavar="T", help="Which moment to pose, seconds.")] = None,
    blend: Annotated[
        float | None,
        typer.Option(metavar="S", help="Write the clip with the pose in it, faded over S seconds."),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(
            "--range", metavar="A:B", help="Meet the targets from A to B seconds, in the whole clip."
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Pose model (marey body fit) to stay in.")
    ] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="Any pose of the skeleton.")] = False,
    refine: Annotated[
        bool, typer.Option("--refine", help="Leave the model in the end, to meet targets exactly.")
    ] = False,
    fixed_root: Annotated[bool, typer.Option("--fixed-root", help="Keep the root where it is.")] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(metavar="CM", help="How exactly targets are meant, cm; 0.5, with --refine 2."),
    ] = None,
    damping: Annotated[
        str, typer.Option(metavar="DAMPING", help=f"Of steps: {', '.join(DAMPINGS)}.")
    ] = DAMPINGS[0],
    max_error: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH",
            help="For OUT.mry: compress the clip within this error; 1cm if IN is compressed.",
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Take the clip as it is, artificial T-pose and glitches included.")
    ] = False,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    root: Root = None,
    clip: Clip = None,
    json: Json = False,
) -> None:
    """Pose a character by handles: joints that reach, look, stand.

    [bold]Examples[/bold]

    marey body ik walk.bvh -o pose.bvh --reach LeftHand=0.3,1.4,0.5 --at 1.5

    marey body ik walk.bvh -o pose.png --move RightHand=0,0.3,0.1 --pin LeftFoot --pin RightFoot

    marey body ik walk.bvh -o edited.bvh --move Head=0,-0.2,0 --at 2 --blend 0.5

    marey body ik walk.bvh -o wave.bvh --reach RightHand=0.4,1.7,0.3 --range 1:3

    marey body ik walk.bvh -o pose.glb --model all.mry --look-at Head=2,1.5,0 --reach LeftHand_end=0,1,1

    marey body ik small.mry -o edited.mry --move LeftHand=0,0.2,0 --at 1 --blend 0.5   edit a compressed clip

    Places are in metres, y up. Without --model, poses stay like those of the clip itself.
    """
    _check_options(out, at, blend, over, tolerance, damping)
    motion = load_clip(
        source, raw=raw, clip=clip, unit=from_unit, up=from_up, frame_rate=from_frame_rate, root=root
    )
    if motion.translations is not None:
        note("joints that slide are posed with the bones of the skeleton at rest")
    body, about = _body(motion, model, no_model)
    frame = 0 if at is None else frame_at(motion, at, "--at")
    parsed = _targets(motion, frame if over is None else None, reach, move, orient, look_at, pin, above)
    options: dict[str, Any] = {"root": "fixed" if fixed_root else "free"}
    if tolerance is not None:
        options["tolerance"] = tolerance / 100
    if over is not None:
        result, report = _over_range(motion, body, parsed, over, options)
    else:
        solver = PoseSolver(body, start=motion[frame], damping=damping, refine=refine, **options)
        with progress_bar("solving"):
            posed = solver.solve(parsed)
        report = posed.report
        result = posed.motion(like=motion) if blend is None else blend_pose(motion, frame, posed, blend)
    write(_stored(result, source, out, max_error), out, _marks(parsed, result.frames))
    for line in report.lines():
        note(line)
    facts = report.as_dict()
    if not json:
        facts["targets"] = [_format(error) for error in facts["targets"]]
    emit({**facts, "poses": about, "frames": result.frames, "path": str(out)}, as_json=json)


def _stored(result: Motion, source: Path, out: Path, max_error: str | None) -> Motion | CompressedMotion:
    """The result as it goes to a file: compressed if that is asked for, or if the clip was."""
    if out.suffix.lower() != ".mry":
        if max_error is not None:
            raise InputError(f"--max-error {max_error}: only a compressed clip, OUT.mry, has an error")
        return result
    bound = parse_length(max_error, "--max-error")
    if bound is None and not _is_compressed(source):
        return result
    with progress_bar(f"compressing {out.name}") as progress:
        return compress(result, max_error=0.01 if bound is None else bound, progress=progress)


def _is_compressed(source: Path) -> bool:
    if not source.is_file():
        return False
    with source.open("rb") as file:
        return is_compressed_clip(file.read(8))


def _check_options(
    out: Path,
    at: float | None,
    blend: float | None,
    over: str | None,
    tolerance: float | None,
    damping: str,
) -> None:
    check_writable(out)
    if over is not None and (at is not None or blend is not None):
        raise InputError("--range edits the clip over a time; --at and --blend are for one moment")
    if over is not None and damping != DAMPINGS[0]:
        raise InputError(f"--range always solves with --damping {DAMPINGS[0]}")
    if blend is not None and not (math.isfinite(blend) and blend >= 0):
        raise InputError(f"--blend {blend}: seconds, not below 0")
    if tolerance is not None and not (math.isfinite(tolerance) and tolerance > 0):
        raise InputError(f"--tolerance {tolerance}: centimetres above 0")
    if damping not in DAMPINGS:
        raise InputError(f"--damping {damping}: one of {', '.join(DAMPINGS)}")


def _body(motion: Motion, model: Path | None, no_model: bool) -> tuple[PoseModel | Skeleton, str]:
    """What is posed, and in a few words what that means."""
    if no_model and model is not None:
        raise InputError("--no-model takes any pose, --model the poses of a model: give one of them")
    if model is not None:
        return load_pose_model(model, motion), f"of {model}"
    if no_model:
        return motion.skeleton, "of the whole skeleton"
    if motion.frames < ENOUGH_FRAMES:
        note(f"a clip of {motion.frames} frames is too short to learn poses from: any pose is allowed")
        return motion.skeleton, "of the whole skeleton"
    return PoseModel.fit([motion], modes=min(MODES, 3 * motion.joints)), "like those of the clip"


def _targets(
    motion: Motion,
    frame: int | None,
    reach: list[str] | None,
    move: list[str] | None,
    orient: list[str] | None,
    look_at: list[str] | None,
    pin: list[str] | None,
    above: list[str] | None,
) -> list[Target]:
    """Targets of the options; `frame` None: over all frames."""
    pose = forward_kinematics(motion if frame is None else motion[frame])
    targets: list[Target] = []
    for text in reach or []:
        joint, place = joint_numbers("--reach", text, 3)
        targets.append(Reach(joint, place))
    for text in move or []:
        joint, shift = joint_numbers("--move", text, 3)
        index, point = find_point(motion.skeleton, joint)
        places = points_on(pose, [index], point[None])[:, 0] + shift
        targets.append(Reach(joint, places if frame is None else places[0]))
    for text in orient or []:
        joint, rotation = joint_numbers("--orient", text, 4)
        if np.linalg.norm(rotation) < 1e-6:
            raise InputError(f"--orient {text}: four zeros are no rotation; 1,0,0,0 is no turn")
        targets.append(Orient(joint, rotation))
    for text in look_at or []:
        joint, point = joint_numbers("--look-at", text, 3)
        targets.append(LookAt(joint, point))
    targets += [Pin(joint) for joint in pin or []]
    for text in above or []:
        joint, height = joint_numbers("--above", text, 1)
        targets.append(Contact(joint, height[0], above=True))
    if not any(not isinstance(target, Pin | Contact) for target in targets):
        raise InputError("nothing to do: give a target, e.g. --reach LeftHand=0.3,1.4,0.5")
    for target in targets:
        find_point(motion.skeleton, target.joint)
    return targets


def _over_range(
    motion: Motion, body: PoseModel | Skeleton, targets: list[Target], text: str, options: dict[str, Any]
) -> tuple[Motion, IKReport]:
    start, colon, end = text.partition(":")
    last = (motion.frames - 1) / motion.frame_rate
    try:
        a, b = (float(start) if start.strip() else 0.0), (float(end) if end.strip() else last)
    except ValueError:
        a, b = 1.0, 0.0
    if not colon or not 0 <= a <= b <= last + 1 / motion.frame_rate:
        raise InputError(f"--range {text}: write it as A:B in seconds, between 0 and {last:g}")
    inside = np.zeros(motion.frames, dtype=bool)
    inside[round(a * motion.frame_rate) : round(b * motion.frame_rate) + 1] = True
    weights = fade(inside, round(FADE * motion.frame_rate))
    faded = [type(t)(**{**vars(t), "weight": weights}) for t in targets]
    with progress_bar("solving"):
        found = solve_clip(body, faded, motion, **options)
    return found.motion, found.report


def _marks(targets: list[Target], frames: int) -> NDArray[np.float64]:
    """Places that targets are at, `(frames, marks, 3)`."""
    places = [
        t.position if isinstance(t, Reach) else t.point for t in targets if isinstance(t, Reach | LookAt)
    ]
    rows = [np.broadcast_to(np.asarray(place, dtype=np.float64), (frames, 3)) for place in places]
    return np.stack(rows, axis=1) if rows else np.empty((frames, 0, 3))


def _format(error: dict[str, Any]) -> str:
    far = f"{error['degrees']:.1f}°" if "degrees" in error else f"{error.get('worst_cm', 0.0):.2f} cm"
    return f"{error['target']}: {far}"
