"""The four scenes of directed crowds (Courty 2013, section 7.2, figures 35 to 42), over random crowds.

The paper shows pictures and curves without numbers. Its message is checked: two people meet behind the others
(35), letters form (36), a field is followed better than by the other ways and without collisions (37, 41),
and a vortex in a crossing lets more people through (38 to 40, 42). Each scene is printed beside what else
one could do; with --figures the pictures are drawn, too.

    python reproduce/directed_crowds.py [--seeds 5] [--scenes letters,crossing] [--figures FOLDER]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _directed_baselines import (
    added_field,
    advection,
    field_as_wish,
    laplacian,
    slots_as_goals,
    straight_lines,
)

from marey.crowd.direct import DirectResult, direct, preset
from marey.crowd.direct.direct import _task
from marey.crowd.direct.solvers import published
from marey.crowd.direct.terms import OnGrid, States
from marey.crowd.evaluation.pedestrians import overlaps
from marey.crowd.tracks import Tracks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--scenes", default=",".join(SCENES))
    parser.add_argument("--figures", type=Path)
    given = parser.parse_args()
    for name in given.scenes.split(","):
        print(f"\n{name}", flush=True)
        for seed in range(given.seeds):
            began = time.process_time()
            found = direct(preset(name, seed), rng=seed)
            spent, report = time.process_time() - began, found.report
            again = found.model.run(found.controls)[0]
            print(
                f" {seed}: {report.method} from {report.start}, {report.iterations} iterations, "
                f"{spent:.1f} s; "
                f"control {report.control_rms:.2f}, of one person at most {report.control_rms_max:.2f} m/s²; "
                f"speed {report.speed_max:.2f} m/s; overlap {1000 * report.overlap_max_m:.0f} mm; "
                f"replayed to {np.abs(again - found.tracks.positions).max():.0e} m; "
                f"cost {'falls' if (np.diff(report.costs) <= 0).all() else 'rises at times'}",
                flush=True,
            )
            SCENES[name](found, seed)
            if given.figures is not None and seed == 0:
                given.figures.mkdir(parents=True, exist_ok=True)
                FIGURES[name](found, given.figures)


def rendezvous(found: DirectResult, seed: int) -> None:
    y, u = found.model.run(found.controls)
    place = np.linalg.norm(y[400, [5, 35]] - [[18.2, 3.4], [18.2, 2.6]], axis=1)
    speed = np.linalg.norm(u[400, [5, 35]], axis=1)
    each = np.sqrt((found.controls**2).sum(axis=2).mean(axis=0))
    share = np.delete(each, [5, 35]).mean() / each[[5, 35]].mean()
    print(
        f"    off {place.round(3)} m, still moving at {speed.round(2)} m/s; control of the two "
        f"{each[[5, 35]].round(2)} m/s², of the others {share:.0%} of that"
    )


def letters(found: DirectResult, seed: int) -> None:
    task, _ = _task(found.scenario)
    model, steps = found.model, len(found.controls)
    slots = np.zeros((model.count, 2))
    for term in task.terms:
        assert isinstance(term, States) and term.places is not None
        slots[term.who] = term.places[0]
    start = np.asarray(model.people.positions)
    lines = np.zeros((steps + 1, model.count, 2))
    bent = np.zeros_like(lines)
    for term in task.terms:
        lines[:, term.who] = straight_lines(start[term.who], slots[term.who], steps)
        bent[:, term.who] = laplacian(start[term.who], slots[term.who], steps)
    ways = {
        "free": np.asarray(found.free.positions), "directed": np.asarray(found.tracks.positions),
        "slots as goals": slots_as_goals(model, slots, steps), "straight lines": lines, "Laplacian": bent,
    }  # fmt: skip
    if seed == 0:
        for inner, name in ((0, "process 1"), (1, "process 2")):
            solution = published(task, 200, lambda *_: None, inner=inner, step=1e-3)
            ways[name] = model.run(solution.controls)[0]
    for name, y in ways.items():
        off = [np.sqrt(((y[-1][t.who] - t.places[0]) ** 2).sum(axis=1).mean()) for t in task.terms]
        print(f"    {name:15s} RMS {off[0]:.2f}, {off[1]:.2f} m; {collisions(model, y)}")


def transfer(found: DirectResult, seed: int) -> None:
    task, _ = _task(found.scenario)
    (term,) = task.terms
    assert isinstance(term, OnGrid)
    model, steps = found.model, len(found.controls)
    wanted = found.scenario.constraints.constraints[0].at  # type: ignore[attr-defined]
    ways = {
        "free": np.asarray(found.free.positions), "directed": np.asarray(found.tracks.positions),
        "added field": added_field(model, wanted, steps), "advection": advection(model, wanted, steps),
        "field as wish": field_as_wish(model, wanted, steps),
    }  # fmt: skip
    for name, y in ways.items():
        u = np.concatenate([np.zeros((1, model.count, 2)), np.diff(y, axis=0) / model.dt])
        print(
            f"    {name:15s} NRMS {term.error(y, u):.3f}, of covered cells "
            f"{term.error(y, u, covered=True):.3f}; {collisions(model, y)}"
        )


def crossing(found: DirectResult, seed: int) -> None:
    task, _ = _task(found.scenario)
    (term,) = task.terms
    assert isinstance(term, OnGrid)
    only = found.report.constraints[0]
    runs = {"free": np.asarray(found.free.positions), "directed": np.asarray(found.tracks.positions)}
    for name, y in runs.items():
        u = np.concatenate([np.zeros((1, *y.shape[1:])), np.diff(y, axis=0) / found.model.dt])
        signs, means = [], []
        for n in term.steps:
            values, covered = term.values(y[n], u[n])
            signs.append((values[covered > 0.5] > 0).mean())
            means.append(values.mean())
        error = only["free"] if name == "free" else only["error"]
        print(
            f"    {name:9s} error {error:.3f} /s ({error / only['free'] - 1:+.0%}), "
            f"mean {np.mean(means):.2f} /s, counter-clockwise in {np.mean(signs):.0%} of covered cells; "
            f"{through(found, y):.0%} through"
        )
    print(f"    the start alone: error {only['start']:.3f} /s ({only['start'] / only['free'] - 1:+.0%})")


def through(found: DirectResult, y: np.ndarray) -> float:
    """Share of people 6 m past the centre along their own direction at the end."""
    assert found.scenario.directions is not None
    along = found.scenario.directions[np.asarray(found.scenario.people.goal)]
    return float((((y[-1] - 16.0) * along).sum(axis=1) > 6.0).mean())


def collisions(model, y: np.ndarray) -> str:
    seen = overlaps(Tracks(y, 1.0 / model.dt), model.people.radius, tolerance=1.0)
    pairs = round(seen.pairs * len(y))
    return f"{pairs} overlapping pairs, {1000 * seen.deepest:.0f} mm at most"


SCENES: dict[str, Callable[[DirectResult, int], None]] = {
    one.__name__: one for one in (rendezvous, letters, transfer, crossing)
}


def moments(found: DirectResult, times: list[float], path: Path, *, arrows: bool = False) -> None:
    """Free above, directed below, at several times; with the vorticity in colour where `arrows`."""
    from marey.views import style

    goals, radius = np.asarray(found.scenario.people.goal), found.model.people.radius
    both = np.concatenate([found.free.positions, found.tracks.positions])
    low, high = both.min(axis=(0, 1)) - 1, both.max(axis=(0, 1)) + 1
    if found.scenario.scene.obstacles:
        low, high = np.full(2, 4.0), np.full(2, 28.0)
    with style.figure((320 * len(times), 720)) as figure:
        from matplotlib.collections import EllipseCollection

        panels = figure.subplots(2, len(times), squeeze=False, sharex=True, sharey=True)
        for row, (name, tracks) in enumerate((("free", found.free), ("directed", found.tracks))):
            for axes, seconds in zip(panels[row], times, strict=True):
                y = np.asarray(tracks.positions[round(seconds * tracks.frame_rate)])
                tones = [style.PALETTE[int(k) % len(style.PALETTE)] for k in goals]
                axes.add_collection(
                    EllipseCollection(
                        2 * radius, 2 * radius, np.zeros(len(y)), offsets=y, units="xy",
                        facecolors=tones, offset_transform=axes.transData,
                    )
                )  # fmt: skip
                for wall in found.scenario.scene.obstacles:
                    axes.fill(*wall.T, color=style.SOFT_INK, alpha=0.55, linewidth=0)
                axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
                axes.set_title(f"{name}, {seconds:g} s")
        figure.savefig(path)


def curve(values: dict[str, np.ndarray], path: Path, label: str) -> None:
    from marey.views import style

    with style.figure((960, 540)) as figure:
        axes = figure.subplots()
        for name, one in values.items():
            axes.plot(one, label=name)
        axes.set(xlabel=label)
        axes.legend()
        figure.savefig(path)


def draw_transfer(found: DirectResult, folder: Path) -> None:
    """Figure 37: error over time of each way; figure 41: the crowd."""
    task, _ = _task(found.scenario)
    (term,) = task.terms
    model, steps = found.model, len(found.controls)
    wanted = found.scenario.constraints.constraints[0].at  # type: ignore[attr-defined]
    ways = {
        "free": np.asarray(found.free.positions), "directed": np.asarray(found.tracks.positions),
        "field added": added_field(model, wanted, steps), "advection": advection(model, wanted, steps),
    }  # fmt: skip
    curves = {}
    for name, y in ways.items():
        u = np.concatenate([np.zeros((1, model.count, 2)), np.diff(y, axis=0) / model.dt])
        off = [term.values(y[n], u[n])[0] - term.wanted[k] for k, n in enumerate(term.steps)]
        curves[name] = np.array(
            [np.linalg.norm(one) / np.linalg.norm(term.wanted[k]) for k, one in enumerate(off)]
        )
    curve(curves, folder / "figure-37.png", "time, half seconds")
    moments(found, [0.0, 5.0, 10.0], folder / "figure-41.png")


def draw_crossing(found: DirectResult, folder: Path) -> None:
    moments(found, [5.0, 10.0, 12.5, 16.5, 20.0, 30.0, 40.0], folder / "figures-39-to-42.png")


def draw_letters(found: DirectResult, folder: Path) -> None:
    moments(found, [8.0, 12.0, 16.0, 20.0, 24.0], folder / "figure-36.png")
    curve({"cost": np.array(found.report.costs)}, folder / "figure-36-cost.png", "iteration")


FIGURES: dict[str, Callable[[DirectResult, Path], None]] = {
    "rendezvous": lambda found, folder: moments(found, [0.0, 10.0, 20.0, 30.0], folder / "figure-35.png"),
    "letters": draw_letters,
    "transfer": draw_transfer,
    "crossing": draw_crossing,
}


if __name__ == "__main__":
    main()
