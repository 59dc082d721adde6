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
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Bytes, Integers
from marey.errors import FormatError, require
from marey.io._files import read_bytes
from marey.io._json import Json, decode
from marey.io._limits import LIMITS

# These hide or place the geometry; others can be ignored without moving a vertex.
DRACO = "KHR_draco_mesh_compression"
_MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")
_READ = (DRACO, "EXT_mesh_gpu_instancing", "WEB3D_quantized_attributes")
_GEOMETRY = ("_instancing", "_quantized_attributes", "_compression")
Floats = NDArray[np.float32]
Values = NDArray[np.generic]
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_DTYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_LARGEST_VALUE = {5120: 127, 5121: 255, 5122: 32767, 5123: 65535}


@dataclass(frozen=True, eq=False)
class Entry:
    """One JSON object of the file, with its place in it."""

    values: Json
    place: str
    document: Document

    @property
    def path(self) -> Path:
        """The file."""
        return self.document.path

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

    def referred(self, key: str, among: str) -> Entry | None:
        """The entry of the top-level list `among` to which `key` refers, if any."""
        entries = self.document.all(among)
        index = self.index(key, len(entries))
        return None if index is None else entries[index]

    def accessor(self, key: str) -> Entry | None:
        """The accessor to which `key` refers, if any."""
        return self.referred(key, "accessors")

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
        """A string; the default also for null."""
        value = self.values.get(key)
        value = default if value is None else value
        return value if isinstance(value, str) else self.fail(key, "should be text")

    def flag(self, key: str) -> bool:
        """True or false; false if it is not there."""
        return self.values.get(key, False) is True

    def entry(self, key: str) -> Entry:
        """An object inside this one; empty if there is none."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.fail(key, "should be an object")
        return Entry(value, f"{self.place}.{key}".lstrip("."), self.document)

    def entries(self, key: str) -> list[Entry]:
        """A list of objects inside this one; empty if there is none."""
        place = f"{self.place}.{key}".lstrip(".")
        found = [Entry(value, f"{place}[{i}]", self.document) for i, value in enumerate(self._list(key))]
        for entry in found:
            if not isinstance(entry.values, dict):
                entry.fail("", "should be an object")
        return found

    def _list(self, key: str) -> list[Json]:
        value = self.values.get(key, [])
        return value if isinstance(value, list) else self.fail(key, "should be a list")

    def _within(self, key: str, value: object, count: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(key, "should be a whole number")
        if not 0 <= value < count:
            self.fail(key, f"refers to number {str(value)[:20]} of {count}")
        return value


class Document:
    """A parsed file: its JSON and the binary chunk of a GLB; reads accessors, each buffer once."""

    def __init__(self, path: Path, values: Json, chunk: Bytes | None) -> None:
        self.path, self.root, self._chunk = path, Entry(values, "", self), chunk
        self._lists: dict[str, list[Entry]] = {}
        self._loaded: dict[Entry, Bytes] = {}
        self._decoded: dict[Entry, Values] = {}

    @property
    def is_compressed(self) -> bool:
        """Whether meshes must be decoded by Draco."""
        return any(_is_compressed(part) for mesh in self.all("meshes") for part in mesh.entries("primitives"))

    def decode(self, primitive: Entry) -> None:
        """Decode a mesh compressed by Draco; its accessors have the values from then on."""
        entry = primitive.entry("extensions").entry(DRACO)
        if "bufferView" not in entry.values or not _is_compressed(primitive):
            return
        draco = require("DracoPy", extra="draco")
        try:
            mesh = draco.decode(self.bytes_of_view(entry).tobytes())
        except Exception as error:  # the library has errors of its own
            entry.fail("bufferView", f"cannot be decoded ({' '.join(str(error).split())[:80]})")
        found: list[tuple[Entry | None, Values]] = []
        if getattr(mesh, "faces", None) is not None:
            found.append((primitive.accessor("indices"), np.asarray(mesh.faces).reshape(-1, 1)))
        stored = entry.entry("attributes")
        for name in stored.values:
            values = mesh.get_attribute_by_unique_id(stored.integer(name))
            if values is not None:
                data = np.asarray(values["data"])
                found.append((primitive.entry("attributes").accessor(name), data.reshape(len(data), -1)))
        if sum(values.size for _, values in found) > LIMITS.values:
            entry.fail("", "holds too many values")
        self._decoded |= {accessor: values for accessor, values in found if accessor is not None}

    def close(self) -> None:
        """Free the bytes now: entries refer to the document and keep it until the next collection."""
        self._chunk = None
        self._lists.clear()
        self._loaded.clear()
        self._decoded.clear()

    def all(self, key: str) -> list[Entry]:
        """One of the top-level lists: `nodes`, `meshes`, `accessors`, …"""
        if key not in self._lists:
            self._lists[key] = self.root.entries(key)
        return self._lists[key]

    def floats(self, entry: Entry, *widths: int) -> Floats:
        """Values `(count, width)` of an accessor as float32; normalised integers become 0…1 or -1…1."""
        values = self._values(entry, widths)
        component = entry.integer("componentType")
        if entry.flag("normalized") and component in _LARGEST_VALUE:
            return np.asarray(
                np.maximum(values.astype(np.float32) / np.float32(_LARGEST_VALUE[component]), -1)
            )
        width = values.shape[1]
        quantised = entry.entry("extensions").entry("WEB3D_quantized_attributes")
        matrix = quantised.numbers("decodeMatrix", (width + 1) ** 2)
        if matrix is not None:
            matrix = matrix.reshape(width + 1, width + 1)
            values = values.astype(np.float64) @ matrix[:width, :width] + matrix[width, :width]
        floats = values.astype(np.float32)
        if not np.isfinite(floats).all():
            entry.fail("", f"value {int(np.argwhere(~np.isfinite(floats))[0, 0])} is not a finite number")
        return floats

    def integers(self, entry: Entry, width: int = 1) -> Integers:
        """Values `(count, width)` of an accessor of whole numbers."""
        if entry.integer("componentType") == 5126:
            entry.fail("componentType", "should be a whole-number type")
        return self._values(entry, (width,)).astype(np.int64)

    def bytes_of_view(self, entry: Entry) -> Bytes:
        """The bytes of the buffer view that `entry` refers to."""
        view = entry.referred("bufferView", "bufferViews")
        assert view is not None
        buffer = view.referred("buffer", "buffers")
        if buffer is None:
            view.fail("buffer", "is missing")
        data = self._buffer(buffer)
        offset, length = view.integer("byteOffset", 0), view.integer("byteLength", low=1)
        if offset + length > len(data):
            view.fail("byteLength", f"reaches to byte {offset + length} of a buffer of {len(data)}")
        return data[offset : offset + length]

    def _values(self, entry: Entry, widths: tuple[int, ...]) -> Values:
        kind, component = entry.text("type"), entry.integer("componentType")
        if _WIDTHS.get(kind) not in widths:
            entry.fail("type", f"{kind[:20]!r} where {' or '.join(map(str, widths))} numbers each are needed")
        if component not in _DTYPES:
            entry.fail("componentType", f"{component} is unknown")
        width, dtype, count = _WIDTHS[kind], np.dtype(_DTYPES[component]), entry.integer("count", low=1)
        if entry in self._decoded:
            return self._decoded[entry]
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
        view, data = entry.referred("bufferView", "bufferViews"), self.bytes_of_view(entry)
        assert view is not None
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

    def _buffer(self, entry: Entry) -> Bytes:
        if entry not in self._loaded:
            if "uri" in entry.values:
                inside = entry.text("uri").startswith("data:")
                content = decoded_data_uri(entry) if inside else read_bytes(file_beside(entry))
                data = np.frombuffer(content, dtype=np.uint8)
            elif entry is self.all("buffers")[0] and self._chunk is not None:
                data = self._chunk
            else:
                entry.fail("uri", "is missing, and the file has no binary chunk for it")
            length = entry.integer("byteLength", low=1)
            if length > len(data):
                entry.fail("byteLength", f"{length} bytes are announced, there are {len(data)}")
            self._loaded[entry] = data[:length]
        return self._loaded[entry]


def open_document(path: Path) -> Document:
    """Read a `.glb` or `.gltf` file and check that it is glTF 2.0 that we can make sense of."""
    data = read_bytes(path)
    text, chunk = _glb_chunks(data, path) if data[:4] == b"glTF" else (data, None)
    document = Document(path, decode(text, Json, path), chunk)
    version = document.root.entry("asset").text("version")
    if not version.startswith("2."):
        stated = f"states version {version!r:.20}" if version else "states no asset.version"
        raise FormatError(f"is not glTF 2.0: it {stated}", path=path)
    required = document.root.values.get("extensionsRequired", [])
    for name in map(str, required if isinstance(required, list) else ()):
        if name in _MESHOPT:
            raise FormatError(
                f"is compressed with {name}, which marey does not decode; decompress it first: "
                f"npx @gltf-transform/cli copy {path.name} plain{path.suffix}",
                path=path,
            )
        if name.endswith(_GEOMETRY) and name not in _READ:
            raise FormatError(f"needs the extension {name[:60]}, which marey does not read", path=path)
    return document


def _glb_chunks(data: bytes, path: Path) -> tuple[bytes, Bytes | None]:
    if len(data) < 20:
        raise FormatError(f"the GLB header is cut off after {len(data)} bytes", path=path)
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise FormatError(f"is GLB version {version}; only version 2 is read", path=path)
    if length > len(data):
        raise FormatError(f"is cut off: the header says {length} bytes, there are {len(data)}", path=path)
    text, chunk, at = None, None, 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<I4s", data, at)
        start, stop = at + 8, at + 8 + size
        if stop > length:
            raise FormatError(f"the GLB chunk at byte {at} is cut off", path=path)
        at = stop
        if kind == b"JSON" and text is None:
            text = data[start:stop]
        elif kind == b"BIN\0" and chunk is None:
            chunk = np.frombuffer(data, dtype=np.uint8, count=stop - start, offset=start)
    if text is None:
        raise FormatError("the GLB holds no JSON chunk", path=path)
    return text, chunk


def _is_compressed(primitive: Entry) -> bool:
    """Whether the values of a mesh are there by Draco alone."""
    positions = primitive.entry("attributes").accessor("POSITION")
    bare = positions is not None and "bufferView" not in positions.values
    return bare and DRACO in primitive.entry("extensions").values


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


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
