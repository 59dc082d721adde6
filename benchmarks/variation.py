"""Variants a second: drawing them, and making clips with held feet of them.

There is no peer that makes variants of one clip; the source's own way, a dense Cholesky factor for each of
the modes, stands beside our draw in the same process, with the same pose model. Also how long holding feet
takes.

    python benchmarks/variation.py [CLIP.bvh]

Without a clip the sample walk.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _ledger import record
from numpy.typing import NDArray

import marey
from marey.body.feet import contacts, plant
from marey.body.pose_model import PoseModel
from marey.body.vary import vary
from marey.body.vary.draw import draw

Array = NDArray[np.float64]

COUNT, ROUNDS = 20, 3
# Variants a second of a clip of a few seconds, and times faster than dense factors.
BAR_RATE, BAR_RATIO = 5.0, 10.0


def main() -> int:
    warnings.simplefilter("ignore")
    named = [Path(argument) for argument in sys.argv[1:]]
    motion = marey.load(named[0], clean=True) if named else marey.samples.walk(seconds=8)
    coordinates = PoseModel.fit([motion], root="heading").encode(motion)
    rest = coordinates - coordinates.mean(axis=0)
    seeds = np.random.SeedSequence(0).spawn(COUNT)
    nothing = np.empty(0, dtype=np.intp)
    print(f"{motion.frames} frames at {motion.frame_rate:g}/s, {rest.shape[1]} modes, {COUNT} variants")

    ours = least(
        lambda: draw(rest, motion.frame_rate, seeds=seeds, deviation=1.0, kept_frames=nothing), ROUNDS
    )
    dense = least(lambda: dense_draw(rest), 1)
    whole = least(lambda: vary(motion, count=COUNT, rng=0), ROUNDS)
    standing = contacts(motion)
    held = least(lambda: plant(motion, standing), ROUNDS)
    print(f"draw                  {1e3 * ours / COUNT:9.2f} ms a variant")
    print(f"draw, dense factors   {1e3 * dense / COUNT:9.2f} ms a variant, {dense / ours:.0f} times ours")
    print(f"variants, feet held   {1e3 * whole / COUNT:9.2f} ms a variant, {COUNT / whole:.1f} a second")
    print(f"holding feet          {1e3 * held:9.2f} ms")
    record("drawing a variant", ours / COUNT, dense / COUNT, peer="dense factors, NumPy", bar=BAR_RATIO)
    met = COUNT / whole >= BAR_RATE and dense / ours >= BAR_RATIO
    print(f"bars ({BAR_RATE:g} a second, {BAR_RATIO:g} times): {'met' if met else 'MISSED'}")
    return not met


def dense_draw(rest: Array) -> Array:
    """Each mode by a Cholesky factor of its squared exponential covariance, as the source has it."""
    frames, modes = rest.shape
    apart = np.subtract.outer(np.arange(frames), np.arange(frames)).astype(float)
    rng = np.random.default_rng(0)
    made = np.empty((COUNT, frames, modes))
    for mode in range(modes):
        covariance = np.exp(-((apart / 20.0) ** 2)) + 1e-6 * np.eye(frames)
        root = np.linalg.cholesky(rest[:, mode].var() * covariance)
        made[:, :, mode] = rng.standard_normal((COUNT, frames)) @ root.T
    return made


def least(work: Callable[[], object], rounds: int) -> float:
    """Seconds of the quickest of several rounds, after one to warm up."""
    work()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
