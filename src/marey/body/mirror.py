"""Left for right: a clip as a mirror shows it.

The mirror is the plane x = 0. Joints keep their names and places in the skeleton; each takes over what its
counterpart on the other side does. Positions of the result are exactly the reflected positions of the
counterparts. One pass over the clip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey.body.anatomy import mirror_partners
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.body.motion import Motion


def mirror(motion: Motion, *, pairs: Mapping[str, str] | None = None) -> Motion:
    """The clip mirrored in the plane x = 0, left and right joints swapped.

    Args:
        pairs: `{left: right}` joint names, where the names do not say it; found by name if None.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> bool(np.allclose(mirror(mirror(walk)).positions(), walk.positions()))
    True
    """
    skeleton = motion.skeleton
    if pairs is None:
        partner = mirror_partners(skeleton.names)
    else:
        partner = np.arange(skeleton.joints)
        for left, right in pairs.items():
            a, b = skeleton.index(left), skeleton.index(right)
            partner[a], partner[b] = b, a
        if (partner[partner] != np.arange(skeleton.joints)).any():
            raise InputError("pairs: a joint is in two pairs; name each joint once")
    wrong = np.flatnonzero(skeleton.parents[partner][1:] != partner[skeleton.parents[1:]]) + 1
    if partner[0] != 0 or wrong.size:
        joint = int(wrong[0]) if wrong.size else 0
        raise InputError(
            f"cannot mirror: {skeleton.names[joint]!r} is paired with {skeleton.names[partner[joint]]!r}, "
            "but their parents are no pair; say which joints belong together with pairs={left: right}"
        )
    reflect, carriers = np.array([-1.0, 1.0, 1.0]), partner[skeleton.end_parents]
    ends = np.empty(len(carriers), dtype=np.int64)
    ends[np.argsort(skeleton.end_parents, kind="stable")] = np.argsort(carriers, kind="stable")
    offsets, end_offsets = skeleton.offsets[partner] * reflect, skeleton.end_offsets[ends] * reflect
    mirrored = replace(skeleton, offsets=offsets, end_parents=carriers[ends], end_offsets=end_offsets)
    rotations = motion.rotations[:, partner] * np.array([1.0, 1.0, -1.0, -1.0])
    slid = None if motion.translations is None else motion.translations[:, partner] * reflect
    root = motion.root * reflect
    return replace(motion, skeleton=mirrored, rotations=rotations, root=root, translations=slid)
