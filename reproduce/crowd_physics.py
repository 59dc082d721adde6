"""What is known of crowds, asked of the simulation: doors, lanes, speed against density.

Faster is slower (Helbing, Farkas & Vicsek 2000, figure 1c: 200 people leave a room of 15 m through a door of
1 m soonest at about 1.5 m/s), arch and interruptions before that door, the source's door of 2 m with its
softer bodies (Courty 2013, section 6.3.2), lanes in counterflow, and speed against density beside the
experiments of Jülich (`crowd/juelich_unidirectional`, `crowd/juelich_bottleneck`, if at hand), each for the
dataset's constants, Helbing's and the calibrated ones (`crowd_calibration.py`).

    python reproduce/crowd_physics.py [--data FOLDER] [--out FOLDER] [--seeds 3]

Writes `crowd_physics.png` and `crowd_lanes.png`; five minutes or so on a quiet machine.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np
from _crowd_places import (
    CONTENDERS,
    CORRIDOR_RATE,
    EDGES,
    EXPERIMENTS,
    OPENING_RATE,
    WAITING,
    Contender,
    binned,
    corridor,
    corridor_experiments,
    crossing_times,
    door_room,
    frames,
    opening,
    opening_experiment,
    speed_and_density,
    steady_flow,
)

from marey.crowd.polygons import edges
from marey.crowd.simulation.engine import Simulator
from marey.crowd.simulation.pedestrians import Parameters, Pedestrians, random_pedestrians
from marey.crowd.simulation.routes import DirectionField
from marey.views import style

# Desired speed at which Helbing, Farkas & Vicsek 2000, figure 1c, leave soonest.
PUBLISHED = 1.5
SPEEDS = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
LONGEST, PEOPLE, STEP = 240.0, 200, 0.02
OUR_EXITS = ((0.5, 1.8, 61), (1.8, 1.8, 170), (1.8, 1.2, 170), (1.8, 0.9, 170))
LANES = (40.0, 8.0)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--data", type=Path, default=None)
    given.add_argument("--out", type=Path, default=Path())
    given.add_argument("--seeds", type=int, default=3)
    options = given.parse_args()
    began = perf_counter()
    diagram = fundamental_diagram(options.data)
    openings(options.data)
    leaving = faster_is_slower(options.seeds)
    gaps = interruptions(options.seeds)
    source_door()
    lanes = {name: lane_runs(name, who, options.seeds) for name, who in CONTENDERS.items()}
    options.out.mkdir(parents=True, exist_ok=True)
    style.save(picture(leaving, gaps, lanes, diagram), options.out / "crowd_physics.png")
    style.save(lanes_picture(lanes), options.out / "crowd_lanes.png")
    print(f"{perf_counter() - began:.0f} s in all")


def fundamental_diagram(data: Path | None) -> dict[str, np.ndarray]:
    """Density and speed `(samples, 2)` in 2 m of the corridor, of the experiments and of ours."""
    print("speed in m/s against density in a corridor of 1.8 m, and flow in people a second")
    series, flows = {}, {}
    for name, x in corridor_experiments(data).items():
        series[f"Jülich {name}"] = speed_and_density(x, CORRIDOR_RATE)
        flows[f"Jülich {name}"] = steady_flow(crossing_times(x[..., 0], CORRIDOR_RATE), EXPERIMENTS[name][2])
    for name, who in CONTENDERS.items():
        runs = {case: corridor(who, *case) for case in OUR_EXITS}
        series[name] = np.concatenate([speed_and_density(x, CORRIDOR_RATE) for x in runs.values()])
        for experiment, case in EXPERIMENTS.items():
            times = crossing_times(runs[case][..., 0], CORRIDOR_RATE)
            flows[f"{name}, as {experiment}"] = steady_flow(times, case[2])
    print("  people a m²           " + "".join(f"{a:4.1f}–{b:<4.1f}" for a, b in pairwise(EDGES)))
    for name, samples in series.items():
        print(f"  {name:22s}" + "".join(f"{v:7.2f}  " for v in binned(samples)))
    for name, flow in flows.items():
        print(f"  {name:28s} {flow:.2f} people a second" + ("" if flow else " (fewer than half get through)"))
    return series


def openings(data: Path | None) -> None:
    print("opening of 0.5 m, 75 people (Jülich 040_c_56_h-)")
    theirs = opening_experiment(data)
    if theirs is not None:
        times = crossing_times(-theirs[..., 1], OPENING_RATE)
        print(f"  {'experiment':10s} {steady_flow(times, WAITING):.2f} people a second")
    for name, who in CONTENDERS.items():
        times = crossing_times(-opening(who)[..., 1], OPENING_RATE)
        print(
            f"  {name:10s} {steady_flow(times, WAITING):.2f} people a second, {len(times)} within 2 minutes",
            flush=True,
        )


@dataclass(frozen=True)
class Escape:
    """When 200 people passed the door, in seconds, and how much denser its half-ring is than the room."""

    times: np.ndarray
    ring: float

    @property
    def leaving(self) -> float:
        return float(self.times[-1]) if len(self.times) == PEOPLE else LONGEST

    @property
    def gaps(self) -> np.ndarray:
        """Times between two people in multiples of their mean, without the first and last tenth."""
        waits = np.diff(self.times[PEOPLE // 10 : PEOPLE - PEOPLE // 10])
        return waits / waits.mean() if len(waits) > 20 else np.zeros(0)


def escapes(everybody: list[Pedestrians], law: Parameters, longest: float = LONGEST) -> list[Escape]:
    with ProcessPoolExecutor(2) as pool:
        times = len(everybody)
        return list(pool.map(escaped, everybody, [law] * times, [longest] * times))


def escaped(people: Pedestrians, law: Parameters, longest: float) -> Escape:
    crowd = door_room(people, law, room=15.0, width=1.0, thick=0.2, dt=STEP)
    passed: dict[int, float] = {}
    rings = []
    while crowd.time < longest and len(passed) < PEOPLE:
        crowd.step()
        x, ids = crowd.positions, crowd.people.ids
        for person in ids[x[:, 0] > 15.0].tolist():
            passed.setdefault(person, crowd.time)
        if crowd.steps % 25 == 0 and 20 <= len(passed) <= 120:
            inside = x[x[:, 0] < 15.0]
            away = np.hypot(inside[:, 0] - 15.0, inside[:, 1] - 7.5)
            ring = ((away > 1.0) & (away < 2.5)).sum() / (0.5 * np.pi * (2.5**2 - 1.0))
            rings.append(ring / (len(inside) / 15.0**2))
    return Escape(np.sort(list(passed.values())), float(np.mean(rings)) if rings else np.nan)


def helbings_people(speed: float, seed: int) -> Pedestrians:
    rng = np.random.default_rng([seed, 7])
    people = random_pedestrians(PEOPLE, area=(0.5, 0.5, 14.5, 14.5), spacing=0.72, seed=seed)
    radius = rng.uniform(0.25, 0.35, PEOPLE)
    return replace(people, radius=radius, mass=80.0, response_time=0.5, desired_speed=speed)


def faster_is_slower(seeds: int) -> dict[float, list[float]]:
    """Seconds until all 200 have passed the door, by desired speed."""
    print("faster is slower: 200 people, door of 1 m, Helbing's constants")
    print("  desired m/s   leaving, s (seeds)       median   variation of gaps")
    leaving: dict[float, list[float]] = {}
    for speed in SPEEDS:
        everybody = [helbings_people(speed, seed) for seed in range(seeds)]
        runs = escapes(everybody, Parameters.helbing())
        leaving[speed] = [run.leaving for run in runs]
        gaps = np.concatenate([run.gaps for run in runs])
        shown = " ".join(f"{t:5.0f}" if t < LONGEST else f" >{LONGEST:.0f}" for t in leaving[speed])
        print(
            f"  {speed:11.2f}   {shown:24s} {np.median(leaving[speed]):6.0f}   {gaps.std():.2f}", flush=True
        )
    best = min(leaving, key=lambda speed: float(np.median(leaving[speed])))
    print(f"  soonest at {best:g} m/s (published: about {PUBLISHED:g})")
    return leaving


def interruptions(seeds: int) -> dict[str, np.ndarray]:
    """Times between two people through the door in multiples of their mean, all seeds together."""
    print("outflow through a door of 1 m: half-ring at 1 … 2.5 m over the room's density, gaps between two")
    print("                     people/s   half-ring   variation of gaps (seeds)   beyond 3 means")
    print("  by chance                                 1.00                         5.0 %")
    found = {}
    for name, who in CONTENDERS.items():
        for factor in (1.0, 4.0):
            everybody = [
                random_pedestrians(
                    PEOPLE, area=(0.5, 0.5, 14.5, 14.5), kind=who.kind, spacing=0.62,
                    speed_factor=factor, seed=seed,
                )
                for seed in range(seeds)
            ]  # fmt: skip
            runs = escapes(everybody, who.law, 120.0)
            gaps = np.concatenate([run.gaps for run in runs])
            found[f"{name} {factor:g}×"] = gaps
            rate = np.mean([(len(run.times) - 1) / np.ptp(run.times) for run in runs if len(run.times) > 1])
            each = " ".join(f"{run.gaps.std():.2f}" if len(run.gaps) else "  - " for run in runs)
            print(
                f"  {name + f' {factor:g}×':16s} {rate:9.2f} {np.mean([run.ring for run in runs]):11.1f}   "
                f"{gaps.std() if len(gaps) else np.nan:.2f} ({each})   "
                f"{100 * (gaps > 3).mean() if len(gaps) else np.nan:11.1f} %",
                flush=True,
            )
    return found


def source_door() -> None:
    print("the source's door: 2 m wide and thick, 150 people, the dataset's constants")
    print("  speed   people a second   by an independent computation")
    for factor, other, seconds in ((1.0, 1.0, 60.0), (4.0, 5.8, 20.0)):
        rates = []
        for seed in range(3):
            people = random_pedestrians(150, area=(1, 1, 14.5, 14.5), speed_factor=factor, seed=seed)
            crowd = door_room(people, Parameters(), room=15.5, width=2.0, thick=2.0, dt=STEP)
            passed = [150 - int((f.positions[:, 0] < 15.5).sum()) for f in frames(crowd, seconds, 5)]
            first = next((k for k, n in enumerate(passed) if n >= 5), 0)
            last = next((k for k, n in enumerate(passed) if n >= 130), len(passed) - 1)
            rates.append(5.0 * (passed[last] - passed[first]) / max(last - first, 1))
        print(f"  {factor:g}×      {np.mean(rates):.2f} ± {np.std(rates):.2f}       {other:.1f}", flush=True)


@dataclass(frozen=True)
class Lanes:
    """Counterflow of several seeds: order, that of shuffled directions `(seeds, times)`, the last state."""

    times: np.ndarray
    order: np.ndarray
    chance: np.ndarray
    positions: np.ndarray
    goal: np.ndarray


def lane_runs(name: str, who: Contender, seeds: int, *, count: int = 200, seconds: float = 60.0) -> Lanes:
    """People of two directions in a corridor of 40 × 8 m; who leaves it comes in again at the other end."""
    length, width = LANES
    walls = edges([[(-5, 0), (length + 5, 0)], [(-5, width), (length + 5, width)]], closed=False)
    fields = [DirectionField.constant(1, 0), DirectionField.constant(-1, 0)]
    orders, chances, speeds = [], [], []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 5])
        people = random_pedestrians(
            count, area=(0.5, 0.4, length - 0.5, width - 0.4), kind=who.kind, seed=seed
        )
        goal = rng.permutation(np.arange(count) % 2)
        crowd = Simulator(replace(people, goal=goal), walls, fields, who.law, threads=1)
        order, chance, speed = [], [], []
        for frame in frames(crowd, seconds, 2):
            brought_back(crowd, length)
            order.append(lane_order(frame.positions, goal))
            chance.append(lane_order(frame.positions, rng.permutation(goal)))
            speed.append(float((frame.velocities[:, 0] * np.where(goal == 0, 1, -1)).mean()))
        orders.append(order)
        chances.append(chance)
        speeds.append(np.mean(speed[-20:]) / people.desired_speed.mean())
    times = np.arange(len(orders[0])) / 2
    result = Lanes(times, np.array(orders), np.array(chances), crowd.people.positions, goal)
    late = result.order[:, -20:].mean(axis=1)
    print(
        f"lanes, {name:9s} order {result.order[:, :4].mean():.2f} at the start, {late.mean():.2f} at the end "
        f"({' '.join(f'{o:.2f}' for o in late)}), shuffled {result.chance[:, -20:].mean():.2f}; "
        f"they walk at {100 * np.mean(speeds):.0f} % of the desired speed",
        flush=True,
    )
    return result


def brought_back(crowd: Simulator, length: float) -> None:
    """Put those beyond the corridor's ends at its other end, same place across, where there is room."""
    x, radius = crowd.positions, crowd.people.radius
    for k in np.flatnonzero((x[:, 0] < 0) | (x[:, 0] > length)):
        place = x[k] + [length if x[k, 0] < 0 else -length, 0.0]
        apart = np.hypot(*(x - place).T)
        apart[k] = np.inf
        if (apart > 1.2 * (radius + radius[k])).all():
            x[k] = place


def lane_order(positions: np.ndarray, goal: np.ndarray) -> float:
    """Mean over people of the squared surplus of their own direction within 4 m along and 0.4 m across."""
    away = np.abs(positions[:, None] - positions[None])
    near = (away[..., 0] < 4.0) & (away[..., 1] < 0.4)
    alike = goal[:, None] == goal[None]
    own, other = (near & alike).sum(axis=1) - 1, (near & ~alike).sum(axis=1)
    several = own + other > 0
    return float((((own - other)[several] / (own + other)[several]) ** 2).mean())


def picture(leaving: dict, gaps: dict, lanes: dict[str, Lanes], diagram: dict):  # type: ignore[no-untyped-def]
    with style.figure((1500, 1000)) as figure:
        (first, second), (third, fourth) = figure.subplots(2, 2)
        for (name, samples), colour in zip(diagram.items(), style.PALETTE, strict=False):
            shift = np.random.default_rng(0).uniform(-0.1, 0.1, len(samples))
            first.plot(samples[:, 0] + shift, samples[:, 1], ".", ms=2, alpha=0.25, color=colour)
            mean = binned(samples)
            first.plot(0.5 * (EDGES[1:] + EDGES[:-1]), mean, "o-", color=colour, label=name)
        first.set(xlabel="people a m²", ylabel="m/s", title="corridor of 1.8 m", ylim=(0, 2))
        first.legend()
        speeds = list(leaving)
        second.plot(speeds, [np.median(leaving[s]) for s in speeds], "o-", label="ours, median")
        for speed in speeds:
            second.plot([speed] * len(leaving[speed]), leaving[speed], ".", color="0.6")
        second.axvline(PUBLISHED, ls="--", color="0.6", label="soonest in Helbing et al. 2000")
        second.set(xlabel="desired speed, m/s", ylabel="leaving time, s", ylim=(0, None))
        second.set_title("200 people, door of 1 m, Helbing's constants")
        second.legend()
        for name, values in gaps.items():
            if len(values):
                third.step(np.sort(values), 1.0 - np.arange(len(values)) / len(values), label=name)
        line = np.linspace(0, 6, 50)
        third.plot(line, np.exp(-line), "--", color="0.4", label="by chance")
        third.set(xlabel="gap / mean", ylabel="share of longer gaps", yscale="log", title="door of 1 m")
        third.set(ylim=(1e-3, 1), xlim=(0, 12))
        third.legend()
        for (name, runs), colour in zip(lanes.items(), style.PALETTE, strict=False):
            fourth.plot(runs.times, runs.order.T, color=colour, alpha=0.3)
            fourth.plot(runs.times, runs.order.mean(axis=0), color=colour, label=name)
            fourth.plot(runs.times, runs.chance.mean(axis=0), ":", color=colour)
        fourth.set(xlabel="s", ylabel="order (dotted: shuffled)", title="lanes in counterflow", ylim=(0, 1))
        fourth.legend()
    return figure


def lanes_picture(lanes: dict[str, Lanes]):  # type: ignore[no-untyped-def]
    with style.figure((1200, 900)) as figure:
        for axes, (name, runs) in zip(figure.subplots(len(lanes), 1), lanes.items(), strict=True):
            for goal, mark in ((0, ">"), (1, "<")):
                x, y = runs.positions[runs.goal == goal].T
                axes.plot(x, y, mark, color=style.PALETTE[goal], ms=7)
            axes.set(xlim=(0, LANES[0]), ylim=(0, LANES[1]), aspect="equal", title=name)
    return figure


if __name__ == "__main__":
    main()
