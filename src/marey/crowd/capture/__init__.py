"""Crowd motion capture: from a video to velocity fields, and the estimators of dense motion behind it."""

from marey.crowd.capture.capture import CapturePlan, capture, plan_capture
from marey.crowd.capture.flow import METHODS, FlowEstimator, estimate
from marey.crowd.capture.store import CaptureReport, capture_to

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
