"""Arrays into a zip of `.npy` files, and out of one without trusting it: no pickle; sizes checked first.

Everything is checked on the headers before anything is unpacked. Cost: linear in the arrays; those larger
than memory are passed on in blocks.
"""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from marey import _arrays
from marey._arrays import AnyArray, DType
from marey.errors import FormatError
from marey.io._files import check_readable
from marey.io._limits import LIMITS

# Deflate gains a tenth on captured coordinates and is twenty times slower than the disk.
DEFLATED_UP_TO = 1 << 20
# So that equal content gives equal files.
DATE = (2026, 1, 1, 0, 0, 0)
BLOCK_BYTES = 1 << 20

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
            total, size = sum(entry.file_size for entry in file.infolist()), path.stat().st_size
            if sum(entry.compress_size for entry in file.infolist()) > size:
                raise zipfile.BadZipFile("its entries declare more bytes than it has")
            if total > min(max(LIMITS.allowance, LIMITS.ratio * size), LIMITS.deflate * size):
                raise FormatError(f"would unpack to {total / 1e9:.1f} GB: refused as a zip bomb", path=path)
            yield file
    except _DAMAGED as error:
        raise FormatError(f"is not a zip of arrays, or a damaged one ({error})", path=path) from error


def array_names(file: zipfile.ZipFile) -> list[str]:
    """Names of the arrays, without `.npy`."""
    return [name.removesuffix(".npy") for name in file.namelist() if name.endswith(".npy")]


def read_array(file: zipfile.ZipFile, name: str, path: Path, *, kinds: str = "fiub") -> AnyArray:
    """One array, of numbers unless other `kinds` of NumPy are allowed, as its header and the zip agree on.

    One of more than :data:`marey._arrays.LARGEST_IN_MEMORY` bytes is a map of a scratch file.
    """
    entry = file.getinfo(f"{name}.npy")
    with file.open(entry) as stream:
        shape, fortran, dtype = _header(stream)
        if dtype.kind not in kinds:
            wanted = "text" if kinds == "U" else "numbers"
            raise FormatError(f"array {name!r} holds {dtype}, not {wanted}", path=path)
        declared = math.prod(shape) * dtype.itemsize
        if declared != entry.file_size - stream.tell() or any(length < 0 for length in shape):
            raise FormatError(
                f"array {name!r} declares {declared} bytes and holds {entry.file_size - stream.tell()}",
                path=path,
            )
        array = _arrays.empty(shape[::-1] if fortran else shape, dtype)
        _fill(array, stream)
    return array.T if fortran else array


def store_array(file: zipfile.ZipFile, name: str, array: AnyArray) -> None:
    """Write an array into a zip in blocks; only small ones are compressed."""
    plain = array.flags.c_contiguous or not array.flags.f_contiguous
    values = array if plain and array.ndim else np.ascontiguousarray(array)
    with _new_entry(file, name, values.nbytes) as stream:
        np.lib.format.write_array(stream, values, allow_pickle=False)


def store_blocks(
    file: zipfile.ZipFile,
    name: str,
    shape: tuple[int, ...],
    dtype: DType,
    blocks: Iterable[AnyArray],
) -> None:
    """Write an array that comes in blocks along its first axis."""
    with _new_entry(file, name, math.prod(shape) * dtype.itemsize) as stream:
        facts = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, facts)
        for block in blocks:
            stream.write(np.ascontiguousarray(block, dtype=dtype).data.cast("B"))


def store_bytes(file: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Write bytes into a zip, compressed."""
    file.writestr(zipfile.ZipInfo(name, date_time=DATE), data, zipfile.ZIP_DEFLATED)


@contextmanager
def _new_entry(file: zipfile.ZipFile, name: str, size: int) -> Iterator[IO[bytes]]:
    entry = zipfile.ZipInfo(name, date_time=DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED if size <= DEFLATED_UP_TO else zipfile.ZIP_STORED
    with file.open(entry, "w", force_zip64=size > 1 << 30) as stream:
        yield stream


def _fill(array: AnyArray, stream: IO[bytes]) -> None:
    """Bytes of the stream into a contiguous array; an :class:`EOFError` if there are too few."""
    if array.size == 0:
        return
    room = array.reshape(-1).view(np.uint8).data
    filled = 0
    while filled < len(room):
        block = stream.read(min(BLOCK_BYTES, len(room) - filled))
        if not block:
            raise EOFError(f"{len(room) - filled} bytes are missing")
        room[filled : filled + len(block)] = block
        filled += len(block)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, DType]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)
