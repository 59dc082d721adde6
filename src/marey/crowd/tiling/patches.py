"""Captured flows placed in one environment: shifted, turned and scaled, their vectors with them.

Courty & Corpetti 2007, section 4.2 (tiling crowd patterns). Sampling is a sparse matrix made once for each
patch, four pixels an output pixel, applied to every frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, BoolArray
from marey.crowd.fields import FieldSeries, pixel_centres
from marey.errors import InputError

Masked = Literal["wall", "open"]


@dataclass(frozen=True, eq=False)
class Patch:
    """A captured flow and its place.

    Attributes:
        fields: The capture.
        column: Where in the environment its anchor lies, in pixels.
        row: As `column`.
        turn: Radians about the anchor, clockwise as seen in the image.
        scale: About the anchor; 2 makes it twice as large, and its people twice as fast in pixels.
        weight: How much it counts where patches overlap.
        centred: The anchor is the middle of the capture, not its first pixel.
        masked: What is outside its mask is "wall" in the environment, or "open" for other patches.
        start: Its first frame that is used.

    >>> patch = Patch(FieldSeries(np.ones((1, 3, 5, 2)), 25), 10, 4, turn=np.pi / 2)
    >>> patch.matrix().round(3).tolist()
    [[0.0, -1.0, 10.0], [1.0, 0.0, 4.0]]
    """

    fields: FieldSeries
    column: float = 0.0
    row: float = 0.0
    turn: float = 0.0
    scale: float = 1.0
    weight: float = 1.0
    centred: bool = False
    masked: Masked = "wall"
    start: int = 0

    def __post_init__(self) -> None:
        for name in ("column", "row", "turn"):
            if not abs(getattr(self, name)) < 1e6:
                raise InputError(f"{name}: a number, got {getattr(self, name)}")
        if not 0.01 <= self.scale <= 100:
            raise InputError(f"scale: from 0.01 to 100, got {self.scale:g}")
        if not 0 < self.weight < 1e6:
            raise InputError(f"weight: above 0, got {self.weight:g}")
        if self.masked not in ("wall", "open"):
            raise InputError(f"masked {self.masked!r}: wall or open")
        if not 0 <= self.start < self.fields.frames:
            raise InputError(f"start: a frame from 0 to {self.fields.frames - 1}, got {self.start}")

    def matrix(self) -> Array:
        """The map from its pixels `(column, row, 1)` to those of the environment, `(2, 3)`."""
        linear = self.scale * _rotation(self.turn)
        middle = 0.5 * self.centred * np.array([self.fields.columns - 1, self.fields.rows - 1])
        return np.column_stack([linear, np.array([self.column, self.row]) - linear @ middle])

    def corners(self) -> Array:
        """Its corner pixels in the environment, `(4, 2)`, in order around it."""
        right, bottom = self.fields.columns - 1.0, self.fields.rows - 1.0
        own = np.array([[0, 0, 1], [right, 0, 1], [right, bottom, 1], [0, bottom, 1]])
        return np.asarray(own @ self.matrix().T)


@dataclass(frozen=True, eq=False)
class PatchOnGrid:
    """A patch on the pixels of an environment of `rows` × `columns`; pixels are counted row by row."""

    patch: Patch
    rows: int
    columns: int

    @cached_property
    def footprint(self) -> BoolArray:
        """Where in the environment it lies, masked or not, `(pixels,)`."""
        own = self._own_places
        fields = self.patch.fields
        inside = (own > -1e-6) & (own < np.array([fields.columns, fields.rows]) - 1 + 1e-6)
        return np.asarray(inside.all(axis=1))

    @cached_property
    def cover(self) -> BoolArray:
        """Where it says something, `(pixels,)`."""
        column, row = np.rint(self._own_places[self.footprint]).astype(np.int64).T
        covered = np.zeros(self.rows * self.columns, dtype=np.bool_)
        covered[self.footprint] = self.patch.fields.valid[row, column]
        return covered

    def velocities(self, start: int, stop: int) -> Array:
        """Frames `(frames, pixels, 2)` in pixels of the environment; 0 where it says nothing."""
        first = self.patch.start
        part = self.patch.fields.velocities[first + start : first + stop]
        flat = np.asarray(part, dtype=np.float64).reshape(len(part), -1, 2)
        turned = flat @ (self.patch.scale * _rotation(self.patch.turn)).T
        columns = turned.transpose(1, 0, 2).reshape(turned.shape[1], -1)
        sampled = self._sampling @ columns
        return np.ascontiguousarray(sampled.reshape(-1, len(part), 2).transpose(1, 0, 2))

    def presence(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Who is seen, `(frames, pixels)`, at the nearest pixel; surely everywhere if it does not say."""
        seen = np.zeros((stop - start, self.rows * self.columns), dtype=np.uint8)
        column, row = np.rint(self._own_places[self.cover]).astype(np.int64).T
        known, first = self.patch.fields.presence, self.patch.start
        seen[:, self.cover] = 255 if known is None else known[first + start : first + stop, row, column]
        return seen

    @cached_property
    def _own_places(self) -> Array:
        """Pixels of the environment in its own pixels, `(pixels, 2)`."""
        matrix = self.patch.matrix()
        pixels = pixel_centres((self.rows, self.columns)).reshape(-1, 2)
        places = (pixels - matrix[:, 2]) @ np.linalg.inv(matrix[:, :2]).T
        whole = np.rint(places)
        return np.where(np.abs(places - whole) < 1e-9, whole, places)

    @cached_property
    def _sampling(self) -> Any:
        """Bilinear weights of its own pixels, those outside its mask left out, `(pixels, own pixels)`."""
        from scipy.sparse import csr_array

        fields = self.patch.fields
        pixels = np.flatnonzero(self.cover)
        places = self._own_places[pixels]
        size = np.array([fields.columns, fields.rows])
        below = np.clip(np.floor(places), 0, np.maximum(size - 2, 0)).astype(np.int64)
        share = np.clip(places - below, 0.0, 1.0)
        rows, columns, weights = [], [], []
        for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
            weight = np.where(dx, share[:, 0], 1 - share[:, 0]) * np.where(dy, share[:, 1], 1 - share[:, 1])
            column, row = np.minimum(below + np.array([dx, dy]), size - 1).T
            rows.append(pixels)
            columns.append(row * fields.columns + column)
            weights.append(weight * fields.valid[row, column])
        total = np.sum(weights, axis=0)
        shares = np.concatenate([weight / total for weight in weights])
        shape = (self.rows * self.columns, fields.rows * fields.columns)
        return csr_array((shares, (np.concatenate(rows), np.concatenate(columns))), shape=shape)


def _rotation(turn: float) -> Array:
    # Exact for quarter turns, so that pixels fall on pixels.
    quarters = turn / (math.pi / 2)
    if abs(quarters - round(quarters)) < 1e-12:
        cos, sin = ((1, 0), (0, 1), (-1, 0), (0, -1))[round(quarters) % 4]
    else:
        cos, sin = math.cos(turn), math.sin(turn)  # type: ignore[assignment]
    return np.array([[cos, -sin], [sin, cos]], dtype=np.float64)
