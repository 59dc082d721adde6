"""Principal geodesic analysis of 5,000 poses of 20 joints: marey beside plain NumPy and scipy's Rotation.

One thread, warmed up, least process CPU time over repeats, same process, same input. The others are what
one writes with their tools: the chordal mean by eigenvectors, the fixed point of the Karcher mean to the
same tolerance, vectorised over samples and joints (scipy: over samples), then the eigenvectors of the
covariance. Means and spectra are checked to 1e-8 before anything is timed. Exits with 1 where a bar is
missed: 4 times NumPy, 15 times scipy. Also reported: what a whole pose model costs in each metric, streaming,
and encoding and decoding.

geomstats, the library for statistics on manifolds, does the same on its product manifold in minutes, and in
about 0.7 s where one loops over joints in its vector representation; it does not import beside current
NumPy, so it is not run here.

    python benchmarks/pose_models.py
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
from dataclasses import replace

import numba  # noqa: F401 - loaded, as in any longer session
import numpy as np
from _ledger import record
from _plain_numpy import fastest, plain_exp, plain_log, plain_product
from scipy.spatial.transform import Rotation

import marey
from marey.body.pose_model import METRICS, PoseModel
from marey.geometry import rotations as so3
from marey.statistics.geodesics import principal_geodesics

FRAMES, JOINTS = 5_000, 20
BAR_OVER_NUMPY, BAR_OVER_SCIPY = 4.0, 15.0
AGREE = 1e-8
TOLERANCE = 1e-11

Found = tuple[np.ndarray, np.ndarray]


def main() -> int:
    rotations = poses()
    mine, spectrum = ours(rotations)
    for name, other in (("NumPy", plain), ("scipy", with_scipy)):
        mean, values = other(rotations)
        gap = max(float(so3.distance(mean, mine).max()), float(np.abs(values - spectrum).max()))
        print(f"mean and spectrum beside {name}: within {gap:.1e}")
        if gap > AGREE:
            raise SystemExit(f"results differ by {gap:.1e}")
    print(f"\n{FRAMES:,} poses of {JOINTS} joints")
    seconds = fastest(lambda: ours(rotations), lambda: plain(rotations), lambda: with_scipy(rotations))
    for name, value in zip(("marey", "NumPy", "scipy"), seconds, strict=True):
        print(f"  {name:8} {1e3 * value:9.1f} ms {value / seconds[0]:8.1f} x")
    work = f"mean and modes of {FRAMES:,} poses × {JOINTS} joints"
    record(work, seconds[0], seconds[1], peer="NumPy", bar=BAR_OVER_NUMPY)
    record(work, seconds[0], seconds[2], peer="scipy Rotation", bar=BAR_OVER_SCIPY)
    models()
    missed = [
        f"{seconds[i] / seconds[0]:.1f} x {name}, must be {bar:.0f}"
        for i, name, bar in ((1, "NumPy", BAR_OVER_NUMPY), (2, "scipy", BAR_OVER_SCIPY))
        if seconds[i] / seconds[0] < bar
    ]
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return 1 if missed else 0


def poses() -> np.ndarray:
    """Rotations like those of captured motion: joints that swing together by up to a radian."""
    rng = np.random.default_rng(0)
    modes = rng.standard_normal((12, 3 * JOINTS)) * (0.75 ** np.arange(12))[:, None]
    times = np.linspace(0, 60, FRAMES)[:, None]
    swings = np.sin(times * rng.uniform(0.5, 3, 12) + rng.uniform(0, 6, 12))
    logs = 0.25 * swings @ modes + 0.01 * rng.standard_normal((FRAMES, 3 * JOINTS))
    return so3.multiply(so3.random(JOINTS, rng=rng), so3.exp(logs.reshape(FRAMES, JOINTS, 3)))


def ours(rotations: np.ndarray) -> Found:
    found = principal_geodesics(rotations)
    return found.mean, found.spectrum


def plain(rotations: np.ndarray) -> Found:
    mean = chordal_mean(rotations)
    while True:
        logs = plain_log(plain_product(mean * [1, -1, -1, -1], rotations))
        step = logs.mean(axis=0)
        if np.linalg.norm(step, axis=-1).max() < TOLERANCE:
            break
        mean = plain_product(mean, plain_exp(step))
    flat = logs.reshape(len(logs), -1)
    return mean, np.linalg.eigh(flat.T @ flat / len(flat))[0][::-1]


def with_scipy(rotations: np.ndarray) -> Found:
    joints = [Rotation.from_quat(rotations[:, j], scalar_first=True) for j in range(rotations.shape[1])]
    means, logs = [], []
    for samples, start in zip(joints, chordal_mean(rotations), strict=True):
        mean = Rotation.from_quat(start, scalar_first=True)
        while True:
            log = (mean.inv() * samples).as_rotvec()
            step = log.mean(axis=0)
            if np.linalg.norm(step) < TOLERANCE:
                break
            mean = mean * Rotation.from_rotvec(step)
        means.append(mean.as_quat(scalar_first=True))
        logs.append(log)
    flat = np.concatenate(logs, axis=1)
    return np.array(means), np.linalg.eigh(flat.T @ flat / len(flat))[0][::-1]


def chordal_mean(rotations: np.ndarray) -> np.ndarray:
    moments = np.einsum("mji,mjk->jik", rotations, rotations, optimize=True)
    return np.linalg.eigh(moments)[1][..., -1]


def models() -> None:
    """What users call: whole pose models, streams, coordinates."""
    walk = marey.samples.walk(seconds=60)
    rng = np.random.default_rng(0)
    wobble = 0.1 * np.sin(np.arange(walk.frames)[:, None, None] / 40 + rng.uniform(0, 6, (walk.joints, 3)))
    walk = replace(walk, rotations=so3.multiply(walk.rotations, so3.exp(wobble)))
    print(f"\npose models of {walk.frames:,} frames of {walk.joints} joints")
    for metric in METRICS:
        (seconds,) = fastest(lambda metric=metric: PoseModel.fit([walk], metric=metric))
        print(f"  fit, {metric:10} {1e3 * seconds:9.1f} ms")
    (seconds,) = fastest(lambda: PoseModel.fit([lambda: walk] * 20), repeats=3)
    print(f"  fit, 20 such clips, several passes {1e3 * seconds:9.1f} ms")
    model = PoseModel.fit([walk])
    values = model.encode(walk)
    seconds = fastest(lambda: model.encode(walk), lambda: model.decode(values))
    each = [f"{1e6 * value / walk.frames:.2f} us a frame" for value in seconds]
    print(f"  encode {each[0]}, decode {each[1]}")


if __name__ == "__main__":
    sys.exit(main())
