"""Which files in a folder marey made, so that a later run replaces those and no others.

The list is the file `.marey.json` in the folder: for each file the output it belongs to (the folder as a
whole, or the numbered name or file that the user gave), size and digest. A file that was changed since is the
user's.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from marey.errors import InputError

LIST, STORE_LIST, DRAFT = ".marey.json", ".marey.store.json", ".marey-"
"""Names: of the list in a folder and in a store, and how those of folders with drafts begin."""
# Output, size and digest of a file.
Entry = list[Any]
WHOLE = "."
"""The output that is the folder as a whole."""


def check_replaceable(folder: Path, names: Sequence[str] | None) -> None:
    """Raise if files that marey did not make are in the way of an output.

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
    """Raise unless `path` is free, or a file that marey made and nobody changed."""
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
