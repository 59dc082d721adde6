"""Walks along a figure eight and a square: marey beside depth first search with branch and bound.

The peer is the search of Boukhayma 2017, section 3.5, over the same graph, ways and costs. Interpreted
it only tells its ways a second; compiled by numba, so that languages are not what is compared, it is given
some ten times our time and the frame ours begins with. It pairs places with the curve as ours does, or as the
source does, by the length travelled. Then live steering: how long one decision takes. Process CPU seconds,
least of runs. Exits with 1 where a bar is missed: in about a tenth of the peer's time, as printed, a walk to
the end that costs less, and is nearer to the curve than that of the published measure; a decision in 100 ms.

    python benchmarks/path_following.py [--real] [--data DIR] [--out DIR]

--real adds the CC0 human in CMU clips, whose pose distances take minutes at first and are kept in the folder.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _ledger import record
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reproduce"))

from _depth_first import Problem
from _locomotion import locomotion
from _repertoires import measured

import marey
from marey.geometry import planar
from marey.geometry.planar import figure_eight, square
from marey.statistics.graphs.graph import core_frames
from marey.statistics.graphs.path_search import BeamSearch, PathSearchSettings, SteeredWalk, follow
from marey.statistics.graphs.root_motion import CandidateEdges, prune_transitions
from marey.surface.synthesis.animate import Player, SurfaceGraph, graph
from marey.surface.synthesis.placement import edge_motion

VERTICES, ALPHA, SIZE = 2000, 0.02, 4.0
ACCURACY, WIDTH = 5.0, 500
CURVES = {"figure eight": figure_eight(SIZE), "square": square(SIZE)}
DECISIONS = 40
TIMES, BAR_MILLISECONDS = 10.0, 100.0
# Ways the peer tries to see how many it tries a second, interpreted and compiled.
PROBED = 5_000, 200_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--real", action="store_true", help="also the CC0 human in real clips")
    parser.add_argument("--data", type=Path, help="folder of real data, laid out as MAREY_DATA")
    parser.add_argument("--out", type=Path, default=Path("gallery"), help="folder for its pose distances")
    given = parser.parse_args()
    missed = subject("built-in human", graph(marey.samples.mesh_library(vertices=VERTICES), alpha=ALPHA))
    if given.real:
        library = locomotion(data=given.data)
        distances = measured(library, "locomotion", given.out)
        missed += subject("CC0 human", graph(library, alpha=ALPHA, distances=distances))
    print("\n".join(["missed:", *missed]) if missed else "every bar met")
    return 1 if missed else 0


def subject(name: str, made: SurfaceGraph) -> list[str]:
    """Measure a subject; the bars it misses."""
    player, prepared = timed(lambda: Player.prepare(made))
    motion, laid_out = timed(
        lambda: edge_motion(made, player.ground, edges=prune_transitions(made.graph, made.library))
    )
    ways, chosen = timed(lambda: CandidateEdges.of(made.graph, motion))
    print(f"{name}: {made.library.frames} frames, {made.graph.edges:,} edges, alpha {ALPHA:g}")
    print(f"  once: {prepared:.1f} s for the body, {laid_out + chosen:.1f} s for {len(ways.edges):,} ways")
    missed = []
    columns = {"seconds": 8, "ways": 13, "ways/s": 11, "cost": 9, "mean cm": 9, "worst cm": 10, "metres": 8}
    print(" " * 36 + "".join(f"{title:>{width}}" for title, width in columns.items()))
    for title, curve in CURVES.items():
        print(f"  {title}, {curve.length:.1f} m")
        missed += [f"{name}, {title}: {wrong}" for wrong in along(made, ways, curve)]
    return missed + [f"{name}: {wrong}" for wrong in steering(player)]


def along(made: SurfaceGraph, ways: CandidateEdges, curve: planar.Path) -> list[str]:
    """Ours and the peer along one curve; what ours is not better at."""
    settings = PathSearchSettings(accuracy=ACCURACY, width=WIDTH)
    found = follow(made.graph, ways.motion, curve, settings)
    runs = []
    for _ in range(3):
        beam = BeamSearch(ways, curve, settings)
        (walk, _), seconds = timed(lambda beam=beam: beam.run(*beam.starts(None)))
        runs.append(seconds)
    if not np.array_equal(walk.edges, found.walk.edges):
        raise SystemExit("the same search found another walk")
    ours, last = min(runs), len(curve.points) - 1
    cost = Problem.of(beam, found.walk.start, found.start, 0.0).cost(found.walk)
    problem = Problem.of(beam, found.walk.start, found.start, cost / last)
    ways_a_second = beam.tried / ours
    mean = row("marey", ours, beam.tried, cost, found.errors, curve.length)
    _, seconds = timed(lambda: problem.search(PROBED[0], compiled=False, by_length=False))
    print(f"    {'depth first, interpreted':32}{seconds:8.2f}{PROBED[0]:13,}{PROBED[0] / seconds:11,.0f}")
    print(f"      ours tries {ways_a_second * seconds / PROBED[0]:.3g} x as many ways a second")
    missed = []
    for title, by_length in (("depth first", False), ("depth first, by length", True)):
        problem.search(10, compiled=True, by_length=by_length)
        _, seconds = timed(lambda by=by_length: problem.search(PROBED[1], compiled=True, by_length=by))
        budget = int(TIMES * ours * PROBED[1] / seconds)
        answer, seconds = timed(lambda by=by_length, n=budget: problem.search(n, compiled=True, by_length=by))
        theirs, walk, come = answer
        errors = None
        if walk is not None:
            samples, errors = beam.measure(ways.motion.trajectory(made.graph, walk, found.start))
            come = samples[-1] * curve.spacing
            counted = problem.cost(walk)
            if not by_length and not math.isclose(theirs, counted, rel_tol=1e-6):
                raise SystemExit(f"the peer counts {theirs:.6f} for what costs {counted:.6f}")
            theirs = counted
        their_mean = row(f"{title}, compiled", seconds, budget, theirs, errors, come)
        better = cost < theirs and (mean < their_mean or not by_length)
        print(f"      ours tries {ways_a_second * seconds / budget:.3g} x as many ways a second; better in "
              f"{ours / seconds:.2f} of its time: {'yes' if better else 'NO'}")  # fmt: skip
        work = f"a path of {curve.length:.1f} m, cost of the walk found"
        record(work, cost, theirs, peer=f"{title}, {seconds / ours:.0f} × the time", unit="cost", bar=1.0)
        if not better:
            missed.append(f"{title} is better: cost {theirs:.2f}, mean {100 * their_mean:.1f} cm")
    return missed


def row(
    title: str, seconds: float, tried: int, cost: float, errors: NDArray[np.float64] | None, come: float
) -> float:
    """Print what a search found, if it came to an end; the mean distance."""
    print(f"    {title:32}{seconds:8.2f}{tried:13,}{tried / seconds:11,.0f}", end="")
    if errors is None:
        print(f"   came no further than {come:.1f} m")
        return math.inf
    print(f"{cost:9.2f}{100 * errors.mean():9.1f}{100 * errors.max():10.1f}{come:8.1f}")
    return float(errors.mean())


def steering(player: Player) -> list[str]:
    """Milliseconds of decisions, sent somewhere else every few."""
    made = player.subject
    safe = core_frames(made.graph)
    motion = edge_motion(made, player.ground, edges=prune_transitions(made.graph, made.library, inside=safe))
    body = SteeredWalk(made.graph, motion, int(np.flatnonzero(safe)[0]))
    body.decide((0.0, 1.0))
    angles = np.repeat(np.random.default_rng(0).uniform(-np.pi, np.pi, DECISIONS // 4), 4)
    found = [timed(lambda a=angle: body.advance((np.sin(a), np.cos(a))))[1] for angle in angles]
    median = 1000 * float(np.median(found))
    print(
        f"  a steering decision: {median:.0f} ms (median of {len(found)}), worst {1000 * max(found):.0f} ms"
    )
    return [] if median <= BAR_MILLISECONDS else [f"a decision takes {median:.0f} ms"]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and its CPU seconds."""
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


if __name__ == "__main__":
    sys.exit(main())
