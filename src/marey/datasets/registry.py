"""The registry of data sets: a JSON file, checked when it is read.

`sources` name where files come from (`base` address of a public repository at a fixed commit, or a package
with its version and checksum), `terms` hold licence and citation, `datasets` the files: `path` below
`MAREY_DATA` or the cache, `size` in bytes, `sha256`, and `at`, the file's place at its source. A file without
a source cannot be downloaded.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from marey.errors import FormatError, InputError
from marey.io._json import read_json
from marey.io._limits import LIMITS

Kind = Literal["motion", "markers", "mesh", "character", "tracks", "field", "video"]
KINDS = get_args(Kind)
PACKAGED = Path(__file__).with_name("registry.json")

# A path with forward slashes that stays below the folder it is put into.
SAFE_PATH = r"^(?!(.*/)?\.{0,2}(/|\Z))[^\\:\x00-\x1f]+\Z"

SafePath = Annotated[str, Meta(pattern=SAFE_PATH)]
Word = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z")]
Size = Annotated[int, Meta(gt=0, le=2 << 30)]
Checksum = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class UrlSource(Struct, frozen=True, tag_field="kind", tag="url"):
    """Files below one address."""

    base: Annotated[str, Meta(pattern=r"^https://.*/\Z")]


class PackageSource(Struct, frozen=True, tag_field="kind", tag="package"):
    """Members of one archive that the package index holds: a wheel (of one `tag`) or an sdist."""

    package: Word
    version: Word
    form: Literal["wheel", "sdist"]
    size: Size
    sha256: Checksum
    tag: Word | None = None


Source = UrlSource | PackageSource


class DataFile(Struct, frozen=True):
    """One file: its place in our layout, what it must be, where it comes from."""

    path: str
    size: int
    sha256: str
    source: Source | None
    at: str


class Dataset(Struct, frozen=True):
    """A data set.

    Attributes:
        name: How it is asked for.
        description: What it shows.
        kind: motion, markers, mesh, character, tracks, field or video.
        license: The terms on which it may be used.
        citation: How to name its makers.
        main: The path of one of the files, or of the folder that holds them all.
        files: What it consists of.
    """

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

    @property
    def downloadable(self) -> bool:
        """Whether we know of a place that may pass it on; others need `MAREY_DATA`."""
        return all(file.source is not None for file in self.files)

    @property
    def path(self) -> Path | None:
        """The main file or folder on this disk, judged by the sizes of the files; None if it is not here."""
        for folder in (data_folder(), cache_folder()):
            if folder is not None and all(file_size(folder / file.path) == file.size for file in self.files):
                return folder / self.main
        return None


class Registry(Struct, frozen=True):
    """All data sets by name."""

    records: dict[str, Dataset]

    def files_from(self, source: Source) -> list[DataFile]:
        """Every file of any data set that comes from `source`."""
        return [file for record in self.records.values() for file in record.files if file.source == source]


class _File(Struct):
    path: SafePath
    size: Size
    sha256: Checksum
    source: str | None = None
    at: SafePath | None = None


class _Dataset(Struct):
    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]*\Z")]
    description: str
    kind: Kind
    terms: str
    main: SafePath
    files: Annotated[list[_File], Meta(min_length=1)]


class _Terms(Struct):
    license: str
    citation: str


class _Content(Struct):
    sources: dict[str, Source]
    terms: dict[str, _Terms]
    datasets: list[_Dataset]


@lru_cache(maxsize=1)
def packaged() -> Registry:
    """The registry that comes with marey."""
    return read_registry(PACKAGED)


def read_registry(path: Path) -> Registry:
    """Read and check a registry file."""
    content = read_json(path, _Content, limit=LIMITS.table)
    records: dict[str, Dataset] = {}
    for entry in content.datasets:
        try:
            sources = [None if f.source is None else content.sources[f.source] for f in entry.files]
            files = tuple(
                DataFile(f.path, f.size, f.sha256, source, f.at or f.path)
                for f, source in zip(entry.files, sources, strict=True)
            )
            terms = content.terms[entry.terms]
        except KeyError as error:
            raise FormatError(f"{entry.name}: there is no {error.args[0]!r}", path=path) from error
        paths = {file.path for file in files}
        if entry.name in records or len(paths) < len(files):
            raise FormatError(f"{entry.name} is there twice, or one of its files", path=path)
        if entry.main not in paths and not all(place.startswith(f"{entry.main}/") for place in paths):
            message = f"{entry.name}: main {entry.main!r} is neither one of the files nor their folder"
            raise FormatError(message, path=path)
        about = (entry.name, entry.description, entry.kind, terms.license, terms.citation, entry.main)
        records[entry.name] = Dataset(*about, files)
    return Registry(records)


def data_folder() -> Path | None:
    """The folder that `MAREY_DATA` names, if it names one."""
    named = os.environ.get("MAREY_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise InputError(f"MAREY_DATA={named}: there is no such folder; correct it or unset MAREY_DATA")
    return folder


def cache_folder() -> Path:
    """Where downloads are kept: `MAREY_CACHE`, or the user's cache folder."""
    named = os.environ.get("MAREY_CACHE")
    if named:
        return Path(named).expanduser()
    from pooch import os_cache

    return Path(os_cache("marey"))


def file_size(path: Path) -> int | None:
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def is_safe(path: str) -> bool:
    """Whether a path with forward slashes stays below the folder it is put into.

    >>> is_safe("skeleton/walk.bvh"), is_safe("../walk.bvh"), is_safe("/etc/walk.bvh")
    (True, False, False)
    """
    return re.search(SAFE_PATH, path) is not None
