"""In-betweening of gaps in captured motion: the likeliest content, samples of it, and its uncertainty."""

from marey.body.fill.fill import METHODS, FillResult, fill
from marey.body.fill.gaps import find_frozen, gap_mask

__all__ = ["METHODS", "FillResult", "fill", "find_frozen", "gap_mask"]
