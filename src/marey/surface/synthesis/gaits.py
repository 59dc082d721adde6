"""How unusual the gait of each captured frame is: what a path shows where no behaviour is asked for.

Kicks, jumps and sprints are as good a way round a corner as any to a search that counts deformation alone.
The usual gait of a capture is that of most frames that travel; frames much slower, faster or bouncier are
unusual, whatever their label. Cost: a pass over the frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.surface.library import Library

Array = NDArray[np.float64]

# Seconds over which pace and bounce are measured, and metres a second from which a body travels.
WINDOW, TRAVELS = 1.0, 0.3
# Powers of two by which pace and bounce may differ from the usual ones.
FREE = 1.0


def unusual(library: Library, tracks: Array) -> Array:
    """From 0, as usual, to 1, `(frames,)`, by where the body's middle `(frames, 3)` is; 0 if none travels."""
    speeds, bounces = pace(library, tracks), _bounces(library, tracks)
    travels = speeds > TRAVELS
    if not travels.any():
        return np.zeros(library.frames)
    hurry = np.abs(np.log2(np.maximum(speeds, 1e-3) / np.median(speeds[travels])))
    usual_bounce = max(float(np.median(bounces[travels])), 1e-3)
    bounce = np.log2(np.maximum(bounces, 1e-6) / usual_bounce)
    return np.asarray(np.minimum(np.maximum(hurry - FREE, 0) + np.maximum(bounce - FREE, 0), 1.0))


def pace(library: Library, tracks: Array) -> Array:
    """Metres a second along the ground around each captured frame, `(frames,)`."""
    first, last = _around(library)
    seconds = np.maximum(last - first, 1) / library.frame_rate
    return np.asarray(np.hypot(*(tracks[last] - tracks[first])[:, 0::2].T) / seconds)


def _bounces(library: Library, tracks: Array) -> Array:
    """Metres between the highest and the lowest the middle is around each frame."""
    first, last = _around(library)
    heights = tracks[:, 1]
    return np.array([np.ptp(heights[a : b + 1]) for a, b in zip(first, last, strict=True)])


def _around(library: Library) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last frame within half a window of each, of its sequence."""
    half = max(1, round(0.5 * WINDOW * library.frame_rate))
    frames, starts = np.arange(library.frames), np.asarray(library.starts)
    begins, ends = starts[:-1][library.sequence_of], starts[1:][library.sequence_of] - 1
    return np.maximum(frames - half, begins), np.minimum(frames + half, ends)
