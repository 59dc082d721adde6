"""`marey crowd animate` as a user types it."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pytest

import marey
from marey import samples
from marey.crowd import Camera, FieldSeries
from marey.crowd.cameras import orthographic
from marey.io import cameras
from tests.cli.commands import refused, result, run


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    path = tmp_path_factory.mktemp("animate") / "swirl.zarr"
    marey.save(replace(samples.field(rows=45, columns=80, seconds=1), homography=orthographic(0.15)), path)
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".mry", ".sqlite"])
def test_people_are_written_as_tracks(capsys, field, tmp_path, ending):
    path = tmp_path / f"people{ending}"
    found = result(capsys, "crowd", "animate", field, "-o", path, "--people", 12)
    assert (found["people"], found["frames"]) == (12, 61)
    assert found["collisions_without"] is None
    again = marey.load(path)
    assert (again.frames, again.agents) == (61, found["agents"])


def test_a_seed_is_a_crowd(capsys, field, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        result(capsys, "crowd", "animate", field, "-o", tmp_path / f"{name}.csv", "--seed", seed)
    a, b, c = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert a == b != c


def test_avoiding_is_told_with_and_without(capsys, field, tmp_path):
    words = ("crowd", "animate", field, "-o", tmp_path / "p.csv", "--people", 150, "--lag", 0.3)
    found = result(capsys, *words, "--frame-rate", 30, "--avoid", "social")
    assert 0 < found["deviation"] < 1
    assert found["collisions"]["pairs"] < 0.3 * found["collisions_without"]["pairs"]


def test_people_are_written_as_walking_bodies(capsys, field, tmp_path):
    path = tmp_path / "people.glb"
    found = result(capsys, "crowd", "animate", field, "-o", path, "--people", 9, "--seconds", 2)
    data = path.read_bytes()
    assert struct.unpack("<4sII", data[:12]) == (b"glTF", 2, len(data))
    length = struct.unpack("<I", data[12:16])[0]
    content = json.loads(data[20 : 20 + length])
    assert len(content["skins"]) == found["agents"]
    times = [one["max"][0] for one in content["accessors"] if one["type"] == "SCALAR" and "max" in one]
    assert max(times) == pytest.approx(2.0, abs=0.06)


def test_pictures_and_clips_are_drawn(capsys, field, tmp_path):
    result(capsys, "crowd", "animate", field, "-o", tmp_path / "p.png", "--people", 8)
    assert (tmp_path / "p.png").read_bytes()[1:4] == b"PNG"


def test_people_are_drawn_into_the_film(capsys, tmp_path):
    camera = Camera.looking((4, -9, 5), (4, 3, 0), size=(160, 120), field_of_view=0.9)
    cameras.write(camera, tmp_path / "camera.json")
    marey.save(FieldSeries(np.full((8, 60, 80, 2), [0.5, 0.0]), 10), tmp_path / "flow.zarr")
    pictures = [np.full((120, 160, 3), 120, dtype=np.uint8)] * 9
    from marey.io.video import read, write_frames

    write_frames(iter(pictures), tmp_path / "film.mp4", frame_rate=10)
    words = ("crowd", "animate", tmp_path / "flow.zarr", "-o", tmp_path / "again.mp4", "--people", 10)
    words += ("--video", tmp_path / "film.mp4", "--camera", tmp_path / "camera.json")
    found = result(capsys, *words, "--area", "1,0 7,0 7,6 1,6")
    assert found["frame_rate"] == 10
    film = read(tmp_path / "again.mp4")
    assert film.frames == found["frames"] == 9
    assert np.abs(film.read(3).astype(int) - 120).max() > 60
    # By a homography alone they are disks.
    marey.save(
        FieldSeries(np.full((8, 60, 80, 2), [0.5, 0.0]), 10, homography=orthographic(0.2)),
        tmp_path / "top.zarr",
    )
    result(capsys, *("crowd", "animate", tmp_path / "top.zarr", "-o", tmp_path / "b.mp4", *words[5:9]))
    assert np.abs(read(tmp_path / "b.mp4").read(3).astype(int) - 120).max() > 60


def test_a_field_without_a_camera_is_given_a_scale_and_told_so(capsys, tmp_path):
    marey.save(FieldSeries(np.full((8, 30, 40, 2), [0.5, 0.0]), 25), tmp_path / "flow.zarr")
    words = ("crowd", "animate", tmp_path / "flow.zarr", "-o", tmp_path / "p.csv", "--people", 3)
    code, _, err = run(capsys, *words)
    assert code == 0 and "no camera" in err
    code, _, err = run(capsys, *words, "--scale", 0.1, "--seconds", 3)
    assert code == 0 and "no camera" not in err and "repeated" in err


def test_doors_and_density_are_understood(capsys, field, tmp_path):
    words = ("crowd", "animate", field, "-o", tmp_path / "p.csv")
    found = result(capsys, *words, "--density", 0.5)
    assert found["people"] == pytest.approx(0.5 * 45 * 80 * 0.15**2, abs=1)
    doors = ("--entrance", "0,-3 1,-3 1,-2@8", "--exit", "9,-5 12,-5 12,0 9,0")
    assert result(capsys, *words, "--people", 1, *doors, "--seconds", 3)["agents"] > 8


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-o", "p.obj"), "write people as"),
        (("-o", "p.csv", "--people", "0"), "people: 1 to"),
        (("-o", "p.csv", "--people", "3", "--density", "1"), "give one of them"),
        (("-o", "p.csv", "--density", "-1"), "--density -1"),
        (("-o", "p.csv", "--area", "0,0 1,1"), "three corners"),
        (("-o", "p.csv", "--entrance", "0,0 1,0 1,1"), "end it with @"),
        (("-o", "p.csv", "--radius", "wide"), "--radius"),
        (("-o", "p.csv", "--match-density"), "foreground"),
        (("-o", "p.csv", "--seconds", "-2"), "--seconds"),
        (("-o", "none/p.csv"), "no folder"),
        (("-o", "p.csv", "--video", "film.mp4"), "write a figure as"),
    ],
)
def test_senseless_wishes_are_refused_in_one_line(capsys, field, tmp_path, monkeypatch, words, expected):
    monkeypatch.chdir(tmp_path)
    assert expected in refused(capsys, "crowd", "animate", field, *words)
    assert not (tmp_path / "p.csv").exists()


def test_other_files_are_not_fields(capsys, tmp_path):
    marey.save(samples.walk(seconds=1), tmp_path / "walk.bvh")
    told = refused(capsys, "crowd", "animate", tmp_path / "walk.bvh", "-o", tmp_path / "p.csv")
    assert "holds a Motion" in told
