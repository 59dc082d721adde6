"""Damage done to files at random, the same for a test and for `tools/mutate.py`, and what readers make of it.

A file is one part, a store or an archive one for each of its files, a GLB file two. A mutation changes bytes,
numbers or JSON values of a part, or leaves a part out, and puts the file together again.
"""

from __future__ import annotations

import io
import json
import random
import re
import signal
import struct
import time
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import marey
from marey.errors import MareyError

# What a reader may take: bytes beside those of the file, bytes for each of the file's, seconds.
SPARE_BYTES, BYTES_A_BYTE, LONGEST = 64 << 20, 10, 10.0

Parts = dict[str, bytes]

NUMBER = re.compile(rb"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")
WORDS = (
    *(b"0", b"-1", b"1", b"255", b"65536", b"2147483647", b"4294967295", b"9223372036854775808"),
    *(b"1e-320", b"1e38", b"1e300", b"-1e308", b"1e999", b"nan", b"inf", b"9" * 400, b"0.5", b"1e9", b"-0"),
)
PIECES = (
    *(b"\0", b"\n", b"\r", b" ", b"\t", b"-", b"/", b".", b",", b'"', b"{", b"}", b"[", b"]", b"#", b"\xff"),
    *(b"\xef\xbb\xbf", b"\x1a", b"null", b"true", b"../x", b"9" * 20, b"x" * 600, b"[" * 2000),
)
BINARY = tuple(
    struct.pack(order + kind, value)
    for order in "<>"
    for kind, values in {
        "h": (0, -1, 1, 32767),
        "i": (0, -1, 1, 255, 65536, 1 << 24, 2**31 - 1, -(2**31)),
        "q": (0, -1, 1 << 31, 1 << 40, 2**63 - 1),
        "f": (np.nan, np.inf, -1.0, 1e38, 1e-40),
        "d": (np.nan, -np.inf, 1e300, 1e-320),
    }.items()
    for value in values
)
VALUES: tuple[Any, ...] = (
    *(-1, 0, 1, 2, 3, 7, 255, 65536, 1 << 20, 1 << 31, 1 << 63, 10**30, -(10**400)),
    *(0.5, 1e-30, 1e38, 1e300, float("inf"), float("nan"), True, None, "", "a", "../x", "<f8", "|O"),
    *([], [0], [[]], [1 << 31] * 3, {}, {"a": 1}, {"array": "0.npy"}, "x" * 500),
)


@dataclass(frozen=True)
class Format:
    """One kind of file: how to write valid ones into new folders below one, and how it is read."""

    name: str
    write: Callable[[Path], list[Path]]
    read: Callable[[Path], Any] = marey.load
    mended: Callable[[bytes], bytes] = bytes
    """Makes a checksum fit, so that damage behind it is met."""
    words: tuple[bytes, ...] = ()
    """What such files say, to be said at the wrong place."""


@dataclass(frozen=True)
class Outcome:
    """What became of one mutation; `detail` names the error, if that is no :class:`MareyError`."""

    kind: str
    detail: str = ""
    peak: int = 0
    seconds: float = 0.0


class Hang(BaseException):
    """Reading took too long."""


class Mutations:
    """Damaged copies of a format's files, each the same whenever it is asked for."""

    def __init__(self, kind: Format, folder: Path) -> None:
        self.kind = kind
        self.paths = kind.write(folder)
        with forgiving():
            for path in self.paths:
                kind.read(path)
        self.sound = [files_below(path.parent) for path in self.paths]
        self.there = [dict(files) for files in self.sound]

    def trial(self, index: int) -> Outcome:
        """Mutation number `index`, read."""
        return attempt(self.kind.read, *self.damaged(index))

    def damaged(self, index: int) -> tuple[Path, int]:
        """The file, or the store, of mutation number `index`, and its size."""
        rng = random.Random(f"{self.kind.name} {index}")
        number = index % len(self.paths)
        path, files = self.paths[number], dict(self.sound[number])
        if path.name in files:
            # One file, or one of those that go with it.
            name = rng.choice(sorted(files))
            parts, joined = taken_apart(files[name], rng)
            damage(parts, rng, self.kind.words)
            data = joined(parts)
            files[name] = self.kind.mended(data) if rng.random() < 0.7 else data
        else:
            damage(files, rng)
        put(files, self.there[number], path.parent)
        self.there[number] = files
        return path, sum(map(len, files.values()))


def files_below(folder: Path) -> Parts:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def put(files: Parts, there: Parts, folder: Path) -> None:
    """Make a folder's files `files`; only those that are not `there` already are written."""
    for name in {*there, *files}:
        if files.get(name) != there.get(name):
            (folder / name).unlink(missing_ok=True)  # truncating a file makes some file systems flush it
            if name in files:
                (folder / name).write_bytes(files[name])


def attempt(read: Callable[[Path], Any], path: Path, size: int) -> Outcome:
    """Read a file within the time allowed, and say what came of it."""
    start = time.perf_counter()
    traced = tracemalloc.is_tracing()
    if traced:
        tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    kind, detail = "read", ""
    with forgiving(), time_limit(LONGEST):
        try:
            read(path)
        except MareyError as error:
            text = str(error)
            kind = "refused" if "\n" not in text and str(path.parent) in text else "unclear"
            detail = "" if kind == "refused" else repr(text[:200])
        except Hang:
            kind, detail = "hang", f"over {LONGEST:g} s"
        except Exception as error:
            kind, detail = "leak", f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
    peak = tracemalloc.get_traced_memory()[1] - before if traced else 0
    if kind in ("read", "refused") and peak > SPARE_BYTES + BYTES_A_BYTE * size:
        kind, detail = "memory", f"{peak >> 20} MB for {size} bytes"
    return Outcome(kind, detail, peak, time.perf_counter() - start)


@contextmanager
def forgiving() -> Iterator[None]:
    """Warnings of marey and of libraries are fine, those of arithmetic are not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        yield


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def stop(_number: int, _frame: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def taken_apart(data: bytes, rng: random.Random) -> tuple[Parts, Callable[[Parts], bytes]]:
    """The parts of a file and what puts them together; sometimes all of it is one part."""
    if data[:4] == b"PK\3\4" and rng.random() < 0.8:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}, zipped
    if data[:4] == b"glTF" and rng.random() < 0.8:
        length = struct.unpack_from("<I", data, 12)[0]
        return {"json": data[20 : 20 + length], "rest": data[20 + length :]}, joined_glb
    return {"": data}, lambda parts: parts.get("", b"")


def zipped(parts: Parts) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def joined_glb(parts: Parts) -> bytes:
    text, rest = parts.get("json", b"{}"), parts.get("rest", b"")
    text += b" " * (-len(text) % 4)
    head = b"glTF" + struct.pack("<II", 2, 20 + len(text) + len(rest))
    return head + struct.pack("<I4s", len(text), b"JSON") + text + rest


def damage(parts: Parts, rng: random.Random, words: tuple[bytes, ...] = ()) -> None:
    """One to four changes."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        name = rng.choice(sorted(parts))
        if len(parts) > 1 and rng.random() < 0.04:
            del parts[name]
        elif len(parts) > 1 and rng.random() < 0.04:
            parts[name] = parts[rng.choice(sorted(parts))]
        else:
            document = parsed(parts[name]) if rng.random() < 0.6 else None
            parts[name] = changed(parts[name], rng, words) if document is None else exchanged(document, rng)


def parsed(data: bytes) -> Any:
    """A JSON document, or None."""
    try:
        return json.loads(data) if data.lstrip()[:1] in (b"{", b"[") else None
    except (ValueError, RecursionError):
        return None


def changed(data: bytes, rng: random.Random, words: tuple[bytes, ...] = ()) -> bytes:
    """Bytes with one change."""
    text = bytearray(data)
    start = rng.randrange(len(text) + 1)
    stop = min(len(text), start + rng.choice([1, 1, 2, 5, 12, 200]))
    match rng.randrange(9):
        case 0:
            text[start:stop] = rng.randbytes(stop - start)
        case 1 if start < len(text):
            text[start] ^= 1 << rng.randrange(8)
        case 2:
            del text[start:stop]
        case 3:
            text[start:start] = text[start:stop] * rng.choice([1, 2, 30])
        case 4:
            text[start : rng.choice([start, stop])] = rng.choice(words or PIECES)
        case 5:
            del text[start:]
        case 6:
            new = rng.choice(words + PIECES if words else BINARY)
            start -= start % rng.choice([1, 2, 4, 8])
            text[start : start + len(new)] = new
        case _ if numbers := list(NUMBER.finditer(data[: 1 << 16])):
            found = rng.choice(numbers)
            text[found.start() : found.end()] = rng.choice(WORDS)
    return bytes(text)


def exchanged(document: Any, rng: random.Random) -> bytes:
    """A JSON document with a value that is another, is left out, or comes from elsewhere in it."""
    places = list(places_in(document))
    if not places:
        return json.dumps(rng.choice(VALUES)).encode()
    inner, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del inner[key]
        case 1:
            other, there = rng.choice(places)
            inner[key] = json.loads(json.dumps(other[there]))
        case _:
            inner[key] = rng.choice(VALUES)
    return json.dumps(document).encode()


def places_in(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a document with a key of it."""
    keys = document.keys() if isinstance(document, dict) else range(len(document))
    for key in keys:
        yield document, key
        if isinstance(document[key], dict | list):
            yield from places_in(document[key])


def with_crc(data: bytes) -> bytes:
    """A compressed clip or field series whose checksum fits."""
    return data[:-4] + zlib.crc32(data[:-4]).to_bytes(4, "little")


__all__ = ["Format", "Hang", "Mutations", "Outcome", "attempt", "with_crc"]
