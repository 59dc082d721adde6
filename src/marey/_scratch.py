"""Arrays that may be larger than memory, for captures of hours.

Above :data:`LARGEST_IN_MEMORY` an array is the map of a scratch file in the folder for temporary files
(`TMPDIR`), which has no name any more and is gone with the array. It is an array like any other; the system
keeps in memory what is being looked at. Cost: that of the disk.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from marey.errors import InputError

LARGEST_IN_MEMORY = 1 << 30
BLOCK_BYTES = 4 << 20


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
    rows = rows_per_block(array.nbytes // max(1, len(array)))
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


def rows_per_block(row_bytes: int) -> int:
    """How many rows of so many bytes are handled at once."""
    return max(1, BLOCK_BYTES // max(1, row_bytes))


def _reserve(file: int, size: int) -> None:
    # A map of a file for which the disk has no room would end the process when it is written to.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        return
    if shutil.disk_usage(tempfile.gettempdir()).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.truncate(file, size)
