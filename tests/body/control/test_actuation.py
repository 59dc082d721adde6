"""Relaxations and contact modes: identities, what the floor answers, enumeration, hidden wrench."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import marey
from marey.body.control.actuation import ActuationSettings, Problem
from marey.body.control.balance import Balancer, BalanceSettings, BalanceState, Home, Wishes
from marey.body.control.features.strength import Strength
from marey.errors import InputError


def snapshots(balancer: Balancer, lift: float = 0.0) -> list[Problem]:
    """Programmes of a character after pushes, of the first level alone."""
    state, home = balancer.start(marey.samples.walk(2), 0)
    chest = balancer.mechanics.character.skeleton.index("Spine1")
    found, rng = [], np.random.default_rng(0)
    home = home._replace(height=home.height + lift)
    for number in range(36):
        blow = [(chest, np.zeros(3), 15 * rng.standard_normal(3))] if number % 12 == 0 else []
        if number % 12 in (2, 8):
            found.append(problem(balancer, state, home))
        state = balancer.step(state, home, Wishes(), blow).state
    return found


def problem(balancer: Balancer, state: BalanceState, home: Home) -> Problem:
    now = balancer.mechanics.at(state.body)
    features = [one for one in balancer.features(now, state, home, Wishes()) if one.level == 0]
    return Problem.of(now, balancer.planner, features, [Strength()])


def cost(one: Problem, impulse: np.ndarray) -> float:
    """What a control costs once the floor has answered it."""
    v = one.now.respond(one.pushed(impulse))[0]
    misses = [term.rows @ v - term.target for term in (*one.levels, *one.soft)]
    return 0.5 * float(sum(miss @ miss for miss in misses) + impulse @ one.effort @ impulse)


@pytest.fixture(scope="module")
def balancer() -> Balancer:
    return Balancer.of(marey.samples.walk(2))


@pytest.fixture(scope="module")
def pushed(balancer: Balancer) -> list[Problem]:
    return snapshots(balancer)


def test_modes_are_answered_as_planned_and_no_relaxation_is_better(
    balancer: Balancer, pushed: list[Problem]
) -> None:
    gaps = []
    for one in pushed:
        found = one.search(np.ones(4, dtype=bool))
        assert found.exact
        own = cost(one, found.impulse)
        assert own == pytest.approx(found.costs[0], rel=2e-3)
        for method, share in (("A", None), ("B", -1.0), ("C", 0.0)):
            assert cost(one, one.relaxed(method, share).impulse) >= own * (1 - 1e-6)
        # All sixteen modes of four parts.
        parts = np.repeat(one.now.mechanics.part_of[one.now.contacts.points], 4)
        near = np.repeat(one.now.contacts.gaps < one.now.mechanics.settings.landing, 4)
        modes = (np.array(mode) for mode in product([True, False], repeat=4))
        made = [one.mode(near & np.append(mode, False)[parts], mode, deep=False) for mode in modes]
        best = min(each.costs[0] for each in made if each is not None)
        gaps.append(found.costs[0] / best - 1)
    assert np.median(gaps) <= 0.05


def test_relaxation_b_is_the_energy_of_what_contacts_give(pushed: list[Problem]) -> None:
    one = pushed[0]
    found = one.relaxed("B", -1.0)
    M = one.now.effective
    away = found.velocity - np.linalg.solve(M, one.now.free + one.pushed(found.impulse))
    J, pushes = one.now.contacts.J, found.contact
    assert 0.5 * away @ M @ away == pytest.approx(0.5 * pushes @ J @ np.linalg.solve(M, J.T @ pushes))


def test_the_penalties_are_convex_up_to_a_dissipation_of_one(pushed: list[Problem]) -> None:
    M = pushed[0].now.effective
    A = np.eye(len(M))[6:]
    for share, convex in ((-1.0, True), (0.5, True), (1.0, True), (1.1, False), (-1.1, False)):
        H = np.block([[M, share * A.T], [share * A, A @ np.linalg.solve(M, A.T)]])
        assert (np.linalg.eigvalsh(H).min() > -1e-9) == convex
    with pytest.raises(InputError, match="convex"):
        ActuationSettings("C", dissipation=1.1)


def test_relaxation_a_plans_with_a_floor_that_lifts(balancer: Balancer) -> None:
    state, home = balancer.start(marey.samples.walk(2), 0)
    one = problem(balancer, state, home._replace(height=home.height + 0.3))
    weight = balancer.mechanics.weight * one.now.step
    planned = one.relaxed("A")
    answered = one.now.respond(one.pushed(planned.impulse))[1]
    assert planned.contact.sum() > 3 * weight
    exact = one.search(np.ones(4, dtype=bool))
    given = one.now.respond(one.pushed(exact.impulse))[1]
    assert given.sum() == pytest.approx(exact.contact.sum(), rel=1e-6)
    assert abs(answered.sum() - planned.contact.sum()) > abs(given.sum() - exact.contact.sum())


@pytest.mark.parametrize("method", ["A", "B", "C"])
def test_published_relaxations_stand(method: str) -> None:
    settings = BalanceSettings(actuation=ActuationSettings.published(method))
    balancer = Balancer.of(marey.samples.walk(2), settings=settings)
    state, home = balancer.start(marey.samples.walk(2), 0)
    total = []
    for _ in range(60):
        done = balancer.step(state, home, Wishes())
        state = done.state
        total.append(done.contact.sum() / done.now.step)
        assert np.abs(done.now.wrench(done.velocity, done.contact)).max() < 1e-8 * balancer.mechanics.weight
    assert not state.fell
    assert np.mean(total[20:]) == pytest.approx(balancer.mechanics.weight, rel=0.03)
