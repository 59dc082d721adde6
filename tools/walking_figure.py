"""Make the body that pedestrians of a walking crowd share: src/marey/stage/walk/figure.npz.

The sample human is bound to eighteen joints, decimated to four levels of detail and cut where clothes end, so
that shirt, trousers, shoes, skin and hair can have colours of their own.

    python tools/walking_figure.py
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey.body.skeleton import Skeleton
from marey.samples import human
from marey.stage.skin_clip import rest_pose
from marey.stage.walk.figure import ASSET, PARTS
from marey.surface.decimation import Decimation
from marey.surface.skinning import SkinnedMesh

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVELS = (560, 220, 70, 40)  # vertices before the cuts
UNCUT = 60  # below this many vertices the mesh is not cut: clothes end at edges
INFLUENCES = 4
LEG, ARM = ("UpLeg", "Leg", "Foot", "ToeBase"), ("Arm", "ForeArm", "Hand")
JOINTS = (
    "Hips",
    *(f"{side}{part}" for side in ("Left", "Right") for part in LEG),
    *("LowerBack", "Spine1", "Head"),
    *(f"{side}{part}" for side in ("Left", "Right") for part in ARM),
)
# Metres at rest: upper edge of the trousers and of the shoes; where the neck leaves the shirt; lowest hair in
# front of and behind the ears; length of the sleeves from the shoulder joint.
WAIST, ANKLE, COLLAR, FRINGE, NAPE, SLEEVE = 0.98, 0.09, 1.475, 1.70, 1.60, 0.42
SHOULDER = (0.175, 1.42, -0.0175)
SNAP = 0.004  # metres from a cut within which a vertex counts as on it


class SkinnedPatch(NamedTuple):
    """A mesh: vertices `(vertices, 3)`, faces `(faces, 3)`, weights of the joints `(vertices, joints)`."""

    vertices: Array
    faces: Ints
    weights: Array


def arrays() -> dict[str, NDArray[Any]]:
    """The contents of the file."""
    whole = human()
    skin = _on_joints(whole.skin, whole.motion.skeleton)
    skin = Decimation.of(skin, vertices=LEVELS[0]).apply(skin)
    skeleton, rest = rest_pose(replace(whole, skin=skin))
    found: dict[str, NDArray[Any]] = {
        "names": np.array(skeleton.names),
        "parents": np.asarray(skeleton.parents, np.int8),
        "positions": rest.positions[0],
        "rotations": rest.rotations[0],
    }
    for level, vertices in enumerate(LEVELS):
        coarse = Decimation.of(skin, vertices=vertices).apply(skin) if level else skin
        patch, parts = _with_clothes(coarse, cut_clothes=vertices >= UNCUT)
        influences, weights = _strongest(patch.weights)
        found |= {
            f"vertices{level}": patch.vertices.astype(np.float32),
            f"faces{level}": patch.faces.astype(np.uint16),
            f"influences{level}": influences.astype(np.uint8),
            f"weights{level}": weights.astype(np.float32),
            f"parts{level}": parts.astype(np.uint8),
        }
    return found


def cut(patch: SkinnedPatch, values: Array, chosen: NDArray[np.bool_]) -> SkinnedPatch:
    """The mesh with edges where `values` `(vertices,)` are 0, in the `chosen` `(faces,)` faces and beside.

    Where the values change sign along an edge a vertex is added, with interpolated weights, and the faces are
    split.
    """
    vertices, faces, weights = patch
    above = values > 0
    edges = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1), axis=-1)[chosen].reshape(-1, 2)
    crossed = np.unique(edges[above[edges[:, 0]] != above[edges[:, 1]]], axis=0)
    if not len(crossed):
        return patch
    a, b = crossed.T
    share = (values[a] / (values[a] - values[b]))[:, None]
    number = {(int(i), int(j)): len(vertices) + n for n, (i, j) in enumerate(crossed)}
    split = [part for face in faces.tolist() for part in _split(face, number)]
    return SkinnedPatch(
        np.concatenate([vertices, (1 - share) * vertices[a] + share * vertices[b]]),
        np.array(split, np.int64),
        np.concatenate([weights, (1 - share) * weights[a] + share * weights[b]]),
    )


def _split(face: list[int], number: dict[tuple[int, int], int]) -> list[tuple[int, int, int]]:
    """A face as one to three, by the new vertices on its edges."""
    ring: list[int] = []
    for corner in range(3):
        i, j = face[corner], face[(corner + 1) % 3]
        ring.append(i)
        middle = number.get((min(i, j), max(i, j)))
        if middle is not None:
            ring.append(middle)
    old = set(face)
    # From a new vertex no triangle of the fan is flat.
    first = next((n for n, vertex in enumerate(ring) if vertex not in old), 0)
    ring = ring[first:] + ring[:first]
    return [(ring[0], ring[n], ring[n + 1]) for n in range(1, len(ring) - 1)]


def _on_joints(skin: SkinnedMesh, skeleton: Skeleton) -> SkinnedMesh:
    """The mesh bound to :data:`JOINTS` alone, without its appearance: others pass their weight upwards."""
    names = skin.joint_names
    into = np.empty(len(names), dtype=np.int32)
    for number, name in enumerate(names):
        above = (skeleton.names[joint] for joint in skeleton.ancestors(skeleton.index(name)))
        into[number] = JOINTS.index(next(joint for joint in above if joint in JOINTS))
    bind = skin.bind[[names.index(name) for name in JOINTS]]
    influences, weights = _strongest(
        _weights(replace(skin, joint_names=JOINTS, bind=bind, influences=into[skin.influences]))
    )
    return SkinnedMesh(skin.vertices, skin.faces, JOINTS, bind, influences, weights)


def _weights(skin: SkinnedMesh) -> Array:
    """Weight of each joint for each vertex, `(vertices, joints)`."""
    weights = np.zeros((len(skin.vertices), len(skin.joint_names)))
    np.add.at(weights, (np.arange(len(weights))[:, None], skin.influences), skin.weights)
    return weights


def _strongest(weights: Array) -> tuple[NDArray[np.int32], Array]:
    """The :data:`INFLUENCES` joints of most weight, and their weights."""
    strongest = np.argsort(-weights, axis=1, kind="stable")[:, :INFLUENCES]
    kept = np.take_along_axis(weights, strongest, axis=1)
    return np.where(kept > 0, strongest, 0).astype(np.int32), kept / kept.sum(axis=1, keepdims=True)


def _with_clothes(skin: SkinnedMesh, *, cut_clothes: bool) -> tuple[SkinnedPatch, Ints]:
    """The mesh cut where clothes end, and which of :data:`PARTS` each face is."""
    patch = SkinnedPatch(np.asarray(skin.vertices), np.asarray(skin.faces, np.int64), _weights(skin))
    lines = (_waist, False), (_ankle, False), (_collar, False), (_hair, False), (_sleeve, True)
    for line, on_arms in lines if cut_clothes else ():
        values = line(patch.vertices)
        values[np.abs(values) < SNAP] = SNAP
        patch = cut(patch, values, _on_arm(patch) == on_arms)
    middle, arm = patch.vertices[patch.faces].mean(axis=1), _on_arm(patch)
    parts = np.full(len(middle), PARTS.index("shirt"))
    parts[~arm & (_waist(middle) < 0)] = PARTS.index("trousers")
    parts[~arm & (_ankle(middle) < 0)] = PARTS.index("shoes")
    bare = ~arm & (_collar(middle) > 0)
    parts[bare | (arm & (_sleeve(middle) > 0))] = PARTS.index("skin")
    parts[bare & (_hair(middle) > 0)] = PARTS.index("hair")
    return patch, parts


def _on_arm(patch: SkinnedPatch) -> NDArray[np.bool_]:
    """Whether each face follows a joint of an arm."""
    owner = np.array(JOINTS)[patch.weights[patch.faces].sum(axis=1).argmax(axis=1)]
    return np.char.endswith(owner, "Arm") | np.char.endswith(owner, "Hand")


def _waist(points: Array) -> Array:
    return points[:, 1] - WAIST


def _ankle(points: Array) -> Array:
    return points[:, 1] - ANKLE


def _collar(points: Array) -> Array:
    # Higher at the nape than in front.
    return points[:, 1] - COLLAR + 0.25 * points[:, 2]


def _hair(points: Array) -> Array:
    return points[:, 1] - np.interp(points[:, 2], [-0.02, 0.06], [NAPE, FRINGE])


def _sleeve(points: Array) -> Array:
    return np.linalg.norm(np.abs(points * [1, 0, 0]) + points * [0, 1, 1] - SHOULDER, axis=1) - SLEEVE


def main() -> int:
    np.savez_compressed(ASSET, **arrays())
    print(f"{ASSET}: {ASSET.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
