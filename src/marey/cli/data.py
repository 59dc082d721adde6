"""`marey data`: real sample data, with its licence."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.filesize import decimal
from rich.padding import Padding

from marey.cli._console import Json, emit, output, progress_bar

app = typer.Typer(
    help="""Real sample data: list it, get it.

    [bold]Examples[/bold]

    marey data list

    marey data get cmu-02_01
    """,
    no_args_is_help=True,
)


@app.command("list")
def list_all(json: Json = False) -> None:
    """What there is, under which licence, and where: here already, to download, or only in your MAREY_DATA.

    [bold]Examples[/bold]

    marey data list

    marey data list --json
    """
    from marey import datasets

    known = datasets.list_datasets()
    if json:
        emit(
            {
                "datasets": [
                    {
                        "name": d.name,
                        "kind": d.kind,
                        "description": d.description,
                        "license": d.license,
                        "bytes": d.size,
                        "downloadable": d.downloadable,
                        "path": None if d.path is None else str(d.path),
                    }
                    for d in known
                ]
            },
            as_json=True,
        )
        return
    for d in known:
        where = "here" if d.path is not None else "to download" if d.downloadable else "only in MAREY_DATA"
        output.print(f"[bold]{d.name}[/bold]  {d.kind}, {decimal(d.size)}, {where}")
        output.print(Padding(f"{d.description}\n[dim]{d.license}[/dim]", (0, 0, 0, 4)))


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `marey data list` shows it.")],
    json: Json = False,
) -> None:
    """Fetch a data set into the user cache (or find it under MAREY_DATA) and print where it is.

    [bold]Examples[/bold]

    marey data get cmu-02_01

    marey view "$(marey data get cmu-02_01 --json | jq -r .path)" -o walk.mp4
    """
    from marey import datasets

    with progress_bar(f"getting {name}") as progress:
        path = datasets.get(name, progress=progress)
    found = datasets.find(name)
    emit(
        {"name": name, "path": str(path), "license": found.license, "citation": found.citation}, as_json=json
    )
