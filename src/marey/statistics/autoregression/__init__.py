"""Vector autoregression: several numbers over time that follow one another linearly."""

from marey.statistics.autoregression.conditioning import Trajectories, condition
from marey.statistics.autoregression.fitting import fit
from marey.statistics.autoregression.model import VectorAutoregression

__all__ = ["Trajectories", "VectorAutoregression", "condition", "fit"]
