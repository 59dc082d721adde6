"""Zarr stores (version 3) of velocity fields and of mesh sequences, compressed in chunks of a few frames.

The group's attribute `marey` holds kind, version, frame rate, frames written and name. Fields are the arrays
`velocities` `(frames, rows, columns, 2)` and, if there are, `mask` `(rows, columns)` and `presence` `(frames,
rows, columns)` uint8, and the attribute `homography`. Meshes are `vertices` `(frames, vertices, 3)` in metres
and y up, `faces` `(faces, 3)` and, if there are, `uv`, `uv_faces`, `colours` and the bytes of textures,
`texture_0` …; and the attributes `unit` and `up` of the capture. Stores of others are read too if they have
`vertices`. Captures longer than memory are written as they come (:class:`FieldWriter`, :func:`write_frames`)
and read block by block (:func:`field_blocks`, :func:`mesh_blocks`).

A place is a folder, the address of an object store that fsspec knows (`s3://…`), or a store of zarr.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from marey import _arrays
from marey._arrays import AnyArray, BoolArray, DType, FloatArray, checked, checked_rate, read_only
from marey._work import Progress
from marey.crowd.fields import FieldSeries, concatenate
from marey.errors import FormatError, InputError, MareyError
from marey.geometry.convention import Convention
from marey.io import _meshes, _zarr
from marey.io._files import Untyped, atomic_write_folder, time_facts
from marey.io._json import Json
from marey.io._limits import LIMITS
from marey.io._zarr import Place
from marey.surface.sequence import MeshSequence, Texture

VERSION = 1
CHUNK_BYTES = 4 << 20
PRECISIONS = ("float16", "float32", "float64")
FIELD_PARTS = ("zarr.json", "velocities", "presence", "mask")
"""What a field series consists of on disk."""


def read(path: Place, *, progress: Progress | None = None) -> FieldSeries | MeshSequence:
    """A field series or a mesh sequence, whole."""
    return read_meshes(path, progress=progress) if _holds_meshes(path) else read_fields(path)


def facts(path: Place) -> dict[str, object]:
    """What a store holds, from its header and at most a few of its chunks, whatever its length."""
    if _holds_meshes(path):
        store: _MeshStore | _FieldStore = _MeshStore(path)
        part: MeshSequence | FieldSeries = store.part(slice(0, 1))
    else:
        store = _FieldStore(path)
        chunks = list(store.chunks())
        part = concatenate([store.part(rows) for rows in chunks[:: -(-len(chunks) // 8)]])
    return {**part.facts(), **time_facts(store.frames, part.frame_rate)}


def _holds_meshes(path: Place) -> bool:
    with _zarr.damaged(path, "its header cannot be read"):
        return "vertices" in _zarr.opened_group(path)


def read_fields(path: Place) -> FieldSeries:
    """A field series, in memory; half precision becomes float32."""
    store = _FieldStore(path)
    size = store.bytes_of(store.frames)
    if size > LIMITS.series:
        message = f"holds {size / 1e9:.1f} GB; read it with marey.io.zarr_store.field_blocks"
        raise FormatError(message, path=path)
    return store.part(slice(0, store.frames))


def field_blocks(path: Place) -> Iterator[FieldSeries]:
    """A field series chunk by chunk, a few frames at a time."""
    store = _FieldStore(path)
    return map(store.part, store.chunks())


def read_meshes(path: Place, *, progress: Progress | None = None) -> MeshSequence:
    """A mesh sequence; more than :data:`marey._arrays.LARGEST_IN_MEMORY` bytes are a map of a scratch file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "triangle.zarr"
    >>> write(MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 25), path)
    >>> read_meshes(path).frames
    2
    """
    store = _MeshStore(path)
    vertices = _arrays.empty((store.frames, *store.array.shape[1:]), store.dtype)
    for rows in store.chunks():
        vertices[rows] = store.vertices(rows)
        if progress is not None:
            progress(rows.stop, store.frames)
    return store.sequence(vertices)


def mesh_blocks(path: Place) -> Iterator[MeshSequence]:
    """A mesh sequence chunk by chunk, a few frames at a time."""
    store = _MeshStore(path)
    return map(store.part, store.chunks())


def write(data: FieldSeries | MeshSequence, path: Place, *, progress: Progress | None = None) -> None:
    """Store a series or a sequence in its own precision; a folder appears whole or not at all."""
    if isinstance(data, MeshSequence):
        write_frames(data.vertices, path, like=data, progress=progress)
        return
    step = max(1, CHUNK_BYTES // (data.velocities.nbytes // data.frames))
    parts = (data[start : start + step] for start in range(0, data.frames, step))
    _write_fields(data, parts, data.frames, path, progress)


def write_blocks(
    blocks: Iterable[FieldSeries], frames: int, path: Path, *, progress: Progress | None = None
) -> int:
    """Write fields as they come, `frames` in all; returns bytes on disk. Only .zarr takes any length."""
    blocks = iter(blocks)
    first = next(blocks)
    check_fits(first, frames, path)
    if path.suffix.lower() == ".zarr":
        _write_fields(first, chain([first], blocks), frames, path, progress)
    else:
        from marey.io import save

        save(concatenate([first, *blocks]), path, progress=progress)
    return bytes_on_disk(path)


def _write_fields(
    like: FieldSeries, blocks: Iterable[FieldSeries], frames: int, path: Place, progress: Progress | None
) -> None:
    with _draft(path) as draft, FieldWriter.like(draft, like) as writer:
        for block in blocks:
            writer.append(block.velocities, block.foreground, block.maps)
            if progress is not None:
                progress(writer.frames, frames)


def check_fits(fields: FieldSeries, frames: int, path: Path) -> None:
    """Raise if `frames` frames of such fields are more than memory holds and `path` is not a .zarr."""
    size = fields.velocities.nbytes // fields.frames * frames
    if path.suffix.lower() != ".zarr" and size > LIMITS.series:
        raise InputError(f"{path}: {size / 1e9:.0f} GB of fields; more than memory holds, so give .zarr")


def bytes_on_disk(path: Path) -> int:
    """Size of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def write_frames(
    frames: Iterable[ArrayLike], path: Place, *, like: MeshSequence, progress: Progress | None = None
) -> int:
    """Store frames `(vertices, 3)` as they come, without ever holding more than a chunk; how many they were.

    Args:
        like: A sequence with the faces, appearance, rate, precision and name, e.g. of one frame.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rising.zarr"
    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], [[0, 1, 2]], 25)
    >>> write_frames((triangle.vertices[0] + [0, y, 0] for y in range(50)), path, like=triangle)
    50
    >>> read_meshes(path).bounds[1].tolist()
    [1.0, 50.0, 0.0]
    """
    dtype, count = like.vertices.dtype, like.vertices.shape[1]
    expected = len(frames) if isinstance(frames, np.ndarray) else 0
    with _draft(path) as draft:
        noted = {"unit": like.convention.unit, "up": like.convention.up}
        still = {name: getattr(like, name) for name in ("faces", *_MeshStore.others)}
        still |= {f"texture_{n}": np.frombuffer(t.encoded(), np.uint8) for n, t in enumerate(like.textures)}
        grows: dict[str, tuple[tuple[int, ...], DType]] = {"vertices": ((count, 3), dtype)}
        kind = _MeshStore.kind
        store = GrowingArrays.create(draft, kind, like.frame_rate, like.name, noted, still, grows)
        for number, frame in enumerate(frames):
            stored = store.stored
            store.append(vertices=checked(f"frame {number}", frame, (count, 3), dtype=dtype)[None])
            if progress is not None and store.stored > stored:
                progress(store.stored, expected)
        store.close()
        if progress is not None and store.stored:
            progress(store.stored, expected)
        if not store.stored:
            raise InputError(f"{path}: there is no frame to write")
        # Textures are one for all frames, or one each.
        if len(like.textures) not in (0, 1, store.stored):
            raise InputError(f"{path}: {len(like.textures)} textures for {store.stored} frames")
    return store.stored


class FieldWriter:
    """A field series that grows on disk, for captures longer than memory. Use as a context manager.

    Frames are stored in whole chunks. What is stored counts only once its chunk is complete, so after a
    crash the series is valid, :meth:`resume` goes on where it ended, and `frames` says where that is.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "flow.zarr"
    >>> with FieldWriter(path, rows=4, columns=6, frame_rate=25) as writer:
    ...     for _ in range(3):
    ...         writer.append(np.ones((2, 4, 6, 2)))
    >>> read_fields(path).velocities.shape
    (6, 4, 6, 2)
    """

    def __init__(
        self,
        path: Place,
        rows: int,
        columns: int,
        frame_rate: float,
        *,
        mask: BoolArray | None = None,
        homography: FloatArray | None = None,
        name: str = "",
        precision: str = "float32",
        with_foreground: bool = False,
        scale: str = "",
        maps: Sequence[str] = (),
    ) -> None:
        """A new series.

        Args:
            precision: `"float16"` halves the size of float32; its error is below 0.05 %.
            with_foreground: Whether every block comes with who is where.
            scale: As of a series.
            maps: Names of the maps that come with every block.
        """
        if precision not in PRECISIONS:
            raise InputError(f"precision {precision!r}: one of {', '.join(PRECISIONS)}")
        # The type checks mask, homography and rate; one frame of zeros stands for those to come.
        zeros = np.zeros((1, rows, columns, 2), dtype=np.float32)
        empty = FieldSeries(zeros, checked_rate(frame_rate), mask=mask, homography=homography)
        folder = path if isinstance(path, Path) and path.exists() else None
        if folder is not None and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder}: is there already; resume it or give a new name")
        arrays: dict[str, tuple[tuple[int, ...], DType]] = {
            "velocities": ((rows, columns, 2), np.dtype(precision))
        }
        if with_foreground:
            arrays["presence"] = ((rows, columns), np.dtype(np.uint8))
        arrays |= {f"map {one}": ((rows, columns), np.dtype(np.float32)) for one in maps}
        noted: dict[str, object] = {
            "homography": None if empty.homography is None else empty.homography.tolist()
        }
        noted |= {key: value for key, value in (("scale", scale), ("maps", list(maps))) if value}
        self._growing = GrowingArrays.create(
            path, _FieldStore.kind, empty.frame_rate, name, noted, {"mask": empty.mask}, arrays
        )

    @classmethod
    def like(cls, path: Place, series: FieldSeries, *, precision: str | None = None) -> FieldWriter:
        """A writer of a series of the same size, rate, mask, camera, name and, if None, precision."""
        return cls(
            path,
            series.rows,
            series.columns,
            series.frame_rate,
            mask=series.mask,
            homography=series.homography,
            name=series.name,
            precision=precision or str(series.velocities.dtype),
            with_foreground=series.foreground is not None,
            scale=series.scale,
            maps=tuple(series.maps),
        )

    @classmethod
    def resume(cls, path: Place) -> FieldWriter:
        """Go on with a series that was interrupted, or closed, after its last stored frame."""
        store = _FieldStore(path, "r+")
        store.part(slice(0, 1))
        arrays = {"velocities": store.array}
        if store.foreground is not None:
            arrays["presence"] = store.foreground
        arrays |= {f"map {name}": array for name, array in store.maps.items()}
        whole = store.frames - store.frames % store.chunk
        writer = cls.__new__(cls)
        writer._growing = GrowingArrays(store.path, store.group, arrays, store.chunk, whole)
        if whole < store.frames:
            rest = {name: np.asarray(array[whole : store.frames]) for name, array in arrays.items()}
            writer._growing.append(**rest)
        return writer

    @property
    def chunk(self) -> int:
        """Frames that are stored together."""
        return self._growing.chunk

    @property
    def frames(self) -> int:
        """Frames stored or waiting for their chunk."""
        return self._growing.stored + self._growing.waiting

    def append(
        self,
        velocities: ArrayLike,
        foreground: ArrayLike | None = None,
        maps: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Frames `(n, rows, columns, 2)` after those there are, who is where, maps `(n, rows, columns)`."""
        stored = self._growing.arrays["velocities"]
        grid = stored.shape[1:3]
        if (foreground is None) == ("presence" in self._growing.arrays):
            raise InputError("foreground: give it with every block of a series that has it, and only then")
        given = np.asarray(velocities)
        dtype = given.dtype if given.dtype == np.float32 else np.float64
        block = checked("velocities", given, (None, *grid, 2), dtype=dtype)
        with np.errstate(over="ignore"):
            block = block.astype(stored.dtype)
        if not np.isfinite(block).all():
            raise InputError(f"velocities: some are too large for {stored.dtype}")
        blocks = {"velocities": block}
        if foreground is not None:
            blocks["presence"] = checked("foreground", foreground, (len(block), *grid), dtype=np.uint8)
        for name, values in (maps or {}).items():
            blocks[f"map {name}"] = checked(name, values, (len(block), *grid), dtype=np.float32)
        self._growing.append(**blocks)

    def close(self) -> None:
        """Store what is waiting."""
        self._growing.close()

    def __enter__(self) -> FieldWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()


@dataclass
class GrowingArrays:
    """Arrays of a group that grow together along their first axis, in whole chunks."""

    place: Place
    group: Untyped
    arrays: dict[str, Untyped]
    chunk: int
    stored: int = 0
    blocks: list[dict[str, AnyArray]] = field(default_factory=list)

    @classmethod
    def create(
        cls,
        place: Place,
        kind: str,
        frame_rate: float,
        name: str,
        noted: Json,
        still: dict[str, AnyArray | None],
        growing: dict[str, tuple[tuple[int, ...], DType]],
    ) -> GrowingArrays:
        """A new store: what its header notes, arrays that stay, and shape of a frame of those that grow."""
        import zarr

        # A missing chunk then means a damaged store, not zeros.
        written: Json = {"config": {"write_empty_chunks": True}}
        shape, dtype = next(iter(growing.values()))
        chunk = max(1, CHUNK_BYTES // (math.prod(shape) * dtype.itemsize))
        with _writable(place):
            group = zarr.open_group(place, mode="w", zarr_format=3)
            facts = {"kind": kind, "version": VERSION, "frame_rate": frame_rate, "frames": 0, "name": name}
            group.attrs["marey"] = facts | noted
            for key, values in still.items():
                if values is not None and values.size:
                    data = np.ascontiguousarray(values)
                    group.create_array(key, data=data, chunks=data.shape, **written)
            arrays = {
                key: group.create_array(key, shape=(0, *one), chunks=(chunk, *one), dtype=kind, **written)
                for key, (one, kind) in growing.items()
            }
        return cls(place, group, arrays, chunk)

    @property
    def waiting(self) -> int:
        """Frames that wait for their chunk."""
        return sum(len(next(iter(block.values()))) for block in self.blocks)

    def append(self, **blocks: AnyArray) -> None:
        self.blocks.append(blocks)
        if self.waiting >= self.chunk:
            self._store(self.waiting - self.waiting % self.chunk)

    def close(self) -> None:
        if self.waiting:
            self._store(self.waiting)

    def _store(self, count: int) -> None:
        """Write the first `count` waiting frames, then count them."""
        rest = {}
        with _writable(self.place):
            for name, array in self.arrays.items():
                values = np.concatenate([block[name] for block in self.blocks])
                array.resize((self.stored + count, *array.shape[1:]))
                array[self.stored : self.stored + count] = values[:count]
                rest[name] = values[count:]
            self.stored += count
            self.group.attrs["marey"] = {**self.group.attrs["marey"], "frames": self.stored}
        self.blocks = [rest]


class _Store:
    """An opened store, after everything in its header was checked: `array` is the one that grows."""

    kind: ClassVar[str]
    main: ClassVar[str]

    def __init__(self, path: Place, mode: Literal["r", "r+"] = "r") -> None:
        self.path, self.group = path, _zarr.opened_group(path, mode)
        with _zarr.damaged(path, "is damaged: its header cannot be read"):
            noted = self.group.attrs.asdict().get("marey")
            self.ours = isinstance(noted, dict) and noted.get("kind") == self.kind
            self.noted: Json = noted if self.ours else {}
            if self.ours and self.noted.get("version") != VERSION:
                version = self.noted.get("version")
                message = f"version {version!r}; this marey reads {VERSION}: install a newer one"
                raise FormatError(message, path=path)
            self.check_kind()
            rows = int(self.noted["frames"]) if "frames" in self.noted else None
            self.array, stored = _zarr.opened_array(self.group, self.main, path, rows=rows)
            if self.array is None:
                raise FormatError(f"its {self.main} are missing", path=path)
            self.frames = self.array.shape[0] if rows is None else rows
            self.check()
            for rows_of_chunk in self.chunks() if self.ours else ():
                # A chunk that is not there would be read as zeros.
                index = (rows_of_chunk.start // self.chunk, *(0 for _ in self.array.shape[1:]))
                if self.array.metadata.encode_chunk_key(index) not in stored:
                    raise FormatError(f"the chunk of frame {rows_of_chunk.start} is missing", path=path)

    def check_kind(self) -> None:
        """Raise if a store of others is not read."""

    def check(self) -> None:
        """Raise if the array is not what it should be."""
        shape, chunks = self.array.shape, self.array.chunks
        if self.ours and chunks[1:] != shape[1:]:
            self.fail(f"its {self.main} are {shape} {self.array.dtype}, chunks {chunks}")
        if not 0 < self.frames <= shape[0]:
            self.fail(f"counts {self.frames} frames and has room for {shape[0]}")

    def fail(self, message: str) -> None:
        raise FormatError(message, path=self.path)

    @property
    def chunk(self) -> int:
        return int(self.array.chunks[0])

    def chunks(self) -> Iterator[slice]:
        for start in range(0, self.frames, self.chunk):
            yield slice(start, min(start + self.chunk, self.frames))

    def other(self, name: str) -> AnyArray | None:
        """One of the arrays that stay, if there is one."""
        with _zarr.damaged(self.path, f"its {name} cannot be read: it is damaged"):
            array, _ = _zarr.opened_array(self.group, name, self.path)
            return None if array is None else np.asarray(array[...])


class _FieldStore(_Store):
    kind, main = "FieldSeries", "velocities"

    def check_kind(self) -> None:
        if not self.ours:
            self.fail("is a zarr store, but not a field series written by marey")

    def check(self) -> None:
        shape = self.array.shape
        if len(shape) != 4 or shape[3] != 2 or min(shape[1:]) < 1 or str(self.array.dtype) not in PRECISIONS:
            self.fail(f"its velocities are {shape} {self.array.dtype}")
        super().check()
        if self.bytes_of(min(self.chunk, self.frames)) > LIMITS.series // 4:
            self.fail(f"its chunks of {self.chunk} frames are too large")
        self.foreground, _ = _zarr.opened_array(self.group, "presence", self.path, rows=self.frames)
        seen = self.foreground
        # A crash may have left room for frames that do not count yet in one of them.
        if seen is not None and not (
            seen.shape[0] >= self.frames
            and (seen.shape[1:], seen.chunks, seen.dtype) == (shape[1:3], self.array.chunks[:3], np.uint8)
        ):
            self.fail(f"its foreground is {seen.shape} {seen.dtype}, chunks {seen.chunks}")
        self.maps = {}
        for name in self.noted.get("maps", ()):
            array, _ = _zarr.opened_array(self.group, f"map {name}", self.path, rows=self.frames)
            fits = array is not None and (array.shape[1:], array.dtype) == (shape[1:3], np.float32)
            if not fits or array.shape[0] < self.frames or array.chunks[0] != self.chunk:
                self.fail(f"its map {name} is not {shape[:3]} float32")
            self.maps[str(name)] = array
        mask, _ = _zarr.opened_array(self.group, "mask", self.path)
        if mask is not None and mask.shape != shape[1:3]:
            self.fail(f"its mask is {mask.shape}")

    def bytes_of(self, frames: int) -> int:
        return int(frames * math.prod(self.array.shape[1:]) * max(4, self.array.dtype.itemsize))

    def part(self, rows: slice) -> FieldSeries:
        with _zarr.damaged(self.path, f"frames {rows.start} to {rows.stop} are damaged"):
            values = np.asarray(self.array[rows])
            values = values.astype(np.float32) if values.dtype == np.float16 else values
            mask = self.other("mask")
            try:
                return FieldSeries(
                    read_only(values),
                    self.noted["frame_rate"],
                    mask=None if mask is None else mask.astype(np.bool_),
                    homography=self.noted["homography"],
                    name=self.noted["name"],
                    foreground=None if self.foreground is None else np.asarray(self.foreground[rows]),
                    scale=self.noted.get("scale", ""),
                    maps={name: np.asarray(array[rows]) for name, array in self.maps.items()},
                )
            except MareyError as error:
                raise FormatError(str(error), path=self.path) from error


class _MeshStore(_Store):
    kind, main = "MeshSequence", "vertices"
    others: ClassVar[tuple[str, ...]] = ("uv", "uv_faces", "colours")

    def check(self) -> None:
        shape, chunks = self.array.shape, self.array.chunks
        if len(shape) != 3 or shape[2] != 3 or min(shape) < 1:
            self.fail(f"its vertices are {shape} {self.array.dtype}; expected numbers (frames, vertices, 3)")
        super().check()
        if max(chunks[0] * shape[1] * 3, math.prod(chunks)) * 8 > LIMITS.chunk:
            self.fail(f"its chunks of {chunks[0]} frames are too large")

    @property
    def dtype(self) -> DType:
        """Half precision becomes float32, whole numbers float64."""
        single = self.array.dtype.kind == "f" and self.array.dtype.itemsize <= 4
        return np.dtype(np.float32 if single else np.float64)

    def vertices(self, rows: slice) -> FloatArray:
        with _zarr.damaged(self.path, f"frames {rows.start} to {rows.stop} cannot be read"):
            return np.asarray(self.array[rows]).astype(self.dtype, copy=False)

    def part(self, rows: slice) -> MeshSequence:
        return self.sequence(self.vertices(rows), rows)

    def sequence(self, vertices: FloatArray, rows: slice | None = None) -> MeshSequence:
        """The frames in marey's axes, with everything that goes with them."""
        faces = self.other("faces")
        looks: Json = {name: self.other(name) for name in self.others}
        name = Path(str(self.path)).stem
        try:
            whole = MeshSequence(
                read_only(vertices),
                np.empty((0, 3), np.int32) if faces is None else faces,
                self.noted.get("frame_rate", _meshes.DEFAULT_RATE),
                **looks,
                textures=self._textures(rows),
                name=str(self.noted.get("name", name)),
            )
            convention = Convention(self.noted.get("unit", 1.0), self.noted.get("up", "y"))
            return replace(whole, convention=convention)
        except (MareyError, TypeError) as error:
            raise FormatError(str(error), path=self.path) from error

    def _textures(self, rows: slice | None) -> tuple[Texture, ...]:
        with _zarr.damaged(self.path, "its textures cannot be read"):
            count = sum(name.startswith("texture_") for name in self.group)
        numbers = range(count) if rows is None or count == 1 else range(count)[rows]
        found = (self.other(f"texture_{number}") for number in numbers)
        return tuple(Texture(data=data.astype(np.uint8).tobytes()) for data in found if data is not None)


def _draft(path: Place) -> AbstractContextManager[Place]:
    """Where to write: beside a folder, which is then replaced; in place elsewhere."""
    return atomic_write_folder(path) if isinstance(path, Path) else nullcontext(path)


@contextmanager
def _writable(place: Place) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror or error}") from error
