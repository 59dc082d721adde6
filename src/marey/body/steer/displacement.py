"""A smooth displacement of a clip, conditioned on where points of the body are at some frames.

A displacement of a frame is `B z` with z of independent unit numbers: coordinates of the pose model by their
deviations (so that limbs move together as they do in the clip, the prior of inverse kinematics in Courty
2013, section 2.2.2.1), small turns of each joint about the axes it uses, and a little of the root. The map is
smoothed in world axes, so twist discontinuities in the data do not appear in the displacement. Numbers are
bounded smoothly, so that no joint and no root goes further than bodies do. In time z follows the process of
:mod:`.requests`.

Points depend on z by the kinematics, so the conditional mean is found by Gauss–Newton steps: each linearises
the points and conditions exactly (the kriging of Courty & Cuzol 2010, section 4, of differences to the
original). A step costs O(observations³ + observations² · numbers).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.kinematics import GlobalPose, forward_kinematics, global_frames
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel, check_first_kind, pose_rotations
from marey.body.steer.requests import Window, covered, factor
from marey.geometry import rotations as so3
from marey.geometry.matrices import dexp_body, hat, to_matrix


@dataclass(frozen=True)
class DisplacementSettings:
    """Numbers of the prior and of the solver.

    Attributes:
        exact: Metres, how exactly a point is meant if nothing else is said.
        alone: Share of its own deviation that a joint turns by itself, with at least `alone_radians`.
        root_radians, root_metres: Turn and shift of the root that count as one deviation of a mode.
        max_mode, max_alone, max_root: Deviations that are never exceeded (6 of the root: 30 cm).
        smoothing: Seconds over which the map is smoothed.
        steps: Gauss–Newton steps at most.
        tolerance: Share of the cost by which a step must lower it for another one to follow.
        damping: First damping of a step that would raise the cost, in units of the prior.
    """

    exact: float = 3e-4
    alone: float = 0.35
    alone_radians: float = 0.02
    root_radians: float = 0.1
    root_metres: float = 0.05
    max_mode: float = 3.0
    max_alone: float = 6.0
    max_root: float = 6.0
    smoothing: float = 0.05
    steps: int = 30
    tolerance: float = 3e-3
    damping: float = 10.0


SETTINGS = DisplacementSettings()


class Observations(NamedTuple):
    """Points of the body at frames, and what is asked of them.

    Attributes:
        frames, joints: `(points,)`, indices.
        local: `(points, 3)`, in the joint's frame, metres.
        positions: `(points, 3)`, where they should be, world, metres.
        noise: `(points,)`, metres, how exactly they are meant.
    """

    frames: NDArray[np.intp]
    joints: NDArray[np.intp]
    local: Array
    positions: Array
    noise: Array

    @classmethod
    def joined(cls, parts: list[Observations]) -> Observations:
        """Several as one."""
        return cls(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


def displace(motion: Motion, prior: DisplacementPrior, windows: list[Window], asked: Observations) -> Motion:
    """The clip, smoothly displaced within the windows so that points are where they are asked to be.

    Args:
        prior: Of all its frames.
        windows: Frames outside of them stay what they are, bit by bit.
        asked: Those outside of the windows are left out.
    """
    inside = np.flatnonzero(covered(windows, motion.frames))
    if not len(inside):
        return motion
    smooth = factor(inside, windows)
    known = np.isin(asked.frames, inside)
    chosen: list[NDArray[Any]] = [values[known] for values in asked]
    asked = Observations(*chosen)
    at = smooth[np.searchsorted(inside, asked.frames)]
    numbers = _solve(motion, prior.at(asked.frames), at, asked, smooth.shape[1])
    turns, shifts = prior.at(inside).displacement(smooth @ numbers)
    rotations, root = (np.array(values, dtype=np.float64) for values in (motion.rotations, motion.root))
    moved = so3.multiply(rotations[inside], so3.exp(turns))
    root[inside] += shifts
    # The sign of the original, so that frames outside need none of their own changed.
    rotations[inside] = so3.normalise(so3.like(moved, motion.rotations[inside]))
    return replace(motion, rotations=rotations, root=root)


@dataclass(frozen=True, eq=False)
class DisplacementPrior:
    """Displacements of frames by unit numbers: `modes + 3 joints + 3` a frame.

    Attributes:
        tangent: `(frames, joints, 3, 3)`, how turns along the modes act at each frame's pose.
        directions: `(modes, joints, 3)`, radians by one deviation.
        alone: `(frames, joints, 3, 3)`, how each joint turns by itself, radians by one deviation.
    """

    tangent: Array
    directions: Array
    alone: Array
    settings: DisplacementSettings = SETTINGS

    @classmethod
    def of(
        cls, motion: Motion, model: PoseModel, settings: DisplacementSettings = SETTINGS
    ) -> DisplacementPrior:
        """Of the frames of a clip."""
        from scipy.ndimage import gaussian_filter1d

        check_first_kind(model, "displacing a clip")
        geodesics, width = model.geodesics, settings.smoothing * motion.frame_rate
        logs = so3.unwrap(geodesics.logarithms(pose_rotations(motion)))
        directions = geodesics.directions * geodesics.deviations[:, None, None]
        spread = np.linalg.norm(directions, axis=0)
        # Joints that turn less in the whole clip do so by rounding.
        moving = spread.max(axis=1) > 1e-4
        moving |= not moving.any()
        own = np.where(moving[:, None], settings.alone * spread + settings.alone_radians, 0.0)
        own[0] = settings.root_radians
        world = to_matrix(forward_kinematics(motion).rotations)
        tangent, alone = (
            np.swapaxes(world, -1, -2) @ gaussian_filter1d(part, width, axis=0, mode="nearest")
            for part in (world @ dexp_body(logs), world)
        )
        return cls(tangent, directions, alone * own[:, None], settings)

    @property
    def size(self) -> int:
        """Numbers of a frame."""
        return int(len(self.directions) + 3 * self.alone.shape[1] + 3)

    def at(self, frames: NDArray[np.intp]) -> DisplacementPrior:
        """The same of some of the frames."""
        return replace(self, tangent=self.tangent[frames], alone=self.alone[frames])

    def displacement(self, numbers: Array) -> tuple[Array, Array]:
        """Turns `(frames, joints, 3)` in the joints' frames and shifts `(frames, 3)` of `(frames, size)`."""
        modes, joints = len(self.directions), self.alone.shape[1]
        # Small numbers as they are, the largest no more than the most.
        numbers = numbers * _slack(self._sizes(numbers)) ** 0.25
        along = np.einsum("tm,mjc->tjc", numbers[:, :modes], self.directions)
        turns = np.einsum("tjab,tjb->tja", self.tangent, along)
        turns += np.einsum("tjab,tjb->tja", self.alone, numbers[:, modes:-3].reshape(-1, joints, 3))
        return turns, self.settings.root_metres * numbers[:, -3:]

    def gradients(self, numbers: Array, turns: Array, pose: GlobalPose, above: Array, points: Array) -> Array:
        """How points move with the numbers, `(points, 3, size)`; one point a frame.

        Args:
            numbers: `(points, size)`, where.
            turns: `(points, joints, 3)`, displacement that the pose has already.
            pose: Of the points' frames.
            above: `(points, joints)`, 1 for joints that carry the point.
            points: `(points, 3)`, world, metres.
        """
        arms = (points[:, None] - pose.positions) * above[..., None]
        lever = -hat(arms) @ to_matrix(pose.rotations) @ dexp_body(turns)
        count = len(points)
        along = np.swapaxes(lever @ self.tangent, 1, 2).reshape(count, 3, -1)
        by_modes = along @ self.directions.reshape(len(self.directions), -1).T
        singly = np.swapaxes(lever @ self.alone, 1, 2).reshape(count, 3, -1)
        by_root = np.broadcast_to(self.settings.root_metres * np.eye(3), (count, 3, 3))
        slopes = np.concatenate([by_modes, singly, by_root], axis=2)
        slack = _slack(self._sizes(numbers))
        found = slopes * (slack**1.25)[:, None]
        # The root's three are bounded together, so they depend on one another.
        far, its = numbers[:, -3:] / self.settings.max_root, slack[:, -3:]
        along = its**1.25 * far
        found[..., -3:] = (
            slopes[..., -3:] * (its**0.25)[:, None]
            - ((slopes[..., -3:] @ far[..., None]) @ along[:, None]) * (far**2).sum(axis=1)[:, None, None]
        )
        return np.asarray(found)

    def _sizes(self, numbers: Array) -> Array:
        """Numbers as shares of the largest that they may be."""
        modes, settings = len(self.directions), self.settings
        sizes = np.abs(numbers) / settings.max_alone
        sizes[:, :modes] = np.abs(numbers[:, :modes]) / settings.max_mode
        sizes[:, -3:] = np.linalg.norm(numbers[:, -3:], axis=1, keepdims=True) / settings.max_root
        return sizes


def _slack(sizes: Array) -> Array:
    """1 for small sizes, towards 0 beyond 1; `size · slack^¼` stays below 1 and has the slope `slack^1¼`."""
    return np.asarray(1.0 / (1.0 + sizes**4))


def _solve(motion: Motion, prior: DisplacementPrior, at: Array, asked: Observations, rank: int) -> Array:
    """Unit numbers `(rank, size)` of the displacement: the most likely with which points meet their targets.

    The prior is that of the observations' frames, at which the process is `at` `(points, rank)`.
    """
    from scipy.linalg import solve

    rotations = np.asarray(motion.rotations[asked.frames], dtype=np.float64)
    root = np.asarray(motion.root[asked.frames], dtype=np.float64)
    local = motion.skeleton.offsets if motion.translations is None else motion.translations[asked.frames]
    parents, each = motion.skeleton.parents, np.arange(len(asked.frames))
    above = np.zeros((len(each), motion.joints))
    for row, joint in enumerate(asked.joints):
        above[row, list(motion.skeleton.ancestors(int(joint)))] = 1.0
    precise = 1.0 / asked.noise

    def place(numbers: Array) -> tuple[Array, GlobalPose, Array, Array]:
        turns, shifts = prior.displacement(at @ numbers)
        moved = so3.multiply(rotations, so3.exp(turns))
        offsets = np.broadcast_to(local, (len(moved), len(parents), 3))
        pose = global_frames(parents, offsets, moved, root + shifts, translations=offsets)
        turned = so3.rotate(pose.rotations[each, asked.joints], asked.local)
        points = pose.positions[each, asked.joints] + turned
        return turns, pose, points, (asked.positions - points) * precise[:, None]

    numbers, damping = np.zeros((rank, prior.size)), 0.0
    turns, pose, points, missing = place(numbers)
    cost = float((missing**2).sum())
    kernel = np.repeat(np.repeat(at @ at.T, 3, axis=0), 3, axis=1)
    for _ in range(prior.settings.steps):
        slopes = prior.gradients(at @ numbers, turns, pose, above, points) * precise[:, None, None]
        flat = slopes.reshape(-1, prior.size)
        gram = (flat @ flat.T) * kernel
        carried = np.einsum("pcs,ps->pc", slopes, at @ numbers)
        before = cost
        while cost >= before and damping < 1e9:
            held = 1.0 + damping
            right = (missing + carried / held).ravel()
            weights = solve(gram + held * np.eye(len(gram)), right, assume_a="pos", check_finite=False)
            step = at.T @ np.einsum("pc,pcs->ps", weights.reshape(-1, 3), slopes) - numbers / held
            found = place(numbers + step)
            cost = float(((numbers + step) ** 2).sum() + (found[3] ** 2).sum())
            if cost >= before:
                damping = max(10.0 * damping, prior.settings.damping)
        if cost >= before:
            break
        damping = 0.1 * damping if damping > prior.settings.damping else 0.0
        numbers = numbers + step
        turns, pose, points, missing = found
        if before - cost < prior.settings.tolerance * before:
            break
    return numbers
