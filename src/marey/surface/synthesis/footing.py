"""Feet of blended meshes kept where they stand.

A course (:mod:`marey.surface.synthesis.course`) carries the body so that touching feet stay put on average.
What is left is taken up by a smooth shift of foot and shank: of two feet that stand while the poses pull them
apart, of feet that would turn with the body's heading, and of those that non-linear blending puts a little
beside. The shifts of a transition are the least ones that hold what touches and are gone at both its ends,
found by one linear solve; captured frames are never touched. Cost: a small solve a transition, one pass over
the vertices a frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray, FloatArray
from marey.geometry.planar import rotate
from marey.surface.contacts import Contacts
from marey.surface.library import Library
from marey.surface.synthesis.course import Course
from marey.surface.synthesis.tracks import Tracks, at_times

Array = NDArray[np.float64]

# In heights of the subject: how far the shift of a patch is felt, and how near the patches of one foot stay.
REACH, FOOT = 0.12, 0.2
# Beside 1 for holding what touches: for moving what does not, for bending a foot, for being shifted at all.
MOVING, BENDING, SHIFTED = 0.005, 0.01, 0.002
# How closely shifts meet those of the patches; smoother if larger.
LOOSENESS = 0.01


@dataclass(frozen=True, eq=False)
class Footing:
    """How vertices follow the patches that touch the ground.

    contacts: the patches
    influence: `(vertices, patches)`, what a unit shift of each patch does to the vertices
    one_foot: `(patches, patches)`, whether two patches are of one foot
    """

    contacts: Contacts
    influence: FloatArray
    one_foot: BoolArray

    @classmethod
    def of(cls, library: Library, tracks: Tracks) -> Footing:
        """Of a library's subject; points are apart by the farthest they are in some of its frames."""
        shown = np.unique(np.linspace(0, library.frames - 1, 16).astype(int))
        count = library.sequences[0].vertices.shape[1]
        contacts = tracks.contacts
        apart = np.zeros((count, contacts.patches), np.float32)
        for frame in shown:
            vertices = library.vertices(int(frame))
            for patch, middle in enumerate(tracks.patches[frame]):
                np.maximum(
                    apart[:, patch],
                    np.linalg.norm(vertices - middle.astype(vertices.dtype), axis=1),
                    out=apart[:, patch],
                )
        felt = np.exp(-0.5 * (apart / (REACH * contacts.height)) ** 2)
        among = contacts.patch_averages() @ felt[contacts.soles].astype(np.float64)
        solved = np.linalg.solve(among + LOOSENESS * np.eye(contacts.patches), np.eye(contacts.patches))
        between = tracks.patches[shown][:, :, None] - tracks.patches[shown][:, None]
        one_foot = np.linalg.norm(between, axis=-1).max(axis=0) < FOOT * contacts.height
        return cls(contacts, felt @ solved.astype(np.float32), one_foot)

    def shifts(self, course: Course, tracks: Tracks) -> Array:
        """By how much patches are to be shifted over a course of one transition, `(frames, patches, 2)`."""
        count, patches = course.touching.shape
        result = np.zeros((count, patches, 2))
        if count < 3 or patches == 0 or not course.touching.any():
            return result
        slide = unfounded_slide(course, tracks)
        held = np.minimum(course.touching[1:], course.touching[:-1])
        bending = self.one_foot * -BENDING
        np.fill_diagonal(bending, 0.0)
        np.fill_diagonal(bending, -bending.sum(axis=1) + SHIFTED)
        inner = count - 2
        system = np.zeros((inner, patches, inner, patches))
        frames, each = np.arange(inner), np.arange(patches)
        stiff = held + MOVING
        system[frames[:, None], each, frames[:, None], each] = stiff[:-1] + stiff[1:]
        system[frames[:-1, None], each, frames[1:, None], each] = -stiff[1:-1]
        system[frames[1:, None], each, frames[:-1, None], each] = -stiff[1:-1]
        system[frames, :, frames, :] += bending
        pull = held[:, :, None] * slide
        right = (pull[1:] - pull[:-1]).reshape(inner * patches, 2)
        result[1:-1] = np.linalg.solve(system.reshape(inner * patches, -1), right).reshape(inner, patches, 2)
        return result

    def keep(
        self,
        vertices: FloatArray,
        first: FloatArray,
        second: FloatArray,
        weight: float,
        touching: Array,
        shifts: Array,
    ) -> None:
        """Shift `vertices` in place so that patches are where those of both poses blend to, plus `shifts`.

        vertices, first, second: `(vertices, 3)`, the blend and its two poses, all about their own middles
        touching, shifts: `(patches,)`, `(patches, 2)`; feet that do not touch stay where the blend has them
        """
        if not self.contacts.patches:
            return
        there = self.contacts.patch_positions(vertices)
        meant = (1 - weight) * self.contacts.patch_positions(first)
        meant += weight * self.contacts.patch_positions(second)
        foot = (self.one_foot * touching).max(axis=1)
        wanted = foot[:, None] * (meant - there)
        wanted[:, 0::2] += shifts
        if wanted.any():
            vertices += (self.influence @ wanted.astype(np.float32)).astype(vertices.dtype)


def unfounded_slide(course: Course, tracks: Tracks) -> Array:
    """How far patches of a blend move beside what they do where they touch, `(frames - 1, patches, 2)`.

    A foot that stands in one clip and swings in the other counts as standing.
    """
    moved: Array = np.diff(course.positions, axis=0)[:, None]
    own, known = np.zeros((1, 1, 1)), np.zeros((1, 1, 1))
    for i, turns, share in (
        (0, course.source_turns, 1.0 - course.weights),
        (1, course.destination_turns, course.weights),
    ):
        patches = at_times(tracks.patches, course.times[:, i])[..., 0::2]
        beside = patches - at_times(tracks.centroids, course.times[:, i])[:, None]
        moved = moved + np.diff(share[:, None, None] * rotate(beside, turns[:, None]), axis=0)
        touched = at_times(tracks.contacts.touching, course.times[:, i])
        counts = ((share[1:] + share[:-1])[:, None] * (touched[1:] + touched[:-1]))[..., None]
        turn = 0.5 * (turns[1:] + turns[:-1])
        own = own + counts * rotate(np.diff(patches, axis=0), turn[:, None])
        known = known + counts
    return np.asarray(moved - own / np.where(known > 0, known, 1.0))
