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


def test_a_simulated_crowd_comes_back(tmp_path: Path) -> None:
    run = crowd()
    assert run.departed > 0
    marey.save(run, tmp_path / "crossing.constant.data")
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == [
        "crossing.constant.data",
        "crossing.temporal.data",
    ]
    assert agoraset.read(tmp_path / "crossing").frame_rate == 25
    mass = np.fromfile(tmp_path / "crossing.constant.data", "<f4", run.agents, offset=8)
    stored = np.fromfile(tmp_path / "crossing.temporal.data", "<f4", offset=4 * run.frames)
    positions, velocities, _ = stored.reshape(3, run.agents, run.frames, 2)
    present = run.tracks.present
    for ours, theirs in ((run.positions, positions), (run.velocities, velocities)):
        np.testing.assert_allclose(np.swapaxes(theirs, 0, 1)[present], ours[present], atol=1e-5)
    np.testing.assert_allclose(mass, run.mass, rtol=1e-6)
    gone = np.flatnonzero(~present[-1])[0]
    last = np.flatnonzero(present[:, gone])[-1]
    np.testing.assert_allclose(positions[gone, -1], run.positions[last, gone], atol=1e-5)
    assert (velocities[gone, -1] == 0).all()


def test_damaged_populations_are_told(tmp_path: Path) -> None:
    constant, temporal = files(tmp_path)
    whole, moving = constant.read_bytes(), temporal.read_bytes()
    cases = [
        (whole[:5], moving, "has 5 bytes; its header asks for 40"),
        (whole[:-4], moving, "has 36 bytes; its header asks for 40"),
        (whole, moving[:-1], "has 155 bytes; its header asks for 156"),
        (np.array([0, 2], "<u4").tobytes() + whole[8:], moving, "0 times of 2 people: needs one"),
        (np.array([2**32 - 1, 2**32 - 1], "<u4").tobytes() + whole[8:], moving, "and not too many"),
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
