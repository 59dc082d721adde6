"""The `marey` command: gathers the commands, and turns errors into one line and an exit code.

0 done · 2 the user can fix it · 1 we broke.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from marey import __version__
from marey._child import without_working_folder
from marey.cli import convert, data, demo, info, studio, view
from marey.cli._console import fail, print_warnings_plainly
from marey.errors import MareyError

NOUNS = ("body", "surface", "crowd")


class _Nouns(TyperGroup):
    """Commands of a scale are imported when one of them is called, so that the others start quickly."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *NOUNS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in NOUNS:
            return super().get_command(ctx, cmd_name)
        group = typer.main.get_group(import_module(f"marey.cli.{cmd_name}").app)
        group.name = cmd_name
        return group


app = typer.Typer(
    name="marey",
    cls=_Nouns,
    help="""Data-driven animation of bodies, surfaces and crowds.

    [bold]Examples[/bold]

    marey info walk.bvh                      what is in a file

    marey view walk.bvh -o walk.mp4          look at it

    marey convert walk.bvh walk.glb          take it to Blender or a game engine
    """,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (info, convert, view, studio, demo):
    app.command(command.NAME)(command.run)
app.add_typer(data.app, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"marey {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the command line."""
    # An empty entry of PYTHONPATH, or `python -m`, would import what lies beside the data.
    sys.path[:] = without_working_folder(sys.path)
    print_warnings_plainly()
    _print_in_any_encoding()
    signal.signal(signal.SIGTERM, _stop)
    try:
        app()
    except MareyError as error:
        fail(str(error))
        sys.exit(2)
    except OSError as error:
        fail(f"{error.filename or 'the result'}: cannot be read or written: {error.strerror or error}")
        # What could not be printed must not be tried again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(2)
    except MemoryError:
        fail("not enough memory for this; try fewer frames (--frames A:B)")
        sys.exit(2)
    except Exception as error:
        # Compiled code that is interrupted fails with an error of its own on top.
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            sys.exit(130)
        if os.environ.get("MAREY_DEBUG"):
            raise
        fail(f"internal error: {type(error).__name__}: {error} (MAREY_DEBUG=1 shows where; please report it)")
        sys.exit(1)


def _print_in_any_encoding() -> None:
    """Replace characters that a terminal or pipe cannot show, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _stop(number: int, _frame: Any) -> None:
    """Leave in the ordinary way when told to end, so that drafts are removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
