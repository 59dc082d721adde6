"""Joint limits learned from motion: an ellipsoid a joint in the tangent space (Tournier 2011, chapter 12).

The rotations `x` of a joint are vectors `log(c⁻¹ x)` at a centre `c`; the smallest ellipsoid around them has
a middle `d`, and the centre moves there, `c exp(d)`, until it is its own middle (algorithm 1). It is found by
Khachiyan's ascent with away steps on the corners of the convex hull, which takes milliseconds; clips come one
after the other, only hulls are kept. What lies between a jump of a radian and one back is left out, what lies
behind a jump and is more than a right angle from the mean of all clips, and a single pose that widens an
ellipsoid by more than 15 %. Axes that a joint hardly turns about get a width of
their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, IntArray
from marey._report import Report
from marey.body.limits.limits import EllipsoidLimits, Limits
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.mean import rotation_mean


@dataclass(frozen=True)
class LearnSettings:
    """How limits are learned.

    Args:
        jump: radians between frames, from which on what follows is an outlier until the jump back.
        apart: radians from the mean of all clips to that of what a clip shows between two jumps, from which
            on this is left out: the capture has turned the joint over.
        gain: share of the volume by which one pose may widen an ellipsoid.
        most: outliers that are left out of one joint so.
        least: radians, spread below which a joint does not turn about an axis.
        width: radians, half-width of the limits along such an axis.
        tolerance: of an ellipsoid's volume, relative.
        accuracy: radians, of the centre; in at most `rounds` rounds.
        grow: factor on the axes.
    """

    jump: float = 1.0
    apart: float = np.pi / 2
    gain: float = 0.15
    most: int = 20
    least: float = 5e-3
    width: float = 0.02
    tolerance: float = 1e-4
    accuracy: float = 1e-6
    rounds: int = 50
    grow: float = 1.0


class Stretch(NamedTuple):
    """Frames of a joint without a jump: their number, the sum of `q qᵀ`, the outermost rotations `(n, 4)`."""

    frames: int
    moment: Array
    hull: Array

    @classmethod
    def of(cls, rotations: Array) -> Stretch:
        """Of rotations `(frames, 4)`."""
        moment = rotations.T @ rotations
        return cls(len(rotations), moment, rotations[outermost(rotations, _mean_by(moment))])


class Ellipsoid(NamedTuple):
    """`(t - middle)ᵀ shape (t - middle) ≤ 1`, and the samples that it touches."""

    middle: Array
    shape: Array
    core: IntArray


@dataclass(frozen=True)
class LimitsReport(Report):
    """Limited joints, frames read, outliers left out, and samples that the limits do not hold in the end."""

    joints: int
    frames: int
    outliers: int
    violations: int


@dataclass(frozen=True, eq=False)
class LearnedLimits:
    """Limits of the joints of a skeleton, by name: made by :func:`learn`, kept as JSON.

    Args:
        limits: of the joints that move.
        names: `joints` of the skeleton, all.
        samples: `(n, 3)` for each limited joint: corners of the hull of its rotation vectors at the centre.
    """

    limits: EllipsoidLimits
    names: tuple[str, ...]
    samples: tuple[Array, ...]
    report: LimitsReport

    def axes(self) -> Array:
        """Semi-axes `(limited, 3)` of the ellipsoids, radians, the largest first."""
        return np.asarray(1 / np.sqrt(np.linalg.eigvalsh(self.limits.shapes)))

    def of(self, skeleton: Skeleton) -> EllipsoidLimits:
        """The limits of a skeleton's joints of the same names."""
        found = [
            (l, self.names[j]) for l, j in enumerate(self.limits.joints) if self.names[j] in skeleton.names
        ]
        if not found:
            raise InputError("limits: none of their joints is in the skeleton; they are for other names")
        rows, joints = [l for l, _ in found], skeleton.indices([name for _, name in found])
        return EllipsoidLimits(np.array(joints), self.limits.centres[rows], self.limits.shapes[rows])

    def facts(self) -> dict[str, object]:
        """What they are, as plain values, for `marey info`."""
        axes = self.axes()
        names = [self.names[joint] for joint in self.limits.joints]
        return {
            "kind": "joint limits",
            "joints": len(names),
            "frames_read": self.report.frames,
            "axes": {name: own.round(4).tolist() for name, own in zip(names, axes, strict=True)},
        }


def limits_of(limits: LearnedLimits | Limits | None, skeleton: Skeleton) -> Limits | None:
    """Limits as they are, those that were learned for the joints of a skeleton."""
    return limits.of(skeleton) if isinstance(limits, LearnedLimits) else limits


def learn(motions: Iterable[Motion], settings: LearnSettings | None = None) -> LearnedLimits:
    """Limits of the joints that move in some clips of one skeleton, which are read one after the other.

    Args:
        motions: clips; read twice, to count what is outside in the end, unless they are an iterator.

    >>> import marey
    >>> found = learn([marey.samples.walk()])
    >>> knee = found.limits.joints.tolist().index(marey.samples.walk().skeleton.index("LeftLeg"))
    >>> found.axes()[knee].round(2).tolist()  # a hinge
    [0.54, 0.02, 0.02]
    >>> found.report.violations
    0
    """
    options = settings or LearnSettings()
    names: tuple[str, ...] = ()
    kept: list[list[Stretch]] = []
    frames = outliers = violations = 0
    for motion in motions:
        if not names:
            names, kept = motion.skeleton.names, [[] for _ in motion.skeleton.names]
        if motion.skeleton.names != names:
            other = ", ".join(sorted(set(names) ^ set(motion.skeleton.names))[:3])
            raise InputError(f"limits: a clip has other joints than the first one ({other})")
        frames += motion.frames
        good = inliers(motion.rotations, options.jump)
        outliers += int((~good).sum())
        for joint in range(1, len(names)):
            own = motion.rotations[good[:, joint], joint]
            cuts = np.flatnonzero(so3.distance(own[1:], own[:-1]) >= options.jump) + 1
            kept[joint] += [Stretch.of(part) for part in np.split(own, cuts) if len(part)]
    if not frames:
        raise InputError("limits: no clip was given")
    joints, centres, shapes, samples = [], [], [], []
    for joint in range(1, len(names)):
        # About the mean of all frames, not of the outermost ones, which may be on the other side of a turn.
        for _ in range(2):
            middle = _mean_by(sum((part.moment for part in kept[joint]), np.zeros((4, 4))))
            near = [so3.distance(_mean_by(part.moment), middle) <= options.apart for part in kept[joint]]
            outliers += sum(part.frames for part, own in zip(kept[joint], near, strict=True) if not own)
            kept[joint] = list(itertools.compress(kept[joint], near))
        rotations = np.concatenate([np.empty((0, 4)), *(part.hull for part in kept[joint])])
        if len(rotations) and np.ptp(np.abs(rotations), axis=0).max() > 0.25 * options.least:
            rotations = rotations[outermost(rotations, middle)]
            centre, shape, used = tangent_ellipsoid(rotations, options, middle)
            outliers += len(rotations) - len(used)
            vectors = so3.log(so3.multiply(so3.inverse(centre), rotations[used]))
            joints.append(joint)
            centres.append(centre)
            shapes.append(shape)
            samples.append(vectors[hull(vectors)])
    limits = EllipsoidLimits(
        np.array(joints, dtype=np.int64), np.array(centres).reshape(-1, 4), np.array(shapes).reshape(-1, 3, 3)
    )
    for motion in () if iter(motions) is motions else motions:
        violations += int((limits.excess(motion.rotations) > 1e-6).sum())
    report = LimitsReport(len(joints), frames, outliers, violations)
    return LearnedLimits(limits, names, tuple(samples), report)


def outermost(rotations: Array, centre: Array) -> IntArray:
    """Indices of corners of the hull of rotations `(n, 4)` at a centre, and of the frames beside them."""
    vectors = so3.log(so3.multiply(so3.inverse(centre), rotations))
    corners = hull(vectors)
    beside = corners[:, None] + np.array([-2, -1, 0, 1, 2])
    return np.unique(np.clip(beside, 0, len(rotations) - 1))


def inliers(rotations: ArrayLike, jump: float = 1.0, longest: int = 30) -> BoolArray:
    """Which of `(frames, joints, 4)` are no outliers `(frames, joints)`.

    Out is what lies between a jump of more than `jump` radians and one back, at most `longest` frames.

    >>> path = so3.exp(np.array([[[0.1 * t if t != 3 else 2.5, 0, 0]] for t in range(8)]))
    >>> inliers(path)[:, 0].tolist()
    [True, True, True, False, True, True, True, True]
    """
    q = np.asarray(rotations, dtype=np.float64)
    good = np.ones(q.shape[:2], dtype=np.bool_)
    jumps = so3.distance(q[:-1], q[1:]) >= jump
    for joint in np.flatnonzero(jumps.any(axis=0)):
        edges = np.flatnonzero(jumps[:, joint]) + 1
        for first, after in itertools.pairwise([0, *edges, len(q)]):
            before, behind = max(first - 1, 0), min(after, len(q) - 1)
            inside = first > 0 and after < len(q)
            back = inside and so3.distance(q[before, joint], q[behind, joint]) < jump
            if after - first <= min(longest, len(q) // 2) and back:
                good[first:after, joint] = False
    return good


def hull(points: Array) -> IntArray:
    """Corners of the convex hull of points `(n, D)`; of flat ones too, in as many dimensions as they have."""
    from scipy.spatial import ConvexHull, QhullError

    away = points - points.mean(axis=0)
    spread, axes = np.linalg.eigh(away.T @ away)
    flat = away @ axes[:, spread > 1e-18 * max(len(points), spread[-1])]
    if flat.shape[1] == 0:
        return np.array([0])
    if flat.shape[1] == 1:
        return np.unique([flat[:, 0].argmin(), flat[:, 0].argmax()])
    if len(points) <= flat.shape[1] + 1:
        return np.arange(len(points))
    try:
        return np.asarray(ConvexHull(flat).vertices)
    except QhullError:
        return np.arange(len(points))


def tangent_ellipsoid(
    rotations: Array, settings: LearnSettings | None = None, centre: Array | None = None
) -> tuple[Array, Array, IntArray]:
    """Centre `(4,)` and shape `(3, 3)` of the limits around rotations `(n, 4)`, and which samples count.

    Algorithm 1 of Tournier (2011, section 12.2), begun at a centre, or the mean; then once more without
    samples of the core set that alone widen it by more than `gain`.
    """
    options = settings or LearnSettings()
    used = np.arange(len(rotations))
    centre = mean_of(rotations) if centre is None else centre
    while True:
        centre, found = _centred(rotations[used], centre, options)
        volume = _log_volume(found.shape)
        vectors = so3.log(so3.multiply(so3.inverse(centre), rotations[used]))
        outlier = -1
        for sample in found.core if len(rotations) - len(used) < options.most < len(used) else ():
            rest = np.delete(vectors, sample, axis=0)
            if _log_volume(_fitted(rest, options).shape) < volume + np.log(1 - options.gain):
                outlier = int(sample)
                break
        if outlier < 0:
            return centre, found.shape / options.grow**2, used
        used = np.delete(used, outlier)


def _mean_by(moment: Array) -> Array:
    """The rotation `(4,)` nearest to those with a sum of `q qᵀ`."""
    return np.asarray(np.linalg.eigh(moment)[1][:, -1])


def mean_of(rotations: Array) -> Array:
    """Mean rotation `(4,)` of `(n, 4)`."""
    return np.asarray(rotation_mean(rotations).mean)


def _log_volume(shape: Array) -> float:
    return -0.5 * float(np.linalg.slogdet(shape)[1])


def _centred(rotations: Array, centre: Array, options: LearnSettings) -> tuple[Array, Ellipsoid]:
    """The centre that is the middle of its own ellipsoid."""
    for _ in range(options.rounds):
        found = _fitted(so3.log(so3.multiply(so3.inverse(centre), rotations)), options)
        centre = so3.multiply(centre, so3.exp(found.middle))
        if np.linalg.norm(found.middle) < options.accuracy:
            break
    vectors = so3.log(so3.multiply(so3.inverse(centre), rotations))
    found = _fitted(vectors, options)
    # About the centre itself, so that all samples are inside.
    inside = np.einsum("ni,ij,nj->n", vectors, found.shape, vectors).max()
    return so3.normalise(centre), found._replace(shape=found.shape / max(inside, 1.0))


def _fitted(vectors: Array, options: LearnSettings) -> Ellipsoid:
    """The smallest ellipsoid around tangent vectors, with a width along axes that they do not have."""
    middle = vectors.mean(axis=0)
    axes = np.linalg.svd(vectors - middle, full_matrices=True)[2]
    reach = np.abs((vectors - middle) @ axes.T).max(axis=0)
    solid = reach > options.least
    if not solid.any():
        return Ellipsoid(middle, np.eye(3) / options.width**2, np.arange(len(vectors)))
    flat = (vectors - middle) @ axes[solid].T
    chosen = hull(flat)
    d, A, core = minimum_ellipsoid(flat[chosen], options.tolerance)
    shape = np.zeros((3, 3))
    shape[np.ix_(solid, solid)] = A
    # Off the axes samples are within `least`: what is inside both is inside the sum's ellipsoid.
    thin = np.flatnonzero(~solid)
    shape[thin, thin] = 1 / options.width**2
    turned = axes.T @ shape @ axes
    return Ellipsoid(middle + axes[solid].T @ d, turned, chosen[core])


def minimum_ellipsoid(points: ArrayLike, tolerance: float = 1e-4, rounds: int = 100_000) -> Ellipsoid:
    """The ellipsoid of least volume around points `(n, D)`: Khachiyan's ascent with away steps.

    Args:
        tolerance: of the optimality of the weights; the log volume is then within `(D + 1)/2` times it.

    >>> corners = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    >>> found = minimum_ellipsoid(corners, 1e-8)
    >>> found.middle.round(6).tolist(), (1 / np.sqrt(np.diag(found.shape))).round(6).tolist()
    ([0.5, 0.5, 0.5], [0.866025, 0.866025, 0.866025])
    """
    t = np.asarray(points, dtype=np.float64)
    count, D = t.shape
    if count == 1 or D == 0:
        raise InputError("an ellipsoid needs more than one point, in at least one dimension")
    lifted = np.concatenate([t, np.ones((count, 1))], axis=1)
    u = np.full(count, 1.0 / count)
    inverse = np.linalg.inv(lifted.T @ (u[:, None] * lifted))
    kappa = np.einsum("ni,ij,nj->n", lifted, inverse, lifted)
    for step in range(rounds):
        far = int(kappa.argmax())
        held = np.flatnonzero(u > 0)
        near = int(held[kappa[held].argmin()])
        over, under = kappa[far] / (D + 1) - 1, 1 - kappa[near] / (D + 1)
        if max(over, under) <= tolerance:
            break
        if over >= under:
            which, beta = far, (kappa[far] - D - 1) / ((D + 1) * (kappa[far] - 1))
        else:
            most = u[near] / (1 - u[near])
            k = kappa[near]
            which = near
            beta = -min((D + 1 - k) / ((D + 1) * (k - 1)), most) if k > 1 else -most
        u *= 1 - beta
        u[which] = 0.0 if beta < 0 and u[which] + beta < 1e-15 else u[which] + beta
        if step % 50 == 49:
            u /= u.sum()
            inverse = np.linalg.inv(lifted.T @ (u[:, None] * lifted))
            kappa = np.einsum("ni,ij,nj->n", lifted, inverse, lifted)
            continue
        # X ← (1 - β) X + β q qᵀ, by Sherman and Morrison.
        row = inverse @ lifted[which]
        scale = beta / (1 - beta + beta * kappa[which])
        along = lifted @ row
        kappa = (kappa - scale * along**2) / (1 - beta)
        inverse = (inverse - scale * np.outer(row, row)) / (1 - beta)
    middle = u @ t
    away = t - middle
    A = np.linalg.inv(away.T @ (u[:, None] * away)) / D
    A /= np.einsum("ni,ij,nj->n", away, A, away).max()
    return Ellipsoid(middle, A, np.flatnonzero(u > 0))
