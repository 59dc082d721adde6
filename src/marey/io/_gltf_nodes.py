"""The node tree of a glTF file, at rest and over time: nodes, animations, and which nodes carry meshes.

A node's own transform is kept as a rotation, a translation and a stretch (`x -> t + R P x`), so that joints,
which in marey are rigid, are kept apart from the scales around them (glTF 2.0, section 3.5). The frame rate
is taken from the keys when they lie on an even grid, else it is 30; rotations are interpolated on the sphere
(section 3.11 and appendix C). Cost: linear in nodes and, for moving ones, in frames.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.errors import FormatError, InputError, MareyWarning
from marey.geometry import rotations as rot
from marey.geometry.convention import Convention
from marey.io._files import unique_names
from marey.io._gltf_document import Document, Entry
from marey.io._json import Json
from marey.io._limits import LIMITS
from marey.io._meshes import DEFAULT_RATE

# Scales this near to 1 are rounding in the program that wrote the file.
_NO_STRETCH = 2e-6

# Evenly spaced keys slower than this are sparse key poses, not frames.
_SLOWEST_GRID, _FASTEST_GRID = 6.0, 1000.0

# Keys may miss the grid by this part of a frame: float32 times of long clips do. Off the grid, only
# rounding counts as a hit.
_GRID_TOLERANCE, _ROUNDING = 0.05, 1e-3
_PATHS = {"rotation": 4, "translation": 3, "scale": 3}


@dataclass(frozen=True)
class Place:
    """A node in its parent's frame or in the world, `x -> position + R(rotation) stretch x`.

    rotation `(…, 4)`, position `(…, 3)`, stretch `(…, 3, 3)`, None if there is none; in front `(1,)` if it is
    still, else `(frames,)`
    """

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

    def child(self, local: Place) -> Place:
        """A node in the world, where this one is its parent there."""
        return Place(
            rot.multiply(self.rotation, local.rotation),
            self.position + rot.rotate(self.rotation, stretched(self.stretch, local.position)),
            carried_stretch(self.stretch, local),
        )


@dataclass(frozen=True)
class Nodes:
    """The tree. One node more than the file has: the last is a still root over all of its roots."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    order: tuple[int, ...]  # depth first, the added root at the start
    shown: frozenset[int]  # those of the default scene
    rest: tuple[Place, ...]
    entries: tuple[Entry, ...]

    def skeleton_over(self, wanted: set[int]) -> list[int]:
        """The smallest tree that joins the wanted nodes, parents first: with all nodes in between."""
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
    scene = document.root.referred("scene", "scenes") or next(iter(document.all("scenes")), None)
    shown = order if scene is None else _depth_first(count, scene.indices("nodes", count), children)
    still = Place(rot.identity(1), np.zeros((1, 3)), None)
    return Nodes(
        names=tuple(
            unique_names([*(entry.text("name") or f"node_{i}" for i, entry in enumerate(entries)), "root"])
        ),
        parents=tuple(parents),
        order=tuple(order),
        shown=frozenset(shown),
        rest=(*map(_rest, entries), still),
        entries=tuple(entries),
    )


def carried_stretch(parent: Array | None, local: Place) -> Array | None:
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


def _rest(entry: Entry) -> Place:
    matrix = entry.numbers("matrix", 16)
    if matrix is not None:
        columns = matrix.reshape(4, 4).T
        linear = columns[:3, :3]
        turn = rigid_part(linear)
        stretch = rot.to_matrix(turn).T @ linear
        return Place(turn[None], columns[None, :3, 3], None if _is_unit(stretch) else stretch[None])
    rotation, scale = entry.numbers("rotation", 4), entry.numbers("scale", 3)
    translation = entry.numbers("translation", 3)
    if rotation is not None and not rotation.any():
        entry.fail("rotation", "is zero")
    return Place(
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


@dataclass(frozen=True)
class Track:
    """Keys of one property: `times` `(keys,)` and `values` `(keys, width)` (cubic: `(keys, 3, width)`)."""

    times: Array
    values: Array
    interpolation: str


@dataclass(frozen=True)
class Clip:
    """One animation: its tracks by node and path."""

    name: str
    tracks: dict[tuple[int, str], Track]
    stated_rate: float | None
    entry: Entry

    def moves(self, node: int) -> bool:
        """Whether the node's transform has keys."""
        return any((node, path) in self.tracks for path in _PATHS)


@dataclass(frozen=True)
class Frames:
    """Evenly spaced times in seconds, `(frames,)`; keys nearer than `tolerance` to one are on it."""

    times: Array
    rate: float
    tolerance: float

    def sampler(self, clip: Clip, nodes: Nodes) -> Callable[[int], Place]:
        """A function that gives a node in its parent's frame at every frame (one row if it is still)."""
        return lambda node: self._local(clip, nodes.rest[node], node)

    def _local(self, clip: Clip, rest: Place, node: int) -> Place:
        rotation, position, stretch = rest.rotation, rest.position, rest.stretch
        if (track := clip.tracks.get((node, "rotation"))) is not None:
            rotation = self._turning(track)
        if (track := clip.tracks.get((node, "translation"))) is not None:
            position = self.sampled(track)
        if (track := clip.tracks.get((node, "scale"))) is not None:
            stretch = scales(self.sampled(track))
        return Place(rotation, position, stretch)

    def sampled(self, track: Track) -> Array:
        """Values `(frames, width)`, or `(1, width)` if there is one key."""
        if len(track.times) == 1:
            return track.values[:, 1] if track.interpolation == "CUBICSPLINE" else track.values
        start, share, step = self._places(track.times)
        if track.interpolation == "CUBICSPLINE":
            return _hermite(track.values, start, share[:, None], step[:, None])
        if track.interpolation == "STEP":
            share = np.floor(share)
        share = share[:, None]
        return track.values[start] * (1 - share) + track.values[start + 1] * share

    def _turning(self, track: Track) -> Array:
        if track.interpolation != "LINEAR" or len(track.times) == 1:
            return rot.normalise(self.sampled(track))
        start, share, _ = self._places(track.times)
        keys = rot.normalise(track.values)
        return rot.normalise(rot.slerp(keys[start], keys[start + 1], share))

    def _places(self, keys: Array) -> tuple[NDArray[np.intp], Array, Array]:
        """For every frame the key before it, how far it is to the next one (0…1), and the keys' distance."""
        near = np.clip(np.searchsorted(keys, self.times), 1, len(keys) - 1)
        near = near - (self.times - keys[near - 1] < keys[near] - self.times)
        times = np.where(np.abs(keys[near] - self.times) <= self.tolerance, keys[near], self.times)
        start = np.clip(np.searchsorted(keys, times, side="right") - 1, 0, len(keys) - 2)
        step = keys[start + 1] - keys[start]
        return start, np.clip((times - keys[start]) / step, 0, 1), step


def read_clips(document: Document) -> list[Clip]:
    """All animations, with tracks of transforms and morph weights; those without any are left out."""
    animations = document.all("animations")
    usual = document.path.stem
    clips = []
    for number, entry in enumerate(animations):
        tracks = _read_tracks(entry)
        if tracks:
            name = entry.text("name") or (usual if len(animations) == 1 else f"{usual}_{number + 1}")
            extras = entry.values.get("extras")
            stated = extras.get("marey_frame_rate") if isinstance(extras, dict) else None
            stated = float(stated) if isinstance(stated, int | float) and 1e-3 < stated < 1e6 else None
            clips.append(Clip(name, tracks, stated, entry))
    return clips


def frames_of(clip: Clip, tracks: Iterable[Track], nodes: int, frame_rate: float | None) -> Frames:
    """Evenly spaced frames over the keys of the given tracks.

    nodes: how many nodes will be sampled at every frame; what would not fit into memory is refused
    """
    arrays = {id(track.times): track.times for track in tracks}
    times = _apart(np.sort(np.concatenate(list(arrays.values()))))
    even = None if frame_rate else clip.stated_rate or even_rate(times)
    rate = frame_rate or even or DEFAULT_RATE
    tolerance = _GRID_TOLERANCE if even else _ROUNDING
    wanted = (times[-1] - times[0]) * rate + tolerance + 1
    most = min(max(LIMITS.frames, 2 * len(times)), LIMITS.poses // max(nodes, 1))
    if wanted > most + 1:
        raise FormatError(
            f"animation {clip.name!r:.60} lasts {times[-1] - times[0]:.6g} s: at {rate:g} frames per second "
            f"that is more than {most} frames; give a lower frame_rate (--from-frame-rate)",
            path=clip.entry.path,
        )
    return Frames(
        times=times[0] + np.arange(int(wanted)) / rate,
        rate=rate,
        tolerance=tolerance / rate,
    )


def _read_tracks(entry: Entry) -> dict[tuple[int, str], Track]:
    samplers = entry.entries("samplers")
    times: dict[Entry, Array] = {}
    nodes = len(entry.document.all("nodes"))
    tracks: dict[tuple[int, str], Track] = {}
    for channel in entry.entries("channels"):
        target = channel.entry("target")
        node, path = target.index("node", nodes), target.values.get("path")
        sampler = channel.index("sampler", len(samplers))
        if node is None or sampler is None or not isinstance(path, str) or (node, path) in tracks:
            continue
        if path in _PATHS or path == "weights":
            width = _PATHS.get(path, 1)
            tracks[node, path] = _read_track(samplers[sampler], width, times)
    return tracks


def _read_track(sampler: Entry, width: int, times: dict[Entry, Array]) -> Track:
    """Keys and values; for morph weights (`width` 1) the values of a key make up a row."""
    keys, output, read = sampler.accessor("input"), sampler.accessor("output"), sampler.document.floats
    if keys is None or output is None:
        sampler.fail("input" if keys is None else "output", "is missing")
    interpolation = str(sampler.values.get("interpolation") or "LINEAR")
    if interpolation not in ("LINEAR", "STEP", "CUBICSPLINE"):
        sampler.fail("interpolation", f"{interpolation[:20]!r} is unknown")
    if keys not in times:
        times[keys] = read(keys, 1)[:, 0].astype(np.float64)
        if (np.diff(times[keys]) < 0).any():
            sampler.fail("input", "the key times do not increase")
    count = len(times[keys])
    values = read(output, width).astype(np.float64)
    parts = 3 if interpolation == "CUBICSPLINE" else 1
    fits = len(values) % (count * parts) == 0 if width == 1 else len(values) == count * parts
    if not fits:
        sampler.fail("output", f"{len(values)} values for {count} keys")
    if width == 4:
        values = np.roll(values, 1, axis=-1)
        if interpolation != "CUBICSPLINE" and not values.any(axis=-1).all():
            sampler.fail("output", "one of the rotations is zero")
    values = values.reshape((count, 3, -1) if parts == 3 else (count, -1))
    if (again := np.diff(times[keys]) == 0).any():  # of keys at one time, the last counts
        last = np.append(~again, True)
        return Track(times[keys][last], values[last], interpolation)
    return Track(times[keys], values, interpolation)


def _hermite(values: Array, start: NDArray[np.intp], share: Array, step: Array) -> Array:
    """Cubic splines of keys `(keys, 3, width)`: in-tangent, value, out-tangent."""
    s, s2, s3 = share, share**2, share**3
    return np.asarray(
        (2 * s3 - 3 * s2 + 1) * values[start, 1]
        + step * (s3 - 2 * s2 + s) * values[start, 2]
        + (3 * s2 - 2 * s3) * values[start + 1, 1]
        + step * (s3 - s2) * values[start + 1, 0]
    )


def _apart(times: Array) -> Array:
    """Sorted times without those that differ from the one before only by rounding."""
    gaps = np.diff(times)
    return np.asarray(times[np.concatenate([[True], gaps > 1e-5 + 4e-7 * np.abs(times[1:])])])


def even_rate(times: Array) -> float | None:
    """Frames per second of the grid on which all the times lie, if there is one."""
    if len(times) < 2:
        return None
    gaps = np.diff(times)
    step = gaps[gaps < 1.5 * gaps.min()].mean()
    since = times - times[0]
    for _ in range(2):
        counts = np.round(since / step)
        step = (counts @ since) / (counts @ counts)
    on_grid = np.abs(since - counts * step).max() <= _GRID_TOLERANCE * step
    rate = 1 / step
    if not on_grid or not _SLOWEST_GRID <= rate <= _FASTEST_GRID or counts[-1] >= LIMITS.frames + len(times):
        return None
    return next((round(rate, d) for d in range(4) if abs(round(rate, d) / rate - 1) < 1e-5), float(rate))


@dataclass(frozen=True)
class Scene:
    """What the readers of motions, characters and sequences share.

    convention: the unit of length the caller says the file has
    frame_rate: the rate the caller wants; None is the file's own
    """

    document: Document
    nodes: Nodes
    clips: list[Clip]
    convention: Convention
    frame_rate: float | None

    @cached_property
    def mesh_nodes(self) -> list[int]:
        """Nodes of the default scene that carry a mesh."""
        hidden = self.nodes.with_descendants({n for n in self.nodes.order if self._is_hidden(n)})
        shown = self.nodes.shown - hidden
        return [n for n in self.nodes.order[1:] if n in shown and "mesh" in self.values(n)]

    @cached_property
    def skinned_nodes(self) -> list[int]:
        """Those of them whose mesh is bound to joints."""
        return [node for node in self.mesh_nodes if "skin" in self.values(node)]

    @cached_property
    def rest(self) -> dict[int, Place]:
        """Every node in the world at rest."""
        places: dict[int, Place] = {}
        for node in self.nodes.order:
            above, own = places.get(self.nodes.parents[node]), self.nodes.rest[node]
            places[node] = own if above is None else above.child(own)
        return places

    def _is_hidden(self, node: int) -> bool:
        """Whether the extension KHR_node_visibility hides a node and all below it."""
        if "extensions" not in self.values(node):
            return False
        entry = self.nodes.entries[node].entry("extensions").entry("KHR_node_visibility")
        return entry.values.get("visible") is False

    def values(self, node: int) -> Json:
        """The JSON of a node; empty for the added root."""
        return self.nodes.entries[node].values if node < len(self.nodes.entries) else {}

    def mesh(self, node: int) -> Entry | None:
        """The mesh of a node."""
        return self.nodes.entries[node].referred("mesh", "meshes")

    def skin(self, node: int) -> Entry | None:
        """The skin of a node's mesh."""
        return self.nodes.entries[node].referred("skin", "skins")

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
    clips = read_clips(document)
    if clip is not None:
        names = ", ".join(c.name for c in clips)
        clips = [c for c in clips if c.name == clip]
        if not clips:
            raise InputError(f"{document.path}: no animation {clip!r}; there are {names or 'none'}")
    return Scene(document, read_nodes(document), clips, Convention(unit=unit), frame_rate)
