"""Key poses of a dance at new times (Boukhayma 2017, section 3.5.2 and figure 3.18).

The source's dancer CATY cannot be had. Ours: the CC0 human in the break dance 85_12 of CMU, 1,875 frames at
50 a second, with the source's own key frames and times; other CMU dances; locomotion; and the samba captured
by Vlasic et al. 2008, with keys at comparable places. Beside the times asked for: those of the source, those
of a depth-first search from key to key as it describes, and those of one dynamic programme through all keys,
with and without a tolerance. Random pairs of frames and durations come last: how many are met exactly.

    python reproduce/pose_time_editing.py [--data DIR] [--out DIR] [--quick]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import _cmu
import numpy as np
from _locomotion import locomotion
from _repertoires import measured, repertoire

import marey
from marey.errors import UnreachableError
from marey.io import mpfb
from marey.stage import skin
from marey.statistics.graphs.graph import MotionGraph, Walk, Windows, connectivity
from marey.statistics.graphs.walks import TimedWalk, walk_through
from marey.surface.sequence import Library
from marey.surface.synthesis.animate import animate
from marey.views import figures, style

ORIGINAL = (1480, 464, 21, 119, 275, 1212, 541, 864, 1762, 1459)
REQUESTED = (0, 250, 460, 510, 610, 890, 970, 1420, 1520, 1800)
ACHIEVED = (0, 258, 460, 514, 617, 886, 970, 1433, 1530, 1797)
THEIR_RATE, THEIR_FRAMES = 50.0, 1875
ALPHAS = (0.01, 0.05)
TOLERANCE = 0.1
QUERIES, LONGEST = 50, 9.0
# Edges that the search from key to key looks at from either end; the source does not say how many it did.
BUDGET = 100_000


def main() -> int:
    given = _cmu.arguments(__doc__)
    given.out.mkdir(parents=True, exist_ok=True)
    good = True
    for name, library in subjects(given.data, given.quick):
        good &= report(name, library, given.out, given.quick)
    print(
        "\nthe exact search is never later than the source's rule" if good else "\nNOT all times are as good"
    )
    return 0 if good else 1


def subjects(data: Path | None, quick: bool) -> Iterator[tuple[str, Library]]:
    skeletons = _cmu.folder(data)
    human = None if skeletons is None else skeletons.parent / "mesh4d" / "mpfb2_human_CC0"
    if skeletons is not None and human is not None and human.is_dir():
        clips = _cmu.all_clips(skeletons)
        body = mpfb.read(human)
        dances = (("break dance", ("85_12",)), ("dances", ("05_06", "143_34", "49_18", "90_32")))
        for name, takes in dances[: 1 if quick else None]:
            motions = [_cmu.clip(clips[take], cleaned=False) for take in takes if take in clips]
            if motions:
                yield name, skin(body, motions, vertices=3000, frame_rate=THEIR_RATE)
        samba = skeletons.parent / "mesh4d" / "vlasic_samba" / "samba_000_099_q16.npz"
        if samba.is_file():
            yield "samba, captured", Library((marey.load(samba),))
    else:
        print("the MPFB human or the CMU clips are not there: no dances (--data or MAREY_DATA)")
    if not quick or skeletons is None:
        yield "locomotion", locomotion(data=data)


def report(name: str, library: Library, out: Path, quick: bool) -> bool:
    """Print the tables of a subject; whether one programme is as good as the search from key to key."""
    windows, rate = Windows.at(library.frame_rate), library.frame_rate
    keys = placed_keys(library, windows)
    asked = [round(moment / THEIR_RATE * rate) for moment in REQUESTED]
    print(
        f"\n{name}: {library.frames} frames at {rate:g} a second, {len(library)} sequence(s); times in frames"
    )
    distances = measured(library, name.split(",")[0].replace(" ", "-"), out)
    row("key poses", keys)
    row("asked for", asked)
    errors = np.subtract(ACHIEVED, REQUESTED)
    row("theirs (CATY, 50 a s)", ACHIEVED, summary(errors, THEIR_RATE))
    good = True
    for alpha in ALPHAS:
        made = repertoire(library, distances, alpha)
        graph = made.graph
        print(f"  alpha {alpha:g}: {graph.edges} edges")
        loose = round(TOLERANCE * rate)
        ways: dict[str, Callable[[], TimedWalk]] = {
            "key to key": lambda graph=graph: pair_by_pair(graph, keys, asked),
            "all at once": lambda graph=graph: walk_through(graph, keys, asked),
            f"within {TOLERANCE:g} s": lambda graph=graph, t=loose: walk_through(
                graph, keys, asked, tolerance=t
            ),
        }
        found = {}
        for title, way in ways.items():
            began = time.process_time()
            found[title] = way()
            seconds = time.process_time() - began
            row(title, found[title].achieved, summary(found[title].errors, rate))
            print(f"{'':26}{quality(graph, found[title])}, {seconds:.2f} s of search")
        exact, greedy = found["all at once"], found["key to key"]
        good &= bool(np.abs(exact.errors).sum() <= np.abs(greedy.errors).sum())
        good &= found[f"within {TOLERANCE:g} s"].deformation <= exact.deformation + 1e-9
        queries(graph, rate)
        if name == "break dance" and alpha == ALPHAS[0] and not quick:
            poses = [(key, moment / rate) for key, moment in zip(keys, asked, strict=True)]
            played = animate(made, poses=poses, tolerance=TOLERANCE)
            style.save(figures.timeline(played), out / "pose_time_editing.png")
            print(f"{'':26}played: feet slide {played.report.foot_skate_ratio:.2f} times as fast as captured")
    return good


def placed_keys(library: Library, windows: Windows) -> list[int]:
    """The source's key frames, scaled to the length of the library, off the ends of their sequences."""
    keys = []
    for original in ORIGINAL:
        sequence, frame = library.locate(int(original * library.frames / THEIR_FRAMES))
        last = library.sequences[sequence].frames - windows.shortest
        keys.append(int(library.starts[sequence]) + int(np.clip(frame, windows.shortest, last)))
    return keys


def pair_by_pair(graph: MotionGraph, keys: list[int], asked: list[int]) -> TimedWalk:
    """The source's rule: from each key to the next by the walk that lasts nearest to what is left."""
    edges: list[int] = []
    achieved = [0]
    for source, target, moment in zip(keys, keys[1:], asked[1:], strict=False):
        walked = both_ways(graph, source, target, moment - achieved[-1])
        edges += walked
        achieved.append(achieved[-1] + int(graph.steps[walked].sum()))
    walk = Walk(keys[0], np.array(edges, np.int64))
    return TimedWalk(walk, np.array(achieved), np.array(asked), float(graph.deformation[walk.edges].sum()))


def both_ways(graph: MotionGraph, source: int, target: int, wanted: int) -> list[int]:
    """Depth first from both ends to the middle of the time: of the walks that meet, the nearest in time.

    Edges are tried by their duration, which is all that the source's cost knows; `BUDGET` bounds the search,
    and the fastest walk of all is the answer where no two meet.
    """
    best = fastest(graph, source, target)
    missed = abs(int(graph.steps[best].sum()) - wanted)
    half = wanted // 2
    begun = reached(graph.sources, graph.targets, graph.steps, source, half, graph.frames)
    ended = reached(graph.targets, graph.sources, graph.steps, target, wanted - half, graph.frames)
    meeting = None
    for frame, lasts in begun:
        for off in range(missed):
            for rest in (wanted - lasts - off, wanted - lasts + off):
                if (frame, rest) in ended:
                    meeting, missed = (frame, lasts, rest), off
                    break
            if off >= missed:
                break
    if meeting is None:
        return best
    frame, lasts, rest = meeting
    first, second = walked_to(begun, frame, lasts), walked_to(ended, frame, rest)
    return [*reversed(first), *second]


def reached(
    sources: np.ndarray, targets: np.ndarray, steps: np.ndarray, start: int, longest: int, frames: int
) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Frames and durations found from a start, each with the edge, frame and duration it was found from."""
    order = np.lexsort((steps, sources))
    first = np.searchsorted(sources[order], np.arange(frames + 1)).tolist()
    edges, ends, lasting = order.tolist(), targets[order].tolist(), steps[order].tolist()
    found = {(start, 0): (-1, start, 0)}
    stack = [(start, 0, first[start])]
    looked = 0
    while stack and looked < BUDGET:
        frame, lasts, place = stack.pop()
        if place == first[frame + 1]:
            continue
        stack.append((frame, lasts, place + 1))
        looked += 1
        then = lasts + lasting[place]
        if then <= longest:
            found.setdefault((ends[place], then), (edges[place], frame, lasts))
            stack.append((ends[place], then, first[ends[place]]))
    return found


def walked_to(found: dict[tuple[int, int], tuple[int, int, int]], frame: int, lasts: int) -> list[int]:
    """Edges of a partial walk, from its end back to where it was begun."""
    edges = []
    while lasts > 0:
        edge, frame, lasts = found[frame, lasts]
        edges.append(edge)
    return edges


def fewest_steps(graph: MotionGraph, target: int) -> np.ndarray:
    """From every frame to the target, `(frames,)`; infinite where there is no way."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    order = np.argsort(graph.steps, kind="stable")
    pairs = graph.sources[order].astype(np.int64) * graph.frames + graph.targets[order]
    chosen = order[np.unique(pairs, return_index=True)[1]]
    back = csr_matrix(
        (graph.steps[chosen], (graph.targets[chosen], graph.sources[chosen])), (graph.frames, graph.frames)
    )
    return np.asarray(dijkstra(back, indices=target))


def fastest(graph: MotionGraph, source: int, target: int) -> list[int]:
    """Edges of a walk that takes the fewest steps."""
    left = fewest_steps(graph, target)
    if not np.isfinite(left[source]):
        raise UnreachableError(f"no walk leads from frame {source} to frame {target}")
    edges: list[int] = []
    while source != target:
        leaving = graph.leaving(source)
        edge = int(leaving[np.argmin(graph.steps[leaving] + left[graph.targets[leaving]])])
        edges.append(edge)
        source = int(graph.targets[edge])
    return edges


def queries(graph: MotionGraph, rate: float) -> None:
    """Random frames of the core and durations from a second on: how often the time is met exactly."""
    core = connectivity(graph).core
    rng = np.random.default_rng(2017)
    met, too_short, times = 0, 0, []
    for _ in range(QUERIES):
        start, end = rng.choice(core, 2, replace=False)
        lasting = int(rng.integers(round(rate), round(LONGEST * rate)))
        too_short += bool(fewest_steps(graph, int(end))[start] > lasting)
        began = time.process_time()
        with suppress(UnreachableError):
            met += int(walk_through(graph, [int(start), int(end)], [0, lasting]).errors[-1] == 0)
        times.append(time.process_time() - began)
    print(
        f"  {'random pairs':24}{met} of {QUERIES} durations of 1 to {LONGEST:g} s met exactly, {too_short} "
        f"are shorter than the fastest walk; {1000 * np.median(times):.0f} ms of search each"
    )


def row(title: str, values: list[int] | tuple[int, ...] | np.ndarray, note: str = "") -> None:
    print(f"  {title:24}" + "".join(f"{value:6}" for value in values) + f"  {note}")


def summary(errors: np.ndarray, rate: float) -> str:
    size = np.abs(errors)
    return (
        f"off by {size.mean():.1f} on average ({size.mean() / rate:.3f} s), {size.max()} at most, "
        f"{(size == 0).sum()} of {len(size)} exact"
    )


def quality(graph: MotionGraph, found: TimedWalk) -> str:
    taken = graph.synthetic[found.walk.edges]
    blended = graph.steps[found.walk.edges][taken].sum() / max(found.walk.steps(graph), 1)
    return f"deformation {found.deformation:.2f} rad, {taken.sum()} transitions, {1 - blended:.0%} captured"


if __name__ == "__main__":
    sys.exit(main())
