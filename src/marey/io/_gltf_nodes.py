"""The node tree of a glTF file, at rest and over time.

A node's own transform is kept as a rotation, a translation and a stretch (`x -> t + R P x`), so that joints,
which in marey are rigid, can be told from the scales around them (glTF 2.0, section 3.5). Cost: linear in
nodes and, for moving ones, in frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.geometry import rotations as rot
from marey.io._gltf_json import Document, Entry
from marey.io._text import all_different

Array = NDArray[np.float64]

# Scales this near to 1 are rounding in the program that wrote the file.
_NO_STRETCH = 2e-6


@dataclass(frozen=True)
class Local:
    """A node in its parent's frame: `(1, …)` if it is still, else `(frames, …)`."""

    rotation: Array
    translation: Array
    stretch: Array | None  # (…, 3, 3); None is no stretch


@dataclass(frozen=True)
class Placed:
    """A node in the world: `x -> position + R(rotation) stretch x`."""

    rotation: Array
    position: Array
    stretch: Array | None

    def linear(self) -> Array:
        """The 3 × 3 parts, `(…, 3, 3)`."""
        turn = rot.to_matrix(self.rotation)
        return turn if self.stretch is None else turn @ self.stretch

    def matrix(self) -> Array:
        """The whole transforms, `(…, 4, 4)`."""
        return homogeneous(self.linear(), self.position)


@dataclass(frozen=True)
class Nodes:
    """The tree. One node more than the file has: the last is a still root over all of its roots."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    order: tuple[int, ...]  # depth first, the added root at the start
    shown: frozenset[int]  # those of the default scene
    rest: tuple[Local, ...]
    entries: tuple[Entry, ...]

    def skeleton_over(self, wanted: set[int]) -> list[int]:
        """The smallest tree that joins the wanted nodes, parents first: with all nodes on the way."""
        below = dict.fromkeys(self.order, 0)
        for node in reversed(self.order):
            below[node] += node in wanted
            if self.parents[node] >= 0:
                below[self.parents[node]] += below[node]
        everything = below[self.order[0]]
        root = next(n for n in reversed(self.order) if below[n] == everything)
        inside = {root}
        for node in self.order:
            if below[node] and self.parents[node] in inside:
                inside.add(node)
        return [node for node in self.order if node in inside]

    def with_descendants(self, wanted: set[int]) -> set[int]:
        """The wanted nodes and everything below them."""
        inside = set(wanted)
        for node in self.order:
            if self.parents[node] in inside:
                inside.add(node)
        return inside

    def ancestors(self, node: int) -> list[int]:
        """The node, its parent, … up to the added root."""
        chain = [node]
        while self.parents[chain[-1]] >= 0:
            chain.append(self.parents[chain[-1]])
        return chain


def read_nodes(document: Document) -> Nodes:
    """All nodes, checked to be trees."""
    entries = document.all("nodes")
    count = len(entries)
    parents = [count] * count + [-1]
    children: list[list[int]] = []
    for node, entry in enumerate(entries):
        children.append(entry.indices("children", count))
        for child in children[-1]:
            if parents[child] != count or child == node:
                entry.fail("children", f"node {child} has two parents")
            parents[child] = node
    roots = [node for node in range(count) if parents[node] == count]
    order = _depth_first(count, roots, children)
    if len(order) <= count:
        document.root.fail("nodes", "some of them form a circle")
    scene = document.referred(document.root, "scene", "scenes") or next(iter(document.all("scenes")), None)
    shown = order if scene is None else _depth_first(count, scene.indices("nodes", count), children)
    still = Local(rot.identity(1), np.zeros((1, 3)), None)
    return Nodes(
        names=tuple(
            all_different([*(entry.text("name") or f"node_{i}" for i, entry in enumerate(entries)), "root"])
        ),
        parents=tuple(parents),
        order=tuple(order),
        shown=frozenset(shown),
        rest=(*map(_rest, entries), still),
        entries=tuple(entries),
    )


def placed(parent: Placed | None, local: Local) -> Placed:
    """A node in the world, given its parent there."""
    if parent is None:
        return Placed(local.rotation, local.translation, local.stretch)
    return Placed(
        rot.multiply(parent.rotation, local.rotation),
        parent.position + rot.rotate(parent.rotation, stretched(parent.stretch, local.translation)),
        carried_stretch(parent.stretch, local),
    )


def carried_stretch(parent: Array | None, local: Local) -> Array | None:
    """The stretch of a node in the world: its parent's, seen from the turned node, after its own."""
    if parent is None:
        return local.stretch
    turned = parent
    if not _is_even(parent):
        turn = rot.to_matrix(local.rotation)
        turned = np.swapaxes(turn, -1, -2) @ parent @ turn
    return turned if local.stretch is None else turned @ local.stretch


def stretched(stretch: Array | None, points: Array) -> Array:
    """Points `(…, 3)` stretched by `(…, 3, 3)`."""
    return points if stretch is None else np.einsum("...ij,...j->...i", stretch, points)


def scales(factors: Array) -> Array | None:
    """Stretches along the axes, `(…, 3) -> (…, 3, 3)`; None if they are all 1 but for rounding."""
    if np.abs(factors - 1).max() <= _NO_STRETCH:
        return None
    return factors[..., None] * np.eye(3)


def homogeneous(linear: Array, position: Array) -> Array:
    """Transforms `(…, 4, 4)` from their two parts."""
    shape = np.broadcast_shapes(linear.shape[:-2], position.shape[:-1])
    matrix = np.zeros((*shape, 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3], matrix[..., 3, 3] = linear, position, 1
    return matrix


def rigid_part(linear: Array) -> Array:
    """The rotations `(…, 4)` nearest to 3 × 3 matrices."""
    u, _, v = np.linalg.svd(linear)
    u[..., 2] *= np.sign(np.linalg.det(u @ v))[..., None]
    return rot.from_matrix(u @ v)


def _depth_first(top: int, roots: list[int], children: list[list[int]]) -> list[int]:
    order, waiting = [top], roots[::-1]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(children[order[-1]][::-1])
    return order


def _rest(entry: Entry) -> Local:
    matrix = entry.numbers("matrix", 16)
    if matrix is not None:
        columns = matrix.reshape(4, 4).T
        linear = columns[:3, :3]
        turn = rigid_part(linear)
        stretch = rot.to_matrix(turn).T @ linear
        return Local(turn[None], columns[None, :3, 3], None if _is_unit(stretch) else stretch[None])
    rotation, scale = entry.numbers("rotation", 4), entry.numbers("scale", 3)
    translation = entry.numbers("translation", 3)
    if rotation is not None and not rotation.any():
        entry.fail("rotation", "is zero")
    return Local(
        rot.identity(1) if rotation is None else rot.normalise(np.roll(rotation, 1))[None],
        np.zeros((1, 3)) if translation is None else translation[None],
        None if scale is None else scales(scale[None]),
    )


def _is_even(stretch: Array) -> bool:
    """Whether it is the same in all directions, so that no rotation changes it."""
    even = stretch[..., :1, :1] * np.eye(3)
    return bool(np.abs(stretch - even).max() <= _NO_STRETCH * np.abs(even).max())


def _is_unit(stretch: Array) -> bool:
    return bool(np.abs(stretch - np.eye(3)).max() <= _NO_STRETCH)
