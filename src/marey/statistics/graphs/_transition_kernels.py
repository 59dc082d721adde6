"""Compiled dynamic programmes of transitions: every pair of windows of a source frame at once, or one pair.

A path's cost travels with one number that holds how many cells it has (upper half) and in which column it
began (lower half). Innermost loops run over columns, so that the processor relaxes several cells with one
instruction. Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array as Floats
from marey._arrays import IntArray
from marey._compiling import OPTIONS, njit

Given = NDArray[np.float32]
Whole = NDArray[np.int64]

# One cell more of a path, in the number that travels with its cost.
CELL = 1 << 32
COLUMN = CELL - 1
# Rounds of the search for the least mean; it ends by itself after three to six.
ROUNDS = 60


@njit(**OPTIONS)
def relax(best: Floats, kept: Whole, before: Floats, carried: Whole, step: Floats, cells: int) -> None:
    """Take the path over `before` wherever it is cheaper."""
    for c in range(best.shape[0]):
        # All is read before anything is chosen: the compiler then works on several columns at a time.
        cost, number = before[c] + step[c], carried[c] + cells
        cost_so_far, number_so_far = best[c], kept[c]
        better = cost < cost_so_far
        best[c] = cost if better else cost_so_far
        kept[c] = number if better else number_so_far


@njit(**OPTIONS)
def step_costs(
    values: Given, row: int, left: int, extra: float, rows: int, down: Floats, across: Floats
) -> None:
    """What 1, 2 … slope cells in a line cost that end in each column of a row: `down` it, or `across`.

    rows: how many rows there are above and with this one; longer lines down are infinite
    """
    slope, width = down.shape
    single, line = down[0], values[row, left : left + width]
    for c in range(width):
        single[c] = line[c] + extra
    across[0] = single
    for q in range(1, slope):
        shorter, longer = down[q - 1], down[q]
        if q < rows:
            line = values[row - q, left : left + width]
            for c in range(width):
                longer[c] = shorter[c] + (line[c] + extra)
        else:
            longer[:] = math.inf
        across[q, : min(q, width)] = math.inf
        shorter, longer = across[q - 1, q:], across[q, q:]
        for c in range(width - q):
            longer[c] = shorter[c] + single[c]


@njit(**OPTIONS)
def fill(
    values: Given, top: int, left: int, extra: float, begins: int,
    costs: Floats, kept: Whole, down: Floats, across: Floats,
) -> None:  # fmt: skip
    """Least sums of `values + extra` from any of the first `begins` cells of the top row to every cell.

    costs, kept: `(rows, slope + columns)`, with `slope` columns of room on the left
    down, across: `(slope, columns)`, to work in
    """
    slope, columns = down.shape
    rows = costs.shape[0]
    costs[0] = math.inf
    for c in range(begins):
        costs[0, slope + c] = values[top, left + c] + extra
        kept[0, slope + c] = CELL + c
    for r in range(1, rows):
        costs[r] = math.inf
        # Columns further left are reached by no path, or lead to no end.
        low = max(1, (r + slope - 1) // slope, columns - 1 - slope * (rows - 1 - r))
        if low >= columns:
            continue
        step_costs(values, top + r, left, extra, r + 1, down, across)
        best, number = costs[r, slope + low :], kept[r, slope + low :]
        width = columns - low
        for q in range(1, min(slope, r) + 1):
            first = slope + low - 1
            relax(best, number, costs[r - q, first : first + width], kept[r - q, first : first + width],
                  down[q - 1, low:], q * CELL)  # fmt: skip
        for q in range(2, slope + 1):
            first = slope + low - q
            relax(best, number, costs[r - 1, first : first + width], kept[r - 1, first : first + width],
                  across[q - 1, low:], q * CELL)  # fmt: skip


@njit(**OPTIONS)
def best_of_pair(
    values: Given, top: int, left: int, extra: float, begins: int, first_end: int, mean: bool,
    costs: Floats, kept: Whole, down: Floats, across: Floats,
) -> tuple[float, int, int, int, float]:  # fmt: skip
    """The best path in a block: sum of its values, cells (0 if none), rows, columns, and the last `extra`.

    It leaves one of the first `begins` cells of the top row, and reaches the last column in the row of number
    `first_end`, counted from 1, or later. With `mean` the mean of its values is least, found by Dinkelbach's
    rounds from `-extra` on.
    """
    columns, last = down.shape[1], costs.shape[1] - 1
    total, cells, row = math.inf, 0, 0
    for turn in range(ROUNDS):
        fill(values, top, left, extra, begins, costs, kept, down, across)
        row, least = -1, math.inf
        for r in range(first_end - 1, costs.shape[0]):
            if costs[r, last] < least:
                row, least = r, costs[r, last]
        if row < 0:
            return math.inf, 0, 0, 0, extra
        cells = kept[row, last] // CELL
        total = max(least - extra * cells, 0.0)
        if not mean or abs(least) <= 1e-12 * total or turn == ROUNDS - 1:
            break
        extra = -total / cells
    return total, cells, row + 1, columns - (kept[row, last] & COLUMN), extra


@njit(**OPTIONS)
def trace(
    values: Given, top: int, left: int, extra: float, slope: int, costs: Floats, row: int, path: Whole
) -> int:
    """Write the cells of the path to the last column of `row`, last first; how many there are."""
    r, c, cells = row, costs.shape[1] - slope - 1, 0
    while r > 0:
        here = costs[r, slope + c]
        rows, columns = 0, 0
        line = 0.0
        for q in range(1, min(slope, r) + 1):
            line += values[top + r - q + 1, left + c] + extra
            if rows == 0 and costs[r - q, slope + c - 1] + line == here:
                rows, columns = q, 1
        line = values[top + r, left + c] + extra
        for q in range(2, min(slope, c) + 1):
            line += values[top + r, left + c - q + 1] + extra
            if rows == 0 and costs[r - 1, slope + c - q] + line == here:
                rows, columns = 1, q
        if rows == 0:
            return -1
        for q in range(max(rows, columns)):
            path[cells, 0] = r - min(q, rows - 1)
            path[cells, 1] = c - min(q, columns - 1)
            cells += 1
        r, c = r - rows, c - columns
    path[cells, 0], path[cells, 1] = r, c
    return cells + 1


@njit(**OPTIONS)
def pairs(
    values: Given, sources: Whole, stops: Whole, destinations: Whole, heads: Whole, shortest: Whole,
    longest: int, slope: int, extra: float, mean: bool, sums: Floats, lengths: Whole,
) -> None:  # fmt: skip
    """The best path of each given pair of frames: its sum, and its cells, rows and columns in `lengths`.

    stops: the frame after each source's sequence
    heads: the first frame of each destination's sequence
    shortest: of both windows of each pair
    """
    costs = np.empty((longest, slope + longest))
    kept = np.empty((longest, slope + longest), np.int64)
    steps = np.empty((2, slope * longest))
    for n in range(len(sources)):
        rows = min(longest, stops[n] - sources[n])
        columns = min(longest, destinations[n] - heads[n] + 1)
        sums[n] = math.inf
        lengths[n] = 0
        if min(rows, columns) < shortest[n]:
            continue
        width = slope + columns
        total, cells, height, used, last = best_of_pair(
            values, sources[n], destinations[n] - columns + 1, extra,
            columns - shortest[n] + 1, shortest[n], mean,
            costs.ravel()[: rows * width].reshape(rows, width),
            kept.ravel()[: rows * width].reshape(rows, width),
            steps[0, : slope * columns].reshape(slope, columns),
            steps[1, : slope * columns].reshape(slope, columns),
        )  # fmt: skip
        sums[n] = total
        lengths[n, 0], lengths[n, 1], lengths[n, 2] = cells, height, used
        if mean and cells > 0:
            # The next pair, mostly a neighbour, begins where this one ended.
            extra = last


@njit(**OPTIONS)
def reached(row: int, used: int, shortest: int, slope: int) -> bool:
    """Whether any path is in this row with so many columns used, or with `shortest` or more of them."""
    if row == 0:
        return used == 1
    return 1 < used <= slope * row + 1 and (used == shortest or row <= slope * (used - 1))


@njit(**OPTIONS)
def relax_layer(
    costs: IntArray, kept: IntArray, down: Floats, across: Floats, row: int, used: int, shortest: int
) -> None:
    """Fill a layer of a row of the table; see `source_row`."""
    slope, columns = down.shape
    ring = slope + 1
    best, number = costs[row % ring, used, slope:], kept[row % ring, used, slope:]
    best[:] = math.inf
    for q in range(1, min(slope, row) + 1):
        for origin in range(used - 1, used + 1 if used == shortest else used):
            if reached(row - q, origin, shortest, slope):
                relax(best, number,
                      costs[(row - q) % ring, origin, slope - 1 : slope - 1 + columns],
                      kept[(row - q) % ring, origin, slope - 1 : slope - 1 + columns],
                      down[q - 1], q * CELL)  # fmt: skip
    for q in range(2, slope + 1):
        for origin in range(max(used - q, 1), used + 1 if used == shortest else used - q + 1):
            if reached(row - 1, origin, shortest, slope):
                relax(best, number,
                      costs[(row - 1) % ring, origin, slope - q : slope - q + columns],
                      kept[(row - 1) % ring, origin, slope - q : slope - q + columns],
                      across[q - 1], q * CELL)  # fmt: skip


@njit(**OPTIONS)
def source_row(
    values: Given, source: int, stop: int, left: int, shortest: int, longest: int, extra: float, short: int,
    costs: IntArray, kept: IntArray, down: Floats, across: Floats, least: Floats, numbers: Whole, ends: Whole,
) -> None:  # fmt: skip
    """The cheapest path from one source frame to every column: cost, number that travelled, and last row.

    Destination windows above `longest` are not excluded: the caller looks for them. A layer of the table
    holds the paths that have used so many columns, the last one all those with `shortest` or more, which
    alone may end; from frame `short` of the destination on, those may too that have used all there are.
    """
    slope, columns = down.shape
    ring = slope + 1
    least[:] = math.inf
    costs[:, :, :slope] = math.inf
    for c in range(columns):
        costs[0, 1, slope + c] = values[source, left + c] + extra
        kept[0, 1, slope + c] = CELL + c
    silent = 0
    for r in range(1, min(longest, stop - source)):
        step_costs(values, source + r, left, extra, r + 1, down, across)
        lowest = math.inf
        for used in range(2, shortest + 1):
            if reached(r, used, shortest, slope):
                relax_layer(costs, kept, down, across, r, used, shortest)
                lowest = min(lowest, costs[r % ring, used, slope:].min())
        final, number = costs[r % ring, shortest, slope:], kept[r % ring, shortest, slope:]
        if r + 1 >= shortest and reached(r, shortest, shortest, slope):
            for c in range(columns):
                cost, so_far = final[c], least[c]
                new, old, end = number[c], numbers[c], ends[c]
                better = cost < so_far
                least[c] = cost if better else so_far
                numbers[c] = new if better else old
                ends[c] = r if better else end
        for c in range(short, min(shortest - 1, columns, r + 1)):
            if reached(r, c + 1, shortest, slope) and costs[r % ring, c + 1, slope + c] < least[c]:
                least[c] = costs[r % ring, c + 1, slope + c]
                numbers[c] = kept[r % ring, c + 1, slope + c]
                ends[c] = r
        # What comes later leads on from the last rows, and costs no less than they do.
        silent = silent + 1 if lowest >= least[min(short, shortest - 1) :].max() else 0
        if silent == slope:
            break


@njit(**OPTIONS)
def block(
    values: Given, first: int, last: int, stop: int, left: int, right: int, shortest: int, longest: int,
    slope: int, short: int, extra: float, sums: NDArray[np.float32], lengths: NDArray[np.int16],
) -> None:  # fmt: skip
    """The cheapest paths from the frames `first` up to `last`, of a sequence that ends before `stop`.

    They lead to the sequence from `left` up to `right`: those columns of `sums` and `lengths` are written.

    short: the shortest windows there may be where a sequence has too few frames; `shortest` for no exception
    """
    columns = right - left
    sums[:, left:right] = math.inf
    lengths[:, :, left:right] = 0
    if columns < short:
        return
    costs = np.empty((slope + 1, shortest + 1, slope + columns))
    kept = np.zeros((slope + 1, shortest + 1, slope + columns), np.int64)
    down, across = np.empty((slope, columns)), np.empty((slope, columns))
    least = np.empty(columns)
    numbers, ends = np.zeros(columns, np.int64), np.zeros(columns, np.int64)
    one_sum, one = np.empty(1), np.empty((1, 3), np.int64)
    for source in range(first, last):
        least_rows = min(shortest, stop - source)
        if least_rows < short:
            break
        source_row(values, source, stop, left, least_rows, longest, extra, short - 1,
                   costs, kept, down, across, least, numbers, ends)  # fmt: skip
        for c in range(columns):
            if least[c] == math.inf:
                continue
            cells, used = numbers[c] // CELL, c - (numbers[c] & COLUMN) + 1
            rows, total = ends[c] + 1, max(least[c] - extra * cells, 0.0)
            if used > longest:
                pairs(values, np.array([source]), np.array([stop]), np.array([left + c]), np.array([left]),
                      np.array([min(least_rows, c + 1)]), longest, slope, extra, False,
                      one_sum, one)  # fmt: skip
                total, cells, rows, used = one_sum[0], one[0, 0], one[0, 1], one[0, 2]
            sums[source - first, left + c] = total
            lengths[0, source - first, left + c] = cells
            lengths[1, source - first, left + c] = rows
            lengths[2, source - first, left + c] = used


@njit(**OPTIONS)
def lay_out_times(
    values: Given, sources: Whole, targets: Whole, rows: Whole, columns: Whole, slope: int,
    alpha: float, first: Whole, times: Floats,
) -> None:  # fmt: skip
    """Smooth times of transitions between windows of `rows` frames from each source and `columns` to each
    target; transition e fills the rows `first[e]` up to `first[e + 1]` of `times`, `(…, 2)`.
    """
    for e in range(len(sources)):
        height, width = rows[e], columns[e]
        costs = np.empty((height, slope + width))
        kept = np.zeros((height, slope + width), np.int64)
        down, across = np.empty((slope, width)), np.empty((slope, width))
        left = targets[e] - width + 1
        cells = best_of_pair(
            values, sources[e], left, alpha, np.int64(1), height, False, costs, kept, down, across
        )[1]  # fmt: skip
        out = times[first[e] : first[e + 1]]
        path = np.empty((max(cells, 2), 2), np.int64)
        if cells > 0:
            trace(values, sources[e], left, alpha, slope, costs, height - 1, path)
        else:  # windows that do not fit each other: straight through both
            path[0, 0], path[0, 1] = height - 1, width - 1
            path[1, 0], path[1, 1] = 0, 0
        for side in range(2):
            begin = sources[e] if side == 0 else left
            resample(smooth_times(path[::-1, side]), out[:, side])
            out[:, side] += begin


@njit(**OPTIONS)
def smooth_times(path: IntArray) -> Floats:
    """Times of one window, its steps smoothed over as many frames as its longest rest."""
    count = len(path) - 1
    steps, times = np.empty(count), np.empty(count + 1)
    rest, run = 0, 0
    for i in range(count):
        steps[i] = path[i + 1] - path[i]
        run = 0 if steps[i] > 0 else run + 1
        rest = max(rest, run)
    if rest == count:
        rest = 0
    times[0], total = path[0], 0.0
    for i in range(count):
        # Weighed with the steps around it, mirrored at the ends, which keeps their sum.
        for k in range(-rest, rest + 1):
            j = (i + k) % (2 * count)
            total += (rest + 1 - abs(k)) * steps[j if j < count else 2 * count - 1 - j]
        times[i + 1] = path[0] + total / ((rest + 1) * (rest + 1))
    return times


@njit(**OPTIONS)
def resample(times: Floats, out: Floats) -> None:
    """Times taken evenly, first and last included; as they are if the numbers agree."""
    count = len(out)
    for i in range(count):
        at = i * (len(times) - 1) / (count - 1) if count > 1 else len(times) - 1.0
        before = min(int(at), len(times) - 2)
        out[i] = times[before] + (at - before) * (times[before + 1] - times[before])
    out[count - 1] = times[-1]
