"""What the mesh formats share: frames of one connectivity, textures beside them, and a line of notes.

A mesh file knows neither its frame rate nor its unit. We write both into a comment and believe it when we
read it back, unless the caller knows better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import numpy as np

from marey import _arrays
from marey._arrays import AnyArray, Array, BoolArray, FloatArray, IntArray, Integers, read_only
from marey._work import Progress, tracked
from marey.errors import FormatError, InputError, MareyError
from marey.geometry.convention import Convention, UpAxis, unit_size
from marey.io._atlas import Look, atlas
from marey.io._files import (
    numbered_name,
    plain_stem,
    read_bytes,
    series_files,
    series_name,
    time_facts,
    write_series,
)
from marey.surface.sequence import MeshSequence, Texture

DEFAULT_RATE = 30.0
# So that the texture of `walk.obj` does not take the place of an image called `walk.png`.
IMAGE_MARK = "_texture"


@dataclass(frozen=True, eq=False)
class Mesh:
    """One frame as a file has it, in the file's own unit and axes.

    face_text: the bytes its faces were read from; the same bytes mean the same faces
    library: the lines that name its material files
    joined: whether texture coordinates and texture are made of those of several materials
    """

    vertices: FloatArray
    faces: IntArray
    uv: FloatArray | None = None
    uv_faces: IntArray | None = None
    colours: FloatArray | None = None
    texture: Texture | None = None
    notes: dict[str, str] = field(default_factory=dict)
    face_text: bytes | None = None
    library: bytes | None = None
    joined: bool = False


# Turns the bytes of a file into its mesh; given the first mesh of the sequence, if this is a later one.
Parser = Callable[[bytes, Path, Mesh | None], Mesh]


@dataclass(frozen=True)
class MeshFiles:
    """A format of one mesh a file: how a file, a folder or a numbered series of them is read and written.

    Attributes:
        ending: Of the files.
        parse: The mesh in the bytes of a file.
        encoder: Of a sequence, what gives the bytes of a frame by its number and its texture's file name.
        companions: Other files to go with a texture's, by name.
    """

    ending: str
    parse: Parser
    encoder: Callable[[MeshSequence], Callable[[int, str | None], bytes]]
    companions: Callable[[str], dict[str, bytes]] = lambda image: {}

    def read(
        self,
        path: Path,
        *,
        frame_rate: float | None = None,
        unit: str | float | None = None,
        up: UpAxis | None = None,
        progress: Progress | None = None,
    ) -> MeshSequence:
        """A file, a folder of files, or a pattern such as `frames/walk_%04d.obj`, as one sequence.

        Texture coordinates and colours are those of the first file.

        Args:
            path: Of the file, the folder or the series.
            frame_rate: 30 if the files do not say (ours do, in a comment).
            unit: What the coordinates count, "cm" or metres; metres if the files do not say.
            up: "y" or "z"; "y" if the files do not say.
            progress: Called with frames done and all frames.
        """
        path = Path(path)
        files = series_files(path, (self.ending,))
        first = self.parse(read_bytes(files[0]), files[0], None)
        rate, convention = settings(_noted(first.notes), frame_rate, unit, up)
        vertices = _arrays.empty((len(files), *first.vertices.shape), first.vertices.dtype)
        textures = []
        for i, file in enumerate(tracked(files, progress)):
            mesh = first if i == 0 else self.parse(read_bytes(file), file, first)
            if i:
                _check_same(mesh, first, file, files[0])
            if not np.isfinite(mesh.vertices).all():
                where = int(np.argwhere(~np.isfinite(mesh.vertices))[0, 0])
                raise FormatError(f"the coordinates of vertex {where} are not finite", path=file)
            vertices[i] = convention.vertices_to_marey(mesh.vertices)
            textures.append(mesh.texture)
        try:
            return MeshSequence(
                read_only(vertices),
                first.faces,
                rate,
                uv=first.uv,
                uv_faces=first.uv_faces,
                colours=first.colours,
                textures=_textures(textures),
                convention=convention,
                name=series_name(path),
            )
        except MareyError as error:
            raise FormatError(str(error), path=files[0]) from error

    def facts(self, path: Path) -> dict[str, object]:
        """What a mesh or sequence is, of which only the first file is read."""
        files = series_files(path, (self.ending,))
        first = self.read(files[0])
        return {**first.facts(), **time_facts(len(files), first.frame_rate)}

    def write(
        self,
        sequence: MeshSequence,
        path: Path,
        *,
        unit: str | float | None = None,
        up: UpAxis | None = None,
        progress: Progress | None = None,
    ) -> None:
        """One frame to one file, several to numbered ones such as `walk_%04d.obj`; textures go beside them.

        Coordinates are written so that reading them gives the same numbers, in the sequence's own convention
        unless `unit` or `up` say otherwise.
        """
        path, sequence = Path(path), sequence.with_convention(unit=unit, up=up)
        images, encode = _image_names(sequence, path), self.encoder(sequence)
        beside: dict[str, bytes] = {}
        for image, texture in zip(images, sequence.textures, strict=True):
            beside |= {image: texture.encoded(), **self.companions(image)}
        frames = tracked(range(sequence.frames), progress)
        encoded = (encode(i, images[i % len(images)] if images else None) for i in frames)
        write_series(path, encoded, sequence.frames, beside)


def settings(
    noted: tuple[float, Convention],
    frame_rate: float | None,
    unit: str | float | None,
    up: UpAxis | None,
) -> tuple[float, Convention]:
    """Frame rate and convention: the caller's, else what the file notes."""
    rate, convention = noted
    return (
        rate if frame_rate is None else frame_rate,
        Convention(convention.unit if unit is None else unit_size(unit), convention.up if up is None else up),
    )


def note(sequence: MeshSequence) -> str:
    """The comment that :func:`notes_in` understands."""
    convention = sequence.convention
    return f"marey frame_rate={sequence.frame_rate!r} unit={convention.unit!r} up={convention.up}"


def notes_in(comment: str) -> dict[str, str]:
    """What a comment notes about the sequence, if we wrote it.

    >>> notes_in("marey frame_rate=50.0 unit=0.01 up=z")
    {'frame_rate': '50.0', 'unit': '0.01', 'up': 'z'}
    >>> notes_in("Blender 4.2")
    {}
    """
    words = comment.split()
    return dict(word.split("=", 1) for word in words[1:] if "=" in word) if words[:1] == ["marey"] else {}


def texture_beside(folder: Path, name: str) -> Texture | None:
    """The image a mesh file speaks of, if it lies in or below the folder of the mesh.

    A path from another machine is tried by its file name. Anything outside the folder is left alone.
    """
    name = name.strip().strip('"').replace("\\", "/")
    for candidate in (name, PurePosixPath(name).name):
        file = contained_file(folder, candidate)
        if file is not None:
            return Texture(path=file)
    return None


def contained_file(folder: Path, name: str) -> Path | None:
    """The file `name` in or below `folder`, or None: never one elsewhere."""
    try:
        home = folder.resolve()
        file = (home / name).resolve()
        return file if file.is_relative_to(home) and file.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name no file can have
        return None


def _image_names(sequence: MeshSequence, path: Path) -> list[str]:
    """The names of the textures' files: one for all meshes, or one each."""
    count = len(sequence.textures)
    stems = (
        [Path(numbered_name(path, i)).stem for i in range(count)]
        if count > 1
        else [plain_stem(path) or "mesh"]
    )
    return [s + IMAGE_MARK + image_ending(t) for s, t in zip(stems, sequence.textures, strict=False)]


def with_materials(
    mesh: Mesh, materials: list[Look], used: Integers, corners: Array, bare: BoolArray
) -> Mesh:
    """A mesh with an image of all its materials, or with colours of its vertices if none has an image.

    Args:
        used: `(faces,)`, the material of each face.
        corners: `(faces, 3, 2)`, texture coordinates.
        bare: `(faces,)`, faces without such coordinates, which have the plain colour of their material.
    """
    looks = [*materials, *(Look(None, look.colour) for look in materials)]
    number = used + len(materials) * (bare | np.array([look.image is None for look in materials])[used])
    different, number = np.unique(number, return_inverse=True)
    looks = [looks[i] for i in different]
    images = [look.image for look in looks if look.image is not None]
    if not images:
        if mesh.colours is not None or all(np.array_equal(look.colour, np.ones(3)) for look in looks):
            return mesh
        colours, own = np.ones((len(mesh.vertices), 3)), np.full(len(mesh.vertices), -1)
        own[mesh.faces] = number[:, None]
        if (own[mesh.faces] == number[:, None]).all():
            colours[own >= 0] = np.stack([look.plain for look in looks])[own[own >= 0]]
            return replace(mesh, colours=colours)
    elif len(set(images)) == 1 and len(images) == len(looks):
        return replace(mesh, texture=images[0])
    uv, uv_faces, texture = atlas(corners, number, looks)
    return replace(
        mesh, uv=uv, uv_faces=uv_faces.astype(np.int32), texture=texture, joined=True, face_text=None
    )


def _noted(notes: dict[str, str]) -> tuple[float, Convention]:
    """What a comment says, if it makes sense; else 30 frames per second, metres, y up."""
    try:
        rate = float(notes.get("frame_rate", DEFAULT_RATE))
        unit, up = float(notes.get("unit", 1.0)), notes.get("up", "y")
        if not (np.isfinite(rate) and rate > 0):
            raise InputError("frame rate")
        return rate, Convention(unit, up)  # type: ignore[arg-type]
    except (ValueError, MareyError):
        return DEFAULT_RATE, Convention()


def _check_same(mesh: Mesh, first: Mesh, file: Path, first_file: Path) -> None:
    def differ(what: str) -> FormatError:
        return FormatError(
            f"{what} {first_file.name}; all frames of a sequence need the same connectivity", path=file
        )

    if len(mesh.vertices) != len(first.vertices):
        raise differ(f"it has {len(mesh.vertices)} vertices, {len(first.vertices)} are in")
    if mesh.faces is not first.faces and not np.array_equal(mesh.faces, first.faces):
        raise differ("its faces differ from those of")
    if mesh.uv_faces is not first.uv_faces and not _equal(mesh.uv_faces, first.uv_faces):
        raise differ("its texture faces differ from those of")
    if mesh.uv is not first.uv and not _equal(mesh.uv, first.uv, tolerance=1e-4):
        raise differ("its texture coordinates differ from those of")


def _equal(one: AnyArray | None, other: AnyArray | None, tolerance: float = 0.0) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=0, atol=tolerance))


def _textures(found: list[Texture | None]) -> tuple[Texture, ...]:
    """One for all if it is always the same, else one each; with gaps, the first one for all."""
    there = [texture for texture in found if texture is not None]
    if len(set(there)) <= 1 or len(there) < len(found):
        return tuple(there[:1])
    return tuple(there)


def image_ending(texture: Texture) -> str:
    ending = {"image/png": ".png", "image/jpeg": ".jpg"}.get(image_type(texture.encoded()) or "")
    if ending is None:
        raise InputError("texture: neither PNG nor JPEG, so it cannot be written beside a mesh")
    return ending


def image_type(data: bytes) -> str | None:
    """The MIME type of a PNG or JPEG, else None."""
    if data.startswith(b"\x89PNG"):
        return "image/png"
    return "image/jpeg" if data.startswith(b"\xff\xd8\xff") else None
