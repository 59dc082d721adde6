"""Filling holes of captured motion: what was lost, several ways it may have been, and how sure that is."""

from marey.body.filling.filling import METHODS, Filling, fill
from marey.body.filling.gaps import frozen, missing

__all__ = ["METHODS", "Filling", "fill", "frozen", "missing"]
