"""Windows of a clip in coordinates in which they can be compared, wherever they happen and head.

Joints are rotation vectors about the clip's mean, weighted by their lever arm; the root's rotation is
relative to the one midway between the edges of the gap, its position to the first edge and the heading
there. So a window starts and ends at its edges exactly, and nothing drifts.

A gap is a range of frames in which the same joints are missing (Courty 2013, section 3.2.3.1, has whole
frames only). Across a gap lead a line, or a cubic Hermite curve with the velocities at the edges: the mean of
motion with random acceleration between known positions and velocities. All in one pass over the frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, BoolArray, checked, runs
from marey.body.motion import Motion
from marey.body.pose_metric import lever_weights
from marey.body.root_motion import about_y
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.mean import rotation_mean

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class FillSettings:
    """Numbers of the method.

    Attributes:
        reach: Frames beyond each edge that are used.
        metre: Weight of a metre of the root path beside a radian of the root (its other joints are about
            ½ m away).
        beyond: Frames beyond the edges that the pooled regression uses.
        min_windows: Known windows below which nothing is learned.
        max_windows: Windows to learn from.
        max_window_frames: Frames of all windows together.
        folds: Parts that the windows are split into for cross-validation.
        ridges: Ridge parameters tried, as a share of a predictor's variance.
        features: Principal axes in which poses at the edges are compared.
        lengths: Lengths of the covariance between windows tried, relative to their median distance.
        noises: Noise variances beside it tried.
        confidence: Probability with which a joint is within the confidence radius.
    """

    reach: int = 21
    metre: float = 4.0
    beyond: tuple[int, ...] = (1, 2, 4, 7, 12, 20)
    min_windows: int = 8
    max_windows: int = 300
    max_window_frames: int = 40_000
    folds: int = 6
    ridges: tuple[float, ...] = (1e-5, 1e-3, 1e-2, 1e-1, 1.0)
    features: int = 16
    lengths: tuple[float, ...] = (0.2, 0.4, 0.8)
    noises: tuple[float, ...] = (0.1, 1.0)
    confidence: float = 0.9


class Edges(NamedTuple):
    """Shape of a window.

    Attributes:
        frames: Frames of its gap.
        before: Known frames before it.
        after: Known frames after it.
        felt: Seconds that a velocity at an edge is felt across the gap at most.
    """

    frames: int
    before: int
    after: int
    felt: float = 1.0


@dataclass(frozen=True, eq=False)
class WindowCoordinates:
    """A clip, or several in a row, as features.

    Attributes:
        gap_mask: `(frames, joints)`, what is missing.
        clips: `(frames,)`, number of the clip that a frame belongs to.
        mean: `(joints, 4)`, mean rotations.
        weights: `(joints,)`, root of the lever weights.
        vectors: `(frames, joints, 3)`, weighted rotation vectors; row 0, the root's, is not used.
    """

    motion: Motion
    gap_mask: BoolArray
    clips: Indices
    mean: Array
    weights: Array
    vectors: Array
    settings: FillSettings = field(default_factory=FillSettings)

    @classmethod
    def of(cls, motion: Motion, gap_mask: BoolArray, clips: Indices, settings: FillSettings) -> Self:
        """Mean and weights are those of the frames at which nothing is missing."""
        good = ~gap_mask.any(axis=1)
        if not good.any():
            raise InputError("no frame is whole: at least one must have all its joints to learn from")
        poses = motion.rotations[good]
        mean = rotation_mean(poses).mean
        weights = np.sqrt(lever_weights(motion.skeleton, poses[:: 1 + len(poses) // 200]))
        logs = so3.log(so3.multiply(so3.inverse(mean), motion.rotations))
        # Long vectors may have jumped to the other side.
        for joint in np.flatnonzero((np.linalg.norm(logs, axis=-1) > 2.8).any(axis=0)):
            known = ~gap_mask[:, joint]
            logs[known, joint] = so3.unwrap(logs[known, joint])
        return cls(motion, gap_mask, clips, mean, weights, logs * weights[:, None], settings)

    def edges(self, gap: Gap) -> Edges:
        """The window of a gap of the first clip: known frames of its joints around it."""
        gone = np.asarray(self.gap_mask[self.clips == 0][:, gap.joints].any(axis=1))
        earlier, later = gone[: gap.first][::-1], gone[gap.stop :]
        before = int(earlier.argmax()) if earlier.any() else len(earlier)
        after = int(later.argmax()) if later.any() else len(later)
        reach = self.settings.reach
        # A body keeps its momentum longer than a limb.
        return Edges(gap.frames, min(before, reach), min(after, reach), 1.0 if 0 in gap.joints else 0.5)

    def complete(self, edges: Edges) -> Indices:
        """First gap frames `(n,)` of the windows of this shape in which nothing is missing."""
        lost = np.concatenate([[0], np.cumsum(self.gap_mask.any(axis=1))])
        starts = np.arange(edges.before, self.motion.frames - edges.frames - edges.after + 1)
        first, stop = starts - edges.before, starts + edges.frames + edges.after
        same = self.clips[stop - 1] == self.clips[first]
        return np.asarray(starts[(lost[stop] == lost[first]) & same])

    def windows(
        self,
        starts: Indices,
        edges: Edges,
        joints: Indices,
        vectors: Array | None = None,
        *,
        hollow: bool = False,
    ) -> Array:
        """Features `(n, before + frames + after, features)` of windows: 3 a joint, then the root's path.

        Args:
            starts: `(n,)`, first frames of the gaps.
            edges: Shape of the windows.
            joints: `(m,)`, missing joints.
            vectors: `(frames, joints, 3)`, rotation vectors instead of `self.vectors`.
            hollow: Whether an edge stands for what is in the gap, which is not read.
        """
        steps = np.arange(-edges.before, edges.frames + edges.after)
        if hollow:
            steps[edges.before : edges.before + edges.frames] = -1 if edges.before else edges.frames
        at = starts[:, None] + steps
        limbs = joints[joints > 0]
        taken = (self.vectors if vectors is None else vectors)[:, limbs][at]
        parts = [taken.reshape(*at.shape, 3 * len(limbs))]
        if 0 in joints:
            origin, facing, middle = self._frame(starts, edges)
            turned = so3.multiply(so3.inverse(middle)[:, None], self.motion.rotations[at, 0])
            moved = so3.rotate(so3.inverse(facing)[:, None], self.motion.root[at] - origin[:, None])
            unwrapped = so3.unwrap(so3.log(turned), axis=1)
            parts += [unwrapped * self.weights[0], moved * self.settings.metre]
        return np.concatenate(parts, axis=-1)

    def decode(self, gap: Gap, edges: Edges, features: Array) -> tuple[Array, Array | None]:
        """Rotations `(..., frames, joints of the gap, 4)` and the root's path `(..., frames, 3)`, or None."""
        limbs = gap.limbs
        size = 3 * len(limbs)
        logs = features[..., :size].reshape(*features.shape[:-1], len(limbs), 3) / self.weights[limbs, None]
        found = so3.multiply(self.mean[limbs], so3.exp(logs))
        if 0 not in gap.joints:
            return found, None
        origin, facing, middle = self._frame(np.array([gap.first]), edges)
        turns = so3.multiply(middle[0], so3.exp(features[..., size : size + 3] / self.weights[0]))
        path = origin[0] + so3.rotate(facing[0], features[..., size + 3 :] / self.settings.metre)
        return np.concatenate([turns[..., None, :], found], axis=-2), path

    def slerp(self, gap: Gap, features: Array) -> Array:
        """Features `(frames, features)` of a gap with its joints, but the root, slerped from edge to edge."""
        limbs = gap.limbs
        share = (np.arange(1, gap.frames + 1) / (gap.frames + 1))[:, None]
        first, last = self.motion.rotations[gap.first - 1, limbs], self.motion.rotations[gap.stop, limbs]
        logs = so3.log(so3.multiply(so3.inverse(self.mean[limbs]), so3.slerp(first, last, share)))
        found = features.copy()
        found[:, : 3 * len(limbs)] = (logs * self.weights[limbs, None]).reshape(gap.frames, -1)
        return found

    def poses_at_edges(self, starts: Indices, edges: Edges) -> Array:
        """Joint positions and velocities at the edges in the window's heading frame, `(n, features)`."""
        positions = np.asarray(self.motion.positions(), dtype=np.float64)
        origin, facing, _ = self._frame(starts, edges)
        back = so3.inverse(facing)[:, None]
        floor = (origin * (1.0, 0.0, 1.0))[:, None]
        tenth = 0.1 * self.motion.frame_rate
        parts = []
        for known, edge, sign in ((edges.before, starts - 1, -1), (edges.after, starts + edges.frames, 1)):
            if not known:
                continue
            step = min(3, known - 1)
            speed = (positions[edge] - positions[edge + sign * step]) * (-sign * tenth / max(step, 1))
            parts += [so3.rotate(back, positions[edge] - floor), so3.rotate(back, speed)]
        return np.concatenate(parts, axis=1).reshape(len(starts), -1)

    def _frame(self, starts: Indices, edges: Edges) -> tuple[Array, Array, Array]:
        """Origin `(n, 3)`, heading `(n, 4)` and root rotation `(n, 4)` that windows are relative to."""
        turns, root = np.asarray(self.motion.rotations[:, 0], dtype=np.float64), self.motion.root
        first = starts - 1 if edges.before else starts + edges.frames
        middle = turns[first]
        if edges.before and edges.after:
            middle = so3.slerp(middle, turns[starts + edges.frames], 0.5)
        facing = about_y(2.0 * np.arctan2(middle[:, 2], middle[:, 0]))
        return np.asarray(root[first], dtype=np.float64), facing, middle


class Gap(NamedTuple):
    """Frames `first` up to, without, `stop`, at which `joints` `(n,)` are missing."""

    first: int
    stop: int
    joints: NDArray[np.intp]

    @property
    def frames(self) -> int:
        """Its length."""
        return self.stop - self.first

    @property
    def limbs(self) -> NDArray[np.intp]:
        """The missing joints without the root."""
        return self.joints[self.joints > 0]


def gap_mask(
    motion: Motion, ranges: ArrayLike | Sequence[tuple[int, int]], joints: Iterable[str] | None = None
) -> BoolArray:
    """The mask `(frames, joints)` of what is missing, from ranges of frames or from another mask.

    Args:
        ranges: `(first, stop)` in frames, or a mask `(frames,)` or `(frames, joints)`.
        joints: Names of the joints that are missing there; all of them, and the root's path, if None.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> int(gap_mask(walk, [(10, 20)]).sum()), int(gap_mask(walk, [(10, 20)], ["Head"]).sum())
    (260, 10)
    """
    found = np.zeros((motion.frames, motion.joints), dtype=bool)
    which = np.arange(motion.joints)
    if joints is not None:
        which = np.array(motion.skeleton.indices(list(joints)), dtype=np.intp)
    given = np.asarray(ranges)
    if given.dtype == bool and given.ndim == 2:
        if joints is not None:
            raise InputError("give either a mask of frames and joints, or names of joints")
        return np.array(checked("gaps", given, found.shape, dtype=bool))
    if given.dtype == bool:
        found[np.ix_(checked("gaps", given, (motion.frames,), dtype=bool), which)] = True
    elif given.size:
        if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
            raise InputError("gaps: pairs of frames (first, stop), or a mask")
        for first, stop in given.tolist():
            if not 0 <= first < stop <= motion.frames:
                raise InputError(f"gap {first}:{stop}: it must lie within the clip's {motion.frames} frames")
            found[first:stop, which] = True
    return found


def gaps(mask: BoolArray) -> list[Gap]:
    """The gaps of a mask `(frames, joints)`, in order."""
    together: dict[tuple[int, int], list[int]] = {}
    for joint in np.flatnonzero(mask.any(axis=0)).tolist():
        for run in runs(mask[:, joint]):
            together.setdefault(run, []).append(joint)
    return [Gap(*run, np.array(joints)) for run, joints in sorted(together.items())]


def find_frozen(motion: Motion) -> list[tuple[int, int]]:
    """Ranges `(first, stop)` that only repeat the frame before, as captures do where they lost track,
    for more than 0.1 s.

    The frame that is repeated was captured and is not part of them.

    >>> import marey
    >>> find_frozen(marey.samples.walk())
    []
    """
    still = (motion.rotations[1:] == motion.rotations[:-1]).all(axis=(1, 2))
    still &= (motion.root[1:] == motion.root[:-1]).all(axis=1)
    found = runs(np.concatenate([[False], still]))
    return [(first, stop) for first, stop in found if stop - first > 0.1 * motion.frame_rate]


def linear(known: Array, edges: Edges) -> Array:
    """The line from edge to edge of windows `(n, before + frames + after, features)`, inside the gap."""
    before, after = _values(known, edges)
    if not edges.before or not edges.after:
        edge = before if edges.before else after
        return np.repeat(edge[:, None], edges.frames, axis=1)
    share = (np.arange(1, edges.frames + 1) / (edges.frames + 1))[:, None]
    return np.asarray(before[:, None] + (after - before)[:, None] * share)


def hermite(known: Array, edges: Edges, frame_rate: float) -> Array:
    """A curve through the edges with the velocities there, `(n, frames, features)`.

    Beyond a single edge the velocity decays in 0.15 s.
    """
    line = linear(known, edges)
    steps: NDArray[np.int_] = np.arange(1, edges.frames + 1)[:, None]
    leaving, arriving = _velocities(known, edges)
    if not edges.before or not edges.after:
        decay = 0.15 * frame_rate
        away = steps if edges.before else edges.frames + 1 - steps
        velocity = leaving if edges.before else -arriving
        return np.asarray(line + velocity[:, None] * decay * (1.0 - np.exp(-away / decay)))
    span = edges.frames + 1
    before, after = _values(known, edges)
    even = (after - before) / span
    felt = min(float(span), max(edges.felt * frame_rate, 2.0))

    def bump(away: NDArray[np.int_]) -> Array:
        share = np.minimum(away / felt, 1.0)
        return np.asarray(felt * share * (1.0 - share) ** 2)

    # A side with a single known frame has no velocity of its own: the line's is taken.
    curve = line.copy()
    if edges.before > 1:
        curve += (leaving - even)[:, None] * bump(steps)
    if edges.after > 1:
        curve -= (arriving - even)[:, None] * bump(np.asarray(span - steps))
    return curve


def surroundings(known: Array, edges: Edges, beyond: tuple[int, ...]) -> Array:
    """Deviation from the line `(n, places, features)` of frames `beyond` the edges, where there are any."""
    before, after = _values(known, edges)
    span, first = edges.frames + 1, edges.before - 1
    away = [-k for k in beyond if k < edges.before] + [span + k for k in beyond if k < edges.after]
    at = np.array(away, dtype=np.intp)
    if edges.before and edges.after:
        line = before[:, None] + (after - before)[:, None] * (at / span)[:, None]
    else:
        line = (before if edges.before else after)[:, None]
    return np.asarray(known[:, first + at] - line)


def _values(known: Array, edges: Edges) -> tuple[Array, Array]:
    """The last values before and the first after; any of a side that is not there."""
    return known[:, max(edges.before - 1, 0)], known[:, min(edges.before + edges.frames, known.shape[1] - 1)]


def _velocities(known: Array, edges: Edges) -> tuple[Array, Array]:
    """Change per frame over two frames before and after; 0 where a single frame is known."""
    first, last = edges.before - 1, edges.before + edges.frames
    back, on = min(2, edges.before - 1), min(2, edges.after - 1)
    still = np.zeros_like(known[:, 0])
    leaving = (known[:, first] - known[:, first - back]) / back if back > 0 else still
    arriving = (known[:, last + on] - known[:, last]) / on if on > 0 else still
    return leaving, arriving
