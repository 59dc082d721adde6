"""The pose model of a clip: a mean pose and the geodesics along which its poses vary (Tournier 2011, ch. 8).

Usually the root is left out, so that poses compare wherever the figure stands: row 0 of every array is the
root's and is neutral. A model can also hold how the root travels, and then turns whole clips into
coordinates and back. Fitting goes over the clips chunk by chunk, each loaded when its turn comes, so a
corpus may be larger than memory; `encode` and `decode` cost one logarithm or exponential a joint and frame.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, assign, checked, derived
from marey._report import Displayed, rounded
from marey.body.kinematics import global_frames
from marey.body.motion import Motion
from marey.body.pose_metric import kinetic_matrix, lever_weights
from marey.body.root_motion import (
    LEAST_SPREAD,
    STILL,
    RootMotion,
    RootMotionModes,
    checked_frame,
    integrate_root_motion,
    moving_root,
    root_motion,
    yaw,
)
from marey.body.skeleton import Skeleton
from marey.errors import InputError, MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.mean import rotation_mean
from marey.statistics.geodesics.linear import NOTHING, PrincipalGeodesics, number_of_modes, principal_axes
from marey.statistics.geodesics.published import METHODS, LogComponents, log_components, published
from marey.statistics.geodesics.streaming import Chunk, Moments, moments

METRICS = ("kinetic", "lever", "canonical")
# Poses farther than this from the mean may have their logarithm on either side.
WRAP_HAZARD = 2.8


@dataclass(frozen=True, eq=False)
class PoseModel(Displayed):
    """Poses of a skeleton in a few coordinates.

    Args:
        skeleton: whose poses.
        geodesics: mean `(joints, 4)`, directions `(modes, joints, 3)`, …; row 0, the root, is neutral, or the
            root's tilt or orientation if the model has `root_motion`.
        frames: how many it was learned from.
        metric: "kinetic", "lever", "canonical" or "weights": what its variance counts.
        radius: `(joints,)`, radians, the farthest that a joint was from the mean; empty if unknown.
        root_motion: how the root moves with the coordinates, or None.
        stance: `(4,)`, how the root is usually turned, wherever it faces; some rigs lie down without it.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> model = PoseModel.fit([walk], variance=0.99)
    >>> model.encode(walk).shape == (walk.frames, model.modes), model.decode(np.zeros(model.modes)).shape
    (True, (26, 4))
    """

    skeleton: Skeleton
    geodesics: PrincipalGeodesics
    frames: int
    metric: str = "canonical"
    radius: Array = field(default_factory=lambda: np.empty(0))
    root_motion: RootMotionModes | None = None
    stance: Array = field(default_factory=so3.identity)

    def __post_init__(self) -> None:
        joints = self.skeleton.joints
        if len(self.geodesics.mean) != joints:
            raise InputError(f"the model's mean has {len(self.geodesics.mean)} joints, the skeleton {joints}")
        if self.root_motion is not None and len(self.root_motion.directions) != self.geodesics.modes:
            raise InputError("the model's root motion and its geodesics have different numbers of modes")
        if isinstance(self.frames, bool) or not isinstance(self.frames, int | np.integer) or self.frames < 0:
            raise InputError(f"frames: a whole number, got {self.frames!r}")
        radius = checked("radius", np.ravel(self.radius), (np.size(self.radius) and joints,))
        stance = checked("stance", self.stance, (4,))
        if abs(float(np.linalg.norm(stance)) - 1.0) > 1e-6:
            raise InputError("stance: a quaternion of length 1")
        assign(self, radius=radius, metric=str(self.metric), stance=stance)

    @classmethod
    def fit(
        cls,
        motions: Iterable[Clip],
        *,
        modes: int | None = None,
        variance: float | None = None,
        error: float | None = None,
        max_error: float | None = None,
        metric: str | ArrayLike | None = None,
        root: str = "none",
        method: str = "linear",
        scheme: str | None = None,
    ) -> PoseModel:
        """Learn from clips of one skeleton.

        Args:
            motions: clips, or functions that load one (`lambda: marey.load(path)`), which are then called as
                often as needed and held one at a time. A list is gone through until the mean is exact (two to
                four times); an iterator only once (see `statistics.geodesics.streaming`). The skeleton of
                the first clip is kept; bones of the others may differ, joints may not.
            modes, variance, error, max_error: how many coordinates. A number; or enough for that share of the
                variance in the chosen metric (0.99 if nothing is given); or the fewest that keep the mean, or
                the largest, error of joint positions (root held still) below so many metres.
            metric: what counts as variance; "kinetic" if None, with other methods "canonical". "canonical",
                as published, counts angles of all joints equally. "lever" weighs a joint's turn by how far
                it moves the rest of the body: on real clips about a third less error in position at equal
                modes. "kinetic" also knows how turns of several joints add up or cancel in the body's
                motion: half the error of "canonical" or less, also on frames not learned from, for somewhat
                more error in angle. Or a weight a joint, `(joints,)`.
            root: "none"; or "heading" or "world" to learn with the poses how the root travels; each feature
                of root motion then counts like an average joint.
            method: how directions and coordinates are defined: "linear", in the tangent space at the mean
                (Fletcher 2004); "exact" (Tournier 2011, section 8.1.1); "second-kind", a product of turns
                along linearised directions (section 8.2.1); "pca", of the rotation vectors (Courty 2013,
                section 2.2.1.1). Others than "linear" hold poses alone, in a metric with a weight a joint.
            scheme: of "exact": directions that the projections vary most along ("variance"), that bring them
                nearest ("error", if None), or one by one by "deflation", with coordinates of the second kind.
        """
        if method not in METHODS:
            raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
        plain = method == "linear"
        if metric is None:
            metric = "kinetic" if plain else "canonical"
        if not plain and (metric == "kinetic" or root != "none"):
            raise InputError(f"method {method}: no root motion, and metrics with a weight a joint")
        if method in ("exact", "second-kind") and (error or max_error):
            raise InputError(f"method {method}: give modes or variance, not the error")
        if sum(value is not None for value in (modes, variance, error, max_error)) > 1:
            raise InputError("give only one of modes, variance, error and max_error")
        for bound, value in (("error", error), ("max_error", max_error)):
            if value is not None and not (np.isfinite(value) and value > 0):
                raise InputError(f"{bound}: metres, above 0, got {value}")
        clips = Clips(motions, root)
        found = moments(clips if clips.again else iter(clips))
        skeleton = clips.checked_skeleton()
        weights, name = _metric(skeleton, found, metric)
        full = replace(_full_model(skeleton, found, weights, name, root), stance=clips.stance)
        if method == "pca":
            full = replace(full, geodesics=_log_components(clips, found, weights))
        if full.wrap_hazards:
            said = f"{', '.join(full.wrap_hazards)}: more than {WRAP_HAZARD} rad from the mean, where "
            warnings.warn(
                said + "logarithms may jump; clean the clips of glitches", MareyWarning, stacklevel=2
            )
        if error is None and max_error is None:
            kept = number_of_modes(full.geodesics.spectrum, modes=modes, variance=variance)
            model = full.first(kept)
            if method in ("linear", "pca") and scheme is None:
                return model
            poses = found.sample.rotations
            geodesics = published(method, model.geodesics, poses, weights[::3], scheme=scheme)
            return replace(model, geodesics=geodesics)
        return _accurate_enough(full, clips, found.sample, error, max_error)

    modes = derived(int, "geodesics.modes", "Number of coordinates of a pose.")

    @property
    def method(self) -> str:
        """How its directions and coordinates are defined: "linear", "exact", "second-kind" or "pca"."""
        return self.geodesics.method

    @property
    def root(self) -> str:
        """What it holds of the root: "none", or its motion in the "heading" or "world" frame."""
        return "none" if self.root_motion is None else self.root_motion.frame

    @property
    def variance(self) -> float:
        """Share of the variance, in the model's metric, that its modes hold."""
        if self.modes:
            return float(self.geodesics.explained[-1])
        return float(self.geodesics.spectrum.sum() <= NOTHING)

    @property
    def wrap_hazards(self) -> tuple[str, ...]:
        """Joints that came close to half a turn from their mean: their logarithm may have jumped."""
        return tuple(self.skeleton.names[j] for j in np.flatnonzero(self.radius > WRAP_HAZARD))

    def first(self, modes: int) -> PoseModel:
        """The same model with only the first `modes` coordinates."""
        geodesics, moves = self.geodesics.first(modes), self.root_motion
        if moves is not None:
            moves = replace(moves, directions=moves.directions[:modes], duals=moves.duals[:modes])
        return replace(self, geodesics=geodesics, root_motion=moves)

    def encode(self, motion: Motion) -> Array:
        """Coordinates `(frames, modes)` of a clip's poses, and of its root motion if the model holds that."""
        check_joints(self.skeleton, motion)
        return _encoded(self, pose_samples(motion, self.root))

    def decode(self, coordinates: ArrayLike) -> Array:
        """Local rotations `(..., joints, 4)`; the root's is the identity, or its tilt if it travels."""
        return self.geodesics.decode(coordinates)

    def decode_motion(
        self, coordinates: ArrayLike, frame_rate: float, *, start: ArrayLike | None = None,
        heading: float = 0.0, name: str = "",
    ) -> Motion:  # fmt: skip
        """A clip of coordinates `(frames, modes)`; without root motion it stays at `start`.

        Args:
            start: `(3,)`, metres, where the root begins; the skeleton's own place if None.
            heading: radians about y, where it then faces (of a model with root motion in the world, that
                is in the coordinates).
        """
        coordinates = checked("coordinates", coordinates, (None, self.modes))
        begin = checked("start", self.skeleton.offsets[0] if start is None else start, (3,))
        rotations = self.decode(coordinates)
        if self.root_motion is None:
            positions = np.tile(begin, (len(rotations), 1))
            rotations[:, 0] = so3.multiply(so3.exp([0.0, float(heading), 0.0]), self.stance)
        else:
            moved = RootMotion(self.root_motion.decode(coordinates), rotations[:, 0], self.root_motion.frame)
            path = integrate_root_motion(moved, frame_rate, start=begin, heading=heading)
            positions, rotations[:, 0] = path
        return Motion(self.skeleton, so3.normalise(rotations), positions, frame_rate, name=name)

    def rebuild(self, motion: Motion) -> Motion:
        """A clip as the model sees it: poses projected, the root kept, or travelled anew from its start."""
        coordinates = self.encode(motion)
        if self.root_motion is None:
            rotations = self.decode(coordinates)
            rotations[:, 0] = motion.rotations[:, 0]
            return replace(motion, rotations=so3.normalise(rotations))
        facing = float(yaw(motion)[0]) if self.root_motion.frame == "heading" else 0.0
        rate, begin = motion.frame_rate, motion.root[0]
        return self.decode_motion(coordinates, rate, start=begin, heading=facing, name=motion.name)

    @property
    def deviations(self) -> Array:
        """Standard deviations of the modes, `(modes,)`."""
        return np.asarray(np.sqrt(np.maximum(self.geodesics.variances, 1e-12)))

    def with_deviations(self, pose: Motion, deviations: ArrayLike) -> Motion:
        """A pose (a clip of one frame) moved along the first modes; what the model leaves out of it stays.

        deviations: `(n,)`, where it is along each mode, in standard deviations

        >>> import marey
        >>> walk = marey.samples.walk()
        >>> model = PoseModel.fit([walk], modes=5)
        >>> changed = model.with_deviations(walk[3], [1.5])
        >>> round(float((model.encode(changed)[0] / model.deviations)[0]), 2)
        1.5
        """
        before = self.encode(pose)[0]
        given = np.asarray(deviations, np.float64)[: self.modes]
        after = np.concatenate([given * self.deviations[: len(given)], before[len(given) :]])
        old, new = self.decode(np.stack([before, after]))
        rotations = np.array(pose.rotations)
        rotations[0, 1:] = so3.multiply(new[1:], so3.multiply(so3.inverse(old[1:]), rotations[0, 1:]))
        return replace(pose, rotations=so3.normalise(rotations))

    def joint_errors(self, motion: Motion) -> Array:
        """Metres `(frames, joints)` by which joints of the rebuilt poses are off, the root held still."""
        check_joints(self.skeleton, motion)
        return _position_errors(self, pose_samples(motion, self.root))

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {
            "kind": "pose model",
            "joints": self.skeleton.joints,
            "modes": self.modes,
            "variance": rounded(self.variance),
            "metric": self.metric,
            "method": self.method,
            "root": self.root,
            "shares": [rounded(share) for share in np.diff(self.geodesics.explained, prepend=0.0)],
            "wrap_hazards": list(self.wrap_hazards),
            "joint_names": list(self.skeleton.names),
        }


def _encoded(model: PoseModel, samples: Chunk) -> Array:
    coordinates, moves = model.geodesics.encode(samples.rotations), model.root_motion
    return coordinates if moves is None else coordinates + moves.encode(samples.numbers)


def _metric(skeleton: Skeleton, found: Moments, metric: str | ArrayLike) -> tuple[Array, str]:
    """The metric on the rotations, `(3 joints,)` or `(3 joints, 3 joints)`, and what to call it."""
    poses = found.sample.rotations
    if isinstance(metric, str):
        if metric == "canonical":
            return np.ones(3 * skeleton.joints), metric
        if metric == "lever":
            return np.repeat(lever_weights(skeleton, poses), 3), metric
        if metric == "kinetic":
            return kinetic_matrix(skeleton, found.mean, poses), metric
        raise InputError(f"metric {metric!r}: one of {', '.join(METRICS)}, or a weight a joint")
    weights = checked("metric", metric, (skeleton.joints,))
    if not (weights > 0).all():
        raise InputError("metric: every joint's weight must be above 0; a small one all but ignores it")
    return np.repeat(weights, 3), "weights"


def _full_model(skeleton: Skeleton, found: Moments, weights: Array, name: str, root: str) -> PoseModel:
    """The model with all its modes."""
    joints = skeleton.joints
    size = 3 * joints
    if root != "none":
        weights = _with_root_motion(weights, found, root)
    axes = principal_axes(found.covariance, weights)
    directions, duals = (part[:, :size].reshape(-1, joints, 3) for part in (axes.directions, axes.duals))
    geodesics = PrincipalGeodesics(found.mean, directions, duals, axes.spectrum, axes.spectrum)
    moves = None
    if root != "none":
        moves = RootMotionModes(root, found.numbers, axes.directions[:, size:], axes.duals[:, size:])
    return PoseModel(skeleton, geodesics, found.samples, name, found.radius, moves)


def _log_components(clips: Clips, found: Moments, weights: Array) -> LogComponents:
    """The principal components of the rotation vectors of all poses; of an iterator's, of a sample."""
    total, products, count = np.zeros(len(weights)), np.zeros((len(weights),) * 2), 0
    for chunk in clips if clips.again else [found.sample]:
        logs = so3.log(chunk.rotations).reshape(len(chunk.rotations), -1)
        total, products, count = total + logs.sum(axis=0), products + logs.T @ logs, count + len(logs)
    mean = total / count
    covariance = products / count - np.outer(mean, mean)
    return log_components(mean.reshape(-1, 3), covariance, weights[::3])


def check_first_kind(model: PoseModel, what: str) -> None:
    """A model whose poses are no single exponentials at the mean is an :class:`InputError`."""
    if not model.geodesics.first_kind:
        raise InputError(f"{what} needs a pose model of method linear or exact, not {model.method}")


def _with_root_motion(weights: Array, found: Moments, root: str) -> Array:
    """The metric with entries for root motion: each feature counts like an average joint, by its spread."""
    size = len(weights)
    covariance = found.covariance[:size, :size]
    total = np.einsum("ij,ji", covariance, weights if weights.ndim == 2 else np.diag(weights))
    moving = np.count_nonzero(np.diag(covariance).reshape(-1, 3).sum(axis=1) > 1e-12)
    usual = total / moving if moving else 1.0
    spread = np.maximum(np.diag(found.covariance)[size:], np.square(LEAST_SPREAD[root]))
    more = usual / spread
    if weights.ndim == 1:
        return np.concatenate([weights, more])
    whole = np.zeros(found.covariance.shape)
    whole[:size, :size], whole[size:, size:] = weights, np.diag(more)
    return whole


def _accurate_enough(
    full: PoseModel, clips: Clips, sample: Chunk, error: float | None, max_error: float | None
) -> PoseModel:
    """The fewest modes that keep the errors within bounds: by the sample, then by all frames."""

    def enough(modes: int, batches: Iterable[Chunk]) -> bool:
        model = full.first(modes)
        total, count, worst = 0.0, 0, 0.0
        for samples in batches:
            errors = _position_errors(model, samples)
            total, count = total + float(errors[:, 1:].sum()), count + errors[:, 1:].size
            worst = max(worst, float(errors.max()))
        mean = total / count if count else 0.0
        return (error is None or mean <= error) and (max_error is None or worst <= max_error)

    low, high = -1, full.modes
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle, [sample]) else (middle, high)
    if clips.again and len(sample.rotations) < full.frames:
        while high < full.modes and not enough(high, clips):
            high = min(high + max(1, high // 16), full.modes)
    return full.first(high)


def _position_errors(model: PoseModel, samples: Chunk) -> Array:
    """Metres `(frames, joints)` between the joints of poses and of their projections, the root held still."""
    poses = samples.rotations
    skeleton, still = model.skeleton, np.zeros((len(poses), 3))
    rebuilt = model.decode(_encoded(model, samples))
    rebuilt[:, 0] = poses[:, 0]
    tree = skeleton.parents, skeleton.offsets
    there, here = (global_frames(*tree, q, still).positions for q in (rebuilt, poses))
    return np.asarray(np.linalg.norm(there - here, axis=-1))


Clip = Motion | Callable[[], Motion]

# Metres by which bones of clips may differ before it is worth a note: text files hold no more digits.
SAME_BONES = 1e-4
# Frames taken at a time: bounds the memory for one long clip.
FRAMES_AT_A_TIME = 8192


def pose_rotations(motion: Motion) -> Array:
    """Local rotations `(frames, joints, 4)` with the identity for the root."""
    poses = np.array(motion.rotations, dtype=np.float64)
    poses[:, 0] = so3.identity()
    return poses


def pose_samples(motion: Motion, root: str) -> Chunk:
    """Local rotations with what the model holds of the root in row 0, and the features of root motion."""
    if root == "none":
        return Chunk(pose_rotations(motion), np.empty((motion.frames, 0)))
    moved = root_motion(motion, root)
    poses = np.array(motion.rotations, dtype=np.float64)
    poses[:, 0] = moved.rotations
    return Chunk(poses, moved.features)


def check_joints(skeleton: Skeleton, motion: Motion) -> None:
    """A clip of other joints than the skeleton's is an :class:`InputError`."""
    mine, theirs = skeleton, motion.skeleton
    if mine.names == theirs.names and np.array_equal(mine.parents, theirs.parents):
        return
    called = f"the clip {motion.name!r}" if motion.name else "the clip"
    what = f"{theirs.joints} joints instead of {mine.joints}"
    if mine.joints == theirs.joints:
        pairs = zip(mine.names, theirs.names, strict=True)
        name = next((f"no {a!r} but {b!r}" for a, b in pairs if a != b), "")
        what = name or "on other parents"
    raise InputError(f"{called} has different joints ({what}); use clips and models of one skeleton")


class Clips:
    """The samples of clips, chunk by chunk; keeps the first skeleton and checks the others by it."""

    def __init__(self, clips: Iterable[Clip], root: str) -> None:
        if isinstance(clips, Motion):
            clips = [clips]
        self.root = root if root == "none" else checked_frame(root)
        self.clips = clips
        self.again = not isinstance(clips, Iterator)
        self.skeleton: Skeleton | None = None
        self.stance: Array = so3.identity()
        self.other_bones = 0.0
        self.sliding: dict[str, None] = {}

    def __iter__(self) -> Iterator[Chunk]:
        for motion in self.motions():
            poses = pose_samples(motion, self.root)
            for start in range(0, motion.frames, FRAMES_AT_A_TIME):
                here = slice(start, start + FRAMES_AT_A_TIME)
                yield Chunk(poses.rotations[here], poses.numbers[here])

    def motions(self) -> Iterator[Motion]:
        """The clips themselves, each checked."""
        for clip in self.clips:
            motion = clip() if callable(clip) else clip
            if not isinstance(motion, Motion):
                raise InputError(
                    f"a pose model is learned from skeleton motion, not a {type(motion).__name__}; "
                    "marey.load reads files"
                )
            if self.skeleton is None:
                self.skeleton = motion.skeleton
                # The mean turn of the root without its heading.
                some = motion[:: max(1, motion.frames // FRAMES_AT_A_TIME)]
                self.stance = rotation_mean(root_motion(some, "heading").rotations).mean
            check_joints(self.skeleton, motion)
            gap = np.abs(motion.skeleton.offsets[1:] - self.skeleton.offsets[1:]).max(initial=0.0)
            self.other_bones = max(self.other_bones, float(gap))
            self._watch_sliding(motion)
            yield motion

    def _watch_sliding(self, motion: Motion) -> None:
        """Keep what is to be said of joints that slide, once each."""
        if motion.translations is None:
            return
        ranges = np.ptp(motion.translations[:, 1:], axis=0).max(axis=1, initial=0.0)
        if not (ranges > STILL).any():
            return
        names = motion.skeleton.names
        top = moving_root(motion)
        if top:
            said = f"{names[top]!r} travels by itself below {names[0]!r}: where it faces counts as pose; "
            self.sliding[said + f"learn from motion.subtree({names[top]!r})"] = None
        else:
            slides = ", ".join(names[1 + j] for j in np.flatnonzero(ranges > STILL)[:5])
            self.sliding[f"a pose model holds turns only, not how joints slide: {slides}"] = None

    def checked_skeleton(self) -> Skeleton:
        """The first clip's skeleton, once all were seen; warns of what the model cannot hold."""
        assert self.skeleton is not None
        for said in self.sliding:
            warnings.warn(said, MareyWarning, stacklevel=3)
        if self.other_bones > SAME_BONES:
            said = f"the clips' bones differ by up to {100 * self.other_bones:.3g} cm; "
            warnings.warn(said + "the model keeps those of the first", MareyWarning, stacklevel=3)
        return self.skeleton
