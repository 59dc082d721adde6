"""Random requests to hands and feet of CMU clips: are targets met, and does the motion stay like itself?

    python benchmarks/steering.py [--data FOLDER] [--requests N]

Each request asks one or two hands or feet to be 5 to 20 cm from where they are, in any direction (feet not
below the ground), at a random time. Printed: how far targets are missed, the peak acceleration of what was
asked for over the clip's own peak, the largest speed in the pose model's coordinates over the clip's own, how
fast standing feet slide beside the original, and how long it took. Bars: 0.5 cm, 1.5, 1.2, no more sliding.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reproduce"))

from _cmu import all_clips, clip, folder
from _ledger import record_limit

import marey
from marey.body import PoseModel
from marey.body.feet import contacts, foot_joints, slide_speed
from marey.body.steer import TimedReach, steer
from marey.body.steer.steer import latent_speeds

CLIPS = ("02_01", "143_20", "143_24", "143_23", "143_34", "05_06", "49_18", "143_01", "11_01", "143_18")
HANDS, FEET = ("LeftHand", "RightHand"), ("LeftToeBase", "RightToeBase")
NEAR_CM, ACCELERATION, SPEED, SLIDING = 0.5, 1.5, 1.2, 1.0


def main() -> int:
    options = _options()
    data = folder(options.data)
    clips = all_clips(data) if data else {}
    names = [name for name in CLIPS if name in clips]
    motions = {name: clip(clips[name], cleaned=True) for name in names}
    if not motions:
        print("no CMU clips at hand (--data, MAREY_DATA): the sample walk instead")
        motions = {"sample": marey.samples.walk()}
    print(f"{'clip':8} {'s':>5}  {'asked':28} {'cm away':>8} {'missed cm':>9} {'peak acc.':>9} {'latent':>7} "
          f"{'slide/own':>9} {'interval s':>10} {'ms':>6}")  # fmt: skip
    rng = np.random.default_rng(2013)
    rows = []
    for number in range(options.requests):
        name = list(motions)[number % len(motions)]
        rows.append(_one(name, motions[name], rng))
    return _summary(np.array(rows))


def _one(name: str, motion: marey.Motion, rng: np.random.Generator) -> tuple[float, ...]:
    frame = int(rng.integers(motion.frames // 10, motion.frames * 9 // 10))
    effectors = rng.choice([*HANDS, *FEET], size=int(rng.integers(1, 3)), replace=False)
    asked = [TimedReach(str(joint), frame / motion.frame_rate, _offset(motion, frame, str(joint), rng),
                     relative=True) for joint in effectors]  # fmt: skip
    began = time.perf_counter()
    found = steer(motion, asked)
    milliseconds = 1e3 * (time.perf_counter() - began)
    model = PoseModel.fit([motion], modes=15)
    before, after = latent_speeds(motion, model), latent_speeds(found.motion, model)
    inside = np.concatenate([np.arange(max(a - 1, 0), min(b + 1, len(after))) for a, b in found.intervals])
    latent = float(after[inside].max() / before.max())
    standing = _others(motion, effectors)
    own, new = slide_speed(motion, standing), slide_speed(found.motion, standing)
    slide = new / own if own > 0 else 1.0
    seconds = sum(b - a + 1 for a, b in found.intervals) / motion.frame_rate
    away = [100 * float(np.linalg.norm(one.position)) for one in asked]
    row = max(found.residual_cm), found.peak_acceleration_ratio, latent, slide
    print(f"{name:8} {frame / motion.frame_rate:5.2f}  {', '.join(effectors):28} {max(away):8.1f} "
          f"{row[0]:9.3f} {row[1]:9.2f} {row[2]:7.2f} {row[3]:9.3f} {seconds:10.2f} "
          f"{milliseconds:6.0f}")  # fmt: skip
    return row


def _offset(motion: marey.Motion, frame: int, joint: str, rng: np.random.Generator) -> np.ndarray:
    """5 to 20 cm in a random direction; a foot's never leads below the ground."""
    way = rng.standard_normal(3)
    way *= rng.uniform(0.05, 0.20) / np.linalg.norm(way)
    if joint in FEET:
        heights = motion.positions()[:, motion.skeleton.index(joint), 1]
        way[1] = max(way[1], float(heights.min() - heights[frame]))
    return np.asarray(way)


def _others(motion: marey.Motion, effectors: np.ndarray) -> np.ndarray:
    """Where feet stand that were not asked for."""
    standing = contacts(motion).copy()
    for column, joint in enumerate(foot_joints(motion.skeleton)):
        side = "Left" if motion.skeleton.names[joint].startswith("Left") else "Right"
        if f"{side}ToeBase" in effectors:
            standing[:, column] = False
    return standing


def _summary(rows: np.ndarray) -> int:
    bars = (NEAR_CM, ACCELERATION, SPEED, SLIDING + 0.005)
    labels = ("missed, cm", "peak acceleration / own", "latent speed / own maximum", "sliding / own")
    print()
    missed = False
    for column, (label, bar) in enumerate(zip(labels, bars, strict=True)):
        values = rows[:, column]
        good = int((values <= bar).sum())
        missed |= good < len(values)
        quantity, _, unit = label.partition(", ")
        record_limit(
            f"{len(values)} random requests to hands and feet: {quantity}, worst",
            values.max(),
            bar,
            unit=unit,
        )
        print(f"{label:28} median {np.median(values):.3f}  worst {values.max():.3f}  bar {bar:g}: "
              f"{good} of {len(values)} met")  # fmt: skip
    return int(missed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of real data, laid out as MAREY_DATA")
    parser.add_argument("--requests", type=int, default=60, help="how many")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
