"""Ragdolls of captured clips: dropped, hit by balls, and pushed where nothing else acts.

    python reproduce/ragdolls.py [--data FOLDER] [--quick]

Each character starts in the middle of a clip, with its pose and velocity, in 20 modes learned from that clip;
its joints are limited either by what the clip itself shows, or by the clips that are not simulated. Steps are
of 1/100 s. Dropped from 1 m, 6 s, alone and with two balls thrown at it: kinetic energy in the end below
0.5 J, penetration below 5 mm, limits exceeded by less than 2 %. Floating for 60 s with blows of 3 and 6 N·s
on the left hand: momenta about the world's origin drift by less than 1e-10, kinetic energy never rises by
more than 0.1 % in a step. A ball thrown at a floating character: the momentum of both is kept to 1e-12.
"""

from __future__ import annotations

# ruff: noqa: E402 - libraries read their number of threads when they are imported
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import warnings
from collections.abc import Iterable
from typing import NamedTuple

import _cmu
import numpy as np

import marey
from marey.body.limits import EllipsoidLimits, learn
from marey.body.physics.reduced import PhysicalCharacter
from marey.body.physics.simulate import (
    Ball,
    Push,
    SimulationSettings,
    Simulator,
    Trajectory,
    initial_state,
)
from marey.body.pose_model import PoseModel
from marey.errors import InputError, MareyWarning

FREE = SimulationSettings(gravity=False, ground=False)
FLOATING = ("08_08", "14_05", "49_01", "85_12", "143_24")
DROPPED = (
    "06_08", "08_08", "14_05", "16_22", "20_08", "22_08", "49_01", "63_07", "75_10", "77_26", "79_69",
    "83_51", "88_06", "90_32", "105_42", "111_29", "122_48", "138_07", "139_18", "143_13",
)  # fmt: skip


class Start(NamedTuple):
    """A clip and its character."""

    motion: marey.Motion
    character: PhysicalCharacter
    time: float


def main() -> int:
    warnings.simplefilter("ignore", MareyWarning)
    options = _cmu.arguments(__doc__)
    data = _cmu.folder(options.data)
    clips = _cmu.all_clips(data) if data else {}
    if not clips:
        print("No CMU clips here: give --data or MAREY_DATA. Walks of three speeds instead.")
        motions = {f"walk {speed}": marey.samples.walk(3, speed=speed) for speed in (0.9, 1.2, 1.6)}
    else:
        motions = {name: _cmu.clip(path, cleaned=True) for name, path in clips.items()}
    some = 3 if options.quick else 20
    dropped = [name for name in motions if name in DROPPED or not clips][:some]
    floating = [name for name in motions if name in FLOATING or not clips][: 1 if options.quick else 5]
    starts = {name: start(motions[name]) for name in {*dropped, *floating}}
    own = {name: learn([motions[name]]).limits for name in starts}
    seen = [motion for name, motion in motions.items() if name not in starts]
    library = learn(iter(seen)) if seen else None
    others = {name: library.of(motions[name].skeleton) for name in dropped} if library else {}
    good = [
        drops("limits of the clip itself", [(name, starts[name], own[name]) for name in dropped]),
        drops("limits of the other clips", [(name, starts[name], others[name]) for name in others]),
        floats([(name, starts[name], own[name]) for name in floating], 10 if options.quick else 60),
    ]
    print(f"\nall bars: {'met' if all(good) else 'MISSED'}")
    return 0 if all(good) else 1


def start(motion: marey.Motion) -> Start:
    model = PoseModel.fit([motion], modes=min(20, motion.frames - 1))
    return Start(motion, PhysicalCharacter.of(model), 0.5 * motion.duration)


def drops(title: str, cases: Iterable[tuple[str, Start, EllipsoidLimits]]) -> bool:
    """Drop characters from 1 m, alone and with balls; whether all bars are met."""
    met = True
    for balls in (False, True):
        print(f"\nDropped from 1 m, {title}{', two balls thrown' if balls else ''}\n")
        print(f"  {'clip':7} {'energy in the end':>17} {'below 0.5 J after':>17} {'penetration':>12} "
              f"{'limits exceeded':>15}")  # fmt: skip
        for name, begin, limits in cases:
            try:
                found, deepest, excess = dropped(begin, limits, balls=balls)
            except InputError as error:
                print(f"  {name:7} {error}")
                met = False
                continue
            restless = np.flatnonzero(found.kinetic >= 0.5)
            rest = (restless[-1] + 1) / 100 if len(restless) else 0.0
            good = found.kinetic[-1] < 0.5 and deepest < 5 and excess < 0.02
            met &= bool(good)
            print(f"  {name:7} {found.kinetic[-1]:15.4f} J {rest:15.2f} s {deepest:9.2f} mm "
                  f"{100 * excess:13.2f} % {'' if good else '  MISSED'}")  # fmt: skip
    return met


def dropped(
    begin: Start, limits: EllipsoidLimits, *, balls: bool, seconds: float = 6.0
) -> tuple[Trajectory, float, float]:
    """What happened, how deep shapes were behind the ground at most, mm, and the largest excess of limits."""
    motion, character = begin.motion, begin.character
    state = initial_state(character, motion, begin.time, 1.0)
    places = motion.positions()[round(begin.time * motion.frame_rate)]
    low = places[:, 1].min()
    thrown = [
        Ball.thrown(places[motion.skeleton.index("Spine1")] + [0, 1, 0], (0, 0, -10.0), 0.15, mass=1.0),
        Ball.thrown([*places[0, [0]], low + 0.15, places[0, 2]], (6.0, 0, 0), 1.2, mass=1.0),
    ]
    settings = SimulationSettings(floor=low)
    simulator = Simulator(character, settings, limits, balls=thrown if balls else ())
    found = simulator.run(simulator.settle(state), round(seconds / settings.step))
    rotations = character.basis.decode(found.coordinates)
    return found, 1e3 * float(simulator.penetration(found).max()), float(limits.excess(rotations).max())


def floats(cases: Iterable[tuple[str, Start, EllipsoidLimits]], seconds: float) -> bool:
    """Blows and a ball where nothing else acts; whether all bars are met."""
    met = True
    print(f"\nFloating for {seconds:g} s, blows on the left hand, limits of the clip itself\n")
    print(
        f"  {'clip':7} {'blow':>6} {'linear drift':>13} {'angular drift':>13} {'largest rise of energy':>22}"
    )
    for name, begin, limits in cases:
        state = initial_state(begin.character, begin.motion, begin.time)
        for size in (3.0, 6.0):
            simulator = Simulator(begin.character, FREE, limits)
            found = simulator.run(
                simulator.settle(state), round(100 * seconds), [Push("LeftHand", 0.0, (0.0, size, 0.0))]
            )
            linear, angular = (drift(values) for values in (found.linear, found.angular))
            rise = float((found.kinetic[1:] / found.kinetic[:-1]).max() - 1)
            good = linear < 1e-10 and angular < 1e-10 and rise < 1e-3
            met &= good
            print(f"  {name:7} {size:2.0f} N·s {linear:13.1e} {angular:13.1e} {100 * rise:20.4f} % "
                  f"{'' if good else '  MISSED'}")  # fmt: skip
        lost = with_ball(begin, limits)
        met &= lost < 1e-12
        print(f"  {name:7} a ball: total momentum changes by {lost:.1e} {'' if lost < 1e-12 else '  MISSED'}")
    return met


def drift(values: np.ndarray) -> float:
    """The largest change since the first step, relative to the largest size."""
    return float(np.abs(values - values[0]).max() / np.abs(values).max())


def with_ball(begin: Start, limits: EllipsoidLimits) -> float:
    """The largest change of the momenta of a ball and the body that it hits, relative to the largest."""
    places = begin.motion.positions()[round(begin.time * begin.motion.frame_rate)]
    ball = Ball.thrown(places[begin.motion.skeleton.index("Spine1")], (0, 0, -8.0), 0.3, gravity=False)
    simulator = Simulator(begin.character, FREE, limits, balls=[ball])
    state = initial_state(begin.character, begin.motion, begin.time)
    found = simulator.run(state._replace(velocity=np.zeros(begin.character.size)), 200)
    place, velocity = found.balls[:, 0, :3], found.balls[:, 0, 3:]
    if np.linalg.norm(velocity[-1] - velocity[0]) < 0.5:
        raise InputError("the ball missed the body")
    totals = (found.linear + ball.mass * velocity, found.angular + ball.mass * np.cross(place, velocity))
    return max(drift(total) for total in totals)


if __name__ == "__main__":
    sys.exit(main())
