"""Ground contacts of a captured surface, and foot skate, from geometry alone.

Mesh captures carry no marks of contact (Boukhayma 2017, section 2.5.1), so a vertex touches when it is low
over the floor and slow for a moment. The floor is where the lowest vertices rest: level, or followed from one
rest to the next where a sequence climbs. Vertices that touch are grouped into a few patches (heels, balls,
toes …). Foot skate is the speed of what touches; that of an animation is compared with the very frames it is
made of. Cost: a few passes over the vertices, which may be maps of files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array, BoolArray, FloatArray, IntArray, Integers, derived, runs, width
from marey.surface.sequence import Library, MeshSequence

if TYPE_CHECKING:
    from marey.surface.synthesis.animation import Animation


@dataclass(frozen=True)
class ContactSettings:
    """What counts as contact, in heights of the subject.

    Attributes:
        height: how far above the floor a vertex may be; a floor whose rests lie within twice this is level.
        speed: how fast it may move, a second.
        share: vertices in contact for a smaller share of the frames are not soles.
        patches: into which soles are grouped, at most.
    """

    height: float = 0.025
    speed: float = 0.25
    share: float = 0.03
    patches: int = 12


@dataclass(frozen=True, eq=False)
class Contacts:
    """Which parts of a subject touch the ground, frame by frame.

    Attributes:
        floors: `(frames,)`, height of the ground under the subject, metres.
        changes_level: `(sequences,)`, whether the ground rises or falls within a sequence.
        soles: `(soles,)`, vertices that touch the ground at times.
        patch_of: `(soles,)`, the patch of each.
        touching: `(frames, patches)`, 0 in the air … 1 on the ground.
        height: of the subject, metres.
        threshold: height above the floor up to which vertices touch, metres.
    """

    floors: Array
    changes_level: BoolArray
    soles: IntArray
    patch_of: IntArray
    touching: Array
    height: float
    threshold: float

    patches = derived(width, "touching", "Number of patches.")

    def patch_positions(self, vertices: FloatArray) -> Array:
        """Centres of the patches, `(..., patches, 3)`, of vertices `(..., vertices, 3)`."""
        return patch_averages(self.patch_of) @ np.asarray(vertices[..., self.soles, :], np.float64)

    def low(self, heights: Array) -> Array:
        """How surely something so many metres above the floor touches, 0…1."""
        return _below(heights, self.threshold)


def find_contacts(library: Library, settings: ContactSettings | None = None) -> Contacts:
    """What touches the ground in the sequences of a library.

    >>> import marey
    >>> contacts = find_contacts(Library((marey.samples.mesh_sequence(),)))
    >>> bool(contacts.changes_level[0]), 4 <= contacts.patches <= 12
    (False, True)
    >>> 0.4 < float((contacts.touching.max(axis=1) > 0.5).mean()) <= 1.0
    True
    """
    settings = settings or ContactSettings()
    spans = [
        np.ptp(sequence.vertices[i, :, 1])
        for sequence in library.sequences
        for i in np.unique(np.linspace(0, sequence.frames - 1, 9).astype(int))
    ]
    height = max(float(np.median(spans)), 1e-9)
    low, slow = settings.height * height, settings.speed * height
    floors = [_floor(sequence, low, slow) for sequence in library.sequences]
    grounds = list(zip(library.sequences, floors, strict=True))
    touched = np.zeros(library.sequences[0].vertices.shape[1])
    for sequence, floor in grounds:
        for weights in _touching(sequence, floor, low, slow):
            touched += weights
    soles = np.flatnonzero(touched >= settings.share * library.frames)
    patch_of = _patches(library, soles, settings.patches)
    averages = patch_averages(patch_of)
    touching = [
        averages @ weights
        for sequence, floor in grounds
        for weights in _touching(sequence, floor, low, slow, soles)
    ]
    return Contacts(
        np.concatenate(floors),
        np.array([bool(np.ptp(floor) > 0) for floor in floors]),
        soles.astype(np.int32),
        patch_of,
        np.array(touching).reshape(library.frames, len(averages)),
        height,
        low,
    )


def patch_averages(patch_of: IntArray) -> Array:
    """What takes values of the soles to averages over their patches, `(patches, soles)`."""
    member = (patch_of == np.arange(int(patch_of.max(initial=-1)) + 1)[:, None]).astype(np.float64)
    return np.asarray(member / np.maximum(member.sum(axis=1, keepdims=True), 1))


@dataclass(frozen=True, eq=False)
class FootSkate:
    """How what touches the ground moves along it.

    Attributes:
        speeds: `(frames - 1,)`, metres a second of what touches, from each frame to the next; 0 in the air.
        touching: `(frames - 1,)`, how much touches; weight of the speeds.
    """

    speeds: Array
    touching: Array

    @property
    def speed(self) -> float:
        """Mean over all that touches, metres a second."""
        total = self.touching.sum()
        return float(self.speeds @ self.touching / total) if total > 0 else 0.0


def foot_skate(sequence: MeshSequence, contacts: Contacts, touching: Array | None = None) -> FootSkate:
    """How much a sequence slides where it touches the ground.

    Args:
        sequence: of the library of `contacts`, or made from it.
        contacts: which vertices are soles.
        touching: `(frames, patches)`, if not that of `contacts`.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> foot_skate(walk, find_contacts(Library((walk,)))).speed < 0.1
    True
    """
    weights = contacts.touching if touching is None else touching
    speeds, amounts = np.zeros(sequence.frames - 1), np.zeros(sequence.frames - 1)
    if contacts.patches:
        both = np.minimum(weights[:-1], weights[1:])[:, contacts.patch_of]
        amounts = both.mean(axis=1)
        for i in np.flatnonzero(amounts):
            steps = np.diff(sequence.vertices[i : i + 2][:, contacts.soles].astype(np.float64), axis=0)[0]
            moved = np.hypot(steps[:, 0], steps[:, 2])
            speeds[i] = both[i] @ moved / both[i].sum() * sequence.frame_rate
    return FootSkate(speeds, amounts)


@dataclass(frozen=True, eq=False)
class FootSkateReport:
    """Foot skate of an animation and of its material.

    Attributes:
        animation: of the animation's frames.
        captured: metres a second, of the captured frames it consists of.
    """

    animation: FootSkate
    captured: float

    @property
    def ratio(self) -> float:
        """How many times as fast the animation's feet slide; 1 if nothing touches the ground."""
        return self.animation.speed / self.captured if self.captured > 0 else 1.0


def compare_foot_skate(animation: Animation, library: Library, contacts: Contacts) -> FootSkateReport:
    """Foot skate of an animation beside that of the captured frames it is made of.

    Contact is known from the captured frames; in a blend it counts as far as a patch is still low.

    >>> import marey
    >>> from marey.surface.synthesis.animation import Animation, Provenance
    >>> walk = marey.samples.mesh_sequence()[:40]
    >>> same = Animation(walk, Provenance(np.arange(40), np.arange(40), np.zeros(40), np.zeros(40, bool)))
    >>> library = Library((walk,))
    >>> round(compare_foot_skate(same, library, find_contacts(library)).ratio, 6)
    1.0
    """
    origin = animation.provenance
    shares = np.stack([1 - origin.weights, origin.weights])
    frames = np.stack([origin.sources, origin.destinations])
    touching = (shares[..., None] * contacts.touching[frames]).sum(axis=0)
    # The ground below the animation rises with that of the captured frames.
    goes_on = np.abs(np.diff(frames)) <= 2
    rises = np.where(goes_on, 0.5 * (shares[:, 1:] + shares[:, :-1]) * np.diff(contacts.floors[frames]), 0.0)
    floors = contacts.floors[frames[0, 0]] + np.concatenate([[0.0], np.cumsum(rises.sum(axis=0))])
    for i in np.flatnonzero(origin.synthetic):
        heights = contacts.patch_positions(animation.sequence.vertices[i])[:, 1] - floors[i]
        touching[i] *= contacts.low(heights)
    speeds, amounts = np.zeros(library.frames), np.zeros(library.frames)
    for sequence, start in zip(library.sequences, library.starts, strict=False):
        rows = slice(start, start + sequence.frames)
        found = foot_skate(sequence, contacts, contacts.touching[rows])
        speeds[rows][:-1], amounts[rows][:-1] = found.speeds, found.touching
    weights = shares[:, :-1] * amounts[frames[:, :-1]]
    total = weights.sum()
    captured = float((weights * speeds[frames[:, :-1]]).sum() / total) if total > 0 else 0.0
    return FootSkateReport(foot_skate(animation.sequence, contacts, touching), captured)


def _below(values: FloatArray, bound: float) -> Array:
    """1 up to half of the bound, 0 from one and a half of it, smooth between."""
    s = np.clip(1.5 - np.asarray(values, np.float64) / bound, 0.0, 1.0)
    return np.asarray(s * s * (3.0 - 2.0 * s))


def _floor(sequence: MeshSequence, low: float, slow: float) -> Array:
    """Height of the ground below each frame, `(frames,)`; constant where it is level."""
    lowest = np.array([float(frame[:, 1].min()) for frame in sequence.vertices])
    resting = np.zeros(sequence.frames, bool)
    for i in range(sequence.frames):
        near = np.flatnonzero(sequence.vertices[i, :, 1] <= lowest[i] + 0.5 * low)
        resting[i] = np.median(_speeds(sequence, i, near)) < slow
    shortest = min(max(1, round(0.15 * sequence.frame_rate)), sequence.frames)
    for begin, end in runs(resting):
        if end - begin < shortest:
            resting[begin:end] = False
    if not resting.any():
        return np.full(sequence.frames, float(np.quantile(lowest, 0.1)))
    heights = lowest[resting]
    if np.ptp(np.quantile(heights, [0.1, 0.9])) <= 2 * low:
        return np.full(sequence.frames, float(np.median(heights)))
    frames, radius = np.arange(sequence.frames), round(0.1 * sequence.frame_rate)
    padded = np.pad(np.interp(frames, frames[resting], heights), radius, mode="edge")
    return np.convolve(padded, np.full(2 * radius + 1, 1 / (2 * radius + 1)), mode="valid")


def _touching(
    sequence: MeshSequence, floor: Array, low: float, slow: float, chosen: Integers | None = None
) -> Iterator[Array]:
    """Frame by frame, how surely each (chosen) vertex touches."""
    for i in range(sequence.frames):
        heights = sequence.vertices[i, slice(None) if chosen is None else chosen, 1] - floor[i]
        weights = _below(heights, low)
        near = np.flatnonzero(weights)
        weights[near] *= _below(_speeds(sequence, i, near if chosen is None else chosen[near]), slow)
        yield weights


def _speeds(sequence: MeshSequence, frame: int, vertices: Integers) -> Array:
    """Metres a second of some vertices around a frame, over a fifteenth of a second."""
    half = max(1, round(sequence.frame_rate / 30))
    first, last = max(frame - half, 0), min(frame + half, sequence.frames - 1)
    moved = sequence.vertices[last][vertices].astype(np.float64) - sequence.vertices[first][vertices]
    return np.asarray(np.linalg.norm(moved, axis=-1) * sequence.frame_rate / max(last - first, 1))


def _patches(library: Library, soles: Integers, most: int) -> IntArray:
    """Which patch each sole vertex belongs to: that of the nearest of a few vertices far from each other.

    Distances are the largest over the frames, so that two feet side by side stay two.
    """
    shown = np.unique(np.linspace(0, library.frames - 1, 24).astype(int))
    points = np.stack([np.asarray(library.vertices(int(i))[soles], np.float64) for i in shown])
    nearest, patch_of = np.full(len(soles), np.inf), np.zeros(len(soles), np.int32)
    centre = 0
    for patch in range(min(most, len(soles))):
        apart = np.linalg.norm(points - points[:, centre : centre + 1], axis=-1).max(axis=0)
        closer = apart < nearest
        nearest[closer], patch_of[closer] = apart[closer], patch
        centre = int(np.argmax(nearest))
        if nearest[centre] <= 0:
            break
    return np.unique(patch_of, return_inverse=True)[1].astype(np.int32)
