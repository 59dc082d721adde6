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
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.body.two_bone import legs
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous
from marey.geometry.matrices import hat, to_matrix
from marey.geometry.tangent import dexp_body, dexp_body_inverse

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Frames a second at which changes are solved for.
COARSE = 30.0
# Gauss-Newton steps, whole ones at first, then this part of them; radians that a joint turns in one at most;
# radians and metres below which they end.
STEPS, WHOLE, RELAX, STRIDE, ENOUGH = 8, 3, 0.7, 0.5, 2e-3
# Hertz: how fast legs, and the root's path, may be changed beside what standing feet ask for.
LEG_RATE, ROOT_RATE = 2.0, 0.7
# Weights beside 1 for a metre by which a foot is moved: a standing foot's step, its height, a joint beyond
# its range, a kept pose, the root's shift.
STAND, LIFT, RANGE, KEEP, ROOT = 3e4, 1e4, 3e3, 1e8, 0.3
# The same for a foot's place and a joint's range in single frames, and steps there.
FIRM, SETTLING = 30.0, 3
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
    problem = _Problem(rate, _chains(motion, at), ranges, len(at))
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
    every = np.arange(motion.frames)
    chains = _chains(motion, every)
    change = np.zeros((motion.frames, 3 + 9 * len(chains)))
    change[:, :3] = root
    for number, chain in enumerate(chains):
        own = np.zeros((motion.frames, 3, 3))
        goals = _now(chain, np.zeros_like(root), own).places + shifts[:, chain.columns]
        damped = np.square(np.repeat(ARMS, 3))
        for _ in range(SETTLING):
            now = _now(chain, root, own)
            block = _Block(motion.frames)
            wrong = (now.places - goals).reshape(motion.frames, -1)
            block.add(now.slopes.reshape(motion.frames, -1, 12), wrong, np.full(wrong.shape, FIRM))
            if ranges is not None:
                over, slopes = _range_rows(chain, ranges, now, own)
                block.add_turns(slopes, over, FIRM * (over != 0))
            right = block.right[:, 3:] - damped * own.reshape(-1, 9)
            step = np.linalg.solve(block.own[:, 3:, 3:] + np.diag(damped), right[..., None])[..., 0]
            own = own + np.clip(step, -STRIDE, STRIDE).reshape(-1, 3, 3)
        change[:, 3 + 9 * number : 12 + 9 * number] = own.reshape(-1, 9)
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


@dataclass(frozen=True, eq=False)
class _Chain:
    """A leg from its hip down: joints, what they are at the outset, which of them turn, and the foot's.

    above, hip: `(frames, 4)` and `(frames, 3)`, the frame that carries the leg, and where the hip is
    local, offsets: `(frames, joints, 4)` and `(frames, joints − 1, 3)`
    columns: which of the standing joints the points are
    """

    joints: list[int]
    turning: tuple[int, int, int]
    points: list[int]
    columns: list[int]
    above: Array
    hip: Array
    local: Array
    offsets: Array


class _Now(NamedTuple):
    """A leg as it is: turned joints `(frames, 3, 4)`, the foot's points `(frames, points, 3)`, and how these
    move with the root and the three joints `(frames, points, 3, 12)`."""

    turned: Array
    places: Array
    slopes: Array


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
        found.append(
            _Chain(
                joints,
                (leg.hip, leg.knee, leg.ankle),
                points,
                [standing.index(joint) for joint in points],
                turned[:, int(parents[leg.hip])],
                pose.positions[at, leg.hip],
                np.asarray(motion.rotations[at][:, joints], dtype=np.float64),
                so3.rotate(so3.inverse(turned[:, joints[:-1]]), moved),
            )
        )
    return found


def _now(chain: _Chain, root: Array, own: Array) -> _Now:
    """The leg with the root shifted `(frames, 3)` and its joints turned by vectors `(frames, 3, 3)`."""
    whole, place = chain.above, chain.hip + root
    turned: list[Array] = []
    axes: list[Array] = []
    centres: list[Array] = []
    places, slopes = [], []
    spread = dexp_body(own)
    turns = so3.exp(own)
    for number, joint in enumerate(chain.joints):
        if number:
            place = place + so3.rotate(whole, chain.offsets[:, number - 1])
        if joint in chain.points:
            slope = np.zeros((len(place), 3, 12))
            slope[:, :, :3] = np.eye(3)
            for i, (axis, centre) in enumerate(zip(axes, centres, strict=True)):
                slope[:, :, 3 + 3 * i : 6 + 3 * i] = -hat(place - centre) @ axis
            places.append(place)
            slopes.append(slope)
        local = chain.local[:, number]
        if joint in chain.turning:
            local = so3.multiply(local, turns[:, len(turned)])
            turned.append(local)
        whole = so3.multiply(whole, local)
        if joint in chain.turning:
            axes.append(to_matrix(whole) @ spread[:, len(axes)])
            centres.append(place)
    return _Now(np.stack(turned, axis=1), np.stack(places, axis=1), np.stack(slopes, axis=1))


def _range_rows(chain: _Chain, ranges: Ranges, now: _Now, own: Array) -> tuple[Array, Array]:
    """How far logarithms of the joints are beyond their ranges `(frames, 3, 3)`, and their slopes."""
    turning = list(chain.turning)
    logs = so3.log(so3.multiply(so3.inverse(ranges.mean[turning]), now.turned))
    over = logs - np.clip(logs, ranges.low[turning], ranges.high[turning])
    return over, dexp_body_inverse(logs) @ dexp_body(own)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Changes of the root's place and of three joints a leg, for every coarse frame."""

    rate: float
    chains: list[_Chain]
    ranges: Ranges | None
    frames: int

    def solve(self, standing: Mask, levels: Array, floor: Array, still: Mask, slack: float) -> Array:
        """Changes `(frames, 3 + 9 legs)`: metres of the root, rotation vectors of hip, knee and ankle."""
        size = 3 + 9 * len(self.chains)
        change = np.zeros((self.frames, size))
        prior = self._prior(size, still)
        ceiling = np.where(standing, levels + 0.5 * HEIGHT, np.inf)
        for count in range(STEPS):
            normal = _Normal(self.frames, size)
            for number, chain in enumerate(self.chains):
                columns = np.append([0, 1, 2], 3 + 9 * number + np.arange(9))
                own = change[:, columns[3:]].reshape(-1, 3, 3)
                now = _now(chain, change[:, :3], own)
                block = _Block(self.frames)
                self._stand(block, now, standing[:, chain.columns], slack)
                heights = now.places[..., 1]
                wrong = heights - np.clip(heights, floor[:, chain.columns], ceiling[:, chain.columns])
                block.add(now.slopes[:, :, 1], wrong, LIFT * (wrong != 0))
                if self.ranges is not None:
                    over, slopes = _range_rows(chain, self.ranges, now, own)
                    block.add_turns(slopes, over, RANGE * (over != 0))
                normal.take(block, columns)
            step = normal.solve(prior, change)
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
        weights[:, :3] = [1e-7, ROOT, 1e-7]
        weights[0, :3] = 1.0
        weights[:, 3:] = squares * np.where(still, KEEP, 1.0)[:, None]
        bends = np.empty(size)
        bends[:3] = ROOT * (self.rate / (2 * np.pi * ROOT_RATE)) ** 4
        bends[3:] = squares * (self.rate / (2 * np.pi * LEG_RATE)) ** 4
        return weights, bends

    def _stand(self, block: _Block, now: _Now, stands: Mask, slack: float) -> None:
        """That points do not move over the ground while they stand."""
        both = stands[1:] & stands[:-1]
        steps = np.diff(now.places[..., [0, 2]], axis=0)
        long = np.linalg.norm(steps, axis=-1, keepdims=True)
        slid = steps * np.maximum(1 - slack / self.rate / np.maximum(long, 1e-12), 0.0)
        # A step is a speed times a time: weighed so that the same speed counts the same at every rate.
        weight = np.repeat(np.where(both, STAND * (self.rate / COARSE) ** 2, 0.0), 2, axis=1)
        rows = now.slopes[:, :, [0, 2]].reshape(self.frames, -1, 12)
        block.add_steps(rows, slid.reshape(self.frames - 1, -1), weight)


class _Block:
    """Normal equations of the root and one leg, frame by frame and between neighbours."""

    def __init__(self, frames: int) -> None:
        self.own = np.zeros((frames, 12, 12))
        self.next = np.zeros((frames - 1, 12, 12))
        self.right = np.zeros((frames, 12))

    def add(self, slope: Array, value: Array, weight: Array) -> None:
        """Rows `(frames, rows, 12)` times the step are minus `value` `(frames, rows)`."""
        heavy = slope * weight[..., None]
        self.own += slope.transpose(0, 2, 1) @ heavy
        self.right -= (value[:, None] @ heavy)[:, 0]

    def add_turns(self, slope: Array, value: Array, weight: Array) -> None:
        """The same for rows `(frames, joints, 3, 3)` that know one joint each."""
        heavy = slope * weight[..., None]
        squares = slope.swapaxes(-1, -2) @ heavy
        for joint in range(3):
            here = slice(3 + 3 * joint, 6 + 3 * joint)
            self.own[:, here, here] += squares[:, joint]
        self.right[:, 3:] -= (value[:, :, None] @ heavy).reshape(-1, 9)

    def add_steps(self, slope: Array, value: Array, weight: Array) -> None:
        """Rows of the next frame minus those of this one are minus `value` `(frames − 1, rows)`."""
        here, there = slope[:-1], slope[1:]
        heavy_here, heavy_there = here * weight[..., None], there * weight[..., None]
        self.own[:-1] += here.transpose(0, 2, 1) @ heavy_here
        self.own[1:] += there.transpose(0, 2, 1) @ heavy_there
        self.next -= there.transpose(0, 2, 1) @ heavy_here
        self.right[:-1] += (value[:, None] @ heavy_here)[:, 0]
        self.right[1:] -= (value[:, None] @ heavy_there)[:, 0]


class _Normal:
    """Normal equations of least squares that couple each frame with the two after it."""

    def __init__(self, frames: int, size: int) -> None:
        self.own = np.zeros((frames, size, size))
        self.next = np.zeros((frames - 1, size, size))
        self.right = np.zeros((frames, size))

    def take(self, block: _Block, columns: NDArray[np.intp]) -> None:
        """Add the equations of some unknowns."""
        row, column = columns[:, None], columns
        self.own[:, row, column] += block.own
        self.next[:, row, column] += block.next
        self.right[:, columns] += block.right

    def solve(self, prior: tuple[Array, Array], change: Array) -> Array:
        """The step, `(frames, size)`, with changes kept small and smooth."""
        from scipy.linalg import solveh_banded

        weights, bends = prior
        frames, size = self.right.shape
        band = np.zeros((2 * size + 1, frames, size))
        row, column = np.tril_indices(size)
        band[row - column, :, column] = self.own[:, row, column].T
        row, column = (index.ravel() for index in np.indices((size, size)))
        band[size + row - column, :-1, column] = self.next[:, row, column].T
        bent = bends * np.diff(change, 2, axis=0)
        right = self.right - weights * change
        right[:-2] -= bent
        right[1:-1] += 2 * bent
        right[2:] -= bent
        band[0] += weights
        band[0, :-2] += bends
        band[0, 1:-1] += 4 * bends
        band[0, 2:] += bends
        band[size, :-2] -= 2 * bends
        band[size, 1:-1] -= 2 * bends
        band[2 * size, :-2] += bends
        flat = band.reshape(2 * size + 1, -1)
        found = solveh_banded(flat, right.ravel(), lower=True, check_finite=False, overwrite_ab=True)
        return np.asarray(found).reshape(frames, size)
