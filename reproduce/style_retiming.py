"""Two performances brought into step: figure 10 of Courty 2013, section 2.2.1.2, on walks.

The source shows a neutral, an angry, and the angry signing sequence in the timing of the neutral one, without
numbers. Here every clip is replayed in the timing of another. Whether that worked is read from the feet,
which the alignment does not see as such: in which share of the frames is the same foot the slower one, the
one that stands? Beside it: even stretching, and the table without our normalisation of posture and size.

    python reproduce/style_retiming.py [--data DIR] [--out DIR]
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from _cmu import all_clips, arguments, clip, folder

import marey
from marey.body.anatomy import end_effectors
from marey.body.feet import skate
from marey.body.motion import Motion
from marey.body.resample import retime
from marey.body.restyle import joint_pose_model, restyle
from marey.body.root_motion import without_carriers
from marey.errors import MareyWarning
from marey.statistics.warping import align, time_map
from marey.views import figures, style

BANDAI = ("walk_normal", "walk_happy", "walk_old")
CMU = ("02_01", "08_08", "16_22", "35_02", "37_01", "104_12")


def main() -> None:
    given = arguments(__doc__)
    # Bones of different people differ; poses are compared by their angles alone.
    warnings.simplefilter("ignore", MareyWarning)
    given.out.mkdir(parents=True, exist_ok=True)
    data = folder(given.data)
    if data is None:
        print("no real data (--data DIR or MAREY_DATA): sample walks of two speeds instead")
        clips = [(f"speed {v:g}", marey.samples.walk(3, speed=v)) for v in (0.8, 1.3)]
        pairs = [(clips[0], clips[1])]
    else:
        pairs = real_pairs(data)
    known_maps([pair[0] for pair in pairs])
    print(f"\n{'same foot stands, % of frames':34}{'even':>6}{'plain':>7}{'ours':>6}{'open':>6}{'slide':>16}")
    rows = [(f"{b[0]} -> {a[0]}", *in_step(a[1], b[1])) for a, b in pairs]
    rows += [(f"{a[0]} -> {b[0]}", *in_step(b[1], a[1])) for a, b in pairs]
    for name, *shares, before, after in rows:
        cells = "".join(f"{100 * share:6.0f} " for share in shares)
        print(f"{name:33} {cells}  {100 * before:4.1f} -> {100 * after:4.1f} cm/s")
    means = np.mean([row[1:5] for row in rows], axis=0)
    print(f"{'mean':33} " + "".join(f"{100 * share:6.0f} " for share in means))
    (name, motion), (other_name, other) = pairs[min(1, len(pairs) - 1)]
    for timing, spatial in (("reference", 0.0), ("own", 1.0)):
        found = restyle(motion, other, timing=timing, spatial=spatial, open_ends=True)
        what = f"{name}, timing of {other_name}" if not spatial else f"{name}, manner of {other_name}"
        figure = figures.aligned_clips(motion, other, found, names=(name, other_name, what))
        path = given.out / f"style-{'timing' if not spatial else 'manner'}.png"
        style.save(figure, path)
        print(f"written: {path}")


def known_maps(clips: list[tuple[str, Motion]]) -> None:
    """A clip against itself in another known timing."""
    print("known map of time, mean error in frames (1.5 allowed)")
    for name, motion in dict(clips).items():
        figure = without_carriers(motion)
        share = np.linspace(0, 1, round(1.2 * figure.frames))
        truth = (figure.frames - 1) * (share + 0.07 * np.sin(2 * np.pi * share))
        found = restyle(figure, retime(figure, truth))
        print(f"  {name:20} {np.abs(found.positions - truth).mean():.2f}")


def in_step(reference: Motion, motion: Motion) -> tuple[float, float, float, float, float, float]:
    """Agreement by even stretching, plain warping, ours, ours with open ends; slide of feet before, after."""
    reference, motion = without_carriers(reference), without_carriers(motion)
    even = retime(motion, np.linspace(0, motion.frames - 1, reference.frames))
    model = joint_pose_model(motion, reference)
    path = align(model.encode(reference), model.encode(motion))
    plain = retime(motion, time_map(path, smoothing=0.1 * motion.frame_rate))
    ours = restyle(motion, reference)
    loose = restyle(motion, reference, open_ends=True)
    first, last = (int(k) for k in loose.alignment.path[[0, -1], 1])
    before = skate(motion)
    return (
        agreement(even, reference),
        agreement(plain, reference),
        agreement(ours.motion, reference),
        agreement(loose.motion, reference[first : last + 1]),
        before,
        skate(loose.motion),
    )


def agreement(a: Motion, b: Motion) -> float:
    return float((standing_foot(a) == standing_foot(b)).mean())


def standing_foot(motion: Motion) -> np.ndarray:
    feet = [end.joint for end in end_effectors(motion.skeleton) if end.part == "foot"]
    speed = np.linalg.norm(np.gradient(motion.positions()[:, feet], axis=0), axis=-1)
    return np.asarray(speed[:, 0] < speed[:, 1])


def real_pairs(data: Path) -> list[tuple[tuple[str, Motion], tuple[str, Motion]]]:
    styled = [data / "bandai_bvh_NC" / f"dataset-1_{name}_001.bvh" for name in BANDAI]
    bandai = [
        (name, clip(path, cleaned=True)) for name, path in zip(BANDAI, styled, strict=True) if path.is_file()
    ]
    found = all_clips(data)
    cmu = [(name, clip(found[name], cleaned=True)) for name in CMU if name in found]
    pairs = list(pairwise(bandai)) + ([(bandai[0], bandai[2])] if len(bandai) == 3 else [])
    return [*pairs[:1], *pairs[2:], *pairs[1:2], *((cmu[0], other) for other in cmu[1:])]


if __name__ == "__main__":
    main()
