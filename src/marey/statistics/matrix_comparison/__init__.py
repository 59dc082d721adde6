"""Do two distance matrices of the same objects agree? (Boukhayma 2017, section 2.3.2, evaluation.)"""

from marey.statistics.matrix_comparison.correlation import distance_correlation, pearson, upper
from marey.statistics.matrix_comparison.permutation import Correlogram, Mantel, correlogram, mantel

__all__ = [
    "Correlogram",
    "Mantel",
    "correlogram",
    "distance_correlation",
    "mantel",
    "pearson",
    "upper",
]
