"""Crowds and characters set up for other programs: walking people in one file, clips on rigged meshes."""

from __future__ import annotations

from marey.stage.dressing import dress
from marey.stage.performing import perform
from marey.stage.walkers import write_walkers

__all__ = ["dress", "perform", "write_walkers"]
