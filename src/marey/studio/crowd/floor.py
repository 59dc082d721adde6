"""The part of the ground that is shown: metres of a plan to places of the scene, and images laid on it.

The plan's x is the scene's x, its y points away from the viewer (scene `-z`); the middle of the floor is the
scene's origin. Floors too large or small to look at are shown to scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import AnyArray, Array
from marey.crowd import cameras as plane
from marey.crowd.animation.ground import WALKABLE, WalkableGround
from marey.crowd.fields import pixel_centres
from marey.crowd.tracks import Tracks


@dataclass(frozen=True, eq=False)
class Floor:
    """A rectangle of the ground from `low` to `high`, `(2,)` metres each.

    >>> floor = Floor(np.array([0.0, 0.0]), np.array([20.0, 10.0]))
    >>> floor.to_scene([20.0, 10.0]).tolist(), floor.to_ground([10.0, -5.0]).tolist()
    ([10.0, 0.0, -5.0], [20.0, 10.0])
    """

    low: Array
    high: Array

    @classmethod
    def under(cls, place: WalkableGround) -> Floor:
        """The ground that a camera sees, without the far distance."""
        seen = plane.apply(place.to_ground, pixel_centres(place.region.shape)[place.region == WALKABLE])
        pixel = 0.5 * np.sqrt(float(np.median(place.cell_areas[place.region == WALKABLE])))
        # Pixels far away see much ground: the floor ends before the last of them.
        far = 0.01 if abs(place.to_ground[2, :2]).max() > 1e-12 else 0.0
        low, high = np.quantile(seen, [far, 1 - far], axis=0)
        return cls(low - pixel, high + pixel)

    @classmethod
    def round(cls, tracks: Tracks) -> Floor:
        """The ground on which people are."""
        places = tracks.positions[tracks.present]
        if not len(places):
            return cls(np.zeros(2), np.ones(2))
        return cls(places.min(axis=0) - 1.0, places.max(axis=0) + 1.0)

    @property
    def size(self) -> Array:
        """Width and depth `(2,)`, metres."""
        return np.maximum(self.high - self.low, 1e-6)

    @property
    def scale(self) -> float:
        """Metres of the scene for a metre of the ground; 1 unless the floor is very large or small."""
        longest = float(self.size.max())
        return 1.0 if 2.0 <= longest <= 110.0 else 40.0 / longest

    def to_scene(self, points: ArrayLike, height: float = 0.0) -> NDArray[np.float32]:
        """Places of the scene `(..., 3)` of the plan's points `(..., 2)`."""
        offset = self.scale * (np.asarray(points, np.float64) - 0.5 * (self.low + self.high))
        lifted = np.full(offset.shape[:-1], height)
        return np.stack([offset[..., 0], lifted, -offset[..., 1]], axis=-1).astype(np.float32)

    def to_ground(self, places: ArrayLike) -> Array:
        """The plan's points `(..., 2)` at the scene's `(x, z)` `(..., 2)`."""
        return np.asarray(places, np.float64) * [1, -1] / self.scale + 0.5 * (self.low + self.high)

    def sheet(self, longest: int) -> Sheet:
        """An image that covers the floor, its longer side so many pixels."""
        spacing = float(self.size.max()) / longest
        columns, rows = np.maximum(np.rint(self.size / spacing).astype(int), 2)
        return Sheet(self, int(rows), int(columns))


@dataclass(frozen=True, eq=False)
class Sheet:
    """An image of `rows` by `columns` pixels that lies on a floor, seen from above."""

    floor: Floor
    rows: int
    columns: int

    @property
    def spacing(self) -> Array:
        """Metres between columns and between rows `(2,)`."""
        return self.floor.size / [self.columns, self.rows]

    @property
    def to_ground(self) -> Array:
        """`(3, 3)`, pixels `(column, row, 1)` to metres."""
        across, down = self.spacing
        return np.array(
            [
                [across, 0.0, self.floor.low[0] + 0.5 * across],
                [0.0, -down, self.floor.high[1] - 0.5 * down],
                [0.0, 0.0, 1.0],
            ]
        )

    def laid(self, image: AnyArray, to_ground: Array) -> AnyArray:
        """An image of the ground, whose pixels a homography takes to metres, seen from above; 0 outside."""
        import cv2

        through = plane.inverse(to_ground) @ self.to_ground
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return np.asarray(cv2.warpPerspective(image, through, (self.columns, self.rows), flags=flags))
