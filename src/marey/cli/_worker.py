"""A process that runs command lines, so that others can run beside it: `python -m marey.cli._worker`.

Standard input has a JSON list of folder and command line on every line, standard output the report of each:
what `--json` prints, or `{"error": …}`.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from marey import _child
from marey.errors import MareyError


class Worker:
    """Such a process, from the side of who starts it; leaving the `with` block ends it at once."""

    def __init__(self, *, loud: bool) -> None:
        """loud: whether it prints on standard error that it compiles"""
        self._process = subprocess.Popen(
            _child.python("marey.cli._worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if loud else subprocess.DEVNULL,
            env=_child.environment(),
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl+C is for the process that waits for it
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def __call__(self, folder: Path, line: str) -> dict[str, Any]:
        """The report of a command line, run in a folder."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps([str(folder), line]), file=self._process.stdin, flush=True)
        report: dict[str, Any] = json.loads(
            self._process.stdout.readline() or '{"error": "the process ended"}'
        )
        if "error" in report:
            raise MareyError(f"{line}: {report['error']}")
        return report


def run(folder: Path, line: str) -> dict[str, Any]:
    """The report of a command line, run in a folder by this process."""
    from marey.cli.main import app

    printed = io.StringIO()
    with contextlib.chdir(folder), redirect_stdout(printed), redirect_stderr(io.StringIO()):
        app([*shlex.split(line)[1:], "--json"], standalone_mode=False)
    report: dict[str, Any] = json.loads(printed.getvalue())
    return report


def main() -> None:
    """Run what comes in, until it ends."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    for request in sys.stdin:
        folder, line = json.loads(request)
        try:
            report = run(Path(folder), line)
        except Exception as error:
            report = {"error": " ".join(str(error).split()) or type(error).__name__}
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
