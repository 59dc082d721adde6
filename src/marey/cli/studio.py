"""`marey studio`: see, touch and change motion in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from marey.cli._typer import Json, emit
from marey.errors import FormatError

NAME = "studio"


def run(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]…", help="Opened in the panel each belongs to.")
    ] = None,
    port: Annotated[int, typer.Option(help="Where to serve; the next free one if it is in use.")] = 8080,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page at once.")] = True,
    json: Json = False,
) -> None:
    """See, touch and change motion in the browser; served until Ctrl+C.

    [bold]Examples[/bold]

    marey studio                            the built-in samples

    marey studio walk.bvh                   drag its hands, fill holes, make variants

    marey studio dance.glb people.csv       a surface and a crowd, each in its panel

    marey studio walk.bvh --port 9000 --no-browser
    """
    from marey.studio.app import Studio

    for path in files or []:
        if not path.exists():
            raise FormatError("no such file", path=path)
    studio = Studio(files or [], port=port)
    emit({"address": studio.address}, as_json=json)
    if browser:
        import webbrowser

        webbrowser.open(studio.address)
    studio.wait()
