"""Crowd motion against the truth: fields, trajectories, pedestrians, and the similarity of flows."""

from marey.crowd.evaluation.fields import FieldErrors, Truth, compare, error_map, field_errors
from marey.crowd.evaluation.pedestrians import (
    CrowdErrors,
    Overlaps,
    crowd_errors,
    fundamental_diagram,
    overlaps,
)
from marey.crowd.evaluation.similarity import FlowSimilarity, flow_similarity
from marey.crowd.evaluation.trajectories import TrajectoryError, flow_deviation, trajectory_errors

__all__ = [
    "CrowdErrors",
    "FieldErrors",
    "FlowSimilarity",
    "Overlaps",
    "TrajectoryError",
    "Truth",
    "compare",
    "crowd_errors",
    "error_map",
    "field_errors",
    "flow_deviation",
    "flow_similarity",
    "fundamental_diagram",
    "overlaps",
    "trajectory_errors",
]
