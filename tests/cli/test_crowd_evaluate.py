"""`marey crowd evaluate` as a user types it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import marey
from marey import samples
from marey.crowd.cameras import orthographic
from tests.cli.commands import refused, result, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    truth = replace(samples.field(rows=30, columns=40, seconds=1.2), homography=orthographic(0.1))
    marey.save(truth, folder / "truth.zarr")
    rng = np.random.default_rng(0)
    for name, noise in (("good", 0.05), ("bad", 0.4)):
        noisy = truth.velocities + noise * rng.normal(size=truth.velocities.shape).astype(np.float32)
        marey.save(replace(truth, velocities=noisy), folder / f"{name}.zarr")
        marey.save(replace(truth, velocities=noisy)[:1], folder / f"{name}.flo")
    marey.save(truth[:1], folder / "truth.flo")
    marey.save(
        marey.crowd.animation.advect(truth, [[1, -1], [2, -2.5]], frame_rate=25), folder / "people.csv"
    )
    return folder


def test_one_field_gives_the_promised_keys(capsys, folder):
    found = result(capsys, "crowd", "evaluate", folder / "good.zarr", folder / "truth.zarr")
    assert {"endpoint", "angular_degrees", "divergence", "vorticity", "trajectory_m"} <= set(found)
    assert found["endpoint"] == pytest.approx(0.05 * np.sqrt(np.pi / 2), rel=0.03)
    assert found["trajectory_m"] is None
    flo = result(capsys, "crowd", "evaluate", folder / "good.flo", folder / "truth.flo")
    assert flo["endpoint"] == pytest.approx(found["endpoint"], rel=0.1)


def test_several_fields_give_one_table(capsys, folder):
    words = ("crowd", "evaluate", folder / "good.zarr", folder / "bad.zarr", folder / "truth.zarr")
    good, bad = result(capsys, *words)["fields"]
    assert good["endpoint"] < bad["endpoint"] and good["vorticity"] < bad["vorticity"]
    code, out, _ = run(capsys, *words, "--figure", folder / "errors.png")
    assert code == 0
    assert "endpoint px" in out and "good.zarr" in out
    assert (folder / "errors.png").read_bytes()[1:4] == b"PNG"


def test_true_people_are_followed(capsys, folder):
    good = result(capsys, "crowd", "evaluate", folder / "good.zarr", folder / "people.csv")
    bad = result(capsys, "crowd", "evaluate", folder / "bad.zarr", folder / "people.csv")
    assert good["endpoint"] is None
    assert 0 < good["trajectory_m"] < bad["trajectory_m"]
    assert good["trajectory_seconds"] == 1.0


def test_flows_can_be_alike_and_people_collide(capsys, folder):
    found = result(capsys, "crowd", "evaluate", folder / "good.zarr", folder / "truth.zarr", "--statistics")
    assert 0 < found["speeds"] < 0.3
    alone = result(capsys, "crowd", "evaluate", folder / "people.csv")
    assert alone["collisions"]["events"] == 0


def test_a_simulated_crowd_is_measured_with_its_own_bodies(capsys, tmp_path):
    from marey.crowd import Goal, Group, Scene, simulate

    out = Goal([[8, 0], [9, 0], [9, 6], [8, 6]])
    group = Group(120, [[0, 0], [4, 0], [4, 6], [0, 6]], "out")
    crowd = simulate(Scene((9, 6), goals={"out": out}, groups=[group]), seconds=0, parameters="everyday")
    marey.save(crowd, tmp_path / "small.mry")
    marey.save(crowd.tracks, tmp_path / "small.csv")
    # Bodies of 0.1 m stand apart where bodies of 0.25 m would overlap.
    assert result(capsys, "crowd", "evaluate", tmp_path / "small.mry")["collisions"]["pairs"] == 0
    assert result(capsys, "crowd", "evaluate", tmp_path / "small.csv")["collisions"]["pairs"] > 0


def test_what_cannot_be_compared_is_said_in_one_line(capsys, folder, tmp_path):
    assert "after it, the truth" in refused(capsys, "crowd", "evaluate", folder / "good.zarr")
    assert "no such file" in refused(capsys, "crowd", "evaluate", folder / "good.zarr", tmp_path / "no")
    marey.save(samples.field(rows=30, columns=40, seconds=1.2), tmp_path / "plain.zarr")
    assert "no camera" in refused(capsys, "crowd", "evaluate", tmp_path / "plain.zarr", folder / "people.csv")
    assert "--view" in refused(
        capsys, "crowd", "evaluate", folder / "good.zarr", folder / "truth.zarr", "--view", "above"
    )
    marey.save(samples.walk(seconds=1), tmp_path / "walk.bvh")
    assert "Motion" in refused(capsys, "crowd", "evaluate", tmp_path / "walk.bvh", folder / "truth.zarr")


def test_a_dataset_is_its_own_truth(capsys, tmp_path):
    from marey.crowd import Goal, Group, Scene
    from marey.filming import read_dataset, write_dataset

    place = Scene(
        (12, 8),
        goals={"east": Goal([[11, 0], [12, 0], [12, 8], [11, 8]])},
        groups=[Group(8, [[1, 2], [5, 2], [5, 6], [1, 6]], "east")],
        hold=0.0,
    )
    write_dataset(place, tmp_path / "set", size=(160, 120), seconds=1.4)
    data = read_dataset(tmp_path / "set")
    view = next(iter(data.views.values()))
    marey.save(view.crowd_flow, tmp_path / "same.zarr")
    found = result(capsys, "crowd", "evaluate", tmp_path / "same.zarr", tmp_path / "set")
    assert found["endpoint"] == pytest.approx(0, abs=1e-6)
    # The crowd's mean motion takes people nearly where they went.
    assert found["trajectory_m"] < 0.3
    seen = result(capsys, "crowd", "evaluate", tmp_path / "same.zarr", tmp_path / "set", "--visible")
    assert seen["endpoint"] > 0
    assert "has above" in refused(
        capsys, "crowd", "evaluate", tmp_path / "same.zarr", tmp_path / "set", "--view", "below"
    )


def test_a_capture_of_a_part_is_held_against_that_part(capsys, folder, tmp_path):
    truth = marey.load(folder / "truth.zarr")
    marey.save(truth[10:20], tmp_path / "part.zarr")
    words = ("crowd", "evaluate", tmp_path / "part.zarr", folder / "truth.zarr")
    assert result(capsys, *words, "--frames", "10:20")["endpoint"] == 0
    assert result(capsys, *words)["endpoint"] > 0.01
    _, _, told = run(capsys, *words)
    assert "10 fields" in told and "--frames" in told
    assert "has 30 frames" in refused(capsys, *words, "--frames", "40:50")
    assert "A:B" in refused(capsys, *words, "--frames", "10-20")


def test_people_are_held_against_people(capsys, folder, tmp_path):
    people = marey.load(folder / "people.csv")
    marey.save(replace(people, positions=people.positions + np.array([0.2, 0.0])), tmp_path / "beside.csv")
    found = result(capsys, "crowd", "evaluate", tmp_path / "beside.csv", folder / "people.csv")
    assert found["trajectory_m"] == pytest.approx(0.2, abs=1e-3)
    assert found["after"]["1 s"] == pytest.approx(0.2, abs=1e-3)
    assert (found["shared"], found["endpoint"]) == (2, None)
    assert found["speeds"] < 0.05 and found["evacuation"] == 0
    words = ("crowd", "evaluate", tmp_path / "beside.csv", folder / "people.csv", folder / "people.csv")
    code, out, _ = run(capsys, *words)
    assert code == 0 and "path m" in out
    following = result(capsys, "crowd", "evaluate", folder / "people.csv", folder / "truth.zarr")
    assert following["deviation"] < 0.02
    strangers = replace(people, ids=np.array([70, 71]))
    marey.save(strangers, tmp_path / "strangers.csv")
    apart = result(capsys, "crowd", "evaluate", tmp_path / "strangers.csv", folder / "people.csv")
    assert apart["trajectory_m"] is None and apart["density"] == 0
