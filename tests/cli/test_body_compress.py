"""`marey body compress` and `marey body decompress` as a user types them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.compare import joint_error, relative_distortion
from marey.body.motion import concatenate
from tests.cli.commands import refused, result, run


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compress") / "walk.bvh"
    marey.save(marey.samples.walk(seconds=2, frame_rate=60), path)
    return path


def test_what_is_reported_is_what_the_file_holds(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "walk.mry"
    facts = result(capsys, "body", "compress", walk, target, "--max-error", "5mm")
    motion, decoded = marey.load(walk), marey.load(target)
    error = joint_error(motion, decoded, threshold=0.005)
    assert facts["bytes"] == target.stat().st_size
    assert facts["raw_bytes"] == 4 * motion.frames * (3 * motion.joints + 3)
    assert facts["ratio"] == pytest.approx(facts["raw_bytes"] / facts["bytes"], abs=0.01)
    assert facts["ratio_acl_raw"] == pytest.approx(
        40 * motion.frames * motion.joints / facts["bytes"], abs=0.01
    )
    assert facts["ratio_bvh_text"] == pytest.approx(walk.stat().st_size / facts["bytes"], abs=0.01)
    assert facts["error_mean_cm"] == pytest.approx(100 * error.mean, abs=1e-4)
    assert facts["error_max_cm"] == pytest.approx(100 * error.maximum, abs=1e-4)
    assert facts["error_p99_cm"] == pytest.approx(100 * error.percentile_99, abs=1e-4)
    assert 0 < facts["error_max_cm"] <= 0.5
    assert facts["share_within"] == 1.0
    assert facts["distortion_f"] == pytest.approx(relative_distortion(motion, decoded).frobenius, abs=1e-4)
    assert facts["distortion_squared"] == pytest.approx(
        relative_distortion(motion, decoded).squared, abs=1e-4
    )
    assert (facts["method"], facts["published_ratio"], facts["segments"]) == ("transform", None, 1)
    assert facts["modes"] > 0
    assert facts["encode_milliseconds_per_frame"] > 0
    assert facts["decode_milliseconds_per_frame"] > 0


def test_without_an_error_it_is_a_centimetre(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "body", "compress", walk, tmp_path / "walk.mry")
    assert (code, err) == (0, "")
    assert "error max cm" in out
    error = joint_error(marey.load(walk), marey.load(tmp_path / "walk.mry"))
    assert 0.003 < error.maximum <= 0.01


def test_tourniers_method_reports_the_published_ratio(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "walk.mry"
    words = ("body", "compress", walk, target, "--method", "tournier", "--modes", 8)
    facts = result(capsys, *words, "--levels", "2,4")
    clip = marey.load(target, compressed=True)
    assert (facts["modes"], facts["method"]) == (8, "tournier")
    assert clip.tournier.dropped_levels[:3] == (2, 2, 4)
    assert facts["published_ratio"] == pytest.approx(clip.tournier.ratio, abs=0.01)
    finer = result(capsys, *words, "--levels", "2")
    assert marey.load(target, compressed=True).tournier.dropped_levels == (2,) * 7
    assert finer["error_mean_cm"] <= facts["error_mean_cm"]


def test_decompress_gives_the_clip_back_whole_or_in_part(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "walk.mry"
    result(capsys, "body", "compress", walk, small)
    facts = result(capsys, "body", "decompress", small, tmp_path / "whole.bvh")
    assert facts["frames"] == 120
    assert facts["milliseconds_per_frame"] > 0
    assert joint_error(marey.load(walk), marey.load(tmp_path / "whole.bvh")).maximum <= 0.0101
    facts = result(capsys, "body", "decompress", small, tmp_path / "part.glb", "--frames", "100:110")
    assert facts["frames"] == 10
    part = marey.load(tmp_path / "part.glb")
    np.testing.assert_allclose(
        part.motion.positions() if hasattr(part, "motion") else part.positions(),
        marey.load(small)[100:110].positions(),
        atol=1e-4,
    )


def test_other_commands_take_compressed_clips(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "walk.mry"
    facts = result(capsys, "body", "compress", walk, small)
    told = result(capsys, "info", small)
    assert (told["kind"], told["frames"], told["frame_rate"]) == ("compressed motion", 120, 60.0)
    assert told["duration"] == pytest.approx(2)
    assert (told["joints"], told["method"], told["bytes"]) == (26, "transform", facts["bytes"])
    assert told["ratio"] == facts["ratio"]
    assert result(capsys, "convert", small, tmp_path / "a.bvh", "--frames", ":30")["frames"] == 30
    result(capsys, "view", small, "-o", tmp_path / "a.png", "--size", "160x90")
    assert (tmp_path / "a.png").stat().st_size > 500


def test_an_artificial_rest_pose_is_dropped_unless_the_clip_is_taken_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk = marey.samples.walk(seconds=1, frame_rate=60)
    rest = replace(
        walk[0], rotations=np.tile([1.0, 0.0, 0.0, 0.0], (1, walk.joints, 1)), root=np.zeros((1, 3))
    )
    marey.save(concatenate([rest, walk]), tmp_path / "a.bvh")
    words = ("body", "compress", tmp_path / "a.bvh", tmp_path / "a.mry", "--max-error", "2cm")
    code, _, err = run(capsys, *words, "--raw")
    assert code == 0 and "dropped" not in err
    kept = marey.load(tmp_path / "a.mry", compressed=True)
    code, _, err = run(capsys, *words)
    assert code == 0 and "dropped frame 0" in err
    cleaned = marey.load(tmp_path / "a.mry", compressed=True)
    assert (kept.frames, cleaned.frames) == (61, 60)
    assert cleaned.bytes < kept.bytes


def test_a_still_clip_has_no_relative_distortion_to_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk = marey.samples.walk(seconds=1, frame_rate=30)
    still = replace(walk, rotations=np.repeat(walk.rotations[:1], 30, axis=0), root=np.zeros((30, 3)))
    marey.save(still, tmp_path / "a.bvh")
    facts = result(capsys, "body", "compress", tmp_path / "a.bvh", tmp_path / "a.mry")
    assert facts["error_max_cm"] <= 1.0
    assert facts["distortion_f"] is None or facts["distortion_f"] >= 0


def test_mistakes_are_one_line_and_leave_nothing(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "walk.mry"
    compress = ("body", "compress", walk)
    marey.save(marey.Tracks([[[0.0, 0.0]]] * 5, frame_rate=5), tmp_path / "people.csv")
    assert "skeleton motion is needed" in refused(capsys, "body", "compress", tmp_path / "people.csv", target)
    assert "write a compressed clip as .mry" in refused(capsys, *compress, tmp_path / "walk.bvh")
    assert "1cm, 5mm" in refused(capsys, *compress, target, "--max-error", "tiny")
    assert "1cm, 5mm" in refused(capsys, *compress, target, "--max-error=-1cm")
    assert "positive" in refused(capsys, *compress, target, "--mean-error", "0mm")
    assert "--method zip" in refused(capsys, *compress, target, "--method", "zip")
    assert "method 'tournier'" in refused(capsys, *compress, target, "--modes", "5")
    assert "--levels" in refused(capsys, *compress, target, "--method", "tournier", "--levels", "a")
    assert "no such file" in refused(capsys, "body", "compress", tmp_path / "absent.bvh", target)
    assert "no folder" in refused(capsys, *compress, tmp_path / "absent" / "a.mry")
    assert "marey convert" in refused(capsys, "body", "decompress", walk, tmp_path / "a.bvh")
    assert not target.exists()
    assert not list(tmp_path.glob("*.bvh"))


def test_a_clip_is_not_compressed_over_itself(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = tmp_path / "walk.mry"
    marey.save(marey.load(walk), clip)
    before = clip.read_bytes()
    assert "its own input" in refused(capsys, "body", "compress", clip, tmp_path / "." / "walk.mry")
    assert clip.read_bytes() == before


def test_a_largest_error_out_of_reach_of_tourniers_method_is_reported_as_it_was_asked(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("body", "compress", walk, tmp_path / "a.mry", "--method", "tournier", "--max-error", "1mm")
    assert "every joint within 0.1 cm" in refused(capsys, *words)


def test_a_damaged_file_or_wrong_frames_leave_nothing(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small, target = tmp_path / "walk.mry", tmp_path / "a.bvh"
    result(capsys, "body", "compress", walk, small, "--method", "tournier")
    assert "120 frames" in refused(capsys, "body", "decompress", small, target, "--frames", "500:600")
    assert "write a clip" in refused(capsys, "body", "decompress", small, tmp_path / "a.csv")
    small.write_bytes(small.read_bytes()[:-1])
    assert "walk.mry: the compressed clip is damaged" in refused(capsys, "body", "decompress", small, target)
    assert "walk.mry" in refused(capsys, "info", small)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["walk.mry"]


def test_help_begins_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("compress", "decompress"):
        code, out, _ = run(capsys, "body", verb, "-h")
        assert code == 0
        assert f"marey body {verb}" in out
        assert "Examples" in out
        assert "--json" in out
