"""A catch re-aimed, fig. 19 of Courty 2013 (fig. 7 of Courty & Cuzol 2010): both hands 15 cm higher.

    python reproduce/catch.py [--data FOLDER] [--out gallery]

CMU 143_20. The source shows pictures without numbers; "absolute" is an independent replication of its method
(30 frames a second, 15 modes of the canonical metric, independent squared-exponential processes, both hands
+15 cm up, at a key frame of its own). Ours: the displacement (default), the same with chance, and the
simulation of the interval as in the source, with our joint model. Speeds and accelerations are lengths of
first and second differences of the 15 coordinates at 30 frames a second, as in the replication; ours stand
beside the clip's own. Writes catch.png: the new catch pose, the first coordinate with the interval that was
changed, four frames of the original and of the new clip.
"""

from __future__ import annotations

import sys

import numpy as np
from _cmu import all_clips, arguments, clip, folder

import marey
from marey.body import PoseModel
from marey.body.feet import contacts, slide_speed
from marey.body.steer import SteerResult, TimedReach, steer
from marey.body.steer.requests import targets

HANDS, UP = ("LeftHand", "RightHand"), 0.15
EVERY = 4
REPLICATED = ("0.2 / 0.5", "0.5-0.7", "0.28 / 0.62 / 1.64", "0.43-0.6", "0.06", "0.16 / 0.64")


def main() -> int:
    options = arguments(__doc__)
    data = folder(options.data)
    clips = all_clips(data) if data else {}
    if "143_20" in clips:
        motion = clip(clips["143_20"], cleaned=True)
        frame = catch_frame(motion)
    else:
        print("143_20 is not at hand (--data, MAREY_DATA): the sample walk instead")
        motion = marey.samples.walk(seconds=4)
        frame = motion.frames // 2
    asked = [TimedReach(hand, frame / motion.frame_rate, [0.0, UP, 0.0], relative=True) for hand in HANDS]
    every = EVERY if motion.frame_rate > 100 else max(1, round(motion.frame_rate / 30))
    model = PoseModel.fit([motion], modes=15, metric="canonical")
    own = Curve(motion, model, every, frame)
    print(f"catch at {frame / motion.frame_rate:.2f} s, both hands {100 * UP:.0f} cm up\n")
    head = ("missed cm", "latent speed", "at the key frame", "peak acc.", "slide")
    print(f"{'':34} {head[0]:>14} {head[1]:>20} {head[2]:>20} {head[3]:>10} {head[4]:>7}")
    print(f"{'clip, replication':34} {'':14} {REPLICATED[2]:>20} {REPLICATED[4]:>20}")
    print(f"{'clip, here (median/95 %/max)':34} {'':14} {own.speeds():>20} {own.bend:20.2f}")
    print(f"{'absolute, replication':34} {REPLICATED[0]:>14} {REPLICATED[1]:>20} {REPLICATED[3]:>20}")
    found = {
        "displacement (default)": steer(motion, asked),
        "displacement, 0.2 s each side": steer(motion, asked, interval=0.4),
        "displacement, deviation 0.5": steer(motion, asked, deviation=0.5, rng=1),
        "simulated as in the source": steer(motion, asked, method="joint", rng=1),
    }
    standing = contacts(motion)
    still = slide_speed(motion, standing)
    for name, one in found.items():
        new = Curve(one.motion, model, every, frame)
        misses = " / ".join(f"{miss:.3f}" for miss in one.residual_cm)
        fastest = new.within(one.intervals)
        slide = slide_speed(one.motion, standing) / still if still else 1.0
        print(f"{name:34} {misses:>14} {fastest:20.2f} {new.bend:20.2f} "
              f"{one.peak_acceleration_ratio:10.2f} {slide:7.3f}")  # fmt: skip
    best = found["displacement (default)"]
    speed = Curve(best.motion, model, every, frame).within(best.intervals)
    options.out.mkdir(parents=True, exist_ok=True)
    draw(motion, best, asked, model, options.out / "catch.png")
    good = max(best.residual_cm) <= 0.5 and best.peak_acceleration_ratio <= 1.5 and speed <= 1.2 * own.most
    print(f"\nbars of the default (0.5 cm, peak acceleration 1.5 of the clip's, latent speed 1.2): "
          f"{'met' if good else 'missed'}")  # fmt: skip
    return 0 if good else 1


class Curve:
    """Speeds and accelerations of a clip's coordinates, every few frames with the key frame among them."""

    def __init__(self, motion: marey.Motion, model: PoseModel, every: int, frame: int) -> None:
        self.every, self.first = every, frame % every
        self.coordinates = model.encode(motion)[self.first :: every]
        self.speed = np.linalg.norm(np.diff(self.coordinates, axis=0), axis=1)
        bends = np.linalg.norm(np.diff(self.coordinates, n=2, axis=0), axis=1)
        self.bend = float(bends[frame // every - 1])
        self.most = float(self.speed.max())

    def speeds(self) -> str:
        return " / ".join(f"{v:.2f}" for v in (*np.quantile(self.speed, [0.5, 0.95]), self.most))

    def within(self, intervals: tuple[tuple[int, int], ...]) -> float:
        spans = [((a - self.first) // self.every, (b - self.first) // self.every + 1) for a, b in intervals]
        return float(max(self.speed[max(a, 0) : b].max() for a, b in spans))


def catch_frame(motion: marey.Motion) -> int:
    """Where the hands are together and highest."""
    left, right = (motion.positions()[:, motion.skeleton.index(hand)] for hand in HANDS)
    together = np.linalg.norm(left - right, axis=1) < 0.12
    return int(np.argmax(np.where(together, left[:, 1] + right[:, 1], -np.inf)))


def draw(motion: marey.Motion, best: SteerResult, asked: list[TimedReach], model: PoseModel, out) -> None:
    from PIL import Image

    from marey.views import style
    from marey.views.actors import across_view, group, side_by_side
    from marey.views.shots import strip

    goal = targets(motion, asked)
    frame = goal[0].frame
    places = np.array([[one.position for one in goal]])
    right = across_view(motion[frame])
    pair = group([motion[frame], best.motion[frame]], shifts=[[0, 0, 0], 1.1 * right],
                  marks=np.concatenate([places, places + 1.1 * right], axis=1))  # fmt: skip
    poses = strip(pair, (480, 400))
    with style.figure((800, 400)) as figure:
        axes = figure.subplots()
        seconds = np.arange(motion.frames) / motion.frame_rate
        for one, label, colour in (
            (best.motion, "new", style.PALETTE[1]),
            (motion, "original", style.PALETTE[0]),
        ):
            axes.plot(seconds, model.encode(one)[:, 0], color=colour, label=label)
        for a, b in best.intervals:
            axes.axvspan(seconds[a], seconds[b], color=style.SOFT_INK, alpha=0.15, lw=0)
        axes.set(xlabel="seconds", ylabel="first coordinate")
        axes.legend(loc="upper right")
    style.save(figure, out)
    curve = np.asarray(Image.open(out).convert("RGB").resize((800, 400)))
    rate = motion.frame_rate
    some = np.clip(
        frame + np.round(np.array([-0.25, -0.1, 0.0, 0.2]) * rate).astype(int), 0, motion.frames - 1
    )
    marks = np.full((4, len(goal), 3), np.nan)
    marks[2] = places[0]
    rows = [strip(side_by_side(one, some, marks=marks), (1280, 400)) for one in (motion, best.motion)]
    picture = np.concatenate([np.concatenate([poses, curve], axis=1), *rows])
    Image.fromarray(picture).save(out, optimize=True)
    print(f"\nwrote {out}")


if __name__ == "__main__":
    sys.exit(main())
