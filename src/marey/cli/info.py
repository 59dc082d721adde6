"""`marey info`: what is in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from marey.cli._typer import Json, Rate, Root, Unit, Up, emit, fail
from marey.describe import describe_file
from marey.errors import MareyError
from marey.io import container

NAME = "info"


def run(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Files or folders of any format we read.")
    ],
    from_unit: Unit = None,
    from_up: Up = None,
    from_frame_rate: Rate = None,
    root: Root = None,
    json: Json = False,
) -> None:
    """What is in a file: kind, size, rate, joints, units.

    [bold]Examples[/bold]

    marey info walk.bvh

    marey info *.bvh --json

    marey info capture/ --from-unit mm
    """
    found: list[dict[str, Any]] = []
    failed = 0
    for path in files:
        try:
            if (path / "dataset.json").is_file():
                facts = _dataset(path)
            else:
                asked = {"unit": from_unit, "up": from_up, "frame_rate": from_frame_rate, "root": root}
                compressed = True if _is_compressed(path) else None
                facts = describe_file(path, **asked, compressed=compressed)
        except MareyError as error:
            if len(files) == 1:
                raise
            fail(str(error))
            found.append({"file": str(path), "error": str(error)})
            failed += 1
            continue
        found.append({"file": str(path), **facts})
    if json:
        emit(found[0] if len(files) == 1 else {"files": found}, as_json=True)
    else:
        for facts in found:
            if "error" not in facts:
                emit(facts, as_json=False)
                print()
    if failed:
        raise typer.Exit(2)


def _dataset(folder: Path) -> dict[str, Any]:
    """What a folder of `marey crowd dataset` holds."""
    from marey.filming import read_dataset

    dataset = read_dataset(folder)
    tracks = dataset.tracks
    return {
        "kind": "crowd dataset",
        "frames": tracks.frames,
        "frame_rate": tracks.frame_rate,
        "duration": round(tracks.duration, 6),
        "agents": tracks.agents,
        "scene": dataset.scene.name,
        "cameras": ", ".join(dataset.views),
        "films": ", ".join(next(iter(dataset.views.values())).films),
    }


def _is_compressed(path: Path) -> bool:
    return path.suffix.lower() == ".mry" and path.is_file() and container.is_compressed(path)
