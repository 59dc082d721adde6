"""Posing by dragging: hands, feet and head are moved, the body follows (Tournier 2011, section 8.2).

A pose model has its mean in the middle; here it is moved to the pose one takes hold of, so that this very
pose is where a drag starts and what it comes back to. Learning takes a fraction of a second, once a clip. A
moment of a drag is solved from the one before in a fraction of a millisecond.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from marey._arrays import Array, BoolArray, FloatArray, Integers
from marey.body.anatomy import Anatomy, EndEffector, chain_lengths, end_effectors, side_of
from marey.body.ik.ik import SETTINGS as HANDLES
from marey.body.ik.solver import PoseSolver
from marey.body.ik.targets import Reach
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel, check_first_kind, pose_rotations
from marey.body.skeleton import Skeleton
from marey.errors import MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.matrices import dexp_body


class WorldPoses(Protocol):
    """Poses of a clip in the world: points `(frames, joints…, 3)`, quaternions `(frames, joints, 4)`."""

    skeleton: Skeleton

    @property
    def points(self) -> FloatArray: ...
    @property
    def quaternions(self) -> FloatArray: ...


@dataclass(frozen=True)
class DragSettings:
    """How poses are solved while an end effector is dragged.

    Attributes:
        many_frames: Of a clip that its pose model is learned from at most.
        root_stiffness: The root stays upright rather than making up for what the poses of a clip do not hold:
            an arm that a walk never raises is raised in the end by leaving the model as little as is needed.
        tolerance: Metres that a pose gains at the price of being one deviation less likely; less would ask
            for poses that the clip hardly holds, which come and go in jumps.
        held_weight: How much more a held end counts than the one that is dragged.
        stretch: Of the bones' length in a straight line, which hips and shoulders do not allow.
        rounds: How often a place is brought within reach of each held end in turn.
    """

    many_frames: int = 4000
    root_stiffness: float = 30.0
    tolerance: float = 0.05
    held_weight: float = 30.0
    stretch: float = 0.93
    rounds: int = 8


SETTINGS = DragSettings()


@dataclass(frozen=True, eq=False)
class EndEffectors:
    """Points to take hold of: head, hands and feet, or the tips of a figure of another kind.

    Attributes:
        names: Of the joints that carry them.
        labels: For users.
        joints: `(ends,)`.
        points: `(ends, 3)`, in the joints' frames, metres.
        feet: `(ends,)`, whether it is a foot.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    joints: Integers
    points: Array
    feet: BoolArray

    @classmethod
    def of(cls, skeleton: Skeleton, *, most_joints: int | None = None) -> EndEffectors:
        """The end effectors of a figure; none of one with more joints than `most_joints`.

        >>> import marey
        >>> EndEffectors.of(marey.samples.walk().skeleton).labels
        ('head', 'left hand', 'right hand', 'left foot', 'right foot')
        """
        found = end_effectors(skeleton) if most_joints is None or skeleton.joints <= most_joints else ()
        names = tuple(skeleton.names[end.joint] for end in found)
        labels: list[str] = []
        for end, name in zip(found, names, strict=True):
            plain = f"{side_of(name)} {end.part}".strip() if end.part else name.split(":")[-1]
            label = plain[:14]
            labels.append(label if label not in labels else f"{label[:11]} {len(labels) + 1}")
        points = [_crown(skeleton, end) if end.part == "head" else end.point for end in found]
        joints = np.array([end.joint for end in found], dtype=np.int64)
        feet = np.array([end.part == "foot" for end in found], dtype=bool)
        return cls(names, tuple(labels), joints, np.array(points).reshape(-1, 3), feet)

    def places(self, poses: WorldPoses, frame: int | slice) -> Array:
        """Where they are at a frame, `(ends, 3)`, or at several, `(frames, ends, 3)`, metres."""
        turned = so3.rotate(poses.quaternions[frame, self.joints], self.points)
        return np.asarray(poses.points[frame, self.joints] + turned)

    def limbs(self, skeleton: Skeleton, human: Anatomy | None) -> dict[str, tuple[str, ...]]:
        """Names of the joints of each limb, by its usual name; `human`: its anatomy if it is a human figure.

        >>> import marey
        >>> skeleton = marey.samples.walk().skeleton
        >>> from marey.body.anatomy import anatomy
        >>> list(EndEffectors.of(skeleton).limbs(skeleton, anatomy(skeleton)))
        ['left arm', 'right arm', 'left leg', 'right leg', 'head']
        """
        if human is not None:
            roots = [limb.root for limb in (*human.arms, *human.legs)]
            tops = dict(zip(("left arm", "right arm", "left leg", "right leg"), roots, strict=True))
            tops["head"] = human.neck
        else:
            tops = {}
            for label, joint in zip(self.labels[:12], self.joints.tolist(), strict=False):
                chain = skeleton.ancestors(joint)
                alone = [j for j in chain[:-1] if len(skeleton.children(int(skeleton.parents[j]))) > 1]
                tops[label] = alone[0] if alone else chain[0]
        return {
            label: tuple(skeleton.names[j] for j in skeleton.descendants(top))
            for label, top in tops.items()
            if top != 0
        }


def _crown(skeleton: Skeleton, head: EndEffector) -> Array:
    """The top of the head, `(3,)` in its frame: where skeletons end there is still a head around."""
    tip = np.array(head.point)
    up = tip if tip.any() else np.array(skeleton.offsets[head.joint])
    length = float(np.linalg.norm(up))
    if length <= 0:
        return tip
    tall = float(np.ptp(skeleton.rest_positions(), axis=0).max())
    return np.asarray(up * max(float(np.linalg.norm(tip)), 0.12 * tall) / length)


class DragSolver:
    """What poses a figure by targets: a pose model, learned when first asked for, or the whole skeleton.

    Args:
        motion: to learn from.
        model: used instead, if its joints are those of the clip.
    """

    def __init__(self, motion: Motion, model: PoseModel | None = None):
        self._motion = motion
        self._lock = threading.Lock()
        self._body: PoseModel | Skeleton | None = model

    @property
    def ready(self) -> bool:
        """Whether it has been learned."""
        return self._body is not None

    @property
    def model(self) -> PoseModel | None:
        """The pose model, if there is one by now."""
        return self._body if isinstance(self._body, PoseModel) else None

    def body(self) -> PoseModel | Skeleton:
        """What to pose; learned now if it was not before."""
        with self._lock:
            if self._body is None:
                motion = self._motion
                if motion.frames < HANDLES.least_frames or motion.joints < 2:
                    self._body = motion.skeleton
                else:
                    some = motion[:: -(-motion.frames // SETTINGS.many_frames)]
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", MareyWarning)
                        self._body = PoseModel.fit([some], modes=min(HANDLES.modes, 3 * motion.joints))
            return self._body

    def warm(self) -> None:
        """Solve once, so that a drag does not wait for what is compiled or learned."""
        start = self._motion[0]
        name = start.skeleton.names[-1]
        self.start_at(start).solve([Reach(name, start.positions()[0, -1])])

    def start_at(self, start: Motion) -> PoseSolver:
        """A solver that begins with a pose and prefers poses like it."""
        body = self.body()
        if isinstance(body, Skeleton):
            return PoseSolver(body, start=start, root_stiffness=SETTINGS.root_stiffness, anchor="start")
        return PoseSolver(
            centred_on(body, start),
            start=start,
            root_stiffness=SETTINGS.root_stiffness,
            anchor="start",
            refine=True,
            tolerance=SETTINGS.tolerance,
        )


def centred_on(model: PoseModel, pose: Motion) -> PoseModel:
    """The model with a pose (a clip of one frame) in its middle: nearby it varies along the same modes.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> model = centred_on(PoseModel.fit([walk], modes=5), walk[7])
    >>> bool(np.allclose(model.decode(np.zeros(5))[1:], walk.rotations[7, 1:]))
    True
    """
    check_first_kind(model, "dragging")
    geodesics = model.geodesics
    turned = dexp_body(geodesics.tangent(model.encode(pose)[0]))
    directions = np.einsum("jab,mjb->mja", turned, geodesics.directions)
    return replace(model, geodesics=replace(geodesics, mean=pose_rotations(pose)[0], directions=directions))


@dataclass(frozen=True, eq=False)
class ReachLimits:
    """Where end effectors can be: not farther than the bones between them and those that are held, nor below
    the ground, so that the body is stretched at most, and never torn off its feet.

    Attributes:
        lengths: `(ends, ends)`, of the bones from one end to another, metres.
        ground: Height below which no end goes, metres; minus infinity for a figure without feet.
    """

    lengths: Array
    ground: float

    @classmethod
    def of(cls, ends: EndEffectors, poses: WorldPoses) -> ReachLimits:
        """For the ends of a clip's figure; its ground is the lowest that any of them comes to."""
        lengths, ground = chain_lengths(poses.skeleton, ends.joints, ends.points), -np.inf
        if ends.feet.any():
            ground = float(ends.places(poses, slice(None))[..., 1].min())
        return cls(lengths, ground)

    def nearest(self, end: int, place: Array, *, start: Array, held: Sequence[int]) -> Array:
        """The place `(3,)` within reach that is nearest to a place, while others are held.

        start: `(ends, 3)`, where all are at first, which is within reach of each other
        """
        found = np.array(place, dtype=np.float64)
        for _ in range(SETTINGS.rounds if len(held) > 1 else 1):
            for other in held:
                offset = found - start[other]
                far = float(np.linalg.norm(offset))
                at_first = float(np.linalg.norm(start[end] - start[other]))
                most = max(SETTINGS.stretch * self.lengths[end, other], at_first)
                if far > most:
                    found = start[other] + offset * (most / far)
        found[1] = max(found[1], min(self.ground, start[end, 1]))
        return found
