"""Where data sets are on this disk, and whether their files are what the registry says."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from marey.datasets.registry import DataFile, Record
from marey.errors import InputError


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


def place_of(record: Record, folders: Iterable[Path]) -> Path | None:
    """Where the data set is, judged by the sizes of its files; None if it is in none of the folders."""
    for folder in folders:
        if all(_size(folder / file.path) == file.size for file in record.files):
            return folder / record.main
    return None


def damage(folder: Path, file: DataFile) -> str | None:
    """What is wrong with the file below `folder`; None if it is the registered one."""
    path = folder / file.path
    size = _size(path)
    if size is None:
        return "is missing"
    if size != file.size:
        return f"has {size:,} bytes, not {file.size:,}"
    try:
        found = _checksum(path, size, path.stat().st_mtime_ns)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if found == file.sha256 else "is not the registered file: its checksum differs"


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


@lru_cache(maxsize=4096)
def _checksum(path: Path, size: int, changed: int) -> str:
    """SHA-256 of the file; `size` and `changed` (its time) are there so that an edited file is read again."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
