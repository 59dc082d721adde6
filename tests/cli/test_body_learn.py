"""`marey body learn` as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

import marey
from marey.body.dynamics import MotionModel
from tests.cli.commands import refused, result, run


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("learn") / "walk.bvh"
    marey.save(marey.samples.walk(seconds=4), path)
    return path


def test_learn_stores_a_model_and_says_what_it_found(walk, tmp_path, capsys):
    told = result(capsys, "body", "learn", walk, "-o", tmp_path / "walk.mry", "--modes", 4)
    model = marey.load(tmp_path / "walk.mry")
    assert isinstance(model, MotionModel)
    assert told["modes"] == model.modes == 4
    assert told["method"] == "joint" and told["order"] == model.dynamics.order
    assert told["period"] == pytest.approx(model.trend.period, abs=1e-3)
    assert told["log_likelihood"] == pytest.approx(model.log_likelihood(marey.load(walk)), rel=1e-3)
    assert 0 < told["radius"] < 1


def test_the_period_can_be_given_or_ruled_out(walk, tmp_path, capsys):
    out = tmp_path / "walk.mry"
    assert result(capsys, "body", "learn", walk, "-o", out, "--period", "none")["period"] is None
    assert result(capsys, "body", "learn", walk, "-o", out, "--period", "1.1")["period"] == 1.1


def test_the_published_processes_are_learned_by_name(walk, tmp_path, capsys):
    line = ["body", "learn", walk, "-o", tmp_path / "w.mry", "--method", "gp", "--modes", 2]
    told = result(capsys, *line)
    model = marey.load(tmp_path / "w.mry")
    assert told["method"] == "gp" and told["period"] is None
    for name in ("alpha", "rho", "sigma"):
        assert told[name] == model.measures()[name] and len(told[name]) == 2
    again = result(capsys, *line, "--period", "1.1")
    assert again["period"] == 1.1 and again["log_likelihood"] != told["log_likelihood"]


def test_the_kernel_of_the_processes_can_be_chosen(walk, tmp_path, capsys):
    line = ["body", "learn", walk, "-o", tmp_path / "w.mry", "--modes", 2]
    plain = result(capsys, *line, "--method", "gp")
    rough = result(capsys, *line, "--method", "gp", "--kernel", "matern12")
    assert rough["log_likelihood"] != plain["log_likelihood"]
    assert "--method gp" in refused(capsys, *line, "--kernel", "matern12")


def test_info_tells_about_a_motion_model(walk, tmp_path, capsys):
    run(capsys, "body", "learn", walk, "-o", tmp_path / "walk.mry")
    told = result(capsys, "info", tmp_path / "walk.mry")
    assert told["kind"] == "motion model" and told["method"] == "joint" and told["modes"] > 0


def test_wishes_that_make_no_sense_are_refused_in_a_line(walk, tmp_path, capsys):
    out = tmp_path / "walk.mry"
    assert "joint, gp" in refused(capsys, "body", "learn", walk, "-o", out, "--method", "magic")
    assert "--period" in refused(capsys, "body", "learn", walk, "-o", out, "--period", "often")
    assert "--period" in refused(capsys, "body", "learn", walk, "-o", out, "--period", "inf")
    assert "longer than" in refused(capsys, "body", "learn", walk, "-o", out, "--period", "999")
    assert "at least one" in refused(capsys, "body", "learn", walk, "-o", out, "--modes", "0")
    assert ".mry" in refused(capsys, "body", "learn", walk, "-o", tmp_path / "walk.bvh")
    assert "no folder" in refused(capsys, "body", "learn", walk, "-o", tmp_path / "nowhere" / "walk.mry")
    assert not out.exists()
