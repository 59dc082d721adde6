"""A real film animated anew: PETS 2009 S2.L1, view 1, its motion captured and other people walking in it.

Prints how fast the people of the hand-made boxes walk on the ground at the frame rates the film is said to
have, and how far people carried by the captured fields are from where they truly went (Courty & Corpetti
2007, section 4.1, shows such replays and does not measure them). Writes the film with the new people in it.
Without the film, the same of the sample crowd seen from above.

    python reproduce/pets_animation.py [--data DIR] [--frames 0:150] [--method divcurl] [--out again.mp4]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

import marey
from marey.crowd import Camera, Footage, Tracks, capture
from marey.crowd.animation import AgentSettings, AnimatedCrowd
from marey.crowd.cameras import Homography
from marey.crowd.evaluation.pedestrians import trajectory_errors
from marey.io import cameras
from marey.io.cameras import View
from marey.io.video import write_frames
from marey.views import pedestrians

BODY_HEIGHT = 0.9
"""Metres above the ground at which most of a body's motion is seen."""
RATES = (7.0, 10.0)
SLOWEST_WALK = 0.3
PEOPLE = 14
PIXELS_PER_METRE = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder with crowd/pets2009_s2l1")
    parser.add_argument("--frames", default="0:150", help="of the film, A:B")
    parser.add_argument("--method", default="divcurl")
    parser.add_argument("--motion", default=None, help="of divcurl and hs: crowd or seen (default)")
    parser.add_argument("--size", type=int, default=384, help="longer side of the fields")
    parser.add_argument("--out", type=Path, default=Path("again.mp4"))
    given = parser.parse_args()
    start, stop = (int(part) for part in given.frames.split(":"))
    film, view, people, height = _film(given.data)
    _print_speeds(people, RATES if isinstance(view, Camera) else (film.frame_rate,))
    film, people = film[start:stop], people[start:stop]
    motion = given.motion or ("seen" if given.engine in ("divcurl", "hs") else None)
    fields = capture(
        film, method=given.method, size=given.size, camera=view, plane_height=height, motion=motion
    )
    print(f"\n{given.engine}, {fields.columns} × {fields.rows}: people carried from their true places")
    print("seconds  mean m  median m  within a body  had they stood still, m  people")
    for error in trajectory_errors(fields, people):
        print(
            f"{error.seconds:7g} {error.mean:7.2f} {error.median:9.2f} {100 * error.within:12.0f} %"
            f" {error.still:24.2f} {error.people:7}"
        )
    crowd = AnimatedCrowd(
        fields, PEOPLE, frame_rate=film.frame_rate, settings=AgentSettings(match_density=True, avoid="social")
    )
    again = crowd.tracks(fields.duration)
    write_frames(pedestrians.video_overlay(again, film, view), given.out, frame_rate=film.frame_rate)
    print(f"\n{given.out}: {PEOPLE} people where the film shows people, {again.agents} in all")


def _print_speeds(people: Tracks, rates: tuple[float, ...]) -> None:
    print("frames/s  walking speed on the ground: median, middle half (m/s)")
    for rate in rates:
        frames = round(rate)
        apart = np.linalg.norm(people.positions[frames:] - people.positions[:-frames], axis=-1)
        walking = apart[np.isfinite(apart) & (apart > SLOWEST_WALK)]
        low, middle, high = np.percentile(walking, [25, 50, 75])
        print(f"{rate:8g}  {middle:.2f}   {low:.2f} to {high:.2f}")


def _film(given: Path | None) -> tuple[Footage, View, Tracks, float]:
    """The film, its camera, where people truly are, and the height at which they are seen."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    named = given or (Path(os.environ["MAREY_DATA"]) if "MAREY_DATA" in os.environ else beside)
    folder = named / "crowd" / "pets2009_s2l1"
    if not (folder / "vtest.avi").is_file():
        print(f"{folder}: no vtest.avi there; the sample crowd instead")
        return _sample()
    film = marey.load(folder / "vtest.avi")
    view = cameras.read(folder / "View_001.xml")
    rows = []
    for frame in ElementTree.parse(folder / "PETS2009-S2L1.xml").getroot().iter("frame"):
        for person in frame.iter("object"):
            box = {name: float(value) for name, value in next(person.iter("box")).attrib.items()}
            number, who = int(frame.attrib["number"]), int(person.attrib["id"])
            rows.append((number, who, box["xc"], box["yc"] + 0.5 * box["h"]))
    table = np.array(rows)
    x, y = view.to_ground(table[:, 2:]).T
    people = Tracks.from_rows(table[:, 0].astype(int), table[:, 1].astype(int), x, y, film.frame_rate)
    return film, view, people, BODY_HEIGHT


def _sample() -> tuple[Footage, View, Tracks, float]:
    from marey.crowd.cameras import orthographic
    from marey.samples.street import LENGTH, WIDTH

    people = marey.samples.crowd(people=60, seconds=20)
    film = marey.samples.video(people, pixels_per_metre=PIXELS_PER_METRE)
    half = 0.5 / PIXELS_PER_METRE
    corner = (half - LENGTH / 2, WIDTH / 2 - half)
    return film, Homography(orthographic(1 / PIXELS_PER_METRE, offset=corner)), people, 0.0


if __name__ == "__main__":
    main()
