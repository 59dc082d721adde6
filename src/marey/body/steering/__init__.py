"""Steering: hands and feet reach given points at given times, and the clip around them follows."""

from marey.body.steering.clip import Steered, steer
from marey.body.steering.requests import ReachAt

__all__ = ["ReachAt", "Steered", "steer"]
