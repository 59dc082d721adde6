"""`marey crowd …`: what can be done with the motion of many people, one file a verb."""

from __future__ import annotations

from types import ModuleType

import typer

from marey.cli.crowd import animate, capture, dataset, edit, evaluate, extend, info, simulate, tile, walk

app = typer.Typer(
    help="Crowds: capture motion from video, edit and extend it, animate, simulate, film, measure.",
    no_args_is_help=True,
)

COMMANDS: tuple[ModuleType, ...] = (
    animate,
    capture,
    dataset,
    edit,
    evaluate,
    extend,
    info,
    simulate,
    tile,
    walk,
)
for command in COMMANDS:
    app.command(command.NAME)(command.run)
