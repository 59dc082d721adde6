"""What all data types share: array types, validation once, on construction, and cutting by frame or time.

Their arrays are read-only once constructed. Above :data:`LARGEST_IN_MEMORY` an array of :func:`empty` is the
map of a scratch file in the folder for temporary files (`TMPDIR`), which has no name any more and is gone
with the array: an array like any other, of which the system keeps in memory what is in use.
"""

from __future__ import annotations

import errno
import math
import mmap
import operator
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from marey._report import Displayed
from marey._work import block_rows
from marey.errors import InputError

if TYPE_CHECKING:
    from typing import Self

Array = NDArray[np.float64]
FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
Integers = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
AnyArray = NDArray[Any]
DType = np.dtype[Any]

Value = TypeVar("Value")

LARGEST_IN_MEMORY, LARGEST_ARRAY = 1 << 30, 2_000_000_000
BLOCK_BYTES = 4 << 20


def checked(
    name: str,
    values: Any,
    shape: tuple[int | None, ...],
    *,
    dtype: DTypeLike | None = np.float64,
    finite: bool = True,
) -> AnyArray:
    """`values` as a read-only array of `shape` (None = any length), or an :class:`InputError`.

    An array that its owner could still write to is copied; see :func:`read_only`.

    >>> checked("offsets", [[0, 1, 0]], (None, 3)).shape
    (1, 3)
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind == "c":
            raise TypeError("they are complex")
        with np.errstate(invalid="ignore"):
            array = given if dtype is None else _converted(given, np.dtype(dtype))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: not an array of numbers ({error})") from error
    matches = array.ndim == len(shape) and all(
        want is None or want == got for want, got in zip(shape, array.shape, strict=True)
    )
    if not matches:
        wanted = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        raise InputError(f"{name}: expected shape {wanted}, got {array.shape}")
    if array.dtype.kind in "iu" and array.dtype != given.dtype and (array != given).any():
        where = np.argwhere(array != given)[0].tolist()
        raise InputError(
            f"{name}: expected whole numbers within bounds, got {given[tuple(where)]} at {where}"
        )
    if finite and array.dtype.kind == "f" and (where := _first_not_finite(array)) is not None:
        raise InputError(f"{name}: value at {where} is not finite; repair or drop that frame first")
    if array.flags.writeable and np.may_share_memory(array, given):
        array = mapped(np.asarray, array, array.dtype) if _is_large(array) else array.copy()
    return read_only(array.view())


def read_only(array: AnyArray) -> AnyArray:
    """A fresh array, made read-only: a data type then keeps it as it is instead of copying it.

    >>> read_only(np.zeros(3)).flags.writeable
    False
    """
    array.flags.writeable = False
    return array


def checked_rate(frame_rate: Any) -> float:
    """A positive, finite number of frames per second."""
    try:
        rate = float(frame_rate)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"frame rate: not a number ({frame_rate!r})") from error
    if not (np.isfinite(rate) and rate > 0):
        raise InputError(f"frame rate: must be positive and finite, got {rate}")
    return rate


def check_memory(size: int, what: str, advice: str, *, most: int = LARGEST_ARRAY) -> None:
    """Refuse what would take more than `most` bytes of memory.

    >>> check_memory(1000, "a thousand bytes", "")
    """
    if size > most:
        raise InputError(f"{what} would take {size / 1e9:.3g} GB (at most {most / 1e9:.3g}); {advice}")


def runs(mask: ArrayLike) -> list[tuple[int, int]]:
    """First and one past the last of each run of true values.

    >>> runs([True, True, False, True])
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.asarray(mask, dtype=bool).astype(np.int8), prepend=0, append=0))
    return [(int(first), int(stop)) for first, stop in edges.reshape(-1, 2)]


def _is_large(array: AnyArray) -> bool:
    return array.ndim > 0 and array.nbytes > BLOCK_BYTES


def _converted(given: AnyArray, dtype: DType) -> AnyArray:
    if given.dtype == dtype or not _is_large(given) or given.dtype.kind not in "fiub":
        return given.astype(dtype, copy=False)
    return mapped(lambda rows: rows.astype(dtype), given, dtype)


def _first_not_finite(array: AnyArray) -> list[int] | None:
    """Where the first number is that is none; looked for in blocks, which also stay in the cache."""
    if not _is_large(array):
        finite = np.isfinite(array)
        return None if finite.all() else np.argwhere(~finite)[0].tolist()
    for rows in blocks(array):
        finite = np.isfinite(array[rows])
        if not finite.all():
            row, *others = np.argwhere(~finite)[0].tolist()
            return [rows.start + row, *others]
    return None


def assign(instance: object, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is being constructed."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def derived(kind: Callable[[Any], Value], path: str, doc: str) -> Value:
    """A read-only attribute of a class: a function of one of its parts, e.g. `len` of an array.

    >>> class Pair:
    ...     names = ("left", "right")
    ...     count = derived(len, "names", "How many.")
    >>> Pair().count
    2
    """
    part = attrgetter(path)
    attribute: Any = property(lambda instance: kind(part(instance)), doc=doc)
    made: Value = attribute
    return made


def width(array: AnyArray) -> int:
    """Length of the second axis."""
    return int(array.shape[1])


class Timed(Displayed):
    """Base of the data types over time; they have `frames`, `frame_rate` and slices.

    >>> import marey
    >>> tracks = marey.Tracks([[[0.0, 0.0]]] * 100, frame_rate=10)
    >>> len(tracks), tracks.duration, tracks.between(0.5, 1.0).frames
    (100, 10.0, 6)
    """

    if TYPE_CHECKING:
        # Only promised: a value here would become the default of the dataclasses' fields.
        @property
        def frames(self) -> int: ...
        @property
        def frame_rate(self) -> float: ...
        def __getitem__(self, key: int | slice) -> Self: ...

    @property
    def duration(self) -> float:
        """Seconds: frames divided by frame rate."""
        return self.frames / self.frame_rate

    def __len__(self) -> int:
        return self.frames

    def between(self, start: float | None = None, stop: float | None = None) -> Self:
        """Frames whose time in seconds lies in `[start, stop]`; None is the clip's own end."""
        return self[frame_slice(self.frames, self.frame_rate, start, stop)]


def frame_slice(frames: int, frame_rate: float, start: float | None, stop: float | None) -> slice:
    """Frames whose time in seconds lies in [start, stop]; None is the clip's own end.

    >>> frame_slice(100, 10.0, 0.5, 1.0)
    slice(5, 11, None)
    """
    first = 0 if start is None else max(np.ceil(start * frame_rate - 1e-9), 0)
    last = frames if stop is None else min(np.floor(stop * frame_rate + 1e-9) + 1, frames)
    if not first < last:
        raise InputError(
            f"no frame between {start} s and {stop} s: the last one is at {(frames - 1) / frame_rate:.3f} s"
        )
    return slice(int(first), int(last))


def as_slice(key: int | slice, frames: int) -> slice:
    """An index or slice over frames as a slice that keeps at least one frame."""
    if isinstance(key, slice):
        if len(range(*key.indices(frames))) == 0:
            start, stop = ("" if end is None else end for end in (key.start, key.stop))
            raise InputError(f"frames {start}:{stop} of a clip of {frames} frames are none")
        return key
    index = operator.index(key)
    if not -frames <= index < frames:
        raise InputError(f"frame {index} of a clip of {frames} frames")
    return slice(index % frames, index % frames + 1)


def empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A new array to be filled, in memory or on disk by its size.

    >>> empty((2, 3), np.float32).shape
    (2, 3)
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if size <= LARGEST_IN_MEMORY:
        return np.empty(shape, kind)
    try:
        with tempfile.TemporaryFile(prefix="marey-") as file:
            _reserve(file.fileno(), size)
            room = mmap.mmap(file.fileno(), size)
    except OSError as error:
        raise InputError(
            f"{size / 1e9:.1f} GB do not fit into {tempfile.gettempdir()} ({error.strerror or error}); "
            "set TMPDIR to a folder with more room"
        ) from error
    return np.frombuffer(room, kind).reshape(shape)


def blocks(array: NDArray[Any]) -> Iterator[slice]:
    """Slices of the first axis, each of a few megabytes.

    >>> list(blocks(np.zeros((2, 3))))
    [slice(0, 2, None)]
    """
    rows = block_rows(array.nbytes // max(1, len(array)), BLOCK_BYTES)
    for start in range(0, len(array), rows):
        yield slice(start, min(start + rows, len(array)))


def mapped(
    function: Callable[[NDArray[Any]], NDArray[Any]], array: NDArray[Any], dtype: DTypeLike
) -> NDArray[Any]:
    """A new array of the same shape, made by a function of a block of rows at a time.

    >>> mapped(np.negative, np.ones((2, 2)), np.float32).tolist()
    [[-1.0, -1.0], [-1.0, -1.0]]
    """
    made = empty(array.shape, dtype)
    for rows in blocks(array):
        made[rows] = function(array[rows])
    return made


def _reserve(file: int, size: int) -> None:
    # A map of a file for which the disk has no room would end the process when it is written to.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        return
    if shutil.disk_usage(tempfile.gettempdir()).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.truncate(file, size)
