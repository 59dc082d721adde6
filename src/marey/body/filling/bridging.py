"""The content of one hole by one method: the mean in the coordinates of its stretch, and what may be instead.

Of joints that are missing while others are known, most follows from the others (a linear regression over the
whole frames of the clip); what does not is a series of its own with a hole. Cost: see :mod:`learning`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.body.filling import kriging
from marey.body.filling.gaps import Hole
from marey.body.filling.guiding import Guide
from marey.body.filling.interpolation import likely, smooth, straight, surroundings
from marey.body.filling.learning import BEYOND, learn
from marey.body.filling.stretches import Coordinates, Edges
from marey.errors import InputError

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

METHODS = ("joint", "gp", "cubic", "slerp", "linear")
# Stretches to learn from: at least, at most, and at most so many frames of them.
FEWEST, MOST, MOST_FRAMES = 8, 300, 40_000
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1)
# Seconds of a hole from which on paths through the world say more than angles.
GUIDED = 0.15


@dataclass(frozen=True, eq=False)
class Bridge:
    """Content of a hole.

    edges: what is known around it
    mean: `(frames, numbers)`
    deviations: `(n, frames, numbers)`, ways in which it may be different, equally likely; can be none
    inflation: by how much more it may, since the clip showed so few
    independent: whether numbers deviate each by itself: then `deviations` is `(numbers, frames, frames)`
    """

    edges: Edges
    mean: Array
    deviations: Array
    inflation: float = 1.0
    independent: bool = False

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Random deviations `(count, frames, numbers)`: Gaussian, as large as one of them by chance."""
        if self.independent:
            noise = rng.standard_normal((count, len(self.deviations), len(self.mean)))
            return np.einsum("dtk,ndk->ntd", self.deviations, noise, optimize=True)
        many = len(self.deviations)
        if not many:
            return np.zeros((count, *self.mean.shape))
        # Busy stretches deviate far more than calm ones: one Gaussian for all would be too wide for most.
        sizes = np.sqrt(np.square(self.deviations).mean(axis=(1, 2)))
        likely = np.maximum(sizes, max(float(np.median(sizes)), 1e-300))
        noise = rng.standard_normal((count, many)) / likely
        noise *= self.inflation * rng.choice(sizes, count)[:, None]
        noise /= max(float(np.linalg.norm(sizes / likely)), 1e-300)
        return np.tensordot(noise, self.deviations, axes=1)

    def members(self, count: int) -> Array:
        """Deviations `(count, frames, numbers)` that stand for all of them."""
        if self.independent:
            return self.draw(count, np.random.default_rng(0))
        if not len(self.deviations):
            return np.zeros((count, *self.mean.shape))
        at = np.linspace(0, len(self.deviations) - 1, count).round().astype(int)
        return self.deviations[at]


def bridge(coordinates: Coordinates, hole: Hole, frames: int, method: str) -> Bridge:
    """Bridge a hole of the first `frames` frames."""
    edges = coordinates.edges(hole, frames)
    if not edges.before and not edges.after:
        names = [coordinates.motion.skeleton.names[joint] for joint in hole.joints[:3]]
        raise InputError(
            f"nothing is known of {', '.join(names)} in the whole clip; examples cannot place it"
        )
    here = np.array([hole.first])
    if method == "gp":
        return _kriged(coordinates, hole, edges, frames)
    if method != "joint":
        known = coordinates.stretches(here, edges, hole.joints, hollow=True)
        if method == "cubic":
            curve = smooth(known, edges, coordinates.motion.frame_rate)
        else:
            curve = straight(known, edges)
        if method == "slerp" and edges.before and edges.after:
            curve[0] = coordinates.turned_evenly(hole, curve[0])
        return Bridge(edges, curve[0], np.empty((0, *curve[0].shape)))
    return _learned(coordinates, hole, edges)


def _learned(coordinates: Coordinates, hole: Hole, edges: Edges) -> Bridge:
    rate, here = coordinates.motion.frame_rate, np.array([hole.first])
    # World paths that lead the poses are learned about the cubic curve.
    base = smooth if _guided(coordinates, hole, edges) else likely
    starts = _thinned(coordinates.whole(edges), edges.frames)
    others = _others(coordinates, hole)
    choices: list[tuple[Array, Array] | None] = [None]
    if len(others) and len(hole.joints[hole.joints > 0]):
        choices.append(_following(coordinates, hole, others))
    best: tuple[float, tuple[Array, Array] | None, Array] | None = None
    for series in choices:
        if len(starts) < FEWEST:
            best = (0.0, series, np.empty(0))
            continue
        left_out = None if series is None else coordinates.vectors - series[1]
        known = coordinates.stretches(starts, edges, hole.joints, left_out)
        inside = known[:, edges.before : edges.before + edges.frames]
        loss = float(np.sqrt(np.square(inside - base(known, edges, rate)).sum(axis=-1)).mean())
        if best is None or loss < best[0]:
            best = (loss, series, known)
    assert best is not None
    _, series, known = best
    following = None if series is None else series[0]
    left = None if following is None else coordinates.vectors - following
    own = coordinates.stretches(here, edges, hole.joints, left, hollow=True)
    curve = base(own, edges, rate)
    inflation = 1.0
    if len(starts) < FEWEST:
        deviations = _guessed(curve, straight(own, edges))
    else:
        guide = None
        features = None if len(others) else _features(coordinates, starts, hole, edges)
        if _guided(coordinates, hole, edges):
            guide = Guide(coordinates, np.append(starts, hole.first), edges)
            known = np.concatenate([known, guide.paths(hollow=False)[:-1]], axis=-1)
            own = np.concatenate([own, guide.paths(hollow=True)[-1:]], axis=-1)
        inside = known[:, edges.before : edges.before + edges.frames]
        bridges = base(np.concatenate([known, own]), edges, rate)
        lesson = learn(
            starts,
            edges,
            inside,
            bridges,
            surroundings(known, edges, BEYOND),
            surroundings(own, edges, BEYOND)[0],
            features,
            guide,
        )
        curve = curve + lesson.correction
        deviations, inflation = lesson.missed, 1.0 + 1.0 / lesson.independent
    mean = curve[0]
    if following is not None:
        rest = hole.joints[hole.joints > 0]
        mean[:, : 3 * len(rest)] += following[hole.first : hole.stop, rest].reshape(hole.frames, -1)
    return Bridge(edges, mean, deviations, inflation)


def _guided(coordinates: Coordinates, hole: Hole, edges: Edges) -> bool:
    """Whether whole frames are missing, for long enough, between two edges."""
    whole = len(hole.joints) == coordinates.motion.joints
    long = hole.frames >= GUIDED * coordinates.motion.frame_rate
    return whole and long and edges.before > 0 and edges.after > 0


def _kriged(coordinates: Coordinates, hole: Hole, edges: Edges, frames: int) -> Bridge:
    gone = np.asarray(coordinates.missing[:frames, hole.joints].any(axis=1))
    near = np.arange(max(hole.first - kriging.NEAR, 0), min(hole.stop + kriging.NEAR, frames))
    known = near[~gone[near]]
    first, stop = int(near[0]), int(near[-1]) + 1
    reach = Edges(edges.frames, hole.first - first, stop - hole.stop)
    series = coordinates.stretches(np.array([hole.first]), reach, hole.joints, hollow=True)[0]
    wanted = np.arange(hole.first, hole.stop, dtype=np.float64)
    mean, roots = kriging.krige(known.astype(np.float64), series[known - first], wanted)
    return Bridge(edges, mean, roots, independent=True)


def _others(coordinates: Coordinates, hole: Hole) -> Indices:
    """Joints, without the root, that are known throughout the hole."""
    known = ~np.asarray(coordinates.missing[hole.first : hole.stop].any(axis=0))
    known[0] = False
    return np.flatnonzero(known)


def _following(coordinates: Coordinates, hole: Hole, others: Indices) -> tuple[Array, Array]:
    """What the missing joints do by what the others do, `(frames, joints, 3)`, 0 for the others.

    Then the same learned without the fifth of the clip that a frame lies in, to judge it by.
    """
    rest = hole.joints[hole.joints > 0]
    whole = np.flatnonzero(~coordinates.missing.any(axis=1))
    inputs = coordinates.vectors[:, others].reshape(len(coordinates.vectors), -1)
    targets = coordinates.vectors[whole][:, rest].reshape(len(whole), -1)
    centre, level = inputs[whole].mean(axis=0), targets.mean(axis=0)
    x, y = inputs[whole] - centre, targets - level
    size = float(np.square(x).sum()) / x.shape[1]
    parts = np.array_split(np.arange(len(whole)), min(5, len(whole)))

    def solved(gram: Array, products: Array, ridge: float) -> Array:
        return np.linalg.solve(gram + max(ridge * size, 1e-12) * np.eye(len(gram)), products)

    sums = [(x[part].T @ x[part], x[part].T @ y[part]) for part in parts]
    gram, products = sum(a for a, _ in sums), sum(b for _, b in sums)
    losses = [
        sum(
            float(np.square(y[part] - x[part] @ solved(gram - a, products - b, ridge)).sum())
            for part, (a, b) in zip(parts, sums, strict=True)
        )
        for ridge in RIDGES
    ]
    ridge = RIDGES[int(np.argmin(losses))]
    full, left_out = np.zeros_like(coordinates.vectors), np.zeros_like(coordinates.vectors)
    learned = solved(np.asarray(gram), np.asarray(products), ridge)
    full[:, rest] = (level + (inputs - centre) @ learned).reshape(len(inputs), len(rest), 3)
    for part, (a, b) in zip(parts, sums, strict=True):
        told = level + x[part] @ solved(gram - a, products - b, ridge)
        left_out[np.ix_(whole[part], rest)] = told.reshape(len(part), len(rest), 3)
    return full, left_out


def _features(coordinates: Coordinates, starts: Indices, hole: Hole, edges: Edges) -> tuple[Array, Array]:
    found = coordinates.poses_at_edges(
        np.append(starts, hole.first), edges, np.asarray(coordinates.motion.positions(), dtype=np.float64)
    )
    return found[:-1], found[-1]


def _guessed(curve: Array, line: Array) -> Array:
    """Deviations where the clip shows nothing like it: by as much as the speeds at the edges bend a line."""
    sizes = np.random.default_rng(0).standard_normal((24, 1, curve.shape[-1]))
    return np.asarray((curve - line) * sizes)


def _thinned(starts: Indices, frames: int) -> Indices:
    most = max(min(MOST, MOST_FRAMES // frames), FEWEST)
    if len(starts) <= most:
        return starts
    return np.asarray(starts[np.linspace(0, len(starts) - 1, most).round().astype(int)])
