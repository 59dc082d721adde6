"""Contacts, limits, balls and pins; the same step by quadratic programmes; many characters at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import marey
from marey.body.limits.learned import learn
from marey.body.physics.projection import HOLDS, PUSHES, Projection
from marey.body.physics.reduced import PhysicalCharacter
from marey.body.physics.simulate import (
    Ball,
    Pin,
    Push,
    SimulationSettings,
    Simulator,
    initial_state,
)
from marey.body.pose_model import PoseModel
from marey.errors import InputError

FREE = SimulationSettings(gravity=False, ground=False)


@pytest.fixture(scope="module")
def character() -> PhysicalCharacter:
    return PhysicalCharacter.of(PoseModel.fit([marey.samples.walk()], modes=12))


def test_projection_keeps_the_conditions_of_the_quadratic_programme() -> None:
    rng = np.random.default_rng(0)
    root, J = rng.normal(size=(26, 26)), rng.normal(size=(12, 26))
    kinds = np.where(np.arange(12) < 3, HOLDS, PUSHES)
    problem = Projection(root @ root.T + np.eye(26), rng.normal(size=26), J, rng.normal(size=12), kinds)
    v, multipliers = problem.solve()
    slack = J @ v - problem.bounds
    assert np.abs(slack[:3]).max() < 1e-8
    assert slack[3:].min() > -1e-8 and multipliers[3:].min() > -1e-12
    assert np.abs(slack[3:] * multipliers[3:]).max() < 1e-8
    np.testing.assert_allclose(problem.mass @ (v - problem.free), J.T @ multipliers, atol=1e-8)


def off_coulomb(problem: Projection, velocity: np.ndarray, multipliers: np.ndarray) -> float:
    """How far impulses are from what contacts, limits and friction of 0.8 ask for, as velocities, m/s."""
    scale = np.einsum("ij,ji->i", problem.J, np.linalg.solve(problem.mass, problem.J.T))
    asked = multipliers - (problem.J @ velocity - problem.bounds) / scale
    friction = problem.kinds >= 0
    most = 0.8 * multipliers[problem.kinds[friction]]
    asked[friction] = np.clip(asked[friction], -most, most)
    asked[~friction] = np.maximum(asked[~friction], 0.0)
    return float(np.abs((asked - multipliers) * scale).max())


def test_gauss_seidel_finds_the_velocity_of_the_quadratic_programmes(character: PhysicalCharacter) -> None:
    limits = learn([marey.samples.walk()]).limits
    explicit = Simulator(character, SimulationSettings(integrator="constant"), limits)
    fallen, state = Simulator(character, None, limits), initial_state(character, marey.samples.walk())
    compared = 0
    for _ in range(30):
        state = fallen.run(state, 8).state
        problem = explicit.problem(state)
        try:
            velocity, multipliers = problem.solve()
        except InputError:  # daqp cycles where rows depend on each other
            continue
        if len(problem.J) > 8 and off_coulomb(problem, velocity, multipliers) < 1e-7:
            found = explicit.step(state._replace(multipliers=None)).velocity
            np.testing.assert_allclose(found, velocity, rtol=0, atol=1e-6)
            compared += 1
    assert compared >= 20


@pytest.mark.parametrize("group", ["centre", "se3", "so3xr3"])
def test_linear_momentum_is_kept_on_all_root_groups(character: PhysicalCharacter, group: str) -> None:
    simulator = Simulator(character, replace(FREE, group=group, integrator="constant", rate=0.0))
    still = initial_state(character, marey.samples.walk())._replace(velocity=np.zeros(character.size))
    found = simulator.run(still, 100, [Push("RightHand", 0.0, (0.0, 0.0, 0.3))])
    np.testing.assert_allclose(found.linear, np.tile([0.0, 0.0, 0.3], (100, 1)), atol=1e-12)


def test_a_ball_and_a_body_keep_their_momentum(character: PhysicalCharacter) -> None:
    walk = marey.samples.walk()
    target = walk.positions()[0, walk.skeleton.index("Spine1")]
    ball = Ball.thrown(target, (0.0, 0.0, -8.0), 0.3, gravity=False)
    simulator = Simulator(character, FREE, balls=[ball])
    start = initial_state(character, walk)
    found = simulator.run(start._replace(velocity=np.zeros(character.size)), 80)
    place, velocity = found.balls[:, 0, :3], found.balls[:, 0, 3:]
    assert np.linalg.norm(velocity[-1] - velocity[0]) > 1.0
    linear = found.linear + ball.mass * velocity
    angular = found.angular + ball.mass * np.cross(place, velocity)
    for values in (linear, angular):
        assert np.abs(values - values[0]).max() < 1e-12 * max(np.abs(values).max(), 1.0)


def test_limits_are_kept_by_a_character_that_is_hit(character: PhysicalCharacter) -> None:
    limits = learn([marey.samples.walk()]).limits
    blows = [Push("LeftHand", 0.0, (0.0, 3.0, 0.0)), Push("RightFoot", 0.0, (0.0, 3.0, 0.0))]
    worst = []
    for bounds in (limits, None):
        simulator = Simulator(character, FREE, bounds)
        found = simulator.run(initial_state(character, marey.samples.walk()), 200, blows)
        worst.append(limits.excess(character.basis.decode(found.coordinates)).max())
    assert worst[0] < 0.02 < 0.3 < worst[1]


def test_a_pinned_hand_stays_where_it_is(character: PhysicalCharacter) -> None:
    walk = marey.samples.walk()
    place = walk.positions()[0, walk.skeleton.index("LeftHand")] + [0.0, 1.0, 0.0]
    simulator = Simulator(
        character, SimulationSettings(ground=False, rate=10.0), pins=[Pin("LeftHand", place)]
    )
    state = simulator.settle(initial_state(character, walk, height=1.0))
    end = simulator.run(state, 200).state
    work = character.work(end.alpha)
    from marey.geometry import rotations as so3

    hand = end.place + so3.rotate(end.rotation, work.frames[walk.skeleton.index("LeftHand"), 18:21])
    assert np.linalg.norm(hand - place) < 0.005


def test_characters_that_are_stepped_together_move_as_alone(character: PhysicalCharacter) -> None:
    simulator = Simulator(character)
    states = [initial_state(character, marey.samples.walk(), height=0.1 * i) for i in range(5)]
    together = simulator.run_many(states, 30, jobs=2)
    for state, found in zip(states, together, strict=True):
        np.testing.assert_array_equal(found.coordinates, simulator.run(state, 30).coordinates)
