"""What a chapter of the demo returns, and how chapters write their clips and take their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from marey.io.video import write_frames
from marey.views.actors import Actor

SMALLER, CLIP_RATE = (720, 324), 20.0

Measured = tuple[tuple[str, str], ...]
"""What was measured, and how much of it, with its unit."""


@dataclass(frozen=True)
class Picture:
    """A file of the gallery that is shown on its page (.png, .mp4 or .html), and what is to be seen there."""

    file: str
    shows: str


@dataclass(frozen=True)
class Exhibit:
    """One exhibit: what it is, pictures of it, what was measured, the commands that make it, its files."""

    title: str
    text: str
    pictures: tuple[Picture, ...]
    measured: Measured
    commands: tuple[str, ...]
    files: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "title": self.title,
            "text": self.text,
            "measured": dict(self.measured),
            "commands": list(self.commands),
            "files": [*(picture.file for picture in self.pictures), *self.files],
        }


Chapter = Callable[[Path], Exhibit]
"""Writes files into a folder and says what they show."""


def thinned(whole: Actor) -> Actor:
    """An actor at `CLIP_RATE`, which divides its own rate."""
    step = round(whole.frame_rate / CLIP_RATE)
    return replace(
        whole,
        vertices=lambda frame: whole.vertices(step * frame),
        frames=-(-whole.frames // step),
        frame_rate=whole.frame_rate / step,
        anchors=whole.anchors[::step],
    )


def write_clip(images: Iterator[Any], path: Path) -> None:
    """A clip at `CLIP_RATE`."""
    write_frames(images, path, frame_rate=CLIP_RATE)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the second of two runs, so that compiling is not counted, and the result."""
    work()
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
