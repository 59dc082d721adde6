"""Crowds under constraints: derivatives, solvers on the published scenes, mistakes by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from marey.crowd.direct import Constraints, Formation, State, Velocity, direct, preset
from marey.crowd.direct import Path as PathOf
from marey.crowd.direct.direct import _task
from marey.crowd.direct.model import CrowdModel
from marey.crowd.direct.solvers import Collocation, Ensemble, Shooting, Task, minimise, published
from marey.crowd.direct.terms import OnGrid, Shape, States, Term
from marey.crowd.polygons import edges
from marey.crowd.scenes import preset as scene_of
from marey.crowd.simulation.pedestrians import random_pedestrians
from marey.crowd.simulation.routes import desired_directions
from marey.crowd.simulation.simulate import pedestrians_of
from marey.errors import FormatError, InputError
from marey.io import direction_json

STEPS = 24


@pytest.fixture(scope="module")
def model() -> CrowdModel:
    """People who press through a door, so that walls, corners, goals and each other count."""
    scene = scene_of("escape")
    places = np.random.default_rng(0).uniform([28, 6], [33, 10], (14, 2))
    people = random_pedestrians(14, positions=places, kind="control", seed=1)
    return CrowdModel.of(people, [desired_directions(scene, "east")], walls=edges(scene.obstacles))


@pytest.fixture(scope="module")
def terms() -> list[Term]:
    rng = np.random.default_rng(1)
    cells = np.stack(np.meshgrid(np.linspace(28, 33, 5), np.linspace(6, 10, 4)), axis=-1).reshape(-1, 2)
    steps = np.array([9, STEPS - 1])
    found: list[Term] = [
        States(np.array([3, 5]), steps, rng.uniform(25, 35, (2, 2, 2)), rng.normal(size=(2, 2, 2))),
        Shape(np.array([1, 2, 7]), np.array([STEPS]), rng.normal(size=(3, 2))),
    ]
    for kind in ("density", "velocity", "divergence", "vorticity"):
        wanted = rng.normal(size=(2, len(cells)) + ((2,) if kind == "velocity" else ()))
        found.append(OnGrid(kind, cells, steps, wanted, 0.3, sigma=0.8))
    return found


def controls(model: CrowdModel, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.3, (STEPS, model.count, 2))


def test_accelerations_are_the_published_forces_over_the_mass() -> None:
    people = random_pedestrians(6, positions=np.random.default_rng(2).uniform(0, 2.5, (6, 2)), kind="control")
    model = CrowdModel.of(people, [])
    acceleration = -model.needed_controls(np.array(people.positions)[None], np.zeros((1, 6, 2)))[0]
    for i in range(6):
        force = np.zeros(2)
        for j in range(6):
            off = people.positions[i] - people.positions[j]
            distance = np.hypot(*off)
            if j != i and distance < 2.0:
                force += (
                    1000 * np.exp((people.radius[i] + people.radius[j] - distance) / 0.08) * off / distance
                )
        assert np.allclose(acceleration[i], force / people.mass[i], rtol=1e-9, atol=1e-12)


def test_sweep_is_the_transpose_of_the_tangent(model: CrowdModel) -> None:
    positions, _ = model.run(controls(model, 3))
    small = controls(model, 4)
    dy, du = model.tangent(positions, small)
    rng = np.random.default_rng(5)
    by_y, by_u = rng.normal(size=dy.shape), rng.normal(size=du.shape)
    forwards = (dy * by_y).sum() + (du * by_u).sum()
    backwards = (small * model.sweep(positions, by_y.copy(), by_u.copy())).sum()
    assert abs(forwards - backwards) < 1e-10 * abs(forwards)


def test_tangent_is_the_derivative_of_a_run(model: CrowdModel) -> None:
    own, small, h = controls(model, 3), controls(model, 4), 1e-6
    after, before = (model.run(own + side * h * small)[0] for side in (1, -1))
    dy, _ = model.tangent(model.run(own)[0], small)
    assert np.abs((after - before) / (2 * h) - dy).max() < 1e-5 * np.abs(dy).max()


@pytest.mark.parametrize("kind", ["shooting", "collocation", "ensemble"])
def test_gradients_agree_with_differences(model: CrowdModel, terms: list[Term], kind: str) -> None:
    task = Task(model, terms, STEPS)
    shooting = Shooting(task, 0.3)
    unknowns = {
        "shooting": shooting,
        "collocation": Collocation(task, model.run(controls(model, 6))),
        "ensemble": Ensemble([shooting, Shooting(Task(model.standing(0.5), terms, STEPS), 0.3)]),
    }[kind]
    rng = np.random.default_rng(7)
    white, way = rng.normal(0, 0.1, unknowns.size), rng.normal(size=unknowns.size)
    cost, slope = unknowns.evaluate(white)
    off = []
    for h in (1e-3, 1e-4, 1e-5):
        after, before = unknowns.evaluate(white + h * way)[0], unknowns.evaluate(white - h * way)[0]
        off.append(abs((after - before) / (2 * h) - slope @ way) / abs(slope @ way))
    assert min(off) < 1e-7, off
    # Taylor: what is left after the first order falls with the square of the step.
    left = [abs(unknowns.evaluate(white + h * way)[0] - cost - h * (slope @ way)) for h in (1e-3, 1e-4)]
    assert 1.8 < np.log10(left[0] / left[1]) < 2.2


def test_unknowns_of_zero_are_the_start(model: CrowdModel, terms: list[Term]) -> None:
    task, given = Task(model, terms, STEPS), controls(model, 8)
    for unknowns in (Shooting(task, 0.3, given), Collocation(task, model.run(given))):
        assert np.abs(unknowns.controls(np.zeros(unknowns.size)) - given).max() < 1e-9


def test_two_meet_behind_the_others_and_the_controls_replay() -> None:
    found = direct("rendezvous", method="shooting", iterations=60)
    told = found.report.constraints[0]
    assert told["error"] < 0.1 * told["free"]
    assert found.report.overlap_max_m < 0.02 and found.report.speed_max < 2.0
    again = found.scenario.model.run(found.controls)[0]
    assert np.abs(again - found.tracks.positions).max() < 1e-6
    each = np.sqrt((found.controls**2).sum(axis=2).mean(axis=0))
    others = np.delete(each, [5, 35])
    assert others.mean() < 0.5 * each[[5, 35]].mean()
    further = direct("rendezvous", method="shooting", iterations=20, start=found.tracks)
    assert further.report.costs[0] == pytest.approx(found.report.costs[-1], rel=1e-3)


def test_groups_that_meet_head_on_are_solved_by_collocation_not_by_shooting() -> None:
    scenario = preset("letters", 1)
    found = {name: direct(scenario, method=name, iterations=40) for name in ("shooting", "collocation")}
    errors = {name: [one["error"] for one in each.report.constraints] for name, each in found.items()}
    free = [one["free"] for one in found["shooting"].report.constraints]
    assert max(errors["collocation"]) < 0.7 * min(free) < min(errors["shooting"])
    assert (np.diff(found["collocation"].report.costs) <= 0).all()


def test_published_processes_lower_the_cost_with_halved_steps() -> None:
    scenario = preset("rendezvous")
    task, _ = _task(scenario)
    for inner in (0, 1):
        costs = published(task, 12, lambda *_: None, inner=inner).costs
        assert costs[-1] < costs[0]


def test_the_field_is_followed_without_overlaps() -> None:
    found = direct("transfer", method="shooting", iterations=15)
    told = found.report.constraints[0]
    assert (
        found.report.start in ("field", "continuum")
        and told["covered"] < 0.2
        and told["error"] < told["free"]
    )
    assert found.report.overlap_max_m < 0.02


def test_an_interruption_keeps_the_best_so_far() -> None:
    task, _ = _task(preset("rendezvous"))
    counted = []

    def stop(iteration: int, cost: float, found: Callable[[], np.ndarray]) -> None:
        counted.append(cost)
        if iteration == 5:
            raise KeyboardInterrupt

    shooting = Shooting(task)
    kept = minimise(shooting, np.zeros(shooting.size), 50, stop)
    assert kept.interrupted and kept.iterations == 5
    assert task.cost(kept.controls) < 0.9 * kept.costs[0]


def test_a_person_of_a_scene_follows_a_path() -> None:
    scene = scene_of("escape").with_people(8)
    first = pedestrians_of(scene, int(np.random.default_rng(3).integers(2**31)), "control").positions[0]
    places = first + np.array([[2.4, 0.8], [5.3, 0.0]])
    way = PathOf([0], [3.0, 6.0], places.tolist())
    found = direct(scene, Constraints(6.0, (way,)), iterations=60, rng=3)
    assert np.allclose(found.tracks.positions[0, 0], first)
    assert found.report.constraints[0]["error"] < 0.3


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (State([0], 10.0, [[60.0, 3.0]]), "person 0 at 10 s: would need"),
        (State([0, 1], 20.0, [[20.0, 3.0], [20.1, 3.0]]), "persons 0 and 1 .* closer than their bodies"),
        (State([99], 10.0, [[8.0, 3.0]]), "who .99.: different numbers from 0 to 37"),
        (State([0], 70.0, [[8.0, 3.0]]), "t 70: after 0 and up to the horizon"),
        (State([0], 10.0), "give pos, vel or both"),
        (Formation("all", 10.0, glyph="S", height=3.0), "closer than their bodies .* a height of"),
        (Formation("group:Z", 10.0, glyph="S"), "group:Z.*group:0"),
        (Formation("all", 10.0, glyph="S", font="No Such Font"), "font 'No Such Font'"),
        (Velocity([0.0, 5.0], grid=[0, 3]), "grid"),
    ],
)
def test_what_cannot_be_met_is_named_before_anything_is_solved(constraint: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        direct("rendezvous", Constraints(20.0, (constraint,)))  # type: ignore[arg-type]


def test_places_in_walls_are_refused() -> None:
    with pytest.raises(InputError, match=r"constraint 0 \(state\): person 1 at 20 s: \(5, 5\) is in a wall"):
        direct("crossing", Constraints(20.0, (State([1], 20.0, [[5.0, 5.0]]),)))


@pytest.mark.parametrize("name", ["rendezvous", "letters", "transfer", "crossing"])
def test_constraints_survive_a_file(name: str, tmp_path: Path) -> None:
    direction_json.write(preset(name).constraints, tmp_path / "one.json")
    again = direction_json.read(tmp_path / "one.json")
    direction_json.write(again, tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert again.constraints == preset(name).constraints.constraints


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '{"horizon": 5, "constraints": [{"type": "shaped"}]}',
            r"constraints\[0\].type 'shaped': one of state",
        ),
        (
            '{"horizon": 5, "constraints": [{"type": "state", "who": [0], "t": 1, "poz": 1}]}',
            "unknown key 'poz'",
        ),
        ('{"horizon": 5, "constraints": [{"type": "state", "t": 1}]}', "who is missing"),
        ('{"horizon": 5, "constraints": []}', "there is none"),
        ('{"horizon": -5, "constraints": []}', "horizon -5"),
        ('{"horizon": 5, "B": {"pos_std": 1}, "constraints": []}', "B: people start where they are"),
        ('{"horizon": 5, "constraints": [{"type": "velocity", "t": [0, 1], "field": "no.zarr"}]}', "no.zarr"),
        ("[" * 3000, "not JSON|expected"),
    ],
)
def test_mistakes_in_a_file_are_one_line_with_the_place(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises((FormatError, InputError), match=words) as error:
        direction_json.read(tmp_path / "bad.json")
    assert "\n" not in str(error.value)


def test_a_captured_field_is_followed(tmp_path: Path) -> None:
    import marey
    from marey.crowd.cameras import orthographic
    from marey.crowd.fields import FieldSeries

    east = np.zeros((40, 24, 40, 2))
    east[..., 0] = 0.4  # pixels a frame, at 10 frames a second and 0.25 m a pixel: 1 m/s
    marey.save(FieldSeries(east, 10, homography=orthographic(0.25)), tmp_path / "east.zarr")
    asked = {"horizon": 3, "constraints": [{"type": "velocity", "t": [0, 3], "field": "east.zarr"}]}
    (tmp_path / "follow.json").write_text(json.dumps(asked))
    wanted = direction_json.read(tmp_path / "follow.json").constraints[0]
    assert isinstance(wanted, Velocity)
    seen = wanted.at(np.array([[3.0, -2.0], [500.0, 0.0]]), 1.0)
    assert np.allclose(seen, [[1.0, 0.0], [0.0, 0.0]], atol=1e-6)
