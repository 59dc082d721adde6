"""`marey body …`: what can be done with skeleton motion, one file a verb."""

from __future__ import annotations

from types import ModuleType

import typer

app = typer.Typer(help="Skeleton motion: pose models, inverse kinematics, compression.", no_args_is_help=True)

COMMANDS: tuple[ModuleType, ...] = ()
for command in COMMANDS:
    app.command(command.NAME)(command.run)
