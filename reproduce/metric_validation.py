"""Which pose distance of meshes agrees best with the skeleton beneath? (Boukhayma 2017, figures 2.5-2.7.)

The source takes three actors of a capture with skeletons that is not to be had. Ours wear real CMU clips: the
clip's joint angles are the ground truth, the skinned meshes are compared without knowing of them.

    python reproduce/metric_validation.py [--data DIR] [--out DIR] [--quick]

Without the data the built-in human does the built-in motions, as a single actor.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import _cmu
import numpy as np
from _euler_distances import euler_angles

import marey
from marey.body.compare import geodesic
from marey.character import Character
from marey.io import mpfb
from marey.stage.skin_clip import skin_clip
from marey.statistics.graphs.graph import DistanceMatrix
from marey.statistics.matrix_comparison import (
    Correlogram,
    Mantel,
    condensed,
    correlogram,
    distance_correlation,
    mantel,
    pearson,
)
from marey.surface.decimation import Decimation, diverse_poses
from marey.surface.distances import METRICS, distances
from marey.surface.sequence import Library
from marey.views import style
from marey.views.figures.surface import COLOURS

# Figure 2.7: for each of three actors Pearson and distance correlation, Euclidean and surface.
THEIRS = {
    "actor 1": ((0.8078, 0.9222), (0.8031, 0.9222)),
    "actor 2": ((0.8749, 0.9189), (0.8686, 0.8977)),
    "actress 3": ((0.8804, 0.9075), (0.8582, 0.8989)),
}
# One subject's everyday motions, several subjects' sports and dances, and how others walk, run and jump.
CLIPS = {
    "everyday": ("143_01", "143_05", "143_13", "143_18", "143_20", "143_23", "143_24", "143_32", "143_34"),
    "sports": ("05_06", "49_06", "85_01", "88_06", "17_10", "02_04", "06_08", "11_01", "79_69"),
    "locomotion": (
        "02_01",
        "35_02",
        "37_01",
        "69_30",
        "91_62",
        "09_01",
        "127_17",
        "75_10",
        "105_42",
        "138_07",
    ),
}
FRAMES, VERTICES = 800, 2500
CLASSES = 10


@dataclass(frozen=True)
class Actor:
    """Meshes of one body, and the clips it wears."""

    name: str
    library: Library
    motions: tuple[marey.Motion, ...]


def main() -> None:
    given = _cmu.arguments(__doc__)
    permutations = 999 if given.quick else 10_000
    actors = cast(given.data)
    tests: dict[str, dict[str, Mantel]] = {"surface": {}, "euclidean": {}}
    classes: dict[str, dict[str, Correlogram]] = {"surface": {}, "euclidean": {}}
    figures: dict[str, dict[str, dict[str, tuple[float, float]]]] = {}
    others: dict[str, dict[str, tuple[float, float]]] = {}
    for actor in actors:
        start = time.perf_counter()
        truths, candidates = measured(actor)
        euler, pairs = truths["Euler angles"], actor.library.frames * (actor.library.frames - 1) // 2
        figures[actor.name] = {
            truth: {metric: both(candidates[metric].values, table.values) for metric in tests}
            for truth, table in truths.items()
        }
        for metric in tests:
            values = candidates[metric].values
            tests[metric][actor.name] = mantel(values, euler.values, permutations=permutations)
            classes[metric][actor.name] = correlogram(values, euler.values, classes=CLASSES)
        others[actor.name] = {
            "Euclidean, sum of squares": both(candidates["euclidean"].values ** 2, euler.values),
            "Euclidean without heights": both(candidates["planar"].values, euler.values),
            "... sum of squares": both(candidates["planar"].values ** 2, euler.values),
        }
        print(
            f"{actor.name}: {len(actor.library)} clips, {actor.library.frames} frames, {pairs:,} pairs, "
            f"{len(actor.library.faces):,} faces, {time.perf_counter() - start:.0f} s",
            file=sys.stderr,
        )
    print_table(figures)
    print_tests(tests, actors, permutations)
    print_weights(actors)
    print_others(others)
    given.out.mkdir(parents=True, exist_ok=True)
    style.save(permutation_histograms(tests), given.out / "surface-metric-chance.png")
    style.save(correlograms(classes), given.out / "surface-metric-classes.png")
    print(f"\npictures: {given.out}/surface-metric-chance.png, surface-metric-classes.png")


def cast(data: Path | None) -> list[Actor]:
    """The MPFB human and the built-in one in real clips, where these are at hand."""
    folder = _cmu.folder(data)
    human = None if folder is None else folder.parent / "mesh4d" / "mpfb2_human_CC0"
    clips = {} if folder is None else _cmu.all_clips(folder)
    wanted = [name for names in CLIPS.values() for name in names]
    if human is None or not human.is_dir() or any(name not in clips for name in wanted):
        print("the MPFB human or CMU clips are not there: the built-in human alone", file=sys.stderr)
        walks = tuple(marey.samples.walk(seconds=4, stature=1.75, speed=speed) for speed in (0.9, 1.3, 1.7))
        return [dressed("built-in", marey.samples.human(), walks)]
    bodies = {"everyday": mpfb.read(human), "sports": marey.samples.human(), "locomotion": mpfb.read(human)}
    found = []
    for name, body in bodies.items():
        motions = tuple(replace(_cmu.clip(clips[clip], cleaned=False), name=clip) for clip in CLIPS[name])
        found.append(dressed(name, body, motions))
    return found


def dressed(name: str, body: Character, motions: tuple[marey.Motion, ...]) -> Actor:
    """A body in all clips at a rate that gives about as many frames as are compared."""
    rate = min(FRAMES / sum(motion.frames / motion.frame_rate for motion in motions), 30.0)
    slow = tuple(motion.resample(rate) for motion in motions)
    skinned = [skin_clip(body, motion) for motion in slow]
    few = [one.pose(frames=slice(None, None, 12), dtype=np.float32) for one in skinned]
    poses = diverse_poses(Library(tuple(replace(sequence, frame_rate=1.0) for sequence in few)))
    skin = Decimation.of(body.skin, vertices=VERTICES, poses=poses).apply(body.skin)
    sequences = tuple(replace(one, skin=skin).pose(dtype=np.float32) for one in skinned)
    return Actor(name, Library(sequences), slow)


def measured(actor: Actor) -> tuple[dict[str, DistanceMatrix], dict[str, DistanceMatrix]]:
    """Distances of the recorded joint angles, and of the meshes."""
    turns = [_cmu.without_fingers(motion).rotations for motion in actor.motions]
    truths = {
        "Euler angles": euler_angles(turns, order="ZYX"),
        "geodesic": geodesic(turns),
    }
    return truths, {metric: distances(actor.library, metric=metric) for metric in METRICS}


def both(candidate: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    x, y = condensed(candidate), condensed(truth)
    return pearson(x, y), distance_correlation(x, y)


def print_table(figures: dict[str, dict[str, dict[str, tuple[float, float]]]]) -> None:
    print("\nCorrelation with the ground truth, Euclidean and surface metric (figure 2.7)\n")
    blocks = {"theirs, Euler angles": THEIRS}
    for truth in ("Euler angles", "geodesic"):
        ours = {name: (by[truth]["euclidean"], by[truth]["surface"]) for name, by in figures.items()}
        blocks[f"ours, {truth}"] = {name: ((e[0], s[0]), (e[1], s[1])) for name, (e, s) in ours.items()}
    for whose, actors in blocks.items():
        print(f"{whose:<22}" + "".join(f"{name:^22}" for name in actors))
        print(" " * 22 + f"{'Euclidean   surface':^22}" * len(actors))
        for row, label in enumerate(("Pearson", "distance correlation")):
            cells = (f"{values[row][0]:.4f}     {values[row][1]:.4f}" for values in actors.values())
            print(f"{label:<22}" + "".join(f"{cell:^22}" for cell in cells))
        print()
    worse = [
        f"{name} ({truth})"
        for name, by in figures.items()
        for truth, rows in by.items()
        if rows["surface"][0] <= rows["euclidean"][0]
    ]
    print("surface above Euclidean by Pearson: " + (f"not for {', '.join(worse)}" if worse else "everywhere"))


def print_weights(actors: list[Actor]) -> None:
    """Which joints make up the distance of Euler angles: that of the root has its heading taken away."""
    print("\nWhat the squared differences of Euler angles consist of (the others have less each)")
    for actor in actors:
        motions = [_cmu.without_fingers(motion) for motion in actor.motions]
        names = motions[0].skeleton.names
        squares = np.array(
            [
                (apart([motion.rotations[:, j : j + 1] for motion in motions], j) ** 2).mean()
                for j in range(len(names))
            ]
        )
        most = np.argsort(-squares)[:4]
        shares = ", ".join(f"{names[j]} {100 * squares[j] / squares.sum():.0f} %" for j in most)
        print(f"  {actor.name:<12}{shares}")


def apart(turns: list[np.ndarray], joint: int) -> np.ndarray:
    return euler_angles(turns, order="ZYX", root=0 if joint == 0 else None).values


def print_tests(tests: dict[str, dict[str, Mantel]], actors: list[Actor], permutations: int) -> None:
    print(
        f"\nMantel's test, {permutations} permutations of frames (theirs: p = 0 for both metrics, by pairs)"
    )
    for actor in actors:
        for metric, found in tests.items():
            test = found[actor.name]
            print(
                f"  {actor.name:<12}{metric:<11}r {test.correlation:.3f}   p {test.p:.1e}   "
                f"by chance {test.permuted.min():+.3f} to {test.permuted.max():+.3f}"
            )


def print_others(others: dict[str, dict[str, tuple[float, float]]]) -> None:
    print("\nOther readings of the Euclidean metric, against Euler angles (Pearson, distance correlation)")
    print(" " * 30 + "".join(f"{name:^18}" for name in others))
    for label in next(iter(others.values())):
        cells = (f"{rows[label][0]:.4f}  {rows[label][1]:.4f}" for rows in others.values())
        print(f"  {label:<28}" + "".join(f"{cell:^18}" for cell in cells))


def permutation_histograms(
    tests: dict[str, dict[str, Mantel]], *, size: tuple[int, int] = (1100, 620)
) -> object:
    """Correlations by chance in grey, the true one as a line: a row a metric, a column a subject.

    tests: for each metric the tests by subject
    """
    subjects = list(next(iter(tests.values())))
    lowest = min(float(t.permuted.min()) for found in tests.values() for t in found.values())
    bins = np.linspace(min(lowest, -0.1), 1.0, 90)
    with style.figure(size) as figure:
        grid = figure.subplots(len(tests), len(subjects), sharex=True, squeeze=False)
        for line, (metric, found) in zip(grid, tests.items(), strict=True):
            for axes, subject in zip(line, subjects, strict=True):
                test = found[subject]
                axes.hist(test.permuted, bins=list(bins), color=style.SOFT_INK, alpha=0.55, lw=0)
                colour = COLOURS.get(metric, style.PALETTE[4])
                axes.axvline(test.correlation, color=colour, lw=2.2)
                axes.text(
                    test.correlation - 0.02, 0.96, f"r = {test.correlation:.3f}\np = {test.p:.2g}",
                    transform=axes.get_xaxis_transform(), ha="right", va="top", color=colour, fontsize=9,
                )  # fmt: skip
                axes.set_yticks([])
                axes.spines["left"].set_visible(False)
                axes.grid(False)
                axes.set_title(f"{metric}, {subject}")
        grid[0, 0].set_xlim(bins[0], 1.0)
        for axes in grid[-1]:
            axes.set_xlabel("correlation with the ground truth")
    return figure


def correlograms(found: dict[str, dict[str, Correlogram]], *, size: tuple[int, int] = (1100, 620)) -> object:
    """Correlation in each class of distance and, below, how many pairs there are.

    found: for each metric the correlograms by subject, all with the same classes of the ground truth
    """
    subjects = list(next(iter(found.values())))
    with style.figure(size) as figure:
        grid = figure.subplots(
            2, len(subjects), sharex="col", sharey="row", squeeze=False, height_ratios=(3.2, 1)
        )
        for column, subject in enumerate(subjects):
            above, below = grid[:, column]
            for metric, series in found.items():
                one = series[subject]
                middles = 0.5 * (one.edges[:-1] + one.edges[1:])
                colour = COLOURS.get(metric, style.PALETTE[4])
                above.plot(middles, one.correlations, color=colour, marker="o", ms=4, label=metric)
            above.axhline(0, color=style.SOFT_INK, lw=0.8)
            above.set_title(subject)
            below.bar(
                one.edges[:-1], one.counts / 1000, width=np.diff(one.edges), align="edge",
                color=style.FAINT, edgecolor=style.PAPER, lw=0.8,
            )  # fmt: skip
            below.set_xlabel("distance in the ground truth")
        grid[0, 0].set_ylabel("correlation within the class")
        grid[1, 0].set_ylabel("pairs (1000s)")
        grid[0, -1].legend(loc="upper right")
    return figure


if __name__ == "__main__":
    main()
