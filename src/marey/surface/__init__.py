"""4D meshes: constant connectivity, moving vertices."""

from marey.surface.sequence import MeshSequence, concatenate
from marey.surface.skin import SkinnedMesh
from marey.surface.skinning import dual_quaternion, linear_blend
from marey.surface.texture import Texture

__all__ = [
    "MeshSequence",
    "SkinnedMesh",
    "Texture",
    "concatenate",
    "dual_quaternion",
    "linear_blend",
]
