"""Characters of MPFB, the MakeHuman plug-in for Blender: `base.obj`, `rig.*.json` and `weights.*.json`.

The mesh counts decimetres, y up; a rig's joint (x, y, z) lies at (x, z, -y) metres. Of the mesh only the
group `body` is read: the others are helpers for clothes and joints. Cost: reading the text, half a second.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import FormatError
from marey.geometry.rotations import identity
from marey.io import obj
from marey.io._files import read_bytes
from marey.surface.skinning import SkinnedMesh

BODY = b"body"
UNIT = 0.1
# Joints that may pull on one vertex; the published weights have at most six.
INFLUENCES = 8
LARGEST_FILE = 256 << 20


def read(path: Path, *, rig: str | None = None) -> Character:
    """The body of an MPFB folder, standing still as it was modelled, its soles on the ground.

    rig: which rig if the folder has several, e.g. "cmu_mb" for `rig.cmu_mb.json`
    """
    folder = Path(path)
    name = _rig_name(folder, rig)
    vertices, faces, uv, uv_faces = _body(folder / "base.obj")
    rig_file = folder / f"rig.{name}.json"
    names, parents, heads = _joints(_json(rig_file), rig_file)
    ground = [0.0, vertices[:, 1].min(), 0.0]
    vertices, heads = vertices - ground, heads - ground
    weights_file = folder / f"weights.{name}.json"
    influences, weights = _weights(_json(weights_file), names, len(vertices), weights_file)
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


def _body(path: Path) -> tuple[Array, NDArray[Any], Array | None, NDArray[Any] | None]:
    """Vertices, faces and texture coordinates of the group `body`, metres."""
    data = read_bytes(path, limit=LARGEST_FILE)
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


def _triangles_of(data: bytes) -> NDArray[np.bool_]:
    """Which triangles, in the order of the file, belong to the body."""
    inside, found = False, []
    for line in re.findall(rb"^[ \t]*([fg][ \t][^\r\n]*)", data, flags=re.MULTILINE):
        words = line.split()
        if words[0] == b"g":
            inside = words[1:2] == [BODY]
        else:
            found += [inside] * max(len(words) - 3, 0)
    return np.array(found, dtype=bool)


def _json(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path, limit=LARGEST_FILE))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=path) from error


def _joints(rig: Any, path: Path) -> tuple[tuple[str, ...], NDArray[np.int64], Array]:
    """Names, parents and places of a rig's joints, parents first."""
    if not isinstance(rig, dict) or not rig:
        raise FormatError("is no rig: an object of bones by their names", path=path)
    order: list[str] = []
    waiting = list(rig)
    while waiting:
        ready = [name for name in waiting if _entry(rig, name, "parent", path) in ("", *order)]
        if not ready:
            raise FormatError(f"bone {waiting[0]!r} hangs on no root", path=path)
        order += ready
        waiting = [name for name in waiting if name not in ready]
    parents = np.array([order.index(rig[name]["parent"]) if rig[name]["parent"] else -1 for name in order])
    if (parents < 0).sum() != 1:
        raise FormatError("has several roots; one body has one", path=path)
    heads = np.empty((len(order), 3))
    for row, name in zip(heads, order, strict=True):
        try:
            x, y, z = (float(value) for value in _entry(rig, name, "head", path)["default_position"])
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"bone {name!r}: its head has no default_position (x, y, z)", path=path
            ) from error
        row[:] = x, z, -y
    return tuple(order), parents, heads


def _entry(rig: dict[str, Any], name: str, key: str, path: Path) -> Any:
    bone = rig[name]
    if not isinstance(bone, dict) or key not in bone:
        raise FormatError(f"bone {name!r} has no {key!r}", path=path)
    return bone[key]


def _weights(
    file: Any, names: tuple[str, ...], count: int, path: Path
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Joints `(count, k)` and their weights, the largest `INFLUENCES` of every vertex."""
    rows = file.get("weights") if isinstance(file, dict) else None
    if not isinstance(rows, dict):
        raise FormatError("has no 'weights' by bone", path=path)
    table = np.zeros((count, len(names)))
    for joint, name in enumerate(names):
        try:
            pairs = np.array(rows.get(name, []), dtype=np.float64).reshape(-1, 2)
        except (TypeError, ValueError) as error:
            raise FormatError(
                f"bone {name!r}: weights must be pairs of vertex and weight", path=path
            ) from error
        mine = pairs[(pairs[:, 0] >= 0) & (pairs[:, 0] < count)]
        np.add.at(table[:, joint], mine[:, 0].astype(np.int64), np.maximum(mine[:, 1], 0.0))
    bare = np.flatnonzero(~(table.sum(axis=1) > 0))
    if bare.size:
        raise FormatError(f"vertex {bare[0]} is bound to no bone of the rig", path=path)
    most = min(int((table > 0).sum(axis=1).max()), INFLUENCES)
    joints = np.argsort(-table, axis=1, kind="stable")[:, :most]
    weights = np.take_along_axis(table, joints, axis=1)
    return joints, weights / weights.sum(axis=1, keepdims=True)
