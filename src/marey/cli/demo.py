"""`marey demo`: see what marey does, on its built-in samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from marey.cli._console import Json, emit, errors, output, progress_bar

NAME = "demo"


def run(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the gallery goes.")] = Path("gallery"),
    json: Json = False,
) -> None:
    """Run marey on its built-in samples and write a gallery of pictures, clips and files to open.

    [bold]Examples[/bold]

    marey demo

    marey demo --out tour

    MAREY_DATA=~/mocap marey demo        real captures too
    """
    from marey.demo import make_gallery

    with progress_bar("demo") as progress:
        gallery = make_gallery(out, progress=progress)
    if json:
        emit(gallery.as_dict(), as_json=True)
        return
    for entry in gallery.entries:
        output.print(f"[bold]{entry.title}[/bold]  {entry.measured}")
        output.print(f"    {', '.join(entry.files)}", style="dim")
    errors.print(f"\nOpen {out / 'index.html'} in a browser; the .glb files open in Blender.", markup=False)
