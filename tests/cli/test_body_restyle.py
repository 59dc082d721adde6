"""`marey body restyle` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.resample import retime
from tests.cli.commands import refused, result, run


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A walk, and another clip of it with other timing."""
    folder = tmp_path_factory.mktemp("restyle")
    walk = marey.samples.walk(seconds=2, frame_rate=60)
    share = np.linspace(0, 1, 150)
    other = retime(walk, (walk.frames - 1) * (share + 0.06 * np.sin(2 * np.pi * share)))
    marey.save(walk, folder / "walk.bvh")
    marey.save(other, folder / "other.bvh")
    return folder / "walk.bvh", folder / "other.bvh"


def test_a_clip_takes_the_timing_of_another(
    capsys: pytest.CaptureFixture[str], clips: tuple[Path, Path], tmp_path: Path
) -> None:
    walk, other = clips
    out = tmp_path / "out.bvh"
    found = result(capsys, "body", "restyle", walk, other, out)
    assert found["frames"] == 150 and found["path_cost"] >= 0 and found["modes"] >= 1
    apart = np.linalg.norm(marey.load(out).positions() - marey.load(other).positions(), axis=-1)
    assert apart.mean() < 0.03
    back = result(capsys, "body", "restyle", other, walk, tmp_path / "back.bvh", "--modes", 4, "--band", 0.3)
    assert back["frames"] == 120 and back["modes"] == 4


def test_style_keeps_its_own_timing_and_is_drawn(
    capsys: pytest.CaptureFixture[str], clips: tuple[Path, Path], tmp_path: Path
) -> None:
    walk, other = clips
    picture = tmp_path / "steps.png"
    options = ("--timing", "own", "--spatial", 0.5, "--open", "--derivative", 0.1, "--figure", picture)
    found = result(capsys, "body", "restyle", walk, other, tmp_path / "out.glb", *options)
    assert found["frames"] <= 120 and found["spatial"] == 0.5
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str], clips: tuple[Path, Path], tmp_path: Path
) -> None:
    walk, other = clips
    out = tmp_path / "x.bvh"
    short, hand = tmp_path / "short.bvh", tmp_path / "hand.glb"
    motion = marey.load(walk)
    marey.save(motion[:10], short)
    marey.save(motion[:1], tmp_path / "still.bvh")
    marey.save(motion.subtree("LeftHand"), hand)
    for words, told in (
        ((walk, other, out, "--timing", "both"), "reference, own"),
        ((walk, other, out, "--spatial", 3), "from 0 to 1"),
        ((walk, other, out, "--modes", -1), "modes"),
        ((walk, other, out, "--modes", 0), "at least one"),
        ((walk, other, out, "--band", -1), "band"),
        ((walk, other, out, "--derivative", -1), "seconds"),
        ((tmp_path / "still.bvh", tmp_path / "still.bvh", out), "neither clip moves"),
        ((walk, other, out, "--figure", tmp_path / "nowhere" / "x.png"), "no folder"),
        ((walk, short, out), "at most 4 times"),
        ((walk, hand, out), "different joints"),
        ((walk, other, tmp_path / "x.txt"), "x.txt"),
        ((walk, other, other), "own input"),
        ((walk, tmp_path / "none.bvh", out), "none.bvh"),
        ((walk, other, out, "--figure", "x.gif"), ".png"),
    ):
        assert told in refused(capsys, "body", "restyle", *words)
    assert not out.exists()


def test_help_begins_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "body", "restyle", "--help")
    assert code == 0 and out.index("Examples") < out.index("--timing")
