"""Zarr stores of others, opened without trusting them: codecs we know, chunks no larger than they say.

zarr allocates what the headers of arrays and chunks ask for, looks for every chunk of an array, and raises
whatever its parsers raise. Cost of a check: a few bytes of every chunk.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from marey.errors import FormatError, MareyError
from marey.io._archive import LARGEST_RATIO

# Bytes an array may take whatever its files account for, and chunks that may be missing.
ALWAYS_ALLOWED, MOST_MISSING = 16 << 20, 10_000
# None of these runs anything, as numcodecs' `pickle` does.
CODECS = (
    *("bytes", "endian", "transpose", "sharding_indexed", "zstd", "blosc", "lz4", "gzip", "zlib", "bz2"),
    *("lzma", "crc32c", "crc32", "adler32", "fletcher32", "jenkins_lookup3", "delta", "shuffle", "bitround"),
    *("quantize", "fixedscaleoffset", "astype", "packbits"),
)


@contextmanager
def damaged(path: Path, what: str) -> Iterator[None]:
    """Turn anything that is raised into one line: `what`, and why."""
    try:
        yield
    except MareyError:
        raise
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        text = text if len(text) <= 120 else text[:120] + "…"
        raise FormatError(f"{what} ({text})", path=path) from error


def open_group(path: Path, mode: Literal["r", "r+"] = "r", *, version: Literal[2, 3] | None = None) -> Any:
    """The group of a store."""
    import zarr

    if not path.exists():
        raise FormatError("no such folder", path=path)
    with damaged(path, "is not a zarr store, or a damaged one"):
        return zarr.open_group(path, mode=mode, zarr_format=version)


def open_array(group: Any, name: str, path: Path, *, rows: int | None = None) -> Any:
    """An array of numbers of which `rows`, or all, can be read without harm; None if there is none."""
    if name not in group:
        return None
    array = group[name]
    shape, chunks, kind = array.shape, array.chunks, array.dtype
    shape = shape if rows is None else (min(rows, shape[0]), *shape[1:])
    if kind.kind not in "fiub" or 0 in chunks:
        raise FormatError(f"its {name} are {shape} {kind}", path=path)
    codecs = _codecs(array)
    if strange := [codec for codec in codecs if codec not in CODECS]:
        raise FormatError(f"its {name} are stored with {strange[0]!r}, which is not read", path=path)
    files = [file for file in (path / name).rglob("*[0-9c]") if file.is_file()]
    declared = [_declared(file, codecs[-1]) for file in files]
    chunk_bytes, stored = math.prod(chunks) * kind.itemsize, sum(file.stat().st_size for file in files)
    needed = max(math.prod(shape) * max(8, kind.itemsize), chunk_bytes)
    if needed > max(ALWAYS_ALLOWED, LARGEST_RATIO * stored, 8 * sum(declared)):
        raise FormatError(
            f"its {name} are {shape} {kind} and would unpack to {needed / 1e9:.2g} GB", path=path
        )
    if max(declared, default=0) > 2 * chunk_bytes + 64:
        raise FormatError(f"chunks of its {name} are not those of {shape} {kind}", path=path)
    if math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True)) > len(files) + MOST_MISSING:
        raise FormatError(f"most chunks of its {name}, {shape} in {chunks}, are missing", path=path)
    return array


def _codecs(array: Any) -> list[str]:
    """Names of an array's codecs in the order of writing, those of shards included."""
    facts = array.metadata.to_dict()
    steps = facts["codecs"] if "codecs" in facts else (*(facts["filters"] or ()), facts["compressor"])
    text = json.dumps(steps, default=lambda codec: codec.get_config())
    return re.findall(r'"(?:name|id)": "(?:numcodecs\.)?([^"]*)"', text) or ["bytes"]


def _declared(file: Path, codec: str) -> int:
    """Bytes a chunk says it unpacks to; 0 if the codec does not write that, or cannot be the one."""
    with file.open("rb") as stream:
        head = stream.read(18)
    if codec == "zstd" and head[:4] == b"\x28\xb5\x2f\xfd" and len(head) > 4:
        # RFC 8878, 3.1.1.1: flags, a window unless it is one segment, an identifier, then the size.
        flags = head[4]
        single, width = flags >> 5 & 1, (1, 2, 4, 8)[flags >> 6]
        if flags >> 6 == 0 and not single:
            return 0
        at = 6 - single + (0, 1, 2, 4)[flags & 3]
        return int.from_bytes(head[at : at + width], "little") + (256 if width == 2 else 0)
    place = {"blosc": head[4:8], "lz4": head[:4]}.get(codec, b"")
    return int.from_bytes(place, "little")
