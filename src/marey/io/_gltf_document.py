"""A glTF 2.0 file as checked values: the GLB or JSON container, its objects, its buffers and accessors.

Nothing in the file is trusted: every number, index and list is checked when it is taken, and the error
names its place (`accessors[3].count`). Every size is checked against the bytes that are really there before
anything is allocated, and files beside the document are opened only inside its own folder (glTF 2.0,
sections 2.8, 3, 3.6 and 4.4). Cost: one parse of the JSON text and one copy of the values asked for.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Bytes, Integers
from marey.errors import FormatError
from marey.io._files import read_bytes
from marey.io._json import decode
from marey.io._limits import LIMITS

# These hide the geometry itself; any other extension can be ignored without moving a vertex.
_COMPRESSIONS = ("KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression")
Floats = NDArray[np.float32]
Values = NDArray[np.generic]
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_DTYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_LARGEST_VALUE = {5120: 127, 5121: 255, 5122: 32767, 5123: 65535}


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

    def numbers(self, key: str, count: int) -> Array | None:
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
    root = Entry(decode(text, dict[str, Any], path), "", path)
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


class Buffers:
    """Reads accessors of one document; each buffer is loaded once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._loaded: dict[int, Bytes] = {}

    def floats(self, index: int, *widths: int) -> Floats:
        """Values `(count, width)` of an accessor as float32; normalised integers become 0…1 or -1…1."""
        entry = self._document.all("accessors")[index]
        values = self._values(entry, widths)
        component = entry.integer("componentType")
        if entry.flag("normalized") and component in _LARGEST_VALUE:
            return np.maximum(values.astype(np.float32) / np.float32(_LARGEST_VALUE[component]), -1)
        floats = values.astype(np.float32)
        if not np.isfinite(floats).all():
            entry.fail("", f"value {int(np.argwhere(~np.isfinite(floats))[0, 0])} is not a finite number")
        return floats

    def integers(self, index: int, width: int = 1) -> Integers:
        """Values `(count, width)` of an accessor of whole numbers."""
        entry = self._document.all("accessors")[index]
        if entry.integer("componentType") == 5126:
            entry.fail("componentType", "should be a whole-number type")
        return self._values(entry, (width,)).astype(np.int64)

    def count(self, index: int) -> int:
        """How many elements an accessor has."""
        return self._document.all("accessors")[index].integer("count", low=1)

    def bytes_of_view(self, entry: Entry, key: str = "bufferView") -> Bytes | None:
        """The bytes of the buffer view that `entry` refers to, if it does."""
        view = self._document.referred(entry, key, "bufferViews")
        return None if view is None else self._view(view)

    def _values(self, entry: Entry, widths: tuple[int, ...]) -> Values:
        kind, component = entry.text("type"), entry.integer("componentType")
        if _WIDTHS.get(kind) not in widths:
            entry.fail("type", f"{kind[:20]!r} where {' or '.join(map(str, widths))} numbers each are needed")
        if component not in _DTYPES:
            entry.fail("componentType", f"{component} is unknown")
        width, dtype, count = _WIDTHS[kind], np.dtype(_DTYPES[component]), entry.integer("count", low=1)
        if "bufferView" in entry.values:
            values = self._strided(entry, width, dtype, count)
        elif count * width > LIMITS.vertices:  # nothing in the file bounds how many
            entry.fail("count", f"{count} values that are stored nowhere")
        else:
            values = np.zeros((count, width), dtype)
        if "sparse" in entry.values:
            values = self._patched(values, entry.entry("sparse"))
        return values

    def _strided(self, entry: Entry, width: int, dtype: np.dtype[np.generic], count: int) -> Values:
        view = self._document.referred(entry, "bufferView", "bufferViews")
        assert view is not None
        data = self._view(view)
        size = width * dtype.itemsize
        stride = view.integer("byteStride", size, low=1, high=1 << 16)
        offset = entry.integer("byteOffset", 0)
        if offset + (count - 1) * stride + size > len(data):
            entry.fail("count", f"{count} elements reach beyond the {len(data)} bytes of their buffer view")
        return np.ndarray((count, width), dtype, data.data, offset, (stride, dtype.itemsize))

    def _patched(self, values: Values, sparse: Entry) -> Values:
        """The values with those replaced that the sparse part lists."""
        count = sparse.integer("count", low=1, high=len(values))
        where, what = sparse.entry("indices"), sparse.entry("values")
        component = where.integer("componentType")
        if component not in (5121, 5123, 5125):
            where.fail("componentType", "should be an unsigned type")
        if "bufferView" not in where.values or "bufferView" not in what.values:
            sparse.fail("", "needs buffer views for its indices and values")
        rows = self._strided(where, 1, np.dtype(_DTYPES[component]), count)[:, 0].astype(np.int64)
        if rows.max() >= len(values):
            where.fail("", f"refers to element {rows.max()} of {len(values)}")
        patched = values.copy()
        patched[rows] = self._strided(what, values.shape[1], values.dtype, count)
        return patched

    def _view(self, view: Entry) -> Bytes:
        index = view.index("buffer", len(self._document.all("buffers")))
        if index is None:
            view.fail("buffer", "is missing")
        data = self._buffer(index)
        offset, length = view.integer("byteOffset", 0), view.integer("byteLength", low=1)
        if offset + length > len(data):
            view.fail("byteLength", f"reaches to byte {offset + length} of a buffer of {len(data)}")
        return data[offset : offset + length]

    def _buffer(self, index: int) -> Bytes:
        if index not in self._loaded:
            entry = self._document.all("buffers")[index]
            if "uri" in entry.values:
                data = np.frombuffer(self._fetched(entry), dtype=np.uint8)
            elif index == 0 and self._document.chunk is not None:
                data = self._document.chunk
            else:
                entry.fail("uri", "is missing, and the file has no binary chunk for it")
            length = entry.integer("byteLength", low=1)
            if length > len(data):
                entry.fail("byteLength", f"{length} bytes are announced, there are {len(data)}")
            self._loaded[index] = data[:length]
        return self._loaded[index]

    def _fetched(self, entry: Entry) -> bytes:
        uri = entry.text("uri")
        return decoded_data_uri(entry) if uri.startswith("data:") else read_bytes(file_beside(entry))


def decoded_data_uri(entry: Entry) -> bytes:
    """The bytes that a `data:` address of `entry.uri` holds in itself."""
    head, _, text = entry.text("uri").partition(",")
    if not head.endswith(";base64"):
        entry.fail("uri", "should be base64 data")
    try:
        return base64.b64decode(unquote(text), validate=True)
    except (binascii.Error, ValueError):
        entry.fail("uri", "is broken base64 data")


def file_beside(entry: Entry) -> Path:
    """The file that `entry.uri` names, which must lie in the document's own folder."""
    uri = entry.text("uri")
    shown = uri[:80]
    if not uri or "\0" in uri or ":" in uri.split("/")[0] or "\\" in uri:
        entry.fail("uri", f"{shown!r} is not a file name; only files beside the document are read")
    folder = entry.path.parent.resolve()
    try:
        file = (folder / unquote(uri)).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise FormatError(f"{entry.place}.uri: {shown!r} cannot be opened", path=entry.path) from error
    if not file.is_relative_to(folder):
        entry.fail("uri", f"{shown!r} lies outside the document's folder; it is not opened")
    return file
