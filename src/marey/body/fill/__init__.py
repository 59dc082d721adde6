"""In-betweening of gaps in captured motion: the likeliest content, samples of it, and its uncertainty."""

from marey.body.fill.coordinates import find_frozen, gap_mask
from marey.body.fill.fill import METHODS, FillResult, fill

__all__ = ["METHODS", "FillResult", "fill", "find_frozen", "gap_mask"]
