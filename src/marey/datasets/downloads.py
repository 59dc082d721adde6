"""One file from one address, by pooch: it appears whole and checked, or not at all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from marey.datasets.registry import DataFile
from marey.errors import DownloadError, InputError
from marey.io._files import atomic_write

PATIENCE = 30.0  # seconds without a sign of life


def download(url: str, file: DataFile, folder: Path, *, report: Callable[[int], None]) -> None:
    """Put what `url` holds at the file's place below `folder`; `report` is told the bytes so far."""
    import pooch

    def stream(url: str, output: str, _: Any) -> None:
        with Path(output).open("wb") as raw:
            fetch = pooch.HTTPDownloader(timeout=PATIENCE, chunk_size=1 << 16)
            fetch(url, _Counted(raw, url, file.size, report), None)

    with atomic_write(make_room(folder / file.path)) as draft, _quiet(pooch.get_logger()):
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
            raise DownloadError(f"{url}: {_reason(error)}; {WAY_OUT}") from error
        except ValueError as error:
            raise DownloadError(
                f"{url}: what came is not the registered file (its checksum differs), so it was not kept; "
                + WAY_OUT
            ) from error


WAY_OUT = "try again later, or set MAREY_DATA to a folder that has it"


def make_room(path: Path) -> Path:
    """`path`, with its folder made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{path.parent}: cannot be made: {error.strerror}; set MAREY_CACHE to a folder you can write to"
        ) from error
    return path


class _Counted:
    """A file that reports how much it was given and refuses more than it should get."""

    def __init__(self, raw: BinaryIO, url: str, limit: int, report: Callable[[int], None]):
        self._raw, self._url, self._limit, self._report = raw, url, limit, report
        self._count = 0

    def write(self, chunk: bytes) -> None:
        self._count += len(chunk)
        if self._count > self._limit:
            raise DownloadError(f"{self._url}: sends more than the {self._limit:,} bytes expected; {WAY_OUT}")
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
