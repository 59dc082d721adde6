"""Touching the disk safely: reads that check first, writes that appear whole or not at all.

A run replaces or removes the file that the user named and, in a folder, the files that an earlier run made
and that were not changed since. Everything else stays, or the run is refused. The list of these files is
`.marey.json` in the folder: for each the output it belongs to (the folder as a whole, or the numbered name or
file that the user gave), size and digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from marey.errors import FormatError, InputError, MareyError
from marey.io._limits import LIMITS

NUMBER = re.compile(r"%0?(\d*)d")
LIST, STORE_LIST, DRAFT = ".marey.json", ".marey.store.json", ".marey-"
"""Names: of the list in a folder and in a store, and how those of folders with drafts begin."""
# Output, size and digest of a file.
Entry = list[str | int]
# Objects of libraries that have no annotations, or that zarr takes and gives.
Untyped = Any
WHOLE = "."
"""The output that is the folder as a whole."""

try:
    import fcntl
except ImportError:  # Windows has no such locks: drafts of killed runs stay there
    fcntl = None  # type: ignore[assignment]


def read_bytes(path: Path, *, limit: int = LIMITS.file) -> bytes:
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
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it at the end; nothing is left behind on failure.

    A link stays a link: the file it points to is the one replaced.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_write(target) as draft:
    ...     _ = draft.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give a file name")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a regular file; give another name")
    path = resolve_link(path)
    if not path.parent.is_dir():
        raise _unwritable(path, FileNotFoundError())
    with draft_folder(path, path.parent) as folder:
        draft = folder / path.name
        yield draft
        draft.replace(path)


@contextmanager
def atomic_write_files(path: Path, names: Sequence[str]) -> Iterator[Path]:
    """A folder of drafts for files that belong together, all put beside `path` at the end.

    Args:
        path: what the user named: one of the files, which may be replaced, or a numbered pattern.
        names: the files to be written; those of an earlier run under the same `path` go.
    """
    check_target(path, names)
    with suppress(OSError):
        path.parent.parent.mkdir(parents=True, exist_ok=True)
    with draft_folder(path, path.parent) as folder:
        yield folder
        move_into(path.parent, folder, NUMBER.sub("%d", path.name))


@contextmanager
def atomic_write_folder(path: Path, names: Sequence[str] | None = None) -> Iterator[Path]:
    """As :func:`atomic_write` for a folder; files in it that marey did not make stay.

    Args:
        path: the folder; made if it is missing.
        names: files to be written, which may join others in the folder. None for a thing that has the
            folder for itself, such as a store: the folder must be new, empty or made by an earlier run.
    """
    check_folder_target(path, names)
    path = resolve_link(path)
    with draft_folder(path, path) as folder:
        yield folder
        move_into(path, folder, None if names else WHOLE)


def check_folder_target(path: Path, names: Sequence[str] | None = None) -> None:
    """Raise before the work what would stop :func:`atomic_write_folder` after it."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; give a folder name")
    check_replaceable(path, names)


def check_target(path: Path, names: Sequence[str] = ()) -> None:
    """Raise if files that marey did not make would be replaced by files beside `path`, or a store."""
    if path.parent.exists() and not path.parent.is_dir():
        raise InputError(f"{path.parent}: is a file; give a folder name")
    if is_numbered(path):
        with suppress(FormatError):  # none there
            names = [*names, *(file.name for file in numbered_files(path, ()))]
    elif path.suffix.lower() == ".zarr":
        check_folder_target(path)
    check_replaceable(path.parent, [name for name in names if name != path.name])


@contextmanager
def draft_folder(path: Path, place: Path) -> Iterator[Path]:
    """A hidden folder that stands for `place`, removed at the end; errors speak of `path` and `place`.

    It is locked, so that other runs see whether its own is still going on.
    """
    home = place if place.is_dir() else place.parent
    lock = None
    try:
        _remove_dead_drafts(home.absolute())
        with tempfile.TemporaryDirectory(prefix=DRAFT, dir=home, ignore_cleanup_errors=True) as scratch:
            lock = _locked(Path(scratch))
            folder = Path(scratch, place.absolute().name or "root")
            folder.mkdir()
            yield folder
    except OSError as error:
        raise _unwritable(path, error) from error
    except MareyError as error:
        error.args = (str(error).replace(f"{folder}{os.sep}", str(place / "x")[:-1]),)
        error.args = (str(error).replace(str(folder), str(place)),)
        raise
    finally:
        if lock is not None:
            os.close(lock)


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


def series_files(path: Path, endings: tuple[str, ...]) -> list[Path]:
    """The files of a series, which `path` names as a folder or a pattern, or a single file."""
    several = path.is_dir() or (is_numbered(path) and not path.is_file())
    return numbered_files(path, endings) if several else [path]


def write_series(
    path: Path, frames: Iterable[bytes], count: int, beside: Mapping[str, bytes] = MappingProxyType({})
) -> None:
    """Write one file, or `count` numbered ones (`walk_%04d.obj`), and others beside them: all or none."""
    single = count == 1 and not is_numbered(path)
    if single and not beside:
        with atomic_write(path) as draft:
            draft.write_bytes(next(iter(frames)))
        return
    names = [path.name] if single else [numbered_name(path, i) for i in range(count)]
    with atomic_write_files(path, [*names, *beside]) as folder:
        for name, data in chain(zip(names, frames, strict=True), beside.items()):
            (folder / name).write_bytes(data)


def _by_number(file: Path) -> list[int | str]:
    # Every second part is a number: "²" counts as a digit for str.isdigit, not for int.
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"(\d+)", file.name))]


def _locked(folder: Path) -> int | None:
    """Lock a new draft folder until its process ends; None where that is not possible."""
    if fcntl is None:
        return None
    lock = os.open(folder / "new", os.O_CREAT | os.O_RDWR)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / "new").rename(_lock_of(folder))
    return lock


@cache
def _remove_dead_drafts(parent: Path) -> None:
    """Remove what killed runs left in a folder; once a process, as a folder can have many files."""
    for lock in parent.glob(f"{DRAFT}*/*.lock") if fcntl is not None else ():
        if lock == _lock_of(lock.parent):
            with suppress(OSError), lock.open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)


def _lock_of(folder: Path) -> Path:
    # Named after the folder, so that no draft has this name.
    return folder / f"{folder.name}.lock"


def resolve_link(path: Path) -> Path:
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError) as error:  # links that point at each other
        raise InputError(f"{path}: cannot be written: {error}") from error


def _unwritable(path: Path, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError) and not path.parent.is_dir():
        return InputError(f"{path}: cannot be written: there is no folder {path.parent}")
    return InputError(f"{path}: cannot be written: {error.strerror or error}")


def decoded(name: bytes) -> str:
    """A name of a text file: UTF-8, else Latin-1, in which every byte is a letter."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("latin-1")


def quoted(piece: bytes | str) -> str:
    """A piece of a file as one can print it: quoted, on one line, not too long."""
    text = piece[:41]
    text = text.decode("latin-1") if isinstance(text, bytes) else text
    return repr(text if len(text) <= 40 else text[:40] + "…")


def line_number(data: bytes, position: int) -> int:
    """The number of the line that holds a byte; lines end in LF, CRLF, CR or, where joined, in zero."""
    ends = sum(data.count(end, 0, position) for end in (b"\n", b"\r", b"\0"))
    return ends - data.count(b"\r\n", 0, position) + 1


def series_name(path: Path) -> str:
    """What to call what is in a file, a folder, or numbered files.

    >>> [series_name(Path(name)) for name in ("a/walk.obj", "a/walk_%04d.obj", "a/%04d.obj")]
    ['walk', 'walk', 'a']
    """
    if path.is_dir():
        return path.name
    return (plain_stem(path) or path.parent.name) if is_numbered(path) else path.stem


def plain_stem(path: Path) -> str:
    """What numbered files have in common, if anything: `walk` of `walk_%04d.obj`."""
    return NUMBER.sub("", path.stem).strip("_-. ")


def time_facts(frames: int, frame_rate: float) -> dict[str, float]:
    """How long something of so many frames is."""
    return {"frames": frames, "frame_rate": frame_rate, "duration": frames / frame_rate}


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, with `_2`, `_3`, … after those that were there before.

    >>> unique_names(["hand", "hand", "hand_2"])
    ['hand', 'hand_3', 'hand_2']
    """
    taken, met = set(names), set[str]()
    numbers: dict[str, int] = {}
    different = []
    for name in names:
        unique = name
        while name in met and unique in taken:
            numbers[name] = numbers.get(name, 1) + 1
            unique = f"{name}_{numbers[name]}"
        taken.add(unique)
        met.add(name)
        different.append(unique)
    return different


def check_poses_fit(frames: int, joints: int, path: Path) -> None:
    """Raise if the rotations of a clip would take far more memory than its file accounts for."""
    # Poses of real clips take one to six times the room of their text.
    needed = frames * joints * 32
    if needed > max(1 << 30, 64 * path.stat().st_size):
        raise FormatError(
            f"up to {frames} frames of {joints} joints would take {needed / 1e9:.0f} GB, "
            "most of it for joints that do not move",
            path=path,
        )


def check_replaceable(folder: Path, names: Sequence[str] | None) -> None:
    """Raise if an output would replace files that marey did not make.

    Args:
        folder: where the output goes; may be missing.
        names: its files and folders; None for an output that has the folder for itself.
    """
    made = _read(folder)
    if names is None:
        entries = (entry.name for entry in folder.iterdir()) if folder.is_dir() else ()
        other = next((name for name in entries if not name.startswith(DRAFT)), None)
        if other is not None and not made:
            raise InputError(f"{folder}: is a folder with other things in it ({other}); give a new name")
        names = list(made)
    for name in names:
        for path in (folder / name, *_files(folder / name)):
            _check(folder, path, made)


def move_into(folder: Path, draft: Path, output: str | None = WHOLE) -> None:
    """Move all files of a draft into a folder.

    Args:
        folder: made if it is missing.
        draft: their folder, on the same file system.
        output: what they belong to; other files that an earlier run made for it are removed. A file of
            this name was named by the user and is replaced whatever it is. None: each is one by itself.
    """
    made, place_before = _read(folder), _list_place(folder)
    names = [file.relative_to(draft).as_posix() for file in _files(draft)]
    fresh = {name: [output or name, *_facts(draft / name)] for name in names if name != LIST}
    for name in fresh:
        if name != output:
            _check(folder, folder / name, made)
    old = [name for name, (belongs, *_) in made.items() if belongs == output]
    kept = {name: entry for name, entry in made.items() if name not in old}
    place = _list_place(draft)
    (draft / place).write_text(json.dumps({**kept, **fresh}, indent=1), encoding="utf-8")
    if not folder.exists():
        draft.replace(folder)
        return
    gone = [name for name in old if name != output and _is_made(folder / name, made[name])]
    for name in (*gone, *({place_before} - {place})):
        (folder / name).unlink(missing_ok=True)
        _remove_empty(folder, (folder / name).parent)
    # The list first, and headers, which lie on top, last: cut off here, it is no result, not a mixed one.
    for name in (place, *sorted(fresh, key=lambda name: (-name.count("/"), name))):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (draft / name).replace(folder / name)


def _check(folder: Path, path: Path, made: dict[str, Entry]) -> None:
    """Raise unless `path` is free, or a file that marey made and that is unchanged."""
    for place in (path, *path.parents[: len(path.relative_to(folder).parts) - 1]):
        name = place.relative_to(folder).as_posix()
        if not os.path.lexists(place) or (place.is_dir() and not place.is_symlink() and name not in made):
            continue
        if name not in made:
            raise InputError(f"{place}: is not a file that marey made; move it or give another name")
        if not _is_made(place, made[name]):
            raise InputError(f"{place}: was changed since marey made it; move it or give another name")


def _read(folder: Path) -> dict[str, Entry]:
    """The list of a folder; empty if there is none, or one that makes no sense."""
    try:
        listed = json.loads((folder / _list_place(folder)).read_text(encoding="utf-8"))
        inside = [name for name in listed if ".." not in (path := PurePosixPath(name)).parts and path.parts]
        return {n: listed[n] for n in inside if not PurePosixPath(n).is_absolute() and len(listed[n]) == 3}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _list_place(folder: Path) -> str:
    """Where the list lies: of a store within an array, as zarr warns of unknown files beside arrays."""
    arrays = folder.glob("*/zarr.json") if (folder / "zarr.json").exists() else ()
    inside = sorted(folder.glob(f"*/{STORE_LIST}")) or sorted(arrays)
    return f"{inside[0].parent.name}/{STORE_LIST}" if inside else LIST


def _is_made(file: Path, entry: Entry) -> bool:
    return not file.is_symlink() and file.is_file() and _facts(file) == entry[1:]


def _facts(file: Path) -> Entry:
    with file.open("rb") as stream:
        return [file.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()[:32]]


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


def _remove_empty(folder: Path, parent: Path) -> None:
    with suppress(OSError):  # something else is in it
        while parent != folder:
            parent.rmdir()
            parent = parent.parent
