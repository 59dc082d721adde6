"""One kick, three kicks at three places: fig. 8 of Courty & Cuzol 2010.

    python reproduce/kicks.py [--data FOLDER] [--out gallery]

CMU 143_24, frames 130 to 470: the figure steps up and kicks with the left foot. The source shows pictures
without numbers. Here the clip is repeated three times, turned between, and the foot of each kick led to a
place of its own; reported are how far the places are missed (bar: 2 cm), the largest change of any joint from
one frame to the next beside the clip's own (bar: 1.5), and how fast standing feet slide. Writes kicks.png:
the one kick above, the three below.
"""

from __future__ import annotations

import sys

import numpy as np
from _cmu import all_clips, arguments, clip, folder

import marey
from marey.body.chain import ChainResult, chain
from marey.body.feet import contacts, slide_speed
from marey.body.steer import TimedReach

FRAMES = slice(130, 470)
FOOT = "LeftToeBase"
WAYS = ((0.0, -0.15, 0.0), (0.05, 0.05, 0.12), (-0.05, -0.25, -0.1))
TURNS = tuple(np.radians([25.0, -20.0]))
NEAR_CM, CHANGE = 2.0, 1.5


def main() -> int:
    options = arguments(__doc__)
    data = folder(options.data)
    clips = all_clips(data) if data else {}
    if "143_24" in clips:
        kick = clip(clips["143_24"], cleaned=True)[FRAMES]
    else:
        print("143_24 is not at hand (--data, MAREY_DATA): the sample walk instead")
        kick = marey.samples.walk(seconds=3)
    foot = kick.skeleton.index(FOOT)
    frame = int(np.argmax(kick.positions()[:, foot, 1]))
    if not 0.4 < frame / kick.frame_rate < (kick.frames - 1) / kick.frame_rate - 0.4:
        frame = kick.frames // 2
    asked = [[TimedReach(FOOT, frame / kick.frame_rate, way, relative=True)] for way in WAYS]
    found = chain(kick, asked, turns=TURNS)
    steered = found.steered
    assert steered is not None
    print(f"one kick of {kick.duration:.2f} s, three in {found.motion.duration:.2f} s; transitions of "
          f"{(found.transitions[0][1] - found.transitions[0][0] + 1) / kick.frame_rate:.2f} s\n")  # fmt: skip
    for number, (way, miss) in enumerate(zip(WAYS, steered.residual_cm, strict=True), start=1):
        print(f"kick {number}: {100 * np.linalg.norm(way):4.0f} cm from the clip's, missed by {miss:.3f} cm")
    ratio = change(found.motion) / change(kick)
    bend = acceleration(found.motion) / acceleration(kick)
    own, new = (slide_speed(m, contacts(m)) for m in (kick, found.motion))
    print(f"largest change between frames / the clip's own: {ratio:.2f}")
    print(f"largest acceleration / the clip's own: {bend:.2f} (of the foot at the kicks: "
          f"{steered.peak_acceleration_ratio:.2f})")  # fmt: skip
    print(f"standing feet slide at {100 * new:.1f} cm/s, the clip's at {100 * own:.1f}")
    options.out.mkdir(parents=True, exist_ok=True)
    draw(kick, found, frame, options.out / "kicks.png")
    good = max(steered.residual_cm) <= NEAR_CM and ratio <= CHANGE
    print(f"bars (2 cm, 1.5): {'met' if good else 'missed'}")
    return 0 if good else 1


def change(motion: marey.Motion) -> float:
    return float(np.linalg.norm(np.diff(motion.positions(), axis=0), axis=-1).max())


def acceleration(motion: marey.Motion) -> float:
    return float(np.linalg.norm(np.diff(motion.positions(), n=2, axis=0), axis=-1).max())


def draw(kick: marey.Motion, found: ChainResult, frame: int, out) -> None:
    from PIL import Image

    from marey.views.actors import side_by_side
    from marey.views.shots import strip

    rate = kick.frame_rate
    foot = kick.skeleton.index(FOOT)
    around = np.clip(
        frame + np.round(np.array([-0.9, -0.3, 0.0, 0.3, 0.8]) * rate).astype(int), 0, kick.frames - 1
    )
    hits = [start + frame for start in found.starts]
    pauses = [(a + b) // 2 for a, b in found.transitions]
    many = np.array(sorted([*hits, *pauses]))
    rows = []
    for motion, some, at in ((kick, around, [frame]), (found.motion, many, hits)):
        marks = np.full((len(some), 1, 3), np.nan)
        for i, t in enumerate(some):
            if t in at:
                marks[i, 0] = motion.positions()[t, foot]
        rows.append(strip(side_by_side(motion, some, marks=marks, apart=1.3), (1280, 420)))
    Image.fromarray(np.concatenate(rows)).save(out, optimize=True)
    print(f"wrote {out}")


if __name__ == "__main__":
    sys.exit(main())
