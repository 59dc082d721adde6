"""`marey demo`: see what marey does, on its built-in samples."""

import re
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from marey.cli._options import option
from marey.cli._run import Output, Run, command


@command()
def demo(run: Run, out: Path = option(Path("gallery"), "Folder of the gallery.", "DIR")) -> Output:
    """Run marey on its built-in samples and write a gallery to open.

    Examples:
        marey demo
        marey demo --out tour
        MAREY_DATA=~/mocap marey demo        real captures too

    The gallery has images, clips and files to open. It is there at once and fills as examples are made.
    """
    from marey import _work
    from marey.cli._worker import Worker
    from marey.demo import make_gallery
    from marey.views.render import open_in_browser

    index = (out / "index.html").resolve()

    def report(done: int, total: int, title: str) -> None:
        if done == 0 and not run.json:
            click.echo(f"The gallery fills while examples are made: {index.as_uri()}", err=True)
            if sys.stderr.isatty():
                open_in_browser(index)
        click.echo(f"{done + 1} of {total}: {re.sub(r'{.*?}', '…', title)}", err=True)

    with ExitStack() as workers:
        # While one compiles what it needs, the other gets on.
        runs = [workers.enter_context(Worker(loud=not n)) for n in range(min(2, _work.cores()))]
        gallery = make_gallery(out, runs, stop=workers.close, progress=report)
    if run.json:
        return Output(None, gallery.as_dict(), timed=False)
    scale = ""
    for example in gallery.examples:
        if example.scale != scale:
            click.echo(f"\n{click.style(scale := example.scale, bold=True)}")
        click.echo(example.title)
        measured = " · ".join(f"{what}: {value}" for what, value in example.measured.items())
        click.secho(f"    {measured}", dim=True)
    click.echo(f"\nThe gallery, made in {gallery.seconds:.0f} s: open {index.as_uri()}", err=True)
    called = Path(sys.argv[0])
    studio = "marey studio my.bvh"
    if not called.is_absolute() and called.name == "marey":
        studio = f"make studio FILES=my.bvh, or {called} studio my.bvh"
    click.echo(f"Your own motion: {studio}, then open the address it prints.", err=True)
    return Output()
