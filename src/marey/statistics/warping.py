"""Dynamic time warping: which moments of two clips correspond, and a smooth map of time from that.

The best monotone path through a table of costs (Courty 2013, section 2.2.1.2), inside a band about the
diagonal, with no series running more than four times as fast as the other, and with loose ends if asked for.
Paths have plateaus that would freeze a motion; :func:`time_map` smooths them. Time O(frames × band); memory
two rows of costs and one byte a cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, Integers
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class Alignment:
    """A path through two series.

    Attributes:
        path: `(steps, 2)`, frames of the first and of the second that correspond; both never go back.
        cost: Sum of the costs along the path.
        frames: Lengths of both series.
    """

    path: Integers
    cost: float
    frames: tuple[int, int]

    @property
    def mean_cost(self) -> float:
        """Cost of a step of the path."""
        return self.cost / len(self.path)

    def swapped(self) -> Alignment:
        """The same path, seen from the second series."""
        return Alignment(
            np.ascontiguousarray(self.path[:, ::-1]), self.cost, (self.frames[1], self.frames[0])
        )


def align(
    a: ArrayLike,
    b: ArrayLike,
    *,
    band: float | None = None,
    max_slope: int | None = 4,
    open_begin: bool = False,
    open_end: bool = False,
    derivative: float = 0.0,
) -> Alignment:
    """The path along which two series of vectors, `(n, dims)` and `(m, dims)`, are nearest to each other.

    Args:
        band: How far from the diagonal it may go, as a share of the longer series; None = anywhere.
        max_slope: Frames of one series that may meet one of the other; None = no limit.
        open_begin: The path may begin anywhere in `b`.
        open_end: The path may end anywhere in `b`.
        derivative: Frames by which the rate of change is multiplied before it is compared too, so that rising
            meets rising; 0 compares values alone.

    >>> rise = np.array([[0.0], [0.0], [1.0], [2.0], [2.0]])
    >>> align(rise, rise[1:]).path.tolist()
    [[0, 0], [1, 0], [2, 1], [3, 2], [4, 3]]
    """
    first, second = _features(a, "first series", derivative), _features(b, "second series", derivative)
    if first.shape[1] != second.shape[1]:
        raise InputError(f"series of {first.shape[1]} and {second.shape[1]} dimensions cannot be compared")
    columns, sizes = np.ascontiguousarray(second.T), (len(first), len(second))
    return _path(first, columns, np.empty((0, 0)), sizes, band, max_slope, open_begin, open_end)


def align_costs(
    costs: ArrayLike,
    *,
    band: float | None = None,
    max_slope: int | None = 4,
    open_begin: bool = False,
    open_end: bool = False,
) -> Alignment:
    """The cheapest path through a table.

    Args:
        costs: `(n, m)`, 0 or more; the other options are those of :func:`align`.

    >>> table = np.array([[0.0, 3.0, 9.0], [2.0, 0.0, 4.0], [9.0, 3.0, 1.0]])
    >>> found = align_costs(table)
    >>> found.path.tolist(), found.cost
    ([[0, 0], [1, 1], [2, 2]], 1.0)
    """
    table = np.ascontiguousarray(costs, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(f"costs: expected a table (n, m), found {table.shape}")
    if not (np.isfinite(table) & (table >= 0)).all():
        raise InputError("costs: expected finite numbers, none below 0")
    nothing = np.empty((0, 0))
    return _path(nothing, nothing, table, table.shape, band, max_slope, open_begin, open_end)


def time_map(alignment: Alignment, *, smoothing: float = 4.0, max_slope: float | None = 4) -> Array:
    """Where in the second series each frame of the first is, `(n,)`, in fractions of frames, smoothly.

    Every frame takes the mean of what it meets; lines are fitted to that around knots, and a monotone
    cubic goes through them. Ends stay where they are.

    Args:
        smoothing: Frames between knots; lines are fitted over as many on either side.
        max_slope: Bound of the slope and of its inverse; None = none but monotony.

    >>> ramp = np.arange(12.0)[:, None]
    >>> bool(np.allclose(time_map(align(ramp, ramp)), np.arange(12)))
    True
    """
    if not (np.isfinite(smoothing) and smoothing > 0):
        raise InputError(f"smoothing: frames, above 0, got {smoothing}")
    if max_slope is not None and not (np.isfinite(max_slope) and max_slope >= 1):
        raise InputError(f"max_slope: 1 or more, or None, got {max_slope}")
    n, m = alignment.frames
    i, j = alignment.path.T
    met = np.bincount(i, weights=j, minlength=n) / np.maximum(np.bincount(i, minlength=n), 1)
    first, last = float(j[0]), float(j[-1])
    if n < 3:
        return np.linspace(first, last, n) if n > 1 else met
    knots = np.unique(np.rint(np.linspace(0, n - 1, max(2, round((n - 1) / smoothing) + 1))).astype(int))
    values = np.array([_line_at(met, int(knot), max(1, round(smoothing))) for knot in knots])
    values[0], values[-1] = first, last
    values = np.maximum.accumulate(np.clip(values, first, last))
    from scipy.interpolate import PchipInterpolator

    smooth = np.asarray(PchipInterpolator(knots, values)(np.arange(n)), dtype=np.float64)
    bounded = smooth if max_slope is None else _bounded_slopes(smooth, 1.0 / max_slope, float(max_slope))
    return np.clip(bounded, 0.0, m - 1.0)


def _path(
    first: Array,
    columns: Array,
    table: Array,
    sizes: tuple[int, ...],
    band: float | None,
    max_slope: int | None,
    begin: bool,
    end: bool,
) -> Alignment:
    """The best path by the distances of two series, the second by columns, or else by a table of costs."""
    from marey.statistics import _warping_kernels as kernels

    if max_slope is not None and (
        isinstance(max_slope, bool) or not isinstance(max_slope, int | np.integer) or not 1 <= max_slope <= 99
    ):
        raise InputError(f"max_slope: a whole number from 1 to 99, or None, got {max_slope!r}")
    n, m = sizes
    starts, stops = _band_limits(n, m, band)
    offsets = np.concatenate([[0], np.cumsum(stops - starts)]).astype(np.int64)
    moves = np.empty(int(offsets[-1]), dtype=np.uint8)
    # Costs of two rows, a state a line, with a column of room in front.
    states = 1 if max_slope is None else 2 * int(max_slope) - 1
    rows = np.empty((states, m + 1)), np.empty((states, m + 1))
    costs = np.empty(int((stops - starts).max()))
    kernels.sweep(first, columns, table, starts, stops, max_slope is not None, begin, costs, *rows, moves)
    column = int(starts[-1]) if end else m - 1
    final = rows[n % 2][:, column + 1 :]
    state, cell = (int(k) for k in np.unravel_index(int(np.argmin(final)), final.shape))
    cost = float(final[state, cell])
    if not np.isfinite(cost):
        limit = "" if max_slope is None else f" with one at most {max_slope} times as fast as the other"
        raise InputError(
            f"series of {n} and {m} frames do not fit each other{limit}; widen the band or the limit"
        )
    runs = -1 if max_slope is None else int(max_slope) - 1
    path = np.empty((n + m, 2), dtype=np.int64)
    count = kernels.backtrack(moves, starts, offsets, column + cell, state, runs, begin, path)
    return Alignment(np.ascontiguousarray(path[:count][::-1]), cost, (n, m))


def _features(series: ArrayLike, name: str, derivative: float) -> Array:
    values = np.asarray(series, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape or not np.isfinite(values).all():
        raise InputError(f"{name}: expected finite values of shape (frames, dims), found {values.shape}")
    if not (np.isfinite(derivative) and derivative >= 0):
        raise InputError(f"derivative: frames, not below 0, got {derivative}")
    if derivative > 0:
        rates = np.gradient(values, axis=0) if len(values) > 1 else np.zeros_like(values)
        values = np.concatenate([values, derivative * rates], axis=1)
    return np.ascontiguousarray(values)


def _band_limits(n: int, m: int, band: float | None) -> tuple[Integers, Integers]:
    """First and one past the last column of every row."""
    if band is None:
        starts, stops = np.zeros(n, dtype=np.int64), np.full(n, m, dtype=np.int64)
    else:
        if not (np.isfinite(band) and band > 0):
            raise InputError(f"band: a share of the longer series, above 0, got {band}")
        middle = np.arange(n) * ((m - 1) / max(n - 1, 1))
        # At least the diagonal itself, however many columns it crosses in a row.
        reach = max(band * max(n, m) * min(1.0, m / n), 0.5 * (m - 1) / max(n - 1, 1) + 0.5)
        starts = np.maximum(np.ceil(middle - reach - 1e-9), 0).astype(np.int64)
        stops = np.minimum(np.floor(middle + reach + 1e-9) + 1, m).astype(np.int64)
    # One byte a cell for the backtracking.
    cells = int((stops - starts).sum())
    if cells > 2_000_000_000:
        raise InputError(f"{n} and {m} frames need {cells / 1e9:.1f} GB to compare; give a narrower band")
    return starts, stops


def _line_at(values: Array, centre: int, half: int) -> float:
    """A line fitted to the values around one, at that one."""
    around = np.arange(max(0, centre - half), min(len(values), centre + half + 1))
    x = around - around.mean()
    y = values[around]
    slope = float(x @ y) / float(x @ x) if len(around) > 1 else 0.0
    return float(y.mean() + slope * (centre - around.mean()))


def _bounded_slopes(values: Array, least: float, most: float) -> Array:
    """The nearest steps within bounds, by one shift for all of them, with the same ends if they can be."""
    steps = np.diff(values)
    if least <= steps.min() and steps.max() <= most:
        return values
    total = float(steps.sum())
    low, high = least - float(steps.max()), most - float(steps.min())
    for _ in range(60):
        middle = 0.5 * (low + high)
        if np.clip(steps + middle, least, most).sum() < total:
            low = middle
        else:
            high = middle
    bounded = np.clip(steps + high, least, most)
    return np.asarray(values[0] + np.concatenate([[0.0], np.cumsum(bounded)]))
