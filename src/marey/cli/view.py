"""`marey view`: pictures, clips and pages of anything."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

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
    parse_frames,
    progress_bar,
)
from marey.errors import InputError

NAME = "view"


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="File or folder to look at.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="OUT", help="Picture, clip or page: .png, .mp4, .gif or .html."),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Of a motion: strip (default), curves, path; of a model: modes, variance; law; "
            "of a surface graph: graph, matrix; of an animation of meshes: strip, path, timeline.",
        ),
    ] = None,
    frames: Frames = None,
    frame_rate: Annotated[
        float | None, typer.Option(help="Frames per second of a clip; by default about 30.")
    ] = None,
    size: Annotated[str, typer.Option(metavar="WxH", help="Pixels.")] = "1280x720",
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    root: Root = None,
    clip: Clip = None,
    json: Json = False,
) -> None:
    """Draw an image, a clip or a page of anything we read.

    [bold]Examples[/bold]

    marey view walk.bvh -o walk.mp4                  a shaded clip, 1280 × 720

    marey view walk.bvh -o walk.png                  poses along the way

    marey view walk.bvh -o walk.html                 a page that plays in any browser, offline

    marey view walk.bvh -o angles.png --kind curves  joint angles over time

    marey view people.csv -o people.png              trajectories

    marey view model.mry -o modes.mp4                modes of a pose model, to and fro

    marey view motion.mry -o law.png                 what a motion model does over time

    marey view graph.mry -o graph.png                which transitions a captured subject can make
    """
    from marey.views import view

    pixels = _parse_size(size)
    chosen = parse_frames(frames)
    thing = load_with_bar(
        source, clip=clip, unit=from_unit, up=from_up, frame_rate=from_frame_rate, root=root
    )
    thing = cut(thing, chosen)
    with progress_bar(f"drawing {out.name}") as progress:
        view(thing, out, size=pixels, kind=kind, frame_rate=frame_rate, title=source.name, progress=progress)
    emit({"path": str(out)}, as_json=json)


def _parse_size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{2,5})[x×](\d{2,5})", text.strip())
    if found is None:
        raise InputError(f"--size {text}: write it as 1280x720")
    return int(found.group(1)), int(found.group(2))
