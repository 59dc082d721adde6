"""From marey's types to glTF 2.0: a motion with a stick figure, a skinned character, a mesh sequence.

Joints become nodes with one rotation track each (two keys if it does not turn), frames of a mesh sequence
become morph targets that are switched on one after the other. Arrays become aligned buffer views and
accessors as they are handed over, in a scratch file once they are large, so that little memory is needed
however many frames there are (glTF 2.0, sections 3.6 and 4.4). Cost: linear in the arrays.
"""

from __future__ import annotations

import base64
import json
import shutil
import struct
import weakref
from collections.abc import Sequence
from pathlib import Path
from tempfile import SpooledTemporaryFile

import numpy as np
from numpy.typing import NDArray

from marey import __version__
from marey._arrays import AnyArray, Array, FloatArray, IntArray
from marey.body.kinematics import local_positions
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.geometry.colour import from_srgb
from marey.geometry.mesh import vertex_normals
from marey.geometry.planar import PlanarMotion
from marey.io._files import atomic_write, unique_names
from marey.io._gltf_meshes import ORIGIN
from marey.io._json import Json
from marey.io._meshes import image_type
from marey.io._rig import bones, pose_of_bind, with_single_bindings, world_at_rest
from marey.surface.sequence import MeshSequence, Texture
from marey.surface.shapes import Shapes

_INFLUENCES_A_SET = 4

# Below it, the sum of normals says nothing about their direction.
_SHORTEST_NORMAL = 0.05
VERTICES, INDICES = 34962, 34963
LARGEST_GLB = (1 << 32) - 1
LARGEST_IN_MEMORY = 64 << 20
_TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
_COMPONENTS = {"uint8": 5121, "uint16": 5123, "uint32": 5125, "float32": 5126}


def build_motion(builder: Builder, motion: Motion) -> list[int]:
    """A skeleton at rest (no joint turned), its motion, and a figure of bones that follows it."""
    skeleton = motion.skeleton
    identity = rot.identity(skeleton.joints)
    nodes = _add_joints(builder, skeleton, identity, skeleton.offsets[0])
    _add_animation(builder, motion, nodes, motion.name or "motion")
    bind = world_at_rest(skeleton, identity, skeleton.offsets[0])
    corners, joints = bones(motion)
    vertices = corners + bind[joints, :3, 3]
    faces = np.arange(len(vertices)).reshape(-1, 3)
    attributes = _vertex_attributes(builder, vertices, _flat_normals(vertices))
    attributes |= _influence_attributes(builder, joints[:, None], np.ones((len(joints), 1)))
    mesh = _add_mesh(builder, attributes, faces, _add_material(builder, None, None), "bones")
    builder.lists["meshes"][mesh]["extras"] = {"marey_figure": True}
    skin = _add_skin(builder, nodes, np.linalg.inv(bind), nodes[0])
    return [nodes[0], builder.add("nodes", name="bones", mesh=mesh, skin=skin)]


def build_character(builder: Builder, character: Character) -> list[int]:
    """The skin on its skeleton, posed at rest as it was bound, and all motions."""
    character = with_single_bindings(character)
    skin, skeleton = character.skin, character.motion.skeleton
    rotations, root = pose_of_bind(skin, skeleton)
    nodes = _add_joints(builder, skeleton, rotations, root)
    names = unique_names([motion.name or "clip" for motion in character.motions])
    for motion, name in zip(character.motions, names):
        _add_animation(builder, motion, nodes, name)
    split = _Split(skin.faces, skin.uv, skin.uv_faces, len(skin.vertices))
    normals = _normals(skin.vertices, skin.faces)
    attributes = _vertex_attributes(builder, skin.vertices[split.source], normals[split.source])
    attributes |= split.attributes(builder, skin.colours)
    attributes |= _influence_attributes(builder, skin.influences[split.source], skin.weights[split.source])
    material = _add_material(builder, skin.texture, skin.colours)
    mesh = _add_mesh(builder, attributes, split.faces, material, character.name or "skin")
    bound = [nodes[joint] for joint in skeleton.indices(skin.joint_names)]
    index = _add_skin(builder, bound, np.linalg.inv(skin.bind), nodes[0])
    return [nodes[0], builder.add("nodes", name=character.name or "skin", mesh=mesh, skin=index)]


def build_sequence(builder: Builder, sequence: MeshSequence, *, normals: bool) -> list[int]:
    """The first frame as mesh, every other one as a morph target, and weights that switch them on."""
    first = sequence.vertices[0].astype(np.float64)
    normal = _normals(first, sequence.faces) if normals else None
    look = _Look(builder, sequence, first, normal)
    targets = [
        look.target(
            frame - first,
            None if normal is None else _normals(frame.astype(np.float64), sequence.faces) - normal,
        )
        for frame in sequence.vertices[1:]
    ]
    node = look.node(targets, "frame")
    if targets:
        one_at_a_time = np.eye(sequence.frames, dtype=np.uint8)[:, 1:] * np.uint8(255)
        weights = builder.accessor(one_at_a_time.reshape(-1), normalized=True)
        look.animate(node, {"weights": weights})
    return [node]


def build_shapes(builder: Builder, sequence: MeshSequence, shapes: Shapes, *, normals: bool) -> list[int]:
    """A mesh, a few shapes as morph targets, their weights, and the path over the ground."""
    normal, turned = _shape_normals(sequence, shapes) if normals else (None, None)
    look = _Look(builder, sequence, shapes.base, normal)
    targets = [
        look.target(moved, None if turned is None else turned[number])
        for number, moved in enumerate(shapes.targets)
    ]
    node = look.node(targets, "shape", shapes.weights[0])
    places = shapes.placements
    half = np.unwrap(places.angle) / 2
    turns = np.stack([np.zeros_like(half), np.sin(half), np.zeros_like(half), np.cos(half)], axis=1)
    shifts = np.stack([places.shift[:, 0], np.zeros_like(half), places.shift[:, 1]], axis=1)
    tracks = {"rotation": builder.accessor(turns), "translation": builder.accessor(shifts)}
    if targets:
        tracks["weights"] = builder.accessor(shapes.weights.reshape(-1))
    look.animate(node, tracks)
    return [node]


def _shape_normals(sequence: MeshSequence, shapes: Shapes) -> tuple[Array, FloatArray]:
    """Unit normals of the base, and what each shape adds to them.

    Viewers normalise the sum, so that every vertex has its own scale: the one that makes the base's unit.
    """
    angles = shapes.placements.angle
    first = _normals(sequence.vertices[0].astype(np.float64), sequence.faces)

    def turned(rows: slice) -> Array:
        back = PlanarMotion(-angles[rows], np.zeros((rows.stop - rows.start, 2)))
        frames = back.apply(sequence.vertices[rows].astype(np.float64))
        return np.stack([_normals(frame, sequence.faces) - first for frame in frames])

    added = shapes.fitted(turned)
    base = first - np.einsum("k,kvc->vc", shapes.weights[0], added)
    return _unit(base), added / np.maximum(np.linalg.norm(base, axis=1, keepdims=True), _SHORTEST_NORMAL)


class _Look:
    """A mesh with a sequence's appearance in the file, to which morph targets are added."""

    def __init__(
        self, builder: Builder, sequence: MeshSequence, vertices: Array, normals: Array | None
    ) -> None:
        self.builder, self.sequence = builder, sequence
        self.split = _Split(sequence.faces, sequence.uv, sequence.uv_faces, len(vertices))
        source = self.split.source
        kept = None if normals is None else normals[source]
        self.attributes = _vertex_attributes(builder, vertices[source], kept)
        self.attributes |= self.split.attributes(builder, sequence.colours)

    def target(self, moved: FloatArray, turned: FloatArray | None) -> dict[str, int]:
        """A morph target, by where it moves the vertices and turns their normals."""
        source = self.split.source
        target = {"POSITION": self.builder.accessor(moved[source], target=VERTICES, bounds=True)}
        if turned is not None:
            target["NORMAL"] = self.builder.accessor(turned[source], target=VERTICES)
        return target

    def node(
        self, targets: list[dict[str, int]], called: str, at_rest: NDArray[np.float32] | None = None
    ) -> int:
        """The node of the mesh, with the weights of a viewer that plays nothing; 0, if None."""
        sequence, name = self.sequence, self.sequence.name or "sequence"
        material = _add_material(self.builder, sequence.texture(0), sequence.colours)
        mesh = _add_mesh(self.builder, self.attributes, self.split.faces, material, name, targets)
        if targets:
            names = [f"{called} {i + 1}" for i in range(len(targets))]
            self.builder.lists["meshes"][mesh]["extras"] = {"targetNames": names}
            if at_rest is not None:
                self.builder.lists["meshes"][mesh]["weights"] = at_rest.tolist()
        return self.builder.add("nodes", name=name, mesh=mesh)

    def animate(self, node: int, outputs: dict[str, int]) -> None:
        """Tracks with one key a frame, by what they move."""
        times = self.builder.accessor(_times(self.sequence.frames, self.sequence.frame_rate), bounds=True)
        samplers = [{"input": times, "output": o, "interpolation": "LINEAR"} for o in outputs.values()]
        channels = [
            {"sampler": number, "target": {"node": node, "path": path}} for number, path in enumerate(outputs)
        ]
        name = self.sequence.name or "sequence"
        _add_tracks(self.builder, name, self.sequence.frame_rate, samplers, channels)


def _add_joints(builder: Builder, skeleton: Skeleton, rotations: Array, root: FloatArray) -> list[int]:
    """Nodes of the joints in a pose, in the skeleton's order."""
    first = len(builder.lists.get("nodes", []))
    for joint, name in enumerate(skeleton.names):
        node: Json = {"name": name}
        children = [first + child for child in skeleton.children(joint)]
        if children:
            node["children"] = children
        node["translation"] = (root if joint == 0 else skeleton.offsets[joint]).tolist()
        node["rotation"] = np.clip(np.roll(rotations[joint], -1), -1, 1).tolist()
        ends = skeleton.end_offsets[skeleton.end_parents == joint]
        if len(ends):
            node["extras"] = {"marey_end_sites": ends.tolist()}
        builder.add("nodes", **node)
    return list(range(first, first + skeleton.joints))


def _add_skin(builder: Builder, joints: list[int], inverse_bind: FloatArray, root: int) -> int:
    columns = np.swapaxes(inverse_bind, -1, -2).reshape(-1, 16)
    return builder.add("skins", joints=joints, inverseBindMatrices=builder.accessor(columns), skeleton=root)


def _add_mesh(
    builder: Builder,
    attributes: dict[str, int],
    faces: IntArray,
    material: int,
    name: str,
    targets: Sequence[dict[str, int]] = (),
) -> int:
    primitive: Json = {"attributes": attributes, "material": material}
    if len(faces):
        small = faces.max() < np.iinfo(np.uint16).max
        indices = faces.reshape(-1).astype(np.uint16 if small else np.uint32)
        primitive["indices"] = builder.accessor(indices, target=INDICES)
    else:
        primitive["mode"] = 0
    mesh: Json = {"name": name, "primitives": [primitive]}
    if targets:
        primitive["targets"] = list(targets)
        mesh["weights"] = [0] * len(targets)
    return builder.add("meshes", **mesh)


def _add_material(builder: Builder, texture: Texture | None, colours: FloatArray | None) -> int:
    surface: Json = {"metallicFactor": 0, "roughnessFactor": 0.9}
    if texture is not None:
        data = texture.encoded()
        if image_type(data) is None:
            data = Texture.from_image(texture.read()).encoded()
        image = builder.add("images", bufferView=builder.view(data), mimeType=image_type(data))
        sampler = builder.add("samplers", magFilter=9729, minFilter=9987)
        surface["baseColorTexture"] = {"index": builder.add("textures", source=image, sampler=sampler)}
    elif colours is None:
        surface["baseColorFactor"] = [0.6, 0.6, 0.6, 1]
    return builder.add("materials", pbrMetallicRoughness=surface, doubleSided=True)


def _add_animation(builder: Builder, motion: Motion, nodes: list[int], name: str) -> None:
    times = _times(motion.frames, motion.frame_rate)
    inputs: dict[int, int] = {}
    samplers: list[Json] = []
    channels: list[Json] = []

    def track(node: int, path: str, values: FloatArray) -> None:
        rows = values.astype(np.float32)
        keys = times
        if len(rows) > 2 and (rows == rows[0]).all():
            rows, keys = rows[[0, -1]], times[[0, -1]]
        if len(keys) not in inputs:
            inputs[len(keys)] = builder.accessor(keys, bounds=True)
        channels.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
        samplers.append(
            {"input": inputs[len(keys)], "output": builder.accessor(rows), "interpolation": "LINEAR"}
        )

    turns = np.roll(rot.continuous(motion.rotations, axis=0), -1, axis=-1)
    positions = local_positions(motion)
    offsets = motion.skeleton.offsets.astype(np.float32)
    for joint, node in enumerate(nodes):
        track(node, "rotation", turns[:, joint])
        if joint == 0 or (positions[:, joint].astype(np.float32) != offsets[joint]).any():
            track(node, "translation", positions[:, joint])
    _add_tracks(builder, name, motion.frame_rate, samplers, channels)


def _add_tracks(
    builder: Builder,
    name: str,
    frame_rate: float,
    samplers: list[Json],
    channels: list[Json],
) -> None:
    extras = {"marey_frame_rate": frame_rate}
    builder.add("animations", name=name, samplers=samplers, channels=channels, extras=extras)


def _times(frames: int, frame_rate: float) -> Array:
    return np.arange(frames) / frame_rate


class _Split:
    """The vertices of a mesh split where its texture has a seam: glTF has one index for both.

    source: which vertex each of the file's is; faces: `(faces, 3)` into the file's
    """

    def __init__(self, faces: IntArray, uv: FloatArray | None, uv_faces: IntArray | None, count: int) -> None:
        self.faces, self.source, self.uv = faces, np.arange(count), uv
        if uv is None or uv_faces is None or (len(uv) == count and np.array_equal(uv_faces, faces)):
            return
        pairs = faces.astype(np.int64) * len(uv) + uv_faces
        kept, corner = np.unique(pairs, return_inverse=True)
        loose = np.setdiff1d(self.source, faces)
        self.source = np.concatenate([kept // len(uv), loose])
        self.faces = corner.reshape(-1, 3)
        self.uv = np.concatenate([uv[kept % len(uv)], np.zeros((len(loose), 2))])

    def attributes(self, builder: Builder, colours: FloatArray | None) -> dict[str, int]:
        """Texture coordinates, colours and, if it was split, where each vertex came from."""
        attributes = {}
        if self.uv is not None:
            downward = np.stack([self.uv[:, 0], 1 - self.uv[:, 1]], axis=1)
            attributes["TEXCOORD_0"] = builder.accessor(downward, target=VERTICES)
        if colours is not None:
            light = from_srgb(colours)[self.source]
            attributes["COLOR_0"] = builder.accessor(light, target=VERTICES)
        if not np.array_equal(self.source, np.arange(len(self.source))):
            attributes[ORIGIN] = builder.accessor(self.source.astype(np.float32), target=VERTICES)
        return attributes


def _vertex_attributes(builder: Builder, vertices: FloatArray, normals: FloatArray | None) -> dict[str, int]:
    attributes = {"POSITION": builder.accessor(vertices, target=VERTICES, bounds=True)}
    if normals is not None:
        attributes["NORMAL"] = builder.accessor(normals, target=VERTICES)
    return attributes


def _influence_attributes(builder: Builder, influences: IntArray, weights: FloatArray) -> dict[str, int]:
    """Joints and weights in sets of four, the largest first; every joint at most once a vertex."""
    weights = np.array(weights, dtype=np.float64)
    columns = weights.shape[1]
    for first in range(columns):
        for second in range(first + 1, columns):
            same = influences[:, first] == influences[:, second]
            weights[:, first] += np.where(same, weights[:, second], 0)
            weights[:, second] = np.where(same, 0, weights[:, second])
    order = np.argsort(-weights, axis=1, kind="stable")
    weights = np.take_along_axis(weights, order, axis=1)
    used = int((weights > 0).any(axis=0).sum())
    sets = -(-used // _INFLUENCES_A_SET)
    room = ((0, 0), (0, sets * _INFLUENCES_A_SET - used))
    weights = np.pad(weights[:, :used], room).astype(np.float32)
    joints = np.pad(np.take_along_axis(np.asarray(influences), order, axis=1)[:, :used], room)
    joints = np.where(weights > 0, joints, 0).astype(np.uint8 if joints.max() < 256 else np.uint16)
    attributes = {}
    for number in range(sets):
        part = slice(number * _INFLUENCES_A_SET, (number + 1) * _INFLUENCES_A_SET)
        attributes[f"JOINTS_{number}"] = builder.accessor(joints[:, part], target=VERTICES)
        attributes[f"WEIGHTS_{number}"] = builder.accessor(weights[:, part], target=VERTICES)
    return attributes


def _normals(vertices: FloatArray, faces: IntArray) -> Array:
    """Unit normals of the vertices; up where there is no face."""
    return _unit(vertex_normals(np.asarray(vertices, dtype=np.float64), faces))


def _flat_normals(vertices: Array) -> Array:
    """The same for corners of which every three are a triangle of their own."""
    a, b, c = vertices[0::3], vertices[1::3], vertices[2::3]
    return np.repeat(_unit(np.cross(b - a, c - a)), 3, axis=0)


def _unit(vectors: FloatArray) -> Array:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(length > 1e-30, vectors / np.maximum(length, 1e-30), [0.0, 1.0, 0.0])


class Builder:
    """A file in the making; `lists` are its top-level lists."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Json]] = {}
        self._content = SpooledTemporaryFile(max_size=LARGEST_IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, self._content.close)
        self._size = 0

    def add(self, kind: str, /, **entry: object) -> int:
        """Append to a top-level list and return the index."""
        entries = self.lists.setdefault(kind, [])
        entries.append(entry)
        return len(entries) - 1

    def view(self, data: bytes | memoryview, **options: int) -> int:
        """A buffer view of its own for some bytes, aligned to 4."""
        padding = -self._size % 4
        if self._size + padding + len(data) > LARGEST_GLB - (1 << 20):
            raise InputError("this needs more than the 4 GB a GLB can hold; write fewer frames at a time")
        self._content.write(bytes(padding))
        self._content.write(data)
        self._size += padding + len(data)
        return self.add(
            "bufferViews", buffer=0, byteOffset=self._size - len(data), byteLength=len(data), **options
        )

    def accessor(
        self,
        values: AnyArray,
        *,
        target: int | None = None,
        bounds: bool = False,
        normalized: bool = False,
    ) -> int:
        """An accessor for rows `(count, width)` or `(count,)`; floats are stored as float32."""
        rows = values.reshape(len(values), -1)
        if rows.dtype.kind == "f":
            with np.errstate(over="ignore"):
                rows = rows.astype(np.float32)
            if not np.isfinite(rows).all():
                raise InputError("glTF: a value is too large for 32-bit numbers")
        count, width = rows.shape
        size, options = rows.itemsize * width, {} if target is None else {"target": target}
        if target == VERTICES and size % 4:
            rows = np.pad(rows, ((0, 0), (0, -size % 4 // rows.itemsize)))
            options["byteStride"] = rows.itemsize * rows.shape[1]
        entry: Json = {
            "bufferView": self.view(np.ascontiguousarray(rows).data.cast("B"), **options),
            "componentType": _COMPONENTS[rows.dtype.name],
            "count": count,
            "type": _TYPES[width],
        }
        if normalized:
            entry["normalized"] = True
        if bounds:
            entry["min"], entry["max"] = rows.min(axis=0).tolist(), rows.max(axis=0).tolist()
        return self.add("accessors", **entry)

    def save(self, path: Path, *, roots: list[int]) -> None:
        """Write `.glb`, or `.gltf` with everything inside; `roots` are the nodes of the scene."""
        document: Json = {
            "asset": {"version": "2.0", "generator": f"marey {__version__}"},
            "scene": 0,
            "scenes": [{"nodes": roots}],
            **self.lists,
        }
        buffer: Json = {"byteLength": self._size}
        document["buffers"] = [buffer]
        with atomic_write(path) as draft:
            if path.suffix.lower() == ".glb":
                self._save_glb(draft, document)
            else:
                self._content.seek(0)
                data = base64.b64encode(self._content.read()).decode("ascii")
                buffer["uri"] = f"data:application/octet-stream;base64,{data}"
                draft.write_text(json.dumps(document), encoding="utf-8")

    def _save_glb(self, draft: Path, document: Json) -> None:
        text = json.dumps(document, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        tail = -self._size % 4
        length = 12 + 8 + len(text) + 8 + self._size + tail
        if length > LARGEST_GLB:
            raise InputError("this needs more than the 4 GB a GLB can hold; write fewer frames at a time")
        with draft.open("wb") as file:
            file.write(b"glTF" + struct.pack("<II", 2, length))
            file.write(struct.pack("<I4s", len(text), b"JSON") + text)
            file.write(struct.pack("<I4s", self._size + tail, b"BIN\0"))
            self._content.seek(0)
            shutil.copyfileobj(self._content, file, 1 << 20)
            file.write(bytes(tail))
