"""`marey body decompress`: a compressed clip back as a file of any format for skeleton motion."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from marey.cli._typer import Frames, Json, emit, parse_frames, progress_bar
from marey.errors import FormatError
from marey.io import container, save, writable_part

NAME = "decompress"


def run(
    source: Annotated[Path, typer.Argument(metavar="IN.mry", help="A compressed clip.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; its ending says the format.")],
    frames: Frames = None,
    up: Annotated[str | None, typer.Option(metavar="y|z", help="Up axis of the file written.")] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help="Unit of the file written: m, cm, mm, in, or metres.")
    ] = None,
    json: Json = False,
) -> None:
    """Get a compressed clip back, whole or in part.

    [bold]Examples[/bold]

    marey body decompress walk.mry walk.bvh

    marey body decompress walk.mry walk.glb --frames 100:200
    """
    chosen = parse_frames(frames)
    if not container.is_compressed(source):
        raise FormatError("not a compressed clip; marey convert reads other files", path=source)
    clip = container.read_compressed(source)
    try:
        first = clip.decode(0)  # so that compilation is not counted, nor a wrong ending found too late
        writable_part(first, target)
        started = time.perf_counter()
        motion = clip.decode(chosen)
        milliseconds = 1e3 * (time.perf_counter() - started)
    except FormatError as error:
        raise FormatError(str(error), path=source) from error
    with progress_bar(f"writing {target.name}") as progress:
        save(motion, target, unit=unit, up=up, progress=progress)
    result = {
        "frames": motion.frames,
        "milliseconds_per_frame": round(milliseconds / motion.frames, 5),
        "path": str(target),
    }
    emit(result, as_json=json)
