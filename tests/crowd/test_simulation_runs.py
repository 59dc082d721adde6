"""Whole runs of the simulated crowd: stable, inside walls, the same every time, people who come and go."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.spatial import cKDTree

from marey.crowd.polygons import edges, wall_distances
from marey.crowd.simulation.engine import Entrance, Simulator
from marey.crowd.simulation.pedestrians import (
    POPULATIONS,
    SETTINGS,
    Parameters,
    Pedestrians,
    random_pedestrians,
)
from marey.crowd.simulation.routes import DirectionField

from .simulation_reference import field_of, recorded

RIGHT = DirectionField.constant(1, 0)
ROOM = [
    (0, 0),
    (10, 0),
    (10, 4),
    (11, 4),
    (11, 0),
    (15, 0),
    (15, 10),
    (11, 10),
    (11, 6),
    (10, 6),
    (10, 10),
    (0, 10),
]
WALLS = edges([ROOM])


def to_the_door(points: np.ndarray) -> np.ndarray:
    beyond = points + np.array([1.0, 0.0])
    before = np.stack([np.full(len(points), 10.4), np.clip(points[:, 1], 4.4, 5.6)], axis=-1)
    return np.where((points[:, 0] < 10)[:, None], before, beyond) - points


def evacuation(
    speed_factor: float = 1.0, law: Parameters | None = None, *, count: int = 80, **options: object
) -> Simulator:
    people = random_pedestrians(count, area=(0.5, 0.5, 9.5, 9.5), speed_factor=speed_factor, seed=4)
    door = field_of(to_the_door, (0, 0), (15, 10), spacing=0.2)
    return Simulator(people, WALLS, [door], law, goals=[(13, 0, 15, 10)], **options)  # type: ignore[arg-type]


def crossed(before: np.ndarray, after: np.ndarray, walls: np.ndarray) -> np.ndarray:
    """Which moves `(points, 2)` from `before` to `after` lead through a wall."""
    hit = np.zeros(len(before), dtype=bool)
    move = after - before
    for x0, y0, x1, y1 in walls:
        sides = [(p[:, 1] - y0) * (x1 - x0) - (p[:, 0] - x0) * (y1 - y0) for p in (before, after)]
        ends = [
            (y - before[:, 1]) * move[:, 0] - (x - before[:, 0]) * move[:, 1] for x, y in ((x0, y0), (x1, y1))
        ]
        hit |= (sides[0] * sides[1] < 0) & (ends[0] * ends[1] < 0)
    return hit


def same(a: Pedestrians, b: Pedestrians) -> bool:
    return all(np.array_equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(Pedestrians))


@pytest.mark.parametrize("speed_factor", [1.0, 4.0])
@pytest.mark.parametrize(
    "law",
    [Parameters.dataset(), Parameters.helbing(), Parameters.everyday()],
    ids=["dataset", "helbing", "everyday"],
)
@pytest.mark.parametrize("dt", [0.005, 0.02, 0.04])
def test_a_door_stays_stable_at_any_step(law: Parameters, speed_factor: float, dt: float) -> None:
    crowd = evacuation(speed_factor, law, dt=dt)
    for _ in range(12):
        before = crowd.people
        crowd.step(round(0.4 / dt))
        now = crowd.people
        assert np.isfinite(now.positions).all() and np.isfinite(now.velocities).all()
        assert np.hypot(*now.velocities.T).max() < 2.5 * speed_factor * 1.32 + 2
        if now.count > 1:
            i, j = cKDTree(now.positions).query_pairs(0.6, output_type="ndarray").T
            apart = np.hypot(*(now.positions[i] - now.positions[j]).T)
            assert (apart > 0.5 * (now.radius[i] + now.radius[j])).all()
        assert (wall_distances(now.positions, WALLS) > 0.49 * now.radius).all()
        stayed = np.isin(before.ids, now.ids)
        outside = now.positions[:, 0] > 13
        assert not outside.any()
        # Through the door or not at all: nobody is in the walls beside it.
        x, y = now.positions.T
        assert not ((x > 10) & (x < 11) & ((y < 4) | (y > 6))).any()
        assert stayed.sum() == now.count


def test_steps_of_any_length_agree_on_the_outcome() -> None:
    out = []
    for dt in (0.005, 0.02, 0.04):
        crowd = evacuation(4.0, dt=dt)
        crowd.step(round(8 / dt))
        out.append(80 - crowd.count)
    assert max(out) - min(out) <= 0.15 * max(out) and min(out) > 10


def test_a_hurried_person_never_crosses_a_thin_wall() -> None:
    people = random_pedestrians(30, area=(2, 0, 4, 6), speed_factor=8.0, seed=0, spacing=0.5)
    wall = edges([[(5, -1), (5, 7)], [(0, -1), (9, -1)], [(0, 7), (9, 7)]], closed=False)
    crowd = Simulator(people, wall, [RIGHT], dt=0.04)
    for _ in range(50):
        before = crowd.people.positions
        crowd.step(2)
        assert not crossed(before, crowd.people.positions, wall).any()
    assert crowd.people.positions[:, 0].max() < 5


def test_runs_are_equal_bit_for_bit_whatever_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marey.crowd.simulation.engine.SETTINGS", replace(SETTINGS, min_share=1))
    ends = []
    for threads in (1, 2, 3):
        crowd = evacuation(2.0, entrances=[Entrance((0.5, 0.5, 3, 9), 4.0)], threads=threads)
        crowd.step(150)
        ends.append(crowd.people)
    assert same(ends[0], ends[1]) and same(ends[0], ends[2])


def test_an_interrupted_run_goes_on_as_if_it_had_not_been() -> None:
    def start() -> Simulator:
        entrances = [Entrance((0.5, 0.5, 3, 9), 3.0), Entrance((0.5, 0.5, 9, 2), 2.0)]
        return evacuation(2.0, Parameters.helbing(), entrances=entrances, hold=0.5, seed=9)

    whole, first, second = start(), start(), start()
    whole.step(300)
    first.step(130)
    copied = {f.name: np.array(getattr(first.state.people, f.name)) for f in fields(Pedestrians)}
    second.state = replace(first.state, people=Pedestrians(**copied))
    second.step(170)
    assert same(whole.people, second.people) and whole.time == second.time
    assert whole.count > 0 and whole.people.ids.max() > 80


def test_seeds_make_different_crowds() -> None:
    counts = []
    for seed in (0, 1):
        empty = Pedestrians(np.zeros((0, 2)))
        crowd = Simulator(empty, None, [RIGHT], entrances=[Entrance((0, 0, 5, 5), 3.0)], seed=seed)
        crowd.step(200)
        counts.append(crowd.people.positions[:3].copy())
    assert not np.allclose(*counts)


def test_nobody_moves_while_held_and_then_all_set_off() -> None:
    crowd = evacuation(hold=3.0)
    taken = recorded(crowd, 4.0, 25)
    held = taken["times"] < 3.0
    assert (taken["velocities"][held] == 0).all()
    assert (taken["positions"][held] == taken["positions"][0]).all()
    assert (np.hypot(*crowd.people.velocities.T) > 0.1).mean() > 0.5


@pytest.mark.parametrize("hold", [0.05, 0.07, 0.1, 0.2])
def test_walking_starts_when_directions_do(hold: float) -> None:
    taken = recorded(evacuation(hold=hold), 0.4, 50)
    moving, wanting = (np.abs(taken[name]).max(axis=(1, 2)) > 0 for name in ("velocities", "directions"))
    held = taken["times"] < hold - 1e-9
    np.testing.assert_array_equal(wanting, ~held)
    # Velocities follow one step later, and nobody moves without a desired direction.
    np.testing.assert_array_equal(moving[1:], wanting[:-1])


def test_people_who_reach_their_goal_leave() -> None:
    leaving = Simulator(Pedestrians([[0, 0]]), None, [RIGHT], goals=[(3, -1, 5, 1)])
    leaving.step(300)
    assert leaving.count == 0


def test_entrances_let_in_at_their_rate_and_only_where_there_is_room() -> None:
    empty = Pedestrians(np.zeros((0, 2)))
    poisson = Simulator(empty, None, [RIGHT], entrances=[Entrance((0, 0, 2, 60), 5.0)], dt=0.05, seed=3)
    poisson.step(400)
    assert abs(poisson.count - 100) < 35
    tiny = Simulator(empty, None, (), entrances=[Entrance((0, 0, 1, 1), 100.0)], dt=0.05)
    tiny.step(1)
    people = tiny.people
    i, j = cKDTree(people.positions).query_pairs(0.6, output_type="ndarray").T
    assert 1 <= people.count < 8
    assert (
        np.hypot(*(people.positions[i] - people.positions[j]).T) >= people.radius[i] + people.radius[j]
    ).all()


def test_frames_hold_everybody_who_was_ever_there() -> None:
    taken = recorded(evacuation(4.0), 6.0, 12.5)
    positions, velocities = taken["positions"], taken["velocities"]
    assert positions.shape == (76, 80, 2)
    assert np.isnan(positions[-1]).any() and not np.isnan(positions[0]).any()
    moved = np.diff(positions, axis=0) * 12.5
    between = 0.5 * (velocities[1:] + velocities[:-1])
    assert np.nanmedian(np.hypot(*(moved - between).transpose(2, 0, 1))) < 0.3


def test_scattered_people_far_apart_need_little_memory() -> None:
    far = Pedestrians([[0, 0], [1e7, 1e7], [1e7, 1e7 + 1], [-1e7, 3]])
    crowd = Simulator(far, None, [RIGHT])
    crowd.step(10)
    assert np.isfinite(crowd.people.positions).all()
    assert crowd.forces()[1, 1] < 0 < crowd.forces()[2, 1]


def test_everyday_people_come_in_where_an_entrance_says_so() -> None:
    entrance = Entrance((0, 0, 4, 4), 10.0, kind="everyday")
    crowd = Simulator(
        random_pedestrians(5, area=(0, 0, 4, 4), kind="everyday", seed=1),
        None,
        [DirectionField.constant(1, 0)],
        Parameters.everyday(),
        entrances=[entrance],
    )
    crowd.step(100)
    now = crowd.people
    assert now.count > 15
    smallest, largest = POPULATIONS["everyday"].radius
    assert (now.radius <= largest).all() and (now.radius >= smallest).all()


def test_everyday_people_slow_down_where_it_is_dense() -> None:
    speeds = []
    for apart in (3.0, 1.0, 0.7):
        places = np.stack(np.meshgrid(np.arange(12) * apart, np.arange(12) * apart), axis=-1).reshape(-1, 2)
        people = random_pedestrians(len(places), positions=places, kind="everyday", seed=2)
        people = replace(people, desired_speed=1.5)
        crowd = Simulator(people, None, [DirectionField.constant(1, 0)], Parameters.everyday())
        crowd.step(60)
        middle = np.abs(places - 5.5 * apart).max(axis=1) < 2.6 * apart
        speeds.append(float(crowd.people.velocities[middle, 0].mean()))
    assert speeds[0] > 1.35
    assert speeds[0] > speeds[1] + 0.05 > speeds[2] + 0.15
