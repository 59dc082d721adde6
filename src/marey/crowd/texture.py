"""Endless crowd motion from a short capture: frames in a random order without visible cuts; captures joined.

Courty & Corpetti 2007, section 4.2. Two fields are as similar as the angle between them (equation 7, after
Barron et al.): every vector gets a third component 1, and the angle is averaged over the pixels, so that
resolution does not matter. :func:`learn` compares all frames, :class:`FlowTexture` plays for ever; where
playback jumps, fields are cross-faded over some frames about the jump. T frames of P pixels take T² P / 2
arcsines, about 1 ns each on one core; a played frame costs one field, two in a fade.

Dynamic time warping blends crowds in time: moments of two captures of one place correspond where their fields
are similar by the same distance. Cost: n m P arcsines, then one pass over the frames that come out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import AnyArray, Array, FloatArray, read_only
from marey._random import Rng
from marey._work import Progress
from marey.crowd.fields import FieldSeries, concatenate, mixed_foreground
from marey.crowd.scales import crowd_flow
from marey.errors import InputError
from marey.statistics.graphs.texture import (
    JumpTable,
    TextureSettings,
    check_length,
    diagonal_filter,
    jump_probabilities,
    margin,
    shortest_clip,
)
from marey.statistics.warping import Alignment, align_costs, time_map

MOST_FRAMES = 6000
"""Frames compared at most; a table of so many takes 288 MB."""

PIXELS_AT_ONCE = 256
ROWS_AT_ONCE = 32


def flow_scale(*series: FieldSeries) -> float:
    """The inverse of the usual speed, per (pixel / frame): half of all motion is faster, half is slower.

    Angles depend on speeds against the constant 1 of the third component, so fields are multiplied by this
    first. Every speed counts by itself (and by foreground, where known), so still ground does not count.

    >>> flow_scale(FieldSeries(np.full((2, 3, 3, 2), [0.0, 4.0]), 25))
    0.25
    """
    speeds, weights = [], []
    for fields in series:
        # Some thousand pixels of some hundred frames say it as well as all of them.
        step = max(1, fields.frames // 200)
        some = np.flatnonzero(fields.valid)
        some = some[:: max(1, len(some) // 5000)]
        part = fields.velocities[::step].reshape(-1, fields.rows * fields.columns, 2)[:, some]
        speed = np.hypot(part[..., 0], part[..., 1]).astype(np.float64)
        weight = speed
        if fields.foreground is not None:
            weight = speed * fields.foreground[::step].reshape(len(part), -1)[:, some]
        speeds.append(speed.ravel())
        weights.append(weight.ravel())
    speed, weight = np.concatenate(speeds), np.concatenate(weights)
    total = float(weight.sum())
    if not total > 0.0:
        return 1.0
    order = np.argsort(speed)
    middle = int(np.searchsorted(np.cumsum(weight[order]), 0.5 * total))
    return 1.0 / float(speed[order[min(middle, len(order) - 1)]])


def frame_distances(
    fields: FieldSeries,
    other: FieldSeries | None = None,
    *,
    scale: float | None = None,
    progress: Progress | None = None,
) -> Array:
    """Mean angle between all pairs of frames, radians, `(frames, frames of other)`.

    Of one series: symmetric, with zeros on the diagonal. Right to 1e-6. Pixels outside the mask do not
    count; where foreground is known, a pixel counts as much as people are seen there in the two frames.

    Args:
        fields: The series.
        other: A second series on the same pixels; None = the same one.
        scale: What velocities are multiplied by; None = :func:`flow_scale` of what is compared.
        progress: Called with the pixels done and their number.

    >>> right, down = np.full((2, 4, 4, 2), [1.0, 0.0]), np.full((1, 4, 4, 2), [0.0, 1.0])
    >>> table = frame_distances(FieldSeries(np.concatenate([right, down]), 25))
    >>> np.degrees(table).round(3).tolist()
    [[0.0, 0.0, 60.0], [0.0, 0.0, 60.0], [60.0, 60.0, 0.0]]
    """
    second = fields if other is None else other
    check_same_pixels(fields, second)
    if max(fields.frames, second.frames) > MOST_FRAMES:
        raise InputError(
            f"{max(fields.frames, second.frames)} frames: at most {MOST_FRAMES} can be compared with each "
            "other; take a part of them or a lower frame rate"
        )
    if scale is None:
        scale = flow_scale(fields) if other is None else flow_scale(fields, second)
    if not (np.isfinite(scale) and scale > 0):
        raise InputError(f"scale: above 0, got {scale}")
    inside = np.flatnonzero(fields.valid & second.valid)
    if len(inside) == 0:
        raise InputError("fields: no pixel is inside the mask")
    sums, weights = _sums(fields, second, other is None, inside, float(scale), progress)
    table = np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0)
    if other is None:
        table += table.T
    return table


def check_same_pixels(a: FieldSeries, b: FieldSeries) -> None:
    """Refuse two series of different size."""
    if (a.rows, a.columns) != (b.rows, b.columns):
        raise InputError(
            f"fields of {a.columns} × {a.rows} pixels and of {b.columns} × {b.rows} cannot be compared"
        )


def _sums(
    a: FieldSeries,
    b: FieldSeries,
    same: bool,
    inside: NDArray[np.intp],
    scale: float,
    progress: Progress | None,
) -> tuple[Array, Array]:
    """Sums of angles, above the diagonal only if both are the same, and of the weights they have."""
    from marey.crowd import _texture_kernels

    weighted = a.foreground is not None or b.foreground is not None
    sums = np.zeros((a.frames, b.frames))
    weights_a, weights_b = np.zeros(a.frames), np.zeros(b.frames)
    for start in range(0, len(inside), PIXELS_AT_ONCE):
        pixels = inside[start : start + PIXELS_AT_ONCE]
        na, wa = _unit_vectors(a, pixels, scale), _weights(a, pixels, weighted)
        nb, wb = (na, wa) if same else (_unit_vectors(b, pixels, scale), _weights(b, pixels, weighted))
        weights_a += wa.sum(axis=1) if weighted else 0.5 * len(pixels)
        weights_b += wb.sum(axis=1) if weighted else 0.5 * len(pixels)
        vectors = (na, nb, wa, wb)

        def rows(first: int, last: int, vectors: tuple[AnyArray, ...] = vectors) -> None:
            _texture_kernels.add_angles(*vectors, first, last, same, weighted, ROWS_AT_ONCE, sums)

        _work.spread(rows, a.frames, size=ROWS_AT_ONCE)
        if progress is not None:
            progress(start + len(pixels), len(inside))
    return sums, np.add.outer(weights_a, weights_b)


def _unit_vectors(fields: FieldSeries, pixels: NDArray[np.intp], scale: float) -> NDArray[np.float32]:
    """`(u, v, 1)` of length 1, components first: `(3, frames, pixels)`."""
    flat = fields.velocities.reshape(fields.frames, -1, 2)
    flow = flat[:, pixels].astype(np.float64) * scale
    length = np.sqrt(1.0 + (flow * flow).sum(axis=-1))
    unit = np.empty((3, *length.shape), dtype=np.float32)
    unit[0], unit[1], unit[2] = flow[..., 0] / length, flow[..., 1] / length, 1.0 / length
    return unit


def _weights(fields: FieldSeries, pixels: NDArray[np.intp], weighted: bool) -> NDArray[np.float32]:
    if not weighted:
        return np.empty((fields.frames, 0), dtype=np.float32)
    if fields.foreground is None:
        return np.ones((fields.frames, len(pixels)), dtype=np.float32)
    seen = fields.foreground.reshape(fields.frames, -1)[:, pixels]
    return np.ascontiguousarray(seen, dtype=np.float32) / np.float32(255)


@dataclass(frozen=True, eq=False)
class FlowTexture:
    """A captured flow that can be played for ever.

    Attributes:
        fields: The capture.
        distances: `(frames, frames)`, mean angle between fields, radians.
        scale: What velocities were multiplied by before they were compared.
        taps: Of the diagonal filter.
        fade: Frames of the cross-fade at a jump.
        transitions: The jumps.
    """

    fields: FieldSeries
    distances: Array
    scale: float
    taps: int
    fade: int
    transitions: JumpTable

    @property
    def filtered(self) -> Array:
        """Distances after the diagonal filter, `(frames - taps + 1, frames - taps + 1)`."""
        return diagonal_filter(self.distances, self.taps)

    def runs(self, rng: Rng = None) -> Iterator[tuple[int, int]]:
        """First and last frame of every stretch that is played, for ever; the first one begins at 0."""
        return self.transitions.runs(rng)

    def sequence(self, frames: int, rng: Rng = None) -> NDArray[np.int64]:
        """Which frame of the capture is played when, `(frames,)`; in the middle of a fade it is the new one.

        >>> import marey
        >>> texture = learn(marey.samples.field(20, 30, seconds=4))
        >>> texture.sequence(1000, rng=0).shape
        (1000,)
        """
        played = chain.from_iterable(range(start, last + 1) for start, last in self.runs(rng))
        return np.fromiter(islice(played, frames), np.int64, frames)

    def play(self, rng: Rng = None) -> Iterator[tuple[FloatArray, NDArray[np.uint8] | None]]:
        """Velocities `(rows, columns, 2)` and foreground `(rows, columns)` of one frame after the other."""
        side = margin(self.fade)
        runs = self.runs(rng)
        start, last = next(runs)
        left = -1
        while True:
            following = next(runs)
            for frame in range(start, last + 1):
                # Frames since the jump before (0 is the first one after it), and to the one to come.
                since, until = frame - start, frame - last - 1
                if left >= 0 and since < side:
                    yield self._mixed(left + since, frame, since, side)
                elif until >= -side:
                    yield self._mixed(frame, following[0] + until, until, side)
                else:
                    yield self._mixed(frame, frame, 0, side)
            left = last + 1
            start, last = following

    def blocks(self, frames: int, *, rng: Rng = None, size: int = 32) -> Iterator[FieldSeries]:
        """`frames` frames as series of `size` each, to be written one after the other in little memory."""
        if frames < 1 or size < 1:
            raise InputError(f"frames: at least 1, got {min(frames, size)}")
        playing = self.play(rng)
        for start in range(0, frames, size):
            part = [next(playing) for _ in range(min(size, frames - start))]
            seen = [foreground for _, foreground in part if foreground is not None]
            yield replace(
                self.fields,
                velocities=read_only(np.stack([velocities for velocities, _ in part])),
                foreground=read_only(np.stack(seen)) if seen else None,
            )

    def _mixed(
        self, old: int, new: int, since: int, side: int
    ) -> tuple[FloatArray, NDArray[np.uint8] | None]:
        velocities, foreground = self.fields.velocities, self.fields.foreground
        if old == new:
            return velocities[new], None if foreground is None else foreground[new]
        share = (since + side + 0.5) / (2 * side)
        field = np.asarray((1 - share) * velocities[old] + share * velocities[new], dtype=velocities.dtype)
        if foreground is None:
            return field, None
        weights = np.array([1 - share, share])[:, None, None]
        return field, mixed_foreground(foreground[[old, new]], weights)


def learn(
    fields: FieldSeries,
    *,
    taps: int = 8,
    fade: int | None = None,
    scale: float | None = None,
    sharpness: float = 0.05,
    progress: Progress | None = None,
) -> FlowTexture:
    """Compare all frames of a captured flow and choose the jumps that let it be played for ever.

    Args:
        fields: The capture.
        taps: Frames that must be similar about a jump.
        fade: Frames of the cross-fade at a jump; None = as many as taps, more where that would be rough.
        scale: Of velocities before they are compared; :func:`~marey.crowd.texture.flow_scale` if None.
        sharpness: Larger makes jumps more frequent and their choice freer.
        progress: Called with the pixels compared and their number.

    >>> import marey
    >>> texture = learn(marey.samples.field(20, 30, seconds=4))
    >>> texture.distances.shape, texture.taps
    ((100, 100), 8)
    """
    fields = crowd_flow(fields)
    settings, length = TextureSettings(sharpness=sharpness), taps if fade is None else fade
    check_length(fields.frames, taps, length)
    scale = flow_scale(fields) if scale is None else float(scale)
    distances = frame_distances(fields, scale=scale, progress=progress)
    while True:
        found = jump_probabilities(distances, taps=taps, fade=length, settings=settings)
        texture = FlowTexture(fields, distances, scale, taps, length, found)
        longer = length if fade is not None else min(_smooth_fade(texture), 2 * length)
        if longer <= length or shortest_clip(taps, longer) > 0.75 * fields.frames:
            return texture
        length = longer


def extend(
    fields: FieldSeries,
    frames: int,
    *,
    window: int = 8,
    fade: int | None = None,
    rng: Rng = None,
    progress: Progress | None = None,
) -> FieldSeries:
    """A captured flow made as long as wanted, in memory; see :meth:`FlowTexture.blocks` for longer ones.

    Args:
        fields: The capture.
        frames: How many to make.
        window: Frames about a jump that must be similar; fewer for short clips.
        fade: Frames of the cross-fade at a jump; as many as needed if None.
        rng: Seed or generator.

    >>> import marey
    >>> extend(marey.samples.field(20, 30, seconds=4), 500, rng=0).frames
    500
    """
    texture = learn(fields, taps=window, fade=fade, progress=progress)
    return next(texture.blocks(frames, rng=rng, size=frames))


class PlaybackReport:
    """How smooth a playback is, measured as its blocks pass, and how much of the capture it shows."""

    def __init__(self, texture: FlowTexture, order: NDArray[np.int64]) -> None:
        before = field_changes(texture.fields)
        self.texture, self.order = texture, order
        self.jumps = np.flatnonzero(np.diff(order) != 1)
        self._quick = float(np.quantile(before, 0.99)) if len(before) else 0.0
        self._changes: list[Array] = []

    def watched(self, blocks: Iterator[FieldSeries]) -> Iterator[FieldSeries]:
        """The blocks as they are."""
        last = None
        for block in blocks:
            self._changes.append(field_changes(block, before=last))
            last = block.velocities[-1]
            yield block

    @property
    def smoothness(self) -> float | None:
        """Largest change at a jump over the quickest hundredth of the capture's; None without a jump."""
        changes = np.concatenate(self._changes)
        if len(self.jumps) == 0 or len(changes) == 0 or not self._quick > 0:
            return None
        side = (self.texture.fade + 1) // 2 + 1
        around = np.clip(self.jumps[:, None] + np.arange(-side, side + 1), 0, len(changes) - 1)
        return float(changes[np.unique(around)].max() / self._quick)

    @property
    def information(self) -> float:
        """Per cent of the capture's energy in the frames that are played."""
        fields = self.texture.fields
        inside = slice(None) if fields.mask is None else fields.mask
        energies = [float(np.square(frame[inside], dtype=np.float64).sum()) for frame in fields.velocities]
        played = sum(energies[frame] for frame in np.unique(self.order))
        return 100 * played / sum(energies) if sum(energies) > 0 else 100.0


def field_changes(fields: FieldSeries, before: ArrayLike | None = None) -> Array:
    """How much each frame differs from the one before: root mean square, pixels per frame, `(frames - 1,)`.

    Args:
        before: `(rows, columns, 2)`, the frame before the first one; then there are as many as frames.

    >>> steps = np.zeros((3, 2, 2, 2)); steps[1:] = [3.0, 4.0]
    >>> field_changes(FieldSeries(steps, 25)).tolist()
    [5.0, 0.0]
    """
    first = [] if before is None else [np.asarray(before)]
    return np.array([_rms(now - last, fields) for last, now in pairwise(chain(first, fields.velocities))])


def _smooth_fade(texture: FlowTexture) -> int:
    """Frames over which the jumps must be faded so that fields change about as quickly as they did."""
    fields, jumps = texture.fields, texture.transitions
    worst = 0.0
    for k in np.argsort(-jumps.probabilities)[:2000]:
        apart = fields.velocities[jumps.sources[k] + 1] - fields.velocities[jumps.targets[k]]
        worst = max(worst, _rms(apart, fields))
    # In a fade both stretches go on, at different phases, while one fades into the other: fields may change
    # by a quarter more quickly than the quickest of the capture.
    room = 0.25 * float(np.quantile(field_changes(fields), 0.99))
    if worst <= 0.0:
        return texture.fade
    return int(min(np.ceil(worst / room) if room > 0 else np.inf, 10 * fields.frames))


def _rms(change: FloatArray, fields: FieldSeries) -> float:
    """Root mean square of vectors `(rows, columns, 2)` over the pixels that count."""
    inside = change if fields.mask is None else change[fields.mask]
    return float(np.sqrt(2 * np.mean(np.square(inside, dtype=np.float64))))


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
    """Both with the pixels that count in both, camera and precision of the first, foreground if one has."""
    check_same_pixels(a, b)
    if not np.isclose(a.frame_rate, b.frame_rate):
        raise InputError(
            f"captures of {a.frame_rate:g} and {b.frame_rate:g} frames per second; resample one of them first"
        )
    mask = None if a.mask is None and b.mask is None else a.valid & b.valid
    if a.foreground is not None or b.foreground is not None:
        # A capture that does not say where people are has them everywhere.
        a, b = (
            replace(one, foreground=np.broadcast_to(np.uint8(255), one.velocities.shape[:3]))
            if one.foreground is None
            else one
            for one in (a, b)
        )
    velocities = read_only(b.velocities.astype(a.velocities.dtype))
    return replace(a, mask=mask), replace(b, mask=mask, homography=a.homography, velocities=velocities)


def _mixed(a: FieldSeries, b: FieldSeries, share: Array) -> FieldSeries:
    """Series of one length mixed by the share `(frames,)` of the second."""
    weight = share[:, None, None].astype(a.velocities.dtype)
    velocities = (1 - weight[..., None]) * a.velocities + weight[..., None] * b.velocities
    foreground = None
    if a.foreground is not None and b.foreground is not None:
        parts = np.stack([a.foreground, b.foreground])
        foreground = read_only(mixed_foreground(parts, np.stack([1 - weight, weight])))
    return replace(a, velocities=read_only(velocities), foreground=foreground)
