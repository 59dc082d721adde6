"""What happens in a flow: sources, sinks and turns, found, named, made stronger or weaker, and moved.

Connected regions of space and time where divergence or vorticity stands out (turns also need rotation to
prevail over strain, Okubo 1970, Weiss 1991). An event's own motion is what divergence or vorticity near it
induces between the walls, so that it can be scaled or moved without the rest. Courty 2013, section 7.1.1,
names the separation. Cost: a few passes over the series; one sparse factorisation, two solves a frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray, read_only
from marey.crowd.analysis.derivatives import divergence, okubo_weiss, vorticity
from marey.crowd.analysis.helmholtz import Helmholtz
from marey.crowd.fields import FieldSeries
from marey.errors import InputError

Kind = Literal["source", "sink", "clockwise", "anticlockwise"]
Array = NDArray[np.float64]

# Standard deviations, estimated robustly, by which a value stands out; pixels and frames it is smoothed over.
STANDS_OUT = 4.0
PIXELS, SECONDS = 1.0, 0.2


@dataclass(frozen=True)
class Event:
    """A region where people part (source), meet (sink) or turn.

    name: kind and rank by strength, "sink 1"
    kind: what happens; turns as seen in the image
    frame, row, column: where it is strongest
    strength: divergence or vorticity there, per frame
    radius: pixels, of a disk as large as the region in that frame
    first, last: frames from and to which it lasts
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
    region: BoolArray = field(repr=False, compare=False)
    """`(last - first + 1, rows, columns)`, where it is."""


def find_events(fields: FieldSeries, *, most: int = 20, threshold: float | None = None) -> list[Event]:
    """The events of a series, strongest first; at most `most` of each kind.

    threshold: per frame, what divergence or vorticity must exceed; if None, four robust standard deviations
        of the quantity over the series, and a tenth of its largest value

    >>> y, x = np.mgrid[:20, :30] - np.array([10, 12]).reshape(2, 1, 1)
    >>> out = np.stack([x, y], axis=-1) * np.exp(-(x**2 + y**2) / 8.0)[..., None]
    >>> events = find_events(FieldSeries(np.tile(out, (5, 1, 1, 1)), 25))
    >>> events[0].kind, events[0].row, events[0].column
    ('source', 10, 12)
    """
    from scipy.ndimage import gaussian_filter

    blur = (SECONDS * fields.frame_rate if fields.frames > 1 else 0.0, PIXELS, PIXELS, 0.0)
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


def scaled(fields: FieldSeries, event: Event, gain: float) -> FieldSeries:
    """The series with an event made stronger (`gain` above 1), weaker, or taken out (0).

    >>> import marey
    >>> field = marey.samples.field()[:3]
    >>> bool(np.allclose(scaled(field, find_events(field)[0], 1.0).velocities, field.velocities))
    True
    """
    if not np.isfinite(gain):
        raise InputError(f"gain: must be finite, got {gain}")
    changed = np.array(fields.velocities)
    frames = _frames(fields, event)
    changed[frames] += ((gain - 1.0) * _own_motion(fields, event, (0, 0))).astype(changed.dtype)
    return replace(fields, velocities=read_only(changed))


def moved(fields: FieldSeries, event: Event, *, columns: int = 0, rows: int = 0) -> FieldSeries:
    """The series with an event that happens `columns` further right and `rows` further down."""
    changed = np.array(fields.velocities)
    frames = _frames(fields, event)
    change = _own_motion(fields, event, (rows, columns)) - _own_motion(fields, event, (0, 0))
    changed[frames] += change.astype(changed.dtype)
    return replace(fields, velocities=read_only(changed))


def _regions(values: Array, kind: Kind, most: int, threshold: float | None) -> list[Event]:
    from scipy import ndimage

    if threshold is None:
        spread = 1.4826 * float(np.median(np.abs(values)))
        threshold = max(STANDS_OUT * spread, 0.1 * float(values.max()), 1e-9)
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
                inside,
            )
        )
    return events


def _frames(fields: FieldSeries, event: Event) -> slice:
    if event.last >= fields.frames or event.region.shape[1:] != (fields.rows, fields.columns):
        raise InputError(f"event {event.name}: is not one of these fields")
    return slice(event.first, event.last + 1)


def _own_motion(fields: FieldSeries, event: Event, shift: tuple[int, int]) -> Array:
    """What the event's divergence or vorticity induces, moved by `shift` (rows, columns)."""
    mask = np.ones((fields.rows, fields.columns), np.bool_) if fields.mask is None else fields.mask
    walls = Helmholtz(mask)
    spreading, turning = walls.sources(fields.velocities[_frames(fields, event)])
    weight = np.stack([_window(region) for region in event.region])
    chosen = weight * (spreading if event.kind in ("source", "sink") else turning)
    chosen = _shifted(chosen, shift)
    if event.kind in ("source", "sink"):
        return walls.induced(divergence=chosen)
    return walls.induced(vorticity=chosen)


def _window(region: BoolArray) -> Array:
    """1 at corners in a region `(rows, columns)` and near it, fading to 0 over its radius beyond.

    Near it, since about a turn that ends there is a ring that turns the other way, and is part of it.
    """
    from scipy.ndimage import distance_transform_edt

    padded = np.pad(region, 1)
    corners = padded[1:, 1:] | padded[:-1, 1:] | padded[1:, :-1] | padded[:-1, :-1]
    if not corners.any():
        return np.zeros(corners.shape)
    radius = np.sqrt(region.sum() / np.pi)
    share = np.clip(2.0 - distance_transform_edt(~corners) / radius, 0.0, 1.0)
    return np.asarray(share * share * (3 - 2 * share))


def _shifted(values: Array, shift: tuple[int, int]) -> Array:
    if shift == (0, 0):
        return values
    result = np.zeros_like(values)
    rows, columns = values.shape[1:]
    down, right = shift
    if abs(down) < rows and abs(right) < columns:
        target = (slice(max(down, 0), rows + min(down, 0)), slice(max(right, 0), columns + min(right, 0)))
        origin = (slice(max(-down, 0), rows - max(down, 0)), slice(max(-right, 0), columns - max(right, 0)))
        result[:, target[0], target[1]] = values[:, origin[0], origin[1]]
    return result
