"""Captured crowds at both scales beside stock estimators, on rendered scenes with their truth.

Scenes of `marey crowd dataset` from seeds that nothing was tuned on. Every method captures the video as the
command does, on the same grid with the same presence; its field is judged raw and averaged to the crowd's
flow (`--scale crowd`). Carried: metres between people carried for 5 s and where they truly went. Endpoint:
pixels from the crowd's true flow. Divergence, vorticity, flux, circulation, outflow: relative errors on the
ground, see `marey.crowd.evaluation.flows`; 1 = no motion. Processor time of the estimator alone, of one
thread, for 640 × 480 in the end. Rendering takes one to five minutes a scene, the rest about as long.

    python benchmarks/crowd_capture.py [--quick] [--work DIR] [SCENE ...]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from _ledger import record

from marey.crowd import evaluate
from marey.crowd.capture import FlowEstimator, capture
from marey.crowd.evaluation.fields import Truth
from marey.crowd.scales import crowd_flow
from marey.crowd.scenes import SCENES, preset
from marey.filming import Dataset, read_dataset, write_dataset

STOCK = ("dis", "farneback", "lk", "hs")
QUICK = ("crossing", "escape")
COLUMNS = ("1 s", "2 s", "5 s", "endpoint", "div.", "vort.", "flux", "circ.", "outflow", "s")
CARRIED, ENDPOINT, DIVERGENCE, VORTICITY = 2, 3, 4, 5


def main() -> int:
    cv2.setNumThreads(1)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, help="folder of the videos, which are made if not there")
    parser.add_argument("--quick", action="store_true", help=f"{' and '.join(QUICK)}, one seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[77])
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--camera", choices=("above", "side"), default="above")
    parser.add_argument("--panic", action="store_true")
    parser.add_argument("scenes", nargs="*", help=f"some of {', '.join(SCENES)}; all if not given")
    given = parser.parse_args()
    if unknown := set(given.scenes) - set(SCENES):
        parser.error(f"no scene {', '.join(unknown)}")
    work = given.work or Path(tempfile.mkdtemp(prefix="marey-crowd-capture-"))
    work.mkdir(parents=True, exist_ok=True)
    scenes = given.scenes or (QUICK if given.quick else tuple(SCENES))
    met = [speed()]
    for name in scenes:
        for seed in given.seeds[: 1 if given.quick else None]:
            dataset = rendered(work, name, seed, given.seconds, given.camera, given.panic)
            met.append(judged(f"{name}, seed {seed}", measured(dataset)))
    print(f"\nbars: {'met' if all(met) else 'MISSED'} ({sum(met)} of {len(met)})")
    return not all(met)


def rendered(work: Path, name: str, seed: int, seconds: float, camera: str, panic: bool) -> Dataset:
    folder = work / f"{name}_{seed}_{camera}{'_panic' * panic}"
    if not folder.is_dir():
        scene = preset(name, panic=panic)
        write_dataset(scene, folder, views=[camera], size=(480, 360), seconds=seconds, rng=seed)
    return read_dataset(folder)


def measured(dataset: Dataset) -> dict[str, list[float]]:
    """A row of :data:`COLUMNS` for every method, raw and averaged."""
    (view,) = dataset.views.values()
    truth = dataset.truth()
    assert truth.fields is not None
    rows: dict[str, list[float]] = {}
    for method in ("default", *STOCK):
        start = time.process_time()
        found = capture(view.footage(), method=method, jobs=1, camera=truth.fields.homography)
        spent = time.process_time() - start
        if not rows:
            still = replace(found, velocities=np.zeros_like(found.velocities), scale="crowd")
            rows["no motion"] = row(evaluate(still, truth), 0.0)
            true = Truth(truth.fields, dataset.tracks)
            rows["the crowd's true flow"] = row(evaluate(truth.fields, true), 0.0)
        rows[f"{method}, person"] = row(evaluate(replace(found, scale="crowd"), truth), spent)
        start = time.process_time()
        crowd = crowd_flow(found)
        rows[f"{method}, crowd"] = row(evaluate(crowd, truth), spent + time.process_time() - start)
    return rows


def row(found: dict[str, Any], seconds: float) -> list[float]:
    after = {error["seconds"]: error["mean"] for error in found["trajectories"]}
    flow = found["flow"] or {}
    names = ("divergence", "vorticity", "flux", "circulation", "outflow")
    values = [after.get(1.0), after.get(2.0), after.get(5.0), found["endpoint"]]
    values += [flow.get(name) for name in names]
    return [np.nan if value is None else float(value) for value in (*values, seconds)]


def judged(title: str, rows: dict[str, list[float]]) -> bool:
    print(f"\n{title:28s}" + "".join(f"{column:>9s}" for column in COLUMNS))
    for name, values in rows.items():
        print(f"  {name:26s}" + "".join(f"{value:9.3f}" for value in values))
    people, crowd = rows["default, person"], rows["default, crowd"]
    best = {k: min(rows[f"{method}, person"][k] for method in STOCK) for k in (CARRIED, ENDPOINT)}
    record(
        f"{title}: carried 5 s", people[CARRIED], best[CARRIED], peer="best stock method", unit="m", bar=1.1
    )
    record(
        f"{title}: endpoint", crowd[ENDPOINT], best[ENDPOINT], peer="best stock method", unit="px", bar=0.8
    )
    bars = {
        "carried 5 s at most 1.1 of the best stock method": people[CARRIED] <= 1.1 * best[CARRIED],
        "endpoint at most 0.8 of the best stock method": crowd[ENDPOINT] <= 0.8 * best[ENDPOINT],
        "endpoint below averaged lk": crowd[ENDPOINT] < rows["lk, crowd"][ENDPOINT],
        "divergence and vorticity at most 0.7": max(crowd[DIVERGENCE], crowd[VORTICITY]) <= 0.7,
    }
    print("  " + "; ".join(f"{bar}: {'met' if met else 'MISSED'}" for bar, met in bars.items()), flush=True)
    return all(bars.values())


def speed() -> bool:
    """The estimator with its longest baselines beside DIS medium, a pair of 640 × 480."""
    noise = np.random.default_rng(0).normal(128, 40, (480, 660)).astype(np.float32)
    wide = cv2.GaussianBlur(noise, (0, 0), 1.5)
    images = [np.ascontiguousarray(wide[:, k : 640 + k]) for k in range(14)]
    estimator, times = FlowEstimator((480, 640)), []
    medium = cv2.DISOpticalFlow_create(2)  # type: ignore[attr-defined]
    grey = [image.astype(np.uint8) for image in images[:2]]
    for _ in range(5):
        start = time.process_time()
        prepared = [estimator.prepared(images[0], None)]
        taken = time.process_time() - start
        prepared += [estimator.prepared(image, None) for image in images[1:]]
        start = time.process_time()
        estimator.along(prepared, 6)
        taken += time.process_time() - start
        start = time.process_time()
        medium.calc(*grey, None)
        times.append((taken, time.process_time() - start))
    ours, theirs = np.min(times, axis=0)
    record("640 × 480, a pair", ours, theirs, peer="OpenCV DIS medium", unit="s", bar=1 / 3)
    print(f"640 × 480: {1e3 * ours:.1f} ms a pair, DIS medium {1e3 * theirs:.1f}: {ours / theirs:.2f} times")
    return bool(ours <= 3 * theirs)


if __name__ == "__main__":
    sys.exit(main())
