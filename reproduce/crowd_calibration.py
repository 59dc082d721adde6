"""The constants of `Parameters.everyday()`: fitted to corridor experiments, asked of others.

Fitted are strength and range of avoidance, perception, response time and desired speed, so that simulated
people walk like those of the Jülich experiments uo-050-180-180 (speed in four ranges of density, flow
through the entrance of 0.5 m, distances to the nearest, places across) and uo-180-180-120 (speed in four
ranges, flow). Not used: the opening of 0.5 m of 040_c_56_h-. With `--sparse` only the first is used, which
does not get denser than 1.3 people a m²: what it says of denser crowds is then shown beside the second.

    python reproduce/crowd_calibration.py [--data FOLDER] [--sparse] [--tries 12] [--rounds 3]

Takes some minutes on two cores; `--tries 0` only shows how the chosen constants do.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from _crowd_places import (
    CORRIDOR_RATE,
    EXPERIMENTS,
    OPENING_RATE,
    WAITING,
    Contender,
    binned,
    corridor,
    corridor_experiments,
    crossing_times,
    opening,
    opening_experiment,
    speed_and_density,
    steady_flow,
)

from marey.crowd.simulation.pedestrians import POPULATIONS, Interaction, Parameters

FITTED, DENSE = "uo-050-180-180", "uo-180-180-120"
SEARCHED, SEEDS = (2,), (2, 3)
RANGES = np.array([0.25, 0.5, 0.75, 1.0, 1.3])
# What a difference has to be to count as one: m/s four times, people a second, metres three times, metres.
TOLERANCE = np.array([0.04, 0.04, 0.04, 0.04, 0.06, 0.05, 0.05, 0.05, 0.05])
DENSE_TOLERANCE = np.array([0.08, 0.06, 0.06, 0.06, 0.1])
# Newtons from somebody ahead at 0.6 m, range, exponent of perception, response time, desired speed.
LOWEST, HIGHEST = np.array([60.0, 0.2, 0.4, 0.2, 1.45]), np.array([300.0, 0.5, 1.5, 0.5, 1.75])
# The best of a wider search by hand, from which ours goes on.
STARTS = np.array([[233.0, 0.32, 0.95, 0.25, 1.55], [205.0, 0.28, 1.3, 0.29, 1.55]])


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--data", type=Path, default=None)
    given.add_argument("--tries", type=int, default=12)
    given.add_argument("--rounds", type=int, default=3)
    given.add_argument("--sparse", action="store_true")
    options = given.parse_args()
    experiments = corridor_experiments(options.data)
    if FITTED not in experiments:
        return
    wanted = facts(experiments[FITTED])
    dense = dense_facts(experiments[DENSE]) if DENSE in experiments and not options.sparse else None
    if options.tries:
        best = searched(wanted, dense, options.tries, options.rounds)
        print(
            "push at 0.6 m {:.0f} N, range {:.3f} m, perception {:.2f}, response {:.2f} s, {:.2f} m/s".format(
                *best
            )
        )
        chosen = contender(best)
        print(f"strength {chosen.law.people.strength:.0f} N")
        shown("fitted: " + FITTED, wanted, np.mean([simulated_facts(best, s) for s in SEEDS], axis=0))
        asked(chosen, experiments, options.data)
    print("Parameters.everyday()")
    everyday = Contender(Parameters.everyday(), "everyday")
    ours = [facts(corridor(everyday, *EXPERIMENTS[FITTED], seed=seed)) for seed in SEEDS]
    shown("fitted: " + FITTED, wanted, np.mean(ours, axis=0))
    asked(everyday, experiments, options.data)


def contender(constants: np.ndarray) -> Contender:
    push, width, perception, response, speed = (float(c) for c in constants)
    law = Parameters.everyday()
    # Two bodies of 0.1 m.
    strength = push * math.exp((0.6 - 0.2) / width)
    people = Interaction(strength, width, law.people.contact, law.people.friction)
    return Contender(
        replace(law, people=people, perception=perception),
        "everyday",
        speed / POPULATIONS["everyday"].speed,
        response,
    )


def searched(wanted: np.ndarray, dense: np.ndarray | None, tries: int, rounds: int) -> np.ndarray:
    """Random tries in the whole box, then, round by round, about the best of them in ever smaller ones."""
    rng = np.random.default_rng(1)
    known: list[tuple[float, np.ndarray]] = []
    with ProcessPoolExecutor(2) as pool:
        for turn in range(rounds + 1):
            if turn == 0:
                share = rng.uniform(size=(tries, len(LOWEST)))
                candidates = np.concatenate([STARTS, LOWEST * (HIGHEST / LOWEST) ** share])
            else:
                leading = np.array([c for _, c in known[:2]])
                spread = 0.25 * 0.6**turn * np.log(HIGHEST / LOWEST)
                steps = rng.normal(size=(4, *leading.shape)) * spread
                candidates = (leading * np.exp(steps)).reshape(-1, len(LOWEST)).clip(LOWEST, HIGHEST)
            times = len(candidates)
            scores = pool.map(score, candidates, [wanted] * times, [dense] * times)
            known += zip(scores, candidates, strict=True)
            known.sort(key=lambda one: one[0])
            print(f"round {turn}: misfit {known[0][0]:.2f} at {known[0][1].round(3)}", flush=True)
    return known[0][1]


def score(constants: np.ndarray, wanted: np.ndarray, dense: np.ndarray | None) -> float:
    """Mean squared difference in multiples of the tolerance, at most 100 each."""
    found = np.mean([simulated_facts(constants, seed) for seed in SEARCHED], axis=0)
    away = (found - wanted) / TOLERANCE
    if dense is not None:
        crowded = corridor(contender(constants), *EXPERIMENTS[DENSE], seed=SEARCHED[0])
        away = np.concatenate([away, (dense_facts(crowded) - dense) / DENSE_TOLERANCE])
    return float(np.nan_to_num(away**2, nan=100.0).clip(0.0, 100.0).mean())


def simulated_facts(constants: np.ndarray, seed: int) -> np.ndarray:
    return facts(corridor(contender(constants), *EXPERIMENTS[FITTED], seed=seed))


def facts(positions: np.ndarray) -> np.ndarray:
    """Speed by density, flow, 10, 50 and 90 % of the distances to the nearest, spread across."""
    count = EXPERIMENTS[FITTED][2]
    speeds = binned(speed_and_density(positions, CORRIDOR_RATE), RANGES, least=3)
    flow = steady_flow(crossing_times(positions[..., 0], CORRIDOR_RATE), count)
    inside = np.abs(positions[..., 0]) < 1.0
    distances = []
    for frame, here in zip(positions[::8], inside[::8], strict=True):
        there = frame[np.isfinite(frame[:, 0])]
        if here.any() and len(there) > 1:
            apart = np.linalg.norm(frame[here][:, None] - there, axis=-1)
            distances += np.sort(apart, axis=1)[:, 1].tolist()
    quantiles = np.quantile(distances, [0.1, 0.5, 0.9]) if distances else np.full(3, np.nan)
    across = positions[..., 1][inside].std() if inside.any() else np.nan
    return np.array([*speeds, flow, *quantiles, across])


def dense_facts(positions: np.ndarray) -> np.ndarray:
    """Speed from 1 to 3 people a m², flow."""
    flow = steady_flow(crossing_times(positions[..., 0], CORRIDOR_RATE), EXPERIMENTS[DENSE][2])
    return np.array([*binned(speed_and_density(positions, CORRIDOR_RATE))[2:], flow])


def shown(title: str, wanted: np.ndarray, found: np.ndarray) -> None:
    heads = [f"m/s at {a:g}–{b:g}" for a, b in pairwise(RANGES)]
    heads += ["people/s", "nearest 10 %", "50 %", "90 %", "across"]
    print(f"  {title}")
    for name, theirs, ours in zip(heads, wanted, found, strict=True):
        print(f"    {name:18s} theirs {theirs:5.2f}   ours {ours:5.2f}")


def asked(who: Contender, experiments: dict[str, np.ndarray], data: Path | None) -> None:
    name = DENSE
    if name in experiments:
        count = EXPERIMENTS[name][2]
        runs = [corridor(who, *EXPERIMENTS[name], seed=seed) for seed in SEEDS]
        flows = [steady_flow(crossing_times(x[..., 0], CORRIDOR_RATE), count) for x in runs]
        theirs = experiments[name]
        samples = np.concatenate([speed_and_density(x, CORRIDOR_RATE) for x in runs])
        flow = steady_flow(crossing_times(theirs[..., 0], CORRIDOR_RATE), count)
        print(f"  {name}, speed at 0–0.5, 0.5–1, … 2.5–3 people a m², people a second")
        print("    theirs", binned(speed_and_density(theirs, CORRIDOR_RATE)).round(2), f"{flow:.2f}")
        print("    ours  ", binned(samples).round(2), f"{np.mean(flows):.2f}", flush=True)
    theirs = opening_experiment(data)
    if theirs is not None:
        flow = steady_flow(crossing_times(-theirs[..., 1], OPENING_RATE), WAITING)
        ours = [opening(who, seed=seed) for seed in SEEDS]
        flows = [steady_flow(crossing_times(-x[..., 1], OPENING_RATE), WAITING) for x in ours]
        print("  not used: opening of 0.5 m, people a second")
        print(f"    theirs {flow:.2f}   ours {' '.join(f'{f:.2f}' for f in flows)}", flush=True)


if __name__ == "__main__":
    main()
