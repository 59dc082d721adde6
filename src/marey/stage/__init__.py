"""Crowds and characters set up for other programs: walking people in one file."""

from __future__ import annotations

from marey.stage.walkers import write_walkers

__all__ = ["write_walkers"]
