"""A pose from which all others are measured: rotation and stretch of its triangles in every frame.

Two poses are then compared by what took the template to each, which costs nothing like a decomposition for
every pair (Boukhayma 2017, section 2.3.2). Cost: about 0.2 µs a triangle and frame on one core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import IntArray
from marey.errors import InputError
from marey.geometry import mesh
from marey.surface.distances import gradients
from marey.surface.distances.sampling import stratified
from marey.surface.library import Library

Array = NDArray[np.float64]

FRAMES_AT_ONCE = 16
# Triangles that tell how much a surface stretches and which way it faces.
SAMPLE = 1000
STRETCH_FRAMES = 100


@dataclass(frozen=True, eq=False)
class Template:
    """The triangles that are compared, what each counts, and the pose from which they are measured.

    A captured frame, since in the mean of many poses the limbs that move are shrunken.

    vertices: `(vertices, 3)`
    faces: `(triangles, 3)`, all or the sampled ones
    areas: `(triangles,)`, square metres that each stands for; zero if it has no area
    """

    vertices: Array
    faces: NDArray[np.int32]
    areas: Array

    @classmethod
    def of(cls, vertices: ArrayLike, faces: IntArray, *, triangles: int | None = None) -> Template:
        """A pose as the template, with all its faces or about `triangles` of them."""
        pose = np.asarray(vertices, np.float64)
        if len(faces) == 0:
            raise InputError("surface metric: the mesh has no faces; the euclidean metric needs none")
        if triangles is not None and triangles < len(faces):
            chosen, areas = stratified(pose, faces, triangles)
            faces = faces[chosen]
        else:
            areas = np.asarray(mesh.face_areas(pose, faces), np.float64)
        kept = np.asarray(faces, np.int32)
        flat = gradients.tangent_frames(pose, kept)[2]
        return cls(pose, kept, np.where(flat, 0.0, areas))

    def part(self, start: int, stop: int) -> Template:
        """Some of the triangles."""
        return Template(self.vertices, self.faces[start:stop], self.areas[start:stop])


def measured_stretch(library: Library, template: Template | None = None) -> float:
    """By how much triangles are longer or shorter than in the template; 0.1 is a tenth.

    The mean over the surface, and over a hundred frames, of each triangle's largest strain. Without
    a template it is counted from some triangles of the first frame.

    >>> import marey
    >>> walk = marey.samples.performance()
    >>> round(measured_stretch(Library((walk,))), 2)
    0.04
    """
    from marey.surface.distances import _kernels

    if template is None:
        template = Template.of(library.vertices(0), library.faces, triangles=SAMPLE)
    count = min(STRETCH_FRAMES, library.frames)
    chosen = np.unique(np.linspace(0, library.frames - 1, count).astype(int))
    axes, edges, _ = gradients.tangent_frames(template.vertices, template.faces)
    out = np.empty((1, 7, len(template.faces)), np.float32)
    total = 0.0
    for frame in chosen:
        pose = np.array(library.vertices(int(frame)), np.float64)[None]
        flat = np.zeros(len(template.faces), np.bool_)
        _kernels.describe(pose, template.faces, axes, edges, gradients.least_area(pose), 1.0, out, flat)
        strain = np.abs(out[0, 4]) + np.hypot(out[0, 5], out[0, 6])
        total += float(np.average(strain, weights=np.maximum(np.where(flat, 0, template.areas), 1e-300)))
    return total / len(chosen)


def described(
    library: Library, template: Template, *, exact: bool, scale: float
) -> tuple[NDArray[np.floating], Array]:
    """What a pair needs of every frame `(frames, 7, triangles)`; areas, zero where some frame has none."""
    from marey.surface.distances import _kernels

    axes, edges, flat = gradients.tangent_frames(template.vertices, template.faces)
    shape = (library.frames, 7, len(template.faces))
    out: NDArray[np.floating] = np.empty(shape, np.float64 if exact else np.float32)

    def describe(block: tuple[int, int]) -> None:
        number, first = block
        sequence = library.sequences[number]
        poses = np.array(sequence.vertices[first : first + FRAMES_AT_ONCE], np.float64, order="C")
        least = gradients.least_area(poses)
        start = int(library.starts[number]) + first
        rows = out[start : start + len(poses)]
        if exact:
            _kernels.describe_exactly(poses, template.faces, least, rows, flat)
        else:
            _kernels.describe(poses, template.faces, axes, edges, least, scale, rows, flat)

    blocks = [
        (n, first)
        for n, one in enumerate(library.sequences)
        for first in range(0, one.frames, FRAMES_AT_ONCE)
    ]
    _work.map(describe, blocks)
    return out, np.where(flat, 0.0, template.areas)
