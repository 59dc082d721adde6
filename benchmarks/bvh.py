"""Loading a BVH file, and loading it plus forward kinematics: marey beside pybvh, upc-pymotion and bvhio.

One thread, warmed up, least process CPU time over repeats, same process, same file. Joint positions are
checked to agree within 1e-4 m before anything is timed. marey's load gives quaternions, those of the others
Euler angles (pybvh) or an object per joint and frame (bvhio). Exits with 1 where a bar is missed: load at
least 2 times pybvh, load and kinematics at least 5 times pymotion, memory of loading at most 3 times the
arrays it returns. A peer that is not installed (extra `peers`) is left out.

    python benchmarks/bvh.py [FILE.bvh]

Without a file, a clip of 2,752 frames and 31 joints is made up, printed to four decimals.
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
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from _ledger import record

from marey.body.kinematics import forward_kinematics
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3
from marey.geometry.convention import CMU_UNIT, Convention
from marey.io import bvh

BARS = {("load", "pybvh"): 2.0, ("load + positions", "pymotion"): 5.0}
MOST_MEMORY = 3.0
# Metres.
AGREE = 1e-4
REPEATS = 15
# bvhio takes seconds: once is enough, and the positions of these frames.
SLOW = "bvhio"
SOME_FRAMES = slice(None, None, 500)

Task = Callable[[Path], Any]


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(arguments[0]) if arguments else made_up_clip(Path(folder) / "clip.bvh")
        motion = bvh.read(path)
        print(f"{path.name}: {motion.frames:,} frames, {motion.joints} joints, {path.stat().st_size:,} bytes")
        peers = {name: peer for name, peer in PEERS.items() if installed(name)}
        check_agreement(path, motion, peers)
        missed = race("load", path, {"marey": bvh.read} | {n: p["load"] for n, p in peers.items()})
        missed += race(
            "load + positions",
            path,
            {"marey": lambda p: forward_kinematics(bvh.read(p))}
            | {n: p["positions"] for n, p in peers.items() if n != SLOW},
        )
        memory = memory_ratio(path)
        print(f"memory of loading: {memory:.2f} times the arrays it returns")
        if memory > MOST_MEMORY:
            missed.append(f"memory {memory:.2f} times the result, must be at most {MOST_MEMORY:.0f}")
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return 1 if missed else 0


def race(title: str, path: Path, contenders: dict[str, Task]) -> list[str]:
    """Print everyone's time for a task; the bars that marey misses."""
    seconds = fastest(contenders, path)
    missed = []
    for name, time_taken in seconds.items():
        ratio = time_taken / seconds["marey"]
        print(f"{title:16} {name:9} {1e3 * time_taken:10.2f} ms {ratio:8.1f} x marey")
        bar = BARS.get((title, name), 0.0)
        if name != "marey":
            record(f"BVH, {title}", seconds["marey"], time_taken, peer=name, bar=bar or None)
        if ratio < bar:
            missed.append(f"{title}: {ratio:.1f} x {name}, must be {bar:.0f}")
    return missed


def fastest(contenders: dict[str, Task], path: Path) -> dict[str, float]:
    """Least CPU seconds of each, the contenders taking turns."""
    best = dict.fromkeys(contenders, np.inf)
    for turn in range(REPEATS):
        for name, task in contenders.items():
            if name == SLOW and turn:
                continue
            start = time.process_time()
            task(path)
            best[name] = min(best[name], time.process_time() - start)
    return best


def check_agreement(path: Path, motion: Motion, peers: dict[str, dict[str, Task]]) -> None:
    ours = forward_kinematics(motion).positions
    for name, peer in peers.items():
        theirs = motion.convention.to_marey(peer["positions"](path))
        difference = np.abs((ours[SOME_FRAMES] if name == SLOW else ours) - theirs).max()
        print(f"positions of {name:9} {difference:.1e} m from ours")
        if not difference < AGREE:
            raise SystemExit(f"{name} has the joints elsewhere")


def memory_ratio(path: Path) -> float:
    """Peak memory of loading, the file's bytes included, over that of the arrays it returns."""
    tracemalloc.start()
    motion = bvh.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    arrays = [motion.rotations, motion.root, motion.translations]
    return peak / sum(array.nbytes for array in arrays if array is not None)


def made_up_clip(path: Path) -> Path:
    """Limbs that swing, on a tree like that of the CMU clips, with as many digits as those have."""
    rng = np.random.default_rng(0)
    frames = 2752
    limbs = [(0, 5), (0, 5), (0, 3), (8 + 5, 3), (8 + 5, 7), (8 + 5, 7)]
    parents = [-1]
    for start, length in limbs:
        parents += [start, *range(len(parents), len(parents) + length - 1)]
    joints = len(parents)
    seconds = np.arange(frames)[:, None, None] / 120
    phase, rate = rng.uniform(0, 2 * np.pi, (joints, 3)), rng.uniform(0.2, 2.0, (joints, 3))
    degrees = (rng.uniform(2, 40, (joints, 3)) * np.sin(phase + 2 * np.pi * rate * seconds)).round(4)
    path_of_root = (20 * np.sin(phase[0] + rate[0] * seconds[:, 0])).round(4)
    skeleton = Skeleton(
        tuple(f"joint{j}" for j in range(joints)),
        np.array(parents),
        rng.normal(scale=2.0, size=(joints, 3)).round(5) * CMU_UNIT,
    )
    motion = Motion(
        skeleton,
        so3.from_euler(np.radians(degrees), "ZYX"),
        path_of_root * CMU_UNIT,
        120,
        convention=Convention(unit=CMU_UNIT),
    )
    bvh.write(motion, path)
    return path


def installed(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        print(f"{name} is not installed here; pip install 'marey[peers]' to compare")
        return False
    return True


def pybvh_load(path: Path) -> Any:
    return import_module("pybvh").read_bvh_file(str(path))


def pybvh_positions(path: Path) -> Any:
    return pybvh_load(path).joint_positions()


def pymotion_load(path: Path) -> Any:
    file = import_module("pymotion.io.bvh").BVH()
    file.load(str(path))
    return file


def pymotion_positions(path: Path) -> Any:
    rotations, places, parents, offsets, *_ = pymotion_load(path).get_data()
    positions, _ = import_module("pymotion.ops.skeleton").fk(rotations, places[:, 0], offsets, parents)
    return positions


def bvhio_load(path: Path) -> Any:
    return import_module("bvhio").readAsHierarchy(str(path))


def bvhio_positions(path: Path) -> Any:
    root = bvhio_load(path)
    frames = range(*SOME_FRAMES.indices(len(root.Keyframes)))
    return [[list(joint.PositionWorld) for joint, *_ in root.loadPose(frame).layout()] for frame in frames]


PEERS: dict[str, dict[str, Task]] = {
    "pybvh": {"load": pybvh_load, "positions": pybvh_positions},
    "pymotion": {"load": pymotion_load, "positions": pymotion_positions},
    "bvhio": {"load": bvhio_load, "positions": bvhio_positions},
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
