"""How far a clip is from another, such as a decoded one from the original (Tournier 2011, section 9.3).

All measures take two clips of the same figure and length. Cost: two passes of forward kinematics.

Pose distances between all frames of clips are Boukhayma's (2017, eqs 2.15-2.16). Heading is no part of a
pose: for each pair, one frame is turned about the vertical so that the roots come nearest. Cost: about 12 ns
a joint and pair, 2 s for 2,600 frames of 31 joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import Array, checked, read_only
from marey._work import Progress
from marey.body.kinematics import end_positions, forward_kinematics
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3

if TYPE_CHECKING:
    from marey.statistics.graphs.graph import DistanceMatrix


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
    _check_alike(original, decoded)
    positions = original.positions()
    error = float(np.square(decoded.positions() - positions).sum())
    spread = float(np.square(positions - positions.mean(axis=0)).sum())
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
    _check_alike(original, decoded)
    a, b = forward_kinematics(original), forward_kinematics(decoded)
    joints = np.linalg.norm(b.positions - a.positions, axis=-1)
    if shell:
        # The vector part of a⁻¹ b is sin(θ / 2) long, and exact for small angles.
        turn = so3.multiply(so3.inverse(a.rotations), b.rotations)[..., 1:]
        joints = joints + 2 * shell * np.linalg.norm(turn, axis=-1)
    ends = np.linalg.norm(end_positions(decoded, b) - end_positions(original, a), axis=-1)
    return np.concatenate([joints, ends], axis=1)


def _check_alike(original: Motion, decoded: Motion) -> None:
    if original.frames != decoded.frames or original.joints != decoded.joints:
        raise InputError(
            f"cannot compare a clip of {original.frames} frames and {original.joints} joints with one of "
            f"{decoded.frames} and {decoded.joints}"
        )
    if len(original.skeleton.end_parents) != len(decoded.skeleton.end_parents):
        raise InputError("cannot compare the clips: their end sites differ")


def distance_of_clips(
    clips: Sequence[Motion], *, frame_rate: float | None = None, progress: Progress | None = None
) -> DistanceMatrix:
    """Distances between all poses of clips of one skeleton by :func:`geodesic`, at one frame rate.

    Args:
        clips: Of one skeleton.
        frame_rate: Frames per second at which they are compared; their own if None.
    """
    for clip in clips:
        if clip.skeleton.names != clips[0].skeleton.names:
            other = clips[0].name
            raise InputError(f"{clip.name}: its joints are not those of {other}; compare one skeleton")
    resampled = [clip if frame_rate is None else clip.resample(frame_rate) for clip in clips]
    names = [clip.name for clip in clips]
    return geodesic([clip.rotations for clip in resampled], names=names, progress=progress)


def geodesic(
    clips: Sequence[ArrayLike],
    *,
    names: Sequence[str] = (),
    weights: ArrayLike | None = None,
    root: int | None = 0,
    progress: Progress | None = None,
) -> DistanceMatrix:
    """Sum over the joints of the angles between their rotations, radians, for all pairs of frames.

    Args:
        clips: quaternions `(frames, joints, 4)` of each clip, every joint's relative to its parent.
        names: of the clips; numbered if not given.
        weights: `(joints,)`; 1 each if not given. With 1 / joints the distances are mean angles, as those of
            surfaces are, and what suits graphs of surfaces suits them too.
        root: the joint that is turned with the whole body; None if none is.
        progress: called with frames done and their number.

    >>> import marey
    >>> walk = marey.samples.walk(seconds=1)
    >>> turned = walk.transform(rotation=[0.6, 0, 0.8, 0])
    >>> apart = geodesic([walk.rotations, turned.rotations], names=("walk", "turned"))
    >>> bool(apart.between(0, 1).diagonal().max() < 1e-5), apart.metric
    (True, 'skeleton')
    """
    from marey.statistics.graphs.graph import DistanceMatrix

    if not len(clips):
        raise InputError("skeleton distances: there is no clip")
    if names and len(names) != len(clips):
        raise InputError(f"names: {len(names)} for {len(clips)} clips; give one each, or none")
    parts = [checked(f"clip {k}", clip, (None, None, 4)) for k, clip in enumerate(clips)]
    joints = parts[0].shape[1]
    for k, part in enumerate(parts):
        if len(part) == 0 or part.shape[1] != joints:
            raise InputError(
                f"clip {k}: {len(part)} frames of {part.shape[1]} joints; each needs a frame or more of "
                f"{joints} joints, as the first has"
            )
    share = np.ones(joints) if weights is None else checked("weights", weights, (joints,))
    if (share < 0).any():
        raise InputError("weights: they may not be negative")
    if root is not None and not 0 <= root < joints:
        raise InputError(f"root: joint {root}; there are joints 0…{joints - 1}, or None")
    poses = so3.normalise(np.concatenate(parts))
    frames = len(poses)
    values, turns = np.zeros((2, frames, frames), np.float32)
    for rows in _work.blocks(frames, 64 * frames):
        apart = np.zeros((rows.stop - rows.start, frames - rows.start))
        for joint in range(joints):
            here, there = poses[rows, joint], poses[rows.start :, joint]
            near = np.abs(here @ there.T)
            if joint == root:
                near, turns[rows, rows.start :] = _turned_nearest(here, there)
            apart += 2.0 * share[joint] * np.arccos(np.minimum(near, 1.0))
        values[rows, rows.start :] = apart
        if progress is not None:
            progress(rows.stop, frames)
    values, turns = np.triu(values, 1), np.triu(turns, 1)
    return DistanceMatrix(
        read_only(values + values.T),
        read_only(turns - turns.T),
        np.cumsum([0, *(len(part) for part in parts)]),
        tuple(names) or tuple(f"sequence-{k + 1}" for k in range(len(clips))),
        "skeleton",
    )


def _turned_nearest(here: Array, there: Array) -> tuple[Array, Array]:
    """Cosine of half the angle left between two roots when the second is turned best, and that turn.

    Of the rotation from one to the other, w and y alone can be undone about the vertical.
    """
    w = here @ there.T
    y = here[:, [2, 3, 0, 1]] * [1.0, -1.0, -1.0, 1.0] @ there.T
    angles = 2.0 * np.arctan2(y, w)
    return np.hypot(w, y), np.asarray(angles - 2.0 * np.pi * np.round(angles / (2.0 * np.pi)))
