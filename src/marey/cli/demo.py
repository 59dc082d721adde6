"""`marey demo`: see what marey does, on its built-in samples."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from marey.cli._typer import Json, emit, errors, output

NAME = "demo"
NAME_OF_PROGRAM = "marey"


def run(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the gallery goes.")] = Path("gallery"),
    json: Json = False,
) -> None:
    """Run marey on its built-in samples and write a gallery to open.

    [bold]Examples[/bold]

    marey demo

    marey demo --out tour

    MAREY_DATA=~/mocap marey demo        real captures too
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from marey.demo import make_gallery

    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bars:
        task = bars.add_task("demo", total=None)

        def tell(done: int, total: int, chapter: str) -> None:
            bars.update(task, completed=done, total=total, description=chapter)

        gallery = make_gallery(out, telling=tell)
    if json:
        emit(gallery.as_dict(), as_json=True)
        return
    for scale, exhibits in gallery.scales.items():
        output.print(f"\n[bold]{scale}[/bold]")
        for exhibit in exhibits:
            output.print(exhibit.title, markup=False)
            told = " · ".join(f"{what}: {value}" for what, value in exhibit.measured)
            output.print(f"    {told}", style="dim", markup=False)
    index = (out / "index.html").resolve()
    errors.print(f"\nThe gallery, made in {gallery.seconds:.0f} s: open {index.as_uri()}", markup=False)
    errors.print(f"Your own motion: {_studio()}, then open the address it prints.", markup=False)


def _studio() -> str:
    """How to start the studio from where the demo was started."""
    called = Path(sys.argv[0])
    if called.is_absolute() or called.name != NAME_OF_PROGRAM:
        return f"{NAME_OF_PROGRAM} studio my.bvh"
    return f"make studio FILES=my.bvh, or {called} studio my.bvh"
