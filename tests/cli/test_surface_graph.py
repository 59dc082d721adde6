"""`marey surface graph` and `marey surface info`, as a user types them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation, Provenance
from tests.cli.commands import refused, result


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("sequences")
    walk = marey.samples.mesh_sequence()
    paths = [folder / "early.npz", folder / "late.npz"]
    marey.save(walk[:36], paths[0])
    marey.save(walk[50:86], paths[1])
    return paths


def test_a_graph_is_written_described_and_weighed_anew(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, again, distances = tmp_path / "g.mry", tmp_path / "fast.mry", tmp_path / "d.npz"
    result(capsys, "surface", "distance", *files, "-o", distances)
    picture = tmp_path / "g.png"
    told = result(
        capsys, "surface", "graph", *files, "-o", graph, "--distances", distances, "--windows", "5:14",
        "--labels", "late=stroll", "--figure", picture,
    )  # fmt: skip
    assert told["frames"] == 72
    assert told["alpha"] == 0.01
    assert told["transitions"] + 70 == told["edges"]
    assert 0 < told["mean_cost"] <= told["motion_graph_mean_cost"]
    assert told["core_frames"] + told["entrance_frames"] + told["dead_end_frames"] <= 72
    assert picture.stat().st_size > 1000
    loaded = marey.load(graph)
    assert isinstance(loaded, SurfaceGraph)
    assert loaded.library.labels == ("early", "stroll")
    assert loaded.graph.windows.shortest == 5
    told_again = result(capsys, "surface", "graph", graph, "-o", again, "--alpha", 0.2)
    assert "distances" not in told_again["seconds"]
    assert told_again["windows"] == [5, 14]
    assert told_again["density"] > told["density"]
    info = result(capsys, "surface", "info", graph, "--nearest", "early:10")
    assert info["kind"] == "repertoire"
    assert info["core_frames"] == told["core_frames"]
    assert {place["name"] for place in info["nearest"]} == {"early", "late"}
    assert info["nearest"][0]["distance"] <= info["nearest"][1]["distance"]
    assert result(capsys, "surface", "info", distances, "--nearest", "late:3")["frames"] == 72


def test_the_motion_graph_can_be_had_too(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = result(
        capsys,
        "surface",
        "graph",
        *files,
        "-o",
        tmp_path / "m.mry",
        "--method",
        "motion",
        "--triangles",
        200,
        "--short-ends",
    )
    assert told["kind"] == "motion"
    assert told["entrance_frames"] <= 4
    assert told["mean_cost"] == told["motion_graph_mean_cost"]


def test_an_animation_says_what_is_captured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.mry"
    frames = np.arange(4)
    origins = Provenance(frames, frames, np.zeros(4), np.array([False, True, True, False]))
    marey.save(Animation(marey.samples.mesh_sequence()[:4], origins), path)
    told = result(capsys, "surface", "info", path)
    assert (told["captured_pieces"], told["blended_pieces"]) == (2, 1)
    assert told["captured_frames"] == 2


def test_mistakes_are_told_in_a_line(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = tmp_path / "g.mry"
    labels = tmp_path / "l.json"
    labels.write_text("[1]")
    for words, said in (
        (("-o", tmp_path / "g.csv"), ".mry"),
        (("-o", graph, "--method", "best"), "essential"),
        (("-o", graph, "--windows", "5"), "A:B"),
        (("-o", graph, "--windows", "9:5"), "shortest"),
        (("-o", graph, "--labels", "nobody=walk"), "nobody"),
        (("-o", graph, "--labels", "early"), "name=label"),
        (("-o", graph, "--labels", labels), "names and labels"),
        (("-o", graph, "--figure", tmp_path / "g.txt"), ".png"),
        (("-o", graph, "--distances", files[0]), "not pose distances"),
        (("-o", graph, "--alpha", "-1"), "alpha"),
        (("-o", tmp_path / "no" / "g.mry"), "no folder"),
    ):
        assert said in refused(capsys, "surface", "graph", *files, *words)
    assert not graph.exists()
    assert "holds no distances" in refused(capsys, "surface", "info", files[0], "--nearest", "early:1")
