"""Where a captured surface touches the ground, and how much it slides there: from geometry alone.

Mesh captures carry no marks of contact (Boukhayma 2017, section 2.5.1), so a vertex touches when it is low
over the floor and slow for a moment. The floor is where the lowest vertices rest: level, or followed from one
rest to the next where a sequence climbs. Vertices that touch are gathered into a few patches (heels, balls,
toes …). All measures scale with the subject's height. Cost: two passes over the vertices, which may be maps
of files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray, FloatArray, IntArray, runs
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence

Array = NDArray[np.float64]

# In heights of the subject: how far above the floor a vertex may be and still touch, and how fast, a second.
LOW, SLOW = 0.025, 0.25
# Speeds are taken over so many seconds; a rest lasts so long.
SPAN_SECONDS, REST_SECONDS = 1 / 15, 0.15
# A floor is level when its rests lie within so many heights of each other.
LEVEL = 0.05
MOST_PATCHES = 12
# Vertices that touch in a smaller share of the frames are no soles, but a knee or a hand that once did.
SHARE_IN_CONTACT = 0.03


@dataclass(frozen=True, eq=False)
class Contacts:
    """Which parts of a subject touch the ground, frame by frame.

    floors: `(frames,)`, height of the ground under the subject, metres
    changes_level: `(sequences,)`, whether the ground rises or falls within a sequence
    soles: `(soles,)`, vertices that touch the ground at times
    patch_of: `(soles,)`, the patch of each
    touching: `(frames, patches)`, 0 in the air … 1 on the ground
    height: of the subject, metres
    """

    floors: Array
    changes_level: BoolArray
    soles: IntArray
    patch_of: IntArray
    touching: Array
    height: float

    @property
    def patches(self) -> int:
        """Number of patches."""
        return self.touching.shape[1]

    def patch_positions(self, vertices: FloatArray) -> Array:
        """Middles of the patches, `(..., patches, 3)`, of vertices `(..., vertices, 3)`."""
        return self.patch_averages() @ np.asarray(vertices[..., self.soles, :], np.float64)

    def low(self, heights: Array) -> Array:
        """How surely something so many metres above the floor touches, 0…1."""
        return _below(heights, LOW * self.height)

    def patch_averages(self) -> Array:
        """What takes values of the soles to means of the patches, `(patches, soles)`."""
        member = (self.patch_of == np.arange(self.patches)[:, None]).astype(np.float64)
        return member / np.maximum(member.sum(axis=1, keepdims=True), 1)


def find_contacts(library: Library) -> Contacts:
    """What touches the ground in the sequences of a library.

    >>> import marey
    >>> contacts = find_contacts(Library((marey.samples.mesh_sequence(),)))
    >>> bool(contacts.changes_level[0]), 4 <= contacts.patches <= 12
    (False, True)
    >>> 0.4 < float((contacts.touching.max(axis=1) > 0.5).mean()) <= 1.0
    True
    """
    height = subject_height(library)
    lowest = [_lowest(sequence) for sequence in library.sequences]
    grounds = [_floor(sequence, low, height) for sequence, low in zip(library.sequences, lowest, strict=True)]
    floors = np.concatenate([floor for floor, _ in grounds])
    touched = np.zeros(library.sequences[0].vertices.shape[1])
    for sequence, (floor, _) in zip(library.sequences, grounds, strict=True):
        for weights in _touching_vertices(sequence, floor, height):
            touched += weights
    soles = np.flatnonzero(touched >= SHARE_IN_CONTACT * library.frames)
    patch_of = _patches(library, soles)
    found = Contacts(
        floors,
        np.array([changing for _, changing in grounds]),
        soles.astype(np.int32),
        patch_of,
        np.zeros((library.frames, int(patch_of.max(initial=-1)) + 1)),
        height,
    )
    averages, row = found.patch_averages(), 0
    for sequence, (floor, _) in zip(library.sequences, grounds, strict=True):
        for weights in _touching_vertices(sequence, floor, height, soles):
            found.touching[row] = averages @ weights
            row += 1
    return found


def subject_height(library: Library) -> float:
    """Middle height of the bounding boxes of the frames, metres."""
    spans = [
        np.ptp(sequence.vertices[i, :, 1])
        for sequence in library.sequences
        for i in np.unique(np.linspace(0, sequence.frames - 1, 9).astype(int))
    ]
    return max(float(np.median(spans)), 1e-9)


@dataclass(frozen=True, eq=False)
class Slide:
    """How what touches the ground moves along it.

    speeds: `(frames - 1,)`, metres a second of what touches, from each frame to the next; 0 in the air
    touching: `(frames - 1,)`, how much touches; weight of the speeds
    contacts: number of times a patch came to touch
    seconds_in_contact: of all patches together
    """

    speeds: Array
    touching: Array
    contacts: int
    seconds_in_contact: float

    @property
    def speed(self) -> float:
        """Mean over all that touches, metres a second."""
        total = self.touching.sum()
        return float(self.speeds @ self.touching / total) if total > 0 else 0.0

    @property
    def per_contact(self) -> float:
        """Metres slid while a patch touches the ground once."""
        return self.speed * self.seconds_in_contact / self.contacts if self.contacts else 0.0


def slide(sequence: MeshSequence, contacts: Contacts, touching: Array | None = None) -> Slide:
    """How much a sequence slides where it touches the ground.

    contacts: of the library the sequence belongs to, or was made from
    touching: `(frames, patches)`, if not that of `contacts`

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> slide(walk, find_contacts(Library((walk,)))).speed < 0.1
    True
    """
    weights = contacts.touching if touching is None else touching
    speeds, amounts = np.zeros(sequence.frames - 1), np.zeros(sequence.frames - 1)
    before: FloatArray | None = None
    for i in range(sequence.frames):
        now = np.asarray(sequence.vertices[i, contacts.soles], np.float64)
        if before is not None and contacts.patches:
            both = np.minimum(weights[i - 1], weights[i])[contacts.patch_of]
            amounts[i - 1] = both.sum() / len(both)
            if amounts[i - 1] > 0:
                moved = np.hypot(now[:, 0] - before[:, 0], now[:, 2] - before[:, 2])
                speeds[i - 1] = both @ moved / both.sum() * sequence.frame_rate
        before = now
    down = weights > 0.5
    begun = int(down[0].sum() + (down[1:] & ~down[:-1]).sum()) if len(down) else 0
    return Slide(speeds, amounts, begun, float(down.sum()) / sequence.frame_rate)


def _below(values: Array, bound: float) -> Array:
    """1 up to half of the bound, 0 from one and a half of it, smooth between."""
    s = np.clip(1.5 - np.asarray(values, np.float64) / bound, 0.0, 1.0)
    return np.asarray(s * s * (3.0 - 2.0 * s))


def _lowest(sequence: MeshSequence) -> Array:
    return np.array([float(frame[:, 1].min()) for frame in sequence.vertices])


def _floor(sequence: MeshSequence, lowest: Array, height: float) -> tuple[Array, bool]:
    """Height of the ground below each frame, and whether it changes."""
    resting = _resting(sequence, lowest, height)
    if not resting.any():
        return np.full(sequence.frames, float(np.quantile(lowest, 0.1))), False
    heights = lowest[resting]
    if np.ptp(np.quantile(heights, [0.1, 0.9])) <= LEVEL * height:
        return np.full(sequence.frames, float(np.median(heights))), False
    frames = np.arange(sequence.frames)
    followed = np.interp(frames, frames[resting], heights)
    return _smoothed(followed, round(0.1 * sequence.frame_rate)), True


def _resting(sequence: MeshSequence, lowest: Array, height: float) -> BoolArray:
    """Frames whose lowest vertices are slow for a while, `(frames,)`."""
    half = _half_span(sequence)
    slow = np.zeros(sequence.frames, bool)
    for i in range(sequence.frames):
        first, last = max(i - half, 0), min(i + half, sequence.frames - 1)
        low = np.flatnonzero(sequence.vertices[i, :, 1] <= lowest[i] + 0.5 * LOW * height)
        moved = np.linalg.norm(sequence.vertices[last, low] - sequence.vertices[first, low], axis=-1)
        speed = np.median(moved) * sequence.frame_rate / max(last - first, 1)
        slow[i] = speed < SLOW * height
    shortest = max(1, round(REST_SECONDS * sequence.frame_rate))
    for begin, end in runs(slow):
        if end - begin < min(shortest, sequence.frames):
            slow[begin:end] = False
    return slow


def _touching_vertices(
    sequence: MeshSequence, floor: Array, height: float, chosen: NDArray[np.int64] | None = None
) -> Iterator[Array]:
    """Frame by frame, how surely each (chosen) vertex touches."""
    half = _half_span(sequence)
    which = slice(None) if chosen is None else chosen
    for i in range(sequence.frames):
        first, last = max(i - half, 0), min(i + half, sequence.frames - 1)
        weights = _below(sequence.vertices[i, which, 1] - floor[i], LOW * height)
        near = np.flatnonzero(weights)
        rows = near if chosen is None else chosen[near]
        moved = np.linalg.norm(
            np.asarray(sequence.vertices[last][rows], np.float64) - sequence.vertices[first][rows], axis=-1
        )
        weights[near] *= _below(moved * sequence.frame_rate / max(last - first, 1), SLOW * height)
        yield weights


def _half_span(sequence: MeshSequence) -> int:
    return max(1, round(0.5 * SPAN_SECONDS * sequence.frame_rate))


def _patches(library: Library, soles: NDArray[np.int64]) -> IntArray:
    """Which patch each sole vertex belongs to: those always near one of a few far apart ones.

    Vertices are apart by the farthest they ever are, so that two feet standing together stay two.
    """
    if len(soles) == 0:
        return np.zeros(0, np.int32)
    shown = np.unique(np.linspace(0, library.frames - 1, 24).astype(int))
    points = np.stack([np.asarray(library.vertices(int(i))[soles], np.float64) for i in shown])
    nearest, patch_of = np.full(len(soles), np.inf), np.zeros(len(soles), np.int32)
    centre = 0
    for patch in range(min(MOST_PATCHES, len(soles))):
        apart = np.linalg.norm(points - points[:, centre : centre + 1], axis=-1).max(axis=0)
        closer = apart < nearest
        nearest[closer], patch_of[closer] = apart[closer], patch
        centre = int(np.argmax(nearest))
        if nearest[centre] <= 0:
            break
    return np.unique(patch_of, return_inverse=True)[1].astype(np.int32)


def _smoothed(values: Array, radius: int) -> Array:
    if radius < 1:
        return values
    padded = np.pad(values, radius, mode="edge")
    return np.convolve(padded, np.full(2 * radius + 1, 1 / (2 * radius + 1)), mode="valid")
