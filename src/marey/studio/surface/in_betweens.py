"""In-betweens of two captured poses, ready to follow a slider (Boukhayma 2017, section 2.4.3).

Cost: everything that both poses share is prepared once; an in-between of 10,000 vertices then takes some
milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import FloatArray, IntArray
from marey._work import Progress
from marey.geometry.planar import PlanarMotion, centroid
from marey.surface.interpolation import Interpolator, PosePair, distortion, linear_interpolation
from marey.surface.sequence import Library, MeshSequence

# Places of the slider, and seconds it takes to play from one pose to the other.
STEPS, SECONDS = 101, 2.0
# Ways at which the distortion of both methods is measured.
MEASURED = 11


@dataclass(frozen=True, eq=False)
class Between:
    """Two poses facing alike in one place, and all meshes between them.

    first, second: `(vertices, 3)`
    faces: `(faces, 3)`
    pair: measured for turning in-betweens
    volumes, edges: `(methods, MEASURED)`, how far in-betweens are from the volume and the lengths expected,
        shares; turning first, then straight
    is_straight: whether vertices go along straight lines instead
    """

    first: FloatArray
    second: FloatArray
    faces: IntArray
    pair: PosePair
    volumes: NDArray[np.float64]
    edges: NDArray[np.float64]
    is_straight: bool = False

    @classmethod
    def prepare(cls, library: Library, ends: tuple[int, int], progress: Progress) -> Between:
        """Lay the second pose onto the first, and measure both."""
        from marey.surface.distances import yaw_between

        here, there = (np.asarray(library.vertices(end)) for end in ends)
        turn = yaw_between(here, there, library.faces)
        there = PlanarMotion.about(centroid(there), turn, centroid(here)).apply(there)
        pair = Interpolator.prepare(here, library.faces).pair(here, there)
        off = np.zeros((2, 2, MEASURED))
        for k, way in enumerate(np.linspace(0, 1, MEASURED)):
            progress(k, MEASURED)
            for method, mesh in enumerate((pair.at(way), linear_interpolation(here, there, way))):
                found = distortion(mesh, here, there, library.faces, way)
                off[0, method, k], off[1, method, k] = found.volume, found.edges
        return cls(here, there, library.faces, pair, *off)

    @property
    def clock(self) -> tuple[int, float]:
        """Frames and frames per second when it is played."""
        return STEPS, (STEPS - 1) / SECONDS

    def at(self, way: float) -> FloatArray:
        """The mesh so far on the way, 0…1, `(vertices, 3)`."""
        return linear_interpolation(self.first, self.second, way) if self.is_straight else self.pair.at(way)

    def distortions(self, way: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Volume and edges of turning, then of straight in-betweens, so far on the way; shares."""
        at = np.linspace(0, 1, MEASURED)
        turning, along = (
            (float(np.interp(way, at, self.volumes[method])), float(np.interp(way, at, self.edges[method])))
            for method in (0, 1)
        )
        return turning, along

    def by(self, *, straight: bool) -> Between:
        """The same poses, gone between the other way."""
        return replace(self, is_straight=straight)

    def sequence(self, like: MeshSequence, progress: Progress) -> MeshSequence:
        """All in-betweens as a sequence that looks like another of the subject."""
        frames, rate = self.clock
        meshes = []
        for k, way in enumerate(np.linspace(0, 1, frames)):
            progress(k, frames)
            meshes.append(self.at(float(way)))
        return replace(
            like, vertices=np.stack(meshes), frame_rate=rate, textures=like.textures[:1], name="between"
        )
