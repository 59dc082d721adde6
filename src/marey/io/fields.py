"""Velocity fields on disk as a zarr store (version 3), compressed in chunks of a few frames.

The group's attribute `marey` holds kind, version, frame rate, frames written, homography and name; the
arrays are `velocities` `(frames, rows, columns, 2)` and, if there are, `mask` `(rows, columns)` and
`presence` `(frames, rows, columns)` uint8. Captures
longer than memory are written and read block by block (:class:`FieldWriter`, :func:`blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, FloatArray, checked, checked_rate, handed_over
from marey._progress import Progress
from marey.crowd.fields import FieldSeries
from marey.errors import FormatError, InputError, MareyError
from marey.io import _zarr
from marey.io._files import write_folder_beside

KIND, VERSION = "FieldSeries", 1
CHUNK_BYTES = 4 << 20
LARGEST_SERIES = 8 << 30
Precision = Literal["float16", "float32", "float64"]
PRECISIONS = ("float16", "float32", "float64")
PARTS = ("zarr.json", "velocities", "presence", "mask")
"""What a series consists of on disk."""


def read(path: Path) -> FieldSeries:
    """A field series, whole and in memory; half precision becomes float32."""
    store = _Store.open(Path(path))
    if store.bytes_of(store.frames) > LARGEST_SERIES:
        raise FormatError(
            f"holds {store.bytes_of(store.frames) / 1e9:.1f} GB; read it with marey.io.fields.blocks",
            path=path,
        )
    return store.series(0, store.frames)


def blocks(path: Path) -> Iterator[FieldSeries]:
    """The series chunk by chunk, a few frames at a time."""
    store = _Store.open(Path(path))
    for start in range(0, store.frames, store.chunk):
        yield store.series(start, min(start + store.chunk, store.frames))


def write(
    fields: FieldSeries,
    path: Path,
    *,
    precision: Precision | None = None,
    progress: Progress | None = None,
) -> None:
    """Store a series; it appears whole or not at all.

    precision: `"float16"` halves the size of float32 (error below 0.05 %); None keeps what it has
    """
    with (
        write_folder_beside(Path(path)) as draft,
        FieldWriter(
            draft,
            fields.rows,
            fields.columns,
            fields.frame_rate,
            mask=fields.mask,
            homography=fields.homography,
            name=fields.name,
            precision=precision or str(fields.velocities.dtype),  # type: ignore[arg-type]
            with_presence=fields.presence is not None,
        ) as writer,
    ):
        for start in range(0, fields.frames, writer.chunk):
            part = slice(start, start + writer.chunk)
            presence = None if fields.presence is None else fields.presence[part]
            writer.append(fields.velocities[part], presence)
            if progress is not None:
                progress(min(start + writer.chunk, fields.frames), fields.frames)


@dataclass
class FieldWriter:
    """A series that grows on disk, for captures longer than memory. Use as a context manager.

    Frames are stored in whole chunks. What is stored counts only once its chunk is complete, so after a
    crash the series is valid, :meth:`resume` goes on where it ended, and `frames` says where that is.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "flow.zarr"
    >>> with FieldWriter(path, rows=4, columns=6, frame_rate=25) as writer:
    ...     for _ in range(3):
    ...         writer.append(np.ones((2, 4, 6, 2)))
    >>> read(path).velocities.shape
    (6, 4, 6, 2)
    """

    path: Path
    rows: int
    columns: int
    frame_rate: float
    mask: ArrayLike | None = None
    homography: ArrayLike | None = None
    name: str = ""
    precision: Precision = "float32"
    with_presence: bool = False
    """Whether every block comes with who is where."""
    frames: int = field(default=0, init=False)
    """Frames stored or waiting for their chunk."""
    _array: Any = field(default=None, init=False, repr=False)
    _group: Any = field(default=None, init=False, repr=False)
    _waiting: list[FloatArray] = field(default_factory=list, init=False, repr=False)
    _presence: Any = field(default=None, init=False, repr=False)
    _waiting_presence: list[NDArray[np.uint8]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        if self.precision not in PRECISIONS:
            raise InputError(f"precision {self.precision!r}: one of {', '.join(PRECISIONS)}")
        # The type checks mask, homography and rate; one frame of zeros stands for those to come.
        empty = FieldSeries(
            np.zeros((1, self.rows, self.columns, 2), dtype=np.float32),
            checked_rate(self.frame_rate),
            mask=self.mask,  # type: ignore[arg-type]
            homography=self.homography,  # type: ignore[arg-type]
        )
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise InputError(f"{self.path}: is there already; resume it or give a new name")
        try:
            self._create(empty)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    @property
    def chunk(self) -> int:
        """Frames that are stored together."""
        size = self.rows * self.columns * 2 * np.dtype(self.precision).itemsize
        return max(1, CHUNK_BYTES // size)

    @classmethod
    def resume(cls, path: Path) -> FieldWriter:
        """Go on with a series that was interrupted, or closed, after its last stored frame."""
        store = _Store.open(Path(path), "r+")
        writer = cls.__new__(cls)
        writer.path = store.path
        _, writer.rows, writer.columns, _ = store.array.shape
        writer.frame_rate, writer.name = store.attributes["frame_rate"], store.attributes["name"]
        writer.mask, writer.homography = store.mask(), store.attributes["homography"]
        writer.precision = str(store.array.dtype)  # type: ignore[assignment]
        writer._array, writer._group = store.array, store.group
        whole = store.frames - store.frames % writer.chunk
        writer._waiting = [np.asarray(store.array[whole : store.frames])] if whole < store.frames else []
        writer._presence = store.presence
        writer.with_presence = store.presence is not None
        writer._waiting_presence = (
            [np.asarray(store.presence[whole : store.frames])]
            if writer.with_presence and whole < store.frames
            else []
        )
        writer.frames = store.frames
        return writer

    def append(self, velocities: ArrayLike, presence: ArrayLike | None = None) -> None:
        """Frames `(n, rows, columns, 2)` after those there are, and who is where `(n, rows, columns)`."""
        if (presence is None) == self.with_presence:
            raise InputError("presence: give it with every block of a series that has it, and only then")
        given = np.asarray(velocities)
        dtype = given.dtype if given.dtype == np.float32 else np.float64
        block = checked("velocities", given, (None, self.rows, self.columns, 2), dtype=dtype)
        with np.errstate(over="ignore"):
            block = block.astype(self.precision)
        if not np.isfinite(block).all():
            raise InputError(f"velocities: some are too large for {self.precision}")
        if presence is not None:
            shape = (len(block), self.rows, self.columns)
            self._waiting_presence.append(checked("presence", presence, shape, dtype=np.uint8))
        self._waiting.append(block)
        self.frames += len(block)
        ready = sum(len(part) for part in self._waiting)
        if ready >= self.chunk:
            self._store(ready - ready % self.chunk)

    def close(self) -> None:
        """Store what is waiting."""
        if self._waiting:
            self._store(sum(len(part) for part in self._waiting))

    def __enter__(self) -> FieldWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

    def _create(self, empty: FieldSeries) -> None:
        import zarr

        self._group = zarr.open_group(self.path, mode="w", zarr_format=3)
        self._array = self._group.create_array(
            "velocities",
            shape=(0, self.rows, self.columns, 2),
            chunks=(self.chunk, self.rows, self.columns, 2),
            dtype=self.precision,
            # A missing chunk then means a damaged store, not zeros.
            config={"write_empty_chunks": True},
        )
        if self.with_presence:
            self._presence = self._group.create_array(
                "presence",
                shape=(0, self.rows, self.columns),
                chunks=(self.chunk, self.rows, self.columns),
                dtype="uint8",
                config={"write_empty_chunks": True},
            )
        if empty.mask is not None:
            self._group.create_array("mask", data=np.asarray(empty.mask), config={"write_empty_chunks": True})
        self._group.attrs["marey"] = {
            "kind": KIND,
            "version": VERSION,
            "frame_rate": empty.frame_rate,
            "frames": 0,
            "homography": None if empty.homography is None else empty.homography.tolist(),
            "name": self.name,
        }

    def _store(self, count: int) -> None:
        """Write the first `count` waiting frames, then count them."""
        waiting = np.concatenate(self._waiting)
        start = self.frames - len(waiting)
        try:
            self._array.resize((start + count, self.rows, self.columns, 2))
            self._array[start : start + count] = waiting[:count]
            if self.with_presence:
                seen = np.concatenate(self._waiting_presence)
                self._presence.resize((start + count, self.rows, self.columns))
                self._presence[start : start + count] = seen[:count]
                self._waiting_presence = [seen[count:]] if count < len(seen) else []
            self._group.attrs["marey"] = {**self._group.attrs["marey"], "frames": start + count}
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        self._waiting = [waiting[count:]] if count < len(waiting) else []


@dataclass(frozen=True)
class _Store:
    """An opened series: its arrays, after everything in its header was checked."""

    path: Path
    group: Any
    array: Any
    presence: Any
    mask_array: Any
    attributes: dict[str, Any]

    @classmethod
    def open(cls, path: Path, mode: Literal["r", "r+"] = "r") -> _Store:
        if path.exists() and not (path / "zarr.json").is_file():
            raise FormatError("is not a zarr store (version 3): there is no zarr.json in it", path=path)
        group = _zarr.open_group(path, mode, version=3)
        with _zarr.damaged(path, "is a damaged field series"):
            attributes = group.attrs.asdict().get("marey")
            if not isinstance(attributes, dict) or attributes.get("kind") != KIND:
                raise FormatError("is a zarr store, but not a field series written by marey", path=path)
            if attributes.get("version") != VERSION:
                raise FormatError(
                    f"version {attributes.get('version')!r}; this marey reads {VERSION}: install a newer one",
                    path=path,
                )
            velocities, presence = (
                _zarr.open_array(group, name, path, rows=int(attributes["frames"]))
                for name in ("velocities", "presence")
            )
            mask = _zarr.open_array(group, "mask", path)
            store = cls(path, group, velocities, presence, mask, attributes)
            store._check()
        return store

    @property
    def frames(self) -> int:
        return int(self.attributes["frames"])

    @property
    def chunk(self) -> int:
        return int(self.array.chunks[0])

    def bytes_of(self, frames: int) -> int:
        return frames * self.array.shape[1] * self.array.shape[2] * 2 * max(4, self.array.dtype.itemsize)

    def series(self, start: int, stop: int) -> FieldSeries:
        with _zarr.damaged(self.path, f"frames {start} to {stop} are damaged"):
            values = np.asarray(self.array[start:stop])
            values = values.astype(np.float32) if values.dtype == np.float16 else values
            try:
                return FieldSeries(
                    handed_over(values),
                    self.attributes["frame_rate"],
                    mask=self.mask(),
                    homography=self.attributes["homography"],
                    name=self.attributes["name"],
                    presence=None if self.presence is None else np.asarray(self.presence[start:stop]),
                )
            except MareyError as error:
                raise FormatError(str(error), path=self.path) from error

    def mask(self) -> BoolArray | None:
        return None if self.mask_array is None else np.asarray(self.mask_array[:], dtype=np.bool_)

    def _check(self) -> None:
        if self.array is None:
            raise FormatError("its velocities are missing", path=self.path)
        shape, chunks = self.array.shape, self.array.chunks
        whole = len(shape) == 4 and shape[3] == 2 and chunks[1:] == shape[1:] and min(shape[1:]) > 0
        if not whole or str(self.array.dtype) not in PRECISIONS:
            raise FormatError(
                f"its velocities are {shape} {self.array.dtype}, chunks {chunks}", path=self.path
            )
        if not 0 < self.frames <= shape[0]:
            raise FormatError(f"counts {self.frames} frames and has room for {shape[0]}", path=self.path)
        if self.bytes_of(min(self.chunk, self.frames)) > LARGEST_SERIES // 4:
            raise FormatError(f"its chunks of {self.chunk} frames are too large", path=self.path)
        if self.presence is not None and (
            # A crash may have left room for frames that do not count yet in one of them.
            self.presence.shape[0] < self.frames
            or self.presence.shape[1:] != shape[1:3]
            or self.presence.chunks != chunks[:3]
            or self.presence.dtype != np.uint8
        ):
            raise FormatError(
                f"its presence is {self.presence.shape} {self.presence.dtype}, chunks {self.presence.chunks}",
                path=self.path,
            )
        if self.mask_array is not None and self.mask_array.shape != shape[1:3]:
            raise FormatError(f"its mask is {self.mask_array.shape}", path=self.path)
        for index in range(-(-self.frames // self.chunk)):
            if not (self.path / "velocities" / "c" / str(index) / "0" / "0" / "0").is_file():
                raise FormatError(f"the chunk of frame {index * self.chunk} is missing", path=self.path)


__all__ = ["FieldWriter", "blocks", "read", "write"]
