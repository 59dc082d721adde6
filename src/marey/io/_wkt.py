"""Polygons as well-known text (OGC 06-103r4): the walkable areas of JuPedSim and PedPy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from marey._arrays import Array
from marey.crowd.polygons import Region
from marey.errors import InputError

LARGEST_TEXT = 16 << 20
TOKEN = re.compile(r"\s*(?:([A-Za-z]+)|([(),])|([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))")


def from_wkt(text: str) -> list[Region]:
    """(outline, holes) of each polygon of a POLYGON, MULTIPOLYGON or GEOMETRYCOLLECTION of them.

    >>> [(outline, holes)] = from_wkt("POLYGON ((0 0, 4 0, 4 3, 0 0), (1 1, 2 1, 2 1.5, 1 1))")
    >>> outline.tolist(), len(holes)
    ([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]], 1)
    """
    if len(text) > LARGEST_TEXT:
        raise InputError(
            f"well-known text of {len(text) / 1e6:.0f} MB; at most {LARGEST_TEXT >> 20} are read"
        )
    words = _words(text)
    regions: list[Region] = []
    place = _shape(words, 0, regions)
    if place != len(words):
        raise InputError(f"well-known text: {words[place]!r} after its end")
    if not regions:
        raise InputError("well-known text: there is no polygon in it")
    return regions


def to_wkt(regions: Sequence[Region]) -> str:
    """POLYGON for one region, MULTIPOLYGON for several; numbers read back bit for bit.

    >>> to_wkt([(np.array([[0.0, 0], [4, 0], [4, 3]]), ())])
    'POLYGON ((0 0, 4 0, 4 3, 0 0))'
    """
    bodies = ["(" + ", ".join(map(_ring_text, [outline, *holes])) + ")" for outline, holes in regions]
    return f"POLYGON {bodies[0]}" if len(bodies) == 1 else f"MULTIPOLYGON ({', '.join(bodies)})"


def _words(text: str) -> list[str | float]:
    words: list[str | float] = []
    place, text = 0, text.strip()
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            raise InputError(
                f"well-known text: {text[place : place + 12]!r} at character {place} is not part of it"
            )
        word, sign, number = found.groups()
        words.append(word.upper() if word else sign or float(number))
        place = found.end()
    return words


def _shape(words: list[str | float], place: int, regions: list[Region]) -> int:
    kind = words[place] if place < len(words) else "nothing"
    if kind == "POLYGON":
        return _polygon(words, place + 1, regions)
    if kind not in ("MULTIPOLYGON", "GEOMETRYCOLLECTION"):
        raise InputError(
            f"well-known text: begins with {kind}; POLYGON, MULTIPOLYGON or GEOMETRYCOLLECTION are read"
        )
    place = _expect(words, place + 1, "(")
    # A collection in a collection would let a file decide how deep we go.
    while True:
        if kind == "GEOMETRYCOLLECTION":
            place = _expect(words, place, "POLYGON")
        place = _polygon(words, place, regions)
        if place < len(words) and words[place] == ",":
            place += 1
            continue
        return _expect(words, place, ")")


def _polygon(words: list[str | float], place: int, regions: list[Region]) -> int:
    place = _expect(words, place, "(")
    rings: list[Array] = []
    while True:
        place, ring = _ring(words, place)
        rings.append(ring)
        if place < len(words) and words[place] == ",":
            place += 1
            continue
        regions.append((rings[0], tuple(rings[1:])))
        return _expect(words, place, ")")


def _ring(words: list[str | float], place: int) -> tuple[int, Array]:
    place = _expect(words, place, "(")
    points: list[tuple[float, float]] = []
    while True:
        pair: list[Any] = words[place : place + 2]
        if len(pair) < 2 or not all(isinstance(number, float) for number in pair):
            raise InputError(f"well-known text: expected x and y of corner {len(points)}, found {pair}")
        points.append((pair[0], pair[1]))
        place += 2
        if place < len(words) and words[place] == ",":
            place += 1
            continue
        place = _expect(words, place, ")")
        break
    if points[0] == points[-1]:
        points.pop()
    if len(points) < 3:
        raise InputError(f"well-known text: a ring of {len(points)} corners is no polygon")
    ring = np.array(points)
    if not np.isfinite(ring).all():
        raise InputError("well-known text: a corner is too far away to be a number")
    return place, ring


def _expect(words: list[str | float], place: int, wanted: str) -> int:
    found = words[place] if place < len(words) else "its end"
    if found != wanted:
        raise InputError(f"well-known text: expected {wanted!r}, found {found!r}")
    return place + 1


def _ring_text(ring: Array) -> str:
    closed = np.concatenate([ring, ring[:1]])
    return "(" + ", ".join(f"{_number(x)} {_number(y)}" for x, y in closed) + ")"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
