"""From a record to files on this disk: those of `MAREY_DATA`, those of the cache, or a download by pooch.

A file appears whole and checked against the registry, or not at all.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from marey._work import Progress
from marey.datasets.packages import HINT, ensure_parent, unpack
from marey.datasets.registry import (
    DataFile,
    Dataset,
    PackageSource,
    Registry,
    UrlSource,
    cache_folder,
    data_folder,
    file_size,
)
from marey.errors import DownloadError, FormatError, InputError
from marey.io._files import atomic_write

PATIENCE = 30.0  # seconds without a sign of life


def fetch(record: Dataset, registry: Registry, *, progress: Progress | None = None) -> Path:
    """The data set's main file or folder; what is not on this disk is downloaded into the cache."""
    given = data_folder()
    if given is not None and any((given / file.path).exists() for file in record.files):
        for file in record.files:
            wrong = verify(given, file)
            if wrong:
                raise FormatError(f"{wrong}; restore it, or unset MAREY_DATA", path=given / file.path)
        return given / record.main
    cache = cache_folder()
    missing = [file for file in record.files if verify(cache, file)]
    if missing and given is not None:
        raise InputError(f"{record.name} is not under MAREY_DATA={given}; unset MAREY_DATA to download it")
    if missing:
        _download_all(record, missing, registry, cache, progress)
    return cache / record.main


def _download_all(
    record: Dataset, missing: Sequence[DataFile], registry: Registry, cache: Path, progress: Progress | None
) -> None:
    from_packages = [file for file in missing if isinstance(file.source, PackageSource)]
    addresses = {file: _address(record, file) for file in missing if file not in from_packages}
    archives = list(dict.fromkeys(f.source for f in from_packages if isinstance(f.source, PackageSource)))
    total = sum(file.size for file in addresses) + sum(archive.size for archive in archives)
    done = 0

    def report(bytes_of_this: int) -> None:
        if progress is not None:
            progress(min(done + bytes_of_this, total), total)

    for file, address in addresses.items():
        download(address, file, cache, report=report)
        done += file.size
    for archive in archives:
        # One archive often serves several data sets: all of them are unpacked while it is here.
        unpack(archive, registry.files_from(archive), cache, report=report)
        done += archive.size
    report(0)


def _address(record: Dataset, file: DataFile) -> str:
    mirror = os.environ.get("MAREY_DATA_URL")
    if mirror:
        if not mirror.startswith(("http://", "https://")):
            raise InputError(f"MAREY_DATA_URL={mirror}: give an address that begins with https:// or http://")
        return f"{mirror.rstrip('/')}/{quote(file.path)}"
    if isinstance(file.source, UrlSource):
        return file.source.base + quote(file.at)
    raise DownloadError(
        f"{record.name} cannot be downloaded (licence: {record.license}); "
        f"set MAREY_DATA to a folder that has {record.main}"
    )


def verify(folder: Path, file: DataFile) -> str | None:
    """What is wrong with the file below `folder`; None if it is the registered one."""
    path = folder / file.path
    size = file_size(path)
    if size is None:
        return "is missing"
    if size != file.size:
        return f"has {size:,} bytes, not {file.size:,}"
    try:
        found = _checksum(path, size, path.stat().st_mtime_ns)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if found == file.sha256 else "is not the registered file: its checksum differs"


@lru_cache(maxsize=4096)
def _checksum(path: Path, size: int, changed: int) -> str:
    """SHA-256 of the file; `size` and `changed` (its time) are there so that an edited file is read again."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def download(url: str, file: DataFile, folder: Path, *, report: Callable[[int], None]) -> None:
    """Put what `url` holds at the file's place below `folder`; `report` is called with the bytes so far."""
    import pooch

    def stream(url: str, output: str, _: object) -> None:
        with Path(output).open("wb") as raw:
            fetch = pooch.HTTPDownloader(timeout=PATIENCE, chunk_size=1 << 16)
            fetch(url, _Counted(raw, url, file.size, report), None)

    with atomic_write(ensure_parent(folder / file.path)) as draft, _quiet(pooch.get_logger()):
        try:
            pooch.retrieve(
                url,
                known_hash=f"sha256:{file.sha256}",
                path=draft.parent,
                fname=draft.name,
                downloader=stream,
            )
        except OSError as error:
            if not hasattr(error, "response"):  # the disk's fault, not the network's
                raise
            raise DownloadError(f"{url}: {_reason(error)}; {HINT}") from error
        except ValueError as error:
            raise DownloadError(
                f"{url}: what came is not the registered file (its checksum differs), so it was not kept; "
                + HINT
            ) from error


class _Counted:
    """A file that reports how much it was given and refuses more than it should get."""

    def __init__(self, raw: BinaryIO, url: str, limit: int, report: Callable[[int], None]):
        self._raw, self._url, self._limit, self._report = raw, url, limit, report
        self._count = 0

    def write(self, chunk: bytes) -> None:
        self._count += len(chunk)
        if self._count > self._limit:
            raise DownloadError(f"{self._url}: sends more than the {self._limit:,} bytes expected; {HINT}")
        self._raw.write(chunk)
        self._report(self._count)

    def flush(self) -> None:
        """Nothing: the file is flushed when it is closed."""


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _reason(error: OSError) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answers {response.status_code} {response.reason}"
    names = {kind.__name__ for kind in type(error).__mro__}
    if "Timeout" in names:
        return f"no answer for {PATIENCE:.0f} s"
    if "ChunkedEncodingError" in names:
        return "the connection broke off"
    return "cannot be reached"
