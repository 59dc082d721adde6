"""Many figures as slim bones, drawn at once: ghosts of other times, variants, alternatives.

All bones of all figures are instances of one spindle, so a frame is one message whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.views.shapes import loft

Array = NDArray[np.float64]
Colour = tuple[int, int, int]

# Heights along the bone and half widths of the spindle.
SPINDLE = ((0.0, 0.0), (0.02, 0.7), (0.18, 1.0), (0.6, 0.75), (0.97, 0.5), (1.0, 0.0))
# Half width of a bone, of the figure's size; and of its own length at most.
THICK, STOUT = 0.008, 0.12


class Sticks:
    """Figures of one skeleton as slim bones under one name of the scene."""

    def __init__(self, scene: Any, name: str):
        self._scene, self._name = scene, name
        self._handle: Any = None
        self._ends = np.empty((0, 2), dtype=np.int64)
        self._thick = np.empty(0)
        self._figures = 0

    def dress(
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
        self._figures = len(colours)
        self._ends, lengths = bones(skeleton)
        self._thick = stout * np.minimum(THICK * size, STOUT * lengths)
        if not self._figures or not len(self._ends):
            return
        rows = np.array([(height, width, width, 0.0, 0.0) for height, width in SPINDLE])
        spindle = loft(rows, sectors=8)
        count = len(self._ends)
        self._handle = self._scene.add_batched_meshes_simple(
            self._name,
            spindle.vertices.astype(np.float32),
            spindle.faces,
            np.tile([1.0, 0.0, 0.0, 0.0], (count * self._figures, 1)).astype(np.float32),
            np.zeros((count * self._figures, 3), dtype=np.float32),
            batched_scales=np.zeros((count * self._figures, 3), dtype=np.float32),
            batched_colors=np.repeat(np.array(colours, dtype=np.uint8), count, axis=0),
            batched_opacities=None
            if opacities is None
            else np.repeat(np.array(opacities, dtype=np.float32), count),
            lod="off",
            cast_shadow=False,
            receive_shadow=False,
        )

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
        if self._handle is not None:
            self._handle.remove()
        self._handle, self._figures = None, 0

    @property
    def figures(self) -> int:
        """How many are drawn."""
        return self._figures


def bones(skeleton: Skeleton) -> tuple[NDArray[np.int64], Array]:
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
    points: Array, ends: NDArray[np.int64], thick: Array
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
