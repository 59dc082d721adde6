"""`marey surface transition` as a user types it: what it writes, what it says, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.surface.sequence import MeshSequence
from tests.cli.commands import refused, result
from tests.surface.synthesis import bodies


@pytest.fixture
def walks(tmp_path: Path) -> tuple[Path, Path]:
    files = (tmp_path / "slow.npz", tmp_path / "brisk.npz")
    for sequence, file in zip(bodies.walks().sequences, files, strict=True):
        marey.save(sequence, file)
    return files


def test_the_best_transition_is_written_and_told(
    capsys: pytest.CaptureFixture[str], walks: tuple[Path, Path], tmp_path: Path
) -> None:
    slow, brisk = walks
    out, picture = tmp_path / "over.npz", tmp_path / "timing.png"
    words = ("surface", "transition", f"{slow}:10", f"{brisk}:30", out, "--before", 4, "--after", 6)
    told = result(capsys, *words, "--figure", picture)
    written = marey.load(out)
    assert isinstance(written, MeshSequence)
    assert written.frames == told["frames"] == 4 + told["length"] + 6
    assert told["cost"] == pytest.approx(told["mean_cost"] * told["length"], rel=1e-3)
    assert told["slide_ratio"] < 2
    assert picture.stat().st_size > 1000
    np.testing.assert_allclose(written.vertices[:4], bodies.walks().sequences[0].vertices[6:10], atol=1e-5)


def test_standard_and_warped_transitions_have_the_length_asked_for(
    capsys: pytest.CaptureFixture[str], walks: tuple[Path, Path], tmp_path: Path
) -> None:
    slow, brisk = walks
    told = {
        kind: result(
            capsys, "surface", "transition", f"{slow}:10", f"{brisk}:30", tmp_path / f"{kind}.npz",
            "--method", kind, "--length", 12,
        )
        for kind in ("standard", "warped")
    }  # fmt: skip
    assert told["standard"]["length"] == 12
    assert told["standard"]["windows"] == told["warped"]["windows"] == [12, 12]
    assert told["warped"]["cost"] <= told["standard"]["cost"] + 1e-6


def test_a_sequence_leads_back_into_itself(
    capsys: pytest.CaptureFixture[str], walks: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "loop.npz"
    told = result(capsys, "surface", "transition", f"{walks[0]}:-20", f"{walks[0]}:12", out)
    assert told["frames"] == told["length"]
    assert out.exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("{slow}:10", "{slow}:900", "{out}.npz"), "no frame 900"),
        (("{slow}:10", "{brisk}:30", "{out}.npz", "--method", "fancy"), "--method"),
        (("{slow}:10", "{brisk}:30", "{out}.npz", "--length", "1"), "--length"),
        (("{slow}:10", "{brisk}:30", "{out}.csv"), ".csv"),
        (("{slow}:58", "{brisk}:30", "{out}.npz"), "window"),
        (("{slow}:10", "{brisk}:30", "{out}.npz", "--before", "-3"), "0 or more"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
    walks: tuple[Path, Path],
    tmp_path: Path,
    words: tuple[str, ...],
    hint: str,
) -> None:
    filled = [word.format(slow=walks[0], brisk=walks[1], out=tmp_path / "out") for word in words]
    assert hint in refused(capsys, "surface", "transition", *filled)
    assert not (tmp_path / "out.npz").exists()
