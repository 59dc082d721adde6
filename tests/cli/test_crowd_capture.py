"""`marey crowd capture` as a user types it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.crowd.fields import Footage
from marey.io.images import encode_image
from tests.cli.commands import refused, result, run
from tests.crowd.films import sliding


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A film of six seconds as numbered pictures, a mask and a homography."""
    folder = tmp_path_factory.mktemp("capture")
    film: Footage = marey.samples.video(marey.samples.crowd(people=30, seconds=6), pixels_per_metre=8)
    marey.save(film, folder / "street_%03d.png")
    mask = np.zeros((30, 40, 3), dtype=np.uint8)
    mask[:, :20] = 255
    (folder / "mask.png").write_bytes(encode_image(mask, ".png"))
    (folder / "black.png").write_bytes(encode_image(0 * mask, ".png"))
    (folder / "H.txt").write_text("0 0.125 0\n-0.125 0 0\n0 0 1\n")
    (folder / "not.mp4").write_text("this is no film")
    return folder


def test_a_film_becomes_fields_and_the_command_says_what_it_found(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    film = folder / "street_%03d.png"
    out = tmp_path / "flow.zarr"
    options = (
        "--size",
        "80",
        "--mask",
        folder / "mask.png",
        "--camera",
        folder / "H.txt",
        "--frames",
        ":126",
    )
    found = result(capsys, "crowd", "capture", film, out, *options)
    assert (found["frames"], found["rows"], found["columns"]) == (125, 24, 80)
    assert found["method"] == "divcurl" and found["alpha"] is None and found["seconds"] > 0
    assert found["motion"] == "crowd"
    assert 0 < found["speed_mean"] < found["speed_max"] and 0 < found["foreground_share"] < 0.5
    flow = marey.load(out)
    assert flow.frames == 125 and flow.mask is not None and flow.mask[:, :39].all()
    assert not flow.mask[:, 41:].any()
    # Twice as coarse as the film, in whose pixels the homography is.
    assert abs(flow.homography[0, 0]) == pytest.approx(0.25)


def test_methods_areas_and_formats(capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    film, part = folder / "street_%03d.png", ("--frames", "20:24", "--no-foreground")
    for out, extra in (
        ("a.zarr", ("--method", "hs", "--alpha", "250")),
        ("b.mry", ("--method", "dis", "--size", "full")),
        ("s.zarr", ("--motion", "seen", "--size", "80")),
        ("c_%02d.flo", ("--method", "lk", "--size", "80x40")),
    ):
        found = result(capsys, "crowd", "capture", film, tmp_path / out, *part, *extra)
        assert found["frames"] == 3 and found["foreground_share"] is None
        assert marey.load(tmp_path / out).frames == 3
    area = ("--area", "0,0 80,0 80,48 0,48", "--method", "lk")
    code, out, _ = run(capsys, "crowd", "capture", film, tmp_path / "d.zarr", *part, *area)
    mask = marey.load(tmp_path / "d.zarr").mask
    assert code == 0 and "speed mean" in out and mask[20, 20] and not mask[20, 120]


def test_what_is_wrong_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    film, out = folder / "street_%03d.png", tmp_path / "flow.zarr"
    for words, told in (
        ((folder / "not.mp4", out), "not a video"),
        ((folder / "none.mp4", out), "no such file"),
        ((folder / "H.txt", out), "H.txt"),
        ((film, out, "--frames", "3:4"), "one image"),
        ((film, out, "--mask", folder / "black.png"), "nothing counts"),
        ((film, out, "--mask", folder / "H.txt"), "neither a PNG nor a JPEG"),
        ((film, out, "--mask", folder / "mask.png", "--area", "0,0 9,0 9,9"), "give one of them"),
        ((film, out, "--area", "1,2 3,4"), "three corners or more"),
        ((film, out, "--size", "2000x90"), "larger than the video"),
        ((film, out, "--size", "huge"), "write it as 320x240"),
        ((film, out, "--method", "magic"), "one of default, divcurl"),
        ((film, out, "--alpha", "-1"), "must be positive"),
        ((film, out, "--camera", folder / "not.mp4"), "no camera we know"),
        ((film, out, "--camera", folder / "H.txt", "--plane-height", "1"), "calibrated camera"),
        ((film, out, "--jobs", "0"), "at least 1"),
        ((film, tmp_path / "flow.bvh"), "fields are written as"),
        ((film, tmp_path / "none" / "flow.zarr"), "there is no folder"),
    ):
        assert told in refused(capsys, "crowd", "capture", *words), words
    assert list(tmp_path.iterdir()) == []


def test_a_killed_capture_goes_on_and_ends_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    film, out = tmp_path / "film_%03d.png", tmp_path / "flow.zarr"
    marey.save(sliding(60, shift=(0.5, 0.2), rows=210, columns=280), film)
    words = ["crowd", "capture", str(film), str(out), "--method", "lk", "--jobs", "1"]
    program = "import sys; from marey.cli.main import main; sys.argv[0] = 'marey'; main()"
    killed = subprocess.Popen([sys.executable, "-c", program, *words])
    header = tmp_path / "flow.zarr.partial" / "zarr.json"
    stored = re.compile('"frames": [1-9]')
    while killed.poll() is None and not (header.is_file() and stored.search(header.read_text())):
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not out.exists() and json.loads(header.read_text())["attributes"]["marey"]["frames"] > 0
    assert "--resume" in refused(capsys, *words)
    assert "another method" in refused(capsys, *words, "--resume", "--method", "dis")
    found = result(capsys, *words, "--resume")
    assert 0 < found["resumed_at"] < found["frames"] == 59
    result(capsys, *words[:3], tmp_path / "whole.zarr", *words[4:])
    whole, resumed = marey.load(tmp_path / "whole.zarr"), marey.load(out)
    np.testing.assert_array_equal(resumed.velocities, whole.velocities)
    np.testing.assert_array_equal(resumed.foreground, whole.foreground)
