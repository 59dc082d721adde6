"""Two captures of one place, joined or blended in time.

Courty & Corpetti 2007, section 4.2, name dynamic time warping for blending crowds in time: moments of two
captures correspond where their fields are alike by the angular distance of :mod:`marey.crowd.texture`. Cost:
the distances of all pairs of frames, n m P arcsines; then one pass over the frames that come out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import read_only
from marey._progress import Progress
from marey.crowd.fields import FieldSeries, mixed_presence
from marey.crowd.texture.distances import frame_distances
from marey.errors import InputError
from marey.geometry.resampling import linear
from marey.statistics.graphs.texture import diagonal_filter, margin
from marey.statistics.warping import Alignment, align_costs, time_map

Array = NDArray[np.float64]

# Mapping of time is smoothed over knots so many frames apart.
KNOTS = 12.0


@dataclass(frozen=True, eq=False)
class Joint:
    """Where one capture goes over into another.

    frame: the last frame of the first one
    target: the frame of the second one that follows
    distance: mean angle there, radians, over the taps of the filter
    """

    frame: int
    target: int
    distance: float


def align_captures(
    a: FieldSeries, b: FieldSeries, *, band: float | None = None, progress: Progress | None = None
) -> Alignment:
    """Which frames of two captures of one place correspond: the path along which their fields are most alike.

    band: how far from the diagonal the path may go, as a share of the longer capture; anywhere if None

    >>> import marey
    >>> flow = marey.samples.field(12, 16, seconds=2)
    >>> align_captures(flow, flow).path[-1].tolist()
    [49, 49]
    """
    _check_same_view(a, b)
    return align_costs(frame_distances(a, b, progress=progress), band=band)


def blend_in_time(
    a: FieldSeries,
    b: FieldSeries,
    *,
    start: float = 0.0,
    end: float = 1.0,
    band: float | None = None,
    progress: Progress | None = None,
) -> FieldSeries:
    """One capture becoming another: corresponding moments are mixed, at a pace between those of the two.

    start, end: share of `b` in the first and in the last frame; 0.5 and 0.5 give the mean of both

    >>> import marey
    >>> flow = marey.samples.field(12, 16, seconds=2)
    >>> bool(np.allclose(blend_in_time(flow, flow).velocities, flow.velocities, atol=1e-5))
    True
    """
    for name, given in (("start", start), ("end", end)):
        if not 0.0 <= given <= 1.0:
            raise InputError(f"{name}: a share from 0 to 1, got {given:g}")
    alignment = align_captures(a, b, band=band, progress=progress)
    in_b = time_map(alignment, smoothing=KNOTS)
    pace = np.gradient(in_b) if a.frames > 1 else np.ones(1)
    shares = np.linspace(start, end, a.frames)
    # A frame of a lasts one frame in a and `pace` frames in b; of the mixture, something in between.
    lasts = (1 - shares) + shares * pace
    clock = np.concatenate([[0.0], np.cumsum(0.5 * (lasts[1:] + lasts[:-1]))])
    count = int(np.floor(clock[-1] + 1e-6)) + 1
    at = np.interp(np.arange(count), clock, np.arange(a.frames))
    share = np.interp(at, np.arange(a.frames), shares).astype(a.velocities.dtype)[:, None, None, None]
    # Velocities are per frame: a capture played faster moves people further in a frame.
    step = (1.0 / np.interp(at, np.arange(a.frames), lasts)).astype(a.velocities.dtype)[:, None, None, None]
    faster = step * np.interp(at, np.arange(a.frames), pace).astype(a.velocities.dtype)[:, None, None, None]
    there = np.interp(at, np.arange(a.frames), in_b)
    fields = (1 - share) * step * linear(a.velocities, at)
    fields += (share * faster * linear(b.velocities, there)).astype(fields.dtype)
    return replace(
        a,
        velocities=read_only(fields),
        mask=_joined_mask(a, b),
        presence=_mixed_presence(a, at, b, there, share[..., 0]),
        name=" → ".join(dict.fromkeys(name for name in (a.name, b.name) if name)),
    )


def best_joint(a: FieldSeries, b: FieldSeries, *, taps: int = 8, progress: Progress | None = None) -> Joint:
    """Where to leave the second half of one capture for the first half of another unnoticed.

    taps: frames about the joint that must be alike
    """
    _check_same_view(a, b)
    if taps < 1:
        raise InputError(f"taps: at least 1 frame, got {taps}")
    side = margin(taps)
    if min(a.frames, b.frames) < 4 * side + 2:
        raise InputError(
            f"captures of {a.frames} and {b.frames} frames cannot be joined over {taps} frames: "
            f"at least {4 * side + 2} each are needed; take fewer taps"
        )
    # From the middle of a on, up to the middle of b, with what the filter and the fade need around.
    late, early = a[(a.frames - 1) // 2 - side :], b[: b.frames // 2 + side + 1]
    table = diagonal_filter(frame_distances(late, early, progress=progress), taps)
    # Entry (i, j) is about frames i + taps // 2, j + taps // 2; the fade needs `side` frames on either side.
    before = taps // 2
    low = side - before
    inner = table[low : late.frames - side - before + 1, low : early.frames - side - before + 1]
    i, j = (int(k) + low + before for k in np.unravel_index(int(np.argmin(inner)), inner.shape))
    return Joint(a.frames - late.frames + i - 1, j, float(inner.min()))


def join(
    a: FieldSeries,
    b: FieldSeries,
    *,
    taps: int = 8,
    at: Joint | None = None,
    progress: Progress | None = None,
) -> FieldSeries:
    """One capture and then another, cross-faded over `taps` frames where they are most alike.

    at: where; :func:`best_joint` if None

    >>> import marey
    >>> flow = marey.samples.field(12, 16, seconds=4)
    >>> both = join(flow[:60], flow[40:])
    >>> both.frames, bool(np.allclose(both.velocities, flow.velocities, atol=1e-6))
    (100, True)
    """
    joint = best_joint(a, b, taps=taps, progress=progress) if at is None else at
    _check_same_view(a, b)
    side = margin(taps)
    i, j = joint.frame + 1, joint.target
    if not (side <= i <= a.frames - side and side <= j <= b.frames - side):
        raise InputError(f"joint {joint.frame} → {joint.target}: no {side} frames on either side of it")
    share = (np.arange(2 * side) + 0.5) / (2 * side)
    old, new = np.arange(i - side, i + side), np.arange(j - side, j + side)
    weight = share.astype(a.velocities.dtype)[:, None, None, None]
    fade = (1 - weight) * a.velocities[old] + weight * b.velocities[new].astype(a.velocities.dtype)
    parts = [a.velocities[: i - side], fade, b.velocities[j + side :].astype(a.velocities.dtype)]
    presence = None
    middle = _mixed_presence(a, old, b, new, weight[..., 0])
    if middle is not None:
        presence = np.concatenate([_seen(a)[: i - side], middle, _seen(b)[j + side :]])
    return replace(
        a,
        velocities=read_only(np.concatenate(parts)),
        mask=_joined_mask(a, b),
        presence=presence,
        name=" + ".join(dict.fromkeys(name for name in (a.name, b.name) if name)),
    )


def _check_same_view(a: FieldSeries, b: FieldSeries) -> None:
    if not np.isclose(a.frame_rate, b.frame_rate):
        raise InputError(
            f"captures of {a.frame_rate:g} and {b.frame_rate:g} frames per second; resample one of them first"
        )


def _joined_mask(a: FieldSeries, b: FieldSeries) -> NDArray[np.bool_] | None:
    masks = [fields.mask for fields in (a, b) if fields.mask is not None]
    return np.logical_and.reduce(masks) if masks else None


def _mixed_presence(
    a: FieldSeries,
    at_a: NDArray[np.int64] | Array,
    b: FieldSeries,
    at_b: NDArray[np.int64] | Array,
    share: NDArray[np.floating],
) -> NDArray[np.uint8] | None:
    if a.presence is None and b.presence is None:
        return None
    nearest_a, nearest_b = np.rint(at_a).astype(np.int64), np.rint(at_b).astype(np.int64)
    parts = np.stack([_seen(a)[nearest_a], _seen(b)[nearest_b]])
    return read_only(mixed_presence(parts, np.stack([1 - share, share])))


def _seen(fields: FieldSeries) -> NDArray[np.uint8]:
    """Presence; surely everywhere if the capture does not say."""
    if fields.presence is not None:
        return fields.presence
    return np.broadcast_to(np.uint8(255), fields.velocities.shape[:3])
