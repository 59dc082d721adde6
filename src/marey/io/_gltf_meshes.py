"""Meshes of a glTF file: primitives as triangles with colours, texture coordinates, weights and targets.

Vertices stay as the file has them; only files written by marey, which note where a vertex was split for
its texture, are joined again (glTF 2.0, section 3.7). Cost: one pass over the vertices.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.errors import MareyWarning
from marey.io._gltf_buffers import Buffers, Floats, Integers, decoded_data_uri, file_beside
from marey.io._gltf_json import Document, Entry
from marey.surface.texture import Texture

Array = NDArray[np.float64]
T = TypeVar("T", bound=np.generic)

# Where a vertex came from before it was split at a seam of the texture.
ORIGIN = "_MAREY_VERTEX"

_TRIANGLES, _STRIP, _FAN, _POINTS = 4, 5, 6, 0
_MOST_VERTICES, _MOST_CORNERS, _MOST_DISPLACEMENTS = 1 << 24, 1 << 26, 1 << 27


@dataclass(frozen=True)
class Part:
    """One primitive of a mesh node."""

    node: int
    positions: Floats  # (vertices, 3)
    faces: Integers
    uv: Array | None  # (corners, 2), v up
    uv_faces: Integers
    colours: Array | None
    plain: Array | None  # (3,), the colour of its material if that has no texture
    targets: tuple[int | None, ...]  # accessors of the morph targets' positions
    default_weights: Array
    stored: int  # vertices in the file
    kept: Integers | slice  # which of those are ours
    image: int | None
    entry: Entry

    def displacement(self, target: int, buffers: Buffers) -> Floats | None:
        """How far a morph target moves each vertex, `(vertices, 3)`; None if it moves none."""
        accessor = self.targets[target]
        return None if accessor is None else self.ours(buffers.floats(accessor, 3), f"targets[{target}]")

    def ours(self, values: NDArray[T], key: str) -> NDArray[T]:
        """Those of the values of the file's vertices that belong to ours."""
        if len(values) != self.stored:
            self.entry.fail(key, f"{len(values)} rows for {self.stored} vertices")
        return values[self.kept]


@dataclass(frozen=True)
class Appearance:
    """What the parts look like when they are one mesh."""

    faces: Integers
    uv: Array | None
    uv_faces: Integers | None
    colours: Array | None
    texture: Texture | None


def read_parts(document: Document, buffers: Buffers, nodes: list[int]) -> list[Part]:
    """The triangles of the meshes of some nodes (points where a mesh has nothing else)."""
    chosen = [(node, primitive) for node in nodes for primitive in _primitives(document, node)]
    vertices = corners = displacements = 0
    for _, primitive in chosen:
        own = _element_count(document, buffers, primitive.entry("attributes"), "POSITION")
        vertices += own
        corners += _element_count(document, buffers, primitive, "indices")
        displacements += own * len(primitive.entries("targets"))
        if vertices > _MOST_VERTICES or corners > _MOST_CORNERS:
            primitive.fail("", f"the file has more than {_MOST_VERTICES} vertices or {_MOST_CORNERS} corners")
        if displacements > _MOST_DISPLACEMENTS:
            primitive.fail("targets", f"the file moves more than {_MOST_DISPLACEMENTS} vertices")
    return [_read_part(document, buffers, node, primitive) for node, primitive in chosen]


def attribute(document: Document, primitive: Entry, name: str) -> int | None:
    """The accessor of a vertex attribute, if the primitive has it."""
    return primitive.entry("attributes").index(name, len(document.all("accessors")))


def appearance(document: Document, buffers: Buffers, parts: list[Part]) -> Appearance:
    """The parts as one mesh, in their order; it has the texture that most faces use."""
    starts = np.cumsum([0, *(len(part.positions) for part in parts)])
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts)])
    image = _main_image(parts)
    uv, uv_faces = None, None
    if any(part.uv is not None for part in parts):
        rows = [np.zeros((len(p.positions), 2)) if p.uv is None else p.uv for p in parts]
        uv_starts = np.cumsum([0, *map(len, rows)])
        corners = [p.faces if p.uv is None else p.uv_faces for p in parts]
        uv, uv_faces = np.concatenate(rows), np.concatenate([c + s for c, s in zip(corners, uv_starts)])
    texture = None if image is None else _read_texture(buffers, document.all("images")[image])
    return Appearance(faces, uv, uv_faces, _colours(parts), texture)


def display_from_linear(light: Array) -> Array:
    """Amounts of light 0…1, which glTF stores for colours, as values of an ordinary (sRGB) image."""
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.maximum(light, 1e-9) ** (1 / 2.4) - 0.055)


def linear_from_display(value: FloatArray) -> Array:
    """Inverse of :func:`display_from_linear` (IEC 61966-2-1)."""
    value = np.clip(value, 0, 1)
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _primitives(document: Document, node: int) -> list[Entry]:
    mesh = document.referred(document.all("nodes")[node], "mesh", "meshes")
    if mesh is None:
        return []
    primitives = mesh.entries("primitives")
    modes = [primitive.integer("mode", _TRIANGLES) for primitive in primitives]
    solid = {_TRIANGLES, _STRIP, _FAN}
    wanted = solid if solid & set(modes) else {_POINTS}
    return [primitive for primitive, mode in zip(primitives, modes) if mode in wanted]


def _element_count(document: Document, buffers: Buffers, entry: Entry, key: str) -> int:
    accessor = entry.index(key, len(document.all("accessors")))
    return 0 if accessor is None else buffers.count(accessor)


def _read_part(document: Document, buffers: Buffers, node: int, primitive: Entry) -> Part:
    accessor = attribute(document, primitive, "POSITION")
    if accessor is None:
        primitive.fail("attributes.POSITION", "is missing")
    positions = buffers.floats(accessor, 3)
    corners = _read_faces(document, buffers, primitive, len(positions))
    origin = _read_origin(document, buffers, primitive, len(positions))
    kept: Integers | slice = slice(None)
    faces = corners
    if origin is not None:
        kept, faces = np.unique(origin, return_index=True)[1], origin[corners]
    targets = tuple(
        target.index("POSITION", len(document.all("accessors"))) for target in primitive.entries("targets")
    )
    owner = document.all("nodes")[node]
    mesh = document.referred(owner, "mesh", "meshes")
    weights = owner.numbers("weights", len(targets))
    if weights is None and mesh is not None:
        weights = mesh.numbers("weights", len(targets))
    material = document.referred(primitive, "material", "materials")
    uv, image = _read_uv(document, buffers, primitive, material, len(positions))
    plain = None
    if material is not None and image is None:
        base = material.entry("pbrMetallicRoughness").numbers("baseColorFactor", 4)
        plain = None if base is None else display_from_linear(base[:3])
    colours = _read_colours(document, buffers, primitive, material, len(positions))
    return Part(
        node=node,
        positions=positions[kept],
        faces=faces,
        uv=uv,
        uv_faces=corners,
        colours=None if colours is None else colours[kept],
        plain=plain,
        targets=targets,
        default_weights=np.zeros(len(targets)) if weights is None else weights,
        stored=len(positions),
        kept=kept,
        image=image,
        entry=primitive,
    )


def _read_faces(document: Document, buffers: Buffers, primitive: Entry, count: int) -> Integers:
    index = primitive.index("indices", len(document.all("accessors")))
    row = np.arange(count) if index is None else buffers.integers(index)[:, 0]
    if row.max() >= count or row.min() < 0:
        primitive.fail("indices", f"refer to vertex {row.max()} of {count}")
    mode = primitive.integer("mode", _TRIANGLES)
    if mode == _POINTS:
        return np.empty((0, 3), dtype=np.int64)
    if mode == _TRIANGLES:
        return row[: len(row) // 3 * 3].reshape(-1, 3)
    if mode == _FAN:
        return np.stack([np.full(max(len(row) - 2, 0), row[0]), row[1:-1], row[2:]], axis=1)
    strip = np.stack([row[:-2], row[1:-1], row[2:]], axis=1)
    strip[1::2] = strip[1::2][:, [1, 0, 2]]
    return strip


def _read_origin(document: Document, buffers: Buffers, primitive: Entry, count: int) -> Integers | None:
    accessor = attribute(document, primitive, ORIGIN)
    if accessor is None:
        return None
    origin = buffers.floats(accessor, 1)[:, 0].astype(np.int64)
    present = np.unique(origin)
    if len(origin) != count or not np.array_equal(present, np.arange(len(present))):
        primitive.fail(f"attributes.{ORIGIN}", "does not number the vertices")
    return origin


def _read_uv(
    document: Document, buffers: Buffers, primitive: Entry, material: Entry | None, count: int
) -> tuple[Array | None, int | None]:
    """Texture coordinates with v up, and the image they belong to."""
    image, channel, turn = None, 0, np.eye(3)
    if material is not None:
        info = material.entry("pbrMetallicRoughness").entry("baseColorTexture")
        texture = document.referred(info, "index", "textures")
        if texture is not None:
            image = texture.index("source", len(document.all("images")))
            channel, turn = info.integer("texCoord", 0, high=16), _texture_transform(info)
    accessor = attribute(document, primitive, f"TEXCOORD_{channel}")
    if accessor is None:
        return None, None
    uv = buffers.floats(accessor, 2).astype(np.float64)
    if len(uv) != count:
        primitive.fail(f"attributes.TEXCOORD_{channel}", f"{len(uv)} rows for {count} vertices")
    uv = uv @ turn[:2, :2].T + turn[:2, 2]
    return np.stack([uv[:, 0], 1 - uv[:, 1]], axis=1), image


def _texture_transform(info: Entry) -> Array:
    """The matrix of the extension KHR_texture_transform."""
    entry = info.entry("extensions").entry("KHR_texture_transform")
    offset, scale, angle = entry.numbers("offset", 2), entry.numbers("scale", 2), entry.number("rotation")
    cos, sin = np.cos(angle or 0.0), np.sin(angle or 0.0)
    matrix = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0, 0, 1]])
    matrix[:2, 2] = 0 if offset is None else offset
    return matrix if scale is None else matrix @ np.diag([*scale, 1.0])


def _read_colours(
    document: Document, buffers: Buffers, primitive: Entry, material: Entry | None, count: int
) -> Array | None:
    accessor = attribute(document, primitive, "COLOR_0")
    if accessor is None:
        return None
    colours = buffers.floats(accessor, 3, 4)[:, :3].astype(np.float64)
    if len(colours) != count:
        primitive.fail("attributes.COLOR_0", f"{len(colours)} rows for {count} vertices")
    base = None if material is None else material.entry("pbrMetallicRoughness").numbers("baseColorFactor", 4)
    return display_from_linear(colours if base is None else colours * base[:3])


def _colours(parts: list[Part]) -> Array | None:
    """Colours of all vertices, if some are stored or the parts are of different plain colours."""
    plain = [np.ones(3) if part.plain is None else part.plain for part in parts]
    if all(part.colours is None for part in parts) and all(np.array_equal(p, plain[0]) for p in plain):
        return None
    whole = [
        np.repeat(p[None], len(part.positions), axis=0) if part.colours is None else part.colours
        for part, p in zip(parts, plain)
    ]
    return np.concatenate(whole)


def _main_image(parts: list[Part]) -> int | None:
    faces: dict[int, int] = {}
    for part in parts:
        if part.image is not None:
            faces[part.image] = faces.get(part.image, 0) + len(part.faces)
    if len(faces) > 1:
        message = f"{parts[0].entry.path}: has {len(faces)} textures, marey keeps the one most faces use"
        warnings.warn(message, MareyWarning, stacklevel=2)
    return max(faces, key=lambda image: faces[image]) if faces else None


def _read_texture(buffers: Buffers, image: Entry) -> Texture | None:
    if "bufferView" in image.values:
        view = buffers.bytes_of_view(image)
        texture = Texture(data=b"" if view is None else view.tobytes())
    elif image.text("uri").startswith("data:"):
        texture = Texture(data=decoded_data_uri(image))
    else:
        return Texture(path=file_beside(image))
    if image_type(texture.encoded()) is None:
        message = f"{image.path}: {image.place} is neither PNG nor JPEG; left out"
        warnings.warn(message, MareyWarning, stacklevel=2)
        return None
    return texture


def image_type(data: bytes) -> str | None:
    """The MIME type of a PNG or JPEG, else None."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    return "image/jpeg" if data.startswith(b"\xff\xd8\xff") else None
