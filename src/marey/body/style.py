"""Timing and manner of one performance given to another of the same gestures (Courty 2013, section 2.2.1.2).

Both clips are seen in one pose model, learned from them with equal weight, and are aligned by dynamic time
warping on its first coordinates alone: there they do the same, and what is left is style. Each is compared
about its own mean and in its own size, so posture and amplitude do not count either. The clip is then
replayed in the timing of the reference. Manner in space, which the source leaves open, is the reference's
usual posture and its coordinates of small variance, brought in as far as one likes; feet that stood are
held where they stood. Cost: a pose model and O(frames × band) for the alignment; with manner, a
whole-clip inverse kinematics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.body.codec.end_joints import end_joints
from marey.body.compare import foot_skate
from marey.body.ik.plants import plants
from marey.body.ik.trajectory import solve_clip
from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.root_travel import heading, travel, travelling_joint
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.resampling import linear, neighbours
from marey.statistics.time_warping import Alignment, align, time_map

TIMINGS = ("reference", "own")
# Share of the variance whose coordinates are compared: what both performances do, not how.
VARIANCE = 0.9
# Seconds between knots of the map of time.
SMOOTHING = 0.1
# A foot slower than this stands, metres a second: noise and slow turns of the sole included.
STANDING = 0.15


@dataclass(frozen=True, eq=False)
class Restyled:
    """A clip in another's style.

    motion: the clip
    positions: `(frames,)`, which frame of the clip (or with its own timing, of the reference) each was
        matched with, in fractions
    alignment: the path through clip and reference
    model: pose model of both performances; its modes are those that were compared
    slide, slide_before: metres a second that standing feet slide, after and before; NaN if none stands
    """

    motion: Motion
    positions: Array
    alignment: Alignment
    model: PoseModel
    slide: float
    slide_before: float

    def as_dict(self) -> dict[str, Any]:
        """What was measured as plain values, for JSON."""
        slopes = np.diff(self.positions) if len(self.positions) > 1 else np.ones(1)
        return {
            "path_cost": round(self.alignment.cost, 6),
            "path_cost_per_step": round(self.alignment.mean_cost, 6),
            "modes": self.model.modes,
            "frames": self.motion.frames,
            "slowest": round(float(slopes.min()), 4),
            "fastest": round(float(slopes.max()), 4),
            "slide_cm_per_second": _finite(100 * self.slide),
            "slide_before_cm_per_second": _finite(100 * self.slide_before),
        }


def restyle(
    motion: Motion,
    reference: Motion,
    *,
    timing: str = "reference",
    spatial: float = 0.0,
    modes: int | None = None,
    band: float | None = None,
    open_ends: bool = False,
    derivative: float = 0.0,
    model: PoseModel | None = None,
) -> Restyled:
    """The clip with the timing, and if asked for the manner, of another performance of the same gestures.

    timing: "reference", so that the result is as long as the reference; or "own", for manner alone. For the
        other way round, exchange the clips.
    spatial: 0 to 1, how much of the reference's posture and fine detail comes in
    modes: coordinates that are compared; those of 90 % of the variance if None
    band: how far the alignment may go from even pace, as a share of the longer clip
    open_ends: all of one clip may match a part of the other, whichever fits better; the result is as long
        as what was matched
    derivative: seconds by which rates of change are multiplied before they are compared too
    model: to compare in, instead of one learned from the two clips

    >>> import marey
    >>> slow, quick = marey.samples.walk(2, speed=1.0), marey.samples.walk(1.6, speed=1.3)
    >>> restyle(slow, quick).motion.frames == quick.frames
    True
    """
    if timing not in TIMINGS:
        raise InputError(f"timing {timing!r}: one of {', '.join(TIMINGS)}")
    if not (np.isfinite(spatial) and 0.0 <= spatial <= 1.0):
        raise InputError(f"spatial: a share from 0 to 1, got {spatial}")
    if not (np.isfinite(derivative) and derivative >= 0.0):
        raise InputError(f"derivative: seconds, not below 0, got {derivative}")
    if modes is not None and modes < 1:
        raise InputError(f"modes {modes}: at least one is needed to align by")
    _check_alike(motion, reference)
    if not np.isclose(reference.frame_rate, motion.frame_rate):
        reference = reference.resample(motion.frame_rate)
    figure, other = travelling_figure(motion), travelling_figure(reference)
    if model is None:
        model = common_model(figure, other, modes=modes)
    elif modes is not None:
        model = model.first(modes)
    if not model.modes:
        raise InputError("neither clip moves its joints: there is nothing to align")
    alignment = aligned(
        model.encode(figure),
        model.encode(other),
        band=band,
        open_ends=open_ends,
        derivative=derivative * motion.frame_rate,
    )
    to_reference, to_clip = alignment.path[[0, -1], 1], alignment.path[[0, -1], 0]
    smoothing = max(SMOOTHING * motion.frame_rate, 1.0)
    if timing == "reference":
        positions = time_map(_from(alignment.swapped()), smoothing=smoothing)
        timed, manner = retimed(motion, positions), other[to_reference[0] : to_reference[1] + 1]
    else:
        positions = time_map(_from(alignment), smoothing=smoothing)
        timed, manner = motion[to_clip[0] : to_clip[1] + 1], retimed(other, positions)
    result = with_manner(timed, manner, model, spatial) if spatial > 0 else timed
    before = foot_skate(motion, motion, still=STANDING)
    after = foot_skate(timed, result, still=STANDING)
    return Restyled(result, positions, alignment, model, after.decoded, before.original)


def retimed(motion: Motion, positions: ArrayLike) -> Motion:
    """The clip at the given fractional frames, in their order, at its own frame rate.

    Poses and root go along together, so feet that stand still do.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> retimed(walk, np.linspace(0, 20, 41)).frames
    41
    """
    at = np.asarray(positions, dtype=np.float64)
    first, share = neighbours(motion.frames, at)
    following = first + (share > 0)
    turned = so3.slerp(motion.rotations[first], motion.rotations[following], share[:, None])
    return replace(
        motion,
        rotations=so3.continuous(so3.normalise(turned)),
        root=linear(motion.root, at),
        translations=None if motion.translations is None else linear(motion.translations, at),
    )


def common_model(first: Motion, second: Motion, *, modes: int | None = None) -> PoseModel:
    """The pose model of two performances, each with the same weight however long it is.

    modes: how many coordinates; enough for 90 % of the variance if None

    >>> import marey
    >>> common_model(marey.samples.walk(2), marey.samples.walk(1), modes=4).modes
    4
    """
    frames = max(first.frames, second.frames)
    paced = [retimed(clip, np.linspace(0, clip.frames - 1, frames)) for clip in (first, second)]
    if modes is None:
        return PoseModel.fit(paced, variance=VARIANCE)
    return PoseModel.fit(paced, modes=modes)


def aligned(
    clip: ArrayLike,
    reference: ArrayLike,
    *,
    band: float | None = None,
    open_ends: bool = False,
    derivative: float = 0.0,
) -> Alignment:
    """How two performances in coordinates of one model, `(frames, modes)` each, go along with each other.

    Each is compared about its own mean and in units of its own size. With `open_ends` all of one is matched
    with a part of the other, whichever way round fits better.

    >>> swing = np.sin(np.arange(40) / 4)[:, None]
    >>> aligned(swing, 2 * swing + 1).path[[0, 20, -1]].tolist()
    [[0, 0], [20, 20], [39, 39]]
    """
    first, second = (_compared(np.asarray(series, dtype=np.float64)) for series in (clip, reference))
    if not open_ends:
        return align(first, second, band=band, derivative=derivative)
    found, misfits = [], []
    for one, other in ((first, second), (second, first)):
        try:
            found.append(align(one, other, band=band, derivative=derivative, open_begin=True, open_end=True))
        except InputError as error:
            misfits.append(error)
    if not found:
        raise misfits[0]
    ways = [way if way.frames == (len(first), len(second)) else way.swapped() for way in found]
    return min(ways, key=lambda way: way.mean_cost)


def with_manner(motion: Motion, manner: Motion, model: PoseModel, amount: float) -> Motion:
    """The clip with the posture and the small-variance coordinates of another that is in step with it.

    What the model's modes tell over time stays the clip's; their mean, all that they do not tell, and the
    tilt of the root go over to the other's by `amount`. Feet are then held where they stand.

    manner: a clip of the same length, frame by frame at the same moment of the gesture
    """
    figure, other = travelling_figure(motion), travelling_figure(manner)
    if figure.frames != other.frames:
        raise InputError(f"clips in step have as many frames: {figure.frames} and {other.frames} differ")
    directions = np.asarray(model.geodesics.directions).reshape(model.modes, -1)
    mean = np.asarray(model.geodesics.mean)
    poses, told = [], []
    for clip in (figure, other):
        coordinates = model.encode(clip)
        away = so3.log(so3.multiply(so3.inverse(mean), clip.rotations))
        away[:, 0] = 0.0
        poses.append(away)
        told.append((coordinates @ directions).reshape(away.shape))
    detail = (poses[1] - told[1]) - (poses[0] - told[0])
    posture = (told[1] - told[0]).mean(axis=0)
    turned = so3.multiply(mean, so3.exp(poses[0] + amount * (detail + posture)))
    turned[:, 0] = _tilted(figure, other, amount)
    changed = replace(figure, rotations=so3.continuous(so3.normalise(turned)))
    return _put_back(motion, _standing(changed, figure))


def travelling_figure(motion: Motion) -> Motion:
    """The clip from the joint that travels downwards: without what exporters put above the hips."""
    top = travelling_joint(motion)
    return motion.subtree(motion.skeleton.names[top]) if top else motion


def _compared(coordinates: Array) -> Array:
    """A performance about its own mean and in its own size: other postures, or larger gestures, are style."""
    centred = coordinates - coordinates.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=1).mean())
    return np.asarray(centred / size) if size > 1e-9 else centred


def _from(alignment: Alignment) -> Alignment:
    """The same path with the frames of the first series counted from where it begins there."""
    first, last = (int(frame) for frame in alignment.path[[0, -1], 0])
    path = alignment.path - np.array([first, 0], dtype=np.int64)
    return Alignment(path, alignment.cost, (last - first + 1, alignment.frames[1]))


def _tilted(figure: Motion, other: Motion, amount: float) -> Array:
    """The root's rotations with the mean tilt of the other's."""
    tilts = travel(figure).rotations, travel(other).rotations
    lean = so3.log(so3.multiply(so3.inverse(tilts[0]), tilts[1])).mean(axis=0)
    facing = np.zeros((figure.frames, 3))
    facing[:, 1] = heading(figure)
    return so3.multiply(so3.exp(facing), so3.multiply(tilts[0], so3.exp(amount * lean)))


def _standing(changed: Motion, before: Motion) -> Motion:
    """The changed clip at the height it had over its feet, which are held where they stood before."""
    feet = [end.joint for end in end_joints(before.skeleton) if end.part == "foot"]
    if not feet:
        return changed
    low = [clip.positions()[:, feet, 1].min(axis=1) for clip in (changed, before)]
    root = np.array(changed.root)
    root[:, 1] += np.median(low[1] - low[0])
    lowered = replace(changed, root=root)
    names = [before.skeleton.names[joint] for joint in feet]
    held = [target for target in plants(before, names) if np.any(target.weight)]
    if not held or before.frames < 3:
        return lowered
    return solve_clip(before.skeleton, held, lowered).motion


def _put_back(motion: Motion, figure: Motion) -> Motion:
    """The whole clip with the rotations and the path of its travelling figure."""
    top = travelling_joint(motion)
    if not top:
        return replace(
            motion, rotations=figure.rotations, root=figure.root, translations=_moved(motion, figure)
        )
    joints = motion.skeleton.indices(figure.skeleton.names)
    rotations = np.array(motion.rotations)
    rotations[:, joints] = figure.rotations
    above = forward_kinematics(motion)
    parent = int(motion.skeleton.parents[top])
    back = so3.inverse(above.rotations[:, parent])
    rotations[:, top] = so3.multiply(back, figure.rotations[:, 0])
    translations = np.array(motion.translations)
    translations[:, top] = so3.rotate(back, figure.root - above.positions[:, parent])
    return replace(motion, rotations=so3.continuous(so3.normalise(rotations)), translations=translations)


def _moved(motion: Motion, figure: Motion) -> Array | None:
    if motion.translations is None:
        return None
    return np.concatenate([np.asarray(figure.root)[:, None], motion.translations[:, 1:]], axis=1)


def _check_alike(motion: Motion, reference: Motion) -> None:
    mine, theirs = motion.skeleton, reference.skeleton
    if mine.names != theirs.names or not np.array_equal(mine.parents, theirs.parents):
        other = next((name for name in theirs.names if name not in mine.names), "the order of joints")
        raise InputError(
            f"clip and reference have different joints ({other!r}); style goes between clips of one skeleton"
        )


def _finite(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None
