"""Frames are named and printed by their numbers in the user's file, also when its rest pose was left out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.clean import clean
from marey.body.motion import concatenate
from marey.body.pose_model import PoseModel
from tests.cli.commands import result, run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A walk behind the rest pose that a converter put in front of it, frame 0."""
    walk = marey.samples.walk(seconds=2)
    rest = np.zeros((1, walk.joints, 4))
    rest[..., 0] = 1.0
    path = tmp_path_factory.mktemp("numbers") / "walk.bvh"
    root = np.concatenate([walk.root[:1], walk.root])
    marey.save(replace(walk, rotations=np.concatenate([rest, walk.rotations]), root=root), path)
    return path


def rows(path: Path) -> np.ndarray:
    """The numbers of a BVH file, one row a frame, as any program reads them."""
    lines = path.read_text().split("Frame Time:")[1].splitlines()[1:]
    return np.array([[float(word) for word in line.split()] for line in lines if line.strip()])


def test_slices_and_cleaning_keep_the_number_of_the_first_frame(clip: Path) -> None:
    raw = marey.load(clip)
    kept, _ = clean(raw)
    assert (raw.first_frame, kept.first_frame, kept[10:20].first_frame, kept[-1].first_frame) == (
        0, 1, 11, raw.frames - 1
    )  # fmt: skip
    assert (kept[8::4].first_frame, kept[20:10:-1].first_frame, kept.mirror().first_frame) == (9, 12, 1)
    # Frames of another rate, or of clips joined, are no longer those of a file.
    assert kept.resample(12).first_frame == concatenate([kept, kept]).first_frame == 0


def test_a_gap_is_where_the_file_has_it(capsys: Capture, clip: Path, tmp_path: Path) -> None:
    out = tmp_path / "whole.bvh"
    found = result(capsys, "body", "fill", clip, out, "--gap", "30:40", "--joints", "LeftArm")
    assert found["gaps"] == ["30:40"] and found["frames_filled"] == 10
    before, after = rows(clip)[1:], rows(out)
    assert before.shape == after.shape
    changed = np.flatnonzero(np.abs(before - after).max(axis=1) > 1e-3) + 1
    assert set(changed) <= set(range(30, 40)) and {32, 37} <= set(changed)
    last = len(before)
    for wrong in (f"30:{last + 2}", "0:9"):
        code, _, told = run(capsys, "body", "fill", clip, out, "--gap", wrong)
        assert code == 2 and f"--gap {wrong}" in told and f"frames 1:{last + 1}" in told


def test_frozen_stretches_are_reported_by_the_files_numbers(capsys: Capture, clip: Path, tmp_path) -> None:
    whole = marey.load(clip)
    rotations, root = whole.rotations.copy(), whole.root.copy()
    rotations[50:70], root[50:70] = rotations[49], root[49]
    frozen = tmp_path / "frozen.bvh"
    marey.save(replace(whole, rotations=rotations, root=root), frozen)
    assert result(capsys, "body", "fill", frozen, tmp_path / "whole.bvh", "--auto")["gaps"] == ["50:70"]


def test_cleaning_does_not_shift_the_frames_that_are_converted(capsys: Capture, clip: Path, tmp_path) -> None:
    part = tmp_path / "part.bvh"
    for words, expected in (
        (("20:30",), slice(20, 30)),
        ((":30",), slice(1, 30)),
        (("-5:",), slice(-5, None)),
    ):
        result(capsys, "convert", clip, part, "--frames", *words)
        np.testing.assert_allclose(rows(part), rows(clip)[expected], atol=1e-4)
    code, _, told = run(capsys, "convert", clip, part, "--frames", "0:1")
    assert code == 2 and f"which has 1:{len(rows(clip))}" in told


def test_repairs_are_reported_by_the_files_numbers(capsys: Capture, clip: Path, tmp_path: Path) -> None:
    text = clip.read_text().splitlines()
    first = next(i for i, line in enumerate(text) if line.startswith("Frame Time")) + 1
    words = text[first + 41].split()
    words[6:9] = ["140", "0", "0"]
    text[first + 41] = " ".join(words)
    spoilt = tmp_path / "spoilt.bvh"
    spoilt.write_text("\n".join(text) + "\n")
    report = result(capsys, "convert", spoilt, tmp_path / "clean.bvh")["clean"]
    assert report["rest_frame"] and [(r["start"], r["stop"]) for r in report["glitches"]] == [(41, 42)]


def test_reconstruction_follows_the_frames_of_the_file(capsys: Capture, clip: Path, tmp_path: Path) -> None:
    kept, _ = clean(marey.load(clip))
    model, out = tmp_path / "model.mry", tmp_path / "again.bvh"
    marey.save(PoseModel.fit([kept], modes=8), model)
    told = result(capsys, "body", "reconstruct", clip, "-o", out, "--model", model, "--frames", "20:30")
    assert told["frames"] == 10
    # The root of the file's frames 20 to 29, in centimetres of its own.
    assert np.abs(marey.load(out).root - marey.load(clip).root[20:30]).max() < 0.02


def test_a_page_counts_frames_as_the_file_does(capsys: Capture, clip: Path, tmp_path: Path) -> None:
    page = tmp_path / "part.html"
    result(capsys, "view", clip, "-o", page, "--frames", "20:30")
    described = re.search(r'\{"show":.*?\}\s*</script>', page.read_text(), re.DOTALL)
    assert described is not None
    assert json.loads(described.group().removesuffix("</script>"))["first_frame"] == 20


def test_files_written_begin_anew_at_zero(capsys: Capture, clip: Path, tmp_path: Path) -> None:
    for name in ("part.bvh", "part.mry"):
        result(capsys, "convert", clip, tmp_path / name, "--frames", "20:30")
        assert marey.load(tmp_path / name).first_frame == 0
