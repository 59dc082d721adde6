"""Mesh sequences on disk as a zarr store (version 3), compressed in chunks of a few frames.

Arrays: `vertices` `(frames, vertices, 3)` in metres and y up, `faces` `(faces, 3)` and, if there are, `uv`,
`uv_faces`, `colours` and the bytes of textures, `texture_0` …; the group's attribute `marey` holds kind,
version, frame rate, unit and up axis of the capture, and name. Stores of others are read too if they have
`vertices`. Captures longer than memory are written from frames as they come (:func:`write_frames`) and read
block by block (:func:`blocks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey import _scratch
from marey._arrays import FloatArray, checked, handed_over
from marey._progress import Progress
from marey.errors import FormatError, InputError, MareyError
from marey.geometry.convention import Convention
from marey.io import _meshes, _zarr
from marey.io._files import write_folder_beside
from marey.surface.sequence import MeshSequence
from marey.surface.texture import Texture

KIND, VERSION = "MeshSequence", 1
CHUNK_BYTES = 4 << 20
# The most of a store's chunk that is unpacked at once.
LARGEST_CHUNK = 1 << 30
OTHERS = ("uv", "uv_faces", "colours")


def is_mesh(path: Path) -> bool:
    """Whether a zarr store is one of meshes."""
    return (path / "vertices").is_dir()


def read(path: Path, *, progress: Progress | None = None) -> MeshSequence:
    """All frames; more than :data:`marey._scratch.LARGEST_IN_MEMORY` bytes are a map of a scratch file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "triangle.zarr"
    >>> write(MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 25), path)
    >>> read(path).frames
    2
    """
    store = _Store(Path(path))
    vertices = _scratch.empty(store.shape, store.dtype)
    for rows in store.chunks():
        vertices[rows] = store.vertices(rows)
        if progress is not None:
            progress(rows.stop, store.shape[0])
    return store.sequence(vertices)


def blocks(path: Path) -> Iterator[MeshSequence]:
    """The sequence chunk by chunk, a few frames at a time."""
    store = _Store(Path(path))
    for rows in store.chunks():
        yield store.sequence(store.vertices(rows), rows)


def write(sequence: MeshSequence, path: Path, *, progress: Progress | None = None) -> None:
    """Store a sequence in its own precision; it appears whole or not at all."""
    write_frames(sequence.vertices, path, like=sequence, progress=progress)


def write_frames(
    frames: Iterable[ArrayLike], path: Path, *, like: MeshSequence, progress: Progress | None = None
) -> int:
    """Store frames `(vertices, 3)` as they come, without ever holding more than a chunk; how many they were.

    like: a sequence with the faces, the appearance, the rate, the precision and the name, e.g. of one frame

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rising.zarr"
    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], [[0, 1, 2]], 25)
    >>> write_frames((triangle.vertices[0] + [0, y, 0] for y in range(50)), path, like=triangle)
    50
    >>> read(path).bounds[1].tolist()
    [1.0, 50.0, 0.0]
    """
    dtype, count = like.vertices.dtype, like.vertices.shape[1]
    chunk = max(1, CHUNK_BYTES // (count * 3 * dtype.itemsize))
    done, expected = 0, len(frames) if isinstance(frames, np.ndarray) else 0
    with write_folder_beside(Path(path)) as draft:
        array = _created(draft, like, chunk)
        waiting: list[FloatArray] = []

        def store() -> None:
            array.resize((done, count, 3))
            array[done - len(waiting) :] = np.stack(waiting)
            waiting.clear()
            if progress is not None:
                progress(done, expected)

        for frame in frames:
            waiting.append(checked(f"frame {done}", frame, (count, 3), dtype=dtype))
            done += 1
            if len(waiting) == chunk:
                store()
        if waiting:
            store()
        if not done:
            raise InputError(f"{path}: there is no frame to write")
        # Textures are one for all frames, or one each.
        if len(like.textures) not in (0, 1, done):
            raise InputError(f"{path}: {len(like.textures)} textures for {done} frames")
    return done


def _created(folder: Path, like: MeshSequence, chunk: int) -> Any:
    """The store's group with everything but frames; its array of vertices."""
    import zarr

    group = zarr.open_group(folder, mode="w", zarr_format=3)
    # A missing chunk then means a damaged store, not zeros.
    written: dict[str, Any] = {"config": {"write_empty_chunks": True}}
    convention = like.convention
    group.attrs["marey"] = {
        "kind": KIND,
        "version": VERSION,
        "frame_rate": like.frame_rate,
        "unit": convention.unit,
        "up": convention.up,
        "name": like.name,
    }
    for name in ("faces", *OTHERS):
        if (values := getattr(like, name)) is not None and values.size:
            group.create_array(name, data=np.ascontiguousarray(values), chunks=values.shape, **written)
    for number, texture in enumerate(like.textures):
        group.create_array(f"texture_{number}", data=np.frombuffer(texture.encoded(), np.uint8), **written)
    count, dtype = like.vertices.shape[1], like.vertices.dtype
    shape = (chunk, count, 3)
    return group.create_array("vertices", shape=(0, count, 3), chunks=shape, dtype=dtype, **written)


class _Store:
    """An opened store, after everything in its header was checked."""

    def __init__(self, path: Path) -> None:
        self.path, self.group = path, _zarr.open_group(path)
        with _zarr.damaged(path, "its header cannot be read"):
            noted = self.group.attrs.asdict().get("marey")
            self.ours = isinstance(noted, dict) and noted.get("kind") == KIND
            self.noted: dict[str, Any] = noted if self.ours and isinstance(noted, dict) else {}
            if self.ours and self.noted.get("version") != VERSION:
                raise FormatError(
                    f"version {self.noted.get('version')!r}; this marey reads {VERSION}: install a newer one",
                    path=path,
                )
            self.array = _zarr.open_array(self.group, "vertices", path)
            self._check()

    @property
    def shape(self) -> tuple[int, int, int]:
        frames, count, width = self.array.shape
        return frames, count, width

    @property
    def dtype(self) -> np.dtype[Any]:
        """Half precision becomes float32, whole numbers float64."""
        single = self.array.dtype.kind == "f" and self.array.dtype.itemsize <= 4
        return np.dtype(np.float32 if single else np.float64)

    def chunks(self) -> Iterator[slice]:
        frames, step = self.shape[0], int(self.array.chunks[0])
        for start in range(0, frames, step):
            yield slice(start, min(start + step, frames))

    def vertices(self, rows: slice) -> FloatArray:
        with _zarr.damaged(self.path, f"frames {rows.start} to {rows.stop} cannot be read"):
            return np.asarray(self.array[rows]).astype(self.dtype, copy=False)

    def sequence(self, vertices: FloatArray, rows: slice | None = None) -> MeshSequence:
        """The frames in marey's axes, with everything that goes with them."""
        others = {name: self._other(name) for name in OTHERS}
        faces = self._other("faces")
        textures = self._textures(rows)
        try:
            whole = MeshSequence(
                handed_over(vertices),
                np.empty((0, 3), np.int32) if faces is None else faces,
                self.noted.get("frame_rate", _meshes.DEFAULT_RATE),
                **others,
                textures=textures,
                name=str(self.noted.get("name", self.path.stem)),
            )
            convention = Convention(self.noted.get("unit", 1.0), self.noted.get("up", "y"))
            return replace(whole, convention=convention)
        except (MareyError, TypeError) as error:
            raise FormatError(str(error), path=self.path) from error

    def _textures(self, rows: slice | None) -> tuple[Texture, ...]:
        count = sum(folder.name.startswith("texture_") for folder in self.path.iterdir())
        numbers = range(count)
        if rows is not None and count > 1:
            numbers = numbers[rows]
        found = (self._other(f"texture_{number}") for number in numbers)
        return tuple(Texture(data=data.astype(np.uint8).tobytes()) for data in found if data is not None)

    def _other(self, name: str) -> Any:
        with _zarr.damaged(self.path, f"its {name} cannot be read"):
            array = _zarr.open_array(self.group, name, self.path)
            return None if array is None else np.asarray(array[...])

    def _check(self) -> None:
        if self.array is None:
            raise FormatError("its vertices are missing", path=self.path)
        shape, chunks, dtype = self.array.shape, self.array.chunks, self.array.dtype
        if len(shape) != 3 or shape[2] != 3 or min(shape) < 1:
            raise FormatError(
                f"its vertices are {shape} {dtype}; expected numbers (frames, vertices, 3)", path=self.path
            )
        if chunks[0] * shape[1] * 3 * 8 > LARGEST_CHUNK or int(np.prod(chunks)) * 8 > LARGEST_CHUNK:
            raise FormatError(f"its chunks of {chunks[0]} frames are too large", path=self.path)
        if self.ours and chunks[1:] != shape[1:]:
            raise FormatError(f"its chunks are {chunks} of {shape}", path=self.path)
        for rows in self.chunks() if self.ours else ():
            # A chunk that is not there would be read as zeros.
            if not (self.path / "vertices" / "c" / str(rows.start // chunks[0]) / "0" / "0").is_file():
                raise FormatError(f"the chunk of frame {rows.start} is missing", path=self.path)
