"""`marey convert`: any format to any other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from marey.body.cleanup import clean as clean_motion
from marey.body.motion import Motion
from marey.character import Character
from marey.cli._console import Frames, Json, Root, Unit, Up, emit, errors, parse_frames, progress_bar
from marey.describe import describe
from marey.errors import InputError
from marey.io import fitting, load, save

NAME = "convert"


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="File or folder to read.")],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File to write; its ending says the format. frames/%04d.obj for many."
        ),
    ],
    frames: Frames = None,
    frame_rate: Annotated[float | None, typer.Option(help="Resample to this many frames per second.")] = None,
    up: Annotated[str | None, typer.Option(metavar="y|z", help="Up axis of the file written.")] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help="Unit of the file written: m, cm, mm, in, or metres.")
    ] = None,
    from_unit: Unit = None,
    from_up: Up = None,
    root: Root = None,
    clip: Annotated[str | None, typer.Option(help="Which animation of a glTF file.")] = None,
    clean: Annotated[
        bool, typer.Option("--clean", help="Drop an artificial T-pose, repair glitches; says what it did.")
    ] = False,
    mirror: Annotated[bool, typer.Option("--mirror", help="Swap left and right.")] = False,
    json: Json = False,
) -> None:
    """Any format to any other: BVH, ASF/AMC, C3D, glTF, USD, OBJ, PLY, CSV, Parquet, video, images, flow.

    [bold]Examples[/bold]

    marey convert walk.bvh walk.glb                        open it in Blender or a game engine

    marey convert walk.bvh small.bvh --frames 100:400 --frame-rate 30 --unit cm --up z

    marey convert 11_01.amc kick.bvh --clean               11.asf is found beside it

    marey convert capture.npz frames/pose_%04d.obj

    marey convert obsmat.txt people.parquet
    """
    with progress_bar(f"reading {source.name}") as progress:
        thing = load(source, unit=from_unit, up=from_up, root=root, progress=progress)
    if isinstance(thing, Character) and (clip is not None or len(thing.motions) == 1):
        thing = replace(thing, motions=(thing.motion if clip is None else thing.clip(clip),))
    elif clip is not None:
        raise InputError(f"--clip {clip}: {source} has no named animations")
    report: dict[str, Any] = {}
    if clean:
        thing, report = _cleaned(thing)
    chosen = parse_frames(frames)
    if chosen is not None:
        thing = _each_clip(thing, lambda x: x[chosen])
    if frame_rate is not None:
        thing = _each_clip(thing, lambda x: x.resample(frame_rate))
    if mirror:
        thing = _mirrored(thing)
    thing = fitting(thing, target)
    with progress_bar(f"writing {target.name}") as progress:
        save(thing, target, unit=unit, up=up, progress=progress)
    facts = describe(thing)
    written = {"kind": facts["kind"], "frames": facts["frames"], "path": str(target)}
    emit({**written, **report} if json else written, as_json=json)


def _each_clip(thing: Any, change: Any) -> Any:
    if isinstance(thing, Character):
        return replace(thing, motions=tuple(change(motion) for motion in thing.motions))
    return change(thing)


def _mirrored(thing: Any) -> Any:
    if not hasattr(thing, "mirror"):
        raise InputError(f"--mirror: a {type(thing).__name__} cannot be mirrored")
    return thing.mirror()


def _cleaned(thing: Any) -> tuple[Any, dict[str, Any]]:
    if not isinstance(thing, Motion):
        raise InputError("--clean: only skeleton motion can be cleaned")
    motion, report = clean_motion(thing)
    for line in report.lines():
        errors.print(f"marey: {line}", markup=False)
    return motion, {"clean": report.as_dict()}
