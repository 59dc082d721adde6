"""Random holes of CMU clips: how close the default comes, how honest its band is, and how long a hole takes.

    python benchmarks/filling.py [--data FOLDER] [--holes N]

Peers in the same process: slerp with a straight root path, and the independent squared exponential
processes of Courty & Cuzol 2010. Bars: at most ½ of slerp's error and 60 % of theirs at 10 and 40
frames, 85 to 95 % of the joints within the 90 % band at every size, 3 s a hole. Below, without bars, holes of
some joints only: the joints that they move count.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from _ledger import record

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reproduce"))

from _cmu import all_clips, clip, folder
from hole_filling import SIZES, random_holes

from marey.body.fill import fill
from marey.body.motion import Motion

PARTS = {
    "an arm": ["LeftArm", "LeftForeArm", "LeftHand"],
    "both legs": ["LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg", "RightFoot"],
    "one elbow": ["LeftForeArm"],
}
SLERP, SOURCE, COVERED, SECONDS = 0.5, 0.6, (0.85, 0.95), 3.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of real data, laid out as MAREY_DATA")
    parser.add_argument("--holes", type=int, default=50, help="of each size")
    options = parser.parse_args()
    data = folder(options.data)
    if data is None:
        print("no CMU clips at hand (--data, MAREY_DATA)")
        return 0
    clips = [clip(path, cleaned=True) for _, path in sorted(all_clips(data).items())]
    print(
        f"{'frames':>7}{'holes':>7}{'cm':>8}{'/ slerp':>9}{'/ Courty':>9}{'in band':>9}{'s a hole':>9}  bars"
    )
    missed = 0
    for size in SIZES:
        found = np.array([_one(*hole) for hole in random_holes(clips, size, options.holes)])
        ours, slerped, theirs, covered, seconds = found.mean(axis=0)
        met = COVERED[0] <= covered <= COVERED[1] and seconds <= SECONDS
        if size <= 40:
            met = met and ours <= SLERP * slerped and ours <= SOURCE * theirs
        work = f"a gap of {size} frames filled, mean error"
        bars = (1 / SLERP, 1 / SOURCE) if size <= 40 else (None, None)
        record(work, 100 * ours, 100 * slerped, peer="slerp", unit="cm", bar=bars[0])
        record(work, 100 * ours, 100 * theirs, peer="processes of Courty 2010", unit="cm", bar=bars[1])
        missed += not met
        print(
            f"{size:>7}{len(found):>7}{100 * ours:>8.3f}{ours / slerped:>9.3f}{ours / theirs:>9.3f}"
            f"{covered:>9.3f}{seconds:>9.2f}  {'met' if met else 'missed'}",
            flush=True,
        )
    for name, joints in PARTS.items():
        for size in SIZES:
            holes = random_holes(clips, size, max(options.holes // 2, 1))
            ours, slerped, covered = np.array([_part(joints, *hole) for hole in holes]).mean(axis=0)
            ratio = f"{ours / slerped:>7.3f} / slerp"
            print(f"{name:>12}{size:>5}{100 * ours:>8.3f} cm{ratio}{covered:>7.3f} in band", flush=True)
    return int(missed > 0)


def _one(motion: Motion, first: int, size: int) -> tuple[float, ...]:
    at = slice(first, first + size)
    truth = motion.positions()[at]
    began = time.perf_counter()
    filled = fill(motion, [(first, first + size)])
    seconds = time.perf_counter() - began
    off = np.linalg.norm(filled.motion.positions()[at] - truth, axis=-1)
    plain = fill(motion, [(first, first + size)], method="slerp").motion.positions()[at]
    theirs = fill(motion, [(first, first + size)], method="gp").motion.positions()[at]
    slerped, sourced = (float(np.linalg.norm(other - truth, axis=-1).mean()) for other in (plain, theirs))
    return float(off.mean()), slerped, sourced, float((off <= filled.confidence_radius[at]).mean()), seconds


def _part(joints: list[str], motion: Motion, first: int, size: int) -> tuple[float, ...]:
    at = slice(first, first + size)
    skeleton = motion.skeleton
    moved = sorted({below for joint in joints for below in skeleton.descendants(skeleton.index(joint))})
    truth = motion.positions()[at][:, moved]
    filled = fill(motion, [(first, first + size)], joints)
    plain = fill(motion, [(first, first + size)], joints, method="slerp").motion
    off, slerped = (
        np.linalg.norm(m.positions()[at][:, moved] - truth, axis=-1) for m in (filled.motion, plain)
    )
    return (
        float(off.mean()),
        float(slerped.mean()),
        float((off <= filled.confidence_radius[at][:, moved]).mean()),
    )


if __name__ == "__main__":
    sys.exit(main())
