"""The skeleton: a tree of ball joints with constant offsets (Tournier 2011, chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray, IntArray, assign, checked, derived
from marey._report import Displayed
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class Skeleton(Displayed):
    """Joints in an order in which parents come first; joint 0 is the root.

    Args:
        names: one per joint, all different.
        parents: `(joints,)`, index of the parent, -1 for the root.
        offsets: `(joints, 3)`, metres, position of the joint in its parent's frame.
        end_parents: `(ends,)`, joints that carry an end site (fingertip, toe, top of the head).
        end_offsets: `(ends, 3)`, metres, the end site in that joint's frame.

    >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 1.4, 0], [0.3, 0, 0]], [1], [[0.25, 0, 0]])
    >>> arm.joints, arm.index("elbow"), arm.children(0)
    (2, 1, (1,))
    """

    names: tuple[str, ...]
    parents: IntArray
    offsets: FloatArray
    end_parents: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    end_offsets: FloatArray = field(default_factory=lambda: np.empty((0, 3)))

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.names)
        joints = len(names)
        if joints == 0:
            raise InputError("skeleton: it has no joint")
        if len(set(names)) != joints:
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"skeleton: two joints are called {twice!r}; joint names must differ")
        parents = checked_parents(self.parents, names)
        end_parents = checked("end_parents", self.end_parents, (None,), dtype=np.int64)
        ends = len(end_parents)
        if ends and not ((end_parents >= 0) & (end_parents < joints)).all():
            raise InputError(f"end_parents: indices must lie in 0…{joints - 1}")
        given = self.end_offsets if np.size(self.end_offsets) else np.empty((0, 3))
        offsets, sites = (
            checked("offsets", self.offsets, (joints, 3)),
            checked("end_offsets", given, (ends, 3)),
        )
        assign(
            self, names=names, parents=parents, offsets=offsets, end_parents=end_parents, end_offsets=sites
        )

    joints = derived(len, "names", "Number of joints, the root included.")

    def index(self, name: str) -> int:
        """Index of the joint called `name`; the error lists the nearest names."""
        try:
            return self.names.index(name)
        except ValueError:
            near = get_close_matches(name, self.names, n=3, cutoff=0.4) or list(self.names[:8])
            raise InputError(f"no joint {name!r} in the skeleton; did you mean {', '.join(near)}?") from None

    def indices(self, names: Sequence[str]) -> list[int]:
        """Indices of several joints."""
        return [self.index(name) for name in names]

    def children(self, joint: int) -> tuple[int, ...]:
        """Joints whose parent is `joint`."""
        joint = checked_joint(joint, self.joints)
        return tuple(int(j) for j in np.flatnonzero(self.parents == joint))

    def descendants(self, joint: int) -> tuple[int, ...]:
        """`joint` and every joint below it."""
        joint = checked_joint(joint, self.joints)
        below = {joint}
        for j in range(joint + 1, self.joints):
            if int(self.parents[j]) in below:
                below.add(j)
        return tuple(sorted(below))

    def ancestors(self, joint: int) -> tuple[int, ...]:
        """`joint`, its parent, … up to the root."""
        return chain_above(self.parents, joint)

    def rest_positions(self) -> Array:
        """Where the joints are with all rotations zero, `(joints, 3)`, metres."""
        positions = np.array(self.offsets, dtype=np.float64)
        for joint in range(1, self.joints):
            positions[joint] += positions[self.parents[joint]]
        return positions


def checked_parents(parents: ArrayLike, names: Sequence[str] | None = None) -> NDArray[np.int64]:
    """`parents` as whole numbers `(joints,)`: -1 for joint 0, every other parent before its children.

    Args:
        names: of the joints, to say where it is wrong.

    >>> checked_parents([-1, 0, 0, 2]).tolist()
    [-1, 0, 0, 2]
    """
    tree = checked("parents", parents, (None if names is None else len(names),), dtype=np.int64)
    if tree[:1].tolist() != [-1]:
        raise InputError("parents: joint 0 is the root, its parent must be -1")
    wrong = np.flatnonzero((tree[1:] < 0) | (tree[1:] >= np.arange(1, len(tree)))) + 1
    if wrong.size:
        joint = int(wrong[0]) if names is None else repr(names[wrong[0]])
        raise InputError(f"parents: joint {joint} must come after its parent, and only joint 0 is a root")
    return tree


def checked_joint(joint: int, joints: int) -> int:
    """An index in 0…joints - 1; counting from the end is for slices, not for joints."""
    if not 0 <= joint < joints:
        raise InputError(f"joint {joint}: there are joints 0…{joints - 1}; find one by name with index()")
    return int(joint)


def chain_above(parents: IntArray, joint: int) -> tuple[int, ...]:
    """`joint`, its parent, … up to the root.

    >>> chain_above(np.array([-1, 0, 1, 0]), 2)
    (2, 1, 0)
    """
    chain = [checked_joint(joint, len(parents))]
    while parents[chain[-1]] >= 0:
        chain.append(int(parents[chain[-1]]))
    return tuple(chain)
