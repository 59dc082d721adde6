"""Characters of MPFB, the MakeHuman plug-in for Blender: `base.obj`, `rig.*.json` and `weights.*.json`.

The mesh counts decimetres, y up; a rig's joint (x, y, z) lies at (x, z, -y) metres. Of the mesh only the
group `body` is read: the others are helpers for clothes and joints. Cost: reading the text, half a second.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import numpy as np

from marey._arrays import Array, BoolArray, FloatArray, IntArray, Integers
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import FormatError
from marey.geometry.rotations import identity
from marey.io import obj
from marey.io._files import read_bytes
from marey.io._json import decode, read_json
from marey.io._limits import LIMITS
from marey.surface.skinning import SkinnedMesh

BODY = b"body"
UNIT = 0.1
# Joints that may pull on one vertex; the published weights have at most six.
INFLUENCES = 8

Rig = dict[str, msgspec.Raw]


class _Head(msgspec.Struct):
    default_position: tuple[float, float, float]


class _Bone(msgspec.Struct):
    parent: str
    head: _Head


class _Weights(msgspec.Struct):
    weights: dict[str, list[tuple[float, float]]]


def read(path: Path, *, rig: str | None = None) -> Character:
    """The body of an MPFB folder, in the pose it was modelled in, its soles on the ground.

    rig: which rig if the folder has several, e.g. "cmu_mb" for `rig.cmu_mb.json`
    """
    folder = Path(path)
    name = _rig_name(folder, rig)
    vertices, faces, uv, uv_faces = _body(folder / "base.obj")
    names, parents, heads = _joints(folder / f"rig.{name}.json")
    ground = [0.0, vertices[:, 1].min(), 0.0]
    vertices, heads = vertices - ground, heads - ground
    influences, weights = _weights(folder / f"weights.{name}.json", names, len(vertices))
    bind = np.tile(np.eye(4), (len(names), 1, 1))
    bind[:, :3, 3] = heads
    offsets = heads - np.where((parents >= 0)[:, None], heads[parents], heads[:1])
    rest = Motion(
        Skeleton(names, parents, offsets), identity((1, len(names))), heads[:1], 30.0, name=folder.name
    )
    skin = SkinnedMesh(vertices, faces, names, bind, influences, weights, uv, uv_faces)
    return Character(skin, (rest,), name=folder.name)


def _rig_name(folder: Path, wanted: str | None) -> str:
    if not folder.is_dir():
        raise FormatError("is no folder; give one with base.obj, rig.*.json and weights.*.json", path=folder)
    found = sorted(file.name[len("rig.") : -len(".json")] for file in folder.glob("rig.*.json"))
    if not found:
        raise FormatError("holds no rig (a file such as rig.cmu_mb.json)", path=folder)
    if wanted is None and len(found) > 1:
        raise FormatError(f"holds several rigs; choose one with rig=: {', '.join(found)}", path=folder)
    if wanted is not None and wanted not in found:
        raise FormatError(f"holds no rig {wanted!r}; there is {', '.join(found)}", path=folder)
    return found[0] if wanted is None else wanted


def _body(path: Path) -> tuple[FloatArray, IntArray, FloatArray | None, IntArray | None]:
    """Vertices, faces and texture coordinates of the group `body`, metres."""
    data = read_bytes(path, limit=LIMITS.table)
    mesh = obj.parse(data, path)
    mine = _triangles_of(data)
    if not mine.any():
        raise FormatError(f"has no face in a group {BODY.decode()!r}", path=path)
    used, faces = np.unique(mesh.faces[mine], return_inverse=True)
    if used[-1] != len(used) - 1:
        raise FormatError("the vertices of its group 'body' do not come first", path=path)
    vertices = UNIT * np.asarray(mesh.vertices[: len(used)], np.float64)
    if mesh.uv is None or mesh.uv_faces is None:
        return vertices, faces.reshape(-1, 3), None, None
    corners, uv_faces = np.unique(mesh.uv_faces[mine], return_inverse=True)
    return vertices, faces.reshape(-1, 3), np.asarray(mesh.uv[corners], np.float64), uv_faces.reshape(-1, 3)


def _triangles_of(data: bytes) -> BoolArray:
    """Which triangles, in the order of the file, belong to the body."""
    inside, found = False, []
    for line in re.findall(rb"^[ \t]*([fg][ \t][^\r\n]*)", data, flags=re.MULTILINE):
        words = line.split()
        if words[0] == b"g":
            inside = words[1:2] == [BODY]
        else:
            found += [inside] * max(len(words) - 3, 0)
    return np.array(found, dtype=bool)


def _joints(path: Path) -> tuple[tuple[str, ...], Integers, Array]:
    """Names, parents and places of a rig's joints, parents first."""
    bones = {
        n: decode(raw, _Bone, path, place=n) for n, raw in read_json(path, Rig, limit=LIMITS.table).items()
    }
    order: list[str] = []
    waiting = list(bones)
    while waiting:
        ready = [name for name in waiting if bones[name].parent in ("", *order)]
        if not ready:
            raise FormatError(f"bone {waiting[0]!r} has no parent that leads to a root", path=path)
        order += ready
        waiting = [name for name in waiting if name not in ready]
    parents = np.array([order.index(bones[name].parent) if bones[name].parent else -1 for name in order])
    if (parents < 0).sum() != 1:
        raise FormatError("has not one root; one body has one", path=path)
    x, y, z = np.array([bones[name].head.default_position for name in order]).T
    return tuple(order), parents, np.stack([x, z, -y], axis=1)


def _weights(path: Path, names: tuple[str, ...], count: int) -> tuple[Integers, Array]:
    """Joints `(count, k)` and their weights, the largest `INFLUENCES` of every vertex."""
    rows = read_json(path, _Weights, limit=LIMITS.table).weights
    table = np.zeros((count, len(names)))
    for joint, name in enumerate(names):
        for vertex, weight in rows.get(name, ()):
            if 0 <= vertex < count:
                table[int(vertex), joint] += max(weight, 0.0)
    bare = np.flatnonzero(~(table.sum(axis=1) > 0))
    if bare.size:
        raise FormatError(f"vertex {bare[0]} is bound to no bone of the rig", path=path)
    most = min(int((table > 0).sum(axis=1).max()), INFLUENCES)
    joints = np.argsort(-table, axis=1, kind="stable")[:, :most]
    weights = np.take_along_axis(table, joints, axis=1)
    return joints, weights / weights.sum(axis=1, keepdims=True)
