"""The command line as a user types it: results, JSON, exit codes, one-line errors, nothing half-written."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marey
from marey.body.kinematics import forward_kinematics
from marey.io import FORMATS
from tests.browser import LONG
from tests.cli.commands import call

MAREY = [sys.executable, "-m", "marey.cli.main"]


def run(*words: object, **env: str) -> subprocess.CompletedProcess[str]:
    """A command as a program of its own if it is to have its own environment, else in this process."""
    if env:
        return subprocess.run(
            [*MAREY, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **env},
            timeout=LONG,
        )
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = call(*words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def result(*words: object, **env: str) -> dict[str, Any]:
    done = run(*words, "--json", **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(*words: object, **env: str) -> str:
    """The one line a user sees; exit code 2, no traceback."""
    done = run(*words, **env)
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
    readable = run("info", walk, COLUMNS="80")
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


def test_view_without_a_file_makes_a_page_and_prints_its_path(
    walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    written = Path(result("view", walk)["path"])
    assert written.name == f"{walk.name}.html" and tmp_path in written.parents
    assert written.read_text(encoding="utf-8").startswith("<!doctype html>")


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
        done = run(*command, "-h")
        assert done.returncode == 0
        assert f"marey {' '.join(command)}" in done.stdout
        assert "Examples" in done.stdout
        assert "--json" in done.stdout
    assert run("--version", PYTHONUNBUFFERED="1").stdout == f"marey {marey.__version__}\n"


def test_mistakes_are_one_line_and_exit_code_two(walk: Path, tmp_path: Path) -> None:
    assert "no such file" in refused("info", tmp_path / "absent.bvh", PYTHONUNBUFFERED="1")
    assert "unknown ending '.docx'" in refused("convert", walk, tmp_path / "a.docx")
    assert "no such file" in refused("info", tmp_path / "absent")
    for frames in ("ten", "-:5", "5", "1:2:3"):
        assert "write it as A:B" in refused("convert", walk, tmp_path / "a.bvh", "--frames", frames)
    assert "120 frames" in refused("convert", walk, tmp_path / "a.bvh", "--frames", "500:600")
    assert "no folder" in refused("convert", walk, tmp_path / "absent" / "a.bvh")
    assert "frame rate" in refused("convert", walk, tmp_path / "a.bvh", "--frame-rate", "-3")
    assert "unit 'yard'" in refused("convert", walk, tmp_path / "a.bvh", "--unit", "yard")
    assert "metres and y up only" in refused("convert", walk, tmp_path / "a.glb", "--unit", "cm")
    assert "read, not one we write" in refused("convert", walk, tmp_path / "a.amc")
    assert "has no named clips" in refused("convert", walk, tmp_path / "a.bvh", "--clip", "Run")
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


def test_usd_of_a_clip_is_read_back_as_its_surface(walk: Path, tmp_path: Path) -> None:
    result("convert", walk, tmp_path / "a.usda", "--unit", "m", "--up", "y")
    assert result("info", tmp_path / "a.usda")["frames"] == 120


def test_the_frame_rate_of_a_source_that_has_none_can_be_given(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(256, size=(6, 16, 32, 3), dtype=np.uint8)
    footage = marey.Footage(6, 16, 32, 25, lambda start, stop, step: iter(images[start:stop:step]))
    marey.save(footage, tmp_path / "%02d.png")
    assert result("info", tmp_path, "--from-frame-rate", 12)["frame_rate"] == 12
    assert result("convert", tmp_path, tmp_path / "a.mkv", "--from-frame-rate", 12)["frames"] == 6
    assert marey.load(tmp_path / "a.mkv").frame_rate == pytest.approx(12)
    assert "frame_rate" in refused("info", tmp_path / "a.mkv", "--from-frame-rate", 12)


def test_a_clip_of_a_character_is_chosen_by_name_and_the_rest_is_not_lost_silently(tmp_path: Path) -> None:
    walk = marey.samples.walk(seconds=1, frame_rate=30)
    human = marey.samples.human()
    two = replace(human, motions=(replace(walk, name="Long"), replace(walk[:10], name="Short")))
    for source in (tmp_path / "two.glb", tmp_path / "two.mry"):
        marey.save(two, source)
        assert result("convert", source, tmp_path / "a.bvh", "--clip", "Short", "--mirror")["frames"] == 10
        assert "Long, Short" in refused("convert", source, tmp_path / "b.glb", "--clip", "Run")
    done = run("convert", source, tmp_path / "a.bvh")
    assert marey.load(tmp_path / "a.bvh").frames == 30
    assert "one clip, Long; --clip chooses Short" in done.stderr
    assert "'Short'" in refused("convert", source, tmp_path / "b.glb", "--frames", "15:")


def test_names_with_brackets_spaces_and_foreign_letters_are_shown_whole(walk: Path, tmp_path: Path) -> None:
    target = tmp_path / "ö 空 [bold].mry"
    assert "[bold].mry" in run("convert", walk, target, COLUMNS="300").stdout
    assert result("convert", walk, target)["path"] == str(target)
    plain = run("info", target, PYTHONIOENCODING="ascii", COLUMNS="300")
    assert plain.returncode == 0
    assert "[bold].mry" in plain.stdout


def test_an_output_that_is_the_input_or_a_link_is_written_in_place(walk: Path, tmp_path: Path) -> None:
    shutil.copy(walk, tmp_path / "a.bvh")
    link = tmp_path / "link.bvh"
    link.symlink_to("a.bvh")
    result("convert", link, link, "--frames", ":30")
    assert link.is_symlink()
    assert marey.load(tmp_path / "a.bvh").frames == 30
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.bvh", "link.bvh"]


def test_a_pipe_is_not_replaced_by_a_file(walk: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.bvh")
    assert "not a regular file" in refused("convert", walk, tmp_path / "a.bvh")
    assert (tmp_path / "a.bvh").is_fifo()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_result_that_cannot_be_printed_is_one_line(walk: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*MAREY, "info", walk, "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith("marey: the result: cannot be read or written: ")


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_stopping_leaves_nothing_behind(told: signal.Signals, tmp_path: Path) -> None:
    source, target = tmp_path / "long.bvh", tmp_path / "out" / "a.mp4"
    marey.save(marey.samples.walk(seconds=60, frame_rate=30), source)
    target.parent.mkdir()
    # Where the tests run in the background of a shell, a child would not hear of SIGINT.
    working = subprocess.Popen(
        [*MAREY, "view", source, "-o", target],
        stdout=-1,
        stderr=-1,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    # Until there is something in the folder of drafts, which then is known to be removed at the end.
    while working.poll() is None and not any(target.parent.glob("*/*")):
        time.sleep(0.05)
    working.send_signal(told)
    output, errors = working.communicate(timeout=LONG)
    assert working.returncode == 128 + told
    assert not list(target.parent.iterdir())
    assert output == b""
    assert b"Traceback" not in errors
