"""Claims about the transport of density: exact derivatives, an exact solution, mass, walls, and a twin."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from marey.crowd.density.transport import (
    MODELS,
    DensityObservation,
    FlowData,
    FlowObservation,
    Ground,
    LawSettings,
    Transport,
    scene_directions,
    scene_ground,
)
from marey.crowd.scenes import preset
from marey.errors import InputError
from marey.statistics.assimilation import Diagonal, Problem, SmoothGrid, Stacked, assimilate
from tests.statistics.assimilation.operators import dot_product_error, taylor_orders

Array = NDArray[np.float64]
STEPS = 3


def mixed(model: str, populations: int) -> tuple[Transport, Array, np.random.Generator]:
    """A transport among random walls with random data, a state of it, and random numbers.

    Densities rise and velocities point east and north, so that no limiter is at its kink.
    """
    rng = np.random.default_rng(10 + populations)
    ground = Ground(rng.random((9, 12)) > 0.15, 0.5)
    size = (STEPS, ground.cells)
    flow = FlowData(
        rng.normal(size=(*size, 2, 2)), rng.normal(size=(*size, 2)), 0.01 * rng.normal(size=(*size, 2, 2))
    )
    transport = Transport(
        ground,
        0.8 + 0.4 * rng.random((populations, len(ground.faces))),
        flow,
        frame_time=0.2,
        model=model,
        law=LawSettings(crowding=0.3, pressure=0.1),
        kept=(rng.random((populations, ground.cells)) > 0.1) * 1.0,
        prescribed=3.0 + rng.random(size),
    )
    rising = 0.1 + ground.centres @ [0.1, 0.07] + 0.01 * rng.random(transport.shape)
    state = transport.state(rising / populations)
    state[-4:] = 0.1 * rng.normal(size=4)
    return transport, state, rng


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("populations", [1, 2])
def test_derivatives_of_transport_and_observations_are_exact(model: str, populations: int) -> None:
    transport, state, rng = mixed(model, populations)
    seen = rng.random((STEPS, transport.ground.cells))
    seen[rng.random(seen.shape) < 0.3] = np.nan
    direction = 0.03 * rng.normal(size=transport.size)
    observations = (FlowObservation(transport), DensityObservation(transport, seen, 0.2))
    functions = [
        (transport.step, transport.tangent, transport.adjoint),
        *((one.residual, one.tangent, one.adjoint) for one in observations),
    ]
    for function, tangent, adjoint in functions:
        error = dot_product_error(
            lambda d, of=tangent: of(1, state, d), lambda c, of=adjoint: of(1, state, c), transport.size, rng
        )
        assert error < 1e-10
        orders = taylor_orders(
            lambda x, of=function: of(1, x),
            lambda d, of=tangent: of(1, state, d),
            state,
            direction,
            np.logspace(-2, -6, 5),
        )
        # What is linear leaves no remainder but rounding.
        assert function == observations[1].residual or np.abs(orders - 2).max() < 0.15
    assert all(one.residual(STEPS, state).size == 0 for one in observations)


def disturbance_error(spacing: float) -> float:
    """Largest error after 2 s against the linear equation of w = exp(α β D / δ), whose solution is known.

    w_t + α V · ∇w = δ Δw spreads and carries a Gaussian (Cole and Hopf).
    """
    alpha, beta, delta, seconds = 1.0, 1.0, 0.5, 2.0
    shape = (round(12 / spacing), round(16 / spacing))
    ground = Ground(np.ones(shape, dtype=bool), spacing)
    directions = np.array([0.8, 0.6])[ground.faces[:, 4]][None]
    frames = round(seconds / (0.2 * spacing**2))

    def exact(time: float) -> Array:
        variance = 1.0 + 2.0 * delta * time
        away = ground.centres - [6.0, 5.0] - alpha * time * np.array([0.8, 0.6])
        w = 1.0 + np.exp(-0.5 * (away**2).sum(axis=1) / variance) / variance
        return np.asarray(delta / (alpha * beta) * np.log(w))[None]

    law = LawSettings(alpha=alpha, crowding=0.0, pressure=beta, diffusion=delta)
    transport = Transport(
        ground,
        directions,
        FlowData.nothing(frames, ground.cells),
        frame_time=seconds / frames,
        model="disturbance",
        law=law,
    )
    state = transport.state(exact(0.0))
    for n in range(frames):
        state = transport.step(n, state)
    return float(np.abs(transport.density(state) - exact(seconds)).max())


def test_disturbance_agrees_with_the_linear_equation_it_comes_from() -> None:
    coarse, fine = disturbance_error(0.4), disturbance_error(0.2)
    assert fine < 1e-3
    assert np.log2(coarse / fine) > 1.0


def closed_room() -> Transport:
    """A room with a thin wall across, in which everyone wants to go east at 1.2 m/s."""
    free = np.zeros((14, 26), dtype=bool)
    free[2:-2, 2:-2] = True
    free[:, 13] = False
    ground = Ground(free, 0.5)
    east = (ground.faces[:, 4] == 0).astype(float)[None]
    return Transport(ground, east, FlowData.nothing(60, ground.cells), frame_time=0.1)


def test_mass_is_kept_and_nothing_crosses_a_thin_wall() -> None:
    transport = closed_room()
    west = transport.ground.centres[:, 0] < 6.5
    state = transport.state(np.where(west, 1.0, 0.0)[None])
    for n in range(60):
        state = transport.step(n, state)
    density = transport.density(state)[0]
    assert abs(density.sum() / west.sum() - 1) < 1e-12
    assert (density[~west] == 0).all()
    # They press against the wall, and the law lets nobody in where it is full.
    edge = transport.ground.centres[:, 0]
    assert density[west & (edge > 6)].mean() > 1.2 > 0.3 > density[west & (edge < 2)].mean()


def test_people_vanish_in_their_goal_and_elsewhere_leave_over_the_edge() -> None:
    scene = preset("corridor")
    ground = scene_ground(scene, 0.5)
    directions, kept = scene_directions(scene, ground)
    transport = Transport(ground, directions, FlowData.nothing(40, ground.cells), frame_time=0.25, kept=kept)
    near = (ground.centres[:, 0] > 52) & (ground.centres[:, 0] < 57)
    state = transport.state(0.3 * near[None])
    for n in range(40):
        state = transport.step(n, state)
    assert transport.density(state).sum() < 0.05 * 0.3 * near.sum()


def test_an_observed_motion_moves_the_density_instead_of_the_law() -> None:
    ground = Ground(np.ones((8, 40), dtype=bool), 0.5)
    one = np.broadcast_to(np.eye(2), (20, ground.cells, 2, 2))
    velocity = np.broadcast_to([0.7, 0.0], (20, ground.cells, 2))
    # M = 1 / √(R + Q) and G = Q / √(R + Q): the noise of the law Q is far larger than R here.
    flow = FlowData(one, velocity, 0.9999 * one)
    west = -(ground.faces[:, 4] == 0).astype(float)[None]
    transport = Transport(ground, west, flow, frame_time=0.25)
    x = ground.centres[:, 0]
    state = transport.state(np.exp(-0.5 * (x - 5) ** 2)[None])
    for n in range(20):
        assert np.allclose(transport.velocity(n, state)[(x > 1) & (x < 19)][:, 0], 0.7, atol=1e-3)
        state = transport.step(n, state)
    density = transport.density(state)[0]
    assert abs((density * x).sum() / density.sum() - (5 + 0.7 * 5)) < 0.1


@pytest.mark.parametrize("model", MODELS)
def test_a_twin_finds_the_start_from_noisy_velocities(model: str) -> None:
    rng = np.random.default_rng(5)
    steps, shape = 40, (16, 24)
    free = np.ones(shape, dtype=bool)
    free[:5, 14:16] = free[11:, 14:16] = False
    ground = Ground(free, 0.5)
    away = np.array([14.0, 4.0]) - ground.face_centres
    directions = (away / np.linalg.norm(away, axis=1, keepdims=True))[
        np.arange(len(away)), ground.faces[:, 4]
    ][None]
    own = Transport(ground, directions, FlowData.nothing(steps, ground.cells), frame_time=0.1, model=model)
    places = rng.uniform([1.5, 1.5], [6.5, 6.5], (3, 2))
    distance = ((ground.centres[:, None] - places) ** 2).sum(axis=-1)
    start = own.state((0.6 * np.exp(-0.5 * distance / 1.2**2)).sum(axis=1)[None])
    states = [start]
    for n in range(steps):
        states.append(own.step(n, states[-1]))
    velocities = np.stack([own.velocity(n, states[n]) for n in range(steps)])
    noise = 0.05 * np.sqrt((velocities**2).sum(axis=-1).mean())
    seen = velocities + noise * rng.normal(size=velocities.shape)
    unit = np.broadcast_to(np.eye(2) / noise, (*seen.shape[:2], 2, 2))
    transport = Transport(
        ground, directions, FlowData(unit, seen / noise, 0 * unit), frame_time=0.1, model=model
    )
    background = transport.state(np.full(transport.shape, 0.15))
    covariance = Stacked([SmoothGrid(free, 0.3, 2.0), Diagonal(np.zeros(4))])
    problem = Problem(transport, background, steps, [FlowObservation(transport)], covariance)
    found = assimilate(problem, iterations=60)

    def error(state: Array) -> float:
        difference = transport.density(state - start)
        # Of a disturbance only differences act on anything.
        return float(np.std(difference) if model == "disturbance" else np.sqrt((difference**2).mean()))

    assert error(background) > 12 * error(found.states[0])


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="one of continuity, disturbance"):
        LawSettings.of("fluid")
    with pytest.raises(InputError, match="no free ground"):
        Ground(np.zeros((2, 2), dtype=bool), 0.5)
