"""What happens in a flow: sources, sinks and turns, found and named.

Connected regions of space and time where divergence or vorticity stands out (turns also need rotation to
prevail over strain, Okubo 1970, Weiss 1991). Courty 2013, section 7.1.1. Cost: a few passes over the series.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from marey._arrays import Array
from marey.crowd.analysis.derivatives import divergence, okubo_weiss, vorticity
from marey.crowd.fields import FieldSeries

Kind = Literal["source", "sink", "clockwise", "anticlockwise"]


@dataclass(frozen=True)
class Event:
    """A region where people part (source), meet (sink) or turn.

    Attributes:
        name: Kind and rank by strength, "sink 1".
        kind: What happens; turns as seen in the image.
        frame: When it is strongest.
        row: Where it is strongest.
        column: Where it is strongest.
        strength: Divergence or vorticity there, per frame.
        radius: Pixels, of a disk as large as the region in that frame.
        first: Frame from which it lasts.
        last: Frame to which it lasts.
    """

    name: str
    kind: Kind
    frame: int
    row: int
    column: int
    strength: float
    radius: float
    first: int
    last: int


def find_events(fields: FieldSeries, *, most: int = 20, threshold: float | None = None) -> list[Event]:
    """The events of a series smoothed over 0.2 s and a pixel, strongest first.

    Args:
        fields: The series.
        most: Events of each kind.
        threshold: Per frame, what divergence or vorticity must exceed; if None, four robust standard
            deviations of the quantity over the series, and a tenth of its largest value.

    >>> y, x = np.mgrid[:20, :30] - np.array([10, 12]).reshape(2, 1, 1)
    >>> out = np.stack([x, y], axis=-1) * np.exp(-(x**2 + y**2) / 8.0)[..., None]
    >>> events = find_events(FieldSeries(np.tile(out, (5, 1, 1, 1)), 25))
    >>> events[0].kind, events[0].row, events[0].column
    ('source', 10, 12)
    """
    from scipy.ndimage import gaussian_filter

    blur = (0.2 * fields.frame_rate if fields.frames > 1 else 0.0, 1.0, 1.0, 0.0)
    smooth = gaussian_filter(fields.velocities.astype(np.float64), blur, mode="nearest")
    turning = vorticity(smooth, fields.mask)
    turning = np.where(okubo_weiss(smooth, fields.mask) < 0, turning, 0.0)
    spreading = divergence(smooth, fields.mask)
    found: list[Event] = []
    for values, kind in (
        (spreading, "source"),
        (-spreading, "sink"),
        (turning, "clockwise"),
        (-turning, "anticlockwise"),
    ):
        found += _regions(values, kind, most, threshold)  # type: ignore[arg-type]
    return sorted(found, key=lambda event: -abs(event.strength))


def _regions(values: Array, kind: Kind, most: int, threshold: float | None) -> list[Event]:
    from scipy import ndimage

    if threshold is None:
        spread = 1.4826 * float(np.median(np.abs(values)))
        threshold = max(4.0 * spread, 0.1 * float(values.max()), 1e-9)
    labels, count = ndimage.label(values > threshold)
    if not count:
        return []
    numbers = np.arange(1, count + 1)
    peaks = np.asarray(ndimage.maximum(values, labels, numbers))
    boxes = ndimage.find_objects(labels)
    events = []
    for rank, index in enumerate(np.argsort(-peaks, kind="stable")[:most], start=1):
        box = boxes[index]
        inside = labels[box[0]] == index + 1
        frame, row, column = np.unravel_index(
            int(np.where(inside, values[box[0]], -np.inf).argmax()), inside.shape
        )
        sign = -1.0 if kind in ("sink", "anticlockwise") else 1.0
        events.append(
            Event(
                f"{kind} {rank}",
                kind,
                int(frame) + box[0].start,
                int(row),
                int(column),
                sign * float(peaks[index]),
                float(np.sqrt(inside[frame].sum() / np.pi)),
                box[0].start,
                box[0].stop - 1,
            )
        )
    return events
