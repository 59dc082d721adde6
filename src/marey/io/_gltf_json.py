"""The outer layer of a glTF 2.0 file: the GLB or JSON container, and checked access to what it says.

Nothing in the file is trusted: every number, index and list is checked when it is taken, and the error
names its place (`accessors[3].count`). Cost: one parse of the JSON text (glTF 2.0, sections 3 and 4.4).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from marey.errors import FormatError
from marey.io._files import read_bytes

Bytes = NDArray[np.uint8]
Vector = NDArray[np.float64]

# These hide the geometry itself; any other extension can be ignored without moving a vertex.
_COMPRESSIONS = ("KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression")


@dataclass(frozen=True)
class Entry:
    """One JSON object of the file, with its place in it."""

    values: dict[str, Any]
    place: str
    path: Path

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise a :class:`FormatError` about one of the values."""
        place = f"{self.place}.{key}".strip(".")
        raise FormatError(f"{place}: {message}" if place else message, path=self.path)

    def integer(self, key: str, default: int | None = None, *, low: int = 0, high: int = 1 << 40) -> int:
        """A whole number in low…high; it must be there unless there is a default."""
        value = self.values.get(key, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(key, "is missing" if value is None else "should be a whole number")
        if not low <= value <= high:
            self.fail(key, f"is {str(value)[:20]}, should be {low}…{high}")
        return value

    def index(self, key: str, count: int) -> int | None:
        """A reference to one of `count` things, or None if there is none."""
        return None if key not in self.values else self._within(key, self.values[key], count)

    def indices(self, key: str, count: int) -> list[int]:
        """A list of references to `count` things; empty if there is none."""
        return [self._within(f"{key}[{i}]", value, count) for i, value in enumerate(self._list(key))]

    def numbers(self, key: str, count: int) -> Vector | None:
        """`count` finite numbers as an array, or None if there are none."""
        if key not in self.values:
            return None
        values = self._list(key)
        if len(values) != count or not all(_is_number(value) for value in values):
            self.fail(key, f"should be {count} finite numbers")
        return np.array(values, dtype=np.float64)

    def number(self, key: str) -> float | None:
        """A finite number, or None if there is none."""
        value = self.values.get(key)
        if value is not None and not _is_number(value):
            self.fail(key, "should be a finite number")
        return None if value is None else float(value)

    def text(self, key: str, default: str = "") -> str:
        """A string."""
        value = self.values.get(key, default)
        return value if isinstance(value, str) else self.fail(key, "should be text")

    def flag(self, key: str) -> bool:
        """True or false; false if it is not there."""
        return self.values.get(key, False) is True

    def entry(self, key: str) -> Entry:
        """An object inside this one; empty if there is none."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.fail(key, "should be an object")
        return Entry(value, f"{self.place}.{key}".lstrip("."), self.path)

    def entries(self, key: str) -> list[Entry]:
        """A list of objects inside this one; empty if there is none."""
        place = f"{self.place}.{key}".lstrip(".")
        found = [Entry(value, f"{place}[{i}]", self.path) for i, value in enumerate(self._list(key))]
        for entry in found:
            if not isinstance(entry.values, dict):
                entry.fail("", "should be an object")
        return found

    def _list(self, key: str) -> list[Any]:
        value = self.values.get(key, [])
        return value if isinstance(value, list) else self.fail(key, "should be a list")

    def _within(self, key: str, value: Any, count: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(key, "should be a whole number")
        if not 0 <= value < count:
            self.fail(key, f"refers to number {str(value)[:20]} of {count}")
        return value


@dataclass(frozen=True)
class Document:
    """A parsed file: its JSON, the binary chunk of a GLB, and its top-level lists."""

    path: Path
    root: Entry
    chunk: Bytes | None
    _lists: dict[str, list[Entry]] = field(default_factory=dict)

    def all(self, key: str) -> list[Entry]:
        """One of the top-level lists: `nodes`, `meshes`, `accessors`, …"""
        if key not in self._lists:
            self._lists[key] = self.root.entries(key)
        return self._lists[key]

    def referred(self, by: Entry, key: str, among: str) -> Entry | None:
        """The entry of the list `among` that `by` refers to under `key`, if any."""
        index = by.index(key, len(self.all(among)))
        return None if index is None else self.all(among)[index]


def open_document(path: Path) -> Document:
    """Read a `.glb` or `.gltf` file and check that it is glTF 2.0 that we can make sense of."""
    data = read_bytes(path)
    text, chunk = _glb_chunks(data, path) if data[:4] == b"glTF" else (data, None)
    root = Entry(_parsed(text, path), "", path)
    _check_version(root)
    _check_compression(root)
    return Document(path, root, chunk)


def _glb_chunks(data: bytes, path: Path) -> tuple[bytes, Bytes | None]:
    if len(data) < 20:
        raise FormatError(f"the GLB header is cut off after {len(data)} bytes", path=path)
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise FormatError(f"is GLB version {version}; only version 2 is read", path=path)
    if length > len(data):
        raise FormatError(f"is cut off: the header says {length} bytes, there are {len(data)}", path=path)
    text, chunk = None, None
    for kind, start, stop in _chunk_bounds(data, length, path):
        if kind == b"JSON" and text is None:
            text = data[start:stop]
        elif kind == b"BIN\0" and chunk is None:
            chunk = np.frombuffer(data, dtype=np.uint8, count=stop - start, offset=start)
    if text is None:
        raise FormatError("the GLB holds no JSON chunk", path=path)
    return text, chunk


def _chunk_bounds(data: bytes, length: int, path: Path) -> Iterator[tuple[bytes, int, int]]:
    at = 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<I4s", data, at)
        if at + 8 + size > length:
            raise FormatError(f"the GLB chunk at byte {at} is cut off", path=path)
        yield kind, at + 8, at + 8 + size
        at += 8 + size


def _parsed(text: bytes, path: Path) -> dict[str, Any]:
    try:
        root = json.loads(text.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise FormatError(f"is neither GLB nor JSON text (byte {error.start})", path=path) from error
    except json.JSONDecodeError as error:
        raise FormatError(f"broken JSON: {error.msg}", path=path, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"broken JSON: {error}", path=path) from error
    if not isinstance(root, dict):
        raise FormatError("the JSON should be an object", path=path)
    return root


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _check_version(root: Entry) -> None:
    version = root.entry("asset").text("version")
    if not version.startswith("2."):
        stated = f"states version {version!r:.20}" if version else "states no asset.version"
        raise FormatError(f"is not glTF 2.0: it {stated}", path=root.path)


def _check_compression(root: Entry) -> None:
    required = root.values.get("extensionsRequired", [])
    for extension in _COMPRESSIONS:
        if isinstance(required, list) and extension in required:
            raise FormatError(
                f"is compressed with {extension}, which marey does not decode; decompress it first: "
                f"npx @gltf-transform/cli copy {root.path.name} plain{root.path.suffix}",
                path=root.path,
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
