"""`view`: an image, a clip or a page of anything, without a screen; `figure`: its matplotlib figure."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked_rate
from marey._work import Progress
from marey.body.dynamics import MotionModel
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.character import Character
from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.geometry import resampling
from marey.io._files import atomic_write
from marey.io.images import encode_image
from marey.stage.walk.walk import WalkingCrowd
from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation, Provenance
from marey.views import figures, style

if TYPE_CHECKING:
    from marey.body.steer.requests import TimedReach

Image = NDArray[np.uint8]
Size = tuple[int, int]

PICTURES, CLIPS, PAGES = (".png",), (".mp4", ".gif"), (".html",)
MIN_PIXELS, MAX_PIXELS = 16, 7680
DEFAULT_RATE, MAX_RATE = 30.0, 240.0
# Seconds of a new motion of a model that are shown at most.
MAX_SECONDS = 20.0
ORIGINAL_COLOUR = "#8a8f98"
# Metres from the root beyond which a mark is left out, and between figures side by side.
MAX_MARK_DISTANCE, SPACING = 3.0, 1.2

Draw = Callable[[Any, Size], Any]


def _figure(name: str) -> Draw:
    """The figure of that name, imported when it is drawn."""
    return lambda thing, size: getattr(figures, name)(thing, size=size)


_CLIP: dict[str, Draw] = {
    "strip": lambda motion, size: _strip(motion, size),
    "curves": lambda motion, size: figures.curves(_motion(motion), size=size),
    "path": lambda motion, size: figures.trajectory(_motion(motion), size=size),
}
_DRAW: dict[type, dict[str, Draw]] = {
    Motion: _CLIP,
    Character: _CLIP,
    MeshSequence: {"strip": lambda meshes, size: _strip(meshes, size)},
    Markers: {"strip": lambda markers, size: _strip(markers, size)},
    Tracks: {"path": _figure("tracks")},
    SimulatedCrowd: {
        "streaks": _figure("crowd_streaks"),
        "path": _figure("crowd_paths"),
        "plan": lambda crowd, size: figures.scene_plan(crowd.scene, size),
    },
    WalkingCrowd: {"bodies": lambda crowd, size: _bodies(crowd, size)},
    Scene: {"plan": _figure("scene_plan")},
    FieldSeries: {
        "flow": _figure("flow"),
        "divergence": _figure("divergence"),
        "vorticity": _figure("vorticity"),
        "parts": _figure("flow_parts"),
        "paths": _figure("flow_lines"),
        "streaks": lambda fields, size: figures.flow_lines(fields, size, kind="streak"),
        "spectrum": _figure("spectrum"),
    },
    Footage: {"sheet": _figure("contact_sheet")},
    PoseModel: {
        "modes": _figure("pose_modes"),
        "variance": _figure("mode_variance"),
    },
    MotionModel: {
        "dynamics": _figure("process_model"),
        "strip": lambda model, size: _strip(_new_motion(model), size),
    },
    DistanceMatrix: {"matrix": _figure("distance_map")},
    SurfaceGraph: {
        "graph": lambda r, size: figures.graph_picture(r.graph, r.library.names, size=size),
        "matrix": lambda r, size: figures.distance_map(r.distances, size=size),
    },
    Animation: {
        "strip": lambda animation, size: _strip(animation, size),
        "path": _figure("path_from_above"),
        "timeline": _figure("timeline"),
    },
}
KINDS: dict[type, tuple[str, ...]] = {cls: tuple(draw) for cls, draw in _DRAW.items()}
"""What an image of each type can show; the first is the default."""


def view(
    thing: Any,
    path: str | PathLike[str],
    *,
    size: Size = (1280, 720),
    frame_rate: float | None = None,
    kind: str | None = None,
    title: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Draw anything we load, off-screen, as the ending of `path` says: an image, clip or page.

    An image (.png) of a motion, mesh, character or set of markers is a strip of poses along time; of tracks,
    scenes and fields, a plot; of footage, a contact sheet; of a pose model, its modes; of a motion model,
    its distribution over time; of pose distances, the matrix; of a surface graph, its graph. Clips (.mp4,
    .gif) run at the speed of the capture; that of a motion model is a new motion. A page (.html) is one file
    that plays in any browser, offline; of what does not move, and where `kind` is given, it shows the image.

    Args:
        thing: What to draw.
        path: Where to.
        size: (columns, rows) in pixels, even numbers.
        frame_rate: Of a clip; if None that of the data if it is 20 to 30, else about 30.
        kind: What an image shows: of a motion or character "strip", "curves" (joint angles) or "path";
            of fields "flow", "divergence", "vorticity", "parts", "paths", "streaks" or "spectrum";
            of a pose model "modes" or "variance"; of a motion model "dynamics" or "strip" (a new motion); of
            a simulated crowd "streaks" (3 s at four times), "path" or "plan"; of a surface graph "graph" or
            "matrix"; of an animation of captured meshes "strip", "path" (from above) or "timeline".
        title: Of a page; its file's name if None.
        progress: Called with frames done and their number.

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
        _draw_image(thing, kind, size, path)
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
    part = rate / np.ceil(rate / DEFAULT_RATE - 1e-9)
    return float(part) if part >= 20.0 else DEFAULT_RATE


def _draw_image(thing: Any, kind: str, size: Size, path: Path) -> None:
    drawn = _drawings(thing)[kind](thing, size)
    if isinstance(drawn, np.ndarray):
        _write_image(drawn, path)
    else:
        style.save(drawn, path)


def _drawings(thing: Any) -> dict[str, Draw]:
    return next((draw for cls, draw in _DRAW.items() if isinstance(thing, cls)), {})


def _strip(thing: Any, size: Size) -> Image:
    from marey.views.actors import actor
    from marey.views.shots import strip

    return strip(actor(thing), size)


def _bodies(crowd: WalkingCrowd, size: Size) -> Image:
    from marey.views import pedestrians

    return pedestrians.bodies_image(crowd, size)


def _motion(thing: Motion | Character) -> Motion:
    return thing.motion if isinstance(thing, Character) else thing


def _write_page(
    thing: Any,
    kind: str | None,
    size: Size,
    path: Path,
    title: str,
    frame_rate: float | None,
    progress: Progress | None,
) -> None:
    """A page that plays the thing, or shows its image of that kind."""
    from marey.views.pages import caption, picture_page, write_page

    if kind is None and isinstance(thing, MotionModel):
        thing = _new_motion(thing)
    if kind is None and not isinstance(thing, PoseModel | SurfaceGraph):
        if frame_rate is not None:
            if isinstance(thing, Scene | DistanceMatrix | Animation):
                raise InputError(f"{path}: a frame rate is for what is captured over time")
            thing = thing.resample(_checked_clip_rate(frame_rate, path))
        write_page(thing, path, title=title, progress=progress)
        return
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "image.png"
        _draw_image(thing, kind or KINDS[type(thing)][0], size, image)
        picture_page(image, title=title, caption=caption(thing)).write(path)
    if progress is not None:
        progress(1, 1)


def _write_clip(
    thing: Any, path: Path, size: Size, frame_rate: float | None, progress: Progress | None
) -> None:
    from marey.io.video import write_frames

    if isinstance(thing, Scene):
        raise InputError(f"{path}: nothing moves in a scene; simulate it first, or draw its plan as .png")
    if isinstance(thing, DistanceMatrix | SurfaceGraph):
        kept = "pose distances" if isinstance(thing, DistanceMatrix) else "a surface graph"
        raise InputError(f"{path}: nothing moves in {kept}; draw a .png, or animate a surface graph first")
    wanted = None if frame_rate is None else _checked_clip_rate(frame_rate, path)
    if isinstance(thing, PoseModel):
        wanted = wanted or DEFAULT_RATE
        images, total = figures.pose_sweep(thing, size, wanted), figures.sweep_frames(wanted)
        write_frames(images, path, frame_rate=wanted, progress=progress, total=total)
        return
    place = None
    if isinstance(thing, MotionModel):
        thing = _new_motion(thing)
    elif isinstance(thing, SimulatedCrowd):
        thing, place = thing.tracks, thing.scene
    timed = thing.sequence if isinstance(thing, Animation) else getattr(thing, "motion", thing)
    rate = timed.frame_rate
    if isinstance(thing, WalkingCrowd) and wanted is not None and not np.isclose(wanted, rate):
        raise InputError(f"{path}: these bodies walk at {rate:g} frames per second, a clip must too")
    if wanted is None:
        keeps_rate = isinstance(thing, FieldSeries | Footage | WalkingCrowd)
        wanted = rate if keeps_rate else clip_rate(rate)
    if not np.isclose(wanted, rate):
        thing = _resampled(thing, wanted) if isinstance(thing, Animation) else thing.resample(wanted)
        timed = thing.sequence if isinstance(thing, Animation) else getattr(thing, "motion", thing)
    images = _clip_images(thing, size, place)
    write_frames(images, path, frame_rate=wanted, progress=progress, total=timed.frames)


def _resampled(animation: Animation, frame_rate: float) -> Animation:
    """The animation at another rate; each frame keeps the origin of the nearest one."""
    sequence, origin = animation.sequence, animation.provenance
    positions = resampling.sample_positions(sequence.frames, sequence.frame_rate, frame_rate)
    near = resampling.nearest(sequence.frames, positions)
    kept = Provenance(
        origin.sources[near], origin.destinations[near], origin.weights[near], origin.synthetic[near]
    )
    return Animation(sequence.resample(frame_rate), kept)


def _new_motion(model: MotionModel) -> Motion:
    """A motion of the model, the same at every call, as long as its example."""
    return model.sample(min(model.frames, round(MAX_SECONDS * model.frame_rate)), rng=0)


def _clip_images(thing: Any, size: Size, place: Scene | None) -> Iterator[Image]:
    from marey.views import pedestrians, shots
    from marey.views.actors import actor

    if isinstance(thing, Tracks):
        return pedestrians.tracks_clip(thing, size, place)
    if isinstance(thing, WalkingCrowd):
        return pedestrians.bodies_clip(thing, size)
    if isinstance(thing, FieldSeries):
        return figures.flow_clip(thing, size)
    if isinstance(thing, Footage):
        return figures.footage_clip(thing, size)
    return shots.clip(actor(thing), size)


def _write_image(image: Image, path: Path) -> None:
    with atomic_write(path) as draft:
        draft.write_bytes(encode_image(image, path.suffix))


def _checked_clip_rate(frame_rate: float, path: Path) -> float:
    rate = checked_rate(frame_rate)
    if rate > MAX_RATE:
        raise InputError(f"{path}: {rate:g} frames per second; clips have at most {MAX_RATE:g}")
    return rate


def _checked_size(size: tuple[int, int], path: Path) -> tuple[int, int]:
    try:
        columns, rows = (int(n) for n in size)
    except (TypeError, ValueError):
        raise InputError(f"{path}: size must be (columns, rows), got {size!r}") from None
    for n in (columns, rows):
        if not MIN_PIXELS <= n <= MAX_PIXELS or n % 2:
            bounds = f"even, {MIN_PIXELS} to {MAX_PIXELS}"
            raise InputError(f"{path}: size {columns} × {rows}: columns and rows must be {bounds}")
    return columns, rows


def _checked_kind(thing: Any, kind: str | None, ending: str, path: Path) -> str:
    kinds = tuple(_drawings(thing))
    if not kinds:
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


def draw_figures(
    motions: Sequence[Motion],
    path: Path,
    *,
    colours: Sequence[str | None] | None = None,
    shifts: ArrayLike | None = None,
    marks: ArrayLike | None = None,
    size: tuple[int, int] = (1280, 720),
    progress: Progress | None = None,
) -> None:
    """Draw figures (see :func:`marey.views.actors.group`) as an image or, by the ending, as a clip.

    Marks far from the first figure's root are left out.
    """
    from marey.io.video import write_frames
    from marey.views import actors, shots

    if marks is not None:
        places = np.asarray(marks, dtype=np.float64)
        near = np.linalg.norm(places - np.asarray(motions[0].root)[:, None], axis=2) < MAX_MARK_DISTANCE
        marks = np.where(near[..., None], places, np.nan)[:, near.all(axis=0)]
    rate = motions[0].frame_rate
    if path.suffix.lower() in (".png", ".jpg"):
        cast = actors.group(motions, colours=colours, shifts=shifts, marks=marks)
        _write_image(shots.strip(cast, size), path)
        return
    if not np.isclose(rate := clip_rate(rate), motions[0].frame_rate):
        motions = [motion.resample(rate) for motion in motions]
    cast = actors.group(motions, colours=colours, shifts=shifts, marks=marks)
    write_frames(shots.clip(cast, size), path, frame_rate=rate, progress=progress, total=cast.frames)


def draw_variants(
    original: Motion, variants: Sequence[Motion], path: Path, progress: Progress | None
) -> None:
    """Draw a clip in grey and up to six variants of it side by side, across the direction it goes in."""
    shown = [original, *variants[:6]]
    along = np.array(original.root[-1] - original.root[0])
    length = float(np.hypot(along[0], along[2]))
    across = np.array([along[2], 0.0, -along[0]]) / length if length > 0.5 else np.array([1.0, 0.0, 0.0])
    shifts = (np.arange(len(shown)) - 0.5 * (len(shown) - 1))[:, None] * SPACING * across
    colours = [ORIGINAL_COLOUR, *[None] * (len(shown) - 1)]
    draw_figures(shown, path, colours=colours, shifts=shifts, progress=progress)


def draw_targets(before: Motion, after: Motion, requests: Sequence[TimedReach], path: Path) -> None:
    """Draw poses around targets: the original above, the result below, balls where targets are."""
    from marey.body.steer.requests import targets
    from marey.views import actors, shots

    goals = targets(before, requests) if requests else []
    moments = sorted({goal.frame for goal in goals})
    last = after.frames - 1
    if len(moments) > 1:
        frames = sorted({*moments, *((a + b) // 2 for a, b in pairwise(moments))})[:10]
    elif moments:
        step = 0.2 * after.frame_rate
        frames = sorted({int(np.clip(moments[0] + i * step, 0, last)) for i in range(-2, 3)})
    else:
        frames = [int(frame) for frame in np.linspace(0, last, 5)]
    marks = np.full((len(frames), len(goals), 3), np.nan)
    for column, goal in enumerate(goals):
        marks[[frame == goal.frame for frame in frames], column] = goal.position
    rows = [actors.side_by_side(shown, frames, marks=marks) for shown in (before, after)]
    _write_image(np.concatenate([shots.strip(row, (1280, 400)) for row in rows]), path)
