"""Walking bodies as one glTF file: a mesh that all share, a skin and an animated skeleton each.

Rotations are stored as normalised 16-bit numbers (glTF 2.0, section 3.11) at as few keys as they need, times
and meshes once for all; who is absent is shrunk to nothing (STEP keys of scale). Cost: some 2 kB a person and
second.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, IntArray
from marey._progress import Progress
from marey.errors import InputError
from marey.geometry.mesh import vertex_normals
from marey.io._gltf_build import INDICES, VERTICES, Builder
from marey.stage.walk.crowd import WalkingCrowd
from marey.stage.walk.figure import PARTS, Figure, figure, outfits
from marey.stage.walk.keys import grid, spacings

MOST_PEOPLE = 5000
_VEC3, _VEC4, _FLOAT, _SHORT = "VEC3", "VEC4", 5126, 5122


def write(crowd: WalkingCrowd, path: str | PathLike[str], *, progress: Progress | None = None) -> None:
    """Write people as skinned, animated bodies, `.glb` or `.gltf`; y up, metres.

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
    if crowd.people > MOST_PEOPLE:
        raise InputError(
            f"{path}: at most {MOST_PEOPLE} people fit into a file, these are {crowd.people}; take fewer"
        )
    body = figure()
    builder = Builder()
    meshes = _Meshes(builder, body)
    inverse = np.linalg.inv(np.asarray(body.skin.bind)).transpose(0, 2, 1).reshape(-1, 16)
    cast = _Cast(builder, crowd, meshes, builder.accessor(inverse))
    roots: list[int] = []
    for person in range(crowd.people):
        roots += cast.person(person)
        if progress is not None:
            progress(person + 1, crowd.people)
    builder.add("animations", name=crowd.name or "crowd", channels=cast.channels, samplers=cast.samplers)
    builder.save(path, roots=roots)


class _Cast:
    """People of the file: nodes, skins, and what moves them."""

    def __init__(self, builder: Builder, crowd: WalkingCrowd, meshes: _Meshes, inverse: int) -> None:
        self.builder, self.crowd, self.meshes, self.inverse = builder, crowd, meshes, inverse
        self.channels: list[dict[str, Any]] = []
        self.samplers: list[dict[str, Any]] = []
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
            entry: dict[str, Any] = {"name": skeleton.names[joint]}
            place = np.asarray(skeleton.offsets[joint])
            if joint == 0:
                place = crowd.roots[seen[0], number] / size
            entry["translation"] = [round(float(v), 5) for v in place]
            children = [first + child for child in skeleton.children(joint)]
            builder.add("nodes", **entry, **({"children": children} if children else {}))
        always = len(seen) == crowd.frames
        top = builder.add("nodes", name=name, children=[first], scale=[round(size, 6)] * 3)
        skin = builder.add(
            "skins",
            joints=list(range(first, first + skeleton.joints)),
            inverseBindMatrices=self.inverse,
            skeleton=top,
        )
        mesh = builder.add(
            "nodes", name=f"{name} body", mesh=self.meshes.of(int(crowd.outfits[number])), skin=skin
        )
        self._move(number, first, size, int(seen[0]), int(seen[-1]))
        if not always:
            self._show(number, top, size)
        return [top, mesh]

    def _move(self, number: int, first: int, size: float, start: int, stop: int) -> None:
        """Keys of all joints from a key before `start` to one after `stop`, in one piece of the file."""
        crowd = self.crowd
        pieces: list[bytes] = []
        accessors: list[tuple[int, str, int, int, int]] = []
        offset = 0
        for column, spacing in enumerate(self.spacings[number].tolist()):
            keys = self.grids[spacing]
            a = max(int(np.searchsorted(keys, start, side="right")) - 1, 0)
            b = min(int(np.searchsorted(keys, stop, side="left")) + 1, len(keys))
            kept = keys[a:b]
            turning = column < crowd.skeleton.joints
            if turning:
                turns = crowd.rotations[kept, number, column][:, [1, 2, 3, 0]]
                data = np.rint(32767.0 * turns).astype("<i2").tobytes()
            else:
                data = (crowd.roots[kept, number] / np.float32(size)).astype("<f4").tobytes()
            node = first + (column if turning else 0)
            accessors.append(
                (node, "rotation" if turning else "translation", offset, b - a, self._time(spacing, a, b))
            )
            pieces.append(data)
            offset += len(data)
        view = self.builder.view(b"".join(pieces))
        for node, target, at, count, times in accessors:
            entry: dict[str, Any] = {"bufferView": view, "byteOffset": at, "count": count}
            if target == "rotation":
                entry |= {"componentType": _SHORT, "type": _VEC4, "normalized": True}
            else:
                entry |= {"componentType": _FLOAT, "type": _VEC3}
            self._channel(node, target, times, self.builder.add("accessors", **entry))

    def _show(self, number: int, node: int, size: float) -> None:
        """Keys of scale at which somebody comes and goes."""
        here = self.crowd.present[:, number]
        changes = np.append(0, np.flatnonzero(np.diff(here)) + 1)
        times = self.builder.accessor(changes / self.crowd.frame_rate, bounds=True)
        values = np.repeat(np.where(here[changes], size, 0.0)[:, None], 3, axis=1)
        self._channel(node, "scale", times, self.builder.accessor(values), interpolation="STEP")

    def _channel(self, node: int, target: str, times: int, output: int, **options: str) -> None:
        self.samplers.append({"input": times, "output": output, **options})
        self.channels.append({"sampler": len(self.samplers) - 1, "target": {"node": node, "path": target}})

    def _time(self, spacing: int, a: int, b: int) -> int:
        """Accessor of the times of keys a to b of a spacing; those who are there at once share it."""
        if (spacing, a, b) not in self.times:
            seconds = (self.grids[spacing][a:b] / self.crowd.frame_rate).astype(np.float32)
            self.times[spacing, a, b] = self.builder.add(
                "accessors",
                bufferView=self.views[spacing],
                byteOffset=4 * a,
                componentType=_FLOAT,
                count=b - a,
                type="SCALAR",
                min=[float(seconds[0])],
                max=[float(seconds[-1])],
            )
        return self.times[spacing, a, b]


class _Meshes:
    """The body in its outfits: geometry stored once, a mesh for every outfit that is worn."""

    def __init__(self, builder: Builder, body: Figure) -> None:
        self.builder = builder
        skin = body.skin
        self.attributes = {
            "POSITION": builder.accessor(np.asarray(skin.vertices), target=VERTICES, bounds=True),
            "NORMAL": builder.accessor(vertex_normals(skin.vertices, skin.faces), target=VERTICES),
            "JOINTS_0": builder.accessor(_tamed(skin.influences, skin.weights), target=VERTICES),
            "WEIGHTS_0": builder.accessor(np.asarray(skin.weights), target=VERTICES),
        }
        self.faces = [
            builder.accessor(
                np.ascontiguousarray(skin.faces[body.parts == part], np.uint16).reshape(-1), target=INDICES
            )
            for part in range(len(PARTS))
        ]
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
        linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
        key = tuple(np.round(linear, 4).tolist())
        if key not in self.materials:
            shading = {"baseColorFactor": [*key, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.9}
            self.materials[key] = self.builder.add("materials", pbrMetallicRoughness=shading)
        return self.materials[key]


def _tamed(influences: IntArray, weights: FloatArray) -> NDArray[np.uint8]:
    """Joints as bytes, 0 where the weight is (glTF 2.0, section 3.7.3.1)."""
    return np.where(np.asarray(weights) > 0, influences, 0).astype(np.uint8)
