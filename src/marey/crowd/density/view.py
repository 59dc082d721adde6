"""What a camera shows of a crowd on the ground: its motion at cells, and how much of each pixel it covers.

A standing body covers a silhouette. Where people with density ρ stand independently, but not in each other, a
pixel stays free with probability exp(-Σ a ρ'), summed over the cells whose people would cover it, with
ρ' = -P log(1 - ρ / P) and P the density of bodies that touch. Seen from above that is nearly linear; from the
side it saturates, and says no more than it knows. Nothing is carried through a plane. Cost: 50 µs a cell
once, then a sparse product of some 10⁵ numbers an image.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, BoolArray, checked
from marey.crowd import cameras
from marey.crowd.cameras import Camera
from marey.crowd.density.transport import Ground, Transport
from marey.crowd.fields import UNKNOWN, pixel_centres, pixel_map
from marey.errors import InputError

BODY = ((0.05, 0.16), (0.5, 0.16), (0.95, 0.2), (1.25, 0.23), (1.45, 0.22), (1.72, 0.1))
"""Heights and radii, metres, of discs whose convex hull is a body."""
MOVING = (0.3, 0.7)
"""Speed, m/s, from which people are where presence is not known, and the share of pixels they cover there."""
WALL = 2.5
"""Metres: height of obstacles."""
MIDDLE = 0.9
"""Metres: where the motion of bodies is seen."""
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
        walls: Edges of obstacles `(edges, 4)`, which hide what is behind them.
        shadow: Metres by which a shadow falls to x and y for each metre of height.
        grow: Pixels by which presence is wider than bodies.
        longest: Pixels along the longer side to which presence is averaged.
    """

    ground: Ground
    shape: tuple[int, int]
    homography: Array
    camera: Camera | None = None
    walls: Array = field(default_factory=lambda: np.zeros((0, 4)))
    shadow: tuple[float, float] = (0.0, 0.0)
    grow: float = 1.0
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
        inside &= ~self.hidden(self.ground.centres, MIDDLE)
        if not inside.any():
            raise InputError("camera: no part of the scene is in the image")
        seen = np.where(inside[:, None], seen, 0.0)
        return seen.astype(np.float32), cameras.jacobian(self.homography, seen), inside.astype(np.float32)

    @property
    def inside(self) -> BoolArray:
        """Which cells are in the image, `(cells,)`."""
        return self._cells[2] > 0

    def motion(self, velocities: NDArray[np.float32], frame_rate: float) -> Array:
        """Velocities `(rows, columns, 2)` px/frame at cells, `(cells, 2)` m/s."""
        from cv2 import INTER_LINEAR, remap

        at, slopes, _ = self._cells
        seen = remap(np.ascontiguousarray(velocities, np.float32), at[:, :1], at[:, 1:], INTER_LINEAR)
        return np.asarray(np.einsum("cij,cj->ci", slopes, seen[:, 0].astype(np.float64)) * frame_rate)

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

    def presence(self, foreground: NDArray[np.uint8], flow: Array | None = None) -> Array:
        """Covered share of averaged pixels `(pixels,)`; NaN where it is mostly unknown.

        Where it is, but the flow `(rows, columns, 2)` px/s moves, there are people.
        """
        from cv2 import INTER_AREA, resize

        unknown = foreground == UNKNOWN
        covered = (foreground > UNKNOWN).astype(np.float32)
        if flow is not None:
            moving = unknown & (np.hypot(flow[..., 0], flow[..., 1]) * self._metres > MOVING[0])
            covered[moving], unknown = MOVING[1], unknown & ~moving
        size = self.pooled[::-1]
        share, sure = (
            resize(one, size, interpolation=INTER_AREA).ravel()
            for one in (covered, (~unknown).astype(np.float32))
        )
        return np.where(sure > 0.5, share / np.maximum(sure, 0.5), np.nan).astype(np.float64)

    @cached_property
    def _metres(self) -> Array:
        """Metres across a pixel `(rows, columns)`."""
        slopes = cameras.jacobian(self.homography, pixel_centres(self.shape))
        return np.asarray(np.nan_to_num(np.linalg.svd(slopes, compute_uv=False)[..., -1]))

    @cached_property
    def silhouettes(self) -> Any:
        """Sparse `(pixels, cells)`: how much of a pixel a person in a cell covers, times the cell's area."""
        from scipy import sparse

        outlines = self._outlines(self.ground.centres, pixel_map(self.shape, self.pooled))
        share = self.pooled[1] / self.shape[1]
        rows, columns = self.pooled
        found: list[tuple[Array, Array, Array]] = []
        for cell, (body, shadow) in enumerate(zip(*outlines, strict=True)):
            painted = _painted(body, shadow, self.grow * share, (rows, columns))
            if painted is not None:
                (low, high), patch = painted
                at = np.argwhere(patch > 0)
                place = at + np.array([high, low])
                inside = ((place >= 0) & (place < (rows, columns))).all(axis=1)
                pixels = place[inside] @ [columns, 1]
                found.append((pixels, np.full(len(pixels), cell), patch[tuple(at[inside].T)]))
        if not found:
            raise InputError("camera: no part of the scene is in the image")
        at, cells, shares = (np.concatenate(parts) for parts in zip(*found, strict=True))
        size = (rows * columns, self.ground.cells)
        return sparse.csr_array((shares * self.ground.spacing**2, (at, cells)), shape=size)

    def _outlines(self, places: Array, change: Array) -> tuple[Array, Array]:
        """Points round bodies at `(n, 2)` m, and round their shadows, `(n, points, 2)`; NaN where hidden."""
        turn = np.arange(12) * (np.pi / 6)
        ring = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        bodies, shadows = [], []
        for height, radius in BODY:
            points = places[:, None] + radius * ring
            seen = cameras.apply(change, self.pixels(points, height))
            bodies.append(np.where(self.hidden(points, height)[..., None], np.nan, seen))
            below = points + height * np.asarray(self.shadow)
            seen = cameras.apply(change, self.pixels(below, 0.0))
            shadows.append(np.where(self.hidden(below, 0.0)[..., None], np.nan, seen))
        cast = np.concatenate(shadows, axis=1) if any(self.shadow) else np.zeros((len(places), 0, 2))
        return np.concatenate(bodies, axis=1), cast

    def hidden(self, points: Array, height: float) -> BoolArray:
        """Which points `(…, 2)` at a height are behind walls."""
        found = np.zeros(points.shape[:-1], dtype=bool)
        if self.camera is None:
            return found
        eye = self.camera.position
        away = points - eye[:2]
        for start, end in self.walls.reshape(-1, 2, 2):
            along, near = end - start, start - eye[:2]
            with np.errstate(divide="ignore", invalid="ignore"):
                across = away[..., 0] * along[1] - away[..., 1] * along[0]
                reach = (near[0] * along[1] - near[1] * along[0]) / across
                place = (near[0] * away[..., 1] - near[1] * away[..., 0]) / across
                over = eye[2] + reach * (height - eye[2])
                found |= (reach > 0) & (reach < 1) & (place >= 0) & (place <= 1) & (over < WALL)
        return found

    def calibrated(self, shown: Iterable[NDArray[np.uint8]], most: int = 40) -> GroundView:
        """With shadows, and bodies grown, as single people in some foregrounds have them."""
        import cv2

        blobs: list[tuple[NDArray[np.bool_], Array]] = []
        for foreground in shown:
            unknown = cv2.dilate((foreground == UNKNOWN).astype(np.uint8), np.ones((3, 3), np.uint8))
            _, parts, boxes, middles = cv2.connectedComponentsWithStats(
                (foreground > UNKNOWN).astype(np.uint8)
            )
            for number, (x, y, w, h, size) in enumerate(boxes[1:], start=1):
                whole = x > 0 and y > 0 and x + w < self.shape[1] and y + h < self.shape[0]
                part = parts[y : y + h, x : x + w] == number
                if whole and size > 8 and not (unknown[y : y + h, x : x + w].astype(bool) & part).any():
                    blobs.append((part, middles[number]))
        if not blobs:
            return self
        matrix = (
            self.homography
            if self.camera is None
            else self.camera.homography_at(0.6) @ pixel_map(self.shape, self.camera.size[::-1])
        )
        places = cameras.apply(matrix, np.stack([middle for _, middle in blobs]))
        plain, _ = self._outlines(places, np.eye(3))
        with np.errstate(invalid="ignore"):
            areas = np.array([_area(one) for one in plain])
        # Groups are several times as large as the smallest blobs, which are single people.
        ratio = np.array([part.sum() for part, _ in blobs]) / np.maximum(areas, 1e-9)
        person = (ratio > 0.5) & np.isfinite(ratio)
        if person.sum() < 5:
            return self
        person &= ratio < 1.3 * np.quantile(ratio[person], 0.2)
        chosen = np.flatnonzero(person)[:: max(1, int(person.sum()) // most)]
        best, found = -1.0, self
        for length in (0.0, 0.5, 1.0, 1.6):
            for turn in np.arange(8 if length else 1) * (np.pi / 4):
                for grow in (0.0, 0.75, 1.5):
                    shadow = (length * float(np.cos(turn)), length * float(np.sin(turn)))
                    tried = replace(self, shadow=shadow, grow=grow)
                    outlines = tried._outlines(places[chosen], np.eye(3))
                    overlap = np.mean(
                        [_overlap(blobs[n][0], *one, grow) for n, one in zip(chosen, zip(*outlines))]
                    )
                    if overlap > best + 1e-3:
                        best, found = float(overlap), tried
        return found

    @cached_property
    def weights(self) -> Array:
        """1 / √(pixels of a silhouette) at each averaged pixel `(pixels,)`; 0 where none is."""
        areas = self.silhouettes
        total = np.asarray(areas.sum(axis=1)).ravel()
        sizes = np.asarray(areas.sum(axis=0)).ravel() / self.ground.spacing**2
        mean = (areas @ sizes) / np.maximum(total, 1e-12)
        return np.where(total > 0, 1.0 / np.sqrt(np.maximum(mean, 1.0)), 0.0)


def _painted(
    body: Array, shadow: Array, grow: float, shape: tuple[int, int] | None, finer: int = 4
) -> tuple[tuple[int, int], Array] | None:
    """Column and row of a patch, and the share of each pixel `(rows, columns)` that body and shadow cover."""
    import cv2

    hulls = [points[np.isfinite(points).all(axis=1)] for points in (body, shadow)]
    hulls = [points for points in hulls if len(points) > 2]
    if not hulls:
        return None
    both = np.concatenate(hulls)
    low, high = np.floor(both.min(axis=0) + 0.5 - grow), np.floor(both.max(axis=0) + 0.5 + grow)
    # What fills the image, or does not touch it, is not seen as a person.
    if shape is not None:
        size = np.array(shape[::-1])
        if (high - low >= size).any() or (high < 0).any() or (low >= size).any():
            return None
    elif (high - low > 400).any():
        return None
    width, height = (high - low + 1).astype(int)
    patch = np.zeros((height * finer, width * finer), np.uint8)
    for points in hulls:
        corners = np.rint(((points - low + 0.5) * finer - 0.5) * 16).astype(np.int32)
        cv2.fillConvexPoly(patch, cv2.convexHull(corners), 1, shift=4)
    if grow > 0:
        reach = 2 * round(grow * finer) + 1
        patch = cv2.dilate(patch, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach)))
    share = patch.reshape(height, finer, width, finer).mean(axis=(1, 3))
    return (int(low[0]), int(low[1])), share


def _area(points: Array) -> float:
    """Of the convex hull of the finite ones, pixels."""
    import cv2

    known = points[np.isfinite(points).all(axis=1)].astype(np.float32)
    return float(cv2.contourArea(cv2.convexHull(known))) if len(known) > 2 else np.nan


def _overlap(blob: BoolArray, body: Array, shadow: Array, grow: float) -> float:
    """Intersection over union of a blob and a silhouette, centre on centre."""
    painted = _painted(body, shadow, grow, None)
    if painted is None:
        return 0.0
    drawn = painted[1] > 0.5
    if not drawn.any():
        return 0.0
    size = np.maximum(blob.shape, drawn.shape) * 2 + 2
    planes = []
    for one in (blob, drawn):
        plane = np.zeros(size, dtype=bool)
        at = np.rint(size / 2 - np.argwhere(one).mean(axis=0)).astype(int)
        at = np.clip(at, 0, size - one.shape)
        plane[at[0] : at[0] + one.shape[0], at[1] : at[1] + one.shape[1]] = one
        planes.append(plane)
    return float((planes[0] & planes[1]).sum() / (planes[0] | planes[1]).sum())


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
