"""`marey body fill` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from tests.cli.commands import refused, result


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fill") / "walk.bvh"
    marey.save(marey.samples.walk(seconds=3, frame_rate=60), path)
    return path


def test_a_gap_is_filled_and_told(capsys: pytest.CaptureFixture[str], clip: Path, tmp_path: Path) -> None:
    out = tmp_path / "whole.bvh"
    found = result(capsys, "body", "fill", clip, out, "--gap", "60:80")
    assert found["frames_filled"] == 20 and found["band_cm"] > 0 and found["files"] == [str(out)]
    off = np.linalg.norm(marey.load(out).positions() - marey.load(clip).positions(), axis=-1)
    assert off.max() < 0.1 and off[:60].max() < 1e-4


def test_alternatives_and_a_picture_are_written_beside(
    capsys: pytest.CaptureFixture[str], clip: Path, tmp_path: Path
) -> None:
    out = tmp_path / "whole.bvh"
    words = ("--gap", "1s:1500ms", "--joints", "LeftArm,LeftForeArm", "--samples", 2)
    found = result(capsys, "body", "fill", clip, out, *words, "--figure", tmp_path / "band.png")
    assert found["frames_filled"] == 30 and found["gaps"] == ["60:90"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "band.png",
        "whole-1.bvh",
        "whole-2.bvh",
        "whole.bvh",
    ]


def test_frozen_stretches_are_found_by_themselves(
    capsys: pytest.CaptureFixture[str], clip: Path, tmp_path: Path
) -> None:
    walk = marey.load(clip)
    rotations, root = walk.rotations.copy(), walk.root.copy()
    rotations[50:70], root[50:70] = rotations[49], root[49]
    frozen = tmp_path / "frozen.mry"
    marey.save(marey.Motion(walk.skeleton, rotations, root, walk.frame_rate), frozen)
    found = result(capsys, "body", "fill", frozen, tmp_path / "whole.bvh", "--auto", "--raw")
    assert found["gaps"] == ["50:70"]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--gap", "80:60"),
        ("--gap", "170:190"),
        ("--gap", "1.5:2"),
        ("--gap", "5"),
        ("--gap", "0:180"),
        ("--gap", "60:80", "--joints", "Tail"),
        ("--gap", "60:80", "--method", "magic"),
        ("--gap", "60:80", "--samples", "-1"),
        ("--gap", "60:80", "--samples", "2", "--method", "slerp"),
        ("--gap", "60:80", "--figure", "band.txt"),
    ],
)
def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str], clip: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    assert refused(capsys, "body", "fill", clip, tmp_path / "whole.bvh", *words)
    assert not list(tmp_path.iterdir())
