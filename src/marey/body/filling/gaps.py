"""Which joints are missing at which frames: gaps as a user tells them, as a mask, and as single holes.

A hole is a stretch of frames that the same joints miss together (Courty 2013, section 3.2.3.1, has whole
frames only). One pass over the mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked
from marey.body.motion import Motion
from marey.errors import InputError

Mask = NDArray[np.bool_]


class Hole(NamedTuple):
    """Frames `first` up to, without, `stop`, at which `joints` `(n,)` are missing."""

    first: int
    stop: int
    joints: NDArray[np.intp]

    @property
    def frames(self) -> int:
        """How many frames it is long."""
        return self.stop - self.first


def missing(
    motion: Motion, gaps: ArrayLike | Sequence[tuple[int, int]], joints: Iterable[str] | None = None
) -> Mask:
    """The mask `(frames, joints)` of gaps `(first, stop)` in frames, or of a mask `(frames,)` or whole.

    joints: names of those that are missing there; all if None, the root's path included

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> int(missing(walk, [(10, 20)]).sum()), int(missing(walk, [(10, 20)], ["Head"]).sum())
    (260, 10)
    """
    found = np.zeros((motion.frames, motion.joints), dtype=bool)
    which = _places(motion, joints)
    given = np.asarray(gaps)
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


def holes(mask: Mask) -> list[Hole]:
    """The holes of a mask `(frames, joints)`, in order."""
    edges = np.diff(np.pad(mask.astype(np.int8), ((1, 1), (0, 0))), axis=0)
    together: dict[tuple[int, int], list[int]] = {}
    for joint in np.flatnonzero(mask.any(axis=0)):
        starts, stops = np.flatnonzero(edges[:, joint] > 0), np.flatnonzero(edges[:, joint] < 0)
        for pair in zip(starts.tolist(), stops.tolist(), strict=True):
            together.setdefault(pair, []).append(int(joint))
    return [Hole(a, b, np.array(which)) for (a, b), which in sorted(together.items())]


def frozen(motion: Motion, *, seconds: float = 0.1) -> list[tuple[int, int]]:
    """Stretches `(first, stop)` that only repeat the frame before, as captures do where they lost track.

    The frame that is repeated was captured and is no part of them.

    >>> import marey
    >>> frozen(marey.samples.walk())
    []
    """
    still = (motion.rotations[1:] == motion.rotations[:-1]).all(axis=(1, 2))
    still &= (motion.root[1:] == motion.root[:-1]).all(axis=1)
    found = holes(np.concatenate([[False], still])[:, None])
    return [(hole.first, hole.stop) for hole in found if hole.frames > seconds * motion.frame_rate]


def _places(motion: Motion, joints: Iterable[str] | None) -> NDArray[np.intp]:
    names = motion.skeleton.names
    if joints is None:
        return np.arange(len(names))
    chosen = list(joints)
    for name in chosen:
        if name not in names:
            raise InputError(f"joint {name!r}: the clip has {', '.join(names)}")
    return np.array([names.index(name) for name in chosen], dtype=np.intp)
