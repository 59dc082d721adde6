"""`marey surface info`: what is in a file of sequences, distances, a graph or an animation."""

from pathlib import Path

from marey.cli._inputs import read
from marey.cli._options import CONVENTION, argument, option
from marey.cli._run import Output, Run, command


@command()
def info(
    run: Run,
    source: Path = argument(
        "A mesh sequence, distances, a graph or an animation.", "FILE", role="in", reads=CONVENTION
    ),
    nearest: str | None = option(None, "Also list the most similar poses, one a sequence.", "NAME:FRAME"),
) -> Output:
    """What a file of meshes, distances, a graph or an animation holds.

    Examples:
        marey surface info subject.mry
        marey surface info subject.mry --nearest walk:12
        marey surface info animation.mry --json

    Sequences and labels, distances, transitions, core and dead ends; captured and blended frames.
    """
    from marey import surface
    from marey.describe import info as facts_of

    data = read(source, run.given)
    facts = {"file": source, **facts_of(data), **run.call("measuring", surface.info, data)}
    return Output(None, facts, timed=False)
