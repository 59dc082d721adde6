"""The ground that a velocity field sees: its camera, what is walkable, how far the next obstacle is.

Courty & Corpetti 2007, section 4.1: people live on the ground, motion is known in the picture. Obstacles are
the masked pixels; the distance to them is measured on the ground, in metres. Cost: a distance transform.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.crowd import cameras as plane
from marey.crowd.fields import FieldSeries
from marey.errors import InputError

Array = NDArray[np.float64]

OUTSIDE, WALKABLE, SOLID = 0, 1, 2

# A pixel that covers so many times more ground than most is too near the horizon to walk in.
FARTHEST = 20.0
WALKING_SPEED = 1.34
"""Metres per second, the mean of free walking (Weidmann 1993)."""
BLOCK = 8
"""Pixels."""
ROUNDED = 0.2
"""Metres over which the distance to obstacles is smoothed."""
FINEST, MOST_NODES = 0.05, 2_000_000


@dataclass(frozen=True, eq=False)
class Place:
    """Where people of a field series can be.

    to_ground: `(3, 3)`, image `(column, row, 1)` to ground metres
    region: `(rows, columns)` uint8, OUTSIDE (beyond the horizon), WALKABLE or SOLID
    guessed: whether the scale is our guess, because the series has no camera
    """

    to_ground: Array
    region: NDArray[np.uint8]
    guessed: bool = False

    @classmethod
    def of(cls, fields: FieldSeries) -> Place:
        """That of a series; without a camera, one from above whose typical moving pixel walks at 1.34 m/s.

        >>> Place.of(FieldSeries(np.full((2, 4, 6, 2), 1.0), 10)).guessed
        True
        """
        given = fields.homography
        matrix = _guess(fields) if given is None else np.asarray(given, dtype=np.float64)
        region = np.full((fields.rows, fields.columns), WALKABLE, dtype=np.uint8)
        pixels = pixel_centres(region.shape)
        sees = plane.facing(matrix, pixels)
        size = np.sqrt(np.abs(np.linalg.det(plane.jacobian(matrix, pixels))))
        sees &= size <= FARTHEST * np.median(size[sees])
        if fields.mask is not None:
            region[~fields.mask] = SOLID
        region[~sees] = OUTSIDE
        if not (region == WALKABLE).any():
            raise InputError("fields: the mask leaves no pixel in which people could walk")
        return cls(matrix, region, given is None)

    @cached_property
    def to_pixel(self) -> Array:
        """`(3, 3)`, ground metres to image."""
        return plane.inverse(self.to_ground)

    @cached_property
    def cell_areas(self) -> Array:
        """Square metres of ground under each pixel `(rows, columns)`; 0 where nobody can walk."""
        slopes = plane.jacobian(self.to_ground, pixel_centres(self.region.shape))
        return np.where(self.region == WALKABLE, np.abs(np.linalg.det(slopes)), 0.0)

    @cached_property
    def body_scales(self) -> Array:
        """Metres across a pixel, along the picture's finer direction on the ground `(rows, columns)`."""
        slopes = plane.jacobian(self.to_ground, pixel_centres(self.region.shape))
        return np.asarray(
            np.linalg.svd(np.where(np.isfinite(slopes), slopes, 0.0), compute_uv=False)[..., -1]
        )

    @property
    def area(self) -> float:
        """Square metres to walk in."""
        return float(self.cell_areas.sum())

    @cached_property
    def clearance(self) -> tuple[NDArray[np.float32], Array, float]:
        """Metres to the next obstacle on a grid of nodes `(n, m)`, the first node, their spacing.

        The grid is empty if nothing is solid.
        """
        solid = self.region == SOLID
        if not solid.any():
            return np.empty((0, 0), dtype=np.float32), np.zeros(2), 1.0
        from scipy.ndimage import distance_transform_edt, gaussian_filter

        # Obstacles far from all walkable ground matter to nobody and could be large.
        corners = plane.apply(self.to_ground, pixel_centres(self.region.shape)[self.region == WALKABLE])
        low, high = corners.min(axis=0) - 1.0, corners.max(axis=0) + 1.0
        spacing = max(FINEST, float(np.sqrt(np.prod(high - low) / MOST_NODES)))
        columns, rows = np.ceil((high - low) / spacing).astype(int) + 1
        grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1) * spacing + low
        pixels = plane.apply(self.to_pixel, grid)
        column, row = np.rint(np.nan_to_num(pixels, nan=-1e9)).clip(-1e9, 1e9).astype(int).transpose(2, 0, 1)
        within = (column >= 0) & (column < solid.shape[1]) & (row >= 0) & (row < solid.shape[0])
        blocked = np.zeros(within.shape, dtype=bool)
        blocked[within] = solid[row[within], column[within]]
        if not blocked.any():
            return np.empty((0, 0), dtype=np.float32), np.zeros(2), 1.0
        # Signed, so that its slope points out of the obstacle inside of it too.
        distance = distance_transform_edt(~blocked) - distance_transform_edt(blocked)
        # Pixels make round obstacles flat in places, before which people would stand and wait.
        smooth = gaussian_filter(distance * spacing, ROUNDED / spacing)
        return smooth.astype(np.float32), low, spacing

    @cached_property
    def borders(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Walkable pixels at the end of the picture: (column, row) and the direction inwards, `(n, 2)` each.

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

    def order(self, points: Array) -> NDArray[np.int64]:
        """People at points `(n, 2)` in blocks of the picture: neighbours then use the same memory."""
        from marey.crowd.animation import _kernels

        order = np.empty(len(points), dtype=np.int64)
        _kernels.order_by_block(np.ascontiguousarray(points), self.to_pixel, *self.region.shape, BLOCK, order)
        return order

    def under(self, points: Array) -> NDArray[np.uint8]:
        """What people at points `(n, 2)` stand on, `(n,)`."""
        found = np.full(len(points), OUTSIDE, dtype=np.uint8)
        column, row = np.floor(np.nan_to_num(plane.apply(self.to_pixel, points), nan=-1e9) + 0.5).T
        rows, columns = self.region.shape
        within = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
        found[within] = self.region[row[within].astype(int), column[within].astype(int)]
        return found


def pixel_centres(shape: tuple[int, ...]) -> Array:
    """`(rows, columns, 2)`, (column, row) of each pixel."""
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(np.float64)
    return np.stack([columns, rows], axis=-1)


def nearest_walkable(region: BoolArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For pixels that are not `region` `(rows, columns)`: the nearest that is, and they, numbered `(n,)`."""
    if region.all():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    from scipy.ndimage import distance_transform_edt

    nearest = distance_transform_edt(~region, return_distances=False, return_indices=True)
    targets = np.flatnonzero(~region)
    sources = nearest[0].ravel()[targets] * region.shape[1] + nearest[1].ravel()[targets]
    return sources.astype(np.int64), targets.astype(np.int64)


def _guess(fields: FieldSeries) -> Array:
    some = fields.velocities[:: max(1, fields.frames // 50)]
    speeds = np.linalg.norm(some.astype(np.float64), axis=-1)
    if fields.mask is not None:
        speeds = speeds[:, fields.mask]
    moving = speeds[speeds > max(0.05, 0.1 * float(speeds.max(initial=0.0)))]
    typical = float(np.median(moving)) if moving.size else 1.0
    return plane.orthographic(WALKING_SPEED / (typical * fields.frame_rate))
