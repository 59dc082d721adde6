"""The header of a PLY file (Turk 1994), and its rows as columns of numbers.

Elements may come in any order and hold any properties, lists among them. A text file is first turned into
numbers, and is then a binary file all of whose properties take eight bytes. All rows are checked to be
there before anything is handed out. Cost: one pass over the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.errors import FormatError
from marey.io._files import quoted
from marey.io._meshes import line_number

_OLD_NAMES = ("char", "uchar", "short", "ushort", "int", "uint", "float", "double")
_NEW_NAMES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64")
_KINDS = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")
TYPES = dict(zip(_OLD_NAMES + _NEW_NAMES, _KINDS * 2, strict=True))
FORMATS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
LARGEST_HEADER = 1 << 20
MOST_PROPERTIES = 1000


@dataclass(frozen=True)
class Property:
    """A number of every row, or a list of them if it has a type for their `count`."""

    name: str
    type: str
    count: str | None = None


@dataclass
class Element:
    """Rows of one kind, e.g. all vertices; `line` is where the header declares them."""

    name: str
    rows: int
    line: int
    properties: list[Property] = field(default_factory=list)

    def index(self, name: str) -> int:
        """Which property is called `name`; -1 if none is."""
        return next((i for i, p in enumerate(self.properties) if p.name == name), -1)

    @property
    def has_lists(self) -> bool:
        return any(p.count is not None for p in self.properties)


@dataclass(frozen=True)
class Header:
    """What a file says about itself; its rows begin at the byte `body`, on the line `body_line`."""

    format: str
    elements: tuple[Element, ...]
    comments: tuple[str, ...]
    body: int
    body_line: int


def read_header(data: bytes, path: Path) -> Header:
    """What a PLY file says about itself."""
    end = b"\r\n" if data[3:5] == b"\r\n" else data[3:4]
    if data[:3] != b"ply" or end not in (b"\n", b"\r", b"\r\n"):
        raise FormatError("is no PLY file: its first line is not 'ply'", path=path, line=1)
    last = data.find(end + b"end_header", 0, LARGEST_HEADER)
    stop = data.find(end, last + 1)
    if last < 0 or stop < 0:
        raise FormatError("the header does not end (no line 'end_header')", path=path, line=1)
    lines = data[:last].decode("latin-1").split(end.decode())
    file_format, elements, comments = "", [], []
    for number, line in enumerate(lines[1:], start=2):
        match line.split():
            case [] | ["obj_info", *_]:
                pass
            case ["comment", *words]:
                comments.append(" ".join(words))
            case ["format", name, _] if name in FORMATS:
                file_format = name
            case ["element", name, rows] if rows.isascii() and rows.isdigit() and len(rows) < 18:
                elements.append(Element(name, int(rows), number))
            case ["property", kind, name] if kind in TYPES and elements:
                elements[-1].properties.append(Property(name, TYPES[kind]))
            case ["property", "list", count, kind, name] if {count, kind} <= TYPES.keys() and elements:
                if TYPES[count][0] == "f":
                    raise FormatError(f"lists cannot be counted in {count}", path=path, line=number)
                elements[-1].properties.append(Property(name, TYPES[kind], TYPES[count]))
            case _:
                raise FormatError(f"no header line we know: {quoted(line)}", path=path, line=number)
        if elements and len(elements[-1].properties) > MOST_PROPERTIES:
            raise FormatError(f"has more than {MOST_PROPERTIES} properties", path=path, line=number)
    if not file_format:
        raise FormatError(f"the header has no format ({', '.join(FORMATS)})", path=path, line=2)
    return Header(file_format, tuple(elements), tuple(comments), stop + len(end), len(lines) + 2)


@dataclass(frozen=True)
class Layout:
    """Rows that are all alike: where each property begins in a row, its items, and the bytes of a row."""

    starts: tuple[int, ...]
    items: tuple[int, ...]
    stride: int


class Body:
    """The rows of all elements of a file."""

    def __init__(self, header: Header, data: bytes, path: Path):
        self._path, self._order = path, FORMATS[header.format]
        self._is_text = header.format == "ascii"
        if self._is_text:
            self._read_text(header, data)
        else:
            self._values = np.frombuffer(data, dtype=np.uint8)[header.body :]
            # What counts the items of lists: the same bytes, unless they are text.
            self._counts = self._values
        self._spans: dict[str, slice] = {}
        self._layouts: dict[str, Layout | None] = {}
        position = line = 0
        for element in header.elements:
            if element.properties and element.rows:
                end = self._checked_end(element, position, line)
                self._spans[element.name] = slice(position, end)
                position, line = end, line + element.rows
        self._check_rest(position, line)

    def columns(self, element: Element, indices: list[int]) -> NDArray[Any]:
        """Numbers of every row side by side, `(rows, len(indices))`."""
        return np.stack([self.lists(element, i)[0] for i in indices], axis=1)

    def lists(self, element: Element, index: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """A list of every row: all items one after the other, and how many each row has (a number: one)."""
        from marey.io import _mesh_kernels as kernels

        span, layout = self._spans[element.name], self._layouts[element.name]
        kind = self._type(element.properties[index].type)
        if layout is not None:
            shape, strides = (element.rows, layout.items[index]), (layout.stride, kind.itemsize)
            start = span.start + layout.starts[index]
            items: NDArray[Any] = np.ndarray(shape, kind, self._values.data, start, strides)
            return items.reshape(-1), np.full(element.rows, shape[1])
        starts, lengths, _, _ = self._walk(element, span.start, index, element.rows)
        gathered = np.empty(int(lengths.sum()) * kind.itemsize, dtype=np.uint8)
        kernels.gather(self._values, starts, lengths, kind.itemsize, gathered)
        return gathered.view(kind), lengths

    def raw(self, element: Element) -> bytes:
        """The bytes of all rows of an element."""
        return self._values[self._spans.get(element.name, slice(0))].tobytes()

    def _read_text(self, header: Header, data: bytes) -> None:
        """Text as numbers of eight bytes each, and where its lines end among those."""
        from marey.io import _mesh_kernels as kernels
        from marey.io._numbers import parse_numbers

        text = data[header.body :]
        numbers = parse_numbers(text, path=self._path, first_line=header.body_line) if text else np.empty(0)
        self._values = numbers.view(np.uint8)
        self._counts = np.clip(numbers, -(2.0**40), 2.0**40).astype(np.int64).view(np.uint8)
        most = min(line_number(text, len(text)), len(numbers))
        tokens, lines = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
        found = kernels.count_rows(np.frombuffer(text, dtype=np.uint8), tokens, lines)
        self._line_ends = 8 * np.cumsum(tokens[:found])
        self._lines = lines[:found] + header.body_line

    def _checked_end(self, element: Element, position: int, line: int) -> int:
        """Where an element that begins at the byte `position`, or on the text's row `line`, ends."""
        layout = self._layouts[element.name] = self._uniform_layout(element, position)
        if layout is not None:
            there = min((len(self._values) - position) // layout.stride, element.rows)
            end = position + there * layout.stride
            if self._is_text:
                self._check_lines(element, position + layout.stride * np.arange(1, there + 1), line)
        else:
            # Each list takes the bytes of its count at least, so no more rows than bytes are looked for.
            most = min(len(self._values) - position, element.rows)
            _, _, ends, there = self._walk(element, position, 0, most)
            end = int(ends[there - 1]) if there else position
            if self._is_text:
                self._check_lines(element, ends[:there], line)
                if there < element.rows and line + there < len(self._lines):
                    message = f"a list that is longer than its line, in a {element.name!r} row"
                    raise FormatError(message, path=self._path, line=int(self._lines[line + there]))
        if there < element.rows:
            raise FormatError(
                f"{element.rows} rows of {element.name!r} are declared, {there} are there",
                path=self._path,
                line=element.line,
            )
        return end

    def _uniform_layout(self, element: Element, position: int) -> Layout | None:
        """The layout of the first row, if all rows have it; None where the lengths of lists differ."""
        starts, items, counts, stride = [], [], [], 0
        for p in element.properties:
            length = 1
            if p.count is not None:
                kind = self._count_type(p.count)
                if position + stride + kind.itemsize > len(self._counts):
                    return None
                length = int(np.ndarray((), kind, self._counts.data, position + stride))
                counts.append((stride, kind, length))
                stride += kind.itemsize
            starts.append(stride)
            items.append(length)
            stride += max(length, 0) * self._type(p.type).itemsize
        if counts and position + element.rows * stride > len(self._counts):
            return None
        for start, kind, length in counts:
            column = np.ndarray((element.rows,), kind, self._counts.data, position + start, (stride,))
            if length < 0 or (column != length).any():
                return None
        return Layout(tuple(starts), tuple(items), stride)

    def _check_lines(self, element: Element, ends: NDArray[np.int64], line: int) -> None:
        """Whether each row takes exactly one line of text."""
        there = self._line_ends[line : line + len(ends)]
        wrong = np.flatnonzero(there != ends[: len(there)])
        if wrong.size:
            row = line + int(wrong[0])
            before = self._line_ends[row - 1] if row else 0
            found, needed = ((n - before) // 8 for n in (self._line_ends[row], ends[wrong[0]]))
            raise FormatError(
                f"the line has {found} numbers, a {element.name!r} row takes {needed}",
                path=self._path,
                line=int(self._lines[row]),
            )

    def _check_rest(self, position: int, line: int) -> None:
        if self._is_text and line < len(self._lines):
            message = "there are more rows than the header declares"
            raise FormatError(message, path=self._path, line=int(self._lines[line]))
        if not self._is_text and self._values[position:].tobytes().strip(b" \t\r\n\0"):
            left = len(self._values) - position
            raise FormatError(f"{left} bytes follow the rows that the header declares", path=self._path)

    def _walk(
        self, element: Element, position: int, index: int, rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
        """Where a property begins in each row, how many items it has, where the row ends; whole rows."""
        from marey.io import _mesh_kernels as kernels

        starts, lengths, ends = np.zeros((3, rows), dtype=np.int64)
        counts = [None if p.count is None else self._count_type(p.count) for p in element.properties]
        whole = kernels.walk_rows(
            self._counts,
            position,
            np.array([self._type(p.type).itemsize for p in element.properties], dtype=np.int64),
            np.array([0 if c is None else c.itemsize for c in counts], dtype=np.int64),
            np.array([c is not None and c.kind == "i" for c in counts], dtype=np.int64),
            self._order == ">",
            index,
            starts,
            lengths,
            ends,
        )
        return starts, lengths, ends, whole

    def _type(self, kind: str) -> np.dtype[Any]:
        return np.dtype(np.float64 if self._is_text else self._order + kind)

    def _count_type(self, kind: str) -> np.dtype[Any]:
        return np.dtype(np.int64 if self._is_text else self._order + kind)
