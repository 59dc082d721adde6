"""Holes of a clip filled: the likeliest motion, alternatives, and how far off it may be.

Hole filling of Courty 2013, section 3.2.3.1 (Courty & Cuzol 2010, section 6.1), for whole frames, single
joints and the root's path, anywhere in a clip. Everything is learned from the known frames of the clip
itself, and of others if given. A hole costs a second or less, whatever the length of the clip.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._progress import Progress, tracked
from marey._random import Rng
from marey.body.filling.bridging import METHODS as METHODS
from marey.body.filling.bridging import Bridge, bridge
from marey.body.filling.gaps import Hole, Mask, holes, missing
from marey.body.filling.stretches import Coordinates
from marey.body.kinematics import global_frames
from marey.body.motion import Motion, concatenate
from marey.errors import InputError
from marey.geometry.continuity import continuous

Array = NDArray[np.float64]

BAND = 0.9


@dataclass(frozen=True, eq=False)
class Filling:
    """A clip without holes.

    motion: with the likeliest content of its holes
    alternatives: the clip with other content, drawn at random
    missing: `(frames, joints)`, what was filled
    band: `(frames, joints)`, metres, within which a joint was with a probability of 90 %; 0 where known
    axis_band: `(frames, joints, 3)`, the same for each coordinate by itself
    """

    motion: Motion
    alternatives: tuple[Motion, ...]
    missing: Mask
    band: Array
    axis_band: Array

    @property
    def frames_filled(self) -> int:
        """At how many frames something was missing."""
        return int(self.missing.any(axis=1).sum())

    @property
    def mean_band(self) -> float:
        """Metres, mean of the band over the joints at frames that were filled."""
        filled = self.missing.any(axis=1)
        return float(self.band[filled].mean()) if filled.any() else 0.0


def fill(
    motion: Motion,
    gaps: ArrayLike | Sequence[tuple[int, int]],
    joints: Iterable[str] | None = None,
    *,
    samples: int = 0,
    method: str = "joint",
    examples: Sequence[Motion] = (),
    rng: Rng = None,
    progress: Progress | None = None,
) -> Filling:
    """Fill holes of a clip; what the clip says there is not looked at.

    gaps: `(first, stop)` in frames, or a mask `(frames,)` or `(frames, joints)`, true where it is missing
    joints: names of the joints that are missing in the gaps; all if None
    samples: how many alternatives to draw
    method: "joint", learned from the clip as a whole; "gp", each number as an independent Gaussian process;
        "cubic" and "linear" (of rotation vectors) or "slerp", by the edges alone and without a band
    examples: other clips of the skeleton at the same frame rate to learn from

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> filled = fill(walk, [(60, 70)], samples=2, rng=0)
    >>> bool(np.abs(filled.motion.positions() - walk.positions()).max() < 0.02), len(filled.alternatives)
    (True, 2)
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    if isinstance(samples, bool) or samples < 0:
        raise InputError(f"samples: 0 or more, got {samples}")
    rng = np.random.default_rng(rng)
    mask = missing(motion, gaps, joints)
    if motion.translations is not None and mask.any():
        raise InputError("joints of this clip slide; fill clips whose bones keep their length")
    found = holes(mask)
    if not found:
        return Filling(motion, (motion,) * samples, mask, np.zeros(mask.shape), np.zeros((*mask.shape, 3)))
    coordinates = _coordinates(motion, mask, examples)
    canvas = _Canvas.of(motion, mask, samples)
    for hole in tracked(found, progress):
        canvas.put(coordinates, hole, bridge(coordinates, hole, motion.frames, method), rng)
    return canvas.filling(motion, mask)


@dataclass(frozen=True, eq=False)
class _Canvas:
    """Frames at which something was missing, in several versions: the likeliest, alternatives, then those
    that tell the band. rotations: `(versions, frames, joints, 4)`; root: `(versions, frames, 3)`."""

    at: NDArray[np.intp]
    rotations: Array
    root: Array
    samples: int
    scales: Array

    @classmethod
    def of(cls, motion: Motion, mask: Mask, samples: int) -> _Canvas:
        at = np.flatnonzero(mask.any(axis=1))
        members = int(np.clip(60_000 // len(at), 16, 48))
        versions = 1 + samples + members
        rotations = np.repeat(np.asarray(motion.rotations, np.float64)[at][None], versions, axis=0)
        root = np.repeat(np.asarray(motion.root, np.float64)[at][None], versions, axis=0)
        return cls(at, rotations, root, samples, np.ones(len(at)))

    def put(self, coordinates: Coordinates, hole: Hole, found: Bridge, rng: np.random.Generator) -> None:
        versions = len(self.rotations)
        numbers = np.repeat(found.mean[None], versions, axis=0)
        numbers[1 : 1 + self.samples] += found.draw(self.samples, rng)
        numbers[1 + self.samples :] += found.members(versions - 1 - self.samples)
        rotations, root = coordinates.decode(hole, found.edges, numbers)
        first = int(np.searchsorted(self.at, hole.first))
        span = slice(first, first + hole.frames)
        self.rotations[:, span, hole.joints] = rotations
        if root is not None:
            self.root[:, span] = root
        self.scales[span] = np.maximum(self.scales[span], found.inflation)

    def filling(self, motion: Motion, mask: Mask) -> Filling:
        made = [self._clip(motion, version) for version in range(1 + self.samples)]
        skeleton = motion.skeleton
        places = np.stack(
            [
                global_frames(skeleton.parents, skeleton.offsets, rotations, root).positions
                for rotations, root in zip(self.rotations, self.root, strict=True)
            ]
        )
        away = places[1 + self.samples :] - places[0]
        band, axis_band = np.zeros(mask.shape), np.zeros((*mask.shape, 3))
        band[self.at] = np.quantile(np.linalg.norm(away, axis=-1), BAND, axis=0) * self.scales[:, None]
        axis_band[self.at] = np.quantile(np.abs(away), BAND, axis=0) * self.scales[:, None, None]
        return Filling(made[0], tuple(made[1:]), mask, band, axis_band)

    def _clip(self, motion: Motion, version: int) -> Motion:
        rotations, root = motion.rotations.copy(), motion.root.copy()
        rotations[self.at], root[self.at] = self.rotations[version], self.root[version]
        return replace(motion, rotations=continuous(rotations), root=root)


def _coordinates(motion: Motion, mask: Mask, examples: Sequence[Motion]) -> Coordinates:
    """The clip and the examples behind it; no stretch to learn from crosses from one to the next."""
    clips = [motion, *examples]
    lengths = [clip.frames for clip in clips]
    whole = np.zeros((sum(lengths), motion.joints), dtype=bool)
    whole[: motion.frames] = mask
    together = concatenate(clips) if examples else motion
    return Coordinates.of(together, whole, np.repeat(np.arange(len(clips)), lengths))
