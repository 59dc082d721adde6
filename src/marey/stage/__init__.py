"""Scales together: clips on rigged meshes, surfaces from motion capture, crowds as walking bodies."""

from marey.stage.mesh_library import mesh_library
from marey.stage.skin_clip import skin_clip
from marey.stage.walk.crowd import WalkingCrowd
from marey.stage.walk.walk import walk

__all__ = ["WalkingCrowd", "mesh_library", "skin_clip", "walk"]
