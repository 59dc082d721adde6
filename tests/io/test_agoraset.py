"""Agoraset's population files: layout byte by byte, both ways, damage."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.crowd import scenes
from marey.crowd.simulation.simulate import SimulatedCrowd, simulate
from marey.errors import FormatError, InputError
from marey.io import agoraset


@cache
def crowd() -> SimulatedCrowd:
    scene = scenes.preset("crossing", panic=True).with_people(16)
    return simulate(scene, seconds=15)


def files(folder: Path) -> tuple[Path, Path]:
    """Two people at three times, written by hand as the dataset lays them out."""
    constant, temporal = folder / "pop.constant.data", folder / "pop.temporal.data"
    fixed = np.array([[70, 80], [0.22, 0.25], [1.2, 1.3], [0, 0]], "<f4")
    constant.write_bytes(np.array([3, 2], "<u4").tobytes() + fixed.tobytes())
    times = np.array([0, 0.04, 0.08], "<f4")
    positions = np.array([[[0, 0], [1, 0], [2, 0]], [[5, 5], [5, 6], [5, 7]]], "<f4")
    temporal.write_bytes(times.tobytes() + positions.tobytes() + 2 * (25 * np.ones_like(positions)).tobytes())
    return constant, temporal


@pytest.mark.parametrize("which", ["pop.constant.data", "pop.temporal.data"])
def test_the_dataset_s_layout_is_read_from_either_file(tmp_path: Path, which: str) -> None:
    files(tmp_path)
    tracks = marey.load(tmp_path / which)
    assert tracks.frame_rate == 25 and tracks.name == "pop"
    assert tracks.positions[:, 1].tolist() == [[5, 5], [5, 6], [5, 7]]
    population = agoraset.read_population(tmp_path / "pop")
    assert population.mass.tolist() == [70, 80] and population.velocities[0, 0].tolist() == [25, 25]


def test_a_simulated_crowd_comes_back(tmp_path: Path) -> None:
    run = crowd()
    assert run.departed > 0
    marey.save(run, tmp_path / "crossing.constant.data")
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == [
        "crossing.constant.data",
        "crossing.temporal.data",
    ]
    back = agoraset.read_population(tmp_path / "crossing")
    present = run.tracks.present
    for ours, theirs in ((run.positions, back.positions), (run.velocities, back.velocities)):
        np.testing.assert_allclose(np.swapaxes(theirs, 0, 1)[present], ours[present], atol=1e-5)
    np.testing.assert_allclose(back.mass, run.mass, rtol=1e-6)
    assert back.tracks().frame_rate == 25
    gone = np.flatnonzero(~present[-1])[0]
    last = np.flatnonzero(present[:, gone])[-1]
    np.testing.assert_allclose(back.positions[gone, -1], run.positions[last, gone], atol=1e-5)
    assert (back.velocities[gone, -1] == 0).all()


def test_damaged_populations_are_told(tmp_path: Path) -> None:
    constant, temporal = files(tmp_path)
    whole, moving = constant.read_bytes(), temporal.read_bytes()
    cases = [
        (whole[:5], moving, "too short for its header"),
        (whole[:-4], moving, "has 36 bytes; its header asks for 40"),
        (whole, moving[:-1], "has 155 bytes; its header asks for 156"),
        (np.array([0, 2], "<u4").tobytes() + whole[8:], moving, "says 0 times and 2 people"),
        (np.array([2**32 - 1, 2**32 - 1], "<u4").tobytes() + whole[8:], moving, "are too many"),
        (whole, np.array([0.1, 0.0, 0.2], "<f4").tobytes() + moving[12:], "times: must grow"),
        (whole, moving[:-4] + np.array([np.nan], "<f4").tobytes(), "not a finite number"),
    ]
    for fixed, changing, told in cases:
        constant.write_bytes(fixed)
        temporal.write_bytes(changing)
        with pytest.raises(FormatError, match=told):
            agoraset.read(constant)
    temporal.unlink()
    with pytest.raises(FormatError, match=r"pop\.temporal\.data: no such file"):
        constant.write_bytes(whole)
        agoraset.read(constant)


def test_tracks_without_bodies_are_no_population(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot hold a Tracks"):
        marey.save(marey.samples.crowd(), tmp_path / "x.constant.data")
