"""Printing: results as a table or one JSON object, progress bars, notes and errors on standard error."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


class Stage:
    """The progress of one step of the work: called with (done, total), and a stopwatch."""

    def __init__(self, label: str, bars: Any = None) -> None:
        self._bars, self._started, self._stopped = bars, time.perf_counter(), 0.0
        self._task = None if bars is None else bars.add_task(label, total=None)

    def __call__(self, done: int, total: int) -> None:
        if self._bars is not None:
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
        """End the time that is measured."""
        self._stopped = time.perf_counter()


@contextmanager
def stage(label: str) -> Iterator[Stage]:
    """A step of the work, with a bar on standard error if that is a terminal.

    >>> with stage("filling") as progress:
    ...     progress(1, 2)
    >>> progress.seconds < 60
    True
    """
    if not sys.stderr.isatty():
        progress = Stage(label)
        try:
            yield progress
        finally:
            progress.stop()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        progress = Stage(label, bars)
        try:
            yield progress
        finally:
            progress.stop()


def print_result(result: dict[str, Any], *, as_json: bool) -> None:
    """Print a result: as JSON, or as a small table of names and values."""
    if as_json:
        print(json.dumps(result, allow_nan=False), flush=True)
        return
    width = max(map(len, result), default=0)
    for name, value in result.items():
        indent = "\n" + " " * (width + 1)
        text = indent.join(readable(value).split("\n"))
        click.echo(f"{click.style(name.replace('_', ' ').ljust(width), dim=True)} {text}")


def readable(value: Any) -> str:
    """A value of a report as text for people; of long lists only the beginning.

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


def fail(message: str) -> None:
    """Print an error as one line on standard error."""
    sys.stderr.write(f"marey: {' '.join(message.split())}\n")


def print_warnings_plainly() -> None:
    """Print Python's warnings as notes, each only once."""
    warnings.simplefilter("once", UserWarning)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        warn(str(message))

    warnings.showwarning = show
