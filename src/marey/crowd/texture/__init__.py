"""Endless crowd motion from a short capture: which moments are similar, where to jump, how to hide it.

Courty & Corpetti 2007, section 4.2. :func:`learn` compares all frames, :class:`FlowTexture` plays for ever.
"""

from __future__ import annotations

from marey.crowd.texture.extend import (
    FlowTexture,
    PlaybackReport,
    extend,
    field_changes,
    flow_scale,
    frame_distances,
    learn,
)

__all__ = [
    "FlowTexture",
    "PlaybackReport",
    "extend",
    "field_changes",
    "flow_scale",
    "frame_distances",
    "learn",
]
