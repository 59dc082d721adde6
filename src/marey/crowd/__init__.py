"""The motion of many people."""

from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.tracks import Tracks

__all__ = ["FieldSeries", "Footage", "Tracks"]
