"""The gallery: every chapter of the demo, one after the other, and a page that shows what they made.

Takes about a minute on two cores for the built-in samples, less than another one for real data.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marey.demo.bodies import body, captured_body, captured_variants
from marey.demo.crowds import captured, captured_people, captured_street, crowd, filmed, simulated
from marey.demo.dynamics import hole, steered, stream, variants
from marey.demo.exhibit import Chapter, Exhibit
from marey.demo.page import page
from marey.demo.poses import compression, handles, modes, trackers
from marey.demo.surfaces import captured_surface, directed, organised, surface
from marey.demo.together import walking
from marey.io._files import atomic_write_folder

SAMPLES: dict[str, tuple[Chapter, ...]] = {
    "Bodies": (body, modes, handles, trackers, compression, variants, hole, steered, stream),
    "Surfaces": (surface, organised, directed),
    "Crowds": (crowd, simulated, filmed, captured),
    "Together": (walking,),
}
"""Chapters on the built-in samples, by scale."""

REAL: dict[str, tuple[Chapter, ...]] = {
    "Bodies": (captured_body, captured_variants),
    "Surfaces": (captured_surface,),
    "Crowds": (captured_street, captured_people),
}
"""Chapters on real data."""

Telling = Callable[[int, int, str], None]
"""Is called before each chapter with how many are done, how many there are, and what comes."""


@dataclass(frozen=True)
class Gallery:
    """What a demo made: exhibits by scale."""

    folder: Path
    scales: dict[str, tuple[Exhibit, ...]]
    seconds: float

    @property
    def exhibits(self) -> tuple[Exhibit, ...]:
        """All of them, scale by scale."""
        return tuple(exhibit for exhibits in self.scales.values() for exhibit in exhibits)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "path": str(self.folder),
            "seconds": round(self.seconds, 2),
            "entries": [
                {"scale": scale, **exhibit.as_dict()}
                for scale, exhibits in self.scales.items()
                for exhibit in exhibits
            ],
        }


def make_gallery(folder: Path, *, telling: Telling | None = None) -> Gallery:
    """Run every chapter, write its files and an index page into `folder`."""
    start = time.perf_counter()
    real = REAL if os.environ.get("MAREY_DATA") else {}
    plan = [(scale, chapter) for scale in SAMPLES for chapter in (*SAMPLES[scale], *real.get(scale, ()))]
    scales: dict[str, tuple[Exhibit, ...]] = {}
    with atomic_write_folder(folder) as draft:
        for done, (scale, chapter) in enumerate(plan):
            if telling is not None:
                telling(done, len(plan), f"{scale.lower()}: {chapter.__name__.replace('_', ' ')}")
            scales[scale] = (*scales.get(scale, ()), chapter(draft))
        gallery = Gallery(folder, scales, time.perf_counter() - start)
        (draft / "index.html").write_text(page(scales, draft, gallery.seconds), encoding="utf-8")
    return gallery
