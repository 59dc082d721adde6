"""`marey surface …`: what can be done with captured mesh sequences, one file a verb."""

from __future__ import annotations

from types import ModuleType

import typer

from marey.cli.surface import animate, blend, compare, distance, graph, info, interpolate, skin, transition

app = typer.Typer(
    help="Surfaces: compare poses, blend them, find transitions, build graphs, animate under constraints.",
    no_args_is_help=True,
)

COMMANDS: tuple[ModuleType, ...] = (
    animate,
    blend,
    compare,
    distance,
    graph,
    info,
    interpolate,
    skin,
    transition,
)
for command in COMMANDS:
    app.command(command.NAME)(command.run)
