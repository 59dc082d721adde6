"""How far a decoded clip is from the original: joints, surface, feet, bones (Tournier 2011, section 9.3).

All measures take two clips of the same figure and length and walk through them in blocks of frames, so that
the memory they need is that of a block. Cost: two passes of forward kinematics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from marey._arrays import Array, FloatArray
from marey.body.codec.end_joints import end_joints
from marey.body.kinematics import GlobalPose, end_positions, forward_kinematics
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3

# Frames looked at together: a few megabytes for a human figure.
_BLOCK = 4096


class Distortion(NamedTuple):
    """Error of all joint positions relative to how much they move, in per cent.

    frobenius: `100 ‖A - Ã‖ / ‖A - E(A)‖`, the definition as printed in section 9.3
    squared: `100 (‖A - Ã‖ / ‖A - E(A)‖)²`, the one that reproduces table 9.2
    """

    frobenius: float
    squared: float


class JointError(NamedTuple):
    """Distances between joints and end sites of two clips, metres.

    share_within: share of the points and frames whose distance is at most `threshold`
    """

    mean: float
    maximum: float
    percentile_99: float
    share_within: float
    threshold: float


class FootSkate(NamedTuple):
    """Mean horizontal speed of feet while those of the original stand, metres a second; NaN if none does.

    share: of the frames in which a foot of the original stands
    """

    original: float
    decoded: float
    share: float


def relative_distortion(original: Motion, decoded: Motion) -> Distortion:
    """Both readings of the source's measure, over all joint positions in the world.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> [round(d, 3) for d in relative_distortion(walk, walk.transform(translation=[0.0, 0.01, 0.0]))]
    [0.643, 0.004]
    """
    error = 0.0
    first: Array | None = None
    for truth, found in _blocks(original, decoded):
        true_positions = truth.positions()
        error += float(((found.positions() - true_positions) ** 2).sum())
        if first is None:
            # Sums of squares about the first frame, so that a figure far from the origin loses no digits.
            first = true_positions[0]
            total, squares = np.zeros(first.shape), np.zeros(first.shape)
        away = true_positions - first
        total += away.sum(axis=0)
        squares += (away**2).sum(axis=0)
    spread = float((squares - total**2 / original.frames).sum())
    if error == 0.0:
        return Distortion(0.0, 0.0)
    ratio = np.sqrt(error / spread) if spread > 0 else np.inf
    return Distortion(float(100 * ratio), float(100 * ratio**2))


def joint_error(original: Motion, decoded: Motion, *, threshold: float = 0.01) -> JointError:
    """Mean, largest and 99th percentile of the distances of joints and end sites; share within `threshold`.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> error = joint_error(walk, walk.transform(translation=[0.0, 0.02, 0.0]))
    >>> round(error.mean, 6), round(error.maximum, 6), error.share_within
    (0.02, 0.02, 0.0)
    """
    distances = position_errors(original, decoded)
    return JointError(
        float(distances.mean()),
        float(distances.max()),
        float(np.percentile(distances, 99)),
        float((distances <= threshold).mean()),
        threshold,
    )


def position_errors(original: Motion, decoded: Motion) -> Array:
    """Distances `(frames, joints + ends)` between joints, then end sites, of two clips, metres."""
    return np.concatenate(
        [
            np.linalg.norm(_points(found) - _points(truth), axis=-1)
            for truth, found in _blocks(original, decoded)
        ]
    )


def shell_error(original: Motion, decoded: Motion, *, shell: float = 0.03) -> Array:
    """How far any point within `shell` metres of each joint may be off, `(frames, joints)`, metres.

    A point rigid with joint j, at most `shell` away from it, is displaced by at most
    `|Δp_j| + 2 shell sin(θ_j / 2)` with θ_j the angle between the joint's world rotations.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> bool(np.allclose(shell_error(walk, walk.transform(translation=[0.0, 0.02, 0.0])), 0.02))
    True
    """
    bounds = []
    for truth, found in _blocks(original, decoded):
        a, b = forward_kinematics(truth), forward_kinematics(found)
        # The vector part of a⁻¹ b is sin(θ / 2) long, and exact for small angles.
        turn = so3.multiply(so3.inverse(a.rotations), b.rotations)[..., 1:]
        shift = np.linalg.norm(b.positions - a.positions, axis=-1)
        bounds.append(shift + 2 * shell * np.linalg.norm(turn, axis=-1))
    return np.concatenate(bounds)


def foot_skate(
    original: Motion, decoded: Motion, *, feet: Sequence[str] | None = None, still: float = 0.02
) -> FootSkate:
    """How fast feet slide over the ground while those of the original stand.

    feet: joints to watch; both toes (or feet) if None
    still: a foot of the original stands where its speed is below this, metres a second

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> foot_skate(walk, walk, still=0.1).decoded < 0.1
    True
    """
    if feet is None:
        named = end_joints(original.skeleton)
        joints = [end.joint for end in named if end.part == "foot"] or [end.joint for end in named]
    else:
        joints = original.skeleton.indices(feet)
    _check_alike(original, decoded)
    rate = original.frame_rate
    true_sum = found_sum = 0.0
    standing = 0
    for start in range(0, original.frames, _BLOCK):
        # One frame more than the block: steps, not frames, are counted.
        frames = slice(start, min(start + _BLOCK + 1, original.frames))
        truth = np.diff(original[frames].positions()[:, joints], axis=0) * rate
        found = np.diff(decoded[frames].positions()[:, joints], axis=0) * rate
        stands = np.linalg.norm(truth, axis=-1) < still
        true_sum += float(_horizontal(truth)[stands].sum())
        found_sum += float(_horizontal(found)[stands].sum())
        standing += int(stands.sum())
    if standing == 0:
        return FootSkate(float("nan"), float("nan"), 0.0)
    steps = (original.frames - 1) * len(joints)
    return FootSkate(true_sum / standing, found_sum / standing, standing / steps)


def bone_length_drift(motion: Motion) -> float:
    """Largest deviation of a bone's length, as measured between joints in the world, from its mean, metres.

    >>> import marey
    >>> bone_length_drift(marey.samples.walk()) < 1e-12
    True
    """
    parents = motion.skeleton.parents
    if motion.joints == 1:
        return 0.0
    lengths = []
    for start in range(0, motion.frames, _BLOCK):
        positions = motion[start : start + _BLOCK].positions()
        lengths.append(np.linalg.norm(positions[:, 1:] - positions[:, parents[1:]], axis=-1))
    every = np.concatenate(lengths)
    return float(np.abs(every - every.mean(axis=0)).max())


def _blocks(original: Motion, decoded: Motion) -> Iterator[tuple[Motion, Motion]]:
    _check_alike(original, decoded)
    for start in range(0, original.frames, _BLOCK):
        frames = slice(start, start + _BLOCK)
        yield original[frames], decoded[frames]


def _check_alike(original: Motion, decoded: Motion) -> None:
    if original.frames != decoded.frames or original.joints != decoded.joints:
        raise InputError(
            f"cannot compare a clip of {original.frames} frames and {original.joints} joints with one of "
            f"{decoded.frames} and {decoded.joints}"
        )
    if len(original.skeleton.end_parents) != len(decoded.skeleton.end_parents):
        raise InputError("cannot compare the clips: their end sites differ")


def _points(motion: Motion) -> Array:
    pose: GlobalPose = forward_kinematics(motion)
    return np.concatenate([pose.positions, end_positions(motion, pose)], axis=1)


def _horizontal(velocity: FloatArray) -> FloatArray:
    return np.asarray(np.hypot(velocity[..., 0], velocity[..., 2]))
