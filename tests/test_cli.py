"""The command line as a user types it: results, JSON, exit codes, one-line errors, nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marey
from marey.body.kinematics import forward_kinematics
from marey.io import FORMATS

MAREY = [sys.executable, "-m", "marey.cli.main"]


def run(*words: object, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MAREY, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **env},
        timeout=300,
    )


def result(*words: object, **env: str) -> dict[str, Any]:
    done = run(*words, "--json", **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(*words: object, cwd: Path | None = None) -> str:
    """The one line a user sees; exit code 2, no traceback."""
    done = run(*words, cwd=cwd)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "walk.bvh"
    marey.save(marey.samples.walk(seconds=2, frame_rate=60), path)
    return path


def test_info_says_what_is_in_a_file(walk: Path) -> None:
    facts = result("info", walk)
    motion = marey.load(walk)
    assert facts["kind"] == "motion"
    assert (facts["frames"], facts["frame_rate"], facts["joints"]) == (motion.frames, 60, motion.joints)
    assert facts["duration"] == pytest.approx(2)
    readable = run("info", walk)
    assert readable.returncode == 0
    assert "motion" in readable.stdout


def test_info_on_several_files_reports_each_and_fails_if_one_is_bad(walk: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.bvh").write_text("nothing")
    done = run("info", walk, tmp_path / "bad.bvh", "--json")
    assert done.returncode == 2
    good, bad = json.loads(done.stdout)["files"]
    assert good["kind"] == "motion"
    assert "bad.bvh" in bad["error"]


def test_convert_resamples_cuts_and_changes_convention(walk: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.bvh"
    facts = result(
        "convert", walk, target, "--frames", "0:60", "--frame-rate", 30, "--unit", "cm", "--up", "z"
    )
    assert facts["kind"] == "motion"
    original = marey.load(walk)[:60].resample(30)
    again = marey.load(target, unit="cm", up="z")
    assert facts["frames"] == again.frames == original.frames
    np.testing.assert_allclose(
        forward_kinematics(again).positions, forward_kinematics(original).positions, atol=1e-6
    )
    assert marey.load(target).convention.up == "z"


@pytest.mark.parametrize("ending", [".glb", ".mry", ".gltf", ".usda"])
def test_convert_reaches_other_formats(walk: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out{ending}"
    assert result("convert", walk, target)["frames"] == 120
    assert target.stat().st_size > 1000


def test_view_draws_a_picture_and_a_clip(walk: Path, tmp_path: Path) -> None:
    import cv2

    assert result("view", walk, "-o", tmp_path / "a.png", "--size", "320x180")["path"].endswith("a.png")
    image = cv2.imread(str(tmp_path / "a.png"))
    assert image.shape == (180, 320, 3)
    assert image.std() > 5
    result("view", walk, "-o", tmp_path / "a.mp4", "--size", "160x90", "--frames", "0:20")
    assert cv2.VideoCapture(str(tmp_path / "a.mp4")).read()[0]


def test_data_list_names_licences() -> None:
    listed = result("data", "list")["datasets"]
    assert len(listed) > 5
    assert all(entry["license"] for entry in listed)
    assert "cmu" in run("data", "list").stdout


def test_help_begins_with_examples() -> None:
    for command in (["info"], ["convert"], ["view"], ["demo"], ["data", "get"], ["data", "list"]):
        done = run(*command, "-h", COLUMNS="200")
        assert done.returncode == 0
        assert f"marey {' '.join(command)}" in done.stdout
        assert "Examples" in done.stdout
        assert "--json" in done.stdout
    assert run("--version").stdout == f"marey {marey.__version__}\n"


def test_mistakes_are_one_line_and_exit_code_two(walk: Path, tmp_path: Path) -> None:
    assert "no such file" in refused("info", tmp_path / "absent.bvh")
    assert "unknown ending '.docx'" in refused("convert", walk, tmp_path / "a.docx")
    assert "write it as A:B" in refused("convert", walk, tmp_path / "a.bvh", "--frames", "ten")
    assert "120 frames" in refused("convert", walk, tmp_path / "a.bvh", "--frames", "500:600")
    assert "no folder" in refused("convert", walk, tmp_path / "absent" / "a.bvh")
    assert "frame rate" in refused("convert", walk, tmp_path / "a.bvh", "--frame-rate", "-3")
    assert "unit 'yard'" in refused("convert", walk, tmp_path / "a.bvh", "--unit", "yard")
    assert "cannot hold a Motion" in refused("convert", walk, tmp_path / "a.csv")
    assert "1280x720" in refused("view", walk, "-o", tmp_path / "a.png", "--size", "big")
    assert "did you mean" in refused("data", "get", "cmu-02_0")
    assert not list(tmp_path.iterdir())


def test_an_existing_file_survives_a_failed_conversion(walk: Path, tmp_path: Path) -> None:
    target = tmp_path / "keep.bvh"
    target.write_text("precious")
    refused("convert", walk, target, "--frames", "500:600")
    assert target.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_one_line(walk: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot be written" in refused("convert", walk, tmp_path / "a.bvh")


def test_a_full_or_forbidden_place_is_one_line(walk: Path) -> None:
    assert "cannot be written" in refused("convert", walk, "/proc/a.bvh")


@pytest.mark.parametrize(
    "name",
    [f"a{ending}" for known in FORMATS if known.reads for ending in known.endings if ending != ".zarr"],
)
def test_empty_binary_and_cut_files_are_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    noise = np.random.default_rng(0).integers(256, size=3000, dtype=np.uint8).tobytes()
    for content in (b"", b"\0" * 100, noise, b"hello, world\n"):
        path.write_bytes(content)
        with pytest.raises(marey.MareyError) as caught:
            marey.load(path)
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)
    assert name in refused("info", path)
