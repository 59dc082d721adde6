"""Views of anything we load: `figure` (a matplotlib figure), `page` (for a browser) and `view` (a file).

One table says for each type which kinds of image it has, what plays on its page, and how its clip is drawn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, Bytes, Timed, checked_rate
from marey._work import Progress
from marey.body.dynamics import MotionModel
from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.character import Character
from marey.crowd.fields import FieldSeries, Footage
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
    from matplotlib.figure import Figure

    from marey.body.steer.requests import TimedReach
    from marey.views.pages.page import Page

Size = tuple[int, int]
Viewable = (
    Motion | Character | Markers | MeshSequence | Animation | Tracks | SimulatedCrowd | WalkingCrowd | Scene
    | FieldSeries | Footage | PoseModel | MotionModel | DistanceMatrix | SurfaceGraph
)  # fmt: skip
Draw = Callable[..., "Bytes | Figure"]
Clip = Callable[..., Iterator[Bytes]]

DEFAULT_SIZE = (1280, 720)
IMAGES, CLIPS, PAGES = (".png",), (".mp4", ".gif"), (".html",)


@dataclass(frozen=True)
class Limits:
    """Bounds of what is drawn.

    pixels: a side; rates: frames per second, usual and most; seconds: of a model's new motion
    mark_distance: metres from the root beyond which a mark is left out
    """

    pixels: tuple[int, int] = (16, 7680)
    rates: tuple[float, float] = (30.0, 240.0)
    seconds: float = 20.0
    mark_distance: float = 3.0


LIMITS = Limits()


@dataclass(frozen=True)
class Views:
    """What can be drawn of a type.

    kinds: Images or figures by name, called with the data and a size; the first is the default.
    page: Module and function of `views.pages` that fill a page; if None, it shows the default image.
    clip: Images of a clip, called with the data and a size; None if nothing moves.
    keeps_rate: Whether a clip has the frame rate of the data, whatever that is.
    """

    kinds: dict[str, Draw]
    page: str | None = None
    clip: Clip | None = None
    keeps_rate: bool = False


def _lazy(place: str) -> Callable[..., Any]:
    """The function `module.name` of this package, imported when it is called."""
    module, name = place.rsplit(".", 1)
    return lambda *given: getattr(import_module(f"marey.views.{module}"), name)(*given)


def _figure(name: str) -> Draw:
    return lambda data, size: getattr(figures, name)(data, size=size)


def _strip(data: Viewable, size: Size) -> Bytes:
    from marey.views.actors import actor
    from marey.views.shots import strip

    return strip(actor(data), size)


def _clip(data: Viewable, size: Size) -> Iterator[Bytes]:
    from marey.views.actors import actor
    from marey.views.shots import clip

    return clip(actor(data), size)


_CLIP: dict[str, Draw] = {
    "strip": _strip,
    "curves": lambda data, size: figures.curves(_motion(data), size=size),
    "path": lambda data, size: figures.trajectory(_motion(data), size=size),
}
_TRACKS: Clip = _lazy("pedestrians.tracks_clip")
VIEWS: dict[type, Views] = {
    Motion: Views(_CLIP, "bodies.motion_page", _clip),
    Character: Views(_CLIP, "bodies.character_page", _clip),
    MeshSequence: Views({"strip": _strip}, "surfaces.sequence_page", _clip),
    Markers: Views({"strip": _strip}, "bodies.markers_page", _clip),
    Tracks: Views({"path": _figure("tracks")}, "crowds.tracks_page", _TRACKS),
    SimulatedCrowd: Views(
        {
            "streaks": _figure("crowd_streaks"),
            "path": _figure("crowd_paths"),
            "plan": lambda crowd, size: figures.scene_plan(crowd.scene, size),
        },
        "crowds.simulated_page",
        _TRACKS,
    ),
    WalkingCrowd: Views(
        {"bodies": _lazy("pedestrians.bodies_image")},
        "crowds.walking_page",
        _lazy("pedestrians.bodies_clip"),
        keeps_rate=True,
    ),
    Scene: Views({"plan": _figure("scene_plan")}, "crowds.scene_page"),
    FieldSeries: Views(
        {
            "flow": _figure("flow"),
            "divergence": _figure("divergence"),
            "vorticity": _figure("vorticity"),
            "parts": _figure("flow_parts"),
            "paths": _figure("flow_lines"),
            "streaks": lambda fields, size: figures.flow_lines(fields, size, kind="streak"),
            "spectrum": _figure("spectrum"),
        },
        "flat.field_page",
        _lazy("figures.fields.flow_clip"),
        keeps_rate=True,
    ),
    Footage: Views(
        {"sheet": _figure("contact_sheet")},
        "flat.film_page",
        _lazy("figures.crowd.footage_clip"),
        keeps_rate=True,
    ),
    PoseModel: Views(
        {"modes": _figure("pose_modes"), "variance": _figure("mode_variance")},
        clip=_lazy("figures.models.pose_sweep"),
    ),
    MotionModel: Views(
        {
            "dynamics": _figure("process_model"),
            "strip": lambda model, size: _strip(_new_motion(model), size),
        },
        "bodies.motion_page",
        _clip,
    ),
    DistanceMatrix: Views({"matrix": _figure("distance_map")}, "flat.matrix_page"),
    SurfaceGraph: Views(
        {
            "graph": lambda made, size: figures.graph_picture(made.graph, made.library.names, size=size),
            "matrix": lambda made, size: figures.distance_map(made.distances, size=size),
        }
    ),
    Animation: Views(
        {"strip": _strip, "path": _figure("path_from_above"), "timeline": _figure("timeline")},
        "surfaces.animation_page",
        _clip,
    ),
}
"""What can be drawn of each type."""


def figure(data: Viewable, kind: str | None = None, *, size: Size = DEFAULT_SIZE) -> Figure:
    """A matplotlib figure of anything we load; of a rendered image, one that is filled by it.

    Args:
        data: What to draw.
        kind: What it shows, see :func:`view`.
        size: (columns, rows) in pixels, even numbers.

    >>> import marey
    >>> figure(marey.samples.walk(), "path").axes[0].get_title("left")
    'walk'
    """
    kind, size = _checked(data, kind, size)
    drawn = _views_of(data).kinds[kind](data, size)
    return style.filled(drawn) if isinstance(drawn, np.ndarray) else drawn


def page(
    data: Viewable,
    kind: str | None = None,
    *,
    title: str = "",
    size: Size = DEFAULT_SIZE,
    frame_rate: float | None = None,
    progress: Progress | None = None,
) -> Page:
    """A page that plays anything we load in a browser, not yet written, so that more can be put on it.

    Args:
        data: What to show.
        kind: Show the image of that kind instead; so does what does not move.
        title: Plain text over it.
        size: (columns, rows) in pixels of an image.
        frame_rate: Resample the data.
        progress: Called with frames done and their number.

    >>> import marey
    >>> page(marey.samples.walk(seconds=1)).caption
    'motion · 26 joints · 60 frames · 60 fps · 1 s'
    """
    from marey.views.pages import caption
    from marey.views.pages.page import Page

    shown, size = _checked(data, kind, size)
    views = _views_of(data)
    if kind is None and isinstance(data, MotionModel):
        data = _new_motion(data)
    result = Page(title, caption(data))
    if kind is not None or views.page is None:
        result.show_image(_encoded(views.kinds[shown](data, size)))
    else:
        if frame_rate is not None:
            data = _resampled(data, _checked_rate(frame_rate))
        fill = _lazy(f"pages.{views.page}")
        if isinstance(data, Footage):
            fill(data, result, progress)
            return result
        fill(data, result)
    if progress is not None:
        progress(1, 1)
    return result


def view(
    data: Viewable,
    path: str | PathLike[str] | None = None,
    *,
    size: Size = DEFAULT_SIZE,
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
        data: What to draw.
        path: Where to; if None, a page is written to a temporary file and opened in the browser, or its path
            printed where there is none.
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
    if path is None:
        target = temporary_page(getattr(data, "name", "") or type(data).__name__.lower())
        view(data, target, size=size, frame_rate=frame_rate, kind=kind, title=title, progress=progress)
        if not open_in_browser(target):
            print(target)
        return
    path = Path(path)
    ending = path.suffix.lower()
    try:
        if ending not in IMAGES + CLIPS + PAGES:
            known = ", ".join(IMAGES + CLIPS + PAGES)
            raise InputError(f"views are written as {known}, not {ending or 'without an ending'}")
        shown, size = _checked(data, kind, size)
        rate = None if frame_rate is None else _checked_rate(frame_rate)
        if ending in CLIPS:
            _check_clip(data, kind, rate)
        elif ending in PAGES and rate is not None and isinstance(data, Scene | DistanceMatrix | Animation):
            raise InputError("a frame rate is for what is captured over time")
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if ending in CLIPS:
        _write_clip(data, path, size, rate, progress)
    elif ending in PAGES:
        title = title or path.name
        page(data, kind, title=title, size=size, frame_rate=rate, progress=progress).write(path)
    else:
        _write_image(_views_of(data).kinds[shown](data, size), path)
        if progress is not None:
            progress(1, 1)


def temporary_page(name: str) -> Path:
    """Where a page is written that is only to be seen once: a folder of its own for temporary files."""
    stem = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip("-.")
    return Path(tempfile.mkdtemp(prefix="marey-")) / f"{stem or 'view'}.html"


def open_in_browser(path: Path) -> bool:
    """Open a file in the user's browser; False where there is none, or no display to show it on."""
    import os
    import sys
    import webbrowser

    shown = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform.startswith("linux") and not any(map(os.environ.get, shown)):
        # What is left there are browsers in text, which cannot play a page.
        return False
    return webbrowser.open(path.resolve().as_uri())


def clip_rate(rate: float) -> float:
    """Frames per second to show a clip of `rate` at: its own, a whole part of it, or 30.

    >>> clip_rate(25.0), clip_rate(120.0), clip_rate(100.0), clip_rate(2.5), clip_rate(16.0)
    (25.0, 30.0, 25.0, 30.0, 30.0)
    """
    part = rate / np.ceil(rate / LIMITS.rates[0] - 1e-9)
    return float(part) if part >= 20.0 else LIMITS.rates[0]


def _views_of(data: object) -> Views:
    found = next((views for cls, views in VIEWS.items() if isinstance(data, cls)), None)
    if found is None:
        known = ", ".join(cls.__name__ for cls in VIEWS)
        raise InputError(f"a {type(data).__name__} cannot be viewed; what can: {known}")
    return found


def _checked(data: Viewable, kind: str | None, size: Size) -> tuple[str, Size]:
    """The kind of image, the default if None, and the size in pixels."""
    try:
        columns, rows = (int(n) for n in size)
    except (TypeError, ValueError):
        raise InputError(f"size must be (columns, rows), got {size!r}") from None
    for n in (columns, rows):
        if not LIMITS.pixels[0] <= n <= LIMITS.pixels[1] or n % 2:
            bounds = "even, {} to {}".format(*LIMITS.pixels)
            raise InputError(f"size {columns} × {rows}: columns and rows must be {bounds}")
    kinds = tuple(_views_of(data).kinds)
    if kind is not None and kind not in kinds:
        raise InputError(f"kind {kind!r}; a {type(data).__name__} can be drawn as {', '.join(kinds)}")
    if isinstance(data, Tracks) and not data.present.any():
        raise InputError("nobody is present in these tracks, so there is nothing to draw")
    return kind or kinds[0], (columns, rows)


def _checked_rate(frame_rate: float) -> float:
    rate = checked_rate(frame_rate)
    if rate > LIMITS.rates[1]:
        raise InputError(f"{rate:g} frames per second; clips have at most {LIMITS.rates[1]:g}")
    return rate


def _check_clip(data: Viewable, kind: str | None, rate: float | None) -> None:
    if kind is not None:
        raise InputError(f"kind {kind!r} is for images (.png); a clip has none")
    if isinstance(data, Scene):
        raise InputError("nothing moves in a scene; simulate it first, or draw its plan as .png")
    if _views_of(data).clip is None:
        kept = "pose distances" if isinstance(data, DistanceMatrix) else "a surface graph"
        raise InputError(f"nothing moves in {kept}; draw a .png, or animate a surface graph first")
    if isinstance(data, WalkingCrowd) and rate is not None and not np.isclose(rate, data.frame_rate):
        raise InputError(f"these bodies walk at {data.frame_rate:g} frames per second, a clip must too")


def _motion(data: Motion | Character) -> Motion:
    return data.motion if isinstance(data, Character) else data


def _new_motion(model: MotionModel) -> Motion:
    """A motion of the model, the same at every call, as long as its example."""
    return model.sample(min(model.frames, round(LIMITS.seconds * model.frame_rate)), rng=0)


def _timed(data: Viewable) -> Timed | WalkingCrowd:
    """What has the frames and the frame rate of the data."""
    data = data.sequence if isinstance(data, Animation) else data
    data = data.motion if isinstance(data, Character) else data
    assert isinstance(data, Timed | WalkingCrowd)
    return data


def _resampled(data: Viewable, frame_rate: float) -> Viewable:
    """The data at another rate; each frame of an animation keeps the origin of the nearest one."""
    if isinstance(data, Motion | Character | Markers | MeshSequence | Tracks | FieldSeries | Footage):
        return data.resample(frame_rate)
    if not isinstance(data, Animation):
        raise InputError("a frame rate is for what is captured over time")
    sequence, origin = data.sequence, data.provenance
    positions = resampling.sample_positions(sequence.frames, sequence.frame_rate, frame_rate)
    near = resampling.nearest(sequence.frames, positions)
    kept = Provenance(
        origin.sources[near], origin.destinations[near], origin.weights[near], origin.synthetic[near]
    )
    return Animation(sequence.resample(frame_rate), kept)


def _write_clip(
    data: Viewable, path: Path, size: Size, rate: float | None, progress: Progress | None
) -> None:
    from marey.io.video import write_frames

    if isinstance(data, MotionModel):
        data = _new_motion(data)
    views = _views_of(data)
    assert views.clip is not None
    if isinstance(data, PoseModel):
        rate = rate or LIMITS.rates[0]
        images, total = views.clip(data, size, rate), figures.sweep_frames(rate)
    else:
        scene = data.scene if isinstance(data, SimulatedCrowd) else None
        data = data.tracks if isinstance(data, SimulatedCrowd) else data
        own = _timed(data).frame_rate
        rate = rate or (own if views.keeps_rate else clip_rate(own))
        if not np.isclose(rate, own):
            data = _resampled(data, rate)
        images = views.clip(data, size) if scene is None else views.clip(data, size, scene)
        total = _timed(data).frames
    write_frames(images, path, frame_rate=rate, progress=progress, total=total)


def _encoded(drawn: Bytes | Figure, ending: str = ".png") -> bytes:
    return encode_image(drawn, ending) if isinstance(drawn, np.ndarray) else style.encoded(drawn, ending)


def _write_image(drawn: Bytes | Figure, path: Path) -> None:
    with atomic_write(path) as draft:
        draft.write_bytes(_encoded(drawn, path.suffix))


def draw_figures(
    motions: Sequence[Motion],
    path: Path,
    *,
    colours: Sequence[str | None] | None = None,
    shifts: ArrayLike | None = None,
    marks: ArrayLike | None = None,
    overlay: Motion | None = None,
    size: Size = DEFAULT_SIZE,
    frame_rate: float | None = None,
    progress: Progress | None = None,
) -> None:
    """Draw figures (see :func:`marey.views.actors.group`) as an image or, by the ending, as a clip.

    Marks far from the first figure's root are left out. An `overlay` is seen through them, all in one colour.
    """
    from marey.io.video import write_frames
    from marey.views import actors, shots

    if marks is not None:
        places = np.asarray(marks, dtype=np.float64)
        distance = np.linalg.norm(places - np.asarray(motions[0].root)[:, None], axis=2)
        near = distance < LIMITS.mark_distance
        marks = np.where(near[..., None], places, np.nan)[:, near.all(axis=0)]
    still, rate = path.suffix.lower() in (".png", ".jpg"), motions[0].frame_rate
    if not still and not np.isclose(rate := frame_rate or clip_rate(rate), motions[0].frame_rate):
        motions = [motion.resample(rate) for motion in motions]
        overlay = None if overlay is None else overlay.resample(rate)
    cast = actors.group(motions, colours=colours, shifts=shifts, marks=marks)
    other = None if overlay is None else actors.group([overlay], colours=[style.OVERLAID[1]])
    if still:
        _write_image(shots.strip(cast, size, overlay=other), path)
    else:
        images = shots.clip(cast, size, overlay=other)
        write_frames(images, path, frame_rate=rate, progress=progress, total=cast.frames)


def draw_compared(
    motion: Motion,
    other: Motion,
    path: Path,
    *,
    through: bool = False,
    size: Size = DEFAULT_SIZE,
    frame_rate: float | None = None,
    progress: Progress | None = None,
) -> None:
    """Draw a clip with another one, pale, beside it, or both through each other: grey where they agree."""
    other = other.resample(motion.frame_rate)
    frames = min(motion.frames, other.frames)
    motion, other = motion[:frames], other[:frames]
    look: dict[str, Any] = {"size": size, "frame_rate": frame_rate, "progress": progress}
    if through:
        draw_figures([motion], path, colours=style.OVERLAID[:1], overlay=other, **look)
    else:
        draw_figures([motion, other], path, colours=(None, style.CLAY), shifts=_abreast(other, 2), **look)


def draw_variants(
    original: Motion, variants: Sequence[Motion], path: Path, progress: Progress | None
) -> None:
    """Draw a clip in grey and up to six variants of it side by side, across the direction it goes in."""
    shown = [original, *variants[:6]]
    colours = [style.STONE, *[None] * (len(shown) - 1)]
    draw_figures(shown, path, colours=colours, shifts=_abreast(original, len(shown)), progress=progress)


def _abreast(motion: Motion, count: int, apart: float = 1.2) -> Array:
    """Shifts `(count, 3)` that set figures side by side, metres apart, across the direction one goes in."""
    along = np.array(motion.root[-1] - motion.root[0])
    length = float(np.hypot(along[0], along[2]))
    across = np.array([along[2], 0.0, -along[0]]) / length if length > 0.5 else np.array([1.0, 0.0, 0.0])
    return (np.arange(count) - 0.5 * (count - 1))[:, None] * apart * across


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
