"""The demo: marey on its built-in samples (and on real data when MAREY_DATA is set), as a gallery to open.

Each chapter is a function that writes files into a folder and says what it measured.
"""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from marey import __version__, datasets, samples
from marey._progress import Progress, tracked
from marey.body.codec import compress, joint_error
from marey.body.ik import PoseSolver, Reach
from marey.body.kinematics import forward_kinematics
from marey.body.motion import concatenate
from marey.body.pose_model import PoseModel
from marey.body.trackers import Trackers, heading_of, reconstruct
from marey.errors import InputError
from marey.io import load, save
from marey.io._files import write_beside
from marey.io.video import write_frames
from marey.views import shots, style, view
from marey.views.actors import Actor
from marey.views.troupe import troupe

# Metres a second of the walks that pose models are learned from.
WALKING_SPEEDS = (0.9, 1.15, 1.4, 1.65)
FEET = ("LeftToeBase", "RightToeBase")
# Their mean is grey: where both figures agree, neither colour shows.
ORIGINAL, DECODED = "#62bfe0", "#f2a58e"
SMALLER, CLIP_RATE = (960, 432), 20.0


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
    chapters: list[Callable[[Path], Entry]] = [body, modes, handles, trackers, compression]
    chapters += [surface, crowd, field]
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


def modes(folder: Path) -> Entry:
    """The pose model of walks: the mean pose, and what each mode does to it."""
    walks = [samples.walk(speed=speed) for speed in WALKING_SPEEDS]
    seconds, model = _timed(lambda: PoseModel.fit(walks, variance=0.99))
    error = np.mean([model.joint_errors(walk).mean() for walk in walks])
    save(model, folder / "walk-model.mry")
    view(model.first(3), folder / "modes.png", size=(1280, 440))
    view(model, folder / "modes-variance.png", size=(1280, 440), kind="variance")
    return Entry(
        "What walking is made of: the mean pose and its modes",
        f"{model.modes} modes instead of {3 * model.skeleton.joints - 3} angles hold "
        f"{100 * model.variance:.1f} % of the variance of {model.frames} poses and keep joints within "
        f"{100 * error:.2g} cm on average; learned in {1e3 * seconds:.0f} ms",
        ("modes.png", "modes-variance.png", "walk-model.mry"),
    )


def handles(folder: Path) -> Entry:
    """A pose that follows handles: one foot is led around, the other one and the head stay."""
    walks = [samples.walk(speed=speed) for speed in WALKING_SPEEDS]
    model, start = PoseModel.fit(walks, modes=8), walks[1][20]
    solver = PoseSolver(model, start=start)
    foot, still, head = (start.positions()[0, start.skeleton.index(name)] for name in (*FEET, "Head"))
    turn = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    led = foot + np.stack([0 * turn, 0.14 - 0.14 * np.cos(turn), 0.32 * np.sin(turn)], axis=1)
    posed = [
        solver.solve([Reach(FEET[0], place), Reach(FEET[1], still), Reach("Head", head)]) for place in led
    ]
    followed = concatenate([pose.motion(CLIP_RATE) for pose in posed])
    save(followed, folder / "handles.glb")
    marks = np.stack([led, *(np.broadcast_to(place, led.shape) for place in (still, head))], axis=1)
    # Seen from the side, where the foot goes to and fro.
    seen = replace(troupe([followed], marks=marks), facing=np.array([0.8, 0.0, 0.6]))
    _write_clip(shots.clip(seen, (720, 540)), folder / "handles.mp4")
    return Entry(
        "Posed by handles: one foot is led around, the other and the head stay, the rest follows",
        f"{model.modes} modes and a free root; targets met within "
        f"{max(pose.report.residual_cm for pose in posed):.2g} cm, "
        f"{np.median([pose.report.milliseconds for pose in posed]):.2f} ms a pose",
        ("handles.mp4", "handles.glb"),
    )


def trackers(folder: Path) -> Entry:
    """A walk rebuilt from three trackers, walking behind the truth."""
    walk = samples.walk(2.5, speed=1.3)
    model = PoseModel.fit([samples.walk(speed=speed) for speed in WALKING_SPEEDS], modes=6)
    seen = Trackers.of_motion(walk, [*FEET, "Head_end"], directions=["Head_end"])
    seconds, found = _timed(lambda: reconstruct(model, seen))
    off = 100 * np.linalg.norm(found.positions() - walk.positions(), axis=2)
    save(found, folder / "rebuilt.bvh")
    behind = -0.95 * heading_of(walk)
    marks = np.concatenate([seen.positions, seen.positions + behind], axis=1)
    rebuilt = troupe([walk, found], colours=[style.CLAY, None], shifts=[np.zeros(3), behind], marks=marks)
    _write_clip(shots.clip(_thinned(rebuilt), SMALLER), folder / "rebuilt.mp4")
    return Entry(
        "A body from three trackers: feet and head of the walker ahead move the one behind",
        f"no walk of this speed was learned from; joints are {off.mean():.1f} cm off on average, "
        f"{off.max():.1f} cm at most; {1e3 * seconds / walk.frames:.2f} ms a frame",
        ("rebuilt.mp4", "rebuilt.bvh"),
    )


def compression(folder: Path) -> Entry:
    """A clip within 1 cm: the original and what was stored, through each other."""
    walk = samples.walk(2.5)
    small = compress(walk, max_error=0.01)
    save(small, folder / "walk-1cm.mry")
    save(walk, folder / "walk-original.bvh")
    seconds, again = _timed(small.decode)
    error, text = joint_error(walk, again), (folder / "walk-original.bvh").stat().st_size
    true, stored = troupe([walk], colours=[ORIGINAL]), troupe([again], colours=[DECODED])
    images = shots.clip(_thinned(true), SMALLER, also=_thinned(stored))
    _write_clip(images, folder / "walk-1cm.mp4")
    return Entry(
        f"A clip in {small.bytes:,} bytes: original (blue) and decoded (orange), grey where they agree",
        f"{small.raw_bytes:,} bytes of channels, {text:,} of BVH become "
        f"{small.bytes:,}, 1 : {small.ratio:.0f}; joints are {100 * error.mean:.2f} cm off on average, "
        f"{100 * error.maximum:.2f} cm at most; decoded in {1e6 * seconds / walk.frames:.0f} µs a frame",
        ("walk-1cm.mp4", "walk-1cm.mry", "walk-original.bvh"),
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


def _thinned(whole: Actor) -> Actor:
    """An actor at `CLIP_RATE`, which divides its own rate."""
    step = round(whole.frame_rate / CLIP_RATE)
    return replace(
        whole,
        vertices=lambda frame: whole.vertices(step * frame),
        frames=-(-whole.frames // step),
        frame_rate=whole.frame_rate / step,
        anchors=whole.anchors[::step],
    )


def _write_clip(images: Iterator[Any], path: Path) -> None:
    write_frames(images, path, frame_rate=CLIP_RATE)


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
