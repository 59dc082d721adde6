"""Several captured flows in one environment, in the manner of Courty & Corpetti 2007, section 4.2."""

from marey.crowd.tiling.patches import Patch
from marey.crowd.tiling.tiling import REACH, Tiling, TilingReport, leak, polygons_to_walls, side_by_side, tile

__all__ = ["REACH", "Patch", "Tiling", "TilingReport", "leak", "polygons_to_walls", "side_by_side", "tile"]
