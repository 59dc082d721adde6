"""People of tracks as walking figures in a glTF file, for Blender and other programs.

Everyone is a node that moves and turns along the track, with thighs, shanks and arms that swing with the way
gone; the parts' meshes are stored once and shared (glTF 2.0, sections 3.5 and 3.11). Those who are absent are
shrunk to nothing. Cost: about 90 bytes a person and key, ten keys a second.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.crowd.gait import steps
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.io._gltf_build import INDICES, VERTICES, Builder

Array = NDArray[np.float64]

MOST_PEOPLE = 2000
KEYS_A_SECOND = 10.0
SECTORS = 8
CLOTHES = (
    (0.05, 0.16, 0.30),
    (0.42, 0.08, 0.07),
    (0.10, 0.25, 0.14),
    (0.55, 0.36, 0.09),
    (0.22, 0.12, 0.27),
    (0.33, 0.33, 0.31),
    (0.03, 0.22, 0.25),
    (0.45, 0.20, 0.12),
)
TROUSERS, SKIN = (0.03, 0.035, 0.05), (0.55, 0.33, 0.23)
HIP, KNEE, SHOULDER = 0.90, 0.48, 1.40

# Rings of a body at rest: height, half width, half depth; the figure looks along +z.
TRUNK = (
    (0.84, 0.09, 0.07),
    (0.94, 0.155, 0.105),
    (1.10, 0.13, 0.095),
    (1.28, 0.17, 0.115),
    (1.41, 0.18, 0.09),
    (1.47, 0.08, 0.06),
)
HEAD = (
    (1.44, 0.04, 0.045),
    (1.52, 0.065, 0.075),
    (1.61, 0.082, 0.098),
    (1.68, 0.065, 0.08),
    (1.72, 0.02, 0.03),
)
THIGH = ((0.91, 0.085, 0.09), (0.70, 0.07, 0.075), (0.46, 0.052, 0.057))
SHANK = ((0.50, 0.052, 0.057), (0.30, 0.048, 0.058), (0.08, 0.035, 0.04))
SHOE = ((0.085, 0.036, 0.06), (0.05, 0.045, 0.11), (0.0, 0.045, 0.12))
ARM = ((1.42, 0.05, 0.05), (1.12, 0.04, 0.042), (0.80, 0.028, 0.03))


def write_walkers(tracks: Tracks, path: str | PathLike[str]) -> None:
    """Write people as animated figures, `.glb` or `.gltf`; y up, metres, the plan's y away from the viewer.

    >>> import marey, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.glb"
    >>> write_walkers(marey.samples.crowd(), path)
    >>> path.read_bytes()[:4]
    b'glTF'
    """
    path = Path(path)
    if path.suffix.lower() not in (".glb", ".gltf"):
        raise InputError(f"{path}: walking figures are written as .glb or .gltf")
    if tracks.agents > MOST_PEOPLE:
        raise InputError(
            f"{path}: at most {MOST_PEOPLE} people are written as figures, these are {tracks.agents}; "
            "take fewer, or a shorter time in which fewer come in"
        )
    builder = Builder()
    meshes = _Meshes(builder)
    keys = _keys(tracks)
    times = builder.accessor(keys / tracks.frame_rate, bounds=True)
    heading, phase, swing = (values[keys] for values in steps(tracks))
    animation: dict[str, list[dict[str, Any]]] = {"channels": [], "samplers": []}
    assert tracks.ids is not None
    people = []
    for agent, number in enumerate(np.asarray(tracks.ids).tolist()):
        figure = _Figure(builder, animation, times, meshes, number)
        places = np.asarray(tracks.positions[keys, agent], dtype=np.float64)
        people.append(figure.walk(places, heading[:, agent], phase[:, agent], swing[:, agent]))
    builder.add("animations", name=tracks.name or "crowd", **animation)
    builder.save(path, roots=[builder.add("nodes", name=tracks.name or "crowd", children=people)])


def _keys(tracks: Tracks) -> NDArray[np.int64]:
    """Frames to store, evenly and with the last one."""
    step = max(1, round(tracks.frame_rate / KEYS_A_SECOND))
    return np.unique(np.append(np.arange(0, tracks.frames, step), tracks.frames - 1))


class _Figure:
    """The nodes of one person and what moves them."""

    def __init__(
        self,
        builder: Builder,
        animation: dict[str, list[dict[str, Any]]],
        times: int,
        meshes: _Meshes,
        number: int,
    ) -> None:
        self._builder, self._animation, self._times = builder, animation, times
        self._meshes, self._colour, self._name = meshes, number % len(CLOTHES), f"person {number}"

    def walk(self, places: Array, heading: Array, phase: Array, swing: Array) -> int:
        """The person's node, moved along `places` `(keys, 2)`, NaN where absent."""
        limbs = {}
        for side, sign in (("left", 1.0), ("right", -1.0)):
            shank = self._node(f"{side} shank", "shank", (0.0, KNEE - HIP, 0.0))
            limbs[f"{side} thigh"] = self._node(f"{side} thigh", "thigh", (0.09 * sign, HIP, 0.0), [shank])
            limbs[f"{side} arm"] = self._node(f"{side} arm", "arm", (0.20 * sign, SHOULDER, 0.0))
            turn = np.sin(phase) if sign > 0 else -np.sin(phase)
            # Knees bend while their leg comes forward, arms go against the legs of their side.
            coming = np.clip(np.cos(phase) * sign, 0, 1)
            self._turn(limbs[f"{side} thigh"], 0, -swing * turn)
            self._turn(shank, 0, 1.6 * swing * coming)
            self._turn(limbs[f"{side} arm"], 0, 0.7 * swing * turn)
        root = self._node("", "body", (0.0, 0.0, 0.0), list(limbs.values()))
        here = np.isfinite(places[:, 0])
        known = np.flatnonzero(here)
        nearest = known[np.abs(np.arange(len(here))[:, None] - known).argmin(axis=1)] if len(known) else known
        filled = places[nearest] if len(known) else np.zeros_like(places)
        self._channel(root, "translation", np.stack([filled[:, 0], 0 * filled[:, 0], -filled[:, 1]], axis=1))
        self._turn(root, 1, heading)
        if not here.all():
            self._channel(root, "scale", np.repeat(here[:, None].astype(float), 3, axis=1), "STEP")
        return root

    def _node(
        self, name: str, part: str, place: tuple[float, float, float], children: list[int] | None = None
    ) -> int:
        entry: dict[str, Any] = {"name": f"{self._name} {name}".strip(), "translation": list(place)}
        if children:
            entry["children"] = children
        return self._builder.add("nodes", mesh=self._meshes.of(part, self._colour), **entry)

    def _turn(self, node: int, axis: int, angles: Array) -> None:
        quaternions = np.zeros((len(angles), 4))
        quaternions[:, axis], quaternions[:, 3] = np.sin(0.5 * angles), np.cos(0.5 * angles)
        # Neighbouring keys in one half of the sphere: programs blend them along the shorter way.
        flips = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0
        quaternions[1:][np.cumsum(flips) % 2 == 1] *= -1
        self._channel(node, "rotation", quaternions)

    def _channel(self, node: int, path: str, values: Array, interpolation: str = "LINEAR") -> None:
        samplers, channels = self._animation["samplers"], self._animation["channels"]
        output = self._builder.accessor(values)
        samplers.append({"input": self._times, "output": output, "interpolation": interpolation})
        channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": path}})


class _Meshes:
    """Parts of the body, each stored once and given a mesh for every colour it comes in."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._materials: dict[tuple[float, ...], int] = {}
        self._meshes: dict[tuple[str, int], int] = {}
        thigh = _tube(THIGH, (0.0, HIP))
        shank = _joined(_tube(SHANK, (0.0, KNEE)), _tube(SHOE, (0.0, KNEE), forward=0.06))
        shapes = {
            "trunk": _tube(TRUNK, (0.0, 0.0)),
            "head": _tube(HEAD, (0.0, 0.0)),
            "thigh": thigh,
            "shank": shank,
            "arm": _tube(ARM, (0.0, SHOULDER)),
        }
        self._stored = {name: self._store(*shape) for name, shape in shapes.items()}

    def of(self, part: str, colour: int) -> int:
        """The mesh of a part in the clothes of that number."""
        key = (part, 0 if part in ("thigh", "shank") else colour)
        if key not in self._meshes:
            cloth = CLOTHES[colour]
            pieces = {
                "body": [("trunk", cloth), ("head", SKIN)],
                "arm": [("arm", cloth)],
                "thigh": [("thigh", TROUSERS)],
                "shank": [("shank", TROUSERS)],
            }[part]
            primitives = [{**self._stored[name], "material": self._material(ink)} for name, ink in pieces]
            self._meshes[key] = self._builder.add("meshes", name=f"{part} {key[1]}", primitives=primitives)
        return self._meshes[key]

    def _material(self, colour: tuple[float, ...]) -> int:
        if colour not in self._materials:
            shading = {"baseColorFactor": [*colour, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.9}
            self._materials[colour] = self._builder.add("materials", pbrMetallicRoughness=shading)
        return self._materials[colour]

    def _store(self, vertices: Array, faces: NDArray[np.int64]) -> dict[str, Any]:
        corners = vertices[faces]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        smooth = np.zeros_like(vertices)
        for corner in range(3):
            np.add.at(smooth, faces[:, corner], normals)
        smooth /= np.maximum(np.linalg.norm(smooth, axis=1, keepdims=True), 1e-12)
        return {
            "attributes": {
                "POSITION": self._builder.accessor(vertices, target=VERTICES, bounds=True),
                "NORMAL": self._builder.accessor(smooth, target=VERTICES),
            },
            "indices": self._builder.accessor(faces.astype(np.uint16).reshape(-1), target=INDICES),
        }


def _tube(
    rings: tuple[tuple[float, float, float], ...], joint: tuple[float, float], forward: float = 0.0
) -> tuple[Array, NDArray[np.int64]]:
    """A closed surface through elliptic rings, its origin at the joint (x, height); faces look outwards."""
    ordered = sorted(rings)
    angle = np.linspace(0, 2 * np.pi, SECTORS, endpoint=False)
    layers = [
        np.stack([wide * np.sin(angle), np.full(SECTORS, height), deep * np.cos(angle) + forward], axis=1)
        for height, wide, deep in ordered
    ]
    ends = [[0.0, ordered[0][0], forward], [0.0, ordered[-1][0], forward]]
    vertices = np.concatenate([*layers, ends]) - [joint[0], joint[1], 0.0]
    faces = []
    count = len(ordered)
    for ring in range(count - 1):
        for k in range(SECTORS):
            a, b = ring * SECTORS + k, ring * SECTORS + (k + 1) % SECTORS
            faces += [[a, b, a + SECTORS], [b, b + SECTORS, a + SECTORS]]
    bottom, top = count * SECTORS, count * SECTORS + 1
    for k in range(SECTORS):
        after = (k + 1) % SECTORS
        last = (count - 1) * SECTORS
        faces += [[after, k, bottom], [last + k, last + after, top]]
    return vertices, np.array(faces)


def _joined(
    first: tuple[Array, NDArray[np.int64]], second: tuple[Array, NDArray[np.int64]]
) -> tuple[Array, NDArray[np.int64]]:
    return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1] + len(first[0])])
