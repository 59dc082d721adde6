"""`marey demo`: see what marey does, on its built-in samples."""

import sys
from pathlib import Path

import click

from marey.cli._console import stage
from marey.cli._options import option
from marey.cli._run import Output, Run, command


@command()
def demo(run: Run, out: Path = option(Path("gallery"), "Folder of the gallery.", "DIR")) -> Output:
    """Run marey on its built-in samples and write a gallery to open.

    Examples:
        marey demo
        marey demo --out tour
        MAREY_DATA=~/mocap marey demo        real captures too

    The gallery has images, clips and files to open.
    """
    from marey.demo import make_gallery

    with stage("demo") as progress:
        gallery = make_gallery(out, telling=lambda done, total, _step: progress(done, total))
    if run.json:
        return Output(None, gallery.as_dict(), timed=False)
    for scale, exhibits in gallery.scales.items():
        click.echo(f"\n{click.style(scale, bold=True)}")
        for exhibit in exhibits:
            click.echo(exhibit.title)
            measured = " · ".join(f"{what}: {value}" for what, value in exhibit.measured)
            click.secho(f"    {measured}", dim=True)
    index = (out / "index.html").resolve()
    click.echo(f"\nThe gallery, made in {gallery.seconds:.0f} s: open {index.as_uri()}", err=True)
    called = Path(sys.argv[0])
    studio = "marey studio my.bvh"
    if not called.is_absolute() and called.name == "marey":
        studio = f"make studio FILES=my.bvh, or {called} studio my.bvh"
    click.echo(f"Your own motion: {studio}, then open the address it prints.", err=True)
    return Output()
