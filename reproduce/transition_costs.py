"""What warping and free windows save in a transition (Boukhayma 2017, figures 2.14-2.17).

The source's subjects (an actor's locomotion TOMAS and DAN, a dancer JP) cannot be had. Ours: the CC0 human
doing real walks, runs, turns and jumps; the samba captured by Vlasic et al. 2008; skeletons of CMU dances;
and the built-in human. Same table: standard transitions, time warping of the same windows, and the best
windows of all, for four slopes; costs are mean pose distances of a frame, in radians. The length of the
standard transition is not in the source: the shortest window, with others tried below. A window that leads
forward in its own sequence may play it as it was captured, at no cost; gains without such pairs come last.

    python reproduce/transition_costs.py [--data DIR] [--out DIR] [--quick]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import _cmu
import numpy as np
from _locomotion import locomotion

import marey
from marey.body.compare import geodesic
from marey.statistics.graphs.graph import DistanceMatrix, Windows
from marey.statistics.graphs.transitions import PairCosts, optimal, optimal_pairs, standard
from marey.surface.distances import distances as pose_distances
from marey.surface.sequence import Library
from marey.views import figures, style

# Means of the source for slopes 2, 3, 4, 5: standard (and its deviation), warped, warped with free windows.
SLOPES = (2, 3, 4, 5)
THEIRS = {
    "TOMAS": (0.2490, 0.0758, (0.2446, 0.2427, 0.2415, 0.2409), (0.1942, 0.1860, 0.1817, 0.1789)),
    "DAN": (0.2231, 0.0706, (0.2184, 0.2161, 0.2147, 0.2138), (0.1731, 0.1662, 0.1629, 0.1609)),
    "JP": (0.4855, 0.1626, (0.4827, 0.4817, 0.4813, 0.4812), (0.4043, 0.3941, 0.3893, 0.3865)),
}
FRAME_RATE = 24.0
TRIANGLES = 1000
PAIRS, QUICK_PAIRS = 20_000, 3_000


def main() -> int:
    given = _cmu.arguments(__doc__)
    pairs = QUICK_PAIRS if given.quick else PAIRS
    good = True
    for name, theirs, found in subjects(given.data, given.quick):
        good &= report(name, theirs, found, pairs, given.out)
    return 0 if good else 1


def subjects(data: Path | None, quick: bool) -> list[tuple[str, str, tuple[DistanceMatrix, float]]]:
    """Each subject's name, whom of the source it stands for, and its pose distances and frame rate."""
    found = []
    if not quick:
        library = locomotion(data=data)
        found.append(("locomotion of the CC0 human", "TOMAS", measured(library)))
    found.append(("locomotion of the built-in human", "DAN", measured(marey.samples.mesh_library())))
    skeletons = _cmu.folder(data)
    samba = None if skeletons is None else skeletons.parent / "mesh4d" / "vlasic_samba"
    if samba is not None and samba.is_dir():
        dance = marey.load(samba / "samba_000_099_q16.npz")
        found.append(("samba, captured", "JP", measured(Library((dance,)))))
    else:
        print("the captured samba is not there (--data or MAREY_DATA)")
    if skeletons is not None and (dances := cmu_dances(skeletons)):
        found.append(("dances of CMU, skeletons", "JP", dances))
    return found


def measured(library: Library) -> tuple[DistanceMatrix, float]:
    began = time.perf_counter()
    found = pose_distances(library, triangles=TRIANGLES)
    seconds = time.perf_counter() - began
    print(f"({library.frames} frames compared in {seconds:.1f} s)", file=sys.stderr)
    return found, library.frame_rate


def cmu_dances(folder: Path) -> tuple[DistanceMatrix, float] | None:
    reported = _cmu.descriptions(folder)
    clips = {name: path for name, path in _cmu.all_clips(folder).items() if "danc" in reported.get(name, "")}
    if not clips:
        return None
    motions = [
        _cmu.without_fingers(_cmu.clip(path, cleaned=False)).resample(FRAME_RATE) for path in clips.values()
    ]
    joints = motions[0].rotations.shape[1]
    weights = np.full(joints, 1.0 / joints)
    found = geodesic([motion.rotations for motion in motions], names=tuple(clips), weights=weights)
    return found, FRAME_RATE


def report(name: str, model: str, found: tuple[DistanceMatrix, float], count: int, out: Path) -> bool:
    distances, frame_rate = found
    windows = Windows.at(frame_rate)
    length = windows.shortest
    sources, destinations = sample(distances, length, count)
    print(
        f"\n{name}: {distances.frames} frames, {len(distances.names)} sequence(s), {frame_rate:g} a second, "
        f"windows {windows.shortest}…{windows.longest}, {len(sources)} pairs\n"
        f"{'':24}{'ours':^34}   {model + ' (theirs)':^26}\n"
        f"{'':24}{'mean':>9}{'std':>9}{'gain %':>9}{'frames':>7}   {'mean':>9}{'std':>8}{'gain %':>9}"
    )
    theirs = THEIRS[model]
    before = best(distances, sources, destinations, Windows(length, length, 1), "sum")
    line("standard", before, before, theirs[0], theirs[0], theirs[1])
    gains = {}
    for label, free, row in (("warped", False, 2), ("warped, free windows", True, 3)):
        for slope, their_mean in zip(SLOPES, theirs[row], strict=True):
            chosen = (
                Windows(windows.shortest, windows.longest, slope) if free else Windows(length, length, slope)
            )
            now = best(distances, sources, destinations, chosen, "mean" if free else "sum")
            line(f"{label}, {slope}", now, before, their_mean, theirs[0])
            gains[free, slope] = 1 - mean_cost(now).mean() / mean_cost(before).mean()
            if free and slope == 3:
                pictures(name, distances, (sources, destinations), before, now, windows, out)
                free_gain = gain_without_replay(distances, (sources, destinations), before, now)
    by_sum = best(distances, sources, destinations, windows, "sum")
    line("least sum, 3", by_sum, before)
    sweep(distances, windows, count)
    good = gains[True, 3] > 0.15 and gains[False, 3] < gains[True, 3]
    print(f"free windows gain {100 * gains[True, 3]:.1f} % at slope 3, {100 * free_gain:.1f} % without "
          f"replay (source: 18.8 to 25.5 %; bar 15 %): {'met' if good else 'MISSED'}")  # fmt: skip
    return good


def sample(distances: DistanceMatrix, length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different frames with room for windows of `length` frames, at random."""
    starts = distances.starts
    sizes = np.diff(starts)
    local = np.arange(distances.frames) - np.repeat(starts[:-1], sizes)
    leaving = np.flatnonzero(np.repeat(sizes, sizes) - local >= length)
    arriving = np.flatnonzero(local >= length - 1)
    rng = np.random.default_rng(2017)
    pairs = rng.choice(leaving, count), rng.choice(arriving, count)
    apart = pairs[0] != pairs[1]
    return pairs[0][apart], pairs[1][apart]


def best(
    distances: DistanceMatrix, sources: np.ndarray, destinations: np.ndarray, windows: Windows, objective: str
) -> PairCosts:
    return optimal_pairs(distances, sources, destinations, windows=windows, objective=objective)  # type: ignore[arg-type]


def mean_cost(found: PairCosts) -> np.ndarray:
    return found.costs / found.lengths


def line(
    label: str, found: PairCosts, before: PairCosts, theirs: float | None = None, their_first: float = 1.0,
    their_deviation: float | None = None,
) -> None:  # fmt: skip
    costs, first = mean_cost(found), mean_cost(before).mean()
    gain = 100 * (1 - costs.mean() / first)
    text = f"{label:24}{costs.mean():9.4f}{costs.std():9.4f}{gain:9.1f}{found.lengths.mean():7.1f}"
    if theirs is not None:
        deviation = "" if their_deviation is None else f"{their_deviation:.4f}"
        text += f"   {theirs:9.4f}{deviation:>8}{100 * (1 - theirs / their_first):9.1f}"
    print(text)


def sweep(distances: DistanceMatrix, windows: Windows, count: int) -> None:
    """Gains at slope 3 for other lengths of the standard transition, which the source does not state."""
    seconds = windows.shortest
    print(f"{'standard of frames':24}{'mean':>9}{'warped %':>10}{'free %':>9}")
    for length in range(seconds, windows.longest + 1, max(1, (windows.longest - seconds) // 5)):
        pairs = (
            sample(distances, length, count // 4) if (np.diff(distances.starts) >= length).any() else ((), ())
        )
        if len(pairs[0]) == 0:
            break
        before, now, free = (
            mean_cost(best(distances, *pairs, chosen, objective)).mean()
            for chosen, objective in (
                (Windows(length, length, 1), "sum"), (Windows(length, length), "sum"), (windows, "mean"),
            )
        )  # fmt: skip
        print(f"{length:<24}{before:9.4f}{100 * (1 - now / before):10.1f}{100 * (1 - free / before):9.1f}")


def cannot_replay(distances: DistanceMatrix, pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Pairs of different sequences, and those that lead back in time."""
    first, last = (np.searchsorted(distances.starts, frames, side="right") for frames in pairs)
    return (first != last) | (pairs[1] < pairs[0])


def gain_without_replay(
    distances: DistanceMatrix, pairs: tuple[np.ndarray, np.ndarray], before: PairCosts, now: PairCosts
) -> float:
    apart = cannot_replay(distances, pairs)
    return float(1 - mean_cost(now)[apart].mean() / mean_cost(before)[apart].mean())


def pictures(
    name: str, distances: DistanceMatrix, pairs: tuple[np.ndarray, np.ndarray], before: PairCosts,
    now: PairCosts, windows: Windows, out: Path,
) -> None:  # fmt: skip
    """Costs and durations of some pairs, and one transition both ways, as in the source's figures."""
    out.mkdir(parents=True, exist_ok=True)
    stem = out / ("transitions_" + name.split(",")[0].replace(" ", "_"))
    some = np.argsort(mean_cost(before)[:200], kind="stable")
    with style.figure((1280, 720)) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True)
        for axes, values, label in (
            (upper, mean_cost, "pose distance a frame"),
            (lower, lambda found: found.lengths, "frames"),
        ):
            axes.plot(values(before)[:200][some], color=style.PALETTE[1], label="standard")
            axes.plot(values(now)[:200][some], ".", color=style.PALETTE[2], label="warped, free windows")
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
        upper.legend(loc="upper left")
        upper.set_title(f"200 transitions, {name}")
        lower.set_xlabel("pairs of frames, by what the standard transition costs")
    style.save(figure, stem.with_name(stem.name + "_costs.png"))
    gained = mean_cost(before) - mean_cost(now)
    most = int(np.argmax(np.where(cannot_replay(distances, pairs), gained, -np.inf)))
    frames = int(pairs[0][most]), int(pairs[1][most])
    found = optimal(distances, *frames, windows=windows, objective="mean")
    style.save(figures.warp_path(distances, found), stem.with_name(stem.name + "_path.png"))
    in_step = standard(distances, *frames, windows.shortest)
    print(f"{'':24}most gained: frame {frames[0]} to {frames[1]}, {in_step.cost / in_step.length:.3f} "
          f"in step, {found.cost / found.length:.3f} over {found.length} frames")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
