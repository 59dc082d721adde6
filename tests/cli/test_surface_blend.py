"""`marey surface blend` as a user types it: what it writes, what it says, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey import samples
from marey.surface.sequence import MeshSequence
from tests.cli.commands import refused, result
from tests.surface.synthesis import bodies


@pytest.fixture
def arcs(tmp_path: Path) -> tuple[Path, Path]:
    files = (tmp_path / "left.npz", tmp_path / "right.npz")
    for file, radius in zip(files, (2.0, -2.0), strict=True):
        marey.save(bodies.gliding(radius, 3.0, 40, file.stem), file)
    return files


def test_a_left_and_a_right_turn_give_a_straight_way(
    capsys: pytest.CaptureFixture[str], arcs: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "straight.npz"
    told = result(capsys, "surface", "blend", *arcs, out)
    written = marey.load(out)
    assert isinstance(written, MeshSequence)
    assert written.frames == told["frames"] == 40
    assert told["travelled_first"] == pytest.approx(3.0, rel=1e-3)
    assert told["travelled"] == pytest.approx(3.0, rel=1e-2)
    assert told["turned_first"] == pytest.approx(-told["turned_second"], abs=0.1)
    assert abs(told["turned_first"]) > 80 > 1 > abs(told["turned"])
    assert told["frames_of_first"] == told["frames_of_second"] == [0, 39]


def test_crossing_legs_do_not_count_as_a_turn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    library = samples.mesh_library(vertices=800)
    straight = library.sequences[library.names.index("run")][:30]
    angle = np.deg2rad(np.linspace(0, 500, 30))[:, None]
    x, y, z = np.moveaxis(straight.vertices, -1, 0)
    turned = np.stack([x * np.cos(angle) + z * np.sin(angle), y, z * np.cos(angle) - x * np.sin(angle)], -1)
    files = tmp_path / "straight.npz", tmp_path / "round.npz"
    for file, vertices in zip(files, (straight.vertices, turned), strict=True):
        marey.save(replace(straight, vertices=vertices), file)
    told = result(capsys, "surface", "blend", *files, tmp_path / "out.npz", "--weight", "0")
    assert told["turned_first"] == pytest.approx(0, abs=5)
    assert told["turned_second"] == pytest.approx(500, abs=5)
    assert told["turned"] == pytest.approx(0, abs=5)


def test_the_share_may_pass_from_one_clip_to_the_other(
    capsys: pytest.CaptureFixture[str], arcs: tuple[Path, Path], tmp_path: Path
) -> None:
    table = tmp_path / "shares.csv"
    table.write_text("time,share\n0,0\n0.2,0\n0.5,1\n")
    ramp = result(capsys, "surface", "blend", *arcs, tmp_path / "a.npz", "--weight", "0:1")
    told = result(capsys, "surface", "blend", *arcs, tmp_path / "b.npz", "--weight", table)
    assert told["turned_first"] > 80
    assert abs(ramp["turned"]) < 5
    assert told["turned"] < -30


def test_the_ways_are_drawn_from_above(
    capsys: pytest.CaptureFixture[str], arcs: tuple[Path, Path], tmp_path: Path
) -> None:
    picture = tmp_path / "ways.png"
    assert result(capsys, "surface", "blend", *arcs, picture)["files"] == [str(picture)]
    assert picture.read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("{left}", "{right}", "{out}.npz", "--weight", "1.5"), "--weight"),
        (("{left}", "{right}", "{out}.npz", "--weight", "half"), "--weight"),
        (("{left}", "{right}", "{out}.npz", "--weight", "{table}"), "bad.csv:3"),
        (("{left}", "{right}", "{out}.npz", "--trim", "-1"), "--trim"),
        (("{left}", "{right}", "{out}.csv"), ".csv"),
        (("{left}", "{right}", "{left}"), "left.npz"),
        (("{left}", "{other}", "{out}.npz"), "connectivity"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
    arcs: tuple[Path, Path],
    tmp_path: Path,
    words: tuple[str, ...],
    hint: str,
) -> None:
    table, other = tmp_path / "bad.csv", tmp_path / "other.npz"
    table.write_text("time,share\n0,0\n1,7\n")
    marey.save(marey.samples.mesh_sequence()[:30], other)
    places = {"left": arcs[0], "right": arcs[1], "out": tmp_path / "out", "table": table, "other": other}
    filled = [word.format(**places) for word in words]
    assert hint in refused(capsys, "surface", "blend", *filled)
    assert not (tmp_path / "out.npz").exists()
