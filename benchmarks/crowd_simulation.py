"""Crowds by social forces beside JuPedSim: microseconds of a person's step, walls and goals included.

The same place for both: a square room with a door on each of two sides and four pillars, one person a
square metre, then two, everybody on the way to an exit. Ours with the dataset's constants (avoidance reaches
4 m, with perception, stumbling and reluctance) and with Helbing's original ones, which JuPedSim's
`SocialForceModel` has too. CPU time of one thread, the contenders taking turns in one process, least of
several; then wall time with two threads. JuPedSim takes its own step of 0.01 s, ours 0.02 s, hence also the
microseconds a person takes a simulated second. Before, 100,000 people. Exits with 1 where a bar is missed.

    python benchmarks/crowd_simulation.py
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
import tracemalloc

import jupedsim
import numpy as np
from _ledger import record
from shapely import Polygon, box

from marey.crowd.polygons import edges
from marey.crowd.simulation.engine import Simulator
from marey.crowd.simulation.pedestrians import Parameters, random_pedestrians
from marey.crowd.simulation.routes import DirectionField

BAR = 3.0
REPEATS, STEPS = 7, 10
PRESETS = {"dataset": Parameters.dataset(), "helbing": Parameters.helbing()}


def main() -> int:
    large(100_000)
    missed = []
    for density in (1.0, 2.0):
        for count in (1000, 10_000):
            missed += compared(count, density)
    print("bars met" if not missed else f"bars missed: {', '.join(missed)}")
    return len(missed) > 0


def compared(count: int, density: float) -> list[str]:
    place = Place(count, density)
    ours = {name: place.simulator(preset, threads=1) for name, preset in PRESETS.items()}
    theirs = place.jupedsim()
    contenders = {
        **{name: (lambda s=simulator: s.step(STEPS)) for name, simulator in ours.items()},
        "JuPedSim": lambda: theirs.iterate(STEPS),
    }
    cost = least(contenders, time.process_time, count)
    parallel = {name: place.simulator(preset, threads=2) for name, preset in PRESETS.items()}
    shared = least(
        {name: (lambda s=simulator: s.step(STEPS)) for name, simulator in parallel.items()},
        time.perf_counter,
        count,
    )
    print(f"{count} people, {density:g} a square metre; pairs a person: " + place.pairs())
    peer = cost["JuPedSim"]
    print(f"  JuPedSim {peer:.2f} µs a person-step, {peer / theirs.delta_time():.0f} µs a simulated second")
    missed = []
    for name, simulator in ours.items():
        ratio = peer / cost[name]
        second = cost[name] / simulator.dt
        print(
            f"  {name:8s} {cost[name]:.2f} µs a person-step ({ratio:.1f}× fewer); "
            f"{second:.0f} µs a simulated second ({peer / theirs.delta_time() / second:.1f}×); "
            f"two threads {shared[name]:.2f} µs of wall time"
        )
        work = f"social forces ({name}), {count:,} people, {density:g} a m², a person and step"
        record(work, cost[name] / 1e6, peer / 1e6, peer="JuPedSim", bar=BAR if density == 1.0 else None)
        if density == 1.0 and ratio < BAR:
            missed.append(f"{name}, {count} people: {ratio:.1f}×")
    return missed


def least(contenders: dict, clock, count: int) -> dict[str, float]:
    """Microseconds a person and step."""
    best = dict.fromkeys(contenders, np.inf)
    for run in contenders.values():
        run()
    for _ in range(REPEATS):
        for name, run in contenders.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return {name: 1e6 * spent / (STEPS * count) for name, spent in best.items()}


class Place:
    """A room with two exits outside its doors, left and right, and four pillars."""

    def __init__(self, count: int, density: float):
        self.side = side = float(np.sqrt(count / density)) + 2.0
        half, door = side / 2, 2.0
        self.outline = [
            (0, 0), (side, 0), (side, half - door), (side + 4, half - door), (side + 4, half + door),
            (side, half + door), (side, side), (0, side), (0, half + door), (-4, half + door),
            (-4, half - door), (0, half - door),
        ]  # fmt: skip
        spots = [(x * side, y * side) for x in (0.3, 0.7) for y in (0.3, 0.7)]
        self.pillars = [[(x - 1, y - 1), (x + 1, y - 1), (x + 1, y + 1), (x - 1, y + 1)] for x, y in spots]
        self.walls = edges([self.outline, *self.pillars])
        # Far enough beyond the doors that the room stays full while it is timed.
        self.exits = [(-4, half - door, -2, half + door), (side + 2, half - door, side + 4, half + door)]
        around = [box(*np.ravel([np.min(p, axis=0) - 0.4, np.max(p, axis=0) + 0.4])) for p in self.pillars]
        people = random_pedestrians(count + 200, area=(0.4, 0.4, side - 0.4, side - 0.4), spacing=0.6, seed=1)
        clear = np.array(
            [not any(b.bounds[0] < x < b.bounds[2] and b.bounds[1] < y < b.bounds[3] for b in around)
             for x, y in people.positions]
        )  # fmt: skip
        chosen = np.flatnonzero(clear)[:count]
        self.people = people[chosen]
        right = self.people.positions[:, 0] > half
        self.people = type(self.people)(
            self.people.positions, None, self.people.radius, self.people.mass, self.people.response_time,
            self.people.desired_speed, right.astype(np.int64),
        )  # fmt: skip
        self.count = count

    def directions(self) -> list[DirectionField]:
        nodes = np.mgrid[0 : self.side + 0.25 : 0.5, -4 : self.side + 4.25 : 0.5][::-1]
        points = np.moveaxis(nodes, 0, -1)
        outside = ((points[..., 0] < 0) | (points[..., 0] > self.side))[..., None]
        ends = ((0.0, [-1.0, 0.0]), (self.side, [1.0, 0.0]))
        return [
            DirectionField(np.where(outside, beyond, [x, self.side / 2] - points), (-4.0, 0.0), 0.5)
            for x, beyond in ends
        ]

    def simulator(self, preset: Parameters, *, threads: int) -> Simulator:
        return Simulator(
            self.people, self.walls, self.directions(), preset,
            goals=self.exits, threads=threads,
        )  # fmt: skip

    def jupedsim(self) -> jupedsim.Simulation:
        simulation = jupedsim.Simulation(
            model=jupedsim.SocialForceModel(), geometry=Polygon(self.outline, self.pillars), dt=0.01
        )
        stages = [simulation.add_exit_stage(box(*area)) for area in self.exits]
        journeys = [simulation.add_journey(jupedsim.JourneyDescription([stage])) for stage in stages]
        for k in range(self.people.count):
            goal = int(self.people.goal[k])
            simulation.add_agent(
                jupedsim.SocialForceModelAgentParameters(
                    position=tuple(self.people.positions[k]),
                    journey_id=journeys[goal],
                    stage_id=stages[goal],
                    mass=float(self.people.mass[k]),
                    desired_speed=float(self.people.desired_speed[k]),
                    reaction_time=float(self.people.response_time[k]),
                    radius=float(self.people.radius[k]),
                )
            )
        return simulation

    def pairs(self) -> str:
        from scipy.spatial import cKDTree

        tree = cKDTree(self.people.positions)
        found = []
        for name, preset in PRESETS.items():
            reach = preset.people.reach(2 * float(self.people.radius.max()))
            neighbours = 2 * len(tree.query_pairs(reach)) / self.people.count
            found.append(f"{neighbours:.0f} within {reach:.2f} m ({name})")
        return ", ".join(found)


def large(count: int) -> None:
    place = Place(count, 1.0)
    tracemalloc.start()
    simulator = place.simulator(PRESETS["dataset"], threads=2)
    simulator.step()
    memory = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    wall = least({"ours": lambda: simulator.step(STEPS)}, time.perf_counter, count)["ours"]
    single = place.simulator(PRESETS["dataset"], threads=1)
    cpu = least({"ours": lambda: single.step(STEPS)}, time.process_time, count)["ours"]
    print(
        f"{count} people: {cpu:.2f} µs a person-step on one thread, {wall:.2f} of wall time on two, "
        f"{1e-6 * wall * count:.3f} s a step; at most {memory:.0f} MB"
    )


if __name__ == "__main__":
    sys.exit(main())
