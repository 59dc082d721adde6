"""What synthesis gives back: a mesh sequence that knows where each of its frames comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray, FloatArray, assign, checked
from marey.errors import InputError
from marey.surface.sequence import MeshSequence


@dataclass(frozen=True, eq=False)
class Provenance:
    """Where the frames of an animation come from (told apart in Boukhayma 2017, figure 3.11).

    sources, destinations: `(frames,)`, the two captured frames that were blended, numbers of the library; the
        same where the frame is a captured one. Frames between captured ones are rounded down.
    weights: `(frames,)`, share of the destination, 0…1
    synthetic: `(frames,)`, whether the frame was blended; the others are captured, moved along the ground

    >>> Provenance([4, 5], [4, 9], [0.0, 0.5], [False, True]).captured_frames
    1
    """

    sources: NDArray[np.int64]
    destinations: NDArray[np.int64]
    weights: FloatArray
    synthetic: BoolArray

    def __post_init__(self) -> None:
        count = len(self.sources)
        assign(
            self,
            sources=checked("sources", self.sources, (count,), dtype=np.int64),
            destinations=checked("destinations", self.destinations, (count,), dtype=np.int64),
            weights=checked("weights", self.weights, (count,)),
            synthetic=checked("synthetic", self.synthetic, (count,), dtype=np.bool_),
        )

    @property
    def captured_frames(self) -> int:
        """How many frames are captured ones."""
        return int((~self.synthetic).sum())


@dataclass(frozen=True, eq=False)
class Animation:
    """New motion of a captured subject.

    sequence: the meshes, placed in the world
    provenance: where each frame comes from
    """

    sequence: MeshSequence
    provenance: Provenance

    def __post_init__(self) -> None:
        if self.sequence.frames != len(self.provenance.sources):
            raise InputError(
                f"animation: {self.sequence.frames} meshes, but {len(self.provenance.sources)} origins"
            )
