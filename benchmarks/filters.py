"""Bilateral and Gaussian filters of a clip, and time warping, beside plain NumPy and installed peers.

One thread, warmed up, least process CPU time over repeats, same process, same input; results are compared
before anything is timed. Exits with 1 where a bar is missed: five bilateral passes over 75 joints × 150
frames (300 ms in Courty 2013) within 10 ms, time warping of 1,000 frames and more no slower than the fastest
installed peer.

    python benchmarks/filters.py                      in the virtual environment of the peers: all rows
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
from collections.abc import Callable

import numpy as np
from _ledger import record
from _plain_numpy import fastest, plain_exp, plain_log, plain_product
from scipy.ndimage import gaussian_filter1d

from marey.geometry import rotations as so3
from marey.geometry.filters import bilateral_rotations, gaussian_mask, linear_rotations
from marey.statistics.warping import align

JOINTS, FRAMES, PASSES, SIGMA_G = 75, 150, 5, 0.1
BAR = 10e-3
SOURCE = 300e-3
CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
# Two runs of the same code differ by this much on a busy machine.
NOISE = 0.95


def main() -> int:
    missed = filters() + warping()
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return 1 if missed else 0


def filters() -> list[str]:
    q = noisy_clip()
    flat = np.median(so3.distance(plain_bilateral(q), bilateral_rotations(q, sigma_g=SIGMA_G, half=4)))
    if flat > 1e-12:
        raise SystemExit(f"the two bilateral filters differ by {flat:.1e}")
    mask = gaussian_mask(1.0)
    rows: dict[str, Callable[[], object]] = {
        "bilateral, marey": lambda: bilateral_rotations(q, sigma_g=SIGMA_G),
        "  scales from the noise": lambda: bilateral_rotations(q),
        "  guided, ends continued": lambda: bilateral_rotations(q, guided=True, boundary="extrapolate"),
        "bilateral, plain NumPy": lambda: plain_bilateral(q),
        "gaussian, marey": lambda: linear_rotations(q, mask, passes=PASSES),
        "gaussian, scipy on components": lambda: naive_gaussian(q),
    }
    seconds = dict(zip(rows, fastest(*rows.values(), repeats=25), strict=True))
    print(f"{JOINTS} joints x {FRAMES} frames, {PASSES} passes; Courty 2013 took 300 ms on a laptop of 2013")
    ours = seconds["bilateral, marey"]
    for name, value in seconds.items():
        print(
            f"  {name:32} {1e3 * value:8.2f} ms   {value / ours:6.1f} x ours   source {SOURCE / value:5.0f} x"
        )
    work = f"bilateral filter, {JOINTS} joints × {FRAMES} frames, {PASSES} passes"
    record(work, ours, seconds["bilateral, plain NumPy"], peer="NumPy")
    print("  (scipy's filter blurs quaternion components: it leaves the sphere and knows no sign)")
    return [] if ours < BAR else [f"bilateral filter: {1e3 * ours:.1f} ms, must be below {1e3 * BAR:.0f}"]


def warping() -> list[str]:
    rng = np.random.default_rng(0)
    missed = []
    for frames, dims in ((300, 10), (1000, 10), (3000, 10)):
        a, b = (np.cumsum(rng.normal(size=(frames, dims)), axis=0) for _ in range(2))
        rows: dict[str, Callable[[], object]] = {
            "marey, no limit": lambda a=a, b=b: align(a, b, max_slope=None),
            "marey, at most 4 times as fast": lambda a=a, b=b: align(a, b),
            "marey, that in a band of 10 %": lambda a=a, b=b: align(a, b, band=0.1),
            **warping_peers(a, b),
        }
        for function in rows.values():
            function()
        seconds = dict(zip(rows, fastest(*rows.values(), repeats=5), strict=True))
        ours = seconds["marey, no limit"]
        print(f"time warping with its path, {frames} x {frames} frames, {dims} dimensions")
        for name, value in seconds.items():
            print(f"  {name:32} {1e3 * value:8.2f} ms   {value / ours:6.1f} x ours")
            if not name.startswith("marey"):
                work = f"time warping with its path, {frames} × {frames} frames"
                record(work, ours, value, peer=name, bar=NOISE if frames >= 1000 else None)
        for name, value in seconds.items():
            if frames >= 1000 and not name.startswith("marey") and value / ours < NOISE:
                missed.append(f"time warping of {frames} frames: {name} takes {value / ours:.2f} x ours")
    return missed


def warping_peers(a: np.ndarray, b: np.ndarray) -> dict[str, Callable[[], object]]:
    """Peers that are installed, each checked for the same cost; some sum squares under a root."""
    peers: dict[str, Callable[[], object]] = {}
    distances = np.linalg.norm(a[:, None] - b[None], axis=2) if len(a) <= 1000 else None
    try:
        from tslearn.metrics import dtw_path

        path, cost = dtw_path(a, b)
        i, j = np.array(path).T
        if abs(np.sqrt(((a[i] - b[j]) ** 2).sum()) - cost) > 1e-6 * cost:
            raise SystemExit("tslearn's cost is not what we think")
        peers["tslearn dtw_path (squares)"] = lambda: dtw_path(a, b)
    except ImportError:
        print("  (tslearn is not installed)")
    try:
        from dtaidistance import dtw_ndim

        dtw_ndim.warping_path(a[:9], b[:9])
        # Written in C; the path comes from a table of the size of both series.
        peers["dtaidistance (C, squares)"] = lambda: dtw_ndim.warping_path(a, b, use_c=True)
    except ImportError:
        print("  (dtaidistance is not installed)")
    try:
        import contextlib
        import io

        with contextlib.redirect_stdout(io.StringIO()):
            from dtw import dtw
        if distances is not None:
            theirs = dtw(a, b, step_pattern="symmetric1").distance
            if abs(theirs - align(a, b, max_slope=None).cost) > 1e-9 * theirs:
                raise SystemExit("dtw-python finds another cost")
            peers["dtw-python (symmetric1)"] = lambda: dtw(a, b, step_pattern="symmetric1")
    except ImportError:
        print("  (dtw-python is not installed)")
    return peers


def noisy_clip() -> np.ndarray:
    """Wandering rotations with noise, as many as the clip of Courty 2013 has."""
    rng = np.random.default_rng(0)
    steps = plain_exp(rng.normal(scale=0.03, size=(FRAMES, JOINTS, 3)))
    q = np.empty_like(steps)
    q[0] = steps[0]
    for i in range(1, FRAMES):
        q[i] = plain_product(q[i - 1], steps[i])
    return plain_product(q, plain_exp(rng.normal(scale=0.05, size=(FRAMES, JOINTS, 3))))


def plain_bilateral(q: np.ndarray, half: int = 4) -> np.ndarray:
    """The definition, vectorised over frames and joints."""
    near = np.exp(-0.5 * np.arange(-half, half + 1.0) ** 2)
    index = np.pad(np.arange(len(q)), half, mode="reflect")
    window = np.arange(len(q))[:, None] + np.arange(2 * half + 1)
    for _ in range(PASSES):
        padded = q[index]
        steps = plain_log(plain_product(padded[:-1] * CONJUGATE, padded[1:]))
        apart = np.arccos(np.minimum(np.abs(np.einsum("tjc,trjc->trj", q, padded[window])), 1.0))
        mask = near[:, None] * np.exp(-0.5 * (apart / SIGMA_G) ** 2)
        mask /= mask.sum(axis=1, keepdims=True)
        below = -np.cumsum(mask, axis=1)[:, :half]
        above = np.cumsum(mask[:, ::-1], axis=1)[:, half - 1 :: -1][:, :half]
        shares = np.concatenate([below, above], axis=1)
        turn = np.einsum("trj,trjc->tjc", shares, steps[window[:, :-1]])
        q = plain_product(q, plain_exp(turn))
    return q


def naive_gaussian(q: np.ndarray) -> np.ndarray:
    for _ in range(PASSES):
        q = gaussian_filter1d(q, 1.0, axis=0, mode="mirror")
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


if __name__ == "__main__":
    sys.exit(main())
