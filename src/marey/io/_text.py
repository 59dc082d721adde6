"""Words of files, decoded, told apart, and shown in errors; and what to call what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from marey.io._files import NUMBER, is_numbered

LONGEST_SHOWN = 40


def decoded(name: bytes) -> str:
    """A name of a text file: UTF-8, else Latin-1, in which every byte is a letter."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("latin-1")


def shown(piece: bytes | str) -> str:
    """A piece of a file as one can print it: quoted, on one line, not too long."""
    text = piece[: LONGEST_SHOWN + 1]
    text = text.decode("latin-1") if isinstance(text, bytes) else text
    return repr(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…")


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


def all_different(names: Sequence[str]) -> list[str]:
    """The names, with `_2`, `_3`, … after those that were there before.

    >>> all_different(["hand", "hand", "hand_2"])
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
