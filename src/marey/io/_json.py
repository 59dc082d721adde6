"""JSON files as typed values: msgspec decodes and checks them; an error is one line with its place.

Numbers that are not finite, and nesting too deep for the stack, are refused. Cost: one pass over the bytes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from marey.errors import FormatError
from marey.io._files import read_bytes

T = TypeVar("T")
Json = dict[str, Any]

_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class Strict(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Base of objects of a file written by hand, in which an unknown key is a mistake."""


def read_json(path: Path, kind: type[T], *, limit: int) -> T:
    """The values of a JSON file of at most `limit` bytes."""
    return decode(read_bytes(path, limit=limit), kind, path)


def decode(data: bytes | msgspec.Raw, kind: type[T], path: Path, *, place: str = "") -> T:
    """The values of JSON text as `kind`, or an error that names file and place.

    Args:
        place: Where in the file the text stands, such as `goals.east`.

    >>> class Room(Strict):
    ...     size: tuple[float, float]
    >>> decode(b'{"size": [3, "wide"]}', Room, Path("room.json"))
    Traceback (most recent call last):
    marey.errors.FormatError: room.json: size[1]: expected a number, found "wide"
    """
    text = bytes(data).removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise FormatError(_message(str(error), kind, place, text), path=path) from error
    except (ValueError, RecursionError) as error:
        at = re.search(r"\(byte (\d+)\)", str(error))
        line = text.count(b"\n", 0, int(at[1]) if at else len(text)) + 1
        raise FormatError(
            f"not JSON: {str(error).removeprefix('JSON is malformed: ')}", path=path, line=line
        ) from error


def _message(said: str, kind: type, place: str, text: bytes) -> str:
    """What msgspec says, in the words of a file: `groups[0].people: expected a whole number, found 2.5`."""
    said, _, at = said.replace("`", "'").partition(" - at ")
    at = at.strip("'").removeprefix("$")
    known = ", ".join(getattr(kind, "__struct_fields__", ()))
    if found := re.fullmatch(r"Object missing required field '(.*)'", said):
        said = f"{found[1]} is missing"
    elif found := re.fullmatch(r"Object contains unknown field ('.*')", said):
        said = f"unknown key {found[1]}" + (f"; known are {known}" if not at else "")
    elif found := re.match(r"Expected '([\w |]+)'( [<>om].*)?", said):
        names = " or ".join(_WORDS.get(name, name) for name in found[1].split(" | "))
        keys = f" with {known}" if known and not at and found[1] == "object" else ""
        said = f"expected {names}{keys}{found[2] or ''}, found {_value_at(at, text)}"
    where = f"{place}{at}".lstrip(".")
    return f"{where}: {said}" if where else said


def _value_at(at: str, text: bytes) -> str:
    """The value at a place such as `.groups[0].people`, as one can print it."""
    try:
        value = msgspec.json.decode(text)
        for key, number in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", at):
            value = value[key] if key else value[int(number)]
    except (ValueError, LookupError, TypeError, RecursionError):  # damage after it, or in a map
        return "something else"
    shown = msgspec.json.encode(value).decode()
    return shown if len(shown) <= 40 else shown[:39] + "…"
