"""The list of commands is quick and agrees with the commands."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from marey.cli.main import COMMANDS, app


def found(name: str) -> click.Command:
    """The command called so."""
    group: click.Group = app
    *groups, verb = name.split()
    for one in groups:
        inner = group.get_command(click.Context(group), one)
        assert isinstance(inner, click.Group)
        group = inner
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_help_of_a_command_begins_with(name: str) -> None:
    assert (found(name).help or "").splitlines()[0] == COMMANDS[name]


@pytest.mark.parametrize("words", [["--help"], ["crowd", "--help"], ["crowd", "extend", "--help"]])
def test_help_imports_neither_numpy_nor_methods(words: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['marey', *{words!r}]\n"
        "from marey.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "own = [name for name in sys.modules if name.startswith('marey')]\n"
        "heavy = {'numpy', 'numba', 'scipy', 'rich', 'matplotlib'} & set(sys.modules)\n"
        "print(len(own), sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, heavy = done.stderr.strip().split(maxsplit=1)
    assert "Examples" in done.stdout or len(words) == 2
    assert heavy == "[]" and int(count) <= 30


def test_mistakes_in_usage_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.cli.commands import refused

    assert "No such command 'nope'" in refused(capsys, "body", "nope")
    assert "No such option" in refused(capsys, "body", "fill", "a.bvh", "b.bvh", "--nope")
    assert "IN is missing" in refused(capsys, "body", "fill", "--gap", "1:2")
    assert "-o OUT" in refused(capsys, "body", "fill", "a.bvh", "--gap", "1:2")
    assert "one word too many" in refused(capsys, "body", "fill", "a.bvh", "b.bvh", "c.bvh")
