"""What is known of crowds, asked of the simulation: doors, lanes, speed against density.

Faster is slower (Helbing, Farkas & Vicsek 2000, figure 1c: 200 people leave a room of 15 m through a door of
1 m soonest at about 1.5 m/s), the arch before the door, the source's door of 2 m with its softer bodies
(Courty 2013, section 6.3.2), lanes in counterflow, and the fundamental diagram beside the corridor
experiments of Jülich (`crowd/juelich_unidirectional`, if at hand).

    python reproduce/crowd_physics.py [--data FOLDER] [--out FOLDER] [--seeds 2]

Writes `crowd_physics.png` and takes some minutes.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from marey.crowd.simulation import (
    DirectionField,
    Entrance,
    Parameters,
    People,
    Simulator,
    random_people,
    segments_of,
)
from marey.views import plots, style

# Desired speed at which Helbing, Farkas & Vicsek 2000, figure 1c, leave soonest.
PUBLISHED = 1.5
SPEEDS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
LONGEST = 400.0
CORRIDOR = (1.8, 8.0)
EXPERIMENTS = {"uo-050-180-180": (0.5, 1.8, 61), "uo-180-180-120": (1.8, 1.2, 170)}
OUR_EXITS = ((0.5, 1.8, 61), (1.8, 1.8, 170), (1.8, 1.2, 170), (1.8, 0.9, 170))


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--data", type=Path, default=None)
    given.add_argument("--out", type=Path, default=Path())
    given.add_argument("--seeds", type=int, default=2)
    options = given.parse_args()
    leaving = faster_is_slower(options.seeds)
    source_door()
    order = lanes()
    diagram = fundamental_diagram(options.data)
    options.out.mkdir(parents=True, exist_ok=True)
    plots.save(picture(leaving, order, diagram), options.out / "crowd_physics.png")


def door_room(
    people: People, law: Parameters, *, room: float, width: float, thick: float, dt: float
) -> Simulator:
    """A square room with a door in the middle of its right side, and everybody on the way out."""
    half, low, high = room / 2, (room - width) / 2, (room + width) / 2
    end = room + thick
    walls = segments_of(
        [[(end + 6, low - 6), (end, low), (room, low), (room, 0), (0, 0), (0, room), (room, room),
          (room, high), (end, high), (end + 6, high + 6)]], closed=False,
    )  # fmt: skip
    margin = min(0.3, 0.3 * width)

    def formula(points: np.ndarray) -> np.ndarray:
        y = points[:, 1].clip(low + margin, high - margin)
        gate = np.column_stack([np.full(len(points), room + 0.5 * thick), y])
        out = np.column_stack([np.full(len(points), end + 20.0), np.full(len(points), half)])
        return np.where((points[:, 0] < room)[:, None], gate, out) - points

    field = DirectionField.from_formula(formula, (0, 0), (end + 6, room), spacing=0.1)
    return Simulator(people, walls, [field], law, goals=[(end + 3, 0, end + 6, room)], dt=dt)


def faster_is_slower(seeds: int) -> dict[float, list[float]]:
    """Seconds until all 200 have passed the door, by desired speed."""
    print("faster is slower: 200 people, door of 1 m, Helbing's constants")
    print(
        "  desired m/s   leaving s (seeds)              median   Helbing et al. (read off)   arch   long gaps"
    )
    leaving: dict[float, list[float]] = {}
    for speed in SPEEDS:
        times, arches, gaps = [], [], []
        for seed in range(seeds):
            spent, arch, waits = evacuated(speed, seed)
            times.append(spent)
            arches.append(arch)
            gaps.append(waits)
        leaving[speed] = times
        shown = " ".join(f"{t:5.0f}" if t < LONGEST else f">{LONGEST:.0f}" for t in times)
        print(
            f"  {speed:11.2f}   {shown:30s} {np.median(times):8.0f}"
            f"   {np.mean(arches):4.1f}   {100 * np.mean(gaps):7.0f} %",
            flush=True,
        )
    best = min(leaving, key=lambda speed: float(np.median(leaving[speed])))
    print(f"  soonest at {best:g} m/s (published: about {PUBLISHED:g})")
    print("  arch: density within 1 … 2.5 m of the door over that of the room; long gaps: share of waits")
    print("  beyond three times the mean, 5 % if people left at random")
    return leaving


def evacuated(speed: float, seed: int) -> tuple[float, float, float]:
    rng = np.random.default_rng([seed, 7])
    people = random_people(200, area=(0.5, 0.5, 14.5, 14.5), spacing=0.72, seed=seed)
    people = replace(
        people, radius=rng.uniform(0.25, 0.35, 200), mass=80.0, response_time=0.5, desired_speed=speed
    )
    crowd = door_room(people, Parameters.helbing(), room=15.0, width=1.0, thick=0.2, dt=0.02)
    passed: list[float] = []
    arches = []
    while crowd.time < LONGEST:
        crowd.step(5)
        x = crowd.people.positions
        inside = x[:, 0] < 15.0
        passed += [crowd.time] * (200 - int(inside.sum()) - len(passed))
        if len(passed) == 200:
            break
        if 20 <= len(passed) <= 120:
            away = np.hypot(x[inside, 0] - 15.0, x[inside, 1] - 7.5)
            ring = ((away > 1.0) & (away < 2.5)).sum() / (0.5 * np.pi * (2.5**2 - 1.0))
            arches.append(ring / (inside.sum() / 225.0))
    spent = passed[-1] if len(passed) == 200 else LONGEST
    waits = np.diff(passed[10:190])
    long = float((waits > 3 * waits.mean()).mean()) if len(waits) > 20 else np.nan
    return spent, float(np.mean(arches)) if arches else np.nan, long


def source_door() -> None:
    print("the source's door: 2 m wide and thick, 150 people, the dataset's constants")
    print("  speed   people a second   by an independent computation")
    for factor, other, seconds in ((1.0, 1.0, 60.0), (4.0, 5.8, 20.0)):
        rates = []
        for seed in range(3):
            people = random_people(150, area=(1, 1, 14.5, 14.5), speed_factor=factor, seed=seed)
            crowd = door_room(people, Parameters(), room=15.5, width=2.0, thick=2.0, dt=0.02)
            passed = [150 - int((f.positions[:, 0] < 15.5).sum()) for f in crowd.frames(seconds, 5)]
            first = next((k for k, n in enumerate(passed) if n >= 5), 0)
            last = next((k for k, n in enumerate(passed) if n >= 130), len(passed) - 1)
            rates.append(5.0 * (passed[last] - passed[first]) / max(last - first, 1))
        print(f"  {factor:g}×      {np.mean(rates):.2f} ± {np.std(rates):.2f}       {other:.1f}", flush=True)


def lanes() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Order of counterflow over time: 0 mixed, 1 all one's neighbours ahead and behind go one's way."""
    print("lanes in counterflow: corridor of 6 m, 40 m seen")
    length, width, seconds = 60.0, 6.0, 60.0
    walls = segments_of([[(-2, 0), (length + 2, 0)], [(-2, width), (length + 2, width)]], closed=False)
    fields = [DirectionField.constant(1, 0), DirectionField.constant(-1, 0)]
    result = {}
    for name, law in (("dataset", Parameters()), ("Helbing", Parameters.helbing())):
        everybody = random_people(150, area=(0.5, 0.4, length - 0.5, width - 0.4), seed=1)
        people = replace(everybody, goal=np.random.default_rng(0).integers(0, 2, 150))
        crowd = Simulator(
            people, walls, fields, law,
            goals=[(length, 0, length + 3, width), (-3, 0, 0, width)],
            entrances=[
                Entrance((0.3, 0.4, 3, 5.6), 1.5),
                Entrance((length - 3, 0.4, length - 0.3, 5.6), 1.5, goal=1),
            ],
        )  # fmt: skip
        times, order, chance, speed = [], [], [], []
        rng = np.random.default_rng(5)
        for frame in crowd.frames(seconds, 2):
            x, goal = frame.positions, crowd.bodies.goal
            times.append(frame.time)
            order.append(lane_order(x, goal, length))
            chance.append(lane_order(x, rng.permutation(goal), length))
            speed.append(float((frame.velocities[:, 0] * np.where(goal == 0, 1, -1)).mean()))
        result[name] = (np.array(times), np.array(order))
        early, late = np.mean(order[:4]), np.mean(order[-20:])
        print(
            f"  {name:8s} order {early:.2f} at the start, {late:.2f} after {seconds - 10:.0f} s "
            f"(directions shuffled: {np.mean(chance[-20:]):.2f}); "
            f"speed {np.mean(speed[4:12]):.2f} → {np.mean(speed[-20:]):.2f} m/s",
            flush=True,
        )
    return result


def lane_order(positions: np.ndarray, goal: np.ndarray, length: float) -> float:
    """Mean over people of the squared surplus of their own direction within 4 m along and 0.4 m across."""
    seen = (positions[:, 0] > 10) & (positions[:, 0] < length - 10)
    away = np.abs(positions[seen, None] - positions[None])
    near = (away[..., 0] < 4.0) & (away[..., 1] < 0.4)
    alike = goal[seen, None] == goal[None]
    own, other = (near & alike).sum(axis=1) - 1, (near & ~alike).sum(axis=1)
    several = own + other > 0
    return float((((own - other)[several] / (own + other)[several]) ** 2).mean())


def fundamental_diagram(data: Path | None) -> dict[str, np.ndarray]:
    """Density and speed `(samples, 2)` in 2 m of the corridor, of the experiments and of ours."""
    print("speed against density in a corridor of 1.8 m")
    series = {f"Jülich {name}": measured(x, 16.0) for name, x in experiments(data).items()}
    for name, law in (("dataset", Parameters()), ("Helbing", Parameters.helbing())):
        series[name] = np.concatenate([simulated(law, *case) for case in OUR_EXITS])
    edges = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
    print("  people a m²       " + "".join(f"{a:4.1f}–{b:<4.1f}" for a, b in pairwise(edges)))
    for name, samples in series.items():
        kept = [samples[(samples[:, 0] >= a) & (samples[:, 0] < b), 1] for a, b in pairwise(edges)]
        print(f"  {name:22s}" + "".join(f"{v.mean():7.2f}  " if len(v) > 4 else "      -  " for v in kept))
    return series


def experiments(data: Path | None) -> dict[str, np.ndarray]:
    """Positions `(frames, people, 2)` in metres, along the corridor first."""
    import marey

    given = data or Path(os.environ.get("MAREY_DATA", Path(__file__).parents[2] / "shared" / "data"))
    folder = given / "crowd" / "juelich_unidirectional"
    found = {}
    for name in EXPERIMENTS:
        path = folder / f"{name}.txt"
        if path.exists():
            tracks = marey.io.load(path, frame_rate=16.0, unit="cm")
            found[name] = tracks.positions[:, :, ::-1] * [-1.0, 1.0]
        else:
            print(f"  not at hand (--data, MAREY_DATA): {path.name}")
    return found


def measured(positions: np.ndarray, rate: float) -> np.ndarray:
    """People a m² and their mean speed over half a second, where someone is in the middle 2 m."""
    half = max(1, round(0.25 * rate))
    speed = np.full(positions.shape[:2], np.nan)
    speed[half:-half] = (positions[2 * half :, :, 0] - positions[: -2 * half, :, 0]) / (2 * half / rate)
    inside = (np.abs(positions[..., 0]) < 1.0) & np.isfinite(speed)
    count = inside.sum(axis=1)
    mean = np.where(inside, speed, 0.0).sum(axis=1) / np.maximum(count, 1)
    return np.column_stack([count / (2.0 * CORRIDOR[0]), mean])[count > 0][::4]


def simulated(law: Parameters, entry: float, exit_: float, count: int) -> np.ndarray:
    width, length = CORRIDOR
    middle, half = width / 2, length / 2
    low_in, high_in = middle - entry / 2, middle + entry / 2
    low, high = middle - exit_ / 2, middle + exit_ / 2
    deep = half + 3 + count / 12.0
    lower = [
        (-deep, -3.0), (-half, -3.0), (-half, low_in), (-half + 0.01, 0.0), (half, 0.0), (half, low),
        (half + 5, low - 5),
    ]  # fmt: skip
    upper = [(x, width - y) for x, y in lower]
    walls = segments_of([lower, upper], closed=False)

    def formula(points: np.ndarray) -> np.ndarray:
        x, y = points.T
        here = np.where(x < -half, -half + 0.1, np.where(x < half, half + 0.1, half + 50))
        gate = np.where(x < -half, y.clip(low_in + 0.15, high_in - 0.15), y.clip(low + 0.15, high - 0.15))
        return np.column_stack([here - x, gate - y])

    field = DirectionField.from_formula(formula, (-deep, -3.0), (half + 5, width + 3.0), spacing=0.1)
    area = (-deep + 0.3, -2.7, -half - 0.3, width + 2.7)
    people = random_people(count, area=area, speed_factor=1.3 / 1.2, seed=2)
    crowd = Simulator(people, walls, [field], law, goals=[(half + 3, -9, half + 9, width + 9)])
    return measured(crowd.run(90.0, 16.0).positions, 16.0)


def picture(leaving: dict, order: dict, diagram: dict):  # type: ignore[no-untyped-def]
    figure = plots.blank((1500, 460))
    with plots.house_style():
        left, middle, right = figure.subplots(1, 3)
        speeds = list(leaving)
        left.plot(speeds, [np.median(leaving[s]) for s in speeds], "o-", label="ours, median")
        for speed in speeds:
            left.plot([speed] * len(leaving[speed]), leaving[speed], ".", color="0.6")
        left.axvline(PUBLISHED, ls="--", color="0.6", label="soonest in Helbing et al. 2000")
        left.set(xlabel="desired speed, m/s", ylabel="leaving time, s", ylim=(0, None))
        left.set_title("200 people, door of 1 m")
        left.legend()
        for name, (times, values) in order.items():
            middle.plot(times, values, label=name)
        middle.set(xlabel="s", ylabel="order", title="lanes in counterflow", ylim=(0, 1))
        middle.legend()
        for (name, samples), colour in zip(diagram.items(), style.PALETTE):
            shift = np.random.default_rng(0).uniform(-0.1, 0.1, len(samples))
            right.plot(samples[:, 0] + shift, samples[:, 1], ".", ms=3, alpha=0.4, label=name, color=colour)
        right.set(xlabel="people a m²", ylabel="m/s", title="corridor of 1.8 m", ylim=(0, 2))
        right.legend()
    return figure


if __name__ == "__main__":
    main()
