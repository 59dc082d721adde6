"""People on tracks as whole walking bodies: cycles of captured walks, footholds, poses, and their files."""

from __future__ import annotations

from marey.stage.walking.crowd import WalkingCrowd, walk

__all__ = ["WalkingCrowd", "walk"]
