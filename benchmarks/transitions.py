"""Transitions: one beside dtw-python, all windows beside a plain loop, and those of a whole library.

Same process, same distances, warmed up. First dtw-python, whose C core takes our step pattern: the same least
sum over two given windows, with its path. Then the best windows of a pair: one recursion for every two
lengths, compiled by numba, beside ours for single pairs and for all of them. Costs are checked to agree
before anything is timed. Process CPU time, least over repeats, but for the whole library: clock.
Bars: never slower than the peer, 1,000 times the plain loop, a library of 2,600 frames in a minute.

    python benchmarks/transitions.py [--frames N]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable

import numba
import numpy as np
from _ledger import record
from numpy.typing import NDArray

from marey.statistics.graphs.graph import DistanceMatrix, Windows
from marey.statistics.graphs.transitions import optimal, optimal_pairs, table, warped

FRAME_RATE, SEQUENCES = 30.0, 10
BAR_OVER_LOOP, BAR_SECONDS = 1000.0, 60.0
ALPHA = 0.01
# A plain search over all windows takes a tenth of a second: few pairs are enough.
PLAIN_PAIRS = 12


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--frames", type=int, default=2600, help="of the whole library")
    frames = parser.parse_args().frames
    windows = Windows.at(FRAME_RATE)
    fewest = SEQUENCES * (2 * windows.longest + 10)
    if frames < fewest:
        parser.error(f"--frames {frames}: at least {fewest}, so that every sequence has room for two windows")
    distances = gaits(frames)
    print(f"{frames} frames in {SEQUENCES} sequences, windows {windows.shortest}…{windows.longest}, slope "
          f"{windows.slope}")  # fmt: skip
    good = [beside_peer(distances, windows), beside_loop(distances, windows), whole(distances, windows)]
    print("every bar met" if all(good) else "a bar was missed")
    return 0 if all(good) else 1


def gaits(frames: int) -> DistanceMatrix:
    """Pose distances of periodic motions of different rates and sizes that slowly wander."""
    rng = np.random.default_rng(0)
    starts = np.linspace(0, frames, SEQUENCES + 1).astype(np.int64)
    poses = []
    for count in np.diff(starts):
        phase = 2 * np.pi * rng.uniform(0.7, 1.5) / FRAME_RATE * np.arange(count) + rng.uniform(0, 6)
        swing = np.stack([np.sin(phase), np.cos(phase), np.sin(2 * phase), np.cos(2 * phase)], axis=1)
        wander = np.cumsum(rng.normal(scale=0.02, size=(count, 4)), axis=0)
        poses.append(
            np.concatenate([rng.uniform(0.6, 1.4) * swing, wander + rng.normal(size=4) * 0.3], axis=1)
        )
    joined = np.concatenate(poses)
    squares = (joined**2).sum(axis=1)
    values = np.sqrt(np.maximum(squares[:, None] + squares - 2 * joined @ joined.T, 0.0)) * 0.15
    values = (values + values.T) / 2
    np.fill_diagonal(values, 0.0)
    names = tuple(f"gait {number}" for number in range(SEQUENCES))
    return DistanceMatrix(values, np.zeros_like(values), starts, names, "made up")


def beside_peer(distances: DistanceMatrix, windows: Windows) -> bool:
    try:
        from dtw import dtw
        from dtw.stepPattern import StepPattern, _c
    except ImportError:
        print("dtw-python is not installed: that comparison is left out")
        return True
    lines = []
    ways = [(q, 1) for q in range(1, windows.slope + 1)] + [(1, q) for q in range(2, windows.slope + 1)]
    for number, (down, right) in enumerate(ways, start=1):
        lines += [number, down, right, -1.0]
        for left in range(max(down, right) - 1, -1, -1):
            lines += [number, min(left, down - 1), min(left, right - 1), 1.0]
    pattern = StepPattern(_c(*lines), "NA")
    good = True
    print(f"\n{'one warped transition':24}{'marey µs':>10}{'dtw-python µs':>15}{'ratio':>8}")
    for length in (windows.shortest, 24, windows.longest):
        source, destination = 5, int(distances.starts[3]) + 90
        rows, columns = slice(source, source + length), slice(destination - length + 1, destination + 1)

        def ours(length: int = length, ends: tuple[int, int] = (source, destination)) -> float:
            return warped(distances, *ends, length, length, slope=windows.slope).cost

        def theirs(block: tuple[slice, slice] = (rows, columns)) -> float:
            found = dtw(distances.values[block].astype(np.float64), step_pattern=pattern)
            return float(found.distance)

        assert math.isclose(ours(), theirs(), rel_tol=1e-9)
        mine, other = fastest(ours), fastest(theirs)
        good &= other >= mine
        record(f"a warped transition of {length} frames", mine, other, peer="dtw-python", bar=1.0)
        print(f"{f'{length} frames each':24}{1e6 * mine:10.1f}{1e6 * other:15.1f}{other / mine:8.1f}")
    return good


def beside_loop(distances: DistanceMatrix, windows: Windows) -> bool:
    rng = np.random.default_rng(1)
    margin = windows.longest
    rooms = [
        np.arange(a + margin, b - margin)
        for a, b in zip(distances.starts, distances.starts[1:], strict=False)
    ]
    inner = np.concatenate(rooms)
    pairs = rng.choice(inner, (2, PLAIN_PAIRS))
    many = rng.choice(inner, (2, 2000))
    values = distances.values
    sizes = windows.shortest, windows.longest, windows.slope

    def plain() -> list[float]:
        return [plain_windows(values, i, j, *sizes, ALPHA) for i, j in pairs.T]

    def singly() -> list[float]:
        found = [optimal(distances, i, j, windows=windows, alpha=ALPHA) for i, j in pairs.T]
        return [one.cost + ALPHA * one.length for one in found]

    np.testing.assert_allclose(plain(), singly(), rtol=1e-9)
    some = subset(distances, 3)
    loop = fastest(plain, 2) / PLAIN_PAIRS
    rows = {
        "plain loop over windows": loop,
        "one pair, with its path": fastest(singly) / PLAIN_PAIRS,
        "given pairs": fastest(lambda: optimal_pairs(distances, *many, windows=windows)) / many.shape[1],
        "given pairs, least mean": fastest(
            lambda: optimal_pairs(distances, *many, windows=windows, objective="mean"), 2
        )
        / many.shape[1],
        "all pairs at once": fastest(lambda: table(some, windows=windows), 3) / some.frames**2,
    }
    work = "best transition of a pair, any windows, all pairs at once"
    record(work, rows["all pairs at once"], loop, peer="a compiled loop over windows", bar=BAR_OVER_LOOP)
    print(f"\n{'best windows':26}{'µs a pair':>12}{'x plain':>10}")
    for name, seconds in rows.items():
        print(f"{name:26}{1e6 * seconds:12.2f}{loop / seconds:10.0f}")
    return loop / rows["all pairs at once"] >= BAR_OVER_LOOP


def subset(distances: DistanceMatrix, sequences: int) -> DistanceMatrix:
    stop = int(distances.starts[sequences])
    starts, names = distances.starts[: sequences + 1], distances.names[:sequences]
    return DistanceMatrix(
        distances.values[:stop, :stop], distances.yaw_offsets[:stop, :stop], starts, names, distances.metric
    )


def whole(distances: DistanceMatrix, windows: Windows) -> bool:
    print(f"\n{'whole library':24}{'seconds':>9}{'CPU':>9}{'frames a transition':>21}")
    worst = 0.0
    for objective, alpha in (("weight", ALPHA), ("weight", 0.2), ("sum", 0.0)):
        clock, busy = time.perf_counter(), time.process_time()
        found = table(distances, windows=windows, objective=objective, alpha=alpha)  # type: ignore[arg-type]
        clock, busy = time.perf_counter() - clock, time.process_time() - busy
        worst = max(worst, clock)
        label = f"{objective}, alpha {alpha:g}" if objective == "weight" else objective
        print(f"{label:24}{clock:9.1f}{busy:9.1f}{found.lengths[found.lengths > 0].mean():21.1f}")
    return worst <= BAR_SECONDS


@numba.njit(cache=False, error_model="numpy")
def plain_windows(
    values: NDArray[np.float32], source: int, destination: int, shortest: int, longest: int, slope: int,
    alpha: float,
) -> float:  # fmt: skip
    """The least weight over all windows, one recursion for every two lengths, as Boukhayma 2017 has it."""
    best = math.inf
    costs = np.empty((longest, longest))
    for rows in range(shortest, longest + 1):
        for columns in range(shortest, longest + 1):
            top, left = source, destination - columns + 1
            costs[:rows, :columns] = math.inf
            costs[0, 0] = values[top, left] + alpha
            for r in range(1, rows):
                for c in range(1, columns):
                    least, line = math.inf, 0.0
                    for q in range(1, min(slope, r) + 1):
                        line += values[top + r - q + 1, left + c] + alpha
                        least = min(least, costs[r - q, c - 1] + line)
                    line = values[top + r, left + c] + alpha
                    for q in range(2, min(slope, c) + 1):
                        line += values[top + r, left + c - q + 1] + alpha
                        least = min(least, costs[r - 1, c - q] + line)
                    costs[r, c] = least
            best = min(best, costs[rows - 1, columns - 1])
    return best


def fastest(run: Callable[[], object], repeats: int = 7) -> float:
    """Least CPU seconds of a run, over repeats long enough to be timed."""
    run()
    best = math.inf
    for _ in range(repeats):
        begin, count = time.process_time(), 0
        while count == 0 or time.process_time() - begin < 0.02:
            run()
            count += 1
        best = min(best, (time.process_time() - begin) / count)
    return best


if __name__ == "__main__":
    sys.exit(main())
