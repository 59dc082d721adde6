"""New versions of one clip: near to it or far, with poses kept and planted feet."""

from marey.body.vary.vary import VariationReport, VaryResult, VarySettings, vary

__all__ = ["VariationReport", "VaryResult", "VarySettings", "vary"]
