"""4D meshes: constant connectivity, moving vertices; and new animations from captured ones."""

from marey.surface.decimation import decimate
from marey.surface.distances.matrix import DistanceMatrix
from marey.surface.graphs.building import graph
from marey.surface.graphs.graph import Graph, Walk
from marey.surface.graphs.repertoire import Repertoire
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence, concatenate
from marey.surface.skinning import SkinnedMesh, dual_quaternion, linear_blend
from marey.surface.texture import Texture

__all__ = [
    "DistanceMatrix",
    "Graph",
    "Library",
    "MeshSequence",
    "Repertoire",
    "SkinnedMesh",
    "Texture",
    "Walk",
    "concatenate",
    "decimate",
    "dual_quaternion",
    "graph",
    "linear_blend",
]
