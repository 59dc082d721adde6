"""A glTF file, opened: its tree of nodes, its animations, and which nodes carry which meshes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from marey.errors import FormatError, InputError, MareyWarning
from marey.geometry.convention import Convention
from marey.io._gltf_buffers import Buffers
from marey.io._gltf_json import Document, Entry
from marey.io._gltf_nodes import Nodes, Placed, placed, read_nodes
from marey.io._gltf_tracks import Clip, read_clips


@dataclass(frozen=True)
class Scene:
    """What the readers of motions, characters and sequences share.

    convention: the unit of length the caller says the file has
    frame_rate: the rate the caller wants; None is the file's own
    """

    document: Document
    buffers: Buffers
    nodes: Nodes
    clips: list[Clip]
    convention: Convention
    frame_rate: float | None

    @cached_property
    def mesh_nodes(self) -> list[int]:
        """Nodes of the default scene that carry a mesh."""
        return [n for n in self.nodes.order[1:] if n in self.nodes.shown and "mesh" in self.values(n)]

    @cached_property
    def skinned_nodes(self) -> list[int]:
        """Those of them whose mesh is bound to joints."""
        return [node for node in self.mesh_nodes if "skin" in self.values(node)]

    @cached_property
    def rest(self) -> dict[int, Placed]:
        """Every node in the world at rest."""
        places: dict[int, Placed] = {}
        for node in self.nodes.order:
            places[node] = placed(places.get(self.nodes.parents[node]), self.nodes.rest[node])
        return places

    def values(self, node: int) -> dict[str, Any]:
        """The JSON of a node; empty for the added root."""
        return self.nodes.entries[node].values if node < len(self.nodes.entries) else {}

    def mesh(self, node: int) -> Entry | None:
        """The mesh of a node."""
        return self.document.referred(self.nodes.entries[node], "mesh", "meshes")

    def skin(self, node: int) -> Entry | None:
        """The skin of a node's mesh."""
        return self.document.referred(self.nodes.entries[node], "skin", "skins")

    def skin_joints(self, skin: Entry) -> list[int]:
        """The nodes that are a skin's joints, in its order."""
        joints = skin.indices("joints", len(self.nodes.entries))
        if not joints or len(set(joints)) < len(joints):
            skin.fail("joints", "should be different nodes, at least one")
        return joints

    def broken(self, message: str) -> FormatError:
        """An error about the file as a whole."""
        return FormatError(message, path=self.document.path)

    def note(self, message: str) -> None:
        """Warn that something in the file has no place in marey's types."""
        warnings.warn(f"{self.document.path}: {message}", MareyWarning, stacklevel=6)


def opened(document: Document, *, clip: str | None, unit: float, frame_rate: float | None) -> Scene:
    """The document's nodes and those of its animations that are wanted."""
    buffers = Buffers(document)
    clips = read_clips(document, buffers)
    if clip is not None:
        names = ", ".join(c.name for c in clips)
        clips = [c for c in clips if c.name == clip]
        if not clips:
            raise InputError(f"{document.path}: no animation {clip!r}; there are {names or 'none'}")
    return Scene(document, buffers, read_nodes(document), clips, Convention(unit=unit), frame_rate)
