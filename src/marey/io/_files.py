"""Touching the disk safely: reads that check first, writes that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from marey.errors import FormatError, InputError

# Text formats are parsed in memory; nothing captured so far comes near this.
LARGEST_FILE = 4 << 30


def read_bytes(path: Path, *, limit: int = LARGEST_FILE) -> bytes:
    """The whole file, or an error that says why not (missing, empty, a folder, too large)."""
    check_readable(path, limit=limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from error


def check_readable(path: Path, *, limit: int | None = None) -> None:
    """Raise unless `path` is a file with something in it."""
    try:
        size = path.stat().st_size
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else (error.strerror or str(error))
        raise FormatError(reason, path=path) from error
    except ValueError as error:  # a null byte in the name
        raise FormatError(str(error), path=repr(str(path))) from error
    if path.is_dir():
        raise FormatError("is a folder, not a file", path=path)
    if not path.is_file():
        raise FormatError("is not a regular file", path=path)
    if size == 0:
        raise FormatError("the file is empty", path=path)
    if limit is not None and size > limit:
        raise FormatError(f"has {size / 1e9:.1f} GB; at most {limit / 1e9:.1f} GB are read", path=path)


@contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it at the end; nothing is left behind on failure.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with write_beside(target) as draft:
    ...     _ = draft.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give a file name")
    with _draft_folder(path) as folder:
        draft = folder / path.name
        yield draft
        os.replace(draft, path)


@contextmanager
def write_folder_beside(path: Path) -> Iterator[Path]:
    """As :func:`write_beside` for a folder of files; an existing folder of ours is replaced whole."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; give a folder name")
    with _draft_folder(path) as folder:
        draft = folder / path.name
        draft.mkdir()
        yield draft
        if path.exists():
            old = folder / "replaced"
            os.replace(path, old)
        os.replace(draft, path)


@contextmanager
def _draft_folder(path: Path) -> Iterator[Path]:
    try:
        folder = Path(tempfile.mkdtemp(prefix=".marey-", dir=path.parent))
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        yield folder
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unwritable(path: Path, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError) and not path.parent.exists():
        return InputError(f"{path}: cannot be written: there is no folder {path.parent}")
    return InputError(f"{path}: cannot be written: {error.strerror or error}")
