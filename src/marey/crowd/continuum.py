"""A crowd seen as a fluid: density, velocity, divergence and vorticity on the ground (Courty 2013, 6.3.3).

Each person is a Gaussian. What of it would lie behind a wall or off the ground is given back to the free
side, so that the density always sums to the number of people; derivatives are those of the kernels, not
differences. Velocity is the kernel's average, by default of a kernel that holds about one person: variance
1 / density. Cost: O(people + cells) a frame, some 20 ms for 64 m by 16 m in cells of 25 cm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, checked
from marey.crowd.fields import FieldSeries, known_presence
from marey.crowd.scene import Scene
from marey.crowd.tracks import Tracks
from marey.errors import InputError

Array = NDArray[np.float64]

WIDTH = 0.3
"""Metres: standard deviation of a person in the density."""

NARROWEST, WIDEST, LEVELS = 0.3, 1.8, 5
"""Metres: bounds of the adaptive kernel, and how many widths between them are worked out."""

FEWEST = 1e-3
"""People per square metre below which nobody's velocity counts."""

REACH = 4.0
# Presence 255: so many people per square metre.
FULL = 0.5


@dataclass(frozen=True, eq=False)
class Moment:
    """The crowd at one time, on cells `(rows, columns)`, row 0 at y = 0; NaN inside obstacles.

    density: people per square metre
    velocity: `(rows, columns, 2)` m/s; 0 where nobody is near
    divergence, vorticity: per second
    """

    density: Array
    velocity: Array
    divergence: Array
    vorticity: Array


class Ground:
    """Cells of a scene on which crowds are averaged.

    >>> floor = Ground(Scene((8, 6)), spacing=0.25)
    >>> moment = floor.moment([[0.1, 0.1], [4.0, 3.0]], [[1.0, 0.0], [1.0, 0.0]])
    >>> round(float(np.nansum(moment.density)) * 0.25**2, 6), moment.velocity[12, 16].round(6).tolist()
    (2.0, [1.0, 0.0])
    """

    def __init__(
        self, scene: Scene, *, spacing: float = 0.25, width: float = WIDTH, adaptive: bool = True
    ) -> None:
        """spacing: metres, at most the width; adaptive: velocity's kernel as wide as people are sparse."""
        if not 0.0 < spacing <= width:
            raise InputError(f"spacing: cells of {spacing:g} m cannot hold kernels of {width:g} m")
        self.scene, self.spacing, self.width, self.adaptive = scene, float(spacing), float(width), adaptive
        self.free: BoolArray = scene.walkable(spacing)
        if not self.free.any():
            raise InputError("scene: obstacles leave no free ground")
        widths = np.geomspace(NARROWEST, WIDEST, LEVELS) if adaptive else np.array([width])
        self._levels = np.maximum(widths, spacing)
        self._open = {level: self._blurred(self.free.astype(np.float64), level) for level in self._widths()}

    @property
    def homography(self) -> Array:
        """`(3, 3)`, pixels of :meth:`as_picture` to metres."""
        rows = self.free.shape[0]
        return np.array(
            [
                [self.spacing, 0.0, 0.5 * self.spacing],
                [0.0, -self.spacing, (rows - 0.5) * self.spacing],
                [0.0, 0.0, 1.0],
            ]
        )

    def moment(self, positions: ArrayLike, velocities: ArrayLike) -> Moment:
        """The crowd of people at `positions` `(people, 2)` m with `velocities` `(people, 2)` m/s."""
        places = checked("positions", positions, (None, 2))
        speeds = checked("velocities", velocities, (len(places), 2))
        density, slope_x, slope_y = self._sums(places, np.ones((1, len(places))), self.width)[:, 0].copy()
        near = [self._averages(places, speeds, level) for level in self._levels]
        velocity, gradient = near[0]
        if self.adaptive:
            velocity, gradient = self._mixed(near, density, slope_x, slope_y)
        closed = ~self.free
        divergence = gradient[0, 0] + gradient[1, 1]
        vorticity = gradient[0, 1] - gradient[1, 0]
        for field in (density, divergence, vorticity):
            field[closed] = np.nan
        velocity[:, closed] = np.nan
        return Moment(density, np.moveaxis(velocity, 0, -1), divergence, vorticity)

    def moments(self, tracks: Tracks, velocities: ArrayLike | None = None) -> Iterator[Moment]:
        """Frame by frame; `velocities` `(frames, people, 2)` m/s, those of the tracks if not given."""
        speeds = tracks.velocities() if velocities is None else np.asarray(velocities, dtype=np.float64)
        for positions, moving in zip(tracks.positions, speeds, strict=True):
            here = np.isfinite(positions).all(axis=1)
            yield self.moment(positions[here], np.nan_to_num(moving[here]))

    def as_picture(self, moment: Moment, frame_rate: float) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Velocity `(rows, columns, 2)` in cells per frame and presence, as a picture: y up, row 0 on top."""
        velocity = np.nan_to_num(moment.velocity[::-1]) * [1.0, -1.0] / (self.spacing * frame_rate)
        share = np.clip(np.nan_to_num(moment.density[::-1]) / FULL, 0.0, 1.0)
        return velocity.astype(np.float32), known_presence(np.rint(255 * share).astype(np.uint8))

    def series(self, tracks: Tracks, velocities: ArrayLike | None = None) -> FieldSeries:
        """The velocity of the whole recording as a field series, presence by density, obstacles masked.

        >>> people = Tracks([[[2.0, 2.0]], [[2.1, 2.0]]], 10)
        >>> fields = Ground(Scene((4, 4)), spacing=0.25).series(people)
        >>> fields.velocities[0, 8, 8].astype(float).round(4).tolist()  # 1 m/s is 0.4 cells per frame
        [0.4, -0.0]
        """
        parts = [self.as_picture(moment, tracks.frame_rate) for moment in self.moments(tracks, velocities)]
        return FieldSeries(
            np.stack([velocity for velocity, _ in parts]),
            tracks.frame_rate,
            mask=self.free[::-1],
            homography=self.homography,
            name=tracks.name,
            presence=np.stack([presence for _, presence in parts]),
        )

    def _widths(self) -> list[float]:
        return sorted({float(level) for level in (*self._levels, self.width)})

    def _averages(self, places: Array, speeds: Array, width: float) -> tuple[Array, Array]:
        """Kernel averages of velocity `(2, rows, columns)`, and their slopes `(x or y, 2, rows, columns)`."""
        weights = np.stack([np.ones(len(places)), speeds[:, 0], speeds[:, 1]])
        (total, u, v), (total_x, u_x, v_x), (total_y, u_y, v_y) = self._sums(places, weights, width)
        # A tail of a kernel is enough to know what its person does.
        known = total > 1e-9
        safe = np.where(known, total, 1.0)
        mean = np.stack([u, v]) / safe * known
        slopes = np.stack([[u_x, v_x], [u_y, v_y]])
        gradient = (slopes - mean * np.stack([total_x, total_y])[:, None]) / safe * known
        return mean, gradient

    def _mixed(
        self, near: list[tuple[Array, Array]], density: Array, slope_x: Array, slope_y: Array
    ) -> tuple[Array, Array]:
        """In every cell the average of its own width: the one that holds one person."""
        levels = self._levels
        width = 1.0 / np.sqrt(np.maximum(density, FEWEST))
        bounded = np.clip(width, levels[0], levels[-1])
        below = np.clip(np.searchsorted(levels, bounded, side="right") - 1, 0, len(levels) - 2)
        step = np.diff(levels)[below]
        share = (bounded - levels[below]) / step
        means, gradients = np.stack([mean for mean, _ in near]), np.stack([gradient for _, gradient in near])
        rows, columns = np.indices(below.shape)
        low, high = means[below, :, rows, columns], means[below + 1, :, rows, columns]
        steep_low = gradients[below, :, :, rows, columns]
        steep_high = gradients[below + 1, :, :, rows, columns]
        mean = low + share[..., None] * (high - low)
        gradient = steep_low + share[..., None, None] * (steep_high - steep_low)
        # The width varies too, and the average with it.
        inner = (width > levels[0]) & (width < levels[-1]) & (density > FEWEST)
        narrowing = np.where(inner, -0.5 * width**3 / step, 0.0)
        slopes = np.stack([slope_x, slope_y], axis=-1) * narrowing[..., None]
        gradient += slopes[..., :, None] * (high - low)[..., None, :]
        return np.moveaxis(mean, -1, 0), np.moveaxis(gradient, (-2, -1), (0, 1))

    def _sums(self, places: Array, weights: Array, width: float) -> Array:
        """Kernel sums of `weights` `(sums, people)` and their slopes in x, y: `(3, sums, rows, columns)`."""
        rows, columns = self.free.shape
        at = places / self.spacing - 0.5
        at = np.clip(at, 0.0, [columns - 1.0, rows - 1.0])
        corner = np.minimum(np.floor(at).astype(np.int64), [max(columns - 2, 0), max(rows - 2, 0)])
        share = at - corner
        spots = np.zeros((len(weights), rows * columns))
        kept = np.zeros(len(places))
        parts = []
        for down in (0, 1):
            for across in (0, 1):
                row = np.minimum(corner[:, 1] + down, rows - 1)
                column = np.minimum(corner[:, 0] + across, columns - 1)
                part = (share[:, 0] if across else 1 - share[:, 0]) * (
                    share[:, 1] if down else 1 - share[:, 1]
                )
                kept += part * self._open[float(width)][row, column]
                parts.append((row * columns + column, part))
        scaled = weights / (np.maximum(kept, 1e-3) * self.spacing**2)
        for cells, part in parts:
            for number, values in enumerate(scaled):
                spots[number] += np.bincount(cells, values * part, minlength=rows * columns)
        grids = np.ascontiguousarray(np.moveaxis(spots.reshape(-1, rows, columns), 0, -1))
        orders = ((0, 0), (1, 0), (0, 1))
        return np.stack(
            [self._blurred(grids, width, *order) / self.spacing ** sum(order) for order in orders]
        )

    def _blurred(self, grids: Array, width: float, along_x: int = 0, along_y: int = 0) -> Array:
        """Grids `(rows, columns[, sums])` under a Gaussian or its slope, `([sums,] rows, columns)`."""
        import cv2

        # Sharing people between four cells widens them by a sixth of a cell, squared.
        sigma = float(np.sqrt((width / self.spacing) ** 2 - 1 / 6))
        reach = int(np.ceil(REACH * sigma))
        at = np.arange(-reach, reach + 1.0)
        bell = np.exp(-0.5 * (at / sigma) ** 2)
        bell /= bell.sum()
        kernels = (bell, at / sigma**2 * bell)
        # Single precision is enough here, and twice as fast.
        blurred = cv2.sepFilter2D(
            grids.astype(np.float32),
            cv2.CV_32F,
            kernels[along_x],
            kernels[along_y],
            borderType=cv2.BORDER_CONSTANT,
        )
        return np.moveaxis(blurred.reshape(grids.shape), -1, 0) if grids.ndim == 3 else np.asarray(blurred)
