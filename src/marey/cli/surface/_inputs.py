"""What the surface commands are given: files of mesh sequences, read into one library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from marey.character import Character
from marey.cli._console import load_with_bar
from marey.errors import InputError
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence


def load_library(files: Sequence[Path], *, labels: Sequence[str] = (), **options: Any) -> Library:
    """Sequences of one subject from files, named after them; each clip of a character is a sequence."""
    found: list[MeshSequence] = []
    for file in files:
        found += sequences_in(file, **options)
    return Library(tuple(found), tuple(labels))


def sequences_in(file: Path, **options: Any) -> list[MeshSequence]:
    """The mesh sequences of a file: one, or one for each clip of a character."""
    thing = load_with_bar(file, clip=None, **options)
    if isinstance(thing, MeshSequence):
        return [replace(thing, name=file.stem)]
    if isinstance(thing, Character):
        single = len(thing.motions) == 1
        return [
            replace(thing.pose(motion), name=file.stem if single else f"{file.stem}-{motion.name}")
            for motion in thing.motions
        ]
    raise InputError(f"{file}: holds a {type(thing).__name__}, not a mesh sequence or a character")
