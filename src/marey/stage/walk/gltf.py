"""Walking bodies as one glTF file: one shared mesh, and a skin and an animated skeleton for each person.

Rotations are stored as normalised 16-bit numbers (glTF 2.0, section 3.11) at as few keys as they need, times
and meshes once for all; absent people have scale 0 (STEP keys). Cost: some 2 kB a person and second.

Programs interpolate rotations along the shorter arc between keys. For every person and joint the widest
spacing of keys is taken whose interpolation stays within a tolerance of the pose, measured at the end of the
limb that the joint carries. Cost: an interpolation of all rotations for each spacing.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Integers
from marey._work import Progress
from marey.errors import InputError
from marey.geometry.colour import from_srgb
from marey.geometry.mesh import vertex_normals
from marey.io._gltf_write import INDICES, VERTICES, Builder
from marey.stage.walk.figure import PARTS, Figure, figure, outfits
from marey.stage.walk.walk import WalkingCrowd

MAX_PEOPLE = 5000
_FLOAT, _SHORT = 5126, 5122
# Frames from one key to the next, the widest first.
SPACINGS = (8, 4, 2, 1)
# Tolerance in metres at the end of an arm, and of a leg or the root: feet must not slide.
LOOSE, TIGHT = 0.025, 0.001

Floats = NDArray[np.float32]


def write(crowd: WalkingCrowd, path: str | PathLike[str], *, progress: Progress | None = None) -> None:
    """Write people as skinned, animated bodies; y up, metres.

    Args:
        crowd: at most 5,000 people.
        path: of a `.glb` or `.gltf` file.
        progress: called with people done and in all.

    >>> import marey, tempfile
    >>> from marey.stage import walk
    >>> path = Path(tempfile.mkdtemp()) / "people.glb"
    >>> write(walk(marey.samples.crowd(people=2, seconds=2)), path)
    >>> path.read_bytes()[:4]
    b'glTF'
    """
    path = Path(path)
    if path.suffix.lower() not in (".glb", ".gltf"):
        raise InputError(f"{path}: walking bodies are written as .glb or .gltf")
    if crowd.people > MAX_PEOPLE:
        most = f"at most {MAX_PEOPLE} people fit into a file"
        raise InputError(f"{path}: {most}, these are {crowd.people}; take fewer")
    body = figure()
    builder = Builder()
    meshes = _Meshes(builder, body)
    inverse = np.linalg.inv(np.asarray(body.skin.bind)).transpose(0, 2, 1).reshape(-1, 16)
    written = _People(builder, crowd, meshes, builder.accessor(inverse))
    roots: list[int] = []
    for person in range(crowd.people):
        roots += written.person(person)
        if progress is not None:
            progress(person + 1, crowd.people)
    animation = {"channels": written.channels, "samplers": written.samplers}
    builder.add("animations", name=crowd.name or "crowd", **animation)
    builder.save(path, roots=roots)


class _People:
    """People of the file: nodes, skins and animation."""

    def __init__(self, builder: Builder, crowd: WalkingCrowd, meshes: _Meshes, inverse: int) -> None:
        self.builder, self.crowd, self.meshes, self.inverse = builder, crowd, meshes, inverse
        self.channels: list[dict[str, object]] = []
        self.samplers: list[dict[str, object]] = []
        self.spacings = spacings(crowd)
        self.times: dict[tuple[int, int, int], int] = {}
        self.grids = {spacing: grid(crowd.frames, spacing) for spacing in np.unique(self.spacings).tolist()}
        self.views = {
            spacing: builder.view((keys / crowd.frame_rate).astype("<f4").tobytes())
            for spacing, keys in self.grids.items()
        }

    def person(self, number: int) -> list[int]:
        """Nodes for the scene: the skeleton's and the mesh's."""
        crowd, builder, skeleton = self.crowd, self.builder, self.crowd.skeleton
        size = float(crowd.sizes[number])
        name = f"person {crowd.ids[number]}"
        seen = np.flatnonzero(crowd.present[:, number])
        first = len(builder.lists.get("nodes", []))
        for joint in range(skeleton.joints):
            position = skeleton.offsets[joint] if joint else crowd.roots[seen[0], number] / size
            entry = {"name": skeleton.names[joint], "translation": [round(float(v), 5) for v in position]}
            children = [first + child for child in skeleton.children(joint)]
            builder.add("nodes", **entry, **({"children": children} if children else {}))
        top = builder.add("nodes", name=name, children=[first], scale=[round(size, 6)] * 3)
        joints = list(range(first, first + skeleton.joints))
        skin = builder.add("skins", joints=joints, inverseBindMatrices=self.inverse, skeleton=top)
        clothed = self.meshes.of(int(crowd.outfits[number]))
        mesh = builder.add("nodes", name=f"{name} body", mesh=clothed, skin=skin)
        self._move(number, first, size, int(seen[0]), int(seen[-1]))
        if len(seen) < crowd.frames:
            self._show(number, top, size)
        return [top, mesh]

    def _move(self, number: int, first: int, size: float, start: int, stop: int) -> None:
        """Keys of all joints from one before `start` to one after `stop`, in one buffer view."""
        crowd = self.crowd
        pieces: list[bytes] = []
        channels: list[tuple[int, str, int, dict[str, object]]] = []
        for column, spacing in enumerate(self.spacings[number].tolist()):
            keys = self.grids[spacing]
            a = max(int(np.searchsorted(keys, start, side="right")) - 1, 0)
            b = min(int(np.searchsorted(keys, stop, side="left")) + 1, len(keys))
            entry: dict[str, object] = {"byteOffset": sum(map(len, pieces)), "count": b - a}
            if column < crowd.skeleton.joints:
                turns = crowd.rotations[keys[a:b], number, column][:, [1, 2, 3, 0]]
                pieces.append(np.rint(32767.0 * turns).astype("<i2").tobytes())
                entry |= {"componentType": _SHORT, "type": "VEC4", "normalized": True}
                channels.append((first + column, "rotation", self._time(spacing, a, b), entry))
            else:
                pieces.append((crowd.roots[keys[a:b], number] / np.float32(size)).astype("<f4").tobytes())
                entry |= {"componentType": _FLOAT, "type": "VEC3"}
                channels.append((first, "translation", self._time(spacing, a, b), entry))
        view = self.builder.view(b"".join(pieces))
        for node, target, times, entry in channels:
            self._channel(node, target, times, self.builder.add("accessors", bufferView=view, **entry))

    def _show(self, number: int, node: int, size: float) -> None:
        """Keys of scale at which a person comes and goes."""
        here = self.crowd.present[:, number]
        changes = np.append(0, np.flatnonzero(np.diff(here)) + 1)
        times = self.builder.accessor(changes / self.crowd.frame_rate, bounds=True)
        values = np.repeat(np.where(here[changes], size, 0.0)[:, None], 3, axis=1)
        self._channel(node, "scale", times, self.builder.accessor(values), interpolation="STEP")

    def _channel(self, node: int, target: str, times: int, output: int, **options: str) -> None:
        self.samplers.append({"input": times, "output": output, **options})
        self.channels.append({"sampler": len(self.samplers) - 1, "target": {"node": node, "path": target}})

    def _time(self, spacing: int, a: int, b: int) -> int:
        """Accessor of the times of keys a to b of a spacing, shared by the people present at those times."""
        if (spacing, a, b) not in self.times:
            seconds = (self.grids[spacing][a:b] / self.crowd.frame_rate).astype(np.float32)
            kind = {"componentType": _FLOAT, "type": "SCALAR", "count": b - a, "byteOffset": 4 * a}
            bounds = {"min": [float(seconds[0])], "max": [float(seconds[-1])]}
            accessor = self.builder.add("accessors", bufferView=self.views[spacing], **kind, **bounds)
            self.times[spacing, a, b] = accessor
        return self.times[spacing, a, b]


class _Meshes:
    """The body in its outfits: geometry stored once, a mesh for every outfit in use."""

    def __init__(self, builder: Builder, body: Figure) -> None:
        self.builder = builder
        skin = body.skin
        # 0 where the weight is 0 (glTF 2.0, section 3.7.3.1).
        influences = np.where(skin.weights > 0, skin.influences, 0).astype(np.uint8)
        self.attributes = {
            "POSITION": builder.accessor(np.asarray(skin.vertices), target=VERTICES, bounds=True),
            "NORMAL": builder.accessor(vertex_normals(skin.vertices, skin.faces), target=VERTICES),
            "JOINTS_0": builder.accessor(influences, target=VERTICES),
            "WEIGHTS_0": builder.accessor(np.asarray(skin.weights), target=VERTICES),
        }
        faces = [skin.faces[body.parts == part].astype(np.uint16).ravel() for part in range(len(PARTS))]
        self.faces = [builder.accessor(indices, target=INDICES) for indices in faces]
        self.looks = outfits()
        self.materials: dict[tuple[float, ...], int] = {}
        self.meshes: dict[int, int] = {}

    def of(self, outfit: int) -> int:
        """The mesh in one of the outfits."""
        if outfit not in self.meshes:
            primitives = [
                {"attributes": self.attributes, "indices": faces, "material": self._material(colour)}
                for faces, colour in zip(self.faces, self.looks[outfit], strict=True)
            ]
            self.meshes[outfit] = self.builder.add("meshes", name=f"outfit {outfit}", primitives=primitives)
        return self.meshes[outfit]

    def _material(self, colour: NDArray[np.float64]) -> int:
        key = tuple(np.round(from_srgb(colour), 4).tolist())
        if key not in self.materials:
            shading = {"baseColorFactor": [*key, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.9}
            self.materials[key] = self.builder.add("materials", pbrMetallicRoughness=shading)
        return self.materials[key]


def spacings(crowd: WalkingCrowd) -> Integers:
    """Frames between keys `(people, joints + 1)`: of the joints' rotations and, last, the root's position."""
    tight = {0, *(joint for leg in figure().legs for joint in leg[:3])}
    found = np.empty((crowd.people, crowd.skeleton.joints + 1), np.int64)
    # Metres from each joint to the farthest one below it; last ones are 10 cm long.
    parents, lengths = crowd.skeleton.parents, np.linalg.norm(crowd.skeleton.offsets, axis=1)
    arms = np.full(len(parents), 0.10)
    for joint in range(len(parents) - 1, 0, -1):
        arms[parents[joint]] = max(arms[parents[joint]], arms[joint] + lengths[joint])
    for joint, arm in enumerate(arms):
        # The angle is twice that between quaternions.
        tolerance = 0.5 * (TIGHT if joint in tight else LOOSE) / (arm * crowd.sizes)
        found[:, joint] = _widest(crowd.rotations[:, :, joint], tolerance, crowd.present)
    found[:, -1] = _widest(crowd.roots, np.full(crowd.people, TIGHT), crowd.present)
    return found


def grid(frames: int, spacing: int) -> Integers:
    """Frames that are kept, with the last one.

    >>> grid(10, 4).tolist()
    [0, 4, 8, 9]
    """
    return np.unique(np.append(np.arange(0, frames, spacing), frames - 1))


def _widest(values: Floats, tolerance: Array, present: NDArray[np.bool_]) -> Integers:
    """The widest spacing `(people,)` at which values `(frames, people, n)` stay within `(people,)`."""
    chosen = np.full(values.shape[1], SPACINGS[-1])
    undecided = np.arange(values.shape[1])
    for spacing in SPACINGS[:-1]:
        some = values[:, undecided]
        error = np.linalg.norm(interpolated(some, spacing) - some, axis=-1)
        good = np.where(present[:, undecided], error, 0.0).max(axis=0) <= tolerance[undecided]
        chosen[undecided[good]] = spacing
        undecided = undecided[~good]
    return chosen


def interpolated(values: Floats, spacing: int) -> Floats:
    """Rotations `(frames, people, 4)` or positions `(frames, people, 3)` between keys of a spacing."""
    keys, at = grid(len(values), spacing), np.arange(len(values))
    low = np.searchsorted(keys, at, side="right") - 1
    before, after = keys[low], keys[np.minimum(low + 1, len(keys) - 1)]
    share = ((at - before) / np.maximum(after - before, 1)).astype(np.float32)[:, None, None]
    between = (1 - share) * values[before] + share * values[after]
    if values.shape[-1] == 4:
        # Keys are near each other: the straight line, made unit, is the arc.
        between /= np.linalg.norm(between, axis=-1, keepdims=True)
    return np.asarray(between, np.float32)
