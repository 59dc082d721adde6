"""What a camera shows of a crowd on the ground: its motion at cells, and how much of each pixel it covers.

A standing body covers a silhouette. Where people with density ρ stand independently, but not in each other, a
pixel stays free with probability exp(-Σ a ρ'), summed over the cells whose people would cover it, with
ρ' = -P log(1 - ρ / P) and P the density of bodies that touch. Seen from above that is nearly linear; from the
side it saturates, and says no more than it knows. Nothing is carried through a plane. Cost: 50 µs a cell
once, then a sparse product of some 10⁵ numbers an image.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, checked
from marey.crowd import cameras
from marey.crowd.cameras import Camera
from marey.crowd.density.transport import Ground, Transport
from marey.crowd.fields import UNKNOWN, pixel_map
from marey.errors import InputError

BODY = ((0.05, 0.16), (0.9, 0.2), (1.4, 0.24), (1.72, 0.1))
"""Heights and radii, metres, of discs whose convex hull is a body."""
PACKED = 6.0
"""People per square metre whose bodies touch."""


@dataclass(frozen=True, eq=False)
class GroundView:
    """How images of one size show a ground.

    Attributes:
        ground: Its free cells.
        shape: Rows and columns of the images.
        homography: `(3, 3)`, pixels to the plane in which motion is seen.
        camera: With its height over the ground; None = straight from above.
        longest: Pixels along the longer side to which presence is averaged.
    """

    ground: Ground
    shape: tuple[int, int]
    homography: Array
    camera: Camera | None = None
    longest: int = 160

    def pixels(self, points: ArrayLike, height: float | None = None) -> Array:
        """Where `(…, 2)` m at a height are seen, `(…, 2)` column and row; None = where motion is seen."""
        matrix = self.homography
        if self.camera is not None and height is not None:
            matrix = self.camera.homography_at(height) @ pixel_map(self.shape, self.camera.size[::-1])
        seen = cameras.apply(cameras.inverse(matrix), points)
        lowest = np.array([0.5 * self.shape[1], self.shape[0] - 1.0])
        ahead = np.sign((np.linalg.inv(matrix) @ [*cameras.apply(matrix, lowest), 1.0])[2])
        given = np.asarray(points, dtype=np.float64)
        depth = given @ np.linalg.inv(matrix)[2, :2] + np.linalg.inv(matrix)[2, 2]
        return np.where((depth * ahead > 0)[..., None], seen, np.nan)

    @cached_property
    def _cells(self) -> tuple[NDArray[np.float32], Array, NDArray[np.float32]]:
        """Pixels of cells `(cells, 2)`, metres a pixel `(cells, 2, 2)`, and 1 where they are in the image."""
        seen = self.pixels(self.ground.centres)
        inside = ((seen >= -0.5) & (seen <= np.array(self.shape[::-1]) - 0.5)).all(axis=1)
        if not inside.any():
            raise InputError("camera: no part of the scene is in the image")
        seen = np.where(inside[:, None], seen, 0.0)
        return seen.astype(np.float32), cameras.jacobian(self.homography, seen), inside.astype(np.float32)

    def motion(self, velocities: NDArray[np.float32], frame_rate: float) -> Array:
        """Velocities `(rows, columns, 2)` px/frame at cells, `(cells, 2)` m/s."""
        from cv2 import INTER_LINEAR, remap

        at, slopes, _ = self._cells
        seen = remap(np.ascontiguousarray(velocities, np.float32), at[:, :1], at[:, 1:], INTER_LINEAR)
        return np.einsum("cij,cj->ci", slopes, seen[:, 0].astype(np.float64)) * frame_rate

    def confidence(self, foreground: NDArray[np.uint8] | None) -> Array:
        """How surely people are seen at cells, `(cells,)` from 0 to 1; 0 outside the image."""
        import cv2

        at, _, inside = self._cells
        if foreground is None:
            return inside.astype(np.float64)
        sure = cv2.boxFilter(np.minimum(foreground.astype(np.float32) / UNKNOWN, 1.0), -1, (5, 5))
        return np.asarray(cv2.remap(sure, at[:, :1], at[:, 1:], cv2.INTER_LINEAR)[:, 0] * inside, np.float64)

    @cached_property
    def pooled(self) -> tuple[int, int]:
        """Rows and columns of averaged presence."""
        share = min(1.0, self.longest / max(self.shape))
        return max(1, round(self.shape[0] * share)), max(1, round(self.shape[1] * share))

    def presence(self, foreground: NDArray[np.uint8]) -> Array:
        """Covered share of averaged pixels `(pixels,)`; NaN where it is mostly unknown."""
        from cv2 import INTER_AREA, resize

        known = (foreground != UNKNOWN).astype(np.float32)
        covered = (foreground > UNKNOWN).astype(np.float32)
        size = self.pooled[::-1]
        share, sure = (resize(one, size, interpolation=INTER_AREA).ravel() for one in (covered, known))
        return np.where(sure > 0.5, share / np.maximum(sure, 0.5), np.nan).astype(np.float64)

    @cached_property
    def silhouettes(self) -> Any:
        """Sparse `(pixels, cells)`: how much of a pixel a person in a cell covers, times the cell's area."""
        from scipy import sparse

        rows, columns = self.pooled
        turn = np.arange(12) * (np.pi / 6)
        ring = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        to_pooled = pixel_map(self.shape, self.pooled)
        outline = [
            cameras.apply(to_pooled, self.pixels(self.ground.centres[:, None] + radius * ring, height))
            for height, radius in BODY
        ]
        points = np.concatenate(outline, axis=1)
        low = np.floor(points.min(axis=1) + 0.5)
        high = np.floor(points.max(axis=1) + 0.5)
        # What fills the image, or lies behind the camera, is not seen as a person.
        usable = np.isfinite(points).all(axis=(1, 2)) & ((high - low) < [columns, rows]).all(axis=1)
        usable &= (high >= 0).all(axis=1) & (low < [columns, rows]).all(axis=1)
        found: list[tuple[Array, Array, Array]] = []
        for cell in np.flatnonzero(usable):
            pixels, share = _painted(points[cell], low[cell], high[cell], (rows, columns))
            found.append((pixels, np.full(len(pixels), cell), share))
        if not found:
            raise InputError("camera: no part of the scene is in the image")
        at, cells, shares = (np.concatenate(parts) for parts in zip(*found, strict=True))
        size = (rows * columns, self.ground.cells)
        return sparse.csr_array((shares * self.ground.spacing**2, (at, cells)), shape=size)

    @cached_property
    def weights(self) -> Array:
        """1 / √(pixels of a silhouette) at each averaged pixel `(pixels,)`; 0 where none is."""
        areas = self.silhouettes
        total = np.asarray(areas.sum(axis=1)).ravel()
        sizes = np.asarray(areas.sum(axis=0)).ravel() / self.ground.spacing**2
        mean = (areas @ sizes) / np.maximum(total, 1e-12)
        return np.where(total > 0, 1.0 / np.sqrt(np.maximum(mean, 1.0)), 0.0)


def _painted(
    points: Array, low: Array, high: Array, shape: tuple[int, int], finer: int = 4
) -> tuple[Array, Array]:
    """Numbers of the pixels within the convex hull of points, and the share of each that it covers."""
    import cv2

    width, height = (high - low + 1).astype(int)
    patch = np.zeros((height * finer, width * finer), np.uint8)
    corners = np.rint(((points - low + 0.5) * finer - 0.5) * 16).astype(np.int32)
    cv2.fillConvexPoly(patch, cv2.convexHull(corners), 1, shift=4)
    share = patch.reshape(height, finer, width, finer).mean(axis=(1, 3))
    at = np.argwhere(share > 0)
    place = at + low[::-1].astype(int)
    inside = ((place >= 0) & (place < shape)).all(axis=1)
    place, at = place[inside], at[inside]
    return place[:, 0] * shape[1] + place[:, 1], share[at[:, 0], at[:, 1]]


class CoverageObservation:
    """Covered pixels as an observation of a transport's density.

    Args:
        transport: Whose states are observed.
        view: Its silhouettes.
        covered: `(frames, pixels)` from 0 to 1; NaN where nothing is known.
        deviation: Of the covered share of one silhouette, with its pixels as one value.
    """

    def __init__(
        self, transport: Transport, view: GroundView, covered: ArrayLike, deviation: ArrayLike
    ) -> None:
        self.transport, self.areas = transport, view.silhouettes
        self.covered = checked("covered", covered, (None, self.areas.shape[0]), finite=False)
        known = np.isfinite(self.covered)
        self.weights = np.where(known, view.weights, 0.0) / np.asarray(deviation)
        self.covered = np.where(known, self.covered, 0.0)

    def _known(self, n: int) -> bool:
        return n < len(self.covered) and bool(self.weights[n].any())

    def _free(self, state: Array) -> tuple[Array, Array]:
        """Chance that a pixel is free `(pixels,)`, and the slope of ρ' `(cells,)`."""
        density = self.transport.density(state).sum(axis=0)
        room = np.clip(1.0 - density / PACKED, 0.1, 1.0)
        # Beyond the ends straight on, so that the slope is continuous.
        bound = PACKED * (1.0 - room)
        return np.exp(-(self.areas @ (-PACKED * np.log(room) + (density - bound) / room))), 1.0 / room

    def residual(self, n: int, state: Array) -> Array:
        """(Covered share expected - seen) / deviation, `(pixels,)`; empty at frames without values."""
        if not self._known(n):
            return np.zeros(0)
        return np.asarray((1.0 - self._free(state)[0] - self.covered[n]) * self.weights[n])

    def tangent(self, n: int, state: Array, direction: Array) -> Array:
        """How the residual changes."""
        if not self._known(n):
            return np.zeros(0)
        free, slope = self._free(state)
        change = self.transport.density(direction).sum(axis=0)
        return np.asarray(free * (self.areas @ (slope * change)) * self.weights[n])

    def adjoint(self, n: int, state: Array, cotangent: Array) -> Array:
        """The transpose of :meth:`tangent`."""
        free, slope = self._free(state)
        each = slope * (self.areas.T @ (free * cotangent * self.weights[n]))
        return self.transport.state(np.broadcast_to(each, self.transport.shape))
