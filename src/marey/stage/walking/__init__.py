"""People on tracks as whole walking bodies: cycles of captured walks, footholds, poses, and their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marey.stage.walking.crowd import WalkingCrowd
    from marey.stage.walking.stepping import walk

__all__ = ["WalkingCrowd", "walk"]


def __getattr__(name: str) -> Any:
    # Pictures ask what a walking crowd is; what makes one takes a third of a second to import.
    if name == "WalkingCrowd":
        from marey.stage.walking.crowd import WalkingCrowd

        return WalkingCrowd
    if name == "walk":
        from marey.stage.walking.stepping import walk

        return walk
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
