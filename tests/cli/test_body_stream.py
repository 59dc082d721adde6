"""`marey body stream` as a user types it."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body.dynamics import MotionModel
from tests.cli.commands import refused, result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    walk = marey.samples.walk(seconds=4)
    marey.save(walk, folder / "walk.bvh")
    marey.save(MotionModel.fit(walk, modes=6), folder / "walk.mry")
    return folder


def test_many_characters_run_and_are_counted(folder, capsys):
    found = result(
        capsys, "body", "stream", folder / "walk.mry", "--characters", 200, "--seconds", 0.5, "--decode"
    )
    assert found["characters"] == 200 and found["modes"] == 6 and found["decoded"] is True
    assert found["frames"] == 30 and found["frames_per_second"] > 0
    assert found["milliseconds_per_frame"] == pytest.approx(1e3 / found["frames_per_second"])


def test_one_character_becomes_a_clip_that_meets_the_pinned_pose(folder, capsys):
    out, walk = folder / "endless.bvh", folder / "walk.bvh"
    pin = f"0.5={walk}@0.25"
    result(capsys, "body", "stream", folder / "walk.mry", "--seconds", 1, "--pin", pin, "-o", out)
    made, model = marey.load(out), marey.load(folder / "walk.mry")
    assert made.frames == 60
    wanted = model.poses.encode(marey.load(walk)[15:17])[0]
    assert np.abs(model.poses.encode(made)[30] - wanted).max() < 0.02


def test_several_characters_become_a_folder_a_picture_or_numbers(folder, capsys):
    command = ["body", "stream", folder / "walk.mry", "--characters", 3, "--seconds", 0.5, "--seed", 4]
    result(capsys, *command, "-o", folder / "crowd")
    assert sorted(file.name for file in (folder / "crowd").glob("[!.]*")) == ["0.bvh", "1.bvh", "2.bvh"]
    result(capsys, *command, "-o", folder / "crowd.png")
    assert (folder / "crowd.png").read_bytes()[1:4] == b"PNG"
    result(capsys, *command, "-o", folder / "crowd.npz")
    with np.load(folder / "crowd.npz", allow_pickle=False) as stored:
        assert stored["coordinates"].shape == (30, 3, 6) and stored["starts"].shape == (3, 3)
        model = marey.load(folder / "walk.mry")
        start, heading = stored["starts"][1], float(stored["headings"][1])
        again = model.poses.decode_motion(stored["coordinates"][:, 1], 60.0, start=start, heading=heading)
    assert np.abs(again.root - marey.load(folder / "crowd" / "1.bvh").root).max() < 1e-4


def test_a_clip_is_learned_from_on_the_spot(folder, capsys):
    assert result(capsys, "body", "stream", folder / "walk.bvh", "--modes", 5, "--seconds", 0.2)["modes"] == 5


def test_mistakes_are_told_in_one_line(folder, capsys):
    model = folder / "walk.mry"
    assert "above 0" in refused(capsys, "body", "stream", model, "--characters", 0)
    assert "above 0" in refused(capsys, "body", "stream", model, "--seconds", "nan")
    assert "folder" in refused(capsys, "body", "stream", model, "--characters", 2, "-o", folder / "a.bvh")
    assert "room" in refused(capsys, "body", "stream", model, "--characters", 99, "-o", folder / "a.png")
    assert "write e.g." in refused(capsys, "body", "stream", model, "--pin", "walk.bvh")
    missing = f"1={folder / 'walk.bvh'}@99"
    assert "goes from 0" in refused(capsys, "body", "stream", model, "--pin", missing)
    late = f"-1={folder / 'walk.bvh'}"
    assert "simulation goes from 0" in refused(capsys, "body", "stream", model, "--pin", late)
    assert "simulation goes" in refused(capsys, "body", "stream", model, "--pin", f"99={folder / 'walk.bvh'}")
    assert "at most" in refused(capsys, "body", "stream", model, "--seconds", "1e300")
    assert "--seed" in refused(capsys, "body", "stream", model, "--seed", -1)
    assert "already" in refused(capsys, "body", "stream", model, "--modes", 3)
