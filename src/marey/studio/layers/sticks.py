"""Many figures as slim bones, drawn at once: ghosts of other times, variants, alternatives.

All bones of all figures are instances of one spindle, so a frame is one message whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, Integers
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.studio.layers.group import Group
from marey.studio.settings import Colour
from marey.views.shapes import loft

if TYPE_CHECKING:
    from viser import BatchedMeshHandle

# Heights along the bone and half widths of the spindle.
SPINDLE = ((0.0, 0.0), (0.02, 0.7), (0.18, 1.0), (0.6, 0.75), (0.97, 0.5), (1.0, 0.0))


class Sticks:
    """Figures of one skeleton as slim bones, alone in a group of the scene."""

    def __init__(self, group: Group):
        self._group = group
        self._handle: BatchedMeshHandle | None = None
        self._ends = np.empty((0, 2), dtype=np.int64)
        self._thick = np.empty(0)
        self.figures = 0

    def build_meshes(
        self,
        skeleton: Skeleton,
        size: float,
        colours: Sequence[Colour],
        opacities: Sequence[float] | None = None,
        *,
        stout: float = 1.0,
    ) -> None:
        """Prepare as many figures as there are colours; none clears them all.

        size: of the figure, metres
        stout: how much wider than usual bones are
        """
        self.clear()
        self.figures = len(colours)
        self._ends, lengths = bones(skeleton)
        self._thick = stout * np.minimum(0.008 * size, 0.12 * lengths)
        if not self.figures or not len(self._ends):
            return
        rows = np.array([(height, width, width, 0.0, 0.0) for height, width in SPINDLE])
        spindle = loft(rows, sectors=8)
        count = len(self._ends)
        nowhere = np.zeros((count * self.figures, 3))
        each = np.repeat(np.array(colours, dtype=np.uint8), count, axis=0)
        faded = None if opacities is None else np.repeat(np.array(opacities, dtype=np.float32), count)
        shape = (spindle.vertices, spindle.faces)
        self._handle = self._group.instances("bones", shape, nowhere, nowhere, each, batched_opacities=faded)

    def pose(self, points: ArrayLike) -> None:
        """Draw figures with joints and end sites at `(figures, joints + ends, 3)`; NaN is not drawn."""
        if self._handle is None:
            return
        places, turns, scales = spindles(np.asarray(points, dtype=np.float64), self._ends, self._thick)
        self._handle.batched_positions = places
        self._handle.batched_wxyzs = turns
        self._handle.batched_scales = scales

    def clear(self) -> None:
        """Take all away."""
        self._group.clear()
        self._handle, self.figures = None, 0


def bones(skeleton: Skeleton) -> tuple[Integers, Array]:
    """Pairs of points `(bones, 2)`, joints before end sites, and their lengths at rest `(bones,)`.

    >>> arm = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 1.4, 0], [0.3, 0, 0]], [1], [[0.25, 0, 0]])
    >>> bones(arm)[0].tolist()
    [[0, 1], [1, 2]]
    """
    parents = np.concatenate([skeleton.parents, skeleton.end_parents])
    offsets = np.concatenate([skeleton.offsets, skeleton.end_offsets])
    lengths = np.linalg.norm(offsets, axis=1)
    drawn = np.flatnonzero((parents >= 0) & (lengths > 1e-9))
    return np.stack([parents[drawn], drawn], axis=1), lengths[drawn]


def spindles(
    points: Array, ends: Integers, thick: Array
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Places, turns and scales of the spindles from joint to joint, a row a figure and bone."""
    start, stop = points[:, ends[:, 0]].reshape(-1, 3), points[:, ends[:, 1]].reshape(-1, 3)
    along = stop - start
    lengths = np.linalg.norm(along, axis=1)
    seen = np.isfinite(lengths) & (lengths > 0)
    start = np.where(seen[:, None], start, 0.0)
    along = np.where(seen[:, None], along, [0.0, 0.0, 1.0])
    turns = so3.between(np.broadcast_to([0.0, 0.0, 1.0], along.shape), along)
    wide = np.where(seen, np.tile(thick, len(points)), 0.0)
    scales = np.stack([wide, wide, np.where(seen, lengths, 0.0)], axis=1)
    return start.astype(np.float32), turns.astype(np.float32), scales.astype(np.float32)
