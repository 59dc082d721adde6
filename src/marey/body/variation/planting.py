"""Feet that stand where the legs allow it: all frames of both legs and the root's path solved at once.

Sliding feet are the admitted defect of simulated motion (Courty & Cuzol 2010, section 6). Standing feet do
not move, no foot goes below the ground, no joint beyond its range, and the legs and the path change as little
and as smoothly as possible: Gauss-Newton steps on a banded least squares, at a few dozen frames a second,
whose smooth answer is then interpolated. O(frames), some milliseconds a second of motion and step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey.body.contacts import HEIGHT, feet
from marey.body.kinematics import GlobalPose, forward_kinematics
from marey.body.motion import Motion
from marey.body.two_bone import legs
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous
from marey.geometry.tangent import dexp_body, dexp_body_inverse

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Frames a second at which changes are solved for.
COARSE = 40.0
# Gauss-Newton steps, and radians or metres by which one changes a number at most.
STEPS, STRIDE, RELAX = 14, 0.5, 0.7
# Hertz: how fast legs, and the root's path, may be changed beside what standing feet ask for.
LEG_RATE, ROOT_RATE = 2.0, 0.7
# Weights beside 1 for a metre by which a foot is moved: a standing foot's step, its height, a joint beyond its
# range, a kept pose, the root's shift.
STAND, LIFT, RANGE, KEEP, ROOT = 3e4, 1e4, 3e3, 1e8, 0.3
# Metres that a turn of a radian at hip, knee and ankle counts as.
ARMS = (0.9, 0.45, 0.2)


class Ranges(NamedTuple):
    """Logarithms of joints at their `mean` `(joints, 4)` that they may have, `(joints, 3)` each."""

    mean: Array
    low: Array
    high: Array


def planted(
    motion: Motion,
    standing: Mask,
    *,
    levels: Array,
    floor: Array,
    kept: Mask,
    ranges: Ranges | None,
    slack: float = 0.0,
) -> Motion:
    """The clip with standing feet still and no foot below the ground, as far as ranges allow.

    standing: `(frames, feet)`, feet as :func:`marey.body.contacts.feet` has them
    levels: `(feet,)`, metres, heights at which they rest
    floor: `(frames, feet)`, metres, heights below which they never are
    kept: `(frames,)`, frames whose pose stays
    slack: metres a second that a standing foot may slide
    """
    every = max(1, round(motion.frame_rate / COARSE))
    at = np.round(np.linspace(0, motion.frames - 1, (motion.frames - 1) // every + 1)).astype(np.intp)
    if len(at) < 4 or not standing.shape[1]:
        return motion
    rate = motion.frame_rate * (len(at) - 1) / (motion.frames - 1)
    problem = _Problem.of(motion, at, rate, ranges)
    still = np.zeros(len(at), dtype=bool)
    places = np.searchsorted(at, np.flatnonzero(kept))
    still[places] = still[np.maximum(places - 1, 0)] = True
    change = problem.solve(standing[at], levels, floor[at], still, slack)
    return _changed(motion, at, change, problem, kept)


def _changed(motion: Motion, at: NDArray[np.intp], change: Array, problem: _Problem, kept: Mask) -> Motion:
    """The clip with coarse changes made in all its frames."""
    from scipy.interpolate import CubicSpline

    whole = CubicSpline(at, change)(np.arange(motion.frames)) if len(at) < motion.frames else change
    rotations = np.array(motion.rotations, dtype=np.float64)
    for number, chain in enumerate(problem.chains):
        for i, joint in enumerate(chain.turning):
            first = 3 + 9 * number + 3 * i
            rotations[:, joint] = so3.multiply(rotations[:, joint], so3.exp(whole[:, first : first + 3]))
    rotations[kept] = motion.rotations[kept]
    path = motion.root + whole[:, :3]
    translations = motion.translations
    if translations is not None:
        translations = np.concatenate([path[:, None], translations[:, 1:]], axis=1)
    return replace(
        motion, rotations=continuous(so3.normalise(rotations)), root=path, translations=translations
    )


@dataclass(frozen=True, eq=False)
class _Chain:
    """A leg from its hip down: joints, what they are at the outset, and which of them turn."""

    joints: list[int]
    turning: tuple[int, int, int]
    points: list[int]
    above: Array
    hip: Array
    local: Array
    offsets: Array


@dataclass(frozen=True, eq=False)
class _Problem:
    """Changes of the root's place and of three joints a leg, for every coarse frame."""

    rate: float
    chains: list[_Chain]
    columns: list[list[int]]
    ranges: Ranges | None
    frames: int

    @classmethod
    def of(cls, motion: Motion, at: NDArray[np.intp], rate: float, ranges: Ranges | None) -> _Problem:
        whole = forward_kinematics(motion)
        pose = GlobalPose(whole.positions[at], whole.rotations[at])
        parents = np.asarray(motion.skeleton.parents)
        standing = list(feet(motion.skeleton))
        chains, columns = [], []
        for leg in legs(motion.skeleton):
            joints = [leg.toe if leg.toe >= 0 else leg.ankle]
            while joints[-1] != leg.hip:
                joints.append(int(parents[joints[-1]]))
            joints.reverse()
            above = pose.rotations[:, parents[leg.hip]]
            moved = np.diff(pose.positions[:, joints], axis=1)
            offsets = so3.rotate(so3.inverse(pose.rotations[:, joints[:-1]]), moved)
            points = [joint for joint in (leg.ankle, leg.toe) if joint >= 0]
            chains.append(
                _Chain(
                    joints,
                    (leg.hip, leg.knee, leg.ankle),
                    points,
                    above,
                    pose.positions[:, leg.hip],
                    np.asarray(motion.rotations[at][:, joints], dtype=np.float64),
                    offsets,
                )
            )
            columns.append([standing.index(joint) for joint in points])
        return cls(rate, chains, columns, ranges, len(at))

    def solve(self, standing: Mask, levels: Array, floor: Array, still: Mask, slack: float) -> Array:
        """Changes `(frames, 3 + 9 legs)`: metres of the root, then rotation vectors of hip, knee and ankle."""
        size = 3 + 9 * len(self.chains)
        change = np.zeros((self.frames, size))
        prior = self._prior(size, still)
        for number_of_step in range(STEPS):
            normal = _Normal(self.frames, size)
            for number, (chain, columns) in enumerate(zip(self.chains, self.columns, strict=True)):
                own = change[:, 3 + 9 * number : 12 + 9 * number].reshape(-1, 3, 3)
                turns, places, slopes = _legs_now(chain, own, change[:, :3], size, 3 + 9 * number)
                for place, slope, column in zip(places, slopes, columns, strict=True):
                    self._stand(normal, place, slope, standing[:, column], slack)
                    ceiling = np.where(standing[:, column], levels[column] + 0.5 * HEIGHT, np.inf)
                    wrong = place[:, 1] - np.clip(place[:, 1], floor[:, column], ceiling)
                    normal.add(slope[:, 1:2], wrong[:, None], LIFT * (wrong != 0))
                self._range(normal, chain, turns, own, size, 3 + 9 * number)
            step = normal.solve(prior, change)
            step[:, 3:] = np.clip(step[:, 3:], -STRIDE, STRIDE)
            change = change + (RELAX if number_of_step >= 3 else 1.0) * step
            if np.abs(step).max() < 1e-3:
                break
        return change

    def _prior(self, size: int, still: Mask) -> tuple[Array, Array]:
        """Weights `(frames, unknowns)` of changes, and `(unknowns,)` of their second differences."""
        squares = np.square(np.repeat(ARMS, 3))
        weights = np.empty((self.frames, size))
        weights[:, :3] = 1e-7
        weights[0, :3] = 1.0
        weights[:, 3:] = np.tile(squares, len(self.chains)) * np.where(still, KEEP, 1.0)[:, None]
        bends = np.empty(size)
        bends[:3] = ROOT * (self.rate / (2 * np.pi * ROOT_RATE)) ** 4
        bends[3:] = np.tile(squares, len(self.chains)) * (self.rate / (2 * np.pi * LEG_RATE)) ** 4
        return weights, bends

    def _stand(self, normal: _Normal, place: Array, slope: Array, stands: Mask, slack: float) -> None:
        both = stands[1:] & stands[:-1]
        flat = [0, 2]
        steps = np.diff(place[:, flat], axis=0)
        long = np.linalg.norm(steps, axis=1, keepdims=True)
        slid = steps * np.maximum(1 - slack / self.rate / np.maximum(long, 1e-12), 0.0)
        # A step is a speed times a time: weighed so that the same speed counts the same at every rate.
        normal.add_steps(slope[:, flat], slid, STAND * both * (self.rate / COARSE) ** 2)

    def _range(
        self, normal: _Normal, chain: _Chain, turns: list[Array], own: Array, size: int, first: int
    ) -> None:
        if self.ranges is None:
            return
        for i, joint in enumerate(chain.turning):
            logs = so3.log(so3.multiply(so3.inverse(self.ranges.mean[joint]), turns[i]))
            over = logs - np.clip(logs, self.ranges.low[joint], self.ranges.high[joint])
            if not over.any():
                continue
            slope = np.zeros((self.frames, 3, size))
            slope[:, :, first + 3 * i : first + 3 * i + 3] = dexp_body_inverse(logs) @ dexp_body(own[:, i])
            # Row by row, since only those beyond their range count.
            for row in range(3):
                normal.add(slope[:, row : row + 1], over[:, row : row + 1], RANGE * (over[:, row] != 0))


def _legs_now(
    chain: _Chain, own: Array, root: Array, size: int, first: int
) -> tuple[list[Array], list[Array], list[Array]]:
    """Turned joints `(frames, 4)`, points of the foot `(frames, 3)` and their slopes `(frames, 3, size)`."""
    whole, place = chain.above, chain.hip + root
    turns, axes, centres = [], [], []
    places, slopes = [], []
    for number, joint in enumerate(chain.joints):
        if number:
            place = place + so3.rotate(whole, chain.offsets[:, number - 1])
        local = chain.local[:, number]
        if joint in chain.points:
            slope = np.zeros((len(place), 3, size))
            slope[:, :, :3] = np.eye(3)
            for i, (axis, centre) in enumerate(zip(axes, centres, strict=True)):
                arm = (place - centre)[:, :, None]
                slope[:, :, first + 3 * i : first + 3 * i + 3] = np.cross(axis, arm, axis=1)
            places.append(place)
            slopes.append(slope)
        if joint in chain.turning:
            turned = own[:, len(turns)]
            local = so3.multiply(local, so3.exp(turned))
            turns.append(local)
        whole = so3.multiply(whole, local)
        if joint in chain.turning:
            axes.append(_matrices(whole) @ dexp_body(turned))
            centres.append(place)
    return turns, places, slopes


def _matrices(q: Array) -> Array:
    return np.stack([so3.rotate(q, axis) for axis in np.eye(3)], axis=-1)


class _Normal:
    """Normal equations of least squares that couple each frame with the two after it."""

    def __init__(self, frames: int, size: int) -> None:
        self.own = np.zeros((frames, size, size))
        self.next = np.zeros((frames - 1, size, size))
        self.right = np.zeros((frames, size))

    def add(self, slope: Array, value: Array, weight: Array) -> None:
        """Rows `(frames, rows, size)` times the step are minus `value` `(frames, rows)`."""
        used = np.flatnonzero(weight)
        if not len(used):
            return
        heavy = slope[used] * weight[used, None, None]
        self.own[used] += slope[used].transpose(0, 2, 1) @ heavy
        self.right[used] -= np.einsum("tra,tr->ta", heavy, value[used])

    def add_steps(self, slope: Array, value: Array, weight: Array) -> None:
        """Rows of the next frame minus those of this one are minus `value` `(frames − 1, rows)`."""
        used = np.flatnonzero(weight)
        if not len(used):
            return
        here, there = slope[used], slope[used + 1]
        heavy_here, heavy_there = (rows * weight[used, None, None] for rows in (here, there))
        self.own[used] += here.transpose(0, 2, 1) @ heavy_here
        self.own[used + 1] += there.transpose(0, 2, 1) @ heavy_there
        self.next[used] -= there.transpose(0, 2, 1) @ heavy_here
        self.right[used] += np.einsum("tra,tr->ta", heavy_here, value[used])
        self.right[used + 1] -= np.einsum("tra,tr->ta", heavy_there, value[used])

    def solve(self, prior: tuple[Array, Array], change: Array) -> Array:
        """The step, `(frames, size)`, with changes kept small and smooth."""
        from scipy.linalg import solveh_banded

        weights, bends = prior
        frames, size = self.right.shape
        band = np.zeros((2 * size + 1, frames, size))
        for a in range(size):
            for b in range(a + 1):
                band[a - b, :, b] = self.own[:, a, b]
            for b in range(size):
                band[size + a - b, :-1, b] = self.next[:, a, b]
        second = np.zeros_like(change)
        bent = bends * np.diff(change, 2, axis=0)
        second[:-2] += bent
        second[1:-1] -= 2 * bent
        second[2:] += bent
        right = self.right - weights * change - second
        band[0] += weights
        band[0, :-2] += bends
        band[0, 1:-1] += 4 * bends
        band[0, 2:] += bends
        band[size, :-2] -= 2 * bends
        band[size, 1:-1] -= 2 * bends
        band[2 * size, :-2] += bends
        found = solveh_banded(
            band.reshape(2 * size + 1, -1), right.ravel(), lower=True, check_finite=False, overwrite_ab=True
        )
        return np.asarray(found).reshape(frames, size)
