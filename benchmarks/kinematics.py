"""Forward kinematics of whole clips: marey beside upc-pymotion and beside its own NumPy twin.

One thread, warmed up, least process CPU time over repeats, same process, same input. Positions are checked
against the others to 1e-5 m before anything is timed. All give world positions and rotations, pymotion as
matrices, marey as quaternions. Exits with 1 where a bar is missed: 100,000 frames of 75 joints under 5 s,
5 times pymotion for a clip of 2,700 frames, never slower than NumPy. Without pymotion (extra `peers`) its
column stays empty.

    python benchmarks/kinematics.py
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
from collections.abc import Callable

import numba  # noqa: F401 - loaded, as in any longer session; the kernel is then used at every size
import numpy as np
from _ledger import record
from _plain_numpy import fastest

from marey.body.kinematics import global_frames, sweep_in_numpy
from marey.geometry import rotations as so3

try:
    from pymotion.ops.skeleton import fk as pymotion_fk
except ImportError:
    pymotion_fk = None

# Frames and joints: one pose, a typical CMU clip, a long clip with fingers, the same ten times as long.
SIZES = ((1, 31), (2_700, 31), (10_000, 75), (100_000, 75))
# Beyond this many rotations the others take minutes and gigabytes and are left out.
OTHERS_UP_TO = 1_000_000
CLIP, BAR_OVER_PYMOTION = (2_700, 31), 5.0
LONG, BAR_SECONDS = (100_000, 75), 5.0
# Two runs of the same code differ by this much on a busy machine.
NOISE = 0.95
# Metres; pymotion computes partly in single precision.
AGREE = 1e-5


def main() -> int:
    missed = []
    if pymotion_fk is None:
        print("upc-pymotion is not installed here; pip install 'marey[peers]' to compare")
    print(
        f"{'frames':>8} {'joints':>6} {'marey':>11} {'NumPy':>11} {'pymotion':>11} "
        f"{'x NumPy':>8} {'x pymotion':>10} {'ns/joint':>9}"
    )
    for frames, joints in SIZES:
        ours, *others = contenders(frames, joints)
        mine, *theirs = fastest(ours, *others, repeats=5 if frames > 10_000 else 15)
        plain, peer = [*theirs, np.nan, np.nan][:2]
        print(
            f"{frames:8,} {joints:6} {show(mine)} {show(plain)} {show(peer)} {plain / mine:8.1f} "
            f"{peer / mine:10.1f} {1e9 * mine / (frames * joints):9.1f}"
        )
        if frames > 1:
            work = f"forward kinematics, {frames:,} frames × {joints} joints"
            bar = BAR_OVER_PYMOTION if (frames, joints) == CLIP else None
            record(work, mine, peer, peer="upc-pymotion", bar=bar)
            record(work, mine, plain, peer="NumPy", bar=NOISE)
        if plain / mine < NOISE:
            missed.append(f"{frames:,} frames: {plain / mine:.2f} x NumPy, must not be below 1")
        if (frames, joints) == CLIP and peer / mine < BAR_OVER_PYMOTION:
            missed.append(f"{peer / mine:.1f} x pymotion, must be {BAR_OVER_PYMOTION:.0f}")
        if (frames, joints) == LONG and mine > BAR_SECONDS:
            missed.append(f"{frames:,} frames take {mine:.1f} s, must be under {BAR_SECONDS:.0f} s")
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return 1 if missed else 0


def contenders(frames: int, joints: int) -> list[Callable[[], object]]:
    """marey, its NumPy twin and, where installed, pymotion, on one random clip; checked to agree."""
    rng = np.random.default_rng(0)
    parents = np.array([-1, *(int(rng.integers(max(0, j - 4), j)) for j in range(1, joints))])
    offsets = rng.normal(scale=0.2, size=(joints, 3))
    offsets[0] = 0.0
    rotations = so3.random((frames, joints), rng=rng)
    root = rng.normal(size=(frames, 3))
    functions: list[Callable[[], object]] = [lambda: global_frames(parents, offsets, rotations, root)]
    if frames * joints <= OTHERS_UP_TO:
        functions.append(lambda: sweep_in_numpy(parents, offsets, rotations, root))
        if pymotion_fk is not None:
            their_parents = np.where(parents < 0, 0, parents)
            functions.append(lambda: pymotion_fk(rotations, root, offsets, their_parents))
    positions = [np.asarray(function()[0]) for function in functions]  # type: ignore[index]
    for other in positions[1:]:
        difference = np.abs(positions[0] - other).max()
        if not difference < AGREE:
            raise SystemExit(f"positions of {frames} frames differ by {difference:.1e} m")
    return functions


def show(seconds: float) -> str:
    if np.isnan(seconds):
        return f"{'-':>11}"
    return f"{1e3 * seconds:8.2f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:8.2f} us"


if __name__ == "__main__":
    sys.exit(main())
