"""Timing and style of one clip given to another of the same gestures (Courty 2013, section 2.2.1.2).

Both clips are coordinates of one pose model, fitted to them with equal weight, and are aligned by dynamic
time warping on its first coordinates: there they do the same, and what is left is style. Each is compared
about its own mean and in its own size, so posture and amplitude do not count either. The clip is then
replayed in the timing of the reference. Style in space, which the paper leaves open, is the reference's mean
posture and its coordinates of small variance, blended in by a chosen amount; planted feet stay in place.
Cost: a pose model and O(frames × band) for the alignment; with style, feet planted over the clip.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey._report import Result
from marey.body.feet import contacts, foot_joints, ground_heights, plant, skate
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel, check_first_kind, check_joints
from marey.body.resample import retime
from marey.body.root_motion import about_y, root_motion, with_carriers, without_carriers, yaw
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.statistics.warping import Alignment, align, time_map

TIMINGS = ("reference", "own")
METHODS = ("linear", "pca")


@dataclass(frozen=True, eq=False)
class RestyleResult(Result):
    """A clip in another's style.

    Attributes:
        positions: `(frames,)`, fractional frame of the clip (or with its own timing, of the reference) that
            each frame was matched with.
        alignment: The path through clip and reference.
        model: Pose model of both clips; its modes are those that were compared.
        foot_skate: Metres per second, by :func:`marey.body.feet.skate`.
        foot_skate_before: The same of the clip that was given.
    """

    motion: Motion
    positions: Array
    alignment: Alignment
    model: PoseModel
    foot_skate: float
    foot_skate_before: float

    def as_dict(self) -> dict[str, object]:
        """Measured values, for JSON."""
        slopes = np.diff(self.positions) if len(self.positions) > 1 else np.ones(1)
        return {
            "path_cost": round(self.alignment.cost, 6),
            "path_cost_per_step": round(self.alignment.mean_cost, 6),
            "modes": self.model.modes,
            "frames": self.motion.frames,
            "slowest": round(float(slopes.min()), 4),
            "fastest": round(float(slopes.max()), 4),
            "foot_skate_cm_s": round(100 * self.foot_skate, 4),
            "foot_skate_before_cm_s": round(100 * self.foot_skate_before, 4),
        }


def restyle(
    motion: Motion,
    reference: Motion,
    *,
    timing: str = "reference",
    spatial: float = 0.0,
    method: str = "linear",
    modes: int | None = None,
    band: float | None = None,
    open_ends: bool = False,
    derivative: float = 0.0,
) -> RestyleResult:
    """The clip with the timing, and if asked for the style, of another clip of the same gestures.

    Args:
        reference: The other, of the same skeleton.
        timing: "reference", so that the result is as long as the reference; or "own", for style alone. For
            the opposite, exchange the clips.
        spatial: 0 to 1, how much of the reference's posture and fine detail comes in.
        method: "linear", coordinates of the pose model, each clip about its mean and in its size; or "pca",
            as published: principal components of the rotation vectors, compared as they are.
        modes: Number of coordinates that are compared; those of 90 % of the variance if None.
        band: How far the alignment may go from even pace, as a share of the longer clip.
        open_ends: Whether all of one clip may match a part of the other, whichever fits better; the result
            is as long as what was matched.
        derivative: Seconds by which rates of change are multiplied before they are compared too.

    >>> import marey
    >>> slow, quick = marey.samples.walk(2, speed=1.0), marey.samples.walk(1.6, speed=1.3)
    >>> restyle(slow, quick).motion.frames == quick.frames
    True
    """
    if timing not in TIMINGS:
        raise InputError(f"timing {timing!r}: one of {', '.join(TIMINGS)}")
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    if method == "pca" and spatial:
        raise InputError("spatial: style in space is not published; use method linear")
    if not (np.isfinite(spatial) and 0.0 <= spatial <= 1.0):
        raise InputError(f"spatial: a share from 0 to 1, got {spatial}")
    if not (np.isfinite(derivative) and derivative >= 0.0):
        raise InputError(f"derivative: seconds, not below 0, got {derivative}")
    if modes is not None and modes < 1:
        raise InputError(f"modes {modes}: at least one is needed to align by")
    check_joints(motion.skeleton, reference)
    if not np.isclose(reference.frame_rate, motion.frame_rate):
        reference = reference.resample(motion.frame_rate)
    figure, other = without_carriers(motion), without_carriers(reference)
    model = joint_pose_model(figure, other, modes=modes, method=method)
    if not model.modes:
        raise InputError("neither clip moves its joints: there is nothing to align")
    one, two, rates = model.encode(figure), model.encode(other), derivative * motion.frame_rate
    as_they_are = method == "pca"
    alignment = align_clips(
        one, two, band=band, open_ends=open_ends, derivative=rates, as_they_are=as_they_are
    )
    path = alignment if timing == "own" else alignment.swapped()
    # Knots of the time map are 0.1 s apart.
    first, last = (int(frame) for frame in path.path[[0, -1], 0])
    counted = path.path - np.array([first, 0], dtype=np.int64)
    part = Alignment(counted, path.cost, (last - first + 1, path.frames[1]))
    positions = time_map(part, smoothing=max(0.1 * motion.frame_rate, 1.0))
    if timing == "reference":
        timed, style = retime(motion, positions), other[first : last + 1]
    else:
        timed, style = motion[first : last + 1], retime(other, positions)
    result = transfer_style(timed, style, model, spatial) if spatial > 0 else timed
    return RestyleResult(result, positions, alignment, model, skate(result), skate(motion))


def joint_pose_model(
    first: Motion, second: Motion, *, modes: int | None = None, method: str = "linear"
) -> PoseModel:
    """The pose model of two clips of a skeleton, each with the same weight however long it is.

    Args:
        modes: Number of coordinates; enough for 90 % of the variance if None.
        method: "linear" or "pca".

    >>> import marey
    >>> joint_pose_model(marey.samples.walk(2), marey.samples.walk(1), modes=4).modes
    4
    """
    frames = max(first.frames, second.frames)
    paced = [retime(clip, np.linspace(0, clip.frames - 1, frames)) for clip in (first, second)]
    return PoseModel.fit(paced, modes=modes, variance=None if modes else 0.9, method=method)


def align_clips(
    clip: ArrayLike,
    reference: ArrayLike,
    *,
    band: float | None = None,
    open_ends: bool = False,
    derivative: float = 0.0,
    as_they_are: bool = False,
) -> Alignment:
    """The alignment of two clips in coordinates of one model, `(frames, modes)` each.

    Each is compared about its own mean and in units of its own size, unless `as_they_are`. With `open_ends`
    all of one is matched with a part of the other, whichever fits better.

    >>> swing = np.sin(np.arange(40) / 4)[:, None]
    >>> align_clips(swing, 2 * swing + 1).path[[0, 20, -1]].tolist()
    [[0, 0], [20, 20], [39, 39]]
    """
    first, second = (np.asarray(series, dtype=np.float64) for series in (clip, reference))
    if not as_they_are:
        first, second = _normalised(first), _normalised(second)
    if not open_ends:
        return align(first, second, band=band, derivative=derivative)
    found, errors = [], []
    for one, other in ((first, second), (second, first)):
        try:
            path = align(one, other, band=band, derivative=derivative, open_begin=True, open_end=True)
            found.append(path if one is first else path.swapped())
        except InputError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return min(found, key=lambda path: path.mean_cost)


def transfer_style(motion: Motion, style: Motion, model: PoseModel, amount: float) -> Motion:
    """The clip with the posture and the small-variance coordinates of another that is aligned with it.

    What the model's modes do over time stays the clip's; their mean, all that they do not cover, and the
    tilt of the root are blended to the other's by `amount`. Feet then stay where they stand.

    Args:
        style: A clip of the same length, frame by frame at the same moment of the gesture.
        model: Pose model of both.
        amount: 0 to 1.
    """
    check_first_kind(model, "style in space")
    figure, other = without_carriers(motion), without_carriers(style)
    if figure.frames != other.frames:
        raise InputError(f"aligned clips have as many frames: {figure.frames} and {other.frames} differ")
    directions = np.asarray(model.geodesics.directions).reshape(model.modes, -1)
    mean = np.asarray(model.geodesics.mean)
    poses, modelled = [], []
    for clip in (figure, other):
        away = so3.log(so3.multiply(so3.inverse(mean), clip.rotations))
        away[:, 0] = 0.0
        poses.append(away)
        modelled.append((model.encode(clip) @ directions).reshape(away.shape))
    detail = (poses[1] - modelled[1]) - (poses[0] - modelled[0])
    posture = (modelled[1] - modelled[0]).mean(axis=0)
    turned = so3.multiply(mean, so3.exp(poses[0] + amount * (detail + posture)))
    # The root has the mean tilt of the other's.
    tilts = root_motion(figure).rotations, root_motion(other).rotations
    lean = so3.log(so3.multiply(so3.inverse(tilts[0]), tilts[1])).mean(axis=0)
    turned[:, 0] = so3.multiply(about_y(yaw(figure)), so3.multiply(tilts[0], so3.exp(amount * lean)))
    changed = replace(figure, rotations=so3.continuous(so3.normalise(turned)))
    feet = list(foot_joints(figure.skeleton))
    if feet:
        # At the height that the clip had over its feet, which stay where they stood before.
        low = [clip.positions()[:, feet, 1].min(axis=1) for clip in (changed, figure)]
        up = np.array([0.0, np.median(low[1] - low[0]), 0.0])
        changed = replace(changed, root=changed.root + up)
        changed = plant(changed, contacts(figure), heights=ground_heights(figure), root="firm")
    return with_carriers(changed, motion)


def _normalised(coordinates: Array) -> Array:
    """A clip about its own mean and in its own size: other postures, or larger gestures, are style."""
    centred = coordinates - coordinates.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=1).mean())
    return np.asarray(centred / size) if size > 1e-9 else centred
