"""Crowd motion capture: from a video to velocity fields, and the estimators of dense motion behind it."""

from marey.crowd.capture.capture import (
    METHODS,
    CapturePlan,
    CaptureReport,
    FlowEstimator,
    capture,
    capture_to,
    estimate,
    plan_capture,
)

__all__ = [
    "METHODS",
    "CapturePlan",
    "CaptureReport",
    "FlowEstimator",
    "capture",
    "capture_to",
    "estimate",
    "plan_capture",
]
