"""4D meshes: constant connectivity, moving vertices; and new animations from captured ones."""

from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph, Walk
from marey.surface.decimation import decimate
from marey.surface.sequence import Library, MeshSequence, Texture, concatenate
from marey.surface.skinning import SkinnedMesh, dual_quaternion, linear_blend
from marey.surface.synthesis.animate import SurfaceGraph, graph

__all__ = [
    "DistanceMatrix",
    "Library",
    "MeshSequence",
    "MotionGraph",
    "SkinnedMesh",
    "SurfaceGraph",
    "Texture",
    "Walk",
    "concatenate",
    "decimate",
    "dual_quaternion",
    "graph",
    "linear_blend",
]
