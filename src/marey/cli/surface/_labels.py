"""What captured sequences show, as a user writes it down."""

from __future__ import annotations

import json
from pathlib import Path

from marey.errors import FormatError, InputError
from marey.io._files import read_bytes
from marey.surface.library import Library


def parse_labels(text: str, library: Library) -> tuple[str, ...]:
    """A label for every sequence, from `name=label,…` or a JSON file of names and labels; others keep theirs.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> parse_labels("walk-2=stroll", Library((walk[:20], walk[20:])))
    ('walk', 'stroll')
    """
    pairs = _from_file(Path(text)) if text.lower().endswith(".json") else _from_text(text)
    for name in pairs:
        if name not in library.names:
            raise InputError(f"--labels: there is no sequence {name!r}; there are {', '.join(library.names)}")
    return tuple(pairs.get(name, label) for name, label in zip(library.names, library.labels, strict=True))


def _from_text(text: str) -> dict[str, str]:
    pairs = {}
    for part in text.split(","):
        name, equals, label = (piece.strip() for piece in part.partition("="))
        if not (name and equals and label):
            raise InputError(f"--labels {text}: write name=label, separated by commas, or name a .json file")
        pairs[name] = label
    return pairs


def _from_file(path: Path) -> dict[str, str]:
    try:
        pairs = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}", path=path) from None
    if not isinstance(pairs, dict) or not all(isinstance(label, str) and label for label in pairs.values()):
        raise FormatError('expected names and labels, e.g. {"walk2": "walk"}', path=path)
    return pairs
