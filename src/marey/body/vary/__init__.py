"""New versions of one clip: near to it or far, with poses kept and planted feet."""

from marey.body.vary.report import VariationReport
from marey.body.vary.vary import VaryResult, VarySettings, vary

__all__ = ["VariationReport", "VaryResult", "VarySettings", "vary"]
