"""Feet of blended meshes brought to where the placement counts on them.

A course (:mod:`marey.surface.synthesis.course`) knows the feet of both clips and blends them along straight
lines; non-linear blending bends legs, so that its feet come out a little beside. The difference is taken up
by a smooth shift of the touching foot and the leg above it. Captured frames are never touched. Cost: one pass
over the vertices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray
from marey.surface.contacts import Contacts
from marey.surface.library import Library
from marey.surface.synthesis.tracks import Tracks

Array = NDArray[np.float64]

# How far up a leg the shift of its foot is felt, in heights of the subject.
REACH = 0.1
# A patch this far from touching still counts a little, so that shifts come and go smoothly.
SOFTNESS = 0.1


@dataclass(frozen=True, eq=False)
class Footing:
    """How vertices follow the patches that touch the ground.

    contacts: the patches
    influence: `(vertices, patches)`, 1 on a patch, fading with the distance to it
    """

    contacts: Contacts
    influence: FloatArray

    @classmethod
    def of(cls, library: Library, tracks: Tracks) -> Footing:
        """Of a library's subject; vertices are apart by the farthest they are in some of its frames."""
        shown = np.unique(np.linspace(0, library.frames - 1, 16).astype(int))
        count = library.sequences[0].vertices.shape[1]
        apart = np.zeros((count, tracks.contacts.patches), np.float32)
        for frame in shown:
            vertices = library.vertices(int(frame))
            for patch, middle in enumerate(tracks.patches[frame]):
                np.maximum(
                    apart[:, patch],
                    np.linalg.norm(vertices - middle.astype(vertices.dtype), axis=1),
                    out=apart[:, patch],
                )
        return cls(tracks.contacts, np.exp(-0.5 * (apart / (REACH * tracks.contacts.height)) ** 2))

    def keep(
        self, vertices: FloatArray, first: FloatArray, second: FloatArray, weight: float, touching: Array
    ) -> None:
        """Shift `vertices` in place so that touching patches are where those of both poses blend to.

        vertices, first, second: `(vertices, 3)`, the blend and its two poses, all about their own middles
        touching: `(patches,)`
        """
        if not touching.any():
            return
        there = self.contacts.patch_positions(vertices)
        meant = (1 - weight) * self.contacts.patch_positions(first) + weight * self.contacts.patch_positions(
            second
        )
        felt = self.influence * touching.astype(np.float32)
        share = felt / (felt.sum(axis=1, keepdims=True) + np.float32(SOFTNESS))
        vertices += (share @ (meant - there).astype(np.float32)).astype(vertices.dtype)
