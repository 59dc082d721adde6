"""`marey convert`: any format to any other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from marey.body.clean import clean as clean_motion
from marey.body.motion import Motion
from marey.character import Character
from marey.cli._typer import (
    Clip,
    Frames,
    Json,
    Rate,
    Root,
    Unit,
    Up,
    cut,
    emit,
    load_with_bar,
    note,
    parse_frames,
    parse_length,
    progress_bar,
)
from marey.describe import describe
from marey.errors import InputError
from marey.io import format_to_write, save, writable_part
from marey.io._files import check_target

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
    from_frame_rate: Rate = None,
    root: Root = None,
    clip: Clip = None,
    faces_from: Annotated[
        Path | None,
        typer.Option(metavar="MESH", help="The OBJ or PLY a point cache moves, if not the one beside it."),
    ] = None,
    max_error: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH",
            help="Of meshes in GLB: how far a vertex may move for fewer shapes, e.g. 1mm; 0: not.",
        ),
    ] = None,
    clean: Annotated[
        bool, typer.Option("--clean", help="Drop an artificial T-pose, repair glitches; says what it did.")
    ] = False,
    mirror: Annotated[bool, typer.Option("--mirror", help="Swap left and right.")] = False,
    json: Json = False,
) -> None:
    """Convert any format to any other.

    [bold]Examples[/bold]

    marey convert walk.bvh walk.glb            open it in Blender or a game engine

    marey convert walk.bvh short.bvh --frames 100:400 --frame-rate 30

    marey convert walk.bvh walk_z.bvh --unit cm --up z

    marey convert 11_01.amc kick.bvh --clean   11.asf is found beside it

    marey convert capture.npz frames/pose_%04d.obj

    marey convert cache.pc2 cache.glb --faces-from body.obj

    marey convert photos/ clip.mp4 --from-frame-rate 12

    marey convert obsmat.txt people.parquet
    """
    chosen = parse_frames(frames)
    format_to_write(target)  # says so before a long read if there is none
    check_target(target)
    thing = load_with_bar(
        source,
        clip=clip,
        unit=from_unit,
        up=from_up,
        frame_rate=from_frame_rate,
        root=root,
        faces_from=faces_from,
    )
    if isinstance(thing, Character) and "Character" not in format_to_write(target).writes:
        thing = _only_clip(thing, target)
    report: dict[str, Any] = {}
    if clean:
        thing, report = _cleaned(thing)
    thing = cut(thing, chosen)
    if frame_rate is not None:
        if not hasattr(thing, "resample"):
            raise InputError(f"--frame-rate: a {type(thing).__name__} cannot be resampled")
        thing = thing.resample(frame_rate)
    if mirror:
        thing = _mirrored(thing)
    thing = writable_part(thing, target)
    with progress_bar(f"writing {target.name}") as progress:
        save(
            thing,
            target,
            unit=unit,
            up=up,
            max_error=parse_length(max_error, "--max-error"),
            progress=progress,
        )
    facts = describe(thing)
    written = {"kind": facts["kind"], "frames": facts["frames"], "path": str(target)}
    emit({**written, **report} if json else written, as_json=json)


def _only_clip(character: Character, target: Path) -> Any:
    """The first clip, for a file that holds one: as skeleton motion where the format takes that."""
    if len(character.motions) > 1:
        first, *others = (motion.name for motion in character.motions)
        note(f"{target} holds one clip, {first}; --clip chooses {' or '.join(others)}")
    if "Motion" in format_to_write(target).writes:
        return character.motion
    return character.with_motion(character.motion)


def _mirrored(thing: Any) -> Any:
    if not hasattr(thing, "mirror"):
        raise InputError(f"--mirror: a {type(thing).__name__} cannot be mirrored")
    return thing.mirror()


def _cleaned(thing: Any) -> tuple[Any, dict[str, Any]]:
    if not isinstance(thing, Motion):
        raise InputError("--clean: only skeleton motion can be cleaned")
    motion, report = clean_motion(thing)
    for line in report.lines():
        note(line)
    return motion, {"clean": report.as_dict()}
