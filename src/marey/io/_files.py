"""Touching the disk safely: reads that check first, writes that appear whole or not at all."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from marey.errors import FormatError, InputError

# Text formats are parsed in memory; nothing captured so far comes near this.
LARGEST_FILE = 4 << 30

NUMBER = re.compile(r"%0?(\d*)d")


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

    A link stays a link: the file it points to is the one replaced.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with write_beside(target) as draft:
    ...     _ = draft.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give a file name")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a regular file; give another name")
    path = _followed(path)
    with _draft_folder(path) as folder:
        draft = folder / path.name
        yield draft
        draft.replace(path)


@contextmanager
def write_numbered_beside(pattern: Path, count: int) -> Iterator[list[Path]]:
    """Drafts of `count` files such as `frames/walk_%04d.obj`; the folder is made if it is missing.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "frames"
    >>> with write_numbered_beside(folder / "%02d.txt", 2) as drafts:
    ...     for draft in drafts:
    ...         _ = draft.write_text("whole")
    >>> sorted(file.name for file in folder.iterdir())
    ['00.txt', '01.txt']
    """
    names = [numbered_name(pattern, i) for i in range(count)]
    try:
        pattern.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(pattern, error) from error
    with _draft_folder(pattern) as folder:
        drafts = [folder / name for name in names]
        yield drafts
        for draft in drafts:
            draft.replace(pattern.parent / draft.name)


@contextmanager
def write_folder_beside(path: Path) -> Iterator[Path]:
    """As :func:`write_beside` for a folder. One that is there already must be of the same kind.

    "Same kind" means that the draft and the folder it replaces share a file name at their top level, so
    that nobody's holiday pictures are replaced by a field series.
    """
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; give a folder name")
    path = _followed(path)
    with _draft_folder(path) as folder:
        draft = folder / path.name
        draft.mkdir()
        yield draft
        if path.exists():
            ours = {entry.name for entry in draft.iterdir() if entry.is_file()}
            there = {entry.name for entry in path.iterdir()}
            if there and not ours & there:
                raise InputError(f"{path}: is a folder with other things in it; give a new name")
            path.replace(folder / "replaced")
        draft.replace(path)


def is_numbered(path: Path) -> bool:
    """Whether `path` is a pattern for numbered files, such as `walk_%04d.obj`."""
    return NUMBER.search(path.name) is not None


def numbered_name(pattern: Path, index: int) -> str:
    """File name of one of the numbered files."""
    found = NUMBER.search(pattern.name)
    if found is None:
        raise InputError(f"{pattern}: give a numbered name such as {pattern.stem}_%04d{pattern.suffix}")
    width = min(int(found.group(1) or 0), 12)
    return NUMBER.sub(str(index).zfill(width), pattern.name, count=1)


def numbered_files(path: Path, endings: tuple[str, ...]) -> list[Path]:
    """Files of a sequence, in the order of their numbers: those of a folder, or those a pattern matches."""
    if is_numbered(path):
        head, _, tail = NUMBER.split(path.name, maxsplit=1)
        folder, wanted = path.parent, re.escape(head) + r"\d+" + re.escape(tail)
    else:
        folder, wanted = path, r"[^.].*(" + "|".join(map(re.escape, endings)) + ")"
    try:
        found = [e for e in folder.iterdir() if re.fullmatch(wanted, e.name, flags=re.IGNORECASE)]
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=folder) from error
    if not found:
        raise FormatError(f"no such files ({', '.join(endings)})", path=path)
    return sorted(found, key=_by_number)


def _by_number(file: Path) -> list[int | str]:
    # Every second part is a number: "²" counts as a digit for str.isdigit, not for int.
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"(\d+)", file.name))]


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


def _followed(path: Path) -> Path:
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError) as error:  # links that point at each other
        raise InputError(f"{path}: cannot be written: {error}") from error


def _unwritable(path: Path, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError) and not path.parent.exists():
        return InputError(f"{path}: cannot be written: there is no folder {path.parent}")
    return InputError(f"{path}: cannot be written: {error.strerror or error}")
