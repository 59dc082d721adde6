"""Feet of blended meshes held where they stand.

A placement (:mod:`marey.surface.synthesis.placement`) carries the body so that touching feet stay put on
average. What is left is taken up by a smooth shift of foot and shank: of two feet that stand while the poses
pull them apart, of feet that would turn with the body's heading, and of those that non-linear blending
displaces a little. The shifts of a transition are the least ones that hold what touches and vanish at both
its ends, found by one linear solve; captured frames are never changed. Cost: a small solve a transition, one
pass over the vertices a frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array, BoolArray, FloatArray
from marey.surface.contacts import Contacts, patch_averages
from marey.surface.library import Library
from marey.surface.synthesis.placement import GroundFrames, Placement


@dataclass(frozen=True)
class FootLockSettings:
    """Lengths in heights of the subject, and stiffnesses beside 1 for holding what touches.

    Attributes:
        reach: how far the shift of a patch moves the surface around it.
        foot: patches that stay nearer to each other are of one foot.
        moving: for moving what does not touch.
        bending: for bending a foot.
        shifted: for being shifted at all.
        looseness: how closely the shifts of the surface meet those of the patches; smoother if larger.
    """

    reach: float = 0.12
    foot: float = 0.2
    moving: float = 0.005
    bending: float = 0.01
    shifted: float = 0.002
    looseness: float = 0.01


@dataclass(frozen=True, eq=False)
class FootLock:
    """How vertices follow the patches that touch the ground.

    Attributes:
        contacts: the patches.
        influence: `(vertices, patches)`, what a unit shift of each patch does to the vertices.
        one_foot: `(patches, patches)`, whether two patches are of one foot.
        settings: of the solve.
    """

    contacts: Contacts
    influence: FloatArray
    one_foot: BoolArray
    settings: FootLockSettings

    @classmethod
    def of(cls, library: Library, ground: GroundFrames, settings: FootLockSettings | None = None) -> FootLock:
        """Of a library's subject; distances of points are the largest over some of its frames."""
        settings, contacts = settings or FootLockSettings(), ground.contacts
        shown = np.unique(np.linspace(0, library.frames - 1, 16).astype(int))
        apart = np.zeros((library.sequences[0].vertices.shape[1], contacts.patches), np.float32)
        for frame in shown:
            vertices = library.vertices(int(frame))
            for patch, centre in enumerate(ground.patches[frame].astype(vertices.dtype)):
                apart[:, patch] = np.maximum(apart[:, patch], np.linalg.norm(vertices - centre, axis=1))
        felt = np.exp(-0.5 * (apart / (settings.reach * contacts.height)) ** 2)
        among = patch_averages(contacts.patch_of) @ felt[contacts.soles].astype(np.float64)
        solved = np.linalg.inv(among + settings.looseness * np.eye(contacts.patches))
        between = ground.patches[shown][:, :, None] - ground.patches[shown][:, None]
        one_foot = np.linalg.norm(between, axis=-1).max(axis=0) < settings.foot * contacts.height
        return cls(contacts, felt @ solved.astype(np.float32), one_foot, settings)

    def shifts(self, placement: Placement) -> Array:
        """By how much patches are to be shifted over one transition, `(frames, patches, 2)`."""
        count, patches = placement.touching.shape
        result = np.zeros((count, patches, 2))
        if count < 3 or not placement.touching.any():
            return result
        held = np.minimum(placement.touching[1:], placement.touching[:-1])
        bending = self.one_foot * -self.settings.bending
        np.fill_diagonal(bending, 0.0)
        np.fill_diagonal(bending, -bending.sum(axis=1) + self.settings.shifted)
        inner = count - 2
        system = np.zeros((inner, patches, inner, patches))
        frames, each = np.arange(inner), np.arange(patches)
        stiff = held + self.settings.moving
        system[frames[:, None], each, frames[:, None], each] = stiff[:-1] + stiff[1:]
        system[frames[:-1, None], each, frames[1:, None], each] = -stiff[1:-1]
        system[frames[1:, None], each, frames[:-1, None], each] = -stiff[1:-1]
        system[frames, :, frames, :] += bending
        pull = held[:, :, None] * placement.skate[1:]
        right = (pull[1:] - pull[:-1]).reshape(inner * patches, 2)
        result[1:-1] = np.linalg.solve(system.reshape(inner * patches, -1), right).reshape(inner, patches, 2)
        return result

    def lock(
        self,
        vertices: FloatArray,
        first: FloatArray,
        second: FloatArray,
        weight: float,
        touching: Array,
        shifts: Array,
    ) -> None:
        """Shift `vertices` in place so that patches are where those of both poses blend to, plus `shifts`.

        Args:
            vertices: `(vertices, 3)`, the blend; all three meshes are about their own centroids.
            first: `(vertices, 3)`, one pose.
            second: `(vertices, 3)`, the other.
            weight: of the second.
            touching: `(patches,)`; feet that do not touch stay where the blend has them.
            shifts: `(patches, 2)`.
        """
        if not self.contacts.patches:
            return
        there, here, other = (self.contacts.patch_positions(mesh) for mesh in (vertices, first, second))
        foot = (self.one_foot * touching).max(axis=1)
        wanted = foot[:, None] * ((1 - weight) * here + weight * other - there)
        wanted[:, 0::2] += shifts
        if wanted.any():
            vertices += (self.influence @ wanted.astype(np.float32)).astype(vertices.dtype)
