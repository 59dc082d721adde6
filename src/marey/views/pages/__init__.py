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

from marey._work import Progress
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.character import Character
from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.describe import describe
from marey.errors import InputError
from marey.stage.walk.walk import WalkingCrowd
from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation
from marey.views.pages.page import Page

__all__ = ["Page", "caption", "page_of", "picture_page", "write_page"]

UNITS = (
    ("agents", "person", "people"),
    ("people", "person", "people"),
    ("joints", "joint", "joints"),
    ("markers", "marker", "markers"),
    ("vertices", "vertex", "vertices"),
    ("modes", "mode", "modes"),
    ("transitions", "transition", "transitions"),
)


def write_page(thing: Any, path: Path, *, title: str | None = None, progress: Progress | None = None) -> None:
    """Write a page of anything that can be played, walked about in or pointed at.

    title: what to call it; the name of the page's file if None
    """
    page_of(thing, title=path.name if title is None else title, progress=progress).write(path)


def page_of(thing: Any, *, title: str, progress: Progress | None = None) -> Page:
    """The page of a thing, not yet written, so that more can be put on it."""
    from marey.views.pages import bodies, crowds, flat, surfaces

    page = Page(title, caption(thing))
    if isinstance(thing, Footage):
        flat.film_page(thing, page, progress=progress)
        return page
    shows: dict[type, Any] = {
        Motion: bodies.motion_page,
        Character: bodies.character_page,
        Markers: bodies.markers_page,
        MeshSequence: surfaces.sequence_page,
        Animation: surfaces.animation_page,
        Tracks: crowds.tracks_page,
        SimulatedCrowd: crowds.simulated_page,
        WalkingCrowd: crowds.walking_page,
        Scene: crowds.scene_page,
        FieldSeries: flat.field_page,
        DistanceMatrix: flat.matrix_page,
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
    from marey.views.pages.flat import show_picture

    page = Page(title, caption)
    show_picture(picture, page, said=f"{title}: {caption}")
    return page


def caption(thing: Any) -> str:
    """Kind, times and sizes of a thing.

    >>> import marey
    >>> caption(marey.samples.walk(seconds=1))
    'motion · 26 joints · 60 frames · 60 fps · 1 s'
    """
    facts = describe(thing)
    words = [facts["kind"]]
    words += [
        f"{facts[key]:,} {one if facts[key] == 1 else many}"
        for key, one, many in UNITS
        if isinstance(facts.get(key), int)
    ]
    if "columns" in facts:
        words.append(f"{facts['columns']} × {facts['rows']} pixels")
    if facts.get("frames"):
        words.append(f"{facts['frames']:,} {'frame' if facts['frames'] == 1 else 'frames'}")
    if facts.get("frame_rate") and (facts.get("frames") or 0) > 1:
        words.append(f"{facts['frame_rate']:.4g} fps")
        words.append(f"{facts['duration']:.4g} s")
    return " · ".join(words)
