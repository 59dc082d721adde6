"""Several captured flows in one environment, in the manner of Courty & Corpetti 2007, section 4.2."""

from __future__ import annotations

from marey.crowd.tiling.blending import REACH, Tiling, tile
from marey.crowd.tiling.placing import Patch
from marey.crowd.tiling.walls import leak, polygons_to_walls

__all__ = ["REACH", "Patch", "Tiling", "leak", "polygons_to_walls", "tile"]
