"""4D performance capture: one mesh whose vertices move (Boukhayma 2017, section 1.1).

Every operation costs one pass over the vertices it returns; slices share memory with their source. Vertices
may be the map of a file larger than memory, and then so is what is made of them. A library holds the
sequences of one subject (section 3.3); distances, transitions and graphs speak of frames by their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _arrays
from marey._arrays import (
    FloatArray,
    IntArray,
    Timed,
    as_slice,
    assign,
    checked,
    checked_rate,
    derived,
    read_only,
)
from marey._report import rounded
from marey.errors import FormatError, InputError
from marey.geometry import mesh, resampling, rotations
from marey.geometry.convention import Convention, UpAxis, unit_size
from marey.statistics.graphs.graph import Clips


@dataclass(frozen=True)
class Texture:
    """An encoded image (PNG or JPEG), a file or bytes, that is read only when it is needed."""

    path: Path | None = None
    data: bytes | None = None

    def __post_init__(self) -> None:
        if (self.path is None) == (self.data is None):
            raise InputError("texture: give either a path or the encoded bytes")

    def encoded(self) -> bytes:
        """The PNG or JPEG bytes."""
        if self.data is not None:
            return self.data
        assert self.path is not None
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise FormatError(f"cannot read the texture: {error.strerror}", path=self.path) from error

    def read(self) -> NDArray[np.uint8]:
        """`(rows, columns, 3)`, red green blue."""
        import cv2

        try:
            image = cv2.imdecode(np.frombuffer(self.encoded(), dtype=np.uint8), cv2.IMREAD_COLOR)
        except cv2.error:  # no bytes at all, or more pixels than OpenCV allows
            image = None
        if image is None:
            raise FormatError("the texture is not an image we can read (PNG, JPEG)", path=self.path)
        return np.ascontiguousarray(image[..., ::-1])

    @staticmethod
    def from_image(image: NDArray[np.uint8]) -> Texture:
        """Encode `(rows, columns, 3)` red green blue, uint8, as PNG."""
        import cv2

        if image.ndim != 3 or image.shape[2] != 3 or image.size == 0 or image.dtype != np.uint8:
            raise InputError(
                f"texture: expected red green blue as uint8 of shape (rows, columns, 3), "
                f"got {image.dtype} of shape {image.shape}"
            )
        done, data = cv2.imencode(".png", np.ascontiguousarray(image[..., ::-1]))
        if not done:
            raise InputError(f"texture: cannot encode an image of shape {image.shape}")
        return Texture(data=data.tobytes())


@dataclass(frozen=True, eq=False)
class MeshSequence(Timed):
    """Triangle meshes of constant connectivity over time. Metres, y up.

    Attributes:
        vertices: `(frames, vertices, 3)`, float32 or float64 (kept as given).
        faces: `(faces, 3)`, indices into the vertices, counter-clockwise seen from outside.
        frame_rate: frames per second.
        uv: `(corners, 2)` or None, texture coordinates, v up.
        uv_faces: `(faces, 3)` or None, indices into `uv` (None with `uv`: same as `faces`).
        colours: `(vertices, 3)` or None, red green blue in 0…1.
        textures: one per frame, or one for all, or none.
        convention: unit and axis of the file it came from.
        name: of the sequence.

    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 30)
    >>> triangle.frames, len(triangle.faces)
    (2, 1)
    """

    vertices: FloatArray
    faces: IntArray
    frame_rate: float
    uv: FloatArray | None = None
    uv_faces: IntArray | None = None
    colours: FloatArray | None = None
    textures: tuple[Texture, ...] = ()
    convention: Convention = field(default_factory=Convention)
    name: str = ""

    def __post_init__(self) -> None:
        given = np.asarray(self.vertices)
        dtype = np.float32 if given.dtype == np.float32 else np.float64
        vertices = checked("vertices", given, (None, None, 3), dtype=dtype)
        frames, count = vertices.shape[:2]
        if frames == 0 or count == 0:
            raise InputError("mesh sequence: there is no frame or no vertex")
        faces = checked_faces("faces", self.faces, count)
        if len(self.textures) not in (0, 1, frames):
            raise InputError(
                f"textures: {len(self.textures)} for {frames} frames; give none, one, or one each"
            )
        assign(
            self,
            vertices=vertices,
            faces=faces,
            frame_rate=checked_rate(self.frame_rate),
            textures=tuple(self.textures),
            **checked_appearance(self.uv, self.uv_faces, self.colours, faces, count),
        )

    frames = derived(len, "vertices", "Number of frames.")

    def texture(self, frame: int) -> Texture | None:
        """The texture of a frame, if there is one."""
        if not self.textures:
            return None
        return self.textures[frame if len(self.textures) > 1 else 0]

    def __getitem__(self, key: int | slice) -> MeshSequence:
        """Frames as a shorter sequence: `sequence[10:50]`, `sequence[7]`."""
        frames = as_slice(key, self.frames)
        return replace(
            self,
            vertices=self.vertices[frames],
            textures=self.textures[frames] if len(self.textures) > 1 else self.textures,
            frame_rate=self.frame_rate / abs(frames.step or 1),
        )

    def resample(self, frame_rate: float) -> MeshSequence:
        """The same motion at another rate: vertices along straight lines, the nearest texture."""
        rate = checked_rate(frame_rate)
        positions = resampling.sample_positions(self.frames, self.frame_rate, rate)
        textures = self.textures
        if len(textures) > 1:
            textures = tuple(textures[i] for i in resampling.nearest(self.frames, positions))
        vertices = _arrays.empty((len(positions), *self.vertices.shape[1:]), self.vertices.dtype)
        for rows in _arrays.blocks(vertices):
            vertices[rows] = resampling.linear(self.vertices, positions[rows])
        read_only(vertices)
        return replace(self, vertices=vertices, textures=textures, frame_rate=rate)

    def mirror(self) -> MeshSequence:
        """Left and right exchanged (x -> -x); the faces turn with it and stay counter-clockwise."""
        return replace(
            self,
            vertices=mirrored(self.vertices),
            faces=turned_over(self.faces),
            uv_faces=None if self.uv_faces is None else turned_over(self.uv_faces),
        )

    def transform(
        self,
        *,
        rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        translation: ArrayLike = (0.0, 0.0, 0.0),
        scale: float = 1.0,
    ) -> MeshSequence:
        """Scaled, then turned about the world's origin by a quaternion, then moved, metres."""
        return replace(self, vertices=transformed(self.vertices, rotation, translation, scale))

    def with_convention(self, *, unit: str | float | None = None, up: UpAxis | None = None) -> MeshSequence:
        """The same surface, to be written in another unit (`"cm"`, or metres) or with another axis up."""
        size = self.convention.unit if unit is None else unit_size(unit)
        return replace(self, convention=Convention(size, self.convention.up if up is None else up))

    def renamed(self, name: str) -> MeshSequence:
        """The same sequence under another name."""
        return replace(self, name=name)

    def normals(self, frame: int) -> FloatArray:
        """Unit normals of a frame's vertices, `(vertices, 3)`."""
        return mesh.vertex_normals(self.vertices[as_slice(frame, self.frames)][0], self.faces)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest coordinates over all frames, `(3,)` each."""
        return mesh.bounding_box(self.vertices)

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {
            "kind": "mesh",
            "vertices": self.vertices.shape[1],
            "faces": len(self.faces),
            "uv": self.uv is not None,
            "colours": self.colours is not None,
            "textures": len(self.textures),
            "size": [rounded(v) for v in np.ptp(self.vertices[0], axis=0)],
        }


def concatenate(sequences: Sequence[MeshSequence]) -> MeshSequence:
    """Sequences of one connectivity, appearance and rate, end to end; textures may differ.

    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 30)
    >>> concatenate([triangle, triangle[0]]).frames
    3
    """
    if not sequences:
        raise InputError("concatenate: there is no sequence")
    first = sequences[0]
    for other in sequences[1:]:
        for what, mine, theirs in (
            ("numbers of vertices", first.vertices.shape[1], other.vertices.shape[1]),
            ("faces", first.faces, other.faces),
            ("texture coordinates", first.uv, other.uv),
            ("faces on the texture", first.uv_faces, other.uv_faces),
            ("colours", first.colours, other.colours),
        ):
            if not np.array_equal(np.asarray(mine), np.asarray(theirs)):
                raise InputError(f"cannot join {first.name!r} and {other.name!r}: their {what} differ")
        if bool(other.textures) != bool(first.textures):
            raise InputError(
                f"cannot join {first.name!r} and {other.name!r}: only one of them has a texture; "
                "give both one, or none"
            )
        if not np.isclose(other.frame_rate, first.frame_rate):
            raise InputError(
                f"cannot join sequences of {first.frame_rate:g} and {other.frame_rate:g} frames per second; "
                "resample one of them first"
            )
    textures = tuple(t for s in sequences for i in range(s.frames) if (t := s.texture(i)) is not None)
    if len(set(textures)) == 1:
        textures = textures[:1]
    shape = sum(s.frames for s in sequences), *first.vertices.shape[1:]
    vertices = _arrays.empty(shape, np.result_type(*(s.vertices for s in sequences)))
    np.concatenate([s.vertices for s in sequences], out=vertices)
    return replace(first, vertices=read_only(vertices), textures=textures)


def mirrored(vertices: FloatArray) -> FloatArray:
    """Points `(..., 3)` on the other side of the plane x = 0."""
    other_side = np.array([-1, 1, 1], vertices.dtype)
    return read_only(_arrays.mapped(lambda rows: rows * other_side, vertices, vertices.dtype))


def turned_over(faces: IntArray) -> IntArray:
    """Faces seen from their other side; the first corner stays."""
    return faces[:, [0, 2, 1]]


def transformed(
    vertices: FloatArray, rotation: ArrayLike, translation: ArrayLike, scale: float
) -> FloatArray:
    """`scale · R · vertex + translation` for `(frames, vertices, 3)`, in the vertices' own precision."""
    if not (np.isfinite(scale) and scale > 0):
        raise InputError(f"scale: must be positive and finite, got {scale}; use mirror() to turn over")
    turn = checked("rotation", rotation, (4,))
    if abs(np.linalg.norm(turn) - 1) > 1e-6:
        raise InputError(f"rotation: the quaternion has norm {np.linalg.norm(turn):.6g}, not 1")
    move = checked("translation", translation, (3,))
    matrix = (scale * rotations.to_matrix(turn)).astype(vertices.dtype)
    shift = move.astype(vertices.dtype)
    return read_only(_arrays.mapped(lambda rows: rows @ matrix.T + shift, vertices, vertices.dtype))


def checked_appearance(
    uv: FloatArray | None, uv_faces: IntArray | None, colours: FloatArray | None, faces: IntArray, count: int
) -> dict[str, FloatArray | IntArray | None]:
    """Texture coordinates and colours that fit the faces and the number of vertices."""
    if uv is None:
        if uv_faces is not None:
            raise InputError("uv_faces: given without uv")
    else:
        uv = checked("uv", uv, (None, 2))
        if uv_faces is None:
            if len(uv) != count:
                raise InputError(f"uv: {len(uv)} rows for {count} vertices; give uv_faces as well")
            uv_faces = faces
        uv_faces = checked_faces("uv_faces", uv_faces, len(uv))
        if len(uv_faces) != len(faces):
            raise InputError(f"uv_faces: {len(uv_faces)} rows for {len(faces)} faces")
    if colours is not None:
        colours = checked("colours", colours, (count, 3))
    return {"uv": uv, "uv_faces": uv_faces, "colours": colours}


def checked_faces(name: str, faces: IntArray, count: int) -> IntArray:
    """Indices `(faces, 3)` of one of `count` rows each, as int32."""
    given = checked(name, np.empty((0, 3), np.int32) if len(faces) == 0 else faces, (None, 3), dtype=None)
    if given.dtype.kind not in "iuf":
        raise InputError(f"{name}: indices must be whole numbers")
    if len(given) and not (given.min() >= 0 and given.max() < count):
        raise InputError(f"{name}: indices must lie in 0…{count - 1}, found {given.min()}…{given.max()}")
    return checked(name, given, (None, 3), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Library(Clips):
    """Sequences of one subject: the same faces and frame rate in all of them; its clips are the sequences.

    Attributes:
        sequences: at least one; those without a name, or with a name that is taken, are numbered.
        labels: the behaviour each sequence shows, e.g. "walk"; their names, if not given.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> library = Library((walk[:20], walk[30:50]), labels=("walk", "walk"))
    >>> library.frames, library.names, library.locate(25), library.frame("walk:-1")
    (40, ('walk', 'walk-2'), (1, 5), 19)
    """

    sequences: tuple[MeshSequence, ...]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sequences = tuple(self.sequences)
        if not sequences:
            raise InputError("library: there is no sequence")
        names = _distinct([sequence.name or "sequence" for sequence in sequences])
        sequences = tuple(
            sequence if sequence.name == name else sequence.renamed(name)
            for sequence, name in zip(sequences, names, strict=True)
        )
        _check_alike(sequences)
        labels = tuple(self.labels) or names
        if len(labels) != len(sequences):
            raise InputError(f"labels: {len(labels)} for {len(sequences)} sequences; give one each, or none")
        starts = np.concatenate([[0], np.cumsum([sequence.frames for sequence in sequences])])
        rate = sequences[0].frame_rate
        assign(self, sequences=sequences, labels=labels, names=names, starts=starts, frame_rate=rate)

    @property
    def faces(self) -> IntArray:
        """`(faces, 3)`, shared by all sequences."""
        return self.sequences[0].faces

    def vertices(self, frame: int) -> FloatArray:
        """Vertices of a frame, `(vertices, 3)`, where they were captured."""
        sequence, local = self.locate(frame)
        return np.asarray(self.sequences[sequence].vertices[local])

    def all_vertices(self) -> Iterator[FloatArray]:
        """Vertices of every frame in turn, `(vertices, 3)` each."""
        for sequence in self.sequences:
            yield from sequence.vertices

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        rate = self.sequences[0].frame_rate
        shape = {"vertices": self.sequences[0].vertices.shape[1], "faces": len(self.faces)}
        times = {"frames": self.frames, "frame_rate": rate, "duration": self.frames / rate}
        return {"kind": "library", **times, "clips": list(self.names), **shape}

    def __len__(self) -> int:
        return len(self.sequences)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        count, candidate = 1, name
        while candidate in found:
            count += 1
            candidate = f"{name}-{count}"
        found.append(candidate)
    return tuple(found)


def _check_alike(sequences: Sequence[MeshSequence]) -> None:
    first = sequences[0]
    for other in sequences[1:]:
        if other.vertices.shape[1] != first.vertices.shape[1] or not np.array_equal(other.faces, first.faces):
            raise InputError(
                f"{other.name}: its connectivity is not that of {first.name} "
                f"({other.vertices.shape[1]} and {first.vertices.shape[1]} vertices, "
                f"{len(other.faces)} and {len(first.faces)} faces); a library is of one subject"
            )
        if not np.isclose(other.frame_rate, first.frame_rate):
            raise InputError(
                f"{other.name}: {other.frame_rate:g} frames per second, but {first.name} has "
                f"{first.frame_rate:g}; resample one of them first (marey convert --frame-rate)"
            )
