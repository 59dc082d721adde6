"""Kriging and conditional simulation: Courty 2013, section 3.2, figure 17; Courty & Cuzol 2010, figure 2.

The source claims much and prints no number. Beside ours stand those of an independent computation, whose
random values differ: condition of the matrices, roughness of draws (double kriging and the joint posterior
are the same law), windows and clusters in a stream, and how far a hole is constrained by its sides. Writes
`conditional_simulation.png`: two holes in a latent curve with the kriging mean, a straight line, five
simulations and the 90 % band.

    python reproduce/conditional_simulation.py [--data FOLDER] [--out FOLDER]

Without real data the sample walk shows the holes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from _cmu import all_clips, arguments, clip, folder

import marey
from marey.body.pose_model import PoseModel
from marey.statistics.processes.covariances import SquaredExponential
from marey.statistics.processes.process import GaussianProcesses, draw
from marey.statistics.processes.stream import Stream
from marey.statistics.processes.trend import Trend
from marey.views import style

# Frames are the unit of time in the tables.
CONSTRAINTS = {60: 1.0, 100: -1.0, 110: 0.5, 120: 1.2, 300: 2.0, 420: -0.7}
MID_HOLE = {0.5: 0.01, 1.0: 0.04, 2.0: 0.39, 4.0: 0.99}
CLOSE = 0.05
STILL = Trend(np.zeros((1, 1)), 1.0, 0, 0, None)


def main() -> int:
    options = arguments(__doc__)
    conditions()
    speed()
    roughness()
    windows()
    far = holes()
    picture(options.data, options.out)
    return 1 if far else 0


def matrix(covariance: SquaredExponential, frames: np.ndarray, others: np.ndarray) -> np.ndarray:
    lags = np.subtract.outer(frames, others).astype(float)
    return covariance(lags.ravel())[:, 0].reshape(lags.shape)


def conditions() -> None:
    print("condition of the matrix of 50 frames: no nugget, 1e-6, 1e-3 (ours; theirs)")
    theirs = {3: "1e9", 10: "7e18", 30: "1e20"}
    for length, printed in theirs.items():
        C = matrix(SquaredExponential(1.0, length), np.arange(50), np.arange(50))
        found = [np.linalg.cond(C + nugget * np.eye(50)) for nugget in (0.0, 1e-6, 1e-3)]
        print(f"  sqrt(rho) {length:3}: " + " ".join(f"{x:8.1e}" for x in found) + f"   ({printed})")
    print("  theirs with nugget 1e-6: 5e6 to 5e7, 1e-3: 5e3 to 5e4")


def speed() -> None:
    covariance, rng = SquaredExponential(1.0, 10.0), np.random.default_rng(0)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        draw(covariance, 1.0, 2000, draws=1, rng=rng)
        times.append(time.perf_counter() - start)
    start = time.perf_counter()
    np.linalg.cholesky(matrix(covariance, np.arange(2000), np.arange(2000)) + 1e-6 * np.eye(2000))
    print(f"\ndraw of 2,000 frames: {1e3 * min(times):.1f} ms on a circle (theirs 1 ms), ", end="")
    print(f"{time.perf_counter() - start:.2f} s by a matrix root (0.67 s)")


def roughness() -> None:
    """Mean absolute second difference of draws, relative to the prior's."""
    rng, frames, draws = np.random.default_rng(1), 120, 2000
    covariance = SquaredExponential(1.0, 3.5)
    known = np.zeros((frames, 1), bool)
    known[10::20] = True
    values = draw(covariance, 1.0, frames, draws=1, rng=rng)[0]
    given = GaussianProcesses(covariance, 0.0, STILL, 1.0).condition(values, known)
    at = np.flatnonzero(known[:, 0])
    C = matrix(covariance, np.arange(frames), np.arange(frames))
    gain = C[:, at] @ np.linalg.inv(C[np.ix_(at, at)])
    mean, posterior = gain @ given.values[at, 0], C - gain @ C[at]
    w, V = np.linalg.eigh(posterior)
    root = V * np.sqrt(np.maximum(w, 0))
    prior = draw(covariance, 1.0, frames, draws=draws, rng=rng)[..., 0]

    def rough(paths: np.ndarray) -> float:
        return float(np.mean(np.abs(np.diff(paths, 2, axis=-1))))

    spread = np.sqrt(np.maximum(np.diagonal(posterior), 0))
    simulated = given.sample(draws, rng=rng)[..., 0]
    rows = {
        "double kriging": (rough(simulated), 0.213 / 0.210),
        "joint posterior": (rough(mean + rng.normal(size=(draws, frames)) @ root.T), 0.213 / 0.210),
        "kriging mean": (rough(mean), 0.050 / 0.210),
        "pointwise draws": (rough(mean + spread * rng.normal(size=(draws, frames))), 1.74 / 0.210),
    }
    print("\nroughness relative to unconditional draws (ours, theirs with other keys)")
    for name, (ours, theirs) in rows.items():
        print(f"  {name:16} {ours / rough(prior):6.2f} {theirs:6.2f}")
    off = np.abs(np.cov(simulated.T, bias=True) - posterior).max()
    print(f"  covariance of draws: off the posterior by {off:.3f} (chance), off the prior by ", end="")
    print(f"{np.abs(np.cov(simulated.T, bias=True) - C).max():.2f}")


def windows() -> None:
    """How far windowed kriging is from kriging with all constraints."""
    covariance = SquaredExponential(1.0, 10.0)
    frames, at = np.arange(500), np.array(list(CONSTRAINTS))
    missed = np.array(list(CONSTRAINTS.values()))
    whole = matrix(covariance, frames, at) @ np.linalg.solve(matrix(covariance, at, at), missed)
    print("\nwindow of constraints in lengths: largest error against all (ours, theirs)")
    for lengths, theirs in {3: "0.20", 4: "9e-3", 5: "5e-5", 6: "4e-8"}.items():
        worst = 0.0
        for frame in frames:
            near = np.abs(at - frame) <= 10 * lengths
            guess = 0.0
            if near.any():
                C = matrix(covariance, at[near], at[near])
                guess = matrix(covariance, [frame], at[near])[0] @ np.linalg.solve(C, missed[near])
            worst = max(worst, abs(whole[frame] - guess))
        print(f"  plain window {lengths}: {worst:8.1e} ({theirs})")
    free, bound = (Stream(covariance, STILL, 1.0, rng=np.random.default_rng(0)) for _ in range(2))
    for frame, value in CONSTRAINTS.items():
        bound.constrain(frame, value)
    path = free.steps(500)[:, 0, 0]
    missed = missed - path[at]
    batch = path + matrix(covariance, frames, at) @ np.linalg.solve(matrix(covariance, at, at), missed)
    error = np.abs(bound.steps(500)[:, 0, 0] - batch).max()
    print(f"  our stream, whole clusters within {bound.reach} frames: {error:8.1e} (4e-4)")


def holes() -> int:
    """Deviation in the middle of a hole between 150 known frames on each side, nugget 1e-4."""
    print("\nhole / length: deviation in its middle over that of the process (ours, theirs)")
    far = 0
    for ratio, theirs in MID_HOLE.items():
        size = int(10 * ratio)
        known = np.ones((300 + size, 1), bool)
        known[150 : 150 + size] = False
        noise = np.full(known.shape, 1e-4)
        process = GaussianProcesses(SquaredExponential(1.0, 10.0), 0.0, STILL, 1.0)
        given = process.condition(np.zeros(known.shape), known, noise=noise)
        ours = float(np.sqrt(given.variance[150 + size // 2, 0]))
        far += abs(ours - theirs) > max(CLOSE * theirs, 0.006)
        print(f"  {ratio:4}: {ours:.3f} ({theirs})")
    return far


def picture(data_given: Path | None, out: Path) -> None:
    data = folder(data_given)
    clips = all_clips(data) if data else {}
    motion = clip(clips["143_20"], cleaned=True) if "143_20" in clips else marey.samples.walk()
    motion = motion[:: max(1, round(motion.frame_rate / 30))]
    curve = PoseModel.fit([motion], modes=5).encode(motion)[:, :1]
    rate, frames = motion.frame_rate, len(curve)
    seconds = np.arange(frames) / rate
    with style.figure((1280, 760)) as figure:
        panels = figure.subplots(2, 1, sharex=True)
        for panel, size in zip(panels, (5, 40), strict=True):
            start = frames // 2 - size // 2
            known = np.ones(frames, bool)
            known[start : start + size] = False
            model = GaussianProcesses.fit(curve, rate, kernel="se", mask=known)
            posterior = model.condition(curve, known, noise=np.where(known[:, None], model.noise, 0.0))
            mean, band = posterior.mean[:, 0], 1.645 * np.sqrt(posterior.variance[:, 0])
            hole = slice(start - 1, start + size + 1)
            panel.fill_between(seconds[hole], (mean - band)[hole], (mean + band)[hole], alpha=0.15, lw=0)
            for number, drawn in enumerate(posterior.sample(5, rng=np.random.default_rng(0))[..., 0]):
                label = "five simulations" if number == 0 else None
                panel.plot(seconds[hole], drawn[hole], color=style.PALETTE[0], lw=0.9, alpha=0.8, label=label)
            panel.plot(seconds[hole], mean[hole], color="black", lw=1.6, label="kriging mean")
            line = np.interp(seconds[hole], seconds[known], curve[known, 0])
            panel.plot(seconds[hole], line, "--", color="grey", lw=1.2, label="straight line")
            panel.plot(
                seconds, np.where(known, curve[:, 0], np.nan), color=style.PALETTE[1], lw=1.6, label="known"
            )
            length = float(model.covariance.length[0]) * rate
            panel.set_title(
                f"{size} frames missing, length of the covariance {length:.1f} frames", fontsize=10
            )
            panel.set_ylabel("first component")
        panels[0].legend(loc="lower right", fontsize=8, ncols=2)
        panels[1].set_xlabel("seconds")
    out.mkdir(parents=True, exist_ok=True)
    style.save(figure, out / "conditional_simulation.png")
    print(f"\n{out / 'conditional_simulation.png'}")


if __name__ == "__main__":
    sys.exit(main())
