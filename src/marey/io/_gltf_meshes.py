"""Meshes and skins of a glTF file: triangles with colours, texture coordinates, targets and weights.

Vertices stay as the file has them; only files written by marey, which note where a vertex was split for
its texture, are joined again (glTF 2.0, section 3.7). A file may keep a skinned mesh in any space of its own
and hide scales in the nodes; here the mesh is brought to where it stands at rest in the world and the scales
into the binding, so that the joints are rigid (section 3.7.3). Cost: linear in vertices × influences.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Integers
from marey.errors import FormatError, MareyWarning
from marey.geometry import rotations as rot
from marey.geometry.colour import to_srgb
from marey.io._atlas import Look, atlas
from marey.io._files import quoted
from marey.io._gltf_document import Entry, Floats, decoded_data_uri, file_beside
from marey.io._gltf_nodes import Place, Scene, homogeneous
from marey.io._limits import LIMITS
from marey.io._meshes import image_type
from marey.surface.sequence import Texture
from marey.surface.skinning import SkinnedMesh

T = TypeVar("T", bound=np.generic)

# Where a vertex came from before it was split at a seam of the texture.
ORIGIN = "_MAREY_VERTEX"
# Where textures name images that are neither PNG nor JPEG.
_IMAGES = ("EXT_texture_webp", "KHR_texture_basisu", "EXT_texture_avif")
_TRIANGLES, _STRIP, _FAN, _POINTS = 4, 5, 6, 0
_MAX_CORNERS = 4 * LIMITS.vertices
Influences = tuple[NDArray[np.int64], Array]
_MOST_SETS = 8


@dataclass(frozen=True)
class Part:
    """One primitive of a mesh node."""

    node: int
    positions: Floats  # (vertices, 3)
    faces: Integers
    uv: Array | None  # (corners, 2), v up
    uv_faces: Integers
    colours: Array | None  # of its vertices, times that of its material
    colour: Array  # (3,), of its material, linear
    targets: tuple[Entry | None, ...]  # accessors of the morph targets' positions
    default_weights: Array
    stored: int  # vertices in the file
    kept: Integers | slice  # which of those are ours
    image: Entry | None
    entry: Entry
    instance: Array  # (4, 4), where in its node this copy stands

    def displacement(self, target: int) -> Floats | None:
        """How far a morph target moves each vertex, `(vertices, 3)`; None if it moves none."""
        accessor = self.targets[target]
        return (
            None
            if accessor is None
            else self.ours(accessor.document.floats(accessor, 3), f"targets[{target}]")
        )

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


def read_parts(scene: Scene, nodes: list[int]) -> list[Part]:
    """The triangles of the meshes of some nodes (points where a mesh has nothing else)."""
    chosen = [(node, primitive) for node in nodes for primitive in _primitives(scene.mesh(node))]
    places = {node: _instances(scene.nodes.entries[node]) for node in nodes}
    vertices = corners = displacements = 0
    for node, primitive in chosen:
        own, copies = _element_count(primitive.entry("attributes").accessor("POSITION")), len(places[node])
        vertices += own * copies
        corners += _element_count(primitive.accessor("indices")) * copies
        displacements += own * len(primitive.entries("targets"))
        if vertices > LIMITS.vertices or corners > _MAX_CORNERS:
            primitive.fail("", f"the file has more than {LIMITS.vertices} vertices or {_MAX_CORNERS} corners")
        if displacements > LIMITS.values:
            primitive.fail("targets", f"the file moves more than {LIMITS.values} vertices")
    parts = ((node, _read_part(scene, node, primitive)) for node, primitive in chosen)
    return [replace(part, instance=place) for node, part in parts for place in places[node]]


def _instances(node: Entry) -> Array:
    """Where in a node its mesh stands, `(copies, 4, 4)` (extension EXT_mesh_gpu_instancing)."""
    stored = node.entry("extensions").entry("EXT_mesh_gpu_instancing").entry("attributes")
    found = {name: stored.accessor(name) for name in ("TRANSLATION", "ROTATION", "SCALE")}
    counts = {_element_count(accessor) for accessor in found.values() if accessor is not None}
    if not counts or "skin" in node.values:
        return np.eye(4)[None]
    if len(counts) > 1 or max(counts) > LIMITS.values // 16:
        stored.fail("", "should hold as many of each")

    def values(name: str, width: int, default: list[float]) -> Array:
        accessor = found[name]
        if accessor is None:
            return np.tile(default, (max(counts), 1))
        return stored.document.floats(accessor, width).astype(np.float64)

    turns = rot.to_matrix(rot.normalise(np.roll(values("ROTATION", 4, [0, 0, 0, 1.0]), 1, axis=1)))
    linear = turns * values("SCALE", 3, [1.0] * 3)[:, None]
    return homogeneous(linear, values("TRANSLATION", 3, [0.0] * 3))


def appearance(parts: list[Part]) -> Appearance:
    """The parts as one mesh, in their order; their materials as one image where they differ."""
    starts = np.cumsum([0, *(len(part.positions) for part in parts)])
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts)])
    white = (1.0, 1.0, 1.0)
    images = _read_textures(parts)
    textures = [None if part.image is None or part.uv is None else images[part.image] for part in parts]
    tints = [white if part.colours is not None else tuple(part.colour.tolist()) for part in parts]
    materials = list(zip(textures, tints, strict=True))
    different = list(dict.fromkeys(materials))
    rows = [np.zeros((len(p.positions), 2)) if p.uv is None else p.uv for p in parts]
    corners = [p.faces if p.uv is None else p.uv_faces for p in parts]
    if any(textures) and (len(different) > 1 or different[0][1] != white):
        looks = [Look(image, np.array(tint)) for image, tint in different]
        numbers = np.array([different.index(material) for material in materials])
        uv, uv_faces, texture = atlas(
            np.concatenate([row[corner] for row, corner in zip(rows, corners)]),
            np.repeat(numbers, [len(corner) for corner in corners]),
            looks,
        )
        return Appearance(faces, uv, uv_faces, _colours(parts, [white] * len(parts)), texture)
    if all(part.uv is None for part in parts):
        return Appearance(faces, None, None, _colours(parts, tints), None)
    uv_starts = np.cumsum([0, *map(len, rows)])
    uv_faces = np.concatenate([c + s for c, s in zip(corners, uv_starts)])
    return Appearance(faces, np.concatenate(rows), uv_faces, _colours(parts, tints), textures[0])


def _primitives(mesh: Entry | None) -> list[Entry]:
    if mesh is None:
        return []
    primitives = mesh.entries("primitives")
    modes = [primitive.integer("mode", _TRIANGLES) for primitive in primitives]
    solid = {_TRIANGLES, _STRIP, _FAN}
    wanted = solid if solid & set(modes) else {_POINTS}
    return [primitive for primitive, mode in zip(primitives, modes) if mode in wanted]


def _element_count(accessor: Entry | None) -> int:
    return 0 if accessor is None else accessor.integer("count", low=1)


def _attribute(primitive: Entry, name: str, *widths: int, rows: int | None = None) -> Floats | None:
    """A vertex attribute, if the primitive has it; it must have as many `rows` as that."""
    accessor = primitive.entry("attributes").accessor(name)
    if accessor is None:
        return None
    values = primitive.document.floats(accessor, *widths)
    if rows is not None and len(values) != rows:
        primitive.fail(f"attributes.{name}", f"{len(values)} rows for {rows} vertices")
    return values


def _read_part(scene: Scene, node: int, primitive: Entry) -> Part:
    primitive.document.decode(primitive)
    positions = _attribute(primitive, "POSITION", 3)
    if positions is None:
        primitive.fail("attributes.POSITION", "is missing")
    corners = _read_faces(primitive, len(positions))
    origin = _read_origin(primitive, len(positions))
    kept: Integers | slice = slice(None)
    if "skin" not in scene.values(node) and np.linalg.det(scene.rest[node].linear()[0]) < 0:
        corners = corners[:, [0, 2, 1]]  # the node mirrors its mesh
    faces = corners
    if origin is not None:
        kept, faces = np.unique(origin, return_index=True)[1], origin[corners]
    targets = tuple(target.accessor("POSITION") for target in primitive.entries("targets"))
    mesh = scene.mesh(node)
    weights = scene.nodes.entries[node].numbers("weights", len(targets))
    if weights is None and mesh is not None:
        weights = mesh.numbers("weights", len(targets))
    material = primitive.referred("material", "materials")
    surface, names = None, ("baseColorTexture", "baseColorFactor")
    if material is not None:
        surface = material.entry("pbrMetallicRoughness")
        glossy = material.entry("extensions").entry("KHR_materials_pbrSpecularGlossiness")
        if glossy.values:
            surface, names = glossy, ("diffuseTexture", "diffuseFactor")
    info = None if surface is None else surface.entry(names[0])
    uv, image = _read_uv(primitive, info, len(positions))
    base = None if surface is None else surface.numbers(names[1], 4)
    colour = np.ones(3) if base is None else np.clip(base[:3], 0, 1)
    colours, light = None, _attribute(primitive, "COLOR_0", 3, 4, rows=len(positions))
    if light is not None:
        colours = to_srgb(light[:, :3].astype(np.float64) * colour)[kept]
    return Part(
        node=node,
        positions=positions[kept],
        faces=faces,
        uv=uv,
        uv_faces=corners,
        colours=colours,
        colour=colour,
        targets=targets,
        default_weights=np.zeros(len(targets)) if weights is None else weights,
        stored=len(positions),
        kept=kept,
        image=image,
        entry=primitive,
        instance=np.eye(4),
    )


def _read_faces(primitive: Entry, count: int) -> Integers:
    indices = primitive.accessor("indices")
    row = np.arange(count) if indices is None else primitive.document.integers(indices)[:, 0]
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


def _read_origin(primitive: Entry, count: int) -> Integers | None:
    values = _attribute(primitive, ORIGIN, 1)
    if values is None:
        return None
    origin = values[:, 0].astype(np.int64)
    present = np.unique(origin)
    if len(origin) != count or not np.array_equal(present, np.arange(len(present))):
        primitive.fail(f"attributes.{ORIGIN}", "does not number the vertices")
    return origin


def _read_uv(primitive: Entry, info: Entry | None, count: int) -> tuple[Array | None, Entry | None]:
    """Texture coordinates with v up, and the image they belong to."""
    image, channel, turn = None, 0, np.eye(3)
    texture = None if info is None else info.referred("index", "textures")
    if info is not None and texture is not None:
        others = (texture.entry("extensions").entry(name) for name in _IMAGES)
        sources = (entry.referred("source", "images") for entry in (texture, *others))
        image = next((source for source in sources if source is not None), None)
        channel, turn = info.integer("texCoord", 0, high=16), _texture_transform(info)
    stored = _attribute(primitive, f"TEXCOORD_{channel}", 2, rows=count)
    if stored is None:
        return None, None
    uv = stored.astype(np.float64) @ turn[:2, :2].T + turn[:2, 2]
    return np.stack([uv[:, 0], 1 - uv[:, 1]], axis=1), image


def _texture_transform(info: Entry) -> Array:
    """The matrix of the extension KHR_texture_transform."""
    entry = info.entry("extensions").entry("KHR_texture_transform")
    offset, scale, angle = entry.numbers("offset", 2), entry.numbers("scale", 2), entry.number("rotation")
    cos, sin = np.cos(angle or 0.0), np.sin(angle or 0.0)
    matrix = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0, 0, 1]])
    matrix[:2, 2] = 0 if offset is None else offset
    return matrix if scale is None else matrix @ np.diag([*scale, 1.0])


def _colours(parts: list[Part], plain: list[tuple[float, ...]]) -> Array | None:
    """Colours of all vertices, if some are stored or those of the materials, linear light, differ."""
    if all(part.colours is None for part in parts) and len(set(plain)) == 1:
        return None
    whole = [
        np.repeat(to_srgb(p)[None], len(part.positions), axis=0) if part.colours is None else part.colours
        for part, p in zip(parts, plain)
    ]
    return np.concatenate(whole)


def _read_textures(parts: list[Part]) -> dict[Entry, Texture | None]:
    """The images of the parts; None, and one note, for those that are missing or of another format."""
    found = {part.image: _read_texture(part.image) for part in parts if part.image is not None}
    bad = [image for image, texture in found.items() if texture is None]
    if bad:
        name = quoted(bad[0].text("uri"))[1:-1] or bad[0].place
        others = f" and {len(bad) - 1} others are" if len(bad) > 1 else " is"
        message = f"{bad[0].path}: its image {name}{others} missing or no PNG, JPEG or WebP; left out"
        warnings.warn(MareyWarning(message), stacklevel=2)
    return found


def _read_texture(image: Entry) -> Texture | None:
    if "bufferView" in image.values:
        texture = Texture(data=image.document.bytes_of_view(image).tobytes())
    elif image.text("uri").startswith("data:"):
        texture = Texture(data=decoded_data_uri(image))
    elif (file := file_beside(image)).is_file():
        texture = Texture(path=file)
    else:
        return None
    if image_type(texture.encoded()) is not None:
        return texture
    if texture.encoded()[8:12] == b"WEBP":
        with suppress(FormatError):
            return Texture.from_image(texture.read())
    return None


@dataclass
class Binding:
    """Joints (nodes) and the inverses of their transforms at rest; a joint twice if two skins differ."""

    joints: list[int] = field(default_factory=list)
    inverses: list[Array] = field(default_factory=list)

    def slot(self, joint: int, inverse: Array) -> int:
        """The index of a joint bound like this."""
        for index, (known, its_inverse) in enumerate(zip(self.joints, self.inverses)):
            if known == joint and np.allclose(
                its_inverse, inverse, rtol=0, atol=1e-5 * np.abs(inverse).max()
            ):
                return index
        self.joints.append(joint)
        self.inverses.append(inverse)
        return len(self.joints) - 1


def read_skin(scene: Scene, parts: list[Part], joints: list[int]) -> SkinnedMesh:
    """The parts as one mesh, bound to the joints; parts without a skin follow the joint above them."""
    unit = scene.convention.unit
    binding = Binding()
    positions, influences = [], []
    for part in parts:
        skin = scene.skin(part.node)
        if skin is None:
            to_rest, slots = _attached(scene, binding, part.node, joints)
            indices, weights = np.zeros((len(part.positions), 1), np.int64), np.ones((len(part.positions), 1))
        else:
            to_rest, slots = _skinned(scene, binding, skin, part.node, joints)
            indices, weights = _read_influences(part, len(slots))
        to_rest = to_rest @ part.instance
        positions.append(_shaped(part) @ to_rest[:3, :3].T + to_rest[:3, 3])
        influences.append((slots[indices], weights))
    bind = np.linalg.inv(np.array(binding.inverses))
    bind[:, :3, 3] *= unit
    look = appearance(parts)
    all_indices, all_weights = _together(influences)
    return SkinnedMesh(
        np.concatenate(positions) * unit,
        look.faces,
        tuple(scene.nodes.names[joint] for joint in binding.joints),
        bind,
        all_indices,
        all_weights,
        uv=look.uv,
        uv_faces=look.uv_faces,
        colours=look.colours,
        texture=look.texture,
    )


def _skinned(
    scene: Scene, binding: Binding, skin: Entry, node: int, joints: list[int]
) -> tuple[Array, NDArray[np.int64]]:
    """From the mesh's space to the world at rest, `(4, 4)`, and the slots of the skin's joints."""
    own = scene.skin_joints(skin)
    inverses = _read_inverses(skin, len(own))
    at_rest = np.concatenate([scene.rest[joint].matrix() for joint in own]) @ inverses
    above = scene.nodes.parents[joints[0]]
    candidates = [np.eye(4), *(scene.rest[n].matrix()[0] for n in (above, node) if n >= 0)]
    to_rest = _nearest(at_rest, candidates)
    back = np.linalg.inv(to_rest)
    slots = [
        binding.slot(joint, _stretch_matrix(scene.rest[joint]) @ inverse @ back)
        for joint, inverse in zip(own, inverses)
    ]
    return to_rest, np.array(slots, dtype=np.int64)


def _attached(
    scene: Scene, binding: Binding, node: int, joints: list[int]
) -> tuple[Array, NDArray[np.int64]]:
    """The same for a mesh that hangs on a joint: it is bound to that alone."""
    inside = set(joints)
    joint = next(ancestor for ancestor in scene.nodes.ancestors(node) if ancestor in inside)
    place = scene.rest[joint]
    from_world = np.linalg.inv(replace(place, stretch=None).matrix()[0])
    known = [inverse for other, inverse in zip(binding.joints, binding.inverses) if other == joint]
    inverse = known[0] if known else from_world
    to_rest = np.linalg.inv(inverse) @ from_world @ scene.rest[node].matrix()[0]
    return to_rest, np.array([binding.slot(joint, inverse)])


def _nearest(wanted: Array, candidates: list[Array]) -> Array:
    """The candidate nearest to all the wanted transforms: it puts the mesh where the joints are."""
    usable = [c for c in candidates if abs(np.linalg.det(c[:3, :3])) > 1e-30]
    return usable[int(np.argmin([np.abs(wanted - candidate).sum() for candidate in usable]))]


def _stretch_matrix(place: Place) -> Array:
    return np.eye(4) if place.stretch is None else homogeneous(place.stretch[0], np.zeros(3))


def _read_inverses(skin: Entry, count: int) -> Array:
    accessor = skin.accessor("inverseBindMatrices")
    if accessor is None:
        return np.repeat(np.eye(4)[None], count, axis=0)
    columns = skin.document.floats(accessor, 16).astype(np.float64)
    if len(columns) < count:
        skin.fail("inverseBindMatrices", f"{len(columns)} matrices for {count} joints")
    inverses = columns[:count].reshape(-1, 4, 4).swapaxes(-1, -2).copy()
    inverses[:, 3] = [0, 0, 0, 1]
    flat = np.abs(np.linalg.det(inverses[:, :3, :3])) < 1e-30
    if flat.any():
        skin.fail("inverseBindMatrices", f"matrix {int(flat.argmax())} cannot be inverted")
    return inverses


def _shaped(part: Part) -> Array:
    """The vertices with the morph targets at their default weights."""
    positions = part.positions.astype(np.float64)
    for target, weight in enumerate(part.default_weights):
        moved = part.displacement(target) if weight else None
        if moved is not None:
            positions += weight * moved
    return positions


def _read_influences(part: Part, joints: int) -> Influences:
    """Indices into the skin's joints and weights, `(vertices, k)`; unused places have weight 0."""
    indices, weights = [], []
    stored, document = part.entry.entry("attributes"), part.entry.document
    for number in range(_MOST_SETS + 1):
        its_joints, its_weights = stored.accessor(f"JOINTS_{number}"), stored.accessor(f"WEIGHTS_{number}")
        if its_joints is None or its_weights is None:
            break
        if number == _MOST_SETS:
            part.entry.fail("attributes", f"more than {4 * _MOST_SETS} joints a vertex")
        joints_now, weights_now = document.integers(its_joints, 4), document.floats(its_weights, 4)
        indices.append(part.ours(joints_now, f"attributes.JOINTS_{number}"))
        weights.append(part.ours(weights_now, f"attributes.WEIGHTS_{number}").astype(np.float64))
    if not indices:
        part.entry.fail("attributes.JOINTS_0", "is missing though the mesh has a skin")
    joint, weight = np.concatenate(indices, axis=1), np.maximum(np.concatenate(weights, axis=1), 0)
    joint = np.where(weight > 0, joint, 0)
    if joint.max() >= joints or joint.min() < 0:
        part.entry.fail("attributes.JOINTS_0", f"refers to joint {joint.max()} of {joints}")
    total = weight.sum(axis=1, keepdims=True)
    weight[total[:, 0] == 0, 0] = 1
    return joint, weight / np.where(total > 0, total, 1)


def _together(influences: list[Influences]) -> Influences:
    """The influences of all parts, largest first, in as few columns as hold all of them."""
    widest = max(weights.shape[1] for _, weights in influences)
    fill = [((0, 0), (0, widest - weights.shape[1])) for _, weights in influences]
    indices = np.concatenate([np.pad(part[0], f) for part, f in zip(influences, fill)])
    weights = np.concatenate([np.pad(part[1], f) for part, f in zip(influences, fill)])
    order = np.argsort(-weights, axis=1, kind="stable")
    weights = np.take_along_axis(weights, order, axis=1)
    used = max(int((weights > 0).any(axis=0).sum()), 1)
    return np.take_along_axis(indices, order, axis=1)[:, :used], weights[:, :used]
