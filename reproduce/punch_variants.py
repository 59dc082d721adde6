"""Punches from one punch, fig. 3 of Courty & Cuzol 2010: paths of the right hand that share the blow.

One clip (CMU 143_23), one key frame: the pose in which the right hand is farthest out. Four variants each by
the source's model (independent squared exponential processes) and by ours (joint law), all simulated anew but
for the key frame; ours also at its usual deviation. The source shows a picture only; what a reader can check
in it is measured: the pose at the key frame, how far the hands are apart elsewhere, and the feet.

    python reproduce/punch_variants.py [--data FOLDER] [--out FOLDER]

Without real data the sample walk shows the computation.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from _cmu import all_clips, arguments, clip, folder

import marey
from marey.body.vary import VaryResult, vary
from marey.geometry import rotations as so3

COUNT = 4
MOST_DEGREES, LEAST_CM, MOST_SLIDE = 0.1, 2.0, 1.2


def main() -> int:
    options = arguments(__doc__)
    data = folder(options.data)
    clips = all_clips(data) if data else {}
    if "143_23" in clips:
        motion = clip(clips["143_23"], cleaned=True)
    else:
        print("143_23 is not at hand (--data, MAREY_DATA): the sample walk instead")
        motion = marey.samples.walk(seconds=5)
    hand = motion.skeleton.index("RightHand")
    blow = int(np.argmax(np.linalg.norm(motion.positions()[:, hand] - motion.root, axis=1)))
    pin = blow / motion.frame_rate
    print(f"{motion.frames} frames, key frame {blow} ({pin:.2f} s)")
    print(f"{'':24} {'key pose deg':>12} {'hands apart cm':>14} {'sliding':>8} {'range':>6}")
    missed = []
    shown = None
    for label, settings in (
        ("source's model, all new", {"method": "gp", "deviation": 1.0, "limits": False, "plant": False}),
        ("joint law, all new", {"deviation": 1.0}),
        ("joint law, usual", {}),
    ):
        variants = vary(motion, count=COUNT, pins=[pin], rng=1, **settings)
        degrees, apart = reported(variants, blow, hand)
        report = variants.report
        print(
            f"{label:24} {degrees:12.5f} {apart:14.2f} {report.foot_slide_ratio:8.2f} "
            f"{report.beyond_range:6.2f}"
        )
        if degrees > MOST_DEGREES or apart < LEAST_CM:
            missed.append(label)
        if "source" not in label and report.foot_slide_ratio > MOST_SLIDE:
            missed.append(f"{label}: feet")
        shown = variants
    if shown is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        draw(shown, hand, blow, options.out / "punch_variants.png")
    print("met" if not missed else f"MISSED: {', '.join(missed)}")
    return bool(missed)


def reported(variants: VaryResult, blow: int, hand: int) -> tuple[float, float]:
    """Degrees between the key poses, and cm between the hands' paths elsewhere, on average over pairs."""
    own = variants.example.rotations[blow, 1:]
    degrees = max(float(np.degrees(so3.distance(v.rotations[blow, 1:], own).max())) for v in variants)
    paths = [v.positions()[:, hand] - v.root for v in variants]
    pairs = [np.linalg.norm(a - b, axis=-1).mean() for i, a in enumerate(paths) for b in paths[:i]]
    return degrees, 100 * float(np.mean(pairs))


def draw(variants: VaryResult, hand: int, blow: int, path: Path) -> None:
    """The paths of the hand seen from the front and from above, the key frame as a dot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4))
    for axes, (a, b), title in zip(
        figure.subplots(1, 2), ((0, 1), (0, 2)), ("from the front", "from above"), strict=True
    ):
        for motion, style in ((variants.example, "k--"), *((v, "-") for v in variants)):
            place = motion.positions()[:, hand] - motion.root
            axes.plot(place[:, a], place[:, b], style, linewidth=0.9)
        key = variants.example.positions()[blow, hand] - variants.example.root[blow]
        axes.plot(key[a], key[b], "ro")
        axes.set_title(f"right hand {title}, m")
        axes.set_aspect("equal")
    figure.savefig(path, dpi=110)
    print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
