"""Crowd motion capture: from a video to velocity fields, and the estimators of dense motion behind it."""

from marey.crowd.capture.capture import CapturePlan, CaptureReport, capture, capture_to, plan_capture
from marey.crowd.capture.flow import METHODS, FlowEstimator, estimate

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
