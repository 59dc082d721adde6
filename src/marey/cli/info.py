"""`marey info`: what is in a file."""

from pathlib import Path
from typing import Any

import click

from marey.cli._console import fail, print_result
from marey.cli._options import CONVENTION, argument
from marey.cli._run import Output, Run, command, plain
from marey.errors import MareyError


@command(reports="kind; frames, frame_rate, duration, joints, vertices, faces, rows, columns, agents")
def info(
    run: Run,
    files: list[Path] = argument(
        "Files or folders of any format we read.", "FILE…", reads=(*CONVENTION, "root")
    ),
) -> Output:
    """What is in a file: kind, size, rate, joints, units.

    Examples:
        marey info walk.bvh
        marey info *.bvh --json
        marey info capture/ --from-unit mm
    """
    found: list[dict[str, Any]] = []
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


def _facts(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    from marey.describe import describe_file
    from marey.io import container

    if (path / "dataset.json").is_file():
        from marey.filming import read_dataset

        return read_dataset(path).facts()
    compressed = path.suffix.lower() == ".mry" and path.is_file() and container.is_compressed(path)
    options = {name: given[f"from_{name}"] for name in ("unit", "up", "frame_rate")}
    return describe_file(path, root=given["root"], compressed=compressed or None, **options)
