"""The parts of a body that people name: its ends to take hold of, its limbs to leave out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.body.anatomy import EndEffector, end_effectors, side_of
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.studio.body.section import MOST_JOINTS
from marey.views.mannequin_parts import Poses

Array = NDArray[np.float64]

WHOLE = "whole body"
LONGEST_LABEL = 14
MOST_LIMBS = 12
# From the joint of the head to its top, of the figure's height.
HEAD = 0.12


@dataclass(frozen=True, eq=False)
class Ends:
    """Points to take hold of: head, hands and feet, or the tips of a figure of another kind.

    names: of the joints that carry them; labels: for people
    joints: `(ends,)`; points: `(ends, 3)`, in the joints' frames, metres
    feet: `(ends,)`, whether it is a foot
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    joints: NDArray[np.int64]
    points: Array
    feet: NDArray[np.bool_]

    @classmethod
    def of(cls, skeleton: Skeleton) -> Ends:
        """The ends of a figure; none of one with too many joints to work with.

        >>> import marey
        >>> Ends.of(marey.samples.walk().skeleton).labels
        ('head', 'left hand', 'right hand', 'left foot', 'right foot')
        """
        found = end_effectors(skeleton) if skeleton.joints <= MOST_JOINTS else ()
        names = tuple(skeleton.names[end.joint] for end in found)
        labels: list[str] = []
        for end, name in zip(found, names, strict=True):
            plain = f"{side_of(name)} {end.part}".strip() if end.part else name.split(":")[-1]
            label = plain[:LONGEST_LABEL]
            labels.append(label if label not in labels else f"{label[: LONGEST_LABEL - 3]} {len(labels) + 1}")
        return cls(
            names,
            tuple(labels),
            np.array([end.joint for end in found], dtype=np.int64),
            np.array([_crown(skeleton, end) if end.part == "head" else end.point for end in found]).reshape(
                -1, 3
            ),
            np.array([end.part == "foot" for end in found], dtype=bool),
        )

    def places(self, poses: Poses, frame: int | slice) -> Array:
        """Where they are at a frame, `(ends, 3)`, or at several, `(frames, ends, 3)`, metres."""
        turned = so3.rotate(poses.quaternions[frame, self.joints], self.points)
        return np.asarray(poses.points[frame, self.joints] + turned)


def _crown(skeleton: Skeleton, head: EndEffector) -> Array:
    """The top of the head, `(3,)` in its frame: where skeletons end there is still a head around."""
    tip = np.array(head.point)
    up = tip if tip.any() else np.array(skeleton.offsets[head.joint])
    length = float(np.linalg.norm(up))
    if length <= 0:
        return tip
    tall = float(np.ptp(skeleton.rest_positions(), axis=0).max())
    return np.asarray(up * max(float(np.linalg.norm(tip)), HEAD * tall) / length)


def limbs(poses: Poses, ends: Ends) -> dict[str, tuple[str, ...] | None]:
    """Names of the joints of each limb, by what people call it; None for the whole body.

    >>> import marey
    >>> walk = marey.samples.walk(seconds=0.1)
    >>> found = limbs(Poses(walk), Ends.of(walk.skeleton))
    >>> list(found)
    ['whole body', 'left arm', 'right arm', 'left leg', 'right leg', 'head']
    """
    skeleton, marks = poses.skeleton, poses.landmarks
    if marks is not None:
        tops = {
            "left arm": marks.arms[0].root,
            "right arm": marks.arms[1].root,
            "left leg": marks.legs[0].root,
            "right leg": marks.legs[1].root,
            "head": marks.neck,
        }
    else:
        tops = {}
        for label, joint in zip(ends.labels[:MOST_LIMBS], ends.joints.tolist(), strict=False):
            chain = skeleton.ancestors(joint)
            alone = [j for j in chain[:-1] if len(skeleton.children(int(skeleton.parents[j]))) > 1]
            tops[label] = alone[0] if alone else chain[0]
    found: dict[str, tuple[str, ...] | None] = {WHOLE: None}
    for label, top in tops.items():
        if top != 0:
            found[label] = tuple(skeleton.names[j] for j in skeleton.descendants(top))
    return found
