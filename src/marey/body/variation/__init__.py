"""New versions of one clip: near to it or far, with poses kept and feet on the ground."""

from marey.body.variation.measures import VariationReport
from marey.body.variation.variants import Variants, vary

__all__ = ["Variants", "VariationReport", "vary"]
