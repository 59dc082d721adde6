"""Captured crowds beside OpenCV's and scikit-image's engines, on filmed scenes with their truth.

Dense crowds of `marey crowd dataset` from seeds that nothing was tuned on, one of them running, one seen from
the side. Pairs of pictures at 640 × 480 against the crowd's true motion; then people carried by the fields
for up to five seconds at 320 × 240, against where they truly went. Peers' engines see every pair as ours do;
those of scikit-image, a hundred times slower, every tenth of the long run, with the time between filled in
linearly. "steady" is averaged in time as captures of a crowd's motion are, for ours and, as a control, for
OpenCV's. Fields are judged by the crowd's motion; the very people of the film are carried by what each of
their pixels shows (`motion="seen"`). All run in this process on one core. Making the films
takes a minute or two a scene, the rest about as long.

    python benchmarks/crowd_capture.py [--work DIR] [SCENE ...]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from _ledger import record
from flow import peers
from numpy.typing import NDArray

from marey.crowd.capture import FlowEstimator, plan_capture
from marey.crowd.capture.capture import SETTINGS, data_weight
from marey.crowd.capture.framing import make_background, sampled_frames
from marey.crowd.evaluation.fields import ErrorSums
from marey.crowd.evaluation.pedestrians import trajectory_errors
from marey.crowd.fields import FieldSeries, on_grid, pixel_map
from marey.crowd.scenes import preset
from marey.crowd.tracks import Tracks
from marey.filming import Dataset, View, read_dataset, write_dataset

Array = NDArray[Any]
Engine = Callable[[Array, Array], Array]

# Name: scene, whether people run, camera, seed.
SCENES: dict[str, tuple[str, bool, str, int]] = {
    "corridor": ("corridor", False, "above", 101),
    "obstacle": ("obstacle", False, "above", 102),
    "rotation": ("rotation", False, "above", 103),
    "sideway": ("sideway", False, "above", 104),
    "escape": ("escape", False, "above", 105),
    "panic": ("escape", True, "above", 106),
    "side": ("corridor", False, "side", 107),
}
SECONDS, REST, NOISE = 8.2, 3.0, 2.0
PAIRS, SMALL = 3, (320, 240)
HORIZONS = (1.0, 2.0, 5.0)
SLOW, SLOW_STEP = "scikit-image", 10
BAR_SECONDS = 1.0
OURS, STEADY_OURS, SEEN = "marey crowd, pair alone", "marey crowd, steady", "marey seen"
CONTROL, MEDIUM = "OpenCV DIS medium, steady", "OpenCV DIS medium"
COLUMNS = ("endpoint", "degrees", "div.", "curl", "div. rel.", "curl rel.", "s a pair", "1 s", "2 s", "5 s")


def main() -> int:
    cv2.setNumThreads(1)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, help="folder of the films, which are made if not there")
    parser.add_argument("scenes", nargs="*", help=f"some of {', '.join(SCENES)}; all if not given")
    given = parser.parse_args()
    unknown = set(given.scenes) - set(SCENES)
    if unknown:
        parser.error(f"no scene {', '.join(unknown)}")
    engines = peers()
    work = given.work or Path(tempfile.mkdtemp(prefix="marey-crowd-capture-"))
    work.mkdir(parents=True, exist_ok=True)
    met = [judged(name, measured(filmed(name, work), engines)) for name in given.scenes or SCENES]
    print(f"\nbars: {'met' if all(met) else 'MISSED'} ({sum(met)} of {len(met)} scenes)")
    return not all(met)


def filmed(name: str, work: Path) -> Dataset:
    scene, panic, camera, seed = SCENES[name]
    if not (work / name).is_dir():
        write_dataset(
            preset(scene, panic=panic, hold=3.0),
            work / name,
            views=[camera],
            seconds=SECONDS,
            rng=seed,
            noise=NOISE,
        )
    return read_dataset(work / name)


def measured(dataset: Dataset, engines: dict[str, Engine]) -> dict[str, Array]:
    """A row of :data:`COLUMNS` for every engine."""
    (view,) = dataset.views.values()
    pictures = [np.asarray(picture) for picture in view.footage().grey()]
    first = round(REST * view.footage().frame_rate)
    at = np.linspace(first + 15, len(pictures) - 8, PAIRS).astype(int)
    weights = _weights(view, pictures)
    rows: dict[str, list[float]] = {}
    rows["nothing moves"] = _errors(view, {k: np.zeros((*pictures[0].shape, 2)) for k in at})
    for name, engine in engines.items():
        _timed_row(rows, name, view, at, lambda k, engine=engine: engine(pictures[k], pictures[k + 1]))  # type: ignore[misc]
    reach = _reach(view)
    near = {j: engines[MEDIUM](pictures[j], pictures[j + 1]) for k in at for j in range(k - reach, k + reach)}
    rows[CONTROL] = _errors(view, {k: _mean_round(near, k, reach, view) for k in at})
    for name, options in _ours().items():
        method, settings = (
            options.get("method", "divcurl"),
            {k: v for k, v in options.items() if k == "motion"},
        )
        mine = FlowEstimator(pictures[0].shape, method, settings=settings)
        motion = options.get("motion")
        _timed_row(
            rows,
            name,
            view,
            at,
            lambda k, mine=mine, motion=motion: mine(  # type: ignore[misc]
                pictures[k], pictures[k + 1], weight=weights(k, motion)
            ),
        )
    steady = plan_capture(view.footage(), size=pictures[0].shape[::-1])
    rows[STEADY_OURS] = _errors(view, {k: next(iter(steady.fields(k, k + 1, jobs=1)))[0] for k in at})
    ways = long_ways(dataset, view, pictures, first, engines)
    return {name: np.array([*row, *[np.nan] * (7 - len(row)), *ways[name]]) for name, row in rows.items()}


def _ours() -> dict[str, dict[str, Any]]:
    return {
        OURS: {"motion": "crowd"},
        SEEN: {"motion": "seen"},
        "marey hs": {"method": "hs", "motion": "crowd"},
        "marey lk": {"method": "lk"},
    }


def _weights(view: View, pictures: list[Array]) -> Callable[[int, str | None], Array]:
    """What pictures count for, as in captures."""
    shown = sampled_frames(len(pictures), view.footage().frame_rate, 0)[1]
    background = make_background(np.stack([pictures[k] for k in shown]))
    return lambda k, motion: data_weight(background.foreground(pictures[k].astype(np.float32)), motion)


def _timed_row(
    rows: dict[str, list[float]], name: str, view: View, at: Array, engine: Callable[[int], Array]
) -> None:
    found, times = {}, []
    for k in at:
        start = time.process_time()
        found[k] = engine(k)
        times.append(time.process_time() - start)
    rows[name] = [*_errors(view, found), min(times)]


def _errors(view: View, found: dict[int, Array]) -> list[float]:
    truth, sums = view.crowd_flow, ErrorSums()
    assert truth.foreground is not None
    for k, field in found.items():
        where = np.asarray(truth.foreground[k]) > 127
        sums.add(field, np.asarray(truth.velocities[k]), where if truth.mask is None else where & truth.mask)
    e = sums.errors()
    return [
        e.endpoint,
        e.angular_degrees,
        e.divergence,
        e.vorticity,
        e.relative_divergence,
        e.relative_vorticity,
    ]


def long_ways(
    dataset: Dataset, view: View, pictures: list[Array], first: int, engines: dict[str, Engine]
) -> dict[str, list[float]]:
    """Metres between carried and true people after each of :data:`HORIZONS`."""
    small = [cv2.resize(picture, SMALL, interpolation=cv2.INTER_AREA) for picture in pictures]
    footage, rate = view.footage(), view.footage().frame_rate
    frames = len(pictures) - 1 - first
    tracks = Tracks(dataset.tracks.positions[first:], rate)
    assert view.crowd_flow.homography is not None
    to_ground = view.crowd_flow.homography @ pixel_map(SMALL[::-1], pictures[0].shape)

    def ways(fields: Array) -> list[float]:
        series = FieldSeries(np.ascontiguousarray(fields, dtype=np.float32), rate, homography=to_ground)
        found = trajectory_errors(series, tracks, seconds=HORIZONS, every=SECONDS)
        return [error.mean for error in found]

    rows = {"nothing moves": ways(np.zeros((frames, *SMALL[::-1], 2)))}
    for name, engine in engines.items():
        step = SLOW_STEP if name.startswith(SLOW) else 1
        numbers = np.minimum(np.arange(0, frames + step - 1, step), frames - 1)
        fields = np.stack([engine(small[first + k], small[first + k + 1]) for k in numbers])
        rows[name] = ways(_between(fields, numbers, frames))
        if name == MEDIUM:
            reach = _reach(view)
            known = dict(enumerate(fields))
            rows[CONTROL] = ways(np.stack([_mean_round(known, k, reach, view) for k in range(frames)]))
    rows |= {name: [np.nan] * len(HORIZONS) for name in _ours()}
    for name, motion in ((STEADY_OURS, "crowd"), (SEEN, "seen")):
        plan = plan_capture(footage, size=SMALL, motion=motion)
        rows[name] = ways(np.stack([field for field, _ in plan.fields(first, plan.frames, jobs=1)]))
    true = [on_grid(view.crowd_flow.velocities[first + k], *SMALL[::-1]) for k in range(frames)]
    print(
        "\nthe crowd's true motion itself:", " ".join(f"{error:.2f}" for error in ways(np.stack(true))), "m"
    )
    return rows


def _between(fields: Array, numbers: Array, frames: int) -> Array:
    """Fields of every frame from those of some, linearly."""
    if len(fields) == frames:
        return fields
    after = np.clip(np.searchsorted(numbers, np.arange(frames)), 1, len(numbers) - 1)
    gap = np.maximum(numbers[after] - numbers[after - 1], 1)
    share = ((np.arange(frames) - numbers[after - 1]) / gap)[:, None, None, None]
    return np.asarray((1 - share) * fields[after - 1] + share * fields[after])


def _reach(view: View) -> int:
    return int(np.ceil(2.5 * SETTINGS.smoothing * view.footage().frame_rate))


def _mean_round(fields: dict[int, Array], at: int, reach: int, view: View) -> Array:
    """The average over time that captures of crowds take."""
    deviation = SETTINGS.smoothing * view.footage().frame_rate
    near = [k for k in range(at - reach, at + reach + 1) if k in fields]
    weights = np.exp(-0.5 * ((np.array(near) - at) / deviation) ** 2)
    return np.asarray(sum(w * fields[k] for w, k in zip(weights, near)) / weights.sum())


def judged(name: str, rows: dict[str, Array]) -> bool:
    print(
        f"\n{name:28s}" + "".join(f"{column:>10s}" for column in COLUMNS) + "   (metres off after 1, 2, 5 s)"
    )
    for engine, row in rows.items():
        print(
            f"  {engine:26s}" + "".join("         -" if value != value else f"{value:10.3f}" for value in row)
        )
    others = np.stack(
        [row for engine, row in rows.items() if engine.startswith(("OpenCV", SLOW)) and engine != CONTROL]
    )
    ours = rows[OURS]
    record(f"{name}: endpoint error", ours[0], rows[MEDIUM][0], peer=MEDIUM, unit="px", bar=1.0)
    best = f"best of {len(others)} engines"
    record(f"{name}: divergence error", ours[2], others[:, 2].min(), peer=best, unit="1/frame", bar=1.0)
    record(f"{name}: vorticity error", ours[3], others[:, 3].min(), peer=best, unit="1/frame", bar=1.0)
    record(f"{name}: people after 5 s", rows[SEEN][9], others[:, 9].min(), peer=best, unit="m", bar=1.0)
    bars = {
        "endpoint no worse than DIS medium": ours[0] <= rows[MEDIUM][0],
        "divergence below all": ours[2] < others[:, 2].min(),
        "vorticity below all": ours[3] < others[:, 3].min(),
        f"{BAR_SECONDS:g} s a pair": ours[6] <= BAR_SECONDS,
        "5 s ways (seen) below all": rows[SEEN][9] < others[:, 9].min(),
    }
    print("  " + "; ".join(f"{bar}: {'met' if met else 'MISSED'}" for bar, met in bars.items()), flush=True)
    return all(bars.values())


if __name__ == "__main__":
    sys.exit(main())
