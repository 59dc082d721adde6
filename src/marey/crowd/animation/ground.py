"""The ground that a velocity field sees, and its velocities at any moment.

Courty & Corpetti 2007, section 4.1: agents live on the ground, motion is known in the image. Obstacles are
the masked pixels; the distance to them is measured on the ground, in metres. Field n is how far pixels move
from frame n to frame n + 1: a mean over that time, so it holds half a frame after frame n. Fields are linear
between the captured ones, or a sum of waves at its exact time; the stages of a Runge–Kutta step need them
between frames (Courty 2013, section 7.1). Cost: a distance transform; one pass over the pixels a moment,
with waves one for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, BoolArray, FloatArray, Integers
from marey.crowd import cameras
from marey.crowd.fields import FieldSeries, pixel_centres
from marey.crowd.spectrum import FourierFields
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
    def arrays(self) -> tuple[Array, Array, NDArray[np.uint8], tuple[NDArray[np.float32], Array, float]]:
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


Fields = FieldSeries | FourierFields


@dataclass(eq=False)
class Flow:
    """A field series as a function of time; its first frame is at 0 seconds, field n at (n + ½) frames.

    Attributes:
        fields: The series.
        ground: Its ground.
        repeat: Begin again after the last field; otherwise it stays.
        waves: The same series as temporal coefficients, which give it at any time without mixing.

    >>> speeding = FieldSeries(np.arange(2.0)[:, None, None, None] * np.ones((2, 2, 2, 2)), 10)
    >>> Flow.of(speeding).at(0.1)[0, 0].tolist()
    [0.5, 0.5]
    """

    fields: FieldSeries
    ground: WalkableGround
    repeat: bool = False
    waves: FourierFields | None = None
    _sources: tuple[Integers, Integers] = field(init=False, repr=False)
    _latest: tuple[float, FloatArray] | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, fields: Fields, *, repeat: bool = False) -> Flow:
        """That of a series, or of its temporal coefficients."""
        waves = fields if isinstance(fields, FourierFields) else None
        series = fields.decode() if isinstance(fields, FourierFields) else fields
        return cls(series, WalkableGround.of(series), repeat, waves)

    def __post_init__(self) -> None:
        self._sources = _nearest_walkable(self.ground.region == WALKABLE)

    def at(self, seconds: float) -> FloatArray:
        """Velocities `(rows, columns, 2)`, pixels per frame; unwalkable pixels move as their neighbours."""
        if self._latest is not None and self._latest[0] == seconds:
            return self._latest[1]
        from marey.crowd.animation import _kernels

        position, share = self._position(seconds), 0.0
        if self.waves is not None:
            before = after = self.waves.velocities_at([position])[0]
        else:
            frames, first = self.fields.frames, int(np.floor(position))
            share = position - first
            around = np.array([first, first + 1])
            around = around % frames if self.repeat else np.clip(around, 0, frames - 1)
            before, after = (self.fields.velocities[n] for n in around)
        mixed = np.empty(before.shape, dtype=before.dtype)
        _kernels.mix(before, after, share, *self._sources, mixed)
        self._latest = seconds, mixed
        return mixed

    def foreground(self, seconds: float) -> FloatArray | None:
        """How surely people are seen at a moment `(rows, columns)`, 0 to 1; None if the series has none."""
        if self.fields.foreground is None:
            return None
        frame = int(np.rint(self._position(seconds)))
        seen = self.fields.foreground[min(max(frame, 0), self.fields.frames - 1)]
        return np.asarray(seen / np.float32(255), dtype=np.float32)

    def _position(self, seconds: float) -> float:
        """Fields from the middle of the first, -½ at the series' start to frames - ½ at its end."""
        frames = self.fields.frames
        passed = seconds * self.fields.frame_rate
        whole = np.rint(2 * passed)
        passed = float(0.5 * whole) if abs(2 * passed - whole) < 1e-9 * max(1.0, whole) else passed
        if self.repeat:
            passed %= frames
        return min(max(passed, 0.0), float(frames)) - 0.5


def _nearest_walkable(region: BoolArray) -> tuple[Integers, Integers]:
    """For pixels that are not `region` `(rows, columns)`: the nearest that is, and they, numbered `(n,)`."""
    from scipy.ndimage import distance_transform_edt

    if region.all():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    nearest = distance_transform_edt(~region, return_distances=False, return_indices=True)
    targets = np.flatnonzero(~region)
    sources = np.ravel_multi_index(tuple(nearest.reshape(2, -1)[:, targets]), region.shape)
    return np.asarray(sources, dtype=np.int64), targets
