"""Members of zip and tar archives, read by name into memory; nothing is unpacked to a path they choose."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from marey.datasets.registry import is_safe
from marey.errors import DownloadError


def read_members(archive: Path, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """Contents of the named members, each of which must be a plain file of exactly the given size."""
    for name in sizes:
        if not is_safe(name):
            raise DownloadError(f"{archive.name}: member {name!r} leads out of the archive")
    read = _read_zip if zipfile.is_zipfile(archive) else _read_tar
    try:
        contents = read(archive, sizes)
    except (OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, zlib.error, RuntimeError) as error:
        raise DownloadError(f"{archive.name}: cannot be read as an archive: {error}") from error
    for name, size in sizes.items():
        if name not in contents:
            raise DownloadError(f"{archive.name}: there is no file {name!r} in it")
        if len(contents[name]) != size:
            raise DownloadError(f"{archive.name}: {name} has not the {size:,} bytes it should have")
    return contents


def _read_zip(archive: Path, sizes: Mapping[str, int]) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        present = [name for name in sizes if name in opened.NameToInfo]
        contents = {}
        for name in present:
            with opened.open(name) as member:
                contents[name] = member.read(sizes[name] + 1)
        return contents


def _read_tar(archive: Path, sizes: Mapping[str, int]) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    with tarfile.open(archive) as opened:
        for info in opened:
            if info.name in sizes and info.isreg():
                member = opened.extractfile(info)
                contents[info.name] = b"" if member is None else member.read(sizes[info.name] + 1)
                if len(contents) == len(sizes):
                    break
    return contents
