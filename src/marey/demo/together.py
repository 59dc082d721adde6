"""Chapter of the demo in which scales meet: people of a simulated crowd as whole walking bodies."""

from __future__ import annotations

import time
from pathlib import Path

from marey.demo.exhibit import Exhibit, Picture
from marey.demo.page import size_of
from marey.io import load, save
from marey.stage import walk
from marey.views import view
from marey.views.pages import write_page


def walking(folder: Path) -> Exhibit:
    """The simulated streams, each person with a walk of its own."""
    tracks = load(folder / "sideway.sqlite").between(9, 14)
    save(tracks, folder / "streams.csv")
    start = time.perf_counter()
    people = walk(tracks)
    seconds = time.perf_counter() - start
    people.save(folder / "bodies.glb")
    view(people, folder / "bodies.png", size=(1280, 560))
    write_page(people, folder / "bodies.html", title="Everyone walks")
    return Exhibit(
        "Everyone walks",
        "The people of the simulated streams as whole bodies: each a variant of captured walks of its own, "
        "matched to its speed, its feet set down where they stay.",
        (
            Picture("bodies.png", "A crowd of walking humans in different clothes"),
            Picture("bodies.html", "The walking crowd in three dimensions"),
        ),
        (
            ("bodies", f"{people.people}"),
            ("standing feet slide at", f"{100 * people.foot_skate():.1f} cm/s"),
            ("bodies from their tracks", f"{100 * people.path_error:.1f} cm on average"),
            ("as GLB", size_of(folder / "bodies.glb")),
            ("made in", f"{seconds:.1f} s, loading included"),
        ),
        ("marey crowd walk streams.csv -o bodies.glb",),
        ("bodies.glb", "streams.csv"),
    )
