"""Stretches of a clip in coordinates in which they can be compared, wherever they happen and head.

Joints are rotation vectors about the clip's mean, weighted by how far they carry; the root's rotation is
seen from half-way between the edges of the stretch, its position from the first edge and the heading
there. So a stretch starts and ends at its edges exactly, and nothing drifts. One pass over the frames of
the stretches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey.body.filling.gaps import Hole, Mask
from marey.body.motion import Motion
from marey.body.pose_metric import lever_weights
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.statistics.rotation_mean import centred

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Frames beyond each edge that are looked at.
REACH = 21
# What a metre of the root counts beside a radian of it: distances of the other joints from it are about ½ m.
METRE = 2.0
# Rotation vectors longer than this may have jumped to the other side.
LONG = 2.8
POSES_FOR_WEIGHTS = 200


class Edges(NamedTuple):
    """A kind of stretch: its frames, and how many known frames lie before and after."""

    frames: int
    before: int
    after: int


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A clip, or several in a row, as numbers.

    motion: the clip; borders: `(frames,)`, how many other clips have begun up to a frame
    missing: `(frames, joints)`
    mean: `(joints, 4)`; weights: `(joints,)`
    vectors: `(frames, joints, 3)`, weighted rotation vectors; row 0, the root's, is not used
    """

    motion: Motion
    missing: Mask
    borders: Indices
    mean: Array
    weights: Array
    vectors: Array

    @classmethod
    def of(cls, motion: Motion, missing: Mask, borders: Indices) -> Coordinates:
        """Learn the mean and weights from the frames at which nothing is missing."""
        good = ~missing.any(axis=1)
        if not good.any():
            raise InputError("no frame is whole: at least one must have all its joints to learn from")
        poses = motion.rotations[good]
        mean = centred(poses).mean
        weights = np.sqrt(lever_weights(motion.skeleton, poses[:: 1 + len(poses) // POSES_FOR_WEIGHTS]))
        logs = so3.log(so3.multiply(so3.inverse(mean), motion.rotations))
        far = np.linalg.norm(logs, axis=-1) > LONG
        for joint in np.flatnonzero(far.any(axis=0)):
            known = ~missing[:, joint]
            logs[known, joint] = so3.unwrap(logs[known, joint])
        return cls(motion, missing, borders, mean, weights, logs * weights[:, None])

    def edges(self, hole: Hole, frames: int) -> Edges:
        """How many frames around a hole of the first clip, of so many frames, are known of its joints."""
        gone = np.asarray(self.missing[:frames, hole.joints].any(axis=1))
        earlier, later = gone[: hole.first][::-1], gone[hole.stop :]
        before = int(earlier.argmax()) if earlier.any() else len(earlier)
        after = int(later.argmax()) if later.any() else len(later)
        return Edges(hole.frames, min(before, REACH), min(after, REACH))

    def whole(self, edges: Edges) -> Indices:
        """Where stretches of this kind begin that are known in full `(n,)`."""
        lost = np.concatenate([[0], np.cumsum(self.missing.any(axis=1))])
        starts = np.arange(edges.before, self.motion.frames - edges.frames - edges.after + 1)
        first, stop = starts - edges.before, starts + edges.frames + edges.after
        same = self.borders[stop - 1] == self.borders[first]
        return starts[(lost[stop] == lost[first]) & same]

    def frame(self, starts: Indices, edges: Edges) -> tuple[Array, Array, Array]:
        """Whence stretches are seen: position `(n, 3)`, heading `(n, 4)`, rotation `(n, 4)` of the root."""
        turns, root = np.asarray(self.motion.rotations[:, 0], dtype=np.float64), self.motion.root
        middle: Array
        if edges.before and edges.after:
            middle = so3.slerp(turns[starts - 1], turns[starts + edges.frames], 0.5)
        else:
            middle = turns[starts - 1 if edges.before else starts + edges.frames]
        origin = root[starts - 1 if edges.before else starts + edges.frames]
        half = np.arctan2(middle[:, 2], middle[:, 0])
        zero = np.zeros_like(half)
        return (
            np.asarray(origin, dtype=np.float64),
            np.stack([np.cos(half), zero, np.sin(half), zero], axis=-1),
            middle,
        )

    def stretches(
        self,
        starts: Indices,
        edges: Edges,
        joints: Indices,
        series: Array | None = None,
        *,
        hollow: bool = False,
    ) -> Array:
        """Coordinates `(n, before + frames + after, numbers)` of stretches: 3 a joint, then the root's path.

        series: `(frames, joints, 3)` to take instead of `vectors`
        hollow: what is inside is not to be looked at, an edge stands for it
        """
        steps = np.arange(-edges.before, edges.frames + edges.after)
        if hollow:
            edge = -1 if edges.before else edges.frames
            steps[edges.before : edges.before + edges.frames] = edge
        at = starts[:, None] + steps
        rest = joints[joints > 0]
        taken = (self.vectors if series is None else series)[:, rest][at]
        parts = [taken.reshape(*at.shape, 3 * len(rest))]
        if 0 in joints:
            origin, facing, middle = self.frame(starts, edges)
            turned = so3.multiply(so3.inverse(middle)[:, None], self.motion.rotations[at, 0])
            moved = so3.rotate(so3.inverse(facing)[:, None], self.motion.root[at] - origin[:, None])
            vectors = so3.unwrap(so3.log(turned), axis=1)
            parts += [vectors * self.weights[0], moved * METRE]
        return np.concatenate(parts, axis=-1)

    def decode(self, hole: Hole, edges: Edges, numbers: Array) -> tuple[Array, Array | None]:
        """Rotations `(..., frames, joints of it, 4)` and the root's path `(..., frames, 3)`, or None."""
        rest = hole.joints[hole.joints > 0]
        size = 3 * len(rest)
        logs = numbers[..., :size].reshape(*numbers.shape[:-1], len(rest), 3) / self.weights[rest, None]
        found = so3.multiply(self.mean[rest], so3.exp(logs))
        if 0 not in hole.joints:
            return found, None
        origin, facing, middle = self.frame(np.array([hole.first]), edges)
        turns = so3.multiply(middle[0], so3.exp(numbers[..., size : size + 3] / self.weights[0]))
        path = origin[0] + so3.rotate(facing[0], numbers[..., size + 3 :] / METRE)
        return np.concatenate([turns[..., None, :], found], axis=-2), path

    def turned_evenly(self, hole: Hole, numbers: Array) -> Array:
        """Numbers `(frames, numbers)` of a hole with its joints, but the root, slerped from edge to edge."""
        rest = hole.joints[hole.joints > 0]
        share = (np.arange(1, hole.frames + 1) / (hole.frames + 1))[:, None]
        first, last = self.motion.rotations[hole.first - 1, rest], self.motion.rotations[hole.stop, rest]
        logs = so3.log(so3.multiply(so3.inverse(self.mean[rest]), so3.slerp(first, last, share)))
        found = numbers.copy()
        found[:, : 3 * len(rest)] = (logs * self.weights[rest, None]).reshape(hole.frames, -1)
        return found

    def poses_at_edges(self, starts: Indices, edges: Edges, positions: Array) -> Array:
        """What the figure does at the edges `(n, numbers)`: joints and their speed, as seen from there.

        positions: `(frames, joints, 3)`, of the joints in the world
        """
        origin, facing, _ = self.frame(starts, edges)
        back = so3.inverse(facing)[:, None]
        floor = (origin * (1.0, 0.0, 1.0))[:, None]
        tenth = 0.1 * self.motion.frame_rate
        parts = []
        for known, edge, way in ((edges.before, starts - 1, -1), (edges.after, starts + edges.frames, 1)):
            if not known:
                continue
            step = min(3, known - 1)
            speed = (positions[edge] - positions[edge + way * step]) * (-way * tenth / max(step, 1))
            parts += [so3.rotate(back, positions[edge] - floor), so3.rotate(back, speed)]
        return np.concatenate(parts, axis=1).reshape(len(starts), -1)
