"""Crowds and characters set up for other programs: walking people in one file, clips on rigged meshes."""

from __future__ import annotations

from marey.stage.dressing import dress
from marey.stage.performing import perform
from marey.stage.walkers import write_walkers
from marey.stage.walking import WalkingCrowd, walk

__all__ = ["WalkingCrowd", "dress", "perform", "walk", "write_walkers"]
