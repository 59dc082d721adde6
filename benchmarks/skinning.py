"""Skinning: marey's kernels beside the einsum one would write, and beside their own NumPy twins.

One thread, warmed up, least process CPU time over repeats, same process, same input. Results are checked
to agree within 1e-9 m (1e-5 in single precision) before anything is timed. Exits with 1 where a bar is
missed: at least 3 times the einsum for a clip, never slower than NumPy.

    python benchmarks/skinning.py
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
from collections.abc import Callable
from typing import Any

import numba  # noqa: F401 - loaded, as in any longer session; the kernels are then used at every size
import numpy as np
from _ledger import record
from numpy.typing import NDArray

from marey.geometry import rotations
from marey.surface import skinning

Array = NDArray[Any]
# Frames to pose of a human of this many vertices, joints and influences.
VERTICES, JOINTS, INFLUENCES = 13_380, 31, 4
FRAMES = (1, 10, 200)
BAR_OVER_EINSUM = 3.0
# Two runs of the same code differ by this much on a busy machine.
NOISE = 0.95


def main() -> int:
    missed = []
    print(f"{VERTICES:,} vertices, {JOINTS} joints, {INFLUENCES} influences; nanoseconds a vertex and frame")
    columns = ("marey", "einsum", "NumPy", "x einsum", "x NumPy")
    print(f"{'':15} {'precision':>9} {'frames':>6}" + "".join(f" {column:>8}" for column in columns))
    for frames in FRAMES:
        for dtype in (np.float64, np.float32):
            for name, (ours, einsum, twin) in contenders(frames, dtype).items():
                tolerance = 1e-9 if dtype == np.float64 else 1e-5
                for other in (einsum, twin):
                    if other is not None:
                        np.testing.assert_allclose(ours(), other(), atol=tolerance)
                mine, theirs, plain = (fastest(f, frames) for f in (ours, einsum, twin))
                print(
                    f"{name:15} {np.dtype(dtype).name:>9} {frames:6} {mine:8.1f} {theirs:8.1f} {plain:8.1f}"
                    f" {theirs / mine:8.1f} {plain / mine:8.1f}"
                )
                if frames == FRAMES[-1]:
                    work = f"skinning, {name}, {np.dtype(dtype).name}, a vertex and frame"
                    record(work, mine / 1e9, theirs / 1e9, peer="NumPy einsum", bar=BAR_OVER_EINSUM)
                    record(work, mine / 1e9, plain / 1e9, peer="NumPy", bar=NOISE)
                if plain / mine < NOISE:
                    missed.append(f"{name}, {frames} frames: {plain / mine:.2f} x NumPy, must not be below 1")
                if frames == FRAMES[-1] and theirs / mine < BAR_OVER_EINSUM:
                    missed.append(f"{name}: {theirs / mine:.1f} x einsum, must be {BAR_OVER_EINSUM:.0f}")
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return 1 if missed else 0


Contender = Callable[[], Array]


def contenders(frames: int, dtype: type) -> dict[str, tuple[Contender, Contender | None, Contender]]:
    """For each method: marey, the einsum (there is none for dual quaternions), the NumPy twin."""
    rng = np.random.default_rng(0)
    vertices = rng.normal(size=(VERTICES, 3)).astype(dtype)
    influences = rng.integers(0, JOINTS, (VERTICES, INFLUENCES)).astype(np.int32)
    weights = -np.sort(-rng.dirichlet(np.ones(INFLUENCES), VERTICES), axis=1)
    weights = weights.astype(dtype)
    transforms = np.broadcast_to(np.eye(4), (frames, JOINTS, 4, 4)).copy()
    transforms[..., :3, :3] = rotations.to_matrix(rotations.random((frames, JOINTS), rng=rng))
    transforms[..., :3, 3] = rng.normal(size=(frames, JOINTS, 3))
    given = (vertices, influences, weights)
    rows = transforms[:, :, :3].reshape(frames, JOINTS, 12).astype(dtype)
    quaternions = skinning.dual_quaternions(transforms).astype(dtype)

    def frame_by_frame(twin: skinning.Mover, motions: Array) -> Array:
        out = np.empty((frames, VERTICES, 3), dtype)
        for i in range(frames):
            twin(*given, motions[i : i + 1], out[i : i + 1])
        return out

    return {
        "linear": (
            lambda: skinning.linear_blend(*given, transforms, dtype=dtype),
            lambda: einsum(*given, transforms.astype(dtype)),
            lambda: frame_by_frame(skinning.linear_blend_in_numpy, rows),
        ),
        "dual quaternion": (
            lambda: skinning.dual_quaternion(*given, transforms, dtype=dtype),
            None,
            lambda: frame_by_frame(skinning.dual_quaternion_in_numpy, quaternions),
        ),
    }


def einsum(vertices: Array, influences: Array, weights: Array, transforms: Array) -> Array:
    """Blend the matrices of each vertex, then apply them; frame by frame, which is quickest."""
    homogeneous = np.concatenate([vertices, np.ones((len(vertices), 1), vertices.dtype)], axis=1)
    out = np.empty((len(transforms), *vertices.shape), vertices.dtype)
    for frame, matrices in enumerate(transforms[:, :, :3]):
        blended = np.einsum("vk,vkij->vij", weights, matrices[influences])
        out[frame] = np.einsum("vij,vj->vi", blended, homogeneous)
    return out


def fastest(task: Contender | None, frames: int) -> float:
    """Nanoseconds a vertex and frame."""
    if task is None:
        return np.nan
    times = []
    for _ in range(5 if frames > 10 else 15):
        start = time.process_time_ns()
        task()
        times.append(time.process_time_ns() - start)
    return min(times) / frames / VERTICES


if __name__ == "__main__":
    sys.exit(main())
