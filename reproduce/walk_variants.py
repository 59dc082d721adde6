"""Walks from one walk, figs. 4 and 5 of Courty & Cuzol 2010: kept modes, clustered key frames, root paths.

One clip (CMU 143_32). All coordinates are simulated anew, or the first 3 or 6 are kept: the spread of where
the root ends must shrink. Three close key frames (190, 200, 210): near them the curves of the first
coordinates bundle. Last, the law itself: the share of components and lags (up to a third of the clip) at
which the clip's autocovariance lies within the band of 200 variants, for the source's model and for ours, and
within that of 60 finished variants, with limits, held feet and tempo. The source shows pictures only.

    python reproduce/walk_variants.py [--data FOLDER] [--out FOLDER] [--quick]

Without real data the sample walk shows the computation.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from _cmu import all_clips, arguments, clip, folder

import marey
from marey.body.vary import VaryResult, vary
from marey.statistics.processes.example import autocovariances

COUNT, BAND, FINISHED = 12, 200, 60
KEPT = (0, 3, 6)
CLUSTER = (190, 200, 210)
MOST_NEAR = 0.25


def main() -> int:
    options = arguments(__doc__)
    data = folder(options.data)
    clips = all_clips(data) if data else {}
    if "143_32" in clips:
        motion = clip(clips["143_32"], cleaned=True)
    else:
        print("143_32 is not at hand (--data, MAREY_DATA): the sample walk instead")
        motion = marey.samples.walk(seconds=6)
    missed = []
    print(f"{'kept modes':>10} {'root ends within cm':>20} {'deviation cm':>13} {'sliding':>8}")
    spreads, walks = [], {}
    for kept in KEPT:
        variants = vary(motion, count=COUNT, keep_modes=kept, deviation=1.0, rng=2, timing=0.0)
        ends = np.array([variant.root[-1] for variant in variants])
        spreads.append(100 * float(np.linalg.norm(ends.std(axis=0)[[0, 2]])))
        report = variants.report
        print(f"{kept:10} {spreads[-1]:20.1f} {report.deviation_cm:13.2f} {report.foot_slide_ratio:8.2f}")
        walks[kept] = variants
    if not spreads[0] > spreads[1] > spreads[2]:
        missed.append("spread of the root's end: all > 3 > 6")

    pins = [frame / motion.frame_rate for frame in CLUSTER if frame < motion.frames]
    pinned = vary(motion, count=COUNT, pins=pins, deviation=1.0, rng=2, timing=0.0, plant=False, limits=False)
    curves = np.array([pinned.poses.encode(variant) for variant in pinned])
    spread = curves.std(axis=0)[:, :2].mean(axis=1)
    near = spread[CLUSTER[0] : CLUSTER[-1] + 1].max() / np.median(spread[CLUSTER[-1] + 60 :])
    print(f"between key frames {CLUSTER}: spread {100 * near:.0f} % of free stretches (at most 25 %)")
    if near > MOST_NEAR:
        missed.append("spread between clustered key frames")

    for method in ("joint",) if options.quick else ("gp", "joint"):
        inside = band(motion, method)
        print(
            f"autocovariance of the clip within the band of {BAND} variants, {method}: {100 * inside:.1f} %"
        )
        if method == "joint" and inside < 0.99:
            missed.append("autocovariance")
    for deviation in (1.0,) if options.quick else (0.3, 1.0):
        finished = vary(motion, count=FINISHED, deviation=deviation, rng=3)
        inside = within(finished)
        print(f"the same of {FINISHED} finished variants at deviation {deviation:g}: {100 * inside:.1f} %")
        if inside < 0.95:
            missed.append(f"autocovariance of finished variants at {deviation:g}")
    options.out.mkdir(parents=True, exist_ok=True)
    draw(walks, pinned, curves, options.out / "walk_variants.png")
    print("met" if not missed else f"MISSED: {', '.join(missed)}")
    return bool(missed)


def band(motion: marey.Motion, method: str) -> float:
    """Share of components and lags at which the clip lies between the 2.5 and 97.5 % quantiles."""
    variants = vary(
        motion, count=BAND, deviation=1.0, rng=3, method=method, timing=0.0, plant=False, limits=False
    )
    return within(variants)


def within(variants: VaryResult) -> float:
    """The same of variants that have been made."""
    motion = variants.example
    lags = motion.frames // 3
    own = autocovariances(variants.poses.encode(motion), lags)
    found = np.array([autocovariances(variants.poses.encode(variant), lags) for variant in variants])
    low, high = np.percentile(found, [2.5, 97.5], axis=0)
    return float(((low <= own) & (own <= high)).mean())


def draw(walks: dict[int, VaryResult], pinned: VaryResult, curves: np.ndarray, path: Path) -> None:
    """Root paths with 0, 3 and 6 kept modes, and the first two coordinates with their key frames."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplot_mosaic([["0", "3", "6"], ["a", "a", "b"]])
    for kept, variants in walks.items():
        for variant in variants:
            axes[str(kept)].plot(variant.root[:, 0], variant.root[:, 2], linewidth=0.8)
        axes[str(kept)].plot(variants.example.root[:, 0], variants.example.root[:, 2], "k--")
        axes[str(kept)].set_title(f"root paths, {kept} modes kept")
        axes[str(kept)].set_aspect("equal", adjustable="datalim")
    own = pinned.poses.encode(pinned.example)
    for label, component in (("a", 0), ("b", 1)):
        axes[label].plot(curves[:6, :, component].T, linewidth=0.7)
        axes[label].plot(own[:, component], "k--")
        dots = [frame for frame in CLUSTER if frame < len(own)]
        axes[label].plot(dots, own[dots, component], "ro")
        axes[label].set_title(f"coordinate {component + 1}")
    figure.savefig(path, dpi=100)
    print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
