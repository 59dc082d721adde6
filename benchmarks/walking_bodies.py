"""A thousand people for twenty seconds as walking bodies: time, size of the files, and how their feet stand.

People wander over a square of 50 m, turning and changing speed; everyone is there all the time, which is the
worst case for the files. No other tool makes such bodies, so there is no peer: the bars are a minute for the
bodies, 50 MB for the GLB and for the page, and 2 cm/s for standing feet. Exits with 1 if one is missed.

    python benchmarks/walking_bodies.py [PEOPLE [SECONDS]]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _ledger import record_limit

import marey
from marey.stage import walk
from marey.views import view

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.stage.playback import played

RATE = 25.0
MOST_SECONDS, MOST_BYTES, MOST_SLIDE = 60.0, 50e6, 0.02


def wandering(people: int, seconds: float, seed: int = 0) -> marey.Tracks:
    """People who walk about, each at a speed of their own."""
    rng = np.random.default_rng(seed)
    frames = round(seconds * RATE)
    heading = rng.uniform(0, 2 * np.pi, people) + np.cumsum(rng.normal(0, 0.05, (frames, people)), axis=0)
    speed = np.clip(rng.normal(1.34, 0.26, people), 0.3, 2.0)
    speed = speed * (0.75 + 0.25 * np.sin(np.arange(frames)[:, None] / RATE + rng.uniform(0, 6, people)))
    steps = speed[..., None] * np.stack([np.cos(heading), np.sin(heading)], axis=-1) / RATE
    return marey.Tracks(rng.uniform(-25, 25, (people, 2)) + np.cumsum(steps, axis=0), RATE)


def main(words: list[str]) -> int:
    people = int(words[0]) if words else 1000
    seconds = float(words[1]) if len(words) > 1 else 20.0
    walk(wandering(2, 2.0))  # builds the body, compiles
    tracks = wandering(people, seconds)
    started = time.perf_counter()
    crowd = walk(tracks)
    spent = time.perf_counter() - started
    slide, kept = crowd.foot_skate(), played(crowd).foot_skate()
    sizes, times = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("glb", "html"):
            path = Path(folder) / f"people.{ending}"
            started = time.perf_counter()
            if ending == "glb":
                crowd.save(path)
            else:
                view(crowd, path)
            times[ending], sizes[ending] = time.perf_counter() - started, path.stat().st_size
    print(f"{people} people, {seconds:g} s at {crowd.frame_rate:g} frames a second")
    print(f"bodies   {spent:6.1f} s   off their tracks by {100 * crowd.path_error:.1f} cm (mean)")
    print(
        f"feet     {100 * slide:6.2f} cm/s while they stand, {100 * kept:.2f} as the GLB plays them, "
        f"{100 * crowd.source_skate:.2f} in the clips"
    )
    for ending, size in sizes.items():
        each = size / people / seconds
        print(f"{ending:8} {size / 1e6:6.1f} MB  {each:.0f} bytes a person second, in {times[ending]:.1f} s")
    crowded = f"{people:,} walking bodies, {seconds:g} s"
    record_limit(crowded, spent, MOST_SECONDS)
    for ending, size in sizes.items():
        record_limit(f"{crowded}: {ending.upper()}", size / 1e6, MOST_BYTES / 1e6, unit="MB")
    record_limit(f"{crowded}: foot skate", 100 * max(slide, kept), 100 * MOST_SLIDE, unit="cm/s")
    met = spent < MOST_SECONDS and max(sizes.values()) < MOST_BYTES and max(slide, kept) < MOST_SLIDE
    said = "met" if met else "missed"
    print(f"bars: {MOST_SECONDS:g} s, {MOST_BYTES / 1e6:g} MB, {100 * MOST_SLIDE:g} cm/s: {said}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
