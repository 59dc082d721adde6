"""Reading mesh sequences: marey beside trimesh.

One thread, warmed up, least process CPU time over repeats, same process, same files: 100 frames of 9,971
vertices and 19,938 triangles as OBJ text of six decimals and as binary PLY. The vertices and faces are
checked to be the same before anything is timed. Exits with 1 where a bar is missed: OBJ at least 10 times
as quick as trimesh, PLY not slower than it, memory of reading at most 3 times the arrays it returns.

    python benchmarks/meshes.py [SEQUENCE.npz]

Without a sequence, a sphere that wobbles is made up. Without trimesh (extra `test`) there is no ratio.
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _ledger import record
from numpy.typing import NDArray

from marey.io import npz, obj, ply
from marey.surface import MeshSequence

try:
    import trimesh
except ImportError:
    trimesh = None

FORMATS = {".obj": obj, ".ply": ply}
BARS = {".obj": 10.0, ".ply": 1.0}
MOST_MEMORY = 3.0
REPEATS = 3


def main(arguments: list[str]) -> int:
    sequence = npz.read(Path(arguments[0])) if arguments else wobbling_sphere()
    sequence = replace(sequence, vertices=np.round(sequence.vertices, 6))
    missed = []
    frames, vertices = sequence.vertices.shape[:2]
    print(f"{frames} frames, {vertices:,} vertices, {len(sequence.faces):,} triangles")
    print(f"{'ms a frame':10} {'bytes':>11} {'marey':>9} {'trimesh':>9} {'x trimesh':>9} {'memory':>7}")
    for ending, module in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder:
            module.write(sequence, Path(folder) / f"frame_%04d{ending}")
            files = sorted(Path(folder).glob(f"*{ending}"))
            ours = partial(module.read, Path(folder))
            theirs = partial(read_with_trimesh, files)
            check_agreement(sequence, ours(), theirs() if trimesh else [])
            mine = fastest(ours) / frames
            other = fastest(theirs) / frames if trimesh else np.nan
            memory = peak(ours) / (sequence.vertices.nbytes + sequence.faces.nbytes)
            size = sum(file.stat().st_size for file in files)
            print(f"{ending:10} {size:11,} {mine:9.2f} {other:9.2f} {other / mine:9.1f} {memory:7.2f}")
            work = f"{ending[1:].upper()}, a frame of {vertices:,} vertices"
            record(work, mine / 1e3, other / 1e3, peer="trimesh", bar=BARS[ending])
            if other / mine < BARS[ending]:
                missed.append(f"{ending}: {other / mine:.1f} x trimesh, must be {BARS[ending]:.0f}")
            if memory > MOST_MEMORY:
                missed.append(f"{ending}: {memory:.1f} times the arrays in memory, at most {MOST_MEMORY:.0f}")
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return 1 if missed else 0


def read_with_trimesh(files: list[Path]) -> list[Any]:
    """Without its clean-up, which is its quickest way."""
    return [trimesh.load(file, process=False, maintain_order=True) for file in files]


def check_agreement(sequence: MeshSequence, ours: MeshSequence, theirs: list[Any]) -> None:
    np.testing.assert_array_equal(ours.vertices, sequence.vertices)
    np.testing.assert_array_equal(ours.faces, sequence.faces)
    for frame, mesh in zip(ours.vertices, theirs, strict=False):
        np.testing.assert_array_equal(mesh.vertices, frame)
        np.testing.assert_array_equal(mesh.faces, ours.faces)


def fastest(task: Callable[[], object]) -> float:
    """Milliseconds."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time_ns()
        task()
        times.append(time.process_time_ns() - start)
    return min(times) / 1e6


def peak(task: Callable[[], object]) -> int:
    """Most bytes held at a time."""
    tracemalloc.start()
    task()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def wobbling_sphere(frames: int = 100, rows: int = 76, columns: int = 131) -> MeshSequence:
    """About 10,000 vertices: rings of a sphere, and two poles."""
    polar = np.repeat(np.arange(1, rows + 1) * np.pi / (rows + 1), columns)
    around = np.tile(np.arange(columns) * 2 * np.pi / columns, rows)
    rings = np.stack([np.sin(polar) * np.cos(around), np.cos(polar), np.sin(polar) * np.sin(around)], axis=1)
    points = np.concatenate([rings, [[0, 1, 0], [0, -1, 0]]])
    wobble = 1 + 0.1 * np.sin(np.linspace(0, 6, frames)[:, None, None] + 5 * points[:, :1])
    corner = np.arange((rows - 1) * columns)
    right = corner - corner % columns + (corner + 1) % columns
    sides: list[NDArray[np.int64]] = [
        np.stack([corner, right, right + columns], axis=1),
        np.stack([corner, right + columns, corner + columns], axis=1),
    ]
    ring, last = np.arange(columns), (rows - 1) * columns
    top = np.stack([np.full(columns, rows * columns), np.roll(ring, -1), ring], axis=1)
    bottom = np.stack(
        [np.full(columns, rows * columns + 1), last + ring, last + (ring + 1) % columns], axis=1
    )
    return MeshSequence(points * wobble, np.concatenate([*sides, top, bottom]), 30.0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
