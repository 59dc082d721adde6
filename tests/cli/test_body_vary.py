"""`marey body vary` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from tests.cli.commands import refused, result


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vary") / "walk.bvh"
    marey.save(marey.samples.walk(seconds=2.5), path)
    return path


def test_variants_are_written_in_the_format_of_the_clip(walk, tmp_path, capsys):
    told = result(capsys, "body", "vary", walk, "-o", tmp_path / "crowd", "--count", 3)
    names = [Path(path).name for path in told["files"]]
    assert names == ["walk-01.bvh", "walk-02.bvh", "walk-03.bvh"]
    original = marey.load(walk)
    for path in told["files"]:
        assert marey.load(path).frames == original.frames
    assert told["deviation_cm"] > 0 and told["foot_slide_ratio"] >= 0
    assert {"diversity_cm", "beyond_range", "plausibility"} <= told.keys()


def test_the_same_seed_gives_the_same_bytes(walk, tmp_path, capsys):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        result(capsys, "body", "vary", walk, "-o", tmp_path / name, "--count", 1, "--seed", seed)
    a, b, c = ((tmp_path / name / "walk-01.bvh").read_bytes() for name in "abc")
    assert a == b != c


def test_pinned_poses_are_found_in_the_file(walk, tmp_path, capsys):
    told = result(
        capsys, "body", "vary", walk, "-o", tmp_path / "p", "--count", 1, "--pin", "1,2", "--format", "mry"
    )
    original, variant = marey.load(walk), marey.load(told["files"][0])
    gap = marey.geometry.rotations.distance(
        variant.rotations[[60, 120], 1:], original.rotations[[60, 120], 1:]
    )
    assert np.degrees(gap.max()) < 0.1


def test_a_picture_shows_them_all(walk, tmp_path, capsys):
    picture = tmp_path / "all.png"
    result(capsys, "body", "vary", walk, "-o", tmp_path / "v", "--count", 2, "--figure", picture)
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_wishes_that_make_no_sense_are_refused_in_a_line(walk, tmp_path, capsys):
    out = tmp_path / "v"
    assert "deviation" in refused(capsys, "body", "vary", walk, "-o", out, "--deviation", 2)
    assert "--pin" in refused(capsys, "body", "vary", walk, "-o", out, "--pin", "soon")
    assert "pin at 99" in refused(capsys, "body", "vary", walk, "-o", out, "--pin", "99", "--raw")
    assert "x.txt" in refused(capsys, "body", "vary", walk, "-o", out, "--figure", "x.txt")
    assert "--format" in refused(capsys, "body", "vary", walk, "-o", out, "--format", "csv")
    assert not out.exists()


def test_foot_skate_is_reported_in_centimetres_a_second_too(walk, tmp_path, capsys):
    told = result(capsys, "body", "vary", walk, "-o", tmp_path / "crowd", "--count", 1)
    ratio = told["foot_skate_cm_s"] / told["example_foot_skate_cm_s"]
    assert told["foot_slide_ratio"] == pytest.approx(ratio, abs=2e-3)


def test_a_clip_too_short_for_a_tempo_is_refused_with_the_way_out(tmp_path, capsys):
    path = tmp_path / "short.bvh"
    marey.save(marey.samples.walk(seconds=0.3), path)
    command = ("body", "vary", path, "-o", tmp_path / "crowd", "--deviation", 1, "--count", 1)
    assert "too short for a tempo" in refused(capsys, *command)
    assert len(result(capsys, *command, "--timing", 0)["files"]) == 1
