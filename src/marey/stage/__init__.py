"""Scales together: clips on rigged meshes, surfaces from motion capture, crowds as walking bodies."""

from marey.stage.skin_clip import skin, skin_clip
from marey.stage.walk.walk import WalkingCrowd, walk

__all__ = ["WalkingCrowd", "skin", "skin_clip", "walk"]


def __dir__() -> list[str]:
    return __all__
