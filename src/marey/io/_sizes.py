"""A bound on what small files may ask for: joints that no number of the file moves cost it nothing."""

from __future__ import annotations

from pathlib import Path

from marey.errors import FormatError

ALWAYS_ALLOWED = 1 << 30
# Poses of real clips take one to six times the room of their text.
LARGEST_RATIO = 64


def check_poses_fit(frames: int, joints: int, path: Path) -> None:
    """Raise if the rotations of a clip would take far more memory than its file accounts for."""
    needed = frames * joints * 32
    if needed > max(ALWAYS_ALLOWED, LARGEST_RATIO * path.stat().st_size):
        raise FormatError(
            f"up to {frames} frames of {joints} joints would take {needed / 1e9:.0f} GB, "
            "most of it for joints that do not move",
            path=path,
        )
