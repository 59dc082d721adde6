"""Stanford PLY: a mesh, or a folder of meshes with one connectivity, in text or binary of either order.

Read are vertices, their colours and texture coordinates (also those of corners, as MeshLab writes them),
faces of any number of corners, cut into fans, and a texture that lies beside the file. Written is binary
little-endian, in the sequence's own precision, colours rounded to 8 bits (Turk 1994). Elements may come in
any order and hold any properties; their rows are NumPy structures where all lists are as long as those of the
first row, and are walked one after the other else. All rows are checked to be there. Cost: one pass over the
bytes.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey._arrays import AnyArray, Array, Bytes, DType, FloatArray, IntArray, Integers
from marey.errors import FormatError, MareyWarning
from marey.geometry.mesh import fans
from marey.io import _meshes
from marey.io._files import Untyped, quoted
from marey.io._meshes import Mesh, MeshFiles
from marey.io._numbers import parse_numbers
from marey.surface.sequence import MeshSequence

COORDINATES = ("x", "y", "z")
COLOURS = (("red", "green", "blue"), ("diffuse_red", "diffuse_green", "diffuse_blue"), ("r", "g", "b"))
TEXTURE_COORDINATES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
TYPES |= {"float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2"}
TYPES |= {"int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8"}
FORMATS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
CORNERS = ("vertex_indices", "vertex_index")


def parse(data: bytes, path: Path, first: Mesh | None = None) -> Mesh:
    """The mesh in the bytes of a PLY file; faces stored like those of `first` are its faces.

    >>> head = "ply\\nformat ascii 1.0\\nelement vertex 1\\n"
    >>> head += "".join(f"property float {axis}\\n" for axis in "xyz")
    >>> parse(f"{head}end_header\\n1 2 3\\n".encode(), Path("point.ply")).vertices.tolist()
    [[1.0, 2.0, 3.0]]
    """
    header = _read_header(data, path)
    elements = {element.name: element for element in header.elements}
    vertex, face = elements.get("vertex"), elements.get("face")
    if vertex is None or vertex.rows == 0:
        raise FormatError("holds no vertex", path=path)
    known = None if first is None or len(first.vertices) != vertex.rows else first.face_text
    columns, face_text = _read_columns(header, data, path, known)
    own = columns["vertex"]
    vertices = _side_by_side(own, vertex, COORDINATES)
    if vertices is None:
        raise FormatError("its vertices have no x, y and z", path=path, line=vertex.line)
    uvs = (_side_by_side(own, vertex, names) for names in TEXTURE_COORDINATES)
    uv = next((found for found in uvs if found is not None), None)
    faces: IntArray = np.empty((0, 3), dtype=np.int32)
    uv_faces = None
    if face is not None and face.rows:
        if first is not None and face_text == known:
            faces, corner_uv, corner_uv_faces = first.faces, first.uv, first.uv_faces
        else:
            faces, lengths = _faces(columns["face"], face, vertex.rows, path)
            corner_uv, corner_uv_faces = _corner_coordinates(columns["face"], lengths, path)
        uv, uv_faces = (corner_uv, corner_uv_faces) if uv is None else (uv, faces)
    notes: dict[str, str] = {}
    texture = None
    for comment in header.comments:
        notes = notes or _meshes.notes_in(comment)
        if texture is None and comment.lower().startswith("texturefile "):
            texture = _meshes.texture_beside(path.parent, comment.split(maxsplit=1)[1])
    colours = _colours(own, vertex) if first is None else None
    return Mesh(vertices, faces, uv, uv_faces, colours, texture, notes, face_text)


@dataclass(frozen=True)
class _Property:
    """A number of every row, or a list of them if it has a type for their `count`."""

    name: str
    type: str
    count: str | None = None


@dataclass
class _Element:
    """Rows of one kind, e.g. all vertices; `line` is where the header declares them."""

    name: str
    rows: int
    line: int
    properties: list[_Property] = field(default_factory=list)


@dataclass(frozen=True)
class _Header:
    """What a file says about itself; its rows begin at the byte `body`, on the line `line`."""

    format: str
    elements: tuple[_Element, ...]
    comments: tuple[str, ...]
    body: int
    line: int

    def dtype(self, kind: str) -> DType:
        """A type as it is stored: text is first turned into numbers of eight bytes."""
        return np.dtype("f8" if self.format == "ascii" else FORMATS[self.format] + kind)


# By property: the items of all rows one after the other, and how many each row has.
Columns = dict[str, tuple[AnyArray, Integers]]


def _read_header(data: bytes, path: Path) -> _Header:
    end = b"\r\n" if data[3:5] == b"\r\n" else data[3:4]
    if data[:3] != b"ply" or end not in (b"\n", b"\r", b"\r\n"):
        raise FormatError("is no PLY file: its first line is not 'ply'", path=path, line=1)
    last = data.find(end + b"end_header", 0, 1 << 20)
    stop = data.find(end, last + 1)
    if last < 0 or stop < 0:
        raise FormatError("the header does not end (no line 'end_header')", path=path, line=1)
    lines = data[:last].decode("latin-1").split(end.decode())
    file_format, elements, comments = "", list[_Element](), []
    for number, line in enumerate(lines[1:], start=2):
        match line.split():
            case [] | ["obj_info", *_]:
                pass
            case ["comment", *words]:
                comments.append(" ".join(words))
            case [first, *_] if first not in ("format", "element", "property") and not elements:
                pass  # a comment without its keyword
            case ["format", name, _] if name in FORMATS:
                file_format = name
            case ["element", name, rows] if rows.isascii() and rows.isdigit() and len(rows) < 18:
                elements.append(_Element(name, int(rows), number))
            case ["property", kind, name] if kind in TYPES and elements:
                elements[-1].properties.append(_Property(name, TYPES[kind]))
            case ["property", "list", count, kind, name] if {count, kind} <= TYPES.keys() and elements:
                if TYPES[count][0] == "f":
                    raise FormatError(f"lists cannot be counted in {count}", path=path, line=number)
                elements[-1].properties.append(_Property(name, TYPES[kind], TYPES[count]))
            case _:
                raise FormatError(f"no header line we know: {quoted(line)}", path=path, line=number)
        if elements and len(elements[-1].properties) > 1000:
            raise FormatError("has more than 1000 properties", path=path, line=number)
    if not file_format:
        raise FormatError(f"the header has no format ({', '.join(FORMATS)})", path=path, line=2)
    return _Header(file_format, tuple(elements), tuple(comments), stop + len(end), len(lines) + 2)


def _read_columns(
    header: _Header, data: bytes, path: Path, known_faces: bytes | None
) -> tuple[dict[str, Columns], bytes | None]:
    """The columns of all elements, but for faces stored like known ones, and how the faces are stored."""
    is_text = header.format == "ascii"
    body = np.frombuffer(data, dtype=np.uint8)[header.body :]
    if is_text and body.size:
        body = parse_numbers(data[header.body :], path=path, first_line=header.line).view(np.uint8)
    columns: dict[str, Columns] = {element.name: {} for element in header.elements}
    face_text, position = None, 0
    try:
        for element in (e for e in header.elements if e.properties and e.rows):
            start, mark = position, repr(element.properties).encode()
            size = len(known_faces or b"") - len(mark)
            same = (
                element.name == "face" and known_faces == mark + body[start : start + max(size, 0)].tobytes()
            )
            if same:
                position = start + size
            else:
                columns[element.name], position = _read_element(element, header, body, start)
            if element.name == "face":
                face_text = mark + body[start:position].tobytes()
    except _MissingRowsError as missing:
        _rows_of_text(header, data, path)
        message = f"{element.rows} rows of {element.name!r} are declared, {missing.found} are there"
        raise FormatError(message, path=path, line=element.line) from None
    rest = body[position:].tobytes()
    if rest if is_text else rest.strip(b" \t\r\n\0"):
        rows = _rows_of_text(header, data, path)
        if rows is not None:
            return _read_columns(header, rows, path, known_faces)
        message = f"{path}: more follows the rows that the header declares; it is left out"
        warnings.warn(MareyWarning(message), stacklevel=2)
    return columns, face_text


class _MissingRowsError(Exception):
    def __init__(self, found: int):
        self.found = found


def _read_element(element: _Element, header: _Header, body: Bytes, position: int) -> tuple[Columns, int]:
    """Columns of an element whose rows begin at a byte, and where they end."""
    layout: list[Untyped] = []
    lengths: dict[int, int] = {}
    end = position
    for i, p in enumerate(element.properties):
        kind, length = header.dtype(p.type), 1
        if p.count is not None:
            count = header.dtype(p.count)
            if end + count.itemsize > len(body):
                raise _MissingRowsError(0)
            length = lengths[i] = int(np.clip(np.ndarray((), count, body.data, end), -1, 1 << 40))
            layout.append((f"count {i}", count))
            end += count.itemsize
        layout.append((str(i), kind, (length,)))
        end += max(length, 0) * kind.itemsize
    if min(lengths.values(), default=0) >= 0 and position + element.rows * (end - position) <= len(body):
        # All rows as structures with lists as long as those of the first row, if they are.
        rows = np.ndarray((element.rows,), np.dtype(layout), body.data, position)
        if all((rows[f"count {i}"] == length).all() for i, length in lengths.items()):
            named = {p.name: i for i, p in enumerate(element.properties)}
            counts = {i: np.full(element.rows, lengths.get(i, 1)) for i in named.values()}
            return {
                name: (rows[str(i)].reshape(-1), counts[i]) for name, i in named.items()
            }, position + rows.nbytes
    elif not lengths:
        raise _MissingRowsError((len(body) - position) // (end - position))
    return _read_ragged(element, header, body, position)


def _read_ragged(element: _Element, header: _Header, body: Bytes, position: int) -> tuple[Columns, int]:
    """The same for rows with lists of different lengths, whose places are found one after the other."""
    kinds = [header.dtype(p.type) for p in element.properties]
    counters = [None if p.count is None else header.dtype(p.count) for p in element.properties]
    structs = [
        None if c is None else struct.Struct(f"{c.byteorder.replace('|', '=')}{c.char}") for c in counters
    ]
    steps = [(struct, kind.itemsize) for struct, kind in zip(structs, kinds, strict=True)]
    data, end, places, lengths = body.data, len(body), list[int](), list[int]()
    for row in range(element.rows):
        for counter, size in steps:
            length = 1
            if counter is not None:
                if position + counter.size > end:
                    raise _MissingRowsError(row)
                stated = counter.unpack_from(data, position)[0]
                length, position = int(stated) if 0 <= stated <= end else end + 1, position + counter.size
            places.append(position)
            lengths.append(length)
            position += length * size
        if position > end:
            raise _MissingRowsError(row)
    starts, counts = (np.array(values).reshape(element.rows, -1).T for values in (places, lengths))
    columns: Columns = {}
    for p, kind, start, count in zip(element.properties, kinds, starts, counts, strict=True):
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        items = np.repeat(start, count) + within * kind.itemsize
        columns[p.name] = (body[items[:, None] + np.arange(kind.itemsize)].view(kind)[:, 0], count)
    return columns, position


def _rows_of_text(header: _Header, data: bytes, path: Path) -> bytes | None:
    """Text whose faces have more numbers than their rows declare, without these; None if none has.

    Any other line that does not hold one row is an error.
    """
    if header.format != "ascii":
        return None
    rows = (element for element in header.elements for _ in range(element.rows) if element.properties)
    kept, first = list[bytes](), 0
    for number, line in enumerate(data[header.body :].splitlines(), start=header.line):
        words = line.split()
        element = next(rows, None) if words else None
        needed = 0
        for p in element.properties if element else ():
            length = float(words[needed]) if p.count is not None and needed < len(words) else 0.0
            needed += 1 if p.count is None else 1 + int(min(max(length, 0), 1e9))
        is_face = element is not None and element.name == "face" and len(element.properties) > 1
        if element and needed != len(words) and not (is_face and needed < len(words)):
            message = f"the line has {len(words)} numbers, a {element.name!r} row takes {needed}"
            raise FormatError(message, path=path, line=number)
        if element and needed < len(words):
            first = first or number
        kept.append(b" ".join(words[:needed]) if element else line)
    if not first:
        return None
    message = f"{path}, line {first}: has more numbers than its row declares; such numbers are left out"
    warnings.warn(MareyWarning(message), stacklevel=2)
    return data[: header.body] + b"\n".join(kept)


def _side_by_side(columns: Columns, vertex: _Element, names: tuple[str, ...]) -> FloatArray | None:
    """Properties as columns, in the precision the header declares; None unless all are there."""
    found = [p for name in names for p in vertex.properties if p.name == name and p.count is None]
    if len(found) != len(names):
        return None
    single = all(p.type == "f4" for p in found)
    with np.errstate(over="ignore"):
        return np.stack([columns[name][0] for name in names], axis=1).astype(
            np.float32 if single else np.float64
        )


def _colours(columns: Columns, vertex: _Element) -> Array | None:
    for names in COLOURS:
        values = _side_by_side(columns, vertex, names)
        if values is not None:
            kind = np.dtype(next(p.type for p in vertex.properties if p.name == names[0]))
            most = 1.0 if kind.kind == "f" else float(np.iinfo(kind).max)
            return np.clip(np.nan_to_num(values.astype(np.float64)) / most, 0.0, 1.0)
    return None


def _faces(columns: Columns, face: _Element, count: int, path: Path) -> tuple[NDArray[np.int32], Integers]:
    """Triangles, and how many corners each polygon had."""
    lists = [p.name for p in face.properties if p.name in CORNERS and p.count is not None]
    if not lists:
        raise FormatError(f"its faces have no list {CORNERS[0]!r}", path=path, line=face.line)
    corners, lengths = columns[lists[0]]
    few = np.flatnonzero(lengths < 3)
    if few.size:
        raise FormatError(f"face {few[0]} has {lengths[few[0]]} corners; three is the least", path=path)
    if corners.min() < 0 or corners.max() >= count or (corners.dtype.kind == "f" and (corners % 1).any()):
        wrong = int(np.flatnonzero((corners < 0) | (corners >= count) | (corners % 1 != 0))[0])
        row = int(np.searchsorted(np.cumsum(lengths), wrong, side="right"))
        message = f"face {row} has the corner {corners[wrong]:g}, which is none of the {count} vertices"
        raise FormatError(message, path=path)
    if (lengths == 3).all():
        return corners.astype(np.int32).reshape(-1, 3), lengths
    return corners.astype(np.int32)[fans(lengths)], lengths


def _corner_coordinates(
    columns: Columns, lengths: Integers, path: Path
) -> tuple[Array, NDArray[np.int32]] | tuple[None, None]:
    """Texture coordinates of corners, two numbers each; shared where they are the same."""
    values, counts = columns.get("texcoord", (np.empty(0), np.zeros(0)))
    if not counts.any() or len(values) == len(counts):
        return None, None
    wrong = np.flatnonzero(counts != 2 * lengths)
    if wrong.size:
        row = wrong[0]
        message = f"face {row} has {lengths[row]} corners and {counts[row]} numbers of 'texcoord'"
        raise FormatError(message, path=path)
    uv, shared = np.unique(values.reshape(-1, 2).astype(np.float64), axis=0, return_inverse=True)
    return uv, shared.reshape(-1).astype(np.int32)[fans(lengths)]


def _frame(sequence: MeshSequence, faces: NDArray[np.void], frame: int, image: str | None) -> bytes:
    vertices = sequence.convention.vertices_from_marey(sequence.vertices[frame])
    columns: list[tuple[str, DType, AnyArray]] = [
        (name, vertices.dtype.newbyteorder("<"), vertices[:, i]) for i, name in enumerate(COORDINATES)
    ]
    if sequence.uv is not None and _per_vertex(sequence):
        columns += [(name, np.dtype("<f8"), sequence.uv[:, i]) for i, name in enumerate(("s", "t"))]
    if sequence.colours is not None:
        bytes_ = np.rint(np.clip(sequence.colours, 0, 1) * 255)
        columns += [(name, np.dtype("u1"), bytes_[:, i]) for i, name in enumerate(COLOURS[0])]
    rows = np.empty(len(vertices), dtype=[(name, dtype) for name, dtype, _ in columns])
    for name, _, values in columns:
        rows[name] = values
    names = {"<f4": "float", "<f8": "double", "|u1": "uchar"}
    header = ["ply", "format binary_little_endian 1.0", f"comment {_meshes.note(sequence)}"]
    if image is not None:
        header.append(f"comment TextureFile {image}")
    header.append(f"element vertex {len(rows)}")
    header += [f"property {names[dtype.str]} {name}" for name, dtype, _ in columns]
    header += [f"element face {len(faces)}", "property list uchar int vertex_indices"]
    if "uv" in (faces.dtype.names or ()):
        header.append("property list uchar double texcoord")
    return "\n".join([*header, "end_header\n"]).encode() + rows.tobytes() + faces.tobytes()


def _face_rows(sequence: MeshSequence) -> NDArray[np.void]:
    layout: list[Untyped] = [("count", "u1"), ("corners", "<i4", 3)]
    if sequence.uv is not None and not _per_vertex(sequence):
        layout += [("uv_count", "u1"), ("uv", "<f8", 6)]
    rows = np.empty(len(sequence.faces), dtype=layout)
    rows["count"], rows["corners"] = 3, sequence.faces
    if len(layout) > 2:
        assert sequence.uv is not None
        rows["uv_count"], rows["uv"] = 6, sequence.uv[sequence.uv_faces].reshape(-1, 6)
    return rows


def _per_vertex(sequence: MeshSequence) -> bool:
    """Whether every vertex has one texture coordinate, so that no corner needs its own."""
    if sequence.uv is None or sequence.uv_faces is None:
        return False
    same_number = len(sequence.uv) == sequence.vertices.shape[1]
    return same_number and np.array_equal(sequence.faces, sequence.uv_faces)


def _encoder(sequence: MeshSequence) -> Callable[[int, str | None], bytes]:
    return partial(_frame, sequence, _face_rows(sequence))


FILES = MeshFiles(".ply", parse, _encoder)
read, write, facts = FILES.read, FILES.write, FILES.facts
