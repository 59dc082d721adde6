"""The formats of files, and how :func:`load` and :func:`save` choose among them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, overload
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
from msgspec import Raw

from marey.errors import FormatError, InputError, MareyWarning, require
from marey.geometry.convention import Convention, unit_size
from marey.io._files import is_numbered
from marey.io._limits import LIMITS

T = TypeVar("T")
Place = Path | str


@dataclass(frozen=True)
class Format:
    """One file format: its module here, the endings it goes by, and the data types it holds."""

    module: str
    title: str
    endings: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def implementation(self) -> ModuleType:
        """The module, imported when first needed."""
        return import_module(f"marey.io.{self.module}")


MESHES, RIGS = "MeshSequence", "Character Motion MeshSequence"
CONTAINED = f"{RIGS} Markers Tracks SimulatedCrowd Scene FieldSeries PoseModel MotionModel DistanceMatrix"
CONTAINED += " SurfaceGraph Animation"
COMPRESSED = "CompressedMotion CompressedFields FourierFields"

# Module, title, endings, what is read, what is written.
FORMATS: tuple[Format, ...] = tuple(
    Format(module, title, *(tuple(words.split()) for words in (endings, reads, writes)))
    for module, title, endings, reads, writes in (
        ("bvh", "Biovision hierarchy", ".bvh", "Motion", "Motion"),
        ("acclaim", "Acclaim skeleton and motion", ".amc .asf", "Motion", ""),
        ("c3d", "C3D markers", ".c3d", "Markers", "Markers"),
        ("trc", "TRC markers", ".trc", "Markers", ""),
        ("deepmimic", "DeepMimic clip (JSON)", ".json", "Motion", ""),
        ("scene_json", "crowd scene (JSON)", ".json", "Scene", "Scene"),
        ("limits_json", "joint limits (JSON)", ".json", "LearnedLimits", "LearnedLimits"),
        ("cameras", "camera", ".json .xml", "Camera Homography", "Camera Homography"),
        ("gltf", "glTF 2.0", ".glb .gltf", RIGS, RIGS),
        ("usd", "Universal Scene Description", ".usd .usda .usdc", MESHES, RIGS),
        ("obj", "Wavefront mesh or folder of them", ".obj", MESHES, MESHES),
        ("ply", "Stanford mesh or folder of them", ".ply", MESHES, MESHES),
        ("npz", "NumPy mesh sequence or pose distances", ".npz", *(2 * [f"{MESHES} DistanceMatrix"])),
        ("point_caches", "point cache", ".pc2 .mdd", MESHES, MESHES),
        ("trajectories", "pedestrian trajectories", ".txt .csv .parquet", "Tracks", "Tracks"),
        ("trajectories", "annotations of people in videos", ".vsp .ndjson", "Tracks", ""),
        ("trackers_csv", "table of trackers", ".csv", "Trackers", "Trackers Markers"),
        ("alarms", "log of alarms", ".json .csv", "Alarms", "Alarms"),
        ("jupedsim", "JuPedSim recording", ".sqlite", "Tracks", "Tracks SimulatedCrowd"),
        ("agoraset", "Agoraset population", ".data", "Tracks", "SimulatedCrowd"),
        ("video", "video", ".mp4 .avi .mov .mkv .webm .gif", "Footage", "Footage"),
        ("images", "folder of images", ".png .jpg .jpeg", "Footage", "Footage"),
        ("flo", "Middlebury optical flow", ".flo", "FieldSeries", "FieldSeries"),
        ("zarr_store", "zarr store", ".zarr", *(2 * [f"FieldSeries {MESHES}"])),
        ("container", "marey container", ".mry", CONTAINED, f"{CONTAINED} {COMPRESSED}"),
    )
)

# Endings of files that are read like those of a format, and advice for a format that is not read.
READ_LIKE = {".usdz": "usd", ".vrm": "gltf", ".wkt": "scene_json"}
ADVICE = {".fbx": "FBX is not read; open it in Blender and export glTF (.glb)"}

# What of a data type goes into a format that holds another one.
PARTS: tuple[tuple[str, str, Callable[..., object]], ...] = (
    ("Character", "Motion", lambda character: character.motion),
    ("Character", "MeshSequence", lambda character: character.pose()),
    ("Animation", "MeshSequence", lambda animation: animation.sequence),
    ("SimulatedCrowd", "Tracks", lambda crowd: crowd.tracks),
)

# Keys by which kinds of JSON files differ.
JSON_KEYS = {
    "Frames": "deepmimic",
    "kind": "cameras",
    "joint_names": "limits_json",
    "alarms": "alarms",
    **dict.fromkeys(("size", "walkable", "groups", "goals"), "scene_json"),
}


@overload
def load(path: str | PathLike[str], kind: type[T], *, clean: bool = ..., **options: object) -> T: ...


@overload
def load(path: str | PathLike[str], kind: None = ..., *, clean: bool = ..., **options: object) -> Any: ...


def load(
    path: str | PathLike[str], kind: type | None = None, *, clean: bool = False, **options: object
) -> Any:
    """Read a file or folder into the data type it holds.

    The format is chosen by the ending, and by a look inside where several formats share one (`.txt`, `.csv`,
    `.json`, folders). An address such as `s3://bucket/flow.zarr` is that of a zarr store (extra `remote`).

    Args:
        kind: The data type that is needed, e.g. `marey.Motion`: an error if the file holds another.
        clean: Remove an artificial T-pose and glitches from skeleton motion; warnings say what was done
            (:func:`marey.body.clean.clean` returns it as a report).
        options: For the format's reader, `marey.io.<format>.read`: e.g. `unit="cm"`, `up="z"` for BVH, or
            `compressed=True` for a compressed clip that is not to be decoded.

    >>> import marey, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "walk.bvh"
    >>> marey.save(marey.samples.walk(), path)
    >>> marey.load(path, marey.Motion).skeleton.names[0]
    'Hips'
    """
    path = _place(path)
    read = format_of(path).implementation().read
    given = _accepted(read, options, path)
    try:
        with np.errstate(all="ignore"):  # what overflows is refused as not finite
            data = read(path, **given)
    except InputError as error:
        if given:
            raise
        raise FormatError(str(error).removeprefix(f"{path}: "), path=path) from error
    if kind is not None and not isinstance(data, kind):
        raise InputError(f"{path}: holds a {type(data).__name__}, not a {kind.__name__}")
    _check_plausible(data, path)
    return _cleaned(data, path) if clean else data


def save(data: object, path: str | PathLike[str], **options: object) -> None:
    """Write a data type; the ending of `path` chooses the format. Nothing half-written is left behind.

    Of a character, a format for skeletons gets the first clip, one for meshes the posed surface; of an
    animation, a format for meshes gets them without where they come from. `unit` and `up` are for formats
    that leave the choice; the others are in metres and y up.
    """
    path = _place(path)
    data = writable_part(data, Path(path))
    chosen = format_to_write(Path(path), _kind(data))
    write = chosen.implementation().write
    options = _without_the_only_choice(write, options, chosen, path)
    write(data, path, **_accepted(write, options, path))


def header(path: str | PathLike[str], **options: Any) -> dict[str, object]:
    """What is in a file or folder, as plain values, from its header where that says enough.

    Options are those of :func:`load`; with some given, the file is read.

    >>> import marey, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "flow.zarr"
    >>> marey.save(marey.samples.field(), path)
    >>> header(path)["kind"]
    'field'
    """
    path = _place(path)
    facts = getattr(format_of(path).implementation(), "facts", None)
    if facts is None or any(value is not None for value in options.values()):
        return facts_of(load(path, **options))
    return {**facts(path)}


def facts_of(data: object) -> dict[str, object]:
    """What `data` is, by its own `facts`, with its length in frames and seconds if it has one."""
    facts = getattr(data, "facts", None)
    if facts is None:
        raise InputError(f"a {type(data).__name__} is not something we can describe")
    times = {name: getattr(data, name, None) for name in ("frames", "frame_rate", "duration")}
    return {**times, **facts()}


def writable_part(data: object, path: Path) -> object:
    """The part of `data` that the format of `path` holds; an error if there is none."""
    kind = _kind(data)
    chosen = format_to_write(path, kind)
    if kind in chosen.writes:
        return data
    for whole, part, take in PARTS:
        if kind == whole and part in chosen.writes:
            return take(data)
    if not chosen.writes:
        raise InputError(f"{path}: {chosen.title} is a format we read, not one we write")
    able = sorted({e for f in FORMATS if kind in f.writes for e in f.endings})
    raise InputError(
        f"{path}: a {chosen.title} file cannot hold a {kind}; "
        + (f"use one of {', '.join(able)}" if able else "nothing we write can")
    )


def _kind(data: object) -> str:
    """The name of a data type of marey; another class that is called the same comes with its module."""
    from marey.io.container import OTHER_TYPES, TYPES

    own = type(data)
    known = (TYPES | OTHER_TYPES).get(own.__name__, own.__module__) == own.__module__
    return own.__name__ if known else f"{own.__module__}.{own.__name__}"


def _place(path: str | PathLike[str]) -> Place:
    """A path; the address of a store that fsspec knows, such as `s3://…/flow.zarr`, stays as it is."""
    if not isinstance(path, str) or "://" not in path:
        return Path(path)
    if path.startswith("file://"):
        return Path(url2pathname(urlsplit(path).path))
    require("fsspec", extra="remote")
    return path


def format_of(path: Place) -> Format:
    """The format of an existing file or folder, or of a store at an address."""
    if isinstance(path, str):
        return _by_name("zarr_store")
    ending = path.suffix.lower()
    try:
        if path.is_dir() and ending != ".zarr":
            return _folder_format(path)
    except OSError as error:  # a name that is too long, a folder that is closed to us
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from error
    if not path.exists() and not is_numbered(path):
        raise FormatError("no such file", path=path)
    if ending in (".txt", ".json", ".csv") and path.is_file():
        return _by_name(_text_format(path))
    return _by_name(READ_LIKE[ending]) if ending in READ_LIKE else _by_ending(path, ending)


def format_to_write(path: Path, kind: str | None = None) -> Format:
    """The format that the ending of a file to be written asks for; of several, one for that data type."""
    ending = path.suffix.lower()
    if not ending:
        raise InputError(f"{path}: give the file an ending, e.g. .bvh, .glb, .mp4, .csv, .mry")
    able = [known for known in FORMATS if ending in known.endings and known.writes]
    return next((f for f in able if kind in f.writes), able[0]) if able else _by_ending(path, ending)


def _by_ending(path: Path, ending: str) -> Format:
    found = next((known for known in FORMATS if ending in known.endings), None)
    if found is None:
        endings = ", ".join(dict.fromkeys(e for f in FORMATS for e in f.endings))
        raise FormatError(ADVICE.get(ending, f"unknown ending {ending!r}; known are {endings}"), path=path)
    return found


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


def _text_format(path: Path) -> str:
    """The format of a JSON file by its keys, of a table by the names of its columns."""
    from marey.io._json import read_json
    from marey.io.trackers_csv import tracker_names

    with path.open("rb") as file:
        head = file.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n")
    if path.suffix.lower() != ".json" and head[:1] not in (b"{", b"["):
        header = [cell.strip(' "') for cell in head.partition(b"\n")[0].decode("latin-1").strip().split(",")]
        if header[:2] == ["zone", "start"]:
            return "alarms"
        return "trackers_csv" if tracker_names(header) else "trajectories"
    keys = read_json(path, dict[str, Raw], limit=LIMITS.table)
    found = next((module for key, module in JSON_KEYS.items() if key in keys), None)
    if found is None:
        raise FormatError(
            'is neither a DeepMimic clip (no "Frames" list) nor a crowd scene nor a camera', path=path
        )
    return found


def _check_plausible(data: Any, path: Place) -> None:
    """Raise if a clip or tracks are faster, slower or larger than any recording: damage, or a wrong unit."""
    rate = getattr(data, "frame_rate", 1.0)
    if not 1e-4 <= rate <= 1e6:
        raise FormatError(f"has {rate:g} frames per second; its frame rate is damaged", path=path)
    # Metres: of a bone, and from the origin, from which maps of the whole Earth reach 2e7.
    longest, farthest = 1e5, 1e8
    kind, lengths = _kind(data), []
    if kind == "Motion":
        bones = np.concatenate([data.skeleton.offsets[1:], data.skeleton.end_offsets])
        lengths = [(data.root, farthest), (data.skeleton.offsets[0], farthest), (bones, longest)]
    elif kind in ("Markers", "Tracks"):
        lengths = [(data.positions, farthest)]
    for values, most in lengths:
        low, high = (extreme.reduce(values, axis=None, initial=0.0) for extreme in (np.fmin, np.fmax))
        if max(-low, high) > most:
            message = f"has lengths of over {most / 1000:g} km; it is damaged, or its unit is another"
            raise FormatError(message, path=path)


def _cleaned(data: object, path: Place) -> object:
    from marey.body.clean import clean
    from marey.body.motion import Motion

    if not isinstance(data, Motion):
        raise InputError(f"{path}: only skeleton motion can be cleaned, this is a {type(data).__name__}")
    motion, report = clean(data)
    for line in report.lines():
        warnings.warn(f"{path}: {line}", MareyWarning, stacklevel=3)
    return motion


def _without_the_only_choice(
    write: Callable[..., object], options: dict[str, object], chosen: Format, path: Place
) -> dict[str, object]:
    """`options` less a unit of metres and a y axis that a format without that choice has anyway."""
    known = inspect.signature(write).parameters
    given = {name for name in ("unit", "up") if name not in known and options.get(name) is not None}
    chosen_unit: Any = options["unit"] if "unit" in given else 1.0
    up: Any = options["up"] if "up" in given else "y"
    if Convention(unit_size(chosen_unit), up) != Convention():
        raise InputError(f"{path}: {chosen.title} is written in metres and y up only; leave out unit and up")
    return {name: value for name, value in options.items() if name not in given}


def _accepted(function: Callable[..., object], options: dict[str, object], path: Place) -> dict[str, object]:
    """`options` that were given (not None), all of which the format must understand."""
    given = {name: value for name, value in options.items() if value is not None}
    known = list(inspect.signature(function).parameters)[1:]
    takes = [name for name in known if name not in ("path", "progress")]
    unknown = [name for name in given if name not in known and name != "progress"]
    if unknown:
        raise InputError(
            f"{path}: {Path(path).suffix or 'folder'} has no option {unknown[0]!r}"
            + (f"; it takes {', '.join(takes)}" if takes else "")
        )
    return {name: value for name, value in given.items() if name in known}
