"""Endless, aperiodic playback of a captured flow: frames in a random order that never shows a cut.

Courty & Corpetti 2007, section 4.2. Where playback jumps, the two stretches of fields are cross-faded over
some frames about the jump. A frame costs one field, two in a fade; memory is that of the capture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, FloatArray, read_only
from marey._random import Rng
from marey._work import Progress
from marey.crowd.fields import FieldSeries, mixed_presence
from marey.crowd.texture.distances import flow_scale, frame_distances
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
        """Which frame of the capture is played when, `(frames,)`; half-way through a fade it is the new one.

        >>> import marey
        >>> texture = learn(marey.samples.field(20, 30, seconds=4))
        >>> texture.sequence(1000, rng=0).shape
        (1000,)
        """
        played = chain.from_iterable(range(start, last + 1) for start, last in self.runs(rng))
        return np.fromiter(islice(played, frames), np.int64, frames)

    def play(self, rng: Rng = None) -> Iterator[tuple[FloatArray, NDArray[np.uint8] | None]]:
        """Velocities `(rows, columns, 2)` and presence `(rows, columns)` of one frame after the other."""
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
            seen = [presence for _, presence in part if presence is not None]
            yield replace(
                self.fields,
                velocities=read_only(np.stack([velocities for velocities, _ in part])),
                presence=read_only(np.stack(seen)) if seen else None,
            )

    def _mixed(
        self, old: int, new: int, since: int, side: int
    ) -> tuple[FloatArray, NDArray[np.uint8] | None]:
        velocities, presence = self.fields.velocities, self.fields.presence
        if old == new:
            return velocities[new], None if presence is None else presence[new]
        share = (since + side + 0.5) / (2 * side)
        field = np.asarray((1 - share) * velocities[old] + share * velocities[new], dtype=velocities.dtype)
        if presence is None:
            return field, None
        weights = np.array([1 - share, share])[:, None, None]
        return field, mixed_presence(presence[[old, new]], weights)


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
    fields: FieldSeries, frames: int, *, taps: int = 8, rng: Rng = None, progress: Progress | None = None
) -> FieldSeries:
    """A captured flow made as long as wanted, in memory; see :meth:`FlowTexture.blocks` for longer ones.

    >>> import marey
    >>> extend(marey.samples.field(20, 30, seconds=4), 500, rng=0).frames
    500
    """
    texture = learn(fields, taps=taps, progress=progress)
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
    # In a fade both stretches go on, at different phases, while one gives way to the other: fields may change
    # by a quarter more quickly than the quickest of the capture.
    room = 0.25 * float(np.quantile(field_changes(fields), 0.99))
    if worst <= 0.0:
        return texture.fade
    return int(min(np.ceil(worst / room) if room > 0 else np.inf, 10 * fields.frames))


def _rms(change: FloatArray, fields: FieldSeries) -> float:
    """Root mean square of vectors `(rows, columns, 2)` over the pixels that count."""
    inside = change if fields.mask is None else change[fields.mask]
    return float(np.sqrt(2 * np.mean(np.square(inside, dtype=np.float64))))
