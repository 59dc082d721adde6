"""Printing: results as a table or one JSON object, progress bars, notes and errors on standard error."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress


class Stage:
    """The progress of one step of the work: called with (done, total), and a stopwatch."""

    def __init__(self, label: str, bars: Progress | None = None) -> None:
        self._bars, self._started, self._stopped = bars, time.perf_counter(), 0.0
        self._task = None if bars is None else bars.add_task(label, total=None)

    def __call__(self, done: int, total: int) -> None:
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, completed=done, total=total or None)

    @property
    def seconds(self) -> float:
        """Time the step took, or has taken so far."""
        return (self._stopped or time.perf_counter()) - self._started

    @property
    def milliseconds(self) -> float:
        """Time in milliseconds, rounded for a report."""
        return round(1e3 * self.seconds, 1)

    def stop(self) -> None:
        """End the time that is measured, and remove the bar."""
        self._stopped = time.perf_counter()
        if self._bars is not None and self._task is not None:
            self._bars.remove_task(self._task)


@contextmanager
def stage(label: str) -> Iterator[Stage]:
    """A step of the work, with a bar on standard error if that is a terminal.

    >>> with stage("filling") as progress:
    ...     progress(1, 2)
    >>> progress.seconds < 60
    True
    """
    with _bars() as bars:
        progress = Stage(label, bars)
        try:
            yield progress
        finally:
            progress.stop()


@contextmanager
def _bars() -> Iterator[Progress | None]:
    """Where bars are drawn, shared by steps within steps; None if standard error is no terminal."""
    global _drawn
    if _drawn is not None or not sys.stderr.isatty():
        yield _drawn
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True) as _drawn:
            yield _drawn
    finally:
        _drawn = None


_drawn: Progress | None = None


def describe(text: str) -> None:
    """Say beside the newest bar what it has come to."""
    if _drawn is not None and _drawn.task_ids:
        _drawn.update(_drawn.task_ids[-1], description=text)


def print_result(result: Mapping[str, object], *, as_json: bool) -> None:
    """Print a result: as JSON, or as a small table of names and values."""
    if as_json:
        print(json.dumps(result, allow_nan=False), flush=True)
        return
    width = max(map(len, result), default=0)
    for name, value in result.items():
        indent = "\n" + " " * (width + 1)
        text = indent.join(readable(value).split("\n"))
        click.echo(f"{click.style(name.replace('_', ' ').ljust(width), dim=True)} {text}")


def readable(value: object) -> str:
    """A value of a report as text for people; of long lists only the first items.

    >>> readable([1.0, 0.333333333]), readable(None), readable({"mean": 2})
    ('1, 0.333333', '–', 'mean 2')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {readable(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        several = "\n" if value and isinstance(value[0], dict) else ", "
        return several.join([*map(readable, value[:12]), *["…"] * (len(value) > 12)])
    return "–" if value is None else str(value)


def warn(message: str) -> None:
    """Print a note on standard error: something was inferred, repaired or left out."""
    click.echo(f"marey: note: {message}", err=True)


def warn_of_skate(ratio: float) -> None:
    """Print a note where feet in contact slide more than in the captured frames."""
    if ratio > 1.2:
        warn(f"feet slide {ratio:.2f} times as much as in the captured frames")


def fail(message: str) -> None:
    """Print an error as one line on standard error."""
    sys.stderr.write(f"marey: {' '.join(message.split())}\n")


def print_warnings_plainly() -> None:
    """Print Python's warnings as notes, each only once."""
    warnings.simplefilter("always", UserWarning)
    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if (text := str(message)) not in shown:
            shown.add(text)
            warn(text)

    warnings.showwarning = show
