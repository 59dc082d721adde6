"""Nodes of the scene that belong together: all that one layer draws, under one path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import AnyArray, Array
from marey.studio.settings import Colour

if TYPE_CHECKING:
    from viser import (
        BatchedMeshHandle,
        ImageHandle,
        LineSegmentsHandle,
        MeshHandle,
        SceneApi,
        SceneNodeHandle,
    )

PLAIN = {"cast_shadow": False, "receive_shadow": False}


class Group:
    """Nodes under one path, without shadows unless asked for; a new one of a known name replaces the old."""

    def __init__(self, scene: SceneApi, path: str):
        self.scene, self.path = scene, path
        self.nodes: dict[str, SceneNodeHandle] = {}

    def clear(self) -> None:
        """Remove all of them."""
        for node in self.nodes.values():
            node.remove()
        self.nodes = {}

    def lines(
        self,
        name: str,
        segments: ArrayLike,
        colour: Colour | AnyArray,
        width: float,
        *,
        pixels: bool = False,
        visible: bool = True,
    ) -> LineSegmentsHandle:
        """Segments `(n, 2, 3)` in one colour or `(n, 2, 3)` colours; their width in metres or pixels."""
        points = np.asarray(segments, np.float32)
        units = "screen" if pixels else "world"
        node = self.scene.add_line_segments(
            f"{self.path}/{name}", points, colour, thickness=width, thickness_units=units, visible=visible
        )
        self.nodes[name] = node
        return node

    def mesh(
        self, name: str, vertices: ArrayLike, faces: ArrayLike, colour: Colour, **options: object
    ) -> MeshHandle:
        """A mesh of vertices `(n, 3)` and faces `(m, 3)`."""
        corners, triangles = np.asarray(vertices, np.float32), np.asarray(faces, np.uint32)
        path, look = f"{self.path}/{name}", PLAIN | options
        node = self.scene.add_mesh_simple(path, corners, triangles, color=colour, **look)
        self.nodes[name] = node
        return node

    def instances(
        self,
        name: str,
        shape: tuple[ArrayLike, ArrayLike],
        positions: ArrayLike,
        scales: ArrayLike,
        colours: Colour | AnyArray,
        **options: object,
    ) -> BatchedMeshHandle:
        """Copies of a shape (its vertices and faces) at positions `(n, 3)`, of scales `(n,)` or `(n, 3)`."""
        places = np.asarray(positions, np.float32)
        node = self.scene.add_batched_meshes_simple(
            f"{self.path}/{name}",
            np.asarray(shape[0], np.float32),
            np.asarray(shape[1], np.uint32),
            batched_wxyzs=np.tile(np.array([1, 0, 0, 0], np.float32), (len(places), 1)),
            batched_positions=places,
            batched_scales=np.asarray(scales, np.float32),
            batched_colors=colours,
            lod="off",
            **(PLAIN | options),
        )
        self.nodes[name] = node
        return node

    def image(self, name: str, image: AnyArray, size: ArrayLike, **options: object) -> ImageHandle:
        """An image of this width and height `(2,)` in metres."""
        width, height = np.asarray(size, np.float64).tolist()
        node = self.scene.add_image(f"{self.path}/{name}", image, width, height, **(PLAIN | options))
        self.nodes[name] = node
        return node


def segments(points: ArrayLike) -> Array:
    """The steps `(n, 2, 3)` of curves: points `(frames, 3)`, or `(frames, curves, 3)` of several.

    >>> segments([[0, 0, 0], [1, 0, 0], [1, 2, 0]]).tolist()
    [[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]]
    """
    at = np.asarray(points, np.float64)
    return np.stack([at[:-1], at[1:]], axis=-2).reshape(-1, 2, 3)
