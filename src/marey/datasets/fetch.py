"""From a record to files on this disk: those of `MAREY_DATA`, those of the cache, or a download by pooch.

A file appears whole and checked against the registry, or not at all. Files out of an archive that the package
index holds are fetched by name and version through pip, which knows the index, the mirror, the proxy and the
cache that this machine uses. The archive must have the registered checksum, which pip tests before it touches
the content; nothing of it is installed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from marey import _child
from marey._work import Progress
from marey.datasets.registry import (
    DataFile,
    Dataset,
    PackageSource,
    Registry,
    UrlSource,
    cache_folder,
    data_folder,
    file_size,
    is_safe,
)
from marey.errors import DownloadError, FormatError, InputError
from marey.io._files import atomic_write, draft_folder

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


HINT = "try again later, or set MAREY_DATA to a folder that has it"


def unpack(
    source: PackageSource, files: Sequence[DataFile], folder: Path, *, report: Callable[[int], None]
) -> None:
    """Put the archive's `files` at their places below `folder`; `report` is called with the bytes so far."""
    ensure_parent(folder / "archive")
    with draft_folder(folder / "archive", folder) as scratch:
        archive = _download(source, scratch, report)
        contents = read_members(archive, {file.at: file.size for file in files})
        for file in files:
            content = contents[file.at]
            if hashlib.sha256(content).hexdigest() != file.sha256:
                raise DownloadError(f"{_title(source)}: {file.at} is not the registered file; {HINT}")
            with atomic_write(ensure_parent(folder / file.path)) as draft:
                draft.write_bytes(content)


def _download(source: PackageSource, scratch: Path, report: Callable[[int], None]) -> Path:
    wanted, target, working = scratch / "wanted.txt", scratch / "archive", scratch / "working"
    wanted.write_text(f"{source.package}=={source.version} --hash=sha256:{source.sha256}\n")
    target.mkdir()
    working.mkdir()
    command = _child.python("pip", "download", *_options(source))
    command += ["--dest", str(target), "--requirement", str(wanted)]
    # In its own temporary folder pip's progress can be seen, and what it leaves behind goes away with ours.
    environment = _child.environment() | {"TMPDIR": str(working), "TEMP": str(working), "TMP": str(working)}
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            said = _wait(process, lambda: report(min(_bytes_below(scratch), source.size)))
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise DownloadError(f"{_title(source)}: {_complaint(said)}; {HINT}")
    return next(target.iterdir())


def _options(source: PackageSource) -> list[str]:
    options = "--no-deps --no-input --disable-pip-version-check --no-color --progress-bar off --retries 1"
    chosen = [*options.split(), "--timeout", "20", "--ignore-requires-python"]
    if source.form == "sdist":
        return [*chosen, "--no-binary", source.package]
    chosen += ["--only-binary", ":all:"]
    if source.tag is not None:
        python, abi, platform = source.tag.split("-")
        chosen += ["--implementation", python[:2], "--python-version", python[2:]]
        chosen += ["--abi", abi, "--platform", platform]
    return chosen


def _wait(process: subprocess.Popen[str], report: Callable[[], None]) -> str:
    while True:
        try:
            return process.communicate(timeout=0.2)[0]
        except subprocess.TimeoutExpired:
            report()


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # gone since the folder was read
            total += path.stat().st_size
    return total


def _complaint(said: str) -> str:
    if "No module named pip" in said:
        return f"pip is needed and missing; install it with  {sys.executable} -m ensurepip"
    if "DO NOT MATCH THE HASHES" in said:
        return "what the package index has is not the registered archive (its checksum differs)"
    if "No matching distribution" in said:
        return "the package index does not have it or cannot be reached"
    errors = [line.removeprefix("ERROR:").strip() for line in said.splitlines() if line.startswith("ERROR:")]
    return "pip could not fetch it" + (f" ({errors[-1]})" if errors else "")


def _title(source: PackageSource) -> str:
    return f"package {source.package} {source.version}"


def ensure_parent(path: Path) -> Path:
    """`path`, after its folder was created."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{path.parent}: cannot be made: {error.strerror}; set MAREY_CACHE to a folder you can write to"
        ) from error
    return path


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
