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

import numpy as np

from marey import __version__, datasets, samples
from marey._progress import Progress, tracked
from marey.body.kinematics import forward_kinematics
from marey.errors import InputError
from marey.io import load, save
from marey.io._files import write_beside
from marey.views import view


@dataclass(frozen=True)
class Entry:
    """One exhibit: what it is, what was measured, and its files (the first one is shown)."""

    title: str
    measured: str
    files: tuple[str, ...]


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
    chapters: list[Callable[[Path], Entry]] = [body, surface, crowd, field]
    if os.environ.get("MAREY_DATA"):
        chapters += [real_body, real_surface, real_crowd]
    entries = tuple(chapter(folder) for chapter in tracked(chapters, progress))
    gallery = Gallery(folder, entries, time.perf_counter() - start)
    with write_beside(folder / "index.html") as draft:
        draft.write_text(_page(gallery), encoding="utf-8")
    return gallery


def body(folder: Path) -> Entry:
    """A walking human: BVH and GLB out, BVH back in, pictures."""
    walk = samples.walk()
    save(walk, folder / "walk.bvh")
    save(walk, folder / "walk.glb")
    seconds, again = _timed(lambda: load(folder / "walk.bvh"))
    moved = np.abs(forward_kinematics(again).positions - forward_kinematics(walk).positions).max()
    view(walk, folder / "walk.png")
    view(walk, folder / "walk-angles.png", kind="curves")
    view(walk.between(0, 3), folder / "walk.mp4")
    return Entry(
        "A walking human from published gait curves",
        f"{walk.frames} frames, {walk.joints} joints; BVH read in {1e3 * seconds:.1f} ms, "
        f"the round trip moves no joint by more than {moved * 1e6:.2g} µm",
        ("walk.mp4", "walk.png", "walk-angles.png", "walk.bvh", "walk.glb"),
    )


def surface(folder: Path) -> Entry:
    """The same walk as a skinned, textured surface."""
    human = samples.human()
    walk = samples.walk().resample(30)
    character = human.with_motion(walk)
    seconds, performance = _timed(lambda: character.pose())
    save(character, folder / "human.glb")
    view(performance, folder / "human.png")
    view(performance.between(0, 3), folder / "human.mp4")
    return Entry(
        "The same walk with a skin: a mesh of constant connectivity over time",
        f"{len(human.skin.vertices)} vertices, {performance.frames} frames, "
        f"skinned in {1e3 * seconds / performance.frames:.2f} ms a frame",
        ("human.mp4", "human.png", "human.glb"),
    )


def crowd(folder: Path) -> Entry:
    """Many people."""
    people = samples.crowd()
    save(people, folder / "crowd.csv")
    view(people, folder / "crowd.png")
    view(people.between(0, 5), folder / "crowd.mp4")
    speeds = np.linalg.norm(np.diff(people.positions, axis=0), axis=-1) * people.frame_rate
    return Entry(
        "Two streams of people",
        f"{people.agents} people over {people.duration:.0f} s, mean speed {np.nanmean(speeds):.2f} m/s",
        ("crowd.mp4", "crowd.png", "crowd.csv"),
    )


def field(folder: Path) -> Entry:
    """A velocity field over time."""
    flow = samples.field()
    save(flow, folder / "flow.zarr")
    view(flow, folder / "flow.png")
    return Entry(
        "A velocity field",
        f"{flow.frames} frames of {flow.rows} × {flow.columns} pixels",
        ("flow.png", "flow.zarr"),
    )


def real_body(folder: Path) -> Entry:
    """A captured clip."""
    clip = load(datasets.get("cmu-49_06"))[1:]
    view(clip, folder / "cartwheel.png")
    view(clip.between(0, 4), folder / "cartwheel.mp4")
    save(clip, folder / "cartwheel.glb")
    return Entry(
        "Captured: a cartwheel (CMU 49_06)",
        f"{clip.frames} frames at {clip.frame_rate:g} per second, {clip.joints} joints",
        ("cartwheel.mp4", "cartwheel.png", "cartwheel.glb"),
    )


def real_surface(folder: Path) -> Entry:
    """A captured performance."""
    dance = load(datasets.get("vlasic-samba"))
    view(dance, folder / "samba.png")
    view(dance, folder / "samba.mp4")
    return Entry(
        "Captured: a samba in 4D (Vlasic et al. 2008)",
        f"{dance.frames} frames of {dance.vertices.shape[1]} vertices",
        ("samba.mp4", "samba.png"),
    )


def real_crowd(folder: Path) -> Entry:
    """Captured pedestrians."""
    people = load(datasets.get("juelich-bottleneck"))
    view(people, folder / "bottleneck.png")
    view(people.between(20, 25), folder / "bottleneck.mp4")
    return Entry(
        "Captured: people at a bottleneck (Jülich)",
        f"{people.agents} people over {people.duration:.0f} s",
        ("bottleneck.mp4", "bottleneck.png"),
    )


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the second of two runs, so that compiling is not counted, and the result."""
    work()
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


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
