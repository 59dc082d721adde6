"""Vector autoregression: several numbers over time that follow one another linearly."""

from marey.statistics.autoregression.condition import ConditionalSeries, condition
from marey.statistics.autoregression.fit import fit
from marey.statistics.autoregression.model import VectorAutoregression

__all__ = ["ConditionalSeries", "VectorAutoregression", "condition", "fit"]
