"""The numbers of a glTF file: buffers, views into them, and accessors with strides and sparse parts.

Every size is checked against the bytes that are really there before anything is allocated, and files
beside the document are opened only inside its own folder (glTF 2.0, sections 2.8, 3.6). Cost: one copy of
the values that are asked for.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from marey.errors import FormatError
from marey.io._files import read_bytes
from marey.io._gltf_json import Bytes, Document, Entry

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Values = NDArray[np.generic]

_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_DTYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_LARGEST_VALUE = {5120: 127, 5121: 255, 5122: 32767, 5123: 65535}

# An accessor without a buffer view is all zeros: nothing in the file bounds how many.
_MOST_ZEROS = 1 << 24


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
        elif count * width > _MOST_ZEROS:
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
