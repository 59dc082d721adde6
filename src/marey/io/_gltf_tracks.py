"""Animations of a glTF file: its keys, and what they say at evenly spaced frames.

The frame rate is taken from the keys when they lie on an even grid, else it is 30. Rotations are
interpolated on the sphere (glTF 2.0, section 3.11 and appendix C). Cost: linear in frames and tracks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.errors import FormatError
from marey.geometry import rotations as rot
from marey.io._gltf_buffers import Buffers
from marey.io._gltf_json import Document, Entry
from marey.io._gltf_nodes import Local, Nodes, scales

Array = NDArray[np.float64]

USUAL_RATE = 30.0
# Evenly spaced keys slower than this are sparse key poses, not frames.
_SLOWEST_GRID, _FASTEST_GRID = 6.0, 1000.0
# Keys may miss the grid by this part of a frame: float32 times of long clips do. Off the grid, only
# rounding counts as a hit.
_GRID_TOLERANCE, _ROUNDING = 0.05, 1e-3
_MOST_FRAMES = 100_000
_MOST_LOCAL_POSES = 30_000_000

_PATHS = {"rotation": 4, "translation": 3, "scale": 3}


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

    def sampler(self, clip: Clip, nodes: Nodes) -> Callable[[int], Local]:
        """A function that gives a node in its parent's frame at every frame (one row if it is still)."""
        return lambda node: self._local(clip, nodes.rest[node], node)

    def _local(self, clip: Clip, rest: Local, node: int) -> Local:
        rotation, translation, stretch = rest.rotation, rest.translation, rest.stretch
        if (track := clip.tracks.get((node, "rotation"))) is not None:
            rotation = self._turning(track)
        if (track := clip.tracks.get((node, "translation"))) is not None:
            translation = self.sampled(track)
        if (track := clip.tracks.get((node, "scale"))) is not None:
            stretch = scales(self.sampled(track))
        return Local(rotation, translation, stretch)

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


def read_clips(document: Document, buffers: Buffers) -> list[Clip]:
    """All animations, with tracks of transforms and morph weights; those without any are left out."""
    animations = document.all("animations")
    usual = document.path.stem
    clips = []
    for number, entry in enumerate(animations):
        tracks = _read_tracks(document, buffers, entry)
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
    even = None if frame_rate else clip.stated_rate or _even_rate(times)
    rate = frame_rate or even or USUAL_RATE
    tolerance = _GRID_TOLERANCE if even else _ROUNDING
    wanted = (times[-1] - times[0]) * rate + tolerance + 1
    most = min(max(_MOST_FRAMES, 2 * len(times)), _MOST_LOCAL_POSES // max(nodes, 1))
    if wanted > most + 1:
        raise FormatError(
            f"animation {clip.name!r:.60} lasts {times[-1] - times[0]:.6g} s: at {rate:g} frames per second "
            f"that is more than {most} frames; give a lower frame_rate",
            path=clip.entry.path,
        )
    return Frames(
        times=times[0] + np.arange(int(wanted)) / rate,
        rate=rate,
        tolerance=tolerance / rate,
    )


def _read_tracks(document: Document, buffers: Buffers, entry: Entry) -> dict[tuple[int, str], Track]:
    samplers = entry.entries("samplers")
    times: dict[int, Array] = {}
    tracks: dict[tuple[int, str], Track] = {}
    for channel in entry.entries("channels"):
        target = channel.entry("target")
        node, path = target.index("node", len(document.all("nodes"))), target.values.get("path")
        sampler = channel.index("sampler", len(samplers))
        if node is None or sampler is None or not isinstance(path, str) or (node, path) in tracks:
            continue
        if path in _PATHS or path == "weights":
            width = _PATHS.get(path, 1)
            tracks[node, path] = _read_track(document, buffers, samplers[sampler], width, times)
    return tracks


def _read_track(
    document: Document, buffers: Buffers, sampler: Entry, width: int, times: dict[int, Array]
) -> Track:
    """Keys and values; for morph weights (`width` 1) the values of a key make up a row."""
    accessors = len(document.all("accessors"))
    keys, output = sampler.index("input", accessors), sampler.index("output", accessors)
    if keys is None or output is None:
        sampler.fail("input" if keys is None else "output", "is missing")
    interpolation = sampler.text("interpolation", "LINEAR")
    if interpolation not in ("LINEAR", "STEP", "CUBICSPLINE"):
        sampler.fail("interpolation", f"{interpolation[:20]!r} is unknown")
    if keys not in times:
        times[keys] = buffers.floats(keys, 1)[:, 0].astype(np.float64)
        if (np.diff(times[keys]) <= 0).any():
            sampler.fail("input", "the key times do not increase")
    count = len(times[keys])
    values = buffers.floats(output, width).astype(np.float64)
    parts = 3 if interpolation == "CUBICSPLINE" else 1
    fits = len(values) % (count * parts) == 0 if width == 1 else len(values) == count * parts
    if not fits:
        sampler.fail("output", f"{len(values)} values for {count} keys")
    if width == 4:
        values = np.roll(values, 1, axis=-1)
        if interpolation != "CUBICSPLINE" and not values.any(axis=-1).all():
            sampler.fail("output", "one of the rotations is zero")
    shape = (count, 3, -1) if parts == 3 else (count, -1)
    return Track(times[keys], values.reshape(shape), interpolation)


def _hermite(values: Array, start: NDArray[np.intp], share: Array, step: Array) -> Array:
    """Cubic splines of keys `(keys, 3, width)`: in-tangent, value, out-tangent."""
    s, s2, s3 = share, share**2, share**3
    return (
        (2 * s3 - 3 * s2 + 1) * values[start, 1]
        + step * (s3 - 2 * s2 + s) * values[start, 2]
        + (3 * s2 - 2 * s3) * values[start + 1, 1]
        + step * (s3 - s2) * values[start + 1, 0]
    )


def _apart(times: Array) -> Array:
    """Sorted times without those that differ from the one before only by rounding."""
    gaps = np.diff(times)
    return times[np.concatenate([[True], gaps > 1e-5 + 4e-7 * np.abs(times[1:])])]


def _even_rate(times: Array) -> float | None:
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
    if not on_grid or not _SLOWEST_GRID <= rate <= _FASTEST_GRID or counts[-1] >= _MOST_FRAMES + len(times):
        return None
    return next((round(rate, d) for d in range(4) if abs(round(rate, d) / rate - 1) < 1e-5), float(rate))
