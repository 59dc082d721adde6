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

from marey._progress import Progress
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.character import Character
from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.scene import Scene
from marey.crowd.simulation.simulated import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.stage.walk.walk import WalkingCrowd
from marey.statistics.graphs.clips import DistanceMatrix
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation
from marey.views.pages.captions import caption
from marey.views.pages.page import Page

__all__ = ["Page", "caption", "glb_page", "page_of", "picture_page", "write_page"]


def write_page(thing: Any, path: Path, *, title: str | None = None, progress: Progress | None = None) -> None:
    """Write a page of anything that can be played, walked about in or pointed at.

    title: what to call it; the name of the page's file if None
    """
    page_of(thing, title=path.name if title is None else title, progress=progress).write(path)


def page_of(thing: Any, *, title: str, progress: Progress | None = None) -> Page:
    """The page of a thing, not yet written, so that more can be put on it."""
    from marey.views.pages import bodies, crowds, fields, films, pictures, surfaces

    page = Page(title, caption(thing))
    if isinstance(thing, WalkingCrowd):
        from marey.views.pages.walkers import walking_page

        walking_page(thing, page)
        return page
    if isinstance(thing, Footage):
        films.film_page(thing, page, progress=progress)
        return page
    shows: dict[type, Any] = {
        Motion: bodies.motion_page,
        Character: bodies.character_page,
        Markers: bodies.markers_page,
        MeshSequence: surfaces.sequence_page,
        Animation: surfaces.animation_page,
        Tracks: crowds.tracks_page,
        SimulatedCrowd: crowds.simulated_page,
        Scene: crowds.scene_page,
        FieldSeries: fields.field_page,
        DistanceMatrix: pictures.matrix_page,
    }
    show = next((show for cls, show in shows.items() if isinstance(thing, cls)), None)
    if show is None:
        raise InputError(f"a {type(thing).__name__} cannot be played; its pictures can be shown")
    show(thing, page)
    if progress is not None:
        progress(1, 1)
    return page


def picture_page(picture: Path, *, title: str, caption: str = "") -> Page:
    """The page of a picture, a PNG file."""
    from marey.views.pages.pictures import show_picture

    page = Page(title, caption)
    show_picture(picture, page, said=f"{title}: {caption}")
    return page


def glb_page(
    glb: bytes, *, title: str, caption: str = "", frames: int, frame_rate: float, stage: dict[str, Any]
) -> Page:
    """The page of a glTF binary of one's own; `stage` says how it is framed, see `staging.stage_of`."""
    page = Page(title, caption, frames=frames, frame_rate=frame_rate, stage=stage)
    page.layer("glb", glb=page.keep(glb))
    return page
