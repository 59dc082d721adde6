"""`marey surface distance` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.surface.distances import DistanceMatrix
from tests.cli.commands import refused, result
from tests.surface.distances.bodies import bending


@pytest.fixture(scope="module")
def sequences(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("distance")
    paths = [folder / "bow.npz", folder / "nod.npz"]
    for seed, path in enumerate(paths):
        marey.save(bending(8, largest=1.0 + 0.3 * seed, seed=seed).sequences[0], path)
    return paths


def test_all_poses_are_compared_and_drawn(
    capsys: pytest.CaptureFixture[str], sequences: list[Path], tmp_path: Path
) -> None:
    out, picture = tmp_path / "d.npz", tmp_path / "d.png"
    found = result(capsys, "surface", "distance", *sequences, "-o", out, "--figure", picture)
    assert found["frames"] == 16 and found["sequences"] == 2 and found["seconds"] > 0
    assert 0 < found["mean"] < found["largest"] < np.pi and found["stretch"] < 0.3
    assert found["files"] == [str(out), str(picture)] and picture.stat().st_size > 1000
    matrix = marey.load(out)
    assert isinstance(matrix, DistanceMatrix)
    assert matrix.names == ("bow", "nod") and matrix.metric == "surface" and matrix.frames == 16
    assert matrix.values.max() == pytest.approx(found["largest"], abs=1e-6)


@pytest.mark.parametrize(
    "words", [("--exact",), ("--triangles", 100), ("--metric", "euclidean"), ("--metric", "planar")]
)
def test_other_ways_to_compare(
    capsys: pytest.CaptureFixture[str], sequences: list[Path], tmp_path: Path, words: tuple[object, ...]
) -> None:
    found = result(capsys, "surface", "distance", *sequences, "-o", tmp_path / "d.mry", *words)
    assert found["frames"] == 16 and found["mean"] > 0
    assert ("stretch" in found) == ("--metric" not in words)


def test_skeletons_are_compared_by_their_joints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    clip = tmp_path / "walk.bvh"
    marey.save(marey.samples.walk(seconds=0.5), clip)
    found = result(capsys, "surface", "distance", clip, "-o", tmp_path / "d.npz", "--metric", "skeleton")
    assert found["metric"] == "skeleton" and found["frames"] == 15 and found["mean"] > 0


@pytest.mark.parametrize(
    "words",
    [
        ("-o", "d.txt"),
        ("-o", "nowhere/d.npz"),
        ("-o", "d.npz", "--metric", "taste"),
        ("-o", "d.npz", "--metric", "euclidean", "--exact"),
        ("-o", "d.npz", "--triangles", "0"),
        ("-o", "d.npz", "--stretch-weight", "-1"),
        ("-o", "d.npz", "--figure", "d.txt"),
        ("-o", "d.npz", "--metric", "skeleton"),
    ],
)
def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str],
    sequences: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(capsys, "surface", "distance", *sequences, *words)
    assert not list(tmp_path.iterdir())


def test_the_matrix_never_takes_the_place_of_its_input(
    capsys: pytest.CaptureFixture[str], sequences: list[Path]
) -> None:
    before = sequences[0].read_bytes()
    assert "its own input" in refused(capsys, "surface", "distance", *sequences, "-o", sequences[0])
    assert sequences[0].read_bytes() == before
