"""Crowd motion against the truth: fields, trajectories, pedestrians, and the similarity of flows."""

from marey.crowd.evaluation.fields import (
    FieldErrors,
    FlowSimilarity,
    Truth,
    error_map,
    field_errors,
    flow_similarity,
)
from marey.crowd.evaluation.flows import FlowErrors, flow_errors
from marey.crowd.evaluation.pedestrians import (
    CrowdErrors,
    Overlaps,
    TrajectoryError,
    crowd_errors,
    flow_deviation,
    fundamental_diagram,
    overlaps,
    trajectory_errors,
)

__all__ = [
    "CrowdErrors",
    "FieldErrors",
    "FlowErrors",
    "FlowSimilarity",
    "Overlaps",
    "TrajectoryError",
    "Truth",
    "crowd_errors",
    "error_map",
    "field_errors",
    "flow_deviation",
    "flow_errors",
    "flow_similarity",
    "fundamental_diagram",
    "overlaps",
    "trajectory_errors",
]
