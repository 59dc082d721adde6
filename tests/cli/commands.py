"""Commands run in this process, as a user types them: what they say, and with which code they end."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
import pytest

from marey.cli import main as command


def call(*words: object) -> int:
    """Exit code of the command."""
    before = sys.argv
    sys.argv = ["marey", *map(str, words)]
    try:
        command.main()
    except SystemExit as leaving:
        return int(leaving.code or 0)
    finally:
        sys.argv = before
    return 0


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Exit code, standard output and error of the command."""
    code = call(*words)
    told = capsys.readouterr()
    return code, told.out, told.err


def result(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    """The one JSON object of a command that succeeds."""
    code, out, err = run(capsys, *words, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert isinstance(found, dict)
    assert promised(*words) <= set(found)
    return found


def promised(*words: object) -> set[str]:
    """Keys that the JSON object of a command always has."""
    group, verb = click.Context(command.app), str(words[0])
    found: Any = command.app.get_command(group, verb)
    if isinstance(found, click.Group):
        found = found.get_command(group, str(words[1]))
    return {key.strip() for key in found.reports.partition(";")[0].split(",")} - {""}


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """The one line a user sees of a command that fails."""
    code, out, err = run(capsys, *words)
    assert code == 2, err
    assert out == ""
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    return lines[0]
