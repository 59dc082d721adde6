"""Maximum-likelihood covariances of latent curves (Courty 2013, section 2.3.2; Courty & Cuzol 2010, 3.3).

Each clip at 30 frames a second, without root, canonical metric; the squared exponential `alpha exp(-h²/rho)`
plus noise `sigma` is fitted to single components. The source prints no values: beside ours stand those of an
independent computation. Then what the model misses: autocorrelation at half a step, and correlation between
components at a lag, which independent components do not have. Last, other covariances by their likelihood.

    python reproduce/covariance_fits.py [--data FOLDER]

Without real data the sample walk shows the computation.
"""

from __future__ import annotations

import sys

import numpy as np
from _cmu import all_clips, arguments, clip, folder

import marey
from marey.body.pose_model import PoseModel
from marey.statistics.processes import covariances
from marey.statistics.processes.covariances import KERNELS, Matern
from marey.statistics.processes.fit import fit, innovation_sums
from marey.statistics.processes.process import GaussianProcesses

# Component: variance, alpha, rho in frames², sigma / alpha; by an independent computation.
FITS = {
    "143_20": {
        1: (0.970, 0.598, 45.7, 0.006),
        2: (0.471, 0.308, 23.4, 0.010),
        5: (0.085, 0.070, 19.6, 0.020),
        10: (0.024, 0.022, 7.1, 0.037),
    },
    "143_23": {
        1: (0.567, 0.401, 11.8, 0.002),
        2: (0.403, 0.311, 10.2, 0.003),
        10: (0.011, 0.0096, 4.3, 0.13),
    },
    "143_24": {1: (0.579, 0.321, 20.4, 0.0007), 2: (0.297, 0.177, 15.0, 0.0015)},
    "143_32": {1: (0.329, 0.280, 13.9, 0.003), 2: (0.103, 0.096, 14.0, 0.027), 3: (0.085, 0.112, 8.3, 0.006)},
    "35_01": {1: (0.199, 0.132, 31.5, 0.003), 2: (0.146, 0.126, 21.2, 0.006)},
}
# Largest correlation of two components at some lag.
LAGGED = {"143_32": 0.83, "35_01": 0.98, "143_23": 0.76, "143_20": 0.74}
HALF_STEP = ("143_32", 9, -0.89, 0.003)
RATE, CLOSE = 30.0, 0.10


def main() -> int:
    options = arguments(__doc__)
    data = folder(options.data)
    clips = all_clips(data) if data else {}
    missing = sorted(set(FITS) - set(clips))
    if missing:
        print(f"not at hand (--data, MAREY_DATA): {', '.join(missing)}")
    series = {name: latent(clip(clips[name], cleaned=False)) for name in FITS if name in clips}
    if not series:
        print("the sample walk instead")
        series = {"sample walk": latent(marey.samples.walk())}
    far = fits(series)
    correlations(series)
    kernels(series)
    return 1 if far else 0


def latent(motion: marey.Motion) -> np.ndarray:
    """Coordinates `(frames, modes)` at 30 frames a second."""
    every = max(1, round(motion.frame_rate / RATE))
    motion = motion[::every]
    coordinates = PoseModel.fit([motion], modes=12, metric="canonical").encode(motion)
    return coordinates - coordinates.mean(axis=0)


def fits(series: dict[str, np.ndarray]) -> int:
    """The table; how many of its figures are farther than 10 % from the independent ones."""
    print("\nours and theirs: variance, alpha, rho in frames², sigma / alpha")
    far = count = 0
    for name, values in series.items():
        wanted = FITS.get(name, {1: (), 2: ()})
        columns = [c - 1 for c in wanted]
        model = GaussianProcesses.fit(values[:, columns], RATE, kernel="se")
        alpha, length = model.covariance.variance, model.covariance.length
        for i, (component, theirs) in enumerate(wanted.items()):
            ours = (
                float(np.var(values[:, component - 1])),
                alpha[i],
                (length[i] * RATE) ** 2,
                float(np.asarray(model.noise)[i]) / alpha[i],
            )
            cells = [f"{a:8.4g} {b:8.4g}" for a, b in zip(ours, theirs or (np.nan,) * 4, strict=True)]
            print(f"{name:>8} {component:3}    " + " ".join(cells))
            for a, b in list(zip(ours, theirs, strict=False))[:3]:
                count += 1
                far += abs(a / b - 1) > CLOSE
    if count:
        print(f"variance, alpha and rho: {count - far} of {count} within {CLOSE:.0%}")
    return far


def correlations(series: dict[str, np.ndarray]) -> None:
    print("\nlargest correlation of different components at a lag up to 30 frames (ours, theirs)")
    for name, values in series.items():
        scaled = values[:, :10] / values[:, :10].std(axis=0)
        most = 0.0
        for lag in range(min(30, len(scaled) // 2)):
            found = np.abs(scaled[lag:].T @ scaled[: len(scaled) - lag]) / (len(scaled) - lag)
            np.fill_diagonal(found, 0.0)
            most = max(most, float(found.max()))
        print(f"{name:>8}  {most:5.2f} {LAGGED.get(name, np.nan):5.2f}")
    name, lag, sample, modelled = HALF_STEP
    if name in series:
        x = series[name][:, 0]
        found = float(np.mean(x[lag:] * x[:-lag]) / np.var(x))
        model = GaussianProcesses.fit(x, RATE, kernel="se")
        of_model = float(model.covariance([lag / RATE])[0, 0] / model.covariance([0.0])[0, 0])
        print(
            f"{name}, component 1, lag {lag}: data {found:.2f} ({sample}), model {of_model:+.3f} ({modelled})"
        )


def kernels(series: dict[str, np.ndarray]) -> None:
    print("\nlog-likelihood of the first five components, a frame")
    print(" " * 9 + " ".join(f"{name:>10}" for name in KERNELS))
    for clip_name, values in series.items():
        cells = []
        for kernel in KERNELS:
            found, noise = fit(values[:, :5], RATE, kernel=kernel)
            total = 0.0
            for c in range(5):
                own, level = found.component(c), float(noise[c])
                sums = covariances.innovation_sums if isinstance(own, Matern) else innovation_sums
                total += sums(own, level, RATE, values[:, c]).log_likelihood[0]
            cells.append(f"{total / len(values):10.3f}")
        print(f"{clip_name:>8} " + " ".join(cells))


if __name__ == "__main__":
    sys.exit(main())
