"""A captured field against all that is known of the truth, as one row of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.crowd.evaluation.fields import ErrorSums, endpoint_map
from marey.crowd.evaluation.grids import on_grid, to_grid
from marey.crowd.evaluation.paths import path_errors
from marey.crowd.fields import UNKNOWN, FieldSeries
from marey.crowd.tracks import Tracks
from marey.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known: the motion in the picture, and where people are on the ground; one of them may miss.

    everywhere: whether pixels without people count too
    """

    fields: FieldSeries | None = None
    tracks: Tracks | None = None
    everywhere: bool = False

    def counts(self, frame: int) -> BoolArray:
        """Pixels `(rows, columns)` whose motion is known."""
        assert self.fields is not None
        counts = np.ones((self.fields.rows, self.fields.columns), dtype=bool)
        if self.fields.mask is not None:
            counts &= self.fields.mask
        if self.fields.presence is not None and not self.everywhere:
            seen = self.fields.presence[frame]
            # More than one half; a frame that tells nothing is like a truth without presence.
            counts &= (seen > UNKNOWN) | (seen == UNKNOWN).all()
        return counts


def compare(fields: FieldSeries, truth: Truth) -> dict[str, Any]:
    """Errors by name: endpoint, angular_degrees, divergence, vorticity, trajectory_m and more.

    Field errors are in pixels of the truth's grid; None where the truth does not tell. `trajectory_m` is the
    mean distance after the longest of 1, 2 and 5 seconds that the series is long enough for.

    >>> from marey import samples
    >>> flow = samples.field(rows=20, columns=30, seconds=1)
    >>> compare(flow, Truth(flow))["endpoint"]
    0.0
    """
    row: dict[str, Any] = dict.fromkeys(
        (
            "endpoint",
            "angular_degrees",
            "divergence",
            "vorticity",
            "relative_divergence",
            "relative_vorticity",
            "pixels",
        )
    )
    placed = fields
    if truth.fields is not None:
        _check(fields, truth.fields)
        sums = ErrorSums()
        for frame in range(min(fields.frames, truth.fields.frames)):
            found = on_grid(fields.velocities[frame], truth.fields.rows, truth.fields.columns)
            sums.add(found, truth.fields.velocities[frame], truth.counts(frame))
        row |= sums.errors().as_dict()
        if truth.fields.homography is not None:
            shapes = (fields.rows, fields.columns), (truth.fields.rows, truth.fields.columns)
            placed = replace(fields, homography=truth.fields.homography @ to_grid(*shapes))
    row |= {"trajectory_m": None, "trajectory_seconds": None, "trajectories": []}
    if truth.tracks is not None and placed.homography is not None:
        ways = path_errors(placed, truth.tracks)
        row["trajectories"] = [error.as_dict() for error in ways]
        if ways:
            row["trajectory_m"], row["trajectory_seconds"] = ways[-1].mean, ways[-1].seconds
    return row


def error_map(fields: FieldSeries, truth: Truth) -> Array:
    """Mean endpoint error of each pixel `(rows, columns)` of the truth; NaN where none counts."""
    assert truth.fields is not None
    _check(fields, truth.fields)
    total = np.zeros((truth.fields.rows, truth.fields.columns))
    count = np.zeros_like(total)
    for frame in range(min(fields.frames, truth.fields.frames)):
        where = truth.counts(frame)
        found = on_grid(fields.velocities[frame], *total.shape)
        total += np.where(where, endpoint_map(found, truth.fields.velocities[frame]), 0.0)
        count += where
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _check(fields: FieldSeries, truth: FieldSeries) -> None:
    ratio = (fields.columns / truth.columns) / (fields.rows / truth.rows)
    if not 0.95 < ratio < 1.05:
        raise InputError(
            f"a field of {fields.columns} × {fields.rows} pixels and a truth of {truth.columns} × "
            f"{truth.rows} do not show one picture"
        )
    if (
        fields.frames > 1
        and truth.frames > 1
        and not np.isclose(fields.frame_rate, truth.frame_rate, rtol=1e-3)
    ):
        raise InputError(
            f"the field has {fields.frame_rate:g} frames per second and the truth {truth.frame_rate:g}; "
            "resample one of them"
        )
