"""Vector autoregressions: conditional simulation of whole series, and endless ones for many characters.

One thread, warmed up, least process CPU time over repeats, same process, same input. The peers are what one
writes otherwise: the dense Gaussian conditional with scipy (Cholesky of all unknown numbers), a Kalman
simulation smoother in NumPy (filter and smoother in a loop), and statsmodels' simulation smoother where it
is installed. Laws are checked against the dense conditional before anything is timed. Exits with 1 where a
bar is missed: 30 ms for a conditional sample of 60 components and 1,000 frames, the model's own tables
included; 0.1 ms a step of one character of 20 modes; 60 frames a second for 10,000 of them on two cores.

    python benchmarks/dynamics.py
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
from scipy.linalg import cho_solve, cholesky

import marey
from marey.body.dynamics import MotionModel
from marey.body.stream import MotionStream
from marey.statistics.autoregression import VectorAutoregression, condition

COMPONENTS, FRAMES = 60, 1_000
SAMPLE_BAR, STEP_BAR, CROWD_BAR = 30.0, 0.1, 60.0
MODES, CROWD = 20, 10_000
AGREE = 1e-7


def main() -> int:
    check_law()
    met = conditional_samples()
    met &= streaming()
    decoding()
    return 0 if met else 1


def model(size: int, order: int = 2, radius: float = 0.99) -> VectorAutoregression:
    rng = np.random.default_rng(0)
    steps = 0.02 / np.sqrt(size) * rng.standard_normal((order, size, size))
    steps[0] += (1.7 if order > 1 else 0.9) * np.eye(size)
    if order > 1:
        steps[1] -= 0.75 * np.eye(size)
    noise = 0.1 * np.eye(size) + 0.05
    raw = VectorAutoregression(np.zeros(size), steps, noise)
    slower = (radius / raw.radius) ** np.arange(1, order + 1)
    return VectorAutoregression(np.zeros(size), steps * slower[:, None, None], noise)


def patterns(one: VectorAutoregression, frames: int) -> dict[str, np.ndarray]:
    series = one.sample(frames + 40, rng=1)
    hole = series.copy()
    hole[20:-20] = np.nan
    keys = np.full((frames, one.components), np.nan)
    keys[::100] = series[:frames:100]
    half = series[:frames].copy()
    half[20:-20, : one.components // 2] = np.nan
    return {"a hole of 1,000 frames": hole, "a key pose every 100 frames": keys, "half of each frame": half}


def conditional_samples() -> bool:
    print(
        f"one conditional sample, {COMPONENTS} components x {FRAMES} frames, conditioning included (CPU ms)"
    )
    met = True
    for order in (2, 4):
        given = patterns(model(COMPONENTS, order), FRAMES)
        for name, known in given.items():

            def sample(known: np.ndarray = known, order: int = order) -> float:
                fresh = model(COMPONENTS, order)
                return least(lambda: condition(fresh, known).sample(rng=0), 1)

            cold = min(sample() for _ in range(7))
            warm_model = model(COMPONENTS, order)
            warm = least(lambda known=known, one=warm_model: condition(one, known).sample(rng=0), 7)
            barred = order == 2 and not name.startswith("half")
            verdict = "" if not barred else "  bar 30: met" if cold < SAMPLE_BAR else "  bar 30: MISSED"
            met &= not barred or cold < SAMPLE_BAR
            print(f"  order {order}  {name:28} {cold:8.1f}   model known {warm:7.1f}{verdict}")
    known = patterns(model(COMPONENTS), FRAMES)["a key pose every 100 frames"]
    filtered = least(lambda: kalman(model(COMPONENTS), known), 1)
    print(f"  order 2  Kalman smoother in NumPy, key poses {filtered:.1f}")
    small, frames = model(20), 240
    keyed = patterns(small, frames)["a key pose every 100 frames"]
    ours = least(lambda: condition(small, keyed).sample(rng=0), 5)
    dense = least(lambda: dense_sample(small, keyed), 2)
    print(
        f"  20 components x 240 frames: ours {ours:.2f}, dense solution {dense:.1f}: {dense / ours:.0f} times"
    )
    record(
        "a conditional draw, 20 components × 240 frames",
        ours / 1e3,
        dense / 1e3,
        peer="dense solution, scipy",
    )
    statsmodels_sample(small, keyed, ours)
    return met


def statsmodels_sample(one: VectorAutoregression, keyed: np.ndarray, ours: float) -> None:
    try:
        from statsmodels.tsa.statespace.mlemodel import MLEModel
    except ImportError:
        print("  statsmodels is not installed here: not compared")
        return
    size, order = one.components, one.order
    peer = MLEModel(keyed, k_states=order * size, k_posdef=size)
    peer["transition"], peer["design", :, :size] = one.companion, np.eye(size)
    peer["selection", :size, :], peer["state_cov"] = np.eye(size), one.noise
    peer.initialize_known(np.zeros(order * size), one.stationary)
    smoother = peer.simulation_smoother()
    smoother.simulate(rng=0)
    theirs = least(lambda: smoother.simulate(rng=0), 3)
    print(f"  statsmodels' simulation smoother, the same: {theirs:.1f}: {theirs / ours:.0f} times")
    record("a conditional draw, 20 components × 240 frames", ours / 1e3, theirs / 1e3, peer="statsmodels")


def streaming() -> bool:
    one = model(MODES)
    single = one.stream(0)
    step = best_of(single.step, 2000)
    for k in range(1, 400):
        single.constrain(single.time + 100 * k, np.zeros(MODES))
    single.run(150)
    led = total(lambda: single.run(1000)) / 1000
    crowd = one.stream(0, characters=CROWD)
    rate = 1e3 / best_of(crowd.step, 20)
    plain = 1e3 / best_of(plain_steps(one), 20)
    print(f"\nstreaming, {MODES} modes")
    quick, many = ("met" if good else "MISSED" for good in (step < STEP_BAR, rate > CROWD_BAR))
    print(f"  one character, a step             {step:.4f} ms   bar 0.1: {quick}")
    print(f"  a pose asked for every 100 frames {led:.4f} ms on average, gains included")
    print(f"  {CROWD} characters             {rate:.0f} frames/s   bar 60: {many}")
    print(f"  the same recursion in plain NumPy {plain:.0f} frames/s")
    record(f"a frame of {CROWD:,} characters × {MODES} modes", 1 / rate, 1 / plain, peer="NumPy")
    return step < STEP_BAR and rate > CROWD_BAR


def decoding() -> None:
    learned = MotionModel.fit(marey.samples.walk(seconds=8), modes=MODES)
    stream = MotionStream(learned, rng=0, characters=CROWD)
    joints = learned.poses.skeleton.joints

    def frame() -> None:
        stream.step()
        stream.poses()

    frame()
    print(f"  {CROWD} characters x {joints} joints decoded {1e3 / best_of(frame, 10):.0f} frames/s")


def check_law() -> None:
    """Mean and answers beside the dense conditional, for all patterns, before anything is timed."""
    small, frames = model(3), 240
    lags = small.covariances(frames + 40)
    for name, known in patterns(small, frames).items():
        law, count = condition(small, known), len(known)
        prior = np.block(
            [[lags[i - j] if i >= j else lags[j - i].T for j in range(count)] for i in range(count)]
        )
        there = np.isfinite(known).ravel()
        inner = cholesky(prior[np.ix_(there, there)], lower=True)
        gain = cho_solve((inner, True), prior[there]).T
        mean = gain @ known.ravel()[there]
        vector = np.random.default_rng(0).standard_normal((1, *known.shape))
        answer = (prior - gain @ prior[there]) @ vector.ravel()
        worst = max(
            np.abs(law.mean.ravel() - mean).max(), np.abs(law.covariance_times(vector).ravel() - answer).max()
        )
        if worst > AGREE * np.abs(answer).max():
            raise SystemExit(f"{name}: off by {worst:.1e} from the dense conditional")
    print("laws agree with the dense conditional\n")


def dense_sample(one: VectorAutoregression, known: np.ndarray) -> np.ndarray:
    count = len(known)
    lags = one.covariances(count)
    prior = np.block([[lags[i - j] if i >= j else lags[j - i].T for j in range(count)] for i in range(count)])
    there = np.isfinite(known).ravel()
    inner = cholesky(prior[np.ix_(there, there)], lower=True)
    across = prior[np.ix_(~there, there)]
    gain = cho_solve((inner, True), across.T).T
    rest = prior[np.ix_(~there, ~there)] - gain @ across.T
    root = cholesky(rest + 1e-10 * np.trace(rest) / len(rest) * np.eye(len(rest)), lower=True)
    found = known.ravel().copy()
    found[~there] = gain @ found[there] + root @ np.random.default_rng(0).standard_normal(len(rest))
    return found.reshape(known.shape)


def kalman(one: VectorAutoregression, known: np.ndarray) -> np.ndarray:
    """Durbin and Koopman: a free run, corrected by the smoothed difference from what is known."""
    size, state = one.components, one.components * one.order
    free = one.sample(len(known), rng=0)
    missed = known - free
    step, spread = one.companion, one.stationary.copy()
    push = np.zeros_like(step)
    push[:size, :size] = one.noise
    mean, kept = np.zeros(state), []
    for row in missed:
        there = np.isfinite(row)
        if there.any():
            total = spread[:size, :size]
            gain = np.linalg.solve(total, spread[:size]).T
            inner, inverse = row - mean[:size], np.linalg.inv(total)
            kept.append((spread, inner, inverse, gain, mean))
            mean, spread = mean + gain @ inner, spread - gain @ spread[:size]
        else:
            kept.append((spread, None, None, None, mean))
        mean, spread = step @ mean, step @ spread @ step.T + push
    later, found = np.zeros(state), free.copy()
    for t in range(len(known) - 1, -1, -1):
        spread, inner, inverse, gain, mean = kept[t]
        later = step.T @ later
        if inner is not None:
            later = later - np.pad(gain.T @ later, (0, state - size))
            later[:size] += inverse @ inner
        found[t] += (mean + spread @ later)[:size]
    return found


def plain_steps(one: VectorAutoregression) -> Callable[[], None]:
    rng, state = np.random.default_rng(0), np.zeros((CROWD, one.order * one.components))
    root = np.linalg.cholesky(one.noise)

    def step() -> None:
        nonlocal state
        state = state @ one.companion.T
        state[:, : one.components] += rng.standard_normal((CROWD, one.components)) @ root.T

    return step


def least(work: Callable[[], object], times: int) -> float:
    """Least milliseconds of CPU of so many runs."""
    return min(total(work) for _ in range(times))


def best_of(work: Callable[[], object], times: int) -> float:
    """Milliseconds of CPU of one of `times` runs in a row; the best of five such rows."""
    work()
    return min(total(lambda: [work() for _ in range(times)]) / times for _ in range(5))


def total(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return 1e3 * (time.process_time() - before)


if __name__ == "__main__":
    sys.exit(main())
