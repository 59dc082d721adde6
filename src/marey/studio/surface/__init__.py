"""The surface panel of the studio."""

from __future__ import annotations

from marey.studio.surface.panel import SurfacePanel

__all__ = ["SurfacePanel"]
