"""Capture straight to disk, for videos of any length; may be interrupted and resumed.

The result is the same bit for bit, since a field depends on a fixed number of images only. Files are not made
here: a draft such as :class:`marey.io.drafts.FieldDraft` is passed in. Memory: a few fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from marey import __version__
from marey._progress import Progress
from marey.crowd.capture.capture import CapturePlan
from marey.crowd.fields import UNKNOWN, FieldSeries


class FieldStore(Protocol):
    """A series that grows."""

    @property
    def frames(self) -> int:
        """How many there are."""

    def append(self, velocities: ArrayLike, presence: ArrayLike | None = None) -> None:
        """Fields `(n, rows, columns, 2)` and presence `(n, rows, columns)` after those there are."""


class Draft(Protocol):
    """A series on disk that counts only once it is whole."""

    def opened(
        self, like: FieldSeries, frames: int, about: dict[str, Any]
    ) -> AbstractContextManager[FieldStore]:
        """The store, new or as far as it came; `about` must be that of the interrupted work."""

    def blocks(self) -> Iterator[FieldSeries]:
        """What is stored, a few frames at a time."""

    def finish(self) -> None:
        """Put the whole series in its place."""


@dataclass(frozen=True)
class CaptureReport:
    """What a capture came to.

    Attributes:
        frames: Number of fields.
        resumed_at: How many of them were there already.
        speed_mean: Pixels per frame, where motion counts.
        speed_max: The same.
        presence_share: How much of what counts is covered by people, 0 to 1; None if it is not known.
        repeated: Images that are the same as the one before, as videos with lost frames have.
    """

    frames: int
    resumed_at: int
    speed_mean: float
    speed_max: float
    presence_share: float | None
    repeated: int


def capture_to(
    plan: CapturePlan, draft: Draft, *, jobs: int | None = None, progress: Progress | None = None
) -> CaptureReport:
    """Run a capture to disk.

    Args:
        plan: From :func:`~marey.crowd.capture.plan_capture`.
        draft: Where to, e.g. `marey.io.drafts.FieldDraft("flow.zarr")`.
        jobs: Threads; None = one a core.
        progress: Called with the fields done and their number.
    """
    shape = (1, plan.rows, plan.columns)
    like = plan.series(
        np.zeros((*shape, 2), np.float32), np.zeros(shape, np.uint8) if plan.presence else None
    )
    with draft.opened(like, plan.frames, description(plan)) as store:
        resumed_at = store.frames
        for moved, seen in plan.fields(resumed_at, jobs=jobs):
            store.append(moved[None], None if seen is None else seen[None])
            if progress is not None:
                progress(store.frames, plan.frames)
    report = _measured(draft.blocks(), resumed_at)
    draft.finish()
    return report


def description(plan: CapturePlan) -> dict[str, Any]:
    """What a capture is of and how it is made; two captures with the same description are the same."""
    grid = plan.grid
    return {
        "marey": __version__,
        "method": plan.method,
        "settings": plan.settings,
        "presence": plan.presence,
        "images": plan.footage.frames,
        "video size": list(grid.source),
        "size": list(grid.size),
        "frame rate": plan.footage.frame_rate,
        "mask": _digest(grid.mask),
        "camera": _digest(grid.homography, *(grid.lens or ())),
        "video": _digest(plan.footage.read(0)),
    }


def _measured(blocks: Iterator[FieldSeries], resumed_at: int) -> CaptureReport:
    """Figures of a whole series, in one pass over it."""
    frames = repeated = 0
    total, largest, pixels, seen, known = 0.0, 0.0, 0, 0.0, 0
    for block in blocks:
        speeds = np.hypot(block.velocities[..., 0], block.velocities[..., 1])
        repeated += int((speeds.max(axis=(1, 2)) == 0).sum())
        counted = speeds if block.mask is None else speeds[:, block.mask]
        total += float(counted.sum(dtype=np.float64))
        largest = max(largest, float(counted.max()))
        pixels += counted.size
        frames += block.frames
        if block.presence is not None:
            there = block.presence if block.mask is None else block.presence[:, block.mask]
            there = there[there != UNKNOWN]
            seen += float(there.sum(dtype=np.float64)) / 255
            known += there.size
    return CaptureReport(
        frames, resumed_at, total / pixels, largest, seen / known if known else None, repeated
    )


def _digest(*arrays: Any) -> str | None:
    """A fingerprint; None of nothing."""
    given = [np.ascontiguousarray(array).tobytes() for array in arrays if array is not None]
    return hashlib.sha256(b"".join(given)).hexdigest()[:16] if given else None
