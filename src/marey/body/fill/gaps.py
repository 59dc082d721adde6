"""Which joints are missing at which frames: ranges of frames as a user gives them, a mask, single gaps.

A gap is a range of frames in which the same joints are missing (Courty 2013, section 3.2.3.1, has whole
frames only). One pass over the mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, checked, runs
from marey.body.motion import Motion
from marey.errors import InputError


class Gap(NamedTuple):
    """Frames `first` up to, without, `stop`, at which `joints` `(n,)` are missing."""

    first: int
    stop: int
    joints: NDArray[np.intp]

    @property
    def frames(self) -> int:
        """Its length."""
        return self.stop - self.first

    @property
    def limbs(self) -> NDArray[np.intp]:
        """The missing joints without the root."""
        return self.joints[self.joints > 0]


def gap_mask(
    motion: Motion, ranges: ArrayLike | Sequence[tuple[int, int]], joints: Iterable[str] | None = None
) -> BoolArray:
    """The mask `(frames, joints)` of what is missing, from ranges of frames or from another mask.

    Args:
        motion: The clip.
        ranges: `(first, stop)` in frames, or a mask `(frames,)` or `(frames, joints)`.
        joints: Names of the joints that are missing there; all of them, and the root's path, if None.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> int(gap_mask(walk, [(10, 20)]).sum()), int(gap_mask(walk, [(10, 20)], ["Head"]).sum())
    (260, 10)
    """
    found = np.zeros((motion.frames, motion.joints), dtype=bool)
    which = np.arange(motion.joints)
    if joints is not None:
        which = np.array(motion.skeleton.indices(list(joints)), dtype=np.intp)
    given = np.asarray(ranges)
    if given.dtype == bool and given.ndim == 2:
        if joints is not None:
            raise InputError("give either a mask of frames and joints, or names of joints")
        return np.array(checked("gaps", given, found.shape, dtype=bool))
    if given.dtype == bool:
        found[np.ix_(checked("gaps", given, (motion.frames,), dtype=bool), which)] = True
        return found
    if given.size == 0:
        return found
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise InputError("gaps: pairs of frames (first, stop), or a mask")
    for first, stop in given.tolist():
        if not 0 <= first < stop <= motion.frames:
            raise InputError(f"gap {first}:{stop}: it must lie within the clip's {motion.frames} frames")
        found[first:stop, which] = True
    return found


def gaps(mask: BoolArray) -> list[Gap]:
    """The gaps of a mask `(frames, joints)`, in order."""
    together: dict[tuple[int, int], list[int]] = {}
    for joint in np.flatnonzero(mask.any(axis=0)).tolist():
        for run in runs(mask[:, joint]):
            together.setdefault(run, []).append(joint)
    return [Gap(*run, np.array(joints)) for run, joints in sorted(together.items())]


def find_frozen(motion: Motion, *, seconds: float = 0.1) -> list[tuple[int, int]]:
    """Ranges `(first, stop)` that only repeat the frame before, as captures do where they lost track.

    The frame that is repeated was captured and is not part of them.

    >>> import marey
    >>> find_frozen(marey.samples.walk())
    []
    """
    still = (motion.rotations[1:] == motion.rotations[:-1]).all(axis=(1, 2))
    still &= (motion.root[1:] == motion.root[:-1]).all(axis=1)
    found = runs(np.concatenate([[False], still]))
    return [(first, stop) for first, stop in found if stop - first > seconds * motion.frame_rate]
