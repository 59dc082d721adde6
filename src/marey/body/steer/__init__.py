"""Timed targets: hands and feet reach given points at given times, and the clip around them follows."""

from marey.body.steer.requests import TimedReach
from marey.body.steer.steer import METHODS, SteerResult, SteerSettings, steer

__all__ = ["METHODS", "SteerResult", "SteerSettings", "TimedReach", "steer"]
