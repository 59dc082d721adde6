"""A smooth displacement of a clip, conditioned on where points of the body are at some frames.

Displacements follow a Gaussian process: smooth in time (:mod:`.process`), likely in pose (:mod:`.freedom`).
Points depend on them by the kinematics, so the conditional mean is found by Gauss–Newton steps: each one
linearises the points and conditions exactly (the kriging of Courty & Cuzol 2010, section 4, of differences to
the original). A step costs O(observations³ + observations² · numbers).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.kinematics import GlobalPose, global_frames
from marey.body.motion import Motion
from marey.body.steering.freedom import Freedom, displaced
from marey.body.steering.process import Span, factor
from marey.geometry import rotations as so3

STEPS = 30
# Metres: how exactly a point is meant if nothing else is said, and how little a step may still change.
EXACT, NEAR = 3e-4, 1e-5
# Share of the cost by which a step must lower it for another one to follow.
SETTLED = 3e-3
# Of steps that go too far, in units of the prior.
LEAST_DAMPING, MOST_DAMPING = 10.0, 1e9
# Gain over what was expected below which steps become more careful, and above which bolder.
POOR, GOOD = 0.4, 0.8


class Observations(NamedTuple):
    """Points of the body at frames, and what is asked of them.

    frames: `(points,)`; joints: `(points,)`; local: `(points, 3)`, in the joint's frame
    goals: `(points, 3)`, world, metres
    noise: `(points,)`, metres, how exactly they are meant
    """

    frames: NDArray[np.intp]
    joints: NDArray[np.intp]
    local: Array
    goals: Array
    noise: Array

    def some(self, which: slice | NDArray[np.bool_]) -> Observations:
        """Those of them that are chosen."""
        return Observations(
            self.frames[which], self.joints[which], self.local[which], self.goals[which], self.noise[which]
        )

    @classmethod
    def joined(cls, parts: list[Observations]) -> Observations:
        """Several as one."""
        return cls(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


def conditioned(motion: Motion, freedom: Freedom, spans: list[Span], asked: Observations) -> Motion:
    """The clip, smoothly displaced within the spans so that points are where they are asked to be.

    freedom: of all frames of the clip
    Frames outside the spans stay what they are, bit by bit.
    """
    inside = _inside(motion.frames, spans)
    if not len(inside):
        return motion
    smooth = factor(inside, spans)
    rows = np.searchsorted(inside, asked.frames)
    usable = np.isin(asked.frames, inside)
    asked = asked.some(usable)
    numbers = _solved(motion, freedom.at(asked.frames), smooth[rows[usable]], asked, smooth)
    turns, shifts = freedom.at(inside).displacement(smooth @ numbers)
    rotations, root = (np.array(values, dtype=np.float64) for values in (motion.rotations, motion.root))
    moved, path = displaced(rotations[inside], root[inside], turns, shifts)
    # The neighbours' sign, so that frames outside need none of their own changed.
    same = np.einsum("tja,tja->tj", moved, motion.rotations[inside]) < 0
    rotations[inside] = so3.normalise(np.where(same[..., None], -moved, moved))
    root[inside] = path
    return replace(motion, rotations=rotations, root=root)


def _solved(motion: Motion, freedom: Freedom, at: Array, asked: Observations, smooth: Array) -> Array:
    """Unit numbers `(rank, size)` of the displacement: the most likely with which points meet their goals.

    at: `(points, rank)`, the process at each point's frame
    """
    from scipy.linalg import solve

    rotations = np.asarray(motion.rotations[asked.frames], dtype=np.float64)
    root = np.asarray(motion.root[asked.frames], dtype=np.float64)
    local = motion.skeleton.offsets if motion.translations is None else motion.translations[asked.frames]
    parents = motion.skeleton.parents
    above = _carriers(motion)[asked.joints]
    precise = 1.0 / asked.noise

    def place(numbers: Array) -> tuple[Array, GlobalPose, Array, Array]:
        turns, shifts = freedom.displacement(at @ numbers)
        moved, path = displaced(rotations, root, turns, shifts)
        offsets = np.broadcast_to(local, (len(moved), len(parents), 3))
        pose = global_frames(parents, offsets, moved, path, translations=offsets)
        points = pose.positions[np.arange(len(moved)), asked.joints] + so3.rotate(
            pose.rotations[np.arange(len(moved)), asked.joints], asked.local
        )
        return turns, pose, points, (asked.goals - points) * precise[:, None]

    def cost(numbers: Array, missing: Array) -> float:
        return float((numbers**2).sum() + (missing**2).sum())

    numbers = np.zeros((smooth.shape[1], freedom.size))
    turns, pose, points, missing = place(numbers)
    now = cost(numbers, missing)
    kernel = np.repeat(np.repeat(at @ at.T, 3, axis=0), 3, axis=1)
    damping = 0.0
    for _ in range(STEPS):
        slopes = freedom.gradients(at @ numbers, turns, pose, above, points) * precise[:, None, None]
        flat = slopes.reshape(-1, freedom.size)
        gram = (flat @ flat.T) * kernel
        carried = np.einsum("pcs,ps->pc", slopes, at @ numbers)
        while True:
            held = 1.0 + damping
            system = gram + held * np.eye(len(gram))
            right = (missing + carried / held).ravel()
            weights = solve(system, right, assume_a="pos", check_finite=False).reshape(-1, 3)
            step = at.T @ np.einsum("pc,pcs->ps", weights, slopes) - numbers / held
            found = place(numbers + step)
            new = cost(numbers + step, found[3])
            if new < now or damping > MOST_DAMPING:
                break
            damping = max(10.0 * damping, LEAST_DAMPING)
        if new >= now:
            break
        left = missing - ((gram @ weights.ravel()).reshape(-1, 3) - carried / held)
        gain = (now - new) / max(now - cost(numbers + step, left), 1e-300)
        moved = float(np.abs(found[2] - points).max())
        settled = now - new < SETTLED * now or moved < NEAR
        numbers, now = numbers + step, new
        turns, pose, points, missing = found
        if gain < POOR:
            damping = max(10.0 * damping, LEAST_DAMPING)
        elif gain > GOOD:
            damping = 0.1 * damping if damping > LEAST_DAMPING else 0.0
        if settled:
            break
    return numbers


def _inside(frames: int, spans: list[Span]) -> NDArray[np.intp]:
    """Frames strictly within any of the spans."""
    t = np.arange(frames)
    return np.flatnonzero(np.any([(t > span.start) & (t < span.end) for span in spans], axis=0))


def _carriers(motion: Motion) -> Array:
    """`(joints, joints)`: 1 where the second joint carries the first (or is it)."""
    found = np.zeros((motion.joints, motion.joints))
    for joint in range(motion.joints):
        found[joint, list(motion.skeleton.ancestors(joint))] = 1.0
    return found
