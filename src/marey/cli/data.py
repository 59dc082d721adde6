"""`marey data`: real sample data, with its licence."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.filesize import decimal
from rich.table import Table

from marey.cli._console import Json, emit, output, progress_bar

app = typer.Typer(help="Real sample data: list it, get it.", no_args_is_help=True)


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
    table = Table(box=None, pad_edge=False)
    for column in ("name", "kind", "size", "where", "licence", "what"):
        table.add_column(column, overflow="fold", no_wrap=column in ("name", "size"))
    for d in known:
        where = "here" if d.path is not None else "download" if d.downloadable else "MAREY_DATA"
        table.add_row(d.name, d.kind, decimal(d.size), where, d.license, d.description)
    output.print(table)


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
