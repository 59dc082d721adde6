"""Wavefront OBJ: a mesh, or a folder of meshes with one connectivity, with texture and vertex colours.

`v` (with optional colours), `vt` and `f` in every index form are read; normals, groups, curves and all but
the texture of a material are passed over. Polygons are cut into fans. About 2 ns a byte; of a sequence, the
text of the faces is parsed once and then only compared.
"""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey._arrays import AnyArray
from marey._work import Progress
from marey.errors import FormatError
from marey.geometry.convention import UpAxis
from marey.io import _meshes
from marey.io._files import quoted, read_bytes
from marey.io._limits import LIMITS
from marey.io._meshes import Mesh, line_number
from marey.surface.sequence import MeshSequence, Texture

# Textures of material files, by folder and name.
Materials = dict[tuple[Path, str], Texture | None]


def read(
    path: Path,
    *,
    frame_rate: float | None = None,
    unit: str | float | None = None,
    up: UpAxis | None = None,
    progress: Progress | None = None,
) -> MeshSequence:
    """A file, a folder, or a pattern such as `frames/walk_%04d.obj`.

    frame_rate: 30 if the files do not say (ours do, in a comment)
    unit: what the coordinates count, "cm" or metres; metres if the files do not say
    up: "y" or "z"; "y" if the files do not say

    Texture coordinates and colours are those of the first file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "square.obj"
    >>> _ = file.write_text("v 0 0 0\\nv 1 0 0\\nv 1 1 0\\nv 0 1 0\\nf 1 2 3 4\\n")
    >>> read(file).faces.tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    return _meshes.read_sequence(
        Path(path),
        ".obj",
        partial(parse, materials={}),
        frame_rate=frame_rate,
        unit=unit,
        up=up,
        progress=progress,
    )


def write(
    sequence: MeshSequence,
    path: Path,
    *,
    unit: str | float | None = None,
    up: UpAxis | None = None,
    progress: Progress | None = None,
) -> None:
    """One frame to one file; several to a numbered name such as `frames/walk_%04d.obj`.

    Coordinates are written so that reading them gives the same numbers, in the sequence's own convention
    unless `unit` or `up` say otherwise. A texture goes beside the meshes, with a `.mtl` file.
    """
    sequence = sequence.with_convention(unit=unit, up=up)
    frame = partial(_frame, sequence, _face_lines(sequence))
    _meshes.write_sequence(sequence, Path(path), frame, companions=_material, progress=progress)


def parse(
    data: bytes,
    path: Path,
    first: Mesh | None = None,
    *,
    materials: Materials | None = None,
) -> Mesh:
    """The mesh in the bytes of an OBJ file; where its faces read like those of `first`, they are the same.

    materials: textures of material files met so far, by folder and name
    """
    if b"\0" in data:
        raise FormatError("is binary; an OBJ file is text", path=path)
    if b"\\" in data:
        # Lines are joined without moving a byte; the zero still counts as a line in errors.
        data = re.sub(rb"\\(\r\n|\r|\n)", lambda end: b" " * (len(end[0]) - 1) + b"\0", data)
    if first is not None and first.face_text is not None and data.endswith(first.face_text):
        mesh = _points_only(data, first, path, materials)
        if mesh is not None:
            return mesh
    from marey.io import _mesh_kernels as kernels

    counts = np.zeros(kernels.COUNTS_SIZE, dtype=np.int64)
    kernels.count_obj(np.frombuffer(data, dtype=np.uint8), counts)
    if counts[kernels.VERTICES] == 0:
        raise FormatError("holds no vertex (a line such as 'v 0.5 1.2 0')", path=path)
    arrays = _Arrays(*counts[[kernels.VERTICES, kernels.UVS, kernels.TRIANGLES, kernels.COLOURED]].tolist())
    state = _fill(arrays, data, len(data), path)
    assert state is not None, "what was counted fits"
    face_text = None if counts[kernels.POINTS_AFTER_FACES] else data[counts[kernels.FACES_AT] :]
    uv, uv_faces = (arrays.uv, arrays.uv_faces) if state[kernels.TEXTURED] else (None, None)
    if uv is not None and uv_faces is not None and state[kernels.PLAIN]:
        # Corners without texture coordinates get one of their own.
        uv_faces[uv_faces < 0] = len(uv)
        uv, face_text = np.concatenate([uv, np.zeros((1, 2))]), None
    return Mesh(
        arrays.vertices,
        arrays.faces,
        uv,
        uv_faces,
        _colours(arrays.colours) if len(arrays.colours) else None,
        _texture(data, int(state[kernels.LIBRARY]), path.parent, materials),
        notes=_notes(data),
        face_text=face_text,
    )


class _Arrays:
    """Room for what the kernel finds."""

    def __init__(self, vertices: int, uvs: int, triangles: int, coloured: int):
        self.vertices = np.empty((vertices, 3))
        self.colours = np.empty((vertices if coloured else 0, 3))
        self.uv = np.empty((uvs, 2))
        self.faces = np.empty((triangles, 3), dtype=np.int32)
        self.uv_faces = np.empty((triangles, 3), dtype=np.int32)


def _points_only(data: bytes, first: Mesh, path: Path, materials: Materials | None) -> Mesh | None:
    """A frame whose text ends with the faces of the first one; None if more than the points differ."""
    from marey.io import _mesh_kernels as kernels

    assert first.face_text is not None
    end = len(data) - len(first.face_text)
    if data[end - 1 : end] not in (b"\n", b"\r"):
        return None
    arrays = _Arrays(len(first.vertices), 0 if first.uv is None else len(first.uv), 0, 0)
    state = _fill(arrays, data, end, path)
    if state is None or (state[kernels.VERTICES], state[kernels.UVS]) != (
        len(arrays.vertices),
        len(arrays.uv),
    ):
        return None
    return Mesh(
        arrays.vertices,
        first.faces,
        None if first.uv is None else arrays.uv,
        first.uv_faces,
        texture=_texture(data, int(state[kernels.LIBRARY]), path.parent, materials),
    )


def _fill(arrays: _Arrays, data: bytes, end: int, path: Path) -> NDArray[np.int64] | None:
    """Read `data[:end]` into the arrays; where the kernel stands then, or None if they are too small."""
    from marey.io import _mesh_kernels as kernels

    buffer = np.frombuffer(data, dtype=np.uint8)
    state = np.zeros(kernels.STATE_SIZE, dtype=np.int64)
    numbers = np.empty(kernels.MOST_NUMBERS)
    slow = np.empty((1024, 4), dtype=np.int64)
    keep = {kernels.VERTEX: arrays.vertices, kernels.UV: arrays.uv, kernels.COLOUR: arrays.colours}
    status = kernels.SLOW_FULL
    while status == kernels.SLOW_FULL:
        state[kernels.SLOWS] = 0
        status = kernels.read_obj(
            buffer,
            end,
            arrays.vertices,
            arrays.colours,
            arrays.uv,
            arrays.faces,
            arrays.uv_faces,
            numbers,
            slow,
            state,
        )
        for kind, index, start, stop in slow[: state[kernels.SLOWS]].tolist():
            value = float(data[start:stop])
            if not math.isfinite(value):
                message = f"{quoted(data[start:stop])} is too large a number"
                raise FormatError(message, path=path, line=line_number(data, start))
            if kind in keep:
                keep[kind].reshape(-1)[index] = value
    if status == kernels.TOO_MANY:
        return None
    if status != kernels.DONE:
        raise _error(status, data, int(state[kernels.POSITION]), arrays, path)
    return state


def _error(status: int, data: bytes, position: int, arrays: _Arrays, path: Path) -> FormatError:
    from marey.io import _mesh_kernels as kernels

    found = quoted((data[position : position + 64].split(maxsplit=1) or [b""])[0])
    message = {
        kernels.BAD_NUMBER: f"expected a number, found {found}",
        kernels.FEW_NUMBERS: "too few numbers on this line",
        kernels.BAD_CORNER: f"expected a corner such as 7, 7/3 or 7/3/9, found {found}",
        kernels.FEW_CORNERS: "a face needs three corners at least",
        kernels.NO_VERTEX: f"the corner {found} is none of the {len(arrays.vertices)} vertices",
        kernels.NO_UV: f"the corner {found} is none of the {len(arrays.uv)} texture coordinates",
    }[status]
    return FormatError(message, path=path, line=line_number(data, position))


def _colours(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """In 0…1; some programs write 0…255."""
    return np.clip(values / 255.0 if values.max() > 1.0 else values, 0.0, 1.0)


def _notes(data: bytes) -> dict[str, str]:
    first_line = data[:256].splitlines()[0].decode("latin-1")
    return _meshes.notes_in(first_line[1:]) if first_line.startswith("#") else {}


def _texture(data: bytes, after: int, folder: Path, materials: Materials | None) -> Texture | None:
    """The texture of the material file that the line before `after` names; 0 for none."""
    if after == 0:
        return None
    line = data[after - 1 : after + 1024].splitlines()[0]
    library = _text(line.removeprefix(b"mtllib"))
    materials = {} if materials is None else materials
    if (folder, library) not in materials:
        materials[folder, library] = _colour_map(folder, library)
    return materials[folder, library]


def _colour_map(folder: Path, library: str) -> Texture | None:
    """The first colour map of a material file beside the mesh."""
    file = _meshes.contained_file(folder, library) or _meshes.contained_file(folder, library.split(" ")[0])
    if file is None or not 0 < file.stat().st_size <= LIMITS.small_json:
        return None
    for line in read_bytes(file).splitlines():
        words = line.split(maxsplit=1)
        if len(words) == 2 and words[0].lower() == b"map_kd":
            name = _text(words[1])
            # Options such as `-s 1 1 1` come before the name.
            texture = _meshes.texture_beside(folder, name.split()[-1] if name.startswith("-") else name)
            if texture is not None:
                return texture
    return None


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace").strip()


def _frame(sequence: MeshSequence, faces: bytes, frame: int, image: str | None) -> bytes:
    vertices = sequence.convention.vertices_from_marey(sequence.vertices[frame])
    number = "%.9g" if vertices.dtype == np.float32 else "%r"
    parts = [f"# {_meshes.note(sequence)}\n".encode()]
    if image is not None:
        parts.append(f"mtllib {_material_name(image)}\n".encode())
    if sequence.colours is None:
        parts.append(_lines(f"v {number} {number} {number}\n", vertices))
    else:
        rows = np.concatenate([vertices, sequence.colours], axis=1)
        parts.append(_lines(f"v {number} {number} {number} %.6g %.6g %.6g\n", rows))
    if sequence.uv is not None:
        parts.append(_lines("vt %r %r\n", sequence.uv))
    if image is not None:
        parts.append(b"usemtl texture\n")
    return b"".join([*parts, faces])


def _face_lines(sequence: MeshSequence) -> bytes:
    corners = sequence.faces + 1
    if sequence.uv_faces is None:
        return _lines("f %d %d %d\n", corners)
    rows = np.stack([corners, sequence.uv_faces + 1], axis=-1).reshape(-1, 6)
    return _lines("f %d/%d %d/%d %d/%d\n", rows)


def _lines(layout: str, rows: AnyArray) -> bytes:
    """Each row in the given layout; in blocks, since Python's numbers take four times their room."""
    blocks = [rows[i : i + 65536] for i in range(0, len(rows), 65536)]
    return b"".join((layout * len(b) % tuple(b.ravel().tolist())).encode() for b in blocks)


def _material(image: str) -> dict[str, bytes]:
    return {_material_name(image): f"newmtl texture\nKd 1 1 1\nmap_Kd {image}\n".encode()}


def _material_name(image: str) -> str:
    return image.rsplit(_meshes.IMAGE_MARK, 1)[0] + ".mtl"
