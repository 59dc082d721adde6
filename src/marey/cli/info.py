"""`marey info`: what is in a file."""

from collections.abc import Mapping
from pathlib import Path

import click

from marey.cli._console import fail, print_result
from marey.cli._inputs import Given, read, sample_name
from marey.cli._options import CONVENTION, argument
from marey.cli._run import Output, Run, command, plain
from marey.errors import MareyError


@command(reports="kind; frames, frame_rate, duration, joints, vertices, faces, rows, columns, agents")
def info(
    run: Run,
    files: list[Path] = argument(
        "Files or folders of any format we read.", "FILE…", reads=(*CONVENTION, "root", "clip")
    ),
) -> Output:
    """What is in a file: kind, size, rate, joints, units.

    Examples:
        marey info walk.bvh
        marey info *.bvh --json
        marey info capture/ --from-unit mm
    """
    found: list[dict[str, object]] = []
    for path in files:
        try:
            found.append({"file": path, **_facts(path, run.given)})
        except MareyError as error:
            if len(files) == 1:
                raise
            fail(str(error))
            found.append({"file": path, "error": str(error)})
    if len(files) == 1:
        return Output(None, found[0], timed=False)
    if run.json:
        print_result(plain({"files": found}), as_json=True)
    for facts in found if not run.json else ():
        if "error" not in facts:
            print_result(plain(facts), as_json=False)
            click.echo()
    if any("error" in facts for facts in found):
        raise click.exceptions.Exit(2)
    return Output()


def _facts(path: Path, given: Given) -> Mapping[str, object]:
    import marey
    from marey.io import container

    if sample_name(path) is not None:
        return marey.info(read(path, given))
    if (path / "dataset.json").is_file():
        from marey.filming import read_dataset

        return read_dataset(path).facts()
    compressed = path.suffix.lower() == ".mry" and path.is_file() and container.is_compressed(path)
    chosen = {"root": given.root, "clip": given.clip, "compressed": compressed or None}
    return marey.info(path, **chosen, **given.convention)
