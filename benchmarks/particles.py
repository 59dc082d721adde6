"""Inverse kinematics by particles: how fast, beside what one would write first, and beside scipy.

The task is the published hand of 26 degrees of freedom with five fingertip targets and coupled last joints,
300 particles and 60 steps (bar: under 1 s). Then one step of noise, limits and kinematics of all particles,
beside a careful NumPy loop over particles that does the same, in particles × joints a second. Last, scipy's
`differential_evolution` and `least_squares` on the same errors: time and miss. Same process, one thread, CPU
time. Exits with 1 where a bar is missed.

    python benchmarks/particles.py
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time

import numpy as np
from _ledger import record
from _plain_numpy import fastest, plain_exp, plain_product
from scipy.optimize import differential_evolution, least_squares

from marey.body.particles import Noisy, PoseBatch, RandomWalk, Reach, hand_chain, solve
from marey.body.particles.constraints import Errors
from marey.body.particles.hands import FINGERS
from marey.geometry import rotations as so3

BAR_SECONDS, BAR_OVER_LOOP = 1.0, 20.0
TIPS = tuple(f"{finger}3_end" for finger in FINGERS)


def main() -> int:
    chain = hand_chain()
    tips = targets(chain)
    solve(chain, tips, particles=20, steps=2)
    seconds = fastest(lambda: solve(chain, tips, rng=0), repeats=5)[0]
    plain = fastest(lambda: solve(chain, tips, rng=0, guided=False), repeats=5)[0]
    miss = 1000 * worst(chain, tips, solve(chain, tips, rng=0).path().rotations[-1])
    missed = []
    print("hand of 26 degrees of freedom, 300 particles, 60 steps")
    print(f"  guided {seconds:.3f} s, misses {miss:.2f} mm; unguided, as published, {plain:.3f} s (bar: 1 s)")
    if seconds > BAR_SECONDS:
        missed.append("seconds of the hand")
    ratio = one_step(chain)
    if ratio < BAR_OVER_LOOP:
        missed.append("one step beside the loop")
    by_scipy(chain, tips)
    print("bars met" if not missed else f"bars missed: {', '.join(missed)}")
    return len(missed) > 0


def targets(chain) -> list[Noisy]:
    rng = np.random.default_rng(0)
    pose = so3.identity(17)
    for rule in chain.rules:
        angle = rng.uniform(0.2, 1.2)
        pose[chain.skeleton.index(rule.other)] = so3.exp(angle * np.asarray(rule.axis))
        pose[chain.skeleton.index(rule.joint)] = so3.exp(2 / 3 * angle * np.asarray(rule.axis))
    batch = PoseBatch(chain.skeleton, pose[None], np.zeros((1, 3)))
    return [Noisy(Reach(name, batch.point(name)[0]), noise=0.002) for name in TIPS]


def worst(chain, tips, pose) -> float:
    batch = PoseBatch(chain.skeleton, pose[None], np.zeros((1, 3)))
    return max(float(np.linalg.norm(tip.errors(batch))) for tip in tips)


def one_step(chain) -> float:
    """Noise within limits and world positions of all particles."""
    count, joints = 300, chain.skeleton.joints
    walk, rng = RandomWalk(chain), np.random.default_rng(0)
    poses = PoseBatch(chain.skeleton, so3.identity((count, joints)), np.zeros((count, 3)))
    poses = walk.advance(poses, 1.0, rng)
    ours, loop = fastest(
        lambda: walk.advance(poses, 1.0, rng).positions, lambda: looped(chain, poses, rng), repeats=5
    )
    rates = [count * joints / spent for spent in (ours, loop)]
    print(f"one step: {rates[0] / 1e6:.2f} million particles × joints a second, a loop {rates[1] / 1e6:.4f}")
    print(f"  {rates[0] / rates[1]:.0f}× (bar: {BAR_OVER_LOOP:.0f}×)")
    record(f"one step of {count} particles", ours, loop, peer="a loop in NumPy", bar=BAR_OVER_LOOP)
    return rates[0] / rates[1]


def looped(chain, poses, rng) -> np.ndarray:
    """The same particle by particle: draw all joints, draw those beyond their limits again, place."""
    limits, skeleton = chain.limits, chain.skeleton
    axes = so3.rotate(chain.limits.frames[:, None], np.eye(3)) * 0.1 * chain.mobility[..., None]
    places = np.empty((poses.count, skeleton.joints, 3))
    for n in range(poses.count):
        pose, left = poses.rotations[n].copy(), np.arange(skeleton.joints)
        for _ in range(8):
            v = np.einsum("ji,jik->jk", rng.standard_normal((len(left), 3)), axes[left])
            tried = plain_product(poses.rotations[n, left], plain_exp(v))
            whole = pose.copy()
            whole[left] = tried
            inside = limits.excess(whole)[left] <= 0
            pose[left[inside]] = tried[inside]
            left = left[~inside]
            if not left.size:
                break
        turned, there = [pose[0]], [poses.root[n]]
        for j in range(1, skeleton.joints):
            parent = skeleton.parents[j]
            up = turned[parent]
            offset = np.concatenate([[0.0], skeleton.offsets[j]])
            moved = plain_product(plain_product(up, offset), up * [1, -1, -1, -1])[1:]
            turned.append(plain_product(up, pose[j]))
            there.append(there[parent] + moved)
        places[n] = there
    return places


def by_scipy(chain, tips) -> None:
    walk = RandomWalk(chain, deviation=1.0)
    rest = PoseBatch(chain.skeleton, so3.identity((1, 17)), np.zeros((1, 3)))
    rules = [*tips, *chain.rules]
    noise = Errors.noise(rules)

    def errors(x: np.ndarray) -> np.ndarray:
        posed, _ = walk.move(rest, x[None], 1.0, reflect=False)
        return Errors.of(rules, posed).scaled(noise)[0]

    def report(name: str, run) -> None:
        began = time.process_time()
        found = run()
        spent = time.process_time() - began
        pose, _ = walk.move(rest, found.x[None], 1.0, reflect=False)
        print(f"  {name}: {spent:.2f} s, misses {1000 * worst(chain, tips, pose.rotations[0]):.2f} mm, "
              f"{found.nfev} evaluations")  # fmt: skip

    print("scipy on the same errors (a single pose, no motion)")
    bounds = [(-1.5, 1.5)] * walk.freedoms
    report("least_squares", lambda: least_squares(errors, np.full(walk.freedoms, 0.1)))
    report(
        "differential_evolution, as many evaluations as 300 × 60",
        lambda: differential_evolution(
            lambda x: float(np.square(errors(x)).sum()), bounds, popsize=12, maxiter=57, polish=False, rng=0
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
