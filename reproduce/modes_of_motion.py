"""How many modes motion has: Tournier 2011, section 8.2.1 and figures 8.6 and 8.7, ours beside theirs.

Counts principal geodesics for 90, 95 and 99 % of the variance, clip by clip and over all CMU clips at hand,
with and without the finger and thumb joints (which carry no captured data), walks apart. Then what the
linearisation costs, how charts compare, and what the metric changes: positions after projection, in
`d_F = 100 |A - A'| / |A - mean(A)|` over all joints, exact root. Counts are in the canonical metric, as the
source's. Writes `modes_histogram.png` (figure 8.7) and `modes_variance.png` (figure 8.6).

    python reproduce/modes_of_motion.py [--data FOLDER] [--out FOLDER] [--quick]

FOLDER is laid out as `MAREY_DATA`; without real data the sample walk shows the computation.
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import warnings
from pathlib import Path

import _cmu
import numpy as np

import marey
from marey.body.pose_model import PoseModel, pose_rotations
from marey.errors import MareyWarning
from marey.geometry import rotations as so3
from marey.statistics.geodesics import number_of_modes, principal_geodesics
from marey.statistics.geodesics.linear import principal_components
from marey.statistics.geodesics.published import log_components
from marey.views import style

LEVELS = (0.90, 0.95, 0.99)
# Frames, and modes at 90, 95 and 99 %, by an independent computation; the source prints none of them.
SINGLE = {
    "02_01": ("walk", (3, 5, 11)),
    "09_06": ("run", (3, 4, 9)),
    "35_01": ("walk", (5, 7, 13)),
    "91_62": ("figure-8 walk", (8, 11, 20)),
    "17_10": ("boxing", (16, 21, 30)),
    "85_01": ("jump twist", (12, 16, 25)),
    "85_12": ("break-dance", (18, 23, 31)),
}
# Median over 280 clips spread over the data base, and shares below, by an independent computation.
SURVEY = {
    "all": ((6, 8, 14), 78, 72),
    "all, no fingers": ((5, 8, 13), 87, 79),
    "walks": ((6, 9, 16), 66, 60),
    "walks, no fingers": ((6, 9, 15), 85, 68),
}
# Modes; distortion d_F in the canonical and in the lever metric, by an independent computation.
METRICS = {
    "02_01": (6, 1.39, 1.14),
    "09_06": (6, 1.28, 0.71),
    "17_10": (12, 10.4, 6.5),
    "85_01": (6, 12.2, 9.7),
    "85_12": (15, 11.6, 6.7),
}
# Ratio of tangent to true distance between frames: median, largest.
LINEARISATION = {
    "02_01": (1.0001, 1.003),
    "09_06": (1.0003, 1.0026),
    "17_10": (1.0006, 1.09),
    "85_12": (1.0035, 1.11),
}
# Whole-pose error in radians of geodesics, logarithms at the identity and Euler angles at equal modes.
CHARTS = {"02_01": (6, 0.181, 0.181, 0.183), "85_12": (15, 0.895, 0.902, 1.152)}


def main() -> int:
    warnings.simplefilter("ignore", MareyWarning)
    options = _cmu.arguments(__doc__)
    data = _cmu.folder(options.data)
    if data is None:
        print("No CMU clips here: give --data or MAREY_DATA. The sample walk instead:")
        print("  modes at 90, 95, 99 %:", *counts(marey.samples.walk()))
        return 0
    clips = _cmu.all_clips(data)
    options.out.mkdir(parents=True, exist_ok=True)
    single_clips(clips)
    good = survey(clips, _cmu.descriptions(data), options.out)
    variance_curves(clips, options.out)
    linearisation(clips)
    charts(clips)
    metrics(clips)
    return 0 if good else 1


def counts(motion: marey.Motion) -> tuple[int, ...]:
    spectrum = principal_geodesics(pose_rotations(motion)).spectrum
    return tuple(number_of_modes(spectrum, variance=level) for level in LEVELS)


def single_clips(clips: dict[str, Path]) -> None:
    print("Modes for 90 / 95 / 99 % of the variance\n")
    print(f"  {'clip':6} {'':14} {'frames':>6}  {'as captured':>13}  {'cleaned':>13}  {'reference':>13}")
    for name, (what, expected) in SINGLE.items():
        if name not in clips:
            print(f"  {name:6} {what:14} is not here")
            continue
        raw, cleaned = (_cmu.clip(clips[name], cleaned=c) for c in (False, True))
        rows = [" / ".join(map(str, row)) for row in (counts(raw), counts(cleaned), expected)]
        print(f"  {name:6} {what:14} {raw.frames:6}  " + "  ".join(f"{row:>13}" for row in rows))
    print("  (cleaned: glitches of single frames repaired; they add variance that is no motion)")


def survey(clips: dict[str, Path], about: dict[str, str], out: Path) -> bool:
    every = {name: _cmu.clip(path, cleaned=True) for name, path in clips.items()}
    full = {name: counts(motion) for name, motion in every.items()}
    bare = {name: counts(_cmu.without_fingers(motion)) for name, motion in every.items()}
    walks = [name for name in every if "walk" in about.get(name, "")]
    sets = {
        "all": np.array(list(full.values())),
        "all, no fingers": np.array(list(bare.values())),
        "walks": np.array([full[name] for name in walks]).reshape(-1, 3),
        "walks, no fingers": np.array([bare[name] for name in walks]).reshape(-1, 3),
    }
    print("\nAll CMU clips at hand: median modes, share of clips below 20 at 99 % and up to 10 at 95 %\n")
    print(f"  {'':18} {'clips':>5}  {'90 / 95 / 99':>14} {'<20':>6} {'≤10':>6}    reference (280 clips)")
    for name, found in sets.items():
        if not len(found):
            print(f"  {name:18}     0  no clip is described so")
            continue
        median = " / ".join(f"{value:g}" for value in np.median(found, axis=0))
        few, fewer = 100 * np.mean(found[:, 2] < 20), 100 * np.mean(found[:, 1] <= 10)
        wanted, low, lower = SURVEY[name]
        theirs = f"{' / '.join(map(str, wanted)):>12} {low:5} % {lower:3} %"
        print(f"  {name:18} {len(found):5}  {median:>14} {few:4.0f} % {fewer:4.0f} %  {theirs}")
    print("  source: 99 % usually with fewer than 20 (all clips); 95 % with at most 10 mostly (walks)")
    histogram(sets, out / "modes_histogram.png")
    below = float(np.mean(sets["all"][:, 2] < 20))
    usual = float(np.median(sets["walks"][:, 1])) if walks else 0.0
    good = below >= 0.75 and usual <= 10
    print(f"  at least 75 % below 20, median of walks at most 10: {'yes' if good else 'NO'}")
    return good


def histogram(sets: dict[str, np.ndarray], path: Path) -> None:
    with style.figure((1280, 560)) as figure:
        panels = zip(figure.subplots(1, 2), (("all", 2, "99 %"), ("walks", 1, "95 %")), strict=True)
        for axes, (name, column, level) in panels:
            bins = np.arange(0.5, max(found[:, 2].max(initial=1) for found in sets.values()) + 1)
            labels = [name, f"{name}, no fingers"]
            values = [sets[label][:, column] for label in labels]
            axes.hist(values, bins, color=list(style.PALETTE[:2]), label=labels)
            axes.axvline(20 if level == "99 %" else 10, color=style.SOFT_INK, lw=0.8, ls="--")
            axes.set(xlabel=f"modes for {level} of the variance", ylabel="clips")
            axes.set_title(f"{len(sets[name])} clips: {name}")
            axes.legend()
    style.save(figure, path)
    print(f"  {path}")


def variance_curves(clips: dict[str, Path], out: Path) -> None:
    with style.figure((960, 560)) as figure:
        axes = figure.subplots()
        shown = [name for name in ("02_01", "85_01", "85_12") if name in clips]
        for name, colour in zip(shown, style.PALETTE, strict=False):
            motion = _cmu.clip(clips[name], cleaned=True)
            spectrum = principal_geodesics(pose_rotations(motion)).spectrum
            share = 100 * np.cumsum(spectrum) / spectrum.sum()
            axes.plot(np.arange(1, 61), share[:60], color=colour, label=f"{name} {SINGLE[name][0]}")
        axes.axhline(99, color=style.SOFT_INK, lw=0.8, ls="--")
        axes.set(xlabel="modes", ylabel="share of variance (%)", ylim=(0, 102), xlim=(0, 60))
        axes.set_title("Cumulative variance (figure 8.6)")
        axes.legend()
    style.save(figure, out / "modes_variance.png")
    print(f"  {out / 'modes_variance.png'}")


def linearisation(clips: dict[str, Path]) -> None:
    print("\nTangent over true distance between 20,000 random pairs of frames: median, largest\n")
    rng = np.random.default_rng(0)
    for name, (median, largest) in LINEARISATION.items():
        if name not in clips:
            continue
        rotations = pose_rotations(_cmu.clip(clips[name], cleaned=True))
        logs = principal_geodesics(rotations, modes=1).logarithms(rotations)
        a, b = rng.integers(0, len(rotations), (2, 20_000))
        a, b = a[a != b], b[a != b]
        flat = np.linalg.norm((logs[a] - logs[b]).reshape(len(a), -1), axis=1)
        true = np.sqrt((so3.distance(rotations[a], rotations[b]) ** 2).sum(axis=1))
        ratio = flat[true > 1e-3] / true[true > 1e-3]
        ours = f"{np.median(ratio):.4f} {ratio.max():.4f}"
        print(f"  {name:6} ours {ours}   reference {median:.4f} {largest:.4f}")


def charts(clips: dict[str, Path]) -> None:
    print("\nWhole-pose error in radians, same number of modes: geodesics, logarithms, Euler angles\n")
    for name, (modes, *expected) in CHARTS.items():
        if name not in clips:
            continue
        rotations = pose_rotations(_cmu.clip(clips[name], cleaned=False))
        geodesics = principal_geodesics(rotations, modes=modes)
        vectors = so3.log(rotations).reshape(len(rotations), -1)
        logs = log_components(
            vectors.mean(axis=0).reshape(-1, 3), np.cov(vectors.T, bias=True), np.ones(rotations.shape[1])
        ).first(modes)
        angles = np.unwrap(so3.to_euler(rotations, "ZYX"), axis=0).reshape(len(rotations), -1)
        euler = principal_components(angles, modes=modes)
        turned = euler.decode(euler.encode(angles)).reshape(len(rotations), -1, 3)
        rebuilt = (
            geodesics.decode(geodesics.encode(rotations)),
            logs.decode(logs.encode(rotations)),
            so3.from_euler(turned, "ZYX"),
        )
        errors = [np.sqrt((so3.distance(rotations, q) ** 2).sum(axis=1).mean()) for q in rebuilt]
        ours, theirs = (" ".join(f"{value:.3f}" for value in values) for values in (errors, expected))
        print(f"  {name:6} {modes:2} modes: ours {ours}   reference {theirs}")


def metrics(clips: dict[str, Path]) -> None:
    print("\nDistortion d_F (%) and mean joint error (cm) after projection, by metric\n")
    print(f"  {'':16} {'canonical':>16} {'lever':>16} {'kinetic':>16}    reference")
    for name, (modes, canonical, lever) in METRICS.items():
        if name not in clips:
            continue
        motion = _cmu.clip(clips[name], cleaned=False)
        truth = motion.positions()
        cells = []
        for metric in ("canonical", "lever", "kinetic"):
            model = PoseModel.fit([motion], modes=modes, metric=metric)
            away = np.linalg.norm(model.rebuild(motion).positions() - truth)
            distortion = 100 * away / np.linalg.norm(truth - truth.mean(axis=0))
            error = 100 * model.joint_errors(motion)[:, 1:].mean()
            cells.append(f"{distortion:6.2f} {error:6.2f} cm")
        print(
            f"  {name:6} {modes:2} modes "
            + " ".join(f"{c:>16}" for c in cells)
            + f"    {canonical:5} {lever:5}"
        )


if __name__ == "__main__":
    sys.exit(main())
