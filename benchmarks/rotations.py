"""Quaternion product, exponential and logarithm: marey beside scipy's Rotation and plain NumPy.

One thread, warmed up, least process CPU time over repeats, same process, same input. Results are
checked against scipy's to 1e-12 before anything is timed. Exits with 1 where a bar is missed: at least
5 times scipy for products and logarithms of a million rotations, never slower than plain NumPy.

    python benchmarks/rotations.py
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
from collections.abc import Callable

import numpy as np
from _ledger import record
from _plain_numpy import plain_exp, plain_log, plain_product
from scipy.spatial.transform import Rotation

from marey.geometry import rotations as rot

SIZES = (1, 10, 1_000, 100_000, 1_000_000)
BAR_OVER_SCIPY = {"product": 5.0, "log": 5.0}
# Two runs of the same code differ by this much on a busy machine.
NOISE = 0.95


def main() -> int:
    missed = []
    print(f"{'':8} {'rotations':>10} {'marey':>11} {'NumPy':>11} {'scipy':>11} {'x NumPy':>8} {'x scipy':>8}")
    for size in SIZES:
        for name, (ours, numpys, scipys) in contenders(size).items():
            check_agreement(name, ours(), numpys(), scipys())
            mine, plain, peer = fastest(ours, numpys, scipys, rotations=size)
            print(
                f"{name:8} {size:10,} {show(mine)} {show(plain)} {show(peer)}"
                f" {plain / mine:8.1f} {peer / mine:8.1f}"
            )
            if size == SIZES[-1]:
                work = f"a million rotations, {name}"
                record(work, mine, peer, peer="scipy Rotation", bar=BAR_OVER_SCIPY.get(name))
                record(work, mine, plain, peer="NumPy", bar=NOISE)
            if plain / mine < NOISE:
                missed.append(f"{name} of {size:,}: {plain / mine:.2f} x NumPy, must not be below 1")
            if size == SIZES[-1] and peer / mine < BAR_OVER_SCIPY.get(name, 0.0):
                missed.append(f"{name}: {peer / mine:.1f} x scipy, must be {BAR_OVER_SCIPY[name]:.0f}")
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return 1 if missed else 0


def contenders(size: int) -> dict[str, tuple[Callable[[], object], ...]]:
    """For each task: marey, plain NumPy, scipy."""
    a, b = rot.random(size, rng=0), rot.random(size, rng=1)
    vectors = rot.log(a)
    scipy_a, scipy_b = (Rotation.from_quat(q, scalar_first=True) for q in (a, b))
    return {
        "product": (lambda: rot.multiply(a, b), lambda: plain_product(a, b), lambda: scipy_a * scipy_b),
        "exp": (lambda: rot.exp(vectors), lambda: plain_exp(vectors), lambda: Rotation.from_rotvec(vectors)),
        "log": (lambda: rot.log(a), lambda: plain_log(a), lambda: scipy_a.as_rotvec()),
    }


def check_agreement(name: str, ours: object, *others: object) -> None:
    for other in others:
        values = other.as_quat(scalar_first=True) if isinstance(other, Rotation) else np.asarray(other)
        difference = np.abs(np.asarray(ours) - values).max(axis=-1)
        if name != "log":  # q and -q are the same rotation
            difference = np.minimum(difference, np.abs(np.asarray(ours) + values).max(axis=-1))
        if difference.max() > 1e-12:
            raise SystemExit(f"{name} of {len(values)} rotations differs by {difference.max():.1e}")


def fastest(*functions: Callable[[], object], rotations: int) -> list[float]:
    """Least CPU seconds of one call of each, the contenders taking turns."""
    calls = max(1, 2_000 // rotations)
    repeats = 60 if rotations < 100_000 else 15
    best = [np.inf] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.process_time()
            for _ in range(calls):
                function()
            best[i] = min(best[i], (time.process_time() - start) / calls)
    return best


def show(seconds: float) -> str:
    return f"{1e3 * seconds:8.2f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:8.2f} us"


if __name__ == "__main__":
    sys.exit(main())
