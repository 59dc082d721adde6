"""The demo: marey on its built-in samples (and on real data when MAREY_DATA is set), as a gallery to open.

Each chapter is a function that writes files into a folder and says what it measured.
"""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from marey import __version__
from marey._progress import Progress, tracked
from marey.demo.crowds import captured, filmed, simulated
from marey.demo.dynamics import hole, steered, stream, variants
from marey.demo.exhibit import Entry
from marey.demo.poses import compression, handles, modes, trackers
from marey.demo.scenes import body, crowd, real_body, real_crowd, real_surface, surface
from marey.demo.surfaces import directed, organised
from marey.errors import InputError
from marey.io._files import write_beside


@dataclass(frozen=True)
class Gallery:
    """What a demo made."""

    folder: Path
    entries: tuple[Entry, ...]
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "path": str(self.folder),
            "seconds": round(self.seconds, 2),
            "entries": [asdict(entry) for entry in self.entries],
        }


def make_gallery(folder: Path, *, progress: Progress | None = None) -> Gallery:
    """Run every chapter, write its files and an index page into `folder`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from error
    start = time.perf_counter()
    chapters: list[Callable[[Path], Entry]] = [body, modes, handles, trackers, compression]
    chapters += [
        variants,
        hole,
        steered,
        stream,
        surface,
        organised,
        directed,
        crowd,
        simulated,
        filmed,
        captured,
    ]
    if os.environ.get("MAREY_DATA"):
        chapters += [real_body, real_surface, real_crowd]
    entries = tuple(chapter(folder) for chapter in tracked(chapters, progress))
    gallery = Gallery(folder, entries, time.perf_counter() - start)
    with write_beside(folder / "index.html") as draft:
        draft.write_text(_page(gallery), encoding="utf-8")
    return gallery


def _page(gallery: Gallery) -> str:
    exhibits = "\n".join(
        f"<section><h2>{html.escape(entry.title)}</h2><p>{html.escape(entry.measured)}</p>"
        + "".join(map(_shown, entry.files))
        + "<p>"
        + " · ".join(f'<a href="{html.escape(name)}">{html.escape(name)}</a>' for name in entry.files)
        + "</p></section>"
        for entry in gallery.entries
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>marey gallery</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1rem; }}
img, video {{ width: 100%; border-radius: 6px; background: #f4f4f2; }}
h1 {{ font-weight: 300; }} h2 {{ font-weight: 500; margin-top: 3rem; }} a {{ color: #2b6a8f; }}
</style>
<h1>marey {__version__}</h1>
<p>Made in {gallery.seconds:.0f} s. The .glb files open in Blender and game engines.</p>
{exhibits}
</html>
"""


def _shown(name: str) -> str:
    if name.endswith(".mp4"):
        return f'<video src="{html.escape(name)}" autoplay loop muted playsinline controls></video>'
    if name.endswith(".png"):
        return f'<img src="{html.escape(name)}" alt="{html.escape(name)}">'
    return ""
