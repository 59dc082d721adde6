"""Arrays out of a zip of `.npy` files, without trusting it: no pickle, no bomb, no bytes that are not there.

Everything is checked on the headers before anything is unpacked. Cost: linear in the arrays read.
"""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.errors import FormatError
from marey.io._files import check_readable

# Deflate reaches 1000:1 on zeros; more than this in total, from so small a file, is no motion.
LARGEST_RATIO, ALWAYS_ALLOWED = 200, 256 << 20

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    ValueError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    SyntaxError,
    tokenize.TokenError,
)


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip file whose declared sizes are sane; whatever is wrong with it becomes a :class:`FormatError`."""
    check_readable(path)
    try:
        with zipfile.ZipFile(path) as file:
            total = sum(entry.file_size for entry in file.infolist())
            if total > max(ALWAYS_ALLOWED, LARGEST_RATIO * path.stat().st_size):
                raise FormatError(f"would unpack to {total / 1e9:.1f} GB: refused as a zip bomb", path=path)
            yield file
    except _DAMAGED as error:
        raise FormatError(f"is not a zip of arrays, or a damaged one ({error})", path=path) from error


def array_names(file: zipfile.ZipFile) -> list[str]:
    """Names of the arrays, without `.npy`."""
    return [name.removesuffix(".npy") for name in file.namelist() if name.endswith(".npy")]


def read_array(file: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any]:
    """One array of numbers, whose header must agree with the bytes the zip declares."""
    entry = file.getinfo(f"{name}.npy")
    with file.open(entry) as stream:
        shape, dtype = _header(stream)
        if dtype.kind not in "fiub":
            raise FormatError(f"array {name!r} holds {dtype}, not numbers", path=path)
        declared = math.prod(shape) * dtype.itemsize
        if declared != entry.file_size - stream.tell():
            raise FormatError(
                f"array {name!r} declares {declared} bytes and holds {entry.file_size - stream.tell()}",
                path=path,
            )
    with file.open(entry) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _header(stream: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    return shape, dtype
