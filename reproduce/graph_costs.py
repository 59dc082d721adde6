"""What walks cost in the essential graph and in the motion graph (Boukhayma 2017, figures 3.2–3.10).

The source's subjects (an actor's locomotion TOMAS and DAN, a dancer JP) cannot be had; ours are those of
`transition_costs.py`. Same table: for six prices of time alpha, mean (deviation) of the least costs over all
pairs of frames in both graphs, and the gain; then densities, and the frames of time that the slope of the
means implies. As in the source, transitions have the least sum of distances, and time counts their frames;
the last row takes transitions of least weight and counts steps, as marey does. Scales of the costs differ
with the subject: the pattern is what to compare. The example of two sequences (figures 3.3–3.7) comes first.

    python reproduce/graph_costs.py [--data DIR] [--out DIR] [--quick]
"""

from __future__ import annotations

import time
from pathlib import Path

import _cmu
import numpy as np
from transition_costs import subjects

from marey.statistics.graphs.build import essential_edges, essential_graph, local_minima, motion_graph
from marey.statistics.graphs.graph import DistanceMatrix, Windows
from marey.statistics.graphs.transitions import table
from marey.statistics.graphs.walks import CostComparison, compare, least_costs, shortest_costs
from marey.views import style

ALPHAS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
# Mean and deviation in the motion graph, then in the essential graph.
THEIRS = {
    "TOMAS": (
        (2.0696, 0.6040, 2.0366, 0.5985), (2.3072, 0.6203, 2.2619, 0.6168), (2.5232, 0.6375, 2.4583, 0.6331),
        (2.9201, 0.6800, 2.8008, 0.6694), (3.8128, 0.8158, 3.4756, 0.7406), (5.4628, 1.2008, 4.5102, 0.7917),
    ),
    "DAN": (
        (1.5589, 0.4757, 1.5509, 0.4753), (1.7595, 0.4782, 1.7392, 0.4785), (1.9391, 0.4844, 1.9006, 0.4858),
        (2.2695, 0.5069, 2.1830, 0.5077), (3.0397, 0.6043, 2.7847, 0.5759), (4.5011, 0.8927, 3.8083, 0.6837),
    ),
    "JP": (
        (2.2705, 0.3990, 2.2272, 0.4002), (2.7922, 0.6676, 2.7184, 0.6619), (3.2526, 0.9098, 3.1367, 0.8999),
        (4.0316, 1.2635, 3.8090, 1.2454), (5.4115, 1.6108, 4.8709, 1.5476), (7.5315, 2.0157, 6.2073, 1.7041),
    ),
}  # fmt: skip
SHOWN = (0.05, 0.2)
GAIN = 0.15
ROUNDING = 1e-9


def main() -> int:
    given = _cmu.arguments(__doc__)
    given.out.mkdir(parents=True, exist_ok=True)
    good = toy()
    densities = {}
    for name, whom, (found, frame_rate) in subjects(given.data, given.quick):
        met, densities[name] = report(name, whom, found, frame_rate, given.out)
        good &= met
    draw_densities(densities, given.out / "graph_density.png")
    print("\nwhat the source found holds" if good else "\nNOT all that the source found holds")
    return 0 if good else 1


def toy() -> bool:
    """Two sequences of four frames that are played both ways, time at 1 a step."""
    across = np.array([[5, 4, 3, 5], [4, 2, 4, 5], [5, 4, 2, 4], [5, 3, 4, 5]], float)
    chain = np.where(np.abs(np.subtract.outer(range(4), range(4))) == 1, 1.0, np.inf)
    weights = np.block([[chain, across], [across.T, chain]])
    essential, minima = essential_edges(weights), local_minima(across)
    best = np.where(minima, across, np.inf)
    ours = least_costs(np.where(essential, weights, np.inf))
    theirs = least_costs(np.block([[chain, best], [best.T, chain]]))
    print("Figures 3.3–3.7, two sequences of four frames; ours, (theirs)")
    found = []
    for graph, edges, said in (
        ("motion graph", minima, "2-2 3-3"),
        ("essential graph", essential[:4, 4:], "1-3 2-2 3-3 4-2"),
    ):
        joined = " ".join(f"{a + 1}-{b + 1}" for a, b in np.argwhere(edges))
        print(f"  {graph:16} joins frames {joined} ({said})")
        found.append(joined == said)
    costs = [(theirs[0, 6], ours[0, 6]), (theirs[4, 3], ours[4, 3])]
    for way, cost, said in zip(("1,1 to 2,3", "2,1 to 1,4"), costs, ((4, 3), (5, 4)), strict=True):
        print(f"  from {way}: {cost[0]:g} and {cost[1]:g} ({said[0]} and {said[1]})")
        found.append(cost == said)
    return all(found)


def report(
    name: str, whom: str, distances: DistanceMatrix, frame_rate: float, out: Path
) -> tuple[bool, dict[str, list[float]]]:
    """Print one subject's table; whether it shows what the source's does, and both graphs' densities."""
    windows = Windows.at(frame_rate)
    print(
        f"\n{name}: {distances.frames} frames at {frame_rate:g} a second, windows of {windows.shortest} to "
        f"{windows.longest}; in brackets {whom} of the source"
    )
    began = time.perf_counter()
    found = table(distances, windows=windows, objective="sum", alpha=0.0)
    print(f"  {'alpha':>6} {'motion graph':>17} {'essential graph':>17} {'gain':>7}   theirs")
    rows: list[CostComparison] = []
    densities: dict[str, list[float]] = {"motion": [], "essential": []}
    for alpha, (motion_mean, motion_std, mean, std) in zip(ALPHAS, THEIRS[whom], strict=True):
        motion = motion_graph(found, alpha=alpha, duration="frames")
        essential = essential_graph(found, alpha=alpha, duration="frames")
        ours, baseline = shortest_costs(essential), shortest_costs(motion)
        rows.append(compare(ours, baseline))
        densities["motion"].append(motion.density)
        densities["essential"].append(essential.density)
        print(
            f"  {alpha:6g} {line(rows[-1])}   ({motion_mean:.4f} ({motion_std:.4f}), {mean:.4f} ({std:.4f}), "
            f"{100 * (1 - mean / motion_mean):.1f} %)"
        )
        if alpha in SHOWN:
            file = out / f"graph_costs_{name.split(',')[0].replace(' ', '_')}_{alpha:g}.png"
            style.save(path_costs(baseline, ours, alpha=alpha), file)
    weighed = table(distances, windows=windows, alpha=ALPHAS[-1])
    ours = shortest_costs(essential_graph(weighed))
    print(f"  {'ours':>6} {line(compare(ours, shortest_costs(motion_graph(weighed))))}")
    for kind, values in densities.items():
        print(f"  density, {kind} graph: " + " ".join(f"{100 * value:.2f} %" for value in values))
    slopes = np.diff([row.mean for row in rows]) / np.diff(ALPHAS)
    print("  frames of time between them: " + " ".join(f"{slope:.1f}" for slope in slopes))
    checks = {
        "no walk costs more in the essential graph": max(row.excess for row in rows) < ROUNDING,
        "the gain grows with alpha": bool((np.diff([row.gain for row in rows]) > 0).all()),
        f"gain of {GAIN:.0%} or more at alpha 0.2": rows[-1].gain >= GAIN,
        "costs are concave in alpha": bool((np.diff(slopes) < 0).all()),
        "density grows with alpha": bool((np.diff(densities["essential"]) > 0).all()),
    }
    for claim, holds in checks.items():
        print(f"  {claim}: {'yes' if holds else 'NO'}")
    sparser = densities["essential"][0] < densities["motion"][0]
    print(f"  sparser than the motion graph at alpha 0.01, as theirs: {'yes' if sparser else 'no'}")
    print(f"  pairs joined: {100 * rows[0].share:.1f} % of all; {time.perf_counter() - began:.0f} s")
    return all(checks.values()), densities


def line(row: CostComparison) -> str:
    return (
        f"{row.baseline_mean:8.4f} ({row.baseline_deviation:.4f}) {row.mean:8.4f} ({row.deviation:.4f}) "
        f"{100 * row.gain:5.1f} %"
    )


def draw_densities(densities: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Figure 3.2: share of all edges against alpha."""
    with style.figure((1000, 560)) as figure:
        axes = figure.subplots()
        for colour, (name, values) in zip(style.PALETTE, densities.items(), strict=False):
            axes.plot(ALPHAS, values["essential"], "o-", color=colour, label=f"{name}: essential graph")
            axes.plot(ALPHAS, values["motion"], "--", color=colour, label="motion graph")
        axes.set_xlabel("alpha")
        axes.set_ylabel("density")
        axes.set_ylim(bottom=0)
        axes.legend()
        axes.set_title("The dearer time is, the more transitions are on some best way")
    style.save(figure, path)


def path_costs(
    motion: np.ndarray,
    essential: np.ndarray,
    *,
    alpha: float | None = None,
    size: tuple[int, int] = (1280, 720),
) -> object:
    """Costs of the cheapest ways between pairs of frames in two graphs, ordered by those in the first.

    Lines are means, dots some single pairs in the essential graph.

    motion, essential: costs in the motion graph and in the essential graph, same shape; infinite where there
        is no way
    """
    first, second = np.ravel(np.asarray(motion, float)), np.ravel(np.asarray(essential, float))
    if first.shape != second.shape:
        raise SystemExit(f"costs of {len(first)} and {len(second)} pairs cannot be compared")
    both = np.isfinite(first) & np.isfinite(second) & ((first > 0) | (second > 0))
    if not both.any():
        raise SystemExit("costs: no pair of frames is connected in both graphs")
    first, second = first[both], second[both]
    order = np.argsort(first, kind="stable")
    first, second = first[order], second[order]
    share = np.linspace(0, 100, len(first))
    some = np.unique(np.linspace(0, len(first) - 1, 600).astype(int))
    steps = [part for part in np.array_split(np.arange(len(first)), 40) if len(part)]
    middles = np.array([share[part].mean() for part in steps])
    means = [np.array([costs[part].mean() for part in steps]) for costs in (first, second)]
    with style.figure(size) as figure:
        axes = figure.subplots()
        axes.scatter(share[some], second[some], s=7, color=style.PALETTE[2], alpha=0.45, lw=0)
        axes.fill_between(middles, means[1], means[0], color=style.PALETTE[2], alpha=0.14, lw=0)
        axes.plot(middles, means[0], color=style.PALETTE[1], label="motion graph", lw=2.4)
        axes.plot(middles, means[1], color=style.PALETTE[2], label="essential graph", lw=2.4)
        axes.set_xlabel("pairs of frames, from the cheapest way to the dearest (%)")
        axes.set_ylabel("cost of the cheapest way")
        axes.margins(x=0)
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left")
        gain = 100 * (1 - second.mean() / first.mean())
        at = "" if alpha is None else f" at α = {alpha:g}"
        axes.set_title(
            f"Ways through both graphs{at}: {first.mean():.3f} and {second.mean():.3f} on average, "
            f"{gain:.1f} % less"
        )
    return figure


if __name__ == "__main__":
    raise SystemExit(main())
