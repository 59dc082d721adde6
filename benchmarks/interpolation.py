"""In-betweens of two poses: marey's Poisson interpolation beside libigl's as-rigid-as-possible solver.

One thread, warmed up, least and median process CPU time over repeats, same process. As-rigid-as-possible
starts at the straight in-between with one vertex held and does 10 iterations, prepared before, as ours is.
Then the errors of in-betweens of real pairs (and of samples): volume and edge lengths, beside straight lines.
Exits with 1 where a bar is missed: at most 10 ms from two meshes of 10,000 vertices and a weight to the mesh
between, at least 10 times as quick as libigl, both errors lower than those of straight lines on every pair.

    python benchmarks/interpolation.py [SEQUENCE …]

Real sequences are looked for in the data folder (MAREY_DATA); further files may be named. Without libigl
(extra `peers`) there is no ratio.
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _ledger import record
from numpy.typing import NDArray

import marey
from marey.geometry import planar
from marey.surface.interpolation import Interpolator, distortion, linear_interpolation

try:
    import igl
except ImportError:
    igl = None

Array = NDArray[Any]

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
DATA = Path(os.environ.get("MAREY_DATA", BESIDE)) / "mesh4d"
MOST_MILLISECONDS, LEAST_RATIO, ITERATIONS = 10.0, 10.0, 10
PAIRS, WEIGHTS, REPEATS = 30, (0.25, 0.5, 0.75), 80
# Radians by which faces of two poses must have turned on average to be called two poses.
DIFFERENT = 0.02


def main(arguments: list[str]) -> int:
    missed = timings()
    print(
        f"\nerrors of {PAIRS} random pairs each, at weights {WEIGHTS}: mean of ours, of straight lines, worse"
    )
    columns = ("volume", "straight", "edges", "straight")
    print(f"{'':24} {'vertices':>8} {'pairs':>5}" + "".join(f" {column:>8}" for column in columns) + " worse")
    for name, vertices, faces in subjects(arguments):
        worse, count, means = errors(vertices, faces)
        print(
            f"{name:24} {vertices.shape[1]:8,} {count:5}"
            + "".join(f" {100 * mean:7.3f}%" for mean in means)
            + f" {worse:5}"
        )
        if worse:
            missed.append(f"{name}: {worse} in-betweens worse than straight lines")
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return 1 if missed else 0


def timings() -> list[str]:
    name, poses, faces = largest()
    shared = Interpolator.prepare(poses[0], faces)
    missed = []
    print(f"{name}: {poses.shape[1]:,} vertices, {len(faces):,} faces; milliseconds an in-between")
    print(f"{'pair':>9} {'largest turn':>12} {'least':>7} {'median':>7} {'libigl':>8} {'x libigl':>8}")
    for i, j in pairs(len(poses), 5, 11):
        first = poses[i]
        second = planar.align(first, poses[j]).apply(poses[j])
        ours = milliseconds(lambda first=first, second=second: shared.between(first, second, 0.5), REPEATS)
        angle = shared.pair(first, second).angles.max()
        theirs = np.nan if igl is None else rigid_as_possible(first, second, faces)
        ratio = theirs / min(ours)
        print(f"{i:4} {j:4} {angle:12.2f} {min(ours):7.2f} {np.median(ours):7.2f} {theirs:8.1f} {ratio:8.1f}")
        work = f"a mesh between frames {i} and {j}, {poses.shape[1]:,} vertices, turns up to {angle:.1f} rad"
        record(work, min(ours) / 1e3, theirs / 1e3, peer="libigl ARAP, 10 iterations", bar=LEAST_RATIO)
        if min(ours) > MOST_MILLISECONDS:
            missed.append(f"pair {i} {j}: {min(ours):.1f} ms, must be {MOST_MILLISECONDS:.0f}")
        if ratio < LEAST_RATIO:
            missed.append(f"pair {i} {j}: {ratio:.1f} x libigl, must be {LEAST_RATIO:.0f}")
    return missed


def rigid_as_possible(first: Array, second: Array, faces: Array) -> float:
    """Milliseconds of libigl's solver alone."""
    held = np.zeros(1, np.int32)
    start = linear_interpolation(first, second, 0.5)
    data = igl.ARAPData()
    data.max_iter = ITERATIONS
    igl.arap_precomputation(first, faces.astype(np.int64), 3, held, data)
    return min(milliseconds(lambda: igl.arap_solve(start[held], data, start), 15))


def errors(vertices: Array, faces: Array) -> tuple[int, int, Array]:
    """In-betweens with a larger error than straight lines, pairs looked at, and the four mean errors."""
    shared = Interpolator.prepare(vertices[0], faces)
    found, worse, count = [], 0, 0
    for i, j in pairs(len(vertices), PAIRS, 1):
        first = vertices[i].astype(np.float64)
        second = planar.align(first, vertices[j]).apply(vertices[j]).astype(np.float64)
        pair = shared.pair(first, second)
        if pair.angles.mean() < DIFFERENT:
            continue
        count += 1
        for weight in WEIGHTS:
            ours = distortion(pair.at(weight), first, second, faces, weight)
            plain = distortion(linear_interpolation(first, second, weight), first, second, faces, weight)
            found.append((ours.volume, plain.volume, ours.edges, plain.edges))
            worse += ours.volume >= plain.volume or ours.edges >= plain.edges
    return worse, count, np.mean(found, axis=0)


def subjects(files: list[str]) -> Iterator[tuple[str, Array, Array]]:
    """Name, vertices `(frames, vertices, 3)` and faces of every subject there is."""
    walk = marey.samples.mesh_sequence()
    yield "sample human", walk.vertices, walk.faces
    for path in sorted(DATA.glob("*/*_q16.npz")):
        yield path.parent.name, *stored(path)
    for path in sorted([*DATA.glob("gltf_skinned/**/*.glb"), *map(Path, files)]):
        thing = marey.load(path)
        clips = [thing.pose(motion) for motion in thing.motions] if hasattr(thing, "motions") else [thing]
        yield path.stem, np.concatenate([clip.vertices for clip in clips]), clips[0].faces


def largest() -> tuple[str, Array, Array]:
    """The captured dancer, or a made-up tube of as many vertices that bends."""
    for path in sorted(DATA.glob("vlasic_samba/*_q16.npz")):
        return path.parent.name, *stored(path)
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.surface.interpolation.tubes import bent, tube

    vertices, faces = tube(250, 40)
    return "tube", np.stack([bent(vertices, angle) for angle in np.linspace(0.1, 2.6, 20)]), faces


def stored(path: Path) -> tuple[Array, Array]:
    with np.load(path, allow_pickle=False) as data:
        return data["vertices_q"] * data["scale"] + data["offset"], data["faces"]


def pairs(frames: int, count: int, seed: int) -> list[tuple[int, int]]:
    """Different frames, drawn at random."""
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(frames, 2, replace=False).tolist()) for _ in range(count)]


def milliseconds(task: Callable[[], Any], repeats: int) -> list[float]:
    task()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        task()
        times.append(1000 * (time.process_time() - start))
    return times


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
