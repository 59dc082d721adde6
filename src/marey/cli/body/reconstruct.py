"""`marey body reconstruct`: a full body from a few trackers."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey.body.anatomy import end_effectors
from marey.body.clean import clean
from marey.body.ik.targets import find_point
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.reconstruct import ReconstructSettings, reconstruct, swing, travel_direction
from marey.body.skeleton import Skeleton
from marey.body.trackers import Trackers
from marey.character import Character
from marey.cli._typer import (
    Frames,
    Json,
    Rate,
    Unit,
    Up,
    emit,
    in_clip,
    load_with_bar,
    note,
    parse_frames,
    progress_bar,
)
from marey.cli.body._pictures import check_writable, write
from marey.errors import InputError
from marey.io import load, trackers_csv

NAME = "reconstruct"


def run(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="TRACKERS", help="Markers (.c3d), a table (.csv), or a clip to take joints of."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT", help="Clip or picture (.png) to write.")],
    model: Annotated[Path, typer.Option(metavar="MODEL", help="Pose model (marey body fit).")],
    truth: Annotated[
        Path | None, typer.Option(metavar="CLIP", help="What really happened, to measure the error by.")
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="NAME=JOINT", help="Which joint a marker or tracker sits on."),
    ] = None,
    joints: Annotated[
        str | None,
        typer.Option(metavar="J1,J2,…", help="Joints to follow, of a clip; feet and head if not given."),
    ] = None,
    directions: Annotated[
        str | None,
        typer.Option(metavar="J1,…", help="Joints of a clip whose direction is followed too; head, or none."),
    ] = None,
    online: Annotated[bool, typer.Option("--online", help="Frame by frame, from the past alone.")] = False,
    noise: Annotated[float, typer.Option(metavar="CM", help="How exactly trackers tell, cm.")] = 0.6,
    frames: Frames = None,
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    json: Json = False,
) -> None:
    """Full-body motion from a few tracked points and a pose model.

    [bold]Examples[/bold]

    marey body fit walks/ -o walk.mry

    marey body reconstruct vr.csv -o body.bvh --model walk.mry --map headset=Head --map left=LeftHand

    marey body reconstruct take.c3d -o body.bvh --model walk.mry --map LTOE=LeftToeBase --map HEAD=Head

    marey body reconstruct walk.bvh -o again.bvh --model walk.mry       feet and head of a clip, as a test

    marey body reconstruct walk.bvh -o again.bvh --model walk.mry --joints LeftHand,RightHand,Head --online

    A table has a column time (seconds) and NAME_x, NAME_y, NAME_z in metres for each tracker, and
    NAME_qw, NAME_qx, NAME_qy, NAME_qz where it tells a direction. Empty cells are missing samples.
    """
    check_writable(out)
    if not (np.isfinite(noise) and noise > 0):
        raise InputError(f"--noise {noise}: centimetres above 0")
    learned = load(model)
    if not isinstance(learned, PoseModel):
        raise InputError(f"{model}: not a pose model but a {type(learned).__name__}; see marey body fit")
    names = _mapping(mapping)
    options = {"unit": from_unit, "up": from_up, "frame_rate": from_frame_rate}
    trackers, real = _trackers(source, learned.skeleton, names, joints, directions, options)
    first = 0 if real is None else real.first_frame
    if truth is not None:
        real = _clip(load_with_bar(truth, clip=None), truth)
    chosen = parse_frames(frames)
    if chosen is not None:
        chosen = in_clip(chosen, first)
        trackers = trackers[chosen]
        real = real[chosen] if real is not None and real.frames > trackers.frames else real
    began = time.perf_counter()
    with progress_bar("solving"):
        settings = ReconstructSettings(noise=noise / 100)
        found = reconstruct(learned, trackers, online=online, settings=settings)
    spent = time.perf_counter() - began
    seen = np.isfinite(trackers.positions).all(axis=2)
    result: dict[str, Any] = {
        "frames": found.frames,
        "trackers": list(trackers.names),
        "missing": round(float(1 - seen.mean()), 6),
        "modes": learned.modes,
        "milliseconds_per_frame": round(1e3 * spent / found.frames, 4),
    }
    if real is not None:
        result.update(compared(found, real))
    write(found, out, np.asarray(trackers.positions))
    result["path"] = str(out)
    if not json:
        result.pop("joints", None)
    emit(result, as_json=json)


def compared(found: Motion, truth: Motion) -> dict[str, Any]:
    """Errors of joint positions in cm, and how alike the hands swing."""
    if found.frames != truth.frames:
        raise InputError(f"the truth has {truth.frames} frames, the trackers {found.frames}")
    shared = [name for name in found.skeleton.names if name in truth.skeleton.names]
    if not shared:
        raise InputError("the truth shares no joint with the model")
    mine = found.positions()[:, found.skeleton.indices(shared)]
    theirs = truth.positions()[:, truth.skeleton.indices(shared)]
    errors = 100 * np.linalg.norm(mine - theirs, axis=2)
    along = travel_direction(truth)
    swings = {}
    for name in shared:
        if re.search(r"(hand|wrist)$", name, re.IGNORECASE):
            ours, real = swing(found, name, along), swing(truth, name, along)
            moving = ours.std() > 1e-9 and real.std() > 1e-9
            swings[name] = {
                "correlation": round(float(np.corrcoef(ours, real)[0, 1]), 4) if moving else None,
                "amplitude_cm": round(100 * float(np.ptp(ours)), 2),
                "true_amplitude_cm": round(100 * float(np.ptp(real)), 2),
            }
    return {
        "error_cm": round(float(errors.mean()), 4),
        "error_rms_cm": round(float(np.sqrt((errors**2).mean())), 4),
        "error_max_cm": round(float(errors.max()), 4),
        "joints": {name: round(float(e), 4) for name, e in zip(shared, errors.mean(axis=0))},
        "swing": swings,
    }


def _trackers(
    source: Path,
    skeleton: Skeleton,
    names: Mapping[str, str],
    joints: str | None,
    directions: str | None,
    options: dict[str, Any],
) -> tuple[Trackers, Motion | None]:
    """What is tracked and, of a clip, the clip itself as the truth."""
    if source.suffix.lower() == ".csv":
        if options["unit"] is not None or options["up"] is not None:
            raise InputError("a table of trackers is in metres and y up: leave out --from-unit and --from-up")
        table = trackers_csv.read(source, frame_rate=options["frame_rate"])
        return _on_joints(table.renamed(names), skeleton, joints), None
    thing = load_with_bar(source, clip=None, **options)
    if isinstance(thing, Markers):
        unknown = [name for name in names if name not in thing.names]
        if unknown:
            raise InputError(f"--map {unknown[0]}=…: no such marker; there are {', '.join(thing.names[:16])}")
        mapping = {
            name: names.get(name, name) for name in thing.names if name in names or _is_joint(skeleton, name)
        }
        if not mapping:
            raise InputError(
                f"{source}: no marker is called like a joint; say where they sit, e.g. "
                f"--map {thing.names[0]}={skeleton.names[0]}"
            )
        return _on_joints(Trackers.of_markers(thing, mapping), skeleton, joints), None
    motion = _clip(thing, source)
    if names:
        raise InputError("--map is for markers and tables; of a clip, --joints says which joints to follow")
    chosen = _split(joints) or _feet_and_head(motion.skeleton)
    turned = [name for name in chosen if "head" in name.lower()] if directions is None else _split(directions)
    turned = [] if turned == ["none"] else turned
    return Trackers.of_motion(motion, chosen, directions=turned), motion


def _on_joints(trackers: Trackers, skeleton: Skeleton, joints: str | None) -> Trackers:
    """Only the trackers that are asked for, or that sit on a joint of the model."""
    wanted = _split(joints)
    known = [name for name in trackers.names if _is_joint(skeleton, name)]
    for name in wanted or (trackers.names if not known else ()):
        find_point(skeleton, name)
    left = [name for name in trackers.names if name not in known]
    if left and not wanted:
        note(f"not used, since no joint is called so (--map NAME=JOINT): {', '.join(left[:8])}")
    return trackers.only(wanted or known)


def _is_joint(skeleton: Skeleton, name: str) -> bool:
    return name in skeleton.names or name.removesuffix("_end") in skeleton.names


def _feet_and_head(skeleton: Skeleton) -> list[str]:
    found = [end for end in end_effectors(skeleton) if end.part in ("head", "foot")]
    if not found:
        raise InputError("no feet and head found by name: say which joints to follow, --joints J1,J2,…")
    return [skeleton.names[end.joint] + ("_end" if any(end.point) else "") for end in found]


def _mapping(texts: list[str] | None) -> dict[str, str]:
    names = {}
    for text in texts or []:
        tracker, equals, joint = text.partition("=")
        if not (tracker.strip() and equals and joint.strip()):
            raise InputError(f"--map {text}: write it as NAME=JOINT")
        names[tracker.strip()] = joint.strip()
    return names


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _clip(thing: Any, path: Path) -> Motion:
    motion = thing.motion if isinstance(thing, Character) else thing
    if not isinstance(motion, Motion):
        raise InputError(f"{path}: not skeleton motion, markers or a table of trackers")
    motion, report = clean(motion)
    for line in report.lines() if report.changed else ():
        note(f"{path}: {line}")
    return motion
