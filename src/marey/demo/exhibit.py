"""What a chapter of the demo returns, and how chapters write their clips and take their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from marey.io.video import write_frames
from marey.views.actors import Actor

SMALLER, CLIP_RATE = (960, 432), 20.0


@dataclass(frozen=True)
class Entry:
    """One exhibit: what it is, what was measured, and its files (the first one is shown)."""

    title: str
    measured: str
    files: tuple[str, ...]


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
