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

from marey._arrays import AnyArray, read_only
from marey.body.codec.clip import MAGIC as CLIP_MAGIC
from marey.body.codec.clip import CompressedMotion
from marey.crowd.codec.series import MAGIC as FIELDS_MAGIC
from marey.crowd.codec.series import CompressedFields
from marey.crowd.spectrum import FourierFields
from marey.errors import FormatError, InputError, MareyError
from marey.io._files import atomic_write, check_readable, read_bytes
from marey.io._json import Json
from marey.io._limits import LIMITS
from marey.io._zip import opened, read_array, store_array, store_bytes
from marey.surface.sequence import Texture

VERSION = 1
HEADER = "header.json"

MODULES = {
    "marey.geometry.convention": "Convention",
    "marey.body.skeleton": "Skeleton",
    "marey.body.motion": "Motion",
    "marey.body.markers": "Markers",
    "marey.surface.sequence": "Texture MeshSequence Library",
    "marey.surface.skinning": "SkinnedMesh",
    "marey.character": "Character",
    "marey.crowd.tracks": "Tracks",
    "marey.crowd.simulation.simulate": "SimulatedCrowd",
    "marey.crowd.simulation.engine": "State",
    "marey.crowd.simulation.pedestrians": "Pedestrians Parameters Interaction",
    "marey.crowd.scenes": "Scene Goal Group",
    "marey.crowd.fields": "FieldSeries",
    "marey.crowd.spectrum": "FourierFields",
    "marey.statistics.geodesics.linear": "PrincipalGeodesics",
    "marey.statistics.geodesics.published": "ExactGeodesics SecondKindGeodesics LogComponents",
    "marey.body.root_motion": "RootMotionModes",
    "marey.body.pose_model": "PoseModel",
    "marey.statistics.processes.trend": "Trend",
    "marey.statistics.processes.process": "GaussianProcesses",
    "marey.statistics.processes.covariances": "SquaredExponential Matern12 Matern32 Matern52",
    "marey.statistics.autoregression.model": "VectorAutoregression",
    "marey.statistics.autoregression.fit": "Control",
    "marey.body.dynamics": "MotionModel",
    "marey.statistics.graphs.graph": "DistanceMatrix Windows MotionGraph Walk",
    "marey.surface.synthesis.animate": "SurfaceGraph",
    "marey.surface.synthesis.animation": "Provenance Animation AnimationReport",
}
TYPES = {name: module for module, names in MODULES.items() for name in names.split()}
# What is stored otherwise, or by other formats only.
OTHER_TYPES = {
    "CompressedMotion": "marey.body.codec.clip",
    "CompressedFields": "marey.crowd.codec.series",
    "Footage": "marey.crowd.fields",
    "Trackers": "marey.body.trackers",
    "Alarms": "marey.crowd.density.danger",
    "Camera": "marey.crowd.cameras",
    "Homography": "marey.crowd.cameras",
}
# Arrays up to this size are compared with one that is stored already, e.g. the faces of several sequences.
SHARED_UP_TO = 4 << 20


def write(data: object, path: Path) -> None:
    """Store any of the data types of `TYPES`, or a compressed one; the same data give the same bytes."""
    if isinstance(data, CompressedMotion | CompressedFields):
        with atomic_write(path) as draft:
            draft.write_bytes(data.data)
        return
    blobs = _Blobs()
    header = {"format": "marey", "version": VERSION, "content": _encode(data, blobs)}
    with atomic_write(path) as draft, zipfile.ZipFile(draft, "w") as file:
        store_bytes(file, HEADER, json.dumps(header, allow_nan=False).encode())
        for name, content in blobs.named.items():
            if isinstance(content, bytes):
                store_bytes(file, name, content)
            else:
                store_array(file, name, content)


def read(path: Path, *, compressed: bool = False) -> Any:
    """The data type a `.mry` file holds. With `compressed`, a compressed one as it is, not decoded."""
    check_readable(path)
    with path.open("rb") as file:
        first_bytes = file.read(16)
    try:
        data: object
        if first_bytes.startswith(CLIP_MAGIC):
            data = CompressedMotion(read_bytes(path))
        elif first_bytes.startswith(FIELDS_MAGIC):
            data = CompressedFields(read_bytes(path))
        else:
            data = _read_archive(path)
        if isinstance(data, CompressedMotion | CompressedFields | FourierFields):
            return data if compressed else data.decode()
    except MareyError as error:
        raise FormatError(str(error).removeprefix(f"{path}: "), path=path) from error
    if compressed:
        raise FormatError("neither a compressed clip nor compressed fields", path=path)
    return data


def is_compressed(path: Path) -> bool:
    """Whether a file is a compressed clip, by its first bytes."""
    check_readable(path)
    with path.open("rb") as file:
        return file.read(16).startswith(CLIP_MAGIC)


def read_compressed(path: Path) -> CompressedMotion:
    """A compressed clip as it is in the file; `decode` and `stream` of it give frames."""
    clip = read(path, compressed=True)
    if not isinstance(clip, CompressedMotion):
        raise FormatError("is not a compressed clip", path=path)
    return clip


def _read_archive(path: Path) -> object:
    with opened(path) as file:
        content = _header(file, path)["content"]
        try:
            return _Decoder(file, path).decode(content)
        except FormatError:
            raise
        except (MareyError, AttributeError, TypeError) as error:
            raise FormatError(f"the container's header is damaged ({error})", path=path) from error


class _Blobs:
    """Arrays and bytes to be stored, each under a name; the same content twice gets one name."""

    def __init__(self) -> None:
        self.named: dict[str, bytes | AnyArray] = {}
        self._stored: dict[tuple[object, ...], str] = {}

    def store(self, content: bytes | AnyArray) -> str:
        key: tuple[object, ...] | None
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


def _encode(value: object, blobs: _Blobs) -> object:
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
        self._read: dict[str, bytes | AnyArray] = {}

    def decode(self, node: object) -> object:
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

    def _build(self, kind: str, given: dict[str, object]) -> object:
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

    def _once(self, name: str) -> bytes | AnyArray:
        if name not in self._read:
            if name.endswith(".bin"):
                self._read[name] = self.file.read(name)
            else:
                self._read[name] = read_only(read_array(self.file, name.removesuffix(".npy"), self.path))
        return self._read[name]


def _fits(value: object, hint: Any) -> bool:
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


def _header(file: zipfile.ZipFile, path: Path) -> Json:
    if HEADER not in file.namelist():
        raise FormatError("a zip without header.json: not a marey container", path=path)
    if file.getinfo(HEADER).file_size > LIMITS.table:
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
