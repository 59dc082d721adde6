"""Dense motion between two images: the div–curl estimator of crowds, its forerunners, and OpenCV's."""

from marey.crowd.estimation.estimator import ENGINES, Estimator, estimate

__all__ = ["ENGINES", "Estimator", "estimate"]
