"""Scales together: clips on rigged meshes, surfaces from motion capture, crowds as walking bodies."""

from marey.stage.skin_clip import mesh_library, skin_clip
from marey.stage.walk.walk import WalkingCrowd, walk

__all__ = ["WalkingCrowd", "mesh_library", "skin_clip", "walk"]
