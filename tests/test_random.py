"""Every function with an `rng` takes None, a seed, a sequence of seeds or a generator."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import marey
from marey._random import seed_number, seed_sequence
from marey.body import MotionModel
from marey.body.chain import chain
from marey.body.fill import fill
from marey.body.particles import Reach, hand_chain, solve, solve_many
from marey.body.steer import steer
from marey.body.steer.requests import TimedReach
from marey.body.stream import MotionStream
from marey.body.vary import vary
from marey.crowd import scenes
from marey.crowd.simulation.simulate import simulate
from marey.crowd.texture import extend
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.stage import walk as let_walk
from marey.statistics.autoregression import fit as fit_autoregression
from marey.statistics.matrix_comparison import mantel
from marey.statistics.processes.process import GaussianProcesses


@cache
def walk() -> marey.Motion:
    return marey.samples.walk(seconds=3)[::2]


@cache
def series() -> np.ndarray:
    return np.sin(np.arange(120)[:, None] * [0.2, 0.31]) + 0.1 * np.random.default_rng(0).normal(
        size=(120, 2)
    )


@cache
def processes() -> GaussianProcesses:
    return GaussianProcesses.fit(series(), 30.0)


@cache
def distances() -> np.ndarray:
    points = np.random.default_rng(0).normal(size=(20, 2))
    return np.linalg.norm(points[:, None] - points, axis=-1)


@cache
def motion_model() -> MotionModel:
    return MotionModel.fit(walk())


KNOWN = np.arange(120) % 10 == 0
TIP = [Reach("Index3_end", [0.05, -0.1, 0.35])]
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "vary": lambda rng: vary(walk(), count=1, rng=rng)[0].rotations,
    "fill": lambda rng: fill(walk(), [(20, 30)], samples=1, rng=rng).samples[0].rotations,
    "chain": lambda rng: chain(walk(), [[], []], rng=rng).motion.root,
    "steer": lambda rng: (
        steer(walk(), [TimedReach("LeftHand", 1.0, [0, 0.1, 0], relative=True)], rng=rng).motion.root
    ),
    "MotionModel.sample": lambda rng: motion_model().sample(20, rng=rng).rotations,
    "MotionStream": lambda rng: MotionStream(motion_model(), rng).step(),
    "particles.solve": lambda rng: solve(hand_chain(), TIP, particles=20, steps=5, rng=rng).path().rotations,
    "solve_many": lambda rng: len(solve_many(hand_chain(), TIP, 2, particles=20, steps=5, rng=rng)),
    "stage.walk": lambda rng: let_walk(marey.samples.crowd(people=1, seconds=1), [walk()], rng=rng).rotations,
    "samples.crowd": lambda rng: marey.samples.crowd(people=3, seconds=2, rng=rng).positions,
    "simulate": lambda rng: (
        simulate(scenes.preset("crossing").with_people(4), seconds=1, rng=rng).tracks.positions
    ),
    "extend": lambda rng: extend(marey.samples.field(8, 8, seconds=4), 60, rng=rng).velocities,
    "so3.random": lambda rng: so3.random(3, rng=rng),
    "autoregression": lambda rng: fit_autoregression(series(), order=2).sample(10, rng=rng),
    "GaussianProcesses.sample": lambda rng: processes().sample(10, rng=rng, noise=True),
    "GaussianProcesses.stream": lambda rng: processes().stream(rng=rng).steps(4),
    "ConditionalProcesses.sample": lambda rng: processes().condition(series(), KNOWN).sample(1, rng=rng),
    "mantel": lambda rng: mantel(distances(), distances(), permutations=19, rng=rng).permuted,
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_random_numbers_come_from_whatever_numpy_takes(function: str) -> None:
    draw = FUNCTIONS[function]
    kinds: list[Callable[[], Any]] = [
        lambda: 7,
        lambda: np.random.SeedSequence(7),
        lambda: np.random.default_rng(7),
    ]
    for kind in kinds:
        np.testing.assert_allclose(draw(kind()), draw(kind()), atol=1e-9)
    draw(None)


@pytest.mark.parametrize(
    "function", ["vary", "stage.walk", "simulate", "solve_many", "GaussianProcesses.stream"]
)
def test_a_sequence_of_seeds_gives_the_same_again(function: str) -> None:
    given = np.random.SeedSequence(7).spawn(2)[1]
    np.testing.assert_allclose(FUNCTIONS[function](given), FUNCTIONS[function](given), atol=1e-9)


def test_a_generator_moves_on() -> None:
    given = np.random.default_rng(7)
    assert seed_number(given) != seed_number(given)
    assert seed_sequence(given).entropy != seed_sequence(given).entropy


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InputError, match="not below 0, got -1"):
        vary(walk(), rng=-1)
