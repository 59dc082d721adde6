"""Skins of a glTF file: which joints pull on which vertices, and where those joints are at rest.

A file may keep the mesh in any space of its own and hide scales in the nodes; here the mesh is brought to
where it stands at rest in the world and the scales into the binding, so that the joints are rigid
(glTF 2.0, section 3.7.3). Cost: linear in vertices × influences.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from marey.io._gltf_json import Entry
from marey.io._gltf_meshes import Part, appearance, attribute
from marey.io._gltf_nodes import Placed, homogeneous
from marey.io._gltf_scene import Scene
from marey.surface.skin import SkinnedMesh

Array = NDArray[np.float64]
Influences = tuple[NDArray[np.int64], Array]

_MOST_SETS = 8


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
            indices, weights = _read_influences(scene, part, len(slots))
        positions.append(_shaped(scene, part) @ to_rest[:3, :3].T + to_rest[:3, 3])
        influences.append((slots[indices], weights))
    bind = np.linalg.inv(np.array(binding.inverses))
    bind[:, :3, 3] *= unit
    look = appearance(scene.document, scene.buffers, parts)
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
    inverses = _read_inverses(scene, skin, len(own))
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


def _stretch_matrix(place: Placed) -> Array:
    return np.eye(4) if place.stretch is None else homogeneous(place.stretch[0], np.zeros(3))


def _read_inverses(scene: Scene, skin: Entry, count: int) -> Array:
    accessor = skin.index("inverseBindMatrices", len(scene.document.all("accessors")))
    if accessor is None:
        return np.repeat(np.eye(4)[None], count, axis=0)
    columns = scene.buffers.floats(accessor, 16).astype(np.float64)
    if len(columns) < count:
        skin.fail("inverseBindMatrices", f"{len(columns)} matrices for {count} joints")
    inverses = columns[:count].reshape(-1, 4, 4).swapaxes(-1, -2).copy()
    inverses[:, 3] = [0, 0, 0, 1]
    flat = np.abs(np.linalg.det(inverses[:, :3, :3])) < 1e-30
    if flat.any():
        skin.fail("inverseBindMatrices", f"matrix {int(flat.argmax())} cannot be inverted")
    return inverses


def _shaped(scene: Scene, part: Part) -> Array:
    """The vertices with the morph targets at their default weights."""
    positions = part.positions.astype(np.float64)
    for target, weight in enumerate(part.default_weights):
        moved = part.displacement(target, scene.buffers) if weight else None
        if moved is not None:
            positions += weight * moved
    return positions


def _read_influences(scene: Scene, part: Part, joints: int) -> Influences:
    """Indices into the skin's joints and weights, `(vertices, k)`; unused places have weight 0."""
    indices, weights = [], []
    for number in range(_MOST_SETS + 1):
        its_joints = attribute(scene.document, part.entry, f"JOINTS_{number}")
        its_weights = attribute(scene.document, part.entry, f"WEIGHTS_{number}")
        if its_joints is None or its_weights is None:
            break
        if number == _MOST_SETS:
            part.entry.fail("attributes", f"more than {4 * _MOST_SETS} joints a vertex")
        joints_now, weights_now = scene.buffers.integers(its_joints, 4), scene.buffers.floats(its_weights, 4)
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
