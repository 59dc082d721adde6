"""Gaps of a clip filled: the likeliest motion, samples of it, and how far off it may be.

Gaps are filled as in Courty 2013, section 3.2.3.1 (Courty & Cuzol 2010, section 6.1), in whole frames, single
joints and the root's path, anywhere in a clip. Everything is learned from the known frames of the clip
itself, and of others if given. A gap costs a second or less, whatever the length of the clip.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, BoolArray
from marey._random import Rng
from marey._report import Result
from marey._work import Progress, tracked
from marey.body.fill.coordinates import (
    FillSettings,
    Gap,
    WindowCoordinates,
    gap_mask,
    gaps,
    hermite,
    linear,
)
from marey.body.fill.learned import Prediction, predict
from marey.body.fill.published import Content, kriged
from marey.body.kinematics import global_frames
from marey.body.motion import Motion, concatenate
from marey.errors import InputError
from marey.geometry import rotations as so3

METHODS = ("joint", "gp", "hermite", "slerp", "linear")


@dataclass(frozen=True, eq=False)
class FillResult(Result):
    """A clip without gaps.

    Attributes:
        motion: The clip with the likeliest content of its gaps.
        samples: The clip with other content, drawn at random.
        gap_mask: `(frames, joints)`, what was filled.
        confidence_radius: `(frames, joints)`, metres, within which a joint was with a probability of 90 %;
            0 where known.
        axis_radius: `(frames, joints, 3)`, the same for each coordinate by itself.
    """

    motion: Motion
    samples: tuple[Motion, ...]
    gap_mask: BoolArray
    confidence_radius: Array
    axis_radius: Array

    @property
    def frames_filled(self) -> int:
        """Number of frames at which something was missing."""
        return int(self.gap_mask.any(axis=1).sum())

    def deviated(self, motion: Motion, share: float) -> Motion:
        """A clip, such as the filled one, with a share of the first sample's deviation from it."""
        made, sample = self.motion, self.samples[0]
        change = so3.log(so3.multiply(so3.inverse(made.rotations), sample.rotations))
        rotations = so3.multiply(motion.rotations, so3.exp(share * change))
        return replace(motion, rotations=rotations, root=motion.root + share * (sample.root - made.root))

    @property
    def mean_radius(self) -> float:
        """Metres, mean of the confidence radius over the joints at frames that were filled."""
        filled = self.gap_mask.any(axis=1)
        return float(self.confidence_radius[filled].mean()) if filled.any() else 0.0


def fill(
    motion: Motion,
    ranges: ArrayLike | Sequence[tuple[int, int]],
    joints: Iterable[str] | None = None,
    *,
    samples: int = 0,
    method: str = "joint",
    examples: Sequence[Motion] = (),
    rng: Rng = None,
    progress: Progress | None = None,
    settings: FillSettings | None = None,
) -> FillResult:
    """Fill gaps of a clip; what the clip says there is not used.

    Args:
        ranges: `(first, stop)` in frames, or a mask `(frames,)` or `(frames, joints)`, true where missing.
        joints: Names of the joints that are missing there; all if None.
        samples: Number of alternatives to draw.
        method: "joint", learned from the clip as a whole; "gp", principal geodesics as independent Gaussian
            processes, as published (Courty & Cuzol 2010, section 6.1, see :mod:`.published`); "hermite" and
            "linear" (of rotation vectors) or "slerp", from the edges alone and without a radius.
        examples: Other clips of the skeleton at the same frame rate to learn from.
        rng: Seed or generator of the samples.
        progress: Called with the share of the work that is done.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> filled = fill(walk, [(60, 70)], samples=2, rng=0)
    >>> bool(np.abs(filled.motion.positions() - walk.positions()).max() < 0.02), len(filled.samples)
    (True, 2)
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    if isinstance(samples, bool) or samples < 0:
        raise InputError(f"samples: 0 or more, got {samples}")
    rng = np.random.default_rng(rng)
    mask = gap_mask(motion, ranges, joints)
    if motion.translations is not None and mask.any():
        raise InputError("joints of this clip slide; fill clips whose bones keep their length")
    if not mask.any():
        return FillResult(motion, (motion,) * samples, mask, np.zeros(mask.shape), np.zeros((*mask.shape, 3)))
    if method == "gp":
        versions = _Versions(motion, mask, samples)
        for content in kriged(
            motion, np.asarray(mask.any(axis=1)), versions.count, examples=examples, rng=rng
        ):
            versions.put_content(content)
        return versions.result(FillSettings().confidence)
    whole = concatenate([motion, *examples]) if examples else motion
    lengths = [clip.frames for clip in (motion, *examples)]
    everything = np.zeros((whole.frames, motion.joints), dtype=bool)
    everything[: motion.frames] = mask
    clips = np.repeat(np.arange(len(lengths)), lengths)
    coordinates = WindowCoordinates.of(whole, everything, clips, settings or FillSettings())
    versions = _Versions(motion, mask, samples)
    for gap in tracked(gaps(mask), progress):
        versions.put(coordinates, gap, _predicted(coordinates, gap, method), rng)
    return versions.result(coordinates.settings.confidence)


def _predicted(coordinates: WindowCoordinates, gap: Gap, method: str) -> Prediction:
    edges = coordinates.edges(gap)
    if not edges.before and not edges.after:
        names = [coordinates.motion.skeleton.names[joint] for joint in gap.joints[:3]]
        raise InputError(
            f"nothing is known of {', '.join(names)} in the whole clip; examples cannot place it"
        )
    if method == "joint":
        return predict(coordinates, gap, edges)
    known = coordinates.windows(np.array([gap.first]), edges, gap.joints, hollow=True)
    rate = coordinates.motion.frame_rate
    curve = (hermite(known, edges, rate) if method == "hermite" else linear(known, edges))[0]
    if method == "slerp" and edges.before and edges.after:
        curve = coordinates.slerp(gap, curve)
    return Prediction(edges, curve, np.empty((0, *curve.shape)))


class _Versions:
    """Frames at which something was missing, in several versions: the likeliest, samples, then those that
    the confidence radius is measured on."""

    def __init__(self, motion: Motion, mask: BoolArray, samples: int) -> None:
        self.motion, self.mask, self.samples = motion, mask, samples
        self.at: NDArray[np.intp] = np.flatnonzero(mask.any(axis=1))
        self.count = 1 + samples + int(np.clip(60_000 // len(self.at), 16, 48))
        poses, root = (np.asarray(part, np.float64)[self.at] for part in (motion.rotations, motion.root))
        self.rotations = np.repeat(poses[None], self.count, axis=0)
        self.root = np.repeat(root[None], self.count, axis=0)
        self.inflation = np.ones(len(self.at))

    def put(
        self, coordinates: WindowCoordinates, gap: Gap, found: Prediction, rng: np.random.Generator
    ) -> None:
        features = np.repeat(found.mean[None], self.count, axis=0)
        features[1 : 1 + self.samples] += found.sample(self.samples, rng)
        features[1 + self.samples :] += found.members(self.count - 1 - self.samples)
        rotations, root = coordinates.decode(gap, found.edges, features)
        first = int(np.searchsorted(self.at, gap.first))
        frames = slice(first, first + gap.frames)
        self.rotations[:, frames, gap.joints] = rotations
        if root is not None:
            self.root[:, frames] = root
        self.inflation[frames] = np.maximum(self.inflation[frames], found.inflation)

    def put_content(self, content: Content) -> None:
        """A gap in all versions; what is known there stays."""
        first = int(np.searchsorted(self.at, content.first))
        frames = slice(first, first + content.root.shape[1])
        gone = self.mask[self.at[frames]]
        self.rotations[:, frames] = np.where(gone[..., None], content.rotations, self.rotations[:, frames])
        self.root[:, frames] = np.where(gone[:, :1], content.root, self.root[:, frames])

    def result(self, confidence: float) -> FillResult:
        skeleton, mask = self.motion.skeleton, self.mask
        poses = zip(self.rotations, self.root, strict=True)
        places = np.stack([global_frames(skeleton.parents, skeleton.offsets, *p).positions for p in poses])
        away = places[1 + self.samples :] - places[0]
        radius, axis_radius = np.zeros(mask.shape), np.zeros((*mask.shape, 3))
        scale = self.inflation[:, None]
        radius[self.at] = np.quantile(np.linalg.norm(away, axis=-1), confidence, axis=0) * scale
        axis_radius[self.at] = np.quantile(np.abs(away), confidence, axis=0) * scale[..., None]
        made, *others = (self._clip(version) for version in range(1 + self.samples))
        return FillResult(made, tuple(others), mask, radius, axis_radius)

    def _clip(self, version: int) -> Motion:
        rotations, root = self.motion.rotations.copy(), self.motion.root.copy()
        rotations[self.at], root[self.at] = self.rotations[version], self.root[version]
        return replace(self.motion, rotations=so3.continuous(rotations), root=root)
