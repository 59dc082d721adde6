"""The crowd panel of the studio."""

from __future__ import annotations

from marey.studio.crowd.panel import CrowdPanel

__all__ = ["CrowdPanel"]
