"""Building a glTF 2.0 file: arrays become aligned buffer views and accessors, the whole one GLB or JSON.

Arrays are passed on as they are handed over, to a scratch file once they are large, so little memory is
needed however many frames there are (glTF 2.0, sections 3.6 and 4.4).
"""

from __future__ import annotations

import base64
import json
import shutil
import struct
import weakref
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import __version__
from marey.errors import InputError
from marey.io._files import write_beside

VERTICES, INDICES = 34962, 34963
LARGEST_GLB = (1 << 32) - 1
LARGEST_IN_MEMORY = 64 << 20

_TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
_COMPONENTS = {"uint8": 5121, "uint16": 5123, "uint32": 5125, "float32": 5126}


class Builder:
    """A file in the making; `lists` are its top-level lists."""

    def __init__(self) -> None:
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self._content = SpooledTemporaryFile(max_size=LARGEST_IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, self._content.close)
        self._size = 0

    def add(self, kind: str, /, **entry: Any) -> int:
        """Append to a top-level list and return the index."""
        entries = self.lists.setdefault(kind, [])
        entries.append(entry)
        return len(entries) - 1

    def view(self, data: bytes | memoryview, **options: int) -> int:
        """A buffer view of its own for some bytes, aligned to 4."""
        padding = -self._size % 4
        if self._size + padding + len(data) > LARGEST_GLB - (1 << 20):
            raise InputError("this needs more than the 4 GB a GLB can hold; write fewer frames at a time")
        self._content.write(bytes(padding))
        self._content.write(data)
        self._size += padding + len(data)
        return self.add(
            "bufferViews", buffer=0, byteOffset=self._size - len(data), byteLength=len(data), **options
        )

    def accessor(
        self,
        values: NDArray[Any],
        *,
        target: int | None = None,
        bounds: bool = False,
        normalized: bool = False,
    ) -> int:
        """An accessor for rows `(count, width)` or `(count,)`; floats are stored as float32."""
        rows = values.reshape(len(values), -1)
        if rows.dtype.kind == "f":
            with np.errstate(over="ignore"):
                rows = rows.astype(np.float32)
            if not np.isfinite(rows).all():
                raise InputError("glTF: a value is too large for 32-bit numbers")
        count, width = rows.shape
        size, options = rows.itemsize * width, {} if target is None else {"target": target}
        if target == VERTICES and size % 4:
            rows = np.pad(rows, ((0, 0), (0, -size % 4 // rows.itemsize)))
            options["byteStride"] = rows.itemsize * rows.shape[1]
        entry: dict[str, Any] = {
            "bufferView": self.view(np.ascontiguousarray(rows).data.cast("B"), **options),
            "componentType": _COMPONENTS[rows.dtype.name],
            "count": count,
            "type": _TYPES[width],
        }
        if normalized:
            entry["normalized"] = True
        if bounds:
            entry["min"], entry["max"] = rows.min(axis=0).tolist(), rows.max(axis=0).tolist()
        return self.add("accessors", **entry)

    def save(self, path: Path, *, roots: list[int]) -> None:
        """Write `.glb`, or `.gltf` with everything inside; `roots` are the nodes of the scene."""
        document: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": f"marey {__version__}"},
            "scene": 0,
            "scenes": [{"nodes": roots}],
            **self.lists,
        }
        buffer: dict[str, Any] = {"byteLength": self._size}
        document["buffers"] = [buffer]
        with write_beside(path) as draft:
            if path.suffix.lower() == ".glb":
                self._save_glb(draft, document)
            else:
                self._content.seek(0)
                data = base64.b64encode(self._content.read()).decode("ascii")
                buffer["uri"] = f"data:application/octet-stream;base64,{data}"
                draft.write_text(json.dumps(document), encoding="utf-8")

    def _save_glb(self, draft: Path, document: dict[str, Any]) -> None:
        text = json.dumps(document, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        tail = -self._size % 4
        length = 12 + 8 + len(text) + 8 + self._size + tail
        if length > LARGEST_GLB:
            raise InputError("this needs more than the 4 GB a GLB can hold; write fewer frames at a time")
        with draft.open("wb") as file:
            file.write(b"glTF" + struct.pack("<II", 2, length))
            file.write(struct.pack("<I4s", len(text), b"JSON") + text)
            file.write(struct.pack("<I4s", self._size + tail, b"BIN\0"))
            self._content.seek(0)
            shutil.copyfileobj(self._content, file, 1 << 20)
            file.write(bytes(tail))
