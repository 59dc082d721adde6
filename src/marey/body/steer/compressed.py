"""A compressed clip steered as it is stored: its file is a rig to pose by (Tournier 2011, section 9.3.2).

Samples of the stored path of an end effector, or of the root, are moved around a time by a smooth window;
decoding finds the whole body in the clip's style. Edits that overlap add up. Nothing is decoded to be encoded
again. Cost: moving some samples, and decoding for the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from marey.body.codec.clip import CompressedMotion, assemble
from marey.body.codec.tournier import displace
from marey.body.motion import Motion
from marey.body.steer.requests import Target, TimedReach, Window, targets

# Seconds on either side of a time that change, if the stored samples are not farther apart.
WIDTH = 0.5


class EditedClip(NamedTuple):
    """A compressed clip after an edit, and the clips before and after as they decode."""

    compressed: CompressedMotion
    before: Motion
    after: Motion
    asked: list[Target]
    windows: list[Window]


def edit(
    clip: CompressedMotion, requests: Sequence[TimedReach], *, interval: float | None = None
) -> EditedClip:
    """Move the stored paths so that end effectors get where they are asked to be.

    Args:
        clip: Of method "tournier".
        requests: Of joints whose paths are stored: head, hands, feet; or of the root.
        interval: Seconds that change around a time; a second, or two samples of the path, if None.

    >>> import marey
    >>> small = marey.body.compress(marey.samples.walk(), method="tournier", modes=10)
    >>> edited = edit(small, [TimedReach("LeftHand", 1.0, [0.0, 0.0, 0.1], relative=True)])
    >>> edited.compressed.bytes < 1.1 * small.bytes
    True
    """
    stored, before = clip.tournier, clip.decode()
    asked = targets(before, requests)
    windows = []
    for target, request in zip(asked, requests, strict=True):
        joint = "root" if target.joint == 0 else target.name.removesuffix("_end")
        names = ["root", *(stored.skeleton.names[end.joint] for end in stored.ends)]
        curve = names.index(joint) + (joint != "root") if joint in names else 0
        spacing = (1 << stored.dropped_levels[curve]) / stored.frame_rate
        width = max(WIDTH, spacing) if interval is None else 0.5 * interval
        stored = displace(stored, joint, target.offset, time=float(request.time), width=width)
        half = width * before.frame_rate
        windows.append(Window(target.frame - half, target.frame + half))
    compressed = assemble("tournier", *stored.pack())
    return EditedClip(compressed, before, compressed.decode(), asked, windows)
