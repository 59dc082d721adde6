"""What the surface room shows: captured sequences, what is known of them, and what was made from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray
from marey._work import Progress
from marey.geometry.planar import PlanarMotion, centroid
from marey.statistics.graphs.graph import DistanceMatrix
from marey.studio.surface.billboard import FigureImage
from marey.surface.interpolation import Interpolator, PosePair, distortion, linear_interpolation
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation

Shown = Literal["captured", "animation", "between"]
# In-betweens from one pose to the other, their frames per second, and at how many distortion is measured.
STEPS, STEP_RATE, MEASURED = 101, 50.0, 11


@dataclass(frozen=True, eq=False)
class InBetween:
    """Two poses in one place and heading, and all meshes between them (Boukhayma 2017, section 2.4.3).

    What both poses share is prepared once; an in-between of 10,000 vertices then takes some milliseconds.

    first, second: `(vertices, 3)`
    pair: prepared for turning in-betweens
    distortions: `(methods, 2, MEASURED)`, deviation from the expected volume and lengths of edges, shares;
        turning first, then straight
    is_straight: whether vertices move along straight lines instead
    """

    first: FloatArray
    second: FloatArray
    pair: PosePair
    distortions: Array
    is_straight: bool = False

    @classmethod
    def prepare(cls, library: Library, ends: tuple[int, int], progress: Progress) -> InBetween:
        """Lay the second pose onto the first, and measure both methods."""
        from marey.surface.distances import yaw_between

        here, there = (np.asarray(library.vertices(end)) for end in ends)
        turn = yaw_between(here, there, library.faces)
        there = PlanarMotion.about(centroid(there), turn, centroid(here)).apply(there)
        pair = Interpolator.prepare(here, library.faces).pair(here, there)
        measured = np.zeros((2, 2, MEASURED))
        for k, weight in enumerate(np.linspace(0, 1, MEASURED)):
            progress(k, MEASURED)
            for method, mesh in enumerate((pair.at(weight), linear_interpolation(here, there, weight))):
                found = distortion(mesh, here, there, library.faces, weight)
                measured[method, :, k] = found.volume, found.edges
        return cls(here, there, pair, measured)

    def at(self, weight: ArrayLike) -> FloatArray:
        """The mesh at a weight of the second pose, 0…1, `(vertices, 3)`; of several, `(n, vertices, 3)`."""
        if self.is_straight:
            return linear_interpolation(self.first, self.second, weight)
        return self.pair.at(weight)

    def distortion(self, weight: float) -> tuple[Array, Array]:
        """Deviations of volume and edges `(2,)`, shares, of turning and of straight in-betweens."""
        at = np.linspace(0, 1, MEASURED)
        found = [[np.interp(weight, at, row) for row in method] for method in self.distortions]
        return np.array(found[0]), np.array(found[1])

    def sequence(self, like: MeshSequence) -> MeshSequence:
        """All in-betweens as a sequence that looks like another of the subject."""
        meshes = self.at(np.linspace(0, 1, STEPS))
        textures = like.textures[:1]
        return replace(like, vertices=meshes, frame_rate=STEP_RATE, textures=textures, name="between")


@dataclass(frozen=True, eq=False)
class State:
    """Everything that is shown; frames are numbers of the library unless said otherwise.

    library: the captured sequences; None if only distances were opened
    distances, matrix: between all poses, and their figure
    repertoire, graph: what animations are made from, and the figure of its graph
    shown: what is played
    sequence, at: which captured sequence, and its frame to go to
    pair: two frames picked in the matrix, to be compared
    path: `(points, 2)`, the path that was drawn or chosen, metres on the ground
    animation: new motion; without its report if it was loaded: its origins are frames of another library
    ends: the two poses chosen to interpolate
    between: meshes between them
    """

    library: Library | None = None
    distances: DistanceMatrix | None = None
    matrix: FigureImage | None = None
    repertoire: SurfaceGraph | None = None
    graph: FigureImage | None = None
    shown: Shown = "captured"
    sequence: int = 0
    at: int = 0
    pair: tuple[int, int] | None = None
    path: Array | None = None
    animation: Animation | None = None
    ends: tuple[int | None, int | None] = (None, None)
    between: InBetween | None = None

    @classmethod
    def of(cls, data: object, name: str, library: Library | None) -> State:
        """The first state of what is opened; sequences of one subject join the library that is open."""
        if isinstance(data, SurfaceGraph):
            return cls(data.library, data.distances, repertoire=data)
        if isinstance(data, DistanceMatrix):
            fits = library is not None and np.array_equal(library.starts, data.starts)
            return cls(library if fits else None, data)
        if isinstance(data, Animation):
            return cls(Library((data.sequence,)), animation=replace(data, report=None), shown="animation")
        if isinstance(data, Library):
            return cls(data)
        assert isinstance(data, MeshSequence)
        named = data if data.name else data.renamed(name.rpartition(".")[0] or name)
        if library is None or not _same_subject(library, named):
            return cls(Library((named,)))
        joined = Library((*library.sequences, named), (*library.labels, named.name))
        return cls(joined, sequence=len(library))

    @property
    def played(self) -> MeshSequence | None:
        """The meshes of the sequence or animation that is shown; None between poses, or without meshes."""
        if self.shown == "animation" and self.animation is not None:
            return self.animation.sequence
        if self.shown == "captured" and self.library is not None:
            return self.library.sequences[self.sequence]
        return None

    @property
    def clock(self) -> tuple[int, float]:
        """Frames and frames per second of what is shown."""
        played = self.played
        if played is not None:
            return played.frames, played.frame_rate
        if self.shown == "between":
            return STEPS, STEP_RATE
        return (self.distances.frames, 30.0) if self.distances is not None else (1, 30.0)

    def frame_of_library(self, frame: int) -> int | None:
        """Which captured frame is shown at a frame of what is played, or blended into it first."""
        if self.shown == "animation" and self.animation is not None:
            known = self.animation.report is not None
            return int(self.animation.provenance.sources[frame]) if known else None
        if self.shown == "between":
            return None
        return frame if self.library is None else int(self.library.starts[self.sequence]) + frame

    def other_frame(self, frame: int) -> int | None:
        """The frame that is compared with the one shown, if a pair was picked and it lasts so long."""
        here = self.frame_of_library(frame)
        if self.pair is None or here is None or self.shown != "captured" or self.distances is None:
            return None
        starts = self.distances.starts
        first, second = self.pair
        other = second + here - first
        sequences = np.searchsorted(starts, [here, first, second, other], side="right")
        same = sequences[0] == sequences[1] and sequences[2] == sequences[3]
        return int(other) if same and 0 <= other < self.distances.frames else None

    def name_of(self, frame: int) -> str:
        """A frame of the library for users: `walk 12`."""
        known = self.library or self.distances
        if known is None:
            return str(frame)
        sequence = int(np.searchsorted(known.starts, frame, side="right")) - 1
        return f"{known.names[sequence]} {frame - int(known.starts[sequence])}"


def _same_subject(library: Library, other: MeshSequence) -> bool:
    same_rate = np.isclose(library.frame_rate, other.frame_rate)
    return bool(same_rate and np.array_equal(library.faces, other.faces))
