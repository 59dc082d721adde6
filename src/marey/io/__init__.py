"""Files in and out: one module a format; :func:`load` and :func:`save` pick it.

Every module of this folder that is a format offers `read(path, **options)` and, where it can,
`write(thing, path, **options)`. `FORMATS` below is the whole registry.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from marey.errors import FormatError, InputError, MareyWarning
from marey.geometry.convention import Convention, unit_size
from marey.io._files import is_numbered


@dataclass(frozen=True)
class Format:
    """One file format: its module here, the endings it goes by, what it holds."""

    module: str
    title: str
    endings: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def implementation(self) -> Any:
        """The module, imported when first needed."""
        return import_module(f"marey.io.{self.module}")


# Bytes of a JSON file in which a scene's keys are looked for: the largest scene that is read.
SCENE_HEAD = 16 << 20

# Frames per second, metres of a bone, and metres from the origin: maps of the whole Earth reach 2e7.
SLOWEST, FASTEST, LONGEST, FARTHEST = 1e-4, 1e6, 1e5, 1e8

FORMATS: tuple[Format, ...] = (
    Format("bvh", "Biovision hierarchy", (".bvh",), ("Motion",), ("Motion",)),
    Format("acclaim", "Acclaim skeleton and motion", (".amc", ".asf"), ("Motion",)),
    Format("c3d", "C3D markers", (".c3d",), ("Markers",)),
    Format("deepmimic", "DeepMimic clip (JSON)", (".json",), ("Motion",)),
    Format("scenes", "crowd scene (JSON)", (".json",), ("Scene",), ("Scene",)),
    Format(
        "gltf",
        "glTF 2.0",
        (".glb", ".gltf"),
        ("Character", "Motion", "MeshSequence"),
        ("Character", "Motion", "MeshSequence"),
    ),
    Format(
        "usd",
        "Universal Scene Description",
        (".usd", ".usda", ".usdc"),
        ("MeshSequence",),
        ("Character", "Motion", "MeshSequence"),
    ),
    Format("obj", "Wavefront mesh or folder of them", (".obj",), ("MeshSequence",), ("MeshSequence",)),
    Format("ply", "Stanford mesh or folder of them", (".ply",), ("MeshSequence",), ("MeshSequence",)),
    Format(
        "npz",
        "NumPy mesh sequence or pose distances",
        (".npz",),
        ("MeshSequence", "DistanceMatrix"),
        ("MeshSequence", "DistanceMatrix"),
    ),
    Format("point_caches", "point cache", (".pc2", ".mdd"), ("MeshSequence",), ("MeshSequence",)),
    Format("trajectories", "pedestrian trajectories", (".txt", ".csv", ".parquet"), ("Tracks",), ("Tracks",)),
    Format("jupedsim", "JuPedSim recording", (".sqlite",), ("Tracks",), ("Tracks", "SimulatedCrowd")),
    Format("agoraset", "Agoraset population", (".data",), ("Tracks",), ("SimulatedCrowd",)),
    Format("video", "video", (".mp4", ".avi", ".mov", ".mkv", ".webm", ".gif"), ("Footage",), ("Footage",)),
    Format("images", "folder of images", (".png", ".jpg", ".jpeg"), ("Footage",), ("Footage",)),
    Format("flo", "Middlebury optical flow", (".flo",), ("FieldSeries",), ("FieldSeries",)),
    Format(
        "zarr_store",
        "zarr store",
        (".zarr",),
        ("FieldSeries", "MeshSequence"),
        ("FieldSeries", "MeshSequence"),
    ),
    Format(
        "container",
        "marey container",
        (".mry",),
        (
            "Motion",
            "Markers",
            "MeshSequence",
            "Character",
            "Tracks",
            "SimulatedCrowd",
            "Scene",
            "FieldSeries",
            "PoseModel",
            "MotionModel",
            "DistanceMatrix",
            "SurfaceGraph",
            "Animation",
        ),
        (
            "Motion",
            "Markers",
            "MeshSequence",
            "Character",
            "Tracks",
            "SimulatedCrowd",
            "Scene",
            "FieldSeries",
            "PoseModel",
            "MotionModel",
            "DistanceMatrix",
            "SurfaceGraph",
            "Animation",
            "CompressedMotion",
            "CompressedFields",
            "FourierFields",
        ),
    ),
)


def load(path: str | PathLike[str], *, clean: bool = False, **options: Any) -> Any:
    """Read a file or folder into the data type it holds.

    The format is chosen by the ending, and by a look inside where the ending says little (`.txt`,
    `.json`, folders). Options go to the format's reader, e.g. `unit="cm"`, `up="z"` for BVH, or
    `compressed=True` for a compressed clip that is not to be decoded; see `marey.io.<format>.read`. With
    `clean`, a skeleton motion loses an artificial T-pose and glitches; what was done is said in warnings
    (:func:`marey.body.clean.clean` returns it as a report).

    >>> import marey, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "walk.bvh"
    >>> marey.save(marey.samples.walk(), path)
    >>> marey.load(path).skeleton.names[0]
    'Hips'
    """
    path = Path(path)
    chosen = format_of(path)
    if not chosen.reads:
        raise FormatError(f"{chosen.title} is a format we write, not one we read", path=path)
    read = chosen.implementation().read
    given = _accepted(read, options, path)
    try:
        with np.errstate(all="ignore"):  # what overflows is refused as not finite
            thing = read(path, **given)
    except InputError as error:
        if given:
            raise
        raise FormatError(str(error).removeprefix(f"{path}: "), path=path) from error
    _check_plausible(thing, path)
    return _cleaned(thing, path) if clean else thing


def save(thing: Any, path: str | PathLike[str], **options: Any) -> None:
    """Write a data type; the ending of `path` chooses the format. Nothing half-written is left behind.

    Of a character, a format for skeletons gets the first clip, one for meshes the posed surface; of an
    animation, a format for meshes gets them without where they come from. `unit` and `up` are for formats
    that leave the choice; the others are in metres and y up.
    """
    path = Path(path)
    chosen = format_to_write(path)
    thing = writable_part(thing, path)
    write = chosen.implementation().write
    options = _without_the_only_choice(write, options, chosen, path)
    write(thing, path, **_accepted(write, options, path))


def writable_part(thing: Any, path: Path) -> Any:
    """The part of `thing` that the format of `path` holds; an error if there is none."""
    chosen = format_to_write(path)
    kind = _kind(thing)
    if kind in chosen.writes:
        return thing
    if kind == "Character" and "Motion" in chosen.writes:
        return thing.motion
    if kind == "Character" and "MeshSequence" in chosen.writes:
        return thing.pose()
    if kind == "Animation" and "MeshSequence" in chosen.writes:
        return thing.sequence
    if kind == "SimulatedCrowd" and "Tracks" in chosen.writes:
        return thing.tracks
    able = sorted({e for f in FORMATS if kind in f.writes for e in f.endings})
    if not chosen.writes:
        raise InputError(f"{path}: {chosen.title} is a format we read, not one we write")
    raise InputError(
        f"{path}: a {chosen.title} file cannot hold a {kind}; "
        + (f"use one of {', '.join(able)}" if able else "nothing we write can")
    )


def _kind(thing: Any) -> str:
    """The name of a data type; another class that is called the same comes with its module."""
    from marey.io.container import OTHER_TYPES, TYPES

    own = type(thing)
    known = (TYPES | OTHER_TYPES).get(own.__name__, own.__module__) == own.__module__
    return own.__name__ if known else f"{own.__module__}.{own.__name__}"


def format_of(path: Path) -> Format:
    """The format of an existing file or folder."""
    ending = path.suffix.lower()
    try:
        if path.is_dir() and ending != ".zarr":
            return _folder_format(path)
    except OSError as error:  # a name that is too long, a folder that is closed to us
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from error
    if not path.exists() and not is_numbered(path):
        raise FormatError("no such file", path=path)
    if ending in (".txt", ".json") and path.is_file():
        return _by_name(_json_format(path) if _looks_like_json(path) else "trajectories")
    return _by_ending(path, ending)


def format_to_write(path: Path) -> Format:
    """The format that the ending of a file to be written asks for."""
    ending = path.suffix.lower()
    if ending:
        return _by_ending(path, ending, writes=True)
    raise InputError(f"{path}: give the file an ending, e.g. .bvh, .glb, .mp4, .csv, .mry")


def _by_ending(path: Path, ending: str, *, writes: bool = False) -> Format:
    found = [known for known in FORMATS if ending in known.endings]
    if found:
        return next((known for known in found if known.writes), found[0]) if writes else found[0]
    endings = ", ".join(dict.fromkeys(e for f in FORMATS for e in f.endings))
    raise FormatError(f"unknown ending {ending!r}; known are {endings}", path=path)


def _by_name(module: str) -> Format:
    return next(f for f in FORMATS if f.module == module)


def _folder_format(folder: Path) -> Format:
    endings = [entry.suffix.lower() for entry in folder.iterdir()]
    series = map(_by_name, ("obj", "ply", "images", "flo"))
    counts = {f: sum(endings.count(e) for e in f.endings) for f in series}
    best = max(counts, key=lambda f: counts[f])
    if not counts[best]:
        raise FormatError("the folder holds no .obj, .ply, .png, .jpg or .flo files", path=folder)
    return best


def _looks_like_json(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n")
    return head[:1] in (b"{", b"[") or path.suffix.lower() == ".json"


def _json_format(path: Path) -> str:
    """A scene tells its size or walkable area, and has no frames."""
    with path.open("rb") as file:
        text = file.read(SCENE_HEAD)
    is_scene = any(key in text for key in (b'"size"', b'"walkable"', b'"groups"', b'"goals"'))
    return "scenes" if is_scene and b'"Frames"' not in text else "deepmimic"


def _check_plausible(thing: Any, path: Path) -> None:
    """Raise if a clip or tracks are faster, slower or larger than any recording: damage, or a wrong unit."""
    rate = getattr(thing, "frame_rate", SLOWEST)
    if not SLOWEST <= rate <= FASTEST:
        raise FormatError(f"has {rate:g} frames per second; its frame rate is damaged", path=path)
    kind, lengths = type(thing).__name__, []
    if kind == "Motion":
        bones = np.concatenate([thing.skeleton.offsets[1:], thing.skeleton.end_offsets])
        lengths = [(thing.root, FARTHEST), (thing.skeleton.offsets[0], FARTHEST), (bones, LONGEST)]
    elif kind in ("Markers", "Tracks"):
        lengths = [(thing.positions, FARTHEST)]
    for values, most in lengths:
        low, high = (extreme.reduce(values, axis=None, initial=0.0) for extreme in (np.fmin, np.fmax))
        if max(-low, high) > most:
            message = f"has lengths of over {most / 1000:g} km; it is damaged, or its unit is another"
            raise FormatError(message, path=path)


def _cleaned(thing: Any, path: Path) -> Any:
    from marey.body.clean import clean

    if type(thing).__name__ != "Motion":
        raise InputError(f"{path}: only skeleton motion can be cleaned, this is a {type(thing).__name__}")
    motion, report = clean(thing)
    for line in report.lines():
        warnings.warn(f"{path}: {line}", MareyWarning, stacklevel=3)
    return motion


def _without_the_only_choice(
    write: Callable[..., Any], options: dict[str, Any], chosen: Format, path: Path
) -> dict[str, Any]:
    """`options` less a unit of metres and a y axis that a format without that choice has anyway."""
    known = inspect.signature(write).parameters
    given = {name for name in ("unit", "up") if name not in known and options.get(name) is not None}
    unit = unit_size(options["unit"]) if "unit" in given else 1.0
    up: Any = options["up"] if "up" in given else "y"
    if Convention(unit, up) != Convention():
        raise InputError(f"{path}: {chosen.title} is written in metres and y up only; leave out unit and up")
    return {name: value for name, value in options.items() if name not in given}


def _accepted(function: Callable[..., Any], options: dict[str, Any], path: Path) -> dict[str, Any]:
    """`options` that were given (not None), all of which the format must understand."""
    given = {name: value for name, value in options.items() if value is not None}
    known = list(inspect.signature(function).parameters)[1:]
    takes = [name for name in known if name not in ("path", "progress")]
    unknown = [name for name in given if name not in known and name != "progress"]
    if unknown:
        raise InputError(
            f"{path}: {path.suffix or 'folder'} has no option {unknown[0]!r}"
            + (f"; it takes {', '.join(takes)}" if takes else "")
        )
    return {name: value for name, value in given.items() if name in known}


__all__ = ["FORMATS", "Format", "format_of", "format_to_write", "load", "save", "writable_part"]
