"""Balance by internal forces alone and puppets, measured on captured clips that settings were not made with.

    python reproduce/balance_and_pushes.py [--data FOLDER] [--quick]

Pushes: from three starts of ten clips (both feet within 3 cm of the floor, centre of mass slower than 0.3 m/s
and 3 cm or more inside the support) a character balances for 1 s; then its chest is pushed in eight
directions by shares of p = m √(g/h) d, d from the projected centre of mass to the border of the support. It
stands if within 5 s only feet touch the floor and the centre of mass stays above 0.6 of its height. One foot:
6 N·s. Contact modes: their cost after the floor's answer against that of the published relaxations A, B, C.
Gestures: clips of somebody who stands, followed by internal forces. Walks: puppets at 0.9, pushed at 0.6.
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import warnings
from typing import NamedTuple

import _cmu
import numpy as np

import marey
from marey.body.anatomy import anatomy
from marey.body.control.actuation import Actuation, Problem
from marey.body.control.balance import Balancer, BalanceState, Home, Stepped, Wishes, balance
from marey.body.control.events import Event
from marey.body.control.features import Effort
from marey.body.control.features.strength import Strength
from marey.body.control.features.support import inside, polygon, reach
from marey.body.control.puppet import ground, puppet
from marey.body.control.recording import Followed
from marey.errors import MareyWarning

PUSHED = ("143_24", "143_34", "49_06", "91_62", "105_42", "118_17", "122_48", "138_37", "143_13", "64_23")
WALKS = ("02_01", "08_08", "35_01", "35_02", "16_22", "37_01", "49_01", "132_31", "138_07", "143_32")
# Clips, and the first and last frame between which their feet stay where they are.
GESTURES = (("14_05", 0, None), ("79_69", 0, None), ("86_01", 2004, 2520), ("85_12", 0, 396),
            ("123_05", 0, 408))  # fmt: skip
# The last two of the first start of each clip only.
SHARES = (0.6, 0.8, 1.0, 1.2)


class Start(NamedTuple):
    """A character that has balanced for a second."""

    name: str
    balancer: Balancer
    state: BalanceState
    home: Home
    chest: int


class Count:
    """How often something happened."""

    def __init__(self) -> None:
        self.wrench, self.steps, self.inexact, self.changes, self.seconds = 0.0, 0, 0, 0, 0.0

    def add(self, before: BalanceState, done: Stepped, *, calm: bool) -> None:
        mechanics = done.now.mechanics
        hidden = np.abs(done.now.wrench(done.velocity, done.contact)).max() / mechanics.weight
        self.wrench, self.steps = max(self.wrench, float(hidden)), self.steps + 1
        self.inexact += not done.control.exact
        if calm:
            self.changes += int((done.state.standing != before.standing).any())
            self.seconds += mechanics.settings.step


def main() -> int:
    warnings.simplefilter("ignore", MareyWarning)
    options = _cmu.arguments(__doc__)
    data = _cmu.folder(options.data)
    clips = _cmu.all_clips(data) if data else {}
    if not clips:
        print("No CMU clips here: give --data or MAREY_DATA.")
        return 0
    few = 2 if options.quick else 10
    motions = {name: _cmu.clip(path, cleaned=True) for name, path in clips.items()}
    good = [
        pushes({name: motions[name] for name in PUSHED[:few]}, 1 if options.quick else 3),
        modes({name: motions[name] for name in PUSHED[: min(few, 4)]}, 20 if options.quick else 50),
        gestures([(name, motions[name][first:last]) for name, first, last in GESTURES[:few]]),
        walks({name: motions[name] for name in WALKS[:few]}),
    ]
    print(f"\nall bars: {'met' if all(good) else 'MISSED'}")
    return 0 if all(good) else 1


def starts(name: str, motion: marey.Motion, count: int, support: str = "both") -> list[Start]:
    """Characters that balance, from frames where the clip's character stands."""
    balancer = Balancer.of(motion)
    mechanics = balancer.mechanics
    clip = Followed.of(mechanics.character, motion)
    floor, soles, good = ground(mechanics, clip), mechanics.soles.ravel(), []
    for row in range(0, motion.frames - 1, max(1, motion.frames // 120)):
        now = mechanics.at(clip.body(row))
        high = now.heights[soles].reshape(2, 4).min(axis=1) - floor
        slow = np.linalg.norm(clip.velocities[row, 3:6]) < 0.3
        if (
            high.max() < 0.03
            and slow
            and inside(polygon(now.places(soles)[:, [0, 2]]), now.state.centre[[0, 2]]) > 0.03
        ):
            good.append(row)
    chosen = np.unique(np.linspace(0, len(good) - 1, count).round().astype(int)) if good else []
    found = []
    for row in [good[one] for one in chosen]:
        state, home = balancer.start(motion, row, support)
        trunk = [joint for joint, part in enumerate(anatomy(motion.skeleton).segments) if part == "trunk"]
        begin = Start(f"{name}@{row}", balancer, state, home, trunk[min(1, len(trunk) - 1)])
        found.append(begin._replace(state=stand(begin, Count(), 1.0 if support == "both" else 2.0, support)))
    return found


def stand(
    begin: Start, count: Count, seconds: float, support: str = "both", push: np.ndarray | None = None
) -> BalanceState:
    """What becomes of a character that is pushed in the first step."""
    state, steps = begin.state, round(seconds / begin.balancer.mechanics.settings.step)
    for number in range(steps):
        blow = [(begin.chest, np.zeros(3), push)] if push is not None and number == 0 else []
        done = begin.balancer.step(state, begin.home, Wishes(support), blow)
        count.add(state, done, calm=push is None)
        state = done.state
        if state.fell:
            break
    return state


def strongest(begin: Start, angle: float) -> np.ndarray:
    """p(θ), N·s in the world."""
    mechanics, state = begin.balancer.mechanics, begin.state
    way, centre = np.array([np.cos(angle), np.sin(angle)]), np.asarray(state.body.centre)
    corners = polygon(mechanics.at(state.body).places(mechanics.soles.ravel())[:, [0, 2]])
    size = mechanics.weight / 9.81 * np.sqrt(9.81 / centre[1]) * reach(corners, centre[[0, 2]], way)
    return np.array([size * way[0], 0.0, size * way[1]])


def pushes(motions: dict[str, marey.Motion], count: int) -> bool:
    """Pushes on two feet and on one; whether the bars are met."""
    print(f"\nPushed, standing after 5 s of {count} starts of each clip in 8 directions\n")
    print(
        f"  {'clip':8} {'starts':>6} "
        + " ".join(f"{share:4.1f} p" for share in SHARES)
        + "   one foot, 6 N·s"
    )
    angles, seen, calm = np.arange(8) * np.pi / 4, Count(), Count()
    stood: dict[float, list[bool]] = {share: [] for share in SHARES}
    single: list[bool] = []
    for name, motion in motions.items():
        begins, own = starts(name, motion, count), {share: [] for share in SHARES}
        for number, begin in enumerate(begins):
            stand(begin, calm, 2.0)
            for share in SHARES if number == 0 else SHARES[:2]:
                own[share] += [
                    not begin.state.fell
                    and not stand(begin, seen, 5.0, push=share * strongest(begin, angle)).fell
                    for angle in angles
                ]
        one = [
            not begin.state.fell
            and not stand(begin, seen, 5.0, side, 6.0 * np.array([np.cos(a), 0.0, np.sin(a)])).fell
            for side in ("left", "right")
            for begin in starts(name, motion, 1, side)
            for a in angles[::2]
        ]
        single += one
        for share in SHARES:
            stood[share] += own[share]
        print(f"  {name:8} {len(begins):6} " + " ".join(f"{100 * np.mean(own[s]):4.0f} %" for s in SHARES)
              + f"   {100 * np.mean(one):4.0f} %", flush=True)  # fmt: skip
    shares = [float(np.mean(stood[share])) for share in SHARES]
    half = np.interp(-0.5, [-share for share in shares], SHARES) if shares[-1] < 0.5 else np.inf
    print(f"  all      {len(stood[0.6]):6} " + " ".join(f"{100 * share:4.0f} %" for share in shares)
          + f"   {100 * np.mean(single):4.0f} %")  # fmt: skip
    hidden = max(seen.wrench, calm.wrench)
    print(f"  half fall at {half:.2f} p; hidden wrench {hidden:.1e} of the weight at most")
    print(f"  no mode feasible in {100 * seen.inexact / max(seen.steps, 1):.2f} % of {seen.steps} steps; "
          f"{calm.changes / max(calm.seconds, 1e-9):.2f} mode changes a second while standing")  # fmt: skip
    return bool(shares[0] >= 0.9 and shares[1] >= 0.6 and np.mean(single) >= 0.7
                and hidden < 1e-8 and calm.changes <= 2 * calm.seconds)  # fmt: skip


def modes(motions: dict[str, marey.Motion], each: int) -> bool:
    """Exact contact modes against the relaxations, on snapshots of pushed characters."""
    costs: dict[str, list[float]] = {name: [] for name in ("thorough", "search", "A", "B", "C")}
    efforts: list[Effort] = [Strength()]
    rng, infeasible = np.random.default_rng(0), 0
    for name, motion in motions.items():
        (begin,) = starts(name, motion, 1)
        balancer, state = begin.balancer, begin.state
        for number in range(4 * each):
            push = strongest(begin, rng.uniform(0, 2 * np.pi)) * rng.uniform(0, 0.8)
            blow = [(begin.chest, np.zeros(3), push)] if number % 80 == 0 else []
            done = balancer.step(state, begin.home, Wishes(), blow)
            if number % 4 == 3:
                now = balancer.mechanics.at(state.body)
                features = [
                    one for one in balancer.features(now, state, begin.home, Wishes()) if one.level == 0
                ]
                problem = Problem.of(now, balancer.planner, features, efforts)
                found: dict[str, Actuation] = {
                    "thorough": balancer.planner.thorough(now, features, efforts),
                    "search": problem.search(state.standing),
                    "A": problem.relaxed("A"),
                    "B": problem.relaxed("B", -1.0),
                    "C": problem.relaxed("C", 0.0),
                }
                infeasible += not found["search"].exact
                for kind, one in found.items():
                    costs[kind].append(after(problem, one))
            state = begin.state if done.state.fell else done.state
    best = np.array(costs["thorough"])
    print(f"\nCost after the floor's answer, relative to that of exact modes, {len(best)} snapshots\n")
    worst = 0.0
    for kind in ("search", "A", "B", "C"):
        ratio = np.array(costs[kind]) / np.maximum(best, 1e-12)
        if kind != "search":
            worst = max(worst, float((1 - ratio).max()))
        print(f"  {kind:8} median {np.median(ratio):9.4f}   largest {ratio.max():12.3f}   better by at most "
              f"{max(0.0, float((1 - ratio).max())):.1e}")  # fmt: skip
    print(f"  no mode feasible in {infeasible} of them")
    return worst < 1e-6


def after(problem: Problem, found: Actuation) -> float:
    """The cost of a control once the floor has answered it."""
    velocity = problem.now.respond(problem.pushed(found.impulse))[0]
    total = 0.5 * float(found.impulse @ problem.effort @ found.impulse)
    for term in (*problem.levels, *problem.soft):
        miss = term.rows @ velocity - term.target
        total += 0.5 * float(miss @ miss)
    return total


def gestures(motions: list[tuple[str, marey.Motion]]) -> bool:
    """Clips of somebody who stands, by internal forces alone."""
    print("\nGestures of somebody who stands, followed by internal forces: RMS distance of the joints\n")
    good = []
    for name, motion in motions:
        report = balance(motion, seconds=60.0, follow=True).report
        good.append(not report.fell and report.error_max_cm < 5)
        print(f"  {name:8} {motion.duration:4.1f} s   mean {report.error_mean_cm:5.1f} cm   largest "
              f"{report.error_max_cm:5.1f} cm{'   fell' if report.fell else ''}")  # fmt: skip
    return all(good)


def walks(motions: dict[str, marey.Motion]) -> bool:
    """Puppets at 0.9, and how they recover at 0.6 from 15 N·s."""
    print("\nPuppets: distance to the reduced clip at 0.9, and 15 N·s sideways on the chest at 0.6\n")
    errors, recovered = [], []
    for name, motion in motions.items():
        chest = motion.skeleton.names[
            [i for i, s in enumerate(anatomy(motion.skeleton).segments) if s == "trunk"][-1]
        ]
        strong = puppet(motion, strength=0.9).report
        blow = Event(0.4 * motion.duration, "push", chest, (15.0, 0.0, 0.0))
        soft = puppet(motion, strength=0.6, events=[blow]).report
        errors.append(strong.error_mean_cm)
        recovered.append(soft.recovery_seconds)
        deviation = soft.peak_deviation_cm
        print(f"  {name:8} mean {strong.error_mean_cm:5.2f} cm   largest {strong.error_max_cm:5.2f} cm   "
              f"string {strong.root_force_n:5.0f} N   pushed {deviation:5.2f} cm, over in "
              f"{soft.recovery_seconds:4.2f} s")  # fmt: skip
    print(f"  median {np.median(errors):.2f} cm")
    return bool(np.median(errors) <= 1.2 and max(errors) <= 2.5 and max(recovered) < 0.6)


if __name__ == "__main__":
    raise SystemExit(main())
