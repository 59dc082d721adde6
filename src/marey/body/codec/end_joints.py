"""The few points that lead a figure: head, hands and feet (Tournier 2011, section 9.2).

Found by name where the names say it, by the shape of the tree otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from marey._arrays import Array
from marey.body.mirroring import mirror_partners
from marey.body.skeleton import Skeleton
from marey.errors import InputError


class EndJoint(NamedTuple):
    """A point fixed in a joint's frame.

    joint: index of the joint that carries it
    point: metres, in the joint's frame
    part: "head", "hand", "foot" or "" where unknown
    """

    joint: int
    point: tuple[float, float, float]
    part: str


def end_joints(skeleton: Skeleton, names: Sequence[str] | None = None) -> tuple[EndJoint, ...]:
    """Top of the head, both hands and both feet; or the joints called `names`.

    A figure whose names do not tell gets up to five points at the tips of its limbs.

    >>> import marey
    >>> skeleton = marey.samples.walk().skeleton
    >>> [skeleton.names[end.joint] for end in end_joints(skeleton)]
    ['Head', 'LeftHand', 'RightHand', 'LeftToeBase', 'RightToeBase']
    """
    if names is not None:
        if not names:
            raise InputError("end joints: name at least one joint")
        if len(set(names)) < len(names):
            raise InputError("end joints: a joint is named twice")
        return tuple(EndJoint(skeleton.index(name), (0.0, 0.0, 0.0), _part(name)) for name in names)
    head = _shallowest(skeleton, ("head",))
    hands = _pair(skeleton, ("hand", "wrist"))
    feet = _pair(skeleton, ("toe", "foot", "ankle"))
    if head is None or hands is None or feet is None:
        return _tips(skeleton)
    return (
        EndJoint(head, _end_site(skeleton, head), "head"),
        *(EndJoint(joint, (0.0, 0.0, 0.0), "hand") for joint in hands),
        *(EndJoint(joint, (0.0, 0.0, 0.0), "foot") for joint in feet),
    )


_PARTS = {"head": "head", "hand": "hand", "wrist": "hand", "toe": "foot", "foot": "foot", "ankle": "foot"}


def _part(name: str) -> str:
    return next((part for word, part in _PARTS.items() if word in name.lower()), "")


def _shallowest(skeleton: Skeleton, words: Sequence[str], among: Sequence[int] | None = None) -> int | None:
    """The joint nearest the root whose name holds the first of `words` that any name holds."""
    joints = range(skeleton.joints) if among is None else among
    for word in words:
        found = [j for j in joints if re.search(word, skeleton.names[j], re.IGNORECASE)]
        if found:
            return min(found, key=lambda j: (len(skeleton.ancestors(j)), j))
    return None


def _pair(skeleton: Skeleton, words: Sequence[str]) -> tuple[int, int] | None:
    """Left and right joint whose names hold one of `words`."""
    partner = mirror_partners(skeleton.names)
    sided = [j for j in range(skeleton.joints) if partner[j] != j]
    one = _shallowest(skeleton, words, sided)
    if one is None:
        return None
    other = int(partner[one])
    return (one, other) if one < other else (other, one)


def _end_site(skeleton: Skeleton, joint: int) -> tuple[float, float, float]:
    sites = skeleton.end_offsets[skeleton.end_parents == joint]
    return _triple(sites[0]) if len(sites) else (0.0, 0.0, 0.0)


def _tips(skeleton: Skeleton, most: int = 5) -> tuple[EndJoint, ...]:
    """Leaves of the tree, each as far as can be, along the bones, from those taken before."""
    leaves = [j for j in range(skeleton.joints) if not skeleton.children(j)]
    points = [_end_site(skeleton, j) for j in leaves]
    chains = [set(skeleton.ancestors(j)) - {0} for j in leaves]
    bone = np.linalg.norm(skeleton.offsets, axis=1)
    tip = [float(np.linalg.norm(point)) for point in points]

    def reach(a: int, b: int | None) -> float:
        other = set() if b is None else chains[b]
        return float(sum(bone[j] for j in chains[a] ^ other)) + tip[a] + (0.0 if b is None else tip[b])

    taken = [max(range(len(leaves)), key=lambda i: reach(i, None))]
    while len(taken) < min(most, len(leaves)):
        rest = [i for i in range(len(leaves)) if i not in taken]
        taken.append(max(rest, key=lambda i: min(reach(i, t) for t in taken)))
    return tuple(EndJoint(leaves[i], points[i], "") for i in sorted(taken))


def _triple(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values)
    return x, y, z
