"""Pose distances of all pairs: marey beside the batched SVD one would write, per pair and in one process.

The built-in human walks in several ways; 10,000 of its triangles are compared. The straightforward version
takes a 3x3 matrix for each triangle of a pair, its singular values and vectors, and the angle. Results are
checked to agree within a percent before anything is timed. Two threads for marey's matrix, as a user has
them; both contenders are also given in CPU time, which counts every thread. Then the whole matrix, with the
largest memory the process ever took. Exits with 1 where a bar is missed: 20 times the SVD in wall and CPU
time a pair, and less than 2 GB for 2,600 frames.

    python benchmarks/surface_distance.py [--frames 2600]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from _ledger import record
from numpy.typing import NDArray

import marey
from marey.surface import MeshSequence
from marey.surface.distances import distances
from marey.surface.sequence import Library

Array = NDArray[np.float64]

FACES = 10_000
FRAMES, FRAMES_TIMED = 2_600, 240
BAR, MOST_GB = 20.0, 2.0


def main() -> int:
    parser = argparse.ArgumentParser(description="Pose distances of all pairs beside a batched SVD.")
    parser.add_argument("--frames", type=int, default=FRAMES, help="of the whole matrix")
    frames = parser.parse_args().frames
    missed = []

    some = library(FRAMES_TIMED)
    found = distances(some)
    wall, cpu = least(lambda: distances(some), 3)
    pairs = some.frames * (some.frames - 1) // 2
    first, second = 0, 40
    peer = svd_distance(some, first, second, float(found.yaw_offsets[first, second]))
    np.testing.assert_allclose(found.values[first, second], peer, rtol=0.01)
    peer_wall, peer_cpu = least(lambda: svd_distance(some, first, second, 0.3), 5)
    print(f"{FACES:,} triangles, {some.frames} frames; microseconds a pair")
    print(f"{'':26} {'wall':>9} {'CPU':>9}")
    print(f"{'marey, whole matrix':26} {1e6 * wall / pairs:9.1f} {1e6 * cpu / pairs:9.1f}")
    print(f"{'NumPy, batched SVD':26} {1e6 * peer_wall:9.1f} {1e6 * peer_cpu:9.1f}")
    work = f"distance of two poses of {FACES:,} triangles, all pairs"
    record(work, cpu / pairs, peer_cpu, peer="NumPy, batched SVD", bar=BAR)
    for name, ratio in (("wall", peer_wall * pairs / wall), ("CPU", peer_cpu * pairs / cpu)):
        print(f"{name} time: {ratio:,.0f} x the SVD")
        if ratio < BAR:
            missed.append(f"{ratio:.1f} x the SVD in {name} time, must be {BAR:.0f}")

    whole = library(frames)
    wall, cpu = least(lambda: distances(whole), 1)
    pairs = frames * (frames - 1) // 2
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{frames:,} frames, {pairs:,} pairs: {wall:.0f} s, CPU {cpu:.0f} s")
    print(f"a pair {1e6 * cpu / pairs:.1f} µs CPU, a triangle of it {1e9 * cpu / pairs / FACES:.2f} ns")
    print(f"the SVD would take {peer_wall * pairs / 3600:.0f} hours; largest memory {memory:.2f} GB")
    if memory > MOST_GB:
        missed.append(f"{memory:.2f} GB, must be below {MOST_GB:.0f}")
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return 1 if missed else 0


def library(frames: int) -> Library:
    """Walks of different speeds one after the other: so many frames of 10,000 triangles."""
    found: list[MeshSequence] = []
    speeds = iter(np.linspace(0.8, 1.8, -(-frames // 240)))
    while sum(sequence.frames for sequence in found) < frames:
        left = frames - sum(sequence.frames for sequence in found)
        walk = marey.samples.walk(seconds=min(left, 240) / 60, speed=float(next(speeds)), frame_rate=60)
        found.append(_cut(marey.samples.mesh_sequence(walk)))
    return Library(tuple(found))


def _cut(sequence: MeshSequence) -> MeshSequence:
    """Spread triangles of the surface, with the vertices they need."""
    chosen = np.linspace(0, len(sequence.faces) - 1, FACES).astype(int)
    used, faces = np.unique(sequence.faces[chosen], return_inverse=True)
    vertices = np.asarray(sequence.vertices[:, used], np.float32)
    return MeshSequence(vertices, faces.reshape(-1, 3), sequence.frame_rate, name=sequence.name)


def svd_distance(given: Library, first: int, second: int, turn: float) -> float:
    """Mean angle plus 0.01 log-stretch of a pair, the way it reads."""
    c, s = np.cos(turn), np.sin(turn)
    turned = given.vertices(second) @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    before, areas = _edges(np.asarray(given.vertices(first), float), given.faces)
    after, _ = _edges(turned, given.faces)
    gradients = after @ np.linalg.inv(before)
    left, values, right = np.linalg.svd(gradients)
    rotations = left @ right
    angles = np.arccos(np.clip((np.trace(rotations, axis1=1, axis2=2) - 1) / 2, -1, 1))
    stretch = np.linalg.norm(np.log(values), axis=1)
    return float(np.average(angles + 0.01 * stretch, weights=areas))


def _edges(vertices: Array, faces: NDArray[np.integer]) -> tuple[Array, Array]:
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    normals = np.cross(a - c, b - c)
    sizes = np.linalg.norm(normals, axis=1)
    return np.stack([a - c, b - c, normals / sizes[:, None]], axis=2), sizes / 2


def least(task: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Least wall and CPU seconds."""
    found = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        task()
        found.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(f[0] for f in found), min(f[1] for f in found)


if __name__ == "__main__":
    sys.exit(main())
