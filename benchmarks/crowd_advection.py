"""People carried by a field in real time: 100,000 at 60 frames a second, 10,000 who avoid each other.

Beside ours the same Runge-Kutta steps with scipy.ndimage.map_coordinates, and with NumPy's indexing, in the
same process on the same people; all agree within 0.1 mm before anything is timed. Ours uses two threads, the
others one. Least and median wall time of a frame, and processor time, which a busy machine changes less: a
frame fits into 1/60 s of two cores if its processor time is below 33 ms. Exits with 1 where a bar is missed.

    python benchmarks/crowd_advection.py [--people 100000]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from _ledger import record
from numpy.typing import NDArray

from marey import samples
from marey._arrays import FloatArray
from marey.crowd import FieldSeries
from marey.crowd.animation import AgentSettings, AnimatedCrowd
from marey.crowd.animation.agents import AVOID, Agents, poisson_disk_seeds
from marey.crowd.animation.ground import Flow, WalkableGround
from marey.crowd.cameras import orthographic
from marey.crowd.evaluation.pedestrians import flow_deviation, overlaps

Array = NDArray[np.float64]
Look = Callable[[FloatArray, Array], Array]

ROWS, COLUMNS, RATE, CORES = 480, 640, 60.0, 2
FRAMES, PEER_FRAMES = 60, 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--people", type=int, default=100_000)
    people = parser.parse_args().people
    fields = _fields(0.5)
    missed = []
    print(f"{COLUMNS} × {ROWS} pixels, milliseconds a frame        least  median  processor  frames/s")
    plain = _timed(f"{people:,} people, carried", AnimatedCrowd(fields, people))
    if plain > CORES * 1e3 / RATE:
        missed.append(f"{people:,} people need {plain:.1f} ms of processor time a frame")
    avoiding = AnimatedCrowd(_fields(0.15), people // 10, settings=AgentSettings(avoid="social", lag=0.3))
    careful = _timed(f"{people // 10:,} people, avoiding", avoiding)
    if careful > CORES * 1e3 / RATE:
        missed.append(f"{people // 10:,} avoiding people need {careful:.1f} ms of processor time a frame")
    _timed(f"{people:,} people, followers", AnimatedCrowd(fields, people, settings=AgentSettings(lag=0.4)))
    _avoiding()
    _beside(fields, people)
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return bool(missed)


def _fields(scale: float) -> FieldSeries:
    swirl = samples.field(rows=ROWS, columns=COLUMNS, seconds=2)
    return FieldSeries(4 * swirl.velocities, swirl.frame_rate, homography=orthographic(scale))


def _avoiding() -> None:
    """Ways of keeping apart: collisions, what they cost, and how far they lead off the field."""
    print("one person a square metre          overlapping pairs  deviation  ms/frame (least, processor)")
    for people in (1_000, 10_000):
        for way in AVOID:
            side = int(np.ceil(np.sqrt(people * 0.75) / 0.15))
            swirl = samples.field(rows=side, columns=4 * side // 3, seconds=2)
            pace = 1.2 / float(np.linalg.norm(swirl.velocities, axis=-1).mean() * swirl.frame_rate * 0.15)
            fields = FieldSeries(pace * swirl.velocities, swirl.frame_rate, homography=orthographic(0.15))
            tracks = AnimatedCrowd(fields, people, settings=AgentSettings(avoid=way)).tracks(1.0)
            crowd = AnimatedCrowd(fields, people, settings=AgentSettings(avoid=way))
            spent = 1e3 * _processor(crowd.advance, FRAMES)
            pairs, off = overlaps(tracks).pairs, flow_deviation(tracks, fields)
            print(f"{people:9,} people, {way:12} {pairs:22.1f} {100 * off:9.2f}% {spent:10.2f}")


def _timed(name: str, crowd: AnimatedCrowd) -> float:
    """Processor milliseconds a frame, least of runs of five; prints a line."""
    for _ in range(5):
        crowd.advance()
    wall, processor = [], []
    for _ in range(FRAMES // 5):
        before = time.process_time()
        for _ in range(5):
            start = time.perf_counter()
            crowd.advance()
            wall.append(time.perf_counter() - start)
        processor.append((time.process_time() - before) / 5)
    least = 1e3 * min(processor)
    print(
        f"{name:42} {1e3 * min(wall):13.2f} {1e3 * np.median(wall):7.2f} {least:10.2f}"
        f" {CORES * 1e3 / least:9.0f}"
    )
    return least


def _beside(fields: FieldSeries, people: int) -> None:
    """Ours and the others from the same places through the same moments."""
    place = WalkableGround.of(fields)
    starts = poisson_disk_seeds(place, people, np.random.default_rng(0))
    starts = starts[place.order(starts)]
    flow = Flow(fields, place)
    step = 1 / RATE
    ours = Agents(flow, starts, AgentSettings())
    ours.step(0.0, step)
    inside = ours.status == 1
    spent = {}
    looks: dict[str, Look] = {"scipy map_coordinates": _with_scipy, "NumPy indexing": _with_numpy}
    for name, look in looks.items():
        found = _step(flow, starts, 0.0, step, look)
        np.testing.assert_allclose(found[inside], ours.positions[inside], atol=1e-4)
        spent[name] = _processor(lambda look=look: _step(flow, starts, 0.0, step, look), PEER_FRAMES)  # type: ignore[misc]
    mine = _processor(lambda: ours.step(0.0, step), 20)
    for name, theirs in spent.items():
        record(f"{people:,} people carried by a field, a step", mine, theirs, peer=name)
        print(
            f"{name}: {1e3 * theirs:.1f} ms of processor time a step, ours {1e3 * mine:.1f}:"
            f" {theirs / mine:.1f} x"
        )


def _processor(work: Callable[[], object], times: int) -> float:
    spent = []
    for _ in range(times):
        before = time.process_time()
        work()
        spent.append(time.process_time() - before)
    return min(spent)


def _step(flow: Flow, places: Array, start: float, seconds: float, look: Look) -> Array:
    """Runge–Kutta of fourth order on the ground of a camera straight above."""
    rate, scale = flow.fields.frame_rate, flow.ground.to_ground[0, 0]

    def velocity(field: FloatArray, points: Array) -> Array:
        return rate * scale * look(field, points / [scale, -scale]) * [1.0, -1.0]

    first, middle, last = (flow.at(start + share * seconds) for share in (0.0, 0.5, 1.0))
    k1 = velocity(first, places)
    k2 = velocity(middle, places + 0.5 * seconds * k1)
    k3 = velocity(middle, places + 0.5 * seconds * k2)
    k4 = velocity(last, places + seconds * k3)
    return places + seconds / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _with_scipy(field: FloatArray, pixels: Array) -> Array:
    from scipy.ndimage import map_coordinates

    at = pixels[:, ::-1].T
    return np.stack(
        [map_coordinates(field[..., axis], at, order=1, mode="nearest") for axis in (0, 1)], axis=1
    )


def _with_numpy(field: FloatArray, pixels: Array) -> Array:
    column = np.clip(pixels[:, 0], 0, field.shape[1] - 1)
    row = np.clip(pixels[:, 1], 0, field.shape[0] - 1)
    c = np.minimum(column.astype(np.int64), field.shape[1] - 2)
    r = np.minimum(row.astype(np.int64), field.shape[0] - 2)
    a, b = (column - c)[:, None], (row - r)[:, None]
    top = (1 - a) * field[r, c] + a * field[r, c + 1]
    return (1 - b) * top + b * ((1 - a) * field[r + 1, c] + a * field[r + 1, c + 1])


if __name__ == "__main__":
    sys.exit(main())
