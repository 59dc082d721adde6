"""marey's own file, `.mry`: a zip of `.npy` arrays and one JSON header. Versioned, self-contained, no pickle.

`header.json` is a tree of plain values; a dataclass in it is `{"type": name, "fields": {…}}`, an array
`{"array": "2.npy"}`, bytes `{"bytes": "3.bin"}`. Only the types listed in `TYPES` are ever built, through
their constructors, which validate. Cost: linear in the bytes stored.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from marey.errors import FormatError, InputError, MareyError
from marey.io._files import check_readable, write_beside
from marey.surface.texture import Texture

VERSION = 1
HEADER = "header.json"
LARGEST_HEADER = 64 << 20
# Deflate reaches 1000:1 on zeros; more than this in total, from so small a file, is no motion.
LARGEST_RATIO, ALWAYS_ALLOWED = 200, 256 << 20

TYPES: dict[str, str] = {
    "Convention": "marey.geometry.convention",
    "Skeleton": "marey.body.skeleton",
    "Motion": "marey.body.motion",
    "Markers": "marey.body.markers",
    "Texture": "marey.surface.texture",
    "MeshSequence": "marey.surface.sequence",
    "SkinnedMesh": "marey.surface.skin",
    "Character": "marey.character",
    "Tracks": "marey.crowd.tracks",
    "FieldSeries": "marey.crowd.fields",
}


def write(thing: Any, path: Path) -> None:
    """Store any of the data types of `TYPES`; the same thing gives the same bytes."""
    blobs: dict[str, bytes] = {}
    header = {"format": "marey", "version": VERSION, "content": _encode(thing, blobs)}
    with (
        write_beside(path) as draft,
        zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
    ):
        for name, data in {HEADER: json.dumps(header, allow_nan=False).encode(), **blobs}.items():
            # A fixed date, so that equal content gives equal files.
            file.writestr(zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def read(path: Path) -> Any:
    """The data type a `.mry` file holds."""
    check_readable(path)
    try:
        with zipfile.ZipFile(path) as file:
            _check_size(file, path)
            header = _header(file, path)
            return _decode(header["content"], file, path)
    except MareyError as error:
        raise error if isinstance(error, FormatError) else FormatError(str(error), path=path) from error
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise FormatError(f"not a marey container, or a damaged one ({error})", path=path) from error
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"the container's header is damaged ({error})", path=path) from error


def _encode(value: Any, blobs: dict[str, bytes]) -> Any:
    if isinstance(value, Texture):
        # A texture on disk travels inside the container.
        return {"type": "Texture", "fields": {"data": _encode(value.encoded(), blobs)}}
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        if kind not in TYPES:
            raise InputError(f"a {kind} cannot be stored in a .mry file")
        return {
            "type": kind,
            "fields": {f.name: _encode(getattr(value, f.name), blobs) for f in fields(value)},
        }
    if isinstance(value, np.ndarray):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(value), allow_pickle=False)
        return {"array": _store(buffer.getvalue(), ".npy", blobs)}
    if isinstance(value, bytes):
        return {"bytes": _store(value, ".bin", blobs)}
    if isinstance(value, tuple | list):
        return [_encode(item, blobs) for item in value]
    if isinstance(value, dict):
        return {"map": {str(key): _encode(item, blobs) for key, item in value.items()}}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _store(data: bytes, ending: str, blobs: dict[str, bytes]) -> str:
    name = f"{len(blobs)}{ending}"
    blobs[name] = data
    return name


def _decode(node: Any, file: zipfile.ZipFile, path: Path) -> Any:
    if isinstance(node, list):
        return tuple(_decode(item, file, path) for item in node)
    if not isinstance(node, dict):
        return node
    if "type" in node:
        kind = node["type"]
        if kind not in TYPES:
            raise FormatError(f"holds a {kind!r}, which this version of marey does not know", path=path)
        cls = getattr(import_module(TYPES[kind]), kind)
        known = {f.name for f in fields(cls)}
        values = {name: _decode(value, file, path) for name, value in node["fields"].items()}
        unknown = set(values) - known
        if unknown:
            raise FormatError(f"a {kind} with unknown fields {sorted(unknown)}", path=path)
        return cls(**values)
    if "array" in node:
        return _array(node["array"], file, path)
    if "bytes" in node:
        return file.read(node["bytes"])
    return {key: _decode(value, file, path) for key, value in node["map"].items()}


def _array(name: str, file: zipfile.ZipFile, path: Path) -> np.ndarray[Any, Any]:
    with file.open(name) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read_header(stream)
        if dtype.kind not in "fiub":
            raise FormatError(f"array {name} holds {dtype}, not numbers", path=path)
        declared = int(np.prod(shape, dtype=object)) * dtype.itemsize
        data = stream.read(min(declared, file.getinfo(name).file_size) + 1)
    if len(data) != declared:
        raise FormatError(f"array {name} declares {declared} bytes and holds {len(data)}", path=path)
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if fortran else "C")


def _check_size(file: zipfile.ZipFile, path: Path) -> None:
    total = sum(entry.file_size for entry in file.infolist())
    if total > max(ALWAYS_ALLOWED, LARGEST_RATIO * path.stat().st_size):
        raise FormatError(f"would unpack to {total / 1e9:.1f} GB: refused as a zip bomb", path=path)


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
