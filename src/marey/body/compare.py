"""How far a clip is from another, such as a decoded one from the original (Tournier 2011, section 9.3).

All measures take two clips of the same figure and length and walk through them in blocks of frames, so that
the memory they need is that of a block. Cost: two passes of forward kinematics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from marey._arrays import Array
from marey.body.kinematics import end_positions, forward_kinematics
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3

# Frames measured together: a few megabytes for a human figure.
_BLOCK = 4096


class Distortion(NamedTuple):
    """Error of all joint positions relative to how much they move, in per cent.

    Args:
        frobenius: `100 ‖A - Ã‖ / ‖A - E(A)‖`, the definition as printed in section 9.3.
        squared: `100 (‖A - Ã‖ / ‖A - E(A)‖)²`, the one that reproduces table 9.2.
    """

    frobenius: float
    squared: float


class JointError(NamedTuple):
    """Distances between joints and end sites of two clips, metres.

    Args:
        mean, maximum, percentile_99: over points and frames.
        share_within: share of the points and frames whose distance is at most `threshold`.
        threshold: metres.
    """

    mean: float
    maximum: float
    percentile_99: float
    share_within: float
    threshold: float


def relative_distortion(original: Motion, decoded: Motion) -> Distortion:
    """Both readings of Tournier's measure, over all joint positions in the world.

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
    d = joint_errors(original, decoded)
    mean, most, high, within = d.mean(), d.max(), np.percentile(d, 99), (d <= threshold).mean()
    return JointError(float(mean), float(most), float(high), float(within), threshold)


def joint_errors(original: Motion, decoded: Motion, *, shell: float = 0.0) -> Array:
    """How far joints, then end sites, are off in every frame, `(frames, joints + ends)`, metres.

    A point rigid with joint j, at most `shell` metres away from it, is displaced by at most
    `|Δp_j| + 2 shell sin(θ_j / 2)` with θ_j the angle between the joint's world rotations.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> off = walk.transform(translation=[0.0, 0.02, 0.0])
    >>> bool(np.allclose(joint_errors(walk, off, shell=0.03), 0.02))
    True
    """
    found = []
    for truth, other in _blocks(original, decoded):
        a, b = forward_kinematics(truth), forward_kinematics(other)
        joints = np.linalg.norm(b.positions - a.positions, axis=-1)
        if shell:
            # The vector part of a⁻¹ b is sin(θ / 2) long, and exact for small angles.
            turn = so3.multiply(so3.inverse(a.rotations), b.rotations)[..., 1:]
            joints = joints + 2 * shell * np.linalg.norm(turn, axis=-1)
        ends = np.linalg.norm(end_positions(other, b) - end_positions(truth, a), axis=-1)
        found.append(np.concatenate([joints, ends], axis=1))
    return np.concatenate(found)


def _blocks(original: Motion, decoded: Motion) -> Iterator[tuple[Motion, Motion]]:
    if original.frames != decoded.frames or original.joints != decoded.joints:
        raise InputError(
            f"cannot compare a clip of {original.frames} frames and {original.joints} joints with one of "
            f"{decoded.frames} and {decoded.joints}"
        )
    if len(original.skeleton.end_parents) != len(decoded.skeleton.end_parents):
        raise InputError("cannot compare the clips: their end sites differ")
    for start in range(0, original.frames, _BLOCK):
        frames = slice(start, start + _BLOCK)
        yield original[frames], decoded[frames]
