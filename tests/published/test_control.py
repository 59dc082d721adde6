"""Linear time-invariant models with inputs as published (Courty 2013, section 2.3.1), by plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.statistics.autoregression.fit import control, fit
from tests.cli.commands import refused, result
from tests.published import plain

TABLE = {5: {0: 0.56, 1: 0.50, 2: 0.33, 5: 0.0}, 10: {0: 0.46, 1: 0.44, 2: 0.41, 5: 0.26, 10: 0.0}}
"""Relative error of the walk 35_01 run forward, 30 frames a second, order 2: coordinates, inputs."""


def learned(series: plain.Array, order: int):
    """Least-squares matrices, what they leave, and its singular value decomposition."""
    past = np.concatenate([series[order - i : len(series) - i] for i in range(1, order + 1)], axis=1)
    solved = np.linalg.lstsq(past, series[order:], rcond=None)[0]
    rest = series[order:] - past @ solved
    return solved, rest, np.linalg.svd(rest.T, full_matrices=False)


def run_forward(series: plain.Array, order: int, solved: plain.Array, pushes: plain.Array) -> plain.Array:
    made = list(series[:order])
    for push in pushes:
        made.append(np.concatenate(made[: -order - 1 : -1]) @ solved + push)
    return np.array(made)


@pytest.fixture(scope="module")
def walk():
    return marey.samples.walk(seconds=4)[::2]


@pytest.mark.parametrize("inputs", [0, 2, 4])
def test_inputs_drive_the_example(walk, tmp_path, capsys, inputs):
    marey.save(walk, tmp_path / "walk.mry")
    model = tmp_path / "model.mry"
    told = result(
        capsys, "body", "learn", tmp_path / "walk.mry", "-o", model, "--modes", 4, "--inputs", inputs, "--raw"
    )
    found = marey.load(model)
    assert (told["method"], told["inputs"], told["period"]) == ("lti", inputs, None)
    coordinates = found.poses.encode(walk)
    centre = coordinates.mean(axis=0)
    series = coordinates - centre
    scores = []
    for order in (1, 2, 3, 4):
        # All orders on the same frames.
        rest = learned(series[4 - order :], order)[1]
        scores.append(
            len(rest) * np.linalg.slogdet(rest.T @ rest / len(rest))[1] + order * 16 * np.log(len(rest))
        )
    order = 1 + int(np.argmin(scores))
    assert told["order"] == order
    solved, _, (left, values, right) = learned(series, order)
    pushes = (left[:, :inputs] * values[:inputs] @ right[:inputs]).T
    expected = run_forward(series, order, solved, pushes)
    table = tmp_path / "u.csv"
    driven = result(capsys, "body", "drive", model, "-o", tmp_path / "out.mry", "--table", table)
    error = np.linalg.norm(expected - series) / np.linalg.norm(series)
    assert driven["error"] == pytest.approx(error, abs=1e-4)
    assert np.abs(found.control.driven() - expected).max() < 1e-6
    out = marey.load(tmp_path / "out.mry")
    wanted = found.poses.decode(expected + centre)
    assert marey.geometry.rotations.distance(out.rotations, wanted).max() < 1e-6
    if inputs == 4:
        assert found.control.open_loop_error < 1e-10
        # The table drives the same clip; twice its inputs swing further.
        again = tmp_path / "again.mry"
        result(capsys, "body", "drive", model, "-o", again, "--input", table)
        assert np.abs(marey.load(again).root - out.root).max() < 1e-6
        rows = np.loadtxt(table, delimiter=",", skiprows=1)
        np.savetxt(table, 2 * rows, delimiter=",", header="u1,u2,u3,u4", comments="")
        result(capsys, "body", "drive", model, "-o", again, "--input", table)
        other = found.poses.decode(run_forward(series, order, solved, 2 * pushes) + centre)
        assert marey.geometry.rotations.distance(marey.load(again).rotations, other).max() < 1e-5


def test_the_table_of_a_captured_walk(data_dir):
    motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / "35_01.bvh")[1::4]
    turns = plain.matrices(motion.rotations)[:, 1:]
    _, _, coordinates = plain.principal_geodesics(turns)
    for size, errors in TABLE.items():
        series = coordinates[:, :size] - coordinates[:, :size].mean(axis=0)
        model = fit(series, order=2, ridge=0.0, largest_radius=np.inf)
        for inputs, theirs in errors.items():
            found = control(model, series, dimensions=inputs)
            assert found.open_loop_error == pytest.approx(theirs, abs=0.006)


def test_models_without_inputs_are_not_driven(walk, tmp_path, capsys):
    marey.save(walk, tmp_path / "walk.mry")
    line = ["body", "learn", tmp_path / "walk.mry", "-o", tmp_path / "m.mry", "--modes", 2]
    result(capsys, *line)
    assert "--inputs" in refused(capsys, "body", "drive", tmp_path / "m.mry", "-o", tmp_path / "o.bvh")
    assert "learn" in refused(capsys, "body", "drive", tmp_path / "walk.mry", "-o", tmp_path / "o.bvh")
    assert "inputs" in refused(capsys, *line, "--method", "gp", "--inputs", 1)
