"""The four scenes of directed crowds (Courty 2013, section 7.2, figures 35 to 42), over random crowds.

The paper shows pictures and curves without numbers; its message is checked: two people meet behind the
others, letters are formed, a field is followed without collisions, and a vortex in a crossing lets more
people through.

    python reproduce/directed_crowds.py [--seeds 5] [--scenes letters,crossing]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from marey.crowd.direct import DirectResult, direct, preset
from marey.crowd.tracks import Tracks

ITERATIONS = {"rendezvous": 400, "letters": 400, "transfer": 120, "crossing": 60}
METHOD = {"crossing": "shooting", "transfer": "shooting"}


def through(found: DirectResult, tracks: Tracks) -> float:
    """Share of people 6 m past the centre along their own direction after 40 s."""
    assert found.scenario.directions is not None
    along = found.scenario.directions[np.asarray(found.scenario.people.goal)]
    past = ((np.asarray(tracks.positions[-1]) - 16.0) * along).sum(axis=1)
    return float((past > 6.0).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--scenes", default=",".join(ITERATIONS))
    given = parser.parse_args()
    print(
        "| scene, seed | start, method, iterations | error | free | start | overlap, mm | control | CPU, s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in given.scenes.split(","):
        for seed in range(given.seeds):
            began = time.process_time()
            method = METHOD.get(name, "auto")
            found = direct(preset(name, seed), method=method, iterations=ITERATIONS[name], rng=seed)
            report = found.report
            errors = (
                " · ".join(str(one[key]) for one in report.constraints) for key in ("error", "free", "start")
            )
            row = [f"{name} {seed}", f"{report.start}, {report.method}, {report.iterations}", *errors]
            row += [f"{1000 * report.overlap_max_m:.0f}", f"{report.control_rms:.2f}"]
            print("| " + " | ".join([*row, f"{time.process_time() - began:.0f}"]) + " |", flush=True)
            if name == "crossing":
                shares = (f"{through(found, tracks):.0%}" for tracks in (found.tracks, found.free))
                print("|  | through at 40 s | " + " | ".join(shares) + " | | | | |", flush=True)


if __name__ == "__main__":
    main()
