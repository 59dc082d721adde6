"""`sample:NAME`: built-in data wherever a file goes."""

from __future__ import annotations

from pathlib import Path

import pytest

import marey
from tests.cli.commands import refused, result


@pytest.mark.parametrize("name", ["walk", "human", "mesh-sequence", "library", "video", "field", "crowd"])
def test_every_sample_is_described(capsys: pytest.CaptureFixture[str], name: str) -> None:
    facts = result(capsys, "info", f"sample:{name}")
    assert facts["kind"] and facts["duration"] > 0


def test_files_made_of_a_sample_have_its_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = result(capsys, "body", "vary", "sample:walk", "-o", tmp_path, "--count", 1, "--no-plant")
    assert [Path(file).name for file in found["files"]] == ["walk-01.bvh"]
    assert marey.load(tmp_path / "walk-01.bvh").frames == marey.samples.walk().frames


def test_frames_of_a_library_are_referred_to_by_clip(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    clips = result(capsys, "info", "sample:library")["clips"]
    ends = [f"sample:library:{clip}:3" for clip in clips[:2]]
    result(capsys, "surface", "interpolate", *ends, tmp_path / "between.glb")
    assert (tmp_path / "between.glb").exists()


def test_a_name_that_does_not_exist_is_refused_with_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert "mesh-sequence" in refused(capsys, "info", "sample:wlak")
