"""Stanford PLY: a mesh, or a folder of meshes with one connectivity, in text or binary of either order.

Read are vertices, their colours and texture coordinates (also those of corners, as MeshLab writes them),
faces of any number of corners, cut into fans, and a texture that lies beside the file. Written is binary
little-endian, in the sequence's own precision. Cost: one pass over the bytes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import IntArray
from marey._progress import Progress
from marey.errors import FormatError
from marey.geometry.convention import UpAxis
from marey.io import _meshes
from marey.io._meshes import Mesh
from marey.io._ply_layout import Body, Element, read_header
from marey.surface.sequence import MeshSequence

COORDINATES = ("x", "y", "z")
COLOURS = (("red", "green", "blue"), ("diffuse_red", "diffuse_green", "diffuse_blue"), ("r", "g", "b"))
TEXTURE_COORDINATES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
CORNERS = ("vertex_indices", "vertex_index")


def read(
    path: Path,
    *,
    frame_rate: float | None = None,
    unit: str | float | None = None,
    up: UpAxis | None = None,
    progress: Progress | None = None,
) -> MeshSequence:
    """A file, a folder, or a pattern such as `frames/walk_%04d.ply`.

    frame_rate: 30 if the files do not say (ours do, in a comment)
    unit: what the coordinates count, "cm" or metres; metres if the files do not say
    up: "y" or "z"; "y" if the files do not say

    Colours are those of the first file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "triangle.ply"
    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], [[0, 1, 2]], 25)
    >>> write(triangle, file)
    >>> read(file).vertices[0, 1].tolist(), read(file).frame_rate
    ([1.0, 0.0, 0.0], 25.0)
    """
    return _meshes.read_sequence(
        Path(path), ".ply", parse, frame_rate=frame_rate, unit=unit, up=up, progress=progress
    )


def write(
    sequence: MeshSequence,
    path: Path,
    *,
    unit: str | float | None = None,
    up: UpAxis | None = None,
    progress: Progress | None = None,
) -> None:
    """One frame to one file; several to a numbered name such as `frames/walk_%04d.ply`.

    Coordinates are written in the sequence's own convention unless `unit` or `up` say otherwise. Colours
    are rounded to 8 bits. A texture goes beside the meshes.
    """
    sequence = sequence.with_convention(unit=unit, up=up)
    frame = partial(_frame, sequence, _face_rows(sequence))
    _meshes.write_sequence(sequence, Path(path), frame, progress=progress)


def parse(data: bytes, path: Path, first: Mesh | None = None) -> Mesh:
    """The mesh in the bytes of a PLY file."""
    header = read_header(data, path)
    body = Body(header, data, path)
    elements = {element.name: element for element in header.elements}
    vertex = elements.get("vertex")
    if vertex is None or vertex.rows == 0:
        raise FormatError("holds no vertex", path=path)
    vertices = _columns(body, vertex, COORDINATES)
    if vertices is None:
        raise FormatError("its vertices have no x, y and z", path=path, line=vertex.line)
    uv = next((c for c in (_columns(body, vertex, n) for n in TEXTURE_COORDINATES) if c is not None), None)
    faces: IntArray = np.empty((0, 3), dtype=np.int32)
    uv_faces = face_rows = None
    face = elements.get("face")
    if face is not None and face.rows:
        face_rows = repr(face.properties).encode() + body.raw(face)
        if first is not None and face_rows == first.face_text and vertex.rows == len(first.vertices):
            faces, corner_uv, corner_uv_faces = first.faces, first.uv, first.uv_faces
        else:
            faces, lengths = _faces(body, face, vertex.rows, path)
            corner_uv, corner_uv_faces = _corner_coordinates(body, face, lengths, path)
        uv, uv_faces = (corner_uv, corner_uv_faces) if uv is None else (uv, faces)
    notes: dict[str, str] = {}
    texture = None
    for comment in header.comments:
        notes = notes or _meshes.notes_in(comment)
        if texture is None and comment.lower().startswith("texturefile "):
            texture = _meshes.texture_beside(path.parent, comment.split(maxsplit=1)[1])
    colours = _colours(body, vertex) if first is None else None
    return Mesh(vertices, faces, uv, uv_faces, colours, texture, notes, face_rows)


def fans(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Triangles `(n, 3)` of polygons with `lengths` corners, as positions among all corners.

    >>> fans(np.array([3, 4])).tolist()
    [[0, 1, 2], [3, 4, 5], [3, 5, 6]]
    """
    triangles = lengths - 2
    first = np.repeat(np.cumsum(lengths) - lengths, triangles)
    step = np.arange(len(first)) - np.repeat(np.cumsum(triangles) - triangles, triangles)
    return np.stack([first, first + step + 1, first + step + 2], axis=1)


def _columns(body: Body, element: Element, names: tuple[str, ...]) -> NDArray[Any] | None:
    """Properties side by side, in the precision the header declares; None unless all are there."""
    indices = [element.index(name) for name in names]
    kinds = [element.properties[i] for i in indices if i >= 0]
    if len(kinds) < len(names) or any(p.count is not None for p in kinds):
        return None
    single = all(p.type == "f4" for p in kinds)
    with np.errstate(over="ignore"):
        return body.columns(element, indices).astype(np.float32 if single else np.float64, copy=False)


def _colours(body: Body, vertex: Element) -> NDArray[np.float64] | None:
    for names in COLOURS:
        values = _columns(body, vertex, names)
        if values is None:
            continue
        kind = np.dtype(vertex.properties[vertex.index(names[0])].type)
        most = 1.0 if kind.kind == "f" else float(np.iinfo(kind).max)
        return np.clip(np.nan_to_num(values.astype(np.float64)) / most, 0.0, 1.0)
    return None


def _faces(body: Body, face: Element, count: int, path: Path) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Triangles, and how many corners each polygon had."""
    index = max(face.index(name) for name in CORNERS)
    if index < 0 or face.properties[index].count is None:
        raise FormatError(f"its faces have no list {CORNERS[0]!r}", path=path, line=face.line)
    corners, lengths = body.lists(face, index)
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
    body: Body, face: Element, lengths: NDArray[np.int64], path: Path
) -> tuple[NDArray[np.float64], NDArray[np.int32]] | tuple[None, None]:
    """Texture coordinates of corners, two numbers each; shared where they are the same."""
    index = face.index("texcoord")
    if index < 0 or face.properties[index].count is None:
        return None, None
    values, counts = body.lists(face, index)
    if not counts.any():
        return None, None
    wrong = np.flatnonzero(counts != 2 * lengths)
    if wrong.size:
        row = wrong[0]
        message = f"face {row} has {lengths[row]} corners and {counts[row]} numbers of 'texcoord'"
        raise FormatError(message, path=path)
    uv, shared = np.unique(values.reshape(-1, 2).astype(np.float64), axis=0, return_inverse=True)
    return uv, shared.reshape(-1).astype(np.int32)[fans(lengths)]


def _frame(sequence: MeshSequence, faces: NDArray[np.void], frame: int, image: str | None) -> bytes:
    vertices = _meshes.from_marey(sequence.vertices[frame], sequence.convention)
    columns: list[tuple[str, np.dtype[Any], NDArray[Any]]] = [
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
    layout: list[Any] = [("count", "u1"), ("corners", "<i4", 3)]
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
