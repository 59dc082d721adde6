"""4D meshes: constant connectivity, moving vertices; and new animations from captured ones."""

from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph, Walk
from marey.surface.compare import compare
from marey.surface.decimation import decimate
from marey.surface.distances import distances as distance
from marey.surface.interpolation.distortion import interpolate
from marey.surface.sequence import Library, MeshSequence, Texture, concatenate
from marey.surface.skinning import SkinnedMesh, dual_quaternion, linear_blend
from marey.surface.synthesis.animate import SurfaceGraph, animate, graph
from marey.surface.synthesis.blend import blend
from marey.surface.synthesis.info import info
from marey.surface.synthesis.transition import transition

__all__ = [
    "DistanceMatrix",
    "Library",
    "MeshSequence",
    "MotionGraph",
    "SkinnedMesh",
    "SurfaceGraph",
    "Texture",
    "Walk",
    "animate",
    "blend",
    "compare",
    "concatenate",
    "decimate",
    "distance",
    "dual_quaternion",
    "graph",
    "info",
    "interpolate",
    "linear_blend",
    "transition",
]


def __dir__() -> list[str]:
    return __all__
