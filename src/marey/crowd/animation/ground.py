"""The ground that a velocity field sees: its camera, what is walkable, how far the next obstacle is.

Courty & Corpetti 2007, section 4.1: agents live on the ground, motion is known in the image. Obstacles are
the masked pixels; the distance to them is measured on the ground, in metres. Cost: a distance transform.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, FloatArray, Integers
from marey.crowd import cameras
from marey.crowd.fields import FieldSeries
from marey.crowd.grids import pixel_centres
from marey.errors import InputError

OUTSIDE, WALKABLE, SOLID = range(3)


@dataclass(frozen=True, eq=False)
class WalkableGround:
    """Where agents of a field series can be.

    Attributes:
        to_ground: `(3, 3)`, image `(column, row, 1)` to ground metres.
        region: `(rows, columns)` uint8, OUTSIDE (beyond the horizon), WALKABLE or SOLID.
        guessed: Whether the scale is a guess, because the series has no camera.
    """

    to_ground: Array
    region: NDArray[np.uint8]
    guessed: bool = False

    @classmethod
    def of(cls, fields: FieldSeries) -> WalkableGround:
        """That of a series; without a camera, one from above whose typical moving pixel walks at 1.34 m/s.

        >>> WalkableGround.of(FieldSeries(np.full((2, 4, 6, 2), 1.0), 10)).guessed
        True
        """
        given = fields.homography
        matrix = _guess(fields) if given is None else np.asarray(given, dtype=np.float64)
        region = np.full((fields.rows, fields.columns), WALKABLE, dtype=np.uint8)
        pixels = pixel_centres(region.shape)
        sees = cameras.facing(matrix, pixels)
        size = np.sqrt(np.abs(np.linalg.det(cameras.jacobian(matrix, pixels))))
        # A pixel that covers twenty times more ground than most is too near the horizon to walk in.
        sees &= size <= 20.0 * np.median(size[sees])
        if fields.mask is not None:
            region[~fields.mask] = SOLID
        region[~sees] = OUTSIDE
        if not (region == WALKABLE).any():
            raise InputError("fields: the mask leaves no walkable pixel")
        return cls(matrix, region, given is None)

    @cached_property
    def to_pixel(self) -> Array:
        """`(3, 3)`, ground metres to image."""
        return cameras.inverse(self.to_ground)

    @cached_property
    def _slopes(self) -> Array:
        """How the ground point of each pixel moves with it, `(rows, columns, 2, 2)`."""
        return cameras.jacobian(self.to_ground, pixel_centres(self.region.shape))

    @cached_property
    def cell_areas(self) -> Array:
        """Square metres of ground under each pixel `(rows, columns)`; 0 where it is not walkable."""
        return np.where(self.region == WALKABLE, np.abs(np.linalg.det(self._slopes)), 0.0)

    @cached_property
    def body_scales(self) -> Array:
        """Metres across a pixel, along the image's finer direction on the ground `(rows, columns)`."""
        slopes = np.where(np.isfinite(self._slopes), self._slopes, 0.0)
        return np.asarray(np.linalg.svd(slopes, compute_uv=False)[..., -1])

    @property
    def area(self) -> float:
        """Square metres to walk in."""
        return float(self.cell_areas.sum())

    @cached_property
    def clearance(self) -> tuple[NDArray[np.float32], Array, float]:
        """Metres to the next obstacle on a grid of nodes `(n, m)`, the first node, their spacing.

        The grid is empty if nothing is solid.
        """
        from scipy.ndimage import distance_transform_edt, gaussian_filter

        # Obstacles far from all walkable ground do not matter and could be large.
        walkable = cameras.apply(self.to_ground, pixel_centres(self.region.shape)[self.region == WALKABLE])
        low, high = walkable.min(axis=0) - 1.0, walkable.max(axis=0) + 1.0
        # Nodes every 5 cm, or two million.
        spacing = max(0.05, float(np.sqrt(np.prod(high - low) / 2e6)))
        columns, rows = np.ceil((high - low) / spacing).astype(int) + 1
        blocked = np.zeros((0, 0), dtype=bool)
        if (self.region == SOLID).any():
            nodes = pixel_centres((rows, columns)) * spacing + low
            blocked = (self.under(nodes.reshape(-1, 2)) == SOLID).reshape(rows, columns)
        if not blocked.any():
            return np.empty((0, 0), dtype=np.float32), np.zeros(2), 1.0
        # Signed, so that its slope points out of the obstacle inside of it too.
        distance = distance_transform_edt(~blocked) - distance_transform_edt(blocked)
        # Pixels make round obstacles flat in places, before which agents would wait: smooth over 0.2 m.
        smooth = gaussian_filter(distance * spacing, 0.2 / spacing)
        return smooth.astype(np.float32), low, spacing

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """What kernels take: `to_pixel`, `to_ground`, `region`, `clearance`."""
        return self.to_pixel, self.to_ground, self.region, self.clearance

    @cached_property
    def borders(self) -> tuple[Integers, Integers]:
        """Walkable pixels at the end of the image: (column, row) and the direction inwards, `(n, 2)` each.

        A pixel in a corner comes twice.
        """
        seen = np.pad(self.region != OUTSIDE, 1)
        pixels, inwards = [], []
        for column, row in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            neighbour = np.roll(seen, (row, column), (0, 1))[1:-1, 1:-1]
            found = np.argwhere((self.region == WALKABLE) & ~neighbour)[:, ::-1]
            pixels.append(found)
            inwards.append(np.tile([column, row], (len(found), 1)))
        return np.concatenate(pixels), np.concatenate(inwards)

    def order(self, points: Array) -> Integers:
        """Points `(n, 2)` by blocks of 8 × 8 pixels: neighbours then use the same memory; outside last."""
        (column, row), within = self._pixels(points, 0.0)
        block = (row // 8) * (self.region.shape[1] // 8 + 1) + column // 8
        return np.argsort(np.where(within, block, self.region.size), kind="stable")

    def under(self, points: Array) -> NDArray[np.uint8]:
        """What agents at points `(n, 2)` stand on, `(n,)`."""
        (column, row), within = self._pixels(points, 0.5)
        return np.where(within, self.region[row, column], OUTSIDE)

    def at(self, image: FloatArray, points: Array) -> FloatArray:
        """Values `(n,)` of an image `(rows, columns)` at the pixels of points `(n, 2)`; 0 outside of it."""
        (column, row), within = self._pixels(points, 0.5)
        return np.where(within, image[row, column], 0)

    def _pixels(self, points: Array, offset: float) -> tuple[Integers, NDArray[np.bool_]]:
        """Pixels `(2, n)`, rounded down after adding `offset`, 0 where `(n,)` is False: not in the image."""
        pixels = np.floor(cameras.apply(self.to_pixel, points).T + offset)
        size = np.array(self.region.shape[::-1])[:, None]
        within = np.asarray(((pixels >= 0) & (pixels < size)).all(axis=0))
        return np.where(within, pixels, 0).astype(np.int64), within


def _guess(fields: FieldSeries) -> Array:
    """Metres per pixel at which typical motion is walking: 1.34 m/s (Weidmann 1993)."""
    some = fields.velocities[:: max(1, fields.frames // 50)]
    speeds = np.linalg.norm(some.astype(np.float64), axis=-1)
    if fields.mask is not None:
        speeds = speeds[:, fields.mask]
    moving = speeds[speeds > max(0.05, 0.1 * float(speeds.max(initial=0.0)))]
    typical = float(np.median(moving)) if moving.size else 1.0
    return cameras.orthographic(1.34 / (typical * fields.frame_rate))
