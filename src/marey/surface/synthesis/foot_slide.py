"""How much the feet of an animation slide, beside those of the captured frames it is made of.

What touches the ground is known from the captured frames; in a blend it counts as far as it is still low.
Each frame is held against the very frames it comes from, so that a run is not measured by a walk. Cost: one
pass over the vertices of the soles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.surface.contacts import Contacts, Slide, find_contacts, slide
from marey.surface.library import Library
from marey.surface.synthesis.animation import Animation

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FootSlide:
    """Slide of an animation and of its material.

    animation: of the animation's frames
    captured: metres a second, of the captured frames it consists of
    """

    animation: Slide
    captured: float

    @property
    def ratio(self) -> float:
        """How many times as fast the animation's feet slide; 1 if nothing touches the ground."""
        return self.animation.speed / self.captured if self.captured > 0 else 1.0


def foot_slide(animation: Animation, library: Library, contacts: Contacts | None = None) -> FootSlide:
    """Measure an animation made from a library.

    contacts: of the library, if at hand

    >>> import marey
    >>> from marey.surface.synthesis.animation import Provenance
    >>> walk = marey.samples.mesh_sequence()[:40]
    >>> same = Animation(walk, Provenance(np.arange(40), np.arange(40), np.zeros(40), np.zeros(40, bool)))
    >>> round(foot_slide(same, Library((walk,))).ratio, 6)
    1.0
    """
    known = find_contacts(library) if contacts is None else contacts
    touching = _touching(animation, known)
    measured = slide(animation.sequence, known, touching)
    speeds, amounts = _captured_steps(library, known)
    origin = animation.provenance
    shares = np.stack([1 - origin.weights, origin.weights])[:, :-1]
    frames = np.stack([origin.sources, origin.destinations])[:, :-1]
    weights = shares * amounts[frames]
    total = weights.sum()
    return FootSlide(measured, float((weights * speeds[frames]).sum() / total) if total > 0 else 0.0)


def _touching(animation: Animation, contacts: Contacts) -> Array:
    """How surely each patch touches in each frame of the animation, `(frames, patches)`."""
    origin = animation.provenance
    share = origin.weights[:, None]
    known = (1 - share) * contacts.touching[origin.sources] + share * contacts.touching[origin.destinations]
    floors = _floors(animation, contacts)
    result = known.copy()
    for i in np.flatnonzero(origin.synthetic):
        heights = contacts.patch_positions(animation.sequence.vertices[i])[:, 1] - floors[i]
        result[i] *= contacts.low(heights)
    return result


def _floors(animation: Animation, contacts: Contacts) -> Array:
    """Height of the ground below each frame: it rises with that of the captured frames."""
    origin = animation.provenance
    floors = contacts.floors
    rises = np.zeros(len(origin.sources))
    for frames, share in ((origin.sources, 1 - origin.weights), (origin.destinations, origin.weights)):
        goes_on = np.abs(np.diff(frames)) <= 2
        rises[1:] += np.where(goes_on, 0.5 * (share[1:] + share[:-1]) * np.diff(floors[frames]), 0.0)
    return np.asarray(floors[origin.sources[0]] + np.cumsum(rises))


def _captured_steps(library: Library, contacts: Contacts) -> tuple[Array, Array]:
    """Speed and amount of what touches from each captured frame to the next, `(frames,)` each."""
    speeds, amounts = np.zeros(library.frames), np.zeros(library.frames)
    for sequence, start in zip(library.sequences, library.starts, strict=False):
        rows = slice(start, start + sequence.frames)
        found = slide(sequence, contacts, contacts.touching[rows])
        speeds[rows][:-1], amounts[rows][:-1] = found.speeds, found.touching
    return speeds, amounts
