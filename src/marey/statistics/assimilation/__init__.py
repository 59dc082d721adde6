"""Variational data assimilation: the trajectory that fits a model and observations best, and its spread.

Courty 2013, sections 6.2.2 and 7.2.2. What is assimilated is defined by three protocols (:mod:`.problem`);
nothing here knows what the state means.
"""

from marey.statistics.assimilation.covariances import Diagonal, SmoothGrid, Stacked
from marey.statistics.assimilation.problem import Covariance, Dynamics, Observation, Problem
from marey.statistics.assimilation.shooting import Assimilation, assimilate

__all__ = [
    "Assimilation",
    "Covariance",
    "Diagonal",
    "Dynamics",
    "Observation",
    "Problem",
    "SmoothGrid",
    "Stacked",
    "assimilate",
]
