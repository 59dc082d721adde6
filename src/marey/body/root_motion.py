"""The root's path as numbers that do not depend on where it leads: velocities, and back without drift.

In the *heading* frame (our default) a pose has the ground velocity seen by the figure, its height and its
yaw rate, and the root's tilt stays a rotation; turning motions are then as stationary as straight ones. In
the *world* frame it has the world velocity, and the whole orientation stays a rotation (Courty 2013,
section 3.1 of the variation paper: R³ × SO(3)ⁿ⁺¹). Differences are forward ones, so that summing them up
gives the path back to rounding. Cost: O(frames).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, assign, checked, checked_rate
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3

Frame = Literal["heading", "world"]

FEATURES: dict[str, tuple[str, ...]] = {
    "heading": ("velocity x (m/s)", "velocity z (m/s)", "height (m)", "yaw rate (rad/s)"),
    "world": ("velocity x (m/s)", "velocity y (m/s)", "velocity z (m/s)"),
}
# Metres a joint's translation may vary and still count as an offset.
STILL = 1e-4
# Spreads below these are noise of a figure that stands: they are not blown up to count like a joint.
LEAST_SPREAD: dict[str, tuple[float, ...]] = {"heading": (0.05, 0.05, 0.01, 0.1), "world": (0.05, 0.05, 0.05)}


@dataclass(frozen=True, eq=False)
class RootMotionModes:
    """The root's part of a pose model: features of root motion by the model's coordinates.

    Args:
        frame: "heading" or "world", which features (names in `FEATURES`).
        mean: `(features,)`.
        directions: `(modes, features)`, change of the features by a unit of each coordinate.
        duals: `(modes, features)`, change of each coordinate by a unit of the features.
    """

    frame: str
    mean: Array
    directions: Array
    duals: Array

    def __post_init__(self) -> None:
        features = len(FEATURES[checked_frame(self.frame)])
        directions = checked("directions", self.directions, (None, features))
        duals = checked("duals", self.duals, (len(directions), features))
        assign(self, mean=checked("mean", self.mean, (features,)), directions=directions, duals=duals)

    def encode(self, features: ArrayLike) -> Array:
        """What features `(..., features)` add to the coordinates `(..., modes)`."""
        return (np.asarray(features, dtype=np.float64) - self.mean) @ self.duals.T

    def decode(self, coordinates: ArrayLike) -> Array:
        """Features `(..., features)` of coordinates `(..., modes)`."""
        return self.mean + np.asarray(coordinates, dtype=np.float64) @ self.directions


class RootPath(NamedTuple):
    """The root over time: positions `(frames, 3)`, metres, and rotations `(frames, 4)`."""

    positions: Array
    rotations: Array


class RootMotion(NamedTuple):
    """A root path taken apart.

    Args:
        features: `(frames, features)`, see `FEATURES`.
        rotations: `(frames, 4)`, what stays a rotation.
        frame: "heading" or "world", which features.
    """

    features: Array
    rotations: Array
    frame: str


def root_motion(motion: Motion, frame: Frame | str = "heading") -> RootMotion:
    """How the root of a clip moves, frame by frame; the last frame goes on as the one before.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> found = root_motion(walk)
    >>> back = integrate_root_motion(found, walk.frame_rate, start=walk.root[0], heading=yaw(walk)[0])
    >>> bool(np.abs(back.positions - walk.root).max() < 1e-9)
    True
    """
    checked_frame(frame)
    root = np.asarray(motion.root, dtype=np.float64)
    turns = np.asarray(motion.rotations[:, 0], dtype=np.float64)
    velocity = np.diff(root, axis=0) * motion.frame_rate
    if frame == "world":
        return RootMotion(_continued(velocity), turns, frame)
    turned = yaw(motion)
    facing = about_y(turned)
    seen = _continued(so3.rotate(so3.inverse(facing[:-1]), velocity))
    rate = _continued(np.diff(turned) * motion.frame_rate)
    features = np.stack([seen[:, 0], seen[:, 2], root[:, 1], rate], axis=1)
    return RootMotion(features, so3.multiply(so3.inverse(facing), turns), frame)


def integrate_root_motion(
    moved: RootMotion, frame_rate: float, *, start: ArrayLike = (0.0, 0.0, 0.0), heading: float = 0.0
) -> RootPath:
    """The root's path from its motion.

    Args:
        moved: features and rotations, by frame.
        frame_rate: frames per second.
        start: `(3,)`, metres, where it begins (the height comes from the features in the heading frame).
        heading: radians about y, where it faces at the start in the heading frame.
    """
    features = np.asarray(moved.features, dtype=np.float64)
    turns = np.asarray(moved.rotations, dtype=np.float64)
    start = checked("start", start, (3,))
    rate = checked_rate(frame_rate)
    if moved.frame == "world":
        return RootPath(_summed(start, features / rate), turns)
    facing = about_y(_summed(np.array([float(heading)]), features[:, 3:] / rate)[:, 0])
    flat = np.stack([features[:, 0], np.zeros(len(features)), features[:, 1]], axis=1)
    positions = _summed(start, so3.rotate(facing, flat) / rate)
    positions[:, 1] = features[:, 2]
    return RootPath(positions, so3.multiply(facing, turns))


def yaw(motion: Motion) -> Array:
    """Yaw of the root, radians about y `(frames,)`, without jumps: what is left is a tilt about a level axis.

    Where the root is upside down every yaw would do, and it may spin; the path back is exact all the same.
    """
    turns = np.asarray(motion.rotations[:, 0])
    return np.unwrap(2.0 * np.arctan2(turns[:, 2], turns[:, 0]))


def about_y(angle: Array) -> Array:
    """Rotations `(..., 4)` by angles `(...)` about y, radians."""
    half = 0.5 * angle
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, np.sin(half), zero], axis=-1)


def positions_in_heading_frame(motion: Motion) -> Array:
    """Joints `(frames, joints, 3)`, metres, from the ground below the root, facing ahead in every frame."""
    from_ground = motion.positions() - (motion.root * [1.0, 0.0, 1.0])[:, None]
    return so3.rotate(about_y(-yaw(motion))[:, None], from_ground)


def moving_root(motion: Motion) -> int:
    """The joint whose path leads the figure: 0, the root, or the only one that slides if it carries the rest.

    Exporters and engines put the figure below joints of their own, still ones or such that follow it;
    `motion.subtree(name)` of that joint is the figure by itself.

    >>> import marey
    >>> moving_root(marey.samples.walk())
    0
    """
    if motion.translations is None:
        return 0
    skeleton = motion.skeleton
    sliding = 1 + np.flatnonzero(np.ptp(motion.translations[:, 1:], axis=0).max(axis=1, initial=0.0) > STILL)
    top = int(sliding[0]) if len(sliding) == 1 else 0
    # Everything above it must be a chain, and all else hang below it.
    chain = skeleton.ancestors(top) == tuple(range(top, -1, -1)) and not (skeleton.end_parents < top).any()
    return top if chain and len(skeleton.descendants(top)) == skeleton.joints - top else 0


def without_carriers(motion: Motion) -> Motion:
    """The clip without the joints that exporters put above the hips: from the moving root downwards."""
    top = moving_root(motion)
    return motion.subtree(motion.skeleton.names[top]) if top else motion


def with_carriers(figure: Motion, motion: Motion) -> Motion:
    """The whole clip with the rotations and the root path of a changed `figure`, see `without_carriers`."""
    top = moving_root(motion)
    if not top:
        return replace(motion, rotations=figure.rotations, root=figure.root)
    rotations, translations = np.array(motion.rotations), np.array(motion.translations)
    rotations[:, motion.skeleton.indices(figure.skeleton.names)] = figure.rotations
    above, parent = forward_kinematics(motion), int(motion.skeleton.parents[top])
    back = so3.inverse(above.rotations[:, parent])
    rotations[:, top] = so3.multiply(back, figure.rotations[:, 0])
    translations[:, top] = so3.rotate(back, figure.root - above.positions[:, parent])
    return replace(motion, rotations=so3.continuous(so3.normalise(rotations)), translations=translations)


def checked_frame(frame: str) -> str:
    """One of the frames of root motion."""
    if frame not in FEATURES:
        raise InputError(f"root {frame!r}: it is one of none, {', '.join(FEATURES)}")
    return frame


def _continued(steps: Array) -> Array:
    """Steps between frames with the last repeated, so that there is one a frame; zero of a single frame."""
    return np.concatenate([steps, steps[-1:]]) if len(steps) else np.zeros((1, *steps.shape[1:]))


def _summed(start: Array, steps: Array) -> Array:
    """Start, start + first step, …; the last step leads beyond and is left out."""
    return np.asarray(start + np.concatenate([np.zeros_like(steps[:1]), np.cumsum(steps[:-1], axis=0)]))
