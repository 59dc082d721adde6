"""Two captures of one place, joined or blended in time.

Courty & Corpetti 2007, section 4.2, name dynamic time warping for blending crowds in time: moments of two
captures correspond where their fields are similar by the angular distance of :mod:`marey.crowd.texture`.
Cost: the distances of all pairs of frames, n m P arcsines; then one pass over the frames that come out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import Array, read_only
from marey._work import Progress
from marey.crowd.fields import FieldSeries, concatenate, mixed_presence
from marey.crowd.texture.extend import check_same_pixels, frame_distances
from marey.errors import InputError
from marey.statistics.graphs.texture import diagonal_filter, margin
from marey.statistics.warping import Alignment, align_costs, time_map


@dataclass(frozen=True, eq=False)
class Cut:
    """Where one capture goes over into another.

    Attributes:
        frame: The last frame of the first one.
        target: The frame of the second one that follows.
        distance: Mean angle there, radians, over the taps of the filter.
    """

    frame: int
    target: int
    distance: float


def align_captures(
    a: FieldSeries, b: FieldSeries, *, band: float | None = None, progress: Progress | None = None
) -> Alignment:
    """Which frames of two captures of one place correspond: the path along which fields are most similar.

    Args:
        a: The first capture.
        b: The second one.
        band: How far from the diagonal the path may go, as a share of the longer one; None = anywhere.
        progress: Called with the pixels compared and their number.

    >>> import marey
    >>> flow = marey.samples.field(12, 16, seconds=2)
    >>> align_captures(flow, flow).path[-1].tolist()
    [49, 49]
    """
    a, b = _matched(a, b)
    return align_costs(frame_distances(a, b, progress=progress), band=band)


def cross_fade(
    a: FieldSeries,
    b: FieldSeries,
    *,
    start: float = 0.0,
    end: float = 1.0,
    band: float | None = None,
    progress: Progress | None = None,
) -> FieldSeries:
    """One capture becoming another: corresponding moments are mixed, at a pace between those of the two.

    Args:
        a: The first capture.
        b: The second one.
        start: Share of `b` in the first frame.
        end: Share of `b` in the last frame; 0.5 and 0.5 give the mean of both.
        band: As in :func:`align_captures`.
        progress: As in :func:`align_captures`.

    >>> import marey
    >>> flow = marey.samples.field(12, 16, seconds=2)
    >>> bool(np.allclose(cross_fade(flow, flow).velocities, flow.velocities, atol=1e-5))
    True
    """
    for name, given in (("start", start), ("end", end)):
        if not 0.0 <= given <= 1.0:
            raise InputError(f"{name}: a share from 0 to 1, got {given:g}")
    alignment = align_captures(a, b, band=band, progress=progress)
    a, b = _matched(a, b)
    # A field is the motion over a frame: where the ends of the frames of a lie in b.
    middles = time_map(alignment, smoothing=12.0) + 0.5
    in_b = np.concatenate([[0.0], 0.5 * (middles[1:] + middles[:-1]), [b.frames]])
    shares = np.linspace(start, end, a.frames)
    # A frame of a lasts one frame in a and `diff(in_b)` frames in b; of the mixture, something in between.
    clock = np.concatenate([[0.0], np.cumsum((1 - shares) + shares * np.diff(in_b))])
    bounds = np.interp(np.arange(int(clock[-1] + 1e-6) + 1), clock, np.arange(a.frames + 1))
    share = np.interp(0.5 * (bounds[1:] + bounds[:-1]), np.arange(a.frames) + 0.5, shares)
    there = np.interp(bounds, np.arange(a.frames + 1), in_b)
    mixed = _mixed(a.over(bounds), b.over(there), share)
    return replace(mixed, name=" → ".join(dict.fromkeys(name for name in (a.name, b.name) if name)))


def best_cut(a: FieldSeries, b: FieldSeries, *, taps: int = 8, progress: Progress | None = None) -> Cut:
    """Where to leave the second half of one capture for the first half of another unnoticed.

    Args:
        a: The first capture.
        b: The second one.
        taps: Frames about the cut that must be similar.
        progress: As in :func:`align_captures`.
    """
    a, b = _matched(a, b)
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
    return Cut(a.frames - late.frames + i - 1, j, float(inner.min()))


def join_at(
    a: FieldSeries,
    b: FieldSeries,
    cut: Cut | None = None,
    *,
    taps: int = 8,
    progress: Progress | None = None,
) -> FieldSeries:
    """One capture and then another, cross-faded over `taps` frames where they are most similar.

    Args:
        a: The first capture.
        b: The second one.
        cut: Where; :func:`best_cut` if None.
        taps: Frames of the cross-fade.
        progress: As in :func:`align_captures`.

    >>> import marey
    >>> flow = marey.samples.field(12, 16, seconds=4)
    >>> both = join_at(flow[:60], flow[40:])
    >>> both.frames, bool(np.allclose(both.velocities, flow.velocities, atol=1e-6))
    (100, True)
    """
    cut = cut or best_cut(a, b, taps=taps, progress=progress)
    a, b = _matched(a, b)
    side = margin(taps)
    i, j = cut.frame + 1, cut.target
    if not (side <= i <= a.frames - side and side <= j <= b.frames - side):
        raise InputError(f"cut {cut.frame} → {cut.target}: no {side} frames on either side of it")
    share = (np.arange(2 * side) + 0.5) / (2 * side)
    parts = [_mixed(a[i - side : i + side], b[j - side : j + side], share)]
    if i > side:
        parts.insert(0, a[: i - side])
    if j + side < b.frames:
        parts.append(b[j + side :])
    return replace(
        concatenate(parts), name=" + ".join(dict.fromkeys(name for name in (a.name, b.name) if name))
    )


def _matched(a: FieldSeries, b: FieldSeries) -> tuple[FieldSeries, FieldSeries]:
    """Both with the pixels that count in both, camera and precision of the first, presence if one has it."""
    check_same_pixels(a, b)
    if not np.isclose(a.frame_rate, b.frame_rate):
        raise InputError(
            f"captures of {a.frame_rate:g} and {b.frame_rate:g} frames per second; resample one of them first"
        )
    mask = None if a.mask is None and b.mask is None else a.valid & b.valid
    if a.presence is not None or b.presence is not None:
        # A capture that does not say where people are has them everywhere.
        a, b = (
            replace(one, presence=np.broadcast_to(np.uint8(255), one.velocities.shape[:3]))
            if one.presence is None
            else one
            for one in (a, b)
        )
    velocities = read_only(b.velocities.astype(a.velocities.dtype))
    return replace(a, mask=mask), replace(b, mask=mask, homography=a.homography, velocities=velocities)


def _mixed(a: FieldSeries, b: FieldSeries, share: Array) -> FieldSeries:
    """Series of one length mixed by the share `(frames,)` of the second."""
    weight = share[:, None, None].astype(a.velocities.dtype)
    velocities = (1 - weight[..., None]) * a.velocities + weight[..., None] * b.velocities
    presence = None
    if a.presence is not None and b.presence is not None:
        parts = np.stack([a.presence, b.presence])
        presence = read_only(mixed_presence(parts, np.stack([1 - weight, weight])))
    return replace(a, velocities=read_only(velocities), presence=presence)
