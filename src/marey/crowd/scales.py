"""The crowd's flow from the motion of people: an average over what is within reach, in space and time.

In a crossing no single field is both the motion of every person and the mean flow. A capture holds the first;
the second is its average, weighted by the presence of people, under a Gaussian on the ground (1.9 m wide at
half its height) and in time along the flow itself, so that people are averaged with themselves a moment
before and after. Divergence and vorticity, which are differences between people, mean something only then
(Courty & Corpetti 2007, section 3.1, regularise for the same end). A field depends on a fixed number of
fields before and after it. Cost: blurs on cells half as wide as the Gaussian's deviation, one to three
milliseconds a field; memory: the sums of the fields within reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray, FloatArray, read_only
from marey.crowd import cameras
from marey.crowd.fields import UNKNOWN, FieldSeries, pixel_centres

Plane = NDArray[np.float32]
FlowFrame = tuple[NDArray[np.float32], NDArray[np.uint8] | None]
"""A field `(rows, columns, 2)`, and how surely people are seen `(rows, columns)`."""


@dataclass(frozen=True, kw_only=True)
class ScaleSettings:
    """Numbers of the crowd's scale.

    Attributes:
        width: Standard deviation of the Gaussian on the ground, metres.
        share: The same as a share of the image's longer side, where no camera is known.
        seconds: Standard deviation of the Gaussian in time.
        slow: Share of the usual speed nearby at which a pixel counts half.
        still: What a pixel at rest counts.
        far: What those four times as far away count, which decides where nobody is near.
    """

    width: float = 0.8
    share: float = 1 / 50
    seconds: float = 0.25
    slow: float = 0.5
    still: float = 0.1
    far: float = 1e-3


SETTINGS = ScaleSettings()


class CrowdScale:
    """Averages of the fields of one grid.

    Args:
        shape: Rows and columns.
        frame_rate: Of the fields.
        homography: Pixels to metres, or None.
        mask: `(rows, columns)`, True where fields mean something; None = everywhere.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        frame_rate: float,
        homography: FloatArray | None = None,
        mask: BoolArray | None = None,
    ) -> None:
        self.shape, self.mask = shape, mask
        deviation = SETTINGS.seconds * frame_rate
        self.reach = int(np.ceil(2 * deviation))
        self.weights = np.exp(-0.5 * (np.arange(-self.reach, self.reach + 1) / max(deviation, 1e-9)) ** 2)
        widths = _widths(shape, homography)
        self.step = max(1, int(widths.min() / 2))
        self.cells = (-(-shape[0] // self.step), -(-shape[1] // self.step))
        # Levels a third apart; a cell takes its own from the two next to it.
        low, high = float(widths.min()), float(widths.max())
        count = 1 + int(np.ceil(np.log(high / low) / np.log(4 / 3) - 1e-3))
        self.levels = np.geomspace(low, high, count)
        local = _shrunk(widths, self.cells)
        self._level = np.interp(local, self.levels, np.arange(count)) if count > 1 else np.zeros(self.cells)
        rows, columns = np.mgrid[: self.cells[0], : self.cells[1]].astype(np.float32)
        self._places = columns, rows

    def sums(self, field: NDArray[np.float32], foreground: NDArray[np.uint8] | None) -> Plane:
        """Presence times velocity, and presence, `(cells, cells, 3)`, averaged in space."""
        from cv2 import GaussianBlur

        seen = np.ones(self.shape, np.float32)
        if foreground is not None:
            seen = np.minimum(foreground.astype(np.float32) / np.float32(UNKNOWN), 1) + np.float32(1e-4)
        if self.mask is not None:
            seen = seen * self.mask
        seen *= self._moving(field, seen)
        parts = np.dstack([seen * field[..., 0], seen * field[..., 1], seen])
        small = _shrunk(parts, self.cells)
        blurred = []
        for width in self.levels / self.step:
            near, far = (GaussianBlur(small, (0, 0), times * width, borderType=0) for times in (1, 4))
            blurred.append(near + np.float32(SETTINGS.far) * far)
        if len(blurred) == 1:
            return np.asarray(blurred[0])
        below = np.minimum(self._level.astype(int), len(blurred) - 2)[None, ..., None]
        share = (self._level[..., None] - below[0]).astype(np.float32)
        low, high = (np.take_along_axis(np.stack(blurred), below + k, axis=0)[0] for k in (0, 1))
        return np.asarray(low + share * (high - low))

    def _moving(self, field: NDArray[np.float32], seen: Plane) -> Plane:
        """What pixels count for by their speed: at the edges of people the ground is at rest."""
        import cv2

        speed = np.hypot(field[..., 0], field[..., 1])
        small = _shrunk(np.dstack([seen * speed, seen]), self.cells)
        near = cv2.GaussianBlur(small, (0, 0), 4 * float(self.levels[0]) / self.step, borderType=0)
        usual = near[..., 0] / np.maximum(near[..., 1], 1e-20)
        usual = cv2.resize(usual, self.shape[::-1], interpolation=cv2.INTER_LINEAR)
        square, half = speed * speed, np.square(SETTINGS.slow * usual) + np.float32(1e-12)
        still = np.float32(SETTINGS.still)
        return np.asarray(still + (1 - still) * square / (square + half))

    def field(self, sums: dict[int, Plane], at: int) -> NDArray[np.float32]:
        """The crowd's flow `(rows, columns, 2)` at field number `at`, of the sums there are round it."""
        import cv2

        here = sums[at]
        flow = here[..., :2] / np.maximum(here[..., 2:], 1e-20) / self.step
        columns, rows = self._places
        total = np.zeros_like(here)
        for number in sorted(sums):
            apart = number - at
            if abs(apart) > self.reach:
                continue
            x, y = columns + apart * flow[..., 0], rows + apart * flow[..., 1]
            moved = cv2.remap(sums[number], x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
            total += np.float32(self.weights[apart + self.reach]) * moved
        mean = total[..., :2] / np.maximum(total[..., 2:], 1e-20)
        whole = cv2.resize(mean, (self.cells[1] * self.step, self.cells[0] * self.step))
        whole = whole[: self.shape[0], : self.shape[1]]
        whole = whole if self.mask is None else whole * self.mask[..., None]
        return np.ascontiguousarray(whole, np.float32)

    def fields(self, people: Iterable[FlowFrame], start: int, stop: int, first: int) -> Iterator[FlowFrame]:
        """The fields `start` to `stop - 1`; `people`, those of people, begin at number `first`."""
        known: dict[int, Plane] = {}
        seen: dict[int, NDArray[np.uint8] | None] = {}
        wanted = start
        number = first - 1
        for number, (moved, foreground) in enumerate(people, first):
            known[number], seen[number] = self.sums(moved, foreground), foreground
            while wanted < stop and number >= wanted + self.reach:
                yield self.field(known, wanted), seen[wanted]
                wanted += 1
                for old in [old for old in known if old < wanted - self.reach]:
                    del known[old], seen[old]
        while wanted < min(stop, number + 1):
            yield self.field(known, wanted), seen[wanted]
            wanted += 1


def crowd_flow(series: FieldSeries) -> FieldSeries:
    """The flow of the crowd in a series of the motion of people; one that is that already, as it is.

    >>> from marey import samples
    >>> flow = samples.field(rows=20, columns=30, seconds=1)
    >>> crowd_flow(flow).velocities.shape == flow.velocities.shape
    True
    """
    if series.scale != "person":
        return series
    scale = CrowdScale((series.rows, series.columns), series.frame_rate, series.homography, series.mask)
    seen = [None] * series.frames if series.foreground is None else series.foreground
    frames = zip(np.asarray(series.velocities, np.float32), seen, strict=True)
    velocities = np.empty(series.velocities.shape, np.float32)
    for number, (field, _) in enumerate(scale.fields(frames, 0, series.frames, 0)):
        velocities[number] = field
    return replace(series, velocities=read_only(velocities), scale="crowd")


def _widths(shape: tuple[int, int], homography: FloatArray | None) -> Plane:
    """Pixels of the Gaussian's standard deviation at every pixel."""
    longer = max(shape)
    if homography is None:
        return np.full(shape, max(1.0, SETTINGS.share * longer), np.float32)
    pixels = pixel_centres(shape)
    seen = cameras.facing(homography, pixels)
    slopes = cameras.jacobian(homography, pixels)
    slopes = np.where(seen[..., None, None] & np.isfinite(slopes), slopes, 0.0)
    # Across the view a pixel is not foreshortened.
    metres = np.linalg.svd(slopes, compute_uv=False)[..., -1]
    widths = SETTINGS.width / np.maximum(metres, 1e-6)
    return np.asarray(np.clip(widths, 1.0, 0.1 * longer), np.float32)


def _shrunk(image: Plane, cells: tuple[int, int]) -> Plane:
    from cv2 import INTER_AREA, resize

    return np.asarray(resize(image, cells[::-1], interpolation=INTER_AREA), np.float32)
