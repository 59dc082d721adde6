"""Paths of joints in the world as guides: a foot on the ground stays there more surely than its angles say.

Bridges of the joints' angles and of their paths through the world miss differently. Both are put together
frame by frame as the likeliest pose, by how much each missed in known stretches: one Gauss-Newton step of
the pose towards the paths. After Courty 2013, section 3.2.3.1, which has angles only.
O(stretches · knots · points · numbers²).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from marey.body.differential import position_jacobian
from marey.body.filling.stretches import METRE, Coordinates, Edges
from marey.body.kinematics import global_frames
from marey.geometry import rotations as so3
from marey.geometry.tangent import dexp_body

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Joints whose paths are looked at, far apart from one another, and frames of a hole at which poses are led.
POINTS, KNOTS = 12, 6
# How much less paths count than what they missed says: they miss the same things as the angles, in part.
DOUBT = 2.0
# Share of the angles' covariance that is taken as it was found; the rest is free of correlations.
CORRELATED = 0.9


@dataclass(frozen=True, eq=False)
class Guide:
    """What leads the poses of stretches, and of the hole behind them, that begin at `starts` `(n + 1,)`."""

    coordinates: Coordinates
    starts: Indices
    edges: Edges

    @cached_property
    def joints(self) -> Indices:
        """Joints that are spread over the body: each the farthest from those before."""
        skeleton = self.coordinates.motion.skeleton
        places = global_frames(
            skeleton.parents, skeleton.offsets, self.coordinates.mean, np.zeros(3)
        ).positions
        found = [0]
        while len(found) < min(POINTS, len(places)):
            apart = np.linalg.norm(places[:, None] - places[found], axis=-1).min(axis=1)
            found.append(int(apart.argmax()))
        return np.unique(found)

    def paths(self, *, hollow: bool) -> Array:
        """Positions `(n + 1, before + frames + after, 3 points)` seen as the root's; see `stretches`."""
        edges = self.edges
        steps = np.arange(-edges.before, edges.frames + edges.after)
        if hollow:
            steps[edges.before : edges.before + edges.frames] = -1 if edges.before else edges.frames
        origin, facing, _ = self.coordinates.frame(self.starts, edges)
        world = np.asarray(self.coordinates.motion.positions(), np.float64)[:, self.joints]
        seen = world[self.starts[:, None] + steps] - origin[:, None, None]
        turned = so3.rotate(so3.inverse(facing)[:, None, None], seen)
        return np.asarray(turned.reshape(len(self.starts), len(steps), -1))

    def lead(self, missed: Array, curves: Array) -> Array:
        """What to add to the numbers of the bridges `(n + 1, frames, numbers)`.

        missed: `(n, frames, numbers + 3 points)`, by bridges of known stretches and of their paths
        curves: `(n + 1, frames, numbers + 3 points)`, the bridges
        """
        frames, points = self.edges.frames, len(self.joints)
        at = np.unique(np.linspace(0, frames + 1, KNOTS + 2).round().astype(int))[1:-1] - 1
        numbers = missed.shape[-1] - 3 * points
        own = missed[:, at, :numbers].reshape(-1, numbers)
        spread = own.T @ own / len(own)
        spread[~np.eye(numbers, dtype=bool)] *= CORRELATED
        spread[np.diag_indices_from(spread)] += 1e-9
        noise = np.square(missed[:, at, numbers:]).mean(axis=(0, 1)).reshape(points, 3).mean(axis=1)
        places, moves = self._moves(curves[:, at, :numbers])
        off = curves[:, at, numbers:] - places
        answers = moves @ spread
        inner = answers @ moves.swapaxes(-1, -2)
        inner[..., np.arange(3 * points), np.arange(3 * points)] += DOUBT * np.repeat(noise, 3) + 1e-10
        pull = np.einsum("nkab,nka->nkb", answers, np.linalg.solve(inner, off[..., None])[..., 0])
        moved = np.einsum("nkab,nkb->nka", moves[:-1], pull[:-1])
        return _through(pull, at, frames) * _share(off[:-1] + missed[:, at, numbers:], moved)

    def _moves(self, numbers: Array) -> tuple[Array, Array]:
        """Positions `(n, knots, 3 points)` of poses, and how they change with the numbers."""
        coordinates, count = self.coordinates, self.coordinates.motion.joints
        leading, size = numbers.shape[:2], 3 * (count - 1)
        _, facing, middle = coordinates.frame(self.starts, self.edges)
        logs = numbers[..., :size].reshape(*leading, count - 1, 3) / coordinates.weights[1:, None]
        turn = numbers[..., size : size + 3] / coordinates.weights[0]
        first = so3.multiply(so3.multiply(so3.inverse(facing), middle)[:, None], so3.exp(turn))
        rest = so3.multiply(coordinates.mean[1:], so3.exp(logs))
        skeleton = coordinates.motion.skeleton
        pose = global_frames(
            skeleton.parents,
            skeleton.offsets,
            np.concatenate([first[..., None, :], rest], axis=-2),
            numbers[..., size + 3 :] / METRE,
        )
        vectors = np.concatenate([turn[..., None, :], logs], axis=-2)
        turning = dexp_body(vectors) / coordinates.weights[:, None, None]
        found = np.zeros((*leading, len(self.joints), 3, numbers.shape[-1]))
        for place, joint in enumerate(self.joints):
            whole = position_jacobian(skeleton.parents, pose, int(joint))
            turns = whole[..., : 3 * count].reshape(*leading, 3, count, 3).swapaxes(-3, -2) @ turning
            found[:, :, place, :, :size] = turns[..., 1:, :, :].swapaxes(-3, -2).reshape(*leading, 3, size)
            found[:, :, place, :, size : size + 3] = turns[..., 0, :, :]
            found[:, :, place, :, size + 3 :] = whole[..., 3 * count :] / METRE
        places = pose.positions[:, :, self.joints].reshape(*leading, -1)
        return np.asarray(places), found.reshape(*leading, -1, numbers.shape[-1])


def _share(off: Array, moved: Array) -> float:
    """How much of the way known stretches should have been led, up to all of it."""
    size = np.sqrt(np.square(off).sum(axis=(1, 2)))
    weights = 1.0 / np.maximum(size, max(1e-3 * float(size.max()), 1e-12))
    along = float(weights @ (off * moved).sum(axis=(1, 2)))
    square = float(weights @ np.square(moved).sum(axis=(1, 2)))
    return min(max(along / square, 0.0), 1.0) if square > 0.0 else 0.0


def _through(values: Array, at: Indices, frames: int) -> Array:
    """Curves `(n, frames, numbers)` through values at some frames, that leave the edges and their speeds."""
    from scipy.interpolate import CubicSpline

    times = np.concatenate([[0], at + 1, [frames + 1]])
    curve = CubicSpline(times, np.pad(values, ((0, 0), (1, 1), (0, 0))), axis=1, bc_type="clamped")
    return np.asarray(curve(np.arange(1, frames + 1)))
