"""marey's own file, `.mry`: a zip of `.npy` arrays and one JSON header. Versioned, self-contained, no pickle.

A `.mry` file that begins with `MRYC` is a compressed clip instead (`marey.body.codec.clip`), one that begins
with `MRYF` compressed velocity fields (`marey.crowd.codec.series`).

`header.json` is a tree of plain values; a dataclass in it is `{"type": name, "fields": {…}}`, an array
`{"array": "2.npy"}`, bytes `{"bytes": "3.bin"}`; what is the same is stored once. Only the types listed in
`TYPES` are ever built, through their constructors, which validate. Cost: linear in the bytes stored; large
arrays are neither compressed nor held in memory a second time.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from marey._arrays import read_only
from marey.body.codec.clip import CompressedMotion, is_compressed_clip
from marey.body.motion import Motion
from marey.crowd.codec.series import CompressedFields, is_compressed_fields
from marey.crowd.fields import FieldSeries
from marey.crowd.spectrum.fourier import FourierFields
from marey.errors import FormatError, InputError, MareyError
from marey.io._files import atomic_write, check_readable, read_bytes
from marey.io._zip import opened, read_array, store_array, store_bytes
from marey.surface.texture import Texture

VERSION = 1
HEADER = "header.json"
LARGEST_HEADER = 64 << 20

TYPES: dict[str, str] = {
    "Convention": "marey.geometry.convention",
    "Skeleton": "marey.body.skeleton",
    "Motion": "marey.body.motion",
    "Markers": "marey.body.markers",
    "Texture": "marey.surface.texture",
    "MeshSequence": "marey.surface.sequence",
    "SkinnedMesh": "marey.surface.skinning",
    "Character": "marey.character",
    "Tracks": "marey.crowd.tracks",
    "SimulatedCrowd": "marey.crowd.simulation.simulate",
    "State": "marey.crowd.simulation.engine",
    "Pedestrians": "marey.crowd.simulation.pedestrians",
    "Parameters": "marey.crowd.simulation.constants",
    "Interaction": "marey.crowd.simulation.constants",
    "Scene": "marey.crowd.scene",
    "Goal": "marey.crowd.scene",
    "Group": "marey.crowd.scene",
    "FieldSeries": "marey.crowd.fields",
    "FourierFields": "marey.crowd.spectrum.fourier",
    "PrincipalGeodesics": "marey.statistics.geodesics.linear",
    "RootMotionModes": "marey.body.root_motion",
    "PoseModel": "marey.body.pose_model",
    "Trend": "marey.statistics.processes.trend",
    "Processes": "marey.statistics.processes.process",
    "SquaredExponential": "marey.statistics.processes.covariances",
    "Matern12": "marey.statistics.processes.covariances",
    "Matern32": "marey.statistics.processes.covariances",
    "Matern52": "marey.statistics.processes.covariances",
    "DampedOscillation": "marey.statistics.processes.covariances",
    "QuasiPeriodic": "marey.statistics.processes.covariances",
    "Sum": "marey.statistics.processes.covariances",
    "VectorAutoregression": "marey.statistics.autoregression.model",
    "MotionModel": "marey.body.dynamics",
    "Library": "marey.surface.library",
    "DistanceMatrix": "marey.statistics.graphs.clips",
    "Windows": "marey.statistics.graphs.transitions",
    "MotionGraph": "marey.statistics.graphs.graph",
    "SurfaceGraph": "marey.surface.synthesis.surface_graph",
    "Provenance": "marey.surface.synthesis.animation",
    "Animation": "marey.surface.synthesis.animation",
    "AnimationReport": "marey.surface.synthesis.animation",
    "Walk": "marey.statistics.graphs.graph",
}
# What is stored otherwise, or by other formats only.
OTHER_TYPES = {
    "CompressedMotion": "marey.body.codec.clip",
    "CompressedFields": "marey.crowd.codec.series",
    "Footage": "marey.crowd.footage",
    "Trackers": "marey.body.trackers",
    "Camera": "marey.crowd.cameras",
    "Homography": "marey.crowd.cameras",
}
# Arrays up to this size are looked at for one that is stored already, e.g. the faces of several sequences.
SHARED_UP_TO = 4 << 20


def write(thing: Any, path: Path) -> None:
    """Store any of the data types of `TYPES`, or a compressed one; the same thing gives the same bytes."""
    if isinstance(thing, CompressedMotion | CompressedFields):
        with atomic_write(path) as draft:
            draft.write_bytes(thing.data)
        return
    blobs = _Blobs()
    header = {"format": "marey", "version": VERSION, "content": _encode(thing, blobs)}
    with atomic_write(path) as draft, zipfile.ZipFile(draft, "w") as file:
        store_bytes(file, HEADER, json.dumps(header, allow_nan=False).encode())
        for name, content in blobs.named.items():
            if isinstance(content, bytes):
                store_bytes(file, name, content)
            else:
                store_array(file, name, content)


def read(path: Path, *, compressed: bool = False) -> Any:
    """The data type a `.mry` file holds. With `compressed`, a compressed one as it is, not decoded."""
    thing: Any
    if is_compressed(path):
        thing = read_compressed(path)
    elif is_compressed_fields(_first_bytes(path)):
        thing = read_compressed_fields(path)
    else:
        thing = _read_archive(path)
        if not isinstance(thing, FourierFields):
            if compressed:
                raise FormatError("neither a compressed clip nor compressed fields", path=path)
            return thing
    return thing if compressed else _decoded(thing, path)


def _read_archive(path: Path) -> Any:
    with opened(path) as file:
        content = _header(file, path)["content"]
        try:
            return _Decoder(file, path).decode(content)
        except FormatError:
            raise
        except (MareyError, AttributeError, TypeError) as error:
            raise FormatError(f"the container's header is damaged ({error})", path=path) from error


def is_compressed(path: Path) -> bool:
    """Whether a file is a compressed clip, by its first bytes."""
    return is_compressed_clip(_first_bytes(path))


def read_compressed(path: Path) -> CompressedMotion:
    """A compressed clip as it is in the file; `decode` and `stream` of it give frames."""
    try:
        return CompressedMotion(read_bytes(path))
    except FormatError as error:
        raise FormatError(str(error), path=path) from error


def read_compressed_fields(path: Path) -> CompressedFields:
    """Compressed velocity fields as they are in the file; `decode` and `stream` of them give frames."""
    try:
        return CompressedFields(read_bytes(path))
    except FormatError as error:
        raise FormatError(str(error), path=path) from error


def _first_bytes(path: Path) -> bytes:
    check_readable(path)
    with path.open("rb") as file:
        return file.read(16)


def _decoded(thing: CompressedMotion | CompressedFields | FourierFields, path: Path) -> Motion | FieldSeries:
    try:
        return thing.decode()
    except MareyError as error:
        raise FormatError(str(error), path=path) from error


class _Blobs:
    """Arrays and bytes to be stored, each under a name; the same content twice gets one name."""

    def __init__(self) -> None:
        self.named: dict[str, bytes | NDArray[Any]] = {}
        self._stored: dict[tuple[Any, ...], str] = {}

    def store(self, content: bytes | NDArray[Any]) -> str:
        key: tuple[Any, ...] | None
        if isinstance(content, bytes):
            key, ending = (content,), ".bin"
        else:
            small = content.nbytes <= SHARED_UP_TO
            key = (content.dtype.str, content.shape, content.tobytes()) if small else None
            ending = ".npy"
        if key in self._stored:
            return self._stored[key]
        name = f"{len(self.named)}{ending}"
        self.named[name] = content
        if key is not None:
            self._stored[key] = name
        return name


def _encode(value: Any, blobs: _Blobs) -> Any:
    if isinstance(value, Texture):
        # A texture on disk travels inside the container.
        return {"type": "Texture", "fields": {"data": _encode(value.encoded(), blobs)}}
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        if TYPES.get(kind) != type(value).__module__:
            raise InputError(f"a {type(value).__module__}.{kind} cannot be stored in a .mry file")
        return {
            "type": kind,
            "fields": {
                f.name: _encode(getattr(value, f.name), blobs)
                for f in fields(value)
                if f.metadata.get("stored", True)
            },
        }
    if isinstance(value, np.ndarray):
        return {"array": blobs.store(value)}
    if isinstance(value, bytes):
        return {"bytes": blobs.store(value)}
    if isinstance(value, tuple | list):
        return [_encode(item, blobs) for item in value]
    if isinstance(value, dict):
        return {"map": {str(key): _encode(item, blobs) for key, item in value.items()}}
    if isinstance(value, np.generic):
        return value.item()
    return value


class _Decoder:
    """Builds what a header describes; an array or bytes that several parts share are read once."""

    def __init__(self, file: zipfile.ZipFile, path: Path) -> None:
        self.file, self.path = file, path
        self._read: dict[str, Any] = {}

    def decode(self, node: Any) -> Any:
        if isinstance(node, list):
            return tuple(self.decode(item) for item in node)
        if not isinstance(node, dict):
            return node
        if "type" in node:
            return self._build(node["type"], node["fields"])
        if "array" in node:
            return self._once(str(node["array"]))
        if "bytes" in node:
            return self._once(str(node["bytes"]))
        return {key: self.decode(value) for key, value in node["map"].items()}

    def _build(self, kind: Any, given: dict[str, Any]) -> Any:
        if kind not in TYPES:
            raise FormatError(f"holds a {kind!r}, which this version of marey does not know", path=self.path)
        cls = getattr(import_module(TYPES[kind]), kind)
        values = {name: self.decode(value) for name, value in given.items()}
        unknown = set(values) - {f.name for f in fields(cls)}
        if unknown:
            raise FormatError(f"a {kind} with unknown fields {sorted(unknown)}", path=self.path)
        hints = get_type_hints(cls)
        for name, value in values.items():
            if not _fits(value, hints[name]):
                raise FormatError(f"a {kind} whose {name} is of the wrong type", path=self.path)
        return cls(**values)

    def _once(self, name: str) -> Any:
        if name not in self._read:
            if name.endswith(".bin"):
                self._read[name] = self.file.read(name)
            else:
                self._read[name] = read_only(read_array(self.file, name.removesuffix(".npy"), self.path))
        return self._read[name]


def _fits(value: Any, hint: Any) -> bool:
    """Whether a plain value is of a field's type; what constructors check themselves always is."""
    if hint is str:
        return isinstance(value, str)
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    if hint == tuple[str, ...]:
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    return True


def _header(file: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    if HEADER not in file.namelist():
        raise FormatError("a zip without header.json: not a marey container", path=path)
    if file.getinfo(HEADER).file_size > LARGEST_HEADER:
        raise FormatError("the container's header is too large", path=path)
    header = json.loads(file.read(HEADER))
    if not isinstance(header, dict) or header.get("format") != "marey":
        raise FormatError("header.json is not that of a marey container", path=path)
    if header.get("version") != VERSION:
        raise FormatError(
            f"container version {header.get('version')!r}; this marey reads version {VERSION}: "
            "install a newer marey",
            path=path,
        )
    return header
