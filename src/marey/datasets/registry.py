"""The registry of data sets: a JSON file, checked when it is read.

`sources` name where files come from (`base` address of a public repository at a fixed commit, or a package
with its version and checksum), `terms` hold licence and citation, `datasets` the files: `path` below
`MAREY_DATA` or the cache, `size` in bytes, `sha256`, and `at`, the file's place at its source. A file without
a source cannot be downloaded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from marey.errors import FormatError
from marey.io._files import read_bytes

KINDS = ("motion", "markers", "mesh", "character", "tracks", "field", "video")
LARGEST_FILE = 2 << 30

PACKAGED = Path(__file__).with_name("registry.json")


@dataclass(frozen=True)
class UrlSource:
    """Files below one address."""

    base: str


@dataclass(frozen=True)
class PackageSource:
    """Members of one archive that the package index holds: a wheel (of one `tag`) or an sdist."""

    package: str
    version: str
    form: str
    size: int
    sha256: str
    tag: str | None


Source: TypeAlias = UrlSource | PackageSource


@dataclass(frozen=True)
class DataFile:
    """One file: its place in our layout, what it must be, where it comes from."""

    path: str
    size: int
    sha256: str
    source: Source | None
    at: str


@dataclass(frozen=True)
class Record:
    """One data set. `main` is the path of one of the files, or of the folder that holds them all."""

    name: str
    description: str
    kind: str
    license: str
    citation: str
    main: str
    files: tuple[DataFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Registry:
    """All data sets by name."""

    records: dict[str, Record]

    def files_from(self, source: Source) -> list[DataFile]:
        """Every file of any data set that comes from `source`."""
        return [file for record in self.records.values() for file in record.files if file.source == source]


@lru_cache(maxsize=1)
def packaged() -> Registry:
    """The registry that comes with marey."""
    return read_registry(PACKAGED)


def read_registry(path: Path) -> Registry:
    """Read and check a registry file."""
    try:
        content = json.loads(read_bytes(path))
        sources = {name: _source(entry) for name, entry in content["sources"].items()}
        records = [_record(entry, sources, content["terms"]) for entry in content["datasets"]]
        repeated = _repeated(record.name for record in records)
        _require(not repeated, f"{repeated} is there twice")
    except KeyError as error:
        raise FormatError(f"there is no {error.args[0]!r}", path=path) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"is no registry of data sets: {error}", path=path) from error
    return Registry({record.name: record for record in records})


def is_safe(path: str) -> bool:
    """Whether a path with forward slashes stays below the folder it is put into.

    >>> is_safe("skeleton/walk.bvh"), is_safe("../walk.bvh"), is_safe("/etc/walk.bvh")
    (True, False, False)
    """
    parts = path.split("/")
    return bool(re.fullmatch(r"[^\\:\x00-\x1f]+", path)) and not {"", ".", ".."} & set(parts)


def _source(entry: dict[str, Any]) -> Source:
    if entry["kind"] == "url":
        base = str(entry["base"])
        _require(
            base.startswith("https://") and base.endswith("/"), f"address {base!r}: https://… and a / last"
        )
        return UrlSource(base)
    _require(entry["kind"] == "package", f"source of unknown kind {entry['kind']!r}")
    form = entry["form"]
    _require(form in ("wheel", "sdist"), f"package in unknown form {form!r}")
    for word in (entry["package"], entry["version"], entry.get("tag", "any")):
        _require(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", word), f"package with odd name {word!r}")
    return PackageSource(
        entry["package"], entry["version"], form, _size(entry), _checksum(entry), entry.get("tag")
    )


def _record(entry: dict[str, Any], sources: dict[str, Source], terms: dict[str, Any]) -> Record:
    name, kind, main = entry["name"], entry["kind"], entry["main"]
    _require(re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name), f"name {name!r}: small letters, digits, . _ -")
    _require(kind in KINDS, f"{name}: kind {kind!r} is none of {', '.join(KINDS)}")
    files = tuple(_file(file, sources) for file in entry["files"])
    _require(files and not _repeated(file.path for file in files), f"{name}: no files, or one of them twice")
    is_file = main in [file.path for file in files]
    is_folder = is_safe(main) and all(file.path.startswith(f"{main}/") for file in files)
    _require(is_file or is_folder, f"{name}: main {main!r} is neither one of the files nor their folder")
    term = terms[entry["terms"]]
    return Record(name, entry["description"], kind, term["license"], term["citation"], main, files)


def _file(entry: dict[str, Any], sources: dict[str, Source]) -> DataFile:
    path, at = entry["path"], entry.get("at", entry["path"])
    for place in (path, at):
        _require(is_safe(place), f"path {place!r} leads out of its folder")
    source = sources[entry["source"]] if "source" in entry else None
    return DataFile(path, _size(entry), _checksum(entry), source, at)


def _size(entry: dict[str, Any]) -> int:
    size = entry["size"]
    _require(isinstance(size, int) and 0 < size <= LARGEST_FILE, f"size {size!r}")
    return int(size)


def _checksum(entry: dict[str, Any]) -> str:
    checksum = entry["sha256"]
    _require(re.fullmatch(r"[0-9a-f]{64}", checksum), f"checksum {checksum!r}")
    return str(checksum)


def _repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _require(holds: object, complaint: str) -> None:
    if not holds:
        raise ValueError(complaint)
