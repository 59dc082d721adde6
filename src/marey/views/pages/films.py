"""Pages of footage: the film itself, with the same time and keys as every other page."""

from __future__ import annotations

import tempfile
from pathlib import Path

from marey._progress import Progress
from marey.crowd.footage import Footage
from marey.io.video import write_frames
from marey.views.figures.crowd import footage_clip
from marey.views.pages.page import LARGEST, Page

# Columns and rows at most, and how films that would not fit are made smaller.
SIZES = ((1280, 720), (854, 480), (426, 240))


def film_page(footage: Footage, page: Page, *, progress: Progress | None = None) -> None:
    """The film, made smaller if it is larger than a page should be."""
    page.show = "film"
    page.frames, page.frame_rate = footage.frames, footage.frame_rate
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        for size in SIZES:
            write_frames(
                footage_clip(footage, size),
                path,
                frame_rate=footage.frame_rate,
                progress=progress,
                total=footage.frames,
            )
            if path.stat().st_size < 0.7 * LARGEST:
                break
        page.more["film"] = {"mp4": page.keep(path.read_bytes())}
