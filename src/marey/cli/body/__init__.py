"""`marey body …`: what can be done with skeleton motion, one file a verb."""

from __future__ import annotations

from types import ModuleType

import typer

from marey.cli.body import (
    compress,
    decompress,
    fill,
    filter,
    fingers,
    fit,
    ik,
    learn,
    particles,
    reconstruct,
    restyle,
    steer,
    stream,
    vary,
)

app = typer.Typer(
    help="Skeleton motion: clean, model, pose, vary, repair, steer, store.", no_args_is_help=True
)

COMMANDS: tuple[ModuleType, ...] = (
    filter,
    fit,
    ik,
    particles,
    fingers,
    reconstruct,
    learn,
    vary,
    fill,
    steer,
    restyle,
    stream,
    compress,
    decompress,
)
for command in COMMANDS:
    app.command(command.NAME)(command.run)
