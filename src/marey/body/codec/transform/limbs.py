"""Limbs of a skeleton, whatever its joints are called: chains, parting where several of some length begin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A branch with fewer joints (a thumb) belongs to the limb it hangs on.
_SHORTEST = 3


def limbs(parents: NDArray) -> NDArray[np.int64]:
    """The limb of each joint, `(joints,)`: 0 for the root, then in order of appearance.

    >>> limbs(np.array([-1, 0, 1, 2, 0, 4, 5, 0])).tolist()  # two legs and a tail of one joint
    [0, 1, 1, 1, 2, 2, 2, 0]
    """
    joints = len(parents)
    below = np.ones(joints, dtype=int)
    for joint in range(joints - 1, 0, -1):
        below[parents[joint]] += below[joint]
    long_children = np.zeros(joints, dtype=int)
    for joint in range(1, joints):
        long_children[parents[joint]] += below[joint] >= _SHORTEST
    labels = np.zeros(joints, dtype=np.int64)
    newest = 0
    for joint in range(1, joints):
        parent = int(parents[joint])
        parts = below[joint] >= _SHORTEST and (long_children[parent] >= 2 or parent == 0)
        newest += parts
        labels[joint] = newest if parts else labels[parent]
    return labels
