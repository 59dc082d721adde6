"""From a record to files on this disk: those of `MAREY_DATA`, those of the cache, or a download."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from marey._progress import Progress
from marey.datasets.downloads import download
from marey.datasets.packages import unpack
from marey.datasets.places import cache_folder, damage, data_folder
from marey.datasets.registry import DataFile, PackageSource, Record, Registry, UrlSource
from marey.errors import DownloadError, FormatError, InputError


def fetch(record: Record, registry: Registry, *, progress: Progress | None = None) -> Path:
    """The data set's main file or folder; what is not on this disk is downloaded into the cache."""
    given = data_folder()
    if given is not None and any((given / file.path).exists() for file in record.files):
        for file in record.files:
            wrong = damage(given, file)
            if wrong:
                raise FormatError(f"{wrong}; restore it, or unset MAREY_DATA", path=given / file.path)
        return given / record.main
    cache = cache_folder()
    missing = [file for file in record.files if damage(cache, file)]
    if missing and given is not None:
        raise InputError(f"{record.name} is not under MAREY_DATA={given}; unset MAREY_DATA to download it")
    if missing:
        _download_all(record, missing, registry, cache, progress)
    return cache / record.main


def _download_all(
    record: Record, missing: Sequence[DataFile], registry: Registry, cache: Path, progress: Progress | None
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


def _address(record: Record, file: DataFile) -> str:
    from urllib.parse import quote

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
