"""How well captured fields tell the motion of people in a real film: PETS 2009 S2.L1, view 1, and its boxes.

Every person's box is hand-made; its centre moves from one picture to the next by so many pixels. The field of
that pair, averaged over the middle of the box, says how far it should move. Printed for every method, with
and without foreground as the weight of the data: mean distance of the two in pixels of the film, the share of
the true speed that the field shows (1 = all), and processor seconds a pair (without foreground, whose
background costs the same for a run of any length). Without the film, the same of the sample crowd from above.

    python reproduce/pets_capture.py [--data DIR] [--sizes 320] [--pairs 6]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

import marey
from marey.crowd.capture import METHODS, plan_capture
from marey.crowd.capture.capture import REGULARISED
from marey.crowd.fields import Footage
from marey.samples.street import LENGTH, WIDTH

RUNS = 5
# The middle of a box, where there is hardly anything but the person.
SHARE_OF_WIDTH, SHARE_OF_HEIGHT = 0.5, 0.6
SHOULDERS = 0.4
PIXELS_PER_METRE = 32

Box = tuple[float, float, float, float]
"""Column and row of the centre, width, height."""
People = list[dict[int, Box]]
"""Boxes by person, for every picture."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder with crowd/pets2009_s2l1")
    parser.add_argument("--sizes", type=int, nargs="+", default=[320], help="longer sides of the grid")
    parser.add_argument("--pairs", type=int, default=6, help="pairs in each of five runs over the film")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    given = parser.parse_args()
    footage, people = _film(given.data)
    starts = np.linspace(0.05, 0.9, RUNS) * (footage.frames - given.pairs - 1)
    print("size  method      foreground  error (px)  median  speed shown  seconds a pair")
    for size in given.sizes:
        for method in given.methods:
            for foreground in (True, False):
                # Few people, each on their own way: what is seen, rather than a crowd's motion.
                motion = "seen" if method in REGULARISED else None
                plan = plan_capture(footage, method=method, size=size, foreground=foreground, motion=motion)
                next(plan.fields(0, 1, jobs=1))  # compiles
                found = []
                spent = time.process_time()
                for start in starts.astype(int):
                    for index, (field, _) in enumerate(plan.fields(start, start + given.pairs, jobs=1)):
                        found += _motions(field, people[start + index], people[start + index + 1], footage)
                spent = (time.process_time() - spent) / (RUNS * given.pairs)
                true, seen = np.array(found).transpose(1, 0, 2)
                away = np.linalg.norm(seen - true, axis=-1)
                shown = float((seen * true).sum() / (true**2).sum())
                print(
                    f"{size:4d}  {method:10s}  {'yes' if foreground else 'no':8s}  {away.mean():10.3f}  "
                    f"{np.median(away):6.3f}  {shown:11.3f}  {'' if foreground else f'{spent:.3f}':>14s}"
                )
    still = float(np.linalg.norm(true, axis=-1).mean())
    print(f"{len(true)} motions of people; a field of zeros is off by {still:.3f} px")


def _motions(
    field: NDArray[np.float32], now: dict[int, Box], then: dict[int, Box], footage: Footage
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """True and captured motion of everybody who is in both pictures, pixels of the film."""
    rows, columns = field.shape[:2]
    scale = np.array([footage.columns / columns, footage.rows / rows])
    both = []
    for person in now.keys() & then.keys():
        column, row, width, height = now[person]
        half = 0.5 * np.array([SHARE_OF_WIDTH * width, SHARE_OF_HEIGHT * height])
        low = np.round((np.array([column, row]) - half + 0.5) / scale - 0.5).astype(int)
        high = np.round((np.array([column, row]) + half + 0.5) / scale - 0.5).astype(int) + 1
        inside = field[max(low[1], 0) : high[1], max(low[0], 0) : high[0]]
        if inside.size:
            true = np.subtract(then[person][:2], now[person][:2])
            both.append((true, inside.reshape(-1, 2).mean(axis=0) * scale))
    return both


def _film(given: Path | None) -> tuple[Footage, People]:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    named = given or (Path(os.environ["MAREY_DATA"]) if "MAREY_DATA" in os.environ else beside)
    folder = named / "crowd" / "pets2009_s2l1"
    if not (folder / "vtest.avi").is_file():
        print(f"{folder}: no vtest.avi there; the sample crowd instead")
        return _sample()
    footage = marey.load(folder / "vtest.avi")
    people: People = [{} for _ in range(footage.frames)]
    for frame in ElementTree.parse(folder / "PETS2009-S2L1.xml").getroot().iter("frame"):
        boxes = people[int(frame.attrib["number"])]
        for person in frame.iter("object"):
            box = next(person.iter("box")).attrib
            boxes[int(person.attrib["id"])] = tuple(float(box[k]) for k in ("xc", "yc", "w", "h"))  # type: ignore[assignment]
    return footage, people


def _sample() -> tuple[Footage, People]:
    tracks = marey.samples.crowd(people=60, seconds=20)
    footage = marey.samples.video(tracks, pixels_per_metre=PIXELS_PER_METRE)
    wide = SHOULDERS * PIXELS_PER_METRE
    middle = np.array([LENGTH / 2, WIDTH / 2]) * PIXELS_PER_METRE - 0.5
    people: People = []
    for places, present in zip(tracks.positions, tracks.present, strict=True):
        at = middle + places * [PIXELS_PER_METRE, -PIXELS_PER_METRE]
        people.append({int(i): (at[i, 0], at[i, 1], wide, wide) for i in np.flatnonzero(present)})
    return footage, people


if __name__ == "__main__":
    main()
