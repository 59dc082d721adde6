"""`marey data`: real sample data, with its licence."""

import click

from marey.cli._console import stage
from marey.cli._options import argument
from marey.cli._run import Output, Run, command


@command()
def list_(run: Run) -> Output:
    """List data sets, their licences, and whether they are here or to download.

    Examples:
        marey data list
        marey data list --json
    """
    from marey import datasets

    known = datasets.list_datasets()
    if run.json:
        names = ("name", "kind", "description", "license", "downloadable", "path")
        rows = [{name: getattr(one, name) for name in names} | {"bytes": one.size} for one in known]
        return Output(report={"datasets": rows})
    for one in known:
        where = "here" if one.path else "to download" if one.downloadable else "only in MAREY_DATA"
        click.echo(f"{click.style(one.name, bold=True)}  {one.kind}, {one.size / 1e6:.3g} MB, {where}")
        about = f"{one.description}\n\n{one.license}"
        click.echo(click.wrap_text(about, 100, "    ", "    ", preserve_paragraphs=True))
    return Output(report=None)


@command(reports="name, path, license")
def get(name: str = argument("As `marey data list` shows it.", "NAME")) -> Output:
    """Fetch a data set into the user cache and print where it is.

    Examples:
        marey data get cmu-02_01
        marey view "$(marey data get cmu-02_01 --json | jq -r .path)" -o walk.mp4
    """
    from marey import datasets

    with stage(f"getting {name}") as progress:
        path = datasets.get(name, progress=progress)
    found = datasets.find(name)
    return Output(report={"name": name, "path": path, "license": found.license, "citation": found.citation})
