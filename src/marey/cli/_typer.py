"""What all commands share: one JSON object or readable lines, progress on standard error, frame ranges."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import click
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from marey._progress import Progress
from marey.body.motion import Motion
from marey.character import Character
from marey.errors import InputError
from marey.geometry.convention import UNITS
from marey.io import load
from marey.io._files import check_target

errors = Console(stderr=True, highlight=False, soft_wrap=True)
output = Console(highlight=False)

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Frames = Annotated[
    str | None,
    typer.Option("--frames", metavar="A:B", help="Only frames A to B-1, e.g. 100:200, 50:, :30 or -30:."),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--from-unit", metavar="UNIT", help="The input's unit (m, cm, mm, in, or metres), not our guess."
    ),
]
Up = Annotated[
    str | None, typer.Option("--from-up", metavar="y|z", help="The input's up axis, not our guess.")
]

Rate = Annotated[
    float | None,
    typer.Option("--from-frame-rate", metavar="F", help="The input's frames per second, if it does not say."),
]

Clip = Annotated[str | None, typer.Option("--clip", help="Which clip of a character with several.")]

Root = Annotated[
    str | None, typer.Option("--root", metavar="NAME", help="Which root, for a BVH file with several.")
]


def emit(result: dict[str, Any], *, as_json: bool, title: str | None = None) -> None:
    """Print the result: as JSON, or as a small table of names and values."""
    if as_json:
        print(json.dumps(result, allow_nan=False), flush=True)
        return
    table = Table(show_header=False, box=None, pad_edge=False, title=title, title_justify="left")
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in result.items():
        # Text, since a name with brackets in it would be taken for markup.
        table.add_row(name.replace("_", " "), Text(_readable(value)))
    output.print(table)


def parse_frames(text: str | None) -> slice | None:
    """`"A:B"` as a slice; None if nothing was asked for.

    >>> parse_frames("10:"), parse_frames(None)
    (slice(10, None, None), None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"(-?\d+|):(-?\d+|)", text.strip())
    if found is None:
        raise InputError(f"--frames {text}: write it as A:B, e.g. 100:200, 50: or :30")
    start, stop = (int(part) if part else None for part in found.groups())
    return slice(start, stop)


def cut(thing: Any, frames: slice | None) -> Any:
    """Only those frames of a thing that has some; those of a clip are numbered as in its file."""
    if frames is None:
        return thing
    if not hasattr(thing, "__getitem__"):
        raise InputError(f"--frames: a {type(thing).__name__} has no frames to choose from")
    if isinstance(thing, Motion):
        first, frames = thing.first_frame, in_clip(frames, thing.first_frame)
        if first and not range(*frames.indices(thing.frames)):
            raise InputError(
                f"--frames: none of them is in the clip, which has {first}:{first + thing.frames}"
            )
    return thing[frames]


def in_clip(frames: slice, first: int) -> slice:
    """Frames numbered as in a file as those of a clip that begins with number `first`; −1 is the last one.

    >>> in_clip(slice(100, -1), 1), in_clip(slice(0, 3), 1)
    (slice(99, -1, None), slice(0, 2, None))
    """
    shifted = (end if end is None or end < 0 else max(end - first, 0) for end in (frames.start, frames.stop))
    return slice(*shifted)


def parse_length(text: str | None, option: str) -> float | None:
    """Metres of a length with its unit; None if nothing was asked for.

    >>> parse_length("1cm", "--error"), parse_length("2.5 mm", "--error"), parse_length("0.1", "--error")
    (0.01, 0.0025, 0.1)
    """
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", text)
    if found is None or (found.group(2) or "m") not in UNITS:
        raise InputError(f"{option} {text}: write a length with its unit, e.g. 1cm, 5mm or 0.01m")
    return float(found.group(1)) * UNITS[found.group(2) or "m"]


def check_apart(target: Path, *sources: Path) -> None:
    """A result that would take the place of what it is made from is an error."""
    for source in sources:
        if target.exists() and source.exists() and target.samefile(source):
            raise InputError(f"{target}: would be written over its own input; give another name")
        if source.is_dir() and source.resolve() in target.resolve().parents and source.suffix == ".zarr":
            raise InputError(f"{target}: would be written into its own input; give another place")


def check_folder(target: Path) -> None:
    """A result that could not be written after all the work is an error before it."""
    if not target.parent.is_dir():
        raise InputError(f"{target}: cannot be written: there is no folder {target.parent}")
    check_target(target)


def load_with_bar(source: Path, *, clip: str | None, **options: Any) -> Any:
    """What is in a file, read with a progress bar; of several clips only the one called `clip`, if given."""
    in_reader = clip is not None and source.suffix.lower() in (".glb", ".gltf")
    with progress_bar(f"reading {source.name}") as progress:
        thing = load(source, clip=clip if in_reader else None, progress=progress, **options)
    if clip is None or in_reader:
        return thing
    if not isinstance(thing, Character):
        raise InputError(f"--clip {clip}: {source} has no named clips")
    return thing.with_motion(thing.clip(clip))


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """A bar on standard error (when that is a terminal) that the work moves by calling it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bars:
        task = bars.add_task(label, total=None)

        def move(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total or None)

        yield move


def print_warnings_plainly() -> None:
    """Warnings as one line each on standard error, each only once."""
    warnings.simplefilter("once", UserWarning)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        note(str(message))

    warnings.showwarning = show


def note(message: str) -> None:
    """A line on standard error that something was done, guessed or left out."""
    errors.print(f"marey: note: {message}", markup=False)


def fail(message: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"marey: {' '.join(message.split())}\n")


def _readable(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_readable(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ("\n" if value and isinstance(value[0], dict) else ", ").join(map(_readable, value))
    return "–" if value is None else str(value)


class Old(click.Command):
    """A command that typer parses."""

    def __init__(self, name: str, module: Any, function: str) -> None:
        group = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
        group.command(name)(getattr(module, function))
        self.inner: Any = typer.main.get_command(group)
        super().__init__(name, help=self.inner.help)
        self.params: Any = self.inner.params

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = args
        return args

    def invoke(self, ctx: click.Context) -> Any:
        words = ["--help" if word == "-h" else word for word in ctx.args]
        try:
            return self.inner.main(args=words, prog_name=ctx.command_path, standalone_mode=False)
        except Exception as error:
            if hasattr(error, "format_message"):
                raise InputError(error.format_message()) from error
            raise
