"""The body panel of the studio."""

from __future__ import annotations

from marey.studio.body.panel import BodyPanel

__all__ = ["BodyPanel"]
