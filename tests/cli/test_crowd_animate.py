"""`marey crowd animate` as a user types it."""

from __future__ import annotations

import base64
import json
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey import samples
from marey.crowd import Camera, FieldSeries
from marey.crowd.homography import orthographic
from marey.io import cameras
from tests.cli.commands import refused, result, run

REPOSITORY = Path(__file__).resolve().parents[2]
VALIDATOR = REPOSITORY / ".node" / "node_modules" / "gltf-validator"


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


@pytest.mark.parametrize("how", [("--avoid",), ("--avoid-by", "social")])
def test_avoiding_is_told_with_and_without(capsys, field, tmp_path, how):
    words = ("crowd", "animate", field, "-o", tmp_path / "p.csv", "--people", 150, "--lag", 0.3)
    found = result(capsys, *words, "--frame-rate", 30, *how)
    assert 0 < found["deviation"] < 1
    assert found["collisions"]["pairs"] < 0.3 * found["collisions_without"]["pairs"]


def test_walking_figures_are_valid_gltf(capsys, field, tmp_path):
    path = tmp_path / "people.glb"
    found = result(capsys, "crowd", "animate", field, "-o", path, "--people", 9, "--seconds", 2)
    data = path.read_bytes()
    assert struct.unpack("<4sII", data[:12]) == (b"glTF", 2, len(data))
    length = struct.unpack("<I", data[12:16])[0]
    content = json.loads(data[20 : 20 + length])
    assert len(content["nodes"]) == 7 * found["agents"] + 1
    assert len(content["meshes"]) <= 18
    animation = content["animations"][0]
    for channel in animation["channels"]:
        assert channel["target"]["node"] < len(content["nodes"])
        sampler = animation["samplers"][channel["sampler"]]
        times, values = (content["accessors"][sampler[key]] for key in ("input", "output"))
        assert times["count"] == values["count"]
    assert content["accessors"][animation["samplers"][0]["input"]]["max"][0] == pytest.approx(2.0)


@pytest.mark.skipif(
    not VALIDATOR.is_dir() or shutil.which("node") is None, reason="gltf-validator is not here"
)
def test_the_khronos_validator_finds_no_error_in_walking_figures(capsys, field, tmp_path):
    files = [tmp_path / "people.glb", tmp_path / "people.gltf"]
    for file in files:
        result(capsys, "crowd", "animate", field, "-o", file, "--people", 20, "--seconds", 3)
    command = ["node", str(REPOSITORY / "tools" / "validate_gltf.mjs"), *map(str, files)]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert len(report) == 2
    for file, found in report.items():
        assert found["errors"] == found["warnings"] == 0, (file, found["messages"])


def test_legs_and_arms_swing_with_the_way_gone(tmp_path):
    from marey.stage import write_walkers

    seconds = np.arange(61) / 20
    ways = np.zeros((61, 2, 2))
    ways[:, 0, 0] = 1.3 * seconds
    path = tmp_path / "two.gltf"
    write_walkers(marey.Tracks(ways, 20), path)
    content = json.loads(path.read_text())
    swing = {}
    for channel in content["animations"][0]["channels"]:
        if channel["target"]["path"] != "rotation":
            continue
        output = content["animations"][0]["samplers"][channel["sampler"]]["output"]
        accessor = content["accessors"][output]
        name = content["nodes"][channel["target"]["node"]]["name"]
        swing[name] = np.ptp(2 * np.arcsin(values(content, accessor, path)[:, 0]))
    for part, least in (("left thigh", 0.8), ("right thigh", 0.8), ("left shank", 0.5), ("right arm", 0.5)):
        assert swing[f"person 0 {part}"] > least, part
        assert swing[f"person 1 {part}"] < 1e-6, part


def values(content, accessor, path):
    view = content["bufferViews"][accessor["bufferView"]]
    uri = content["buffers"][view["buffer"]]["uri"]
    data = (
        base64.b64decode(uri.split(",", 1)[1])
        if uri.startswith("data:")
        else (path.parent / uri).read_bytes()
    )
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    return np.frombuffer(data, "<f4", accessor["count"] * 4, start).reshape(-1, 4)


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
        (("-o", "p.obj"), "people are written"),
        (("-o", "p.csv", "--people", "0"), "people: 1 to"),
        (("-o", "p.csv", "--people", "3", "--density", "1"), "give one of them"),
        (("-o", "p.csv", "--density", "-1"), "people per square metre"),
        (("-o", "p.csv", "--area", "0,0 1,1"), "three corners"),
        (("-o", "p.csv", "--entrance", "0,0 1,0 1,1"), "end it with @"),
        (("-o", "p.csv", "--radius", "wide"), "--radius"),
        (("-o", "p.csv", "--seen"), "presence"),
        (("-o", "p.csv", "--seconds", "-2"), "--seconds"),
        (("-o", "none/p.csv"), "no folder"),
        (("-o", "p.csv", "--video", "film.mp4"), "film with people"),
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
