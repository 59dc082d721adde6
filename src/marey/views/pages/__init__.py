"""Pages that show something in any browser: one file each, nothing else needed, no network.

>>> import marey, tempfile
>>> from pathlib import Path
>>> out = Path(tempfile.mkdtemp()) / "walk.html"
>>> write_page(marey.samples.walk(seconds=1), out)
>>> out.read_text(encoding="utf-8")[:15]
'<!doctype html>'
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marey.body.dynamics import MotionModel
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.character import Character
from marey.errors import InputError
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation
from marey.views.pages.captions import caption
from marey.views.pages.page import Page

__all__ = ["Page", "glb_page", "page_of", "write_page"]


def write_page(thing: Any, path: Path, *, title: str | None = None, frame_rate: float | None = None) -> None:
    """Write a page of anything that can be played or walked about in.

    title: what to call it; the name of the page's file if None
    """
    page_of(thing, title=path.stem if title is None else title).write(path)


def page_of(thing: Any, *, title: str) -> Page:
    """The page of a thing, not yet written, so that more can be put on it."""
    from marey.views.pages import bodies, surfaces

    page = Page(title, caption(thing))
    shows = {
        Motion: bodies.motion_page,
        Character: bodies.character_page,
        Markers: bodies.markers_page,
        MeshSequence: surfaces.sequence_page,
        Animation: surfaces.animation_page,
    }
    show = next((show for cls, show in shows.items() if isinstance(thing, cls)), None)
    if show is None:
        raise InputError(f"a {type(thing).__name__} cannot be shown as a page")
    show(thing, page)
    return page
