"""4D performance capture: one mesh whose vertices move (Boukhayma 2017, section 1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from marey._arrays import FloatArray, IntArray, as_slice, assign, checked, checked_rate, frame_slice
from marey.errors import InputError
from marey.geometry.convention import Convention
from marey.surface.texture import Texture


@dataclass(frozen=True, eq=False)
class MeshSequence:
    """Triangle meshes of constant connectivity over time. Metres, y up.

    vertices: `(frames, vertices, 3)`, float32 or float64 (kept as given)
    faces: `(faces, 3)`, indices into the vertices, counter-clockwise seen from outside
    frame_rate: frames per second
    uv: `(corners, 2)` or None, texture coordinates, v up
    uv_faces: `(faces, 3)` or None, indices into `uv` (None with `uv`: same as `faces`)
    colours: `(vertices, 3)` or None, red green blue in 0…1
    textures: one per frame, or one for all, or none

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

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.vertices)

    @property
    def duration(self) -> float:
        """Seconds: frames divided by frame rate."""
        return self.frames / self.frame_rate

    def texture(self, frame: int) -> Texture | None:
        """The texture of a frame, if there is one."""
        if not self.textures:
            return None
        return self.textures[frame if len(self.textures) > 1 else 0]

    def __len__(self) -> int:
        return self.frames

    def __getitem__(self, key: int | slice) -> MeshSequence:
        """Frames as a shorter sequence: `sequence[10:50]`, `sequence[7]`."""
        frames = as_slice(key, self.frames)
        return replace(
            self,
            vertices=self.vertices[frames],
            textures=self.textures[frames] if len(self.textures) > 1 else self.textures,
            frame_rate=self.frame_rate / abs(frames.step or 1),
        )

    def between(self, start: float | None = None, stop: float | None = None) -> MeshSequence:
        """Frames whose time in seconds lies in `[start, stop]`."""
        return self[frame_slice(self.frames, self.frame_rate, start, stop)]


def concatenate(sequences: Sequence[MeshSequence]) -> MeshSequence:
    """Sequences of one connectivity and one rate, end to end."""
    first = sequences[0]
    for other in sequences[1:]:
        if not np.array_equal(other.faces, first.faces):
            raise InputError(f"cannot join {first.name!r} and {other.name!r}: their faces differ")
        if not np.isclose(other.frame_rate, first.frame_rate):
            raise InputError(
                f"cannot join sequences of {first.frame_rate:g} and {other.frame_rate:g} frames per second; "
                "resample one of them first"
            )
    textures: tuple[Texture, ...] = ()
    if all(s.textures for s in sequences):
        per_frame = [tuple(s.texture(i) for i in range(s.frames)) for s in sequences]
        textures = tuple(t for part in per_frame for t in part if t is not None)
        if len(set(textures)) == 1:
            textures = textures[:1]
    return replace(first, vertices=np.concatenate([s.vertices for s in sequences]), textures=textures)


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
    faces = checked(name, faces, (None, 3), dtype=np.int32)
    if len(faces) and not (faces.min() >= 0 and faces.max() < count):
        raise InputError(f"{name}: indices must lie in 0…{count - 1}, found {faces.min()}…{faces.max()}")
    return faces
