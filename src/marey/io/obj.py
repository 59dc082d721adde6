"""Wavefront OBJ: a mesh, or a folder of meshes with one connectivity, with texture and vertex colours.

`v` (with optional colours), `vt` and `f` in every index form are read, and of materials the colour map or the
diffuse colour; several become one image (`_atlas`), or colours of vertices. Normals, groups and curves are
passed over. Polygons are cut into fans. Lines are sorted by NumPy and their
numbers parsed in bulk (`_numbers`), about 2 ns a byte; only what is irregular goes line by line. Of a
sequence, the text of the faces is parsed once and then only compared. A texture goes beside the meshes, with
a `.mtl` file.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from marey._arrays import AnyArray, Array, BoolArray, Bytes, Integers
from marey.errors import FormatError, InputError, MareyWarning
from marey.geometry.colour import from_srgb
from marey.geometry.mesh import fans
from marey.io import _meshes
from marey.io._atlas import Look
from marey.io._files import line_number, quoted, read_bytes
from marey.io._limits import LIMITS
from marey.io._meshes import Mesh, MeshFiles, image_type, with_materials
from marey.io._numbers import parse_table, to_floats
from marey.surface.sequence import MeshSequence

_WHITE = Look(None, np.ones(3))

# Whether a byte is not part of a word; a zero stands for the end of a line that goes on in the next.
_GAP = np.isin(np.arange(256), list(b"\0\t\n\r #"))


def parse(data: bytes, path: Path, first: Mesh | None = None) -> Mesh:
    """The mesh in the bytes of an OBJ file; where its faces read like those of `first`, they are the same.

    >>> parse(b"v 0 0 0\\nv 1 0 0\\nv 1 1 0\\nv 0 1 0\\nf 1 2 3 4\\n", Path("square.obj")).faces.tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    if b"\0" in data:
        raise FormatError("is binary; an OBJ file is text", path=path)
    if b"\\" in data:
        # Lines are joined without moving a byte; the zero still counts as a line in errors.
        data = re.sub(rb"\\(\r\n|\r|\n)", lambda end: b" " * (len(end[0]) - 1) + b"\0", data)
    if first is not None and first.face_text is not None and data.endswith(first.face_text):
        mesh = _points_only(data, first, path)
        if mesh is not None:
            return mesh
    lines = _Lines(data, path)
    if not len(lines.vertices):
        raise FormatError("holds no vertex (a line such as 'v 0.5 1.2 0')", path=path)
    points, uv = lines.points(), lines.texture_coordinates()
    corners, counts = lines.corners()
    faces, uv_faces = (column[fans(counts)].astype(np.int32) for column in corners.T)
    face_text: bytes | None = data[lines.starts[lines.faces[0]] :] if len(lines.faces) else b""
    if len(lines.faces) and max([lines.vertices[-1], *lines.uvs[-1:]]) > lines.faces[0]:
        face_text = None
    textured = uv_faces >= 0
    if not textured.all():
        # Corners without texture coordinates get one of their own.
        uv_faces[~textured] = len(uv)
        uv, face_text = np.concatenate([uv, np.zeros((1, 2))]), None
    mesh = Mesh(
        points[:, :3],
        faces,
        uv if textured.any() else None,
        uv_faces if textured.any() else None,
        _colours(points[:, 3:]) if points.shape[1] > 3 else None,
        notes=_notes(data),
        face_text=face_text,
        library=lines.library(),
    )
    if first is not None and first.library == mesh.library:
        if first.joined and len(first.faces) == len(faces):
            return replace(mesh, uv=first.uv, uv_faces=first.uv_faces, texture=first.texture)
        return replace(mesh, texture=first.texture)
    looks = _looks(lines.text_of(lines.libraries), path.parent)
    if not looks or not len(faces):
        return mesh
    names, used = lines.materials()
    used = np.repeat(used, counts - 2)
    bare = ~textured.any(axis=1) & textured.any()
    materials = [looks.get(name, _WHITE) for name in names]
    return with_materials(mesh, materials, used, uv[uv_faces], bare)


def _points_only(data: bytes, first: Mesh, path: Path) -> Mesh | None:
    """A frame whose text ends with the faces of the first one; None if more than the points differ."""
    end = len(data) - len(first.face_text or b"")
    if data[end - 1 : end] not in (b"\n", b"\r"):
        return None
    lines, uvs = _Lines(data[:end], path), 0 if first.uv is None else len(first.uv)
    if len(lines.faces) or (len(lines.vertices), len(lines.uvs)) != (len(first.vertices), uvs):
        return None
    if lines.library() != first.library:
        return None  # with a texture of its own
    return Mesh(
        lines.points()[:, :3],
        first.faces,
        None if first.uv is None else lines.texture_coordinates(),
        first.uv_faces,
        texture=first.texture if lines.library() == first.library else None,
        library=lines.library(),
    )


class _Lines:
    """The lines of a file, and which of them hold vertices, texture coordinates and faces, by their number.

    starts, words, stops: `(lines,)`, the bytes where a line and its first word begin, and where it ends. CR
        and LF end a line each, so that there are empty ones in files that have both.
    """

    def __init__(self, data: bytes, path: Path) -> None:
        self.data, self.path = data, path
        self.text = np.frombuffer(data + b"\n\n\n", np.uint8)
        self.stops = np.flatnonzero((self.text == 10) | (self.text == 13))[:-2]
        self.starts = self.words = np.concatenate([[0], self.stops[:-1] + 1])
        if _is_blank(self.text[self.starts]).any():
            written = np.flatnonzero(~_is_blank(self.text))
            self.words = written[np.searchsorted(written, self.starts)]
        letter, second, third = (self.text[self.words + i] for i in range(3))
        self.vertices = np.flatnonzero((letter == ord("v")) & _GAP[second])
        self.uvs = np.flatnonzero((letter == ord("v")) & (second == ord("t")) & _GAP[third])
        self.faces = np.flatnonzero((letter == ord("f")) & _GAP[second])
        self.libraries = np.flatnonzero((letter == ord("m")) & (second == ord("t")))
        self.uses = np.flatnonzero((letter == ord("u")) & (second == ord("s")) & (third == ord("e")))

    def library(self) -> bytes | None:
        """The lines that name material files."""
        return b"\n".join(self.text_of(self.libraries)) or None

    def text_of(self, lines: Integers) -> list[bytes]:
        """What follows the first word of some lines."""
        texts = (self.data[self.words[line] : self.stops[line]][:1024] for line in lines.tolist())
        return [text.partition(b" ")[2].strip() for text in texts]

    def materials(self) -> tuple[list[bytes], Integers]:
        """Names of the materials that faces use (first, empty: none), and which each face has."""
        names = dict.fromkeys([b"", *self.text_of(self.uses)])
        numbers = {name: number for number, name in enumerate(names)}
        used = np.array([0, *(numbers[name] for name in self.text_of(self.uses))])
        return list(names), used[np.searchsorted(self.uses, self.faces)]

    def points(self) -> Array:
        """Vertices `(vertices, 3)`, or with their colours `(vertices, 6)` if the first has one."""
        return self._numbers(self.vertices, 1, 3, [1.0] * 6)

    def texture_coordinates(self) -> Array:
        """`(coordinates, 2)`."""
        return self._numbers(self.uvs, 2, 1, [0.0] * 2)

    def _numbers(self, lines: Integers, keyword: int, least: int, defaults: list[float]) -> Array:
        """Numbers of lines that each have `least` or more; defaults for those that are missing then."""
        if not len(lines):
            return np.empty((0, len(defaults)))
        text, _ = self._only(lines, keyword)
        count = len(text[: self.stops[lines[0]] - self.starts[lines[0]]].tobytes().split())
        width = least if least == 3 and count < len(defaults) else len(defaults)
        if count >= width:
            with suppress(FormatError):
                return parse_table(text, count, path=self.path)[:, :width]
        table = np.tile(defaults[:width], (len(lines), 1))
        for row, line in zip(table, lines.tolist(), strict=True):
            begin, stop = int(self.words[line]) + keyword, int(self.stops[line])
            words = self.data[begin:stop].partition(b"#")[0].replace(b"\0", b" ").split()
            # Colours that are not known are white.
            words[3:] = [b"1" if b"nan" in word.lower() else word for word in words[3:]]
            try:
                values = to_floats(words[:7])
            except InputError as error:
                raise self._error(str(error), begin) from error
            if len(values) < least:
                raise self._error("too few numbers on this line", begin)
            kept = values[: width if len(values) >= width else least]
            row[: len(kept)] = kept
        return table

    def corners(self) -> tuple[Integers, Integers]:
        """Vertex and texture coordinate (-1: none) of all corners `(corners, 2)`; how many each face has."""
        if not len(self.faces):
            return np.empty((0, 2), np.int64), np.empty(0, np.int64)
        text, start = self._only(self.faces, 1)
        gap = _GAP[text]
        at = np.flatnonzero(~gap & np.concatenate([[True], gap[:-1]]))
        stops = np.searchsorted(at, self.stops[self.faces] - start)
        counts = np.diff(stops, prepend=0)
        if counts.min() < 3:
            line = 1 + int(self.faces[counts.argmin()])
            message = f"{self.path}, line {line}: a face needs three corners at least; left out"
            warnings.warn(MareyWarning(message), stacklevel=2)
        indices = _indices(text, at)
        if indices is None:
            indices = np.empty((len(at), 2), np.int64)
            for i, word in enumerate(text.tobytes().split()):
                found = re.fullmatch(rb"(-?\d+)(/(-?\d*)(/(-?\d*))?)?", word)
                if found is None:
                    raise self._corner_error(start + int(at[i]))
                indices[i] = [max(min(int(n), 1 << 40), -1 << 40) for n in (found[1], found[3] or b"0")]
        if not indices[:, 0].all():
            raise self._corner_error(start + int(at[indices[:, 0].argmin()]))
        for given, lines, what in zip(
            indices.T, (self.vertices, self.uvs), ("vertices", "texture coordinates")
        ):
            if what != "vertices" and not len(lines):
                given[:] = 0  # some programs write indices of coordinates that they leave out
            met = np.repeat(np.searchsorted(lines, self.faces), counts)
            own = np.where(given > 0, given - 1, met + given)
            missing = (given != 0) & ((own < 0) | (own >= len(lines)))
            if missing.any():
                raise self._corner_error(start + int(at[missing.argmax()]), f"{len(lines)} {what}")
            given[:] = np.where(given == 0, -1, own)
        return indices, counts

    def _only(self, lines: Integers, keyword: int) -> tuple[Bytes, int]:
        """The text from the first to the last of some lines and where it begins.

        Keywords, comments and what is on other lines are blank.
        """
        first, last = lines[[0, -1]]
        start, text = int(self.starts[first]), self.text[self.starts[first] : self.stops[last] + 1].copy()
        if len(lines) < last - first + 1:
            chosen = np.zeros(last - first + 1, np.bool_)
            chosen[lines - first] = True
            text[~np.repeat(chosen, 1 + self.stops[first : last + 1] - self.starts[first : last + 1])] = 32
            text[self.stops[first : last + 1] - start] = 10
        for i in range(keyword):
            text[self.words[lines] + i - start] = 32
        if (text == ord("#")).any():
            data = re.sub(rb"#[^\r\n]*", lambda found: b" " * len(found[0]), text.tobytes())
            text = np.frombuffer(data, np.uint8).copy()
        text[text == 0] = 32
        return text, start

    def _corner_error(self, position: int, among: str = "") -> FormatError:
        word = quoted(self.data[position : position + 64].split(maxsplit=1)[0])
        known = f"the corner {word} is none of the {among}"
        message = known if among else f"expected a corner such as 7, 7/3 or 7/3/9, found {word}"
        return self._error(message, position)

    def _error(self, message: str, position: int) -> FormatError:
        return FormatError(message, path=self.path, line=line_number(self.data, position))


def _indices(text: Bytes, at: Integers) -> Integers | None:
    """The first two indices of the corners that begin at these bytes; None unless all have the same form."""
    slashes = np.flatnonzero(text == ord("/"))
    each = len(slashes) // len(at)
    if len(slashes) != each * len(at) or each > 2:
        return None
    if not np.array_equal(np.searchsorted(slashes, at), each * np.arange(len(at))):
        return None
    words = text.tobytes().replace(b"//", b"/0/").translate(bytes.maketrans(b"/", b" "))
    if words.translate(None, b"0123456789- \t\r\n"):
        return None
    try:
        with warnings.catch_warnings(action="error"):
            indices = np.fromstring(words.decode(), np.int64, sep=" ")
    except (DeprecationWarning, ValueError):
        return None
    if len(indices) != len(at) * (each + 1):
        return None
    table = indices.reshape(len(at), -1)
    return np.stack([table[:, 0], table[:, 1] if each else np.zeros(len(at), np.int64)], axis=1)


def _is_blank(text: Bytes) -> BoolArray:
    return np.asarray((text == 32) | (text == 9) | (text == 0))


def _colours(values: Array) -> Array:
    """In 0…1; some programs write 0…255."""
    return np.clip(values / 255.0 if values.max() > 1.0 else values, 0.0, 1.0)


def _notes(data: bytes) -> dict[str, str]:
    first_line = data[:256].splitlines()[0].decode("latin-1")
    return _meshes.notes_in(first_line[1:]) if first_line.startswith("#") else {}


def _looks(libraries: list[bytes], folder: Path) -> dict[bytes, Look]:
    """The materials in files beside the mesh: colour maps, or colours where there is none.

    Faces may use no material, called by the empty name; it is the first one.
    """
    found: dict[bytes, Look] = {}
    for library in libraries:
        name = _text(library)
        file = _meshes.contained_file(folder, name) or _meshes.contained_file(folder, name.split(" ")[0])
        if file is None or not 0 < file.stat().st_size <= LIMITS.small_json:
            continue
        material = b""
        for line in read_bytes(file).splitlines():
            key, _, value = line.strip().replace(b"\t", b" ").partition(b" ")
            look, value = found.get(material, _WHITE), value.strip()
            match key.lower():
                case b"newmtl":
                    material = value
                    found.setdefault(material, _WHITE)
                case b"kd":
                    with suppress(InputError):
                        colour = from_srgb(np.array(to_floats(value.split()[:3])))
                        if colour.shape == (3,) and np.isfinite(colour).all() and look.image is None:
                            found[material] = Look(None, colour)
                case b"map_kd":
                    # Options such as `-s 1 1 1` come before the name.
                    name = _text(value)
                    name = name.split()[-1] if name.startswith("-") else name
                    texture = _meshes.texture_beside(folder, name) if name else None
                    if texture is not None and image_type(texture.encoded()) is None:
                        message = f"{texture.path}: is neither PNG nor JPEG; left out"
                        warnings.warn(MareyWarning(message), stacklevel=2)
                    elif texture is not None:
                        found[material] = Look(texture, np.ones(3))
    if found:
        found.setdefault(b"", next(iter(found.values())) if len(found) == 1 else _WHITE)
    return found


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


def _encoder(sequence: MeshSequence) -> Callable[[int, str | None], bytes]:
    return partial(_frame, sequence, _face_lines(sequence))


FILES = MeshFiles(".obj", parse, _encoder, _material)
read, write, facts = FILES.read, FILES.write, FILES.facts
