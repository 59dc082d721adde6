"""Several captured flows in one environment, in the manner of Courty & Corpetti 2007, section 4.2."""

from marey.crowd.tiling.patches import Patch
from marey.crowd.tiling.tiling import REACH, Tiling, leak, polygons_to_walls, tile

__all__ = ["REACH", "Patch", "Tiling", "leak", "polygons_to_walls", "tile"]
