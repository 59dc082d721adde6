"""Zarr stores of others, opened without trusting them: codecs we know, chunks no larger than they say.

zarr allocates what the headers of arrays and chunks ask for, looks for every chunk of an array, and raises
whatever its parsers raise. Cost of a check: a few bytes of every chunk.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from marey.errors import FormatError, MareyError
from marey.io._files import Untyped
from marey.io._limits import LIMITS

# None of these runs anything, as numcodecs' `pickle` does.
CODECS = (
    *("bytes", "endian", "transpose", "sharding_indexed", "zstd", "blosc", "lz4", "gzip", "zlib", "bz2"),
    *("lzma", "crc32c", "crc32", "adler32", "fletcher32", "jenkins_lookup3", "delta", "shuffle", "bitround"),
    *("quantize", "fixedscaleoffset", "astype", "packbits"),
)

# A folder, an address, or a store of zarr.
Place = Untyped


@contextmanager
def damaged(path: Place, what: str) -> Iterator[None]:
    """Turn anything that is raised into one line: `what`, and why."""
    try:
        yield
    except MareyError:
        raise
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        text = text if len(text) <= 120 else text[:120] + "…"
        raise FormatError(f"{what} ({text})", path=path) from error


def opened_group(path: Place, mode: Literal["r", "r+"] = "r") -> Untyped:
    import zarr

    if isinstance(path, Path) and not path.exists():
        raise FormatError("no such folder", path=path)
    if isinstance(path, Path) and not any((path / name).is_file() for name in ("zarr.json", ".zgroup")):
        raise FormatError("is not a zarr store: there is no zarr.json in it", path=path)
    with damaged(path, "is not a zarr store, or a damaged one"):
        return zarr.open_group(path, mode=mode)


def opened_array(
    group: Untyped, name: str, path: Place, *, rows: int | None = None
) -> tuple[Untyped, dict[str, tuple[int, bytes]]]:
    """An array of numbers of which `rows`, or all, can be read without harm, if it is there; its chunks."""
    if name not in group:
        return None, {}
    array = group[name]
    shape, chunks, kind = array.shape, array.chunks, array.dtype
    shape = shape if rows is None else (min(rows, shape[0]), *shape[1:])
    if kind.kind not in "fiub" or 0 in chunks:
        raise FormatError(f"its {name} are {shape} {kind}", path=path)
    codecs = _codecs(array)
    if strange := [codec for codec in codecs if codec not in CODECS]:
        raise FormatError(f"its {name} are stored with {strange[0]!r}, which is not read", path=path)
    stored = _stored_chunks(array)
    declared = [_declared(head, codecs[-1]) for _, head in stored.values()]
    chunk_bytes = math.prod(chunks) * kind.itemsize
    needed = max(math.prod(shape) * max(8, kind.itemsize), chunk_bytes)
    accounted = max(LIMITS.ratio * sum(size for size, _ in stored.values()), 8 * sum(declared))
    if needed > max(LIMITS.small_json, accounted):
        message = f"its {name} are {shape} {kind} and would unpack to {needed / 1e9:.2g} GB"
        raise FormatError(message, path=path)
    if max(declared, default=0) > 2 * chunk_bytes + 64:
        raise FormatError(f"chunks of its {name} are not those of {shape} {kind}", path=path)
    if math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True)) > len(stored) + LIMITS.chunks:
        raise FormatError(f"most chunks of its {name}, {shape} in {chunks}, are missing", path=path)
    return array, stored


def _stored_chunks(array: Untyped) -> dict[str, tuple[int, bytes]]:
    """Size and first bytes of each chunk of an array, by its key."""
    from zarr.abc.store import RangeByteRequest
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.sync import sync

    store, prefix = array.store_path.store, array.store_path.path.strip("/") + "/"
    buffers, head = default_buffer_prototype(), RangeByteRequest(0, 18)

    async def look(key: str) -> tuple[str, tuple[int, bytes]]:
        size, first = await asyncio.gather(store.getsize(key), store.get(key, buffers, byte_range=head))
        return key.removeprefix(prefix), (size, b"" if first is None else first.to_bytes())

    async def look_at_all() -> dict[str, tuple[int, bytes]]:
        keys = [key async for key in store.list_prefix(prefix) if key[-1] in "0123456789c"]
        return dict(await asyncio.gather(*map(look, keys)))

    found: dict[str, tuple[int, bytes]] = sync(look_at_all())
    return found


def _codecs(array: Untyped) -> list[str]:
    """Names of an array's codecs in the order of writing, those of shards included."""
    facts = array.metadata.to_dict()
    steps = facts["codecs"] if "codecs" in facts else (*(facts["filters"] or ()), facts["compressor"])
    text = json.dumps(steps, default=lambda codec: codec.get_config())
    return re.findall(r'"(?:name|id)": "(?:numcodecs\.)?([^"]*)"', text) or ["bytes"]


def _declared(head: bytes, codec: str) -> int:
    """Bytes a chunk says it unpacks to; 0 if the codec does not write that, or cannot be the one."""
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
