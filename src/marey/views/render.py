"""`view`: a picture or a clip of anything, without a screen."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import checked_rate
from marey._progress import Progress
from marey.body.dynamics import MotionModel
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.character import Character
from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.scene import Scene
from marey.crowd.simulation.simulated import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.io._files import atomic_write
from marey.stage.walk.walk import WalkingCrowd
from marey.surface.distances.matrix import DistanceMatrix
from marey.surface.graphs.repertoire import Repertoire
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from marey.views.actors import Actor

Image = NDArray[np.uint8]

PICTURES, CLIPS, PAGES = (".png",), (".mp4", ".gif"), (".html",)
SMALLEST, LARGEST = 16, 7680
USUAL_RATE, FASTEST = 30.0, 240.0
# Seconds of a new motion of a model that are shown at most.
LONGEST_MOTION = 20.0

KINDS: dict[type, tuple[str, ...]] = {
    Motion: ("strip", "curves", "path"),
    Character: ("strip", "curves", "path"),
    MeshSequence: ("strip",),
    Markers: ("strip",),
    Tracks: ("path",),
    SimulatedCrowd: ("streaks", "path", "plan"),
    WalkingCrowd: ("bodies",),
    Scene: ("plan",),
    FieldSeries: ("flow", "divergence", "vorticity", "parts", "paths", "streaks", "spectrum"),
    Footage: ("sheet",),
    PoseModel: ("modes", "variance"),
    MotionModel: ("law", "strip"),
    DistanceMatrix: ("matrix",),
    Repertoire: ("graph", "matrix"),
    Animation: ("strip", "path", "timeline"),
}
"""What a picture of each type can show; the first is the usual one."""


def view(
    thing: Any,
    path: str | PathLike[str],
    *,
    size: tuple[int, int] = (1280, 720),
    frame_rate: float | None = None,
    kind: str | None = None,
    title: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Draw anything we load, off-screen, as the ending of `path` says: a picture, clip or page.

    A picture (.png) of a motion, mesh, character or set of markers is a strip of poses along time; of tracks,
    scenes and fields, a plot; of footage, a contact sheet; of a pose model, its modes; of a motion model,
    its law over time; of pose distances, the matrix; of a repertoire, its graph. Clips (.mp4, .gif) run at
    the speed of the capture; that of a motion model is a new motion. A page (.html) is one file that plays in
    any browser, offline; of what does not move, and where `kind` is given, it shows the picture.

    size: (columns, rows) in pixels, even numbers
    frame_rate: of a clip; if None the source's own if that is 20 to 30, else about 30
    kind: what a picture shows: of a motion or character "strip", "curves" (joint angles) or "path";
        of fields "flow", "divergence", "vorticity", "parts", "paths", "streaks" or "spectrum";
        of a pose model "modes" or "variance"; of a motion model "law" or "strip" (a new motion); of a
        simulated crowd "streaks" (3 s at four times), "path" or "plan"; of a repertoire "graph" or "matrix";
        of an animation of captured meshes "strip", "path" (from above) or "timeline" (what plays when)
    title: what a page calls it; its file's name if None

    >>> import marey, tempfile
    >>> out = Path(tempfile.mkdtemp()) / "walk.png"
    >>> view(marey.samples.walk(seconds=1), out, size=(320, 180))
    >>> out.read_bytes()[1:4]
    b'PNG'
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in PICTURES + CLIPS + PAGES:
        known = ", ".join(PICTURES + CLIPS + PAGES)
        raise InputError(f"{path}: views are written as {known}, not {ending or 'without an ending'}")
    size = _checked_size(size, path)
    asked = kind is not None
    kind = _checked_kind(thing, kind, ending, path)
    if isinstance(thing, Tracks) and not thing.present.any():
        raise InputError(f"{path}: nobody is present in these tracks, so there is nothing to draw")
    if ending in PICTURES:
        with atomic_write(path) as draft:
            _write_picture(thing, kind, size, draft)
        if progress is not None:
            progress(1, 1)
    elif ending in PAGES:
        _write_page(thing, kind if asked else None, size, path, title or path.name, frame_rate, progress)
    else:
        _write_clip(thing, path, size, frame_rate, progress)


def clip_rate(rate: float) -> float:
    """Frames per second to show a clip of `rate` at: its own, a whole part of it, or 30.

    >>> clip_rate(25.0), clip_rate(120.0), clip_rate(100.0), clip_rate(2.5), clip_rate(16.0)
    (25.0, 30.0, 25.0, 30.0, 30.0)
    """
    part = rate / np.ceil(rate / USUAL_RATE - 1e-9)
    return float(part) if part >= 20.0 else USUAL_RATE


def _write_picture(thing: Any, kind: str, size: tuple[int, int], draft: Path) -> None:
    if kind == "strip":
        if isinstance(thing, MotionModel):
            thing = _new_motion(thing)
        from marey.views.shots import strip

        _write_png(strip(_actor(thing), size), draft)
        return
    if isinstance(thing, WalkingCrowd):
        from marey.views import walking_bodies

        _write_png(walking_bodies.picture(thing, size), draft)
        return
    from marey.views import flow, footage, motion_laws, plots, pose_modes, scene_plots

    if isinstance(thing, DistanceMatrix | Repertoire | Animation):
        plots.save(_surface_figure(thing, kind, size), draft)
        return
    motion = thing.motion if isinstance(thing, Character) else thing
    if kind == "curves":
        figure = plots.curves(motion, size=size)
    elif kind == "modes":
        figure = pose_modes.sheet(thing, size)
    elif kind == "variance":
        figure = pose_modes.variance(thing, size)
    elif kind == "law":
        figure = motion_laws.law(thing, size)
    elif isinstance(thing, FieldSeries) and kind != "flow":
        from marey.views import field_pictures

        figure = field_pictures.PICTURES[kind](thing, size)
    elif kind == "flow":
        figure = flow.picture(thing, size)
    elif kind == "sheet":
        figure = footage.sheet(thing, size)
    elif kind == "plan":
        figure = scene_plots.plan(thing.scene if isinstance(thing, SimulatedCrowd) else thing, size)
    elif kind == "streaks":
        figure = scene_plots.streaks(thing, size)
    elif isinstance(thing, SimulatedCrowd):
        figure = scene_plots.paths(thing, size)
    elif isinstance(thing, Tracks):
        figure = plots.tracks(thing, size=size)
    else:
        figure = plots.trajectory(motion, size=size)
    plots.save(figure, draft)


def _surface_figure(
    thing: DistanceMatrix | Repertoire | Animation, kind: str, size: tuple[int, int]
) -> Figure:
    from marey.views import animations, graph_pictures, surface_plots

    if isinstance(thing, Animation):
        draw = animations.plan if kind == "path" else animations.timeline
        return draw(thing, size=size)
    if isinstance(thing, Repertoire) and kind == "graph":
        return graph_pictures.graph_picture(thing.graph, thing.library.names, size=size)
    return surface_plots.distance_map(thing.distances if isinstance(thing, Repertoire) else thing, size=size)


def _actor(thing: Any) -> Actor:
    if isinstance(thing, Animation):
        from marey.views.animations import cast

        return cast(thing)
    from marey.views.actors import actor

    return actor(thing)


def _write_page(
    thing: Any,
    kind: str | None,
    size: tuple[int, int],
    path: Path,
    title: str,
    frame_rate: float | None,
    progress: Progress | None,
) -> None:
    """A page that plays the thing, or shows its picture of that kind."""
    from marey.views.pages import caption, picture_page, write_page

    if kind is None and isinstance(thing, MotionModel):
        thing = _new_motion(thing)
    if kind is None and not isinstance(thing, PoseModel | Repertoire):
        if frame_rate is not None:
            if isinstance(thing, Scene | DistanceMatrix | Animation):
                raise InputError(f"{path}: a frame rate is for what is captured over time")
            thing = thing.resample(_checked_clip_rate(frame_rate, path))
        write_page(thing, path, title=title, progress=progress)
        return
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "picture.png"
        _write_picture(thing, kind or KINDS[type(thing)][0], size, picture)
        picture_page(picture, title=title, caption=caption(thing)).write(path)
    if progress is not None:
        progress(1, 1)


def _write_clip(
    thing: Any, path: Path, size: tuple[int, int], frame_rate: float | None, progress: Progress | None
) -> None:
    from marey.io.video import write_frames

    if isinstance(thing, PoseModel):
        from marey.views import pose_modes

        wanted = USUAL_RATE if frame_rate is None else _checked_clip_rate(frame_rate, path)
        total = pose_modes.sweep_frames(wanted)
        write_frames(
            pose_modes.sweep(thing, size, wanted), path, frame_rate=wanted, progress=progress, total=total
        )
        return
    if isinstance(thing, MotionModel):
        thing = _new_motion(thing)
    place = None
    if isinstance(thing, SimulatedCrowd):
        thing, place = thing.tracks, thing.scene
    if isinstance(thing, Scene):
        raise InputError(f"{path}: nothing moves in a scene; simulate it first, or draw its plan as .png")
    if isinstance(thing, DistanceMatrix | Repertoire):
        kept = "pose distances" if isinstance(thing, DistanceMatrix) else "a repertoire"
        raise InputError(f"{path}: nothing moves in {kept}; draw a .png, or animate a repertoire first")
    if isinstance(thing, Animation):
        _write_animation(thing, path, size, frame_rate, progress)
        return
    if isinstance(thing, WalkingCrowd):
        from marey.views import walking_bodies

        if frame_rate is not None and not np.isclose(frame_rate, thing.frame_rate):
            raise InputError(
                f"{path}: these bodies walk at {thing.frame_rate:g} frames per second, a clip must too"
            )
        images = walking_bodies.clip(thing, size)
        write_frames(images, path, frame_rate=thing.frame_rate, progress=progress, total=thing.frames)
        return
    blends = not isinstance(thing, FieldSeries | Footage)
    rate = thing.frame_rate if not isinstance(thing, Character) else thing.motion.frame_rate
    if frame_rate is not None:
        wanted = _checked_clip_rate(frame_rate, path)
    else:
        wanted = clip_rate(rate) if blends else rate
    if not np.isclose(wanted, rate):
        thing = thing.resample(wanted)
    frames = thing.motion.frames if isinstance(thing, Character) else thing.frames
    write_frames(_clip_images(thing, size, place), path, frame_rate=wanted, progress=progress, total=frames)


def _write_animation(
    animation: Animation,
    path: Path,
    size: tuple[int, int],
    frame_rate: float | None,
    progress: Progress | None,
) -> None:
    from marey.io.video import write_frames
    from marey.views.animations import at_rate
    from marey.views.shots import clip

    rate = animation.sequence.frame_rate
    wanted = clip_rate(rate) if frame_rate is None else _checked_clip_rate(frame_rate, path)
    if not np.isclose(wanted, rate):
        animation = at_rate(animation, wanted)
    frames = animation.sequence.frames
    write_frames(clip(_actor(animation), size), path, frame_rate=wanted, progress=progress, total=frames)


def _new_motion(model: MotionModel) -> Motion:
    """A motion of the model, the same at every call, as long as its example."""
    return model.sample(min(model.frames, round(LONGEST_MOTION * model.frame_rate)), rng=0)


def _clip_images(thing: Any, size: tuple[int, int], place: Scene | None) -> Iterator[Image]:
    if isinstance(thing, Tracks):
        from marey.views import walkers

        return walkers.clip(thing, size, place)
    if isinstance(thing, FieldSeries):
        from marey.views import flow

        return flow.clip(thing, size)
    if isinstance(thing, Footage):
        from marey.views import footage

        return footage.clip(thing, size)
    from marey.views.shots import clip

    return clip(_actor(thing), size)


def _write_png(image: Image, path: Path) -> None:
    import cv2

    done, data = cv2.imencode(".png", np.ascontiguousarray(image[..., ::-1]))
    if not done:
        raise InputError(f"{path}: cannot encode a picture of {image.shape[1]} × {image.shape[0]} pixels")
    path.write_bytes(data.tobytes())


def _checked_clip_rate(frame_rate: float, path: Path) -> float:
    rate = checked_rate(frame_rate)
    if rate > FASTEST:
        raise InputError(f"{path}: {rate:g} frames per second; clips have at most {FASTEST:g}")
    return rate


def _checked_size(size: tuple[int, int], path: Path) -> tuple[int, int]:
    try:
        columns, rows = (int(n) for n in size)
    except (TypeError, ValueError):
        raise InputError(f"{path}: size must be (columns, rows), got {size!r}") from None
    for n in (columns, rows):
        if not SMALLEST <= n <= LARGEST or n % 2:
            raise InputError(
                f"{path}: size {columns} × {rows}: columns and rows must be even, {SMALLEST} to {LARGEST}"
            )
    return columns, rows


def _checked_kind(thing: Any, kind: str | None, ending: str, path: Path) -> str:
    kinds = next((kinds for cls, kinds in KINDS.items() if isinstance(thing, cls)), None)
    if kinds is None:
        raise InputError(
            f"{path}: a {type(thing).__name__} cannot be viewed; what can: "
            + ", ".join(cls.__name__ for cls in KINDS)
        )
    if kind is None:
        return kinds[0]
    if ending in CLIPS:
        raise InputError(f"{path}: kind {kind!r} is for pictures (.png); a clip has none")
    if kind not in kinds:
        raise InputError(
            f"{path}: kind {kind!r}; a {type(thing).__name__} can be drawn as {', '.join(kinds)}"
        )
    return kind
