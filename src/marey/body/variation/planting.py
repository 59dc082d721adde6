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

from marey._arrays import Array
from marey.body.contacts import HEIGHT, LEAVE, feet
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.body.two_bone import legs
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous

Mask = NDArray[np.bool_]

# Frames a second at which changes are solved for.
COARSE = 30.0
# Gauss-Newton steps, whole ones at first, then this part of them; radians that a joint turns in one at most;
# radians and metres below which they end.
STEPS, WHOLE, RELAX, STRIDE, ENOUGH = 8, 3, 0.7, 0.5, 2e-3
# Hertz: how fast legs, and the root's path, may be changed beside what standing feet ask for.
LEG_RATE, ROOT_RATE = 2.0, 0.7
# Weights beside 1 for a metre by which a foot is moved: a standing foot's step, its height, a joint beyond
# its range, a kept pose.
STAND, LIFT, RANGE, KEEP = 3e4, 1e4, 3e3, 1e8
# The same for the root's shift, and that up or down: feet shall hardly change the path, or may lead it.
FIRM_ROOT, LOOSE_ROOT = (30.0, 1e3), (0.3, 0.3)
# The same for a foot's place and a joint's range in single frames, steps there, and radians of the last.
FIRM, SETTLING, SETTLED = 30.0, 3, 1e-3
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
    loose: bool = False,
) -> Motion:
    """The clip with standing feet still and no foot below the ground, as far as ranges allow.

    standing: `(frames, feet)`, feet as :func:`marey.body.contacts.feet` has them
    levels: `(feet,)`, metres, heights at which they rest
    floor: `(frames, feet)`, metres, heights below which they never are
    kept: `(frames,)`, frames whose pose stays
    slack: metres a second that a standing foot may slide
    loose: whether feet may lead the root's path away from what it was
    """
    every = max(1, round(motion.frame_rate / COARSE))
    at = np.round(np.linspace(0, motion.frames - 1, (motion.frames - 1) // every + 1)).astype(np.intp)
    if len(at) < 4 or not standing.shape[1]:
        return motion
    rate = motion.frame_rate * (len(at) - 1) / (motion.frames - 1)
    root = LOOSE_ROOT if loose else FIRM_ROOT
    problem = _Problem(rate, _chains(motion, at), ranges, len(at), root)
    still = np.zeros(len(at), dtype=bool)
    places = np.searchsorted(at, np.flatnonzero(kept))
    still[places] = still[np.maximum(places - 1, 0)] = True
    change = problem.solve(standing[at], levels, floor[at], still, slack)
    if len(at) < motion.frames:
        from scipy.interpolate import CubicSpline

        change = CubicSpline(at, change)(np.arange(motion.frames))
    return _changed(motion, change, kept)


def settled(motion: Motion, shifts: Array, root: Array, *, kept: Mask, ranges: Ranges | None) -> Motion:
    """The clip with its root and the feet's joints shifted a little, as far as ranges allow.

    shifts: `(frames, feet, 3)`, metres, over the ground; root: `(frames, 3)`, the root's part of them

    Every frame by itself, by damped least squares: a leg that is stretched gives way instead of snapping.
    """
    from marey.body.variation import _kernels

    change = np.zeros((motion.frames, 3 + 9 * len(legs(motion.skeleton))))
    change[:, :3] = root
    damped = np.square(np.repeat(ARMS, 3))
    for number, chain in enumerate(_chains(motion, np.arange(motion.frames))):
        own = change[:, 3 + 9 * number : 12 + 9 * number]
        asked = np.ascontiguousarray(shifts[:, chain.columns])
        _kernels.settle(
            chain.numbers, _limits(ranges, chain), root, asked, damped, (FIRM, SETTLING, STRIDE, SETTLED), own
        )
    return _changed(motion, change, kept)


def _changed(motion: Motion, change: Array, kept: Mask) -> Motion:
    """The clip with its root shifted and its legs turned."""
    rotations = np.array(motion.rotations, dtype=np.float64)
    for number, leg in enumerate(legs(motion.skeleton)):
        for i, joint in enumerate((leg.hip, leg.knee, leg.ankle)):
            first = 3 + 9 * number + 3 * i
            rotations[:, joint] = so3.multiply(rotations[:, joint], so3.exp(change[:, first : first + 3]))
    rotations[kept] = motion.rotations[kept]
    path = motion.root + change[:, :3]
    translations = motion.translations
    if translations is not None:
        translations = np.concatenate([path[:, None], translations[:, 1:]], axis=1)
    return replace(
        motion, rotations=continuous(so3.normalise(rotations)), root=path, translations=translations
    )


class _Chain(NamedTuple):
    """A leg from its hip down.

    turning: hip, knee and ankle
    columns: which of the standing joints its points are
    numbers: as the kernels want it: the frame that carries the leg `(frames, 4)`, where the hip is
        `(frames, 3)`, local rotations `(frames, joints, 4)`, offsets `(frames, joints − 1, 3)`, and for each
        joint which of those that turn, and of the points, it is, or −1
    """

    turning: tuple[int, int, int]
    columns: list[int]
    numbers: tuple[Array, Array, Array, Array, NDArray[np.int64], NDArray[np.int64]]


def _chains(motion: Motion, at: NDArray[np.intp]) -> list[_Chain]:
    """The legs of a clip in some of its frames."""
    pose = forward_kinematics(motion)
    parents = np.asarray(motion.skeleton.parents)
    standing = list(feet(motion.skeleton))
    found = []
    for leg in legs(motion.skeleton):
        joints = [leg.toe if leg.toe >= 0 else leg.ankle]
        while joints[-1] != leg.hip:
            joints.append(int(parents[joints[-1]]))
        joints.reverse()
        turned = pose.rotations[at]
        moved = np.diff(pose.positions[at][:, joints], axis=1)
        points = [joint for joint in (leg.ankle, leg.toe) if joint >= 0]
        turning = (leg.hip, leg.knee, leg.ankle)
        numbers = (
            np.ascontiguousarray(turned[:, int(parents[leg.hip])]),
            np.ascontiguousarray(pose.positions[at, leg.hip]),
            np.ascontiguousarray(motion.rotations[at][:, joints], dtype=np.float64),
            np.ascontiguousarray(so3.rotate(so3.inverse(turned[:, joints[:-1]]), moved)),
            np.array([turning.index(j) if j in turning else -1 for j in joints], dtype=np.int64),
            np.array([points.index(j) if j in points else -1 for j in joints], dtype=np.int64),
        )
        found.append(_Chain(turning, [standing.index(joint) for joint in points], numbers))
    return found


def _limits(ranges: Ranges | None, chain: _Chain) -> tuple[Array, Array, Array]:
    """Ranges of the joints of a leg that turn; endless if they are free."""
    if ranges is None:
        return so3.identity(3), np.full((3, 3), -np.inf), np.full((3, 3), np.inf)
    turning = list(chain.turning)
    mean, low, high = (np.ascontiguousarray(part[turning], dtype=np.float64) for part in ranges)
    return mean, low, high


@dataclass(frozen=True, eq=False)
class _Problem:
    """Changes of the root's place and of three joints a leg, for every coarse frame."""

    rate: float
    chains: list[_Chain]
    ranges: Ranges | None
    frames: int
    root: tuple[float, float]

    def solve(self, standing: Mask, levels: Array, floor: Array, still: Mask, slack: float) -> Array:
        """Changes `(frames, 3 + 9 legs)`: metres of the root, rotation vectors of hip, knee and ankle."""
        from scipy.linalg import solveh_banded

        from marey.body.variation import _kernels

        size = 3 + 9 * len(self.chains)
        change = np.zeros((self.frames, size))
        prior = self._prior(size, still)
        ceiling = np.where(standing, levels + LEAVE * HEIGHT, np.inf)
        # A step is a speed times a time: weighed so that the same speed counts the same at every rate.
        weights = STAND * (self.rate / COARSE) ** 2, LIFT, RANGE
        asked = [
            (
                np.append([0, 1, 2], 3 + 9 * number + np.arange(9)),
                chain.numbers,
                _limits(self.ranges, chain),
                tuple(np.ascontiguousarray(limit[:, chain.columns]) for limit in (floor, ceiling)),
                np.ascontiguousarray(standing[:, chain.columns]),
            )
            for number, chain in enumerate(self.chains)
        ]
        for count in range(STEPS):
            band, right = _smooth_normal(prior, change)
            for columns, numbers, ranges, limits, stands in asked:
                _kernels.add_leg(
                    band, right, columns, numbers, ranges, change, limits, stands, slack / self.rate, weights
                )
            step = solveh_banded(
                band.T, right.ravel(), lower=True, check_finite=False, overwrite_ab=True
            ).reshape(self.frames, size)
            step[:, 3:] = np.clip(step[:, 3:], -STRIDE, STRIDE)
            # Ranges that are left and entered in turn would make whole steps go to and fro.
            change = change + (step if count < WHOLE else RELAX * step)
            if np.abs(step).max() < ENOUGH:
                break
        return change

    def _prior(self, size: int, still: Mask) -> tuple[Array, Array]:
        """Weights `(frames, unknowns)` of changes, and `(unknowns,)` of their second differences."""
        squares = np.tile(np.square(np.repeat(ARMS, 3)), len(self.chains))
        weights = np.empty((self.frames, size))
        # Feet may carry the root wherever they go, but not up or down.
        weights[:, :3] = [1e-7, self.root[1], 1e-7]
        weights[0, :3] = 1.0
        weights[:, 3:] = squares * np.where(still, KEEP, 1.0)[:, None]
        bends = np.empty(size)
        bends[:3] = self.root[0] * (self.rate / (2 * np.pi * ROOT_RATE)) ** 4
        bends[3:] = squares * (self.rate / (2 * np.pi * LEG_RATE)) ** 4
        return weights, bends


def _smooth_normal(prior: tuple[Array, Array], change: Array) -> tuple[Array, Array]:
    """Normal equations that keep changes small and smooth.

    Lower diagonals of the matrix `(frames · unknowns, 2 unknowns + 1)`, a row a column of it, and the right
    side `(frames, unknowns)`.
    """
    weights, bends = prior
    frames, size = change.shape
    bent = bends * np.diff(change, 2, axis=0)
    right = -weights * change
    right[:-2] -= bent
    right[1:-1] += 2 * bent
    right[2:] -= bent
    band = np.zeros((frames, size, 2 * size + 1))
    band[..., 0] = weights
    band[:-2, :, 0] += bends
    band[1:-1, :, 0] += 4 * bends
    band[2:, :, 0] += bends
    band[:-2, :, size] -= 2 * bends
    band[1:-1, :, size] -= 2 * bends
    band[:-2, :, 2 * size] += bends
    return band.reshape(frames * size, -1), right
