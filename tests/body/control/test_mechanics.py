"""A step without control: momentum, the physics package's programme, contacts, wrenches, balls."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body.control.events import Event, Flight
from marey.body.control.mechanics import Body, Mechanics, MechanicsSettings
from marey.body.physics.reduced import PhysicalCharacter
from marey.body.physics.simulate import Ball, SimulationSettings, Simulator, initial_state
from marey.errors import InputError


def test_in_flight_momentum_is_exact(walker: PhysicalCharacter, anyhow: Body) -> None:
    mechanics = Mechanics(walker, MechanicsSettings(step=0.01, damping=3.0, floor=-100.0))
    bodies, turning = [anyhow], []
    for _ in range(60):
        now = mechanics.at(bodies[-1])
        v = now.respond()[0]
        turning.append(now.R @ now.work.M[:3] @ v)
        bodies.append(mechanics.move(now, v))
    np.testing.assert_allclose(np.diff(turning, axis=0), 0.0, atol=1e-10)
    places = np.array([body.centre for body in bodies])
    np.testing.assert_allclose(np.diff(places, 2, axis=0), [[0.0, -9.81e-4, 0.0]] * 59, atol=1e-12)


def test_the_step_is_what_the_physics_package_projects(walker: PhysicalCharacter) -> None:
    still = initial_state(walker, marey.samples.walk(2), 0.4)._replace(velocity=np.zeros(walker.size))
    mechanics = Mechanics(walker, MechanicsSettings(step=0.01, damping=1.0, floor=0.02))
    settings = SimulationSettings(
        step=0.01, integrator="constant", group="centre", damping="energetic", rate=1.0, floor=0.02
    )
    problem = Simulator(walker, settings).problem(still)
    now = mechanics.at(mechanics.body(still))
    # Velocities of the root joint into those of the centre of mass.
    M, into = walker.mass(still.alpha), np.eye(walker.size)
    into[3:6] = M[3:6] / M[3, 3]
    np.testing.assert_allclose(problem.mass, into.T @ now.effective @ into, atol=1e-9)
    np.testing.assert_allclose(into @ problem.free, now.inverse @ now.free, atol=1e-10)


def test_the_floor_pushes_only_within_the_pyramid_and_explains_the_root(
    mechanics: Mechanics, anyhow: Body
) -> None:
    state = anyhow._replace(velocity=0.3 * anyhow.velocity)
    low = mechanics.at(state).heights.min()
    mechanics = Mechanics(mechanics.character, MechanicsSettings(floor=low + 0.005, damping=0.0))
    now = mechanics.at(state)
    v, push = now.respond()
    contacts = now.contacts
    assert len(contacts.points) and push.max() > 0 and push.min() >= 0
    speeds = contacts.J @ v - contacts.bounds
    assert speeds.min() > -1e-8 and np.abs(push @ speeds) < 1e-7
    # Momentum balance of the whole body in the world, with the pyramid's forces at the points.
    edges, mu = push.reshape(-1, 4), mechanics.settings.friction
    forces = np.stack(
        [mu * (edges[:, 0] - edges[:, 1]), edges.sum(axis=1), mu * (edges[:, 2] - edges[:, 3])], axis=1
    )
    assert (np.abs(forces[:, 0]) + np.abs(forces[:, 2]) <= mu * forces[:, 1] + 1e-12).all()
    change = now.work.M @ v - now.free
    np.testing.assert_allclose(now.R @ change[3:6], forces.sum(axis=0), atol=1e-8)
    turned = np.cross(contacts.places - state.centre, forces).sum(axis=0)
    np.testing.assert_allclose(now.R @ change[:3], turned, atol=1e-8)
    assert np.abs(now.wrench(v, push)).max() < 1e-8 * mechanics.weight
    assert np.abs(now.wrench(v + 0.01, push)).max() > 1.0


def test_settled_feet_are_flat_on_the_floor(mechanics: Mechanics, anyhow: Body) -> None:
    now = mechanics.at(mechanics.settle(anyhow))
    assert np.abs(now.heights[mechanics.soles]).max() < 1e-4


def test_balls_exchange_momentum(mechanics: Mechanics, anyhow: Body) -> None:
    chest = mechanics.at(anyhow).joint(3)[1]
    thrown = Ball(chest + np.array([1.0, 0.0, 0.0]), (-10.0, 0.0, 0.0), 1.0)
    flight = Flight([Event(0.0, "ball", ball=thrown)], 0.01)
    now = mechanics.at(anyhow._replace(velocity=np.zeros(mechanics.character.size)))
    for number in range(20):
        before = flight.where[0, 3:].copy()
        hits = flight.hits(now, 0.01 * number)
        if hits:
            break
    assert len(hits) == 1
    change = flight.where[0, 3:] - before - [0.0, -0.0981, 0.0]
    np.testing.assert_allclose(hits[0][2], -1.0 * change, atol=1e-9)
    pushed = mechanics.at(now.state, hits)
    np.testing.assert_allclose(pushed.blows[3:6] @ now.R.T, hits[0][2], atol=1e-9)


def test_steps_too_long_are_refused() -> None:
    with pytest.raises(InputError, match="step 1"):
        MechanicsSettings(step=1.0)
