"""Scales together: people of crowds as walking bodies, clips on rigged meshes, surfaces from mocap."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marey.stage.dressing import dress
    from marey.stage.performing import perform
    from marey.stage.walking.crowd import WalkingCrowd
    from marey.stage.walking.stepping import walk

__all__ = ["WalkingCrowd", "dress", "perform", "walk"]

_HOMES = {
    "WalkingCrowd": "marey.stage.walking.crowd",
    "dress": "marey.stage.dressing",
    "perform": "marey.stage.performing",
    "walk": "marey.stage.walking.stepping",
}


def __getattr__(name: str) -> Any:
    # What draws a walking crowd need not import what makes one.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
