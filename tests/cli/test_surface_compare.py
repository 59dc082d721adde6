"""`marey surface compare` as a user types it: what it says of two matrices, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.statistics.graphs.graph import DistanceMatrix
from tests.cli.commands import refused, result


def _matrix(points: np.ndarray, names: tuple[str, ...], metric: str) -> DistanceMatrix:
    apart = np.linalg.norm(points[:, None] - points, axis=-1)
    starts = np.linspace(0, len(points), len(names) + 1).astype(np.int64)
    return DistanceMatrix(apart, np.zeros_like(apart), starts, names, metric)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(40, 2))
    matrices = {
        "truth": _matrix(points, ("a", "b"), "skeleton"),
        "near": _matrix(points + 0.1 * rng.normal(size=points.shape), ("a", "b"), "surface"),
        "other": _matrix(rng.normal(size=(40, 2)), ("a", "b"), "surface"),
        "longer": _matrix(rng.normal(size=(44, 2)), ("a", "b"), "surface"),
        "cut": _matrix(points, ("a", "b", "c", "d"), "surface"),
    }
    for name, matrix in matrices.items():
        marey.save(matrix, tmp_path / f"{name}.npz")
    return {name: tmp_path / f"{name}.npz" for name in matrices}


def test_metrics_that_agree_do_so_beyond_chance(
    capsys: pytest.CaptureFixture[str], files: dict[str, Path], tmp_path: Path
) -> None:
    picture = tmp_path / "agreement.png"
    words = ("surface", "compare", files["near"], files["truth"], "--permutations", 199)
    told = result(capsys, *words, "--figure", picture, "--classes", 4)
    assert told["pearson"] > 0.95 > 0.5 > told["by_chance"][1]
    assert 0.9 < told["distance_correlation"] <= 1
    assert told["p"] == pytest.approx(1 / 200)
    assert told["pairs"] == sum(row["pairs"] for row in told["classes"]) == 780
    assert len(told["classes"]) == 4
    assert picture.read_bytes()[1:4] == b"PNG"


def test_metrics_that_have_nothing_in_common_do_not(
    capsys: pytest.CaptureFixture[str], files: dict[str, Path]
) -> None:
    told = result(capsys, "surface", "compare", files["other"], files["truth"], "--permutations", 199)
    assert told["p"] > 0.05
    assert abs(told["pearson"]) < 0.3


def test_blocks_and_seeds_change_chance_alone(
    capsys: pytest.CaptureFixture[str], files: dict[str, Path]
) -> None:
    words = ("surface", "compare", files["near"], files["truth"], "--permutations", 99)
    told = [result(capsys, *words, *more) for more in ((), ("--blocks",), ("--seed", 5), ())]
    assert len({row["pearson"] for row in told}) == 1
    assert len({tuple(row["by_chance"]) for row in told}) == 3
    assert told[0]["by_chance"] == told[3]["by_chance"]


def test_clips_and_the_same_clips_dressed_have_the_same_frames(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    clip = tmp_path / "walk.bvh"
    marey.save(marey.samples.walk(seconds=1, frame_rate=60, stature=1.7), clip)
    words = ("surface", "distance", clip, "-o")
    result(capsys, *words, tmp_path / "joints.npz", "--metric", "skeleton")
    result(capsys, *words, tmp_path / "skin.npz", "--vertices", 600)
    told = result(
        capsys, "surface", "compare", tmp_path / "skin.npz", tmp_path / "joints.npz", "--permutations", 99
    )
    assert told["frames"] == 30
    assert told["pearson"] > 0.8
    finer = result(capsys, *words, tmp_path / "fine.npz", "--metric", "skeleton", "--frame-rate", 60)
    assert finer["frames"] == 60
    said = refused(capsys, "surface", "compare", tmp_path / "skin.npz", tmp_path / "fine.npz")
    assert "60 in" in said and "--frame-rate" in said


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("{near}", "{longer}"), "44"),
        (("{near}", "{cut}"), "4 sequences"),
        (("{near}", "{truth}", "--permutations", "0"), "--permutations"),
        (("{near}", "{truth}", "--classes", "0"), "--classes"),
        (("{near}", "{truth}", "--figure", "x.mp4"), "write a figure as"),
        (("{near}", "{near}.none"), "near.npz.none"),
        (("{near}", "{mesh}"), "MeshSequence"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
    files: dict[str, Path],
    tmp_path: Path,
    words: tuple[str, ...],
    hint: str,
) -> None:
    mesh = tmp_path / "mesh.npz"
    marey.save(marey.samples.mesh_sequence()[:3], mesh)
    filled = [word.format(**files, mesh=mesh) for word in words]
    assert hint in refused(capsys, "surface", "compare", *filled)
